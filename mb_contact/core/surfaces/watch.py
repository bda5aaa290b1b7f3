# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What is seen of a tree with contacts at one state: contact wrenches, gaps, energy, and its response to impulses."""

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.jit import kernel
from mb_contact.core.surfaces.closest import closest_points
from mb_contact.core.surfaces.layout import FREE, FRICTION_ROOM, GAP, GAP_RATE, NORMAL_FORCE
from mb_contact.core.surfaces.rows import joint_forces, normal_force
from mb_contact.core.surfaces.tree import tree_accelerations, tree_state
from mb_contact.core.tree.articulated import articulated_inertias, impulse_response
from mb_contact.core.tree.kinematics import body_velocities
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    body_point,
    body_vector,
    gathered,
    linear,
    matrix,
    product,
    put_matrix,
    put_spatial,
    put_vector,
    spatial,
    transposed,
    turned,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)
from mb_contact.types import OK

GAP_LIMIT = 1e-12  #: residual of closest points, in lengths of the scene


@kernel
def tree_watch(tree, kin, art, joints, work, stages, q, v, row):
    """Everything about the state (q, v): rates in row ``row``, accelerations ``a``, contact wrenches, ``watch``.

    Returns (status, body).
    """
    status, body = tree_accelerations(tree, kin, art, joints, work, stages, q, v, row)
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
    point = body_point(kin.R, kin.p, m, vector(joints.normal, j))
    put_spatial(joints.wrench, j, gathered(spatial(f, k), vector_sum(vector(kin.p, k), -1.0, point)))
    push = normal_force(kin, joints, f, j)
    along = vector_sum(linear(f, k), -push, body_vector(kin.R, m, linear(joints.normal, j)))
    joints.watch[j, NORMAL_FORCE] = push
    joints.watch[j, FRICTION_ROOM] = joints.law[j, 0] * push - np.sqrt(vector_dot(along, along))


@kernel
def _watch_gap(kin, joints, work, stages, j):
    """Gap of a free body from the surface it may land on, and its rate; ``near`` is updated.  A status."""
    k = joints.body[j]
    m = joints.parent[j]
    turn = work.turn
    p = work.point
    r, x = matrix(kin.R, k), vector(kin.p, k)
    if m >= 0:  # the body in axes of the parent
        back = transposed(matrix(kin.R, m))
        r, x = product(back, r), turned(back, vector_sum(x, -1.0, vector(kin.p, m)))
    put_matrix(turn, 0, r)
    put_vector(p, 0, x)
    limit = GAP_LIMIT * (1.0 + abs(x[0]) + abs(x[1]) + abs(x[2]))
    status = closest_points(
        joints.code[j], joints.data, turn, p, joints.near[j], work.along, work, work.N, stages.five, limit
    )
    if status != OK:
        return status
    apart = vector_sum(_near_velocity(kin, k, m, work.D, 1), -1.0, _near_velocity(kin, m, m, work.D, 0))
    normal = body_vector(kin.R, m, (work.R[0, 0, 2], work.R[0, 1, 2], work.R[0, 2, 2]))
    joints.watch[j, GAP] = joints.near[j, 4]
    joints.watch[j, GAP_RATE] = vector_dot(apart, normal)
    return OK


@kernel
def _near_velocity(kin, k, m, D, side):
    """Velocity of the near point ``D[side]`` of body k, its arm given in axes of body m."""
    if k < 0:
        return ZERO
    arm = body_vector(kin.R, m, vector(D[side], 0))
    return vector_sum(linear(kin.V, k), 1.0, vector_product(vector(kin.V, k), arm))


@kernel
def inverse_mass(tree, kin, art, joints, work, stages, q, v, out):
    """Inverse of the mass matrix at q into ``out`` (N, N); ``kin`` is that of (q, v).  (status, body)."""
    status, body = tree_state(tree, kin, joints, work, q, v)
    if status == OK:
        status, body = articulated_inertias(tree, kin, 0.0, art)
    if status != OK:
        return status, body
    for k in range(stages.carried.shape[0]):
        put_spatial(stages.carried, k, STILL)
    for i in range(v.shape[0]):
        fill(v.shape[0], stages.total, 0.0)
        stages.total[i] = 1.0
        impulse_response(tree, kin, art, stages.carried, stages.total, out[i])
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
