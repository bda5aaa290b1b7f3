# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Linear complementarity with and without bounds: w = M z + q, w >= 0 at a lower bound, <= 0 at an upper, 0 between."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_choice, as_matrix, as_vector
from mb_contact.core.lcp.active_factor import ACTIVE, PIVOTS, make_ppm_work
from mb_contact.core.lcp.box_gauss_seidel import box_gauss_seidel
from mb_contact.core.lcp.box_pivoting import AT_LOWER, AT_UPPER, BETWEEN, box_pivot
from mb_contact.core.lcp.lemke import LEMKE_LIMIT, LEMKE_RAY, lemke, make_lemke_work
from mb_contact.core.lcp.ppm_one import ppm_one
from mb_contact.core.lcp.principal_pivoting import PPM_LIMIT, PPM_RAY, PPM_SINGULAR, modified_ppm
from mb_contact.errors import InputError
from mb_contact.solvers.bounds import without_bounds
from mb_contact.solvers.infeasible import proves_no_solution
from mb_contact.solvers.residuals import LcpResidual, lcp_residual

ASYMMETRY = 1e-12  #: of the largest entry, up to which a matrix counts as symmetric

METHODS = ("lemke", "block_pivoting", "principal_pivoting", "modified_principal_pivoting", "gauss_seidel", "auto")
PPM_ENDS = {PPM_RAY: "ray", PPM_LIMIT: "limit", PPM_SINGULAR: "not_a_p_matrix"}


class LcpResult(NamedTuple):
    """Outcome of a linear complementarity solver; judge it by ``residual``.

    Examples
    --------
    >>> result = mb.solve_lcp([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0])
    >>> result.z, result.w, result.status, result.infeasible
    (array([1.33333333, 2.33333333]), array([0., 0.]), 'solved', False)
    """

    z: Floats
    w: Floats  #: M z + q
    status: str  #: "solved", "ray", "no_solution", "limit", "not_a_p_matrix", "inaccurate", "not_finite"
    iterations: int  #: pivots, linear solves or sweeps
    residual: float  #: largest ``|z - mid(lower, z - w, upper)|``, recomputed from M, q and z
    residuals: LcpResidual  #: all residuals, recomputed
    #: the basis, -1 at the lower bound, 1 at the upper, 0 between: ``warm`` of the next solve
    active: npt.NDArray[np.int64]
    infeasible: bool  #: a Farkas vector proves that no z with w >= 0 exists


def solve_lcp(
    M: ArrayLike,
    q: ArrayLike,
    method: str = "lemke",
    tolerance: float = 1e-9,
    limit: int | None = None,
    *,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    warm: npt.NDArray[np.int64] | Sequence[int] | None = None,
) -> LcpResult:
    """Solve a linear complementarity problem, 0 <= w = M z + q _|_ z >= 0, or one with bounds on z.

    With bounds: w >= 0 where z = lower, w <= 0 where z = upper, w = 0 between.  Sources: Cottle, Pang, Stone 4.4
    (Lemke); Judice and Pires 1994 (block pivoting); Murty 4.1 (PPM I); D15 algorithm 1; Cryer 1971 (Gauss-Seidel).

    Parameters
    ----------
    M : array_like (n, n)
        Units of z and w may differ from row to row: rows are scaled to a unit diagonal.
    q : array_like (n,)
        In the units of w.
    method : str
        ``"lemke"`` (lexicographic; bounds and free rows are rewritten into a larger problem), ``"block_pivoting"``
        (for P-matrices and positive semidefinite ones; starts from ``warm``), ``"principal_pivoting"`` (PPM I of Murty,
        P-matrices; starts from ``warm``), ``"modified_principal_pivoting"`` (Drumwright's algorithm 1, symmetric
        positive semidefinite matrices of any rank; starts from ``warm``), ``"gauss_seidel"`` (positive diagonal),
        ``"auto"`` (block pivoting, then Lemke with several covering vectors, then Gauss-Seidel).
        The principal pivoting methods take at most one bound a row.
    tolerance : float
        ``"solved"`` is only said if the natural residual is at most this times max(1, largest ``|q|``), and that of the
        problem scaled to a unit diagonal at most this times the largest scaled ``|q|``, and M z + q is known as well
        as that (a z so large that rounding hides w is no solution).
    limit : int, optional
        Most pivots (20 n + 50), linear solves of block pivoting (10 n + 50), or sweeps (10000).
    lower, upper : array_like (n,), optional
        Bounds, infinite where there is none; 0 and infinity by default.
    warm : array_like of int (n,), optional
        ``active`` of an earlier result.

    Returns
    -------
    LcpResult
        Status "ray": Lemke ended on a ray, which proves nothing for a general M; "no_solution": a vector y >= 0
        with M* y <= 0 and q* y < 0 was found and checked (``infeasible`` is set with "ray" too); "not_a_p_matrix":
        PPM I met a pivot that is not positive.

    Raises
    ------
    InputError
        Shapes do not fit, entries are not finite, bounds cross, the method is unknown or not made for such a problem.

    Examples
    --------
    >>> mb.solve_lcp([[2.0, 1.0], [1.0, 2.0]], [-5.0, 6.0]).z
    array([2.5, 0. ])
    >>> mb.solve_lcp([[2.0]], [-5.0], "block_pivoting", lower=[-1.0], upper=[1.0]).w  # pushed against its bound
    array([-3.])
    >>> mb.solve_lcp([[-1.0]], [-1.0], "auto").status
    'no_solution'
    """
    M, q, lower, upper, warm = _check_problem(M, q, method, limit, lower, upper, warm)
    n = len(q)
    plain = bool((lower == 0.0).all() and np.isposinf(upper).all())
    # units of z and w may mix: z sqrt(M_ii) and w / sqrt(M_ii) compare
    diagonal = np.diag(M)
    s = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    problem = (np.ascontiguousarray(M / np.outer(s, s)), q / s, lower * s, upper * s)
    z, end, iterations, active = RUN[method](problem, plain, warm, limit, tolerance)
    finite = bool(np.isfinite(z).all() and np.abs(z).max(initial=0.0) < 1e100)
    # exactly at the bounds, which scaling back and forth would miss by a digit
    with np.errstate(all="ignore"):
        x = np.where(z <= problem[2], lower, np.where(z >= problem[3], upper, np.clip(z / s, lower, upper)))
    z = _polished(M, q, lower, upper, x) if finite else np.clip(np.zeros(n), lower, upper)
    w = M @ z + q
    residuals = lcp_residual(M, q, z, lower, upper)
    absolute = tolerance * max(1.0, np.abs(q).max(initial=0.0))
    good = residuals.scaled <= tolerance and max(residuals.natural, residuals.rounding) <= absolute
    infeasible = not good and plain and proves_no_solution(M, q)
    if good:
        status = "solved"
    elif infeasible and not (end == "ray" and method == "lemke"):
        status = "no_solution"
    elif not finite:
        status = "not_finite"
    else:
        status = end or "inaccurate"
    active = _active(z, w, lower, upper, s) if active is None else active
    return LcpResult(z, w, status, iterations, residuals.natural, residuals, active, bool(infeasible))


def _check_problem(
    M, q, method, limit, lower, upper, warm
) -> tuple[Floats, Floats, Floats, Floats, npt.NDArray[np.int64] | None]:
    """Checked arrays of a problem: M, q, lower, upper and warm."""
    M = as_matrix(M, name="M")
    if M.shape[0] != M.shape[1]:
        raise InputError(f"M must be square, got {M.shape[0]} x {M.shape[1]}")
    n = M.shape[0]
    q = as_vector(q, n, "q")
    as_choice(method, METHODS, "method")
    if limit is not None and (not isinstance(limit, (int, np.integer)) or limit < 1):
        raise InputError(f"limit must be a positive number of pivots, got {limit!r}")
    lower = np.zeros(n) if lower is None else as_vector(lower, n, "lower", finite=False)
    upper = np.full(n, np.inf) if upper is None else as_vector(upper, n, "upper", finite=False)
    if np.isnan(lower).any() or np.isnan(upper).any() or np.isposinf(lower).any() or np.isneginf(upper).any():
        raise InputError("lower must be below infinity and upper above minus infinity, without NaN")
    if (lower > upper).any():
        i = int(np.argmax(lower > upper))
        raise InputError(f"lower[{i}] = {lower[i]:g} is above upper[{i}] = {upper[i]:g}")
    if warm is not None:
        warm = np.asarray(warm)
        if warm.shape != (n,):
            raise InputError(f"warm must have {n} entries, got an array of shape {warm.shape}")
        warm = np.clip(warm, -1, 1).astype(np.int64)
    return M, q, lower, upper, warm


def _active(z, w, lower, upper, s):
    """States from the nearer of bound and equation, for methods that have no basis."""
    at_lower = (z <= lower) | ((z - lower) * s < w / s)
    at_upper = (z >= upper) | ((upper - z) * s < -w / s)
    return np.where(at_lower, AT_LOWER, np.where(at_upper, AT_UPPER, BETWEEN)).astype(np.int64)


def _polished(M, q, lower, upper, z):
    """z with the rows between bounds solved for once more, where that lowers the residual."""
    free = (z > lower) & (z < upper)
    if not free.any():
        return z
    try:
        better = z.copy()
        better[free] = 0.0
        better[free] = np.linalg.solve(M[np.ix_(free, free)], -(q + M @ better)[free])
    except np.linalg.LinAlgError:
        return z
    if lcp_residual(M, q, better, lower, upper).natural < lcp_residual(M, q, z, lower, upper).natural:
        return better
    return z


# --- methods: (problem, plain, warm, limit, tolerance) -> z, "" or why it ended, iterations, states or None


def _lemke(problem, plain, warm, limit, tolerance, cover=None):
    if plain:
        return _lemke_plain(*problem[:2], limit, cover)
    reduced = without_bounds(*problem)
    x, end, pivots, _ = _lemke_plain(reduced.M, reduced.q, limit, cover)
    return reduced.expand(x), end, pivots, None


def _lemke_plain(M, q, limit, cover=None):
    n = len(q)
    z = np.zeros(n)
    limit = 20 * n + 50 if limit is None else int(limit)
    work = make_lemke_work(n)
    basis = work[2]
    status, pivots = lemke(M, q, np.ones(n) if cover is None else cover[:n], n, *work, z, limit)
    active = np.full(n, AT_LOWER, np.int64)
    if pivots:
        active[basis[(basis >= n) & (basis < 2 * n)] - n] = BETWEEN  # degenerate ones too
    return z, {LEMKE_RAY: "ray", LEMKE_LIMIT: "limit"}.get(status, ""), pivots, active


def _principal_pivoting(problem, plain, warm, limit, tolerance):
    return _by_principal_pivots(problem, warm, limit, "principal_pivoting", _ppm_one)


def _modified_principal_pivoting(problem, plain, warm, limit, tolerance):
    M = problem[0]
    if np.abs(M - M.T).max(initial=0.0) > ASYMMETRY * np.abs(M).max(initial=0.0):
        message = "modified_principal_pivoting needs a symmetric M; use principal_pivoting for P-matrices"
        raise InputError(f"{message} and lemke for others")
    return _by_principal_pivots(problem, warm, limit, "modified_principal_pivoting", _modified_ppm)


def _by_principal_pivots(problem, warm, limit, method, run):
    """Free rows are eliminated and bounds shifted to zero, which keeps P-matrices and semidefinite ones what they are.

    The slack of a second bound would not: it has a zero on the diagonal.
    """
    both = np.isfinite(problem[2]) & np.isfinite(problem[3])
    if both.any():
        i = int(np.argmax(both))
        raise InputError(f"{method} takes one bound a row, row {i} has two; use lemke or block_pivoting")
    reduced = without_bounds(*problem)
    m = len(reduced.q)
    limit = 20 * m + 50 if limit is None else int(limit)
    start = np.flatnonzero(warm[reduced.bound] == BETWEEN) if warm is not None else np.zeros(0, np.int64)
    x, end, pivots, basic = run(reduced.M, reduced.q, start, limit)
    active = np.full(len(problem[1]), BETWEEN, np.int64)
    active[reduced.bound] = np.where(basic, BETWEEN, np.where(reduced.mirror[reduced.bound] < 0, AT_UPPER, AT_LOWER))
    return reduced.expand(x), end, pivots, active


def _ppm_one(M, q, start, limit):
    """z >= 0, "" or why it ended, pivots, and which indices are basic, by PPM I."""
    n = len(q)
    z, x = np.zeros((2, n))
    basic, order = np.zeros((2, n), np.int64)
    least = 1e-13 * np.abs(q).max(initial=0.0)
    status, pivots = ppm_one(M, q, n, np.zeros((n, n)), x, basic, order, start, len(start), z, least, limit)
    return z, PPM_ENDS.get(status, ""), pivots, basic == 1


def _modified_ppm(M, q, start, limit):
    """The same by Drumwright's modified PPM."""
    n = len(q)
    z, work = np.zeros(n), make_ppm_work(n, n)
    status = modified_ppm(M, q, n, start, len(start), z, 1e-12 * np.abs(q).max(initial=0.0), limit, work)
    basic = np.zeros(n, bool)
    basic[work.active[: work.info[ACTIVE]]] = True
    return z, PPM_ENDS.get(status, ""), int(work.info[PIVOTS]), basic


def _block_pivoting(problem, plain, warm, limit, tolerance):
    M, q, lower, upper = problem
    n = len(q)
    state = np.full(n, AT_LOWER, np.int64) if warm is None else warm.copy()
    limit = 10 * n + 50 if limit is None else int(limit)
    work = (*np.zeros((2, n, n)), *np.zeros((2, n), np.int64), *np.zeros((3, n)))
    z, w = np.zeros((2, n))
    ended, solves = box_pivot(M, q, lower, upper, n, state, work, z, w, limit)
    return np.clip(z, lower, upper), "" if ended else "limit", solves, state


def _gauss_seidel(problem, plain, warm, limit, tolerance):
    M, q, lower, upper = problem
    z = np.clip(np.zeros(len(q)), lower, upper)
    size = np.abs(q).max(initial=0.0)
    limit = 10000 if limit is None else int(limit)
    ended, sweeps = box_gauss_seidel(M, q, lower, upper, len(q), z, 1.0, 1e-4 * tolerance * size, limit)
    return z, "" if ended else "limit", sweeps, None


def _auto(problem, plain, warm, limit, tolerance):
    """The first method whose z has a small scaled residual; else the one with the least."""
    best, least, total, why, active = np.zeros(len(problem[1])), np.inf, 0, "limit", None
    rng = np.random.default_rng(0)
    covers = [None] + [rng.uniform(0.1, 1.0, 2 * len(best)) for _ in range(4)]
    half = np.full(len(best), BETWEEN, np.int64)
    attempts = [lambda: _block_pivoting(problem, plain, warm, limit, tolerance)]
    attempts += [lambda c=c: _lemke(problem, plain, warm, limit, tolerance, c) for c in covers]
    attempts += [lambda: _block_pivoting(problem, plain, half, limit, tolerance)]
    attempts += [lambda: _gauss_seidel(problem, plain, warm, limit, tolerance)]
    for attempt in attempts:
        z, end, iterations, states = attempt()
        total += iterations
        residual = lcp_residual(problem[0], problem[1], z, *problem[2:]).scaled
        if residual < least or not np.isfinite(least):
            best, least, why, active = z, residual, end, states
        if least <= 1e-2 * tolerance:
            break
    return best, why, total, active


RUN = dict(zip(METHODS, (
    _lemke, _block_pivoting, _principal_pivoting, _modified_principal_pivoting, _gauss_seidel, _auto,
)))  # fmt: skip
