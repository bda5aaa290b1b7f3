# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Composite-body mass matrix (J11 lemma 4, algorithm 4.2): R(k) = sum phi(k, j) R(j) phi*(k, j) + M(k).

A composite is again a rigid body, so R(k) is carried as mass, first moment and rotational inertia
about the body origin (10 numbers), and shifted by the parallel-axis rule.
"""

from __future__ import annotations

from mb_contact.core.jit import kernel
from mb_contact.core.kinematics import inertia_times
from mb_contact.core.spatial import cross


@kernel
def composite_inertias(tree, l, I, mc, mass):
    """Turn inertias I (n, 3, 3), first moments mc (n, 3) and masses (n,) from body to composite values, in place."""
    for k in range(tree.parent.shape[0] - 1, -1, -1):
        m = tree.parent[k]
        if m < 0:
            continue
        x = l[k, 0]
        y = l[k, 1]
        z = l[k, 2]
        cx = mc[k, 0]
        cy = mc[k, 1]
        cz = mc[k, 2]
        w = mass[k]
        # I' = I - (l~ mc~ + mc~ l~) - m l~ l~ with s~ t~ = t s* - (s . t) 1
        lc = x * cx + y * cy + z * cz
        ll = x * x + y * y + z * z
        d = 2.0 * lc + w * ll
        I[m, 0, 0] += I[k, 0, 0] + d - 2.0 * x * cx - w * x * x
        I[m, 1, 1] += I[k, 1, 1] + d - 2.0 * y * cy - w * y * y
        I[m, 2, 2] += I[k, 2, 2] + d - 2.0 * z * cz - w * z * z
        I[m, 0, 1] += I[k, 0, 1] - x * cy - y * cx - w * x * y
        I[m, 0, 2] += I[k, 0, 2] - x * cz - z * cx - w * x * z
        I[m, 1, 2] += I[k, 1, 2] - y * cz - z * cy - w * y * z
        I[m, 1, 0] = I[m, 0, 1]
        I[m, 2, 0] = I[m, 0, 2]
        I[m, 2, 1] = I[m, 1, 2]
        mc[m, 0] += cx + w * x
        mc[m, 1] += cy + w * y
        mc[m, 2] += cz + w * z
        mass[m] += w


@kernel
def mass_matrix(tree, kin, I, mc, mass, force, M):
    """Fill M (N, N) from the composite values; ``force`` (>= 6, 6) is a workspace.

    Column of joint k: f = R(k) H*(k), carried up the path by phi and projected on every ancestor's hinge.
    """
    H = kin.H
    l = kin.l
    parent = tree.parent
    v_start = tree.v_start
    nv = tree.nv
    N = H.shape[0]
    for i in range(N):
        for j in range(N):
            M[i, j] = 0.0
    for k in range(parent.shape[0]):
        s = v_start[k]
        r = nv[k]
        for i in range(r):
            inertia_times(I, mc, mass[k], k, H, s + i, force, i)  # f = R(k) H*
        m = k
        while m >= 0:
            t = v_start[m]
            for j in range(nv[m]):
                for i in range(r):
                    x = 0.0
                    for c in range(6):
                        x += H[t + j, c] * force[i, c]
                    M[t + j, s + i] = x
                    M[s + i, t + j] = x
            for i in range(r):
                x, y, z = cross(l[m, 0], l[m, 1], l[m, 2], force[i, 3], force[i, 4], force[i, 5])
                force[i, 0] += x
                force[i, 1] += y
                force[i, 2] += z
            m = parent[m]
    for i in range(N):
        M[i, i] += tree.armature[i]
