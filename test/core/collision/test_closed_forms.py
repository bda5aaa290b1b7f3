# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Distances in closed form: no direction separates the shapes more, and the engine, where it answers, agrees."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.collision.closed_forms import UNKNOWN, closed_witness
from scenes.collision_cases import Shape, World, random_rotation, rotation, separations, true_distance

SIZES = {"sphere": (0.1,), "capsule": (0.06, 0.15), "box": (0.1, 0.2, 0.07)}
PAIRS = [("sphere", "sphere"), ("sphere", "capsule"), ("capsule", "capsule"), ("box", "sphere"), ("capsule", "box"),
         ("box", "box")]  # fmt: skip
ENOUGH = {("box", "box"): 0.2}  #: share of random pairs that must have a closed form; the nearest features vary


def witness(a, b, reach=np.inf):
    """(normal from b to a, distance) in closed form."""
    world = World([a, b])
    world.near()
    g, buffers = world.handle, world.buffers
    n, distance = closed_witness(g, buffers.geom_R, buffers.geom_p, 0, 1, reach)
    return np.array(n), distance


def engine_distance(a, b):
    world = World([a, b])
    world.near()
    buffers = world.buffers
    far, witness = np.array([np.inf]), np.zeros((1, 4))
    world.narrow_phase.query(np.array([0]), 1, far, buffers.geom_R, buffers.geom_p, witness)
    return witness[0, 3]


@pytest.mark.nojit
@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_no_direction_separates_more(kinds):
    rng = np.random.default_rng(3)
    known = 0
    for _ in range(40):
        a, b = (Shape(kind, SIZES[kind], rng.uniform(-0.2, 0.2, 3), random_rotation(rng)) for kind in kinds)
        n, distance = witness(a, b)
        if distance == UNKNOWN:
            continue
        known += 1
        assert abs(n @ n - 1.0) < 1e-14
        assert separations(a, b, n[None])[0] == pytest.approx(distance, abs=1e-14)
        assert distance >= true_distance(a, b, rng) - 1e-9
        assert engine_distance(a, b) == pytest.approx(distance, abs=1e-7)
    assert known >= 40 * ENOUGH.get(kinds, 0.4)


@pytest.mark.nojit
@pytest.mark.parametrize("gap", [1e-3, 1e-9, 0.0, -1e-9, -1e-3])
def test_boxes_that_stand_on_each_other_need_no_engine(gap):
    """Flush, turned about the vertical, a large one on a small one: the nearest corner is over the face."""
    lower = Shape("box", (0.1, 0.1, 0.1), np.zeros(3))
    for half, turn, shift in ((0.1, 0.0, 0.0), (0.05, 0.4, 0.03), (0.3, 0.0, 0.1)):
        upper = Shape("box", (half, half, half), np.array([shift, 0.0, 0.1 + half + gap]), rotation([0, 0, 1], turn))
        for a, b, sign in ((upper, lower, 1.0), (lower, upper, -1.0)):
            n, distance = witness(a, b)
            np.testing.assert_allclose(n, [0.0, 0.0, sign], atol=1e-15)
            assert distance == pytest.approx(gap, abs=1e-15)


@pytest.mark.nojit
def test_what_has_no_closed_form_is_left_to_the_engine():
    box = Shape("box", (0.1, 0.1, 0.1), np.zeros(3))
    corner = Shape("box", (0.1, 0.1, 0.1), np.full(3, 0.2 + 1e-3))  # the nearest features are two corners
    inside = Shape("sphere", (0.05,), np.array([0.02, 0.0, 0.0]))  # its centre is inside
    cylinder = Shape("cylinder", (0.1, 0.1), np.array([0.0, 0.0, 0.2]))
    for other in (corner, inside, cylinder):
        assert witness(box, other)[1] == UNKNOWN
    assert witness(box, corner._replace(p=np.array([0.5, 0.0, 0.0])), reach=0.01)[1] > 0.01
