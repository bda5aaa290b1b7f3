# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Frames fixed on bodies: poses, Jacobians, bias accelerations and compliance rows (world axes, frame origin)."""

from __future__ import annotations

from mb_contact.core.compliance import node_row
from mb_contact.core.jit import kernel
from mb_contact.core.spatial import cross, multiply, rotate


@kernel
def frame_poses(kin, body, R_frame, p_frame, R, p):
    """World poses R (f, 3, 3), p (f, 3) of frames given in their bodies; body -1 is the inertial frame."""
    for i in range(body.shape[0]):
        k = body[i]
        if k < 0:
            for a in range(3):
                p[i, a] = p_frame[i, a]
                for b in range(3):
                    R[i, a, b] = R_frame[i, a, b]
            continue
        multiply(kin.R, k, R_frame, i, R, i)
        x, y, z = rotate(kin.R, k, p_frame[i, 0], p_frame[i, 1], p_frame[i, 2])
        p[i, 0] = kin.p[k, 0] + x
        p[i, 1] = kin.p[k, 1] + y
        p[i, 2] = kin.p[k, 2] + z


@kernel
def frame_jacobians(tree, kin, body, p, J):
    """Stacked Jacobians J (6 f, N), angular rows first, of frames at world positions p (f, 3)."""
    for i in range(body.shape[0]):
        for a in range(6):
            for d in range(J.shape[1]):
                J[6 * i + a, d] = 0.0
        k = body[i]
        while k >= 0:
            s = tree.v_start[k]
            for d in range(s, s + tree.nv[k]):
                x, y, z = cross(
                    kin.H[d, 0],
                    kin.H[d, 1],
                    kin.H[d, 2],
                    p[i, 0] - kin.p[k, 0],
                    p[i, 1] - kin.p[k, 1],
                    p[i, 2] - kin.p[k, 2],
                )
                J[6 * i, d] = kin.H[d, 0]
                J[6 * i + 1, d] = kin.H[d, 1]
                J[6 * i + 2, d] = kin.H[d, 2]
                J[6 * i + 3, d] = kin.H[d, 3] + x
                J[6 * i + 4, d] = kin.H[d, 4] + y
                J[6 * i + 5, d] = kin.H[d, 5] + z
            k = tree.parent[k]


@kernel
def frame_bias(tree, kin, body, p, alpha, bias):
    """Bias accelerations dJ/dt v (6 f,): the frames' accelerations when v_dot = 0 and gravity is off.

    ``alpha`` (n, 6) is a workspace: alpha(k) = phi* alpha(p) + a(k).
    """
    for k in range(tree.parent.shape[0]):
        m = tree.parent[k]
        for c in range(6):
            alpha[k, c] = kin.a[k, c]
        if m >= 0:
            x, y, z = cross(alpha[m, 0], alpha[m, 1], alpha[m, 2], kin.l[k, 0], kin.l[k, 1], kin.l[k, 2])
            for c in range(6):
                alpha[k, c] += alpha[m, c]
            alpha[k, 3] += x
            alpha[k, 4] += y
            alpha[k, 5] += z
    for i in range(body.shape[0]):
        k = body[i]
        if k < 0:
            for c in range(6):
                bias[6 * i + c] = 0.0
            continue
        rx = p[i, 0] - kin.p[k, 0]
        ry = p[i, 1] - kin.p[k, 1]
        rz = p[i, 2] - kin.p[k, 2]
        wx, wy, wz = kin.V[k, 0], kin.V[k, 1], kin.V[k, 2]
        x, y, z = cross(wx, wy, wz, rx, ry, rz)
        x, y, z = cross(wx, wy, wz, x, y, z)
        ax, ay, az = cross(alpha[k, 0], alpha[k, 1], alpha[k, 2], rx, ry, rz)
        for c in range(6):
            bias[6 * i + c] = alpha[k, c]
        bias[6 * i + 3] += x + ax
        bias[6 * i + 4] += y + ay
        bias[6 * i + 5] += z + az


@kernel
def frame_rows(kin, body, p, rows):
    """Six one-sided rows a frame (angular first) for the compliance sweep; marks the touched bodies."""
    for k in range(rows.touched.shape[0]):
        rows.touched[k] = 0
    for i in range(body.shape[0]):
        k = body[i]
        for a in range(6):
            row = 6 * i + a
            rows.body_a[row] = k
            rows.body_b[row] = -1
            rows.dof[row] = -1
            for c in range(6):
                rows.on_a[row, c] = 0.0
            if k < 0:
                continue
            if a < 3:
                rows.on_a[row, a] = 1.0
            else:
                x = 1.0 if a == 3 else 0.0
                y = 1.0 if a == 4 else 0.0
                z = 1.0 if a == 5 else 0.0
                node_row(kin.p, k, p[i, 0], p[i, 1], p[i, 2], x, y, z, rows.on_a, row)
        if k >= 0:
            rows.touched[k] = 1
