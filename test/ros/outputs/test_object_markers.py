# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""object_markers shows every shape of the scene's objects, where it is and as large as it is."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from mb_contact.core.rays.light import GROUND
from mb_contact.model.resources import find_resource
from mb_contact.model.scene import load_scene
from mb_contact.model.shapes.visuals import shape_visuals
from mb_contact.model.world import build_world
from mb_contact.ros.embedded.messages import message_class, serialize
from mb_contact.ros.options import NodeOptions
from mb_contact.ros.outputs import object_markers
from mb_contact.ros.outputs.object_markers import ObjectMarkers, links_without_visuals
from mb_contact.types import WORLD

SHAPES = """
ground: {height: 0.25, material: m}
materials: {m: {friction: 0.5}}
primitives:
  - {name: a_box, shape: box, size: [0.2, 0.4, 0.6], base: free, mass: 1.0, material: m, pose: {position: [0, 0, 1]}}
  - {name: a_ball, shape: sphere, size: [0.1], base: free, mass: 1.0, material: m, pose: {position: [1, 0, 1]}}
  - {name: a_rod, shape: cylinder, size: [0.1, 0.5], base: weld, material: m,
     pose: {position: [2, 0, 1], rpy: [1.5707963267948966, 0, 0]}}
  - {name: a_pill, shape: capsule, size: [0.1, 0.4], base: free, mass: 1.0, material: m,
     pose: {position: [3, 0, 1]}}
"""


class Maker:
    """Keeps what is published."""

    def __init__(self, listeners=0):
        self.sent, self.listeners = [], listeners

    def publisher(self, type_name, topic, qos):
        assert (topic, qos.latched) == ("object_markers", True)

        def publish(message):
            self.sent.append(serialize(message, type_name) and message)

        return SimpleNamespace(
            publish=publish, get_subscription_count=lambda: self.listeners,
            prepare=lambda message: SimpleNamespace(publish=lambda: publish(message)),
        )  # fmt: skip

    @staticmethod
    def message(type_name):
        return message_class(type_name)()


def markers(scene):
    maker = Maker()
    ObjectMarkers(maker, SimpleNamespace(world=build_world(load_scene(scene))), NodeOptions())
    first, *rest = maker.sent[0].markers
    assert first.action == 3  # what is left from before goes
    return rest


def extents(marker):
    return marker.scale.x, marker.scale.y, marker.scale.z


def place(marker):
    position = marker.pose.position
    return position.x, position.y, position.z


def test_shapes_sizes_and_frames(tmp_path):
    path = tmp_path / "shapes.yaml"
    path.write_text(SHAPES)
    found = {}
    for marker in markers(path):
        found.setdefault(marker.ns, []).append(marker)
    assert set(found) == {"a_box", "a_ball", "a_rod", "a_pill", "ground"}
    (box,), (ball,), (rod,), (ground,) = (found[name] for name in ("a_box", "a_ball", "a_rod", "ground"))
    assert (box.type, box.header.frame_id, box.frame_locked) == (1, "a_box", True)
    np.testing.assert_allclose(extents(box), (0.2, 0.4, 0.6))
    assert ball.type == 2
    np.testing.assert_allclose(extents(ball), (0.2, 0.2, 0.2))
    assert (rod.type, rod.header.frame_id) == (3, "world")  # welded: no frame of its own in /tf
    np.testing.assert_allclose(extents(rod), (0.2, 0.2, 0.5))
    np.testing.assert_allclose(place(rod), (2.0, 0.0, 1.0))
    np.testing.assert_allclose(abs(rod.pose.orientation.x), np.sqrt(0.5), rtol=1e-12)
    assert ground.header.frame_id == "world"
    assert (ground.type, ground.pose.position.z, {p.z for p in ground.points}) == (11, 0.25, {0.0})
    lights = [(c.r, c.g, c.b, c.a) for c in ground.colors]  # one for each corner: rviz shades others by their slope
    np.testing.assert_allclose(lights, [(*GROUND, 1.0)] * len(ground.points), atol=1e-7)
    ends = sorted(place(marker)[2] for marker in found["a_pill"])
    np.testing.assert_allclose(ends, (-0.2, 0.0, 0.2), atol=1e-15)


@pytest.mark.parametrize("name, objects", [("dual_arm_lift", {"table", "box", "ground"}), ("box_on_table", None)])
def test_robots_are_left_to_robot_description(name, objects):
    shown = {marker.ns for marker in markers(find_resource(f"package://mb_contact/config/{name}.yaml"))}
    assert shown and (objects is None or shown == objects)


def test_links_without_visuals_are_shapes_in_their_frames():
    """The gripper's URDF has collision shapes alone: its description draws nothing."""
    scene = find_resource("package://mb_contact/config/four_bar_gripper.yaml")
    world = build_world(load_scene(scene))
    (model,) = world.robot_models
    assert links_without_visuals(model.urdf) == set(model.link_names)
    assert links_without_visuals("") == set()
    shown = {marker.ns: marker for marker in markers(scene)}
    shapes = {visual.link: visual.shape for visual in shape_visuals(world)}
    fingers = [link for link in model.link_names if link in shapes and world.frames[link].body != WORLD]
    assert len(fingers) == 2
    for link in fingers:
        marker = shown[world.geometry_names[world.geometry_links.index(link)]]
        assert (marker.header.frame_id, marker.frame_locked) == (link, True)
        np.testing.assert_allclose(place(marker), shapes[link].p, atol=1e-15)
        np.testing.assert_allclose(extents(marker), 2.0 * shapes[link].size)


def test_who_listens_is_told_again(monkeypatch):
    """A shape that rviz heard of before its frame stays an error there until it comes once more."""
    now = 0.0
    monkeypatch.setattr(object_markers.time, "monotonic", lambda: now)
    maker = Maker()
    world = build_world(load_scene(find_resource("package://mb_contact/config/box_on_table.yaml")))
    outputs = ObjectMarkers(maker, SimpleNamespace(world=world), NodeOptions())
    now = 1.5
    outputs.publish(0)
    assert len(maker.sent) == 1  # nobody listens
    maker.listeners, now = 1, 3.0
    for _ in range(3):
        outputs.publish(0)
    assert len(maker.sent) == 2
    assert maker.sent[1].markers == maker.sent[0].markers[1:]  # nothing is taken away meanwhile
    now = 3.0 + object_markers.AGAIN
    outputs.publish(0)
    assert len(maker.sent) == 3


def test_height_fields_hulls_and_cones_are_triangles_where_the_shapes_are(tmp_path):
    path = tmp_path / "field.yaml"
    path.write_text(
        "materials: {m: {friction: 0.5}}\nprimitives:\n"
        "  - {name: hills, shape: height_field, size: [4, 2], material: m, pose: {position: [1, 0, 3]},\n"
        "     heights: {generator: waves, amplitude: 0.1, wavelength: 1.0, resolution: 0.04}}\n"
        "  - {name: hat, shape: cone, size: [0.2, 0.6], base: free, mass: 1.0, material: m}\n"
    )
    hills, hat = markers(path)
    assert (hills.ns, hills.type, hills.header.frame_id) == ("hills", 11, "world")
    points = np.array([(p.x, p.y, p.z) for p in hills.points]) + place(hills)
    assert len(points) == 3 * 2 * 63 * 50  # 101 columns are thinned to 64, 51 rows are not
    np.testing.assert_allclose(points[:, :2].min(axis=0), (-1.0, -1.0), atol=1e-12)
    np.testing.assert_allclose(points[:, :2].max(axis=0), (3.0, 1.0), atol=1e-12)
    assert 2.9 - 1e-12 <= points[:, 2].min() < 2.91 and 3.09 < points[:, 2].max() <= 3.1 + 1e-12
    assert (hat.ns, hat.type, hat.header.frame_id) == ("hat", 11, "hat")
    tips = np.array([(p.x, p.y, p.z) for p in hat.points])
    np.testing.assert_allclose(np.ptp(tips, axis=0), (0.4, 0.4, 0.6), atol=1e-12)
