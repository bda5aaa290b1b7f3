# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Geometry poses, boxes, the broad phase and the engines behind one interface."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from mb_contact.collision import ENGINES, make_buffers, make_contacts, make_narrow_phase
from mb_contact.core.collision.geometry import geometry_poses
from mb_contact.errors import CollisionError, InputError
from mb_contact.types import WORLD
from scenes.collision_cases import (
    MARGIN,
    Shape,
    World,
    half_widths,
    random_rotation,
    rotation,
    separations,
    true_distance,
)

SIZES = {"sphere": (0.1,), "capsule": (0.05, 0.2), "cylinder": (0.08, 0.1), "box": (0.1, 0.2, 0.05)}


@pytest.mark.nojit
def test_geometry_poses_compose_body_and_geometry():
    rng = np.random.default_rng(0)
    R_body, R_geom = random_rotation(rng), random_rotation(rng)
    p_body, p_geom = rng.normal(size=3), rng.normal(size=3)
    geoms = World([Shape("sphere", (1.0,), np.zeros(3))] * 2).geoms._replace(
        body=np.array([0, WORLD]), R=np.array([R_geom, R_geom]), p=np.array([p_geom, p_geom])
    )
    buffers = make_buffers(geoms)
    geometry_poses(geoms, R_body[None].copy(), p_body[None].copy(), buffers.geom_R, buffers.geom_p)
    np.testing.assert_allclose(buffers.geom_R, [R_body @ R_geom, R_geom], atol=1e-15)
    np.testing.assert_allclose(buffers.geom_p, [p_body + R_body @ p_geom, p_geom], atol=1e-15)


@pytest.mark.nojit
@pytest.mark.parametrize("kind", SIZES)
def test_boxes_are_tight_and_inflated_by_half_the_margin(kind):
    rng = np.random.default_rng(1)
    shape = Shape(kind, SIZES[kind], rng.normal(size=3), random_rotation(rng))
    world = World([shape, shape])
    world.near()
    reach = half_widths(shape, np.eye(3)) + 0.5 * MARGIN
    np.testing.assert_allclose(world.buffers.lower[0], shape.p - reach, atol=1e-14)
    np.testing.assert_allclose(world.buffers.upper[0], shape.p + reach, atol=1e-14)


def test_broad_phase_misses_nothing_and_drops_most():
    rng = np.random.default_rng(2)
    kinds = list(SIZES)
    plane = Shape("plane", (), np.array([0.0, 0.0, -0.4]), rotation([1, 1, 0], 0.2))
    passed = close = 0
    for _ in range(5):
        shapes = [
            Shape(k, SIZES[k], rng.uniform(-0.4, 0.4, 3), random_rotation(rng)) for k in rng.choice(kinds, 12)
        ]
        world = World([*shapes, plane])
        near = set(world.near().tolist())
        passed += len(near)
        for row, (i, j) in enumerate(world.geoms.pairs):
            a, b = world.shapes[i], world.shapes[j]
            distance = separations(a, b, plane.R[:, 2][None])[0] if b is not plane else 0.0
            distance = true_distance(a, b, rng) if distance < MARGIN else distance
            if distance <= MARGIN:
                close += 1
                assert row in near
    assert close <= passed <= 1.5 * close


def test_a_large_world_is_swept_to_the_same_rows():
    """Sort and sweep finds what the loop over all rows finds, also after everything has moved and changed places."""
    rng = np.random.default_rng(6)
    kinds = [*SIZES, "plane"]

    def shapes():
        return [
            Shape(k, SIZES.get(k, ()), rng.uniform(-1.0, 1.0, 3) * [1.0, 1.0, 0.3], random_rotation(rng))
            for k in ([kinds[i % 4] for i in range(99)] + ["plane"])
        ]

    swept, plain = World(shapes()), World(shapes())
    assert len(swept.geoms.first_row) == 101
    plain.geoms = plain.geoms._replace(first_row=np.zeros(0, dtype=np.int64))
    for _ in range(3):
        moved = shapes()
        rows = swept.near(moved)
        assert len(rows) > 20
        np.testing.assert_array_equal(rows, plain.near(moved))
        np.testing.assert_array_equal(swept.buffers.reach[: len(rows)], plain.buffers.reach[: len(rows)])


@pytest.mark.nojit
def test_rows_come_in_order_and_planes_only_meet_shapes():
    plane = Shape("plane", (), np.zeros(3))
    ball = Shape("sphere", (0.1,), np.array([0.0, 0.0, 0.1]))
    world = World([plane, plane, ball, ball])
    assert world.near().tolist() == [1, 2, 3, 4, 5]
    m = world.contacts_of()
    assert m.pair.tolist() == [1, 2, 3, 4, 5]
    np.testing.assert_array_equal(m.normal[0], [0.0, 0.0, -1.0])  # from the ball (B) to the plane (A)


def test_far_shapes_give_no_contact():
    a, b = (Shape("box", (0.1, 0.1, 0.1), np.array([x, 0.0, 0.0])) for x in (0.0, 0.3))
    world = World([a, b])
    assert len(world.near()) == 0
    assert len(world.contacts_of().gap) == 0


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
    with pytest.raises(CollisionError, match="pip install coal"):
        make_narrow_phase(geoms)


@pytest.mark.parametrize("size", [0.0, -1.0, np.nan, np.inf])
def test_impossible_sizes_are_refused(size):
    geoms = World([Shape("box", (0.1, 0.1, 0.1), np.zeros(3))]).geoms._replace(size=np.array([[0.1, size, 0.1]]))
    with pytest.raises(CollisionError, match="geometry 0 .box.: size .* positive and finite"):
        make_narrow_phase(geoms)


def test_unknown_kind_is_refused():
    geoms = World([Shape("sphere", (0.1,), np.zeros(3))]).geoms._replace(kind=np.array([9]))
    with pytest.raises(CollisionError, match="kind 9"):
        make_narrow_phase(geoms)


@pytest.mark.parametrize("capacity", [0, -1, 2.5, "8", True])
def test_capacity_must_be_a_positive_integer(capacity):
    with pytest.raises(InputError, match="capacity"):
        make_contacts(capacity)
