# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Forward kinematics: body poses, hinge maps, spatial velocities, inertias and bias terms (ascending sweeps).

World axes, each body about its own origin: phi(p, k) is a pure shift by l(k) = p(k) - p(parent).

The sweeps keep a body's numbers in scalars: LLVM cannot tell that one array's stores leave another alone and would
reload everything (poses of a revolute chain 107 -> 30 ns a body, inertias 38 -> 16).
"""

from __future__ import annotations

from mb_contact.core.jit import sweep
from mb_contact.core.tree.joints import joint_bias, joint_map, joint_motion, revolute_motion
from mb_contact.core.tree.spatial import cross, multiply, rotate
from mb_contact.core.trigonometry import sines_and_cosines
from mb_contact.types import JOINT_PRISMATIC, JOINT_REVOLUTE


@sweep
def body_poses(tree, q, kin):
    """Poses, offsets l and hinge maps H of all bodies at q, into ``kin``."""
    R = kin.R
    p = kin.p
    l = kin.l
    H = kin.H
    base = kin.base
    turn = kin.turn
    sine = kin.sine
    cosine = kin.cosine
    sines_and_cosines(q, kin.angle, sine, cosine)
    shift = kin.shift
    parent = tree.parent
    kind = tree.joint_type
    q_start = tree.q_start
    v_start = tree.v_start
    nv = tree.nv
    axis = tree.axis
    axis2 = tree.axis2
    R_joint = tree.R_joint
    p_joint = tree.p_joint
    for k in range(parent.shape[0]):
        m = parent[k]
        x = p_joint[k, 0]
        y = p_joint[k, 1]
        z = p_joint[k, 2]
        b00 = R_joint[k, 0, 0]
        b01 = R_joint[k, 0, 1]
        b02 = R_joint[k, 0, 2]
        b10 = R_joint[k, 1, 0]
        b11 = R_joint[k, 1, 1]
        b12 = R_joint[k, 1, 2]
        b20 = R_joint[k, 2, 0]
        b21 = R_joint[k, 2, 1]
        b22 = R_joint[k, 2, 2]
        if m >= 0:
            r00 = R[m, 0, 0]
            r01 = R[m, 0, 1]
            r02 = R[m, 0, 2]
            r10 = R[m, 1, 0]
            r11 = R[m, 1, 1]
            r12 = R[m, 1, 2]
            r20 = R[m, 2, 0]
            r21 = R[m, 2, 1]
            r22 = R[m, 2, 2]
            x, y, z = (
                r00 * x + r01 * y + r02 * z,
                r10 * x + r11 * y + r12 * z,
                r20 * x + r21 * y + r22 * z,
            )
            b00, b10, b20 = (
                r00 * b00 + r01 * b10 + r02 * b20,
                r10 * b00 + r11 * b10 + r12 * b20,
                r20 * b00 + r21 * b10 + r22 * b20,
            )
            b01, b11, b21 = (
                r00 * b01 + r01 * b11 + r02 * b21,
                r10 * b01 + r11 * b11 + r12 * b21,
                r20 * b01 + r21 * b11 + r22 * b21,
            )
            b02, b12, b22 = (
                r00 * b02 + r01 * b12 + r02 * b22,
                r10 * b02 + r11 * b12 + r12 * b22,
                r20 * b02 + r21 * b12 + r22 * b22,
            )
        if kind[k] == JOINT_REVOLUTE:
            s = v_start[k]
            (
                R[k, 0, 0], R[k, 0, 1], R[k, 0, 2],
                R[k, 1, 0], R[k, 1, 1], R[k, 1, 2],
                R[k, 2, 0], R[k, 2, 1], R[k, 2, 2],
                H[s, 0], H[s, 1], H[s, 2],
            ) = revolute_motion(
                (b00, b01, b02, b10, b11, b12, b20, b21, b22),
                (axis[k, 0], axis[k, 1], axis[k, 2]),
                sine[q_start[k]], cosine[q_start[k]],
            )  # fmt: skip
            H[s, 3] = 0.0
            H[s, 4] = 0.0
            H[s, 5] = 0.0
        elif kind[k] == JOINT_PRISMATIC:
            s = v_start[k]
            u, v, w = axis[k, 0], axis[k, 1], axis[k, 2]
            u, v, w = b00 * u + b01 * v + b02 * w, b10 * u + b11 * v + b12 * w, b20 * u + b21 * v + b22 * w
            R[k, 0, 0] = b00
            R[k, 0, 1] = b01
            R[k, 0, 2] = b02
            R[k, 1, 0] = b10
            R[k, 1, 1] = b11
            R[k, 1, 2] = b12
            R[k, 2, 0] = b20
            R[k, 2, 1] = b21
            R[k, 2, 2] = b22
            H[s, 0] = 0.0
            H[s, 1] = 0.0
            H[s, 2] = 0.0
            H[s, 3] = u
            H[s, 4] = v
            H[s, 5] = w
            t = q[q_start[k]]
            x += t * u
            y += t * v
            z += t * w
        else:
            base[0, 0, 0] = b00
            base[0, 0, 1] = b01
            base[0, 0, 2] = b02
            base[0, 1, 0] = b10
            base[0, 1, 1] = b11
            base[0, 1, 2] = b12
            base[0, 2, 0] = b20
            base[0, 2, 1] = b21
            base[0, 2, 2] = b22
            joint_motion(kind[k], q_start[k], axis, axis2, k, q, turn, shift)
            multiply(base, 0, turn, 0, R, k)
            joint_map(kind[k], v_start[k], nv[k], axis, axis2, k, base, R, H)
            sx, sy, sz = rotate(base, 0, shift[0, 0], shift[0, 1], shift[0, 2])
            x += sx
            y += sy
            z += sz
        # l is built from the joint, not from a difference of large positions
        l[k, 0] = x
        l[k, 1] = y
        l[k, 2] = z
        if m >= 0:
            x += p[m, 0]
            y += p[m, 1]
            z += p[m, 2]
        p[k, 0] = x
        p[k, 1] = y
        p[k, 2] = z


@sweep
def body_velocities(tree, kin, v, V):
    """Spatial velocities ``V(k) = phi*(p, k) V(p) + H*(k) v(k)`` into V (n, 6)."""
    parent = tree.parent
    v_start = tree.v_start
    nv = tree.nv
    l = kin.l
    H = kin.H
    for k in range(parent.shape[0]):
        m = parent[k]
        wx = 0.0
        wy = 0.0
        wz = 0.0
        x = 0.0
        y = 0.0
        z = 0.0
        if m >= 0:
            wx = V[m, 0]
            wy = V[m, 1]
            wz = V[m, 2]
            x, y, z = cross(wx, wy, wz, l[k, 0], l[k, 1], l[k, 2])
            x += V[m, 3]
            y += V[m, 4]
            z += V[m, 5]
        s = v_start[k]
        for i in range(s, s + nv[k]):
            u = v[i]
            wx += H[i, 0] * u
            wy += H[i, 1] * u
            wz += H[i, 2] * u
            x += H[i, 3] * u
            y += H[i, 4] * u
            z += H[i, 5] * u
        V[k, 0] = wx
        V[k, 1] = wy
        V[k, 2] = wz
        V[k, 3] = x
        V[k, 4] = y
        V[k, 5] = z


@sweep
def body_inertias(tree, kin):
    """World-axes rotational inertia about the body origin and first moment, into ``kin.I`` and ``kin.mc``.

    The spatial inertia of body k is ``M(k) = [[I, m c~], [-m c~, m 1]]``.
    """
    R = kin.R
    I = kin.I
    mc = kin.mc
    mass = tree.mass
    com = tree.com
    inertia = tree.inertia
    for k in range(mass.shape[0]):
        r00 = R[k, 0, 0]
        r01 = R[k, 0, 1]
        r02 = R[k, 0, 2]
        r10 = R[k, 1, 0]
        r11 = R[k, 1, 1]
        r12 = R[k, 1, 2]
        r20 = R[k, 2, 0]
        r21 = R[k, 2, 1]
        r22 = R[k, 2, 2]
        x = com[k, 0]
        y = com[k, 1]
        z = com[k, 2]
        cx = r00 * x + r01 * y + r02 * z
        cy = r10 * x + r11 * y + r12 * z
        cz = r20 * x + r21 * y + r22 * z
        m = mass[k]
        mx = m * cx
        my = m * cy
        mz = m * cz
        i00 = inertia[k, 0, 0]
        i01 = inertia[k, 0, 1]
        i02 = inertia[k, 0, 2]
        i11 = inertia[k, 1, 1]
        i12 = inertia[k, 1, 2]
        i22 = inertia[k, 2, 2]
        t00 = r00 * i00 + r01 * i01 + r02 * i02  # R Ic
        t01 = r00 * i01 + r01 * i11 + r02 * i12
        t02 = r00 * i02 + r01 * i12 + r02 * i22
        t10 = r10 * i00 + r11 * i01 + r12 * i02
        t11 = r10 * i01 + r11 * i11 + r12 * i12
        t12 = r10 * i02 + r11 * i12 + r12 * i22
        t20 = r20 * i00 + r21 * i01 + r22 * i02
        t21 = r20 * i01 + r21 * i11 + r22 * i12
        t22 = r20 * i02 + r21 * i12 + r22 * i22
        xx = mx * cx
        yy = my * cy
        zz = mz * cz
        xy = t00 * r10 + t01 * r11 + t02 * r12 - mx * cy
        xz = t00 * r20 + t01 * r21 + t02 * r22 - mx * cz
        yz = t10 * r20 + t11 * r21 + t12 * r22 - my * cz
        I[k, 0, 0] = t00 * r00 + t01 * r01 + t02 * r02 + yy + zz
        I[k, 0, 1] = xy
        I[k, 0, 2] = xz
        I[k, 1, 0] = xy
        I[k, 1, 1] = t10 * r10 + t11 * r11 + t12 * r12 + xx + zz
        I[k, 1, 2] = yz
        I[k, 2, 0] = xz
        I[k, 2, 1] = yz
        I[k, 2, 2] = t20 * r20 + t21 * r21 + t22 * r22 + xx + yy
        mc[k, 0] = mx
        mc[k, 1] = my
        mc[k, 2] = mz


@sweep
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
    nv = tree.nv
    for k in range(parent.shape[0]):
        wx = V[k, 0]
        wy = V[k, 1]
        wz = V[k, 2]
        x, y, z = rotate(I, k, wx, wy, wz)
        b[k, 0], b[k, 1], b[k, 2] = cross(wx, wy, wz, x, y, z)
        x, y, z = cross(wx, wy, wz, mc[k, 0], mc[k, 1], mc[k, 2])
        b[k, 3], b[k, 4], b[k, 5] = cross(wx, wy, wz, x, y, z)
        s = v_start[k]
        m = parent[k]
        if kind[k] != JOINT_REVOLUTE or m < 0:
            joint_bias(kind[k], m, s, nv[k], k, H, v, V, a)
            continue
        # the same for the most frequent joint, written out: a call with its arrays costs as much as the rest
        px = V[m, 0]
        py = V[m, 1]
        pz = V[m, 2]
        u = v[s]
        x, y, z = cross(px, py, pz, V[k, 3] - V[m, 3], V[k, 4] - V[m, 4], V[k, 5] - V[m, 5])
        wx, wy, wz = cross(px, py, pz, H[s, 0] * u, H[s, 1] * u, H[s, 2] * u)
        a[k, 0] = wx
        a[k, 1] = wy
        a[k, 2] = wz
        a[k, 3] = x
        a[k, 4] = y
        a[k, 5] = z
