# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A tree with contacts in time: fixed steps, and within them the instants of events."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.core.integrate.tableaux import RK4, RK54
from mb_contact.core.surfaces import steps as kernels
from mb_contact.core.surfaces.steps import NONE, SLOWS, STICKS
from mb_contact.errors import DynamicsError, InputError
from mb_contact.surfaces.events import FAILS, TreeEvents
from mb_contact.types import OK

LEAST_SLIP = 1e-12  #: a slip that is slower has ended [m/s]
MOST_EVENTS = 200  #: within one time step; more is a body that cannot decide
MOST_ADAPTED = 256  #: adapted steps in one call of their kernel


def slip_step_factor(before, now):
    """Factor on a step within which a slip went from ``before`` to ``now``, so that the next takes a quarter of it."""
    return 2.0 if now >= before else min(2.0, 0.25 * now / (before - now))


class TreeMotion(TreeEvents):
    """How a ``SurfaceTree`` moves, which see."""

    _tableau = RK4  #: of the steps of ``_call``

    def run(
        self,
        duration: float,
        step: float,
        effort: ArrayLike | None = None,
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        """Advance in equal RK4 steps with constant efforts and wrenches; events are met.

        Parameters
        ----------
        duration : float
            [s]
        step : float
            Longest step [s].
        effort : array_like, optional
            Of the model's joints, or (N,) of all [N m, N]; zero by default.
        wrenches : mapping of str to array_like (6,), optional
            On links and bodies from outside, by name: moment about the link's origin of now, and force, world axes
            [N m, N].

        Raises
        ------
        InputError
            The duration is negative or the step not above zero.
        DynamicsError
            A contact reaches the edge of its surface, becomes a line or jams, a hinge carries no inertia.  The state is
            the last good one.
        """
        if not (np.isfinite([duration, step]).all() and duration >= 0.0 and step > 0.0):
            raise InputError(f"duration must be 0 or more and step greater than zero, got {duration} and {step}")
        self._load(effort, wrenches)
        self._tableau = RK4
        count = max(int(np.ceil(duration / step * (1.0 - 1e-12))), 1 if duration > 0.0 else 0)
        left, h, start = count, duration / max(count, 1), self.time
        while left:
            event, index, done = self._steps(h, left)
            left -= done
            self.time = start + (count - left) * h
            if event != NONE:
                self._finish_step(h, event, index)
                left -= 1
                self.time = start + (count - left) * h

    def run_adaptive(
        self,
        duration: float,
        relative: float = 1e-9,
        absolute: float = 1e-12,
        first: float = 1e-3,
        longest: float = np.inf,
        effort: ArrayLike | None = None,
    ) -> int:
        """Advance in adapted steps (Dormand and Prince, 5(4)) with constant efforts; events are met.

        Parameters
        ----------
        duration : float
            [s]
        relative, absolute : float
            Tolerances of each step's error in every coordinate and velocity.
        first, longest : float
            Length of the first step, and of the longest [s].
        effort : array_like, optional
            Of the model's joints, or (N,) of all [N m, N]; zero by default.

        Returns
        -------
        int
            Number of steps.

        Raises
        ------
        InputError
            The duration is negative or the tolerances not above zero.
        DynamicsError
            As ``run``, or the tolerances are too small.
        """
        self._load(effort)
        self._tableau = RK54
        settings, total = np.array([first, self.time, self.time + duration, relative, absolute, longest]), 0
        while self.time < settings[kernels.END]:
            self._seen = None
            status, body, done, event, index = kernels.adapted_steps(
                self.tree, self.kin, self.art, self._joints, self._work, self._stages, RK54, settings, MOST_ADAPTED,
                self.q, self.v,
            )  # fmt: skip
            total += done
            self.time = float(settings[kernels.TIME])
            self._check(status, body)
            if event != NONE:
                start, h = self.time, min(settings[kernels.STEP], settings[kernels.END] - self.time)
                event, index, passed = self._reach(h, event, index)
                settings[kernels.TIME] = self.time = start + float(passed)
                settings[kernels.STEP] = passed or h
                if event not in (NONE, SLOWS):
                    self._change(event, index)
        return total

    def _steps(self, h, count):
        """(event, what it is about, steps done); the state is that before the step with the event.

        A step that fails has FAILS as its event, about (status, body): far outside a small chart nothing is as it is
        on the surface, and what it meets before comes first.
        """
        status, body, event, index, done = self._call(h, count)
        return (event, index, done) if status == OK else (FAILS, (status, body), done)

    def _call(self, h, count):
        self._seen = None
        status, body, done, event, index = kernels.fixed_steps(
            self.tree, self.kin, self.art, self._joints, self._work, self._stages, self._tableau, h, count,
            self.q, self.v,
        )  # fmt: skip
        return status, body, event, index, done

    def _finish_step(self, h, event, index):
        """The rest of a step in which something happens."""
        start, done, count = self.time, 0.0, 0
        while event != NONE:
            count += 1
            if count > MOST_EVENTS:
                raise DynamicsError(f"more than {MOST_EVENTS} events from t = {self.time:.9g} s on within {h:g} s")
            event, index, passed = self._reach(h - done, event, index)
            done += passed
            self.time = start + done
            if event == SLOWS:
                continue
            if event == NONE:
                break
            self._change(event, index)
            if h - done <= 1e-14 * max(1.0, start + h):
                break
            event, index, _ = self._steps(h - done, 1)

    def _reach(self, h, event, index):
        """Go on to an event less than h away: (event to change by, NONE or SLOWS, what it is about, how far it was)."""
        return self._follow_slip(h, index) if event == SLOWS else self._meet(h, event, index)

    def _follow_slip(self, h, index):
        """Up to ``h`` in steps that take a part of the slip: (event, index, how far it came).

        Friction turns as fast as the slip, and a slip that ends does so in a time that no fixed step knows.  The event
        is NONE, STICKS when the slip of contact ``index`` has gone, or another one, met.
        """
        start, done, step = self.time, 0.0, 0.5 * h
        while done < h:
            before = np.hypot(*self.slip(self.contacts[index].name))
            if before < LEAST_SLIP or start + done + step == start + done:
                return STICKS, index, done
            part = min(step, h - done)
            event, about, steps = self._steps(part, 1)
            if event == SLOWS:
                step, index = 0.5 * step, about
                continue
            if event != NONE:
                event, about, passed = self._meet(part, event, about)
                return event, about, done + passed
            done += part
            self.time = start + done
            step *= slip_step_factor(before, np.hypot(*self.slip(self.contacts[index].name)))
        return NONE, -1, h

    def _meet(self, h, event, index):
        """Go to the instant of an event less than h away, by halving the step: the first event, and how far it was."""
        q, v, near = self.q.copy(), self.v.copy(), self._joints.near.copy()
        low, high = 0.0, h

        def back():
            self.q[:], self.v[:], self._joints.near[:] = q, v, near

        while True:
            middle = 0.5 * (low + high)
            if not low < middle < high or self.time + low == self.time + high:
                break
            back()
            found, about, _ = self._steps(middle, 1)
            if found == NONE:
                low = middle
            else:
                high = middle
                event, index = (event, index) if found == FAILS else (found, about)
        back()
        if low > 0.0:
            self._call(low, 1)
        return event, index, low
