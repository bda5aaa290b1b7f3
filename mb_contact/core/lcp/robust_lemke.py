# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Lemke's algorithm made robust: one scale for all unknowns, its basis solved anew, Tikhonov's term where that fails.

Redundant contacts leave M singular.  Then the dictionary of a few hundred pivots holds rounding, and the algorithm ends
on a ray, or on a z whose w is wrong.  A solution is judged by the residual of the problem itself; the rows of its basis
are solved for once more from M (proximal steps: M may be singular there), and where the residual stays, the algorithm
starts again with a small multiple of the unit matrix added to the scaled M.
"""

from typing import Annotated, NamedTuple

from mb_contact.core.arrays import copy
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.jit import kernel
from mb_contact.core.lcp.lemke import LEMKE_SOLVED, lemke
from mb_contact.core.lcp.linear import lu_factor, lu_solve

WEIGHTS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)  #: of the unit matrix that is added to the scaled M, tried in turn
PROXIMAL = 1e-9  #: of the unit matrix in the proximal steps
STEPS = 4  #: proximal steps


class LemkeWork(NamedTuple):
    """Workspace for n unknowns."""

    A: Annotated[Reals, "n", "n"]  #: M, scaled
    b: Annotated[Reals, "n"]  #: q, scaled
    cover: Annotated[Reals, "n"]
    T: Annotated[Reals, "n", "n + 2"]
    line: Annotated[Reals, "n + 2"]
    basis: Annotated[Integers, "n"]
    nonbasis: Annotated[Integers, "n + 1"]
    place: Annotated[Integers, "n"]
    z: Annotated[Reals, "n"]
    better: Annotated[Reals, "n"]
    step: Annotated[Reals, "n"]
    factor: Annotated[Reals, "n", "n"]
    order: Annotated[Integers, "n"]
    active: Annotated[Integers, "n"]


def make_lemke_work(n):
    """Workspace of :func:`robust_lemke` for n unknowns."""
    return allocate(LemkeWork, n=n)


@kernel
def robust_lemke(M, q, s, n, tolerance, work, z):
    """Solve w = M z + q, w >= 0, z >= 0, w* z = 0 of the leading n x n problem.

    Parameters
    ----------
    M, q : (>= n, >= n), (>= n,)
    s : (>= n,)
        z s and w / s are of one unit.
    tolerance : float
        Largest |min(z s, w / s)| at which no further attempt is made.
    work : LemkeWork
    z : (>= n,)
        Output: the best of the attempts.

    Returns
    -------
    residual, pivots
        Of z, in the unit of z s; pivots of all attempts.
    """
    for i in range(n):
        z[i] = 0.0
        work.cover[i] = 1.0
        work.b[i] = q[i] / s[i]
        for j in range(n):
            work.A[i, j] = M[i, j] / (s[i] * s[j])
    best, total = _residual(work.A, work.b, n, z), 0
    for weight in WEIGHTS:
        if best <= tolerance:
            break
        for i in range(n):
            work.A[i, i] += weight
        status, pivots = lemke(
            work.A, work.b, work.cover, n, work.T, work.line, work.basis, work.nonbasis, work.place, work.z, 20 * n + 50
        )
        for i in range(n):
            work.A[i, i] = M[i, i] / (s[i] * s[i])
        total += pivots
        if status != LEMKE_SOLVED:
            continue
        best = _keep_better(work.A, work.b, n, work.z, best, z)
        if best > tolerance:
            _solve_basis(work.A, n, work)
            best = _keep_better(work.A, work.b, n, work.better, best, z)
    for i in range(n):
        z[i] /= s[i]
    return best, total


@kernel
def _residual(A, b, n, z):
    """Largest |min(z, A z + b)|."""
    worst = 0.0
    for i in range(n):
        w = b[i]
        for j in range(n):
            w += A[i, j] * z[j]
        worst = max(worst, abs(min(z[i], w)))
    return worst


@kernel
def _keep_better(A, b, n, candidate, best, z):
    """The lesser residual of z and a candidate, which z then is."""
    residual = _residual(A, b, n, candidate)
    if residual < best:
        copy(n, candidate, z)
        return residual
    return best


@kernel
def _solve_basis(A, n, work):
    """``work.better``: the rows in which z outweighs w solved for again, nearest to z."""
    k = 0
    for i in range(n):
        w = work.b[i]
        for j in range(n):
            w += A[i, j] * work.z[j]
        work.better[i] = 0.0
        if work.z[i] > w:
            work.active[k] = i
            work.better[i] = work.z[i]
            k += 1
    for a in range(k):
        for c in range(k):
            work.factor[a, c] = A[work.active[a], work.active[c]]
        work.factor[a, a] += PROXIMAL
    if not lu_factor(work.factor, k, work.order):
        return
    for _ in range(STEPS):
        for a in range(k):
            i = work.active[a]
            w = work.b[i]
            for c in range(k):
                w += A[i, work.active[c]] * work.better[work.active[c]]
            work.step[a] = -w
        lu_solve(work.factor, k, work.order, work.step)
        for a in range(k):
            work.better[work.active[a]] += work.step[a]
