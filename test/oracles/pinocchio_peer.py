# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Pinocchio as an independent reference: the same URDF, results in this package's coordinates and order.

Pinocchio's velocity of joint k is ``S_k(q) v_k``, with v_k ours:

* revolute, prismatic: the same number; a continuous joint's position is (cos, sin) there;
* floating: ``[R* v; R* omega]`` there, body axes, linear part first; ``[omega; v]`` in world axes here.

So M = S* M' S, T = S* T', J = J' S and v_dot' = S v_dot + s with ``s = dS/dt v``.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np

from mb_contact.model.rotations import quat_to_matrix
from mb_contact.types import (
    JOINT_FLOATING,
    JOINT_PLANAR,
    JOINT_PRISMATIC,
    JOINT_REVOLUTE,
    JOINT_SCREW,
    JOINT_SPHERICAL,
    JOINT_UNIVERSAL,
)


def example_robots():
    """Folder of the robots of example-robot-data, or None where that package is not installed."""
    try:
        data = distribution("example-robot-data")
    except PackageNotFoundError:
        return None
    return Path(data.locate_file("cmeel.prefix/share/example-robot-data/robots"))


def depth_first(parent):
    """Bodies of a forest, every subtree in one piece."""
    order, stack = [], [k for k in reversed(range(len(parent))) if parent[k] < 0]
    while stack:
        order.append(stack.pop())
        stack += [k for k in reversed(range(len(parent))) if parent[k] == order[-1]]
    return order


class Peer:
    """One URDF in Pinocchio, seen through the coordinates of ``model`` (a Model of the same file).

    Parameters
    ----------
    pin : module
        ``pinocchio``.
    model : Model
    path : path
        The URDF file that ``model`` was read from.
    gravity : (3,)
    """

    def __init__(self, pin, model, path, gravity):
        self.pin, self.ours = pin, model
        tree = model.tree
        self.floating = model.n > 0 and tree.joint_type[0] == JOINT_FLOATING
        base = (pin.JointModelFreeFlyer(),) if self.floating else ()
        self.model = pin.buildModelFromUrdf(str(path), *base)
        self.model.gravity.linear = np.asarray(gravity, float)
        self._data = None
        names = ["root_joint" if kind == JOINT_FLOATING else name
                 for kind, name in zip(tree.joint_type, model.body_joint_names)]
        self.joint_ids = np.array([self.model.getJointId(name) for name in names], int)
        self.joints = [self.model.joints[int(i)] for i in self.joint_ids]
        self.world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED

    @classmethod
    def of_tree(cls, pin, ours, gravity):
        """A peer of any tree, its model built joint by joint; ``ours`` has a tree and body_names."""
        peer = cls.__new__(cls)
        peer.pin, peer.ours, peer._data = pin, ours, None
        peer.model = pin.Model()
        peer.model.gravity.linear = np.asarray(gravity, float)
        tree, ids = ours.tree, {}
        for k in depth_first(tree.parent):  # the order that Pinocchio's algorithms want
            kind, axis, axis2 = tree.joint_type[k], tree.axis[k], tree.axis2[k]
            joint, *axes = {
                JOINT_REVOLUTE: (pin.JointModelRevoluteUnaligned, axis),
                JOINT_PRISMATIC: (pin.JointModelPrismaticUnaligned, axis),
                JOINT_FLOATING: (pin.JointModelFreeFlyer,),
                JOINT_PLANAR: (pin.JointModelPlanar,),
                JOINT_SPHERICAL: (pin.JointModelSpherical,),
                JOINT_UNIVERSAL: (pin.JointModelUniversal, axis, axis2),
                JOINT_SCREW: (pin.JointModelHelicalUnaligned, axis, float(axis @ axis2)),
            }[int(kind)]
            parent = ids[tree.parent[k]] if tree.parent[k] >= 0 else 0
            placement = pin.SE3(tree.R_joint[k], tree.p_joint[k])
            ids[k] = peer.model.addJoint(parent, joint(*axes), placement, f"joint_{k}")
            inertia = pin.Inertia(tree.mass[k], tree.com[k], tree.inertia[k])
            peer.model.appendBodyToJoint(ids[k], inertia, pin.SE3.Identity())
            frame = pin.Frame(ours.body_names[k], ids[k], 0, pin.SE3.Identity(), pin.FrameType.BODY)
            peer.model.addFrame(frame)
        peer.joint_ids = np.array([ids[k] for k in range(len(ids))])
        peer.joints = [peer.model.joints[int(i)] for i in peer.joint_ids]
        peer.world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return peer

    @property
    def data(self):
        """Pinocchio's Data, made when first needed: it holds four N^3 tensors."""
        if self._data is None:
            self._data = self.model.createData()
        return self._data

    @property
    def dofs(self):
        """Degrees of freedom of our model."""
        return int(self.ours.tree.nv.sum())

    def agrees_in_size(self):
        """Whether both readers found the same joints."""
        return self.model.nv == self.dofs and self.model.njoints - 1 == self.ours.n

    # --- coordinates --------------------------------------------------------------------------

    def position(self, q):
        """Pinocchio's q of ours."""
        out = self.pin.neutral(self.model)
        still = np.zeros(self.dofs)
        for k, joint in enumerate(self.joints):
            out[joint.idx_q : joint.idx_q + joint.nq], _, _ = self._joint(k, q, still)
        return out

    def transformation(self, q, v):
        """S (N, N) and dS/dt v (N,)."""
        S, s = np.zeros((self.model.nv, self.dofs)), np.zeros(self.model.nv)
        for k, joint in enumerate(self.joints):
            mine, theirs = self._dofs(k), slice(joint.idx_v, joint.idx_v + joint.nv)
            _, S[theirs, mine], s[theirs] = self._joint(k, q, v)
        return S, s

    def _dofs(self, k):
        start = self.ours.tree.v_start[k]
        return slice(start, start + self.ours.tree.nv[k])

    def _joint(self, k, q, v):
        """Pinocchio's q of joint k, its block of S and its part of dS/dt v: one branch for each kind of joint."""
        tree, joint = self.ours.tree, self.joints[k]
        kind, at = tree.joint_type[k], tree.q_start[k]
        if kind == JOINT_FLOATING:
            R, w = tree.R_joint[k] @ quat_to_matrix(q[at + 3 : at + 7]), v[self._dofs(k)]
            S = np.block([[np.zeros((3, 3)), R.T], [R.T, np.zeros((3, 3))]])
            return q[at : at + 7], S, np.concatenate([-R.T @ np.cross(w[:3], w[3:]), np.zeros(3)])
        if kind in (JOINT_REVOLUTE, JOINT_PRISMATIC, JOINT_SCREW):
            position = [np.cos(q[at]), np.sin(q[at])] if joint.nq == 2 else [q[at]]
            return np.array(position), np.eye(1), np.zeros(1)
        if kind == JOINT_SPHERICAL:  # body axes there, the joint frame's here
            return q[at : at + 4], quat_to_matrix(q[at : at + 4]).T, np.zeros(3)
        if kind == JOINT_PLANAR:  # the same; its plane is x y
            c, s = np.cos(q[at + 2]), np.sin(q[at + 2])
            S = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
            x, y, spin = S @ v[self._dofs(k)]
            return np.array([q[at], q[at + 1], c, s]), S, np.array([spin * y, -spin * x, 0.0])
        return q[at : at + 2], np.eye(2), np.zeros(2)  # universal

    def update(self, q, v):
        """Take a state: kinematics, Jacobians and, with zero v_dot, accelerations."""
        self.q = self.position(q)
        self.S, self.s = self.transformation(q, v)
        self.v = self.S @ v
        self.pin.computeJointJacobians(self.model, self.data, self.q)
        self.pin.forwardKinematics(self.model, self.data, self.q, self.v, self.s)
        self.pin.updateFramePlacements(self.model, self.data)

    # --- joint space --------------------------------------------------------------------------

    def mass_matrix(self):
        M = self.pin.crba(self.model, self.data, self.q).copy()
        M = np.triu(M) + np.triu(M, 1).T
        return self.S.T @ M @ self.S

    def inverse_dynamics(self, v_dot):
        return self.S.T @ self.pin.rnea(self.model, self.data, self.q, self.v, self.S @ v_dot + self.s)

    def forward_dynamics(self, effort):
        theirs = np.linalg.solve(self.S.T, effort)
        v_dot = self.pin.aba(self.model, self.data, self.q, self.v, theirs)
        return np.linalg.solve(self.S, v_dot - self.s)

    # --- frames -------------------------------------------------------------------------------

    def frame(self, link):
        return self.model.getFrameId(link, self.pin.FrameType.BODY)

    def jacobian(self, links):
        blocks = []
        for link in links:
            J = self.pin.getFrameJacobian(self.model, self.data, self.frame(link), self.world)
            blocks.append(np.vstack((J[3:], J[:3])) @ self.S)
        return np.vstack(blocks)

    def bias(self, links):
        parts = []
        for link in links:
            a = self.pin.getFrameClassicalAcceleration(self.model, self.data, self.frame(link), self.world)
            parts += [a.angular, a.linear]
        return np.concatenate(parts)

    def compliance(self, links):
        J = self.jacobian(links)
        return J @ np.linalg.solve(self.mass_matrix(), J.T)

    def inverse_derivatives(self, q, v, v_dot):
        """Derivatives of the efforts by q and by v (N, N), of robots whose joints are all scalar."""
        self.update(q, v)
        at = self.q, self.v, self.S @ v_dot
        by_q, by_v, _ = self.pin.computeRNEADerivatives(self.model, self.data, *at)
        return self.S.T @ by_q @ self.S, self.S.T @ by_v @ self.S
