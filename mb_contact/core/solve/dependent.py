# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rows that nearly follow from the equality rows, as without slip: what D15's algorithm 2 does, for ``newton.py``.

Points of one sole that differ in height by micrometres have tangents of which each follows from the others but for
1e-9 of its compliance.  Obeyed to the letter they forbid the sole to tip, with impulses that throw a robot up, and
Newton steps do not converge.  A pivoted Cholesky factor of W among the equality rows E tells what each has of its own,
and by a forward substitution what it leaves of the row of a limit or of a contact's normal,

    W_EE = D L L* D,    W_ii - |L^-1 D^-1 W_Ei|^2.

A row with less than OWN of its compliance left gets no impulse and is asked nothing: it is tied to the others.  These
are obeyed as they are, and the certificate measures what tied rows were asked for (``certify_step``).
"""

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.jit import NOTHING, kernel, on_demand
from mb_contact.core.solve.system import ISLANDS
from mb_contact.core.workspace import EQUALITY, UNILATERAL

OWN = 1e-7  #: part of a row's compliance; 400 Newton steps do not solve all problems of a walking robot with 1e-9


@on_demand(NOTHING)
def tie_rows(P):
    """Tie the rows of the posed system, BY_ROWS, that follow from its equality rows; ``P.tied`` has their number."""
    P.tied[0] = 0
    for i in range(P.count[ISLANDS]):
        count = 0
        for b in range(P.island[i], P.island[i + 1]):
            n = P.blocks.start[b]
            if P.blocks.kind[b] == EQUALITY and P.blocks.mu[n] == 0.0 and P.immobile[n] == 0:
                P.order[count] = n
                count += 1
        rank = _factor(P, count)
        for k in range(rank, count):
            _tie(P, P.order[k], P.island[i], P.island[i + 1])
            P.blocks.mu[P.order[k]] = P.blocks.D[P.order[k]]  # any impulse would fulfil it: none
        for b in range(P.island[i], P.island[i + 1]):
            n = P.blocks.start[b]
            if P.blocks.kind[b] == UNILATERAL and P.immobile[n] == 0 and rank > 0 and not _own_part(P, n, rank) >= OWN:
                _tie(P, n, P.island[i], P.island[i + 1])


@kernel
def _factor(P, count):
    """L of the rows ``P.order[:count]``, whose order becomes that of the pivots; the number of those with a pivot."""
    order, L, left = P.order, P.factor, P.left
    fill(count, left, 1.0)
    for rank in range(count):
        best = rank
        for k in range(rank + 1, count):
            if left[k] > left[best]:
                best = k
        if not left[best] >= OWN:
            return rank
        order[rank], order[best] = order[best], order[rank]
        left[rank], left[best] = left[best], left[rank]
        for j in range(rank):
            L[rank, j], L[best, j] = L[best, j], L[rank, j]
        L[rank, rank] = np.sqrt(left[rank])
        a = P.source[order[rank]]
        for k in range(rank + 1, count):
            b = P.source[order[k]]
            x = P.W[b, a] / np.sqrt(P.W[a, a] * P.W[b, b])
            for j in range(rank):
                x -= L[k, j] * L[rank, j]
            L[k, rank] = x / L[rank, rank]
            left[k] -= L[k, rank] * L[k, rank]
    return count


@kernel
def _own_part(P, row, rank):
    """What the first ``rank`` equality rows leave of the compliance of a row, as a part of it."""
    b, left = P.source[row], 1.0
    for k in range(rank):
        a = P.source[P.order[k]]
        x = P.W[b, a] / np.sqrt(P.W[a, a] * P.W[b, b])
        for j in range(k):
            x -= P.factor[k, j] * P.left[j]
        P.left[k] = x / P.factor[k, k]
        left -= P.left[k] * P.left[k]
    return left


@kernel
def _tie(P, row, b0, b1):
    """Leave a row of the island of blocks b0 to b1 without impulse and without demand."""
    b = P.source[row]
    for i in range(P.blocks.start[b0], P.blocks.start[b1]):
        P.W[b, P.source[i]] = P.W[P.source[i], b] = 0.0
    P.follower[row] = P.immobile[row] = 1
    P.tied[0] += 1
