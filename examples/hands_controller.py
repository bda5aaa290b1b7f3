# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What tasks of two hands with something that is seen share: gains, the clock, errors of the hands, poses.

Poses are (position (3,), rotation (3, 3)).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from hand_kernels import between, exponential, pose_errors, turn_from
from lift_controller import TwoHands

__all__ = ["HandsTask", "SeenObjectController", "between", "compose", "exponential", "minimum_jerk", "turn_from"]

SPACING = 1e-3  #: of the poses of which the wanted motion is made [s]


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
        targets = [self._hand_targets(self._clock + k * SPACING) for k in (-1.0, 0.0, 1.0)]
        places, turns = (np.array([[pose[part] for pose in poses] for poses in targets]) for part in range(2))
        return pose_errors(*self._hands, places, turns, SPACING)


def minimum_jerk(s):
    """From 0 to 1."""
    s = min(max(s, 0.0), 1.0)
    return s**3 * (10.0 - 15.0 * s + 6.0 * s**2)


def compose(a, b):
    """The pose b, given in the frame of pose a, in a's surroundings; poses are (position, rotation)."""
    return a[0] + a[1] @ b[0], a[1] @ b[1]
