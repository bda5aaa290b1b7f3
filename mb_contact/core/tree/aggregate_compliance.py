# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Operational-space compliance through aggregates (``aggregates.py``; ``compliance`` has the equations).

Body k of an aggregate on the base m is to its compliance a child of m, with

    psi(m, k) = phi(m, k) - U D^-1 B(k),    Upsilon(k) = psi* Upsilon(m) psi + B*(k) D^-1 B(k),

and two bodies k, l of one aggregate, or what hangs on them, share its velocities:

    Omega(k, l) = psi*(m, k) Upsilon(m) psi(m, l) + B*(k) D^-1 B(l).

Where several of its bodies are on paths they are essential, and numbered together before all that hangs on them, so
that the recursion of the blocks finds Omega(k, l) done.
"""

from mb_contact.core.jit import INTEGER, NOTHING, kernel, on_demand
from mb_contact.core.tree.aggregates import arm
from mb_contact.core.tree.path_compliance import block, scatter_compliances, scattered
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
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
    vector_sum,
)


@on_demand(INTEGER)
def mark_aggregates(tree, art, touched, compliance):
    """``mark_essential``; where several bodies of an aggregate are on paths, these are essential."""
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
            paths = 0
            for e in range(g.first_body[i], g.first_body[i + 1]):
                paths += compliance.on_path[g.body[e]]
            for e in range(g.first_body[i], g.first_body[i + 1]):
                m = g.body[e]
                meets = paths > 1 or touched[m] != 0 or compliance.branches[m] > 1
                if meets and compliance.on_path[m] != 0:
                    count = _number(compliance, m, count)
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
    _scatter_upsilon(kin, g, i, e, m, compliance.Upsilon, k)
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
        row = unit_twist(a)
        t = moved(row, l)
        for c in range(g.columns[i]):
            t = spatial_sum(t, -g.D_inv[i, c] * spatial_dot(row, spatial(g.U[i], c)), spatial(g.B[e], c))
        put_spatial(psi, a, t)


@kernel
def _scatter_upsilon(kin, g, i, e, m, Upsilon, k):
    """Upsilon(k) of body k on the base m, where w are the columns of Upsilon(m) U D^-1.

    psi* Upsilon psi + B* D^-1 B = phi* Upsilon phi - sum (h f* + f h*) over the columns h of B*, with
    f = phi* w - (D^-1 h + sum over all columns of D^-1 U . w times theirs) / 2.
    """
    l = arm(kin, m, k)
    upper, coupling, lower = STILL, STILL + ZERO, STILL
    if m >= 0:
        x, y, z = packed(Upsilon, m)
        lower, coupling, upper = packed_shift(z, transposed(y), x, vector_sum(ZERO, -1.0, l))
        coupling = transposed(coupling)
    for c in range(g.columns[i]):
        d = g.D_inv[i, c]
        h = spatial(g.B[e], c)
        f = spatial_sum(STILL, -0.5 * d, h)
        if m >= 0:
            w = packed_product(x, y, z, spatial_sum(STILL, d, spatial(g.U[i], c)))
            f = spatial_sum(f, 1.0, moved(w, l))
            for o in range(g.columns[i]):
                part = g.D_inv[i, o] * spatial_dot(spatial(g.U[i], o), w)
                f = spatial_sum(f, -0.5 * part, spatial(g.B[e], o))
        upper, coupling, lower = scattered(upper, coupling, lower, h, f)
    put_packed(Upsilon, k, upper, coupling, lower)


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
