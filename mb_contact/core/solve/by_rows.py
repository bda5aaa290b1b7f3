# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The operator by rows: W as a dense matrix, and Newton steps (1 + G W) dr = c by a dense factorisation."""

from mb_contact.core.jit import kernel
from mb_contact.core.lcp.linear import balance_and_factor, lu_solve
from mb_contact.core.solve.laws import friction_group


@kernel
def apply_rows(W, source, first, last, x, y, acting):
    """y = W x of the rows first <= row < last, by two sums over those whose x is not zero, which go into ``acting``.

    Most impulses of a long chain are zero: without these its steps of 285 rows take 0.9 of the time.
    """
    n = 0
    for j in range(first, last):
        if x[j] != 0.0:
            acting[n] = j
            n += 1
    even = n - n % 2
    for i in range(first, last):
        s = t = 0.0
        a = source[i]
        for k in range(0, even, 2):
            s += W[a, source[acting[k]]] * x[acting[k]]
            t += W[a, source[acting[k + 1]]] * x[acting[k + 1]]
        for k in range(even, n):
            s += W[a, source[acting[k]]] * x[acting[k]]
        y[i] = s + t


@kernel
def factor_rows(blocks, W, source, b0, b1, G, factors):
    """LU factors of 1 + G W of the blocks of an island, each row over its largest entry; False where it is singular.

    Only among the rows whose G is not zero: the others keep dr = c, and what they ask of these stands behind the
    factors.  A step of 300 links with 799 factorisations of up to 186 rows, of which some 27 remain, took 106 ms
    without that and 50 ms with it.
    """
    start, rows, A = blocks.start, factors.rows, factors.A
    first, last, m, n = start[b0], start[b1], 0, 0
    for row in range(first, last):
        if G[row, 0] != 0.0 or G[row, 1] != 0.0 or G[row, 2] != 0.0:
            rows[m] = row
            m += 1
    for row in range(first, last):
        if n < m and rows[n] == row:
            n += 1
        else:
            rows[m + row - first - n] = row
    factors.giving[0] = m
    i = 0
    for b in range(b0, b1):
        h = source[start[b]]
        while i < m and rows[i] < start[b + 1]:
            row = rows[i]
            at, size = friction_group(blocks, b, row)
            k = source[at]
            l = source[at + 1] if size == 2 else k
            for j in range(last - first):
                s = source[rows[j]]
                A[i, j] = G[row, 0] * W[h, s] + G[row, 1] * W[k, s] + G[row, 2] * W[l, s]
            A[i, i] += 1.0
            i += 1
    return balance_and_factor(A, m, factors.scale, factors.pivot)


@kernel
def substitute_rows(factors, first, last, c, x):
    """x = (1 + G W)^-1 c."""
    rows, m = factors.rows, factors.giving[0]
    for i in range(m):
        x[first + i] = c[rows[i]]
    for j in range(m, last - first):
        t = c[rows[j]]
        if t != 0.0:
            for i in range(m):
                x[first + i] -= factors.A[i, j] * t
    for i in range(m):
        x[first + i] *= factors.scale[i]
    lu_solve(factors.A, m, factors.pivot, x[first:last])
    for i in range(m - 1, -1, -1):  # from the last on: none goes where another still stands
        x[rows[i]] = x[first + i]
    for j in range(m, last - first):
        x[rows[j]] = c[rows[j]]
