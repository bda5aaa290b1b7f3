# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""External wrenches on links: pushes that a user holds over some steps."""

import math
from typing import NamedTuple

import numpy as np

from mb_contact.checks import as_choice, as_vector
from mb_contact.errors import InputError
from mb_contact.types import WORLD

AXES = ("world", "link")


class Wrench(NamedTuple):
    """A wrench on a link about the link's origin, angular part first [N m, N]."""

    value: tuple[float, ...]
    axes: str  #: ``world``, or ``link``: turns with the link
    until: float  #: simulated time at which it ends [s]


class ExternalWrenches:
    """The wrenches that act on a world now, by link; one a link."""

    def __init__(self, world):
        self._world = world
        self._acting = {}
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
        if wrench is None:
            self._acting.pop(link, None)
            return
        until = math.inf if duration is None else time + float(duration)
        self.act = True
        self._acting[link] = Wrench(tuple(as_vector(wrench, 6, "wrench").tolist()), axes, until)

    def save(self):
        """What ``restore`` takes."""
        return tuple(self._acting.items())

    def restore(self, saved=()):
        """Go on with saved wrenches, by default none."""
        self._acting, self.act = dict(saved), True

    def apply(self, kin, time, external):
        """Sums on the bodies, ``external`` (n, 6), about their origins in world axes, for a step at ``time``."""
        if not self._acting and not self.applied:
            self.act = False
            return  # as in the step before
        external[:] = 0.0
        self.applied = []
        for link, wrench in list(self._acting.items()):
            if time >= wrench.until:
                del self._acting[link]
                continue
            frame = self._world.frames[link]
            R = kin.R[frame.body]
            moment, force = np.array(wrench.value[:3]), np.array(wrench.value[3:])
            if wrench.axes == "link":
                moment, force = R @ (frame.R @ moment), R @ (frame.R @ force)
            value = np.concatenate((moment + np.cross(R @ frame.p, force), force))
            external[frame.body] += value
            self.applied.append((link, frame.body, value))
