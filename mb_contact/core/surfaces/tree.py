# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A contact of surfaces as a joint of a tree: its pose, H and bias are filled in, the sweeps are those of every joint.

The pose of the child in its parent is written where a joint's constant place stands (``tree.R_joint``, ``p_joint``,
here arrays of the tree's own), the joint itself then moves nothing.  H and its rate are found in axes of the parent
and turned into the world; ``joint_bias`` already knows that rows turn with the parent, so only R_p dH_local is added.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.core.jit import kernel
from mb_contact.core.surfaces.contact import (
    SINGULAR_CONTACT,
    contact_matrix,
    contact_matrix_rate,
    contact_pose,
    contact_rates,
    rolling_matrix,
    rolling_matrix_rate,
)
from mb_contact.core.tree.articulated import articulated_inertias, free_acceleration
from mb_contact.core.tree.inverse_dynamics import inverse_dynamics, mechanical_energy
from mb_contact.core.tree.kinematics import bias_terms, body_inertias, body_poses, body_velocities
from mb_contact.core.tree.spatial import rotate, rotate_back
from mb_contact.types import JOINT_FLOATING, JOINT_ROLLING, JOINT_SPHERICAL, OK


class SurfaceJoints(NamedTuple):
    """The contacts among the joints of a tree: c of them, N degrees of freedom in all."""

    body: np.ndarray  #: int64 (c,), the body each of them moves
    code: np.ndarray  #: int64 (c, 2, CODES)
    data: np.ndarray  #: all surfaces, one after the other
    bounds: np.ndarray  #: (c, 4, 2)
    H: np.ndarray  #: (N, 6), rows in axes of the parent
    H_dot: np.ndarray  #: (N, 6)
    rate: np.ndarray  #: (c, 5), rates of the contact coordinates
    normal: np.ndarray  #: (c, 6), contact point and normal of the parent's surface, axes of the parent
    wrench: np.ndarray  #: (c, 6), of the contact about the contact point, world axes
    q: np.ndarray  #: (5,), scratch
    v: np.ndarray  #: (5,)


class TreeStages(NamedTuple):
    """Workspace of a Runge-Kutta step of a tree."""

    q: np.ndarray  #: (nq,)
    v: np.ndarray  #: (N,)
    q_start: np.ndarray
    v_start: np.ndarray
    q_dot: np.ndarray  #: (4, nq)
    v_dot: np.ndarray  #: (4, N)
    a: np.ndarray  #: (N,), acceleration
    external: np.ndarray  #: (n, 6)
    alpha: np.ndarray  #: (n, 6)
    force: np.ndarray  #: (n, 6), through the joints
    effort: np.ndarray  #: (N,)
    gravity: np.ndarray  #: (3,)


@kernel
def contact_joints(tree, joints, work, q, v):
    """Poses into ``tree``, H, its rate and dq into ``joints``; a status and the body it is about."""
    for j in range(joints.body.shape[0]):
        k = joints.body[j]
        at = tree.q_start[k]
        s = tree.v_start[k]
        for i in range(5):
            joints.q[i] = q[at + i]
        for i in range(tree.nv[k]):
            joints.v[i] = v[s + i]
        contact_pose(joints.code[j], joints.data, joints.q, work)
        if tree.joint_type[k] == JOINT_ROLLING:
            if contact_rates(work) != OK:
                return SINGULAR_CONTACT, k
            for i in range(5):
                joints.rate[j, i] = work.N[i, 0] * v[s] + work.N[i, 1] * v[s + 1] + work.N[i, 2] * v[s + 2]
            rolling_matrix(work)
            rolling_matrix_rate(joints.v, joints.rate[j, 0], joints.rate[j, 1], work)
        else:
            for i in range(5):
                joints.rate[j, i] = v[s + i]
            contact_matrix(work)
            contact_matrix_rate(joints.v, work)
        for i in range(tree.nv[k]):
            for c in range(6):
                joints.H[s + i, c] = work.H[i, c]
                joints.H_dot[s + i, c] = work.H_dot[i, c]
        for a in range(3):
            tree.p_joint[k, a] = work.point[0, a]
            joints.normal[j, a] = work.D[0, 0, a]
            joints.normal[j, 3 + a] = work.R[0, a, 2]
            for b in range(3):
                tree.R_joint[k, a, b] = work.turn[0, a, b]
    return OK, -1


@kernel
def tree_state(tree, kin, joints, work, q, v):
    """Kinematics of a tree with contacts at (q, v) into ``kin``; a status and the body it is about."""
    status, body = contact_joints(tree, joints, work, q, v)
    if status != OK:
        return status, body
    body_poses(tree, q, kin)
    for j in range(joints.body.shape[0]):
        k = joints.body[j]
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            _into_world(tree.parent[k], kin.R, joints.H, i, kin.H, i, 1.0, 0.0)
    body_velocities(tree, kin, v, kin.V)
    body_inertias(tree, kin)
    bias_terms(tree, kin, v)
    for j in range(joints.body.shape[0]):
        k = joints.body[j]
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            _into_world(tree.parent[k], kin.R, joints.H_dot, i, kin.a, k, v[i], 1.0)
    return OK, -1


@kernel
def _into_world(parent, R, source, i, target, k, factor, keep):
    """target[k] := keep target[k] + factor R_parent source[i], both halves."""
    for half in range(0, 6, 3):
        x = source[i, half]
        y = source[i, half + 1]
        z = source[i, half + 2]
        if parent >= 0:
            x, y, z = rotate(R, parent, x, y, z)
        target[k, half] = keep * target[k, half] + factor * x
        target[k, half + 1] = keep * target[k, half + 1] + factor * y
        target[k, half + 2] = keep * target[k, half + 2] + factor * z


@kernel
def tree_accelerations(tree, kin, art, joints, work, gravity, effort, external, q, v, q_dot, v_dot, row, a):
    """Rates of q and v at (q, v) into row ``row`` of q_dot and v_dot (rows, nq), (rows, N), and into a (N,)."""
    status, body = tree_state(tree, kin, joints, work, q, v)
    if status != OK:
        return status, body
    status, body = articulated_inertias(tree, kin, 0.0, art)
    if status != OK:
        return status, body
    free_acceleration(tree, kin, art, gravity, effort, v, external, a)
    for i in range(a.shape[0]):
        v_dot[row, i] = a[i]
    _coordinate_rates(tree, joints, q, v, q_dot, row)
    return OK, -1


@kernel
def _coordinate_rates(tree, joints, q, v, q_dot, row):
    """dq of every joint: v, but for quaternions and contacts."""
    for k in range(tree.parent.shape[0]):
        s = tree.q_start[k]
        d = tree.v_start[k]
        kind = tree.joint_type[k]
        if kind == JOINT_FLOATING:
            x, y, z = rotate_back(tree.R_joint, k, v[d + 3], v[d + 4], v[d + 5])
            q_dot[row, s], q_dot[row, s + 1], q_dot[row, s + 2] = x, y, z
            x, y, z = rotate_back(tree.R_joint, k, v[d], v[d + 1], v[d + 2])
            _quaternion_rate(q, s + 3, x, y, z, q_dot, row)
        elif kind == JOINT_SPHERICAL:
            _quaternion_rate(q, s, v[d], v[d + 1], v[d + 2], q_dot, row)
        else:
            for i in range(tree.nv[k]):
                q_dot[row, s + i] = v[d + i]
    for j in range(joints.body.shape[0]):
        s = tree.q_start[joints.body[j]]
        for i in range(5):
            q_dot[row, s + i] = joints.rate[j, i]


@kernel
def _quaternion_rate(q, s, x, y, z, q_dot, row):
    """Half of (w, 0) times the quaternion q[s:s + 4] = x y z w."""
    q_dot[row, s] = 0.5 * (x * q[s + 3] + y * q[s + 2] - z * q[s + 1])
    q_dot[row, s + 1] = 0.5 * (y * q[s + 3] + z * q[s] - x * q[s + 2])
    q_dot[row, s + 2] = 0.5 * (z * q[s + 3] + x * q[s + 1] - y * q[s])
    q_dot[row, s + 3] = -0.5 * (x * q[s] + y * q[s + 1] + z * q[s + 2])


@kernel
def tree_steps(tree, kin, art, joints, work, stages, h, count, q, v):
    """``count`` steps of the classical Runge-Kutta method in place; (status, body, steps done, contact that leaves)."""
    nq = q.shape[0]
    N = v.shape[0]
    for done in range(count):
        for i in range(nq):
            stages.q_start[i] = q[i]
        for i in range(N):
            stages.v_start[i] = v[i]
        for stage in range(4):
            part = 0.0 if stage == 0 else (h if stage == 3 else 0.5 * h)
            for i in range(nq):
                stages.q[i] = stages.q_start[i] + (part * stages.q_dot[stage - 1, i] if stage > 0 else 0.0)
            for i in range(N):
                stages.v[i] = stages.v_start[i] + (part * stages.v_dot[stage - 1, i] if stage > 0 else 0.0)
            status, body = tree_accelerations(
                tree, kin, art, joints, work, stages.gravity, stages.effort, stages.external, stages.q, stages.v,
                stages.q_dot, stages.v_dot, stage, stages.a,
            )  # fmt: skip
            if status != OK:
                return status, body, done, -1
        k = stages.q_dot
        for i in range(nq):
            q[i] = stages.q_start[i] + h / 6.0 * (k[0, i] + 2.0 * k[1, i] + 2.0 * k[2, i] + k[3, i])
        k = stages.v_dot
        for i in range(N):
            v[i] = stages.v_start[i] + h / 6.0 * (k[0, i] + 2.0 * k[1, i] + 2.0 * k[2, i] + k[3, i])
        _normalise(tree, q)
        for j in range(joints.body.shape[0]):
            s = tree.q_start[joints.body[j]]
            for i in range(4):
                if not joints.bounds[j, i, 0] <= q[s + i] <= joints.bounds[j, i, 1]:
                    return OK, -1, done + 1, j
    return OK, -1, count, -1


@kernel
def _normalise(tree, q):
    """Quaternions of length one."""
    for k in range(tree.parent.shape[0]):
        kind = tree.joint_type[k]
        if kind != JOINT_FLOATING and kind != JOINT_SPHERICAL:
            continue
        s = tree.q_start[k] + (3 if kind == JOINT_FLOATING else 0)
        f = 1.0 / np.sqrt(q[s] * q[s] + q[s + 1] * q[s + 1] + q[s + 2] * q[s + 2] + q[s + 3] * q[s + 3])
        for i in range(4):
            q[s + i] *= f


@kernel
def tree_forces(tree, kin, art, joints, work, stages, q, v):
    """Everything about the state (q, v): ``kin``, accelerations ``stages.a``, contact wrenches, energy.

    Returns (status, body, kinetic energy, potential energy) [J].
    """
    status, body = tree_accelerations(
        tree, kin, art, joints, work, stages.gravity, stages.effort, stages.external, q, v, stages.q_dot,
        stages.v_dot, 0, stages.a,
    )  # fmt: skip
    if status != OK:
        return status, body, 0.0, 0.0
    inverse_dynamics(tree, kin, stages.gravity, stages.a, stages.alpha, stages.force, stages.v)
    for j in range(joints.body.shape[0]):
        k = joints.body[j]
        m = tree.parent[k]
        x, y, z = joints.normal[j, 0], joints.normal[j, 1], joints.normal[j, 2]
        if m >= 0:
            x, y, z = rotate(kin.R, m, x, y, z)
            x += kin.p[m, 0]
            y += kin.p[m, 1]
            z += kin.p[m, 2]
        x, y, z = kin.p[k, 0] - x, kin.p[k, 1] - y, kin.p[k, 2] - z  # from the contact point to the body's origin
        f = stages.force
        joints.wrench[j, 0] = f[k, 0] + y * f[k, 5] - z * f[k, 4]
        joints.wrench[j, 1] = f[k, 1] + z * f[k, 3] - x * f[k, 5]
        joints.wrench[j, 2] = f[k, 2] + x * f[k, 4] - y * f[k, 3]
        for c in range(3, 6):
            joints.wrench[j, c] = f[k, c]
    kinetic, potential = mechanical_energy(tree, kin, stages.gravity)
    return OK, -1, kinetic, potential
