# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Two moving shapes meet when and as closed forms and dense sampling of their motion say, or pass."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.collision import ask_engine, make_buffers
from mb_contact.core.collision.meeting import (
    GO_ON,
    LOOKS,
    MEET,
    answer,
    ask,
    at_start,
    go_back,
    look,
    place_pair,
    set_motion,
)
from mb_contact.core.collision.workspace import Motion
from mb_contact.core.declare import allocate
from scenes.collision_cases import Shape, World, random_rotation, rotation

DEPTH = 5e-8
SIZES = {"sphere": (0.1,), "capsule": (0.06, 0.15), "cylinder": (0.08, 0.1), "box": (0.1, 0.2, 0.07),
         "cone": (0.1, 0.12), "ellipsoid": (0.1, 0.15, 0.07)}  # fmt: skip


class Search:
    """Shape b moves by ``way`` and turns about its centre by the rotation vector ``turn``; a stands still."""

    def __init__(self, a, b, way, turn=(0.0, 0.0, 0.0)):
        world = World([a, b])
        world.near()
        self.a, self.b, self.way, self.turn = a, b, np.asarray(way, float), np.asarray(turn, float)
        self.geoms, start = world.handle, world.buffers
        self.poses, self.motion = make_buffers(world.geoms, world.narrow_phase, 1), allocate(Motion)
        self.poses.geom_R[:], self.poses.geom_p[:] = start.geom_R, start.geom_p
        end = self.at(1.0)
        self.poses.geom_R[1], self.poses.geom_p[1] = end.R, end.p
        set_motion(self.geoms, 0, start.geom_R, start.geom_p, self.poses, self.motion)
        self.narrow_phase = world.narrow_phase

    def at(self, t):
        """The moving shape at t, in NumPy."""
        angle = np.linalg.norm(self.turn)
        R = rotation(self.turn, t * angle) @ self.b.R if angle else self.b.R
        return self.b._replace(R=R, p=np.asarray(self.b.p) + t * self.way)

    def witness(self):
        if ask(self.geoms, 0, self.poses):
            ask_engine(self.narrow_phase, self.poses)
        return answer(self.geoms, 0, self.poses)

    def run(self, depth=DEPTH):
        """(whether they meet, when, the normal)."""
        place_pair(self.geoms, 0, self.motion, 0.0, self.poses)
        for _ in range(LOOKS):
            n, s = self.witness()
            found = look(self.geoms, 0, self.motion, self.poses, n, s, depth)
            if found != GO_ON:
                return found == MEET, self.motion.time[0], np.array(n)
        raise AssertionError("no end")

    def touch(self):
        """The same where they touch."""
        meets, _, n = self.run()
        assert meets
        assert go_back(self.geoms, 0, self.motion, self.poses, tuple(n), DEPTH)
        found = GO_ON
        while found == GO_ON:
            n, s = self.witness()
            found = look(self.geoms, 0, self.motion, self.poses, n, s, 0.0)
        return self.motion.time[0], np.array(n)


def balls(offset):
    """Balls of 0.1 m, 1 m apart, that approach by 1 m with their paths ``offset`` aside."""
    return Search(Shape("sphere", (0.1,), np.zeros(3)), Shape("sphere", (0.1,), np.array([1.0, offset, 0.0])),
                  (-1.0, 0.0, 0.0))  # fmt: skip


@pytest.mark.nojit
@pytest.mark.parametrize("offset", [0.0, 0.1, 0.19, 0.1999])
def test_balls_touch_at_the_moment_of_the_closed_form(offset):
    t, n = balls(offset).touch()
    along = np.sqrt(0.04 - offset**2)
    assert t == pytest.approx(1.0 - along, abs=1e-9)
    np.testing.assert_allclose(n, [-along / 0.2, -offset / 0.2, 0.0], atol=1e-8)


@pytest.mark.nojit
@pytest.mark.parametrize("clearance", [1e-6, 1e-3])
def test_balls_that_pass_do_not_meet(clearance):
    assert not balls(0.2 + clearance).run()[0]


def slides(lower):
    """A box that is moved onto a slab, whose top is ``lower`` than the box's bottom."""
    slab = Shape("box", (0.5, 0.5, 0.05), np.array([0.5, 0.0, -0.05 - lower]))
    return Search(slab, Shape("box", (0.065, 0.045, 0.04), np.array([-0.0651, 0.0, 0.04])), (0.002, 0.0, 0.0))


@pytest.mark.nojit
@pytest.mark.parametrize("lower", [0.0, 1e-15, -1e-15, -2e-8, 1e-6, 1e-4])
def test_a_box_slides_onto_a_flush_or_lower_slab(lower):
    assert not slides(lower).run()[0]


@pytest.mark.nojit
@pytest.mark.parametrize("higher", [2e-7, 1e-4, 0.01])
def test_a_box_meets_the_side_of_a_higher_slab(higher):
    t, n = slides(-higher).touch()
    assert t == pytest.approx(0.05, abs=1e-9)
    np.testing.assert_allclose(n, [1.0, 0.0, 0.0], atol=1e-12)


@pytest.mark.nojit
def test_a_turning_rod_meets_what_it_sweeps_over():
    """A rod of 1 m turns by 1 rad about its middle; a ball stands 0.3 m out, 0.5 rad on."""
    ball = Shape("sphere", (0.05,), 0.3 * np.array([np.cos(0.5), np.sin(0.5), 0.0]))
    t, n = Search(ball, Shape("box", (0.5, 0.01, 0.01), np.zeros(3)), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)).touch()
    angle = 0.5 - np.arcsin(0.06 / 0.3)  # where the rod's side is 0.05 m from the ball's centre
    assert t == pytest.approx(angle, abs=1e-8)
    np.testing.assert_allclose(n, [-np.sin(angle), np.cos(angle), 0.0], atol=1e-7)


@pytest.mark.nojit
def test_points_go_back_with_their_body():
    search = Search(*(Shape("box", (0.1, 0.1, 0.1), np.array([x, 0.0, 0.0])) for x in (0.0, 1.0)),
                    (-0.2, 0.3, 0.1), (0.2, -0.4, 0.5))  # fmt: skip
    local, t = np.array([0.1, -0.1, 0.05]), 0.7
    there = search.at(t)
    point = there.p + there.R @ local
    np.testing.assert_allclose(at_start(search.motion, 1, t, tuple(point)), search.b.p + local, atol=1e-14)
    np.testing.assert_array_equal(at_start(search.motion, 0, t, tuple(point)), point)


def distance_at(search, t):
    """The engine's distance where the moving shape is at t."""
    b, moved = search.poses, search.at(t)
    b.geom_R[:], b.geom_p[:] = (search.a.R, moved.R), (search.a.p, moved.p)
    witness = np.zeros((1, 4))
    search.narrow_phase.query(np.zeros(1, np.int64), 1, np.full(1, np.inf), b.geom_R, b.geom_p, witness)
    return witness[0, 3]


def least_distance(search):
    """On the way: by dense sampling, and once more around the best moment."""
    low, high = 0.0, 1.0
    for _ in range(3):
        times = np.linspace(low, high, 61)
        distances = [distance_at(search, t) for t in times]
        best = int(np.argmin(distances))
        low, high = times[max(best - 1, 0)], times[min(best + 1, 60)]
    return min(distances)


@pytest.mark.parametrize("kinds", [(a, b) for a in SIZES for b in SIZES if a <= b], ids="-".join)
def test_random_motions_meet_where_dense_sampling_says(kinds):
    rng = np.random.default_rng(list("".join(kinds).encode()))
    seen = set()
    for _ in range(20):
        a = Shape(kinds[0], SIZES[kinds[0]], np.zeros(3), random_rotation(rng))
        aside = rng.normal(size=3) * [0.0, 0.17, 0.17]
        b = Shape(kinds[1], SIZES[kinds[1]], np.array([0.45, 0.0, 0.0]) + aside, random_rotation(rng))
        search = Search(a, b, (-0.8, 0.0, 0.0), rng.uniform(-0.6, 0.6, 3))
        least = least_distance(search)
        if abs(least) < 1e-6 or distance_at(search, 0.0) < 1e-3:
            continue
        meets, t, _ = search.run()
        seen.add(meets)
        assert meets == (least < 0.0), (least, t)
        if meets:
            assert distance_at(search, t) == pytest.approx(-DEPTH, abs=6e-7)  # of coal's distances of cylinders
            assert all(distance_at(search, part * t) > -10.0 * DEPTH for part in np.linspace(0.0, 0.999, 20))
    assert seen == {True, False}
