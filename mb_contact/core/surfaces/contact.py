# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact kinematics of two surfaces: q = (u1, u2, psi) to pose, contact matrix and its rate (P00 section 6).

Body 1 is the base, body 2 the moving one.  The contact frames meet with opposite normals,

    R_12 = R_1c R_psi R_2c*,   R_psi = [[cos, -sin, 0], [-sin, -cos, 0], [0, 0, -1]],   o_2 = c_1 - R_12 c_2,

and the velocity of body 2 relative to body 1 is ``H dq`` with 1cH = [1cH_1, -1cH_2, +1cH_psi], H_psi = (0 0 -1 0 0 0)*;
the print's minus before H_psi contradicts its R_psi.  Everything here is in axes of body 1.
"""

import numpy as np

from mb_contact.core.jit import kernel
from mb_contact.core.surfaces.frames import surface_frame, surface_frame_rate
from mb_contact.core.surfaces.shapes import surface_derivatives
from mb_contact.core.tree.spatial import cross, rotate
from mb_contact.types import OK

SINGULAR_CONTACT = 20  #: a status: the contact is a line or the chart ends, contact coordinates say nothing there


@kernel
def contact_pose(code, data, q, work):
    """Surfaces and frames at q (5,); R_12 into ``turn[0]``, R_psi into ``turn[1]``, origin of 2 into ``point[0]``."""
    D = work.D
    R = work.R
    turn = work.turn
    for k in range(2):
        s = q[2 * k]
        t = q[2 * k + 1]
        surface_derivatives(code, data, k, s, t, work.basis, work.partial, work.homogeneous, D)
        surface_frame(code, k, D, R, work.A, work.W)
    c = np.cos(q[4])
    s = np.sin(q[4])
    for i in range(3):
        for j in range(3):
            turn[1, i, j] = 0.0
            a = R[0, i, 0] * c - R[0, i, 1] * s
            b = -R[0, i, 0] * s - R[0, i, 1] * c
            turn[0, i, j] = a * R[1, j, 0] + b * R[1, j, 1] - R[0, i, 2] * R[1, j, 2]
    turn[1, 0, 0] = c
    turn[1, 0, 1] = -s
    turn[1, 1, 0] = -s
    turn[1, 1, 1] = -c
    turn[1, 2, 2] = -1.0
    x, y, z = rotate(turn, 0, D[1, 0, 0], D[1, 0, 1], D[1, 0, 2])
    work.point[0, 0] = D[0, 0, 0] - x
    work.point[0, 1] = D[0, 0, 1] - y
    work.point[0, 2] = D[0, 0, 2] - z


@kernel
def contact_matrix(work):
    """Rows of the contact matrix H* (5, 6) at the origin of body 2, after ``contact_pose``."""
    D = work.D
    R = work.R
    W = work.W
    H = work.H
    turn = work.turn
    for j in range(2):
        H[j, 0], H[j, 1], H[j, 2] = rotate(R, 0, W[0, 0, j], W[0, 1, j], W[0, 2, j])
        x, y, z = rotate(R, 1, W[1, 0, j], W[1, 1, j], W[1, 2, j])
        x, y, z = rotate(turn, 0, x, y, z)
        H[2 + j, 0], H[2 + j, 1], H[2 + j, 2] = -x, -y, -z
        x, y, z = rotate(turn, 0, D[1, 1 + j, 0], D[1, 1 + j, 1], D[1, 1 + j, 2])
        H[2 + j, 3], H[2 + j, 4], H[2 + j, 5] = -x, -y, -z
        for c in range(3):
            H[j, 3 + c] = D[0, 1 + j, c]
    for c in range(3):
        H[4, c] = -R[0, c, 2]
        H[4, 3 + c] = 0.0
    rx, ry, rz = _arm(work)
    for i in range(5):
        x, y, z = cross(H[i, 0], H[i, 1], H[i, 2], rx, ry, rz)
        H[i, 3] += x
        H[i, 4] += y
        H[i, 5] += z


@kernel
def _arm(work):
    """From the contact point to the origin of body 2."""
    o = work.point
    D = work.D
    return o[0, 0] - D[0, 0, 0], o[0, 1] - D[0, 0, 1], o[0, 2] - D[0, 0, 2]


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
    D = work.D
    R = work.R
    W = work.W
    H_dot = work.H_dot
    turn = work.turn
    V = work.V
    relative_velocity(5, v, work, V)
    surface_frame_rate(0, D, R, work.A, W, v[0], v[1], work.W_dot)
    surface_frame_rate(1, D, R, work.A, W, v[2], v[3], work.W_dot)
    for k in range(2):
        ds = v[2 * k]
        dt = v[2 * k + 1]
        wx = W[k, 0, 0] * ds + W[k, 0, 1] * dt
        wy = W[k, 1, 0] * ds + W[k, 1, 1] * dt
        wz = W[k, 2, 0] * ds + W[k, 2, 1] * dt
        for j in range(2):
            row = 2 * k + j
            x, y, z = cross(wx, wy, wz, W[k, 0, j], W[k, 1, j], W[k, 2, j])
            W_dot = work.W_dot
            x, y, z = rotate(R, k, x + W_dot[k, 0, j], y + W_dot[k, 1, j], z + W_dot[k, 2, j])
            ux = D[k, 3 + j, 0] * ds + D[k, 4 + j, 0] * dt
            uy = D[k, 3 + j, 1] * ds + D[k, 4 + j, 1] * dt
            uz = D[k, 3 + j, 2] * ds + D[k, 4 + j, 2] * dt
            if k == 0:
                H_dot[row, 0], H_dot[row, 1], H_dot[row, 2] = x, y, z
                H_dot[row, 3], H_dot[row, 4], H_dot[row, 5] = ux, uy, uz
                continue
            x, y, z = rotate(turn, 0, x, y, z)
            H = work.H  # the angular row is - R_12 R_2c W: what turns with R_12 is omega x row
            ax, ay, az = cross(V[0], V[1], V[2], H[row, 0], H[row, 1], H[row, 2])
            H_dot[row, 0], H_dot[row, 1], H_dot[row, 2] = ax - x, ay - y, az - z
            x, y, z = rotate(turn, 0, ux, uy, uz)
            tx, ty, tz = rotate(turn, 0, D[1, 1 + j, 0], D[1, 1 + j, 1], D[1, 1 + j, 2])
            ax, ay, az = cross(V[0], V[1], V[2], tx, ty, tz)
            H_dot[row, 3], H_dot[row, 4], H_dot[row, 5] = -x - ax, -y - ay, -z - az
    _last_row_rate(v, work)
    _arm_rate(5, v[0], v[1], work)


@kernel
def _last_row_rate(v, work):
    """Rate of the row of psi: the normal of surface 1 turns with its frame, dz = w_y x - w_x y."""
    W = work.W
    R = work.R
    wx = W[0, 0, 0] * v[0] + W[0, 0, 1] * v[1]
    wy = W[0, 1, 0] * v[0] + W[0, 1, 1] * v[1]
    for c in range(3):
        work.H_dot[4, c] = wx * R[0, c, 1] - wy * R[0, c, 0]
        work.H_dot[4, 3 + c] = 0.0


@kernel
def _arm_rate(count, ds, dt, work):
    """Add the rate of h_w x r to the linear parts of H_dot, r from the contact point to the origin of body 2."""
    H = work.H
    H_dot = work.H_dot
    D = work.D
    V = work.V
    rx, ry, rz = _arm(work)
    vx = V[3] - D[0, 1, 0] * ds - D[0, 2, 0] * dt
    vy = V[4] - D[0, 1, 1] * ds - D[0, 2, 1] * dt
    vz = V[5] - D[0, 1, 2] * ds - D[0, 2, 2] * dt
    for i in range(count):
        x, y, z = cross(H_dot[i, 0], H_dot[i, 1], H_dot[i, 2], rx, ry, rz)
        ax, ay, az = cross(H[i, 0], H[i, 1], H[i, 2], vx, vy, vz)
        H_dot[i, 3] += x + ax
        H_dot[i, 4] += y + ay
        H_dot[i, 5] += z + az


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
        wx = 1.0 if i == 0 else 0.0
        wy = 1.0 if i == 1 else 0.0
        wz = 1.0 if i == 2 else 0.0
        vx = 1.0 if i == 3 else 0.0
        vy = 1.0 if i == 4 else 0.0
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
    H = work.H
    rx, ry, rz = _arm(work)
    for i in range(3):
        for c in range(3):
            H[i, c] = work.R[0, c, i]
        H[i, 3], H[i, 4], H[i, 5] = cross(H[i, 0], H[i, 1], H[i, 2], rx, ry, rz)


@kernel
def rolling_matrix_rate(w, ds, dt, work):
    """Rate of the rolling rows into ``H_dot`` when the contact moves with (ds, dt) on 1; ``work.V`` := H w."""
    W = work.W
    H = work.H
    H_dot = work.H_dot
    relative_velocity(3, w, work, work.V)
    x, y, z = rotate(
        work.R, 0,
        W[0, 0, 0] * ds + W[0, 0, 1] * dt, W[0, 1, 0] * ds + W[0, 1, 1] * dt, W[0, 2, 0] * ds + W[0, 2, 1] * dt,
    )  # fmt: skip
    for i in range(3):
        H_dot[i, 0], H_dot[i, 1], H_dot[i, 2] = cross(x, y, z, H[i, 0], H[i, 1], H[i, 2])
        H_dot[i, 3] = 0.0
        H_dot[i, 4] = 0.0
        H_dot[i, 5] = 0.0
    _arm_rate(3, ds, dt, work)
