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

from mb_contact.core.jit import kernel
from mb_contact.core.tree.compliance import node_row
from mb_contact.core.tree.spatial import cross
from mb_contact.types import JOINT_REVOLUTE, LOWER, SLOWEST

NEAR_LIMIT = 0.9  # part of a velocity limit from which on it is in the problem
LIMIT_MARGIN = 1e-3  # [rad, m] limits nearer than this are always in the problem


@kernel
def contact_frames(geoms, contacts, kin, memory, slip_speed, frames):
    """Tangent vectors: along the slip above ``slip_speed``, otherwise the contact's previous frame carried over.

    An infinite ``slip_speed`` means a fixed frame: the world's x axis (y where the normal is near x) across the normal.
    """
    pair = contacts.pair
    feature = contacts.feature
    point = contacts.point
    normal = contacts.normal
    body = geoms.body
    pairs = geoms.pairs
    V = kin.V
    origin = kin.p
    known = frames.known
    aligned = frames.aligned
    t1 = frames.t1
    t2 = frames.t2
    tangent = memory.tangent
    for i in range(contacts.count[0]):
        known[i] = _find_previous(memory.count[0], memory.pair, memory.feature, pair[i], feature[i])
        nx = normal[i, 0]
        ny = normal[i, 1]
        nz = normal[i, 2]
        ux, uy, uz = _point_velocity(body[pairs[pair[i], 0]], V, origin, point, i)
        bx, by, bz = _point_velocity(body[pairs[pair[i], 1]], V, origin, point, i)
        ux, uy, uz, size = tangential(ux - bx, uy - by, uz - bz, nx, ny, nz)
        aligned[i] = 1 if size > slip_speed else 0
        if aligned[i] == 0:
            j = known[i]
            if j >= 0 and slip_speed < np.inf:
                ux, uy, uz, size = tangential(tangent[j, 0], tangent[j, 1], tangent[j, 2], nx, ny, nz)
            elif abs(nx) < 0.8:
                ux, uy, uz, size = tangential(1.0, 0.0, 0.0, nx, ny, nz)
            else:
                ux, uy, uz, size = tangential(0.0, 1.0, 0.0, nx, ny, nz)
            if size < 1e-6:  # the carried tangent has become the normal
                if abs(nx) < 0.8:
                    ux, uy, uz, size = tangential(1.0, 0.0, 0.0, nx, ny, nz)
                else:
                    ux, uy, uz, size = tangential(0.0, 1.0, 0.0, nx, ny, nz)
        ux /= size
        uy /= size
        uz /= size
        t1[i, 0] = ux
        t1[i, 1] = uy
        t1[i, 2] = uz
        x, y, z = cross(nx, ny, nz, ux, uy, uz)
        t2[i, 0] = x
        t2[i, 1] = y
        t2[i, 2] = z


@kernel
def tangential(x, y, z, nx, ny, nz):
    """Part of (x, y, z) across the unit normal, and its length."""
    along = x * nx + y * ny + z * nz
    x -= along * nx
    y -= along * ny
    z -= along * nz
    return x, y, z, np.sqrt(x * x + y * y + z * z)


@kernel
def _find_previous(count, pairs, features, pair, feature):
    for j in range(count):
        if pairs[j] == pair and features[j] == feature:
            return j
    return -1


@kernel
def _point_velocity(k, V, origin, point, i):
    """Velocity of body k at contact point i."""
    if k < 0:
        return 0.0, 0.0, 0.0
    x, y, z = cross(
        V[k, 0],
        V[k, 1],
        V[k, 2],
        point[i, 0] - origin[k, 0],
        point[i, 1] - origin[k, 1],
        point[i, 2] - origin[k, 2],
    )
    return x + V[k, 3], y + V[k, 4], z + V[k, 5]


@kernel
def contact_rows(geoms, contacts, kin, frames, dt, push_rate, push_speed, rows, cones):
    """Rows and offsets of all contacts; resets the units first.

    The normal row asks for ``u_n + g / dt >= 0`` before touching and, below, for a push-out velocity of
    ``min(push_rate |g| / dt, push_speed)`` (equations.md section 3: never all of |g| / dt).
    """
    touched = rows.touched
    body_a = rows.body_a
    body_b = rows.body_b
    on_a = rows.on_a
    on_b = rows.on_b
    offset = rows.offset
    dof = rows.dof
    body = geoms.body
    pairs = geoms.pairs
    pair = contacts.pair
    point = contacts.point
    origin = kin.p
    for k in range(touched.shape[0]):
        touched[k] = 0
    c = contacts.count[0]
    for i in range(c):
        a = body[pairs[pair[i], 0]]
        b = body[pairs[pair[i], 1]]
        row = 3 * i
        if a >= 0:
            touched[a] = 1
            _side(origin, a, point, contacts.normal, i, 1.0, on_a, row)
            _side(origin, a, point, frames.t1, i, 1.0, on_a, row + 1)
            _side(origin, a, point, frames.t2, i, 1.0, on_a, row + 2)
        if b >= 0:
            touched[b] = 1
            _side(origin, b, point, contacts.normal, i, -1.0, on_b, row)
            _side(origin, b, point, frames.t1, i, -1.0, on_b, row + 1)
            _side(origin, b, point, frames.t2, i, -1.0, on_b, row + 2)
        gap = contacts.gap[i]
        for d in range(3):
            body_a[row + d] = a
            body_b[row + d] = b
            dof[row + d] = -1
            offset[row + d] = 0.0
        offset[row] = gap / dt if gap >= 0.0 else -min(-push_rate * gap / dt, push_speed)
        cones.start[i] = row
        cones.dim[i] = 3
    cones.count[0] = c
    cones.rows[0] = 3 * c


@kernel
def _side(origin, k, point, direction, i, sign, on, row):
    """Row along ``direction[i]`` at contact point i, on body k."""
    node_row(
        origin, k, point[i, 0], point[i, 1], point[i, 2],
        sign * direction[i, 0], sign * direction[i, 1], sign * direction[i, 2], on, row,
    )  # fmt: skip


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
    nv = tree.nv
    q_start = tree.q_start
    v_start = tree.v_start
    lower = tree.lower
    upper = tree.upper
    for k in range(nv.shape[0]):
        if nv[k] != 1:
            continue
        d = v_start[k]
        reach = limit_reach(speed[d], dt)
        for side in range(2):
            gap = q[q_start[k]] - lower[d] if side == 0 else upper[d] - q[q_start[k]]
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
    H = kin.H
    on_a = rows.on_a
    on_b = rows.on_b
    rows.body_a[row] = k
    rows.body_b[row] = m
    rows.touched[k] = 1
    for c in range(6):
        on_a[row, c] = sign * H[d, c]
    if m >= 0:
        rows.touched[m] = 1
        for c in range(6):
            on_b[row, c] = -sign * H[d, c]
        if tree.joint_type[k] != JOINT_REVOLUTE:  # phi(p, k) [0; h] = [l x h; h]
            x, y, z = cross(kin.l[k, 0], kin.l[k, 1], kin.l[k, 2], H[d, 3], H[d, 4], H[d, 5])
            on_b[row, 0] -= sign * x
            on_b[row, 1] -= sign * y
            on_b[row, 2] -= sign * z


@kernel
def row_sides(com, rows, n_rows):
    """Essential numbers of the rows' bodies."""
    for r in range(n_rows):
        rows.side_a[r] = com.essential[rows.body_a[r]] if rows.body_a[r] >= 0 else -1
        rows.side_b[r] = com.essential[rows.body_b[r]] if rows.body_b[r] >= 0 else -1


@kernel
def row_velocities(rows, n_rows, V, u):
    """Velocities ``u[:n_rows]`` of the rows for body velocities V."""
    body_a = rows.body_a
    body_b = rows.body_b
    on_a = rows.on_a
    on_b = rows.on_b
    for r in range(n_rows):
        x = 0.0
        k = body_a[r]
        if k >= 0:
            for c in range(6):
                x += on_a[r, c] * V[k, c]
        k = body_b[r]
        if k >= 0:
            for c in range(6):
                x += on_b[r, c] * V[k, c]
        u[r] = x


@kernel
def row_impulses(rows, n_rows, r, impulse):
    """Spatial impulses on the bodies from the rows' impulses r: J* p without a Jacobian."""
    body_a = rows.body_a
    body_b = rows.body_b
    on_a = rows.on_a
    on_b = rows.on_b
    for k in range(impulse.shape[0]):
        for c in range(6):
            impulse[k, c] = 0.0
    for i in range(n_rows):
        if r[i] == 0.0:
            continue
        k = body_a[i]
        if k >= 0:
            for c in range(6):
                impulse[k, c] += on_a[i, c] * r[i]
        k = body_b[i]
        if k >= 0:
            for c in range(6):
                impulse[k, c] += on_b[i, c] * r[i]
