# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Block principal pivoting for linear complementarity with bounds (Kostreva 1978; Judice and Pires 1994).

    w = M z + q,      lower <= z <= upper,      w >= 0 where z = lower,  w <= 0 where z = upper,  w = 0 between

A state says where each z is; one linear solve tests all of them and every violated one is changed at once.  When the
number of violations has not fallen for a while, only the one of the highest index is changed (Murty's rule), which
ends for every P-matrix.  Started from the states of the last time step it usually takes one solve.
"""

from mb_contact.core.jit import kernel
from mb_contact.core.lcp.linear import lu_factor, lu_solve, proximal_solve

AT_LOWER = -1
BETWEEN = 0
AT_UPPER = 1
BLOCK_PATIENCE = 5  #: block changes without fewer violations before single ones
REGULARISATION = 1e-8  #: of the mean diagonal, where the basis is singular


@kernel
def box_pivot(M, q, lower, upper, n, state, work, z, w, limit):
    """Solve from the states in ``state``; returns (whether no state is violated, linear solves).

    Parameters
    ----------
    M, q, lower, upper : the leading n rows; bounds may be infinite
    state : int64 (>= n,)
        In and out; a row without the bound its state names is taken as BETWEEN.
    work : A, LU (>= n, >= n); order, index int64 (>= n,); b, x, step (>= n,)
        Workspaces.
    z, w : (>= n,)
        Output, w recomputed as M z + q.
    """
    A, LU, order, index, b, x, step = work
    size = 0.0
    scale = 0.0
    for i in range(n):
        size = max(size, abs(q[i]))
        scale += abs(M[i, i]) / n
    tol_w = 1e-12 * size
    fewest = n + 1
    patience = BLOCK_PATIENCE
    for iteration in range(limit):
        m = _basis(lower, upper, n, state, index, z)
        for a in range(m):
            i = index[a]
            t = -q[i]
            for j in range(n):
                if state[j] != BETWEEN:
                    t -= M[i, j] * z[j]
            b[a] = t
            x[a] = t
            for c in range(m):
                A[a, c] = M[i, index[c]]
                LU[a, c] = A[a, c]
        _solve(A, LU, order, b, x, step, m, scale, tol_w)
        for a in range(m):
            z[index[a]] = x[a]
        for i in range(n):
            t = q[i]
            for j in range(n):
                t += M[i, j] * z[j]
            w[i] = t
        violated = 0
        for i in range(n):
            if _wanted(lower, upper, state, z, w, i, tol_w, scale) != state[i]:
                violated += 1
        if violated == 0:
            return True, iteration + 1
        if violated < fewest:
            fewest = violated
            patience = BLOCK_PATIENCE
        else:
            patience -= 1
        for i in range(n - 1, -1, -1):
            wanted = _wanted(lower, upper, state, z, w, i, tol_w, scale)
            if wanted != state[i]:
                state[i] = wanted
                if patience < 0:
                    break
    return False, limit


@kernel
def _basis(lower, upper, n, state, index, z):
    """Put z at its bounds and list the rows between them."""
    m = 0
    for i in range(n):
        if state[i] == AT_LOWER and lower[i] > -1e300:
            z[i] = lower[i]
        elif state[i] == AT_UPPER and upper[i] < 1e300:
            z[i] = upper[i]
        else:
            state[i] = BETWEEN
            index[m] = i
            m += 1
    return m


@kernel
def _solve(A, LU, order, b, x, step, m, scale, tol_w):
    """x of A x = b; of least norm in the proximal sense where A is singular."""
    regular = lu_factor(LU, m, order)
    if regular:
        least = abs(LU[0, 0]) if m > 0 else 1.0
        most = least
        for a in range(m):
            least = min(least, abs(LU[a, a]))
            most = max(most, abs(LU[a, a]))
        regular = least > 1e-12 * most
    if regular:
        lu_solve(LU, m, order, x)
    else:
        proximal_solve(A, m, REGULARISATION * max(scale, 1e-300), LU, order, b, x, step, tol_w, 12)


@kernel
def _wanted(lower, upper, state, z, w, i, tol_w, scale):
    """The state that z_i and w_i ask for; a violation is one beyond rounding."""
    s = state[i]
    if s == AT_LOWER:
        return BETWEEN if w[i] < -tol_w and upper[i] > lower[i] else s
    if s == AT_UPPER:
        return BETWEEN if w[i] > tol_w and upper[i] > lower[i] else s
    slack = tol_w / scale if scale > 0.0 else tol_w
    if z[i] < lower[i] - slack:
        return AT_LOWER
    if z[i] > upper[i] + slack:
        return AT_UPPER
    return s
