# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Block Gauss-Seidel: one sweep by its formula, both faces alike, own compliances, residuals that fall."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.solve.gauss_seidel import own_compliance, own_terms, sweep_blocks
from mb_contact.core.solve.laws import residual
from mb_contact.core.solve.system import BY_ROWS, UNILATERAL, make_system, make_system_handle
from scenes.body_systems import body_system


@pytest.mark.nojit
def test_one_sweep_of_one_sided_rows():
    """Rows one after the other: r_i = max(0, r_i - u_i / W_ii), and u with it."""
    A = np.random.default_rng(0).normal(size=(4, 4))
    W, q = A @ A.T + np.eye(4), np.array([-1.0, 0.5, -2.0, 0.3])
    P = make_system(4, 4, 0, 4, np.zeros(0, np.int64), np.zeros(0, np.int64))
    P.count[:], P.face[0], P.source[:] = (4, 4, 1), BY_ROWS, np.arange(4)
    P.blocks.kind[:], P.blocks.start[:] = UNILATERAL, np.arange(5)
    P.W[:], P.blocks.D[:], P.blocks.S[:], P.q[:], P.u[:] = W, np.diag(W), np.diag(W), q, q
    r = np.zeros(4)
    for i in range(4):
        r[i] = max(0.0, r[i] - (W[i] @ r + q[i]) / W[i, i])
    sweep_blocks(make_system_handle(P), 0, 4, 1)
    np.testing.assert_allclose(P.r, r, atol=1e-8)  # a block's own steps are drawn to where it stands by 1e-9
    np.testing.assert_allclose(P.u, W @ P.r + q, atol=1e-13)
    for i in (3, 2, 1, 0):  # the second goes backwards
        r[i] = max(0.0, r[i] - (W[i] @ r + q[i]) / W[i, i])
    P.r[:], P.u[:] = 0.0, q
    sweep_blocks(make_system_handle(P), 0, 4, 2)
    np.testing.assert_allclose(P.r, r, atol=1e-8)


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(3))
def test_own_compliances_are_the_blocks_of_w(seed):
    P, _, _, W = body_system(seed)
    own = np.zeros_like(P.work.own)
    for by_rows in (False, True):
        own_compliance(P.blocks.start, P.bodies, by_rows, P.W, P.source, 0, 5, own)
        for b in range(5):
            i, size = P.blocks.start[b], P.blocks.start[b + 1] - P.blocks.start[b]
            np.testing.assert_allclose(own[b, :size, :size], W[i : i + size, i : i + size], atol=1e-12)
            for a in range(size):
                assert own_terms(P.bodies, b, a) >= W[i + a, i + a] * (1.0 - 1e-12)


@pytest.mark.parametrize("n_f", [0, 8])
@pytest.mark.parametrize("seed", range(3))
def test_both_faces_take_the_same_sweeps_and_residuals_fall(seed, n_f):
    found = []
    for by_rows in (False, True):
        P, _, _, W = body_system(seed, n_f)
        P.face[0] = BY_ROWS if by_rows else P.face[0]
        P.u[:] = P.q
        first = residual(P.blocks, P.r, P.u, 0, 5)
        sweep_blocks(make_system_handle(P), 0, 5, 40)
        if by_rows:  # by bodies a block's velocities are those of when it was last visited
            np.testing.assert_allclose(P.u, W @ P.r + P.q, atol=1e-9)
        assert residual(P.blocks, P.r, W @ P.r + P.q, 0, 5) <= 1e-3 * first
        found.append(P.r.copy())
    np.testing.assert_allclose(*found, atol=1e-9)
