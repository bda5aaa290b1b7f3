# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A body on a base in contact coordinates: sliding, rolling and free flight, and the events between them."""

from __future__ import annotations

import numpy as np

from mb_contact.checks import as_matrix, as_vector
from mb_contact.core.surfaces import flight
from mb_contact.core.surfaces import layout as layout
from mb_contact.core.surfaces import motion as motion_kernels
from mb_contact.core.surfaces import steps as kernels
from mb_contact.core.surfaces.closest import NOT_CONVERGED
from mb_contact.core.surfaces.contact import SINGULAR_CONTACT
from mb_contact.errors import DynamicsError, InputError
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.surfaces import transitions
from mb_contact.surfaces.bodies import GRAVITY, ContactForce, MotionState, SurfaceEvent, constants
from mb_contact.surfaces.contact import SurfaceContact
from mb_contact.surfaces.tableaux import DORMAND_PRINCE, DORMAND_PRINCE_ERROR, RK4
from mb_contact.types import OK

MODE_NAMES = ("free", "sliding", "rolling")
EVENT_NAMES = ("none", "breaks", "sticks", "slips", "lands")
LEAST_SLIP = 1e-12  #: a slip that is slower has ended [m/s]
MOST_EVENTS = 50  #: within one time step; more is a body that cannot decide


def next_creep(before, now):
    """Factor on a step within which a slip went from ``before`` to ``now``, so that the next takes a quarter of it."""
    return 2.0 if now >= before else min(2.0, 0.25 * now / (before - now))


class SurfaceMotion:
    """One body on one base.

    Parameters
    ----------
    body : SurfaceBody
    base : SurfaceBase
    friction : float
        Coulomb's coefficient; 0: none; inf: rolls and never slips.
    restitution : float
        Of a landing, 0 to 1.
    gravity : (3,)
        [m/s^2], world.
    release : bool
        Whether the contact may break; without it the base can also pull.

    Start it with ``slide``, ``roll`` or ``fly``; q and its charts may come from ``contact.first_touch``.
    """

    def __init__(self, body, base, friction=0.0, restitution=0.0, gravity=GRAVITY, release=True):
        self.body, self.base = body, base
        self.constants = constants(body, base, friction, gravity)
        self.constants[layout.RELEASE] = bool(release)
        if not 0.0 <= restitution <= 1.0:
            raise InputError(f"restitution must be from 0 to 1, got {restitution}")
        self.restitution = float(restitution)
        self.contact = SurfaceContact(base.surface, body.surface, offset=body.com)
        self.mode = None
        self.events = []
        self.hand_overs = 0  # changes of charts
        self._world, self._measure = (None, None), None  # pose and velocity of a state; surfaces to measure the gap
        self._y = np.zeros(layout.LARGEST_STATE)
        self._t = np.zeros(1)
        self._near = np.zeros(5)
        self._watch = np.zeros(layout.WATCHED)
        self._settings = np.zeros(5)
        self._A, self._order = np.zeros((5, 5)), np.zeros(5, np.int64)
        self._no_log = np.zeros((0, 1 + layout.LARGEST_STATE))

    # --- starting ---------------------------------------------------------------------------------

    def slide(self, q, rate=(0.0,) * 5, charts=None, time=0.0):
        """Start sliding at q = (u1, u2, psi) with its rate, against friction if there is any."""
        if np.isinf(self.friction):
            raise InputError("friction is infinite: such a body rolls, start it with roll")
        self._begin(layout.SLIDING, (*as_vector(q, 5, "q"), *as_vector(rate, 5, "rate")), charts, time)

    def roll(self, q, angular_velocity=(0.0,) * 3, charts=None, time=0.0):
        """Start rolling without slip at q; relative angular velocity in axes of the contact frame 1c [rad/s]."""
        if self.friction == 0.0:
            raise InputError("there is no friction: such a body slides, start it with slide")
        w = as_vector(angular_velocity, 3, "angular_velocity")
        self._begin(layout.ROLLING, (*as_vector(q, 5, "q"), *w), charts, time)

    def fly(self, R, p, angular_velocity=(0.0,) * 3, velocity=(0.0,) * 3, time=0.0):
        """Start in free flight: pose of the body's frame, angular velocity, velocity of its origin; world axes."""
        R, p = as_matrix(R, (3, 3), "R"), as_vector(p, 3, "p")
        w, v = as_vector(angular_velocity, 3, "angular_velocity"), as_vector(velocity, 3, "velocity")
        E, o = self.base_pose(time)
        u1, u2, gap = self.contact.closest(E.T @ R, E.T @ (p - o))
        if gap < 0.0:
            raise DynamicsError(f"the body begins {-gap:.3g} m inside the base")
        self._near[:] = *u1, *u2, gap
        arm = R @ self.body.com
        y = (*(p + arm), *matrix_to_quat(R), *w, *(v + np.cross(w, arm)))
        self._begin(layout.FREE, y, self.contact.charts, time)

    def _begin(self, mode, y, charts, time):
        before = self.mode, self._y.copy(), self._t.copy(), self.contact.charts
        if charts is not None:
            self.contact.set_charts(charts)
        self._set(mode, y)
        self._t[0] = time
        try:
            self._observe()
        except DynamicsError:
            self.mode, self._y[:], self._t[:] = before[:3]
            self.contact.set_charts(before[3])
            raise
        self.events = []
        self.hand_overs = 0

    def save(self):
        """Copy of the whole state; ``restore`` continues from it bit for bit."""
        return MotionState(
            self._started(), self.contact.charts, self._y.copy(), self.time, self._near.copy(), tuple(self.events),
            self.hand_overs,
        )  # fmt: skip

    def restore(self, state):
        """Continue from a MotionState of a motion with the same body and base."""
        self.contact.set_charts(state.charts)
        self.mode = state.mode
        self._y[:], self._t[0], self._near[:] = state.y, state.time, state.near
        self.events, self.hand_overs = list(state.events), state.hand_overs

    # --- what it does now ---------------------------------------------------------------------------

    @property
    def friction(self):
        """Coulomb's coefficient."""
        return float(self.constants[layout.FRICTION])

    @property
    def time(self):
        """[s]"""
        return float(self._t[0])

    @property
    def mode_name(self):
        """free, sliding or rolling."""
        return MODE_NAMES[self._started()]

    @property
    def q(self):
        """Contact coordinates (u1, u2, psi), a new array; of a free body its nearest points, and psi is nan."""
        return np.array([*self._near[:4], np.nan]) if self._started() == layout.FREE else self._y[:5].copy()

    @property
    def v(self):
        """Rate of q (5,) sliding, angular velocity (3,) in axes of 1c rolling, (w, v) of the centre of mass free."""
        start = 7 if self._started() == layout.FREE else 5
        return self._y[start : layout.STATE_SIZE[self.mode]].copy()

    def base_pose(self, time=None):
        """Rotation and origin of the base, world."""
        t = self.time if time is None else float(time)
        motion_kernels.base_rotation(self.constants, t, self.contact.work.turn)
        return self.contact.work.turn[2].copy(), np.add(self.base.p, t * np.asarray(self.base.velocity))

    def pose(self):
        """Rotation and origin [m] of the body's frame, world."""
        R, p, _, _ = self._in_world()
        return R, p - R @ self.body.com

    def centre_of_mass(self):
        """Position, angular velocity and velocity of the centre of mass, world."""
        return self._in_world()[1:]

    def gap(self):
        """Distance of the nearest points of the surfaces [m], found anew from the two poses alone."""
        R, p = self.pose()
        E, o = self.base_pose()
        guess = np.append(self.q[:4], 0.0)
        if self._measure is None or self._measure.charts != self.contact.charts:
            self._measure = SurfaceContact(self.base.surface, self.body.surface, self.contact.charts)
        return self._measure.closest(E.T @ R, E.T @ (p - o), guess)[2]

    def energy(self):
        """Kinetic and potential energy of the body [J]."""
        R, p, w, v = self._in_world()
        m, inertia = self.body.mass, R @ np.asarray(self.body.inertia) @ R.T
        gravity = self.constants[layout.GRAVITY : layout.GRAVITY + 3]
        return 0.5 * float(w @ inertia @ w + m * v @ v) - m * float(gravity @ p)

    def contact_force(self):
        """The ContactForce, or None in free flight."""
        if self._started() == layout.FREE:
            return None
        self._observe()
        work = self.contact.work
        E, o = self.base_pose()
        axes = E @ work.R[0]
        moment, force = work.wrench[:3], work.wrench[3:]
        return ContactForce(
            o + E @ work.D[0, 0], axes[:, 2], axes @ force, axes @ moment, float(force[2]),
            float(self._watch[layout.FRICTION_ROOM]),
        )  # fmt: skip

    def slip(self):
        """Velocity (2,) of the contact point of the body on the base, axes of 1c [m/s]."""
        if self._started() == layout.FREE:
            raise InputError("a free body does not slip")
        if self.mode == layout.ROLLING:
            return np.zeros(2)
        self._observe()
        return self._watch[[layout.SLIP_1, layout.SLIP_2]]

    # --- moving ------------------------------------------------------------------------------------

    def step(self, h):
        """Advance by h [s] with one Runge-Kutta step of order 4, or with several where an event falls into it.

        Raises
        ------
        DynamicsError
            The contact reaches the edge of its surface, becomes a line, or friction jams; the state is the last good.
        """
        self.run(h, h)

    def run(self, duration, step):
        """Advance by ``duration`` [s] in equal steps of at most ``step`` [s] (Runge-Kutta, order 4); events are met."""
        self._started()
        if not (np.isfinite([duration, step]).all() and duration >= 0.0 and step > 0.0):
            raise InputError(f"duration must be 0 or more and step greater than zero, got {duration} and {step}")
        count = max(int(np.ceil(duration / step * (1.0 - 1e-12))), 1 if duration > 0.0 else 0)
        start, h = self.time, duration / max(count, 1)
        left = count
        while left:
            event, done = self._steps(h, left)
            left -= done
            if event == kernels.LEAVES:
                self._change(event)
            elif event != kernels.NONE:
                self._finish_step(h, event)
                left -= 1
            self._t[0] = start + (count - left) * h  # no sum of roundings

    def run_adaptive(self, duration, relative=1e-9, absolute=1e-12, first=1e-3, longest=np.inf):
        """Advance by ``duration`` [s] in adapted steps (Dormand and Prince, 5(4)); returns their number."""
        self._started()
        end, total = self.time + duration, 0
        self._settings[:] = first, end, relative, absolute, longest
        log = np.zeros((256, 1 + layout.LARGEST_STATE))
        while self.time < end:
            status, event, done = kernels.run_adapted(
                self.mode, self.constants, self.contact.code, self.contact.data, self._bounds(), DORMAND_PRINCE,
                DORMAND_PRINCE_ERROR, self._t, self._y, self._settings, self.contact.work, self._watch, self._near,
                self._A, self._order, log,
            )  # fmt: skip
            total += done
            self._judge(status)
            if event == kernels.LEAVES:
                self._change(event)
            elif event != kernels.NONE:
                h = min(self._settings[kernels.STEP], end - self.time)
                if event == kernels.SLOWS:
                    event = self._creep(h, DORMAND_PRINCE)
                    self._settings[kernels.STEP] = h
                if event == kernels.STICKS:
                    self._change(event)
                elif event != kernels.NONE:
                    self._meet(h, event, DORMAND_PRINCE)
        return total

    # --- inside ------------------------------------------------------------------------------------

    def _finish_step(self, h, event):
        """The rest of a step in which something happens."""
        end, count = self.time + h, 0
        while event != kernels.NONE:
            count += 1
            if count > MOST_EVENTS:
                raise DynamicsError(f"more than {MOST_EVENTS} events from t = {self.time:.9g} s on within {h:g} s")
            if event == kernels.SLOWS:
                event = self._creep(end - self.time, RK4)
            if event == kernels.LEAVES or event == kernels.STICKS:
                self._change(event)
            elif event != kernels.NONE:
                self._meet(end - self.time, event, RK4)
            rest = end - self.time
            if rest <= 1e-14 * max(1.0, end):
                break
            event, _ = self._steps(rest, 1)

    def _steps(self, h, count, tableau=RK4):
        """(event, steps done) of fixed steps; the state is that before the step with the event."""
        self._settings[kernels.STEP] = h
        status, event, done = self._call(count, tableau)
        self._judge(status)
        return event, done

    def _call(self, count, tableau):
        return kernels.run_steps(
            self.mode, self.constants, self.contact.code, self.contact.data, self._bounds(), tableau, self._t,
            self._y, self._settings, self.contact.work, self._watch, self._near, self._A, self._order, count,
            self._no_log,
        )  # fmt: skip

    def _creep(self, h, tableau):
        """Up to ``h`` in steps that take a part of the slip: NONE, STICKS when it has gone, or an event not met yet.

        Friction turns as fast as the slip, and a slip that ends does so in a time that no fixed step knows.
        """
        end, step = self.time + h, 0.5 * h
        while self.time < end:
            if np.hypot(*self.slip()) < LEAST_SLIP or self.time + step == self.time:
                return kernels.STICKS
            before = np.hypot(*self.slip())
            event, done = self._steps(min(step, end - self.time), 1, tableau)
            if event == kernels.SLOWS:
                step *= 0.5
                continue
            if event == kernels.LEAVES:
                self._change(event)
            elif not done:
                return event
            step *= next_creep(before, np.hypot(*self.slip()))
        return kernels.NONE

    def _meet(self, h, event, tableau):
        """Go to the instant of the event, which is less than h away, by halving the step; then change the mode."""
        y, t, near = self._y.copy(), self._t.copy(), self._near.copy()
        low, high = 0.0, h
        while True:
            middle = 0.5 * (low + high)
            if not low < middle < high or t[0] + low == t[0] + high:
                break
            self._y[:], self._t[:], self._near[:] = y, t, near
            self._settings[kernels.STEP] = middle
            status, found, _ = self._call(1, tableau)
            if status == OK and found in (kernels.NONE, kernels.LEAVES):
                low = middle
            else:
                high = middle
                event = found if status == OK else event
        self._y[:], self._t[:], self._near[:] = y, t, near
        if low > 0.0:
            self._settings[kernels.STEP] = low
            self._judge(self._call(1, tableau)[0])
        if event != kernels.SLOWS:  # that is for those who go on
            self._change(event)

    def _change(self, event):
        transitions.change(self, event)
        if event == kernels.LEAVES:
            self.hand_overs += 1
            return
        self.events.append(SurfaceEvent(self.time, EVENT_NAMES[event], MODE_NAMES[self.mode]))

    def _set(self, mode, y):
        self.mode = mode
        self._y[: layout.STATE_SIZE[mode]] = y

    def _observe(self):
        self.contact.work.guide[:] = 0.0
        status = kernels.observe(
            self.mode, self.constants, self.contact.code, self.contact.data, self._t[0], self._y, self.contact.work,
            self._watch, self._near, self._A, self._order, 0,
        )  # fmt: skip
        self._judge(status)

    def _in_world(self):
        key = self._started(), self.time, self._y.tobytes(), self.contact.charts
        if key != self._world[0]:  # asked for several times a step
            work = self.contact.work
            flight.body_in_world(
                self.mode, self.constants, self.contact.code, self.contact.data, self._t[0], self._y, work
            )
            out = work.stages[7].copy()
            self._world = key, (work.turn[5].copy(), out[:3], out[3:6], out[6:9])
        return tuple(part.copy() for part in self._world[1])

    def _bounds(self):
        """Where coordinates may be; the nearest points of a free body change charts where there are several."""
        bounds = self.contact.bounds
        if self.mode == layout.FREE:
            several = np.repeat([len(surface.charts) > 1 for surface in self.contact.surfaces], 2)
            bounds = np.where(several[:, None], bounds, (-np.inf, np.inf))
        return bounds

    def _started(self):
        if self.mode is None:
            raise InputError("the motion has no state yet: call slide, roll or fly")
        return self.mode

    def _judge(self, status):
        if status == OK:
            return
        what = {
            SINGULAR_CONTACT: self.contact.line_contact(),
            motion_kernels.JAMMED: "friction and sliding have no common solution (Painleve): lower the friction",
            NOT_CONVERGED: "the nearest points of the surfaces were lost: take shorter steps",
            kernels.TOO_SHORT: "the tolerances need a step below the time's rounding: they are too small",
        }.get(status, "the state is not finite: it has run away, take shorter steps")
        raise DynamicsError(f"at t = {self.time:.9g} s: {what}")
