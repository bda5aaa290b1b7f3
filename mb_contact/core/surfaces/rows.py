# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Efforts of a tree's joints that depend on its accelerations: sliding friction, and torques at limits.

Each is a row x with y(x) = y_0 + G x, y the normal force of a contact or the acceleration of a joint; G is found by
trying each row with one more sweep,

    x = mu y (friction),    y = 0 (limit).
"""

from mb_contact.core.jit import kernel
from mb_contact.core.lcp.linear import lu_factor, lu_solve
from mb_contact.core.surfaces.layout import DECELERATION, HOLDS, RUBS
from mb_contact.core.tree.articulated import free_acceleration
from mb_contact.core.tree.inverse_dynamics import inverse_dynamics
from mb_contact.core.tree.spatial import (
    add_spatial,
    body_vector,
    gathered,
    linear,
    put_spatial,
    spatial,
    spatial_sum,
    vector,
    vector_dot,
)
from mb_contact.types import OK

JAMMED = 21  #: a status: friction and sliding have no common solution (Painleve)


@kernel
def solve_rows(tree, kin, art, joints, stages, v):
    """Friction and torques of limits into ``load``, efforts with them into ``total``, accelerations into ``a``."""
    row = stages.row
    unit = stages.unit
    total = stages.total
    A = stages.system
    load = stages.load
    r = row.shape[0]
    _units(tree, joints, stages)
    _measure(tree, kin, joints, stages)
    for n in range(r):
        stages.value[n] = load[n]
        stages.grip[n] = -_along(unit, n, stages.a)
    for m in range(r):
        for i in range(total.shape[0]):
            total[i] = stages.effort[i] + unit[m, i]
        free_acceleration(tree, kin, art, stages.gravity, total, v, stages.external, stages.a)
        _measure(tree, kin, joints, stages)
        stages.grip[m] += _along(unit, m, stages.a)
        for n in range(r):
            change = load[n] - stages.value[n]
            if row[n, 0] == RUBS:
                A[n, m] = (1.0 if n == m else 0.0) - joints.law[row[n, 1], 0] * change
                if n == m and not A[n, n] > 0.0:
                    return JAMMED, joints.body[row[n, 1]]
            else:
                A[n, m] = change
    for n in range(r):
        load[n] = joints.law[row[n, 1], 0] * stages.value[n] if row[n, 0] == RUBS else -stages.value[n]
    if not lu_factor(A, r, stages.order):
        return JAMMED, joints.body[row[0, 1]] if row[0, 0] == RUBS else -1
    lu_solve(A, r, stages.order, load)
    for i in range(total.shape[0]):
        total[i] = stages.effort[i]
        for n in range(r):
            total[i] += load[n] * unit[n, i]
    for n in range(r):
        if row[n, 0] == RUBS:
            joints.watch[row[n, 1], DECELERATION] = load[n] * stages.grip[n]
    free_acceleration(tree, kin, art, stages.gravity, total, v, stages.external, stages.a)
    return OK, -1


@kernel
def _along(unit, n, a):
    """Power of a unit of row n per velocity, of the accelerations a."""
    total = 0.0
    for i in range(a.shape[0]):
        total += unit[n, i] * a[i]
    return total


@kernel
def _units(tree, joints, stages):
    """Efforts of a unit of each row: H drag of a contact, 1 at a limit."""
    for n in range(stages.row.shape[0]):
        for i in range(stages.unit.shape[1]):
            stages.unit[n, i] = 0.0
        j = stages.row[n, 1]
        if stages.row[n, 0] == HOLDS:
            stages.unit[n, j] = 1.0
            continue
        k = joints.body[j]
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            for c in range(6):
                stages.unit[n, i] += joints.H[i, c] * joints.drag[j, c]


@kernel
def _measure(tree, kin, joints, stages):
    """y of each row with the accelerations of now, into ``load``."""
    joint_forces(tree, kin, stages)
    for n in range(stages.row.shape[0]):
        j = stages.row[n, 1]
        stages.load[n] = stages.a[j] if stages.row[n, 0] == HOLDS else normal_force(kin, joints, stages.force, j)


@kernel
def joint_forces(tree, kin, stages):
    """Forces through the joints for the accelerations of now, into ``stages.force``; wrenches from outside are none."""
    inverse_dynamics(tree, kin, stages.gravity, stages.a, stages.alpha, stages.force, stages.torque)
    external = stages.external
    carried = stages.carried
    n = tree.parent.shape[0]
    for k in range(n):
        put_spatial(carried, k, spatial(external, k))
    for k in range(n - 1, -1, -1):
        outside = spatial(carried, k)
        put_spatial(stages.force, k, spatial_sum(spatial(stages.force, k), -1.0, outside))
        if tree.parent[k] >= 0:
            add_spatial(carried, tree.parent[k], gathered(outside, vector(kin.l, k)))


@kernel
def normal_force(kin, joints, force, j):
    """Of the parent on the body of contact j [N]."""
    normal = body_vector(kin.R, joints.parent[j], linear(joints.normal, j))
    return vector_dot(normal, linear(force, joints.body[j]))
