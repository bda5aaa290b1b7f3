# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What is seen of a tree with contacts at one state: contact wrenches, gaps, energy, and its response to impulses."""

from __future__ import annotations

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.jit import kernel
from mb_contact.core.surfaces.closest import closest_points
from mb_contact.core.surfaces.flight import GAP_LIMIT
from mb_contact.core.surfaces.layout import FREE, FRICTION_ROOM, GAP, GAP_RATE, NORMAL_FORCE
from mb_contact.core.surfaces.tree import tree_accelerations, tree_state
from mb_contact.core.surfaces.tree_rows import joint_forces, normal_force
from mb_contact.core.tree.articulated import articulated_inertias, impulse_response
from mb_contact.core.tree.inverse_dynamics import mechanical_energy
from mb_contact.core.tree.kinematics import body_velocities
from mb_contact.core.tree.spatial import cross, rotate, rotate_back
from mb_contact.types import OK


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
    fill(3, work.a, 0.0)
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
        fill(v.shape[0], stages.total, 0.0)
        stages.total[i] = 1.0
        impulse_response(tree, kin, art, stages.external, stages.total, out[i])
    return OK, -1


@kernel
def body_jacobian(tree, kin, stages, k, out):
    """Rows (N, 6): velocity of body k, world axes, for a unit of each velocity; after ``inverse_mass``."""
    for i in range(out.shape[0]):
        fill(out.shape[0], stages.total, 0.0)
        stages.total[i] = 1.0
        body_velocities(tree, kin, stages.total, stages.alpha)
        for c in range(6):
            out[i, c] = stages.alpha[k, c]
