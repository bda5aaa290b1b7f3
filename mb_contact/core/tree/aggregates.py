# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The articulated-body sweeps over a tree with aggregates, each of them one joint of several bodies (J11 section 8).

An aggregate on the base m moves beside it by the independent velocities y, as ``embedding`` (loops, gears) says:

    V(k) = phi*(m, k) V(m) + B(k)* y,    alpha(k) = phi*(m, k) alpha(m) + B(k)* y_dot + alpha_0(k),    v = Z y.

With P(k) of its bodies, to which other children than those of the aggregate have added P+, J11's D, U and P+ are

    D = sum B P B* + Z* (armature + dt damping) Z,    U = sum phi P B*,    P+ = sum phi P phi* - U D^-1 U*,

and, with f = z + P alpha_0, r = armature + dt damping,

    z+ = sum phi f + U nu,    nu = D^-1 (Z* (T - r bias) - sum B f),    y_dot = nu - D^-1 U* alpha(m).

With D = L Delta L* the velocities L* y are as many joints of one degree of freedom: B, Z and U are kept for these, and
Delta^-1 in ``D_inv``.  Everything is done at the first body of the aggregate, when all that hangs on the others has
been swept; P of its bodies stays what the others have made of it.
"""

from mb_contact.core.arrays import fill
from mb_contact.core.jit import INTEGER, NOTHING, kernel, on_demand
from mb_contact.core.tree.embedding import aggregate_maps
from mb_contact.core.tree.hinges import (
    TOL_SINGULAR,
    add_packed,
    eliminate_hinges,
    less_square,
    load_hinges,
    open_hinges,
)
from mb_contact.core.tree.modal_dynamics import flexible_link, modal_maps, modal_own_inertia
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    add_spatial,
    between,
    gathered,
    moved,
    packed,
    packed_product,
    packed_shift,
    put_packed,
    put_spatial,
    spatial,
    spatial_dot,
    spatial_sum,
)
from mb_contact.types import OK, SINGULAR_HINGE


@kernel
def arm(kin, m, k):
    """From the origin of the base m of an aggregate to that of its body k; zero where the base does not move."""
    if m < 0:
        return ZERO
    return between(kin.p, k, kin.p, m)


@on_demand((INTEGER, INTEGER))
def aggregate_inertias(tree, kin, dt, art):
    """``articulated_inertias`` behind the bodies' own inertias: (status, body of a singular hinge)."""
    g = art.aggregates
    for k in range(tree.parent.shape[0] - 1, -1, -1):
        i = g.of[k]
        if i < 0:
            if eliminate_hinges(tree, kin, dt, art, k, k) >= 0:
                return SINGULAR_HINGE, k
        elif g.body[g.first_body[i]] == k and not _eliminate_aggregate(tree, kin, dt, art, i):
            return SINGULAR_HINGE, k
    return OK, -1


@kernel
def _eliminate_aggregate(tree, kin, dt, art, i):
    """Maps, D, U and P+ of aggregate i, added to the P of its base; False where some motion of it meets no inertia."""
    g = art.aggregates
    m = g.base[i]
    f = flexible_link(kin, g.body[g.first_body[i]])
    if f < 0:
        aggregate_maps(tree, kin, g, i)
    else:
        modal_maps(kin, g, i, f)
    c = g.columns[i]
    for a in range(c):
        put_spatial(g.U[i], a, STILL)
        fill(c, g.D[a], 0.0)
    if f >= 0:
        modal_own_inertia(kin, g, i, f)
    for e in range(g.first_dof[i], g.first_dof[i + 1]):
        d = tree.armature[g.dof[e]] + dt * tree.damping[g.dof[e]]
        g.rotor[e] = d
        for a in range(c):
            for b in range(a + 1):
                g.D[a, b] += d * g.Z[e, a] * g.Z[e, b]
    most = 0.0
    for e in range(g.first_body[i], g.first_body[i + 1]):
        k = g.body[e]
        l = arm(kin, m, k)
        x, y, z = packed(art.P, k)
        if m >= 0:
            add_packed(art.P, m, packed_shift(x, y, z, l))
        for a in range(c):
            h = spatial(g.B[e], a)
            u = packed_product(x, y, z, h)
            put_spatial(g.U[i], a, spatial_sum(spatial(g.U[i], a), 1.0, gathered(u, l)))
            for b in range(a + 1):
                g.D[a, b] += spatial_dot(spatial(g.B[e], b), u)
            turning = (x[0] + x[3] + x[5]) * (h[0] * h[0] + h[1] * h[1] + h[2] * h[2])
            most = max(most, turning + (z[0] + z[3] + z[5]) * (h[3] * h[3] + h[4] * h[4] + h[5] * h[5]))
    if not _factor(g, i, c, TOL_SINGULAR * most):
        return False
    if m >= 0:
        x, y, z = packed(art.P, m)
        for a in range(c):
            x, y, z = less_square(x, y, z, spatial(g.U[i], a), g.D_inv[i, a])
        put_packed(art.P, m, x, y, z)
    for e in range(g.first_dof[i], g.first_dof[i + 1]):  # what D^-1 of a joint of its own would be
        d = 0.0
        for a in range(c):
            d += g.Z[e, a] * g.Z[e, a] * g.D_inv[i, a]
        art.D_inv[g.dof[e]] = d
    return True


@kernel
def _factor(g, i, c, least):
    """D = L Delta L*; the rows of B, Z* and U of aggregate i times L^-1; False where D is singular."""
    for a in range(c):
        if not g.D[a, a] > least:
            return False
        g.D_inv[i, a] = 1.0 / g.D[a, a]
        for b in range(a + 1, c):
            t = g.D[b, a] * g.D_inv[i, a]
            for j in range(a + 1, b + 1):
                g.D[b, j] -= t * g.D[j, a]
            put_spatial(g.U[i], b, spatial_sum(spatial(g.U[i], b), -t, spatial(g.U[i], a)))
            for e in range(g.first_body[i], g.first_body[i + 1]):
                put_spatial(g.B[e], b, spatial_sum(spatial(g.B[e], b), -t, spatial(g.B[e], a)))
            for e in range(g.first_dof[i], g.first_dof[i + 1]):
                g.Z[e, b] -= t * g.Z[e, a]
    return True


@on_demand(NOTHING)
def load_aggregates(tree, kin, art, moves):
    """The gather of ``_load_hinges``; ``moves`` is 1 for accelerations, 0 for velocity jumps."""
    g = art.aggregates
    g.moves[0] = moves
    for k in range(tree.parent.shape[0] - 1, -1, -1):
        i = g.of[k]
        if i < 0:
            load_hinges(tree, kin, art, k, k)
        elif g.body[g.first_body[i]] == k:
            _load_aggregate(kin, art, i, moves)


@kernel
def _load_aggregate(kin, art, i, moves):
    """nu of aggregate i, and z+ added to the z of its base.

    P a of its bodies, which their z hold, makes way for P alpha_0.
    """
    g = art.aggregates
    m = g.base[i]
    c = g.columns[i]
    total = STILL
    for a in range(c):
        t = 0.0
        for e in range(g.first_dof[i], g.first_dof[i + 1]):
            t += g.Z[e, a] * (art.nu[g.dof[e]] - moves * g.rotor[e] * g.bias[e])
        g.nu[i, a] = t
    for e in range(g.first_body[i], g.first_body[i + 1]):
        k = g.body[e]
        f = spatial(art.z, k)
        if moves != 0:
            x, y, z = packed(art.P, k)
            f = spatial_sum(f, 1.0, packed_product(x, y, z, spatial_sum(spatial(g.alpha, e), -1.0, spatial(kin.a, k))))
        total = spatial_sum(total, 1.0, gathered(f, arm(kin, m, k)))
        for a in range(c):
            g.nu[i, a] -= spatial_dot(spatial(g.B[e], a), f)
    for a in range(c):
        g.nu[i, a] *= g.D_inv[i, a]
        total = spatial_sum(total, g.nu[i, a], spatial(g.U[i], a))
    if m >= 0:
        add_spatial(art.z, m, total)


@on_demand(NOTHING)
def open_aggregates(tree, kin, art, a, base, out):
    """The scatter of ``_open_hinges``."""
    g = art.aggregates
    for k in range(tree.parent.shape[0]):
        i = g.of[k]
        if i < 0:
            open_hinges(tree, kin, art, a, base, out, k, k + 1)
        elif g.body[g.first_body[i]] == k:
            _open_aggregate(kin, art, i, base, out)


@kernel
def _open_aggregate(kin, art, i, base, out):
    """Rates of the velocities of aggregate i into ``out``, and alpha of its bodies."""
    g = art.aggregates
    m = g.base[i]
    c = g.columns[i]
    moves = float(g.moves[0])
    x = spatial(art.alpha, m) if m >= 0 else base
    for a in range(c):
        g.nu[i, a] -= g.D_inv[i, a] * spatial_dot(spatial(g.U[i], a), x)
    for e in range(g.first_dof[i], g.first_dof[i + 1]):
        t = moves * g.bias[e]
        for a in range(c):
            t += g.Z[e, a] * g.nu[i, a]
        out[g.dof[e]] = t
    for e in range(g.first_body[i], g.first_body[i + 1]):
        k = g.body[e]
        y = spatial_sum(moved(x, arm(kin, m, k)), moves, spatial(g.alpha, e))
        for a in range(c):
            y = spatial_sum(y, g.nu[i, a], spatial(g.B[e], a))
        put_spatial(art.alpha, k, y)
