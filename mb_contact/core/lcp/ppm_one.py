# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Principal pivoting method I on a dense tableau (Murty, section 4.1; Cottle, Pang, Stone, section 4.2)."""

from mb_contact.core.arrays import copy
from mb_contact.core.jit import kernel
from mb_contact.core.lcp.linear import lu_factor, lu_solve
from mb_contact.core.lcp.principal_pivoting import PPM_LIMIT, PPM_SINGULAR, PPM_SOLVED


@kernel
def ppm_one(M, q, n, T, x, basic, order, start, count, z, tolerance, limit):
    """PPM I on the leading n x n problem: the first negative basic variable changes places with its complement.

    Ends for every P-matrix (Murty, section 4.1); a pivot that is not positive is reported, not stepped over.

    Parameters
    ----------
    T, x, basic, order : (n, n), (n,), int64 (n,), int64 (n,)
        Workspaces: tableau, basic values, 1 where z is basic.
    start : int64 (>= count,)
        Indices whose z is basic at the start.
    z : (>= n,)
        Output, from the last basis by a fresh factorisation.

    Returns
    -------
    status, pivots : int
    """
    for i in range(n):
        x[i] = q[i]
        basic[i] = 0
        z[i] = 0.0
        copy(n, M[i], T[i])
    for s in range(count):
        if basic[start[s]] == 0 and T[start[s], start[s]] > 1e-12:
            _exchange_with_complement(T, x, n, start[s])
            basic[start[s]] = 1
    status = PPM_LIMIT
    pivots = 0
    while True:
        i = 0
        while i < n and not x[i] < -tolerance:
            i += 1
        if i == n:
            status = PPM_SOLVED
            break
        if pivots == limit:
            break
        if not T[i, i] > 1e-14:
            status = PPM_SINGULAR
            break
        _exchange_with_complement(T, x, n, i)
        basic[i] = 1 - basic[i]
        pivots += 1
    m = 0
    for i in range(n):  # the basis once more from M and q: the tableau has collected rounding
        if basic[i] == 1:
            c = 0
            for j in range(n):
                if basic[j] == 1:
                    T[m, c] = M[i, j]
                    c += 1
            x[m] = -q[i]
            m += 1
    if m > 0 and lu_factor(T, m, order):
        lu_solve(T, m, order, x)
        m = 0
        for i in range(n):
            if basic[i] == 1:
                z[i] = max(x[m], 0.0)
                m += 1
    return status, pivots


@kernel
def _exchange_with_complement(T, x, n, i):
    """Principal pivot: the basic variable of row i and its complement change places."""
    inverse = 1.0 / T[i, i]
    for j in range(n):
        if j == i:
            continue
        f = T[j, i] * inverse
        if f != 0.0:
            for k in range(n):
                T[j, k] -= f * T[i, k]
            x[j] -= f * x[i]
        T[j, i] = f
    for k in range(n):
        T[i, k] *= -inverse
    T[i, i] = inverse
    x[i] *= -inverse
