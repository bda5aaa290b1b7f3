# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Articulated-body sweeps (J11 lemmas 7, 8, 12): Riccati gather, free acceleration, impulse response.

    P(k)  = sum_children phi(k,j) P+(j) phi*(k,j) + M(k)
    D     = H P H*,   G = P H* D^-1,   P+ = P - G D G* = (I - G H) P

The damping d of a joint is treated implicitly: it enters as D = H P H* + armature + dt d, so the
velocity after the step satisfies (M + dt d)(v+ - v) = dt (T - d v - C) + J* p exactly.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.jit import kernel
from mb_contact.core.spatial import cross
from mb_contact.types import OK, SINGULAR_HINGE


@kernel
def articulated_inertias(tree, kin, dt, art):
    """Gather P, D^-1, G and U = P H* from tips to base; returns (status, body of a singular hinge).

    ``art.G`` and ``art.U`` hold one row of 6 for every degree of freedom; row i of the block
    of D^-1 of its joint stands in ``art.D_inv[i, :r]``.
    """
    P = art.P
    U = art.U
    G = art.G
    D_inv = art.D_inv
    L = art.hinge_scratch
    Q = art.block_scratch
    I = kin.I
    mc = kin.mc
    H = kin.H
    l = kin.l
    parent = tree.parent
    v_start = tree.v_start
    nv = tree.nv
    mass = tree.mass
    armature = tree.armature
    damping = tree.damping
    n = parent.shape[0]
    for k in range(n):
        for i in range(3):
            for j in range(3):
                P[k, i, j] = I[k, i, j]
                P[k, 3 + i, 3 + j] = 0.0
            P[k, i, 3 + i] = 0.0
            P[k, 3 + i, 3 + i] = mass[k]
        _set_skew(P, k, mc[k, 0], mc[k, 1], mc[k, 2])
    for k in range(n - 1, -1, -1):
        s = v_start[k]
        r = nv[k]
        for i in range(s, s + r):
            for c in range(6):
                U[i, c] = 0.0
            for e in range(6):  # rows of the symmetric P, so that the loop vectorises
                h = H[i, e]
                for c in range(6):
                    U[i, c] += P[k, e, c] * h
        for i in range(r):  # D, lower triangle
            for j in range(i + 1):
                d = 0.0
                for c in range(6):
                    d += H[s + i, c] * U[s + j, c]
                L[i, j] = d
            L[i, i] += armature[s + i] + dt * damping[s + i]
        if not _invert_hinge(L, s, r, D_inv):
            return SINGULAR_HINGE, k
        for i in range(r):
            for c in range(6):
                g = 0.0
                for j in range(r):
                    g += D_inv[s + i, j] * U[s + j, c]
                G[s + i, c] = g
        if parent[k] >= 0:
            _add_shifted(P, G, U, Q, l, s, r, k, parent[k])
    return OK, -1


@kernel
def _set_skew(P, k, x, y, z):
    """Off-diagonal blocks of a spatial inertia: P[:3, 3:] = c~, P[3:, :3] = -c~."""
    P[k, 0, 4] = -z
    P[k, 0, 5] = y
    P[k, 1, 3] = z
    P[k, 1, 5] = -x
    P[k, 2, 3] = -y
    P[k, 2, 4] = x
    P[k, 4, 0] = -z
    P[k, 5, 0] = y
    P[k, 3, 1] = z
    P[k, 5, 1] = -x
    P[k, 3, 2] = -y
    P[k, 4, 2] = x


@kernel
def _invert_hinge(L, s, r, D_inv):
    """Inverse of D (lower triangle in L, r x r) by Cholesky into ``D_inv[s:s + r]``; False if not positive definite."""
    if r == 1:
        if not L[0, 0] > 0.0:
            return False
        D_inv[s, 0] = 1.0 / L[0, 0]
        return True
    for i in range(r):
        for j in range(i + 1):
            d = L[i, j]
            for c in range(j):
                d -= L[i, c] * L[j, c]
            if i == j:
                if not d > 1e-14 * L[i, i]:
                    return False
                L[i, i] = np.sqrt(d)
            else:
                L[i, j] = d / L[j, j]
    for col in range(r):  # D^-1 column by column
        for i in range(r):
            d = 1.0 if i == col else 0.0
            for c in range(i):
                d -= L[i, c] * D_inv[s + c, col]
            D_inv[s + i, col] = d / L[i, i]
        for i in range(r - 1, -1, -1):
            d = D_inv[s + i, col]
            for c in range(i + 1, r):
                d -= L[c, i] * D_inv[s + c, col]
            D_inv[s + i, col] = d / L[i, i]
    return True


@kernel
def _add_shifted(P, G, U, Q, l, s, r, k, m):
    """P(m) += phi(m, k) P+(k) phi*(m, k)."""
    for i in range(6):
        for j in range(i, 6):
            x = P[k, i, j]
            for d in range(s, s + r):
                x -= G[d, i] * U[d, j]
            Q[i, j] = x
            Q[j, i] = x
    x = l[k, 0]
    y = l[k, 1]
    z = l[k, 2]
    for j in range(3, 6):  # upper right: B' = B + l~ C
        c0 = Q[3, j]
        c1 = Q[4, j]
        c2 = Q[5, j]
        Q[0, j] += y * c2 - z * c1
        Q[1, j] += z * c0 - x * c2
        Q[2, j] += x * c1 - y * c0
    for i in range(3):  # upper left: A' = A + l~ B* - B' l~, B* is still in the lower left
        for j in range(i, 3):
            P[m, i, j] += Q[i, j]
    for j in range(3):
        b0 = Q[3, j]
        b1 = Q[4, j]
        b2 = Q[5, j]
        t0 = y * b2 - z * b1
        t1 = z * b0 - x * b2
        t2 = x * b1 - y * b0
        P[m, 0, j] += t0
        if j >= 1:
            P[m, 1, j] += t1
        if j >= 2:
            P[m, 2, j] += t2
    for i in range(3):
        # - B' l~: columns (B1' z - B2' y, B2' x - B0' z, B0' y - B1' x) negated
        u0 = Q[i, 3]
        u1 = Q[i, 4]
        u2 = Q[i, 5]
        if i <= 0:
            P[m, i, 0] -= u1 * z - u2 * y
        if i <= 1:
            P[m, i, 1] -= u2 * x - u0 * z
        P[m, i, 2] -= u0 * y - u1 * x
        for j in range(3, 6):
            P[m, i, j] += Q[i, j]
            P[m, j, i] = P[m, i, j]
            P[m, 3 + i, j] += Q[3 + i, j]
    P[m, 1, 0] = P[m, 0, 1]
    P[m, 2, 0] = P[m, 0, 2]
    P[m, 2, 1] = P[m, 1, 2]


@kernel
def free_acceleration(tree, kin, art, gravity, effort, v, external, v_dot):
    """Accelerations without contact, ``v_dot`` (N,), from efforts, damping, gravity and external forces.

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
    eps = art.eps
    P = art.P
    G = art.G
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
    for k in range(n):
        for c in range(6):
            z[k, c] = b[k, c] - external[k, c]
    for k in range(n - 1, -1, -1):
        s = v_start[k]
        r = nv[k]
        for e in range(6):
            t = a[k, e]
            for c in range(6):
                z[k, c] += P[k, e, c] * t
        for i in range(s, s + r):
            nu[i] = effort[i] - damping[i] * v[i]
        _absorb(H, D_inv, G, l, z, eps, nu, s, r, k, parent[k])
    _scatter(tree, kin, art, gravity, v_dot)


@kernel
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
    eps = art.eps
    alpha = art.alpha
    G = art.G
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
    for k in range(n - 1, -1, -1):
        s = v_start[k]
        for i in range(s, s + nv[k]):
            nu[i] = joint_impulse[i]
        _absorb(H, D_inv, G, l, z, eps, nu, s, nv[k], k, parent[k])
    for k in range(n):  # no Coriolis terms in a velocity jump
        _shift_from_parent(l, alpha, k, parent[k])
        _open_hinge(H, G, nu, alpha, v_start[k], nv[k], k, dv)


@kernel
def _absorb(H, D_inv, G, l, z, eps, nu, s, r, k, m):
    """eps = T - H z (T comes in ``nu``), nu = D^-1 eps, z+ = z + G eps, and z(m) += phi(m, k) z+."""
    for i in range(s, s + r):
        e = nu[i]
        for c in range(6):
            e -= H[i, c] * z[k, c]
        eps[i] = e
    for i in range(s, s + r):
        x = 0.0
        for j in range(r):
            x += D_inv[i, j] * eps[s + j]
        nu[i] = x
    if m < 0:
        return
    for i in range(s, s + r):
        for c in range(6):
            z[k, c] += G[i, c] * eps[i]
    x, y, w = cross(l[k, 0], l[k, 1], l[k, 2], z[k, 3], z[k, 4], z[k, 5])
    z[m, 0] += z[k, 0] + x
    z[m, 1] += z[k, 1] + y
    z[m, 2] += z[k, 2] + w
    z[m, 3] += z[k, 3]
    z[m, 4] += z[k, 4]
    z[m, 5] += z[k, 5]


@kernel
def _shift_from_parent(l, alpha, k, m):
    """alpha(k) := phi*(m, k) alpha(m), zero below the inertial frame."""
    if m < 0:
        for c in range(6):
            alpha[k, c] = 0.0
        return
    x, y, z = cross(alpha[m, 0], alpha[m, 1], alpha[m, 2], l[k, 0], l[k, 1], l[k, 2])
    alpha[k, 0] = alpha[m, 0]
    alpha[k, 1] = alpha[m, 1]
    alpha[k, 2] = alpha[m, 2]
    alpha[k, 3] = alpha[m, 3] + x
    alpha[k, 4] = alpha[m, 4] + y
    alpha[k, 5] = alpha[m, 5] + z


@kernel
def _open_hinge(H, G, nu, alpha, s, r, k, out):
    """v_dot = nu - G* alpha+ into ``out[s:s + r]``, then alpha = alpha+ + H* v_dot."""
    for i in range(s, s + r):
        x = nu[i]
        for c in range(6):
            x -= G[i, c] * alpha[k, c]
        out[i] = x
    for i in range(s, s + r):
        for c in range(6):
            alpha[k, c] += H[i, c] * out[i]


@kernel
def _scatter(tree, kin, art, gravity, v_dot):
    """alpha+ = phi* alpha(p), v_dot = nu - G* alpha+, alpha = alpha+ + H* v_dot + a, base to tips."""
    alpha = art.alpha
    nu = art.nu
    G = art.G
    H = kin.H
    l = kin.l
    a = kin.a
    parent = tree.parent
    v_start = tree.v_start
    nv = tree.nv
    for k in range(parent.shape[0]):
        _shift_from_parent(l, alpha, k, parent[k])
        if parent[k] < 0:
            for c in range(3):
                alpha[k, 3 + c] = -gravity[c]
        _open_hinge(H, G, nu, alpha, v_start[k], nv[k], k, v_dot)
        for c in range(6):
            alpha[k, c] += a[k, c]
