# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The web view: what it draws is where the simulator has it, its clock is the simulator's, and a client gets it all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import types
import urllib.request

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.cli import main
from mb_contact.errors import InputError
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.simulation.initial import link_poses
from mb_contact.viewer.drawing import Part, scene_drawing, surface_drawing
from mb_contact.viewer.player import Player
from mb_contact.viewer.snapshot import FRAME_SECONDS, Objects, certificate_text, contact_points
from paths import ROOT
from viewer.serving import NEEDS_VISER, free_port

ARMS, CAN = ROOT / "config" / "dual_arm_lift.yaml", ROOT / "config" / "falling_can.yaml"


def until(player, condition, seconds=60.0):
    """The first frame that meets a condition."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        frame = player.frame(0.1)
        if frame is not None and condition(frame):
            return frame
    pytest.fail("no such frame came")


def ended(player):
    """The last frame of a player that ends."""
    player._thread.join(60.0)
    assert player.done
    return player.frame(1.0)


# --- without viser: the player and what is drawn --------------------------------------------------


@pytest.fixture
def can():
    """A paused player of the falling can, as fast as possible."""
    simulator = mb.Simulator(CAN)
    player = Player(simulator, scene_drawing(simulator.scene, simulator.world), factor=0.0, paused=True)
    player.start()
    yield player, simulator
    player.stop()


def test_pausing_and_stepping_gives_the_states_of_a_plain_run_bit_for_bit(can):
    player, simulator = can
    start = until(player, lambda frame: True)
    assert start.time == 0.0 and simulator.step_count == 0 and len(start.contacts.points) == 0
    player.step(3)
    player.step()
    assert until(player, lambda frame: frame.time > 3.5 * simulator.time_step).time == 4 * simulator.time_step
    player.run()
    until(player, lambda frame: frame.time > 0.05)
    player.pause()
    until(player, lambda frame: player.paused)
    count = simulator.step_count
    time.sleep(2 * FRAME_SECONDS)
    assert simulator.step_count == count > 5
    player.step(2)
    last = until(player, lambda frame: frame.time > (count + 1.5) * simulator.time_step)
    plain = mb.Simulator(CAN)
    for _ in range(count + 2):
        step = plain.step()
    assert (plain.q == simulator.q).all() and (plain.v == simulator.v).all()
    assert last.time == plain.time
    for link, (p, quaternion) in last.poses.items():
        expected = plain.link_pose(link)
        assert (p == expected[0]).all() and (quaternion == expected[1]).all()
    assert (last.contacts.points == step.contacts["point"]).all()
    on_can = np.where(step.contacts["link_a"] == "ground", -1.0, 1.0)[:, None]
    np.testing.assert_allclose(last.contacts.forces * plain.time_step, on_can * step.contacts["impulse"], rtol=1e-14)
    assert last.certificate["contacts"] == str(step.certificate.contacts)
    assert last.certificate["solver"] == step.certificate.solver


def test_reset_goes_back_and_a_duration_ends(can):
    player, simulator = can
    player.step(5)
    until(player, lambda frame: frame.time > 0.0)
    player.reset()
    frame = until(player, lambda frame: frame.time == 0.0)
    assert (simulator.q == mb.Simulator(CAN).q).all() and frame.certificate == {}
    short = Player(simulator, scene_drawing(simulator.scene, simulator.world), 0.0, duration=7 * simulator.time_step)
    player.stop()
    short.start()
    frame = ended(short)
    assert frame.time == 7 * simulator.time_step


def test_a_step_that_fails_is_told_and_a_reset_mends_it(can, monkeypatch):
    player, simulator = can

    def fail(effort=None):
        raise mb.DynamicsError("the state ran away")

    monkeypatch.setattr(simulator, "step", fail)
    player.run()
    frame = until(player, lambda frame: frame.message)
    assert frame.message == "stopped: the state ran away"
    monkeypatch.undo()
    player.reset()
    player.run()
    assert not until(player, lambda frame: frame.time > 0.01).message


def test_a_bug_in_a_step_ends_the_player_and_is_kept(can, monkeypatch):
    player, simulator = can
    bug = ZeroDivisionError("a bug")

    def fail(effort=None):
        raise bug

    monkeypatch.setattr(simulator, "step", fail)
    player.run()
    player._thread.join(60.0)
    assert player.done and player.crash is bug and player.failed is None


def test_gravity_compensation_keeps_the_arms_up_and_without_it_they_fall():
    simulator = mb.Simulator(ARMS)
    drawing = scene_drawing(simulator.scene, simulator.world)
    falls = {}
    for efforts in ("gravity_compensation", "zero"):
        simulator.reset()
        start = simulator.joint_positions()
        player = Player(simulator, drawing, 0.0, efforts, duration=0.1)
        player.start()
        ended(player)
        falls[efforts] = np.abs(simulator.joint_positions() - start).max()
    assert falls["gravity_compensation"] < 1e-6 < 1e-2 < falls["zero"]


@pytest.mark.parametrize("wrong, words", [({"factor": -1.0}, "not below zero"), ({"efforts": "full"}, "not 'full'")])
def test_impossible_settings_are_refused(wrong, words, can):
    player, simulator = can
    with pytest.raises(InputError, match=words):
        Player(simulator, scene_drawing(simulator.scene, simulator.world), **wrong)


def test_every_link_with_a_shape_is_drawn_where_it_is():
    scene = mb.load_scene(ARMS)
    world = mb.build_world(scene)
    drawing = scene_drawing(scene, world)
    assert not drawing.missing
    drawn = {part.link for part in drawing.visuals} | {plane.link for plane in drawing.planes}
    assert drawn >= set(world.geometry_links) and "box" in drawn
    assert "box" in drawing.moving and "table" not in drawing.moving and "ground" not in drawing.moving
    box = world.geometry_names.index("box")
    (part,) = [part for part in drawing.collisions if part.link == "box"]
    np.testing.assert_allclose(part.vertices.max(axis=0), world.geoms.size[box])
    assert drawing.friction["box", "table"] == drawing.friction["table", "box"] > 0.0
    sim, poses = mb.Simulator(scene), link_poses(world)
    for link in world.frames:
        np.testing.assert_allclose(poses[link][0], sim.link_pose(link)[0], atol=1e-12)
        np.testing.assert_allclose(np.abs(poses[link][1] @ sim.link_pose(link)[1]), 1.0, atol=1e-12)


@pytest.mark.parametrize("name", ["bezier_patch", "three_patches"])
def test_smooth_surfaces_are_drawn_through_their_contact_points(name):
    from mb_contact.simulation.surfaces.simulator import surface_simulator

    simulator = surface_simulator(ROOT / "config" / f"{name}.yaml")
    drawing = surface_drawing(simulator)
    for contact in simulator.step().contacts:
        for link in (contact["link_a"], contact["link_b"]):
            p, quaternion = (np.zeros(3), np.array([0, 0, 0, 1.0])) if link == "world" else simulator.link_pose(link)
            R = quat_to_matrix(quaternion)
            near = min(
                np.linalg.norm(part.vertices @ R.T + p - contact["point"], axis=1).min() - spacing(part)
                for part in drawing.visuals if part.link == link
            )  # fmt: skip
            assert near < 0.0


def test_surfaces_among_ordinary_objects_are_drawn_once_each():
    from mb_contact.simulation.surfaces.simulator import surface_simulator

    simulator = surface_simulator(ROOT / "config" / "egg_and_boxes.yaml")
    drawing = surface_drawing(simulator)
    links = [part.link for part in drawing.visuals]
    assert set(links) == {"egg", "world", "lower", "middle", "upper", "ball"} and links.count("lower") == 1
    assert links.count("egg") == 1 and not drawing.planes
    assert set(drawing.moving) == {"egg", "lower", "middle", "upper", "ball"}
    assert max(np.abs(part.vertices).max() for part in drawing.visuals if part.link != "world") < 1.0
    assert drawing.friction["egg", "world"] == 0.5 and drawing.friction["egg", "lower"] == pytest.approx(0.4)


def spacing(part):
    """Longest side of a part's triangles."""
    corners = part.vertices[part.triangles]
    return np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max()


def test_certificate_text_takes_numbers_and_the_texts_of_a_node():
    shown = certificate_text({"contacts": 4, "solver": "lemke", "complementarity_gap": 1e-12, "infeasibility": 2e-9})
    assert shown == {"contacts": "4", "solver": "lemke", "worst residual": "2e-09"}
    shown = certificate_text({"contacts": "4", "complementarity_gap": "1e-12", "stamp": "0.1"})
    assert shown == {"contacts": "4", "worst residual": "1e-12"}


def test_without_viser_one_line_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "viser", None)
    assert main(["view", str(CAN)]) == 2
    assert "pip install 'mb_contact[viewer]'" in capsys.readouterr().err
    assert main(["run", str(CAN), "--view", "--duration", "0.01"]) == 2
    assert "pip install 'mb_contact[viewer]'" in capsys.readouterr().err


# --- with viser -----------------------------------------------------------------------------------

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
        view.draw(until(player, lambda frame, count=count: frame.time > (count - 0.5) * simulator.time_step))
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
    assert not view.layer.points.visible
    player.step(20)
    frame = until(player, lambda frame: len(frame.contacts.points))
    view.panel.press("pause")
    view.draw(frame)
    layer, contacts = view.layer, frame.contacts
    assert layer.points.visible and layer.forces.visible and not layer.normals.visible
    np.testing.assert_allclose(layer.points.points, contacts.points, rtol=1e-6)
    arrows = np.diff(layer.forces.points, axis=1)[:, 0]
    np.testing.assert_allclose(arrows, layer.scale * contacts.forces, rtol=1e-4, atol=1e-6)
    layer.show("normals", True)
    lines = np.diff(layer.normals.points, axis=1)[:, 0]
    np.testing.assert_allclose(lines, 0.05 * contacts.normals, rtol=1e-4, atol=1e-6)
    layer.show("cones", True)
    assert layer.cones.visible and len(layer.cones.vertices) == 17 * len(contacts.points)
    layer.show("cones", False)
    layer.draw(None)
    assert not any(node.visible for node in (layer.points, layer.forces, layer.normals, layer.cones))


@NEEDS_VISER
def test_a_friction_cone_has_the_angle_of_friction(server):
    from mb_contact.viewer.graph import friction_cones
    from mb_contact.viewer.snapshot import ContactPoints

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
    frame = until(player, lambda frame: frame.certificate)
    view.draw(frame)
    assert simulator.step_count == 1 and f"| solver | {frame.certificate['solver']} |" in view.panel.certificate.content
    assert "**0.001 s**" in view.panel.status.content and "paused" in view.panel.status.content
    view.panel.press("reset")
    until(player, lambda frame: frame.time == 0.0)
    view.panel.press("run")
    until(player, lambda frame: frame.time > 0.01)


def received(address, wanted, seconds=60.0):
    """Whether a client of the server is sent this text."""
    import msgspec
    import viser
    import zstandard
    from websockets.sync.client import connect

    deadline = time.monotonic() + seconds
    protocol = [f"viser-v{viser.__version__}"]
    with connect(address, subprotocols=protocol, compression=None, max_size=None) as client:
        while time.monotonic() < deadline:
            data = client.recv(timeout=seconds)
            size = int.from_bytes(data[8:16], "little")
            content = msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(data[16 : 16 + size]))
            if wanted in str(content):
                return True
    return False


@NEEDS_VISER
def test_a_page_and_a_scene_are_served(server, view):
    view, player, _ = view
    with urllib.request.urlopen(f"http://127.0.0.1:{server.get_port()}", timeout=30) as page:
        assert page.status == 200 and b"<html" in page.read()
    assert received(f"ws://127.0.0.1:{server.get_port()}", "/links/can/visual_0")


@NEEDS_VISER
@pytest.mark.parametrize("how", ["duration", "SIGTERM", "SIGINT"])
def test_the_command_serves_and_ends(how):
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    more = ["--duration", "0.05", "--real-time-factor", "0"] if how == "duration" else ["--paused"]
    command = [sys.executable, "-m", "mb_contact", "view", str(CAN), "--port", str(free_port()), *more]
    process = subprocess.Popen(command, env=environment, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        address = next(line for line in process.stderr if "web view at" in line).split("at ")[1].split()[0]
        if how != "duration":
            assert received(address.replace("http", "ws"), "/links/can")
            process.send_signal(getattr(signal, how))
        assert process.wait(60) == 0
        assert "Traceback" not in process.stderr.read()
    finally:
        process.kill()


@NEEDS_VISER
def test_a_bug_in_a_step_ends_the_command_with_its_traceback(monkeypatch):
    def fail(simulator, effort=None):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(mb.Simulator, "step", fail)
    with pytest.raises(ZeroDivisionError, match="a bug"):  # exit code 1 of the interpreter
        main(["view", str(CAN), "--port", str(free_port())])


WRONG_OPTIONS = [
    (("--duration", "0"), "above zero"),
    (("--host", "192.0.2.1"), "cannot listen on '192.0.2.1'"),
]


@NEEDS_VISER
@pytest.mark.parametrize("wrong, words", WRONG_OPTIONS)
def test_impossible_options_are_refused_with_one_line(wrong, words, capsys):
    assert main(["view", str(CAN), *wrong]) == 2
    assert words in capsys.readouterr().err


REFUSED_AT_ONCE = [
    (("--port", "0"), "the port must be from 1 to 65535, got 0"),
    (("--port", "99999"), "the port must be from 1 to 65535, got 99999"),
    (("--port", "web"), "the port must be a whole number, got 'web'"),
    (("--real-time-factor", "-1"), "not below zero (0: as fast as possible), got -1"),
    (("--real-time-factor", "nan"), "not below zero (0: as fast as possible), got nan"),
]


@pytest.mark.parametrize("wrong, words", REFUSED_AT_ONCE)
def test_impossible_numbers_are_refused_before_the_scene_is_looked_at(wrong, words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["view", "there_is_none.yaml", *wrong])
    assert ended.value.code == 2 and words in capsys.readouterr().err


def test_smooth_surfaces_cannot_be_followed_and_the_line_says_what_shows_them(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "viser", types.ModuleType("viser"))  # not reached
    assert main(["view", str(ROOT / "config" / "three_patches.yaml"), "--follow"]) == 2
    expected = "--follow does not show smooth surfaces; mb-contact view SCENE simulates and shows them"
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize("links, side", [(("can", "ground"), 1.0), (("ground", "can"), -1.0), (("can", "ball"), 1.0)])
def test_contacts_are_shown_as_the_link_that_moves_feels_them(links, side):
    row = (*links, np.zeros(3), np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 5.0]), "stick")
    points = contact_points([row], ("can", "ball"), {("can", "ground"): 0.3, ("ground", "can"): 0.3})
    np.testing.assert_allclose(points.normals, [[0.0, 0.0, side]])
    np.testing.assert_allclose(points.forces, [[0.0, side, 5.0 * side]])
    assert points.friction[0] == (0.0 if "ball" in links else 0.3) and points.states == ("stick",)
