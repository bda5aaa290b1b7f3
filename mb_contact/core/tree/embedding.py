# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Constraint embedding (J11 section 8.2): the maps of an aggregate whose loops and gears hold.

With the rows of its closures and gears over the velocities of its own joints, G v = 0, Gauss-Jordan elimination with
complete pivoting gives the dependent velocities from the others,

    T G = [1, W],    v_d = -W v_i,    Z = [-W; 1],    v_dot_d = -W v_dot_i - T dG/dt v.

What is dependent is chosen anew at each configuration, by the largest pivots; no entry of Z becomes large where a
mechanism comes to a dead point of a coordinate.  Where a row's pivot is below DEPENDENT of the largest, the row follows
from the others, always (an axis that closes a plane linkage) or at this configuration (a parallelogram stretched
out), and the aggregate has one independent velocity more.

    B(k) = phi*(p, k) B(p) + H* Z,    alpha_0(k) = phi*(p, k) alpha_0(p) + a(k) + H* bias,

p the parent; of the base B and alpha_0 are zero.

Of the state the independent coordinates and velocities count: after each step Newton's method on the closures gives
the dependent coordinates, from where the step has left them, and W their velocities.  So nothing drifts.
"""

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.jit import NOTHING, REAL, kernel, on_demand
from mb_contact.core.tree.closures import closure_geometry
from mb_contact.core.tree.joints import integrate_joint
from mb_contact.core.tree.kinematics import body_pose
from mb_contact.core.tree.spatial import (
    ZERO,
    between,
    linear,
    moved,
    put_spatial,
    spatial,
    spatial_dot,
    spatial_sum,
    vector,
    vector_product,
    vector_sum,
)

CLOSED = 1e-13  #: a Newton step, in rad or over the length of the links, that is rounding
LOST = 1e-6  #: [m, rad] closure error of a loop that is not closed
NEWTON_STEPS = 20
STRIDE = 0.5  #: [rad, and over the length of the links] longest change of a coordinate in one Newton step
HELD = 1e-13  #: of what its joints add up to: motion of a body that is rounding, since its loop holds the body still
DEPENDENT = 1e-6  #: part of the largest pivot below which a row follows from those before


@kernel
def aggregate_maps(tree, kin, g, i):
    """Z, bias, B and alpha of aggregate i at the poses and velocities held in ``kin``."""
    rank = reduced_rows(tree, kin, g, i)
    first, last = g.first_dof[i], g.first_dof[i + 1]
    d = last - first
    g.columns[i] = d - rank
    for e in range(first, last):
        fill(d - rank, g.Z[e], 0.0)
    c = 0
    for j in range(d):
        if g.dependent[j] == 0:
            g.Z[first + j, c] = 1.0
            g.bias[first + j] = 0.0
            for r in range(rank):
                e = first + g.column[r]
                g.Z[e, c] = -g.G[r, j] * g.unit[e] / g.unit[first + j]
            c += 1
    for r in range(rank):
        e = first + g.column[r]
        g.bias[e] = -g.G[r, d] * g.unit[e]
    _body_maps(tree, kin, g, i, d - rank)


@kernel
def _body_maps(tree, kin, g, i, c):
    """B and alpha of the bodies of aggregate i from Z and bias.

    A body that its loop holds still must not move by rounding: its contacts would have a compliance of 1e-33 and take
    impulses of 1e23 N s.
    """
    for e in range(g.first_body[i], g.first_body[i + 1]):
        k = g.body[e]
        up = g.slot[tree.parent[k]] if tree.parent[k] != g.base[i] else -1
        l = vector(kin.l, k)
        s = tree.v_start[k]
        x = spatial(kin.a, k)
        if up >= 0:
            x = spatial_sum(x, 1.0, moved(spatial(g.alpha, up), l))
        first = g.first_dof[i] + g.place[s] - s  # entry of velocity j is at first + j
        for j in range(s, s + tree.nv[k]):
            x = spatial_sum(x, g.bias[first + j], spatial(kin.H, j))
        put_spatial(g.alpha, e, x)
        for a in range(c):
            w, v = ZERO, ZERO
            turning = moving = 0.0  # the largest that is added
            if up >= 0:
                w, v = vector(g.B[up], a), linear(g.B[up], a)
                across = vector_product(w, l)
                turning, moving = _largest(w), max(_largest(v), _largest(across))
                v = vector_sum(v, 1.0, across)
            for j in range(s, s + tree.nv[k]):
                h = spatial(kin.H, j)
                z = g.Z[first + j, a]
                turning, moving = max(turning, abs(z) * _largest(h[:3])), max(moving, abs(z) * _largest(h[3:]))
                w, v = vector_sum(w, z, h[:3]), vector_sum(v, z, h[3:])
            w = w if _largest(w) > HELD * turning else ZERO
            v = v if _largest(v) > HELD * moving else ZERO
            put_spatial(g.B[e], a, w + v)


@kernel
def reduced_rows(tree, kin, g, i):
    """[1, W] of aggregate i over its scaled velocities, and T dG/dt v behind it, into G; the rank."""
    m = velocity_rows(tree, kin, g, i)
    fill(g.first_dof[i + 1] - g.first_dof[i], g.may, 1)
    return reduce_rows(g, i, m)


@kernel
def velocity_rows(tree, kin, g, i):
    """Rows of aggregate i over its scaled velocities, and dG/dt v behind them, into G; returns how many."""
    first = g.first_dof[i]
    d = g.first_dof[i + 1] - first
    row = 0
    for j in range(g.first_closure[i], g.first_closure[i + 1]):
        start = row
        row = closure_geometry(g.closures, j, kin, row, 0, g.rows, g.loop)
        for r in range(start, row):
            fill(d, g.G[r], 0.0)
            g.G[r, d] = g.rows.offset[r]
        _spread(tree, kin, g, i, start, row, g.closures.body_a[j], g.rows.on_a)
        _spread(tree, kin, g, i, start, row, g.closures.body_b[j], g.rows.on_b)
        for r in range(start, row):
            _scale(g, i, r, d, _is_length(g, j, r))
    for j in range(g.first_gear[i], g.first_gear[i + 1]):
        fill(d + 1, g.G[row], 0.0)
        g.G[row, g.place[tree.v_start[g.gears.body_a[j]]]] = 1.0
        g.G[row, g.place[tree.v_start[g.gears.body_b[j]]]] = -g.gears.ratio[j]
        _scale(g, i, row, d, False)
        row += 1
    return row


@kernel
def _is_length(g, j, r):
    """Whether row r of closure j, just posed, is about a length."""
    f = spatial(g.rows.on_a, r) if g.closures.body_a[j] >= 0 else spatial(g.rows.on_b, r)
    return f[3] != 0.0 or f[4] != 0.0 or f[5] != 0.0


@kernel
def _spread(tree, kin, g, i, start, end, tip, on):
    """Rows ``start`` to ``end`` on the body ``tip``, over the joints between it and the base: on . V of each joint's V.

    The accelerations that the bodies have without their joints' go to the right-hand side.
    """
    d = g.first_dof[i + 1] - g.first_dof[i]
    k = tip
    while k != g.base[i]:
        l = between(kin.p, tip, kin.p, k)
        for j in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            V = moved(spatial(kin.H, j), l)
            for r in range(start, end):
                g.G[r, g.place[j]] += spatial_dot(spatial(on, r), V)
        V = moved(spatial(kin.a, k), l)
        for r in range(start, end):
            g.G[r, d] += spatial_dot(spatial(on, r), V)
        k = tree.parent[k]


@kernel
def _scale(g, i, r, d, length):
    """Row r over scaled velocities, so that lengths and angles compare; a gear's by its largest entry."""
    first = g.first_dof[i]
    size = g.length[i] if length else 1.0
    for a in range(d):
        g.G[r, a] *= g.unit[first + a] / size
    g.G[r, d] /= size
    g.rows.offset[r] = size  # by which the row was divided


@kernel
def reduce_rows(g, i, m):
    """Gauss-Jordan elimination of the first m rows of G over the columns that ``may`` be dependent; returns the rank.

    Joints that are ``kept`` become dependent last.  Only rows that a pivot has changed are searched again: of forty
    linkages side by side, 200 rows, that are few.
    """
    first = g.first_dof[i]
    d = g.first_dof[i + 1] - first
    fill(d, g.dependent, 0)
    rank = 0
    largest = 0.0
    for kept in range(2):
        for r in range(rank, m):
            _find_largest(g, first, d, r, kept)
        while rank < min(m, d):
            best, row, column = 0.0, -1, d
            for r in range(rank, m):
                if g.most[r] > best or (g.most[r] == best and row >= 0 and g.most_at[r] < column):
                    best, row, column = g.most[r], r, g.most_at[r]
            largest = max(largest, best)
            if not best > DEPENDENT * largest:
                break
            _pivot(g, m, d, rank, row, column)
            g.column[rank] = column
            g.dependent[column] = 1
            rank += 1
            for r in range(rank, m):
                if g.most[r] < 0.0:
                    _find_largest(g, first, d, r, kept)
    return rank


@kernel
def _find_largest(g, first, d, r, kept):
    """The largest entry of row r that may be its pivot, and its column."""
    best, column = 0.0, d
    for j in range(d):
        if abs(g.G[r, j]) > best and g.may[j] != 0 and g.dependent[j] == 0 and g.kept[first + j] == kept:
            best, column = abs(g.G[r, j]), j
    g.most[r] = best
    g.most_at[r] = column


@kernel
def _pivot(g, m, d, rank, row, column):
    """Rows ``rank`` and ``row`` swapped; the column cleared in all rows but that one, where it is 1.

    Rows that change have a negative ``most``.
    """
    for j in range(d + 1):
        g.G[rank, j], g.G[row, j] = g.G[row, j], g.G[rank, j]
    g.most[row], g.most_at[row] = g.most[rank], g.most_at[rank]
    t = 1.0 / g.G[rank, column]
    filled = 0
    for j in range(d + 1):
        if g.G[rank, j] != 0.0:
            g.G[rank, j] *= t
            g.filled[filled] = j
            filled += 1
    for r in range(m):
        t = g.G[r, column]
        if r != rank and t != 0.0:
            g.most[r] = -1.0
            for k in range(filled):
                g.G[r, g.filled[k]] -= t * g.G[rank, g.filled[k]]


@on_demand(NOTHING)
def close_aggregates(tree, q, v, kin, g):
    """Dependent coordinates and velocities of all aggregates from their independent ones; ``g.error`` is what is left.

    ``kin`` holds the poses of q; behind it those of bodies outside of the aggregates are to be made anew.
    """
    for i in range(g.base.shape[0]):
        first = g.first_dof[i]
        d = g.first_dof[i + 1] - first
        fill(d, g.may, 1)
        closed = CLOSED * (1.0 + _largest(vector(kin.p, g.body[g.first_body[i]])) / g.length[i])
        for _ in range(NEWTON_STEPS):
            m = velocity_rows(tree, kin, g, i)
            g.error[i] = _closure_errors(tree, q, g, i, m)
            rank = reduce_rows(g, i, m)
            longest = 0.0
            for r in range(rank):
                longest = max(longest, abs(g.G[r, d]))
            if longest <= closed:
                break
            _move_dependent(tree, q, kin, g, i, rank, min(1.0, STRIDE / longest))
        for r in range(rank):
            x = 0.0
            for j in range(d):
                if g.dependent[j] == 0:
                    x -= g.G[r, j] * v[g.dof[first + j]] / g.unit[first + j]
            e = first + g.column[r]
            v[g.dof[e]] = x * g.unit[e]


@kernel
def _largest(a):
    """Largest coordinate of a vector."""
    return max(abs(a[0]), abs(a[1]), abs(a[2]))


@kernel
def _closure_errors(tree, q, g, i, m):
    """Errors of aggregate i as right-hand sides of its m rows, scaled as these are; the largest [m, rad]."""
    d = g.first_dof[i + 1] - g.first_dof[i]
    row = m - (g.first_gear[i + 1] - g.first_gear[i])
    for j in range(g.first_gear[i], g.first_gear[i + 1]):
        of_a, of_b = q[tree.q_start[g.gears.body_a[j]]], q[tree.q_start[g.gears.body_b[j]]]
        g.loop.error[row] = of_a - g.gears.ratio[j] * of_b - g.gears.offset[j]
        row += 1
    worst = 0.0
    for r in range(m):
        g.G[r, d] = g.loop.error[r] / g.rows.offset[r]
        worst = max(worst, abs(g.loop.error[r]))
    return worst


@kernel
def _move_dependent(tree, q, kin, g, i, rank, part):
    """This part of a Newton step of the dependent coordinates of aggregate i, and the poses of its bodies."""
    first = g.first_dof[i]
    d = g.first_dof[i + 1] - first
    for j in range(d):
        g.may[j] = g.dependent[j]
        g.step[g.dof[first + j]] = 0.0
    for r in range(rank):
        e = first + g.column[r]
        g.step[g.dof[e]] = -g.G[r, d] * g.unit[e]
    for e in range(g.first_body[i], g.first_body[i + 1]):
        k = g.body[e]
        integrate_joint(tree, k, g.step, part, q)
        if tree.nv[k] == 1:
            s = tree.q_start[k]
            kin.sine[s] = np.sin(q[s])
            kin.cosine[s] = np.cos(q[s])
        body_pose(tree, q, kin, k)


@on_demand(REAL)
def widest_aggregate(g):
    """Largest closure error of all aggregates when they were last closed [m, rad]."""
    worst = 0.0
    for i in range(g.base.shape[0]):
        worst = max(worst, g.error[i] if np.isfinite(g.error[i]) else 1e300)
    return worst
