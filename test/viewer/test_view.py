# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The web view: what it draws is where the simulator has it, and a client gets it all.

Covers viewer/graph.py.
"""

from __future__ import annotations

import urllib.request

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.simulation.arrows import COLOURS, POINT, WEAK
from mb_contact.simulation.initial import link_poses
from mb_contact.viewer.drawing import Part, scene_drawing
from mb_contact.viewer.graph import ContactLayer
from mb_contact.viewer.player import Player
from mb_contact.viewer.snapshot import ContactPoints, Objects
from paths import ROOT
from viewer.serving import NEEDS_VISER, frame_when, received

pytestmark = pytest.mark.quick

CAN = ROOT / "config" / "falling_can.yaml"


@pytest.fixture
def view(server):
    from mb_contact.viewer.view import View

    simulator = mb.Simulator(CAN)
    drawing = scene_drawing(simulator.scene, simulator.world)
    player = Player(simulator, drawing, factor=0.0, paused=True)
    view = View(server, drawing, link_poses(simulator.world), player, "can")
    player.start()
    yield view, player, simulator
    player.stop()


def drawn_pose(server, link, root="/links"):
    handle = server.scene.get_handle_by_name(f"{root}/{link}")
    return np.array(handle.position), np.roll(np.array(handle.wxyz), -1)


@NEEDS_VISER
def test_nodes_are_where_the_simulator_has_the_links(server, view):
    view, player, simulator = view
    for count in (0, 40):
        player.step(count)
        view.draw(frame_when(player, lambda frame, count=count: frame.time > (count - 0.5) * simulator.time_step))
        for link in simulator.world.frames:
            p, quaternion = drawn_pose(server, link)
            np.testing.assert_allclose(p, simulator.link_pose(link)[0], atol=1e-15)
            np.testing.assert_allclose(quaternion, simulator.link_pose(link)[1], atol=1e-15)
    assert server.scene.get_handle_by_name("/links/can/visual_0").vertices.shape[1] == 3
    assert server.scene.get_handle_by_name("/links/ground/plane_0") is not None


@NEEDS_VISER
def test_cameras_begin_where_what_moves_is_in_sight(server, view):
    from mb_contact.viewer.view import extent

    view, _, simulator = view
    drawing = scene_drawing(simulator.scene, simulator.world)
    middle, size = extent(drawing, link_poses(simulator.world))
    places = np.array([simulator.link_pose(link)[0] for link in drawing.moving])
    assert (np.abs(places - middle).max(axis=0) < size).all() and size < 1.0
    np.testing.assert_allclose(server.initial_camera.look_at, middle)
    assert np.linalg.norm(server.initial_camera.position - middle) > size


@NEEDS_VISER
def test_contacts_are_drawn_as_the_step_has_them(server, view):
    view, player, simulator = view
    assert not any(cloud.visible for cloud in view.layer.points.values())
    player.step(20)
    frame = frame_when(player, lambda frame: len(frame.contacts.points))
    view.panel.press("pause")
    view.draw(frame)
    layer, contacts = view.layer, frame.contacts
    shown = {state: cloud for state, cloud in layer.points.items() if cloud.visible}
    assert shown.keys() == set(contacts.states) and layer.forces.visible and not layer.normals.visible
    for state, cloud in shown.items():
        np.testing.assert_allclose(cloud.points, contacts.points[np.array(contacts.states) == state], rtol=1e-6)
    arrows = np.diff(layer.forces.points, axis=1)[:, 0]
    np.testing.assert_allclose(arrows, layer.scale * contacts.forces, rtol=1e-4, atol=1e-6)
    layer.show("normals", True)
    lines = np.diff(layer.normals.points, axis=1)[:, 0]
    np.testing.assert_allclose(lines, 0.05 * view.drawing.size * contacts.normals, rtol=1e-4, atol=1e-6)
    layer.show("cones", True)
    assert layer.cones.visible and len(layer.cones.vertices) == 17 * len(contacts.points)
    layer.show("cones", False)
    layer.draw(None)
    assert not any(node.visible for node in (*layer.points.values(), layer.forces, layer.normals, layer.cones))


def contact_points(forces, states):
    count = len(forces)
    points, normals = np.arange(3.0 * count).reshape(-1, 3), np.tile((0.0, 0.0, 1.0), (count, 1))
    return ContactPoints(points, normals, np.array(forces), states, np.full(count, 0.5))


@NEEDS_VISER
def test_of_contacts_only_what_has_changed_and_is_seen_is_sent(server, monkeypatch):
    """A cloud whose colours are sent anew takes a browser a new shader in each frame: as long as all the rest of it."""
    sent = []
    layer = ContactLayer(server, 1.0, 10.0)
    monkeypatch.setattr(server.scene._websock_interface, "queue_message", sent.append)
    weak = WEAK * POINT / layer.scale  # force of the shortest arrow that is more than the back of its head [N]
    forces = [(0.0, 0.0, 10.0), (0.0, 0.0, 0.9 * weak), (0.0, 0.0, 0.0)]
    layer.draw(contact_points(forces, ("stick", "slip", "separate")))
    assert all(len(cloud.points) == 1 and cloud.visible for cloud in layer.points.values())
    assert len(layer.forces.points) == 1
    light = np.divide(COLOURS["stick"], 255.0) ** 2.2  # about what a screen makes of a colour
    for part in layer.forces.parts:
        np.testing.assert_allclose(part.batched_colors[0] / 255.0, light, atol=0.015)
    layer.draw(contact_points(forces[1:], ("stick", "stick")))
    assert len(layer.points["stick"].points) == 2 and not layer.points["slip"].visible and not layer.forces.visible
    told = [(message.name, set(message.updates)) for message in sent if hasattr(message, "updates")]
    assert ("/contacts/points/stick", {"points"}) in told
    assert not any("normals" in name or "points" in name and "colors" in what for name, what in told)


@NEEDS_VISER
def test_a_friction_cone_has_the_angle_of_friction(server):
    from mb_contact.viewer.graph import friction_cones

    normal = np.array([[0.6, 0.0, 0.8]])
    contacts = ContactPoints(np.ones((1, 3)), normal, 10.0 * normal, ("stick",), np.array([0.5]))
    vertices, triangles = friction_cones(contacts, 0.01)
    spokes = vertices[1:] - vertices[0]
    np.testing.assert_allclose(spokes @ normal[0], 0.1, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(np.cross(spokes, normal[0]), axis=1), 0.05, rtol=1e-12)
    assert triangles.shape == (16, 3) and triangles.max() == 16


@NEEDS_VISER
def test_shapes_can_be_hidden_and_collision_shapes_are_sent_when_asked_for(server, view):
    view, player, _ = view
    assert server.scene.get_handle_by_name("/links/can/collision_0") is None
    view.graph.show_collisions(False)
    assert server.scene.get_handle_by_name("/links/can/collision_0") is None
    view.graph.show_collisions(True)
    assert server.scene.get_handle_by_name("/links/can/collision_0").wireframe
    view.graph.show_visuals(False)
    assert not server.scene.get_handle_by_name("/links/can/visual_0").visible


@NEEDS_VISER
def test_objects_that_come_are_drawn_and_those_that_go_are_hidden(server, view):
    view, _, _ = view
    triangle = Part("new", np.eye(3), np.array([[0, 1, 2]]), (1.0, 0.0, 0.0))
    view.graph.set_objects(Objects(1, frozenset({"ground"}), [triangle]))
    view.graph.place({"new": (np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 0.0, 1.0]))})
    np.testing.assert_allclose(drawn_pose(server, "new", "/spawned")[0], (1.0, 2.0, 3.0))
    assert server.scene.get_handle_by_name("/spawned/new/visual_0").color == (255, 0, 0)
    assert not server.scene.get_handle_by_name("/links/can").visible
    view.graph.set_objects(Objects(2, frozenset({"ground", "can"}), []))
    assert server.scene.get_handle_by_name("/spawned/new") is None
    assert server.scene.get_handle_by_name("/links/can").visible


@NEEDS_VISER
def test_an_object_may_come_under_the_name_of_one_that_went(server, view):
    view, _, _ = view
    triangle = Part("can", np.eye(3), np.array([[0, 1, 2]]), (1.0, 0.0, 0.0))
    view.graph.set_objects(Objects(1, frozenset({"ground"}), [triangle]))
    view.graph.place({"can": (np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 0.0, 1.0]))})
    np.testing.assert_allclose(drawn_pose(server, "can", "/spawned")[0], (1.0, 2.0, 3.0))
    assert not server.scene.get_handle_by_name("/links/can").visible
    view.graph.set_objects(Objects(2, frozenset({"ground", "can"}), []))  # and the first one again
    assert server.scene.get_handle_by_name("/spawned/can") is None
    assert server.scene.get_handle_by_name("/links/can").visible


@NEEDS_VISER
def test_the_panel_reads_out_the_certificate_and_its_buttons_act(server, view):
    view, player, simulator = view
    view.panel.press("step")
    frame = frame_when(player, lambda frame: frame.certificate)
    view.draw(frame)
    assert simulator.step_count == 1 and f"| solver | {frame.certificate['solver']} |" in view.panel.certificate.content
    assert "**0.001 s**" in view.panel.status.content and "paused" in view.panel.status.content
    view.panel.press("reset")
    frame_when(player, lambda frame: frame.time == 0.0)
    view.panel.press("run")
    frame_when(player, lambda frame: frame.time > 0.01)


@NEEDS_VISER
def test_a_page_and_a_scene_are_served(server, view):
    view, player, _ = view
    with urllib.request.urlopen(f"http://127.0.0.1:{server.get_port()}", timeout=30) as page:
        assert page.status == 200 and b"<html" in page.read()
    assert received(f"ws://127.0.0.1:{server.get_port()}", "/links/can/visual_0")
