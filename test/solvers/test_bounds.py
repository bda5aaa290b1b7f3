# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Linear complementarity with bounds: free, one-sided and two-sided rows, and warm starts."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.solvers import METHODS

PRINCIPAL = ("principal_pivoting", "modified_principal_pivoting")


def random_bounds(rng, n, kinds=5):
    """A mix of free, lower, upper, two-sided and fixed rows."""
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    kind = rng.integers(0, kinds, n)
    lower[kind == 1] = 0.0
    upper[kind == 2] = rng.normal(size=n)[kind == 2]
    lower[kind == 3], upper[kind == 3] = -rng.random(n)[kind == 3], rng.random(n)[kind == 3]
    lower[kind == 4] = upper[kind == 4] = 0.3
    return lower, upper


def violation(M, q, z, lower, upper):
    """The definition, row by row, in the test's own words."""
    w, worst = M @ z + q, 0.0
    for i in range(len(q)):
        assert lower[i] <= z[i] <= upper[i]
        below = max(w[i], 0.0) * min(1.0, z[i] - lower[i])  # w > 0 only at the lower bound
        above = max(-w[i], 0.0) * min(1.0, upper[i] - z[i])
        worst = max(worst, below, above)
    return worst


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(40))
def test_bounds(seed, method):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    A, B = rng.normal(size=(n, n)), rng.normal(size=(n, n))
    skew = 0.0 if method in ("gauss_seidel", "modified_principal_pivoting") else 0.5
    M = A @ A.T + 0.3 * np.eye(n) + skew * (B - B.T)
    q = rng.normal(size=n)
    lower, upper = random_bounds(rng, n, kinds=3 if method in PRINCIPAL else 5)
    result = mb.solve_lcp(M, q, method, lower=lower, upper=upper)
    assert result.status == "solved", result
    assert violation(M, q, result.z, lower, upper) <= 1e-8
    again = mb.solve_lcp(M, q, "block_pivoting", lower=lower, upper=upper, warm=result.active)
    assert again.status == "solved" and again.iterations <= 2
    np.testing.assert_allclose(again.z, result.z, atol=1e-7)
    if method in PRINCIPAL:  # its own warm start: nothing left to do
        again = mb.solve_lcp(M, q, method, lower=lower, upper=upper, warm=result.active)
        assert again.status == "solved" and again.iterations == 0


@pytest.mark.parametrize("method", PRINCIPAL)
def test_principal_pivoting_refuses_two_bounds_in_a_row(method):
    with pytest.raises(mb.InputError, match="takes one bound a row, row 1 has two; use lemke or block_pivoting"):
        mb.solve_lcp(np.eye(2), [-1.0, -1.0], method, upper=[np.inf, 1.0])


@pytest.mark.parametrize("method", [method for method in METHODS if method != "gauss_seidel"])
def test_free_rows_only_is_a_linear_system(method):
    rng = np.random.default_rng(0)
    M, q = rng.normal(size=(6, 6)) + 6 * np.eye(6), rng.normal(size=6)
    if method == "modified_principal_pivoting":
        M = M @ M.T
    result = mb.solve_lcp(M, q, method, lower=np.full(6, -np.inf))
    np.testing.assert_allclose(result.z, -np.linalg.solve(M, q), atol=1e-12)
    assert result.status == "solved"


@pytest.mark.parametrize("method", METHODS)
def test_redundant_bilateral_rows(method):
    """Two equal loop-closure rows: W is singular, the force may be shared in any way."""
    J = np.array([[1.0, 0, 0], [1, 0, 0], [0, 1, 1]])
    q = J @ np.array([0.5, -1.0, -0.25])
    result = mb.solve_lcp(J @ J.T, q, method, lower=[-np.inf, -np.inf, 0.0])
    assert result.status == "solved"
    assert result.z[:2].sum() == pytest.approx(-0.5)


def test_contradicting_bilateral_rows_are_not_solved():
    J = np.array([[1.0, 0], [1, 0]])
    for method in METHODS:
        result = mb.solve_lcp(J @ J.T, [0.5, -0.5], method, lower=[-np.inf, -np.inf])
        assert result.status != "solved" and result.residual > 0.1


def test_crossed_bounds_are_refused():
    with pytest.raises(mb.InputError, match=r"lower\[1\] = 2 is above upper\[1\] = 1"):
        mb.solve_lcp(np.eye(2), [0, 0], lower=[0, 2], upper=[1, 1])
