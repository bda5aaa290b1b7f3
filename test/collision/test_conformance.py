# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Both collision engines, all ordered pairs of shapes: analytic answers, certificates, the other order.

Covers collision/coal_engine.py, collision/fcl_engine.py, collision/sizes.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.collision import ENGINES
from mb_contact.model.rotations import quat_to_matrix
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
    separations,
    surface_distance,
    true_distance,
)

ENGINE_NAMES = sorted(ENGINES)
KINDS = ("sphere", "capsule", "cylinder", "box", "cone", "ellipsoid", "convex")
TOLERANCE = 1e-9  #: of gaps [m]
OFF_SURFACE = 1e-6  #: points of curved pairs follow their normals [m]
UPRIGHT = np.eye(3)
LYING = rotation([0, 1, 0], np.pi / 2)
CUBE = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
PRISM = np.array([[0.1, 0, -0.1], [-0.05, 0.08, -0.1], [-0.05, -0.08, -0.1], [0.1, 0, 0.1], [-0.05, 0.08, 0.1],
                  [-0.05, -0.08, 0.1]])  # fmt: skip

#: shape, attitude, height of its origin above its lowest points, points on a flat face, height of its top (flat or not)
UPPER = {
    "sphere": (Shape("sphere", (0.05,), None), 0.05, 1),
    "standing capsule": (Shape("capsule", (0.04, 0.1), None), 0.14, 1),
    "lying capsule": (Shape("capsule", (0.04, 0.1), None, LYING), 0.04, 2),
    "standing cylinder": (Shape("cylinder", (0.05, 0.08), None), 0.08, 4),
    "lying cylinder": (Shape("cylinder", (0.05, 0.08), None, LYING), 0.05, 2),
    "box": (Shape("box", (0.06, 0.05, 0.07), None), 0.07, 4),
    "cone": (Shape("cone", (0.05, 0.08), None), 0.08, 4),
    "cone on its tip": (Shape("cone", (0.05, 0.08), None, rotation([1, 0, 0], np.pi)), 0.08, 1),
    "cone on its side": (
        Shape("cone", (0.05, 0.08), None, rotation([0, 1, 0], np.pi / 2 + np.arctan2(0.05, 0.16))),
        0.05 * 0.08 / np.hypot(0.05, 0.16), 2,
    ),
    "ellipsoid": (Shape("ellipsoid", (0.05, 0.06, 0.07), None), 0.07, 1),
    "cube": (convex(0.06 * CUBE), 0.06, 4),
    "cube on its edge": (convex(0.06 * CUBE, R=rotation([1, 0, 0], np.pi / 4)), 0.06 * np.sqrt(2), 2),
    "cube on its corner": (
        convex(0.06 * CUBE, R=rotation([1, -1, 0], np.arccos(1 / np.sqrt(3)))), 0.06 * np.sqrt(3), 1,
    ),
    "prism": (convex(PRISM), 0.1, 3),
}  # fmt: skip
FLAT = {
    "plane": (Shape("plane", (), None), 0.0),
    "box": (Shape("box", (0.3, 0.3, 0.05), None), 0.05),
    "standing cylinder": (Shape("cylinder", (0.3, 0.05), None), 0.05),
    "slab": (convex(CUBE * [0.3, 0.3, 0.05]), 0.05),
    "cone on its tip": (Shape("cone", (0.3, 0.05), None, rotation([1, 0, 0], np.pi)), 0.05),
    "height field": (field(np.zeros((7, 9)), (0.9, 0.8)), 0.4),
}


def stacked(lower, upper, gap):
    """The upper shape a gap above the flat top, at z = 0, of the lower one."""
    a, height, _ = UPPER[upper]
    b, top = FLAT[lower]
    return a._replace(p=np.array([0.0, 0.0, height + gap])), b._replace(p=np.array([0.0, 0.0, -top]))


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("upper", UPPER)
@pytest.mark.parametrize("lower", FLAT)
def test_what_stands_on_a_flat_face_has_exact_gaps_and_normals(lower, upper, engine):
    """Parallel faces, edges and vertices on a face, lines and points: before touching, touching, and inside."""
    rng = np.random.default_rng(1)
    count = UPPER[upper][2]
    for gap in (1e-3, 1e-6, 1e-9, 0.0, -1e-9, -1e-6, -1e-3):
        R, t = random_rotation(rng), rng.normal(size=3)
        a, b = (moved(shape, R, t) for shape in stacked(lower, upper, gap))
        m = manifold(a, b, engine=engine)
        assert len(m.gap) == count, gap
        np.testing.assert_allclose(m.gap, gap, atol=1e-11)
        np.testing.assert_allclose(m.normal, np.tile(R[:, 2], (count, 1)), atol=1e-11)
        np.testing.assert_allclose(((m.point - t) @ R)[:, 2], 0.5 * gap, atol=1e-11)
        assert len(set(m.feature)) == count


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("upper", UPPER)
@pytest.mark.parametrize("lower", FLAT)
def test_either_order_of_a_stack_gives_the_same_manifold(lower, upper, engine):
    R, t = rotation([1, -2, 0.5], 0.7), np.array([0.3, -0.2, 0.1])
    a, b = (moved(shape, R, t) for shape in stacked(lower, upper, 1e-4))
    one, other = manifold(a, b, engine=engine), manifold(b, a, engine=engine)
    np.testing.assert_array_equal(one.point, other.point)
    np.testing.assert_array_equal(one.gap, other.gap)
    np.testing.assert_array_equal(one.normal, -other.normal)


# --- random poses --------------------------------------------------------------------------------


def random_shape(kind, rng):
    """Shape of random proportions and attitude at the origin."""
    R = random_rotation(rng)
    if kind == "convex":
        shape = convex(rng.normal(size=(12, 3)) * rng.uniform(0.03, 0.1, 3), R=R)
        return shape._replace(p=np.zeros(3))
    count = {"sphere": 1, "capsule": 2, "cylinder": 2, "cone": 2, "box": 3, "ellipsoid": 3}[kind]
    return Shape(kind, tuple(rng.uniform(0.03, 0.15, count)), np.zeros(3), R)


def place(a, b, direction, gap, rng):
    """Move a along a direction until its signed distance from b is a gap; that distance comes back too."""
    low, high = 0.0, 1.0
    best = direction
    for _ in range(14):
        middle = 0.5 * (low + high)
        distance = true_distance(a._replace(p=middle * direction), b, rng, (best,))
        low, high = (middle, high) if distance < gap else (low, middle)
    return a._replace(p=high * direction)


PAIRS = [(a, b) for i, a in enumerate(KINDS) for b in KINDS[i:]]


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_random_poses_are_certified(kinds):
    """The deepest gap is the separation along its normal, no direction separates more, points lie on both surfaces."""
    rng = np.random.default_rng([3, *map(KINDS.index, kinds)])
    seen = 0
    for gap in (1e-3, 1e-4, -1e-4, -1e-3, -4e-3):
        a, b = random_shape(kinds[0], rng), random_shape(kinds[1], rng)
        a = place(a, b, random_rotation(rng)[0], gap, rng)
        for engine in ENGINE_NAMES:
            m = manifold(a, b, engine=engine)
            if len(m.gap) == 0:
                assert true_distance(a, b, rng) > MARGIN - TOLERANCE
                continue
            seen += 1
            assert_certified(m, a, b, rng)
            other = manifold(b, a, engine=engine)
            np.testing.assert_allclose(other.point, m.point, atol=1e-12)
            np.testing.assert_allclose(other.gap, m.gap, atol=1e-12)
            np.testing.assert_allclose(other.normal, -m.normal, atol=1e-12)
    assert seen >= 4 * len(ENGINE_NAMES)


def assert_certified(m, a, b, rng):
    """A manifold's claims about two shapes, by their support functions alone."""
    deepest = m.gap.min()
    assert deepest == pytest.approx(separations(a, b, m.normal[:1])[0], abs=TOLERANCE)
    assert deepest >= true_distance(a, b, rng, m.normal[:1]) - TOLERANCE
    np.testing.assert_allclose(np.linalg.norm(m.normal, axis=1), 1.0, atol=1e-12)
    offset = 0.5 * m.gap[:, None] * m.normal
    assert np.abs(surface_distance(a, m.point + offset)).max() < OFF_SURFACE
    assert np.abs(surface_distance(b, m.point - offset)).max() < OFF_SURFACE


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_both_engines_have_one_truth(kinds):
    """Normals to 1e-6 and gaps to 1e-9, from 1 mm apart to 1 cm deep.

    Of some deep overlaps two normals are equally good; a deeper gap with another normal is wrong.
    """
    rng, same = np.random.default_rng([11, *map(KINDS.index, kinds)]), 0
    for gap in (1e-3, 1e-6, 0.0, -1e-9, -1e-6, -1e-4, -1e-3, -1e-2):
        for _ in range(2):
            a, b, d = random_shape(kinds[0], rng), random_shape(kinds[1], rng), random_rotation(rng)[0]
            low, high, worlds = 0.0, 1.0, [World([a, b], engine=engine) for engine in ENGINE_NAMES]
            for _ in range(25):
                middle = 0.5 * (low + high)
                m = worlds[0].contacts_of([a._replace(p=middle * d), b])
                low, high = (middle, high) if len(m.gap) and m.gap.min() < gap else (low, middle)
            one, other = (world.contacts_of([a._replace(p=high * d), b]) for world in worlds)
            assert len(one.gap) and one.gap.min() == pytest.approx(other.gap.min(), abs=1e-9)
            if np.abs(one.normal[0] - other.normal[0]).max() < 1e-6:
                same += 1
                np.testing.assert_allclose(one.gap, other.gap, atol=1e-9)
                np.testing.assert_array_equal(one.feature, other.feature)
    assert same >= 15


# --- nearly aligned ------------------------------------------------------------------------------


def nearly_aligned(kinds, rng):
    """Two shapes a gap apart whose faces, rims and edges are turned against each other by 1e-4 to 1 rad."""
    a, b = random_shape(kinds[0], rng), random_shape(kinds[1], rng)
    quarter = rotation(rng.permutation([1.0, 0.0, 0.0]), np.pi / 2 * rng.integers(2))
    a = a._replace(R=b.R @ quarter @ rotation(rng.normal(size=3), 10.0 ** rng.uniform(-4, 0)))
    direction = rng.choice([-1.0, 1.0]) * b.R[:, rng.integers(3)] + 0.3 * rng.normal(size=3)
    direction /= np.linalg.norm(direction)
    gap = rng.choice([2e-3, 1e-4, 0.0, -1e-4, -2e-3])
    low, high, world = 0.0, 1.0, World([a, b], margin=0.02)
    for _ in range(16):
        middle = 0.5 * (low + high)
        m = world.contacts_of([a._replace(p=middle * direction), b])
        low, high = (middle, high) if len(m.gap) and m.gap.min() < gap else (low, middle)
    return a._replace(p=high * direction), b


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_no_point_is_deeper_than_the_shapes_are(kinds):
    """No gap is below the separation along the normal, and the deepest point lies on both surfaces."""
    rng = np.random.default_rng([7, *map(KINDS.index, kinds)])
    seen = 0
    for _ in range(20):
        a, b = nearly_aligned(kinds, rng)
        m = manifold(a, b, margin=5e-3)
        if len(m.gap) == 0:
            continue
        seen += 1
        least = separations(a, b, m.normal[:1])[0]
        assert m.gap.min() == pytest.approx(least, abs=1e-5) and m.gap.min() > least - 1e-9
        i = m.gap.argmin()
        offset = 0.5 * m.gap[i] * m.normal[i]
        assert np.abs(surface_distance(a, m.point[i : i + 1] + offset)).max() < 5e-4
        assert np.abs(surface_distance(b, m.point[i : i + 1] - offset)).max() < 5e-4
    assert seen > 14


def test_rims_of_caps_tilted_by_40_degrees_do_not_cross_below_them():
    """Two cylinders 2 mm apart, met in a pile: the second point was 2.8 mm deep, where the rims' circles cross."""
    a = Shape("cylinder", (0.03, 0.035), np.array([0.039271, 0.070588, -0.033985]),
              quat_to_matrix([-0.572475, 0.415058, -0.062313, 0.704355]))  # fmt: skip
    b = Shape("cylinder", (0.03, 0.035), np.zeros(3), quat_to_matrix([-0.743435, 0.519094, 0.002917, 0.421708]))
    m = manifold(a, b, margin=5e-3)
    assert len(m.gap) >= 1 and m.gap.min() == pytest.approx(true_distance(a, b, np.random.default_rng(0)), abs=1e-6)
    assert m.gap.min() > 2e-3


@pytest.mark.parametrize("owner", ["cone", "cylinder"])
@pytest.mark.parametrize("other", ["box", "cone", "cylinder", "ellipsoid", "sphere", "capsule", "convex"])
def test_what_touches_between_a_round_face_and_its_outline_is_found_where_it_is(owner, other):
    """A lowest point slides out midway between two corners of the outline, which ends 0.96 mm inside the rim there."""
    size = {"box": 3, "ellipsoid": 3, "sphere": 1, "convex": 0}.get(other, 2)
    turned = rotation([1, 0, 0], np.pi if owner == "cone" else 0.0)
    lower = Shape(owner, (0.05, 0.05), np.array([0.0, 0.0, -0.05]), turned)
    tilted = rotation([1.0, 2.0, 0.5], 0.7)
    upper = Shape(other, (0.04, 0.06, 0.05)[:size], np.zeros(3), tilted)
    if other == "convex":
        upper = convex(PRISM, R=tilted)._replace(p=np.zeros(3))
    n = np.array([0.0, 0.0, -1.0]) + 1e-6 * np.vstack([np.eye(3), -np.eye(3)])
    lengths = np.linalg.norm(n, axis=1)
    reach = lengths * half_widths(upper, n / lengths[:, None])
    lowest = (reach[:3] - reach[3:]) / 2e-6  # the gradient of the support function is the support point
    identities = set()
    for radius in (0.0485, 0.0497):
        at = radius * np.array([np.cos(np.pi / 16), np.sin(np.pi / 16), 0.0])
        m = manifold(upper._replace(p=at + [0.0, 0.0, 1e-4] - lowest), lower, margin=1e-3)
        i = m.gap.argmin()
        np.testing.assert_allclose(m.normal[i], (0.0, 0.0, 1.0), atol=1e-9)
        assert m.gap[i] == pytest.approx(1e-4, abs=1e-8)
        np.testing.assert_allclose(m.point[i], at + [0.0, 0.0, 0.5e-4], atol=1e-6)
        identities.add(int(m.feature[i]))
    assert len(identities) == 1


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("kinds", [(a, b) for a in ("box", "convex") for b in ("box", "convex")], ids="-".join)
def test_crossed_edges_have_the_exact_common_perpendicular(kinds, engine):
    shapes = {"box": Shape("box", (0.1, 0.1, 0.1), None), "convex": convex(0.1 * CUBE)}
    for gap in (1e-3, 1e-7, -1e-7, -1e-3):
        top = np.sqrt(2) * 0.1
        a = shapes[kinds[0]]._replace(R=rotation([1, 0, 0], np.pi / 4), p=np.array([0.01, 0.02, 2 * top + gap]))
        b = shapes[kinds[1]]._replace(R=rotation([0, 1, 0], np.pi / 4), p=np.zeros(3))
        m = manifold(a, b, engine=engine)
        assert len(m.gap) == 1 and m.gap[0] == pytest.approx(gap, abs=1e-12)
        np.testing.assert_allclose(m.normal[0], [0, 0, 1], atol=1e-12)
        np.testing.assert_allclose(m.point[0], [0.0, 0.02, top + 0.5 * gap], atol=1e-9)


def test_a_round_ellipsoid_is_a_ball_and_a_boxy_hull_a_box():
    rng = np.random.default_rng(5)
    for _ in range(5):
        R, other = random_rotation(rng), random_shape("cylinder", rng)
        pairs = (
            (Shape("ellipsoid", (0.06,) * 3, None, R), Shape("sphere", (0.06,), None, R)),
            (convex(CUBE * [0.05, 0.06, 0.07], R=R), Shape("box", (0.05, 0.06, 0.07), None, R)),
        )
        for one, same in pairs:
            one = place(one, other, random_rotation(rng)[0], 5e-4, rng)
            m, n = manifold(one, other), manifold(same._replace(p=one.p), other)
            assert m.gap.min() == pytest.approx(n.gap.min(), abs=1e-7)
            np.testing.assert_allclose(m.normal[0], n.normal[0], atol=2e-3)


def test_identities_of_a_sliding_hull_stay():
    features = None
    for x in np.linspace(0.0, 0.05, 11):
        a = convex(PRISM, p=[x, 0.3 * x, 0.1], R=rotation([0, 0, 1], x))
        m = manifold(a, FLAT["slab"][0]._replace(p=np.array([0.0, 0.0, -0.05])))
        features = m.feature if features is None else features
        np.testing.assert_array_equal(m.feature, features)


def test_an_overhanging_hull_is_clipped_at_the_table():
    a = convex(0.06 * CUBE, p=[0.3, 0.0, 0.06])
    m = manifold(a, FLAT["slab"][0]._replace(p=np.array([0.0, 0.0, -0.05])))
    assert len(m.gap) == 4 and m.point[:, 0].max() == pytest.approx(0.3, abs=1e-12)


def test_the_tip_of_a_slender_pyramid_is_seen():
    """Its nearest face is nearly upright, and does not even hold the tip's opposite corner."""
    pyramid = np.array([[0.02, 0.02, 0.3], [-0.02, 0.02, 0.3], [-0.02, -0.02, 0.3], [0.02, -0.02, 0.3], [0, 0, 0.0]])
    m = manifold(convex(pyramid, p=[0.05, 0.0, -1e-3]), FLAT["box"][0]._replace(p=np.array([0.0, 0.0, -0.05])))
    assert m.gap.min() == pytest.approx(-1e-3, abs=1e-12)
    np.testing.assert_allclose(m.normal[0], [0, 0, 1], atol=1e-12)
