# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Principal pivoting: the literature's problems, random low-rank ones against Lemke, cycling, updates, input.

Sources: Murty, *Linear Complementarity, Linear and Nonlinear Programming* (1988); Fathi (1979); Kostreva (1979);
Drumwright, arXiv:1504.00719.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.lcp.active_factor import ACTIVE, DROP, MOST, RULE, make_ppm_work
from mb_contact.core.lcp.principal_pivoting import ALGORITHM_1, modified_ppm, ppm_add, ppm_next, ppm_reset
from mb_contact.errors import InputError
from oracles.enumeration import all_solutions, residual
from oracles.lcp_library import fathi_exponential, murty_exponential

principal_pivoting = partial(mb.solve_lcp, method="principal_pivoting")
modified_principal_pivoting = partial(mb.solve_lcp, method="modified_principal_pivoting")
BOTH = pytest.mark.parametrize("solver", [principal_pivoting, modified_principal_pivoting])


def low_rank(seed, degenerate=False, largest=40):
    """F = K K*, e = K x of rank m <= n, as contacts on m degrees of freedom give it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, largest))
    m = int(rng.integers(1, n + 1))
    if degenerate:  # many ties, zero rows, repeated rows
        K, x = rng.integers(-1, 2, size=(n, m)).astype(float), rng.integers(-2, 3, size=m).astype(float)
    else:
        K, x = rng.normal(size=(n, m)), rng.normal(size=m)
    return K, K @ K.T, K @ x


def held_to_its_word(M, q, result, tol=1e-9):
    own = residual(M, q, result.z)
    assert result.residual == pytest.approx(own, rel=1e-12, abs=1e-300)
    assert result.status == "solved", result
    assert own <= tol * max(1.0, np.abs(q).max(initial=0.0))
    np.testing.assert_array_equal(result.w, np.asarray(M, float) @ result.z + q)
    return result


# --- P-matrices of the literature -----------------------------------------------------------------------


def test_murty_ex_2_10():
    M, q = [[1, 0, 0], [2, 1, 0], [2, 2, 1]], [-8, -12, -14]
    np.testing.assert_allclose(held_to_its_word(M, q, principal_pivoting(M, q)).z, all_solutions(M, q)[0])


def test_kostreva_1979_ex_1():
    """A P-matrix on which the most negative rule cycles; the least index does not."""
    M = [[1, 2, 0], [0, 1, 2], [2, 0, 1]]
    np.testing.assert_allclose(held_to_its_word(M, [-1] * 3, principal_pivoting(M, [-1] * 3)).z, np.full(3, 1 / 3))


@pytest.mark.parametrize("n", [*range(1, 11), 16])
def test_murty_exponential(n):
    """One pivot in this order; 2^n - 1, every basis but one, with the indices reversed (Murty, section 6.1)."""
    M, q = murty_exponential(n)
    result = held_to_its_word(M, q, principal_pivoting(M, q))
    assert np.flatnonzero(result.z).tolist() == [0] and result.z[0] == pytest.approx(2.0**n)
    back = held_to_its_word(M[::-1, ::-1], q[::-1], principal_pivoting(M[::-1, ::-1], q[::-1], limit=2**n))
    assert back.iterations == 2**n - 1
    np.testing.assert_allclose(back.z[::-1], result.z)


@BOTH
@pytest.mark.parametrize("n", [*range(1, 11), 16])
@pytest.mark.parametrize("order", [1, -1])
def test_fathi_exponential(n, order, solver):
    M, q = fathi_exponential(n)
    M, q = M[::order, ::order], q[::order]
    result = held_to_its_word(M, q, solver(M, q, limit=2 ** (n + 1)), tol=1e-8)
    (want,) = all_solutions(M, q) if n <= 8 else (result.z,)
    np.testing.assert_allclose(result.z, want, rtol=1e-8, atol=1e-8)


@BOTH
@pytest.mark.nojit
def test_one_by_one(solver):
    assert held_to_its_word([[2.0]], [-3.0], solver([[2.0]], [-3.0])).z[0] == pytest.approx(1.5)
    assert held_to_its_word([[2.0]], [3.0], solver([[2.0]], [3.0])).z[0] == 0.0
    for M in ([[0.0]], [[-1.0]]):
        result = solver(M, [-1.0])
        assert result.status in ("no_solution", "not_a_p_matrix", "inaccurate") and result.residual == 1.0


def test_kostreva_1979_ex_2_is_not_called_solved():
    result = principal_pivoting([[1, -1, 3], [2, -1, 3], [-1, -2, 0]], [-1, -1, -1])
    assert result.status != "solved" and result.residual > 0.1


def test_random_p_matrices_have_the_one_solution():
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 9))
        A = rng.normal(size=(n, n))
        M = A @ A.T + np.diag(rng.uniform(0.1, 1.0, n)) + np.triu(B := rng.normal(size=(n, n)), 1) - np.triu(B, 1).T
        q = rng.normal(size=n)
        (want,) = all_solutions(M, q)
        np.testing.assert_allclose(held_to_its_word(M, q, principal_pivoting(M, q)).z, want, atol=1e-9)


# --- low rank ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degenerate", [False, True])
def test_500_random_problems_against_lemke(degenerate):
    """w is unique for a positive semidefinite F; the active set never exceeds the rank."""
    left = 0
    for seed in range(500):
        K, F, e = low_rank(seed, degenerate)
        result = held_to_its_word(F, e, modified_principal_pivoting(F, e))
        assert run_modified_ppm(F, e)[0].info[MOST] <= np.linalg.matrix_rank(K)
        other = mb.solve_lcp(F, e)
        if other.status == "solved":
            np.testing.assert_allclose(result.w, other.w, atol=1e-7 * max(1.0, np.abs(e).max()))
            left += 1
    assert left > 450  # Lemke's algorithm itself must have solved most of them


def test_large_thin_problem():
    """1000 contacts on 12 degrees of freedom: at most 12 columns at a time, few pivots."""
    rng = np.random.default_rng(3)
    K = rng.normal(size=(1000, 12))
    x = rng.normal(size=12)
    result = held_to_its_word(K @ K.T, K @ x, modified_principal_pivoting(K @ K.T, K @ x))
    assert len(result.z[result.z > 0.0]) <= 12 and result.iterations < 200


def run_modified_ppm(F, e):
    """Workspace and z of the kernel."""
    work, z = make_ppm_work(len(e), len(e)), np.zeros(len(e))
    modified_ppm(F, e, len(e), np.zeros(0, np.int64), 0, z, 1e-11 * np.abs(e).max(), 5000, work)
    return work, z


def printed_algorithm_1(F, e, limit=1000):
    """Algorithm 1 as printed, dense, fresh solves; None where it comes back to an active set (a cycle)."""
    B, seen = [int(np.argmin(e))], set()
    if e.min() >= 0:
        return np.zeros(len(e))
    for _ in range(limit):
        if (key := frozenset(B)) in seen:
            return None
        seen.add(key)
        x = np.linalg.lstsq(F[np.ix_(B, B)], -e[B], rcond=None)[0]
        w = F[:, B] @ x + e
        w[B] = 0.0
        i, j = int(np.argmin(w)), int(np.argmin(x)) if len(B) else -1
        if w[i] >= -1e-10:
            if j < 0 or x[j] >= -1e-10:
                z = np.zeros(len(e))
                z[B] = x
                return z
            B.pop(j)
            continue
        if j >= 0 and x[j] < -1e-10:
            B.pop(j)
        B.append(i)
    return None


def test_problems_on_which_the_printed_algorithm_cycles():
    """The print cycles on some of 2000; the rule against it solves every one of them."""
    cycled = 0
    for seed in range(2000):
        _, F, e = low_rank(seed)
        if printed_algorithm_1(F, e) is None:
            cycled += 1
            work, z = run_modified_ppm(F, e)
            assert work.info[RULE] != ALGORITHM_1
            assert residual(F, e, z) <= 1e-9 * max(1.0, np.abs(e).max())
    assert cycled >= 2


@pytest.mark.nojit
def test_a_problem_without_solution_is_a_ray():
    """Two walls that close in on one body: F = k k*, e asks for both signs of the same velocity."""
    k = np.array([1.0, -1.0, 0.5])
    result = modified_principal_pivoting(np.outer(k, k), [-1.0, -1.0, 0.3])
    assert result.status == "no_solution" and result.residual > 0.1


@pytest.mark.nojit
def test_factor_is_updated_not_recomputed():
    """L of the active block stays its Cholesky factor through additions and removals."""
    removed = 0
    for seed in range(40):
        _, F, e = low_rank(seed)
        n = len(e)
        work = make_ppm_work(n, n)
        ppm_reset(n, work)
        work.weight[:] = np.diag(F)
        while (i := ppm_next(e, n, 1e-11, 5000, work)) >= 0:
            removed += work.info[DROP] >= 0
            work.columns[work.slot[work.info[ACTIVE]]] = F[:, i]
            ppm_add(i, e, 1e-11, work)
            k = work.info[ACTIVE]
            B = work.active[:k]
            L = np.tril(work.L[:k, :k])
            np.testing.assert_allclose(L @ L.T, F[np.ix_(B, B)], atol=1e-9 * np.diag(F).max())
            np.testing.assert_array_equal(work.columns[work.slot[:k]], F[B])
            assert sorted(np.flatnonzero(work.is_active[:n])) == sorted(B)
    assert removed > 5


@BOTH
def test_warm_start_from_the_solution_takes_no_pivots(solver):
    rng = np.random.default_rng(5)
    A = rng.normal(size=(12, 12))
    M, q = A @ A.T + np.eye(12), rng.normal(size=12)
    cold = held_to_its_word(M, q, solver(M, q))
    warm = held_to_its_word(M, q, solver(M, q, warm=cold.active))
    assert cold.iterations > 0 and warm.iterations == 0
    np.testing.assert_allclose(warm.z, cold.z, atol=1e-12)


def test_badly_scaled():
    for seed in range(50):
        K, F, e = low_rank(seed)
        s = 10.0 ** np.random.default_rng(seed).uniform(-6, 6, len(e))
        result = modified_principal_pivoting(F * np.outer(s, s), e * s)
        assert result.status == "solved"
        assert residual(F, e, result.z * s) <= 1e-8 * max(1.0, np.abs(e).max())


# --- input ------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    ("M", "q", "options", "message"),
    [
        ([[1.0, 0.0]], [1.0], {}, "square"),
        ([[1.0]], [1.0, 2.0], {}, "q must have 1"),
        ([[np.nan]], [1.0], {}, "finite"),
        ([[1.0]], [1.0], dict(warm=[0, 1]), "warm must have 1"),
        ([[1.0]], [1.0], dict(limit=0), "limit"),
    ],
)
def test_bad_input(M, q, options, message, solver):
    with pytest.raises(InputError, match=message):
        solver(M, q, **options)


def test_modified_wants_symmetry():
    with pytest.raises(InputError, match="symmetric"):
        modified_principal_pivoting([[1.0, 2.0], [0.0, 1.0]], [-1.0, -1.0])


@BOTH
def test_empty(solver):
    assert solver(np.zeros((0, 0)), np.zeros(0)).status == "solved"
