# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The operator by rows and its Newton steps against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.solve.by_rows import apply_rows, factor_rows, substitute_rows
from mb_contact.core.workspace import UNILATERAL
from scenes.body_systems import body_system, random_gain

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("zero", [[], [3], [2, 4, 5], [2, 3, 4, 5, 6]])
def test_w_is_read_by_the_callers_numbers(zero):
    """It need not be symmetric; columns of impulses that are zero are passed over."""
    rng = np.random.default_rng(1)
    P, _, _, W = body_system(0)
    rows, x, y = rng.permutation(len(W)), rng.normal(size=len(W)), np.full(len(W), np.nan)
    P.W[:], x[zero] = W + rng.normal(size=W.shape), 0.0
    W = P.W.copy()
    P.W[np.ix_(rows, rows[zero])] = np.nan
    apply_rows(P.W, rows, 2, 7, x, y, P.factors.acting)
    np.testing.assert_allclose(y[2:7], W[np.ix_(rows[2:7], rows[2:7])] @ x[2:7], rtol=1e-12, atol=1e-14)
    assert np.isnan(np.delete(y, range(2, 7))).all()


@pytest.mark.parametrize("seed", range(4))
def test_newton_steps(seed):
    """dr = (1 + G W)^-1 c, where G couples a normal and its two tangents."""
    P, _, _, W = body_system(seed)
    rng = np.random.default_rng(seed)
    G, dense = random_gain(P, rng)
    c, dr = rng.normal(size=len(W)), np.zeros(len(W))
    assert factor_rows(P.blocks, P.W, P.source, 0, 5, G, P.factors)
    substitute_rows(P.factors, 0, len(W), c, dr)
    np.testing.assert_allclose((np.eye(len(W)) + dense @ W) @ dr, c, atol=1e-10)


@pytest.mark.parametrize("b0, b1", [(0, 5), (1, 4), (2, 5)])
@pytest.mark.parametrize("idle", [[0], [-1], [4, 5, 6], [1, 4, 5, -2], slice(None), []])
def test_rows_without_a_gain_are_not_factored(idle, b0, b1):
    """They keep dr = c, which the others of their island still feel; the caller numbers W in an order of its own."""
    P, _, _, W = body_system(1)
    rng = np.random.default_rng(7)
    G, dense = random_gain(P, rng)
    G[idle] = dense[idle] = 0.0
    source = rng.permutation(len(W))
    P.W[np.ix_(source, source)] = W
    own = slice(P.blocks.start[b0], P.blocks.start[b1])
    c, dr = rng.normal(size=len(W)), np.full(len(W), np.nan)
    assert factor_rows(P.blocks, P.W, source, b0, b1, G, P.factors)
    assert P.factors.giving[0] == np.count_nonzero(G[own].any(axis=1))
    substitute_rows(P.factors, own.start, own.stop, c, dr)
    still = ~G[own].any(axis=1)
    np.testing.assert_array_equal(dr[own][still], c[own][still])
    np.testing.assert_allclose((np.eye(len(dr[own])) + dense[own, own] @ W[own, own]) @ dr[own], c[own], atol=1e-10)
    assert np.isnan(np.delete(dr, own)).all()


def test_a_singular_matrix_is_named():
    """The same row twice, with gains that cancel what it says: 1 + G W has two equal rows."""
    P, _, _, W = body_system(0)
    P.W[3, 7] = P.W[7, 3] = P.W[7, 7] = W[3, 3]
    source, G = P.source.copy(), np.zeros((len(W), 3))
    source[4] = 7
    P.blocks.kind[2], P.blocks.start[3] = UNILATERAL, 5
    G[3, 0] = G[4, 0] = -0.5 / W[3, 3]
    assert not factor_rows(P.blocks, P.W, source, 1, 3, G, P.factors)
