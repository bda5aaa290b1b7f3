# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The modes of flexible links in the sweeps: as aggregates, in inverse dynamics, the mass matrix, momentum and energy.

To the articulated-body sweeps a flexible link is an aggregate (``aggregates``) on its floating frame, of its nodes and
with the rates of its modes as velocities: B(k) are the nodes' columns, and beside what hangs on these it has inertia of
its own, M of the modes and their coupling with the frame, which D and U start from.
"""

from mb_contact.core.jit import NOTHING, REAL, kernel, on_demand
from mb_contact.core.tree.gravity import own_weight
from mb_contact.core.tree.modal import has_modes, node_motion
from mb_contact.core.tree.spatial import (
    STILL,
    add_spatial,
    gathered,
    momentum,
    moved,
    put_spatial,
    spatial,
    spatial_dot,
    spatial_sum,
    vector,
)


@kernel
def flexible_link(kin, k):
    """Flexible link that body k is a mode or a node of, or -1."""
    return kin.modal.flexible[k] if has_modes(kin) else -1


@on_demand(NOTHING)
def modal_maps(kin, aggregates, i, f):
    """Maps of aggregate i, whose velocities are the rates of the modes of link f: ``embedding.aggregate_maps``."""
    g = kin.modal
    r = g.first_mode[f + 1] - g.first_mode[f]
    aggregates.columns[i] = r
    first = aggregates.first_dof[i]
    for j in range(r):
        aggregates.bias[first + j] = 0.0
        for a in range(r):
            aggregates.Z[first + j, a] = 1.0 if a == j else 0.0
    for s in range(aggregates.first_body[i], aggregates.first_body[i + 1]):
        k = aggregates.body[s]
        e = g.node_of[k]
        put_spatial(aggregates.alpha, s, spatial(kin.a, k))
        for a in range(r):
            put_spatial(aggregates.B[s], a, spatial(g.columns, g.first_shape[e] + a) if e >= 0 else STILL)


@on_demand(NOTHING)
def modal_own_inertia(kin, aggregates, i, f):
    """U and D of aggregate i from the mass of link f itself."""
    g = kin.modal
    r = g.first_mode[f + 1] - g.first_mode[f]
    for a in range(r):
        put_spatial(aggregates.U[i], a, spatial(g.coupling, g.first_mode[f] + a))
        for b in range(a + 1):
            aggregates.D[a, b] = g.M[g.first_pair[f] + a * r + b]


@on_demand(NOTHING)
def modal_forces(kin, aggregates, nu):
    """Take the velocity products on the modes from the forces ``nu`` (N,); and alpha of the nodes as V now makes it."""
    g = kin.modal
    for e in range(g.node.shape[0]):
        put_spatial(aggregates.alpha, aggregates.slot[g.node[e]], spatial(kin.a, g.node[e]))
    for f in range(g.link.shape[0]):
        first = g.first_mode[f]
        for i in range(g.first_mode[f + 1] - first):
            nu[g.v_start[f] + i] -= g.force[first + i]


@on_demand(NOTHING)
def modal_accelerations(tree, kin, gravity, base, v_dot, alpha, force):
    """The first sweep of ``inverse_dynamics`` of a tree with flexible links."""
    g = kin.modal
    for k in range(tree.parent.shape[0]):
        x = moved(spatial(alpha, tree.parent[k]), vector(kin.l, k)) if tree.parent[k] >= 0 else base
        x = spatial_sum(x, 1.0, spatial(kin.a, k))
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            x = spatial_sum(x, v_dot[i], spatial(kin.H, i))
        x = spatial_sum(x, 1.0, node_motion(g, k, v_dot))
        put_spatial(alpha, k, x)
        inertial = momentum(kin.I, kin.mc, tree.mass[k], k, x)
        f = spatial_sum(inertial, 1.0, spatial(kin.b, k))
        put_spatial(force, k, spatial_sum(f, -1.0, own_weight(tree, kin.mc, gravity, k)))
    for f in range(g.link.shape[0]):
        add_spatial(force, g.link[f], _coupled(g, f, v_dot))


@on_demand(NOTHING)
def modal_efforts(g, v_dot, alpha, force, effort):
    """Efforts on the modes, behind ``inverse_dynamics``; without the forces of what makes them stiff."""
    for f in range(g.link.shape[0]):
        x = spatial(alpha, g.link[f])
        first = g.first_mode[f]
        for i in range(g.first_mode[f + 1] - first):
            d = g.v_start[f] + i
            effort[d] += g.force[first + i] + _inertial(g, f, i, v_dot)
            effort[d] += spatial_dot(spatial(g.coupling, first + i), x)
    for e in range(g.node.shape[0]):
        f = g.link_of[e]
        for i in range(g.first_mode[f + 1] - g.first_mode[f]):
            column = spatial(g.columns, g.first_shape[e] + i)
            effort[g.v_start[f] + i] += spatial_dot(column, spatial(force, g.node[e]))


@kernel
def _coupled(g, f, rates):
    """[B; A] x of link f, x the entries of ``rates`` (N,) of its modes: their momentum, or what accelerates it."""
    total = STILL
    first = g.first_mode[f]
    for i in range(g.first_mode[f + 1] - first):
        total = spatial_sum(total, rates[g.v_start[f] + i], spatial(g.coupling, first + i))
    return total


@kernel
def _inertial(g, f, i, rates):
    """Row i of M x of link f."""
    r = g.first_mode[f + 1] - g.first_mode[f]
    total = 0.0
    for j in range(r):
        total += g.M[g.first_pair[f] + i * r + j] * rates[g.v_start[f] + j]
    return total


@on_demand(REAL)
def modal_kinetic_energy(g, V, f, v):
    """Kinetic energy [J] of link f beyond that of its frame, at velocities V (n, 6) and v (N,)."""
    total = spatial_dot(spatial(V, g.link[f]), _coupled(g, f, v))
    for i in range(g.first_mode[f + 1] - g.first_mode[f]):
        total += 0.5 * v[g.v_start[f] + i] * _inertial(g, f, i, v)
    return total


@on_demand((REAL,) * 6)
def modal_rate_momentum(g, f):
    """Momentum [angular about the frame's origin; linear] of link f beyond that of its frame, from ``rate``."""
    total = STILL
    for i in range(g.first_mode[f], g.first_mode[f + 1]):
        total = spatial_sum(total, g.rate[i], spatial(g.coupling, i))
    return total


@on_demand(REAL)
def modal_rate_energy(g, V, f):
    """``modal_kinetic_energy`` from ``rate``."""
    total = spatial_dot(spatial(V, g.link[f]), modal_rate_momentum(g, f))
    first = g.first_mode[f]
    r = g.first_mode[f + 1] - first
    for i in range(r):
        for j in range(r):
            total += 0.5 * g.rate[first + i] * g.M[g.first_pair[f] + i * r + j] * g.rate[first + j]
    return total


@kernel
def _of_mode(kin, I, mc, mass, f, i):
    """Momentum about the frame's origin at a unit rate of mode i of link f, with what is on its nodes (composite)."""
    g = kin.modal
    total = spatial(g.coupling, g.first_mode[f] + i)
    for e in range(g.first_node[f], g.first_node[f + 1]):
        k = g.node[e]
        x = momentum(I, mc, mass[k], k, spatial(g.columns, g.first_shape[e] + i))
        total = spatial_sum(total, 1.0, gathered(x, vector(kin.l, k)))
    return total


@on_demand(NOTHING)
def modal_mass_matrix(tree, kin, I, mc, mass, M):
    """Entries of the modes in the lower triangle of M (N, N), from the composite values, behind ``mass_matrix``."""
    g = kin.modal
    for k in range(tree.parent.shape[0]):
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            _up_the_path(tree, kin, k, i, momentum(I, mc, mass[k], k, spatial(kin.H, i)), M)
    for f in range(g.link.shape[0]):
        m, first = g.link[f], g.v_start[f]
        for i in range(g.first_mode[f + 1] - g.first_mode[f]):
            x = _of_mode(kin, I, mc, mass, f, i)
            for j in range(i + 1):
                M[first + i, first + j] = g.M[g.first_pair[f] + i * (g.first_mode[f + 1] - g.first_mode[f]) + j]
            M[first + i, first + i] += tree.armature[first + i]
            for e in range(g.first_node[f], g.first_node[f + 1]):
                k, at = g.node[e], g.first_shape[e]
                y = momentum(I, mc, mass[k], k, spatial(g.columns, at + i))
                for j in range(i + 1):
                    M[first + i, first + j] += spatial_dot(spatial(g.columns, at + j), y)
            _up_the_path(tree, kin, m, first + i, x, M)


@kernel
def _up_the_path(tree, kin, k, i, f, M):
    """Row i of M from body k on, which has the momentum f: modes at the nodes that it passes, and joints below."""
    g = kin.modal
    own = i >= tree.v_start[k] and i < tree.v_start[k] + tree.nv[k]
    m = k
    while m >= 0:
        if not own:
            for j in range(tree.v_start[m], tree.v_start[m] + tree.nv[m]):
                M[i, j] = spatial_dot(spatial(kin.H, j), f)
        e = g.node_of[m]
        if e >= 0:
            at, first = g.first_shape[e], g.v_start[g.link_of[e]]
            for j in range(g.first_mode[g.link_of[e] + 1] - g.first_mode[g.link_of[e]]):
                M[i, first + j] = spatial_dot(spatial(g.columns, at + j), f)
        f = gathered(f, vector(kin.l, m))
        m = tree.parent[m]


@on_demand(NOTHING)
def modal_momentum_matrix(kin, I, mc, mass, point, A):
    """Columns of the modes in the momentum matrix A (6, N), moments about ``point`` (3,), from the composite values."""
    g = kin.modal
    for f in range(g.link.shape[0]):
        k = g.link[f]
        r = kin.p[k, 0] - point[0], kin.p[k, 1] - point[1], kin.p[k, 2] - point[2]
        for i in range(g.first_mode[f + 1] - g.first_mode[f]):
            x = gathered(_of_mode(kin, I, mc, mass, f, i), r)
            d = g.v_start[f] + i
            A[0, d], A[1, d], A[2, d], A[3, d], A[4, d], A[5, d] = x
