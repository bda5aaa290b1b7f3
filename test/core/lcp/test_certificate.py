# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Residuals of polyhedral friction against the written-out Eq. 53 of ``oracles/coulomb.py``."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.lcp.certificate import polygon_pairs
from oracles.coulomb import dense_residual

pytestmark = pytest.mark.nojit


def friction(n_f, mu, r, u, W):
    """What the judge says of a contact's friction."""
    return polygon_pairs(n_f, mu, *(float(x) for x in (*r, *u[1:])), float(np.sqrt(0.5 * (W[1, 1] + W[2, 2]))))


@pytest.mark.parametrize("n_f", [4, 8, 10])
@pytest.mark.parametrize("seed", range(10))
def test_residuals_of_any_impulses(seed, n_f):
    """The worst pair of a contact: its normal's, or one of its friction."""
    rng = np.random.default_rng(seed)
    A, q, r, mu = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3), rng.uniform(0.2, 0.9)
    W = A @ A.T + np.eye(3)
    u, s = W @ r + q, np.sqrt(W[0, 0])
    gap, infeasible, beyond = friction(n_f, mu, r, u, W)
    worst = max(gap, infeasible, abs(min(r[0] * s, u[0] / s)))
    assert worst == pytest.approx(dense_residual(W, q, [mu], [3], n_f, r), rel=1e-10)
    assert beyond >= np.hypot(*r[1:]) - mu * r[0] - 1e-12  # the polygon lies within the disc


def test_what_solves_the_problem_has_none():
    """Unit mass, 1 m/s down, 0.3 m/s along d_1, friction 0.2: it slips on at 0.1 m/s."""
    found = friction(8, 0.2, (1.0, -0.2, 0.0), (0.0, 0.1, 0.0), np.eye(3))
    np.testing.assert_allclose(found, 0.0, atol=1e-15)


def test_friction_beyond_its_bound_is_told():
    assert friction(8, 0.5, (1.0, 0.7, 0.0), (0.0, 0.0, 0.0), np.eye(3))[2] == pytest.approx(0.2)
