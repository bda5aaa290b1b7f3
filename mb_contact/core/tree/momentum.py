# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Momentum of all moving bodies together: centre of mass, momentum about a point, momentum matrix."""

from __future__ import annotations

from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import cross, rotate


@kernel
def centre_of_mass(tree, kin, c):
    """Centre of mass of all bodies into c (3,), world axes [m]; returns their mass [kg], c is 0 if that is 0."""
    mass = tree.mass
    mc = kin.mc
    p = kin.p
    total = 0.0
    for k in range(mass.shape[0]):
        total += mass[k]
    for a in range(3):
        c[a] = 0.0
        if total > 0.0:
            start = p[0, a]  # from there, so that the digits do not depend on the distance to the world's origin
            x = 0.0
            for k in range(mass.shape[0]):
                x += mass[k] * (p[k, a] - start) + mc[k, a]
            c[a] = start + x / total
    return total


@kernel
def total_momentum(tree, kin, point, h):
    """Momentum [angular about ``point``; linear] of all bodies into h (6,), from ``kin.V``."""
    V = kin.V
    mc = kin.mc
    p = kin.p
    for a in range(6):
        h[a] = 0.0
    for k in range(tree.parent.shape[0]):
        m = tree.mass[k]
        x, y, z = cross(V[k, 0], V[k, 1], V[k, 2], mc[k, 0], mc[k, 1], mc[k, 2])
        fx = m * V[k, 3] + x
        fy = m * V[k, 4] + y
        fz = m * V[k, 5] + z
        nx, ny, nz = rotate(kin.I, k, V[k, 0], V[k, 1], V[k, 2])
        x, y, z = cross(mc[k, 0], mc[k, 1], mc[k, 2], V[k, 3], V[k, 4], V[k, 5])
        sx, sy, sz = cross(p[k, 0] - point[0], p[k, 1] - point[1], p[k, 2] - point[2], fx, fy, fz)
        h[0] += nx + x + sx
        h[1] += ny + y + sy
        h[2] += nz + z + sz
        h[3] += fx
        h[4] += fy
        h[5] += fz


@kernel
def momentum_matrix(tree, kin, I, mc, mass, point, A):
    """Matrix A (6, N) with h = A v, moments about ``point`` (3,), from the composite values (``composite``).

    Column of a degree of freedom h of body k: R(k) h*, the momentum of all that it moves, shifted to the point.
    """
    H = kin.H
    p = kin.p
    for k in range(tree.parent.shape[0]):
        rx = p[k, 0] - point[0]
        ry = p[k, 1] - point[1]
        rz = p[k, 2] - point[2]
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            x, y, z = cross(H[i, 0], H[i, 1], H[i, 2], mc[k, 0], mc[k, 1], mc[k, 2])
            fx = mass[k] * H[i, 3] + x
            fy = mass[k] * H[i, 4] + y
            fz = mass[k] * H[i, 5] + z
            nx, ny, nz = rotate(I, k, H[i, 0], H[i, 1], H[i, 2])
            x, y, z = cross(mc[k, 0], mc[k, 1], mc[k, 2], H[i, 3], H[i, 4], H[i, 5])
            sx, sy, sz = cross(rx, ry, rz, fx, fy, fz)
            A[0, i] = nx + x + sx
            A[1, i] = ny + y + sy
            A[2, i] = nz + z + sz
            A[3, i] = fx
            A[4, i] = fy
            A[5, i] = fz


@kernel
def forces_about(tree, kin, force, point, total):
    """Sum of the forces through the joints of the root bodies (``inverse_dynamics``) about a point, into total (6,)."""
    p = kin.p
    for a in range(6):
        total[a] = 0.0
    for k in range(tree.parent.shape[0]):
        if tree.parent[k] >= 0:
            continue
        x, y, z = cross(
            p[k, 0] - point[0], p[k, 1] - point[1], p[k, 2] - point[2], force[k, 3], force[k, 4], force[k, 5]
        )
        for a in range(6):
            total[a] += force[k, a]
        total[0] += x
        total[1] += y
        total[2] += z
