# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""contact_markers: arrows outside of what touches, as long as the web view's; cones on demand.

Covers ros/outputs/sizes.py, simulation/arrows.py.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

import mb_contact as mb
from mb_contact.ros.embedded.messages import message_class, serialize
from mb_contact.ros.options import NodeOptions
from mb_contact.ros.outputs.contact_markers import ContactMarkers
from mb_contact.ros.outputs.sizes import link_boxes, scene_box
from mb_contact.simulation.arrows import COLOURS, CUT, LONGEST, ArrowScale
from mb_contact.viewer.drawing import scene_drawing
from mb_contact.viewer.snapshot import snapshot_of

ARRAY = "visualization_msgs/msg/MarkerArray"
SECOND = 10**9


class Drawn:
    """The markers of a scene, and what rviz has on its screen of them."""

    def __init__(self, scene, **options):
        self.simulator, self.options = mb.Simulator(scene), NodeOptions(**options)
        self.screen, self.stamp = {}, 0
        publisher = SimpleNamespace(tap=print, publish=self._take)
        make = SimpleNamespace(publisher=lambda *_: publisher, message=lambda name: message_class(name)())
        self._markers = ContactMarkers(make, self.simulator, self.options)
        low, high = scene_box(self.simulator.world)
        self.size = float(np.linalg.norm(high - low))

    def _take(self, message):
        serialize(message, ARRAY)
        for marker in message.markers:
            assert marker.header.frame_id == "world"
            if marker.action == 3:
                self.screen.clear()
            else:
                self.screen[marker.ns, marker.id] = marker

    def show(self, step, stamp=0):
        self._markers.publish(stamp, step)

    def of(self, space):
        return [marker for (ns, _), marker in sorted(self.screen.items()) if ns == space]

    def arrows(self):
        """Beginning and tip of each arrow (arrows, 2, 3)."""
        return np.array([[(p.x, p.y, p.z) for p in marker.points] for marker in self.of("forces")])


class SceneArrows:
    """The scale of the web view's arrows of a simulator."""

    def __init__(self, simulator):
        self._drawing, self._simulator = scene_drawing(simulator.scene, simulator.world), simulator
        self._arrows = ArrowScale(self._drawing.size, self._drawing.weight)

    @property
    def scale(self):
        return self._arrows.scale

    def draw(self, step):
        self._arrows.see(snapshot_of(self._simulator, step, self._drawing).contacts.forces)


def boxes(*heights, mass=2.0):
    """Boxes of 0.2 m on top of each other."""
    stack = [
        mb.model.Primitive(f"box_{i}", "box", (0.2, 0.2, 0.2), mb.model.Pose((0.0, 0.0, z)), "free", mass)
        for i, z in enumerate(heights)
    ]
    return mb.Scene(primitives=tuple(stack), ground=mb.model.Ground())


def settled(drawn, steps=300):
    for _ in range(steps):
        step = drawn.simulator.step()
    return step


def test_an_arrow_begins_outside_of_the_body_that_it_pushes():
    drawn = Drawn(boxes(0.1))
    step = settled(drawn)
    drawn.show(step)
    arrows = drawn.arrows()
    assert len(arrows) == len(step.contacts) == 4 and len(drawn.of("points")[0].points) == 4
    np.testing.assert_allclose(arrows[:, 0, 2], 0.2, atol=1e-4)  # on top of the box, which the ground pushes up
    assert (arrows[:, 1, 2] > arrows[:, 0, 2]).all()
    np.testing.assert_allclose(arrows[:, 0, :2], step.contacts["point"][:, :2], atol=1e-4)  # on the force's line


def test_between_two_bodies_it_stands_on_the_nearer_far_side():
    """A plate of 20 mm lies on a box of 200 mm: the force on the plate shows, above it."""
    plate = mb.model.Primitive("plate", "box", (0.2, 0.2, 0.02), mb.model.Pose((0.0, 0.0, 0.21)), "free", 1.0)
    scene = boxes(0.1)
    drawn = Drawn(mb.Scene(primitives=(*scene.primitives, plate), ground=scene.ground))
    step = settled(drawn)
    drawn.show(step)
    arrows = drawn.arrows()
    between = step.contacts["point"][:, 2] > 0.1
    assert between.sum() == 4
    np.testing.assert_allclose(arrows[between, 0, 2], 0.22, atol=2e-4)
    assert (arrows[between, 1, 2] > 0.22).all()


def test_arrows_are_as_long_as_those_of_the_view_and_have_its_colours():
    """The same contacts for a second: the scale is that of the view's arrows; time that is set back begins anew."""
    drawn = Drawn(boxes(0.1, 0.3))
    step = settled(drawn)
    view = SceneArrows(drawn.simulator)
    for frame in range(60):
        drawn.show(step, frame * SECOND // 30)
        view.draw(step)
    forces = np.linalg.norm(step.contacts["impulse"], axis=1) / drawn.simulator.time_step
    lengths = np.linalg.norm(np.diff(drawn.arrows(), axis=1), axis=-1).ravel()
    np.testing.assert_allclose(lengths, view.scale * forces, rtol=1e-6)
    assert 0.4 * LONGEST * drawn.size <= lengths.max() <= LONGEST * drawn.size
    color = drawn.of("forces")[0].color
    np.testing.assert_allclose((color.r, color.g, color.b), np.array(COLOURS["stick"]) / 255.0, atol=1e-6)
    blow = SimpleNamespace(contacts=step.contacts.copy())
    blow.contacts["impulse"] *= 100.0
    drawn.show(blow, 3 * SECOND)
    assert np.linalg.norm(np.diff(drawn.arrows(), axis=1), axis=-1).max() <= CUT * drawn.size * 1.001
    drawn.show(step, 0)
    lengths = np.linalg.norm(np.diff(drawn.arrows(), axis=1), axis=-1).ravel()
    np.testing.assert_allclose(lengths, ArrowScale(drawn.size, 2.0 * 9.81).scale * forces, rtol=1e-6)


def test_a_scale_of_ones_own_and_cones_while_it_runs():
    drawn = Drawn(boxes(0.1), marker_scale=0.01)
    step = settled(drawn)
    drawn.show(step)
    forces = step.contacts["impulse"] / drawn.simulator.time_step
    lengths = np.linalg.norm(np.diff(drawn.arrows(), axis=1), axis=-1).ravel()
    np.testing.assert_allclose(lengths, 0.01 * np.linalg.norm(forces, axis=1), rtol=1e-9)
    assert not drawn.of("cones")
    drawn.options.changed({"marker_cones": True})
    drawn.show(step)
    cones = drawn.of("cones")
    assert len(cones) == 4
    for cone, (start, _), normal, force in zip(cones, drawn.arrows(), step.contacts["normal"], forces):
        points = np.array([(p.x, p.y, p.z) for p in cone.points]).reshape(-1, 3, 3)
        np.testing.assert_allclose(points[:, 0], [start] * len(points), atol=1e-12)
        height = 0.01 * abs(force @ normal)
        np.testing.assert_allclose(points[:, 1:, 2] - start[2], height, atol=1e-4)
        # materials that nobody names have a friction of 0.5
        radii = np.linalg.norm(points[:, 1:, :2] - start[:2], axis=-1)
        np.testing.assert_allclose(radii, 0.5 * height, atol=1e-4)
    drawn.options.changed({"marker_cones": False})
    drawn.show(step)
    assert not drawn.of("cones")


def test_what_no_longer_touches_is_taken_away():
    drawn = Drawn(boxes(0.1))
    drawn.show(settled(drawn))
    assert drawn.of("forces") and drawn.of("points")
    drawn.show(None)
    assert not drawn.screen


def test_a_viewer_that_misses_messages_shows_the_newest_alone():
    drawn = Drawn(boxes(0.1))
    step = settled(drawn)
    drawn.show(step)
    screen, drawn.screen = drawn.screen, {}
    drawn.show(None)
    drawn.screen = screen  # of a viewer that did not get this one
    drawn.show(SimpleNamespace(contacts=step.contacts[:1]))
    assert len(drawn.of("forces")) == 1 and len(drawn.screen) == 2


def test_a_force_too_small_for_an_arrow_has_none():
    """rviz draws an arrow without a length as a black disc."""
    drawn = Drawn(boxes(0.1))
    step = settled(drawn)
    drawn.show(step)
    assert len(drawn.arrows()) == 4
    step.contacts["impulse"][1:3] = 0.0
    drawn.show(step)
    assert [number for space, number in sorted(drawn.screen) if space == "forces"] == [0, 3]
    assert len(drawn.of("points")[0].points) == 4
    step.contacts["impulse"][:] = 0.0
    drawn.show(step, 50 * SECOND)
    assert not drawn.of("forces")


def test_sizes_of_links_and_scenes():
    scene = boxes(0.1, 0.3)
    wall = mb.model.Primitive("wall", "box", (10.0, 0.1, 10.0), mb.model.Pose((0.0, 3.0, 0.0)), "weld")
    world = mb.build_world(mb.Scene(primitives=(*scene.primitives, wall), ground=scene.ground))
    assert set(link_boxes(world)) == {"box_0", "box_1", "wall"}  # a plane has no extent
    np.testing.assert_allclose(link_boxes(world)["box_1"], [[-0.1] * 3, [0.1] * 3])
    np.testing.assert_allclose(scene_box(world), [[-0.1, -0.1, 0.0], [0.1, 0.1, 0.4]])  # the wall surrounds it
    still = mb.build_world(mb.Scene(primitives=(wall,)))
    np.testing.assert_allclose(scene_box(still), [[-5.0, 2.95, -5.0], [5.0, 3.05, 5.0]])
