# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Two hands lift a box: operational-space impedance control, without ROS (that is dual_arm_lift.py).

Both hands form one task of twelve dimensions, x' = J theta', whose inertia Lambda^-1 couples them.  With e
the pose error to a reference x_d,

    F   = Lambda^-1 (x_d'' - J' theta') + D e' + K e + F_load           wrenches on the hands
    tau = J* F + N* tau_posture + tau_fingers + h + d theta'            joint efforts

    N*  = 1 - J* Lambda^-1 J M^-1    leaves the hands' acceleration alone: posture and damping of elbows, head
    D   = 2 zeta L Q S Q* L*         damps every mode alike at this inertia: L L* = Lambda^-1 (Cholesky) and
                                     L^-1 K L^-* = Q S^2 Q* (eigenvalues: squared frequencies)
    h, d                             published nonlinear effects; joint damping from the robot's description

The hands press because their references lie inside the box: grip force = stiffness times depth.  The fingers
are held straight by PD control and carry their share of the grip.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

import hand_kernels
import numpy as np

import mb_contact as mb

HANDS = ("left", "right")
FRAMES = ("left_tcp", "right_tcp")
OUTWARD = np.array([[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])  #: from the box to each hand, world axes
FINGER_SHARE = {"finger_1_joint": 0.5, "finger_2_joint": 0.25, "finger_3_joint": 0.25}  #: of the grip force
FINGER_LEVER = 0.042  #: from a finger's joint to the middle of its pad [m]


@dataclass(frozen=True)
class LiftTask:
    """What to do, how firmly and how fast (SI units)."""

    box_width: float = 0.24  #: between the two faces that the hands press
    box_mass: float = 2.0
    lift: float = 0.205  #: a little more than the 0.2 m that are asked for
    clearance: float = 0.010  #: between hand and face before closing and after opening
    grip: float = 25.0  #: force of each hand on its face [N]
    lost: float = 0.03  #: a box farther than this from its place between the hands is lost [m]

    reach_time: float = 1.2
    close_time: float = 0.9
    load_time: float = 0.4  #: the hands take over the weight before they move, and give it back after
    lift_time: float = 1.5
    hold_time: float = 3.1
    retreat_time: float = 0.9

    pressing_stiffness: float = 1000.0  #: along a hand's pressing axis [N/m]
    stiffness: float = 2000.0  #: across it [N/m]
    rotational_stiffness: float = 60.0  #: [N m/rad]
    damping_ratio: float = 0.7
    posture_stiffness: float = 30.0  #: [N m/rad]
    posture_damping: float = 4.0  #: [N m s/rad]
    finger_stiffness: float = 20.0
    finger_damping: float = 0.12


class Terms(NamedTuple):
    """The operational-space terms of one state, as published."""

    inertia: np.ndarray  #: Lambda^-1 (6 a frame, square)
    jacobian: np.ndarray  #: J (6 a frame, joints)
    bias: np.ndarray  #: J' theta' (6 a frame,)
    mass_matrix: np.ndarray  #: M (joints, joints)
    nonlinear_effects: np.ndarray  #: h (joints,)


class LiftError(mb.MbContactError):
    """The box is not where the hands are, or the simulator is gone."""


class Reference:
    """Targets in time, joined by minimum-jerk moves.

    A target is [left position (3), right position (3), grip, load]; grip and load go from 0 to 1.
    """

    def __init__(self, task, start, box):
        """Plan from the hands' positions ``start`` (2, 3) and the box's centre ``box`` (3,)."""
        face = box + 0.5 * task.box_width * OUTWARD
        near = face + task.clearance * OUTWARD
        inside = face - task.grip / task.pressing_stiffness * OUTWARD
        high = inside + [0.0, 0.0, task.lift]
        moves = [
            ("reach", task.reach_time, near, 0.0, 0.0),
            ("squeeze", task.close_time, inside, 1.0, 0.0),
            ("load", task.load_time, inside, 1.0, 1.0),
            ("lift", task.lift_time, high, 1.0, 1.0),
            ("hold", task.hold_time, high, 1.0, 1.0),
            ("lower", task.lift_time, inside, 1.0, 1.0),
            ("unload", task.load_time, inside, 1.0, 0.0),
            ("release", task.close_time, near, 0.0, 0.0),
            ("retreat", task.retreat_time, start, 0.0, 0.0),
        ]
        self.phases = [name for name, *_ in moves]
        self.times = np.cumsum([0.0] + [duration for _, duration, *_ in moves])
        self._times = self.times.tolist()
        targets = [(start, 0.0, 0.0)] + [(hands, grip, load) for _, _, hands, grip, load in moves]
        self._targets = np.array([[*np.ravel(hands), grip, load] for hands, grip, load in targets])
        self._changes = np.diff(self._targets, axis=0)

    @property
    def duration(self):
        """End of the last move [s]."""
        return self._times[-1]

    def index(self, time):
        """Number of the move that ``time`` lies in."""
        return min(max(bisect_right(self._times, time) - 1, 0), len(self.phases) - 1)

    def __call__(self, time):
        """Value, rate and acceleration (8,) at ``time`` [s]."""
        i = self.index(time)
        T = self._times[i + 1] - self._times[i]
        s = min(max((time - self._times[i]) / T, 0.0), 1.0)
        change = self._changes[i]
        value = self._targets[i] + change * (s**3 * (10.0 - 15.0 * s + 6.0 * s**2))
        rate = change * (30.0 * s**2 * (1.0 - s) ** 2 / T)
        return value, rate, change * (60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / T**2)


class HandPoses:
    """Poses of both hands from joint positions, by the chains in the robot's description."""

    def __init__(self, model, joint_names):
        """Precompute; ``joint_names`` is the order of the joint vectors."""
        tree, frames = model.tree, [model.frames[name] for name in FRAMES]
        chains = []
        for frame in frames:
            chain = [frame.body]
            while tree.parent[chain[0]] >= 0:
                chain.insert(0, int(tree.parent[chain[0]]))
            chains.append(chain)
        chains = np.array(chains)  # both arms have as many joints
        self._pick = np.array([[joint_names.index(model.body_joint_names[k]) for k in c] for c in chains])
        x, y, z = np.moveaxis(tree.axis[chains], -1, 0)
        o = np.zeros_like(x)
        cross = np.moveaxis(np.array([[o, -z, y], [z, o, -x], [-y, x, o]]), (0, 1), (2, 3))
        # one joint: fixed offset times rotation; by Rodrigues linear in 1, sin q and 1 - cos q
        self._fixed = _homogeneous(tree.R_joint[chains], tree.p_joint[chains], 1.0)
        self._sine = _homogeneous(tree.R_joint[chains] @ cross)
        self._cosine = _homogeneous(tree.R_joint[chains] @ cross @ cross)
        self._end = _homogeneous(np.array([f.R for f in frames]), np.array([f.p for f in frames]), 1.0)

    def __call__(self, position):
        """Positions (2, 3) and rotations (2, 3, 3) of the tool centre points in world axes."""
        return hand_kernels.hand_poses(self._pick, self._fixed, self._sine, self._cosine, self._end, position)


def _homogeneous(R, p=0.0, one=0.0):
    T = np.zeros((*R.shape[:-2], 4, 4))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, p, one
    return T


class TwoHands:
    """What every task of the two hands needs: their poses, damping, the elbows' posture, straight fingers.

    Parameters
    ----------
    model : Model
        From robot_description, for the poses of the hands and the joints' damping.
    joint_names : sequence of str
        Order of all joint vectors.
    position : (joints,)
        Where the robot is now: the posture to keep.
    task : LiftTask or alike
        Gains of posture and fingers, damping ratio, grip.
    """

    def __init__(self, model, joint_names, position, task):
        self.task = task
        joint_names = list(joint_names)
        self.hand_poses = HandPoses(model, joint_names)
        dof = model.joint_v[[model.joint_names.index(name) for name in joint_names]]
        self._effort_limit = np.asarray(model.effort_limit)[dof]
        self._posture = np.array(position, dtype=float)
        shares = [FINGER_SHARE.get(name.split("_", 1)[1], 0.0) for name in joint_names]
        is_finger = np.array(["finger" in name or "spread" in name for name in joint_names])
        #: rows: stiffness and damping of the posture and of the fingers, efforts that grip, the joints' own damping
        self._gains = np.empty((6, len(joint_names)))
        self._gains[:2] = np.array([[task.posture_stiffness], [task.posture_damping]]) * ~is_finger
        self._gains[2:4] = np.array([[task.finger_stiffness], [task.finger_damping]]) * is_finger
        self._gains[4] = np.array(shares) * task.grip * FINGER_LEVER
        self._gains[5] = np.asarray(model.tree.damping)[dof]

    def efforts(self, F, terms, position, velocity, grip):
        """Joint efforts for wrenches F (12,) on the hands, with posture, fingers and what the robot itself needs."""
        return hand_kernels.efforts(F, terms.jacobian, terms.inertia, terms.mass_matrix,
                                    terms.nonlinear_effects, position, velocity, self._posture, self._gains, grip,
                                    self._effort_limit)  # fmt: skip

    def damping(self, inertia, K):
        """D (12, 12) that damps every mode of K at this inertia by the task's ratio."""
        L = np.linalg.cholesky(inertia)
        half = np.linalg.solve(L, K)
        squares, Q = np.linalg.eigh(np.linalg.solve(L, half.T))
        LQ = L @ Q
        return 2.0 * self.task.damping_ratio * (LQ * np.sqrt(np.maximum(squares, 0.0))) @ LQ.T


class LiftController(TwoHands):
    """The law, without ROS: from a state and its operational-space terms to joint efforts.

    Parameters
    ----------
    model : Model
        From robot_description, for the poses of the hands and the joints' damping.
    joint_names : sequence of str
        Order of all joint vectors.
    position : (joints,)
        Where the robot is now: the posture to keep, the orientation of the hands.
    box : (3,)
        Centre of the box, world axes [m].
    task : LiftTask, optional
    """

    def __init__(self, model, joint_names, position, box, task=None):
        task = task or LiftTask()
        super().__init__(model, joint_names, position, task)
        self._K = self._stiffness()
        self._load = np.zeros(12)
        self._load[5::6] = 0.5 * task.box_mass * 9.81
        self._D = None
        self._updates = 0
        self._box = np.array(box, dtype=float)
        p, self._R_start = self.hand_poses(self._posture)
        self.reference = Reference(task, p, self._box)

    @property
    def duration(self):
        """Length of the whole task [s]."""
        return self.reference.duration

    def phase(self, time):
        """Name of the move at ``time``."""
        return self.reference.phases[self.reference.index(time)]

    def update(self, time, position, velocity, terms, box=None):
        """Joint efforts for one state.

        Parameters
        ----------
        time : float
            Since the start of the task [s].
        position, velocity : (joints,)
        terms : Terms
            Of the same state.
        box : (3,), optional
            Where the box was seen last [m].

        Raises
        ------
        LiftError
            The hands should carry the box and it does not follow them.
        """
        value, rate, acceleration = self.reference(time)
        if box is not None and value[7] == 1.0:
            self._check_grasp(value, box)
        F = hand_kernels.wrenches(*self.hand_poses(position), self._R_start, value, rate, acceleration, velocity,
                                  terms.jacobian, terms.inertia, terms.bias, self._K,
                                  self._damping(terms.inertia))  # fmt: skip
        F += value[7] * self._load
        return self.efforts(F, terms, position, velocity, value[6])

    def _check_grasp(self, value, box):
        x, y, _ = self._box.tolist()
        distance = math.dist(box.tolist(), (x, y, value[5]))
        if distance > self.task.lost:
            raise LiftError(f"the box is lost: it is {1e3 * distance:.0f} mm from its place between the hands")

    def _stiffness(self):
        """K (12, 12): softer along the pressing axes."""
        blocks = np.zeros((2, 6, 6))
        for block, axis in zip(blocks, OUTWARD):
            block[:3, :3] = self.task.rotational_stiffness * np.eye(3)
            softer = self.task.pressing_stiffness - self.task.stiffness
            block[3:, 3:] = self.task.stiffness * np.eye(3) + softer * np.outer(axis, axis)
        K = np.zeros((12, 12))
        K[:6, :6], K[6:, 6:] = blocks
        return K

    def _damping(self, inertia):
        """D (12, 12); the arms move slowly, so every tenth update is enough."""
        if self._updates % 10 == 0:
            self._D = self.damping(inertia, self._K)
        self._updates += 1
        return self._D
