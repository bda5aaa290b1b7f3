# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact kinematics of two surfaces: q = (u1, u2, psi) to pose, contact matrix and its rate (P00 section 6).

Body 1 is the base, body 2 the moving one.  The contact frames meet with opposite normals,

    R_12 = R_1c R_psi R_2c*,   R_psi = [[cos, -sin, 0], [-sin, -cos, 0], [0, 0, -1]],   o_2 = c_1 - R_12 c_2,

and the velocity of body 2 relative to body 1 is ``H dq`` with 1cH = [1cH_1, -1cH_2, +1cH_psi], H_psi = (0 0 -1 0 0 0)*;
the print's minus before H_psi contradicts its R_psi.  Everything here is in axes of body 1.
"""

import numpy as np

from mb_contact.core.jit import kernel, sweep
from mb_contact.core.surfaces.frames import surface_frame, surface_frame_rate
from mb_contact.core.surfaces.shapes import surface_derivatives
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    matrix,
    moved,
    put_spatial,
    put_vector,
    spatial,
    spatial_sum,
    turned,
    unit_twist,
    vector,
    vector_product,
    vector_sum,
)
from mb_contact.types import OK

SINGULAR_CONTACT = 20  #: a status: the contact is a line or the chart ends, contact coordinates say nothing there


@kernel
def contact_pose(code, data, q, work):
    """Surfaces and frames at q (5,); R_12 into ``turn[0]``, R_psi into ``turn[1]``, origin of 2 into ``point[0]``."""
    R = work.R
    turn = work.turn
    for k in range(2):
        s, t = q[2 * k], q[2 * k + 1]
        surface_derivatives(code, data, k, s, t, work.basis, work.partial, work.homogeneous, work.D)
        surface_frame(code, k, work.D, R, work.A, work.W)
    c = np.cos(q[4])
    s = np.sin(q[4])
    for i in range(3):
        for j in range(3):
            turn[1, i, j] = 0.0
            a = R[0, i, 0] * c - R[0, i, 1] * s
            b = -R[0, i, 0] * s - R[0, i, 1] * c
            turn[0, i, j] = a * R[1, j, 0] + b * R[1, j, 1] - R[0, i, 2] * R[1, j, 2]
    turn[1, 0, 0], turn[1, 0, 1] = c, -s
    turn[1, 1, 0], turn[1, 1, 1] = -s, -c
    turn[1, 2, 2] = -1.0
    put_vector(work.point, 0, vector_sum(vector(work.D[0], 0), -1.0, turned(matrix(turn, 0), vector(work.D[1], 0))))


@sweep
def _column(W, k, j):
    """Column j of ``W[k]`` (3, 2)."""
    return W[k, 0, j], W[k, 1, j], W[k, 2, j]


@sweep
def _mixed(s, a, t, b):
    """``s a + t b`` of two vectors."""
    return s * a[0] + t * b[0], s * a[1] + t * b[1], s * a[2] + t * b[2]


@kernel
def contact_matrix(work):
    """Rows of the contact matrix H* (5, 6) at the origin of body 2, after ``contact_pose``."""
    D, H = work.D, work.H
    turn, R_1, R_2 = matrix(work.turn, 0), matrix(work.R, 0), matrix(work.R, 1)
    for j in range(2):
        put_spatial(H, j, turned(R_1, _column(work.W, 0, j)) + vector(D[0], 1 + j))
        row = turned(turn, turned(R_2, _column(work.W, 1, j))) + turned(turn, vector(D[1], 1 + j))
        put_spatial(H, 2 + j, spatial_sum(STILL, -1.0, row))
    put_spatial(H, 4, spatial_sum(STILL, -1.0, (R_1[2], R_1[5], R_1[8], 0.0, 0.0, 0.0)))
    arm = _arm(work)
    for i in range(5):
        put_spatial(H, i, moved(spatial(H, i), arm))


@kernel
def _arm(work):
    """From the contact point to the origin of body 2."""
    return vector_sum(vector(work.point, 0), -1.0, vector(work.D[0], 0))


@kernel
def relative_velocity(count, v, work, V):
    """V (6,) := H v of ``count`` rows, the velocity of body 2 relative to body 1 at the origin of 2."""
    for c in range(6):
        total = 0.0 * v[0]
        for i in range(count):
            total += work.H[i, c] * v[i]
        V[c] = total


@kernel
def contact_matrix_rate(v, work):
    """Rate of the contact matrix into ``work.H_dot`` when q moves with v (5,); ``work.V`` := H v; needs H."""
    D, W, V = work.D, work.W, work.V
    relative_velocity(5, v, work, V)
    turn, spin = matrix(work.turn, 0), (V[0], V[1], V[2])
    for k in range(2):
        ds, dt = v[2 * k], v[2 * k + 1]
        surface_frame_rate(k, D, work.R, work.A, W, ds, dt, work.W_dot)
        w = _mixed(ds, _column(W, k, 0), dt, _column(W, k, 1))
        for j in range(2):
            row = 2 * k + j
            rate = vector_sum(vector_product(w, _column(W, k, j)), 1.0, _column(work.W_dot, k, j))
            rate = turned(matrix(work.R, k), rate)
            u = _mixed(ds, vector(D[k], 3 + j), dt, vector(D[k], 4 + j))
            if k == 0:
                put_spatial(work.H_dot, row, rate + u)
                continue
            # the angular row is - R_12 R_2c W: what turns with R_12 is omega x row
            angular = vector_sum(vector_product(spin, vector(work.H, row)), -1.0, turned(turn, rate))
            turning = vector_product(spin, turned(turn, vector(D[1], 1 + j)))
            linear = vector_sum(turned(turn, u), 1.0, turning)
            put_spatial(work.H_dot, row, angular + vector_sum(ZERO, -1.0, linear))
    _last_row_rate(v, work)
    _arm_rate(5, v[0], v[1], work)


@kernel
def _last_row_rate(v, work):
    """Rate of the row of psi: the normal of surface 1 turns with its frame, dz = w_y x - w_x y."""
    w = _mixed(v[0], _column(work.W, 0, 0), v[1], _column(work.W, 0, 1))
    x, y = _column(work.R, 0, 0), _column(work.R, 0, 1)
    put_spatial(work.H_dot, 4, _mixed(w[0], y, -w[1], x) + ZERO)


@kernel
def _arm_rate(count, ds, dt, work):
    """Add the rate of h_w x r to the linear parts of H_dot, r from the contact point to the origin of body 2."""
    D, V, arm = work.D, work.V, _arm(work)
    rate = vector_sum(vector_sum((V[3], V[4], V[5]), -ds, vector(D[0], 1)), -dt, vector(D[0], 2))
    for i in range(count):
        h = moved(spatial(work.H_dot, i), arm)
        put_spatial(work.H_dot, i, spatial_sum(h, 1.0, ZERO + vector_product(vector(work.H, i), rate)))


@kernel
def contact_rates(work):
    """Montana's equations: ``N`` (5, 5) with dq = N (w, v), after ``contact_pose``; returns a status.

    w (3) is the relative angular velocity and v (2) the slip of body 2, both in axes of 1c.  With B = W_xy A^-1 and
    B~_2 = R_psi B_2 R_psi:  A_1 du_1 = (B_1 - B~_2)^-1 (w_xy - B~_2 v),  A_2 du_2 = R_psi (A_1 du_1 - v),
    dpsi = W_1z du_1 + W_2z du_2 - w_z.
    """
    A = work.A
    W = work.W
    N = work.N
    c = work.turn[1, 0, 0]
    s = -work.turn[1, 0, 1]
    b00, b01, b10, b11 = _curvature(A, W, 0)
    e00, e01, e10, e11 = _curvature(A, W, 1)
    # R_psi B R_psi with R_psi = [[c, -s], [-s, -c]]
    f00, f01 = c * e00 - s * e10, c * e01 - s * e11
    f10, f11 = -s * e00 - c * e10, -s * e01 - c * e11
    e00, e01 = f00 * c - f01 * s, -f00 * s - f01 * c
    e10, e11 = f10 * c - f11 * s, -f10 * s - f11 * c
    m00, m01, m10, m11 = b00 - e00, b01 - e01, b10 - e10, b11 - e11
    d = m00 * m11 - m01 * m10
    size = m00 * m00 + m01 * m01 + m10 * m10 + m11 * m11
    if not abs(d) > 1e-12 * size.real:
        return SINGULAR_CONTACT
    for i in range(5):
        wx, wy, wz, vx, vy, _ = unit_twist(i)
        x = wx - e00 * vx - e01 * vy
        y = wy - e10 * vx - e11 * vy
        x, y = (m11 * x - m01 * y) / d, (m00 * y - m10 * x) / d
        N[1, i] = y / A[0, 1, 1]
        N[0, i] = (x - A[0, 0, 1] * N[1, i]) / A[0, 0, 0]
        x -= vx
        y -= vy
        x, y = c * x - s * y, -s * x - c * y
        N[3, i] = y / A[1, 1, 1]
        N[2, i] = (x - A[1, 0, 1] * N[3, i]) / A[1, 0, 0]
        N[4, i] = W[0, 2, 0] * N[0, i] + W[0, 2, 1] * N[1, i] + W[1, 2, 0] * N[2, i] + W[1, 2, 1] * N[3, i] - wz
    return OK


@kernel
def _curvature(A, W, k):
    """B = W_xy A^-1 of surface k, by rows."""
    e = A[k, 0, 0]
    f = A[k, 0, 1]
    g = A[k, 1, 1]
    b00 = W[k, 0, 0] / e
    b10 = W[k, 1, 0] / e
    return b00, (W[k, 0, 1] - b00 * f) / g, b10, (W[k, 1, 1] - b10 * f) / g


@kernel
def rolling_matrix(work):
    """Rows of H* (3, 6) of pure rolling, after ``contact_pose``: turns about the axes of 1c at the contact point."""
    arm = _arm(work)
    for i in range(3):
        put_spatial(work.H, i, moved(_column(work.R, 0, i) + ZERO, arm))


@kernel
def rolling_matrix_rate(w, ds, dt, work):
    """Rate of the rolling rows into ``H_dot`` when the contact moves with (ds, dt) on 1; ``work.V`` := H w."""
    relative_velocity(3, w, work, work.V)
    turning = turned(matrix(work.R, 0), _mixed(ds, _column(work.W, 0, 0), dt, _column(work.W, 0, 1)))
    for i in range(3):
        put_spatial(work.H_dot, i, vector_product(turning, vector(work.H, i)) + ZERO)
    _arm_rate(3, ds, dt, work)
