# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Operational-space compliance through aggregates (``aggregates.py``; ``compliance`` has the equations).

Body k of an aggregate on the base m is to its compliance a child of m, with

    psi(m, k) = phi(m, k) - U D^-1 B(k),    Upsilon(k) = psi* Upsilon(m) psi + B*(k) D^-1 B(k),

and two bodies k, l of one aggregate, or what hangs on them, share its velocities:

    Omega(k, l) = psi*(m, k) Upsilon(m) psi(m, l) + B*(k) D^-1 B(l).

Its bodies on a path are essential, and numbered together before all that hangs on them, so that the recursion of the
blocks finds Omega(k, l) done.
"""

from mb_contact.core.jit import INTEGER, NOTHING, kernel, on_demand
from mb_contact.core.tree.aggregates import arm
from mb_contact.core.tree.path_compliance import block, scatter_compliances, unit_row
from mb_contact.core.tree.spatial import (
    STILL,
    moved,
    packed,
    packed_product,
    put_spatial,
    spatial,
    spatial_dot,
    spatial_sum,
)


@on_demand(INTEGER)
def mark_aggregates(tree, art, touched, compliance):
    """``mark_essential``; of the bodies of an aggregate those on a path that leaves it there are essential."""
    g = art.aggregates
    n = tree.parent.shape[0]
    for k in range(n):
        compliance.branches[k] = 0
        compliance.essential[k] = -1
    for k in range(n - 1, -1, -1):
        leads = touched[k] != 0 or compliance.branches[k] > 0
        compliance.on_path[k] = 1 if leads else 0
        m = tree.parent[k] if g.of[k] < 0 else g.base[g.of[k]]
        if leads and m >= 0:
            compliance.branches[m] += 1
    count = 0
    for k in range(n):
        i = g.of[k]
        if i < 0 and (touched[k] != 0 or compliance.branches[k] > 1):
            count = _number(compliance, k, count)
        if i >= 0 and g.body[g.first_body[i]] == k:
            for e in range(g.first_body[i], g.first_body[i + 1]):
                if compliance.on_path[g.body[e]] != 0:
                    count = _number(compliance, g.body[e], count)
    return count


@kernel
def _number(compliance, k, count):
    """Body k becomes the next essential one."""
    compliance.essential[k] = count
    compliance.body[count] = k
    return count + 1


@on_demand(NOTHING)
def scatter_aggregates(tree, kin, art, compliance):
    """``compliance_sweep``."""
    g = art.aggregates
    for k in range(tree.parent.shape[0]):
        i = g.of[k]
        if i < 0:
            scatter_compliances(tree, kin, art, compliance, k, k + 1)
        if i >= 0 and g.body[g.first_body[i]] == k:
            for e in range(g.first_body[i], g.first_body[i + 1]):
                if compliance.on_path[g.body[e]] != 0:
                    _scatter_body(kin, art, compliance, i, e)


@kernel
def _scatter_body(kin, art, compliance, i, e):
    """Upsilon, Psi and the nearest essential ancestor of body ``g.body[e]`` of aggregate i."""
    g = art.aggregates
    k = g.body[e]
    m = g.base[i]
    psi = compliance.Psi[k]
    compliance.near[k] = -1
    if m >= 0:
        _edge(kin, g, i, e, psi)
    _put_upsilon(g, i, e, m, psi, compliance.Upsilon, k)
    if m < 0:
        return
    fresh = compliance.essential[m] >= 0
    compliance.near[k] = compliance.essential[m] if fresh else compliance.near[m]
    if fresh or compliance.near[k] < 0:
        return
    for a in range(6):  # Psi[m] psi
        t = STILL
        for b in range(6):
            t = spatial_sum(t, compliance.Psi[m, a, b], spatial(psi, b))
        put_spatial(g.X, a, t)
    for a in range(6):
        put_spatial(psi, a, spatial(g.X, a))


@kernel
def _edge(kin, g, i, e, psi):
    """psi(m, k) by rows."""
    l = arm(kin, g.base[i], g.body[e])
    for a in range(6):
        row = unit_row(a)
        t = moved(row, l)
        for c in range(g.columns[i]):
            t = spatial_sum(t, -g.D_inv[i, c] * spatial_dot(row, spatial(g.U[i], c)), spatial(g.B[e], c))
        put_spatial(psi, a, t)


@kernel
def _put_upsilon(g, i, e, m, psi, Upsilon, k):
    """Upsilon(k) := psi* Upsilon(m) psi + B* D^-1 B, packed; the first term is zero on the inertial frame."""
    for a in range(6):
        for b in range(6):
            g.X[a, b] = 0.0
    if m >= 0:
        x, y, z = packed(Upsilon, m)
        for b in range(6):
            w = packed_product(x, y, z, (psi[0, b], psi[1, b], psi[2, b], psi[3, b], psi[4, b], psi[5, b]))
            for a in range(6):
                for j in range(6):
                    g.X[a, b] += psi[j, a] * w[j]
    for c in range(g.columns[i]):
        for a in range(6):
            for b in range(6):
                g.X[a, b] += g.D_inv[i, c] * g.B[e, c, a] * g.B[e, c, b]
    at = 0
    for a in range(3):
        for b in range(a, 3):
            Upsilon[k, at] = 0.5 * (g.X[a, b] + g.X[b, a])
            Upsilon[k, 15 + at] = 0.5 * (g.X[3 + a, 3 + b] + g.X[3 + b, 3 + a])
            at += 1
        for b in range(3):
            Upsilon[k, 6 + 3 * a + b] = 0.5 * (g.X[a, 3 + b] + g.X[3 + b, a])


@on_demand(NOTHING)
def aggregate_block(art, compliance, i, j):
    """Omega(i, j) of essential bodies i < j of one tree, and its transpose."""
    g = art.aggregates
    Omega = compliance.Omega
    k = compliance.body[j]
    if compliance.near[k] >= 0:
        block(Omega, i, compliance.near[k], compliance.Psi, k, j)
    else:
        for a in range(6):
            for b in range(6):
                Omega[i, j, a, b] = Omega[j, i, b, a] = 0.0
    if g.of[k] < 0 or g.of[compliance.body[i]] != g.of[k]:
        return
    e, f = g.slot[compliance.body[i]], g.slot[k]
    for c in range(g.columns[g.of[k]]):
        d = g.D_inv[g.of[k], c]
        for a in range(6):
            for b in range(6):
                t = d * g.B[e, c, a] * g.B[f, c, b]
                Omega[i, j, a, b] += t
                Omega[j, i, b, a] += t
