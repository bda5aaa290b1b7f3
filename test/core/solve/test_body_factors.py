# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The sparse factors of M + J* G J against dense solves, and the order and pattern of elimination."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.solve.body_factors import factor_bodies, order_pieces, substitute_bodies
from mb_contact.core.solve.system import make_factors
from scenes.body_systems import BLOCK_LIST, TREES, body_system, random_gain

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("seed", range(5))
def test_velocities_of_a_newton_step(seed):
    """dv = (M + J* G J)^-1 J* c; G is not symmetric."""
    P, J, M, _ = body_system(seed)
    rng = np.random.default_rng(seed)
    G, dense = random_gain(P, rng)
    c, dv = rng.normal(size=len(J)), np.zeros(J.shape[1])
    used = order_pieces(P.bodies, P.factors, 0, 5, 0, 4)
    assert factor_bodies(P.blocks, P.bodies, G, P.factors, used, 0, 5, 0, 4)
    substitute_bodies(P.blocks.start, P.bodies, P.factors, 0, 5, 0, 4, c, dv)
    np.testing.assert_allclose((M + J.T @ dense @ J) @ dv, J.T @ c, atol=1e-9)


def test_coupled_pieces_have_a_slot_each_way():
    P, *_ = body_system()
    used = order_pieces(P.bodies, P.factors, 0, 5, 0, 4)
    slot = P.factors.slot
    coupled = np.eye(4, dtype=bool)
    for _, touched in BLOCK_LIST:
        coupled[np.ix_(touched, touched)] = True
    coupled[1:3, 1:3] = True  # one tree
    assert (slot[coupled] >= 0).all()
    filled = slot[slot >= 0]
    assert sorted(filled) == list(range(used))  # each once
    assert sorted(P.factors.order) == list(range(sum(TREES)))


def test_least_degree_goes_first():
    """Pieces 0 and 3 touch one piece each, 1 and 2 touch two: an end of the chain goes first, nothing fills in."""
    P, *_ = body_system()
    used = order_pieces(P.bodies, P.factors, 0, 5, 0, 4)
    assert P.factors.order[0] == 0 and used == 4 + 2 * 3


def test_factors_that_do_not_fit_are_named():
    P, *_ = body_system()
    tight = make_factors(1, 4, -16 * 4 - 16 + 5)
    assert order_pieces(P.bodies, tight, 0, 5, 0, 4) == -1
