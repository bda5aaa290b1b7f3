# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A contact of surfaces as a joint of a tree: its pose, H and bias are filled in, the sweeps are those of every joint.

The pose of the child in its parent is written where a joint's constant place stands (``tree.R_joint``, ``p_joint``,
here arrays of the tree's own), the joint itself then moves nothing.  H and its rate are found in axes of the parent
and turned into the world; ``joint_bias`` already knows that rows turn with the parent, so only R_p dH_local is added.

Friction of a sliding contact acts between its two bodies alone, so it is an effort of that joint, and so is the torque
of a joint limit: see ``rows``.

A body that has left its parent hangs on the world by a floating joint.
"""

from mb_contact.core.arrays import copy
from mb_contact.core.jit import kernel, sweep
from mb_contact.core.surfaces.contact import (
    SINGULAR_CONTACT,
    contact_matrix,
    contact_matrix_rate,
    contact_pose,
    contact_rates,
    rolling_matrix,
    rolling_matrix_rate,
)
from mb_contact.core.surfaces.friction import slip_velocity, unit_friction
from mb_contact.core.surfaces.layout import DECELERATION, FREE, SLIDING, SLIP, SLIP_1, SLIP_2
from mb_contact.core.surfaces.rows import solve_rows
from mb_contact.core.tree.articulated import articulated_inertias, free_acceleration
from mb_contact.core.tree.kinematics import bias_terms, body_inertias, body_poses, body_velocities
from mb_contact.core.tree.spatial import (
    STILL,
    body_vector,
    linear,
    matrix,
    put_spatial,
    spatial,
    spatial_sum,
    transposed,
    turned,
    vector,
)
from mb_contact.types import JOINT_FLOATING, JOINT_ROLLING, JOINT_SPHERICAL, OK


@sweep
def contact_joints(tree, joints, work, q, v):
    """Poses into ``tree``, H, its rate and dq into ``joints``; a status and the body it is about."""
    for j in range(joints.body.shape[0]):
        if joints.mode[j] == FREE:
            continue
        k = joints.body[j]
        at = tree.q_start[k]
        s = tree.v_start[k]
        for i in range(5):
            joints.q[i] = q[at + i]
        for i in range(tree.nv[k]):
            joints.v[i] = v[s + i]
        contact_pose(joints.code[j], joints.data, joints.q, work)
        if contact_rates(work) != OK:
            return SINGULAR_CONTACT, k
        if tree.joint_type[k] == JOINT_ROLLING:
            for i in range(5):
                joints.rate[j, i] = work.N[i, 0] * v[s] + work.N[i, 1] * v[s + 1] + work.N[i, 2] * v[s + 2]
            rolling_matrix(work)
            rolling_matrix_rate(joints.v, joints.rate[j, 0], joints.rate[j, 1], work)
        else:
            for i in range(5):
                joints.rate[j, i] = v[s + i]
            contact_matrix(work)
            contact_matrix_rate(joints.v, work)
        _drag(joints, work, j)
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
def _drag(joints, work, j):
    """Slip of contact j into its ``watch`` and the wrench of a unit of friction into ``drag``; zero where none acts."""
    watch = joints.watch[j]
    watch[SLIP] = 0.0
    watch[SLIP_1] = 0.0
    watch[SLIP_2] = 0.0
    watch[DECELERATION] = 0.0
    for c in range(6):
        joints.drag[j, c] = 0.0
    if joints.mode[j] != SLIDING:
        return
    copy(5, joints.v, work.rate)
    slip_velocity(work, watch)
    if joints.law[j, 0] > 0.0 and watch[SLIP] > 0.0:
        for c in range(3):
            work.guide[c] = joints.guide[j, c]
        tx, ty, tz, mx, my, mz = unit_friction(work, watch)
        drag = joints.drag
        drag[j, 0], drag[j, 1], drag[j, 2], drag[j, 3], drag[j, 4], drag[j, 5] = mx, my, mz, tx, ty, tz


@kernel
def tree_state(tree, kin, joints, work, q, v):
    """Kinematics of a tree with contacts at (q, v) into ``kin``; a status and the body it is about."""
    status, body = contact_joints(tree, joints, work, q, v)
    if status != OK:
        return status, body
    body_poses(tree, q, kin)
    for j in range(joints.body.shape[0]):
        if joints.mode[j] == FREE:
            continue
        k = joints.body[j]
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            _into_world(tree.parent[k], kin.R, joints.H, i, kin.H, i, 1.0, 0.0)
    body_velocities(tree, kin, v, kin.V)
    body_inertias(tree, kin)
    bias_terms(tree, kin, v)
    for j in range(joints.body.shape[0]):
        if joints.mode[j] == FREE:
            continue
        k = joints.body[j]
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            _into_world(tree.parent[k], kin.R, joints.H_dot, i, kin.a, k, v[i], 1.0)
    return OK, -1


@kernel
def _into_world(parent, R, source, i, target, k, factor, keep):
    """target[k] := keep target[k] + factor R_parent source[i], both halves."""
    turned = body_vector(R, parent, vector(source, i)) + body_vector(R, parent, linear(source, i))
    put_spatial(target, k, spatial_sum(spatial_sum(STILL, keep, spatial(target, k)), factor, turned))


@kernel
def tree_accelerations(tree, kin, art, joints, work, stages, q, v, row):
    """Rates at (q, v) into row ``row`` of ``q_dot`` and ``v_dot``, accelerations into ``a``; (status, body)."""
    status, body = tree_state(tree, kin, joints, work, q, v)
    if status != OK:
        return status, body
    status, body = articulated_inertias(tree, kin, 0.0, art)
    if status != OK:
        return status, body
    a = stages.a
    total = stages.total
    copy(total.shape[0], stages.effort, total)
    free_acceleration(tree, kin, art, stages.gravity, total, v, stages.external, a)
    if stages.row.shape[0] > 0:
        status, body = solve_rows(tree, kin, art, joints, stages, v)
        if status != OK:
            return status, body
    for i in range(a.shape[0]):
        stages.v_dot[row, i] = a[i]
    _coordinate_rates(tree, joints, q, v, stages.q_dot, row)
    return OK, -1


@kernel
def _coordinate_rates(tree, joints, q, v, q_dot, row):
    """dq of every joint: v, but for quaternions and contacts."""
    for k in range(tree.parent.shape[0]):
        s = tree.q_start[k]
        d = tree.v_start[k]
        kind = tree.joint_type[k]
        if kind == JOINT_FLOATING:
            back = transposed(matrix(tree.R_joint, k))
            q_dot[row, s], q_dot[row, s + 1], q_dot[row, s + 2] = turned(back, (v[d + 3], v[d + 4], v[d + 5]))
            x, y, z = turned(back, (v[d], v[d + 1], v[d + 2]))
            _quaternion_rate(q, s + 3, x, y, z, q_dot, row)
        elif kind == JOINT_SPHERICAL:
            _quaternion_rate(q, s, v[d], v[d + 1], v[d + 2], q_dot, row)
        else:
            for i in range(tree.nv[k]):
                q_dot[row, s + i] = v[d + i]
    for j in range(joints.body.shape[0]):
        if joints.mode[j] == FREE:
            continue
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
