# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Blocks of contacts under each friction model, of joints and gears; islands; where the trees' velocities stand."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.collision import make_contacts
from mb_contact.core.solve.draft import (
    COULOMB,
    COULOMB_VISCOUS,
    NO_SLIP,
    VISCOUS,
    draft_contacts,
    draft_joints,
    leader_of,
    make_draft,
    make_friction,
    tree_layout,
)
from mb_contact.core.solve.system import BLOCKS, BOX, CONTACT, EQUALITY, ISLANDS, ROWS, UNILATERAL
from mb_contact.types import FrictionParameters
from scenes.posed_steps import pose, two_balls

pytestmark = pytest.mark.nojit

DT = 0.01


def draft_of(model, gaps, extra=-1, torsion=0.0, rolling=0.0):
    """The draft of contacts of one pair with friction 0.4 and 0.6 and 2.5 N s/m."""
    contacts = make_contacts(len(gaps))
    contacts.count[0], contacts.gap[:] = len(gaps), gaps
    names = FrictionParameters._fields
    surfaces = FrictionParameters(**{name: np.zeros(1) for name in names})
    surfaces.torsional[0], surfaces.rolling[0] = torsion, rolling
    friction = make_friction(model, 8, 2, np.array([2.5]), surfaces, len(gaps))
    friction.mu[:], friction.extra[:] = (0.4, 0.6), extra
    draft = make_draft(20, np.zeros(1, np.int64), np.ones(1, np.int64), 6)
    draft_contacts(draft, contacts, friction, DT, 1.0)
    return draft


def blocks_of(draft):
    """(kind, rows, coefficients) of each block."""
    return [
        (int(draft.kind[b]), draft.row[b, : draft.size[b]].tolist(), draft.mu[b, : draft.size[b]].tolist())
        for b in range(draft.count[0])
    ]


def test_coulomb_s_contacts_are_one_block():
    assert blocks_of(draft_of(COULOMB, [0.0, 0.1])) == [
        (CONTACT, [0, 1, 2], [0.0, 0.4, 0.6]), (CONTACT, [3, 4, 5], [0.0, 0.4, 0.6]),
    ]  # fmt: skip
    assert draft_of(COULOMB, [0.0]).n_f[0] == 8


def test_torsion_and_rolling_stand_behind_the_tangents():
    (block,) = blocks_of(draft_of(COULOMB, [0.0], extra=9, torsion=0.01, rolling=0.02))
    assert block == (CONTACT, [0, 1, 2, 9, 10, 11], [0.0, 0.4, 0.6, 0.01, 0.02, 0.02])
    (block,) = blocks_of(draft_of(COULOMB, [0.0], extra=9, rolling=0.02))
    assert block == (CONTACT, [0, 1, 2, 9, 10], [0.0, 0.4, 0.6, 0.02, 0.02])


def test_tangents_of_touching_contacts_are_equalities_in_d15_s_models():
    assert blocks_of(draft_of(NO_SLIP, [0.0, 0.1])) == [
        (UNILATERAL, [0], [0.0]), (EQUALITY, [1], [0.0]), (EQUALITY, [2], [0.0]), (UNILATERAL, [3], [0.0]),
    ]  # fmt: skip
    softness = 1.0 / (DT * 2.5)
    viscous = [(EQUALITY, [1], [softness]), (EQUALITY, [2], [softness])]
    assert blocks_of(draft_of(VISCOUS, [0.0])) == [(UNILATERAL, [0], [0.0]), *viscous]
    assert blocks_of(draft_of(COULOMB_VISCOUS, [0.0])) == [(CONTACT, [0, 1, 2], [0.0, 0.4, 0.6]), *viscous]


def test_limits_loops_friction_and_gears():
    draft = draft_of(COULOMB, [0.0])
    start = np.array([0, 3, 4])  # a contact, two limits; then a loop's row, joint friction and a gear
    draft_joints(draft, 1, 3, start, 5, np.array([0.0, 7.0, 0.0]), np.zeros(3), np.array([0.0, 0.0, 2.0]), 3, 1)
    assert blocks_of(draft)[1:] == [
        (UNILATERAL, [3], [0.0]), (UNILATERAL, [4], [0.0]),
        (BOX, [6], [7.0]), (EQUALITY, [5], [0.0]), (EQUALITY, [7], [0.0]),  # equalities last: they may be eliminated
    ]  # fmt: skip
    assert draft.partner[:6].tolist() == [-1, -1, -1, -1, -1, 8] and draft.weight[5] == -2.0


def test_pieces_of_a_forest():
    """Seven and three velocities: two pieces and one, each tree begins a piece of its own."""
    parent, root = np.array([-1, 0, -1]), np.array([0, 0, 2])
    tree, pieces, place = tree_layout(parent, root, np.array([0, 6, 7]), np.array([6, 1, 3]))
    assert tree.tolist() == [0, 0, 1] and pieces.tolist() == [2, 1]
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
    assert P.island[islands] == contacts and P.bodies.first_piece[islands] == 2
    assert sorted(P.source[: 3 * contacts]) == list(range(3 * contacts))
    for i in range(islands):  # the pieces of an island are those that its blocks touch
        pieces = set(P.bodies.pieces[P.bodies.first_piece[i] : P.bodies.first_piece[i + 1]])
        rows = P.source[P.blocks.start[P.island[i]] : P.blocks.start[P.island[i + 1]]]
        touched = set(sim.context.rows.body_a[rows]) | set(sim.context.rows.body_b[rows])
        assert touched - {-1} == pieces
