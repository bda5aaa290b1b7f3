# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Drumwright's algorithm 1 column by column: solutions, how many are active, a ray, the limit."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.lcp.active_factor import MOST, make_ppm_work
from mb_contact.core.lcp.principal_pivoting import (
    PPM_LIMIT,
    PPM_RAY,
    PPM_SOLVED,
    ppm_add,
    ppm_next,
    ppm_reset,
    ppm_scatter,
)

pytestmark = pytest.mark.nojit


def solve(F, e, limit=200, start=()):
    """z, how it ended, the columns that were asked for, and the workspace."""
    n = len(e)
    work, z, columns = make_ppm_work(n, n), np.full(n, np.nan), []
    ppm_reset(n, work)
    for i in range(n):
        work.w[i] = e[i]
    while (i := ppm_next(e, n, 1e-12, limit, work)) >= 0:
        work.columns[work.slot[work.info[0]], :n] = F[i]
        columns.append(i)
        ppm_add(i, e, 1e-12, work)
    ppm_scatter(n, z, work)
    return z, i, columns, work


@pytest.mark.parametrize("seed", range(15))
def test_semidefinite_problems_are_solved(seed):
    """F of rank m at most; e in its range and above, so that a solution exists."""
    rng = np.random.default_rng(seed)
    n, m = 3 + seed % 5, 1 + seed % 3
    N = rng.normal(size=(n, m))
    F = N @ N.T
    e = N @ rng.normal(size=m) + rng.uniform(0.0, 0.3, n)
    z, end, columns, work = solve(F, e)
    assert end == PPM_SOLVED and work.info[MOST] <= m  # theorem 1 of D15
    w = F @ z + e
    assert min(z.min(), w.min()) >= -1e-9 and abs(z @ w) <= 1e-9
    assert set(np.flatnonzero(z)) <= set(columns)


def test_what_presses_nowhere_asks_for_no_column():
    z, end, columns, _ = solve(np.eye(3), np.ones(3))
    assert end == PPM_SOLVED and columns == [] and not z.any()


def test_a_ray_and_the_limit():
    """Two rows of one motion that ask for opposite velocities have no solution."""
    F = np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert solve(F, np.array([-1.0, -1.0]))[1] == PPM_RAY
    assert solve(np.eye(3), -np.ones(3), limit=1)[1] == PPM_LIMIT
