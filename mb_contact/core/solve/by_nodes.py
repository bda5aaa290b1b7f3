# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The operator by nodes: W = A Omega A* with the velocities of the few bodies that are touched, and Newton steps there.

    (1 + K Omega) s = A* c,    K = A* G A,    dr = c - G A Omega s,

which is the same step as (1 + G W) dr = c with a matrix of as many rows as the nodes have coordinates.
"""

from mb_contact.core.jit import NOTHING, TRUTH, on_demand, sweep
from mb_contact.core.lcp.linear import balance_and_factor, lu_solve
from mb_contact.core.solve.laws import friction_group

COUNT, LEFT, SIZE, FOLLOWERS, GONE, WAITED = range(6)  #: entries of Nodes.info


@sweep
def gather_nodes(nodes, first, last, x, t):
    """t = A* x."""
    A = nodes.A
    for k in range(nodes.info[COUNT] + 6):
        t[k] = 0.0
    for i in range(first, last):
        for side in range(2):
            at = nodes.at[i, side]
            if at >= 0:
                for k in range(6):
                    t[at + k] += A[i, 6 * side + k] * x[i]


@sweep
def scatter_nodes(nodes, first, last, s, u):
    """u = A s."""
    A = nodes.A
    for i in range(first, last):
        x = 0.0
        for side in range(2):
            at = nodes.at[i, side]
            if at >= 0:
                k = 6 * side
                x += (
                    A[i, k] * s[at] + A[i, k + 1] * s[at + 1] + A[i, k + 2] * s[at + 2]
                    + (A[i, k + 3] * s[at + 3] + A[i, k + 4] * s[at + 4] + A[i, k + 5] * s[at + 5])
                )  # fmt: skip
        u[i] = x


@sweep
def respond_nodes(nodes, t, s):
    """s = Omega t."""
    count = nodes.info[COUNT]
    for k in range(count + 6):
        s[k] = 0.0
    for j in range(count):
        x = t[j]
        for k in range(count):
            s[k] += nodes.Omega[j, k] * x


@on_demand(NOTHING)
def apply_nodes(P, first, last, x, y):
    """y = W x."""
    nodes = P.nodes
    gather_nodes(nodes, first, last, x, nodes.t)
    respond_nodes(nodes, nodes.t, nodes.s)
    scatter_nodes(nodes, first, last, nodes.s, y)


@on_demand(TRUTH)
def factor_nodes(P, b0, b1):
    """LU factors of 1 + K Omega, each row over its largest entry; False where it is singular."""
    blocks, nodes, G = P.blocks, P.nodes, P.work.G
    count, K, A = nodes.info[COUNT], nodes.stiff, nodes.LU
    for i in range(count + 6):
        for j in range(count + 6):
            K[i, j] = 0.0
    for b in range(b0, b1):
        _add_block(blocks, nodes, G, K, b)
    for i in range(count):
        for j in range(count):
            A[i, j] = 0.0
        A[i, i] = 1.0
        for k in range(count):
            x = K[i, k]
            if x != 0.0:
                for j in range(count):
                    A[i, j] += x * nodes.Omega[k, j]
    return balance_and_factor(A, count, nodes.scale, nodes.order)


@sweep
def _add_block(blocks, nodes, G, K, b):
    """A* G A of one block onto K; its rows have the same nodes."""
    first = blocks.start[b]
    A = nodes.A
    for row in range(first, blocks.start[b + 1]):
        g0, g1, g2 = G[row, 0], G[row, 1], G[row, 2]
        if g0 == 0.0 and g1 == 0.0 and g2 == 0.0:
            continue
        at, size = friction_group(blocks, b, row)
        last = at + 1 if size == 2 else at
        for other in range(2):
            to = nodes.at[row, other]
            if to < 0:
                continue
            o = 6 * other
            w0 = g0 * A[first, o] + g1 * A[at, o] + g2 * A[last, o]
            w1 = g0 * A[first, o + 1] + g1 * A[at, o + 1] + g2 * A[last, o + 1]
            w2 = g0 * A[first, o + 2] + g1 * A[at, o + 2] + g2 * A[last, o + 2]
            w3 = g0 * A[first, o + 3] + g1 * A[at, o + 3] + g2 * A[last, o + 3]
            w4 = g0 * A[first, o + 4] + g1 * A[at, o + 4] + g2 * A[last, o + 4]
            w5 = g0 * A[first, o + 5] + g1 * A[at, o + 5] + g2 * A[last, o + 5]
            for side in range(2):
                m = nodes.at[row, side]
                if m < 0:
                    continue
                for k in range(6):
                    x = A[row, 6 * side + k]
                    K[m + k, to] += x * w0
                    K[m + k, to + 1] += x * w1
                    K[m + k, to + 2] += x * w2
                    K[m + k, to + 3] += x * w3
                    K[m + k, to + 4] += x * w4
                    K[m + k, to + 5] += x * w5


@on_demand(NOTHING)
def substitute_nodes(P, first, last, c, du):
    """du = A Omega s of the step: what it changes of the velocities."""
    nodes = P.nodes
    gather_nodes(nodes, first, last, c, nodes.t)
    for k in range(nodes.info[COUNT]):
        nodes.t[k] *= nodes.scale[k]
    lu_solve(nodes.LU, nodes.info[COUNT], nodes.order, nodes.t)
    respond_nodes(nodes, nodes.t, nodes.s)
    scatter_nodes(nodes, first, last, nodes.s, du)
