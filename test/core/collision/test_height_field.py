# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts with height fields: flat ones against the plane, ridges, grooves and peaks, rough ones against coal.

Covers core/collision/height_grid.py, core/collision/height_ridges.py, core/collision/height_peaks.py.
"""

from __future__ import annotations

import coal
import numpy as np
import pytest

from mb_contact.collision import ENGINES
from mb_contact.collision.coal_engine import _convex
from mb_contact.collision.sizes import make_shape
from scenes.collision_cases import (
    MARGIN,
    Shape,
    World,
    convex,
    field,
    half_widths,
    manifold,
    moved,
    random_rotation,
    rotation,
)

pytestmark = pytest.mark.quick

CUBE = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
LYING = rotation([0, 1, 0], np.pi / 2)
SHAPES = {
    "sphere": Shape("sphere", (0.05,), None),
    "capsule": Shape("capsule", (0.04, 0.1), None),
    "lying capsule": Shape("capsule", (0.04, 0.1), None, LYING),
    "cylinder": Shape("cylinder", (0.05, 0.08), None),
    "lying cylinder": Shape("cylinder", (0.05, 0.08), None, LYING),
    "box": Shape("box", (0.06, 0.05, 0.07), None),
    "cone": Shape("cone", (0.05, 0.08), None),
    "ellipsoid": Shape("ellipsoid", (0.05, 0.06, 0.07), None),
    "convex": convex(0.06 * CUBE),
}
CHECKERED = 0.08  #: height of every other grid point [m]
KINDS = ("sphere", "capsule", "cylinder", "box", "cone", "ellipsoid", "convex")
PLANE = Shape("plane", (), np.zeros(3))


def standing_on(shape, normal, at, gap):
    """The shape a gap above the plane through ``at``."""
    reach = half_widths(shape, -np.asarray(normal)[None])[0]
    return shape._replace(p=np.asarray(at) + (reach + gap) * np.asarray(normal))


def by_feature(m):
    order = np.lexsort(m.point.T.round(9))
    return m.point[order], m.gap[order]


# --- flat: no edge is felt --------------------------------------------------------------------------


@pytest.mark.parametrize("engine", sorted(ENGINES))
@pytest.mark.parametrize("name", SHAPES)
def test_a_flat_field_is_the_plane(name, engine):
    """Wherever a shape lies and however it is turned: points, gaps and normals are those of the plane."""
    rng = np.random.default_rng(2)
    R, t = random_rotation(rng), rng.normal(size=3)
    flat, plane = moved(field(np.zeros((9, 12)), (1.1, 0.8)), R, t), moved(PLANE, R, t)
    for gap in (1e-3, 0.0, -1e-3):
        turn = rotation([0, 0, 1], rng.uniform(0.0, 6.0)) @ rotation(rng.normal(size=3), rng.choice([0.0, 1e-3]))
        shape = SHAPES[name]._replace(R=turn @ SHAPES[name].R)
        shape = moved(standing_on(shape, [0.0, 0.0, 1.0], [*rng.uniform(-0.2, 0.2, 2), 0.0], gap), R, t)
        m, truth = manifold(shape, flat, engine=engine), manifold(shape, plane, engine=engine)
        assert len(m.gap) == len(truth.gap)
        np.testing.assert_allclose(m.gap, truth.gap, atol=1e-13)
        np.testing.assert_allclose(m.point, truth.point, atol=1e-13)
        np.testing.assert_allclose(m.normal, truth.normal, atol=1e-13)


@pytest.mark.parametrize("name", SHAPES)
def test_identities_stay_while_a_shape_slides_over_the_cells(name):
    flat, features = field(np.zeros((21, 21)), (1.0, 1.0)), None
    for x in np.linspace(-0.2, 0.21, 23):
        m = manifold(standing_on(SHAPES[name], [0.0, 0.0, 1.0], [x, 0.37 * x, 0.0], 0.0), flat)
        features = m.feature if features is None else features
        np.testing.assert_array_equal(m.feature, features)


@pytest.mark.parametrize("name", SHAPES)
def test_both_orders_give_one_manifold(name):
    rough = field(0.02 * np.random.default_rng(4).random((13, 13)), (1.2, 1.2))
    shape = standing_on(SHAPES[name], [0.0, 0.0, 1.0], [0.03, 0.05, 0.0], 0.005)
    one, other = manifold(shape, rough), manifold(rough, shape)
    assert len(one.gap) > 0
    np.testing.assert_array_equal(one.point, other.point)
    np.testing.assert_array_equal(one.gap, other.gap)
    np.testing.assert_array_equal(one.normal, -other.normal)


# --- known answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("axis", [0, 1])
def test_an_inclined_field_is_an_inclined_plane(axis, name):
    slope = 0.4
    grid = np.linspace(-1.0, 1.0, 15) * slope
    heights = np.tile(grid, (15, 1)) if axis == 0 else np.tile(grid[:, None], (1, 15))
    normal = np.array([-slope, 0.0, 1.0] if axis == 0 else [0.0, -slope, 1.0]) / np.hypot(1.0, slope)
    turn = np.column_stack([np.cross([0.0, 1.0, 0.0], normal), [0.0, 1.0, 0.0], normal]) if axis == 0 else (
        np.column_stack([[1.0, 0.0, 0.0], np.cross(normal, [1.0, 0.0, 0.0]), normal]))  # fmt: skip
    at = np.array([0.11, 0.07, 0.0])
    at[2] = slope * at[axis]
    shape = SHAPES[name]._replace(R=turn @ SHAPES[name].R)
    m = manifold(standing_on(shape, normal, at, -2e-4), field(heights, (2.0, 2.0)))
    truth = manifold(standing_on(shape, normal, at, -2e-4), Shape("plane", (), at, turn))
    assert len(m.gap) == len(truth.gap)
    np.testing.assert_allclose(m.normal, np.tile(normal, (len(m.gap), 1)), atol=1e-12)
    np.testing.assert_allclose(m.gap, -2e-4, atol=1e-12)


def vee(steep, n=11, size=1.0):
    """Heights steep |x|: a groove along y, its bottom on a line of the grid; a ridge where steep is below zero."""
    return field(np.tile(steep * np.abs(np.linspace(-0.5, 0.5, n)) * size, (n, 1)), (size, size))


@pytest.mark.parametrize("steep", [0.2, 1.0, 2.0])
def test_a_ball_in_a_groove_touches_both_sides(steep):
    radius = 0.07
    height = radius * np.hypot(1.0, steep)
    m = manifold(Shape("sphere", (radius,), np.array([0.0, 0.033, height])), vee(steep))
    assert len(m.gap) == 2
    np.testing.assert_allclose(m.gap, 0.0, atol=1e-12)
    normals = np.array([[-steep, 0.0, 1.0], [steep, 0.0, 1.0]]) / np.hypot(1.0, steep)
    np.testing.assert_allclose(m.normal[np.argsort(m.normal[:, 0])], normals, atol=1e-12)


@pytest.mark.parametrize("name", ["sphere", "lying capsule", "lying cylinder", "ellipsoid"])
@pytest.mark.parametrize("gap", [5e-4, -5e-4])
def test_what_is_round_rests_on_a_ridge_with_one_point(name, gap):
    shape = SHAPES[name]
    m = manifold(standing_on(shape, [0.0, 0.0, 1.0], [0.0, 0.031, 0.0], gap), vee(-0.5), on_way=True)
    assert len(m.gap) == 1
    np.testing.assert_allclose(m.normal[0], [0.0, 0.0, 1.0], atol=1e-6)
    assert m.gap[0] == pytest.approx(gap, abs=1e-12)
    np.testing.assert_allclose(m.point[0], [0.0, 0.031, 0.5 * gap], atol=1e-7)


@pytest.mark.parametrize("turn", [0.0, 0.3])
@pytest.mark.parametrize("name", ["box", "convex", "cylinder", "cone"])
def test_a_face_on_a_ridge_has_the_two_ends_of_the_line_below_it(name, turn):
    shape = SHAPES[name]._replace(R=rotation([0, 0, 1], turn))
    points = {"box": 0.05, "convex": 0.06, "cylinder": 0.05, "cone": 0.05}[name] / (
        np.cos(turn) if name in ("box", "convex") else 1.0
    )
    for tilt in (0.0, 1e-7, -1e-7):
        tilted = shape._replace(R=rotation([1, 0, 0], tilt) @ shape.R)
        m = manifold(standing_on(tilted, [0.0, 0.0, 1.0], [0.0, 0.013, 0.0], -1e-4), vee(-0.5, 41))
        outer = m.point[[m.point[:, 1].argmin(), m.point[:, 1].argmax()]]
        assert len(m.gap) >= 2
        np.testing.assert_allclose(m.normal, np.tile([0.0, 0.0, 1.0], (len(m.gap), 1)), atol=1e-6)
        np.testing.assert_allclose(outer[:, 0], 0.0, atol=1e-7)
        np.testing.assert_allclose(outer[:, 1], [0.013 - points, 0.013 + points], atol=0.02 * points)


def test_a_capsule_lies_along_a_ridge_on_two_points():
    shape = Shape("capsule", (0.04, 0.1), None, rotation([1, 0, 0], np.pi / 2))
    m = manifold(standing_on(shape, [0.0, 0.0, 1.0], [0.0, 0.02, 0.0], 1e-4), vee(-0.5, 3), on_way=True)
    assert len(m.gap) == 2
    np.testing.assert_allclose(np.sort(m.point[:, 1]), [-0.08, 0.12], atol=1e-12)
    np.testing.assert_allclose(m.gap, 1e-4, atol=1e-12)


@pytest.mark.parametrize("gap", [1e-4, 0.0])
def test_ridges_and_peaks_that_are_not_touched_have_no_points_where_a_step_starts(gap):
    """Nor have those that an edge of the shape touches, where no normal is better than others."""
    beside = Shape("box", (0.06, 0.05, 0.07), np.array([-0.56 - gap, 0.0, 0.07]))
    assert len(manifold(beside, field(np.zeros((3, 3)), (1.0, 1.0))).gap) == 0
    ball = standing_on(SHAPES["sphere"], [0.0, 0.0, 1.0], [0.0, 0.031, 0.0], gap)
    assert len(manifold(ball, vee(-0.5)).gap) == (1 if gap == 0.0 else 0)


@pytest.mark.parametrize("name", SHAPES)
def test_a_peak_is_a_point(name):
    heights = np.zeros((5, 5))
    heights[2, 2] = 0.2
    shape = SHAPES[name]
    at = [0.0, 0.0, 0.2]
    m = manifold(standing_on(shape, [0.0, 0.0, 1.0], at, -3e-4), field(heights, (1.0, 1.0)))
    deepest = m.gap.argmin()
    assert m.gap[deepest] == pytest.approx(-3e-4, abs=1e-12)
    np.testing.assert_allclose(m.normal[deepest], [0.0, 0.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(m.point[deepest], [0.0, 0.0, 0.2 - 1.5e-4], atol=1e-9)


def test_a_box_over_the_border_is_held_at_its_corners_and_at_the_border():
    m = manifold(Shape("box", (0.1, 0.08, 0.05), np.array([0.5, 0.0, 0.05])), field(np.zeros((11, 11)), (1.0, 1.0)))
    np.testing.assert_allclose(np.unique(m.point[:, 0].round(9)), [0.4, 0.5])
    np.testing.assert_allclose(np.abs(m.point[:, 1]), 0.08, atol=1e-12)
    assert len(m.gap) == 4
    beside = Shape("sphere", (0.05,), np.array([0.7, 0.0, 0.0]))
    assert len(manifold(beside, field(np.zeros((3, 3)), (1.0, 1.0))).gap) == 0


def test_a_box_larger_than_a_plateau_rests_on_its_corners():
    heights = np.zeros((9, 9))
    heights[3:6, 3:6] = 0.1
    m = manifold(Shape("box", (0.3, 0.3, 0.05), np.array([0.01, 0.02, 0.15])), field(heights, (0.8, 0.8)))
    assert len(m.gap) == 4
    np.testing.assert_allclose(np.abs(m.point[:, :2]), 0.1, atol=1e-12)
    np.testing.assert_allclose(m.gap, 0.0, atol=1e-12)


# --- rough ------------------------------------------------------------------------------------------


def wedge(corners):
    """A triangle with a point of the ground below it, for coal knows distances of few shapes from triangles."""
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for corner in (*corners, corners.mean(axis=0) - [0.0, 0.0, 0.1]):
        points.append(corner)
    for triple in ((0, 1, 2), (0, 3, 1), (1, 3, 2), (2, 3, 0)):
        triangles.append(coal.Triangle(*triple))
    return coal.Convex(points, triangles)


def coal_distance(shape, ground, wedges):
    """Least distance of a shape from the triangles of a field, by coal."""
    world = World([shape, PLANE])
    body = make_shape(coal, world.geoms, 0, _convex)
    place, rest = coal.Transform3s(shape.R, shape.p), coal.Transform3s(ground.R, ground.p)
    request, least = coal.DistanceRequest(), np.inf
    request.gjk_tolerance = request.epa_tolerance = 1e-9
    middles = ground.points.vertices[ground.points.triangles].mean(axis=1)
    for t in np.flatnonzero(np.linalg.norm(middles - (shape.p - ground.p) @ ground.R, axis=1) < 0.4):
        solid, result = wedges[t], coal.DistanceResult()
        compute = coal.ComputeDistance(body, solid)
        least = min(least, compute(place, rest, request, result))
    return least


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("roughness", [0.003, 0.02, 0.1, CHECKERED])
def test_near_shapes_over_rough_ground_have_the_distance_that_coal_finds(roughness, kind):
    rng = np.random.default_rng([8, KINDS.index(kind), int(1000 * roughness)])
    heights = np.indices((17, 17)).sum(0) % 2 if roughness == CHECKERED else rng.random((17, 17))
    ground = field(roughness * heights, (1.6, 1.6) if roughness == CHECKERED else (1.0, 1.0))
    wedges = [wedge(corners) for corners in ground.points.vertices[ground.points.triangles]]
    for _ in range(30 if roughness == CHECKERED else 6):
        R = random_rotation(rng)
        if kind == "convex":
            shape = convex(rng.normal(size=(12, 3)) * rng.uniform(0.03, 0.08, 3), R=R)
        else:
            count = {"sphere": 1, "capsule": 2, "cylinder": 2, "cone": 2, "box": 3, "ellipsoid": 3}[kind]
            shape = Shape(kind, tuple(rng.uniform(0.03, 0.12, count)), None, R)
        at = np.array([*rng.uniform(-0.2, 0.2, 2), roughness + 0.3])
        for _ in range(40):  # down until it is near
            shape = shape._replace(p=at)
            distance = coal_distance(shape, ground, wedges)
            if distance < 0.6 * MARGIN:
                break
            at = at - [0.0, 0.0, 0.7 * (distance - 0.3 * MARGIN)]
        m = manifold(shape, ground, on_way=True)
        assert 0.0 < distance < 0.6 * MARGIN
        assert len(m.gap) >= 1 and m.gap.min() == pytest.approx(distance, abs=1e-5), (distance, m)
        assert manifold(shape, ground).gap.min(initial=np.inf) > 0.0  # beyond a ridge no plane counts
        assert np.abs(np.linalg.norm(m.normal, axis=1) - 1.0).max() < 1e-12


def test_large_bodies_keep_four_points_for_each_group_of_normals():
    ground = field(0.01 * np.random.default_rng(1).random((101, 101)), (2.0, 2.0))
    m = manifold(Shape("box", (0.8, 0.8, 0.1), np.array([0.0, 0.0, 0.1085])), ground)
    assert 4 <= len(m.gap) <= 40
    assert len({(pair, feature) for pair, feature in zip(m.pair, m.feature)}) == len(m.gap)


def test_what_has_sunk_is_pushed_out():
    m = manifold(Shape("sphere", (0.05,), np.array([0.01, 0.02, -0.2])), field(np.zeros((5, 5)), (1.0, 1.0)))
    assert len(m.gap) == 1 and m.gap[0] == pytest.approx(-0.25)
    np.testing.assert_allclose(m.normal[0], [0.0, 0.0, 1.0])


@pytest.mark.parametrize("beyond", [1e-5, 1e-4, 1e-3])
def test_a_tip_that_went_past_the_bottom_of_a_pit_is_below_the_opposite_slopes(beyond):
    """Below a valley, or where valleys meet, a point is below planes that it does not seem to be over."""
    heights = np.ones((5, 5))
    heights[2, 2] = 0.0
    spike = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 1.0], [-0.1, 0.1, 1.0], [-0.1, -0.1, 1.0]])
    tip = convex(spike, p=(-beyond, -beyond, 0.2 * beyond))  # the slopes are 1 in 1
    m = manifold(tip, field(heights, (4.0, 4.0)), on_way=True)
    assert m.gap.min() == pytest.approx(-0.8 * beyond / np.sqrt(2.0), abs=1e-9)


@pytest.mark.parametrize("y", [-0.05, -1e-4, 0.0, 1e-4, 0.05])
def test_a_sharp_edge_that_cuts_a_ridge_is_in_it_beside_its_grid_points_too(y):
    """Below the edge the ridge is in the body only farther along, which may be beyond the grid point."""
    ridges = np.tile([0.08, 0.0], (13, 7))[:, :13]
    corners = (0.2863, -0.168, 0.1099), (-0.1111, 0.065, 0.0671), (0.124, 0.075, 0.1439), (0.084, -0.01, 0.182)
    body = convex(np.array(corners))
    m = manifold(body._replace(p=body.p + [0.0, y, 0.0]), field(ridges, (1.2, 1.2)), on_way=True)
    edge = 0.0671 + 0.1111 / 0.3974 * 0.0428  # its height over the ridge
    slope = np.hypot(1.0, 0.0428 / 0.3974)
    assert m.gap.min() == pytest.approx((edge - 0.08) / slope, abs=2e-5)
