# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of inverse dynamics of trees with flexible links: sweeps of tangents, one for each column, O(N n).

As in ``derivatives.py`` all twists and forces are those at o.  Along a column bodies move by twists X, velocities
change by dV and rates by dA.  What a body sees in its own axes is dV - X x V and dA - X x A; with df of these the force
of the body changes by X x* f + df, and of a subtree

    d(S_i . f) = S_i . (df - X_i x* f),    d(C_i . f) = C_i . (df - X_f x* f) + dC_i/d eta . f,

X_i and X_f of what carries a joint's axis and of the floating frame.  Of the nodes' columns C_i see ``modal_rates``, of
flexible links themselves ``modal_forces``.
"""

from mb_contact.core.arrays import copy
from mb_contact.core.jit import NOTHING, kernel, on_demand
from mb_contact.core.tree.joints import comes_before
from mb_contact.core.tree.modal_forces import BY_ACCELERATION, BY_PLACE, BY_RATE, link_force, link_force_change
from mb_contact.core.tree.modal_rates import (
    column_at,
    column_change,
    column_product,
    flow_by_mode,
    mode_of,
    product_by_mode,
    product_by_rate,
)
from mb_contact.core.tree.spatial import (
    STILL,
    add_spatial,
    between,
    force_cross,
    gathered,
    matrix,
    momentum,
    motion_cross,
    moved,
    put_spatial,
    spatial,
    spatial_dot,
    spatial_sum,
    transposed,
    turned,
    vector_product,
    vector_sum,
)


@on_demand(NOTHING)
def modal_inverse_derivatives(d, v, gravity):
    """``d_q``, ``d_v`` and ``M``; V, A and f of whole subtrees."""
    copy(v.shape[0], v, d.along.v)
    _values(d, v, gravity)
    for j in range(v.shape[0]):
        _column(d, v, j, BY_PLACE, d.d_q)
        _column(d, v, j, BY_RATE, d.d_v)
        _column(d, v, j, BY_ACCELERATION, d.M)
    for i in range(v.shape[0]):
        d.M[i, i] += d.tree.armature[i]


@on_demand(NOTHING)
def modal_body_rates(d, k, out):
    """Columns of body k behind ``modal_inverse_derivatives``: of X, V and A by q, V and A by v, A by v_dot.

    Into ``out`` (6, 6, N), one part behind the other in the order X, V, V, A, A, A.
    """
    for j in range(out.shape[2]):
        for by in range(3):
            _move(d, d.along.v, j, by)
            for c in range(6):
                out[3 + by, c, j] = d.along.A[k, c]
                if by != BY_ACCELERATION:
                    out[1 + by, c, j] = d.along.V[k, c]
                if by == BY_PLACE:
                    out[0, c, j] = d.along.X[k, c]


@on_demand(NOTHING)
def modal_subtree_force(d, k, out):
    """Columns of the force of the subtree of body k about o, by q, v and v_dot side by side in ``out`` (6, 3 N)."""
    for j in range(d.v_dot.shape[0]):
        for by in range(3):
            _column(d, d.along.v, j, by, d.out)
            for c in range(6):
                out[c, by * d.v_dot.shape[0] + j] = d.along.f[k, c]


@kernel
def _column(d, v, j, by, out):
    """Column j of the efforts' derivative by q, v or v_dot into ``out`` (N, N)."""
    for i in range(out.shape[0]):
        out[i, j] = 0.0
    _move(d, v, j, by)
    _push(d, v, j, by, out)
    _gather(d, j, by, out)


@kernel
def _values(d, v, gravity):
    """Twists S, V, A; forces of single bodies into ``along.own`` and of whole subtrees into f."""
    tree, kin, g = d.tree, d.kin, d.kin.modal
    base = (0.0, 0.0, 0.0, -gravity[0], -gravity[1], -gravity[2])
    for k in range(tree.parent.shape[0]):
        m, e, x = tree.parent[k], g.node_of[k], between(kin.p, k, kin.p, tree.root[k])
        V_m, A = spatial(d.V, m) if m >= 0 else STILL, spatial(d.A, m) if m >= 0 else base
        V = V_m
        first, last = tree.v_start[k], tree.v_start[k] + tree.nv[k]
        for i in range(first, last):
            h = spatial(kin.H, i)
            put_spatial(d.S, i, h[:3] + vector_sum(h[3:], -1.0, vector_product(h[:3], x)))
            V = spatial_sum(V, v[i], spatial(d.S, i))
        for i in range(first, last):
            carrying = _carrier(d, k, i, V_m, v)
            A = spatial_sum(A, d.v_dot[i], spatial(d.S, i))
            A = spatial_sum(A, v[i], motion_cross(carrying, spatial(d.S, i)))
        if e >= 0:
            U, pushed = _node(g, e, v, x), _node(g, e, d.v_dot, x)
            V = spatial_sum(V, 1.0, U)
            A = spatial_sum(spatial_sum(A, 1.0, pushed), 1.0, motion_cross(V_m, U))
            A = spatial_sum(A, 1.0, column_product(kin, e, v, x))
        put_spatial(d.V, k, V)
        put_spatial(d.A, k, A)
        put_spatial(d.along.own, k, gathered(_rigid(kin, tree.mass[k], k, moved(V, x), moved(A, x)), x))
    for f in range(g.link.shape[0]):
        k = g.link[f]
        x = between(kin.p, k, kin.p, tree.root[k])
        own = link_force(g, f, _motion(d, f), v, d.v_dot, d.along.effort)
        put_spatial(d.along.own, k, _from_axes(matrix(kin.R, k), own, x))
    for k in range(tree.parent.shape[0]):
        put_spatial(d.f, k, spatial(d.along.own, k))
    for k in range(tree.parent.shape[0] - 1, -1, -1):
        if tree.parent[k] >= 0:
            add_spatial(d.f, tree.parent[k], spatial(d.f, k))


@kernel
def _carrier(d, k, i, base, rates):
    """``base`` and what carries the axis of the degree of freedom i within its own joint, of entries of ``rates``."""
    tree = d.tree
    for j in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
        if comes_before(tree.joint_type[k], j - tree.v_start[k], i - tree.v_start[k]):
            base = spatial_sum(base, rates[j], spatial(d.S, j))
    return base


@kernel
def _node(g, e, rates, x):
    """``sum C_i rates_i`` of node e."""
    total, f = STILL, g.link_of[e]
    for i in range(g.first_mode[f + 1] - g.first_mode[f]):
        total = spatial_sum(total, rates[g.v_start[f] + i], column_at(g, e, i, x))
    return total


@kernel
def _rigid(kin, m, k, V, A):
    """Force of a rigid body about its origin, from the twist there and its rate."""
    moment = momentum(kin.I, kin.mc, m, k, V)
    return spatial_sum(momentum(kin.I, kin.mc, m, k, A), 1.0, force_cross(V, moment))


@kernel
def _from_axes(R, f, x):
    """A force about the origin of a frame and in its axes R as one about o, in world axes."""
    return gathered(turned(R, f[:3]) + turned(R, f[3:]), x)


@kernel
def _motion(d, f):
    """Of the frame of link f, in its own axes: angular velocity, angular acceleration, acceleration of its origin."""
    k = d.kin.modal.link[f]
    R, x = transposed(matrix(d.kin.R, k)), between(d.kin.p, k, d.kin.p, d.tree.root[k])
    V, A = moved(spatial(d.V, k), x), moved(spatial(d.A, k), x)
    return turned(R, V[:3]), turned(R, A[:3]), turned(R, vector_sum(A[3:], 1.0, vector_product(V[:3], V[3:])))


@kernel
def _move(d, v, j, by):
    """X, dV and dA of all bodies along column j, into ``along``."""
    tree, kin, g, along = d.tree, d.kin, d.kin.modal, d.along
    for k in range(tree.parent.shape[0]):
        m, e, x = tree.parent[k], g.node_of[k], between(kin.p, k, kin.p, tree.root[k])
        X = X_m = spatial(along.X, m) if m >= 0 else STILL
        dV = dV_m = spatial(along.V, m) if m >= 0 else STILL
        dA, V_m = spatial(along.A, m) if m >= 0 else STILL, spatial(d.V, m) if m >= 0 else STILL
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            S, carrying = spatial(d.S, i), _carrier(d, k, i, V_m, v)
            dS = motion_cross(_moving(d, k, i, X_m, j, by), S)
            dW = _carrying_rate(d, k, i, v, j, by)
            dV, dA = spatial_sum(dV, v[i], dS), spatial_sum(dA, d.v_dot[i], dS)
            turning = spatial_sum(motion_cross(dW, S), 1.0, motion_cross(carrying, dS))
            dA = spatial_sum(dA, v[i], turning)
            if i == j:
                if by == BY_PLACE:
                    X = spatial_sum(X, 1.0, S)
                elif by == BY_RATE:
                    dV, dA = spatial_sum(dV, 1.0, S), spatial_sum(dA, 1.0, motion_cross(carrying, S))
                else:
                    dA = spatial_sum(dA, 1.0, S)
        if e >= 0:
            n = mode_of(g, e, j)
            U, dU = _node(g, e, v, x), motion_cross(X_m, _node(g, e, v, x))
            dA = spatial_sum(dA, 1.0, motion_cross(X_m, _node(g, e, d.v_dot, x)))
            dA = spatial_sum(dA, 1.0, motion_cross(X_m, column_product(kin, e, v, x)))
            if n >= 0 and by == BY_PLACE:
                dU = spatial_sum(dU, 1.0, flow_by_mode(kin, e, n, v, x))
                X = spatial_sum(X, 1.0, column_at(g, e, n, x))
                dA = spatial_sum(dA, 1.0, flow_by_mode(kin, e, n, d.v_dot, x))
                dA = spatial_sum(dA, 1.0, product_by_mode(kin, e, n, v, x))
            elif n >= 0 and by == BY_RATE:
                dU = spatial_sum(dU, 1.0, column_at(g, e, n, x))
                dA = spatial_sum(dA, 1.0, product_by_rate(kin, e, n, v, x))
            elif n >= 0:
                dA = spatial_sum(dA, 1.0, column_at(g, e, n, x))
            dV = spatial_sum(dV, 1.0, dU)
            dA = spatial_sum(spatial_sum(dA, 1.0, motion_cross(dV_m, U)), 1.0, motion_cross(V_m, dU))
        put_spatial(along.X, k, X)
        put_spatial(along.V, k, dV)
        put_spatial(along.A, k, dA)


@kernel
def _moving(d, k, i, X, j, by):
    """X of what carries the axis of the degree of freedom i of body k, whose parent moves by ``X``."""
    first = d.tree.v_start[k]
    if by == BY_PLACE and j >= first and j < first + d.tree.nv[k]:
        if comes_before(d.tree.joint_type[k], j - first, i - first):
            return spatial_sum(X, 1.0, spatial(d.S, j))
    return X


@kernel
def _carrying_rate(d, k, i, v, j, by):
    """Change of the twist of what carries the axis of the degree of freedom i of body k."""
    m, first, kind = d.tree.parent[k], d.tree.v_start[k], d.tree.joint_type[k]
    X, total = (spatial(d.along.X, m), spatial(d.along.V, m)) if m >= 0 else (STILL, STILL)
    for b in range(first, first + d.tree.nv[k]):
        if comes_before(kind, b - first, i - first):
            total = spatial_sum(total, v[b], motion_cross(_moving(d, k, b, X, j, by), spatial(d.S, b)))
            if b == j and by == BY_RATE:
                total = spatial_sum(total, 1.0, spatial(d.S, b))
    return total


@kernel
def _push(d, v, j, by, out):
    """Change of the forces of single bodies, into ``along.f``, and of the links' own efforts on their modes."""
    tree, kin, g, along = d.tree, d.kin, d.kin.modal, d.along
    for k in range(tree.parent.shape[0]):
        x = between(kin.p, k, kin.p, tree.root[k])
        X, V, A = spatial(along.X, k), moved(spatial(d.V, k), x), moved(_seen(d, k, along.A, d.A), x)
        seen = moved(_seen(d, k, along.V, d.V), x)
        moment = momentum(kin.I, kin.mc, tree.mass[k], k, V)
        f = spatial_sum(momentum(kin.I, kin.mc, tree.mass[k], k, A), 1.0, force_cross(seen, moment))
        f = spatial_sum(f, 1.0, force_cross(V, momentum(kin.I, kin.mc, tree.mass[k], k, seen)))
        put_spatial(along.f, k, spatial_sum(gathered(f, x), 1.0, force_cross(X, spatial(along.own, k))))
    for f in range(g.link.shape[0]):
        k = g.link[f]
        x, own = between(kin.p, k, kin.p, tree.root[k]), _link_change(d, f, v, j, by, out)
        turning = force_cross(spatial(along.X, k), spatial(along.own, k))
        put_spatial(along.f, k, spatial_sum(_from_axes(matrix(kin.R, k), own, x), 1.0, turning))


@kernel
def _seen(d, k, change, of):
    """Change of V or A of body k as seen in its own axes, which move by X."""
    return spatial_sum(spatial(change, k), -1.0, motion_cross(spatial(d.along.X, k), spatial(of, k)))


@kernel
def _link_change(d, f, v, j, by, out):
    """Change of ``link_force``; of the efforts on the modes into column j of ``out``."""
    k = d.kin.modal.link[f]
    R, x = transposed(matrix(d.kin.R, k)), between(d.kin.p, k, d.kin.p, d.tree.root[k])
    V, seen, rate = moved(spatial(d.V, k), x), moved(_seen(d, k, d.along.V, d.V), x), _seen(d, k, d.along.A, d.A)
    rate = moved(rate, x)
    a = vector_sum(rate[3:], 1.0, vector_product(seen[:3], V[3:]))
    a = turned(R, vector_sum(a, 1.0, vector_product(V[:3], seen[3:])))
    return link_force_change(d.kin.modal, f, _motion(d, f), (turned(R, seen[:3]), turned(R, rate[:3]), a), v, d.v_dot,
                             j, by, out)  # fmt: skip


@kernel
def _gather(d, j, by, out):
    """Column j of the efforts, from the changes of forces."""
    tree, kin, g, along = d.tree, d.kin, d.kin.modal, d.along
    for k in range(tree.parent.shape[0] - 1, -1, -1):
        m, e, f, df = tree.parent[k], g.node_of[k], spatial(d.f, k), spatial(along.f, k)
        X_m = spatial(along.X, m) if m >= 0 else STILL
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            change = spatial_sum(df, -1.0, force_cross(_moving(d, k, i, X_m, j, by), f))
            out[i, j] += spatial_dot(spatial(d.S, i), change)
        if e >= 0:
            x, n, link = between(kin.p, k, kin.p, tree.root[k]), mode_of(g, e, j), g.link_of[e]
            change = spatial_sum(df, -1.0, force_cross(X_m, f))
            for i in range(g.first_mode[link + 1] - g.first_mode[link]):
                out[g.v_start[link] + i, j] += spatial_dot(column_at(g, e, i, x), change)
                if n >= 0 and by == BY_PLACE:
                    out[g.v_start[link] + i, j] += spatial_dot(column_change(kin, e, i, n, x), f)
        if m >= 0:
            add_spatial(along.f, m, df)
