# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The arrays of a System: sizes, where the trees' matrices stand, scales that are one at first."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.solve.system import TILE, make_factors, make_system, spread_rows

pytestmark = pytest.mark.nojit


def test_trees_stand_one_after_the_other():
    P = make_system(rows=9, blocks=4, entries=7, dense=5, trees=np.array([1, 3, 2]), place=np.arange(36))
    assert P.bodies.tree.tolist() == [0, 1, 4, 6] and P.bodies.tree_of.tolist() == [0, 1, 1, 1, 2, 2]
    assert np.diff(P.bodies.mass_at).tolist() == [6**2, 18**2, 12**2]
    assert len(P.bodies.M) == len(P.bodies.root) == P.bodies.mass_at[-1]


def test_every_part_has_the_size_of_what_it_holds():
    P = make_system(rows=9, blocks=4, entries=7, dense=5, trees=np.array([1, 3, 2]), place=np.arange(36))
    assert P.W.shape == P.factors.A.shape == (5, 5)
    assert P.bodies.J.shape == (21, TILE) and P.work.f.shape == P.work.v.shape == (6 * TILE,)
    assert P.blocks.start.shape == P.island.shape == (5,) and P.work.G.shape == (9, 3)
    assert (P.blocks.D == 1.0).all() and not P.blocks.mu.any()


def test_factors_can_be_made_larger():
    small, large = make_factors(4, 3, 0, 0), make_factors(4, 3, 100, 200)
    assert large.L.shape[0] == small.L.shape[0] + 100 and large.slot.shape == (3, 3)
    assert large.products.shape[0] == small.products.shape[0] + 200


@pytest.mark.parametrize("rows, expected", [(0, 0), (1, 8), (8, 8), (9, 24), (17, 24), (512, 520), (520, 520)])
def test_rows_of_dense_matrices_are_an_odd_number_of_cache_lines(rows, expected):
    assert spread_rows(rows) == expected
