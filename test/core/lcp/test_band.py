# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Cholesky factors of band matrices against dense ones."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.lcp.band import band_backward, band_factor, band_forward, band_forward_columns

pytestmark = pytest.mark.nojit


def band_matrix(seed, n, width):
    """A positive definite matrix of half-width ``width``, dense and as the kernels keep it."""
    full = np.tril(np.random.default_rng(seed).normal(size=(n, n)))
    L = np.where(np.subtract.outer(np.arange(n), np.arange(n)) <= width, full, 0.0) + 3.0 * np.eye(n)
    A = L @ L.T
    stored = np.zeros((n, width + 1))
    for i in range(n):
        for j in range(max(0, i - width), i + 1):
            stored[i, width - (i - j)] = A[i, j]
    return A, stored


@pytest.mark.parametrize("n, width", [(1, 0), (6, 0), (7, 2), (5, 4), (3, 5)])
def test_factors_and_both_solves(n, width):
    A, stored = band_matrix(n, n, width)
    assert band_factor(stored)
    L = np.linalg.cholesky(A)
    b = np.arange(1.0, n + 1.0)
    x, X = b.copy(), np.column_stack((b, -b, 7.0 + b))
    band_forward(stored, x)
    np.testing.assert_allclose(x, np.linalg.solve(L, b), rtol=1e-12)
    band_forward_columns(stored, X, 2)
    np.testing.assert_allclose(X, np.column_stack((x, -x, 7.0 + b)), rtol=1e-12)
    band_backward(stored, x)
    np.testing.assert_allclose(A @ x, b, rtol=1e-10)


def test_an_indefinite_matrix_is_refused():
    _, stored = band_matrix(0, 4, 1)
    stored[2, 1] = -1.0
    assert not band_factor(stored)
