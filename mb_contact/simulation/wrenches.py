# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""External wrenches on links: pushes that a user holds over some steps."""

import math

import numpy as np

from mb_contact.checks import as_choice, as_vector
from mb_contact.errors import InputError
from mb_contact.types import WORLD

AXES = ("world", "link")  #: of a wrench; the latter turn with the link
ROUNDING = 1e-9  #: share of a step that times miss for their last digits


def moving_links(world):
    """Links on which a wrench may act, by their names in order."""
    return sorted(name for name, frame in world.frames.items() if frame.body != WORLD)


class ExternalWrenches:
    """The wrenches that act on a world now, one a link.

    Parameters
    ----------
    world : World
    state : StateArrays
        Which has them.
    """

    def __init__(self, world, state):
        self._world, self.links = world, moving_links(world)
        self._value, self._end, self._axes = state.wrench, state.wrench_end, state.wrench_axes
        self.act = False  #: whether a wrench may act, or did in the last step
        self.applied = []  #: (link, body, wrench (6,) about the body's origin in world axes) of the last step

    def hold(self, link, wrench, axes, time, duration):
        """Replace the wrench on a link from ``time`` on; None ends it, and a duration of None never does."""
        frame = self._world.frames[as_choice(link, self._world.frames, "link")]
        if frame.body == WORLD:
            raise InputError(f"link '{link}' is welded to the inertial frame: a wrench cannot move it")
        as_choice(axes, AXES, "choice of axes")
        if duration is not None and as_vector([duration], 1, "duration")[0] < 0.0:
            raise InputError(f"duration must be zero or more seconds, got {duration}")
        i = self.links.index(link)
        if wrench is None:
            self._end[i] = 0.0
            return
        self._value[i], self._axes[i] = as_vector(wrench, 6, "wrench"), AXES.index(axes)
        self._end[i] = math.inf if duration is None else time + float(duration)
        self.act = True

    def look_again(self):
        """See whether any acts now that the state has been written."""
        self.act = bool(self.applied) or bool(self._end.any())

    def carry_over(self, old):
        """Go on with those of other ExternalWrenches, on links that are here too."""
        self.act = True
        for i, link in enumerate(old.links):
            if link in self.links:
                j = self.links.index(link)
                self._value[j], self._end[j], self._axes[j] = old._value[i], old._end[i], old._axes[i]

    def apply(self, kin, time, dt, external):
        """Sums on the bodies, ``external`` (n, 6), about their origins in world axes, for a step of dt from ``time``.

        One that ends within the step acts on all of it with its share.
        """
        acting = np.flatnonzero(self._end)
        if not len(acting) and not self.applied:
            self.act = False
            return  # as in the step before
        external[:] = 0.0
        self.applied = []
        for i in acting.tolist():
            share = (self._end[i] - time) / dt
            if share <= ROUNDING:
                self._end[i] = 0.0
                continue
            frame = self._world.frames[self.links[i]]
            R = kin.R[frame.body]
            moment, force = self._value[i, :3], self._value[i, 3:]
            if AXES[self._axes[i]] == "link":
                moment, force = R @ (frame.R @ moment), R @ (frame.R @ force)
            value = np.concatenate((moment + np.cross(R @ frame.p, force), force))
            if share < 1.0 - ROUNDING:
                value *= share
            external[frame.body] += value
            self.applied.append((self.links[i], frame.body, value))

    def depend_on_poses(self):
        """Whether a wrench about the origin of a body in world axes would be another one at another pose."""
        frames = self._world.frames
        return any(AXES[self._axes[i]] == "link" or frames[self.links[i]].p.any() for i in np.flatnonzero(self._end))
