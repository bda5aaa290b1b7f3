# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Forward kinematics: body poses, hinge maps, spatial velocities and bias terms (ascending sweeps).

World axes, each body about its own origin: phi(p, k) is a pure shift by l(k) = p(k) - p(parent).
"""

from __future__ import annotations

from mb_contact.core.jit import kernel
from mb_contact.core.joints import joint_bias, joint_map, joint_placement
from mb_contact.core.spatial import cross, multiply, rotate


@kernel
def body_poses(tree, q, kin):
    """Poses, offsets l and hinge maps H of all bodies at q, into ``kin``."""
    R = kin.R
    p = kin.p
    for k in range(tree.parent.shape[0]):
        joint_placement(tree, k, q, kin.R_scratch, kin.p_scratch)
        x, y, z = rotate(tree.R_joint, k, kin.p_scratch[k, 0], kin.p_scratch[k, 1], kin.p_scratch[k, 2])
        x += tree.p_joint[k, 0]
        y += tree.p_joint[k, 1]
        z += tree.p_joint[k, 2]
        multiply(tree.R_joint, k, kin.R_scratch, k, kin.R_local, k)
        m = tree.parent[k]
        if m >= 0:
            x, y, z = rotate(R, m, x, y, z)
            multiply(R, m, kin.R_local, k, R, k)
            p[k, 0] = p[m, 0] + x
            p[k, 1] = p[m, 1] + y
            p[k, 2] = p[m, 2] + z
        else:
            for i in range(3):
                for j in range(3):
                    R[k, i, j] = kin.R_local[k, i, j]
            p[k, 0] = x
            p[k, 1] = y
            p[k, 2] = z
        # l is built from the joint, not from a difference of large positions
        kin.l[k, 0] = x
        kin.l[k, 1] = y
        kin.l[k, 2] = z
        joint_map(tree, k, R, kin.H)


@kernel
def body_velocities(tree, kin, v, V):
    """Spatial velocities ``V(k) = phi*(p, k) V(p) + H*(k) v(k)`` into V (n, 6)."""
    for k in range(tree.parent.shape[0]):
        m = tree.parent[k]
        if m >= 0:
            x, y, z = cross(V[m, 0], V[m, 1], V[m, 2], kin.l[k, 0], kin.l[k, 1], kin.l[k, 2])
            V[k, 0] = V[m, 0]
            V[k, 1] = V[m, 1]
            V[k, 2] = V[m, 2]
            V[k, 3] = V[m, 3] + x
            V[k, 4] = V[m, 4] + y
            V[k, 5] = V[m, 5] + z
        else:
            for c in range(6):
                V[k, c] = 0.0
        s = tree.v_start[k]
        for i in range(tree.nv[k]):
            w = v[s + i]
            for c in range(6):
                V[k, c] += kin.H[s + i, c] * w


@kernel
def body_inertias(tree, kin):
    """World-axes rotational inertia about the body origin and first moment, into ``kin.I`` and ``kin.mc``.

    The spatial inertia of body k is ``M(k) = [[I, m c~], [-m c~, m 1]]``.
    """
    R = kin.R
    for k in range(tree.parent.shape[0]):
        m = tree.mass[k]
        cx, cy, cz = rotate(R, k, tree.com[k, 0], tree.com[k, 1], tree.com[k, 2])
        kin.mc[k, 0] = m * cx
        kin.mc[k, 1] = m * cy
        kin.mc[k, 2] = m * cz
        multiply(R, k, tree.inertia, k, kin.R_local, k)  # R Ic
        for i in range(3):
            for j in range(i, 3):
                s = 0.0
                for c in range(3):
                    s += kin.R_local[k, i, c] * R[k, j, c]
                kin.I[k, i, j] = s
        cc = cx * cx + cy * cy + cz * cz
        kin.I[k, 0, 0] += m * (cc - cx * cx)
        kin.I[k, 1, 1] += m * (cc - cy * cy)
        kin.I[k, 2, 2] += m * (cc - cz * cz)
        kin.I[k, 0, 1] -= m * cx * cy
        kin.I[k, 0, 2] -= m * cx * cz
        kin.I[k, 1, 2] -= m * cy * cz
        kin.I[k, 1, 0] = kin.I[k, 0, 1]
        kin.I[k, 2, 0] = kin.I[k, 0, 2]
        kin.I[k, 2, 1] = kin.I[k, 1, 2]


@kernel
def bias_terms(tree, kin, v):
    """Coriolis accelerations a(k) and gyroscopic forces b(k) = [w x I w; w x (w x m c)], from ``kin.V``."""
    V = kin.V
    for k in range(tree.parent.shape[0]):
        joint_bias(tree, k, kin.H, v, V, kin.a)
        wx = V[k, 0]
        wy = V[k, 1]
        wz = V[k, 2]
        hx, hy, hz = rotate(kin.I, k, wx, wy, wz)
        x, y, z = cross(wx, wy, wz, hx, hy, hz)
        kin.b[k, 0] = x
        kin.b[k, 1] = y
        kin.b[k, 2] = z
        x, y, z = cross(wx, wy, wz, kin.mc[k, 0], kin.mc[k, 1], kin.mc[k, 2])
        x, y, z = cross(wx, wy, wz, x, y, z)
        kin.b[k, 3] = x
        kin.b[k, 4] = y
        kin.b[k, 5] = z


@kernel
def inertia_times(kin, mass, k, x, y, out):
    """``out[y] := M(k) @ x[k]`` for spatial vectors (rows of x and out)."""
    ax = x[k, 0]
    ay = x[k, 1]
    az = x[k, 2]
    lx = x[k, 3]
    ly = x[k, 4]
    lz = x[k, 5]
    cx = kin.mc[k, 0]
    cy = kin.mc[k, 1]
    cz = kin.mc[k, 2]
    ux, uy, uz = rotate(kin.I, k, ax, ay, az)
    vx, vy, vz = cross(cx, cy, cz, lx, ly, lz)
    out[y, 0] = ux + vx
    out[y, 1] = uy + vy
    out[y, 2] = uz + vz
    vx, vy, vz = cross(ax, ay, az, cx, cy, cz)
    out[y, 3] = mass * lx + vx
    out[y, 4] = mass * ly + vy
    out[y, 5] = mass * lz + vz
