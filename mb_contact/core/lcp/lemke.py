# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Lemke's algorithm with the lexicographic ratio test, for dense linear complementarity problems.

    w = M z + q,   w >= 0,   z >= 0,   w* z = 0        (Murty, chapter 2; Cottle, Pang, Stone 4.4)

The tableau holds the columns of w (its inverse basis, which the lexicographic test reads), z, the
artificial variable z_0 with covering vector e, and the right-hand side.
"""

from __future__ import annotations

from mb_contact.core.arrays import fill
from mb_contact.core.jit import kernel

LEMKE_SOLVED = 0
LEMKE_RAY = 1
LEMKE_LIMIT = 2


@kernel
def lemke(M, q, n, T, basis, z, limit):
    """Solve the leading n x n problem; returns (LEMKE_* status, pivots).

    Parameters
    ----------
    M, q : (>= n, >= n), (>= n,)
    T : (>= n, >= 2 n + 2)
        Workspace of the tableau.
    basis : int64 (>= n,)
        Workspace: 0 ... n-1 for w, n ... 2n-1 for z, 2n for z_0.
    z : (>= n,)
        Output.
    """
    fill(n, z, 0.0)
    enter_row = -1
    least = 0.0
    for i in range(n):
        if q[i] < least:
            least = q[i]
            enter_row = i
    if enter_row < 0:
        return LEMKE_SOLVED, 0
    right = 2 * n + 1
    for i in range(n):
        for j in range(n):
            T[i, j] = 0.0
            T[i, n + j] = -M[i, j]
        T[i, i] = 1.0
        T[i, 2 * n] = -1.0
        T[i, right] = q[i]
        basis[i] = i
    # ties in the first pivot: the last index keeps every row lexicographically positive
    for i in range(n):
        if q[i] == least:
            enter_row = i
    leaving = basis[enter_row]
    _pivot(T, n, right, enter_row, 2 * n)
    basis[enter_row] = 2 * n
    pivots = 1
    while pivots < limit:
        entering = leaving + n if leaving < n else leaving - n
        row = _ratio_test(T, n, right, entering, basis)
        if row < 0:
            return LEMKE_RAY, pivots
        leaving = basis[row]
        _pivot(T, n, right, row, entering)
        basis[row] = entering
        pivots += 1
        if leaving == 2 * n:
            for i in range(n):
                if basis[i] >= n and basis[i] < 2 * n:
                    z[basis[i] - n] = max(T[i, right], 0.0)
            return LEMKE_SOLVED, pivots
    return LEMKE_LIMIT, pivots


@kernel
def _pivot(T, n, right, row, column):
    inverse = 1.0 / T[row, column]
    for j in range(right + 1):
        T[row, j] *= inverse
    T[row, column] = 1.0
    for i in range(n):
        if i != row:
            f = T[i, column]
            if f != 0.0:
                for j in range(right + 1):
                    T[i, j] -= f * T[row, j]
                T[i, column] = 0.0


@kernel
def _ratio_test(T, n, right, column, basis):
    """Row of the lexicographically least ratio, z_0 first among ties; -1 when the column is a ray."""
    tiny = 1e-11
    best = -1
    for i in range(n):
        if T[i, column] <= tiny:
            continue
        if best < 0 or _lex_less(T, n, right, column, i, best, basis):
            best = i
    return best


@kernel
def _lex_less(T, n, right, column, i, k, basis):
    """Whether row i's ratio vector is lexicographically smaller than row k's."""
    a = T[i, column]
    b = T[k, column]
    x = T[i, right] / a
    y = T[k, right] / b
    slack = 1e-12 * max(1.0, abs(x))
    if x < y - slack:
        return True
    if x > y + slack:
        return False
    if basis[i] == 2 * n:
        return True
    if basis[k] == 2 * n:
        return False
    for j in range(n):
        x = T[i, j] / a
        y = T[k, j] / b
        if x < y - 1e-12:
            return True
        if x > y + 1e-12:
            return False
    return i < k
