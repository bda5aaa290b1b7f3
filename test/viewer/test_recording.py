# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings in the view: what they say at each instant, from anywhere; their scene; what cannot be shown."""

from __future__ import annotations

import importlib.util
import socket

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.cli import main
from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.messages import message_class, serialize
from mb_contact.ros.recorder import Recorder
from mb_contact.ros.replay import is_recording
from mb_contact.simulation.initial import link_poses
from mb_contact.viewer.drawing import scene_drawing
from mb_contact.viewer.recording import Bag, Recording
from mb_contact.viewer.topics import STATES, TF
from paths import ROOT
from ros.support import Session

BOX = ROOT / "config" / "box_on_table.yaml"
ROBOT = """<robot name='{name}'><link name='{name}_root'/><link name='{name}_arm'><inertial><mass value='1'/>
<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial><visual><geometry><box size='1 1 1'/></geometry>
</visual></link><joint name='{name}_joint' type='continuous'><parent link='{name}_root'/><child link='{name}_arm'/>
<axis xyz='0 0 1'/></joint></robot>"""
STEP = 10_000_000  #: between two recorded states [ns]


def joint_states(name, position, stamp):
    message = message_class(STATES)(name=[name], position=np.array([position]))
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
    return serialize(message, STATES)


def frames(name, x, stamp):
    transform = message_class("geometry_msgs/msg/TransformStamped")()
    transform.header.frame_id, transform.child_frame_id = "map", name
    transform.header.stamp.sec, transform.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
    transform.transform.translation.x, transform.transform.rotation.w = x, 1.0
    return serialize(message_class(TF)(transforms=[transform]), TF)


@pytest.fixture(scope="module")
def two_robots(tmp_path_factory):
    """A bag of two robots that publish their joint states by turns, with a prefix, and a box; the scene's file."""
    folder, now = tmp_path_factory.mktemp("bag"), 0
    for name in ("left", "right"):
        (folder / f"{name}.urdf").write_text(ROBOT.format(name=name), encoding="utf-8")
    scene = folder / "scene.yaml"
    box = "{name: box, shape: box, size: [1, 1, 1], mass: 1.0, base: free}"
    scene.write_text(f"models: [{{urdf: left.urdf}}, {{urdf: right.urdf}}]\nprimitives: [{box}]\n", encoding="utf-8")
    recorder = Recorder(str(folder / "two.mcap"), lambda: now)
    states, tf = recorder.add_topic("/cell/joint_states", STATES), recorder.add_topic("/tf", TF)
    describe = recorder.add_topic("/robot_description", "std_msgs/msg/String")
    text = message_class("std_msgs/msg/String")(data=ROBOT.format(name="left"))
    describe(serialize(text, "std_msgs/msg/String"))
    for k in range(101):
        now = k * STEP
        states(joint_states(("left_joint", "right_joint")[k % 2], 0.01 * k, now))
        tf(frames("cell/box", 0.02 * k, now))
    recorder.close()
    return folder / "two.mcap", scene


def opened(path, scene=None, **options):
    bag = Bag(path)
    world = mb.build_world(bag.scene(scene))
    return Recording(bag, world, scene_drawing(bag.scene(scene), world), **options)


def angle(frame, link):
    return 2.0 * np.arctan2(frame.poses[link][1][2], frame.poses[link][1][3])


def test_a_recording_is_seen_at_any_time_whoever_published_what(two_robots):
    recording = opened(*two_robots, paused=True)
    assert recording.length == pytest.approx(1.0) and recording._topics.prefix == "cell/"
    for k in (50, 7, 100, 1):
        frame = recording.snapshot(k)
        assert frame.time == pytest.approx(0.01 * k) and frame.poses["box"][0][0] == pytest.approx(0.02 * k)
        even, odd = k - k % 2, k - (k + 1) % 2
        assert angle(frame, "left_arm") == pytest.approx(0.01 * even)
        assert angle(frame, "right_arm") == pytest.approx(0.01 * odd)
        assert dict(zip(frame.readings.joints, frame.readings.positions)) == pytest.approx(
            {"left_joint": 0.01 * even, "right_joint": 0.01 * odd}
        )


def test_it_goes_by_steps_back_and_to_any_time_and_stands_at_its_end(two_robots):
    recording = opened(*two_robots, paused=True)
    recording.start()
    assert recording.frame(0.5).time == 0.0 and recording.frame(0.05) is None
    recording.step()
    recording.step(3)
    recording.back()
    assert recording.frame(0.5).time == pytest.approx(0.03)
    recording.seek(0.5)
    assert recording.frame(0.5).time == pytest.approx(0.5)
    recording.reset()
    recording.back()
    assert recording.frame(0.5).time == 0.0
    recording.set_factor(1000.0)
    recording.run()
    assert recording.frame(0.5).time == pytest.approx(1.0) and recording.paused and not recording.done
    recording.run()  # from the start again
    assert not recording.paused and recording.seconds == 0.0
    assert [frame.time for frame in recording.frames(0.25)] == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0])


def test_without_its_scene_the_robots_are_there_by_their_descriptions(two_robots):
    recording = opened(two_robots[0], paused=True)
    assert recording.joint_names == ("left_joint",)
    assert angle(recording.snapshot(40), "left_arm") == pytest.approx(0.4)


@pytest.mark.skipif(importlib.util.find_spec("viser") is None, reason="viser is not installed")
def test_the_page_of_a_recording_has_a_timeline_and_plots_in_step(two_robots):
    from mb_contact.viewer.library import start_server
    from mb_contact.viewer.page import Page

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        server = start_server(port=probe.getsockname()[1])
    recording = opened(*two_robots, paused=True)
    world = mb.build_world(mb.load_scene(two_robots[1]))
    page = Page(server, (recording, recording._topics._drawing, link_poses(world), "two"))
    try:
        page.start()
        page.draw_next()
        panel = page.view.panel
        assert panel.timeline.slider.max == 1.0 and panel.buttons.options == ("run", "pause", "back", "step", "reset")
        panel.plots.boxes["joints"].value = True
        panel.timeline.go(0.6)
        page.draw_next()
        panel.plots._draw()
        x = server.scene.get_handle_by_name("/links/box").position[0]
        assert x == pytest.approx(1.2) and panel.timeline.slider.value == pytest.approx(0.6)
        chart = panel.plots.charts["joints"]
        times, left, _ = chart.data
        assert chart.scales["x"]["range"] == (0.0, recording.length)  # the axis has all its length
        assert times[-1] == pytest.approx(0.6, abs=0.04) and left[-1] == pytest.approx(times[-1], abs=0.02)
        assert len(page.html()) > 1e5
    finally:
        page.stop()
        server.stop()


def test_what_the_node_recorded_says_its_scene(tmp_path, monkeypatch):
    path = tmp_path / "box.mcap"
    with Session() as ros:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(ros.domain))
        command = ["run", str(BOX), "--record", str(path), "--duration", "0.1", "--backend", "embedded"]
        assert main([*command, "--as-fast-as-possible"]) == 0
    bag = Bag(path)
    assert bag.scene().path == BOX and is_recording(path) and not is_recording(BOX)
    recording = opened(path)
    frame = recording.snapshot(len(bag.times) - 1)
    assert len(frame.contacts.points) == 4 and "box" in frame.poses


def test_what_cannot_be_shown_is_told(tmp_path, two_robots):
    with pytest.raises(CommunicationError, match="does not exist"):
        Bag(tmp_path / "none.mcap")
    (tmp_path / "broken.mcap").write_bytes(b"nothing")
    with pytest.raises(CommunicationError, match="cannot read the recording"):
        Bag(tmp_path / "broken.mcap")
    whole = two_robots[0].read_bytes()
    for size in (8, 100, len(whole) // 2, len(whole) - 3):
        (tmp_path / "cut.mcap").write_bytes(whole[:size])
        with pytest.raises(CommunicationError, match="it has no end, as where a recorder was killed"):
            Bag(tmp_path / "cut.mcap")
    recorder = Recorder(str(tmp_path / "empty.mcap"), lambda: 0)
    recorder.add_topic("/said", "std_msgs/msg/String")
    recorder.close()
    with pytest.raises(CommunicationError, match="there is nothing to see"):
        Bag(tmp_path / "empty.mcap")
    bag = Bag(two_robots[0])
    bag.texts.clear()
    with pytest.raises(CommunicationError, match="name one: --scene FILE"):
        bag.scene()
