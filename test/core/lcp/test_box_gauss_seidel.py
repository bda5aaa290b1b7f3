# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Projected Gauss-Seidel: one sweep by its formula, what it converges to, and when it gives up."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.lcp.box_gauss_seidel import box_gauss_seidel

pytestmark = pytest.mark.nojit

M = np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]])
Q = np.array([-4.0, 1.0, -3.0])
LOWER, UPPER = np.array([0.0, -np.inf, 0.0]), np.array([1.0, np.inf, np.inf])


def test_one_sweep_goes_row_after_row():
    z = np.array([0.5, 0.0, 0.0])
    assert box_gauss_seidel(M, Q, LOWER, UPPER, 3, z, 1.5, 0.0, 1) == (False, 1)
    first = min(0.5 - 1.5 * (2 * 0.5 - 4.0) / 2, 1.0)
    second = -1.5 * (-first + 1.0) / 2
    np.testing.assert_allclose(z, [first, second, max(-1.5 * (-second - 3.0) / 2, 0.0)], rtol=1e-15)


def test_it_converges_to_the_problem_s_solution():
    z = np.zeros(3)
    ended, sweeps = box_gauss_seidel(M, Q, LOWER, UPPER, 3, z, 1.0, 1e-14, 200)
    assert ended and 1 < sweeps < 100
    np.testing.assert_allclose(z, np.clip(z - (M @ z + Q), LOWER, UPPER), atol=1e-13)
    np.testing.assert_allclose(z, [1.0, 1.0, 2.0], atol=1e-13)  # the first at its bound, the others' w zero


def test_a_row_without_a_diagonal_is_left_alone():
    A = M.copy()
    A[1] = A[:, 1] = 0.0
    z = np.array([0.0, 5.0, 0.0])
    box_gauss_seidel(A, Q, LOWER, UPPER, 3, z, 1.0, 1e-12, 50)
    np.testing.assert_allclose(z, [1.0, 5.0, 1.5])


def test_numbers_that_overflow_end_it():
    grows = np.array([[1e-300, 1e10], [1e10, 1e-300]])
    z = np.array([1e300, 1e300])
    free = np.full(2, np.inf)
    with np.errstate(over="ignore"):
        ended, sweeps = box_gauss_seidel(grows, np.ones(2), -free, free, 2, z, 1.0, 1e-9, 50)
    assert not ended and sweeps < 50
