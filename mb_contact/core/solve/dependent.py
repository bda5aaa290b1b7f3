# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Equality rows that nearly follow from others, as without slip: what D15's algorithm 2 does, for ``newton.py``.

Points of one sole that differ in height by micrometres have tangents of which each follows from the others but for
1e-9 of its compliance.  Obeyed to the letter they forbid the sole to tip, with impulses that throw a robot up, and
Newton steps do not converge.  A pivoted Cholesky factor of W among the equality rows tells what each has of its own,

    W_EE = D L L* D,    a row with less than OWN of its compliance left is  a* the rows before it,

and such rows are made to follow exactly, in W and in the velocities.  Redundant rows go on sharing their impulses; the
certificate measures what they were asked for (``certify_step``).
"""

import numpy as np

from mb_contact.core.jit import NOTHING, kernel, on_demand
from mb_contact.core.solve.system import EQUALITY, ISLANDS

OWN = 1e-7  #: part of a row's compliance; 400 Newton steps do not solve all problems of a walking robot with 1e-9


@on_demand(NOTHING)
def tie_rows(P):
    """Tie the equality rows of the posed system, BY_ROWS; ``P.tied`` has their number."""
    P.tied[0], at = 0, 0
    for i in range(P.count[ISLANDS]):
        P.segment[i] = at
        for b in range(P.island[i], P.island[i + 1]):
            n = P.blocks.start[b]
            if P.blocks.kind[b] == EQUALITY and P.blocks.mu[n] == 0.0 and P.immobile[n] == 0:
                P.order[at] = n
                at += 1
        P.rank[i] = _factor(P, P.segment[i], at)
        P.tied[0] += at - P.rank[i]
        if P.rank[i] < at:
            _coefficients(P, P.segment[i], P.rank[i], at)
            _merge(P, P.segment[i], P.rank[i], at, P.blocks.start[P.island[i]], P.blocks.start[P.island[i + 1]])
    P.segment[P.count[ISLANDS]] = at


@on_demand(NOTHING)
def tie_velocities(P):
    """q of the rows that follow, from those that they follow."""
    for i in range(P.count[ISLANDS]):
        for k in range(P.rank[i], P.segment[i + 1]):
            x = 0.0
            for j in range(P.segment[i], P.rank[i]):
                x += P.follow[k, j] * P.q[P.order[j]]
            P.q[P.order[k]] = x


@kernel
def _factor(P, first, last):
    """L of the rows ``P.order[first:last]``, whose order becomes that of the pivots; the end of those with a pivot."""
    order, L, left = P.order, P.follow, P.left
    for k in range(first, last):
        left[k] = 1.0
    rank = first
    while rank < last:
        best = rank
        for k in range(rank + 1, last):
            if left[k] > left[best]:
                best = k
        if not left[best] >= OWN:
            break
        order[rank], order[best] = order[best], order[rank]
        left[rank], left[best] = left[best], left[rank]
        for j in range(first, rank):
            L[rank, j], L[best, j] = L[best, j], L[rank, j]
        L[rank, rank] = np.sqrt(left[rank])
        a = P.source[order[rank]]
        for k in range(rank + 1, last):
            b = P.source[order[k]]
            x = P.W[b, a] / np.sqrt(P.W[a, a] * P.W[b, b])
            for j in range(first, rank):
                x -= L[k, j] * L[rank, j]
            L[k, rank] = x / L[rank, rank]
            left[k] -= L[k, rank] * L[k, rank]
        rank += 1
    return rank


@kernel
def _coefficients(P, first, rank, last):
    """By which combination of those before it each row from ``rank`` on follows, in place of its row of L."""
    order, L = P.order, P.follow
    for k in range(rank, last):
        b = P.source[order[k]]
        for j in range(rank - 1, first - 1, -1):
            x = L[k, j]
            for i in range(j + 1, rank):
                x -= L[k, i] * L[i, j]
            L[k, j] = x / L[j, j]
        for j in range(first, rank):
            a = P.source[order[j]]
            L[k, j] *= np.sqrt(P.W[b, b] / P.W[a, a])


@kernel
def _merge(P, first, rank, last, top, end):
    """Rows and columns of W of the rows that follow; ``top`` and ``end`` are the rows of their island."""
    for i in range(top, end):
        P.follower[i] = 0
    for k in range(rank, last):
        P.follower[P.order[k]] = 1
    for among in range(2):  # beside all others, then among themselves
        for k in range(rank, last):
            b = P.source[P.order[k]]
            for i in range(top, end):
                if P.follower[i] != among:
                    continue
                c, x = P.source[i], 0.0
                for j in range(first, rank):
                    x += P.follow[k, j] * P.W[P.source[P.order[j]], c]
                P.W[b, c] = x
                P.W[c, b] = x
