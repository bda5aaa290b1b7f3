# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Factors of M + J* G J by bodies: a block LU over pieces of six velocities, in the order of least degree."""

import numpy as np

from mb_contact.core.jit import INTEGER, NOTHING, TRUTH, on_demand, sweep
from mb_contact.core.solve.by_bodies import gather
from mb_contact.core.solve.laws import contact_rows, weighted_row
from mb_contact.core.solve.system import CONTACT, PIECE


@on_demand(INTEGER)
def order_pieces(bodies, factors, b0, b1, c0, c1):
    """Order of elimination by least degree, the pattern of the factors and their slots; -1 where they do not fit.

    Of pieces with one degree the first goes first, arms before what they hold: the other way round heaps have 3 to 6 %
    fewer products of blocks, but two of five steps of arms that hold a box need one Newton step more for their digits.
    """
    count = c1 - c0
    slot = factors.slot
    for i in range(count):
        a = bodies.pieces[c0 + i]
        for j in range(count):
            slot[a, bodies.pieces[c0 + j]] = -1
    for i in range(count):
        a = bodies.pieces[c0 + i]
        t = bodies.tree_of[a]
        for c in range(bodies.tree[t], bodies.tree[t + 1]):
            slot[a, c] = 0
    for b in range(b0, b1):
        for e in range(bodies.entry[b], bodies.entry[b + 1]):
            for f in range(bodies.entry[b], bodies.entry[b + 1]):
                slot[bodies.piece[e], bodies.piece[f]] = 0
    for i in range(count):
        a = bodies.pieces[c0 + i]
        factors.rank[a] = -1
        factors.degree[a] = 0
        for j in range(count):
            if slot[a, bodies.pieces[c0 + j]] == 0:
                factors.degree[a] += 1
    factors.first[0] = 0
    used = 0
    for k in range(count):
        best = -1
        for i in range(count):
            a = bodies.pieces[c0 + i]
            if factors.rank[a] < 0 and (best < 0 or factors.degree[a] < factors.degree[best]):
                best = a
        factors.rank[best] = k
        factors.order[k] = best
        begin = factors.first[k]
        end = begin
        if begin + count > factors.later.shape[0]:
            return -1
        for i in range(count):
            a = bodies.pieces[c0 + i]
            if factors.rank[a] < 0 and slot[best, a] == 0:
                factors.later[end] = a
                end += 1
        factors.first[k + 1] = end
        for i in range(begin, end):
            a = factors.later[i]
            factors.degree[a] -= 1
            for j in range(begin, end):
                c = factors.later[j]
                if slot[a, c] < 0:
                    slot[a, c] = 0
                    factors.degree[a] += 1
    used = count + 2 * factors.first[count]
    if used > factors.L.shape[0]:
        return -1
    used = 0
    for k in range(count):
        a = factors.order[k]
        slot[a, a] = used
        used += 1
        for i in range(factors.first[k], factors.first[k + 1]):
            c = factors.later[i]
            slot[a, c] = used
            slot[c, a] = used + 1
            used += 2
    return used


@on_demand(TRUTH)
def factor_bodies(blocks, bodies, G, factors, used, b0, b1, c0, c1):
    """LU factors of the Newton matrix M + J* G J of an island, in ``used`` slots; False where it is singular."""
    L = factors.L
    slot = factors.slot
    for s in range(used):
        for k in range(PIECE * PIECE):
            L[s, k] = 0.0
    for i in range(c0, c1):
        a = bodies.pieces[i]
        t = bodies.tree_of[a]
        base = bodies.tree[t]
        n = PIECE * (bodies.tree[t + 1] - base)
        for c in range(base, bodies.tree[t + 1]):
            s = slot[a, c]
            at = bodies.mass_at[t] + PIECE * (a - base) * n + PIECE * (c - base)
            for k in range(PIECE):
                for j in range(PIECE):
                    L[s, PIECE * k + j] = bodies.M[at + k * n + j]
    for b in range(b0, b1):
        _add_block(blocks, bodies, G, slot, L, b)
    count = c1 - c0
    return _factor(L, slot, factors.order, factors.later, factors.first, count)


@sweep
def _add_block(blocks, bodies, G, slot, L, b):
    """J* G J of one block onto the matrix: for each pair of its pieces J_e* (G J_f), three rows at a time."""
    i = blocks.start[b]
    size = blocks.start[b + 1] - i
    J = bodies.J
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
                (a0, a1, a2, a3, a4, a5), (b0, b1, b2, b3, b4, b5), (c0, c1, c2, c3, c4, c5) = contact_rows(G, J, i, o)
            else:
                a0, a1, a2, a3, a4, a5 = weighted_row(blocks, G, J, b, i, i + top, o)
                b0 = b1 = b2 = b3 = b4 = b5 = 0.0
                c0 = c1 = c2 = c3 = c4 = c5 = 0.0
                if rows > 1:
                    b0, b1, b2, b3, b4, b5 = weighted_row(blocks, G, J, b, i, i + top + 1, o)
                if rows > 2:
                    c0, c1, c2, c3, c4, c5 = weighted_row(blocks, G, J, b, i, i + top + 2, o)
            for e in range(bodies.entry[b], bodies.entry[b + 1]):
                s = np.uint64(slot[bodies.piece[e], bodies.piece[f]])
                r = bodies.at[e] + top
                for a in range(PIECE):
                    x = J[r, a]
                    y = J[r + 1, a] if rows > 1 else 0.0
                    z = J[r + 2, a] if rows > 2 else 0.0
                    t0 = L[s, PIECE * a] + (x * a0 + y * b0 + z * c0)
                    t1 = L[s, PIECE * a + 1] + (x * a1 + y * b1 + z * c1)
                    t2 = L[s, PIECE * a + 2] + (x * a2 + y * b2 + z * c2)
                    t3 = L[s, PIECE * a + 3] + (x * a3 + y * b3 + z * c3)
                    t4 = L[s, PIECE * a + 4] + (x * a4 + y * b4 + z * c4)
                    t5 = L[s, PIECE * a + 5] + (x * a5 + y * b5 + z * c5)
                    L[s, PIECE * a] = t0
                    L[s, PIECE * a + 1] = t1
                    L[s, PIECE * a + 2] = t2
                    L[s, PIECE * a + 3] = t3
                    L[s, PIECE * a + 4] = t4
                    L[s, PIECE * a + 5] = t5


@sweep
def _multiply(X, x, A, a, B, b, sign):
    """X[x] = A[a] B[b], or X[x] -= A[a] B[b] where sign is not zero; blocks of 6 x 6."""
    for i in range(0, 36, 6):
        p = A[a, i]
        q = A[a, i + 1]
        r = A[a, i + 2]
        s = A[a, i + 3]
        t = A[a, i + 4]
        u = A[a, i + 5]
        c0 = p * B[b, 0] + q * B[b, 6] + r * B[b, 12] + (s * B[b, 18] + t * B[b, 24] + u * B[b, 30])
        c1 = p * B[b, 1] + q * B[b, 7] + r * B[b, 13] + (s * B[b, 19] + t * B[b, 25] + u * B[b, 31])
        c2 = p * B[b, 2] + q * B[b, 8] + r * B[b, 14] + (s * B[b, 20] + t * B[b, 26] + u * B[b, 32])
        c3 = p * B[b, 3] + q * B[b, 9] + r * B[b, 15] + (s * B[b, 21] + t * B[b, 27] + u * B[b, 33])
        c4 = p * B[b, 4] + q * B[b, 10] + r * B[b, 16] + (s * B[b, 22] + t * B[b, 28] + u * B[b, 34])
        c5 = p * B[b, 5] + q * B[b, 11] + r * B[b, 17] + (s * B[b, 23] + t * B[b, 29] + u * B[b, 35])
        if sign:
            c0 = X[x, i] - c0
            c1 = X[x, i + 1] - c1
            c2 = X[x, i + 2] - c2
            c3 = X[x, i + 3] - c3
            c4 = X[x, i + 4] - c4
            c5 = X[x, i + 5] - c5
        X[x, i] = c0
        X[x, i + 1] = c1
        X[x, i + 2] = c2
        X[x, i + 3] = c3
        X[x, i + 4] = c4
        X[x, i + 5] = c5


@sweep
def _factor(L, slot, order, later, first, count):
    """Block LU factors in place; diagonal blocks are replaced by their inverses."""
    for k in range(count):
        a = order[k]
        d = np.uint64(slot[a, a])
        if not _invert_block(L, d):
            return False
        for i in range(first[k], first[k + 1]):
            row = later[i]
            below = np.uint64(slot[row, a])
            _multiply(L, below, L, below, L, d, False)
            for j in range(first[k], first[k + 1]):
                column = later[j]
                _multiply(L, np.uint64(slot[row, column]), L, below, L, np.uint64(slot[a, column]), True)
    return True


@sweep
def _less(b, a):
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
    return _less(b, a), _less(c, a), _less(d, a), _less(e, a), _less(f, a), a


@sweep
def _row(X, k, i):
    """Row of the block X[k] that begins at i."""
    return X[k, i], X[k, i + 1], X[k, i + 2], X[k, i + 3], X[k, i + 4], X[k, i + 5]


@sweep
def _put_row(X, k, i, a):
    """Row of the block X[k] that begins at i := a."""
    X[k, i], X[k, i + 1], X[k, i + 2], X[k, i + 3], X[k, i + 4], X[k, i + 5] = a


@sweep
def _invert_block(X, k):
    """Inverse of the block X[k] in place by Gauss-Jordan steps down the diagonal; False where a pivot is zero."""
    a, b, c = _row(X, k, 0), _row(X, k, 6), _row(X, k, 12)
    d, e, f = _row(X, k, 18), _row(X, k, 24), _row(X, k, 30)
    good = True
    for _ in range(PIECE):
        good = good and abs(a[0]) > 0.0
        a, b, c, d, e, f = _pivot(a, b, c, d, e, f)
    _put_row(X, k, 0, a)
    _put_row(X, k, 6, b)
    _put_row(X, k, 12, c)
    _put_row(X, k, 18, d)
    _put_row(X, k, 24, e)
    _put_row(X, k, 30, f)
    return good


@sweep
def _subtract(L, s, x, at, y, to):
    """y[to:] -= L[s] x[at:]."""
    x0 = x[at]
    x1 = x[at + 1]
    x2 = x[at + 2]
    x3 = x[at + 3]
    x4 = x[at + 4]
    x5 = x[at + 5]
    s = np.uint64(s)
    for i in range(PIECE):
        y[to + i] -= (
            L[s, PIECE * i] * x0 + L[s, PIECE * i + 1] * x1 + L[s, PIECE * i + 2] * x2
            + (L[s, PIECE * i + 3] * x3 + L[s, PIECE * i + 4] * x4 + L[s, PIECE * i + 5] * x5)
        )  # fmt: skip


@on_demand(NOTHING)
def substitute_bodies(start, bodies, factors, b0, b1, c0, c1, c, dv):
    """dv = (M + J* G J)^-1 J* c on the pieces."""
    gather(start, bodies, b0, b1, c0, c1, c, dv)
    count = c1 - c0
    L = factors.L
    for k in range(count):
        a = factors.order[k]
        for i in range(factors.first[k], factors.first[k + 1]):
            row = factors.later[i]
            _subtract(L, factors.slot[row, a], dv, PIECE * a, dv, PIECE * row)
    for k in range(count - 1, -1, -1):
        a = factors.order[k]
        at = PIECE * a
        for i in range(factors.first[k], factors.first[k + 1]):
            column = factors.later[i]
            _subtract(L, factors.slot[a, column], dv, PIECE * column, dv, at)
        d = factors.slot[a, a]
        x0 = dv[at]
        x1 = dv[at + 1]
        x2 = dv[at + 2]
        x3 = dv[at + 3]
        x4 = dv[at + 4]
        x5 = dv[at + 5]
        for i in range(PIECE):
            dv[at + i] = (
                L[d, PIECE * i] * x0 + L[d, PIECE * i + 1] * x1 + L[d, PIECE * i + 2] * x2
                + (L[d, PIECE * i + 3] * x3 + L[d, PIECE * i + 4] * x4 + L[d, PIECE * i + 5] * x5)
            )  # fmt: skip
