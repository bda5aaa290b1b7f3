# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Linear complementarity problems by name, and the rule that no solver's own word counts.

Sources: Murty, *Linear Complementarity, Linear and Nonlinear Programming* (1988); Kostreva,
*Cycling in linear complementarity problems*, Math. Programming 16 (1979).

Covers solvers/infeasible.py, solvers/residuals.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from oracles.enumeration import all_solutions, residual
from oracles.lcp_library import fathi_exponential, murty_exponential

METHODS = ("lemke",)
by_method = pytest.mark.parametrize("method", METHODS)


def solved(M, q, method, **options):
    """Solve and hold the result to its word."""
    result = mb.solve_lcp(M, q, method, **options)
    own = residual(M, q, result.z)
    assert result.residual == pytest.approx(own, rel=1e-12, abs=1e-300)
    assert result.status == "solved", result
    assert own <= 1e-9 * max(1.0, np.abs(q).max(initial=0.0))
    np.testing.assert_array_equal(result.w, np.asarray(M, float) @ result.z + q)
    return result


def not_solved(M, q, method, **options):
    """An unsolvable problem must never be called solved, and the residual must say how bad it is."""
    result = mb.solve_lcp(M, q, method, **options)
    assert result.status != "solved"
    assert result.residual == pytest.approx(residual(M, q, result.z), rel=1e-12)
    return result


# --- the literature -----------------------------------------------------------------------------------


@by_method
def test_murty_ex_2_8(method):
    M = [[1, -1, -1, -1], [-1, 1, -1, -1], [1, 1, 2, 0], [1, 1, 0, 2]]
    q = [3, 5, -9, -5]
    z = solved(M, q, method).z
    assert any(np.allclose(z, x, atol=1e-12) for x in all_solutions(M, q))


@by_method
def test_murty_ex_2_9(method):
    """Lemke's algorithm ends on a ray although the problem has solutions' candidates to enumerate: none."""
    M = [[-1, 0, -3], [1, -2, -5], [-2, -1, -2]]
    q = [-3, -2, -1]
    assert not all_solutions(M, q)
    assert not_solved(M, q, method).status == "ray"


@by_method
def test_murty_ex_2_10(method):
    M = [[1, 0, 0], [2, 1, 0], [2, 2, 1]]
    q = [-8, -12, -14]
    np.testing.assert_allclose(solved(M, q, method).z, all_solutions(M, q)[0], atol=1e-12)


@by_method
def test_murty_ex_2_11(method):
    """A ray with the covering vector (5, 16), a solution with (1, 1), which is what is used here."""
    M = [[-1.5, 2], [-4, 4]]
    q = [-5, 17]
    np.testing.assert_allclose(solved(M, q, method).z, all_solutions(M, q)[0], atol=1e-12)


@by_method
def test_kostreva_1979_ex_1(method):
    """Cycles without a rule for ties; the solution is 1/3 each."""
    M = [[1, 2, 0], [0, 1, 2], [2, 0, 1]]
    np.testing.assert_allclose(solved(M, [-1, -1, -1], method).z, np.full(3, 1 / 3), atol=1e-15)


@by_method
def test_kostreva_1979_ex_2(method):
    """No solution: must be reported."""
    M = [[1, -1, 3], [2, -1, 3], [-1, -2, 0]]
    q = [-1, -1, -1]
    assert not all_solutions(M, q)
    assert not_solved(M, q, method).residual > 0.1


@by_method
@pytest.mark.parametrize("n", range(1, 9))
@pytest.mark.parametrize("family", [murty_exponential, fathi_exponential])
def test_exponential_families(family, n, method):
    M, q = family(n)
    result = solved(M, q, method, limit=2 ** (n + 2))
    (want,) = all_solutions(M, q)
    np.testing.assert_allclose(result.z, want, rtol=1e-9, atol=1e-9)


@by_method
def test_pivot_limit_is_reported(method):
    M, q = murty_exponential(8)
    assert not_solved(M, q, method, limit=100).status == "limit"


# --- small, degenerate and badly posed ---------------------------------------------------------------


@by_method
@pytest.mark.parametrize("q", [-1.0, -1e-6, -1e6])
def test_infeasible_1x1(q, method):
    result = not_solved([[0.0]], [q], method)
    assert result.residual == pytest.approx(-q)


@by_method
def test_infeasible_row_inside_a_solvable_problem(method):
    M = np.diag([1.0, 0.0, 2.0])
    not_solved(M, [-1.0, -1.0, -1.0], method)


@by_method
def test_nothing_to_do_for_a_positive_constant(method):
    result = solved(-np.eye(3), [0.0, 1.0, 2.0], method)
    assert result.iterations == 0 and not result.z.any()


@by_method
def test_empty_problem(method):
    assert solved(np.zeros((0, 0)), np.zeros(0), method).z.shape == (0,)


@by_method
@pytest.mark.parametrize("seed", range(60))
def test_random_p_matrices_equal_enumeration(seed, method):
    """Positive definite (not symmetric) matrices have one solution for every q; ties in half of the cases."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    A, B = rng.normal(size=(n, n)), rng.normal(size=(n, n))
    M = A @ A.T + 0.1 * np.eye(n) + (B - B.T)
    q = rng.normal(size=n) if seed % 2 else rng.integers(-2, 2, n).astype(float)
    (want,) = all_solutions(M, q)
    np.testing.assert_allclose(solved(M, q, method).z, want, atol=1e-9)


@by_method
@pytest.mark.parametrize("seed", range(20))
def test_rank_deficient_positive_semidefinite(seed, method):
    """Always solvable when q is in reach; every solution has the same w."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(9, 4))
    M = J @ J.T
    x = rng.uniform(0, 1, 9) * (rng.random(9) < 0.6)
    w = rng.uniform(0.1, 1, 9) * (x == 0)
    np.testing.assert_allclose(solved(M, w - M @ x, method).w, w, atol=1e-8)


@by_method
@pytest.mark.parametrize("seed", range(40))
def test_never_a_false_success_on_random_problems(seed, method):
    """Indefinite matrices, most without a solution: whatever is called solved is one."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    M, q = rng.normal(size=(n, n)), rng.normal(size=n)
    result = mb.solve_lcp(M, q, method)
    assert result.residual == pytest.approx(residual(M, q, result.z), rel=1e-9, abs=1e-15)
    if result.status == "solved":
        assert residual(M, q, result.z) <= 1e-9 * max(1.0, np.abs(q).max())
    if not all_solutions(M, q):
        assert result.status != "solved"


def scaled_problem(scale):
    """A problem with one solution, two of its five rows and columns in other units."""
    rng = np.random.default_rng(4)
    A = rng.normal(size=(5, 5))
    M, q = A @ A.T + np.eye(5), rng.normal(size=5)
    s = np.array([1.0, scale, 1.0, scale, 1.0])
    return M * np.outer(s, s), q * s, all_solutions(M, q)[0], s


@by_method
@pytest.mark.parametrize("scale", [1e-4, 1e-2, 1e2, 1e4])
def test_badly_scaled_rows(scale, method):
    M, q, want, s = scaled_problem(scale)
    np.testing.assert_allclose(solved(M, q, method).z * s, want, atol=1e-9)


@by_method
@pytest.mark.parametrize("scale", [1e-8, 1e-6, 1e6, 1e8])
def test_no_false_success_on_very_badly_scaled_rows(scale, method):
    M, q, want, s = scaled_problem(scale)
    result = mb.solve_lcp(M, q, method)
    assert result.status != "solved" or np.abs(result.z * s - want).max() <= 1e-6


@pytest.mark.nojit
def test_murty_ex_2_8_without_jit():
    test_murty_ex_2_8("lemke")


# --- wrong arguments -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "M, q, options, message",
    [
        ([[np.nan]], [1.0], {}, "M\\[\\(0, 0\\)\\] is nan"),
        ([[1.0]], [np.nan], {}, "q\\[0\\] is nan"),
        ([[np.inf]], [1.0], {}, "is inf"),
        ([[1.0, 2.0]], [1.0], {}, "square"),
        ([1.0], [1.0], {}, "matrix"),
        ([[1.0]], [1.0, 2.0], {}, "q must have 1"),
        ([[1.0]], [1.0], {"method": "guess"}, "no method 'guess'"),
        ([["a"]], [1.0], {}, "numbers"),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(M, q, options, message):
    with pytest.raises(mb.InputError, match=message):
        mb.solve_lcp(M, q, **options)
