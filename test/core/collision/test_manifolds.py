# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact manifolds against closed forms, certificates and themselves in the other order.

Covers core/collision/manifold_*.py, core/collision/point_distance.py, core/collision/workspace.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.types import OK, TOO_MANY_CONTACTS
from scenes.collision_cases import (
    MARGIN,
    Shape,
    World,
    half_widths,
    manifold,
    moved,
    random_rotation,
    rotation,
    separations,
    surface_distance,
    true_distance,
)

UPRIGHT = np.eye(3)
ALONG_X = rotation([0, 1, 0], np.pi / 2)
ALONG_Y = rotation([1, 0, 0], np.pi / 2)
ON_EDGE = rotation([1, 0, 0], np.pi / 4)
DIAGONAL = 0.05 * np.sqrt(2.0)

# kind, size, attitude, half height
UPPER = {
    "sphere": ("sphere", (0.05,), UPRIGHT, 0.05),
    "capsule": ("capsule", (0.04, 0.1), ALONG_X, 0.04),
    "standing capsule": ("capsule", (0.04, 0.1), UPRIGHT, 0.14),
    "cylinder": ("cylinder", (0.05, 0.08), ALONG_X, 0.05),
    "standing cylinder": ("cylinder", (0.05, 0.08), UPRIGHT, 0.08),
    "box": ("box", (0.06, 0.05, 0.07), UPRIGHT, 0.07),
    "box on edge": ("box", (0.06, 0.05, 0.05), ON_EDGE, DIAGONAL),
}
LOWER = {
    "plane": ("plane", (), UPRIGHT, 0.0),
    "box": ("box", (0.3, 0.3, 0.05), UPRIGHT, 0.05),
    "box on edge": ("box", (0.3, 0.05, 0.05), ON_EDGE, DIAGONAL),
    "standing cylinder": ("cylinder", (0.3, 0.05), UPRIGHT, 0.05),
    "cylinder x": ("cylinder", (0.05, 0.3), ALONG_X, 0.05),
    "cylinder y": ("cylinder", (0.05, 0.3), ALONG_Y, 0.05),
    "capsule x": ("capsule", (0.05, 0.3), ALONG_X, 0.05),
    "capsule y": ("capsule", (0.05, 0.3), ALONG_Y, 0.05),
    "sphere": ("sphere", (0.1,), UPRIGHT, 0.1),
}
ON_FLAT = {"sphere": 1, "standing capsule": 1, "capsule": 2, "cylinder": 2, "box on edge": 2}
FLAT = ("plane", "box", "standing cylinder")


def points_expected(lower, upper):
    """How many points an upper shape has on a lower one."""
    if lower in FLAT:
        return ON_FLAT.get(upper, 4)
    if lower == "sphere" or upper in ("sphere", "standing capsule"):
        return 1
    if upper in ("box", "standing cylinder"):
        return 2  # a line across a face
    if lower in ("cylinder y", "capsule y"):
        return 1  # lines that cross
    return 2


def stacked(lower, upper, gap, R=UPRIGHT, t=(0.0, 0.0, 0.0)):
    """Two shapes, one above the other, after a rigid motion."""
    kind, size, attitude, height = UPPER[upper]
    a = Shape(kind, size, np.array([0.0, 0.0, height + gap]), attitude)
    kind, size, attitude, height = LOWER[lower]
    b = Shape(kind, size, np.array([0.0, 0.0, -height]), attitude)
    return moved(a, R, np.asarray(t)), moved(b, R, np.asarray(t))


@pytest.mark.parametrize("upper", UPPER)
@pytest.mark.parametrize("lower", LOWER)
def test_stacks_have_exact_gaps_and_normals_in_any_attitude(lower, upper):
    rng = np.random.default_rng(1)
    for attitude in range(3):
        R = random_rotation(rng) if attitude else UPRIGHT
        t = rng.normal(size=3)
        for gap in (1e-3, 1e-5, 1e-7, 1e-9, 1e-12, 0.0, -1e-12, -1e-9, -1e-7, -1e-5):
            edges = lower == upper == "box on edge"
            if edges and gap < 1e-8:
                continue  # parallel edges that touch: many normals are as good, a slanting face is better
            a, b = stacked(lower, upper, gap, R, t)
            m = manifold(a, b)
            assert len(m.gap) == points_expected(lower, upper), gap
            np.testing.assert_allclose(m.gap, gap, atol=1e-12)
            error = np.abs(m.normal - R[:, 2]).max()
            assert error <= (1e-9 if edges else 2e-12)
            np.testing.assert_allclose(((m.point - t) @ R)[:, 2], 0.5 * gap, atol=1e-12)
            assert len(set(m.feature)) == len(m.gap)


@pytest.mark.nojit
@pytest.mark.parametrize("upper", UPPER)
@pytest.mark.parametrize("lower", LOWER)
def test_either_order_gives_the_same_manifold(lower, upper):
    R = rotation([1.0, -2.0, 0.5], 0.7)
    a, b = stacked(lower, upper, 1e-4, R, (0.3, -0.2, 0.1))
    one, other = manifold(a, b), manifold(b, a)
    np.testing.assert_array_equal(one.point, other.point)
    np.testing.assert_array_equal(one.gap, other.gap)
    np.testing.assert_array_equal(one.normal, -other.normal)


@pytest.mark.nojit
def test_either_order_of_equal_boxes_at_45_degrees():
    a = Shape("box", (0.1, 0.1, 0.1), np.array([0.0, 0.0, 0.2]), rotation([0, 0, 1], np.pi / 4))
    b = Shape("box", (0.1, 0.1, 0.1), np.zeros(3))
    one, other = manifold(a, b), manifold(b, a)
    assert len(one.gap) == 4
    np.testing.assert_allclose(one.point, other.point, atol=1e-15)
    np.testing.assert_array_equal(one.normal, -other.normal)


@pytest.mark.parametrize("lower", ["plane", "box"])
def test_resting_box_has_its_corners_and_exactly_the_face_normal(lower):
    rng = np.random.default_rng(2)
    half = np.array([0.06, 0.05, 0.07])
    features = None
    for _ in range(50):
        tilt = rotation(rng.normal(size=3), 10.0 ** rng.uniform(-10, -4))
        p = np.array([*rng.uniform(-0.1, 0.1, 2), 0.07 + rng.choice([1e-9, 1e-7, 1e-5, 0.0, -1e-9, -1e-6])])
        a = Shape("box", tuple(half), p, tilt)
        m = manifold(a, stacked(lower, "box", 0.0)[1])
        assert len(m.gap) == 4
        np.testing.assert_array_equal(m.normal, np.tile([0.0, 0.0, 1.0], (4, 1)))
        features = m.feature if features is None else features
        np.testing.assert_array_equal(m.feature, features)
        # counterclockwise seen from outside
        corners = p + (np.array([[-1, 1, -1], [1, 1, -1], [1, -1, -1], [-1, -1, -1]]) * half) @ tilt.T
        np.testing.assert_allclose(m.gap, corners[:, 2], atol=1e-15)
        np.testing.assert_allclose(m.point[:, :2], corners[:, :2], atol=1e-12)


def random_shape(kind, rng):
    """Shape of random proportions and attitude at the origin."""
    count = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3}[kind]
    return Shape(kind, tuple(rng.uniform(0.02, 0.2, count)), np.zeros(3), random_rotation(rng))


def place(a, b, direction, gap, rng):
    """Move a along a direction until its signed distance from b is about a gap."""
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = 0.5 * (low + high)
        m = manifold(a._replace(p=middle * direction), b, margin=0.5)
        if len(m.gap) and m.gap.min() < gap:
            low = middle
        else:
            high = middle
    return a._replace(p=high * direction)


PAIRS = [
    (a, b)
    for i, a in enumerate(["sphere", "capsule", "cylinder", "box"])
    for b in ["sphere", "capsule", "cylinder", "box"][i:]
]


@pytest.mark.nojit
@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_random_poses_are_certified(kinds):
    """The deepest gap is the separation along its normal, none is larger, points lie on surfaces."""
    rng = np.random.default_rng(3)
    seen = 0
    for gap in (1e-3, 2e-4, 0.0, -2e-4, -1e-3):
        for _ in range(2):
            a, b = random_shape(kinds[0], rng), random_shape(kinds[1], rng)
            a = place(a, b, random_rotation(rng)[0], gap, rng)
            m = manifold(a, b)
            if len(m.gap) == 0:
                assert true_distance(a, b, rng) > MARGIN
                continue
            seen += 1
            deepest = m.gap.min()
            assert deepest == pytest.approx(separations(a, b, m.normal[:1])[0], abs=3e-6)
            assert deepest >= true_distance(a, b, rng, m.normal[:1]) - 1e-9
            np.testing.assert_allclose(np.linalg.norm(m.normal, axis=1), 1.0, atol=1e-12)
            offset = 0.5 * m.gap[:, None] * m.normal
            assert np.abs(surface_distance(a, m.point + offset)).max() < 1e-5
            assert np.abs(surface_distance(b, m.point - offset)).max() < 1e-5
            other = manifold(b, a)
            np.testing.assert_allclose(other.point, m.point, atol=1e-14)
            np.testing.assert_allclose(other.gap, m.gap, atol=1e-14)
    assert seen >= 8


@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder", "box"])
def test_deepest_point_on_a_plane_is_the_support(kind):
    rng = np.random.default_rng(4)
    for gap in (1e-3, 1e-8, -1e-8, -1e-3):
        a, R = random_shape(kind, rng), random_rotation(rng)
        plane = Shape("plane", (), rng.normal(size=3), R)
        a = a._replace(p=plane.p + R @ [0.4, -0.3, gap + half_widths(a, R[:, 2][None])[0]])
        m = manifold(a, plane)
        assert m.gap.min() == pytest.approx(gap, abs=1e-14)
        np.testing.assert_array_equal(m.normal[0], R[:, 2])
        assert np.abs(surface_distance(a, m.point + 0.5 * m.gap[:, None] * m.normal)).max() < 1e-12


@pytest.mark.nojit
def test_overhanging_box_is_clipped_at_the_table():
    table = Shape("box", (0.5, 0.5, 0.05), np.array([0.0, 0.0, -0.05]))
    box = Shape("box", (0.1, 0.1, 0.1), np.array([0.45, 0.1, 0.1]))
    m = manifold(box, table)
    corners = sorted(map(tuple, np.round(m.point[:, :2], 12)))
    assert corners == [(0.35, 0.0), (0.35, 0.2), (0.5, 0.0), (0.5, 0.2)]


@pytest.mark.nojit
def test_overhanging_cylinder_and_capsule_are_clipped_at_the_table():
    table = Shape("box", (0.5, 0.5, 0.05), np.array([0.0, 0.0, -0.05]))
    capsule = Shape("capsule", (0.05, 0.2), np.array([0.45, 0.0, 0.05]), ALONG_X)
    np.testing.assert_allclose(sorted(manifold(capsule, table).point[:, 0]), [0.25, 0.5], atol=1e-12)
    cylinder = Shape("cylinder", (0.1, 0.2), np.array([0.5, 0.0, 0.2]))
    m = manifold(cylinder, table)
    assert len(m.gap) in (3, 4) and m.point[:, 0].max() <= 0.5 + 1e-5
    np.testing.assert_allclose(m.point[:, 0].min(), 0.4, atol=1e-12)
    np.testing.assert_allclose([m.point[:, 1].min(), m.point[:, 1].max()], [-0.1, 0.1], atol=1e-12)


@pytest.mark.nojit
def test_caps_side_by_side_meet_in_their_lens():
    a = Shape("cylinder", (0.1, 0.05), np.array([0.12, 0.0, 0.05]))
    b = Shape("cylinder", (0.1, 0.05), np.array([0.0, 0.0, -0.05]))
    m = manifold(a, b)
    radii = np.hypot(m.point[:, 0], m.point[:, 1]), np.hypot(m.point[:, 0] - 0.12, m.point[:, 1])
    assert len(m.gap) == 4 and np.max(radii) <= 0.1 + 1e-9
    np.testing.assert_allclose(m.point[:, 1].max(), 0.08, atol=1e-12)


@pytest.mark.nojit
def test_crossed_edges_have_the_exact_common_perpendicular():
    a = Shape("box", (0.1, 0.05, 0.05), np.array([0.0, 0.0, DIAGONAL + 1e-7]), ON_EDGE)
    turn = rotation([0, 0, 1], 0.9)
    b = Shape("box", (0.1, 0.05, 0.05), np.array([0.0, 0.0, -DIAGONAL]), turn @ ON_EDGE)
    m = manifold(a, b)
    assert len(m.gap) == 1
    np.testing.assert_allclose(m.normal[0], [0, 0, 1], atol=1e-14)
    np.testing.assert_allclose(m.point[0], [0, 0, 5e-8], atol=1e-14)
    assert m.gap[0] == pytest.approx(1e-7, abs=1e-14)


@pytest.mark.nojit
def test_an_edge_that_lies_almost_in_a_face_has_a_point_at_either_end():
    """A plate over the edge of a table, rolled about a line across the edge: both ends, whichever is the nearer one."""
    table, features = Shape("box", (0.5, 0.5, 0.05), np.array([0.0, -0.5, -0.05])), None
    for roll in (-9e-4, -1e-4, -1e-7, 0.0, 1e-7, 1e-4, 9e-4):
        R = rotation([1, 0, 0], -0.3) @ rotation([0, 1, 0], roll)
        n = np.cross([1.0, 0.0, 0.0], R[:, 1])
        n /= np.linalg.norm(n)
        p = R @ [0.0, 0.0, 0.02] + 5e-5 * n
        m = manifold(Shape("box", (0.04, 0.1, 0.02), p, R), table)
        ends = np.array([n @ (p + R @ [x, 0.0, -0.02]) for x in (-0.04, 0.04)])
        assert len(m.gap) == 2
        order = np.argsort(m.point[:, 0])
        np.testing.assert_allclose(m.gap[order], ends, atol=1e-10)
        np.testing.assert_allclose(m.normal, [n, n], atol=2e-7)
        np.testing.assert_allclose(m.point[order][:, 0], [-0.04, 0.04], atol=1e-6)
        np.testing.assert_allclose(m.point[:, 1:], 0.0, atol=1e-4)
        if abs(roll) >= 1e-4:  # otherwise the face gives the normal
            features = m.feature[order] if features is None else features
            np.testing.assert_array_equal(m.feature[order], features)


def test_identities_survive_sliding_and_turning():
    table = Shape("box", (1.0, 1.0, 0.05), np.array([0.0, 0.0, -0.05]))
    for kind in ("box", "standing cylinder", "cylinder", "capsule"):
        name, size, attitude, height = UPPER[kind]
        features = None
        for i in range(60):
            turn = rotation([0, 0, 1], 0.01 * i) @ rotation([1, 0.3, 0], 1e-7 * np.sin(i))
            p = np.array([1e-3 * i, -5e-4 * i, height + 1e-6 * np.cos(i)])
            m = manifold(Shape(name, size, p, turn @ attitude), table)
            features = m.feature if features is None else features
            np.testing.assert_array_equal(m.feature, features)


def test_reduction_does_not_alternate():
    """Eight equally deep points: the same four are kept in spite of noise."""
    table = Shape("box", (0.1, 0.1, 0.05), np.array([0.0, 0.0, -0.05]))
    rng = np.random.default_rng(5)
    kept = set()
    for _ in range(100):
        R = rotation(rng.normal(size=3), 1e-9) @ rotation([0, 0, 1], np.pi / 4)
        p = np.array([0.0, 0.0, 0.1]) + 1e-9 * rng.normal(size=3)
        m = manifold(Shape("box", (0.1, 0.1, 0.1), p, R), table)
        assert len(m.gap) == 4
        kept.add(tuple(m.feature))
    assert len(kept) == 1


def test_equal_boxes_flush_keep_four_corners():
    """Stacked flush, vertices, corners and crossings coincide; noise must not shuffle them."""
    rng = np.random.default_rng(6)
    kept = set()
    for _ in range(50):
        a = Shape("box", (0.1, 0.1, 0.1), np.array([0.0, 0.0, 0.2]) + 1e-8 * rng.normal(size=3))
        m = manifold(a, Shape("box", (0.1, 0.1, 0.1), np.zeros(3), rotation(rng.normal(size=3), 1e-8)))
        np.testing.assert_allclose(np.abs(m.point[:, :2]), 0.1, atol=1e-7)
        kept.add(tuple(m.feature))
    assert len(kept) == 1


@pytest.mark.nojit
def test_tilted_standing_cylinder_touches_with_its_lowest_rim_point():
    tilt = 0.05
    a = Shape("cylinder", (0.05, 0.08), np.array([0.0, 0.0, 0.2]), rotation([1.0, 0.4, 0.0], tilt))
    a = a._replace(p=np.array([0.0, 0.0, half_widths(a, np.array([[0.0, 0.0, 1.0]]))[0] + 1e-5]))
    for lower in ("plane", "box"):
        m = manifold(a, stacked(lower, "box", 0.0)[1])
        assert m.gap.min() == pytest.approx(1e-5, abs=1e-12)


@pytest.mark.nojit
def test_points_exist_up_to_the_margin_only():
    for gap, count in ((0.99 * MARGIN, 4), (1.01 * MARGIN, 0)):
        for lower in FLAT:
            assert len(manifold(*stacked(lower, "box", gap)).gap) == count
    tilt = rotation([0, 1, 0], 0.03)  # one edge down, the other 3.6 mm up
    a = Shape("box", (0.06, 0.05, 0.07), tilt @ np.array([-0.06, 0.0, 0.07]), tilt)
    assert len(manifold(a, stacked("plane", "box", 0.0)[1]).gap) == 2


@pytest.mark.nojit
def test_concentric_and_coincident_shapes_stay_finite():
    for kind in ("sphere", "capsule", "cylinder", "box"):
        shape = random_shape(kind, np.random.default_rng(7))
        m = manifold(shape, shape)
        for array in (m.point, m.normal, m.gap):
            assert np.isfinite(array).all()
        assert len(m.gap) >= 1


@pytest.mark.nojit
def test_overflow_is_reported_and_keeps_what_fits():
    a, b = stacked("box", "box", 0.0)
    world = World([a, b], capacity=3)
    m = world.contacts_of()
    assert world.status == TOO_MANY_CONTACTS and len(m.gap) == 3
    world = World([a, b], capacity=4)
    world.contacts_of()
    assert world.status == OK


def farthest(kind, size, R, n):
    """Point of an ellipsoid, sphere or cone's tip farthest along n, from the shape's origin; an oracle of its own."""
    d = R.T @ n
    if kind == "sphere":
        return R @ (size[0] * d)
    a = np.array(size)
    return R @ (a**2 * d / np.linalg.norm(a * d))


@pytest.mark.parametrize("depth", [1e-4, 3e-6, 1.2e-6, 4e-7, 1e-8, -1e-8, -1e-6, -1e-4])
@pytest.mark.parametrize("other", ["ellipsoid", "sphere"])
def test_curved_shapes_that_just_touch_have_their_true_normal(other, depth):
    """Engines lose the normal at a depth of some 1e-6 m: pairs placed so that it is known, with no other way out."""
    rng = np.random.default_rng(8)
    upper = ("ellipsoid", (0.045, 0.03, 0.025))
    lower = (other, (0.045, 0.03, 0.025) if other == "ellipsoid" else (0.04,))
    for _ in range(40):
        n = rng.standard_normal(3)
        n /= np.linalg.norm(n)
        R, R_other = random_rotation(rng), random_rotation(rng)
        p = farthest(*lower, R_other, n) - farthest(*upper, R, -n) - depth * n
        found = World([Shape(*upper, p, R), Shape(*lower, np.zeros(3), R_other)]).contacts_of()
        assert len(found.gap) == 1
        np.testing.assert_allclose(found.gap, [-depth], atol=1e-9)
        np.testing.assert_allclose(found.normal[0], n, atol=1e-6)


def test_points_of_one_pair_have_identities_of_their_own():
    """Boxes turned on each other: cut edges and corners of either face; warm starts go by identity."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        turn = rotation([0, 0, 1], rng.uniform(0.0, np.pi))
        p = np.array([*rng.uniform(-0.1, 0.1, 2), 0.1])
        upper = Shape("box", tuple(rng.uniform(0.03, 0.12, 2)) + (0.05,), p, turn)
        found = World([Shape("box", (0.1, 0.08, 0.05), np.zeros(3)), upper]).contacts_of()
        assert len(found.feature) >= 3
        assert len(set(found.feature.tolist())) == len(found.feature)


@pytest.mark.parametrize("above", [-1e-13, 1e-13])
def test_rounding_does_not_choose_the_reference_of_boxes_side_by_side(above):
    places = np.array([[0.0, 0.0, 0.05], [0.1, 0.02, 0.05 + above]])
    found = World([Shape("box", (0.05, 0.05, 0.05), p) for p in places]).contacts_of()
    level = World([Shape("box", (0.05, 0.05, 0.05), p) for p in places - [[0, 0, 0], [0, 0, above]]]).contacts_of()
    assert found.feature.tolist() == level.feature.tolist() and len(level.feature) == 4
