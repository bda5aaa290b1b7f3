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

from mb_contact.core.compliance import node_row
from mb_contact.core.jit import kernel
from mb_contact.core.spatial import cross
from mb_contact.types import JOINT_FLOATING, JOINT_REVOLUTE

SLIP_SPEED = 1e-3  # [m/s] above it the first friction direction follows the slip
LIMIT_SPEED = 1.0  # [rad/s, m/s] fastest push back into a joint's range
LIMIT_MARGIN = 1e-3  # [rad, m] limits nearer than this are always in the problem


@kernel
def contact_frames(geoms, contacts, kin, memory, frames):
    """Tangent vectors: along the slip above SLIP_SPEED, otherwise the contact's previous frame carried over."""
    for i in range(contacts.count[0]):
        frames.known[i] = _find_previous(contacts, memory, i)
        nx = contacts.normal[i, 0]
        ny = contacts.normal[i, 1]
        nz = contacts.normal[i, 2]
        ux, uy, uz = _relative_velocity(geoms, contacts, kin, i)
        along = ux * nx + uy * ny + uz * nz
        ux -= along * nx
        uy -= along * ny
        uz -= along * nz
        size = np.sqrt(ux * ux + uy * uy + uz * uz)
        frames.aligned[i] = 1 if size > SLIP_SPEED else 0
        if frames.aligned[i] == 0:
            j = frames.known[i]
            if j >= 0:
                ux = memory.tangent[j, 0]
                uy = memory.tangent[j, 1]
                uz = memory.tangent[j, 2]
            elif abs(nx) < 0.8:
                ux, uy, uz = 1.0, 0.0, 0.0
            else:
                ux, uy, uz = 0.0, 1.0, 0.0
            along = ux * nx + uy * ny + uz * nz
            ux -= along * nx
            uy -= along * ny
            uz -= along * nz
            size = np.sqrt(ux * ux + uy * uy + uz * uz)
            if size < 1e-6:  # the carried tangent has become the normal
                ux, uy, uz = cross(nx, ny, nz, nz, nx, ny)
                size = np.sqrt(ux * ux + uy * uy + uz * uz)
                if size < 1e-6:
                    ux, uy, uz = cross(nx, ny, nz, -nz, nx, ny)
                    size = np.sqrt(ux * ux + uy * uy + uz * uz)
        ux /= size
        uy /= size
        uz /= size
        frames.t1[i, 0] = ux
        frames.t1[i, 1] = uy
        frames.t1[i, 2] = uz
        x, y, z = cross(nx, ny, nz, ux, uy, uz)
        frames.t2[i, 0] = x
        frames.t2[i, 1] = y
        frames.t2[i, 2] = z


@kernel
def _find_previous(contacts, memory, i):
    for j in range(memory.count[0]):
        if memory.pair[j] == contacts.pair[i] and memory.feature[j] == contacts.feature[i]:
            return j
    return -1


@kernel
def _relative_velocity(geoms, contacts, kin, i):
    """Velocity of A's contact point relative to B's."""
    x, y, z = _point_velocity(geoms.body[geoms.pairs[contacts.pair[i], 0]], contacts, kin, i)
    bx, by, bz = _point_velocity(geoms.body[geoms.pairs[contacts.pair[i], 1]], contacts, kin, i)
    return x - bx, y - by, z - bz


@kernel
def _point_velocity(k, contacts, kin, i):
    if k < 0:
        return 0.0, 0.0, 0.0
    V = kin.V
    x, y, z = cross(
        V[k, 0],
        V[k, 1],
        V[k, 2],
        contacts.point[i, 0] - kin.p[k, 0],
        contacts.point[i, 1] - kin.p[k, 1],
        contacts.point[i, 2] - kin.p[k, 2],
    )
    return x + V[k, 3], y + V[k, 4], z + V[k, 5]


@kernel
def contact_rows(geoms, contacts, kin, frames, memory, dt, push_rate, push_speed, rows, cones, state):
    """Rows, offsets and warm-start states of all contacts; resets the units first.

    The normal row asks for ``u_n + g / dt >= 0`` before touching and, below, for a push-out velocity of
    ``min(push_rate |g| / dt, push_speed)`` (equations.md section 3: never all of |g| / dt).
    """
    n_f = cones.cosine.shape[0]
    for k in range(rows.touched.shape[0]):
        rows.touched[k] = 0
    c = contacts.count[0]
    for i in range(c):
        a = geoms.body[geoms.pairs[contacts.pair[i], 0]]
        b = geoms.body[geoms.pairs[contacts.pair[i], 1]]
        x = contacts.point[i, 0]
        y = contacts.point[i, 1]
        z = contacts.point[i, 2]
        row = 3 * i
        _two_sided(kin, a, b, x, y, z, contacts.normal, i, rows, row)
        _two_sided(kin, a, b, x, y, z, frames.t1, i, rows, row + 1)
        _two_sided(kin, a, b, x, y, z, frames.t2, i, rows, row + 2)
        gap = contacts.gap[i]
        rows.offset[row] = gap / dt if gap >= 0.0 else -min(-push_rate * gap / dt, push_speed)
        rows.offset[row + 1] = 0.0
        rows.offset[row + 2] = 0.0
        cones.start[i] = row
        cones.dim[i] = 3
        cones.mu[i] = geoms.mu[contacts.pair[i]]
        j = frames.known[i]
        if j < 0:
            state[i] = 0
        elif memory.state[j] > 0 and frames.aligned[i] != 0:
            # the frame follows the slip, so friction opposes its first direction: d_{n_f / 2}
            state[i] = n_f // 2 + 1
        else:
            state[i] = memory.state[j]
    cones.count[0] = c
    cones.rows[0] = 3 * c


@kernel
def _two_sided(kin, a, b, x, y, z, direction, i, rows, row):
    """One contact row along ``direction[i]`` at the point (x, y, z)."""
    dx = direction[i, 0]
    dy = direction[i, 1]
    dz = direction[i, 2]
    rows.body_a[row] = a
    rows.body_b[row] = b
    rows.dof[row] = -1
    if a >= 0:
        rows.touched[a] = 1
        node_row(kin, a, x, y, z, dx, dy, dz, rows.on_a, row)
    if b >= 0:
        rows.touched[b] = 1
        node_row(kin, b, x, y, z, -dx, -dy, -dz, rows.on_b, row)


@kernel
def limit_reach(speed, dt):
    """Distance [rad, m] within which a limit of a joint of this speed is in the problem."""
    return 2.0 * dt * speed + LIMIT_MARGIN


@kernel
def limit_rows(tree, kin, q, speed, dt, push_rate, memory, rows, cones, state):
    """One scalar unit for every joint limit that this step could reach at twice the joint's ``speed``."""
    for k in range(tree.parent.shape[0]):
        if tree.joint_type[k] == JOINT_FLOATING:
            continue
        d = tree.v_start[k]
        position = q[tree.q_start[k]]
        reach = limit_reach(speed[d], dt)
        _limit(tree, kin, k, d, 1.0, position - tree.lower[d], reach, 0, dt, push_rate, memory, rows, cones, state)
        _limit(tree, kin, k, d, -1.0, tree.upper[d] - position, reach, 1, dt, push_rate, memory, rows, cones, state)


@kernel
def _limit(tree, kin, k, d, sign, gap, reach, side, dt, push_rate, memory, rows, cones, state):
    if not gap < reach:
        memory.limit_state[d, side] = -1
        return
    row = cones.rows[0]
    unit = cones.count[0]
    m = tree.parent[k]
    rows.body_a[row] = k
    rows.body_b[row] = m
    rows.dof[row] = 2 * d + side
    rows.touched[k] = 1
    for c in range(6):
        rows.on_a[row, c] = sign * kin.H[d, c]
    if m >= 0:
        rows.touched[m] = 1
        for c in range(6):
            rows.on_b[row, c] = -sign * kin.H[d, c]
        if tree.joint_type[k] != JOINT_REVOLUTE:  # phi(p, k) [0; h] = [l x h; h]
            x, y, z = cross(kin.l[k, 0], kin.l[k, 1], kin.l[k, 2], kin.H[d, 3], kin.H[d, 4], kin.H[d, 5])
            rows.on_b[row, 0] -= sign * x
            rows.on_b[row, 1] -= sign * y
            rows.on_b[row, 2] -= sign * z
    rows.offset[row] = gap / dt if gap >= 0.0 else -min(-push_rate * gap / dt, LIMIT_SPEED)
    cones.start[unit] = row
    cones.dim[unit] = 1
    cones.mu[unit] = 0.0
    state[unit] = memory.limit_state[d, side]
    cones.rows[0] = row + 1
    cones.count[0] = unit + 1


@kernel
def row_sides(com, rows, n_rows):
    """Essential numbers of the rows' bodies."""
    for r in range(n_rows):
        rows.side_a[r] = com.essential[rows.body_a[r]] if rows.body_a[r] >= 0 else -1
        rows.side_b[r] = com.essential[rows.body_b[r]] if rows.body_b[r] >= 0 else -1


@kernel
def row_velocity(rows, r, V):
    """Velocity of row r for body velocities V."""
    x = 0.0
    k = rows.body_a[r]
    if k >= 0:
        for c in range(6):
            x += rows.on_a[r, c] * V[k, c]
    k = rows.body_b[r]
    if k >= 0:
        for c in range(6):
            x += rows.on_b[r, c] * V[k, c]
    return x


@kernel
def row_impulses(rows, n_rows, r, impulse):
    """Spatial impulses on the bodies from the rows' impulses r: J* p without a Jacobian."""
    for k in range(impulse.shape[0]):
        for c in range(6):
            impulse[k, c] = 0.0
    for i in range(n_rows):
        if r[i] == 0.0:
            continue
        k = rows.body_a[i]
        if k >= 0:
            for c in range(6):
                impulse[k, c] += rows.on_a[i, c] * r[i]
        k = rows.body_b[i]
        if k >= 0:
            for c in range(6):
                impulse[k, c] += rows.on_b[i, c] * r[i]
