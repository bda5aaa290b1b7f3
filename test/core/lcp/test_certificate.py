# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Residuals of the polyhedral problem against the written-out Eq. 53 of ``oracles/coulomb.py``."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.lcp.certificate import GAP, INFEASIBLE, VIOLATION, WORST, certify, certify_shifted
from mb_contact.core.workspace import make_row_blocks
from oracles.coulomb import dense_residual

pytestmark = pytest.mark.nojit


def layout(mu, dim, n_f):
    blocks = make_row_blocks(len(dim), n_f)
    blocks.count[0], blocks.rows[0] = len(dim), sum(dim)
    blocks.dim[:], blocks.mu[:], blocks.start[:] = dim, mu, np.cumsum(dim) - dim
    return blocks


def random_problem(seed, dim):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(sum(dim), sum(dim)))
    return A @ A.T + np.eye(sum(dim)), rng.normal(size=sum(dim)), rng.normal(size=sum(dim))


@pytest.mark.parametrize("n_f", [4, 8, 10])
@pytest.mark.parametrize("seed", range(5))
def test_residuals_of_any_impulses(seed, n_f):
    dim, mu = [3, 1, 3], [0.4, 0.0, 0.9]
    W, q, r = random_problem(seed, dim)
    residuals, u = np.zeros(4), np.zeros(len(q))
    worst = certify(W, q, layout(mu, dim, n_f), r, u, residuals)
    np.testing.assert_allclose(u, W @ r + q, rtol=1e-12)
    assert worst == max(residuals[[GAP, INFEASIBLE]])
    assert worst == pytest.approx(dense_residual(W, q, mu, dim, n_f, r), rel=1e-10)


def test_what_solves_the_problem_has_none():
    """Unit mass, 1 m/s down, 0.3 m/s along d_1, friction 0.2: it slips on at 0.1 m/s."""
    residuals, u = np.zeros(4), np.zeros(3)
    blocks = layout([0.2], [3], 8)
    assert certify(np.eye(3), np.array([-1.0, 0.3, 0.0]), blocks, np.array([1.0, -0.2, 0.0]), u, residuals) <= 1e-15
    np.testing.assert_allclose(u, [0.0, 0.1, 0.0], atol=1e-15)
    assert residuals[VIOLATION] <= 1e-15 and residuals[WORST] == 0


def test_each_fault_has_its_entry():
    residuals, u, blocks = np.zeros(4), np.zeros(4), layout([0.5, 0.0], [3, 1], 8)
    W, q = np.eye(4), np.zeros(4)
    certify(W, q, blocks, np.array([1.0, 0.7, 0.0, 0.0]), u, residuals)
    assert residuals[VIOLATION] == pytest.approx(0.2) and residuals[WORST] == 0
    certify(4.0 * W, q, blocks, np.array([0.0, 0.0, 0.0, -3.0]), u, residuals)
    assert residuals[INFEASIBLE] == pytest.approx(6.0) and residuals[WORST] == 1 and residuals[GAP] == 0.0
    certify(W, q, blocks, np.array([0.0, np.nan, 0.0, 0.0]), u, residuals)
    assert residuals[GAP] >= 1e300 and residuals[WORST] == 0


def test_recovered_impulses_count_as_the_least():
    """r_n = theta with u_n > 0 is a solution if normal impulses start from theta."""
    residuals, u, blocks = np.zeros(4), np.zeros(1), layout([0.0], [1], 8)
    W, q, r = np.eye(1), np.array([1.0]), np.array([0.5])
    assert certify_shifted(W, q, r, 1.0, blocks, r, u, residuals) == 0.0
    assert certify_shifted(W, q, r, 0.0, blocks, r, u, residuals) == pytest.approx(0.5)
