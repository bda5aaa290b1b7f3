# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Joints of a scene in body coordinates: efforts as pairs of wrenches on two bodies, and readings of their hinges."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mb_contact.checks import Floats
from mb_contact.core.constraints.hinge import hinge_position, hinge_rate
from mb_contact.types import WORLD

if TYPE_CHECKING:
    from mb_contact.simulation.context import StepContext


class HingeState(NamedTuple):
    """The joints of one degree of freedom of a scene in body coordinates; arrays (joints,)."""

    names: tuple[str, ...]
    positions: Floats  #: by the poses of their bodies; angles within a turn [rad, m]
    velocities: Floats  #: [rad/s, m/s]
    efforts: Floats  #: of the last step: clamped commands, damping, friction, rotors, limits [N m, N]


def command_hinges(context, command, effort):
    """Add the wrenches of commanded efforts (joints,), clamped to their limits, to ``effort`` (6 n,) of the bodies.

    An effort acts along the axis, through the body's origin, on the body, and against it on its base: what J* makes of
    an effort.  The wrenches are those of the poses now; flows hold them over the step.
    """
    hinges, kin = context.hinges, context.kin
    np.clip(command, -hinges.effort_limit, hinges.effort_limit, out=context.hinge_effort)
    for i, value in enumerate(context.hinge_effort.tolist()):
        k, m = hinges.body[i], hinges.base[i]
        axis = hinges.R_base[i, :, 2]
        along = value * (axis if m == WORLD else kin.R[m] @ axis)
        first = 3 * hinges.slides[i]
        effort[6 * k + first : 6 * k + first + 3] += along
        if m != WORLD:
            effort[6 * m + first : 6 * m + first + 3] -= along
            if hinges.slides[i]:
                effort[6 * m : 6 * m + 3] -= np.cross(kin.p[k] - kin.p[m], along)


class Hinged:
    """The part of a Simulator that reads joints in body coordinates."""

    context: StepContext

    def hinges(self) -> HingeState:
        """Joints of one degree of freedom where ``coordinates: bodies`` leaves no coordinates for them.

        Returns
        -------
        HingeState
            Of ``world.hinge_names``; empty in joint coordinates.

        Examples
        --------
        >>> sim = mb.Simulator(mb.pendulum(2, length=2.0, angle=0.0, rate=0.0).scene(coordinates="bodies"))
        >>> _ = sim.step([1.0, 0.0])
        >>> sim.hinges().names, sim.hinges().efforts
        (('hinge_0', 'hinge_1'), array([1., 0.]))
        """
        context = self.context
        hinges, kin, of = context.hinges, context.kin, range(len(context.hinges.body))
        positions = np.array([hinge_position(hinges, i, kin) for i in of])
        velocities = np.array([hinge_rate(hinges, i, kin, context.v) for i in of])
        efforts = np.zeros(len(of))
        if context.last is not None:
            sign = np.array([1.0, -1.0, 1.0, 1.0])  # of a lower limit, an upper one, damping, friction
            impulse = np.where(hinges.posed < 0, 0.0, context.solution.r[hinges.posed]) @ sign
            efforts = context.hinge_effort + impulse / context.last.dt
        return HingeState(context.world.hinge_names, positions, velocities, efforts)
