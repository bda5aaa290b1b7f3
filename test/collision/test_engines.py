# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The collision engines behind one interface: signs, buffers, what is refused.

Covers collision/buffers.py.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest

from mb_contact.collision import ENGINES, make_buffers, make_contacts, make_narrow_phase
from mb_contact.errors import CollisionError, InputError
from scenes.collision_cases import (
    Shape,
    World,
    random_rotation,
)

SIZES = {"sphere": (0.1,), "capsule": (0.05, 0.2), "cylinder": (0.08, 0.1), "box": (0.1, 0.2, 0.05)}


@pytest.mark.nojit
@pytest.mark.parametrize("engine", sorted(ENGINES))
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_witness_has_our_signs(engine, order):
    """Normal from B to A, positive distance before touching, negative after."""
    ball = Shape("sphere", (0.1,), np.zeros(3))
    for distance in (1e-3, -1e-3):
        box = Shape("box", (0.1, 0.1, 0.1), np.array([0.0, 0.2 + distance, 0.0]))
        world = World([(ball, box)[i] for i in order], engine=engine)
        world.contacts_of()
        sign = -1.0 if order == (0, 1) else 1.0
        np.testing.assert_allclose(world.buffers.witness[0], [0.0, sign, 0.0, distance], atol=1e-9)


def test_queries_leave_nothing_behind():
    """The same poses give the same bits whatever was asked before."""
    rng = np.random.default_rng(4)
    shapes = [Shape(k, SIZES[k], 0.08 * rng.normal(size=3), random_rotation(rng)) for k in SIZES]
    world = World(shapes)
    first = world.contacts_of()
    world.contacts_of([s._replace(p=s.p * 1.3, R=random_rotation(rng)) for s in shapes])
    again = world.contacts_of(shapes)
    for one, other in zip(first, again):
        np.testing.assert_array_equal(one, other)


def test_new_buffers_are_noticed():
    a, b = Shape("sphere", (0.1,), np.zeros(3)), Shape("sphere", (0.1,), np.array([0.0, 0.0, 0.2]))
    world = World([a, b])
    assert world.contacts_of().gap[0] == pytest.approx(0.0, abs=1e-12)
    world.buffers = make_buffers(world.geoms)
    moved = world.contacts_of([a, b._replace(p=np.array([0.0, 0.0, 0.201]))])
    assert moved.gap[0] == pytest.approx(1e-3, abs=1e-12)


def test_unknown_engine_names_what_there_is():
    geoms = World([Shape("sphere", (0.1,), np.zeros(3))]).geoms
    with pytest.raises(CollisionError, match="'bullet' is unknown; available: coal"):
        make_narrow_phase(geoms, "bullet")


def test_missing_library_is_a_clear_error(monkeypatch):
    geoms = World([Shape("sphere", (0.1,), np.zeros(3))]).geoms
    monkeypatch.setitem(sys.modules, "coal", None)
    monkeypatch.delitem(sys.modules, ENGINES["coal"], raising=False)
    monkeypatch.delitem(sys.modules, "mb_contact.collision.coal_settled", raising=False)  # which imports it
    with pytest.raises(CollisionError, match="pip install coal"):
        make_narrow_phase(geoms)


@pytest.mark.parametrize("size", [0.0, -1.0, np.nan, np.inf])
def test_impossible_sizes_are_refused(size):
    geoms = World([Shape("box", (0.1, 0.1, 0.1), np.zeros(3))]).geoms._replace(size=np.array([[0.1, size, 0.1]]))
    with pytest.raises(CollisionError, match="geometry 0 .box.: size .* positive and finite"):
        make_narrow_phase(geoms)


def test_unknown_kind_is_refused():
    geoms = World([Shape("sphere", (0.1,), np.zeros(3))]).geoms._replace(kind=np.array([99]))
    with pytest.raises(CollisionError, match="kind 99"):
        make_narrow_phase(geoms)


@pytest.mark.parametrize("capacity", [0, -1, 2.5, "8", True])
def test_capacity_must_be_a_positive_integer(capacity):
    with pytest.raises(InputError, match="capacity"):
        make_contacts(capacity)
