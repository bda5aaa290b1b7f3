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
def composite_inertias(tree, l, I, mc, mass):
    """Turn inertias I (n, 3, 3), first moments mc (n, 3) and masses (n,) from body to composite values, in place."""
    parent = tree.parent
    for k in range(parent.shape[0] - 1, -1, -1):
        m = parent[k]
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
def mass_matrix(tree, kin, I, mc, mass, M):
    """Lower triangle of M (N, N) from the composite values; degrees of freedom with no path between them keep their 0.

    Column of a degree of freedom h of body k: f = R(k) h*, carried up the path by phi and projected on every hinge.
    ``M`` must hold zeros where nothing is written: it is only filled along paths.
    """
    H = kin.H
    l = kin.l
    parent = tree.parent
    v_start = tree.v_start
    nv = tree.nv
    armature = tree.armature
    for k in range(parent.shape[0]):
        cx = mc[k, 0]
        cy = mc[k, 1]
        cz = mc[k, 2]
        w = mass[k]
        for i in range(v_start[k], v_start[k] + nv[k]):
            ax = H[i, 0]
            ay = H[i, 1]
            az = H[i, 2]
            x = H[i, 3]
            y = H[i, 4]
            z = H[i, 5]
            # f = R(k) h
            nx, ny, nz = rotate(I, k, ax, ay, az)
            tx, ty, tz = cross(cx, cy, cz, x, y, z)
            nx += tx
            ny += ty
            nz += tz
            fx, fy, fz = cross(ax, ay, az, cx, cy, cz)
            fx += w * x
            fy += w * y
            fz += w * z
            m = k
            while m >= 0:
                last = i + 1 if m == k else v_start[m] + nv[m]  # within its own joint only up to itself
                for j in range(v_start[m], last):
                    M[i, j] = H[j, 0] * nx + H[j, 1] * ny + H[j, 2] * nz + H[j, 3] * fx + H[j, 4] * fy + H[j, 5] * fz
                tx, ty, tz = cross(l[m, 0], l[m, 1], l[m, 2], fx, fy, fz)
                nx += tx
                ny += ty
                nz += tz
                m = parent[m]
            M[i, i] += armature[i]


@kernel
def mirror(M):
    """Upper triangle of the symmetric M from the lower one, in tiles that stay in the cache."""
    N = M.shape[0]
    for top in range(0, N, 16):
        bottom = min(top + 16, N)
        for left in range(0, bottom, 16):
            for i in range(top, bottom):
                for j in range(left, min(left + 16, i)):
                    M[j, i] = M[i, j]
