# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Articulated-body sweeps (J11 lemmas 7, 8, 12): Riccati gather, free acceleration, impulse response.

    P(k)  = sum_children phi(k,j) P+(j) phi*(k,j) + M(k)
    D     = H P H*,   G = P H* D^-1,   P+ = P - G D G* = (I - G H) P

A joint with r degrees of freedom is swept as r joints of one, the last row of H(k) first, with massless bodies
at the same origin between them.  The SKO model is the same (a node may be massless), P, P+, z and alpha of the real
bodies are those of the paper, and D(k) comes out as its LDL* factors: every joint type runs through the same scalar
code and no block is inverted.  U holds the columns P H* of these joints, so G = U D^-1.

The damping d of a joint is treated implicitly: it enters as D = H P H* + armature + dt d, so the
velocity after the step satisfies (M + dt d)(v+ - v) = dt (T - d v - C) + J* p exactly.

Symmetric 6 x 6 matrices [[A, B], [B*, C]] are packed as 21 numbers: A 00 01 02 11 12 22, B by rows, C as A.
"""

from __future__ import annotations

from mb_contact.core.jit import sweep
from mb_contact.core.tree.spatial import cross
from mb_contact.types import OK, SINGULAR_HINGE

TOL_SINGULAR = 1e-15  # D(k) below this part of the body's P is rounding: the hinge moves nothing


@sweep
def articulated_inertias(tree, kin, dt, art):
    """Gather P, U = P H* and D^-1 from tips to base; returns (status, body of a singular hinge)."""
    P = art.P
    U = art.U
    D_inv = art.D_inv
    H = kin.H
    l = kin.l
    parent = tree.parent
    v_start = tree.v_start
    nv = tree.nv
    armature = tree.armature
    damping = tree.damping
    _rigid_inertias(kin.I, kin.mc, tree.mass, P)
    for k in range(parent.shape[0] - 1, -1, -1):
        a0 = P[k, 0]
        a1 = P[k, 1]
        a2 = P[k, 2]
        a3 = P[k, 3]
        a4 = P[k, 4]
        a5 = P[k, 5]
        b0 = P[k, 6]
        b1 = P[k, 7]
        b2 = P[k, 8]
        b3 = P[k, 9]
        b4 = P[k, 10]
        b5 = P[k, 11]
        b6 = P[k, 12]
        b7 = P[k, 13]
        b8 = P[k, 14]
        c0 = P[k, 15]
        c1 = P[k, 16]
        c2 = P[k, 17]
        c3 = P[k, 18]
        c4 = P[k, 19]
        c5 = P[k, 20]
        turning = TOL_SINGULAR * (a0 + a3 + a5)
        moving = TOL_SINGULAR * (c0 + c3 + c5)
        s = v_start[k]
        for i in range(s + nv[k] - 1, s - 1, -1):
            h0 = H[i, 0]
            h1 = H[i, 1]
            h2 = H[i, 2]
            h3 = H[i, 3]
            h4 = H[i, 4]
            h5 = H[i, 5]
            u0 = a0 * h0 + a1 * h1 + a2 * h2
            u1 = a1 * h0 + a3 * h1 + a4 * h2
            u2 = a2 * h0 + a4 * h1 + a5 * h2
            u3 = b0 * h0 + b3 * h1 + b6 * h2
            u4 = b1 * h0 + b4 * h1 + b7 * h2
            u5 = b2 * h0 + b5 * h1 + b8 * h2
            d = h0 * u0 + h1 * u1 + h2 * u2
            least = turning
            if h3 != 0.0 or h4 != 0.0 or h5 != 0.0:  # not a pure rotation
                u0 += b0 * h3 + b1 * h4 + b2 * h5
                u1 += b3 * h3 + b4 * h4 + b5 * h5
                u2 += b6 * h3 + b7 * h4 + b8 * h5
                u3 += c0 * h3 + c1 * h4 + c2 * h5
                u4 += c1 * h3 + c3 * h4 + c4 * h5
                u5 += c2 * h3 + c4 * h4 + c5 * h5
                d = h0 * u0 + h1 * u1 + h2 * u2 + h3 * u3 + h4 * u4 + h5 * u5
                least = turning * (h0 * h0 + h1 * h1 + h2 * h2) + moving * (h3 * h3 + h4 * h4 + h5 * h5)
            d += armature[i] + dt * damping[i]
            if not d > least:
                return SINGULAR_HINGE, k
            d = 1.0 / d
            D_inv[i] = d
            U[i, 0] = u0
            U[i, 1] = u1
            U[i, 2] = u2
            U[i, 3] = u3
            U[i, 4] = u4
            U[i, 5] = u5
            g0 = u0 * d
            g1 = u1 * d
            g2 = u2 * d
            g3 = u3 * d
            g4 = u4 * d
            g5 = u5 * d
            a0 -= g0 * u0  # P+ = P - G U*
            a1 -= g0 * u1
            a2 -= g0 * u2
            a3 -= g1 * u1
            a4 -= g1 * u2
            a5 -= g2 * u2
            b0 -= g0 * u3
            b1 -= g0 * u4
            b2 -= g0 * u5
            b3 -= g1 * u3
            b4 -= g1 * u4
            b5 -= g1 * u5
            b6 -= g2 * u3
            b7 -= g2 * u4
            b8 -= g2 * u5
            c0 -= g3 * u3
            c1 -= g3 * u4
            c2 -= g3 * u5
            c3 -= g4 * u4
            c4 -= g4 * u5
            c5 -= g5 * u5
        m = parent[k]
        if m < 0:
            continue
        # P(m) += phi(m, k) P+ phi*(m, k), phi = [[1, l~], [0, 1]]: C' = C, B' = B + l~ C, A' = A + l~ B* - B' l~
        x = l[k, 0]
        y = l[k, 1]
        z = l[k, 2]
        e0 = b0 + y * c2 - z * c1
        e1 = b1 + y * c4 - z * c3
        e2 = b2 + y * c5 - z * c4
        e3 = b3 + z * c0 - x * c2
        e4 = b4 + z * c1 - x * c4
        e5 = b5 + z * c2 - x * c5
        e6 = b6 + x * c1 - y * c0
        e7 = b7 + x * c3 - y * c1
        e8 = b8 + x * c4 - y * c2
        P[m, 0] += a0 + y * b2 - z * b1 - (e1 * z - e2 * y)
        P[m, 1] += a1 + y * b5 - z * b4 - (e2 * x - e0 * z)
        P[m, 2] += a2 + y * b8 - z * b7 - (e0 * y - e1 * x)
        P[m, 3] += a3 + z * b3 - x * b5 - (e5 * x - e3 * z)
        P[m, 4] += a4 + z * b6 - x * b8 - (e3 * y - e4 * x)
        P[m, 5] += a5 + x * b7 - y * b6 - (e6 * y - e7 * x)
        P[m, 6] += e0
        P[m, 7] += e1
        P[m, 8] += e2
        P[m, 9] += e3
        P[m, 10] += e4
        P[m, 11] += e5
        P[m, 12] += e6
        P[m, 13] += e7
        P[m, 14] += e8
        P[m, 15] += c0
        P[m, 16] += c1
        P[m, 17] += c2
        P[m, 18] += c3
        P[m, 19] += c4
        P[m, 20] += c5
    return OK, -1


@sweep
def _rigid_inertias(I, mc, mass, P):
    """P(k) := M(k) = [[I, m c~], [-m c~, m 1]], packed."""
    for k in range(mass.shape[0]):
        P[k, 0] = I[k, 0, 0]
        P[k, 1] = I[k, 0, 1]
        P[k, 2] = I[k, 0, 2]
        P[k, 3] = I[k, 1, 1]
        P[k, 4] = I[k, 1, 2]
        P[k, 5] = I[k, 2, 2]
        x = mc[k, 0]
        y = mc[k, 1]
        z = mc[k, 2]
        P[k, 6] = 0.0
        P[k, 7] = -z
        P[k, 8] = y
        P[k, 9] = z
        P[k, 10] = 0.0
        P[k, 11] = -x
        P[k, 12] = -y
        P[k, 13] = x
        P[k, 14] = 0.0
        P[k, 15] = mass[k]
        P[k, 16] = 0.0
        P[k, 17] = 0.0
        P[k, 18] = mass[k]
        P[k, 19] = 0.0
        P[k, 20] = mass[k]


@sweep
def free_acceleration(tree, kin, art, gravity, effort, v, external, v_dot):
    """Accelerations without contact, ``v_dot`` (N,), from efforts, damping, gravity and external forces.

    Gather z = sum phi z+ + P a + b, eps = T - H z, nu = D^-1 eps, z+ = z + G eps; then ``_open_hinges``.

    Parameters
    ----------
    gravity : (3,)
        Acceleration of gravity [m/s^2]; taken in as the acceleration -g of the inertial frame.
    effort : (N,)
        Generalised forces T; the damping force -d v is added here.
    external : (n, 6)
        Forces on the bodies at their origins, world axes.
    """
    z = art.z
    nu = art.nu
    P = art.P
    U = art.U
    D_inv = art.D_inv
    H = kin.H
    l = kin.l
    a = kin.a
    b = kin.b
    parent = tree.parent
    v_start = tree.v_start
    nv = tree.nv
    damping = tree.damping
    n = parent.shape[0]
    for i in range(nu.shape[0]):
        nu[i] = effort[i] - damping[i] * v[i]
    for k in range(n):  # P a + b - external
        a0 = a[k, 0]
        a1 = a[k, 1]
        a2 = a[k, 2]
        a3 = a[k, 3]
        a4 = a[k, 4]
        a5 = a[k, 5]
        z0 = P[k, 0] * a0 + P[k, 1] * a1 + P[k, 2] * a2 + P[k, 6] * a3 + P[k, 7] * a4 + P[k, 8] * a5
        z1 = P[k, 1] * a0 + P[k, 3] * a1 + P[k, 4] * a2 + P[k, 9] * a3 + P[k, 10] * a4 + P[k, 11] * a5
        z2 = P[k, 2] * a0 + P[k, 4] * a1 + P[k, 5] * a2 + P[k, 12] * a3 + P[k, 13] * a4 + P[k, 14] * a5
        z3 = P[k, 6] * a0 + P[k, 9] * a1 + P[k, 12] * a2 + P[k, 15] * a3 + P[k, 16] * a4 + P[k, 17] * a5
        z4 = P[k, 7] * a0 + P[k, 10] * a1 + P[k, 13] * a2 + P[k, 16] * a3 + P[k, 18] * a4 + P[k, 19] * a5
        z5 = P[k, 8] * a0 + P[k, 11] * a1 + P[k, 14] * a2 + P[k, 17] * a3 + P[k, 19] * a4 + P[k, 20] * a5
        z[k, 0] = z0 + b[k, 0] - external[k, 0]
        z[k, 1] = z1 + b[k, 1] - external[k, 1]
        z[k, 2] = z2 + b[k, 2] - external[k, 2]
        z[k, 3] = z3 + b[k, 3] - external[k, 3]
        z[k, 4] = z4 + b[k, 4] - external[k, 4]
        z[k, 5] = z5 + b[k, 5] - external[k, 5]
    _load_hinges(parent, v_start, nv, H, l, U, D_inv, nu, z)
    _open_hinges(parent, v_start, nv, H, l, U, D_inv, nu, a, -gravity[0], -gravity[1], -gravity[2], art.alpha, v_dot)


@sweep
def impulse_response(tree, kin, art, impulse, joint_impulse, dv):
    """Velocity change ``dv = (M + dt d)^-1 (J* p + p_joint)``, and ``art.alpha`` the bodies' (one O(N) sweep).

    Parameters
    ----------
    impulse : (n, 6)
        Spatial impulses on the bodies at their origins, world axes.
    joint_impulse : (N,)
    dv : (N,)
        Output.
    """
    z = art.z
    nu = art.nu
    U = art.U
    D_inv = art.D_inv
    H = kin.H
    l = kin.l
    parent = tree.parent
    v_start = tree.v_start
    nv = tree.nv
    n = parent.shape[0]
    for k in range(n):
        for c in range(6):
            z[k, c] = -impulse[k, c]
    for i in range(nu.shape[0]):
        nu[i] = joint_impulse[i]
    _load_hinges(parent, v_start, nv, H, l, U, D_inv, nu, z)
    for k in range(n):  # no Coriolis terms in a velocity jump: z is free again and serves as a(k) = 0
        for c in range(6):
            z[k, c] = 0.0
    _open_hinges(parent, v_start, nv, H, l, U, D_inv, nu, z, 0.0, 0.0, 0.0, art.alpha, dv)


@sweep
def _load_hinges(parent, v_start, nv, H, l, U, D_inv, nu, z):
    """Gather z(k) += sum phi z+, eps = T - H z, nu = D^-1 eps, z+ = z + G eps; T comes in ``nu``, the bodies' in z."""
    for k in range(parent.shape[0] - 1, -1, -1):
        z0 = z[k, 0]
        z1 = z[k, 1]
        z2 = z[k, 2]
        z3 = z[k, 3]
        z4 = z[k, 4]
        z5 = z[k, 5]
        s = v_start[k]
        for i in range(s + nv[k] - 1, s - 1, -1):
            x = nu[i]
            x -= H[i, 0] * z0 + H[i, 1] * z1 + H[i, 2] * z2 + H[i, 3] * z3 + H[i, 4] * z4 + H[i, 5] * z5
            x *= D_inv[i]
            nu[i] = x
            z0 += U[i, 0] * x
            z1 += U[i, 1] * x
            z2 += U[i, 2] * x
            z3 += U[i, 3] * x
            z4 += U[i, 4] * x
            z5 += U[i, 5] * x
        m = parent[k]
        if m < 0:
            continue
        x, y, w = cross(l[k, 0], l[k, 1], l[k, 2], z3, z4, z5)
        z[m, 0] += z0 + x
        z[m, 1] += z1 + y
        z[m, 2] += z2 + w
        z[m, 3] += z3
        z[m, 4] += z4
        z[m, 5] += z5


@sweep
def _open_hinges(parent, v_start, nv, H, l, U, D_inv, nu, a, x0, y0, z0, alpha, out):
    """Scatter alpha+ = phi* alpha(p), v_dot = nu - G* alpha+ into ``out``, alpha = alpha+ + H* v_dot + a.

    (x0, y0, z0) is the linear acceleration of the inertial frame.
    """
    for k in range(parent.shape[0]):
        m = parent[k]
        if m >= 0:
            wx = alpha[m, 0]
            wy = alpha[m, 1]
            wz = alpha[m, 2]
            x, y, z = cross(wx, wy, wz, l[k, 0], l[k, 1], l[k, 2])
            x += alpha[m, 3]
            y += alpha[m, 4]
            z += alpha[m, 5]
        else:
            wx = 0.0
            wy = 0.0
            wz = 0.0
            x = x0
            y = y0
            z = z0
        s = v_start[k]
        for i in range(s, s + nv[k]):
            t = U[i, 0] * wx + U[i, 1] * wy + U[i, 2] * wz + U[i, 3] * x + U[i, 4] * y + U[i, 5] * z
            t = nu[i] - D_inv[i] * t
            out[i] = t
            wx += H[i, 0] * t
            wy += H[i, 1] * t
            wz += H[i, 2] * t
            x += H[i, 3] * t
            y += H[i, 4] * t
            z += H[i, 5] * t
        alpha[k, 0] = wx + a[k, 0]
        alpha[k, 1] = wy + a[k, 1]
        alpha[k, 2] = wz + a[k, 2]
        alpha[k, 3] = x + a[k, 3]
        alpha[k, 4] = y + a[k, 4]
        alpha[k, 5] = z + a[k, 5]
