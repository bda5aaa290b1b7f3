# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Blocks of contacts, limits, loops, joint friction and gears by islands; where the trees' velocities stand."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.constraints.bilateral import COUNT, FIRST, GEARS, make_bilateral_work
from mb_contact.core.solve.islands import leader_of, make_forest, sort_islands, tree_layout
from mb_contact.core.solve.system import BLOCKS, ISLANDS, ROWS, make_system
from mb_contact.core.workspace import BOX, CONTACT, EQUALITY, NO_BLOCK, UNILATERAL, make_rows
from scenes.posed_steps import pose, two_balls

pytestmark = pytest.mark.nojit


def test_blocks_stand_island_by_island():
    """A contact with torsion, two limits, a loop, joint friction, and a gear of bodies 0 and 2."""
    rows, bil = make_rows(4, 9), make_bilateral_work(4, 3)
    rows.law[:9] = CONTACT, NO_BLOCK, NO_BLOCK, UNILATERAL, UNILATERAL, NO_BLOCK, EQUALITY, BOX, EQUALITY
    rows.next[:9] = 1, 2, 5, -1, -1, -1, -1, -1, -1
    rows.mu[:9], rows.viscous[1] = (0.0, 0.4, 0.6, 0.0, 0.0, 0.1, 0.0, 7.0, 0.0), 25.0
    rows.body_a[:9], rows.body_b[:9] = (0, 0, 0, 1, 0, 0, 3, 0, 0), -1
    rows = rows._replace(body_a=np.append(rows.body_a, 2), body_b=np.append(rows.body_b, -1))
    bil.info[[FIRST, COUNT, GEARS]], bil.ratio[2] = (6, 3, 1), 2.0
    ones = np.ones(4, np.int64)
    P, forest = make_system(20, 12, 0, 0, ones, np.zeros(0, np.int64)), make_forest(np.arange(4), ones, 4)
    sort_islands(P, forest, rows, bil, 9, 8)
    assert P.count[[BLOCKS, ROWS, ISLANDS]].tolist() == [7, 10, 3] and P.island[:4].tolist() == [0, 5, 6, 7]
    assert P.blocks.kind[:7].tolist() == [CONTACT, EQUALITY, UNILATERAL, BOX, EQUALITY, UNILATERAL, EQUALITY]
    assert P.blocks.start[:8].tolist() == [0, 4, 5, 6, 7, 8, 9, 10] and P.blocks.n_f[:7].tolist() == [8, *6 * [0]]
    assert P.source[:10].tolist() == [0, 1, 2, 5, 1, 4, 7, 8, 3, 6]
    assert P.blocks.mu[:10].tolist() == [0.0, 0.4, 0.6, 0.1, 25.0, 0.0, 7.0, 0.0, 0.0, 0.0]
    assert P.bodies.tiles[:4].tolist() == [0, 2, 1, 3] and P.bodies.first_tile[:4].tolist() == [0, 2, 3, 4]


def test_tiles_of_a_forest():
    """Seven and three velocities: two tiles and one, each tree begins a tile of its own."""
    parent, root = np.array([-1, 0, -1]), np.array([0, 0, 2])
    tree, tiles, place = tree_layout(parent, root, np.array([0, 6, 7]), np.array([6, 1, 3]))
    assert tree.tolist() == [0, 0, 1] and tiles.tolist() == [2, 1]
    assert place.tolist() == [0, 1, 2, 3, 4, 5, 6, 12, 13, 14]


def test_leaders_are_found_along_chains():
    leader = np.array([0, 0, 1, 2, 4])
    assert [leader_of(leader, t) for t in range(5)] == [0, 0, 0, 0, 4]


@pytest.mark.parametrize("apart, islands, contacts", [(1.0, 2, 2), (-1e-4, 1, 3)])
def test_what_touches_is_one_island(apart, islands, contacts):
    sim = two_balls(apart)
    pose(sim)
    P = sim.context.system
    assert P.count[[BLOCKS, ROWS, ISLANDS]].tolist() == [contacts, 3 * contacts, islands]
    assert P.island[islands] == contacts and P.bodies.first_tile[islands] == 2
    assert sorted(P.source[: 3 * contacts]) == list(range(3 * contacts))
    for i in range(islands):  # the tiles of an island are those that its blocks touch
        tiles = set(P.bodies.tiles[P.bodies.first_tile[i] : P.bodies.first_tile[i + 1]])
        rows = P.source[P.blocks.start[P.island[i]] : P.blocks.start[P.island[i + 1]]]
        touched = set(sim.context.rows.body_a[rows]) | set(sim.context.rows.body_b[rows])
        assert touched - {-1} == tiles
