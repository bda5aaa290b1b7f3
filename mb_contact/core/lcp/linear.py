# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Dense LU with partial pivoting and a proximal solve for singular consistent systems.

The systems of contact mechanics are small (tens of rows), square and often rank deficient but
consistent: four corners of a box carry one weight.  ``(A + eps I) x_{i+1} = b + eps x_i`` from
``x_0 = 0`` converges to the least-norm solution of ``A x = b`` when A is positive semidefinite.
"""

import numpy as np

from mb_contact.core.jit import kernel, sweep

#: of unsigned indices LLVM sees that they are neighbours, and takes four at once
ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@sweep
def _add_multiple(x, f, y, first, end):
    """``x[first:end] += f y[first:end]``, four at a time."""
    j, end = np.uint64(first), np.uint64(end)
    while j + FOUR <= end:
        t0, t1, t2, t3 = f * y[j], f * y[j + ONE], f * y[j + TWO], f * y[j + THREE]
        t0, t1, t2, t3 = x[j] + t0, x[j + ONE] + t1, x[j + TWO] + t2, x[j + THREE] + t3
        x[j], x[j + ONE], x[j + TWO], x[j + THREE] = t0, t1, t2, t3
        j += FOUR
    while j < end:
        x[j] += f * y[j]
        j += ONE


@sweep
def dot(a, b, first, end):
    """``a[first:end] . b[first:end]`` by four sums that do not wait for each other."""
    s0 = s1 = s2 = s3 = 0.0
    j, end = np.uint64(first), np.uint64(end)
    while j + FOUR <= end:
        s0, s1 = s0 + a[j] * b[j], s1 + a[j + ONE] * b[j + ONE]
        s2, s3 = s2 + a[j + TWO] * b[j + TWO], s3 + a[j + THREE] * b[j + THREE]
        j += FOUR
    while j < end:
        s0 += a[j] * b[j]
        j += ONE
    return (s0 + s1) + (s2 + s3)


@sweep
def _less_four(A, i, k, first, end):
    """Row i of A less multiples of the rows k to k + 3, by the factors that stand in it; columns first <= j < end.

    All of A[i] that is written stays in registers meanwhile, where the four are written out like this.
    """
    k1, k2, k3 = k + ONE, k + TWO, k + THREE
    f0, f1, f2, f3 = A[i, k], A[i, k1], A[i, k2], A[i, k3]
    if f0 == 0.0 and f1 == 0.0 and f2 == 0.0 and f3 == 0.0:
        return
    j = first
    while j + FOUR <= end:
        j1, j2, j3 = j + ONE, j + TWO, j + THREE
        x0, x1, x2, x3 = A[i, j], A[i, j1], A[i, j2], A[i, j3]
        x0, x1, x2, x3 = x0 - f0 * A[k, j], x1 - f0 * A[k, j1], x2 - f0 * A[k, j2], x3 - f0 * A[k, j3]
        x0, x1, x2, x3 = x0 - f1 * A[k1, j], x1 - f1 * A[k1, j1], x2 - f1 * A[k1, j2], x3 - f1 * A[k1, j3]
        x0, x1, x2, x3 = x0 - f2 * A[k2, j], x1 - f2 * A[k2, j1], x2 - f2 * A[k2, j2], x3 - f2 * A[k2, j3]
        x0, x1, x2, x3 = x0 - f3 * A[k3, j], x1 - f3 * A[k3, j1], x2 - f3 * A[k3, j2], x3 - f3 * A[k3, j3]
        A[i, j], A[i, j1], A[i, j2], A[i, j3] = x0, x1, x2, x3
        j += FOUR
    while j < end:
        A[i, j] = A[i, j] - f0 * A[k, j] - f1 * A[k1, j] - f2 * A[k2, j] - f3 * A[k3, j]
        j += ONE


@sweep
def _reduced(A, i, k, first):
    """``A[i, k]`` less what the pivots from ``first`` on take of it, rounded as in rows: equal rows leave zero."""
    x = A[i, k]
    for p in range(first, k):
        x -= A[i, p] * A[p, k]
    return x


@kernel
def lu_factor(A, m, order):
    """Factor the leading m x m block of A in place, ``order`` (m,) records row swaps; False if singular.

    Four pivots at a time: first their columns and rows, then all other rows by the four at once (dense matrices of 48
    rows 5.6 -> 4.1 us, of 300 rows 1.01 -> 0.48 ms).
    """
    size = np.uint64(m)
    for start in range(0, m, 4):
        first = np.uint64(start)
        last = min(first + FOUR, size)
        far = last  # zeros at the ends of rows stay: a banded matrix costs what its band costs
        for k in range(first, last):
            best, largest = k, 0.0
            for i in range(k, size):
                A[i, k] = _reduced(A, i, k, first)
                if abs(A[i, k]) > largest:
                    best, largest = i, abs(A[i, k])
            order[k] = best
            if not largest > 0.0:
                return False
            if best != k:
                for j in range(size):
                    t = A[k, j]
                    A[k, j] = A[best, j]
                    A[best, j] = t
            for p in range(first, k):
                if A[k, p] != 0.0:
                    _add_multiple(A[k], -A[k, p], A[p], k + ONE, far)
            end = size
            while end > far and A[k, end - ONE] == 0.0:
                end -= ONE
            far = end
            inverse = 1.0 / A[k, k]
            for i in range(k + ONE, size):
                A[i, k] *= inverse
        if last == first + FOUR:
            for i in range(last, size):
                _less_four(A, i, first, last, far)
    return True


@kernel
def balance_and_factor(A, m, scale, order):
    """:func:`lu_factor` with each row of A over its largest entry, of which ``scale`` (m,) records the inverses."""
    for i in range(m):
        largest = 0.0
        for j in range(m):
            largest = max(largest, abs(A[i, j]))
        scale[i] = 1.0 / largest
        for j in range(m):
            A[i, j] *= scale[i]
    return lu_factor(A, m, order)


@kernel
def lu_solve(A, m, order, x):
    """Solve in place with the factors of :func:`lu_factor`."""
    for k in range(m):
        t = x[order[k]]
        x[order[k]] = x[k]
        x[k] = t
    for i in range(m):
        x[i] -= dot(A[i], x, 0, i)
    for i in range(m - 1, -1, -1):
        x[i] = (x[i] - dot(A[i], x, i + 1, m)) / A[i, i]


@kernel
def proximal_solve(A, m, eps, LU, order, b, x, step, tolerance, limit):
    """Solve ``A x = b`` (leading m x m) by proximal steps with one factorisation of ``A + eps I``.

    Returns the largest entry of ``|b - A x|``.  ``LU``, ``step`` are workspaces; x starts at zero.
    """
    for i in range(m):
        for j in range(m):
            LU[i, j] = A[i, j]
        LU[i, i] += eps
        x[i] = 0.0
        step[i] = b[i]
    if not lu_factor(LU, m, order):
        return 1e300
    worst = 1e300
    for _ in range(limit):
        lu_solve(LU, m, order, step)
        for i in range(m):
            x[i] += step[i]
        previous = worst
        worst = 0.0
        for i in range(m):
            t = b[i]
            for j in range(m):
                t -= A[i, j] * x[j]
            step[i] = t  # the next step solves (A + eps I) dx = b - A x
            if not abs(t) <= worst:
                worst = abs(t)
        if worst <= tolerance or not worst < 0.5 * previous:
            break
    return worst
