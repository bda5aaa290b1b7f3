# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Triangles of shapes are closed, face outward and hold the shape's volume; visuals lie in their links' frames.

Covers model/shapes/visuals.py.
"""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from mb_contact.model.pairs import hull_arrays
from mb_contact.model.resources import find_resource
from mb_contact.model.scene import load_scene
from mb_contact.model.shapes.hulls import convex_hull
from mb_contact.model.shapes.meshes import convex_bodies
from mb_contact.model.shapes.shape_meshes import shape_mesh
from mb_contact.model.shapes.visuals import read_visuals, scene_visuals, thinned
from mb_contact.model.world import build_world
from mb_contact.types import (
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CONE,
    SHAPE_CONVEX,
    SHAPE_CYLINDER,
    SHAPE_ELLIPSOID,
    SHAPE_PLANE,
    SHAPE_SPHERE,
)
from scenes.urdf_text import LOOKS


def geoms(kind, size, hull=None):
    return SimpleNamespace(kind=np.array([kind]), size=np.array([size], dtype=float), **hull_arrays([hull]))


def volume(vertices, triangles):
    """Divergence theorem: positive where all triangles face outward."""
    a, b, c = np.moveaxis(vertices[triangles], 1, 0)
    return float(np.einsum("ij,ij", a, np.cross(b, c)) / 6.0)


def assert_closed(triangles):
    edges = Counter((int(a), int(b)) for t in triangles for a, b in zip(t, np.roll(t, -1)))
    assert set(edges.values()) == {1} and all((b, a) in edges for a, b in edges)


SHAPES = {  # kind, size, volume; what is round loses less than 2 % by its 32 sides
    "box": (SHAPE_BOX, (0.1, 0.2, 0.3), 8 * 0.006),
    "sphere": (SHAPE_SPHERE, (0.3, 0, 0), 4 / 3 * np.pi * 0.027),
    "ellipsoid": (SHAPE_ELLIPSOID, (0.1, 0.2, 0.3), 4 / 3 * np.pi * 0.006),
    "cylinder": (SHAPE_CYLINDER, (0.2, 0.5, 0), np.pi * 0.04),
    "capsule": (SHAPE_CAPSULE, (0.2, 0.5, 0), np.pi * 0.04 + 4 / 3 * np.pi * 0.008),
    "cone": (SHAPE_CONE, (0.2, 0.5, 0), np.pi * 0.04 / 3),
}


@pytest.mark.parametrize("kind, size, expected", SHAPES.values(), ids=SHAPES)
def test_shapes_are_closed_and_as_large_as_they_are(kind, size, expected):
    vertices, triangles = shape_mesh(geoms(kind, size), 0)
    assert_closed(triangles)
    assert 0.98 * expected <= volume(vertices, triangles) <= expected * (1 + 1e-12)
    reach = {SHAPE_SPHERE: (0.3,) * 3, SHAPE_CAPSULE: (0.2, 0.2, 0.7), SHAPE_CONE: (0.2, 0.2, 0.5),
             SHAPE_CYLINDER: (0.2, 0.2, 0.5)}.get(kind, size)  # fmt: skip
    np.testing.assert_allclose(vertices.max(axis=0), reach, atol=1e-12)
    np.testing.assert_allclose(vertices.min(axis=0), -np.array(reach), atol=1e-12)


def test_a_hull_of_faces_with_many_corners_is_cut_into_triangles():
    hull = convex_hull(np.array(np.meshgrid((0, 1), (0, 2), (0, 3))).reshape(3, -1).T.astype(float))
    vertices, triangles = shape_mesh(geoms(SHAPE_CONVEX, hull.half, hull), 0)
    assert_closed(triangles)
    assert volume(vertices, triangles) == pytest.approx(6.0, rel=1e-12)


def test_a_plane_has_no_triangle():
    vertices, triangles = shape_mesh(geoms(SHAPE_PLANE, np.zeros(3)), 0)
    assert vertices.shape == (0, 3) and triangles.shape == (0, 3)


def test_a_height_field_is_drawn_at_its_heights(tmp_path):
    path = tmp_path / "field.yaml"
    path.write_text(
        "primitives:\n  - {name: hills, shape: height_field, size: [2, 1], material: m, pose: {position: [1, 0, 3]},\n"
        "     heights: {grid: [[0, 0.1, 0], [0.2, 0.3, 0.1]]}}\nmaterials: {m: {friction: 0.5}}\n"
    )
    world = build_world(load_scene(path))
    vertices, triangles = shape_mesh(world.geoms, 0)
    placed = vertices @ world.geoms.R[0].T + world.geoms.p[0]
    used = placed[np.unique(triangles)]
    assert len(triangles) == 4 and len(used) == 6
    np.testing.assert_allclose(sorted(used[:, 2]), [3.0, 3.0, 3.1, 3.1, 3.2, 3.3], atol=1e-12)
    a, b, c = np.moveaxis(placed[triangles], 1, 0)
    assert (np.cross(b - a, c - a)[:, 2] > 0).all()
    few, left = shape_mesh(world.geoms, 0, most=2)
    assert len(few) == 4 and len(left) == 2
    np.testing.assert_allclose(np.ptp(few, axis=0), (2.0, 1.0, 0.2), atol=1e-12)


# --- visuals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", ['rpy="0 0 1.5707963267948966"',
                                  'quat_xyzw="0 0 0.7071067811865476 0.7071067811865476"'])
def test_visuals_have_their_place_colour_and_scale(turn):
    mesh = find_resource("package://mb_contact/config/meshes/wedge.obj")
    visuals, missing = read_visuals(LOOKS.format(mesh=mesh, turn=turn))
    assert [visual.link for visual in visuals] == ["base", "tip", "tip"]
    box, capsule, wedge = visuals
    np.testing.assert_allclose(box.vertices.min(axis=0), (-1.0, -1.0, -3.0), atol=1e-12)
    np.testing.assert_allclose(box.vertices.max(axis=0), (3.0, 1.0, 3.0), atol=1e-12)
    assert box.colour == (0.1, 0.2, 0.8, 0.5) and capsule.colour == (1.0, 0.0, 0.0, 1.0)
    np.testing.assert_allclose(capsule.vertices.max(axis=0), (0.1, 0.1, 0.6), atol=1e-12)
    (hull,) = convex_bodies(mesh, (2.0, 1.0, -1.0))
    np.testing.assert_allclose(np.ptp(wedge.vertices, axis=0), 2.0 * hull.half, atol=1e-12)
    assert len(missing) == 3 and all(text.startswith("link 'base': visual left out: ") for text in missing)
    assert 'URDF:5: <sphere radius="big"> is not a number' in missing[1]


def test_the_dual_arm_is_drawn_in_full():
    scene = load_scene(find_resource("package://mb_contact/config/dual_arm_lift.yaml"))
    world = build_world(scene)
    visuals, missing = scene_visuals(scene, world)
    assert not missing and len(visuals) > 20
    assert {visual.link for visual in visuals} <= set(world.frames)


def test_a_fine_mesh_is_thinned_and_keeps_its_extents():
    rng = np.random.default_rng(1)
    vertices = rng.random((3000, 3))
    triangles = rng.integers(0, 3000, (6000, 3))
    few, left, _ = thinned(vertices, triangles, most=1000)
    assert len(few) <= 3000 and left.max() < len(few)
    np.testing.assert_allclose(few.min(axis=0), vertices.min(axis=0), atol=1e-12)
    np.testing.assert_allclose(few.max(axis=0), vertices.max(axis=0), atol=1.0 / 320)
    assert thinned(vertices, triangles)[0] is vertices
