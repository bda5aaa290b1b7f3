# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A hand presses on a wall with a prescribed normal force, without ROS (that is press_with_force.py).

Hybrid control of one frame, x' = J theta', in its operational space of inertia Lambda^-1.  With n the wall's outward
normal, P = n n* on the linear part and e the pose error to a reference x_d,

    F   = Lambda^-1 (-J' theta') + (1 - P) (K e + D e') - P (f n) - d P x'       wrench on the hand
    f   = f_d + k_i integral(f_d - f_measured)                                   the force law
    tau = J* F + N* tau_posture + tau_fingers + h + d theta'                     joint efforts

Before it touches, the reference moves towards the wall and P is zero.  The measured force is the sum of the fingers'
``contact_wrenches``, turned into world axes, along n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from lift_controller import FINGER_LEVER, FINGER_SHARE

import mb_contact as mb

FRAME = "left_tcp"
FINGERS = ("left_finger_1", "left_finger_2", "left_finger_3")
NORMAL = np.array([0.0, 1.0, 0.0])  #: of the wall, towards the hand


@dataclass(frozen=True)
class PressTask:
    """What to do, how firmly and how fast (SI units)."""

    force: float = 20.0  #: normal force to hold [N]
    speed: float = 0.08  #: towards the wall [m/s]
    touch: float = 1.0  #: measured force from which on the hand counts as touching [N]
    rise: float = 0.5  #: time in which the wanted force rises [s]
    duration: float = 4.0  #: of the whole task [s]
    farthest: float = 0.25  #: way towards the wall after which there is none [m]
    integral: float = 6.0  #: k_i [1/s]
    most: float = 0.5  #: largest correction by the integral, as a part of ``force``
    stiffness: float = 2000.0  #: across the normal [N/m]
    rotational_stiffness: float = 60.0  #: [N m/rad]
    damping_ratio: float = 0.8
    normal_damping: float = 150.0  #: d along the normal while pressing [N s/m]
    posture_stiffness: float = 30.0  #: [N m/rad]
    posture_damping: float = 4.0  #: [N m s/rad]
    finger_stiffness: float = 20.0
    finger_damping: float = 0.12


class PressError(mb.MbContactError):
    """There is no wall, or the simulator is gone."""


class PressController:
    """The law: from a state, its operational-space terms and the measured force to joint efforts.

    Parameters
    ----------
    model : Model
        From robot_description.
    joint_names : sequence of str
        Order of all joint vectors.
    position : (joints,)
        Where the robot is now: posture and orientation to keep.
    task : PressTask, optional
    """

    def __init__(self, model, joint_names, position, task=None):
        self.task = task = task or PressTask()
        joint_names = list(joint_names)
        self._model = model
        self._order = [joint_names.index(name) for name in model.joint_names]
        dof = model.joint_v[[model.joint_names.index(name) for name in joint_names]]
        self._joint_damping = np.asarray(model.tree.damping)[dof]
        self._effort_limit = np.asarray(model.effort_limit)[dof]
        self._posture = np.array(position, dtype=float)
        self._is_finger = np.array(["finger" in name or "spread" in name for name in joint_names])
        shares = [
            FINGER_SHARE.get(name.split("_", 1)[1], 0.0) if name.startswith("left") else 0.0 for name in joint_names
        ]
        self._finger_share = np.array(shares) * FINGER_LEVER
        self._start, self._R = self.pose(FRAME, position)
        self.touched = None  #: time of the first touch [s]
        self.force = 0.0  #: measured normal force [N]
        self._integral = 0.0
        self._last = None

    @property
    def duration(self):
        """Length of the whole task [s]."""
        return self.task.duration

    def pose(self, link, position):
        """Position (3,) and rotation (3, 3) of a link."""
        R, p = mb.frame_pose(self._model, np.asarray(position)[self._order], link)
        return p, R

    def measure(self, wrenches, position):
        """Take the fingers' contact wrenches, {link: force (3,) in the link's axes}: the normal force [N]."""
        total = sum((self.pose(link, position)[1] @ np.asarray(force) for link, force in wrenches.items()), np.zeros(3))
        self.force = float(total @ NORMAL)
        return self.force

    def wanted(self, time):
        """The normal force to have at ``time`` [N]."""
        if self.touched is None:
            return 0.0
        s = min(1.0, (time - self.touched) / self.task.rise)
        return self.task.force * s * s * (3.0 - 2.0 * s)

    def update(self, time, position, velocity, terms):
        """Joint efforts for one state, ``time`` [s] after the start of the task.

        Raises
        ------
        PressError
            The hand should have met a wall long since.
        """
        task = self.task
        if self.touched is None and self.force > task.touch:
            self.touched = time
            self._way = task.speed * time
        step = 0.0 if self._last is None else time - self._last
        self._last = time
        pressing = self.touched is not None
        way = self._way if pressing else task.speed * time
        if way > task.farthest:
            raise PressError(f"no wall within {task.farthest} m")
        error, rate = self._errors(position, terms.jacobian @ velocity, way, 0.0 if pressing else task.speed)
        K, D = self._gains(terms.inertia, pressing)
        F = -terms.inertia @ terms.bias + K @ error + D @ rate
        if pressing:
            F[3:] -= NORMAL * self._normal_force(time, step)
        effort = terms.jacobian.T @ F + self._null_space(terms, position, velocity)
        effort += self._fingers(position, velocity, self.wanted(time))
        effort += terms.nonlinear_effects + self._joint_damping * velocity
        return np.clip(effort, -self._effort_limit, self._effort_limit)

    def _normal_force(self, time, step):
        """f of the force law."""
        wanted = self.wanted(time)
        most = self.task.most * self.task.force
        change = self.task.integral * (wanted - self.force) * step
        self._integral = float(np.clip(self._integral + change, -most, most))
        return wanted + self._integral

    def _errors(self, position, twist, way, speed):
        """Pose error (6,) and its rate (6,), angular first, world axes."""
        p, R = self.pose(FRAME, position)
        turn = self._R @ R.T
        skew = 0.5 * (turn - turn.T)
        error = np.concatenate(([skew[2, 1], skew[0, 2], skew[1, 0]], self._start - way * NORMAL - p))
        desired = np.concatenate((np.zeros(3), -speed * NORMAL))
        return error, desired - twist

    def _gains(self, inertia, pressing):
        """K and D (6, 6); along the normal there is no stiffness while pressing, and a damping of its own."""
        task = self.task
        stiffness = np.array([task.rotational_stiffness] * 3 + [task.stiffness] * 3)
        damping = 2.0 * task.damping_ratio * np.sqrt(stiffness * np.diag(inertia))
        along = np.concatenate((np.zeros(3), NORMAL))
        if pressing:
            across = 1.0 - along
            return np.diag(stiffness * across), np.diag(damping * across + task.normal_damping * along)
        return np.diag(stiffness), np.diag(damping)

    def _null_space(self, terms, position, velocity):
        """Efforts that keep the posture and do not accelerate the hand."""
        task = self.task
        posture = task.posture_stiffness * (self._posture - position) - task.posture_damping * velocity
        posture[self._is_finger] = 0.0
        push = terms.jacobian @ np.linalg.solve(terms.mass_matrix, posture)
        return posture - terms.jacobian.T @ (terms.inertia @ push)

    def _fingers(self, position, velocity, force):
        task = self.task
        effort = task.finger_stiffness * (self._posture - position) - task.finger_damping * velocity
        effort[~self._is_finger] = 0.0
        return effort + force * self._finger_share
