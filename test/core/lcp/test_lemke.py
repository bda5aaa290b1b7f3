# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Lemke's algorithm: how many pivots it takes, and how it ends."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.lcp.lemke import LEMKE_LIMIT, LEMKE_RAY, LEMKE_SOLVED, lemke, make_lemke_work
from oracles.lcp_library import murty_exponential


@pytest.mark.parametrize("n", range(2, 9))
def test_murty_exponential_takes_two_to_the_n_pivots(n):
    M, q = murty_exponential(n)
    assert mb.solve_lcp(M, q, limit=2 ** (n + 2)).iterations == 2**n


@pytest.mark.nojit
def test_kernel_reports_its_end():
    """The kernel itself: a solution, a ray, and the limit."""
    M = np.array([[1.0, 2, 0], [0, 1, 2], [2, 0, 1]])
    work, z = make_lemke_work(3), np.zeros(3)
    assert lemke(M, -np.ones(3), np.ones(3), 3, *work, z, 50)[0] == LEMKE_SOLVED
    np.testing.assert_allclose(z, 1 / 3)
    assert lemke(np.zeros((3, 3)), -np.ones(3), np.ones(3), 3, *work, z, 50)[0] == LEMKE_RAY
    assert not z.any()
    assert lemke(M, -np.ones(3), np.ones(3), 3, *work, z, 2)[0] == LEMKE_LIMIT
