# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Lemke's algorithm for dense problems on a dictionary: half the work of a tableau with the basic columns.

    w = M z + d z_0 + q,   w >= 0,   z >= 0,   z_0 >= 0,   w* z = 0        (Cottle, Pang, Stone 4.4; Murty, chapter 2)

Only nonbasic columns are stored; a pivot exchanges a row's and a column's variable in place.  The lexicographic ratio
test reads the inverse basis: the column of w_k is column ``place[k]`` if w_k is nonbasic, else a unit vector.
"""

import numpy as np

from mb_contact.core.arrays import copy
from mb_contact.core.jit import kernel

LEMKE_SOLVED = 0
LEMKE_RAY = 1
LEMKE_LIMIT = 2

TINY = 1e-11  # least pivot
TIE = 1e-12  # of the ratio


def make_lemke_work(n):
    """Workspaces of :func:`lemke` for n unknowns: T, line, basis, nonbasis, place."""
    basis, nonbasis, place = np.zeros(n, np.int64), np.zeros(n + 1, np.int64), np.zeros(n, np.int64)
    return np.zeros((n, n + 2)), np.zeros(n + 2), basis, nonbasis, place


@kernel
def lemke(M, q, d, n, T, line, basis, nonbasis, place, z, limit):
    """Solve the leading n x n problem; returns (LEMKE_* status, pivots).

    Parameters
    ----------
    M, q : (>= n, >= n), (>= n,)
    d : (>= n,)
        Covering vector, positive.
    T : (>= n, >= n + 2)
        Workspace: nonbasic columns, then the right-hand side.
    line : (>= n + 2,)
        Workspace: the pivot row, apart from T so that the inner loop is known not to overlap.
    basis, nonbasis, place : int64 (>= n,), (>= n + 1,), (>= n,)
        Workspaces; variables are 0 ... n-1 for w, n ... 2n-1 for z, 2n for z_0; ``place`` is the column of w_k,
        or -1 - (its row) while it is basic.
    z : (>= n,)
        Output; zero unless solved.
    """
    for i in range(n):
        for j in range(n):
            T[i, j] = -M[i, j]
        T[i, n] = -d[i]
        T[i, n + 1] = q[i]
    return pivot(n, T, line, basis, nonbasis, place, z, limit)


@kernel
def pivot(n, T, line, basis, nonbasis, place, z, limit):
    """:func:`lemke` on a dictionary T = (-M, -d, q) of n rows, which is overwritten."""
    row = -1
    for i in range(n):
        z[i] = 0.0
        # ties in the first pivot: the last index keeps every row lexicographically positive
        if T[i, n + 1] < 0.0 and (row < 0 or T[i, n + 1] / T[i, n] >= T[row, n + 1] / T[row, n]):
            row = i
    if row < 0:
        return LEMKE_SOLVED, 0
    for i in range(n):
        basis[i] = i
        nonbasis[i] = n + i
        place[i] = -1 - i
    nonbasis[n] = 2 * n
    column = n
    pivots = 0
    while pivots < limit:
        leaving = basis[row]
        _exchange(T, line, n, row, column)
        _swap(n, row, column, basis, nonbasis, place)
        pivots += 1
        if leaving == 2 * n:
            for i in range(n):
                if basis[i] >= n:
                    z[basis[i] - n] = max(T[i, n + 1], 0.0)
            return LEMKE_SOLVED, pivots
        entering = leaving + n if leaving < n else leaving - n
        for j in range(n + 1):
            if nonbasis[j] == entering:
                column = j
        row = _ratio_test(T, n, column, basis, place)
        if row < 0:
            return LEMKE_RAY, pivots
    return LEMKE_LIMIT, pivots


@kernel
def _exchange(T, line, n, row, column):
    inverse = 1.0 / T[row, column]
    for j in range(n + 2):
        line[j] = T[row, j] * inverse
    line[column] = inverse
    for i in range(n):
        f = T[i, column]
        if f != 0.0:
            T[i, column] = 0.0
            for j in range(n + 2):
                T[i, j] -= f * line[j]
    copy(n + 2, line, T[row])


@kernel
def _swap(n, row, column, basis, nonbasis, place):
    leaving = basis[row]
    entering = nonbasis[column]
    basis[row] = entering
    nonbasis[column] = leaving
    if leaving < n:
        place[leaving] = column
    if entering < n:
        place[entering] = -1 - row


@kernel
def _ratio_test(T, n, column, basis, place):
    """Row of the lexicographically least ratio, z_0 first among ties; -1 when the column is a ray."""
    best = -1
    for i in range(n):
        if T[i, column] > TINY and (best < 0 or _less(T, n, column, i, best, basis, place)):
            best = i
    return best


@kernel
def _less(T, n, column, i, k, basis, place):
    """Whether row i's ratio vector is lexicographically smaller than row k's."""
    a = T[i, column]
    b = T[k, column]
    x = T[i, n + 1] / a
    y = T[k, n + 1] / b
    slack = TIE * max(1.0, abs(x))
    if x < y - slack:
        return True
    if x > y + slack:
        return False
    if basis[i] == 2 * n:
        return True
    if basis[k] == 2 * n:
        return False
    for j in range(n):
        c = place[j]
        if c >= 0:
            x = T[i, c] / a
            y = T[k, c] / b
        else:
            x = 1.0 / a if -1 - c == i else 0.0
            y = 1.0 / b if -1 - c == k else 0.0
        if x < y - TIE:
            return True
        if x > y + TIE:
            return False
    return i < k
