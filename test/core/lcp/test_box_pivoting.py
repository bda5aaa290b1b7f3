# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Block principal pivoting on problems with bounds: the natural map of what it finds, its start, its end."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.lcp.box_pivoting import AT_LOWER, AT_UPPER, BETWEEN, box_pivot

pytestmark = pytest.mark.nojit


def solve(M, q, lower, upper, state, limit=60):
    n = len(q)
    square, index, line = (np.zeros((n, n)) for _ in range(2)), np.zeros((2, n), np.int64), np.zeros((3, n))
    z, w = np.zeros(n), np.zeros(n)
    return (*box_pivot(M, q, lower, upper, n, state, (*square, *index, *line), z, w, limit), z, w)


def random_problem(seed, n):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n))
    bound = rng.uniform(0.1, 1.0, n)
    bound[rng.random(n) < 0.3] = np.inf
    return A @ A.T + 0.1 * np.eye(n), rng.normal(size=n), np.where(rng.random(n) < 0.5, 0.0, -bound), bound


@pytest.mark.parametrize("seed", range(20))
def test_random_problems(seed):
    M, q, lower, upper = random_problem(seed, 2 + seed % 7)
    state = np.full(len(q), AT_LOWER)
    ended, solves, z, w = solve(M, q, lower, upper, state)
    assert ended and solves <= 40
    np.testing.assert_allclose(w, M @ z + q, atol=1e-12)
    np.testing.assert_allclose(z, np.clip(z - w, lower, upper), atol=1e-9)
    again = solve(M, q, lower, upper, state)  # from the states of the solution: one solve
    assert again[:2] == (True, 1)
    np.testing.assert_array_equal(again[2], z)


def test_states_say_where_each_is():
    M, q = np.eye(3), np.array([5.0, -5.0, 0.5])
    state = np.zeros(3, np.int64)
    _, _, z, _ = solve(M, q, -np.ones(3), np.ones(3), state)
    assert state.tolist() == [AT_LOWER, AT_UPPER, BETWEEN]
    np.testing.assert_allclose(z, [-1.0, 1.0, -0.5])


def test_a_singular_basis_shares_the_load():
    """Four feet of a rigid table: M of rank one, nothing determines each; the least norm is a quarter."""
    state = np.full(4, BETWEEN)
    ended, _, z, _ = solve(np.ones((4, 4)), -np.ones(4), np.zeros(4), np.full(4, np.inf), state)
    assert ended
    np.testing.assert_allclose(z, 0.25, rtol=1e-6)


def test_its_limit_ends_it():
    M, q, lower, upper = random_problem(3, 6)
    assert solve(M, q, lower, upper, np.full(6, AT_LOWER), limit=1)[:2] == (False, 1)
