# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The broad phase: boxes, and rows that neither miss what is near nor keep what is far."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.collision.broadphase import AXIS, SERVED
from mb_contact.core.handle import make_geoms_handle
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
@pytest.mark.parametrize("kind", SIZES)
def test_boxes_are_tight_and_inflated_by_half_the_margin(kind):
    rng = np.random.default_rng(1)
    shape = Shape(kind, SIZES[kind], rng.normal(size=3), random_rotation(rng))
    world = World([shape, shape])
    world.near()
    reach = half_widths(shape, np.eye(3)) + 0.5 * MARGIN
    np.testing.assert_allclose(world.buffers.lower[0], shape.p - reach, atol=1e-14)
    np.testing.assert_allclose(world.buffers.upper[0], shape.p + reach, atol=1e-14)


@pytest.mark.long
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
    """Sort and sweep finds what the loop over all rows finds, also after all has moved, farthest along another axis."""
    rng = np.random.default_rng(6)
    kinds = [*SIZES, "plane"]

    def shapes(longest=0):
        extent = np.roll([2.0, 0.8, 0.3], longest)
        return [
            Shape(k, SIZES.get(k, ()), rng.uniform(-1.0, 1.0, 3) * extent, random_rotation(rng))
            for k in ([kinds[i % 4] for i in range(99)] + ["plane"])
        ]

    swept, plain = World(shapes()), World(shapes())
    assert len(swept.geoms.first_row) == 101
    plain.handle = make_geoms_handle(plain.geoms._replace(first_row=np.zeros(0, dtype=np.int64)))
    for longest in (0, 0, 2, 1):
        moved = shapes(longest)
        rows = swept.near(moved)
        assert swept.buffers.swept.state[AXIS] == longest
        assert len(rows) > 20
        np.testing.assert_array_equal(rows, plain.near(moved))
        np.testing.assert_array_equal(swept.buffers.reach[: len(rows)], plain.buffers.reach[: len(rows)])


@pytest.mark.nojit
def test_sweeps_serve_while_boxes_stay_within_wider_ones_and_change_no_row():
    """Shapes that drift, jump and drift on, with velocities that say so or not: the rows are those of all pairs."""
    rng = np.random.default_rng(7)
    kinds = [*SIZES, "plane"]
    swept, plain = (World([Shape(k, SIZES.get(k, ()), np.zeros(3), np.eye(3)) for k in kinds * 20]) for _ in range(2))
    plain.handle = make_geoms_handle(plain.geoms._replace(first_row=np.zeros(0, dtype=np.int64)))
    places, turns = rng.uniform(-1.0, 1.0, (len(swept.shapes), 3)), [random_rotation(rng) for _ in swept.shapes]
    ways, state, served = rng.normal(0.0, 1e-3, places.shape), swept.buffers.swept.state, 0
    for step in range(200):
        if step % 70 == 40:
            places = rng.uniform(-1.0, 1.0, places.shape)
        places = places + ways
        for world in (swept, plain):
            world.buffers.travel[:, :3] = ways if step < 100 else 0.0
            world.buffers.resting[::3] = step // 30 % 2
        shapes = [Shape(k, SIZES.get(k, ()), p, R) for k, p, R in zip(kinds * 20, places, turns, strict=True)]
        rows = swept.near(shapes)
        served += state[SERVED] > 0
        assert len(rows) > 20
        np.testing.assert_array_equal(rows, plain.near(shapes))
    assert 40 < served < 190


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
