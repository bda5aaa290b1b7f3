# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A trot for the quadruped HyQ: planned feet, inverse kinematics, joint PD, weight carried by the legs that stand.

Diagonal legs move together.  A foot that stands goes backwards under the trunk at the speed of the walk, one that
swings goes forwards along a cycloid; where it is put down follows the trunk's speed (Raibert).  With the trunk's roll
and pitch the legs lengthen and shorten, so that it stays level over uneven ground.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mb_contact.checks import Floats
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.simulation.simulator import Simulator

LEGS = ("lf", "rf", "lh", "rh")
HIP = np.array([[0.3735, 0.207, 0.0], [0.3735, -0.207, 0.0], [-0.3735, 0.207, 0.0], [-0.3735, -0.207, 0.0]])  # [m]
SHOULDER, THIGH, SHANK = 0.08, 0.35, 0.346  # lengths, from the roll axis to the hip, to the knee, to the foot [m]
KNEE = np.array([1.0, 1.0, -1.0, -1.0])  # knees of the fore legs bend backwards
#: Angles of the joints from (roll, swing, knee) as ``leg_angles`` gives them.
SIGNS = np.array([[-1.0, -1.0, -1.0], [1.0, -1.0, -1.0], [-1.0, -1.0, -1.0], [1.0, -1.0, -1.0]])
FASTEST = 8.0  # wanted speed of a joint [rad/s]


@dataclass(frozen=True)
class Gait:
    """How to walk (SI units)."""

    speed: float = 0.3  #: forwards [m/s]
    period: float = 0.5  #: of a step of all legs [s]
    standing: float = 0.6  #: part of the period for which a leg stands
    lift: float = 0.09  #: of a swinging foot [m]
    height: float = 0.62  #: of the trunk's origin above the feet [m]
    settle: float = 0.5  #: standing before the first step [s]
    level: float = 1.0  #: part of a tilt that the feet make up for
    placing: float = 0.08  #: of a swinging foot, beside the way in half a stance, for a wrong speed [s]
    stiffness: float = 500.0  #: [N m/rad]
    damping: float = 15.0  #: [N m s/rad]


class Trot:
    """Efforts of HyQ's joints from a simulator's state.

    Parameters
    ----------
    simulator : Simulator
        Of a scene with HyQ, its base called ``trunk``.
    gait : Gait
    """

    def __init__(self, simulator: Simulator, gait: Gait | None = None) -> None:
        self._sim = simulator
        self.gait = Gait() if gait is None else gait
        world = simulator.world
        self._joints = len(world.joint_names)
        names = [f"{leg}_{joint}_joint" for leg in LEGS for joint in ("haa", "hfe", "kfe")]
        order = [world.joint_names.index(name) for name in names]
        self._q, self._v = world.joint_q[order].reshape(4, 3), world.joint_v[order].reshape(4, 3)
        self._order = np.array(order).reshape(4, 3)
        self._trunk = world.tree.v_start[world.frames["trunk"].body]
        self._last: Floats | None = None
        self._weight = 9.81 * float(world.tree.mass.sum())

    def efforts(self) -> Floats:
        """Efforts of all joints in the simulator's order [N m]."""
        gait, sim = self.gait, self._sim
        R = quat_to_matrix(sim.link_pose("trunk")[1])
        velocity = R.T @ sim.v[self._trunk + 3:self._trunk + 6]
        feet, standing = self.plan(sim.time, velocity)
        feet = feet - self._levelling(R, feet)
        angles = leg_angles(feet - HIP)
        q, v = sim.q[self._q], sim.v[self._v]
        rates = np.zeros((4, 3)) if self._last is None else (angles - self._last) / sim.time_step
        self._last = angles
        rates = np.clip(rates, -FASTEST, FASTEST)
        effort = gait.stiffness * (SIGNS * angles - q) + gait.damping * (SIGNS * rates - v)
        load = -self._weight / max(standing.sum(), 1) * R.T[:, 2]
        for leg in np.flatnonzero(standing):  # the ground pushes the foot up by its share of the weight
            effort[leg] += SIGNS[leg] * (leg_jacobian(SIGNS[leg] * q[leg]).T @ load)
        out = np.zeros(self._joints)
        out[self._order] = effort
        return out

    def plan(self, time: float, velocity: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Feet (4, 3) in the axes of the trunk, and which of the legs stand, at a time and a velocity of the trunk."""
        gait = self.gait
        feet = HIP - [0.0, 0.0, gait.height]
        if time < gait.settle:
            return feet, np.ones(4, bool)
        speed = gait.speed * min(1.0, (time - gait.settle) / (2.0 * gait.period))
        phase = ((time - gait.settle) / gait.period + np.array([0.0, 0.5, 0.5, 0.0])) % 1.0
        standing = phase < gait.standing
        stance = gait.standing * gait.period
        error = gait.placing * (velocity[:2] - [speed, 0.0])
        for leg in range(4):
            if standing[leg]:
                feet[leg, 0] += speed * stance * (0.5 - phase[leg] / gait.standing)
                continue
            s = (phase[leg] - gait.standing) / (1.0 - gait.standing)
            blend = s - np.sin(2.0 * np.pi * s) / (2.0 * np.pi)
            feet[leg, 0] += speed * stance * (blend - 0.5)
            feet[leg, :2] += blend * error
            feet[leg, 2] += gait.lift * 0.5 * (1.0 - np.cos(2.0 * np.pi * s))
        return feet, standing

    def _levelling(self, R, feet):
        """How much lower each foot must be for a level trunk."""
        out = np.zeros((4, 3))
        out[:, 2] = -self.gait.level * (feet[:, :2] @ R[2, :2])
        return out


def leg_angles(feet: Floats) -> Floats:
    """Roll, swing and knee angles (4, 3) that bring the feet (4, 3), from their roll axes, where they shall be."""
    x, y, z = feet.T
    roll = np.arctan2(y, -z)
    down = np.hypot(y, z) - SHOULDER
    reach = np.clip(np.hypot(x, down), 0.2, 0.999 * (THIGH + SHANK))
    knee = KNEE * np.arccos((reach**2 - THIGH**2 - SHANK**2) / (2.0 * THIGH * SHANK))
    swing = np.arctan2(x, down) - np.arctan2(SHANK * np.sin(knee), THIGH + SHANK * np.cos(knee))
    return np.column_stack([roll, swing, knee])


def leg_jacobian(angles: Floats) -> Floats:
    """Derivative (3, 3) of the foot's place from its roll axis, in the axes of the trunk, by its angles."""
    roll, swing, knee = angles
    x2, d2 = SHANK * np.cos(swing + knee), -SHANK * np.sin(swing + knee)
    x1, d1 = THIGH * np.cos(swing) + x2, -THIGH * np.sin(swing) + d2
    down = SHOULDER + THIGH * np.cos(swing) + SHANK * np.cos(swing + knee)
    s, c = np.sin(roll), np.cos(roll)
    return np.array([[0.0, x1, x2], [down * c, d1 * s, d2 * s], [down * s, -d1 * c, -d2 * c]])
