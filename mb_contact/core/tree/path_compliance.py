# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Runs of bodies of the compliance sweep, and one block of Omega (``compliance`` has the equations)."""

from mb_contact.core.jit import sweep
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    less_outer,
    moved,
    packed,
    packed_product,
    packed_shift,
    put_packed,
    put_spatial,
    spatial,
    spatial_dot,
    spatial_sum,
    transposed,
    unit_twist,
    vector,
    vector_sum,
)


@sweep
def scatter_compliances(tree, kin, art, compliance, start, end):
    """Upsilon, Psi and the nearest essential ancestor of the bodies start ... end - 1 that are on a path."""
    for k in range(start, end):
        if compliance.on_path[k] == 0:
            continue
        m = tree.parent[k]
        first = tree.v_start[k]
        last = first + tree.nv[k]
        compliance.near[k] = -1  # no essential ancestor
        a, b, c = STILL, STILL + ZERO, STILL
        if m >= 0:
            compliance.near[k] = compliance.essential[m] if compliance.essential[m] >= 0 else compliance.near[m]
            if compliance.near[k] >= 0:
                fresh = compliance.essential[m] >= 0
                _path_product(compliance.Psi, kin.l, kin.H, art.U, art.D_inv, first, last, k, m, fresh)
            a, b, c = packed(compliance.Upsilon, m)  # phi* Upsilon phi
            c, b, a = packed_shift(c, transposed(b), a, vector_sum(ZERO, -1.0, vector(kin.l, k)))
            b = transposed(b)
        for i in range(first, last):
            h = spatial(kin.H, i)
            g = spatial_sum(STILL, art.D_inv[i], spatial(art.U, i))
            w = packed_product(a, b, c, g)
            a, b, c = scattered(a, b, c, h, spatial_sum(w, -0.5 * (spatial_dot(g, w) + art.D_inv[i]), h))
        put_packed(compliance.Upsilon, k, a, b, c)


@sweep
def scattered(a, b, c, h, f):
    """Upsilon - h f* - f h*, by blocks."""
    a = _less_products(a, h[:3], f[:3])
    b = less_outer(b, h[:3], f[3:])
    if h[3] != 0.0 or h[4] != 0.0 or h[5] != 0.0:  # not a pure rotation
        b = less_outer(b, f[:3], h[3:])
        c = _less_products(c, h[3:], f[3:])
    return a, b, c


@sweep
def _less_products(a, x, y):
    """``A - x y* - y x*`` of a symmetric 3 x 3 block."""
    return (
        a[0] - 2.0 * x[0] * y[0],
        a[1] - (x[0] * y[1] + x[1] * y[0]),
        a[2] - (x[0] * y[2] + x[2] * y[0]),
        a[3] - 2.0 * x[1] * y[1],
        a[4] - (x[1] * y[2] + x[2] * y[1]),
        a[5] - 2.0 * x[2] * y[2],
    )


@sweep
def _path_product(Psi, l, H, U, D_inv, first, last, k, m, fresh):
    """Psi[k] := Psi[m] psi(m, k), or psi(m, k) alone where the path starts at m (``fresh``); psi = phi (1 - G H)."""
    offset = vector(l, k)
    for a in range(6):
        t = moved(unit_twist(a) if fresh else spatial(Psi[m], a), offset)  # times phi
        for i in range(first, last):
            t = spatial_sum(t, -D_inv[i] * spatial_dot(t, spatial(U, i)), spatial(H, i))
        put_spatial(Psi[k], a, t)


@sweep
def unpack(Upsilon, k, Omega, j):
    """Omega(j, j) := Upsilon(k) of the body k with number j."""
    c = 0
    for a in range(3):
        for b in range(a, 3):
            Omega[j, j, a, b] = Omega[j, j, b, a] = Upsilon[k, c]
            Omega[j, j, 3 + a, 3 + b] = Omega[j, j, 3 + b, 3 + a] = Upsilon[k, 15 + c]
            c += 1
    for a in range(3):
        for b in range(3):
            Omega[j, j, a, 3 + b] = Omega[j, j, 3 + b, a] = Upsilon[k, 6 + 3 * a + b]


@sweep
def block(Omega, i, up, Psi, k, j):
    """Omega(i, j) := Omega(i, up) Psi(k), and its transpose."""
    for a in range(6):
        row = spatial(Omega[i, up], a)
        for b in range(6):
            column = Psi[k, 0, b], Psi[k, 1, b], Psi[k, 2, b], Psi[k, 3, b], Psi[k, 4, b], Psi[k, 5, b]
            Omega[i, j, a, b] = Omega[j, i, b, a] = spatial_dot(row, column)
