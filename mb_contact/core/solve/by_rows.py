# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The operator by rows: W as a dense matrix, and Newton steps (1 + G W) dr = c by a dense factorisation."""

from mb_contact.core.jit import kernel
from mb_contact.core.lcp.linear import balance_and_factor, lu_solve
from mb_contact.core.solve.laws import friction_group


@kernel
def apply_rows(W, source, first, last, x, y):
    """y = W x of the rows first <= row < last."""
    for i in range(first, last):
        t = 0.0
        a = source[i]
        for j in range(first, last):
            t += W[a, source[j]] * x[j]
        y[i] = t


@kernel
def factor_rows(blocks, W, source, b0, b1, G, factors):
    """LU factors of 1 + G W of the blocks of an island, each row over its largest entry; False where it is singular."""
    start = blocks.start
    first = start[b0]
    n = start[b1] - first
    A = factors.A
    for b in range(b0, b1):
        for row in range(start[b], start[b + 1]):
            g0 = G[row, 0]
            g1 = G[row, 1]
            g2 = G[row, 2]
            i = row - first
            at, size = friction_group(blocks, b, row)
            h = source[start[b]]
            k = source[at]
            l = source[at + 1] if size == 2 else k
            for j in range(n):
                A[i, j] = 0.0
            if g0 != 0.0 or g1 != 0.0 or g2 != 0.0:
                for j in range(n):
                    s = source[first + j]
                    A[i, j] = g0 * W[h, s] + g1 * W[k, s] + g2 * W[l, s]
            A[i, i] += 1.0
    return balance_and_factor(A, n, factors.scale, factors.pivot)


@kernel
def substitute_rows(factors, first, last, c, x):
    """x = (1 + G W)^-1 c."""
    for i in range(first, last):
        x[i] = c[i] * factors.scale[i - first]
    lu_solve(factors.A, last - first, factors.pivot, x[first:last])
