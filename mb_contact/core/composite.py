# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Composite-body mass matrix (J11 lemma 4, algorithm 4.2): R(k) = sum phi(k, j) R(j) phi*(k, j) + M(k).

A composite is again a rigid body, so R(k) is carried as mass, first moment and rotational inertia
about the body origin (10 numbers), and shifted by the parallel-axis rule.
"""

from __future__ import annotations

from mb_contact.core.jit import kernel
from mb_contact.core.spatial import cross, rotate


@kernel
def composite_inertias(tree, kin, mass):
    """Turn ``kin.I``, ``kin.mc`` and ``mass`` (n,) from body to composite values, in place."""
    for k in range(tree.parent.shape[0] - 1, -1, -1):
        m = tree.parent[k]
        if m < 0:
            continue
        x = kin.l[k, 0]
        y = kin.l[k, 1]
        z = kin.l[k, 2]
        cx = kin.mc[k, 0]
        cy = kin.mc[k, 1]
        cz = kin.mc[k, 2]
        w = mass[k]
        # I' = I - (l~ mc~ + mc~ l~) - m l~ l~ with s~ t~ = t s* - (s . t) 1
        lc = x * cx + y * cy + z * cz
        ll = x * x + y * y + z * z
        d = 2.0 * lc + w * ll
        kin.I[m, 0, 0] += kin.I[k, 0, 0] + d - 2.0 * x * cx - w * x * x
        kin.I[m, 1, 1] += kin.I[k, 1, 1] + d - 2.0 * y * cy - w * y * y
        kin.I[m, 2, 2] += kin.I[k, 2, 2] + d - 2.0 * z * cz - w * z * z
        kin.I[m, 0, 1] += kin.I[k, 0, 1] - x * cy - y * cx - w * x * y
        kin.I[m, 0, 2] += kin.I[k, 0, 2] - x * cz - z * cx - w * x * z
        kin.I[m, 1, 2] += kin.I[k, 1, 2] - y * cz - z * cy - w * y * z
        kin.I[m, 1, 0] = kin.I[m, 0, 1]
        kin.I[m, 2, 0] = kin.I[m, 0, 2]
        kin.I[m, 2, 1] = kin.I[m, 1, 2]
        kin.mc[m, 0] += cx + w * x
        kin.mc[m, 1] += cy + w * y
        kin.mc[m, 2] += cz + w * z
        mass[m] += w


@kernel
def mass_matrix(tree, kin, mass, force, M):
    """Fill M (N, N) from the composite values; ``force`` (>= 6, 6) is a workspace.

    Column of joint k: f = R(k) H*(k), carried up the path by phi and projected on every ancestor's hinge.
    """
    N = kin.H.shape[0]
    for i in range(N):
        for j in range(N):
            M[i, j] = 0.0
    for k in range(tree.parent.shape[0]):
        s = tree.v_start[k]
        r = tree.nv[k]
        for i in range(r):
            _composite_force(kin.H, kin.I, kin.mc, mass[k], k, s + i, i, force)
        m = k
        while m >= 0:
            t = tree.v_start[m]
            for j in range(tree.nv[m]):
                for i in range(r):
                    x = 0.0
                    for c in range(6):
                        x += kin.H[t + j, c] * force[i, c]
                    M[t + j, s + i] = x
                    M[s + i, t + j] = x
            for i in range(r):
                x, y, z = cross(kin.l[m, 0], kin.l[m, 1], kin.l[m, 2], force[i, 3], force[i, 4], force[i, 5])
                force[i, 0] += x
                force[i, 1] += y
                force[i, 2] += z
            m = tree.parent[m]
    for i in range(N):
        M[i, i] += tree.armature[i]


@kernel
def _composite_force(H, I, mc, mass, k, d, i, force):
    """``force[i] := R(k) H*[d]``."""
    ax, ay, az = H[d, 0], H[d, 1], H[d, 2]
    lx, ly, lz = H[d, 3], H[d, 4], H[d, 5]
    cx, cy, cz = mc[k, 0], mc[k, 1], mc[k, 2]
    hx, hy, hz = rotate(I, k, ax, ay, az)
    x, y, z = cross(cx, cy, cz, lx, ly, lz)
    force[i, 0] = hx + x
    force[i, 1] = hy + y
    force[i, 2] = hz + z
    x, y, z = cross(ax, ay, az, cx, cy, cz)
    force[i, 3] = mass * lx + x
    force[i, 4] = mass * ly + y
    force[i, 5] = mass * lz + z
