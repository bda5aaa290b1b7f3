# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The operator by nodes: W = A Omega A* with the velocities of the few bodies that are touched, and Newton steps there.

    (1 + K Omega) s = A* c,    K = A* G A,    dr = c - G A Omega s,

which is the same step as (1 + G W) dr = c with a matrix of as many rows as the nodes have coordinates.
"""

from mb_contact.core.jit import NOTHING, TRUTH, on_demand, sweep
from mb_contact.core.lcp.linear import balance_and_factor, lu_solve
from mb_contact.core.solve.laws import weighted_row

COUNT, LEFT, SIZE, FOLLOWERS, GONE, WAITED = range(6)  #: entries of Nodes.info


@sweep
def gather_nodes(start, nodes, b0, b1, x, t):
    """t = A* x of the blocks b0 <= b < b1, each of whose rows have the same nodes."""
    for k in range(nodes.info[COUNT] + 6):
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
    count, W = nodes.info[COUNT], nodes.fours
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
    count, K, A = nodes.info[COUNT], nodes.stiff, nodes.LU
    for i in range(count + 6):
        for j in range(count + 6):
            K[i, j] = 0.0
    for b in range(b0, b1):
        for top in range(blocks.start[b], blocks.start[b + 1], 3):
            _add_rows(blocks, nodes, G, K, b, top, min(3, blocks.start[b + 1] - top))
    for i in range(count):
        _matrix_row(K, nodes.fours, i, count, A)
        A[i, i] += 1.0
    return balance_and_factor(A, count, nodes.scale, nodes.order)


@sweep
def _matrix_row(K, W, i, count, A):
    """``A[i] = K[i] Omega``."""
    for m in range((count + 3) // 4):
        a0 = a1 = a2 = a3 = 0.0
        for k in range(count):
            x = K[i, k]
            a0, a1, a2, a3 = a0 + x * W[k, m, 0], a1 + x * W[k, m, 1], a2 + x * W[k, m, 2], a3 + x * W[k, m, 3]
        A[i, 4 * m], A[i, 4 * m + 1], A[i, 4 * m + 2], A[i, 4 * m + 3] = a0, a1, a2, a3


@sweep
def _add_rows(blocks, nodes, G, K, b, top, rows):
    """A* G A of at most three rows of a block onto K; its rows have the same nodes."""
    first, idle = blocks.start[b], True
    for i in range(top, top + rows):
        idle = idle and G[i, 0] == 0.0 and G[i, 1] == 0.0 and G[i, 2] == 0.0
    for other in range(0 if idle else 2):
        to = nodes.at[first, other]
        if to < 0:
            continue
        J = nodes.A[other]
        a0, a1, a2, a3, a4, a5 = weighted_row(blocks, G, J, b, first, top, first)
        b0 = b1 = b2 = b3 = b4 = b5 = 0.0
        c0 = c1 = c2 = c3 = c4 = c5 = 0.0
        if rows > 1:
            b0, b1, b2, b3, b4, b5 = weighted_row(blocks, G, J, b, first, top + 1, first)
        if rows > 2:
            c0, c1, c2, c3, c4, c5 = weighted_row(blocks, G, J, b, first, top + 2, first)
        for side in range(2):
            m = nodes.at[first, side]
            if m < 0:
                continue
            A = nodes.A[side]
            for k in range(6):
                X = K[m + k, to : to + 6]
                x = A[top, k]
                y = A[top + 1, k] if rows > 1 else 0.0
                z = A[top + 2, k] if rows > 2 else 0.0
                t0, t1, t2 = x * a0 + y * b0 + z * c0, x * a1 + y * b1 + z * c1, x * a2 + y * b2 + z * c2
                t3, t4, t5 = x * a3 + y * b3 + z * c3, x * a4 + y * b4 + z * c4, x * a5 + y * b5 + z * c5
                t0, t1, t2, t3, t4, t5 = X[0] + t0, X[1] + t1, X[2] + t2, X[3] + t3, X[4] + t4, X[5] + t5
                X[0], X[1], X[2], X[3], X[4], X[5] = t0, t1, t2, t3, t4, t5


@on_demand(NOTHING)
def substitute_nodes(P, b0, b1, c, du):
    """du = A Omega s of the step: what it changes of the velocities."""
    nodes, start = P.nodes, P.blocks.start
    gather_nodes(start, nodes, b0, b1, c, nodes.t)
    for k in range(nodes.info[COUNT]):
        nodes.t[k] *= nodes.scale[k]
    lu_solve(nodes.LU, nodes.info[COUNT], nodes.order, nodes.t)
    respond_nodes(nodes, nodes.t, nodes.s)
    scatter_nodes(nodes, start[b0], start[b1], nodes.s, du)
