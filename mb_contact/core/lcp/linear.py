# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Dense LU with partial pivoting and a proximal solve for singular consistent systems.

The systems of contact mechanics are small (tens of rows), square and often rank deficient but
consistent: four corners of a box carry one weight.  ``(A + eps I) x_{i+1} = b + eps x_i`` from
``x_0 = 0`` converges to the least-norm solution of ``A x = b`` when A is positive semidefinite.
"""

import numpy as np

from mb_contact.core.jit import kernel, sweep

ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)


@sweep
def four(j):
    """j and the three that follow: of unsigned indices LLVM sees that they are neighbours, and takes them at once."""
    j = np.uint64(j)
    return j, j + ONE, j + TWO, j + THREE


@sweep
def _add_row(A, i, f, k, first, end):
    """``A[i, first:end] += f A[k, first:end]``, four at a time."""
    rest = end - (end - first) % 4
    for j in range(first, rest, 4):
        j0, j1, j2, j3 = four(j)
        t0, t1, t2, t3 = f * A[k, j0], f * A[k, j1], f * A[k, j2], f * A[k, j3]
        t0, t1, t2, t3 = A[i, j0] + t0, A[i, j1] + t1, A[i, j2] + t2, A[i, j3] + t3
        A[i, j0], A[i, j1], A[i, j2], A[i, j3] = t0, t1, t2, t3
    for j in range(rest, end):
        A[i, j] += f * A[k, j]


@sweep
def dot(a, b, first, end):
    """``a[first:end] . b[first:end]`` by four sums that do not wait for each other."""
    s0 = s1 = s2 = s3 = 0.0
    rest = end - (end - first) % 4
    for j in range(first, rest, 4):
        j0, j1, j2, j3 = four(j)
        s0, s1, s2, s3 = s0 + a[j0] * b[j0], s1 + a[j1] * b[j1], s2 + a[j2] * b[j2], s3 + a[j3] * b[j3]
    for j in range(rest, end):
        s0 += a[j] * b[j]
    return (s0 + s1) + (s2 + s3)


@kernel
def lu_factor(A, m, order):
    """Factor the leading m x m block of A in place, ``order`` (m,) records row swaps; False if singular."""
    for k in range(m):
        best = k
        size = abs(A[k, k])
        for i in range(k + 1, m):
            if abs(A[i, k]) > size:
                size = abs(A[i, k])
                best = i
        order[k] = best
        if not size > 0.0:
            return False
        if best != k:
            for j in range(m):
                t = A[k, j]
                A[k, j] = A[best, j]
                A[best, j] = t
        inverse = 1.0 / A[k, k]
        end = m  # zeros at the end of the row stay: a banded matrix costs what its band costs
        while end > k + 1 and A[k, end - 1] == 0.0:
            end -= 1
        for i in range(k + 1, m):
            f = A[i, k] * inverse
            A[i, k] = f
            if f != 0.0:
                _add_row(A, i, -f, k, k + 1, end)
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
