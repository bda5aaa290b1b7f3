# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Boxes around shapes and volumes that they reach into, against points of their surfaces and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.collision.overlap import Volume, boxes_around, overlaps
from mb_contact.model.rotations import quat_to_matrix

SHAPES = {
    "sphere": (0.3,), "capsule": (0.1, 0.4), "cylinder": (0.2, 0.5), "box": (0.2, 0.4, 0.6), "cone": (0.3, 0.5),
    "ellipsoid": (0.1, 0.2, 0.3),
}  # fmt: skip


def geometry(kind):
    primitive = mb.model.Primitive("a", kind, SHAPES[kind], base="free", mass=1.0)
    return mb.build_world(mb.Scene(primitives=(primitive,))).geoms


def supports(kind, directions):
    """How far a shape reaches along unit vectors in its own axes, from the textbook."""
    size, x, y, z = SHAPES[kind], *directions.T
    across = np.hypot(x, y)
    return {
        "sphere": lambda: np.full(len(z), size[0]),
        "capsule": lambda: size[0] + 0.5 * size[1] * np.abs(z),
        "cylinder": lambda: size[0] * across + 0.5 * size[1] * np.abs(z),
        "box": lambda: 0.5 * (np.abs(directions) @ np.array(size)),
        "cone": lambda: np.maximum(0.5 * size[1] * z, size[0] * across - 0.5 * size[1] * z),
        "ellipsoid": lambda: 0.5 * np.linalg.norm(directions * np.array(size), axis=1),
    }[kind]()


def poses(count, seed=3):
    chance = np.random.default_rng(seed)
    for _ in range(count):
        quaternion = chance.normal(size=4)
        yield quat_to_matrix(quaternion / np.linalg.norm(quaternion)), chance.uniform(-1.0, 1.0, 3)


@pytest.mark.parametrize("kind", SHAPES)
def test_boxes_are_tight(kind):
    geoms = geometry(kind)
    for R, p in poses(20):
        lower, upper = boxes_around(geoms, [0], R[None], p[None])[0]
        np.testing.assert_allclose(upper - p, supports(kind, R), atol=1e-12)
        np.testing.assert_allclose(p - lower, supports(kind, -R), atol=1e-12)


@pytest.mark.parametrize("kind", SHAPES)
def test_half_spaces_touch_at_the_support(kind):
    """A thin, large box along the world's z axis just reaches a shape, or just does not."""
    geoms = geometry(kind)
    for R, p in poses(10):
        top = p[2] + supports(kind, R[2:3])[0]
        for gap, touches in ((-1e-5, True), (1e-5, False)):
            volume = Volume.box(np.array([-5.0, -5.0, top + gap]), np.array([5.0, 5.0, top + 1.0]))
            assert overlaps(geoms, 0, R, p, volume) == touches


def test_spheres_and_hulls():
    geoms = geometry("sphere")
    p = np.array([1.0, 2.0, 3.0])
    for distance, touches in ((0.498, True), (0.502, False)):  # flat hulls have some thickness
        assert overlaps(geoms, 0, np.eye(3), p, Volume.sphere(p + [0.0, distance, 0.0], 0.2)) == touches
        corners = p + [[distance - 0.2, -1, -1], [distance - 0.2, 1, -1], [distance - 0.2, 0, 1]]
        assert overlaps(geoms, 0, np.eye(3), p, Volume.hull(corners)) == touches
        full = np.concatenate([corners, corners + [1.0, 0.0, 0.0]])
        assert overlaps(geoms, 0, np.eye(3), p, Volume.hull(full)) == touches
