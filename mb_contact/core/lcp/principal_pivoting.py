# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Drumwright's modified principal pivoting method (D15 algorithm 1); PPM I is in ``ppm_one.py``.

    w = F z + e,   w >= 0,   z >= 0,   w* z = 0

It is for F = N (A^-1)_11 N*, symmetric and positive semidefinite of rank at most m: its active set never
holds dependent columns, so it never holds more than m (theorem 1 of D15); F is asked for column by column,
only where an index becomes active, and the Cholesky factor of the active block is updated, never recomputed:

    a column      n values, from whoever knows F (``ppm_next`` says which)
    add, remove   O(m^2) by one triangular solve or by Givens rotations
    z, w          O(m^2) + O(m n)

Algorithm 1 as printed cycles on some problems.  It is deterministic in the active set, so a set that
comes back is a cycle; from there the monotone rule of Lawson and Hanson (ratio test, the energy
1/2 z* F z + e* z falls at every step) goes on, which cannot cycle.  Where an index depends on the active
set, its column is exchanged along the direction that changes no w; if nothing bounds that direction, the
problem has no solution and is called a ray.
"""

from mb_contact.core.arrays import copy, fill
from mb_contact.core.jit import kernel
from mb_contact.core.lcp.active_factor import (
    ACTIVE,
    DROP,
    PIVOTS,
    RAY,
    RULE,
    SEEN,
    append,
    back_substitute,
    copy_column,
    remove,
    solve_active,
)

PPM_SOLVED = -1  # what ppm_next returns when it asks for no further column
PPM_RAY = -2
PPM_LIMIT = -3
PPM_SINGULAR = -4  # PPM I: a pivot that is not positive, so M is no P-matrix
ALGORITHM_1 = 0
MONOTONE = 1
LEAST_INDEX = 2
NOISE = 300.0  # times the tolerance: what w of a dependent index must be below to count


@kernel
def ppm_reset(n, work):
    """Empty active set, Algorithm 1's rule."""
    fill(work.info.shape[0], work.info, 0)
    work.info[DROP] = -1
    for s in range(work.slot.shape[0]):
        work.slot[s] = s
    for i in range(n):
        work.is_active[i] = 0
        work.refused[i] = 0


@kernel
def ppm_next(e, n, tolerance, limit, work):
    """Pivot until another column of F is needed; returns its index, or PPM_SOLVED, PPM_RAY, PPM_LIMIT.

    Write the column into ``work.columns[work.slot[work.info[ACTIVE]], :n]``, call ``ppm_add`` and come back.
    """
    while work.info[PIVOTS] <= limit:
        if work.info[RAY] != 0:
            return PPM_RAY
        work.info[DROP] = -1
        if work.info[RULE] != ALGORITHM_1:
            if not _monotone(e, tolerance, work):
                continue
        else:
            solve_active(e, work.target, work)
            copy(work.info[ACTIVE], work.target, work.z)
        i = _most_negative(e, n, tolerance, work)
        if work.info[RULE] != ALGORITHM_1:
            return i if i >= 0 else PPM_SOLVED
        j = 0
        for s in range(1, work.info[ACTIVE]):  # lines 17, 34
            if work.z[s] < work.z[j]:
                j = s
        negative = work.info[ACTIVE] > 0 and work.z[j] < -tolerance
        if i >= 0:
            work.info[DROP] = j if negative else -1
            return i
        if not negative:
            return PPM_SOLVED
        remove(j, work)
        if not _is_new(work):
            _go_monotone(e, tolerance, work)
    return PPM_LIMIT


@kernel
def ppm_add(i, e, tolerance, work):
    """Make index i active, its column stands in the first free slot; lines 32-38 of Algorithm 1."""
    if work.info[DROP] >= 0:
        remove(work.info[DROP], work)
    if append(i, work):
        if work.info[RULE] == ALGORITHM_1:
            if not _is_new(work):
                _go_monotone(e, tolerance, work)
        elif not _is_new(work):
            work.info[RULE] = LEAST_INDEX
            work.info[SEEN] = 0
        return
    if work.info[RULE] == ALGORITHM_1:
        _go_monotone(e, tolerance, work)  # it depends on the active ones: choose again, with a ratio test
        return
    _exchange(i, tolerance, work)


@kernel
def ppm_scatter(n, z, work):
    """z (n,) of the whole problem; entries below zero by rounding are cut off."""
    fill(n, z, 0.0)
    for s in range(work.info[ACTIVE]):
        z[work.active[s]] = max(work.z[s], 0.0)


@kernel
def _monotone(e, tolerance, work):
    """Go towards the target until it is feasible; False when a position had to leave."""
    x = work.target
    solve_active(e, x, work)
    k = work.info[ACTIVE]
    step = 1.0
    leave = -1
    for s in range(k):
        if x[s] < -tolerance and x[s] < work.z[s]:
            ratio = work.z[s] / (work.z[s] - x[s])
            if leave < 0 or ratio < step or (ratio == step and work.active[s] < work.active[leave]):
                step = ratio
                leave = s
    if leave < 0:
        for s in range(k):
            work.z[s] = max(x[s], 0.0)
        return True
    for s in range(k):
        work.z[s] = max(work.z[s] + step * (x[s] - work.z[s]), 0.0)
    if step > 0.0:
        fill(work.refused.shape[0], work.refused, 0)
    elif leave == k - 1:
        work.refused[work.active[leave]] = 1  # it came in by rounding alone
    remove(leave, work)
    return False


@kernel
def _exchange(i, tolerance, work):
    """Index i depends on the active ones: move along the direction that changes no w until one leaves."""
    d = work.target
    k = work.info[ACTIVE]
    if work.w[i] >= -NOISE * tolerance:
        work.refused[i] = 1  # it came in by rounding alone
        return
    for s in range(k):
        d[s] = -work.l[s]
    back_substitute(work.L, k, d)
    step = 0.0
    leave = -1
    for s in range(k):
        if d[s] < 0.0:
            ratio = -work.z[s] / d[s]
            if leave < 0 or ratio < step or (ratio == step and work.active[s] < work.active[leave]):
                step = ratio
                leave = s
    if leave < 0:
        work.info[RAY] = 1
        return
    for s in range(k):
        work.z[s] = max(work.z[s] + step * d[s], 0.0)
    remove(leave, work)
    if not append(i, work):
        work.refused[i] = 1
        return
    work.z[k - 1] = step
    if not _is_new(work):
        work.info[RULE] = LEAST_INDEX
        work.info[SEEN] = 0


@kernel
def _go_monotone(e, tolerance, work):
    """Change the rule; the start is the largest part of the active set whose z is not negative."""
    work.info[RULE] = MONOTONE
    work.info[SEEN] = 0
    while True:
        solve_active(e, work.z, work)
        least = 0.0
        leave = -1
        for s in range(work.info[ACTIVE]):
            if work.z[s] < least:
                least = work.z[s]
                leave = s
        if leave < 0:
            return
        if least > -tolerance:
            work.z[leave] = 0.0
            for s in range(work.info[ACTIVE]):
                work.z[s] = max(work.z[s], 0.0)
            return
        remove(leave, work)


@kernel
def _is_new(work):
    """Remember the active set (a hash of it); False if it was there before, or memory is full."""
    key = 0
    for s in range(work.info[ACTIVE]):
        x = (work.active[s] + 1) * 2654435769 & 0x7FFFFFFF
        x = ((x ^ (x >> 15)) * 2246822519) & 0x7FFFFFFF
        key += ((x ^ (x >> 13)) * 3266489917) & 0x3FFFFFFFFFFFFF
        key &= 0x3FFFFFFFFFFFFF
    count = work.info[SEEN]
    for j in range(count):
        if work.seen[j] == key:
            return False
    if count == work.seen.shape[0]:
        return False
    work.seen[count] = key
    work.info[SEEN] = count + 1
    return True


@kernel
def _most_negative(e, n, tolerance, work):
    """w = F z + e (lines 13-15) and its most negative entry, or -1; the first one under LEAST_INDEX."""
    copy(n, e, work.w)
    for s in range(work.info[ACTIVE]):
        x = work.z[s]
        if x != 0.0:
            t = work.slot[s]
            for i in range(n):
                work.w[i] += work.columns[t, i] * x
    best = -1
    least = -tolerance
    for i in range(n):
        if work.w[i] < least and work.is_active[i] == 0 and work.refused[i] == 0:
            best = i
            least = work.w[i]
            if work.info[RULE] == LEAST_INDEX:
                break
    return best


@kernel
def modified_ppm(F, e, n, start, count, z, tolerance, limit, work):
    """Solve the leading n x n problem with a symmetric positive semidefinite F.

    Parameters
    ----------
    F, e : (>= n, >= n), (>= n,)
    start : int64 (>= count,)
        Indices to begin with (warm start); dependent ones are passed over.
    z : (>= n,)
        Output.
    tolerance : float
        How far below zero z and w may be.
    limit : int
        Most pivots.
    work : PpmWork

    Returns
    -------
    status : int
        PPM_SOLVED, PPM_RAY or PPM_LIMIT.
    """
    ppm_reset(n, work)
    for i in range(n):
        work.weight[i] = F[i, i]
    for s in range(count):
        if work.is_active[start[s]] == 0:
            copy_column(F, n, start[s], work)
            append(start[s], work)
    work.info[PIVOTS] = 0
    while True:
        i = ppm_next(e, n, tolerance, limit, work)
        if i < 0:
            break
        copy_column(F, n, i, work)
        ppm_add(i, e, tolerance, work)
    ppm_scatter(n, z, work)
    return i
