# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""LU with partial pivoting and the proximal solve, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.lcp.linear import lu_factor, lu_solve, proximal_solve

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_lu_solves_the_leading_block(n):
    rng = np.random.default_rng(n)
    A, b = rng.normal(size=(n + 2, n + 2)), rng.normal(size=n)
    A[0, 0] = 0.0 if n > 1 else A[0, 0]  # needs a swap
    factors, order, x = A.copy(), np.zeros(n, np.int64), b.copy()
    assert lu_factor(factors, n, order)
    lu_solve(factors, n, order, x)
    np.testing.assert_allclose(A[:n, :n] @ x, b, atol=1e-11)
    np.testing.assert_array_equal(factors[n:], A[n:])


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_end_early_are_factored_too(seed):
    """Most rows have entries near the diagonal alone, some of them to the last column."""
    rng, n = np.random.default_rng(seed), 23
    reach = np.where(rng.random(n) < 0.3, n, 3)
    A = np.where(np.arange(n) - np.arange(n)[:, None] < reach[:, None], rng.normal(size=(n, n)), 0.0) + 8.0 * np.eye(n)
    b = rng.normal(size=n)
    factors, order, x = A.copy(), np.zeros(n, np.int64), b.copy()
    assert lu_factor(factors, n, order)
    lu_solve(factors, n, order, x)
    np.testing.assert_allclose(x, np.linalg.solve(A, b), atol=1e-11)


def test_the_factors_are_those_of_the_swapped_rows():
    A = np.array([[1.0, 2.0, 0.0], [4.0, 4.0, 2.0], [2.0, 6.0, 8.0]])
    factors, order = A.copy(), np.zeros(3, np.int64)
    lu_factor(factors, 3, order)
    rows = [0, 1, 2]
    for k, p in enumerate(order):
        rows[k], rows[p] = rows[p], rows[k]
    L, U = np.tril(factors, -1) + np.eye(3), np.triu(factors)
    np.testing.assert_allclose(L @ U, A[rows], rtol=1e-15)
    assert np.abs(L).max() <= 1.0


def test_a_singular_matrix_is_named():
    assert not lu_factor(np.array([[1.0, 2.0], [2.0, 4.0]]), 2, np.zeros(2, np.int64))


def test_proximal_steps_find_the_least_norm():
    """A of rank two in five rows, b in its range."""
    rng = np.random.default_rng(7)
    J = rng.normal(size=(5, 2))
    A, b = J @ J.T, J @ J.T @ rng.normal(size=5)
    x, step, LU, order = np.zeros(5), np.zeros(5), np.zeros((5, 5)), np.zeros(5, np.int64)
    left = proximal_solve(A, 5, 1e-6, LU, order, b, x, step, 1e-13, 30)
    assert left <= 1e-12
    np.testing.assert_allclose(x, np.linalg.pinv(A) @ b, atol=1e-8)


def test_what_is_left_over_is_told():
    """Nothing solves 0 x = 1."""
    work = np.zeros((1, 1)), np.zeros(1, np.int64), np.ones(1), np.zeros(1), np.zeros(1)
    assert proximal_solve(np.zeros((1, 1)), 1, 1e-3, *work, 1e-12, 20) == pytest.approx(1.0)
