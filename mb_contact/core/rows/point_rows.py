# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rows of given contact points and bilateral constraints, and their accelerations (D15 16-18, 29).

Bilateral rows come first, then three rows for each contact: normal, tangent 1, tangent 2.  The acceleration
of a row is ``on_a . alpha(a) + on_b . alpha(b)`` plus a velocity product (dJ/dt v, dN/dt v).  For a contact
the product depends on how the surfaces curve, because the contact point is no material point: with a ball
of radius r_a (0: a vertex) about c = x + r_a n fixed to A, and a plane fixed to B,

    d^2 gap/dt^2 = n . (a_A(c) - a_B(c)) + 2 (omega_B x n) . (v_A(c) - v_B(c)),

mirrored where B carries the ball and A the plane, and for two balls

    d^2 gap/dt^2 = n . (a_A(c_A) - a_B(c_B)) + |v_t|^2 / (r_a + r_b),

with v_t the tangential part of v_A(c_A) - v_B(c_B).  A rolling ball then keeps its height.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.jit import kernel
from mb_contact.core.tree.compliance import node_row
from mb_contact.core.tree.spatial import cross


@kernel
def bilateral_rows(origin, body_a, body_b, point, direction, angular, rows):
    """Rows 0 ... of the constraints: relative velocity along (or rate about, where ``angular``) a direction is zero."""
    for k in range(rows.touched.shape[0]):
        rows.touched[k] = 0
    for i in range(body_a.shape[0]):
        _two_sides(origin, body_a[i], body_b[i], point, direction, angular[i], i, rows, i)


@kernel
def point_rows(origin, body_a, body_b, point, normal, t1, t2, first, rows):
    """Three rows for each contact from row ``first`` on."""
    for i in range(body_a.shape[0]):
        row = first + 3 * i
        _two_sides(origin, body_a[i], body_b[i], point, normal, 0, i, rows, row)
        _two_sides(origin, body_a[i], body_b[i], point, t1, 0, i, rows, row + 1)
        _two_sides(origin, body_a[i], body_b[i], point, t2, 0, i, rows, row + 2)


@kernel
def _two_sides(origin, a, b, point, direction, angular, i, rows, row):
    """Row ``row`` along ``direction[i]`` at ``point[i]``: + on body a, - on body b."""
    rows.body_a[row] = a
    rows.body_b[row] = b
    rows.dof[row] = -1
    rows.offset[row] = 0.0
    for c in range(6):
        rows.on_a[row, c] = 0.0
        rows.on_b[row, c] = 0.0
    if a >= 0:
        rows.touched[a] = 1
        _one_side(origin, a, point, direction, angular, i, 1.0, rows.on_a, row)
    if b >= 0:
        rows.touched[b] = 1
        _one_side(origin, b, point, direction, angular, i, -1.0, rows.on_b, row)


@kernel
def _one_side(origin, k, point, direction, angular, i, sign, on, row):
    x = sign * direction[i, 0]
    y = sign * direction[i, 1]
    z = sign * direction[i, 2]
    if angular != 0:
        on[row, 0] = x
        on[row, 1] = y
        on[row, 2] = z
        return
    node_row(origin, k, point[i, 0], point[i, 1], point[i, 2], x, y, z, on, row)


@kernel
def row_accelerations(rows, n_rows, alpha, gravity, u):
    """``u = on . alpha``, without velocity products; ``alpha`` as the sweep leaves it, gravity taken off."""
    for r in range(n_rows):
        x = 0.0
        k = rows.body_a[r]
        if k >= 0:
            for c in range(6):
                x += rows.on_a[r, c] * alpha[k, c]
            for c in range(3):
                x += rows.on_a[r, 3 + c] * gravity[c]
        k = rows.body_b[r]
        if k >= 0:
            for c in range(6):
                x += rows.on_b[r, c] * alpha[k, c]
            for c in range(3):
                x += rows.on_b[r, 3 + c] * gravity[c]
        u[r] = x


@kernel
def bilateral_products(origin, V, body_a, body_b, point, direction, angular, u):
    """u[i] += dJ/dt v: the direction is fixed to body b, the point to body a."""
    for i in range(body_a.shape[0]):
        dx = direction[i, 0]
        dy = direction[i, 1]
        dz = direction[i, 2]
        u[i] += _product(origin, V, body_a[i], body_b[i], point, i, dx, dy, dz, angular[i])


@kernel
def _product(origin, V, a, b, point, i, dx, dy, dz, angular):
    """Velocity product of one row whose direction turns with body b."""
    if angular == 0:
        return _plane_product(
            origin, V, a, b, b, point[i, 0], point[i, 1], point[i, 2], dx, dy, dz
        )
    ax, ay, az = _rate(V, a)
    bx, by, bz = _rate(V, b)
    tx, ty, tz = cross(bx, by, bz, dx, dy, dz)
    return tx * (ax - bx) + ty * (ay - by) + tz * (az - bz)


@kernel
def normal_products(origin, V, body_a, body_b, point, normal, radius_a, radius_b, first, u):
    """u[first + 3 i] += dN/dt v of contact i (see the module's head); an infinite radius is a plane."""
    for i in range(body_a.shape[0]):
        a = body_a[i]
        b = body_b[i]
        nx = normal[i, 0]
        ny = normal[i, 1]
        nz = normal[i, 2]
        x = point[i, 0]
        y = point[i, 1]
        z = point[i, 2]
        ra = radius_a[i]
        rb = radius_b[i]
        if np.isinf(rb):
            r = 0.0 if np.isinf(ra) else ra
            product = _plane_product(origin, V, a, b, b, x + r * nx, y + r * ny, z + r * nz, nx, ny, nz)
        elif np.isinf(ra):
            product = _plane_product(origin, V, a, b, a, x - rb * nx, y - rb * ny, z - rb * nz, nx, ny, nz)
        else:
            product = _centripetal(origin, V, a, x + ra * nx, y + ra * ny, z + ra * nz, nx, ny, nz)
            product -= _centripetal(origin, V, b, x - rb * nx, y - rb * ny, z - rb * nz, nx, ny, nz)
            ax, ay, az = _velocity(origin, V, a, x + ra * nx, y + ra * ny, z + ra * nz)
            bx, by, bz = _velocity(origin, V, b, x - rb * nx, y - rb * ny, z - rb * nz)
            ax -= bx
            ay -= by
            az -= bz
            along = ax * nx + ay * ny + az * nz
            product += (ax * ax + ay * ay + az * az - along * along) / (ra + rb)
        u[first + 3 * i] += product


@kernel
def _plane_product(origin, V, a, b, turning, x, y, z, nx, ny, nz):
    """n . (centripetal at a - at b) + 2 (omega x n) . (v_a - v_b) at one point; omega of the body ``turning``."""
    product = _centripetal(origin, V, a, x, y, z, nx, ny, nz) - _centripetal(origin, V, b, x, y, z, nx, ny, nz)
    wx, wy, wz = _rate(V, turning)
    wx, wy, wz = cross(wx, wy, wz, nx, ny, nz)
    ax, ay, az = _velocity(origin, V, a, x, y, z)
    bx, by, bz = _velocity(origin, V, b, x, y, z)
    return product + 2.0 * (wx * (ax - bx) + wy * (ay - by) + wz * (az - bz))


@kernel
def _rate(V, k):
    if k < 0:
        return 0.0, 0.0, 0.0
    return V[k, 0], V[k, 1], V[k, 2]


@kernel
def _velocity(origin, V, k, x, y, z):
    """Velocity of the point of body k that is at (x, y, z)."""
    if k < 0:
        return 0.0, 0.0, 0.0
    vx, vy, vz = cross(V[k, 0], V[k, 1], V[k, 2], x - origin[k, 0], y - origin[k, 1], z - origin[k, 2])
    return vx + V[k, 3], vy + V[k, 4], vz + V[k, 5]


@kernel
def _centripetal(origin, V, k, x, y, z, nx, ny, nz):
    """n . (omega x (omega x r)) of the point of body k that is at (x, y, z)."""
    if k < 0:
        return 0.0
    wx = V[k, 0]
    wy = V[k, 1]
    wz = V[k, 2]
    x, y, z = cross(wx, wy, wz, x - origin[k, 0], y - origin[k, 1], z - origin[k, 2])
    x, y, z = cross(wx, wy, wz, x, y, z)
    return nx * x + ny * y + nz * z
