# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The view and odd input: names that are HTML, places that are none, pages that nobody closes, files made meanwhile.

Covers viewer/library.py, viewer/options.py.
"""

from __future__ import annotations

import base64
import socket
import threading
import time
import urllib.request

import msgspec
import numpy as np
import pytest
import yaml
import zstandard

import mb_contact as mb
from mb_contact.cli import main
from mb_contact.core.rays.light import LAMP
from mb_contact.errors import InputError
from mb_contact.ros.recorder import Recorder
from mb_contact.simulation.initial import link_poses
from mb_contact.viewer.drawing import scene_drawing
from mb_contact.viewer.graph import node_name
from mb_contact.viewer.library import free_port
from mb_contact.viewer.look import plain
from mb_contact.viewer.recording import Bag, Recording
from mb_contact.viewer.render import Camera, picture
from mb_contact.viewer.topics import STATES
from paths import ROOT
from viewer.serving import NEEDS_VISER, until
from viewer.test_recording import ROBOT, joint_states

CAN, BOX = ROOT / "config" / "falling_can.yaml", ROOT / "config" / "box_on_table.yaml"
EVIL = "<img src=x onerror=\"evil()\">|*b*_c_![d](/e)`f`"


def shown(simulator, **options):
    port = free_port("127.0.0.1", 18400)
    return mb.show(simulator, **{"real_time_factor": 0.0, "port": port, "open": False} | options)


def scene_of(folder, names):
    """A scene of boxes in a row."""
    boxes = [{"name": name, "shape": "box", "size": [0.2] * 3, "mass": 1.0, "base": "free",
              "pose": {"position": [0.4 * k, 0.0, 0.1]}} for k, name in enumerate(names)]  # fmt: skip
    path = folder / "odd.yaml"
    path.write_text(yaml.safe_dump({"ground": {}, "primitives": boxes}), encoding="utf-8")
    return path


@pytest.fixture
def one_state(tmp_path):
    """A recording of a single state."""
    recorder = Recorder(str(tmp_path / "one.mcap"), lambda: 0)
    recorder.add_topic("/joint_states", STATES)(joint_states("left_joint", 0.3, 0))
    recorder.close()
    (tmp_path / "left.urdf").write_text(ROBOT.format(name="left"), encoding="utf-8")
    return tmp_path / "one.mcap", tmp_path / "left.urdf"


# --- names ----------------------------------------------------------------------------------------


def test_names_are_text_in_the_page_whatever_they_are():
    assert not set("<>\"|*_`[&") & set(plain(EVIL).replace("&#", "")) and plain("a b-c.d, 1 (2)") == "a b-c.d, 1 (2)"
    assert node_name("a/b") not in (node_name("a_b"), "/links/a/b") and node_name("a_b") == "/links/a_b"


@NEEDS_VISER
def test_links_with_odd_names_are_shown(tmp_path):
    simulator = mb.Simulator(scene_of(tmp_path, [EVIL, "nothing", "a/b", "a_b"]))
    with shown(simulator) as view:
        for _ in range(5):
            simulator.step()
        page = view._page
        inspector = page.view.panel.inspector
        assert len(set(inspector.choice.options)) == len(inspector.choice.options)
        inspector.choice.value = EVIL
        page.source.tell(EVIL)
        view._loop._serve()
        view.draw()
        until(lambda: plain(EVIL) in page.view.panel.status.content)
        plane = next(link for link in inspector.choice.options if link not in simulator.world.objects)
        inspector.choice.value = plane
        inspector._last = page.view.shown
        inspector._write()
        assert plain(EVIL) in inspector.text.content and "<img" not in inspector.text.content


# --- loops of one's own ---------------------------------------------------------------------------


@NEEDS_VISER
def test_pages_that_another_one_ended_are_gone_and_a_kept_step_is_not_paced():
    simulator = mb.Simulator(CAN)
    first = shown(simulator, real_time_factor=0.01)
    kept = simulator.step
    second = shown(simulator)
    until(lambda: not first._thread.is_alive())
    with pytest.raises(OSError):
        urllib.request.urlopen(first.address, timeout=5.0)
    began = time.monotonic()
    for _ in range(5):
        kept()  # of the page that has ended; at its pace 0.5 s
    assert time.monotonic() - began < 0.3
    first.close()
    second.close()
    second.close()
    assert not [thread.name for thread in threading.enumerate() if thread.name == "view"]


@NEEDS_VISER
def test_a_joint_that_the_loop_moves_cannot_be_asked_for_a_position_but_put_while_paused(one_state):
    simulator = mb.Simulator(one_state[1])
    joint = simulator.world.joint_names[0]
    with shown(simulator) as view:
        view._loop.move(joint, 0.1)
        view._loop._serve()
        assert "pause to put it somewhere" in view._loop._message
        view._loop.paused = True
        view._loop.move(joint, 0.1)
        view._loop._serve()
        assert simulator.joint_positions()[0] == 0.1


@NEEDS_VISER
def test_a_file_that_is_written_while_it_runs_has_no_other_frames():
    simulator = mb.Simulator(CAN)
    with shown(simulator) as view:
        page = view._page
        simulator.step()
        until(lambda: page.view.shown is not None)
        frames = [frame._replace(poses={"can": (np.array([k, 0.0, 0.0]), frame.poses["can"][1])})
                  for k, frame in enumerate([page.view.shown] * 300)]  # fmt: skip
        ended = threading.Event()
        loop = threading.Thread(target=lambda: [simulator.step() for _ in iter(lambda: ended.is_set(), True)])
        loop.start()
        text = page.html(frames)
        ended.set()
        loop.join()
    data = base64.b64decode(text.split('__VISER_EMBED_DATA__="')[1].split('"')[0])
    data = zstandard.ZstdDecompressor().decompress(data[8:], max_output_size=int.from_bytes(data[:8], "little"))
    said = msgspec.msgpack.decode(data[8 : 8 + int.from_bytes(data[:8], "little")])["messages"]
    x = [m["position"][0] for _, m in said if m.get("name") == "/links/can" and m["type"] == "SetPositionMessage"]
    assert len(x) > 290 and all(value == round(value) for value in x)


# --- files and options ----------------------------------------------------------------------------


def test_a_recording_of_one_state_is_drawn(one_state, tmp_path, capsys):
    path, robot = one_state
    out = tmp_path / "one.png"
    assert main(["render", str(path), "--scene", str(robot), "--width", "16", "--out", str(out)]) == 0
    assert "1 pictures" in capsys.readouterr().out and out.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("wrong, words", [
    (["--duration", "-1"], "--duration must be finite and not below zero, got -1"),
    (["--duration", "nan"], "--duration must be finite"),
    (["--every", "inf"], "--every from 0.01 to 60 s"),
    (["--every", "1e-9"], "--every from 0.01 to 60 s"),
    (["--eye", "1", "2", "3", "--target", "1", "2", "3"], "--eye and --target must be two places"),
    (["--eye", "nan", "2", "3"], "--eye and --target must be two places, got nan, 2, 3 and "),
])  # fmt: skip
def test_pictures_that_cannot_be_are_refused(wrong, words, one_state, capsys):
    path, robot = one_state
    assert main(["render", str(path), "--scene", str(robot), "--width", "16", *wrong]) == 2
    assert words in capsys.readouterr().err


def test_one_can_look_straight_down():
    scene = mb.load_scene(BOX)
    world = mb.build_world(scene)
    drawing, poses = scene_drawing(scene, world), link_poses(world)
    down, slant = (picture(drawing, poses, Camera((x, 0.0, 3.0), (0.0, 0.0, 0.0), 0.6, 32, 24)) for x in (0.0, 1e-6))
    assert down.std() > 5.0 and down.shape == slant.shape


def test_a_recording_is_not_followed(one_state, capsys):
    assert main(["view", str(one_state[0]), "--follow"]) == 2
    assert "a recording is shown by mb-contact view FILE" in capsys.readouterr().err


def test_beyond_the_last_port_there_is_none():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 65535))
        taken.listen()
        with pytest.raises(InputError, match="finds no free port from 65535 on"):
            free_port("127.0.0.1", 65535)
        assert free_port("127.0.0.1", 65000) < 65535


def test_a_recording_can_be_asked_by_several_at_once(one_state):
    scene = mb.load_scene(one_state[1])
    world = mb.build_world(scene)
    recording = Recording(Bag(one_state[0]), world, scene_drawing(scene, world), paused=True)
    with recording._changed:
        other = threading.Thread(target=recording.snapshot, args=(0,))
        other.start()
        other.join(0.1)
        assert other.is_alive()  # until the first has its answer
    other.join(10.0)
    assert not other.is_alive()


@NEEDS_VISER
@pytest.mark.parametrize("scale", [1e-3, 1.0, 100.0])
def test_a_scene_of_any_size_is_seen_whole(scale, tmp_path):
    """Nothing is nearer than what a camera sees, or behind it; ground, arrows and axes are of the scene's size."""
    path = tmp_path / "sized.yaml"
    bead = {"name": "bead", "shape": "sphere", "size": [scale], "mass": scale**3, "base": "free",
            "pose": {"position": [0.0, 0.0, scale]}}  # fmt: skip
    path.write_text(yaml.safe_dump({"ground": {}, "primitives": [bead]}), encoding="utf-8")
    with shown(mb.Simulator(path)) as loop:
        view = loop._page.view
        camera, axes = view.server.initial_camera, view.graph._axes["axes_length"]
        far = np.linalg.norm(camera.position - camera.look_at)
        assert 3.0 * scale < far < 10.0 * scale
        assert camera.near < 0.05 * far and camera.far > 100.0 * far
        assert view.near < 0.05 * far and f'"near": {view.near}' in loop._page.bar.camera.content.replace("&quot;", '"')
        assert 0.2 < view.layer.scale * 9.81 * scale**3 / axes < 5.0
        assert 0.1 < view.graph.cell / scale <= 1.0 and view.graph.grounds[0].fade_distance > 2.0 * far


@NEEDS_VISER
def test_pages_have_the_lamp_of_pictures_and_faces_are_not_in_their_own_shadow():
    with shown(mb.Simulator(CAN)) as loop:
        view, bar = loop._page.view, loop._page.bar
        scene = view.server.scene
        lamp = scene.get_handle_by_name("/lamp")
        np.testing.assert_allclose(lamp.position / np.linalg.norm(lamp.position), LAMP, atol=1e-5)
        assert lamp.cast_shadow and not scene.get_handle_by_name("/links/can/visual_0").receive_shadow
        bar.shadows.value = False
        until(lambda: not scene.get_handle_by_name("/lamp").cast_shadow)
