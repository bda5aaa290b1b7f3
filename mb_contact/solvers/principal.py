# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Principal pivoting methods for linear complementarity problems: PPM I and Drumwright's modified PPM.

| method | matrices | source |
|---|---|---|
| ``ppm`` | P-matrices | Murty, section 4.1 (principal pivoting method I, least index) |
| ``modified_ppm`` | symmetric positive semidefinite of any rank | D15 algorithm 1, with a rule against cycling |

Neither is believed: the residual is computed from M, q and z.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from mb_contact.checks import Floats
from mb_contact.core.lcp.active_factor import MOST, make_ppm_work
from mb_contact.errors import InputError
from mb_contact.solvers.lcp import by_modified_ppm, by_ppm_one, check_problem, require_symmetry


class PrincipalResult(NamedTuple):
    """Outcome of a principal pivoting method; judge it by ``residual``."""

    z: Floats
    w: Floats
    status: str  #: "solved", "ray" (no solution), "limit", "not_a_p_matrix" (ppm), "inaccurate"
    iterations: int  #: principal pivots: indices that changed sides
    residual: float  #: largest |min(z_i, w_i)|, recomputed from M, q and z
    active: npt.NDArray[np.int64]  #: indices with z > 0: the warm start of a problem nearby
    most_active: int  #: largest active set on the way


def principal_pivoting(
    M: ArrayLike, q: ArrayLike, *, start: Sequence[int] = (), tolerance: float = 1e-9, limit: int | None = None
) -> PrincipalResult:
    """PPM I (Murty 4.1): while a basic variable is negative, the first such one changes places with its complement.

    Ends for every P-matrix; on others it may stop at a pivot that is not positive ("not_a_p_matrix") or at the limit.

    Parameters
    ----------
    M : array_like (n, n)
    q : array_like (n,)
    start : sequence of int
        Indices whose z is expected to be positive.
    tolerance : float
        ``"solved"`` is only said if the residual of the problem scaled to a unit diagonal is at most this
        times the largest scaled ``|q|``.
    limit : int, optional
        Most pivots; by default 20 n + 50.

    Returns
    -------
    PrincipalResult

    Raises
    ------
    InputError
        Shapes do not fit, or entries are not finite.

    Examples
    --------
    >>> result = mb.solvers.principal_pivoting([[2.0, 1.0], [1.0, 2.0]], [-5.0, 6.0])
    >>> result.z, result.status, result.active
    (array([2.5, 0. ]), 'solved', array([0]))
    """
    M, q, s, scaled, h, first, limit = _problem(M, q, start, limit)
    z, end, pivots, _ = by_ppm_one(scaled, h, first, limit)
    return _with_residual(M, q, s, z, end, pivots, tolerance, len(q))


def modified_principal_pivoting(
    M: ArrayLike,
    q: ArrayLike,
    *,
    start: Sequence[int] = (),
    rank: int | None = None,
    tolerance: float = 1e-9,
    limit: int | None = None,
) -> PrincipalResult:
    """Drumwright's modified PPM I (D15 algorithm 1) for a symmetric positive semidefinite M: O(m^3 + m^2 n) for rank m.

    The active set never holds more than m indices, its Cholesky factor is updated, and M is read by columns,
    only where an index becomes active.

    Parameters
    ----------
    M, q, start, tolerance, limit
        As in :func:`principal_pivoting`.
    rank : int, optional
        Bound on the rank of M, for the size of the workspace; n by default.

    Returns
    -------
    PrincipalResult

    Raises
    ------
    InputError
        Shapes do not fit, entries are not finite, or M is not symmetric.

    Examples
    --------
    >>> M = np.ones((4, 4))  # four feet of a rigid table: rank one
    >>> result = mb.solvers.modified_principal_pivoting(M, -np.ones(4), rank=1)
    >>> result.z.sum(), result.most_active
    (1.0, 1)
    """
    M, q, s, scaled, h, first, limit = _problem(M, q, start, limit)
    require_symmetry(M)
    work = make_ppm_work(len(q), len(q) if rank is None else int(rank))
    z, end, pivots, _ = by_modified_ppm(scaled, h, first, limit, work)
    return _with_residual(M, q, s, z, end, pivots, tolerance, int(work.info[MOST]))


def _problem(
    M, q, start, limit
) -> tuple[Floats, Floats, Floats, Floats, Floats, npt.NDArray[np.int64], int]:
    """Checked data; units of z and w may mix, so the problem is scaled to a unit diagonal."""
    M, q, *_ = check_problem(M, q, "principal_pivoting", limit, None, None, None)
    n, start = len(q), np.asarray(start)
    if start.size and (start.dtype.kind not in "iu" or start.ndim != 1 or start.min() < 0 or start.max() >= n):
        raise InputError(f"start must hold indices from 0 to {n - 1}, got {start}")
    limit = 20 * n + 50 if limit is None else int(limit)
    diagonal = np.diag(M)
    s = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = np.ascontiguousarray(M / np.outer(s, s))
    return M, q, s, scaled, q / s, np.array(start, np.int64).ravel(), limit


def _with_residual(M, q, s, z, end, pivots, tolerance, most):
    """The result, called solved only where the recomputed residual says so."""
    z = z / s
    w = M @ z + q
    residual = float(np.abs(np.minimum(z, w)).max(initial=0.0))
    good = np.abs(np.minimum(z * s, w / s)).max(initial=0.0) <= tolerance * np.abs(q / s).max(initial=0.0)
    status = end or ("solved" if good else "inaccurate")
    return PrincipalResult(z, w, status, pivots, residual, np.flatnonzero(z > 0.0), most)
