# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The Cholesky factor that grows and shrinks with an active set, against the one of the active block."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.lcp.active_factor import (
    ACTIVE,
    MOST,
    PIVOTS,
    append,
    copy_column,
    make_ppm_work,
    remove,
    solve_active,
)

pytestmark = pytest.mark.nojit


def random_matrix(n, rank, seed=0):
    J = np.random.default_rng(seed).normal(size=(n, rank))
    return J @ J.T


def add(F, i, work):
    copy_column(F, len(F), i, work)
    return append(i, work)


def check(F, work):
    active = work.active[: work.info[ACTIVE]]
    L = np.tril(work.L[: len(active), : len(active)])
    np.testing.assert_allclose(L @ L.T, F[np.ix_(active, active)], atol=1e-12)
    assert sorted(active) == np.flatnonzero(work.is_active).tolist()
    assert sorted(work.slot) == list(range(len(work.slot)))  # every slot once
    for s, i in enumerate(active):
        np.testing.assert_array_equal(work.columns[work.slot[s]], F[i])


def test_rows_come_and_go():
    F = random_matrix(6, 6)
    work = make_ppm_work(6, 6)
    for i in (4, 1, 5, 0):
        assert add(F, i, work)
        check(F, work)
    for position in (1, 2, 0):  # from the middle, the end, the front
        remove(position, work)
        check(F, work)
    assert add(F, 3, work)
    check(F, work)
    assert (work.info[ACTIVE], work.info[PIVOTS], work.info[MOST]) == (2, 8, 4)


def test_the_active_block_is_solved():
    F, e = random_matrix(5, 5), np.arange(1.0, 6.0)
    work, x = make_ppm_work(5, 5), np.zeros(6)
    for i in (3, 0, 4):
        add(F, i, work)
    solve_active(e, x, work)
    np.testing.assert_allclose(x[:3], -np.linalg.solve(F[np.ix_([3, 0, 4], [3, 0, 4])], e[[3, 0, 4]]), rtol=1e-9)


def test_a_dependent_index_is_refused():
    """Rank two: a third index follows from two others, and nothing changes."""
    F = random_matrix(4, 2)
    work = make_ppm_work(4, 4)
    assert add(F, 0, work) and add(F, 1, work)
    assert not add(F, 2, work)
    assert work.info[ACTIVE] == 2
    check(F, work)
