# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""From where a scene is looked at first: what moves is in sight, behind the walls of a bin too."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.model.scene import load_scene
from mb_contact.model.shapes.shape_meshes import box_mesh
from mb_contact.model.world import build_world
from mb_contact.simulation.initial import link_poses
from mb_contact.viewer.drawing import Drawing, Part, scene_drawing
from mb_contact.viewer.film import camera_of
from mb_contact.viewer.sight import ENOUGH, HERE, _apart, clear_sight, seen_part
from mb_contact.viewer.view import SIGHT
from paths import ROOT

pytestmark = pytest.mark.quick
GREY = (0.5, 0.5, 0.5)


def box(link, half, at=(0.0, 0.0, 0.0)):
    vertices, triangles = box_mesh(np.array(half))
    return Part(link, vertices + at, triangles, GREY)


def of(*parts):
    return Drawing([*parts], [], [], ("it",), {}, [])


def corners(part):
    return part.vertices[part.triangles]


def test_the_part_that_is_seen_is_that_of_the_picture():
    it, way = corners(box("it", (1.0, 1.0, 1.0))), (1.0, 0.0, 0.0)
    for hidden in (0.25, 0.5, 1.0):
        wall = corners(box("wall", (0.1, 2.0 * hidden, 2.0), (3.0, -1.0, 0.0)))
        assert seen_part(it, wall, way) == pytest.approx(1.0 - hidden, abs=0.02)
        assert seen_part(it, wall, (-1.0, 0.0, 0.0)) == pytest.approx(1.0, abs=0.02)
    assert seen_part(it, it[:0], way) == seen_part(it[:0], it, way) == 1.0


def test_walls_are_looked_over_and_what_is_in_sight_is_seen_as_ever():
    it, wall = box("it", (0.1, 0.1, 0.1)), box("wall", (0.05, 0.5, 0.3), (0.35, 0.0, 0.2))
    assert clear_sight(of(it), [{}], SIGHT) is SIGHT
    way = clear_sight(of(it, wall), [{}], np.array([1.0, 0.0, 0.2]))
    assert way[2] > 0.5 and abs(way[1]) < 1e-12
    assert np.linalg.norm(way) == pytest.approx(np.hypot(1.0, 0.2))
    beside = {"it": (np.array([0.0, 2.0, 0.0]), HERE[1])}
    assert clear_sight(of(it, wall), [beside], np.array([1.0, 0.0, 0.2]))[2] == 0.2
    lid = box("wall", (2.0, 2.0, 0.1), (0.0, 0.0, 1.0))
    assert clear_sight(of(it, lid), [{}], np.array([1.0, 0.0, 0.2]))[2] == 0.2  # from above less is seen


@pytest.mark.parametrize("name", ["bin_of_200", "wedge"])
def test_shipped_scenes_begin_with_what_moves_in_sight(name):
    scene = load_scene(ROOT / "config" / f"{name}.yaml")
    world = build_world(scene)
    drawing, poses = scene_drawing(scene, world), link_poses(world)
    shapes = _apart(drawing, poses)
    assert seen_part(*shapes, SIGHT) < 0.3
    assert seen_part(*shapes, clear_sight(drawing, [poses], SIGHT)) > ENOUGH
    camera = camera_of(drawing, [poses, poses], (80, 60))
    assert seen_part(*shapes, np.subtract(camera.eye, camera.target)) > ENOUGH
