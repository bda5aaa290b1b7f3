# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What tasks of two hands with something that is seen share: gains, the clock, errors of the hands, poses.

Poses are (position (3,), rotation (3, 3)).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from lift_controller import TwoHands

from mb_contact.model.rotations import rotation_about


@dataclass(frozen=True)
class HandsTask:
    """How firmly the hands are held (SI units)."""

    grip: float = 0.0  #: normal force of each hand [N]
    stiffness: float = 1500.0  #: of a free hand, and of one hand against the other [N/m]
    rotational_stiffness: float = 60.0  #: [N m/rad]
    damping_ratio: float = 0.8
    posture_stiffness: float = 30.0  #: [N m/rad]
    posture_damping: float = 4.0  #: [N m s/rad]
    waist_stiffness: float = 400.0
    waist_damping: float = 80.0
    finger_stiffness: float = 20.0
    finger_damping: float = 0.12


class SeenObjectController(TwoHands, ABC):
    """A law that moves the hands along poses over time; a task gives it ``_hand_targets``.

    Parameters
    ----------
    model : Model
        From robot_description.
    joint_names : sequence of str
    position : (joints,)
        Where the robot is now: the posture to keep.
    task : HandsTask
    """

    def __init__(self, model, joint_names, position, task):
        super().__init__(model, joint_names, position, task)
        waist = [i for i, name in enumerate(joint_names) if name.startswith("waist")]
        self._gains[:2, waist] = [[task.waist_stiffness], [task.waist_damping]]
        self._free = np.diag(np.tile(np.repeat([task.rotational_stiffness, task.stiffness], 3), 2))
        self._hands = self.hand_poses(position)
        self._clock, self._time, self._updates = 0.0, None, 0
        self.done = False

    @abstractmethod
    def _hand_targets(self, clock):
        """Poses of both hands that are wanted so long after the phase began."""

    def _look(self, time, position):
        """Take a state; the time since the last one [s]."""
        step = 0.0 if self._time is None else time - self._time
        self._time, self._hands = time, self.hand_poses(position)
        return step

    def _is_due(self):
        """Whether impedances are set anew: the arms move slowly, so every tenth update is enough."""
        self._updates += 1
        return self._updates % 10 == 1

    def _errors(self):
        """Pose error, wanted velocity and acceleration (2, 6) of the hands, angular first, world axes."""
        h = 1e-3
        before, now, after = (self._hand_targets(self._clock + k * h) for k in (-1.0, 0.0, 1.0))
        error, rate, acceleration = np.zeros((3, 2, 6))
        for i, (p, R) in enumerate(zip(*self._hands)):
            error[i, :3], error[i, 3:] = logarithm(now[i][1] @ R.T), now[i][0] - p
            ahead, behind = logarithm(after[i][1] @ now[i][1].T), logarithm(now[i][1] @ before[i][1].T)
            rate[i, :3], rate[i, 3:] = 0.5 * (ahead + behind) / h, 0.5 * (after[i][0] - before[i][0]) / h
            acceleration[i, :3] = (ahead - behind) / h**2
            acceleration[i, 3:] = (after[i][0] - 2.0 * now[i][0] + before[i][0]) / h**2
        return error, rate, acceleration


def exponential(rotation):
    """Rotation matrix of a rotation vector (3,)."""
    angle = np.sqrt(rotation @ rotation)
    return np.eye(3) if angle < 1e-12 else rotation_about(rotation / angle, angle)


def logarithm(R):
    """Rotation vector (3,) of a rotation matrix, of angles below pi."""
    sine = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    length = np.sqrt(sine @ sine)
    angle = np.arctan2(length, 0.5 * (np.trace(R) - 1.0))
    return sine if length < 1e-9 else sine * (angle / length)


def minimum_jerk(s):
    """From 0 to 1."""
    s = min(max(s, 0.0), 1.0)
    return s**3 * (10.0 - 15.0 * s + 6.0 * s**2)


def compose(a, b):
    """The pose b, given in the frame of pose a, in a's surroundings; poses are (position, rotation)."""
    return a[0] + a[1] @ b[0], a[1] @ b[1]


def between(a, b, s, turn=0.0):
    """Pose at the share s of the way from a to b, on an arc about the vertical through the origin by ``turn``."""
    Rz, back = rotation_about((0.0, 0.0, 1.0), s * turn), rotation_about((0.0, 0.0, 1.0), -turn)
    p = a[0] + s * (back @ b[0] - a[0])
    R = a[1] @ exponential(s * logarithm(a[1].T @ back @ b[1]))
    return Rz @ p, Rz @ R
