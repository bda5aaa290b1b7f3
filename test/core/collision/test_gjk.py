# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Best directions of shapes that are apart, and the climb of those that overlap, by what marks a best one.

Covers core/collision/shapes.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.collision.gjk import nearest_on_triangle
from mb_contact.core.collision.manifold_normals import STALL, ascend, climb
from mb_contact.core.collision.shapes import farthest
from scenes.collision_cases import Shape, World, random_rotation


def posed(a, b):
    """World of two shapes, and the arguments of what asks for their separation."""
    world = World([a, b])
    world.near()
    return world.handle, world.buffers.geom_R, world.buffers.geom_p


@pytest.mark.nojit
@pytest.mark.parametrize("width", [1.0, 1e-4, 1e-8])
def test_nearest_point_of_a_sliver(width):
    """Its side nearest to the origin is 3e-3 away; beside the rounding of a point nothing is lost."""
    R = random_rotation(np.random.default_rng(2))
    corners = np.array([[-0.1, -0.3 * width, 3e-3], [0.1, -0.3 * width, 3e-3], [0.02, 0.7 * width, 3e-3]]) @ R.T
    for turn in range(3):
        p, between = nearest_on_triangle(*(tuple(c) for c in np.roll(corners, turn, axis=0)))
        assert between == 7
        np.testing.assert_allclose(p, 3e-3 * R[:, 2], atol=1e-16 + 1e-18 / width)


@pytest.mark.nojit
def test_corners_and_edges_that_carry_the_nearest_point():
    for a, b, c, p, between in (
        ((1.0, 0.0, 0.0), (2.0, 1.0, 0.0), (2.0, -1.0, 0.0), (1.0, 0.0, 0.0), 1),
        ((1.0, 1.0, 0.0), (1.0, -1.0, 0.0), (2.0, 0.0, 0.0), (1.0, 0.0, 0.0), 3),
        ((2.0, 0.0, 0.0), (2.0, 0.0, 0.0), (1.0, 0.0, 1.0), (1.0, 0.0, 1.0), 4),
    ):
        assert nearest_on_triangle(a, b, c) == (p, between)


@pytest.mark.parametrize("gap", [0.05, 1e-4, 0.0, -1e-4, -5e-3])
def test_the_farthest_points_of_two_ellipsoids_lie_along_the_normal(gap):
    """Where the separation is largest its gradient, the sideways distance of both points, is zero."""
    rng = np.random.default_rng(1)
    for _ in range(5):
        a, b = (Shape("ellipsoid", tuple(rng.uniform(0.03, 0.1, 3)), np.zeros(3), random_rotation(rng)) for _ in "ab")
        d = random_rotation(rng)[0]
        low, high = 0.0, 0.4
        for _ in range(40):
            middle = 0.5 * (low + high)
            world = posed(a._replace(p=middle * d), b)
            s, n = climb(*world, 0, 1, tuple(d), STALL)
            low, high = (middle, high) if s < gap else (low, middle)
        assert s == pytest.approx(gap, abs=1e-10)
        back = tuple(-x for x in n)
        w = np.subtract(farthest(*world, 0, back), farthest(*world, 1, n))
        np.testing.assert_allclose(w, np.multiply(s, n), atol=1e-7 * 0.1)


def test_what_overlaps_wholly_is_found_from_several_directions():
    """A ball amid a disc, 12 mm thick: through a cap, wherever the search begins."""
    ball = Shape("sphere", (0.004,), np.array([0.03, 0.01, 0.001]))
    world = posed(ball, Shape("cylinder", (0.1, 0.006), np.zeros(3)))
    for start in ((1.0, 0.0, 0.0), (0.0, 0.6, -0.8), (0.0, 0.0, 0.0)):
        s, n = ascend(*world, 0, 1, start, np.inf, 0.0)
        assert s == pytest.approx(-0.006 - 0.004 + 0.001, abs=1e-15)
        np.testing.assert_allclose(n, (0.0, 0.0, 1.0), atol=1e-9)
