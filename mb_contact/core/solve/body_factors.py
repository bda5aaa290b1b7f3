# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Factors of M + J* G J by bodies: a block LU over tiles of six velocities, in the order of least degree.

Each block of the factors is taken once, with all products of earlier blocks that it is reduced by, so that it stays in
registers meanwhile: of 200 bodies with 803 contacts (11,564 products) 273 -> 164 us, where the list of the products
takes 45 us once for each start.  Blocks are stored transposed, so that a substitution adds columns (27 -> 15 us).
"""

import numpy as np

from mb_contact.core.jit import INTEGER, NOTHING, TRUTH, on_demand, sweep
from mb_contact.core.solve.by_bodies import gather
from mb_contact.core.solve.laws import contact_rows, weighted_row
from mb_contact.core.solve.system import TILE
from mb_contact.core.workspace import CONTACT


@on_demand(INTEGER)
def order_tiles(bodies, factors, b0, b1, c0, c1):
    """Order of elimination by least degree, the pattern of the factors and their slots; -1 where they do not fit.

    Of tiles with one degree the first goes first, arms before what they hold: the other way round heaps have 3 to 6 %
    fewer products of blocks, but two of five steps of arms that hold a box need one Newton step more for their digits.
    """
    count = c1 - c0
    slot, order, rank, degree, first, later = (
        factors.slot, factors.order, factors.rank, factors.degree, factors.first, factors.later
    )  # fmt: skip
    for i in range(count):
        a = bodies.tiles[c0 + i]
        rank[a], degree[a] = -1, 0
        for j in range(count):
            slot[a, bodies.tiles[c0 + j]] = -1
    for i in range(count):
        a = bodies.tiles[c0 + i]
        t = bodies.tree_of[a]
        for c in range(bodies.tree[t], bodies.tree[t + 1]):
            _couple(slot, degree, a, c)
    for b in range(b0, b1):
        for e in range(bodies.entry[b], bodies.entry[b + 1]):
            for f in range(bodies.entry[b], bodies.entry[b + 1]):
                _couple(slot, degree, bodies.tile[e], bodies.tile[f])
    first[0] = 0
    for k in range(count):
        best = -1
        for i in range(count):
            a = bodies.tiles[c0 + i]
            if rank[a] < 0 and (best < 0 or degree[a] < degree[best]):
                best = a
        rank[best] = k
        order[k] = best
        end = first[k]
        if end + count > later.shape[0]:
            return -1
        for i in range(count):
            a = bodies.tiles[c0 + i]
            if rank[a] < 0 and slot[best, a] == 0:
                later[end] = a
                end += 1
        first[k + 1] = end
        for i in range(first[k], end):
            degree[later[i]] -= 1
            for j in range(first[k], end):
                _couple(slot, degree, later[i], later[j])
    if count + 2 * first[count] > factors.L.shape[0]:
        return -1
    for k in range(count):
        a = order[k]
        slot[a, a] = k + 2 * first[k]
        for i in range(first[k], first[k + 1]):
            slot[a, later[i]], slot[later[i], a] = k + 1 + 2 * i, k + 2 + 2 * i
    return _list_products(factors, count)


@sweep
def _couple(slot, degree, a, c):
    """The block of the tiles a, c is one of the matrix or its factors."""
    if slot[a, c] < 0:
        slot[a, c] = 0
        degree[a] += 1


@sweep
def _list_products(factors, count):
    """The products that each block of the factors is reduced by, in the order of elimination; the number of blocks.

    The block of the tiles k, j is reduced by L_ki U_ij for each earlier tile i that is coupled to both.  -1 where
    there are too many.
    """
    first, later, slot, until, products = factors.first, factors.later, factors.slot, factors.until, factors.products
    used, total = count + 2 * first[count], 0
    for s in range(used):
        until[s] = 0
    for k in range(count):
        for i in range(first[k], first[k + 1]):
            for j in range(first[k], first[k + 1]):
                until[slot[later[i], later[j]]] += 1
    for s in range(used):
        until[s], total = total, total + until[s]
    if total > products.shape[0]:
        return -1
    for k in range(count):
        for i in range(first[k], first[k + 1]):
            for j in range(first[k], first[k + 1]):
                s = slot[later[i], later[j]]
                products[until[s], 0], products[until[s], 1] = k + 1 + 2 * j, k + 2 + 2 * i
                until[s] += 1
    return used


@on_demand(TRUTH)
def factor_bodies(blocks, bodies, G, factors, used, b0, b1, c0, c1):
    """LU factors of the Newton matrix M + J* G J of an island, in ``used`` slots; False where it is singular."""
    L = factors.L
    slot = factors.slot
    for s in range(used):
        for k in range(TILE * TILE):
            L[s, k] = 0.0
    for i in range(c0, c1):
        a = bodies.tiles[i]
        t = bodies.tree_of[a]
        base = bodies.tree[t]
        n = TILE * (bodies.tree[t + 1] - base)
        for c in range(base, bodies.tree[t + 1]):
            s = slot[a, c]
            at = bodies.mass_at[t] + TILE * (c - base) * n + TILE * (a - base)
            for k in range(TILE):
                for j in range(TILE):
                    L[s, TILE * k + j] = bodies.M[at + k * n + j]
    for b in range(b0, b1):
        _add_block(blocks, bodies, G, slot, L, b)
    return _factor(L, factors.first, factors.products, factors.until, c1 - c0)


@sweep
def _add_block(blocks, bodies, G, slot, L, b):
    """J* G J of one block onto the matrix: for each pair of its tiles (J_e* (G J_f))*, three rows at a time."""
    i = blocks.start[b]
    size = blocks.start[b + 1] - i
    J = bodies.J
    none = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for top in range(0, size, 3):
        rows = min(3, size - top)
        idle = True
        for row in range(i + top, i + top + rows):
            idle = idle and G[row, 0] == 0.0 and G[row, 1] == 0.0 and G[row, 2] == 0.0
        if idle:
            continue
        for f in range(bodies.entry[b], bodies.entry[b + 1]):
            o = bodies.at[f]
            if top == 0 and blocks.kind[b] == CONTACT:
                g, h, l = contact_rows(G, J, i, o)
            else:
                g = weighted_row(blocks, G, J, b, i, i + top, o)
                h = weighted_row(blocks, G, J, b, i, i + top + 1, o) if rows > 1 else none
                l = weighted_row(blocks, G, J, b, i, i + top + 2, o) if rows > 2 else none
            for e in range(bodies.entry[b], bodies.entry[b + 1]):
                s = np.uint64(slot[bodies.tile[e], bodies.tile[f]])
                r = bodies.at[e] + top
                x0, x1, x2, x3, x4, x5 = _row(J, r, 0)
                y0, y1, y2, y3, y4, y5 = _row(J, r + 1, 0) if rows > 1 else none
                z0, z1, z2, z3, z4, z5 = _row(J, r + 2, 0) if rows > 2 else none
                for k in range(TILE):
                    x, y, z, at = g[k], h[k], l[k], TILE * k
                    t0 = L[s, at] + (x0 * x + y0 * y + z0 * z)
                    t1 = L[s, at + 1] + (x1 * x + y1 * y + z1 * z)
                    t2 = L[s, at + 2] + (x2 * x + y2 * y + z2 * z)
                    t3 = L[s, at + 3] + (x3 * x + y3 * y + z3 * z)
                    t4 = L[s, at + 4] + (x4 * x + y4 * y + z4 * z)
                    t5 = L[s, at + 5] + (x5 * x + y5 * y + z5 * z)
                    _put_row(L, s, at, (t0, t1, t2, t3, t4, t5))


@sweep
def _less_products(L, s, products, first, last):
    """L[s] less the products L[a] L[b] of the blocks a, b that the list names, first <= i < last.

    All of L[s] stays in registers meanwhile, where rows are written out like this.
    """
    u, v, w, x, y, z = _rows(L, s)
    for i in range(first, last):
        a, b = np.uint64(products[i, 0]), np.uint64(products[i, 1])
        for k in range(TILE):
            p, q, r, e, f, g = _row(L, b, TILE * k)
            t = L[a, k]
            u = (u[0] - t * p, u[1] - t * q, u[2] - t * r, u[3] - t * e, u[4] - t * f, u[5] - t * g)
            t = L[a, 6 + k]
            v = (v[0] - t * p, v[1] - t * q, v[2] - t * r, v[3] - t * e, v[4] - t * f, v[5] - t * g)
            t = L[a, 12 + k]
            w = (w[0] - t * p, w[1] - t * q, w[2] - t * r, w[3] - t * e, w[4] - t * f, w[5] - t * g)
            t = L[a, 18 + k]
            x = (x[0] - t * p, x[1] - t * q, x[2] - t * r, x[3] - t * e, x[4] - t * f, x[5] - t * g)
            t = L[a, 24 + k]
            y = (y[0] - t * p, y[1] - t * q, y[2] - t * r, y[3] - t * e, y[4] - t * f, y[5] - t * g)
            t = L[a, 30 + k]
            z = (z[0] - t * p, z[1] - t * q, z[2] - t * r, z[3] - t * e, z[4] - t * f, z[5] - t * g)
    _put_block(L, s, (u, v, w, x, y, z))


@sweep
def _times(X, x, d):
    """X[x] = X[x] X[d]."""
    a, b, c, e, f, g = _rows(X, d)
    for i in range(0, 36, TILE):
        p, q, r, s, t, u = _row(X, x, i)
        _put_row(
            X, x, i,
            (
                p * a[0] + q * b[0] + r * c[0] + (s * e[0] + t * f[0] + u * g[0]),
                p * a[1] + q * b[1] + r * c[1] + (s * e[1] + t * f[1] + u * g[1]),
                p * a[2] + q * b[2] + r * c[2] + (s * e[2] + t * f[2] + u * g[2]),
                p * a[3] + q * b[3] + r * c[3] + (s * e[3] + t * f[3] + u * g[3]),
                p * a[4] + q * b[4] + r * c[4] + (s * e[4] + t * f[4] + u * g[4]),
                p * a[5] + q * b[5] + r * c[5] + (s * e[5] + t * f[5] + u * g[5]),
            ),
        )  # fmt: skip


@sweep
def _factor(L, first, products, until, count):
    """Block LU factors in place, slot by slot; diagonal blocks are replaced by their inverses."""
    begin = 0
    for k in range(count):
        d = np.uint64(k + 2 * first[k])
        _less_products(L, d, products, begin, until[d])
        if not _invert_block(L, d):
            return False
        begin = until[d]
        for s in range(d + 1, k + 1 + 2 * first[k + 1]):
            _less_products(L, np.uint64(s), products, begin, until[s])
            begin = until[s]
            if (s - d) % 2 == 1:
                _times(L, np.uint64(s), d)
    return True


@sweep
def _turn(b, a):
    """Row b of a block less b_0 times its pivot row, both turned by one column: b_0 p, of ``a``, comes last."""
    t = b[0]
    return (
        b[1] - t * a[0], b[2] - t * a[1], b[3] - t * a[2], b[4] - t * a[3], b[5] - t * a[4], -(t * a[5])
    )  # fmt: skip


@sweep
def _pivot(a, b, c, d, e, f):
    """One Gauss-Jordan step on the first row and column of a block, which then become its last ones."""
    p = 1.0 / a[0]
    a = (p * a[1], p * a[2], p * a[3], p * a[4], p * a[5], p)
    return _turn(b, a), _turn(c, a), _turn(d, a), _turn(e, a), _turn(f, a), a


@sweep
def _row(X, k, i):
    """Row of the block X[k] that begins at i."""
    return X[k, i], X[k, i + 1], X[k, i + 2], X[k, i + 3], X[k, i + 4], X[k, i + 5]


@sweep
def _put_row(X, k, i, a):
    """Row of the block X[k] that begins at i := a."""
    X[k, i], X[k, i + 1], X[k, i + 2], X[k, i + 3], X[k, i + 4], X[k, i + 5] = a


@sweep
def _rows(X, k):
    """The rows of the block X[k]."""
    return _row(X, k, 0), _row(X, k, 6), _row(X, k, 12), _row(X, k, 18), _row(X, k, 24), _row(X, k, 30)


@sweep
def _put_block(X, k, rows):
    """The block X[k] := six rows."""
    for i in range(TILE):
        _put_row(X, k, TILE * i, rows[i])


@sweep
def _invert_block(X, k):
    """Inverse of the block X[k] in place by Gauss-Jordan steps down the diagonal; False where a pivot is zero."""
    a, b, c, d, e, f = _rows(X, k)
    good = True
    for _ in range(TILE):
        good = good and abs(a[0]) > 0.0
        a, b, c, d, e, f = _pivot(a, b, c, d, e, f)
    _put_block(X, k, (a, b, c, d, e, f))
    return good


@sweep
def _less_times(L, s, x, at, y):
    """y less L[s] x[at:], of six numbers."""
    for k in range(TILE):
        t = x[at + k]
        a, b, c, d, e, f = _row(L, s, TILE * k)
        y = (y[0] - t * a, y[1] - t * b, y[2] - t * c, y[3] - t * d, y[4] - t * e, y[5] - t * f)
    return y


@sweep
def _six(x, at):
    """x[at:], six numbers."""
    return x[at], x[at + 1], x[at + 2], x[at + 3], x[at + 4], x[at + 5]


@sweep
def _put_six(x, at, y):
    """x[at:] := y, six numbers."""
    x[at], x[at + 1], x[at + 2], x[at + 3], x[at + 4], x[at + 5] = y


@on_demand(NOTHING)
def substitute_bodies(start, bodies, factors, b0, b1, c0, c1, c, dv):
    """dv = (M + J* G J)^-1 J* c on the tiles."""
    gather(start, bodies, b0, b1, c0, c1, c, dv)
    count, L, first = c1 - c0, factors.L, factors.first
    for k in range(count):
        at, d = TILE * factors.order[k], np.uint64(k + 2 * first[k])
        x, y, z, p, q, r = _less_times(L, d, dv, at, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
        _put_six(dv, at, (-x, -y, -z, -p, -q, -r))
        for i in range(first[k], first[k + 1]):
            to = TILE * factors.later[i]
            _put_six(dv, to, _less_times(L, np.uint64(k + 2 + 2 * i), dv, at, _six(dv, to)))
    for k in range(count - 1, -1, -1):
        at = TILE * factors.order[k]
        y = _six(dv, at)
        for i in range(first[k], first[k + 1]):
            y = _less_times(L, np.uint64(k + 1 + 2 * i), dv, TILE * factors.later[i], y)
        _put_six(dv, at, y)
