# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The operator by nodes: W = A Omega A* with the velocities of the few bodies that are touched, and Newton steps there.

    (1 + K Omega) s = A* c,    K = A* G A,    dr = c - G A Omega s,

which is the same step as (1 + G W) dr = c with a matrix of as many rows as the nodes have coordinates.
"""

import numpy as np

from mb_contact.core.jit import NOTHING, TRUTH, on_demand, sweep
from mb_contact.core.lcp.linear import FOUR, ONE, THREE, TWO, balance_and_factor, lu_solve
from mb_contact.core.solve.laws import contact_rows, weighted_row
from mb_contact.core.workspace import CONTACT


@sweep
def gather_nodes(start, nodes, b0, b1, x, t):
    """t = A* x of the blocks b0 <= b < b1, each of whose rows have the same nodes."""
    for k in range(nodes.count[0] + 6):
        t[k] = 0.0
    for b in range(b0, b1):
        for side in range(2):
            at = nodes.at[start[b], side]
            if at < 0:
                continue
            A = nodes.A[side]
            t0, t1, t2, t3, t4, t5 = t[at], t[at + 1], t[at + 2], t[at + 3], t[at + 4], t[at + 5]
            for i in range(start[b], start[b + 1]):
                f = x[i]
                t0, t1, t2 = t0 + A[i, 0] * f, t1 + A[i, 1] * f, t2 + A[i, 2] * f
                t3, t4, t5 = t3 + A[i, 3] * f, t4 + A[i, 4] * f, t5 + A[i, 5] * f
            t[at], t[at + 1], t[at + 2], t[at + 3], t[at + 4], t[at + 5] = t0, t1, t2, t3, t4, t5


@sweep
def scatter_nodes(nodes, first, last, s, u):
    """u = A s."""
    for i in range(first, last):
        x = 0.0
        for side in range(2):
            at = nodes.at[i, side]
            if at >= 0:
                A = nodes.A[side]
                x += (
                    A[i, 0] * s[at] + A[i, 1] * s[at + 1] + A[i, 2] * s[at + 2]
                    + (A[i, 3] * s[at + 3] + A[i, 4] * s[at + 4] + A[i, 5] * s[at + 5])
                )  # fmt: skip
        u[i] = x


@sweep
def respond_nodes(nodes, t, s):
    """s = Omega t."""
    count, W = nodes.count[0], nodes.fours
    for m in range((count + 3) // 4):
        s0 = s1 = s2 = s3 = 0.0
        for j in range(count):
            x = t[j]
            s0, s1, s2, s3 = s0 + x * W[j, m, 0], s1 + x * W[j, m, 1], s2 + x * W[j, m, 2], s3 + x * W[j, m, 3]
        s[4 * m], s[4 * m + 1], s[4 * m + 2], s[4 * m + 3] = s0, s1, s2, s3
    for k in range(count, count + 6):
        s[k] = 0.0


@on_demand(NOTHING)
def apply_nodes(P, b0, b1, x, y):
    """y = W x."""
    nodes, start = P.nodes, P.blocks.start
    gather_nodes(start, nodes, b0, b1, x, nodes.t)
    respond_nodes(nodes, nodes.t, nodes.s)
    scatter_nodes(nodes, start[b0], start[b1], nodes.s, y)


@on_demand(TRUTH)
def factor_nodes(P, b0, b1):
    """LU factors of 1 + K Omega, each row over its largest entry; False where it is singular."""
    blocks, nodes, G = P.blocks, P.nodes, P.work.G
    count, K, A = nodes.count[0], nodes.stiff, nodes.LU
    for i in range(np.uint64(count + 6)):
        for j in range(np.uint64(count + 6)):
            K[i, j] = 0.0
    for b in range(b0, b1):
        n, end = blocks.start[b], blocks.start[b + 1]
        if blocks.kind[b] == CONTACT:
            _add_contact(nodes, G, K, n)
            n += 3
        for top in range(n, end, 3):
            _add_rows(blocks, nodes, G, K, b, top, min(3, end - top))
    for i in range(np.uint64(count)):
        _matrix_row(K, nodes.fours, i, np.uint64(count), A)
        A[i, i] += 1.0
    return balance_and_factor(A, count, nodes.scale, nodes.order)


@sweep
def _matrix_row(K, W, i, count, A):
    """``A[i] = K[i] Omega``."""
    for m in range((count + THREE) // FOUR):
        a0 = a1 = a2 = a3 = 0.0
        for k in range(count):
            x = K[i, k]
            if x != 0.0:
                a0, a1, a2, a3 = a0 + x * W[k, m, 0], a1 + x * W[k, m, 1], a2 + x * W[k, m, 2], a3 + x * W[k, m, 3]
        j = FOUR * m
        A[i, j], A[i, j + ONE], A[i, j + TWO], A[i, j + THREE] = a0, a1, a2, a3


@sweep
def _add_contact(nodes, G, K, n):
    """A* G A of the normal and the tangents of the contact whose first row is n onto K."""
    idle = G[n, 0] == 0.0 and G[n + 1, 1] == 0.0 and G[n + 1, 2] == 0.0 and G[n + 2, 1] == 0.0 and G[n + 2, 2] == 0.0
    for other in range(0 if idle else 2):
        to = nodes.at[n, other]
        if to < 0:
            continue
        a, b, c = contact_rows(G, nodes.A[other], n, n)
        for side in range(2):
            m = nodes.at[n, side]
            if m >= 0:
                _add_products(K, m, to, nodes.A[side], n, a, b, c)


@sweep
def _add_products(K, m, to, A, n, a, b, c):
    """``K[m:m + 6, to:to + 6] +=`` the first three rows of A from n on, transposed, times the rows a, b and c."""
    n = np.uint64(n)
    for k in range(np.uint64(6)):
        X = K[np.uint64(m) + k]
        x, y, z = A[n, k], A[n + ONE, k], A[n + TWO, k]
        j = np.uint64(to)
        t0, t1 = x * a[0] + y * b[0] + z * c[0], x * a[1] + y * b[1] + z * c[1]
        t2, t3 = x * a[2] + y * b[2] + z * c[2], x * a[3] + y * b[3] + z * c[3]
        t4, t5 = x * a[4] + y * b[4] + z * c[4], x * a[5] + y * b[5] + z * c[5]
        t0, t1, t2, t3 = X[j] + t0, X[j + ONE] + t1, X[j + TWO] + t2, X[j + THREE] + t3
        t4, t5 = X[j + FOUR] + t4, X[j + FOUR + ONE] + t5
        X[j], X[j + ONE], X[j + TWO], X[j + THREE], X[j + FOUR], X[j + FOUR + ONE] = t0, t1, t2, t3, t4, t5


@sweep
def _add_rows(blocks, nodes, G, K, b, top, rows):
    """A* G A of at most three rows of any other block onto K; its rows have the same nodes."""
    first = blocks.start[b]
    for row in range(top, top + rows):
        for other in range(2 if G[row, 0] != 0.0 or G[row, 1] != 0.0 or G[row, 2] != 0.0 else 0):
            to = nodes.at[first, other]
            if to < 0:
                continue
            a = weighted_row(blocks, G, nodes.A[other], b, first, row, first)
            for side in range(2):
                m, A = nodes.at[first, side], nodes.A[side]
                for k in range(6 if m >= 0 else 0):
                    for j in range(6):
                        K[m + k, to + j] += A[row, k] * a[j]


@on_demand(NOTHING)
def substitute_nodes(P, b0, b1, c, du):
    """du = A Omega s of the step: what it changes of the velocities."""
    nodes, start = P.nodes, P.blocks.start
    gather_nodes(start, nodes, b0, b1, c, nodes.t)
    for k in range(nodes.count[0]):
        nodes.t[k] *= nodes.scale[k]
    lu_solve(nodes.LU, nodes.count[0], nodes.order, nodes.t)
    respond_nodes(nodes, nodes.t, nodes.s)
    scatter_nodes(nodes, start[b0], start[b1], nodes.s, du)
