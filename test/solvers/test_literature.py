# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The problems of ``lcp_library`` over all solvers: what is called solved is a solution, what has none is reported."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.solvers import METHODS
from oracles.lcp_library import LIBRARY

#: (problem, method) that the method cannot solve, and what it must say; everything else solvable must be solved
CANNOT = {
    ("murty_ex_2_11", "block_pivoting"): "limit",  # not a P-matrix
    ("murty_ex_2_11", "gauss_seidel"): "inaccurate",  # a diagonal entry is negative
    ("kostreva_1979_ex_1", "gauss_seidel"): "limit",
    ("cottle_pang_stone_4_4_7", "gauss_seidel"): "inaccurate",  # zero diagonal
    ("floudas_10_2_3", "gauss_seidel"): "inaccurate",
    ("floudas_10_2_4", "gauss_seidel"): "inaccurate",
    ("floudas_10_2_4", "lemke"): "ray",  # the book: beyond Lemke's algorithm
    ("murty_ex_2_11", "principal_pivoting"): "not_a_p_matrix",
    ("cottle_pang_stone_4_4_7", "principal_pivoting"): "not_a_p_matrix",
    ("floudas_10_2_3", "principal_pivoting"): "not_a_p_matrix",
    ("floudas_10_2_4", "principal_pivoting"): "not_a_p_matrix",
}
CANNOT |= {
    ("cottle_pang_stone_4_4_23", method): CANNOT["floudas_10_2_4", method]
    for method in ("gauss_seidel", "lemke", "principal_pivoting")  # the same numbers
}
LIMITS = {"lemke": 2**18, "principal_pivoting": 2**18}


def made_for(method, M):
    """Whether a method takes such a matrix at all."""
    return method != "modified_principal_pivoting" or np.array_equal(M, np.transpose(M))


def natural_residual(M, q, z):
    """In the test's own words."""
    return max(abs(min(a, b)) for a, b in zip(z, M @ z + q))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", LIBRARY)
def test_literature(name, method):
    problem = LIBRARY[name]
    if not made_for(method, problem.M):
        with pytest.raises(mb.InputError, match="needs a symmetric M; use principal_pivoting for P-matrices and lemke"):
            mb.solve_lcp(problem.M, problem.q, method)
        return
    result = mb.solve_lcp(problem.M, problem.q, method, limit=LIMITS.get(method))
    own = natural_residual(problem.M, problem.q, result.z)
    assert result.residual == pytest.approx(own, rel=1e-12, abs=1e-300)
    if not problem.solvable:
        assert result.status == ("ray" if method == "lemke" else "no_solution") and result.infeasible
        assert own > 0.5
    elif (name, method) in CANNOT:
        assert result.status == CANNOT[name, method] and own > 1e-3 and not result.infeasible
    else:
        assert result.status == "solved" and own <= 1e-9
        if problem.solutions:
            assert any(np.allclose(result.z, z, rtol=1e-9, atol=1e-9) for z in problem.solutions)


def test_floudas_10_2_1_takes_principal_pivoting_every_basis():
    problem = LIBRARY["floudas_10_2_1"]
    result = mb.solve_lcp(problem.M, problem.q, "principal_pivoting", limit=2**16)
    assert result.status == "solved" and result.iterations == 2**16 - 1


def test_murty_exponential_16_takes_two_to_the_16_pivots():
    problem = LIBRARY["murty_exponential_16"]
    assert mb.solve_lcp(problem.M, problem.q, "lemke", limit=2**17).iterations == 2**16


@pytest.mark.parametrize("name", ["floudas_10_2_2", "cottle_pang_stone_4_1_14"])
def test_every_solution_of_a_non_unique_problem_is_accepted_by_the_judge(name):
    problem = LIBRARY[name]
    for z in problem.solutions:
        assert mb.solvers.lcp_residual(problem.M, problem.q, z).natural == 0.0
    assert mb.solvers.lcp_residual(problem.M, problem.q, np.array([0.5, 0.6])).natural == pytest.approx(0.1)


@pytest.mark.parametrize("name", ["floudas_10_2_4", "kostreva_1979_ex_2"])
def test_a_vector_of_1e13_is_not_a_solution(name):
    """What a regularised Lemke calls a solution of these two."""
    problem = LIBRARY[name]
    residual = mb.solvers.lcp_residual(problem.M, problem.q, np.full(len(problem.q), 1e13))
    assert residual.natural > 1e12 and residual.scaled > 1e9


@pytest.mark.parametrize("method", METHODS)
def test_nan_is_refused(method):
    with pytest.raises(mb.InputError, match="is nan"):
        mb.solve_lcp([[1.0, np.nan], [0.0, 1.0]], [-1.0, 1.0], method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e-5, 1e-3, 1e3, 1e5])
def test_badly_scaled(scale, method):
    rng = np.random.default_rng(4)
    A = rng.normal(size=(6, 6))
    M, q = A @ A.T + np.eye(6), rng.normal(size=6)
    want = mb.solve_lcp(M, q, "lemke").z
    s = scale ** rng.uniform(-1, 1, 6)
    result = mb.solve_lcp(M * np.outer(s, s), q * s, method)
    assert result.status == "solved"
    np.testing.assert_allclose(result.z * s, want, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(10))
def test_rank_deficient(method, seed):
    """J J* of rank 4 in 9 rows, solvable by construction; w is the same for every solution."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(9, 4))
    M = J @ J.T
    x = rng.uniform(0, 1, 9) * (rng.random(9) < 0.6)
    w = rng.uniform(0.1, 1, 9) * (x == 0)
    result = mb.solve_lcp(M, w - M @ x, method, tolerance=1e-8)
    if result.status == "solved":
        np.testing.assert_allclose(result.w, w, atol=1e-6)
    # these two may converge too slowly or meet a zero pivot, and say so
    assert result.status == "solved" or method in ("gauss_seidel", "principal_pivoting")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(60))
def test_never_a_false_success_on_indefinite_matrices(method, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    M, q = rng.normal(size=(n, n)) * 10.0 ** rng.integers(-3, 4), rng.normal(size=n)
    if not made_for(method, M):
        M = 0.5 * (M + M.T)
    result = mb.solve_lcp(M, q, method)
    own = natural_residual(M, q, result.z)
    assert result.status != "solved" or own <= 1e-9 * max(1.0, np.abs(q).max())
    if result.infeasible:  # then no z >= 0 may lift all rows: ask a linear program
        from scipy.optimize import linprog

        slack = linprog(np.r_[np.zeros(n), 1.0], A_ub=np.c_[-M, -np.ones(n)], b_ub=q)
        assert slack.fun > 0.0
