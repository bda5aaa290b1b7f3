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
    l = kin.l
    H = kin.H
    R_motion = kin.R_scratch
    p_motion = kin.p_scratch
    R_local = kin.R_local
    parent = tree.parent
    kind = tree.joint_type
    q_start = tree.q_start
    v_start = tree.v_start
    nv = tree.nv
    axis = tree.axis
    R_joint = tree.R_joint
    p_joint = tree.p_joint
    for k in range(parent.shape[0]):
        joint_placement(kind[k], q_start[k], axis, k, q, R_motion, p_motion)
        x, y, z = rotate(R_joint, k, p_motion[k, 0], p_motion[k, 1], p_motion[k, 2])
        x += p_joint[k, 0]
        y += p_joint[k, 1]
        z += p_joint[k, 2]
        multiply(R_joint, k, R_motion, k, R_local, k)
        m = parent[k]
        if m >= 0:
            x, y, z = rotate(R, m, x, y, z)
            multiply(R, m, R_local, k, R, k)
            p[k, 0] = p[m, 0] + x
            p[k, 1] = p[m, 1] + y
            p[k, 2] = p[m, 2] + z
        else:
            for i in range(3):
                for j in range(3):
                    R[k, i, j] = R_local[k, i, j]
            p[k, 0] = x
            p[k, 1] = y
            p[k, 2] = z
        # l is built from the joint, not from a difference of large positions
        l[k, 0] = x
        l[k, 1] = y
        l[k, 2] = z
        joint_map(kind[k], v_start[k], nv[k], axis, k, R, H)


@kernel
def body_velocities(tree, kin, v, V):
    """Spatial velocities ``V(k) = phi*(p, k) V(p) + H*(k) v(k)`` into V (n, 6)."""
    parent = tree.parent
    v_start = tree.v_start
    nv = tree.nv
    l = kin.l
    H = kin.H
    for k in range(parent.shape[0]):
        m = parent[k]
        if m >= 0:
            x, y, z = cross(V[m, 0], V[m, 1], V[m, 2], l[k, 0], l[k, 1], l[k, 2])
            V[k, 0] = V[m, 0]
            V[k, 1] = V[m, 1]
            V[k, 2] = V[m, 2]
            V[k, 3] = V[m, 3] + x
            V[k, 4] = V[m, 4] + y
            V[k, 5] = V[m, 5] + z
        else:
            for c in range(6):
                V[k, c] = 0.0
        s = v_start[k]
        for i in range(nv[k]):
            w = v[s + i]
            for c in range(6):
                V[k, c] += H[s + i, c] * w


@kernel
def body_inertias(tree, kin):
    """World-axes rotational inertia about the body origin and first moment, into ``kin.I`` and ``kin.mc``.

    The spatial inertia of body k is ``M(k) = [[I, m c~], [-m c~, m 1]]``.
    """
    R = kin.R
    I = kin.I
    mc = kin.mc
    R_local = kin.R_local
    mass = tree.mass
    com = tree.com
    inertia = tree.inertia
    for k in range(mass.shape[0]):
        m = mass[k]
        cx, cy, cz = rotate(R, k, com[k, 0], com[k, 1], com[k, 2])
        mc[k, 0] = m * cx
        mc[k, 1] = m * cy
        mc[k, 2] = m * cz
        multiply(R, k, inertia, k, R_local, k)  # R Ic
        for i in range(3):
            for j in range(i, 3):
                s = 0.0
                for c in range(3):
                    s += R_local[k, i, c] * R[k, j, c]
                I[k, i, j] = s
        cc = cx * cx + cy * cy + cz * cz
        I[k, 0, 0] += m * (cc - cx * cx)
        I[k, 1, 1] += m * (cc - cy * cy)
        I[k, 2, 2] += m * (cc - cz * cz)
        I[k, 0, 1] -= m * cx * cy
        I[k, 0, 2] -= m * cx * cz
        I[k, 1, 2] -= m * cy * cz
        I[k, 1, 0] = I[k, 0, 1]
        I[k, 2, 0] = I[k, 0, 2]
        I[k, 2, 1] = I[k, 1, 2]


@kernel
def bias_terms(tree, kin, v):
    """Coriolis accelerations a(k) and gyroscopic forces b(k) = [w x I w; w x (w x m c)], from ``kin.V``."""
    V = kin.V
    H = kin.H
    I = kin.I
    mc = kin.mc
    a = kin.a
    b = kin.b
    parent = tree.parent
    kind = tree.joint_type
    v_start = tree.v_start
    for k in range(parent.shape[0]):
        joint_bias(kind[k], parent[k], v_start[k], k, H, v, V, a)
        wx = V[k, 0]
        wy = V[k, 1]
        wz = V[k, 2]
        hx, hy, hz = rotate(I, k, wx, wy, wz)
        x, y, z = cross(wx, wy, wz, hx, hy, hz)
        b[k, 0] = x
        b[k, 1] = y
        b[k, 2] = z
        x, y, z = cross(wx, wy, wz, mc[k, 0], mc[k, 1], mc[k, 2])
        x, y, z = cross(wx, wy, wz, x, y, z)
        b[k, 3] = x
        b[k, 4] = y
        b[k, 5] = z


@kernel
def inertia_times(I, mc, mass, k, x, i, out, j):
    """``out[j] := M(k) @ x[i]`` for spatial vectors (rows of x and out)."""
    ax = x[i, 0]
    ay = x[i, 1]
    az = x[i, 2]
    lx = x[i, 3]
    ly = x[i, 4]
    lz = x[i, 5]
    cx = mc[k, 0]
    cy = mc[k, 1]
    cz = mc[k, 2]
    ux, uy, uz = rotate(I, k, ax, ay, az)
    vx, vy, vz = cross(cx, cy, cz, lx, ly, lz)
    out[j, 0] = ux + vx
    out[j, 1] = uy + vy
    out[j, 2] = uz + vz
    vx, vy, vz = cross(ax, ay, az, cx, cy, cz)
    out[j, 3] = mass * lx + vx
    out[j, 4] = mass * ly + vy
    out[j, 5] = mass * lz + vz
