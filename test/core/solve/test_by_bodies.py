# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The operator by bodies against J M^-1 J* in dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.solve.by_bodies import apply_bodies, gather, scatter, weigh
from scenes.body_systems import body_system

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("seed", range(3))
def test_the_parts_of_the_operator(seed):
    P, J, M, W = body_system(seed)
    rng, start = np.random.default_rng(seed), P.blocks.start
    x, v = rng.normal(size=J.shape[0]), rng.normal(size=J.shape[1])
    f, motion, u = np.full(J.shape[1], np.nan), np.full(J.shape[1], np.nan), np.full(J.shape[0], np.nan)
    gather(start, P.bodies, 0, 5, 0, 4, x, f)
    np.testing.assert_allclose(f, J.T @ x, atol=1e-13)
    weigh(P.bodies, 0, 4, f, motion)
    np.testing.assert_allclose(motion, np.linalg.solve(M, f), atol=1e-12)
    scatter(start, P.bodies, 0, 5, v, u)
    np.testing.assert_allclose(u, J @ v, atol=1e-13)
    apply_bodies(start, P.bodies, P.work, 0, 5, 0, 4, x, u)
    np.testing.assert_allclose(u, W @ x, atol=1e-12)


def test_inverse_masses_are_symmetric_and_exact():
    P, _, M, _ = body_system(4)
    tree = P.bodies.M_inv[P.bodies.mass_at[1] : P.bodies.mass_at[2]].reshape(12, 12)  # of two pieces
    np.testing.assert_array_equal(tree, tree.T)
    np.testing.assert_allclose(tree @ M[6:18, 6:18], np.eye(12), atol=1e-11)


def test_other_pieces_and_rows_are_left_alone():
    P, J, *_ = body_system(1)
    f, u = np.full(24, 7.0), np.full(len(J), 7.0)
    gather(P.blocks.start, P.bodies, 1, 2, 1, 3, np.ones(len(J)), f)  # block 1 on the tree of pieces 1 and 2
    assert (f[:6] == 7.0).all() and (f[18:] == 7.0).all()
    np.testing.assert_allclose(f[6:18], J[3, 6:18])
    scatter(P.blocks.start, P.bodies, 1, 2, np.ones(24), u)
    assert u[3] == pytest.approx(J[3].sum()) and (np.delete(u, 3) == 7.0).all()
