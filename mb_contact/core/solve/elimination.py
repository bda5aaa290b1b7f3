# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rows of loops and gears eliminated from an island, and the motion that is left.

The eliminated rows, G v = -q_e, make some velocities follow the others, v_p = X v_f - B q_e: each row takes the freedom
on which it acts most, and a row that follows from those before it takes none.  Loops that close within a part of the
robot act on the joints of that part alone, and the elimination keeps to them.  The motion that is left,

    v = E v_f,    M_f = E* M E,    Omega = J E M_f^-1 E* J*,

has the contacts' operator W = A Omega A*.  The eliminated rows' impulses follow from the balance of the followers.
"""

import numpy as np

from mb_contact.core.constraints.row_by_joints import row_by_joints
from mb_contact.core.jit import NOTHING, REAL, on_demand, sweep
from mb_contact.core.lcp.linear import dot
from mb_contact.core.solve.by_nodes import COUNT, FOLLOWERS, GONE, LEFT, SIZE, WAITED, gather_nodes, scatter_nodes
from mb_contact.core.solve.system import FREEDOMS

CLEAR = 1e-2  #: part of a row that is left of it where it clearly does not follow from those before it,
FOLLOWS = 1e-6  #: and at most where it follows from them: closures that are open by 1e-7 m leave 1e-7 of it


@sweep
def _put(nodes, rank, j, x):
    """G[rank, j] += x; its place in the row's window."""
    nodes.G[rank, j] += x
    nodes.window[rank, 0] = min(nodes.window[rank, 0], j)
    nodes.window[rank, 1] = max(nodes.window[rank, 1], j + 1)


@sweep
def _add_row(draft, tree, kin, rows, nodes, row, weight, rank):
    """``weight`` times a row of the step by degrees of freedom onto G[rank]."""
    for i in range(row_by_joints(tree, kin, rows, row, draft.freedom, draft.share)):
        _put(nodes, rank, nodes.local[draft.freedom[i]], weight * draft.share[i])


@sweep
def _subtract_row(nodes, p, f, to):
    """Row ``to`` of G and B less f times row p; beyond their windows they are zero."""
    G, B, window = nodes.G, nodes.B, nodes.window
    for j in range(window[p, 0], window[p, 1]):
        G[to, j] -= f * G[p, j]
    for i in range(window[p, 2], window[p, 3]):
        B[to, i] -= f * B[p, i]
    for k in range(0, 4, 2):
        window[to, k] = min(window[to, k], window[p, k])
        window[to, k + 1] = max(window[to, k + 1], window[p, k + 1])


@sweep
def _pose_row(P, draft, tree, kin, rows, i, rank):
    """Eliminated row i into G[rank], B[rank], and its scale; its largest entry."""
    nodes = P.nodes
    left, G, window = nodes.info[LEFT], nodes.G, nodes.window
    for j in range(nodes.info[SIZE]):
        G[rank, j] = 0.0
    for j in range(nodes.info[GONE]):
        nodes.B[rank, j] = 0.0
    nodes.B[rank, i] = 1.0
    window[rank, 0], window[rank, 1], window[rank, 2], window[rank, 3] = nodes.info[SIZE], 0, i, i + 1
    k = draft.order[left + i]
    _add_row(draft, tree, kin, rows, nodes, draft.row[k, 0], 1.0, rank)
    if draft.partner[k] >= 0:
        _add_row(draft, tree, kin, rows, nodes, draft.partner[k], draft.weight[k], rank)
    largest = 0.0
    for j in range(window[rank, 0], window[rank, 1]):
        largest = max(largest, abs(G[rank, j]))
    P.blocks.D[P.blocks.start[left + i]] = _least_compliance(nodes, rank)
    return largest


@sweep
def _least_compliance(nodes, rank):
    """(g . g / sum |g_i| root M_ii)^2 of the row g, which is at most g . M^-1 g."""
    square = 0.0
    root = 0.0
    for i in range(nodes.window[rank, 0], nodes.window[rank, 1]):
        x = nodes.G[rank, i]
        square += x * x
        root += abs(x) * nodes.y[i]
    return square * square / (root * root) if root > 0.0 else 1.0  # a row that moves nothing has no scale


@sweep
def _take_pivot(nodes, rank, least):
    """Row ``rank`` less what those before it make of it, then as the next of the echelon form; False where it follows.

    ``least`` is the largest entry with which it does.
    """
    G, window = nodes.G, nodes.window
    for p in range(rank):
        f = G[rank, nodes.pivot[p]]
        if f != 0.0:
            _subtract_row(nodes, p, f, rank)
            G[rank, nodes.pivot[p]] = 0.0
    best = -1
    for j in range(window[rank, 0], window[rank, 1]):
        if abs(G[rank, j]) > least:
            best, least = j, abs(G[rank, j])
    if best < 0:
        return False
    x = 1.0 / G[rank, best]
    for j in range(window[rank, 0], window[rank, 1]):
        G[rank, j] *= x
    for j in range(window[rank, 2], window[rank, 3]):
        nodes.B[rank, j] *= x
    for p in range(rank):
        f = G[p, best]
        if f != 0.0:
            _subtract_row(nodes, rank, f, p)
            G[p, best] = 0.0
    nodes.pivot[rank] = best
    nodes.follows[best] = 1
    return True


@on_demand(NOTHING)
def eliminate(P, draft, tree, kin, rows):
    """Followers, X and B of the eliminated rows, and their scales: at most the diagonal of W."""
    nodes = P.nodes
    size, gone, G = nodes.info[SIZE], nodes.info[GONE], nodes.G
    for d in range(size):
        nodes.follows[d] = 0
        nodes.y[d] = np.sqrt(nodes.M[d, d])
    rank = 0
    waiting = 0  # rows that nearly follow from others wait for all others, at the other end of the arrays
    for i in range(gone):
        largest = _pose_row(P, draft, tree, kin, rows, i, rank)
        if _take_pivot(nodes, rank, CLEAR * largest):
            rank += 1
            continue
        waiting += 1
        _move_row(nodes, rank, FREEDOMS - waiting)
        nodes.f[waiting] = largest
    for k in range(1, waiting + 1):
        i = nodes.window[FREEDOMS - k, 3] - 1  # the row itself is the last one that is in it
        _move_row(nodes, FREEDOMS - k, rank)
        follows = not _take_pivot(nodes, rank, FOLLOWS * nodes.f[k])
        nodes.gone[k - 1] = i if follows else -1
        if follows:
            _move_row(nodes, rank, FREEDOMS - k)
        else:
            rank += 1
    nodes.info[FOLLOWERS], nodes.info[WAITED] = rank, waiting
    n = 0
    for j in range(size):
        if nodes.follows[j] == 0:
            nodes.free[n] = j
            n += 1
    for p in range(rank):
        first, end = n, 0
        for j in range(n):
            nodes.X[p, j] = -G[p, nodes.free[j]]
            if nodes.X[p, j] != 0.0:
                first, end = min(first, j), j + 1
        nodes.window[p, 0], nodes.window[p, 1] = first, end


@sweep
def _move_row(nodes, source, to):
    """Copy a row of G and B."""
    for j in range(nodes.info[SIZE]):
        nodes.G[to, j] = nodes.G[source, j]
    for j in range(nodes.info[GONE]):
        nodes.B[to, j] = nodes.B[source, j]
    for k in range(4):
        nodes.window[to, k] = nodes.window[source, k]


@on_demand(NOTHING)
def eliminate_velocities(P):
    """Velocities q of the rows that are left, with what the eliminated rows alone change of them."""
    nodes = P.nodes
    size, rank = nodes.info[SIZE], nodes.info[FOLLOWERS]
    last = P.blocks.start[nodes.info[LEFT]]
    for k in range(nodes.info[COUNT] + 6):
        nodes.t[k] = 0.0
    for a in range(size):
        nodes.delta[a] = 0.0
    if rank == 0:
        return
    for p in range(rank):
        x = 0.0
        for i in range(nodes.window[p, 2], nodes.window[p, 3]):
            x -= nodes.B[p, i] * P.q[last + i]
        nodes.delta[nodes.pivot[p]] = x
    for a in range(size):
        nodes.f[a] = 0.0
    for p in range(rank):
        x = nodes.delta[nodes.pivot[p]]
        for a in range(size):
            nodes.f[a] -= nodes.M[nodes.pivot[p], a] * x
    _project_force(nodes)
    _forward(nodes)
    _add_motion(nodes)
    for a in range(size):
        x = nodes.delta[a]
        for k in range(nodes.info[COUNT]):
            nodes.t[k] += nodes.J[a, k] * x
    scatter_nodes(nodes, 0, last, nodes.t, P.work.du)
    for i in range(last):
        P.q[i] += P.work.du[i]


@sweep
def _project_force(nodes):
    """y = E* f."""
    n, rank = nodes.info[SIZE] - nodes.info[FOLLOWERS], nodes.info[FOLLOWERS]
    for i in range(n):
        nodes.y[i] = nodes.f[nodes.free[i]]
    for p in range(rank):
        x = nodes.f[nodes.pivot[p]]
        for i in range(nodes.window[p, 0], nodes.window[p, 1]):
            nodes.y[i] += nodes.X[p, i] * x


@sweep
def _forward(nodes):
    """y := L^-1 y."""
    for i in range(nodes.info[SIZE] - nodes.info[FOLLOWERS]):
        nodes.y[i] = (nodes.y[i] - dot(nodes.L[i], nodes.y, 0, i)) / nodes.L[i, i]


@sweep
def _add_motion(nodes):
    """delta += E L^-* y."""
    n, rank = nodes.info[SIZE] - nodes.info[FOLLOWERS], nodes.info[FOLLOWERS]
    for i in range(n - 1, -1, -1):
        x = nodes.y[i] / nodes.L[i, i]
        nodes.y[i] = x
        for j in range(i):
            nodes.y[j] -= nodes.L[i, j] * x
    for i in range(n):
        nodes.delta[nodes.free[i]] += nodes.y[i]
    for p in range(rank):
        x = 0.0
        for i in range(nodes.window[p, 0], nodes.window[p, 1]):
            x += nodes.X[p, i] * nodes.y[i]
        nodes.delta[nodes.pivot[p]] += x


@on_demand(REAL)
def eliminated_impulses(P):
    """Impulses of the eliminated rows beside those of the rows that are left, and their velocities.

    Returns the worst scaled velocity: zero but for rounding, unless a row that follows from others contradicts them.
    """
    nodes = P.nodes
    size, rank, gone, count = nodes.info[SIZE], nodes.info[FOLLOWERS], nodes.info[GONE], nodes.info[COUNT]
    last = P.blocks.start[nodes.info[LEFT]]
    for i in range(gone):
        P.r[last + i] = P.u[last + i] = 0.0
    if rank == 0:
        return 0.0
    gather_nodes(P.blocks.start, nodes, 0, nodes.info[LEFT], P.r, nodes.t)
    n = size - rank
    for i in range(n):
        nodes.y[i] = 0.0
        for k in range(count):
            nodes.y[i] += nodes.Z[i, k // 4, k % 4] * nodes.t[k]
    _add_motion(nodes)
    for p in range(rank):
        a = nodes.pivot[p]
        x = dot(nodes.M[a], nodes.delta, 0, size) - dot(nodes.J[a], nodes.t, 0, count)
        for i in range(nodes.window[p, 2], nodes.window[p, 3]):
            P.r[last + i] += nodes.B[p, i] * x
    worst = 0.0
    for k in range(nodes.info[WAITED]):
        i = nodes.gone[k]
        if i < 0:
            continue
        row = FREEDOMS - 1 - k
        x = 0.0
        for j in range(gone):
            x += nodes.B[row, j] * P.q[last + j]
        for j in range(size):
            x += nodes.G[row, j] * nodes.delta[j]
        P.u[last + i] = x
        worst = max(worst, abs(x) / np.sqrt(P.blocks.D[last + i]))
    return worst
