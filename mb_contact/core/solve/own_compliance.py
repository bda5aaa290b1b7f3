# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""W_bb of each block by bodies, which its scales come from, without the rest of W: Y* Y with Y = U^-1 J_b*."""

from mb_contact.core.jit import REAL, kernel, on_demand, sweep
from mb_contact.core.solve.system import TILE
from mb_contact.core.tree.spatial import dot_at, spatial


@kernel
def own_compliance(start, bodies, b0, b1, own, y):
    """W_bb of the blocks b0 <= b < b1 into ``own``; y holds a row of Y meanwhile."""
    for b in range(b0, b1):
        size = start[b + 1] - start[b]
        for a in range(size):
            for k in range(size):
                own[b, a, k] = 0.0
        for e in range(bodies.entry[b], bodies.entry[b + 1]):
            t = bodies.tree_of[bodies.tile[e]]
            for k in range(_rows_of_tree(bodies, b, e)):
                for a in range(size):
                    y[a] = 0.0
                for f in range(e, bodies.entry[b + 1]):
                    if bodies.tree_of[bodies.tile[f]] == t:
                        _add_share(bodies, size, t, k, f, y)
                for a in range(size):
                    for c in range(size):
                        own[b, a, c] += y[a] * y[c]


@sweep
def _rows_of_tree(bodies, b, e):
    """Rows of Y that are not zero in the tree of entry e; 0 where an entry of the block before it has that tree."""
    t = bodies.tree_of[bodies.tile[e]]
    last = bodies.tile[e]
    for f in range(bodies.entry[b], bodies.entry[b + 1]):
        if bodies.tree_of[bodies.tile[f]] == t:
            if f < e:
                return 0
            last = max(last, bodies.tile[f])
    return TILE * (last + 1 - bodies.tree[t])


@sweep
def _add_share(bodies, size, t, k, f, y):
    """What entry f of J adds to row k of Y."""
    column = TILE * (bodies.tile[f] - bodies.tree[t])
    if k < column + TILE:
        at = bodies.mass_at[t] + k * TILE * (bodies.tree[t + 1] - bodies.tree[t]) + column
        for a in range(size):
            y[a] += dot_at(bodies.U_inv, at, spatial(bodies.J, bodies.at[f] + a))


@on_demand(REAL)
def own_terms(bodies, b, a):
    """The diagonal entry a of W_bb with absolute terms in Y: where it is much larger, that entry is rounding."""
    total = 0.0
    J = bodies.J
    for e in range(bodies.entry[b], bodies.entry[b + 1]):
        t = bodies.tree_of[bodies.tile[e]]
        n = TILE * (bodies.tree[t + 1] - bodies.tree[t])
        for k in range(_rows_of_tree(bodies, b, e)):
            x = 0.0
            for f in range(e, bodies.entry[b + 1]):
                if bodies.tree_of[bodies.tile[f]] == t:
                    at = bodies.mass_at[t] + k * n + TILE * (bodies.tile[f] - bodies.tree[t])
                    for j in range(TILE):
                        x += abs(bodies.U_inv[at + j] * J[bodies.at[f] + a, j])
            total += x * x
    return total
