# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rays against shapes: first places inside, found by bisection of what being inside means."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.rays.shapes import distance, normal
from mb_contact.types import (
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CONE,
    SHAPE_CYLINDER,
    SHAPE_ELLIPSOID,
    SHAPE_PLANE,
    SHAPE_SPHERE,
)

pytestmark = pytest.mark.quick

SIZES = {
    SHAPE_SPHERE: (0.7, 0.0, 0.0), SHAPE_CAPSULE: (0.4, 0.6, 0.0), SHAPE_CYLINDER: (0.5, 0.8, 0.0),
    SHAPE_BOX: (0.3, 0.5, 0.9), SHAPE_CONE: (0.6, 0.7, 0.0), SHAPE_ELLIPSOID: (0.3, 0.5, 0.9),
    SHAPE_PLANE: (0.0, 0.0, 0.0),
}  # fmt: skip


def depth_inside(kind, size, x):
    """Positive inside a shape, zero on its surface, for points (..., 3)."""
    around, z = np.hypot(x[..., 0], x[..., 1]), x[..., 2]
    if kind == SHAPE_PLANE:
        return -z
    if kind == SHAPE_BOX:
        return (np.asarray(size) - np.abs(x)).min(axis=-1)
    if kind == SHAPE_ELLIPSOID:
        return 1.0 - np.linalg.norm(x / np.asarray(size), axis=-1)
    if kind in (SHAPE_SPHERE, SHAPE_CAPSULE):
        half = size[1] if kind == SHAPE_CAPSULE else 0.0
        return size[0] - np.hypot(around, z - z.clip(-half, half))
    side = size[0] if kind == SHAPE_CYLINDER else 0.5 * size[0] * (1.0 - z / size[1])
    return np.minimum(side - around, size[1] - np.abs(z))


@pytest.mark.parametrize("kind", SIZES)
def test_rays_meet_a_shape_where_it_begins_or_ends(kind):
    chance, size, grid = np.random.default_rng(kind), SIZES[kind], np.linspace(0.0, 6.0, 6001)
    met = 0
    for _ in range(300):
        o = chance.uniform(-1.5, 1.5, 3)
        d = 0.5 * chance.standard_normal(3) - o
        d *= chance.uniform(0.5, 1.5) / np.linalg.norm(d)
        inside = depth_inside(kind, size, o + grid[:, None] * d) > 0.0
        changes = np.flatnonzero(inside[1:] != inside[:-1])
        t = distance(kind, size, tuple(o), tuple(d))
        if not len(changes):
            assert not t < grid[-1] or depth_inside(kind, size, o + t * d) == pytest.approx(0.0, abs=1e-9)
            continue
        low, high = grid[changes[0]], grid[changes[0] + 1]
        for _ in range(60):
            middle = 0.5 * (low + high)
            here = (depth_inside(kind, size, o + middle * d) > 0.0) == inside[0]
            low, high = (middle, high) if here else (low, middle)
        if t < low - 1e-9:  # a corner that the grid has missed
            assert depth_inside(kind, size, o + t * d) == pytest.approx(0.0, abs=1e-9)
            continue
        assert t == pytest.approx(low, abs=1e-11)
        x, step = o + t * d, 1e-6
        slopes = [
            (depth_inside(kind, size, x - e) - depth_inside(kind, size, x + e)) / (2 * step) for e in step * np.eye(3)
        ]
        n = np.array(normal(kind, size, tuple(x)))
        cosine = n @ slopes / (np.linalg.norm(n) * np.linalg.norm(slopes))
        assert cosine == pytest.approx(1.0, abs=1e-6) or edge(kind, size, x)
        met += 1
    assert met > 40


def edge(kind, size, x):
    """Whether a point lies within the difference step of an edge, where two faces meet."""
    return kind in (SHAPE_BOX, SHAPE_CYLINDER, SHAPE_CONE) and np.ptp([
        depth_inside(kind, size, x + 1e-5 * e) for e in (*np.eye(3), *-np.eye(3))
    ]) < 2e-5  # fmt: skip


@pytest.mark.parametrize("kind, o, d, t", [
    (SHAPE_CONE, (0.0, 0.0, 2.0), (0.0, 0.0, -1.0), 1.3),  # down onto the tip
    (SHAPE_CONE, (0.0, 0.0, -2.0), (0.0, 0.0, 1.0), 1.3),  # up onto the base
    (SHAPE_CONE, (0.0, 0.0, 1.5), (0.0, 1.0, 0.0), np.inf),  # through the other half of the double cone
    (SHAPE_CONE, (0.0, -2.0, 0.0), (0.0, 1.0, 0.0), 1.7),
    (SHAPE_CYLINDER, (0.2, 0.1, 3.0), (0.0, 0.0, -2.0), 1.1),
    (SHAPE_CYLINDER, (0.6, 0.1, 3.0), (0.0, 0.0, -2.0), np.inf),
    (SHAPE_BOX, (0.1, -2.0, 0.2), (0.0, 1.0, 0.0), 1.5),
    (SHAPE_BOX, (0.1, 0.0, 0.2), (0.0, 1.0, 0.0), 0.5),  # from inside
    (SHAPE_BOX, (0.1, 2.0, 0.2), (0.0, 1.0, 0.0), np.inf),  # behind
    (SHAPE_PLANE, (0.1, 2.0, 0.2), (0.0, 1.0, 0.0), np.inf),  # along
    (SHAPE_PLANE, (0.1, 2.0, -0.2), (0.0, 0.0, 0.1), 2.0),  # from below
    (SHAPE_CAPSULE, (0.0, 0.0, 4.0), (0.0, 0.0, -1.0), 3.0),
    (SHAPE_SPHERE, (100.0, 0.0, 0.0), (-1.0, 0.0, 0.0), 99.3),
])  # fmt: skip
def test_rays_along_axes(kind, o, d, t):
    assert distance(kind, SIZES[kind], o, d) == pytest.approx(t, abs=1e-11)
