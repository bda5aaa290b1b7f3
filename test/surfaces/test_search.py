# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Where two surfaces are nearest, where they touch first, and contacts that go over the poles of a chart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from mb_contact.errors import DynamicsError
from mb_contact.surfaces import shapes
from mb_contact.surfaces.contact import SurfaceContact
from scenes.surface_cases import OneContact, ball, rotation


@pytest.mark.parametrize("seed", range(4))
def test_nearest_points_are_those_of_a_minimiser(seed):
    rng = np.random.default_rng(seed)
    one, two = shapes.ellipsoid((1.0, 0.7, 0.5)), shapes.ellipsoid((0.3, 0.5, 0.2))
    R, p = rotation((0.6, 0.0, 0.8), rng.uniform(-3, 3)), rng.normal(size=3)
    p *= 1.8 / np.linalg.norm(p)
    contact = SurfaceContact(one, two)
    u1, u2, gap = contact.closest(R, p)

    def distance(x):
        a, b = x[:3] / np.linalg.norm(x[:3]), x[3:] / np.linalg.norm(x[3:])
        return np.linalg.norm(p + R @ (b * (0.3, 0.5, 0.2)) - a * (1.0, 0.7, 0.5))

    starts = np.concatenate((p, -R.T @ p)) + 0.1 * rng.normal(size=(3, 6))
    want = min(minimize(distance, start, method="BFGS").fun for start in starts)
    assert gap == pytest.approx(want, abs=1e-9)
    apart = p + R @ two.point(u2, contact.charts[1]) - one.point(u1, contact.charts[0])
    assert np.linalg.norm(apart) == pytest.approx(gap, abs=1e-14)


def test_first_touch_lowers_a_body_until_it_touches():
    """A tilted ellipsoid onto a plane: its lowest point is at sqrt(n* A^2 n) below its centre."""
    axes, R = np.array([0.3, 0.2, 0.1]), rotation((0.6, 0.8, 0.0), 0.7)
    contact = SurfaceContact(shapes.plane(), shapes.ellipsoid(axes))
    q, travel = contact.first_touch(R, (0.4, -0.2, 2.0), (0.0, 0.0, -1.0))
    assert travel == pytest.approx(2.0 - np.linalg.norm(axes * R[2]), abs=1e-14)
    got_R, got_p = contact.pose(q)
    np.testing.assert_allclose(got_R, R, atol=1e-14)
    np.testing.assert_allclose(got_p, (0.4, -0.2, 2.0 - travel), atol=1e-14)


def turned(rng):
    """A random rotation."""
    axis = rng.normal(size=3)
    return rotation(axis / np.linalg.norm(axis), rng.uniform(-np.pi, np.pi))


FALLS = {
    "ball in a bowl": (shapes.sphere(0.5).flipped(), shapes.sphere(0.04), 0.2, 0.0,
                       lambda R, x, y: -np.sqrt(0.46**2 - x * x - y * y)),
    "bead in a bowl": (shapes.sphere(1.0).flipped(), shapes.sphere(0.01), 0.5, 0.0,
                       lambda R, x, y: -np.sqrt(0.99**2 - x * x - y * y)),
    "bead on a ball": (shapes.sphere(1.0), shapes.sphere(0.02), 0.5, 3.0,
                       lambda R, x, y: np.sqrt(1.02**2 - x * x - y * y)),
    "ellipsoid on a plane": (shapes.plane(), shapes.ellipsoid((0.3, 0.2, 0.1)), 30.0, 5.0,
                             lambda R, x, y: np.linalg.norm(np.array([0.3, 0.2, 0.1]) * R[2])),
    "ball on a torus": (shapes.torus(1.0, 0.3), shapes.sphere(0.1), 0.6, 2.0,
                        lambda R, x, y: np.sqrt(0.4**2 - (1.0 - np.hypot(x, y)) ** 2)),
}  # fmt: skip


@pytest.mark.parametrize("case", FALLS)
def test_first_touch_is_found_from_anywhere(case):
    """Bodies of all sizes in any orientation, poles of the charts and far places of a plane among them."""
    base, body, wide, high, height = FALLS[case]
    contact = SurfaceContact(base, body)
    rng = np.random.default_rng(2)
    for _ in range(6):
        R, (x, y) = turned(rng), rng.uniform(-wide, wide, 2)
        if case == "ball on a torus":
            x, y = np.array([x, y]) * rng.uniform(0.7, 1.3) / np.hypot(x, y)
        q, travel = contact.first_touch(R, (x, y, high), (0.0, 0.0, -2.0))
        assert travel == pytest.approx(high - height(R, x, y), abs=1e-10)
        got_R, got_p = contact.pose(q)
        np.testing.assert_allclose(got_R, R, atol=1e-9)
        np.testing.assert_allclose(got_p, (x, y, high - travel), atol=1e-9)


def test_surfaces_that_do_not_meet_are_an_error():
    contact = SurfaceContact(shapes.sphere(1.0), shapes.sphere(0.2))
    for p, direction in (((0.0, 0.0, 3.0), (0, 0, 1)), ((1.5, 0.0, 3.0), (0, 0, -1))):
        with pytest.raises(DynamicsError, match="sphere and sphere have no point in common that way: they do not meet"):
            contact.first_touch(np.eye(3), p, direction)
    patch = SurfaceContact(shapes.bezier([[(x, y, 0.0) for y in (-1, 1)] for x in (-1, 1)]), shapes.sphere(0.2))
    with pytest.raises(DynamicsError, match="they touch at an edge"):
        patch.first_touch(np.eye(3), (1.1, 0.0, 1.0), (0, 0, -1))


def test_a_body_that_begins_inside_is_moved_back():
    contact = SurfaceContact(shapes.plane(), shapes.sphere(0.2))
    q, travel = contact.first_touch(np.eye(3), (0.3, 0.1, 0.15), (0, 0, -1))
    assert travel == pytest.approx(-0.05, abs=1e-12)
    np.testing.assert_allclose(contact.pose(q)[1], (0.3, 0.1, 0.2), atol=1e-12)


@pytest.mark.parametrize(("pole", "chart"), [((0.0, 0.0, 1.0), 0), ((0.0, 0.0, -1.0), 0), ((1.0, 0.0, 0.0), 1)])
def test_the_atlas_carries_a_contact_over_the_poles(pole, chart):
    """A ball rolls straight over a pole of each chart of a globe: a great circle, frame and motion without a jump."""
    pole = np.array(pole)
    side = np.roll(pole, 1)
    start = np.cos(1.0) * side + np.sin(1.0) * pole  # 33 degrees from the pole, towards it
    motion = OneContact(ball(0.2), shapes.sphere(1.0), friction=np.inf, gravity=(0.0, 0.0, 0.0), release=False)
    motion.contact.set_charts((chart, chart))
    u1, u2 = (s.locate(p, chart)[1] for s, p in zip(motion.contact.surfaces, (start, -0.2 * start)))
    q = motion.contact.coordinates(u1, u2, np.eye(3))
    axis = np.cross(start, pole) / np.linalg.norm(np.cross(start, pole))
    frame = motion.contact.surfaces[0].frame(u1, chart)
    motion.roll(q, frame.T @ (3.0 * axis))
    for _ in range(12):
        motion.run(0.5, 1e-2)
        p, w, _ = motion.centre_of_mass()
        angle = 0.2 * 3.0 / 1.2 * motion.time  # v = 0.2 m w, on a circle of 1.2 m
        np.testing.assert_allclose(p, 1.2 * rotation(axis, angle) @ start, atol=1e-9)
        np.testing.assert_allclose(w, 3.0 * axis, atol=1e-9)
        assert abs(motion.gap()) < 1e-12
    assert motion.hand_overs >= 1
