# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Normalised contact frames of a surface, and Montana's forms: metric, curvature, torsion, and their rates.

The frame is P00's: x along c_s, z the normal, y = z x x.  With b_ij = z . c_ij and A = [[x.c_s, x.c_t], [0, y.c_t]],

    velocity of the origin = A du,                              angular velocity = W du   (both in axes of the frame)
    W_x = (b_t. - A_xt b_s. / A_xs) / A_yt,   W_y = -b_s. / A_xs,   W_z = y . c_s. / A_xs.

Only 1 over the length of c_s and over A_yt are taken: the frame exists wherever c_s and c_t are independent.
"""

import numpy as np

from mb_contact.core.jit import kernel
from mb_contact.core.surfaces.layout import SIDE
from mb_contact.core.tree.spatial import ZERO, vector, vector_dot, vector_product, vector_sum


@kernel
def surface_frame(code, k, D, R, A, W):
    """Contact frame ``R[k]`` (columns x, y, z, body axes), metric ``A[k]`` (2, 2) and ``W[k]`` (3, 2) from ``D[k]``."""
    c_s, c_t = vector(D[k], 1), vector(D[k], 2)
    E = np.sqrt(vector_dot(c_s, c_s))
    n = vector_product(c_s, c_t)
    n = vector_sum(ZERO, code[k, SIDE] / np.sqrt(vector_dot(n, n)), n)
    x = c_s[0] / E, c_s[1] / E, c_s[2] / E
    y = vector_product(n, x)
    for c in range(3):
        R[k, c, 0], R[k, c, 1], R[k, c, 2] = x[c], y[c], n[c]
    F, G = vector_dot(x, c_t), vector_dot(y, c_t)
    A[k, 0, 0], A[k, 0, 1] = E, F
    A[k, 1, 0], A[k, 1, 1] = 0.0, G
    for j in range(2):  # c_ss, c_st; then c_st, c_tt
        b_s, b_t = vector_dot(n, vector(D[k], 3 + j)), vector_dot(n, vector(D[k], 4 + j))
        W[k, 0, j] = (b_t - F / E * b_s) / G
        W[k, 1, j] = -b_s / E
        W[k, 2, j] = vector_dot(y, vector(D[k], 3 + j)) / E


@kernel
def surface_frame_rate(k, D, R, A, W, ds, dt, W_dot):
    """Rate ``W_dot[k]`` of ``W[k]`` when (s, t) moves with (ds, dt); takes the third derivatives."""
    E = A[k, 0, 0]
    F = A[k, 0, 1]
    G = A[k, 1, 1]
    wx = W[k, 0, 0] * ds + W[k, 0, 1] * dt
    wy = W[k, 1, 0] * ds + W[k, 1, 1] * dt
    wz = W[k, 2, 0] * ds + W[k, 2, 1] * dt
    E_dot = 0.0 * E  # x . dc_s
    F_dot = 0.0 * E  # dx . c_t + x . dc_t, dx = w_z y - w_y z
    G_dot = 0.0 * E  # dy . c_t + y . dc_t, dy = -w_z x + w_x z
    for c in range(3):
        c_s = D[k, 3, c] * ds + D[k, 4, c] * dt
        c_t = D[k, 4, c] * ds + D[k, 5, c] * dt
        E_dot += R[k, c, 0] * c_s
        F_dot += (wz * R[k, c, 1] - wy * R[k, c, 2]) * D[k, 2, c] + R[k, c, 0] * c_t
        G_dot += (wx * R[k, c, 2] - wz * R[k, c, 0]) * D[k, 2, c] + R[k, c, 1] * c_t
    for j in range(2):
        b_s = 0.0 * E
        b_s_dot = 0.0 * E
        b_t_dot = 0.0 * E
        torsion_dot = 0.0 * E
        for c in range(3):
            z = R[k, c, 2]
            y = R[k, c, 1]
            z_dot = wy * R[k, c, 0] - wx * y
            y_dot = wx * z - wz * R[k, c, 0]
            c_s_dot = D[k, 6 + j, c] * ds + D[k, 7 + j, c] * dt
            c_t_dot = D[k, 7 + j, c] * ds + D[k, 8 + j, c] * dt
            b_s += z * D[k, 3 + j, c]
            b_s_dot += z_dot * D[k, 3 + j, c] + z * c_s_dot
            b_t_dot += z_dot * D[k, 4 + j, c] + z * c_t_dot
            torsion_dot += y_dot * D[k, 3 + j, c] + y * c_s_dot
        ratio_dot = (F_dot - F / E * E_dot) / E
        W_dot[k, 0, j] = (b_t_dot - ratio_dot * b_s - F / E * b_s_dot - W[k, 0, j] * G_dot) / G
        W_dot[k, 1, j] = -(b_s_dot + W[k, 1, j] * E_dot) / E
        W_dot[k, 2, j] = (torsion_dot - W[k, 2, j] * E_dot) / E
