# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Mixed complementarity problems with leading equality rows, as the formulations build them.

    w = M z + q,   w_i = 0 for the first ``free`` rows,   w_i >= 0, z_i >= 0, w_i z_i = 0 for the others

The equality rows are eliminated first.  The leading ``regular`` ones form a regular block and are factored
(sparse LU where M is sparse); the Schur complement of the others, the loops, is symmetric and positive
semidefinite but loses rank when loops are redundant, so it is inverted on its range only.  What is left is an
ordinary linear complementarity problem (the RMC one, whatever the formulation was).
"""

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from mb_contact.solvers.blocks import CONTACT, UNILATERAL, solve_blocks

RANK_TOLERANCE = 1e-11  #: eigenvalues of the loops' compliance, scaled to a unit diagonal, that count as zero
IMMOBILE = 1e-13  #: eigenvalues of the contacts' scaled compliance up to this are rounding: nothing can move that way
ROUNDING = 16 * np.finfo(float).eps  #: of the largest impulse: what any formulation may lose of its rows
RANK_CUTS = (1e-13, 1e-10, 1e-7)  #: relative singular values that ``polish`` takes for zero, in turn


class Condensed:
    """A mixed problem without its equality rows, and the way back.

    Parameters
    ----------
    M : (size, size), dense or sparse
    q : (size,)
    free : int
        Leading rows that are equalities.
    regular : int
        Leading rows, at most ``free``, whose block of M is regular.
    loop_scale : (free - regular,)
        Scale of the other free rows if their bodies were free, see ``semidefinite_inverse``.
    contact_scale : (k,)
        The same of contacts and limits, the first unknowns that are left, see ``without_immobile``.

    Attributes
    ----------
    M, q : (m, m), (m,)
        The linear complementarity problem that is left, dense.
    """

    def __init__(self, M, q, free, regular, loop_scale, contact_scale):
        self._free, self._regular = free, regular
        self._whole, self._right = M, q
        if scipy.sparse.issparse(M):
            M = M.tocsc()
        self._A, self._C = M[:regular, :regular], M[regular:, :regular]
        self._solve = _factor(self._A) if regular else None
        B, D = _dense(M[:regular, regular:]), _dense(M[regular:, regular:])
        first = self.solve_regular(np.column_stack([B, q[:regular]]))
        S = np.column_stack([D, q[regular:]]) - self._C @ first
        loops = free - regular
        self._S, self._B = S, first[:, :loops]
        self._inverse = semidefinite_inverse(S[:loops, :loops], loop_scale) if loops else np.zeros((0, 0))
        left = S[loops:] - S[loops:, :loops] @ (self._inverse @ S[:loops])
        self.M, self.q = without_immobile(left[:, loops:-1], left[:, -1], contact_scale)

    def solve_regular(self, right):
        """A^-1 right; one refinement step undoes what the sparse LU loses by pivoting for sparsity."""
        if self._regular == 0:
            return np.zeros((0, *right.shape[1:]))
        x = self._solve(right)
        return x + self._solve(right - self._A @ x)

    def solve_free(self, right):
        """x with M_ff x = right, least-norm in redundant loops."""
        x = self.solve_regular(right[: self._regular])
        p = self._inverse @ (right[self._regular :] - (self._C @ x)[: self._free - self._regular])
        return np.concatenate([x - self._B @ p, p])

    def expand(self, z):
        """The whole unknown (free + m,), its equality rows solved with two refinement steps."""
        whole = np.concatenate([np.zeros(self._free), z])
        if self._free:
            for _ in range(3):
                whole[: self._free] -= self.solve_free((self._whole @ whole + self._right)[: self._free])
        return whole


def _dense(M):
    return M.toarray() if scipy.sparse.issparse(M) else M


def _factor(A):
    """Solver of A x = b: sparse LU, or dense LU."""
    if scipy.sparse.issparse(A):
        return scipy.sparse.linalg.splu(A).solve
    factors = scipy.linalg.lu_factor(A)
    return lambda right: scipy.linalg.lu_solve(factors, right)


def semidefinite_inverse(S, free):
    """Inverse of a symmetric positive semidefinite matrix on its range (rows scaled to a unit diagonal).

    Redundant loops make S singular; the least-norm scaled impulses carry the load then.  A row with IMMOBILE of the
    compliance that free bodies would give it, ``free`` (rows,) squared, or less is moved by nothing but rounding.
    """
    diagonal = np.diag(S)
    s = np.where(diagonal > IMMOBILE * free**2, np.sqrt(np.maximum(diagonal, 0.0)), free)
    s = np.maximum(s, np.finfo(float).tiny ** 0.5)
    scaled = 0.5 * (S + S.T) / np.outer(s, s)
    values, vectors = np.linalg.eigh(scaled)
    keep = values > RANK_TOLERANCE * max(values[-1], 0.0)
    return (vectors[:, keep] / values[keep]) @ vectors[:, keep].T / np.outer(s, s)


def without_immobile(M, q, s):
    """M and q whose leading block, the compliance of contacts after the loops, holds no rounding.

    A direction in which the hinges and loops leave a contact no motion has a compliance of 1e-16 of what the
    contact had before, of either sign; impulses of 1e15 then solve the problem as far as its own residual shows,
    and no other formulation's.  ``s`` (k,) is the scale of the contacts before the loops were eliminated;
    eigenvalues of the block, scaled by it, up to IMMOBILE are zero, and so are velocities of that size.
    """
    k = len(s)
    if k == 0:
        return M, q
    A = M[:k, :k] / np.outer(s, s)
    values, vectors = np.linalg.eigh(0.5 * (A + A.T))
    immobile = values <= IMMOBILE * max(1.0, values[-1])
    M, q = M.copy(), q.copy()
    A = (vectors[:, ~immobile] * values[~immobile]) @ vectors[:, ~immobile].T
    still = np.diag(A) <= IMMOBILE
    A[still], A[:, still] = 0.0, 0.0
    M[:k, :k] = A * np.outer(s, s)
    speed = vectors[:, immobile].T @ (q[:k] / s)
    speed[np.abs(speed) > IMMOBILE * np.abs(q[:k] / s).max()] = 0.0  # what is moved by loops stays
    q[:k] -= s * (vectors[:, immobile] @ speed)
    return M, q


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


def trusted_residual(M, q, z, s):
    """``natural_residual``, plus the ROUNDING that impulses of this size leave: contacts that jam hold any load."""
    return natural_residual(M, q, z, s) + ROUNDING * float(np.abs(z * s).max(initial=0.0))


def natural_residual(M, q, z, s):
    """Largest scaled |min(z, w)| of a linear complementarity problem."""
    if not np.isfinite(z).all():
        return np.inf
    return float(np.abs(np.minimum(z * s, (M @ z + q) / s)).max(initial=0.0))


def newton_unknowns(problem, M, q):
    """[beta; sigma] of the condensed problem (M, q) by the simulator's proximal Newton steps.

    M is [[D* W D, E^], [E_, 0]] with W the compliance of the rows; D has full row rank, so W follows from it.
    """
    n_u, limits = problem.n_u, problem.n_limits
    if n_u + limits == 0:
        return np.zeros(0)
    m = problem.D_ul.shape[1]
    inverse = np.linalg.pinv(problem.D_ul)  # (m, rows): D inverse = 1
    W = inverse.T @ M[:m, :m] @ inverse
    mu = np.concatenate([np.outer(problem.mu, [0.0, 1.0, 1.0]).ravel(), np.zeros(limits)])
    kind, size = [CONTACT] * n_u + [UNILATERAL] * limits, [3] * n_u + [1] * limits
    found = solve_blocks(0.5 * (W + W.T), inverse.T @ q[:m], kind, size, mu, problem.n_f, tolerance=1e-12)
    return np.concatenate(split(problem, found.r, found.u))


def split(problem, r, u):
    """beta and sigma of impulses r and velocities u of the rows.

    Friction goes to the two neighbouring directions; sigma is the greatest speed against a direction.
    """
    n_f, n_u = problem.n_f, problem.n_u
    D = problem.D_ul[1:3, 1 : n_f + 1] if n_u else np.zeros((2, n_f))
    beta, sigma = np.zeros(problem.D_ul.shape[1]), np.zeros(n_u)
    for i in range(n_u):
        first, x = i * (n_f + 1), r[3 * i + 1 : 3 * i + 3]
        beta[first] = r[3 * i]
        k = int((np.arctan2(x[1], x[0]) % (2 * np.pi)) * n_f / (2 * np.pi)) % n_f
        pair = [k, (k + 1) % n_f]
        beta[first + 1 + np.array(pair)] = np.linalg.solve(D[:, pair], x)
        sigma[i] = max(0.0, -(u[3 * i + 1 : 3 * i + 3] @ D).min())
    beta[n_u * (n_f + 1) :] = r[3 * n_u :]
    return beta, sigma
