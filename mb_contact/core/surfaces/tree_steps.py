# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Runge-Kutta steps of a tree with contacts of surfaces, which stop at the first step with an event."""

from __future__ import annotations

import numpy as np

from mb_contact.core.jit import kernel
from mb_contact.core.surfaces.closest import closest_points
from mb_contact.core.surfaces.layout import (
    FREE,
    FRICTION_ROOM,
    GAP,
    GAP_RATE,
    NORMAL_FORCE,
    ROLLING,
    SLIDING,
    SLIP_1,
    SLIP_2,
)
from mb_contact.core.surfaces.steps import BREAKS, GAP_LIMIT, LANDS, LEAVES, NONE, SLIPS, SLOWS
from mb_contact.core.surfaces.tree import (
    HOLDS,
    joint_forces,
    normal_force,
    tree_accelerations,
    tree_state,
)
from mb_contact.core.tree.articulated import articulated_inertias, impulse_response
from mb_contact.core.tree.inverse_dynamics import mechanical_energy
from mb_contact.core.tree.kinematics import body_velocities
from mb_contact.core.tree.spatial import cross, rotate, rotate_back
from mb_contact.types import JOINT_FLOATING, JOINT_SPHERICAL, NOT_FINITE, OK

STOPS = 6  #: an event: a joint has come to its limit
RELEASES = 7  #: a joint moves away from its limit


@kernel
def tree_steps(tree, kin, art, joints, work, stages, h, count, q, v):
    """``count`` steps of Runge and Kutta's method in place: (status, body, steps done, event, its contact or dof).

    The step with an event (but LEAVES) is not taken: q and v are those at its start.
    """
    nq = q.shape[0]
    N = v.shape[0]
    for j in range(joints.body.shape[0]):
        joints.guide[j, 0] = 0.0
        joints.guide[j, 1] = 0.0
    status, body = tree_watch(tree, kin, art, joints, work, stages, q, v)
    if status != OK:
        return status, body, 0, NONE, -1
    for done in range(count):
        for i in range(nq):
            stages.q_start[i] = q[i]
        for i in range(N):
            stages.v_start[i] = v[i]
        for j in range(joints.body.shape[0]):
            joints.guide[j, 0] = joints.watch[j, SLIP_1]
            joints.guide[j, 1] = joints.watch[j, SLIP_2]
        status, body = _runge_kutta(tree, kin, art, joints, work, stages, h, q, v)
        if status == OK:
            status, body = tree_watch(tree, kin, art, joints, work, stages, q, v)
        event, index = NONE, -1
        if status == OK:
            event, index = _tree_event(tree, joints, stages, q, v)
        if status != OK or (event != NONE and event != LEAVES):
            for i in range(nq):
                q[i] = stages.q_start[i]
            for i in range(N):
                v[i] = stages.v_start[i]
            return status, body, done, event, index
        if event != NONE:
            return OK, -1, done + 1, event, index
    return OK, -1, count, NONE, -1


@kernel
def _runge_kutta(tree, kin, art, joints, work, stages, h, q, v):
    """One step from (q_start, v_start), whose rates stand in row 0, to (q, v); (status, body)."""
    for stage in range(1, 4):
        part = h if stage == 3 else 0.5 * h
        for i in range(q.shape[0]):
            stages.q[i] = stages.q_start[i] + part * stages.q_dot[stage - 1, i]
        for i in range(v.shape[0]):
            stages.v[i] = stages.v_start[i] + part * stages.v_dot[stage - 1, i]
        status, body = tree_accelerations(tree, kin, art, joints, work, stages, stages.q, stages.v, stage)
        if status != OK:
            return status, body
    k = stages.q_dot
    for i in range(q.shape[0]):
        q[i] = stages.q_start[i] + h / 6.0 * (k[0, i] + 2.0 * k[1, i] + 2.0 * k[2, i] + k[3, i])
    k = stages.v_dot
    for i in range(v.shape[0]):
        v[i] = stages.v_start[i] + h / 6.0 * (k[0, i] + 2.0 * k[1, i] + 2.0 * k[2, i] + k[3, i])
        if not abs(v[i]) < 1e300:
            return NOT_FINITE, -1
    _normalise(tree, q)
    return OK, -1


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
def tree_watch(tree, kin, art, joints, work, stages, q, v):
    """Everything about the state (q, v): rates in row 0, accelerations ``a``, contact wrenches, ``watch``.

    Returns (status, body).
    """
    status, body = tree_accelerations(tree, kin, art, joints, work, stages, q, v, 0)
    if status != OK:
        return status, body
    joint_forces(tree, kin, stages)
    for j in range(joints.body.shape[0]):
        if joints.mode[j] == FREE:
            for c in range(6):
                joints.wrench[j, c] = 0.0
            status = _watch_gap(kin, joints, work, stages, j)
            if status != OK:
                return status, joints.body[j]
        else:
            _watch_force(kin, joints, stages.force, j)
    return OK, -1


@kernel
def _watch_force(kin, joints, f, j):
    """Wrench about the contact point, normal force, and what friction is left."""
    k = joints.body[j]
    m = joints.parent[j]
    x, y, z = joints.normal[j, 0], joints.normal[j, 1], joints.normal[j, 2]
    if m >= 0:
        x, y, z = rotate(kin.R, m, x, y, z)
        x += kin.p[m, 0]
        y += kin.p[m, 1]
        z += kin.p[m, 2]
    x, y, z = kin.p[k, 0] - x, kin.p[k, 1] - y, kin.p[k, 2] - z  # from the contact point to the body's origin
    joints.wrench[j, 0] = f[k, 0] + y * f[k, 5] - z * f[k, 4]
    joints.wrench[j, 1] = f[k, 1] + z * f[k, 3] - x * f[k, 5]
    joints.wrench[j, 2] = f[k, 2] + x * f[k, 4] - y * f[k, 3]
    for c in range(3, 6):
        joints.wrench[j, c] = f[k, c]
    push = normal_force(kin, joints, f, j)
    square = f[k, 3] * f[k, 3] + f[k, 4] * f[k, 4] + f[k, 5] * f[k, 5]
    joints.watch[j, NORMAL_FORCE] = push
    joints.watch[j, FRICTION_ROOM] = joints.law[j, 0] * push - np.sqrt(max(0.0, square - push * push))


@kernel
def _watch_gap(kin, joints, work, stages, j):
    """Gap of a free body from the surface it may land on, and its rate; ``near`` is updated.  A status."""
    k = joints.body[j]
    m = joints.parent[j]
    turn = work.turn
    p = work.point
    x, y, z = kin.p[k, 0], kin.p[k, 1], kin.p[k, 2]
    for r in range(3):  # the body in axes of the parent
        for c in range(3):
            turn[0, r, c] = kin.R[k, r, c]
            if m >= 0:
                turn[0, r, c] = 0.0
                for i in range(3):
                    turn[0, r, c] += kin.R[m, i, r] * kin.R[k, i, c]
    if m >= 0:
        x, y, z = rotate_back(kin.R, m, x - kin.p[m, 0], y - kin.p[m, 1], z - kin.p[m, 2])
    p[0, 0], p[0, 1], p[0, 2] = x, y, z
    for i in range(3):
        work.a[i] = 0.0
    limit = GAP_LIMIT * (1.0 + abs(x) + abs(y) + abs(z))
    status = closest_points(
        joints.code[j], joints.data, turn, p, joints.near[j], work.a, work, work.N, stages.five, limit
    )
    if status != OK:
        return status
    vx, vy, vz = _point_velocity(kin, k, m, work.D, 1)
    ux, uy, uz = _point_velocity(kin, m, m, work.D, 0)
    x, y, z = work.R[0, 0, 2], work.R[0, 1, 2], work.R[0, 2, 2]
    if m >= 0:
        x, y, z = rotate(kin.R, m, x, y, z)
    joints.watch[j, GAP] = joints.near[j, 4]
    joints.watch[j, GAP_RATE] = (vx - ux) * x + (vy - uy) * y + (vz - uz) * z
    return OK


@kernel
def _point_velocity(kin, k, m, D, side):
    """Velocity of the near point ``D[side]`` of body k, its arm given in axes of body m."""
    if k < 0:
        return 0.0, 0.0, 0.0
    x, y, z = D[side, 0, 0], D[side, 0, 1], D[side, 0, 2]
    if m >= 0:
        x, y, z = rotate(kin.R, m, x, y, z)
    V = kin.V
    x, y, z = cross(V[k, 0], V[k, 1], V[k, 2], x, y, z)
    return V[k, 3] + x, V[k, 4] + y, V[k, 5] + z


@kernel
def _tree_event(tree, joints, stages, q, v):
    """(event, contact or degree of freedom) at the end of a step, (NONE, -1) if nothing has happened."""
    watch = joints.watch
    for j in range(joints.body.shape[0]):
        mode = joints.mode[j]
        mu = joints.law[j, 0]
        if mode == FREE:
            if watch[j, GAP] < -GAP_LIMIT and watch[j, GAP_RATE] < 0.0:
                return LANDS, j
            continue
        if watch[j, NORMAL_FORCE] < 0.0 and joints.law[j, 1] != 0.0:
            return BREAKS, j
        x = joints.guide[j, 0]
        y = joints.guide[j, 1]
        if mode == SLIDING and mu > 0.0 and watch[j, SLIP_1] * x + watch[j, SLIP_2] * y < 0.5 * (x * x + y * y):
            return SLOWS, j
        if mode == ROLLING and mu < np.inf and watch[j, FRICTION_ROOM] < 0.0:
            return SLIPS, j
    for s in range(stages.stop.shape[0]):
        i = stages.stop[s, 0]
        x = q[stages.stop[s, 1]]
        if stages.stop[s, 2] == 0 and ((x > tree.upper[i] and v[i] > 0.0) or (x < tree.lower[i] and v[i] < 0.0)):
            return STOPS, i
    for n in range(stages.row.shape[0]):
        if stages.row[n, 0] == HOLDS:
            for s in range(stages.stop.shape[0]):
                if stages.stop[s, 0] == stages.row[n, 1] and stages.stop[s, 2] * stages.load[n] > 0.0:
                    return RELEASES, stages.row[n, 1]
    return _leaves(tree, joints, q)


@kernel
def _leaves(tree, joints, q):
    """A contact that is where its chart is not meant for."""
    for j in range(joints.body.shape[0]):
        s = tree.q_start[joints.body[j]]
        for i in range(4):
            x = joints.near[j, i] if joints.mode[j] == FREE else q[s + i]
            if not joints.bounds[j, i, 0] <= x <= joints.bounds[j, i, 1]:
                return LEAVES, j
    return NONE, -1


@kernel
def tree_energy(tree, kin, stages):
    """(kinetic, potential) energy [J] after ``tree_watch``."""
    return mechanical_energy(tree, kin, stages.gravity)


@kernel
def inverse_mass(tree, kin, art, joints, work, stages, q, v, out):
    """Inverse of the mass matrix at q into ``out`` (N, N); ``kin`` is that of (q, v).  (status, body)."""
    status, body = tree_state(tree, kin, joints, work, q, v)
    if status == OK:
        status, body = articulated_inertias(tree, kin, 0.0, art)
    if status != OK:
        return status, body
    for i in range(v.shape[0]):
        for m in range(v.shape[0]):
            stages.total[m] = 0.0
        stages.total[i] = 1.0
        impulse_response(tree, kin, art, stages.external, stages.total, out[i])
    return OK, -1


@kernel
def body_jacobian(tree, kin, stages, k, out):
    """Rows (N, 6): velocity of body k, world axes, for a unit of each velocity; after ``inverse_mass``."""
    for i in range(out.shape[0]):
        for m in range(out.shape[0]):
            stages.total[m] = 0.0
        stages.total[i] = 1.0
        body_velocities(tree, kin, stages.total, stages.alpha)
        for c in range(6):
            out[i, c] = stages.alpha[k, c]
