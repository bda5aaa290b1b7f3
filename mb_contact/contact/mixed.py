# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Mixed complementarity problems with leading equality rows, as the formulations build them.

    w = M z + q,   w_i = 0 for the first ``free`` rows,   w_i >= 0, z_i >= 0, w_i z_i = 0 for the others

The equality rows are eliminated first.  The leading ``regular`` ones form a regular block and are factored
(sparse LU where M is sparse); the Schur complement of the others, the loops, is symmetric and positive
semidefinite but loses rank when loops are redundant, so it is inverted on its range only.  What is left is an
ordinary linear complementarity problem (the RMC one, whatever the formulation was).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

RANK_TOLERANCE = 1e-11  #: eigenvalues of the loops' compliance, scaled to a unit diagonal, that count as zero
RANK_CUTS = (1e-13, 1e-10, 1e-7)  #: relative singular values that ``polish`` takes for zero, in turn


class Condensed(NamedTuple):
    """The complementarity problem ``w = M z + q`` without the equality rows, and the way back."""

    M: np.ndarray  #: (m, m), dense
    q: np.ndarray  #: (m,)
    X: np.ndarray  #: (free, m)
    x: np.ndarray  #: (free,): the free unknowns are -(x + X z)

    def expand(self, z):
        """The whole unknown (free + m,)."""
        return np.concatenate([-(self.x + self.X @ z), z])


def eliminate(M, q, free, regular):
    """Eliminate the equality rows of a mixed problem.

    Parameters
    ----------
    M : (size, size), dense or sparse
    q : (size,)
    free : int
        Leading rows that are equalities.
    regular : int
        Leading rows, at most ``free``, whose block of M is regular.

    Returns
    -------
    Condensed
    """
    first, S, s = _eliminate_regular(M, q, regular)
    loops = free - regular
    if loops == 0:
        return Condensed(S, s, first[:, :-1], first[:, -1])
    inverse = semidefinite_inverse(S[:loops, :loops])
    second = inverse @ np.column_stack([S[:loops, loops:], s[:loops]])
    condensed = np.column_stack([S[loops:, loops:], s[loops:]]) - S[loops:, :loops] @ second
    first = np.column_stack([first[:, loops:-1], first[:, -1]]) - first[:, :loops] @ second
    both = np.vstack([first, second])
    return Condensed(condensed[:, :-1], condensed[:, -1], both[:, :-1], both[:, -1])


def _eliminate_regular(M, q, regular):
    """M11^-1 [M12, q1] and the Schur complement; one refinement step undoes the pivoting of the sparse LU."""
    if regular == 0:
        dense = M.toarray() if scipy.sparse.issparse(M) else M
        return np.zeros((0, len(q) + 1)), dense, q
    if scipy.sparse.issparse(M):
        M = M.tocsc()
        A, B, C = M[:regular, :regular], M[:regular, regular:].toarray(), M[regular:, :regular]
        D = M[regular:, regular:].toarray()
        solve = scipy.sparse.linalg.splu(A).solve
    else:
        A, B, C, D = M[:regular, :regular], M[:regular, regular:], M[regular:, :regular], M[regular:, regular:]
        factors = scipy.linalg.lu_factor(A)
        solve = lambda right: scipy.linalg.lu_solve(factors, right)  # noqa: E731
    right = np.column_stack([B, q[:regular]])
    first = solve(right)
    first += solve(right - A @ first)
    both = C @ first
    return first, D - both[:, :-1], q[regular:] - both[:, -1]


def semidefinite_inverse(S):
    """Inverse of a symmetric positive semidefinite matrix on its range (rows scaled to a unit diagonal).

    Redundant loops make S singular; the least-norm scaled impulses carry the load then.
    """
    s = np.sqrt(np.maximum(np.diag(S), np.finfo(float).tiny))
    scaled = 0.5 * (S + S.T) / np.outer(s, s)
    values, vectors = np.linalg.eigh(scaled)
    keep = values > RANK_TOLERANCE * max(values[-1], 0.0)
    return (vectors[:, keep] / values[keep]) @ vectors[:, keep].T / np.outer(s, s)


def polish(M, q, z, s):
    """Solve the active rows of a nearly complementary z once more: M_aa z_a = -q_a, z = 0 elsewhere.

    ``s`` scales z and w to a common unit.  Singular blocks are solved nearest to the given z.
    """
    if not np.isfinite(z).all():
        return z
    active = z * s > (M @ z + q) / s
    if not active.any():
        return np.zeros_like(z)
    scale = s[active]
    A = M[np.ix_(active, active)] / np.outer(scale, scale)
    y = z[active] * scale
    U, values, V = np.linalg.svd(A)
    best, least = z, natural_residual(M, q, z, s)
    for cut in RANK_CUTS:
        rank = int((values > cut * values[0]).sum())
        x = y
        for _ in range(2):
            left = -(q[active] / scale + A @ x)
            x = x + V[:rank].T @ ((U[:, :rank].T @ left) / values[:rank])
        better = np.zeros_like(z)
        better[active] = x / scale
        residual = natural_residual(M, q, better, s)
        if residual < least:
            best, least = better, residual
    return best


def natural_residual(M, q, z, s):
    """Largest scaled |min(z, w)| of a linear complementarity problem."""
    if not np.isfinite(z).all():
        return np.inf
    return float(np.abs(np.minimum(z * s, (M @ z + q) / s)).max(initial=0.0))
