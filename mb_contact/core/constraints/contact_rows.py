# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact frames D and the scalar rows of a step: contacts (normal, two tangents) and joint limits.

The row of direction d at a contact point x between bodies A and B is the pair of 6-vectors
``phi(A, x) [0; d]`` on A and ``-phi(B, x) [0; d]`` on B, so its velocity is ``d . v_u`` with v_u the
velocity of A's contact point relative to B's.  A joint limit is the same thing in other clothes: the
joint rate is a difference of body velocities, ``v_i = h . (omega(k) - omega(p))``, so a limit row
acts on body k with [h; 0] and on its parent with -phi(p, k) [h; 0].
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.compliance import node_row
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    gathered,
    point_velocity,
    put_spatial,
    put_vector,
    spatial,
    spatial_dot,
    spatial_sum,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)
from mb_contact.types import LOWER, SLOWEST

NEAR_LIMIT = 0.9  # part of a velocity limit from which on it is in the problem
LIMIT_MARGIN = 1e-3  # [rad, m] limits nearer than this are always in the problem


@kernel
def contact_frames(geoms, contacts, kin, memory, slip_speed, frames):
    """Tangent vectors: along the slip above ``slip_speed``, otherwise the contact's previous frame carried over.

    An infinite ``slip_speed`` means a fixed frame: the world's x axis (y where the normal is near x) across the normal.
    """
    V = kin.V
    for i in range(contacts.count[0]):
        pair = contacts.pair[i]
        a = geoms.body[geoms.pairs[pair, 0]]
        b = geoms.body[geoms.pairs[pair, 1]]
        n = vector(contacts.normal, i)
        point = vector(contacts.point, i)
        slip = vector_sum(point_velocity(V, kin.p, a, point), -1.0, point_velocity(V, kin.p, b, point))
        t, size = tangential(slip, n)
        j = _find_previous(memory.count[0], memory.pair, memory.feature, pair, contacts.feature[i])
        frames.known[i] = j
        frames.aligned[i] = 1 if size > slip_speed else 0
        if frames.aligned[i] == 0:
            size = 0.0
            if j >= 0 and slip_speed < np.inf:
                t, size = tangential(vector(memory.tangent, j), n)
            if size < 1e-6:  # there is none, or the carried tangent has become the normal
                t, size = tangential((1.0, 0.0, 0.0) if abs(n[0]) < 0.8 else (0.0, 1.0, 0.0), n)
        set_tangents(frames, i, n, t, size)


@sweep
def set_tangents(frames, i, n, t, size):
    """Tangents of contact i, the first along t of this size, across the normal n."""
    t = t[0] / size, t[1] / size, t[2] / size
    put_vector(frames.t1, i, t)
    put_vector(frames.t2, i, vector_product(n, t))


@sweep
def tangential(a, n):
    """Part of the vector a across the unit normal n, and its length."""
    t = vector_sum(a, -vector_dot(a, n), n)
    return t, np.sqrt(vector_dot(t, t))


@kernel
def _find_previous(count, pairs, features, pair, feature):
    for j in range(count):
        if pairs[j] == pair and features[j] == feature:
            return j
    return -1


@kernel
def contact_rows(geoms, contacts, kin, frames, dt, push_rate, push_speed, rows, cones):
    """Rows and offsets of all contacts; resets the units first.

    The normal row asks for ``u_n + g / dt >= 0`` before touching and, below, for a push-out velocity of
    ``min(push_rate |g| / dt, push_speed)`` (equations.md section 3: never all of |g| / dt).
    """
    fill(rows.touched.shape[0], rows.touched, 0)
    c = contacts.count[0]
    for i in range(c):
        pair = geoms.pairs[contacts.pair[i]]
        a = geoms.body[pair[0]]
        b = geoms.body[pair[1]]
        row = 3 * i
        two_sides(kin.p, a, b, contacts.point, contacts.normal, i, rows, row)
        two_sides(kin.p, a, b, contacts.point, frames.t1, i, rows, row + 1)
        two_sides(kin.p, a, b, contacts.point, frames.t2, i, rows, row + 2)
        gap = contacts.gap[i]
        rows.offset[row] = gap / dt if gap >= 0.0 else -min(-push_rate * gap / dt, push_speed)
        cones.start[i] = row
        cones.dim[i] = 3
    cones.count[0] = c
    cones.rows[0] = 3 * c


@kernel
def two_sides(origin, a, b, point, direction, i, rows, row):
    """Row ``row`` along ``direction[i]`` at ``point[i]``: + on body a, - on body b."""
    rows.body_a[row] = a
    rows.body_b[row] = b
    rows.dof[row] = -1
    rows.offset[row] = 0.0
    x = vector(point, i)
    d = vector(direction, i)
    if a >= 0:
        rows.touched[a] = 1
        node_row(origin, a, x, d, rows.on_a, row)
    if b >= 0:
        rows.touched[b] = 1
        node_row(origin, b, x, vector_sum(ZERO, -1.0, d), rows.on_b, row)


@kernel
def angular_row(rows, row, d):
    """The row d . (omega_a - omega_b) of the bodies of the row."""
    put_spatial(rows.on_a, row, d + ZERO if rows.body_a[row] >= 0 else STILL)
    put_spatial(rows.on_b, row, spatial_sum(STILL, -1.0, d + ZERO) if rows.body_b[row] >= 0 else STILL)


@kernel
def limit_reach(speed, dt):
    """Distance [rad, m] within which a limit of a joint of this speed is in the problem."""
    return 2.0 * dt * speed + LIMIT_MARGIN


@kernel
def limit_rows(tree, velocity_limit, kin, q, speed, dt, push_rate, push_speed, rows, cones):
    """One scalar unit for every joint limit that this step could reach at twice the joint's ``speed``.

    Past it the row asks for the push-out velocity of contacts, in rad/s or m/s.
    A velocity limit is the pair of rows ``velocity_limit -+ v+ >= 0``.
    """
    for k in range(tree.nv.shape[0]):
        if tree.nv[k] != 1:
            continue
        d = tree.v_start[k]
        x = q[tree.q_start[k]]
        reach = limit_reach(speed[d], dt)
        for side in range(2):
            gap = x - tree.lower[d] if side == 0 else tree.upper[d] - x
            if gap < reach:
                offset = gap / dt if gap >= 0.0 else -min(-push_rate * gap / dt, push_speed)
                _limit(tree, kin, k, d, LOWER + side, offset, rows, cones)
        if speed[d] > NEAR_LIMIT * velocity_limit[d]:
            for side in range(2):
                _limit(tree, kin, k, d, SLOWEST + side, velocity_limit[d], rows, cones)


@kernel
def _limit(tree, kin, k, d, which, offset, rows, cones):
    """The row of one limit of joint k, of position (LOWER, UPPER) or of velocity (SLOWEST, FASTEST)."""
    row = cones.rows[0]
    unit = cones.count[0]
    joint_row(tree, kin, k, 1.0 - 2.0 * (which % 2), rows, row)
    rows.dof[row] = 8 * d + which
    rows.offset[row] = offset
    cones.start[unit] = row
    cones.dim[unit] = 1
    cones.rows[0] = row + 1
    cones.count[0] = unit + 1


@kernel
def joint_row(tree, kin, k, sign, rows, row):
    """The rate of scalar joint k, times ``sign``, as a row on its body and the body's parent."""
    d = tree.v_start[k]
    m = tree.parent[k]
    h = spatial_sum(STILL, sign, spatial(kin.H, d))
    rows.body_a[row] = k
    rows.body_b[row] = m
    rows.touched[k] = 1
    put_spatial(rows.on_a, row, h)
    if m >= 0:
        rows.touched[m] = 1
        put_spatial(rows.on_b, row, spatial_sum(STILL, -1.0, gathered(h, vector(kin.l, k))))


@kernel
def row_sides(com, rows, n_rows):
    """Essential numbers of the rows' bodies."""
    for r in range(n_rows):
        rows.side_a[r] = com.essential[rows.body_a[r]] if rows.body_a[r] >= 0 else -1
        rows.side_b[r] = com.essential[rows.body_b[r]] if rows.body_b[r] >= 0 else -1


@kernel
def row_velocities(rows, n_rows, V, u):
    """Velocities ``u[:n_rows]`` of the rows for body velocities V."""
    for r in range(n_rows):
        u[r] = row_dot(rows, r, V)


@sweep
def row_dot(rows, r, V):
    """``on_a . V(a) + on_b . V(b)`` of row r, with the bodies' spatial vectors V (n, 6)."""
    a = rows.body_a[r]
    b = rows.body_b[r]
    x = 0.0
    if a >= 0:
        x += spatial_dot(spatial(rows.on_a, r), spatial(V, a))
    if b >= 0:
        x += spatial_dot(spatial(rows.on_b, r), spatial(V, b))
    return x


@kernel
def row_impulses(rows, n_rows, r, impulse):
    """Spatial impulses on the bodies from the rows' impulses r: J* p without a Jacobian."""
    for k in range(impulse.shape[0]):
        put_spatial(impulse, k, STILL)
    for i in range(n_rows):
        a = rows.body_a[i]
        b = rows.body_b[i]
        if r[i] != 0.0 and a >= 0:
            put_spatial(impulse, a, spatial_sum(spatial(impulse, a), r[i], spatial(rows.on_a, i)))
        if r[i] != 0.0 and b >= 0:
            put_spatial(impulse, b, spatial_sum(spatial(impulse, b), r[i], spatial(rows.on_b, i)))
