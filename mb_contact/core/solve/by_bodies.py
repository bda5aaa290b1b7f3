# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The operator by bodies: W = J M^-1 J* without forming it, and Newton steps by a sparse factorisation.

    dr = c - G J dv,    (M + J* G J) dv = J* c,

which is the same step as (1 + G W) dr = c.  The matrix has a block of 6 x 6 for each pair of tiles that a contact or
a tree couples; it is not symmetric where contacts slip.  Pieces are eliminated in the order of least degree.
"""

import numpy as np

from mb_contact.core.jit import NOTHING, kernel, on_demand, sweep
from mb_contact.core.solve.system import TILE
from mb_contact.core.tree.spatial import STILL, dot_at, spatial_at, spatial_sum


@kernel
def factor_masses(bodies, c0, c1):
    """U^-* of the trees of the tiles c0 <= c < c1 of an island, M = U U*, of those whose M has changed."""
    for c in range(c0, c1):
        t = bodies.tree_of[bodies.tiles[c]]
        if bodies.tiles[c] == bodies.tree[t] and _differs(bodies.M, bodies.factored, bodies.mass_at[t : t + 2]):
            _invert_root(bodies.M, bodies.root, bodies.mass_at[t], TILE * (bodies.tree[t + 1] - bodies.tree[t]))


@sweep
def _differs(M, before, ends):
    """Whether entries of M are others than before, where they stand then."""
    found = False
    for i in range(ends[0], ends[1]):
        found = found or M[i] != before[i]
        before[i] = M[i]
    return found


@kernel
def _invert_root(M, X, at, n):
    """X = U^-*, lower triangular, of M = U U* of n rows, both stored row after row from ``at`` on.

    From tips to base, as forces go.  M^-1 = X X* is never formed: it loses digits that X (X* f) keeps (docs/design.md,
    "Long chains").  Both steps are sums of multiples of rows, whose neighbours are taken at once.
    """
    for i in range(at, at + n * n):
        X[i] = M[i]
    for k in range(n - 1, -1, -1):  # U*, with the inverse of its diagonal
        row = at + k * n
        X[row + k] = 1.0 / np.sqrt(X[row + k])
        for j in range(k):
            X[row + j] *= X[row + k]
        for i in range(k):
            _add_row(X, at + i * n, row, i + 1, -X[row + i])
    for i in range(n - 1, -1, -1):  # X U* = 1, row after row
        row = at + i * n
        for j in range(i):
            X[row + j] *= -X[row + i]
        for k in range(i - 1, -1, -1):
            X[row + k] *= X[at + k * n + k]
            _add_row(X, row, at + k * n, k, -X[row + k])
        for j in range(i + 1, n):
            X[row + j] = 0.0


@sweep
def _add_row(X, to, at, n, t):
    """X[to:] += t X[at:], of n numbers."""
    for j in range(n):
        X[to + j] += t * X[at + j]


@sweep
def gather(start, bodies, b0, b1, c0, c1, x, f):
    """f = J* x on the tiles of an island."""
    for c in range(c0, c1):
        at = TILE * bodies.tiles[c]
        for k in range(TILE):
            f[at + k] = 0.0
    J = bodies.J
    for b in range(b0, b1):
        i = start[b]
        size = start[b + 1] - i
        for e in range(bodies.entry[b], bodies.entry[b + 1]):
            at = TILE * bodies.tile[e]
            row = bodies.at[e]
            f0 = f[at]
            f1 = f[at + 1]
            f2 = f[at + 2]
            f3 = f[at + 3]
            f4 = f[at + 4]
            f5 = f[at + 5]
            for a in range(size):
                t = x[i + a]
                f0 += J[row + a, 0] * t
                f1 += J[row + a, 1] * t
                f2 += J[row + a, 2] * t
                f3 += J[row + a, 3] * t
                f4 += J[row + a, 4] * t
                f5 += J[row + a, 5] * t
            f[at] = f0
            f[at + 1] = f1
            f[at + 2] = f2
            f[at + 3] = f3
            f[at + 4] = f4
            f[at + 5] = f5


@sweep
def scatter(start, bodies, b0, b1, v, u):
    """u = J v of the rows of an island."""
    J = bodies.J
    for b in range(b0, b1):
        i = start[b]
        size = start[b + 1] - i
        for a in range(size):
            t = 0.0
            for e in range(bodies.entry[b], bodies.entry[b + 1]):
                at = TILE * bodies.tile[e]
                row = bodies.at[e] + a
                t += (
                    J[row, 0] * v[at] + J[row, 1] * v[at + 1] + J[row, 2] * v[at + 2]
                    + (J[row, 3] * v[at + 3] + J[row, 4] * v[at + 4] + J[row, 5] * v[at + 5])
                )  # fmt: skip
            u[i + a] = t


@sweep
def weigh(bodies, c0, c1, f, v):
    """v = M^-1 f on the tiles of an island, all tiles of its trees."""
    X = bodies.root
    for c in range(c0, c1):
        t = bodies.tree_of[bodies.tiles[c]]
        if bodies.tiles[c] != bodies.tree[t]:
            continue
        base, at = TILE * bodies.tree[t], bodies.mass_at[t]
        n = TILE * bodies.tree[t + 1] - base
        for j in range(0, n, TILE):
            x = STILL
            for k in range(j, n):
                x = spatial_sum(x, f[base + k], spatial_at(X, at + k * n + j))
            i = base + j
            v[i], v[i + 1], v[i + 2], v[i + 3], v[i + 4], v[i + 5] = x
        for i in range(n - TILE, -1, -TILE):
            x = STILL
            for j in range(0, i + TILE, TILE):
                x = spatial_sum(x, 1.0, _rows_times(X, at + i * n + j, n, spatial_at(v, base + j)))
            k = base + i
            v[k], v[k + 1], v[k + 2], v[k + 3], v[k + 4], v[k + 5] = x


@sweep
def _rows_times(X, at, n, y):
    """Six rows of X, n apart, times y."""
    return (
        dot_at(X, at, y), dot_at(X, at + n, y), dot_at(X, at + 2 * n, y),
        dot_at(X, at + 3 * n, y), dot_at(X, at + 4 * n, y), dot_at(X, at + 5 * n, y),
    )  # fmt: skip


@on_demand(NOTHING)
def apply_bodies(start, bodies, work, b0, b1, c0, c1, x, y):
    """y = W x of the rows of an island."""
    gather(start, bodies, b0, b1, c0, c1, x, work.f)
    weigh(bodies, c0, c1, work.f, work.v)
    scatter(start, bodies, b0, b1, work.v, y)
