# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes fixed on bodies: poses, Jacobians and their rates, velocities, bias accelerations (world axes, node origin).

A node has six rows, angular first, or only the three of a point: ``first`` is 0 or 3, the first of the six that counts.
The rows of all nodes are stacked.  Body -1 is the inertial frame.
"""

from __future__ import annotations

from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.joints import map_rate
from mb_contact.core.tree.spatial import cross, multiply, rotate


@sweep
def frame_poses(kin, body, R_frame, p_frame, R, p):
    """World poses R (f, 3, 3), p (f, 3) of frames given in their bodies."""
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


@sweep
def frame_jacobians(tree, kin, body, first, p, J):
    """Stacked Jacobians of nodes at world positions p (f, 3), into J, which must hold zeros off the paths."""
    parent = tree.parent
    v_start = tree.v_start
    nv = tree.nv
    H = kin.H
    origin = kin.p
    row = 0
    for i in range(body.shape[0]):
        k = body[i]
        skip = first[i]
        while k >= 0:
            rx = p[i, 0] - origin[k, 0]
            ry = p[i, 1] - origin[k, 1]
            rz = p[i, 2] - origin[k, 2]
            for d in range(v_start[k], v_start[k] + nv[k]):
                x, y, z = cross(H[d, 0], H[d, 1], H[d, 2], rx, ry, rz)
                if skip == 0:
                    J[row, d] = H[d, 0]
                    J[row + 1, d] = H[d, 1]
                    J[row + 2, d] = H[d, 2]
                J[row + 3 - skip, d] = H[d, 3] + x
                J[row + 4 - skip, d] = H[d, 4] + y
                J[row + 5 - skip, d] = H[d, 5] + z
            k = parent[k]
        row += 6 - skip


@kernel
def frame_jacobian_rates(tree, kin, body, first, p, v, H_dot, J_dot):
    """Time derivatives of the Jacobians at the velocity held in ``kin``; J_dot as J above, H_dot (N, 6) is a workspace.

    A column is [h_w; h_v + h_w x r] with r from the joint's body to the node, so its rate is
    [h_w'; h_v' + h_w' x r + h_w x r'], r' the difference of the two points' velocities.
    """
    parent = tree.parent
    v_start = tree.v_start
    nv = tree.nv
    H = kin.H
    V = kin.V
    origin = kin.p
    for k in range(parent.shape[0]):
        map_rate(tree.joint_type[k], parent[k], v_start[k], nv[k], H, V, v, H_dot)
    row = 0
    for i in range(body.shape[0]):
        k = body[i]
        skip = first[i]
        sx = 0.0
        sy = 0.0
        sz = 0.0
        if k >= 0:  # velocity of the node
            x, y, z = cross(
                V[k, 0], V[k, 1], V[k, 2], p[i, 0] - origin[k, 0], p[i, 1] - origin[k, 1], p[i, 2] - origin[k, 2]
            )
            sx = V[k, 3] + x
            sy = V[k, 4] + y
            sz = V[k, 5] + z
        while k >= 0:
            rx = p[i, 0] - origin[k, 0]
            ry = p[i, 1] - origin[k, 1]
            rz = p[i, 2] - origin[k, 2]
            for d in range(v_start[k], v_start[k] + nv[k]):
                x, y, z = cross(H_dot[d, 0], H_dot[d, 1], H_dot[d, 2], rx, ry, rz)
                ux, uy, uz = cross(H[d, 0], H[d, 1], H[d, 2], sx - V[k, 3], sy - V[k, 4], sz - V[k, 5])
                if skip == 0:
                    J_dot[row, d] = H_dot[d, 0]
                    J_dot[row + 1, d] = H_dot[d, 1]
                    J_dot[row + 2, d] = H_dot[d, 2]
                J_dot[row + 3 - skip, d] = H_dot[d, 3] + x + ux
                J_dot[row + 4 - skip, d] = H_dot[d, 4] + y + uy
                J_dot[row + 5 - skip, d] = H_dot[d, 5] + z + uz
            k = parent[k]
        row += 6 - skip


@kernel
def frame_velocities(kin, body, first, p, velocity):
    """Stacked velocities of nodes, from ``kin.V``."""
    row = 0
    for i in range(body.shape[0]):
        k = body[i]
        skip = first[i]
        for c in range(skip, 6):
            velocity[row + c - skip] = kin.V[k, c] if k >= 0 else 0.0
        if k >= 0:
            rx = p[i, 0] - kin.p[k, 0]
            ry = p[i, 1] - kin.p[k, 1]
            rz = p[i, 2] - kin.p[k, 2]
            x, y, z = cross(kin.V[k, 0], kin.V[k, 1], kin.V[k, 2], rx, ry, rz)
            velocity[row + 3 - skip] += x
            velocity[row + 4 - skip] += y
            velocity[row + 5 - skip] += z
        row += 6 - skip


@kernel
def velocity_products(tree, kin, alpha):
    """alpha(k) = phi* alpha(p) + a(k): what is left of the bodies' accelerations when theta_dd = 0."""
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


@kernel
def frame_bias(tree, kin, body, first, p, alpha, bias):
    """Bias accelerations dJ/dt v: the nodes' accelerations when v_dot = 0 and gravity is off, stacked.

    ``alpha`` (n, 6) is a workspace: alpha(k) = phi* alpha(p) + a(k).
    """
    velocity_products(tree, kin, alpha)
    row = 0
    for i in range(body.shape[0]):
        k = body[i]
        skip = first[i]
        for c in range(skip, 6):
            bias[row + c - skip] = alpha[k, c] if k >= 0 else 0.0
        if k >= 0:
            rx = p[i, 0] - kin.p[k, 0]
            ry = p[i, 1] - kin.p[k, 1]
            rz = p[i, 2] - kin.p[k, 2]
            wx, wy, wz = kin.V[k, 0], kin.V[k, 1], kin.V[k, 2]
            x, y, z = cross(wx, wy, wz, rx, ry, rz)
            x, y, z = cross(wx, wy, wz, x, y, z)
            ax, ay, az = cross(alpha[k, 0], alpha[k, 1], alpha[k, 2], rx, ry, rz)
            bias[row + 3 - skip] += x + ax
            bias[row + 4 - skip] += y + ay
            bias[row + 5 - skip] += z + az
        row += 6 - skip
