# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Principal pivoting method I: all solutions of small P-matrices, its limit, and a pivot that is not positive."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mb_contact.core.lcp.ppm_one import ppm_one
from mb_contact.core.lcp.principal_pivoting import PPM_LIMIT, PPM_SINGULAR, PPM_SOLVED

pytestmark = pytest.mark.nojit


def solve(M, q, start=(), limit=100):
    n = len(q)
    T, x, basic, order, z = np.zeros((n, n)), np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n)
    start = np.array(start, np.int64)
    return (*ppm_one(M, q, n, T, x, basic, order, start, len(start), z, 1e-12, limit), z)


def by_enumeration(M, q):
    """The z >= 0 with M z + q >= 0 and no product: every choice of basic entries is tried."""
    for count in range(len(q) + 1):
        for chosen in itertools.combinations(range(len(q)), count):
            z, s = np.zeros(len(q)), list(chosen)
            z[s] = np.linalg.solve(M[np.ix_(s, s)], -q[s])
            if min(z.min(), (M @ z + q).min()) >= -1e-10:
                return z
    return None


@pytest.mark.parametrize("seed", range(12))
def test_p_matrices_are_solved(seed):
    """Positive definite with a skew part: a P-matrix that is not symmetric."""
    rng = np.random.default_rng(seed)
    n = 2 + seed % 5
    A, S = rng.normal(size=(n, n)), rng.normal(size=(n, n))
    M, q = A @ A.T + 0.2 * np.eye(n) + S - S.T, rng.normal(size=n)
    status, pivots, z = solve(M, q)
    assert status == PPM_SOLVED
    np.testing.assert_allclose(z, by_enumeration(M, q), atol=1e-9)
    warm = solve(M, q, np.flatnonzero(z))  # from the basis of the solution: no pivot
    assert warm[:2] == (PPM_SOLVED, 0) and pivots >= warm[1]
    np.testing.assert_allclose(warm[2], z, atol=1e-12)


def test_how_it_ends_otherwise():
    assert solve(-np.eye(2), -np.ones(2))[0] == PPM_SINGULAR
    assert solve(np.eye(2), -np.ones(2), limit=1)[:2] == (PPM_LIMIT, 1)
    assert solve(np.eye(2), np.ones(2))[:2] == (PPM_SOLVED, 0)
