# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The web view of a node: it shows over DDS what the node's simulator has, and its buttons reach the node."""

from __future__ import annotations

import importlib.util
import threading
import time

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.ros.embedded.backend import EmbeddedNode
from mb_contact.ros.embedded.messages import message_class, serialize
from mb_contact.ros.node import SimulatorNode
from mb_contact.ros.options import NodeOptions
from mb_contact.ros.qos import LATCHED
from mb_contact.viewer import topics as topics_module
from mb_contact.viewer.drawing import scene_drawing
from mb_contact.viewer.follower import TOPICS, Follower
from paths import ROOT
from ros.support import Session, wait_until

ARMS = ROOT / "config" / "dual_arm_lift.yaml"


@pytest.fixture(scope="module")
def followed():
    """(Follower, SimulatorNode) of the two arms, in a domain and a namespace of their own."""
    patch = pytest.MonkeyPatch()
    with Session() as ros:
        patch.setenv("ROS_DOMAIN_ID", str(ros.domain))
        simulator = mb.Simulator(ARMS)
        options = NodeOptions(real_time_factor=0.2, frame_prefix="cell/")
        node = SimulatorNode(EmbeddedNode("sim", "/cell"), simulator, options)
        thread = threading.Thread(target=node.run, daemon=True)
        world = mb.build_world(simulator.scene)
        drawing = scene_drawing(simulator.scene, world)
        prefix = ["--ros-args", "-p", "frame_prefix:=cell/"]
        follower = Follower(world, drawing, "embedded", "/cell", "sim", prefix)
        follower.start()
        thread.start()
        node.peer = ros.peer()
        yield follower, node
        follower.stop()
        node.stop()
        thread.join()
        node.node.destroy_node()
    patch.undo()


def frames_until(follower, condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        frame = follower.frame(0.2)
        if frame is not None and condition(frame):
            return frame
    pytest.fail("no such frame came")


def test_a_paused_node_is_seen_as_it_is(followed):
    follower, node = followed
    frame = frames_until(follower, lambda frame: frame.time > 0.05 and len(frame.contacts.points))
    assert not frame.message and len(frame.contacts.points) == 4
    wait_until(lambda: all(client.service_is_ready() for client in follower._clients.values()), "the services")
    follower.pause()
    wait_until(lambda: node.paused, "the pause")
    simulator, seconds = node.simulator, 1e-9 * node.stamp()

    def settled(frame):
        return all(np.abs(frame.poses[link][0] - simulator.link_pose(link)[0]).max() < 1e-12 for link in frame.poses)

    node.ask(lambda: node.state_changed())  # once more, now that nothing moves
    frame = frames_until(follower, settled)
    assert set(frame.poses) == set(follower.topics._drawing.moving) and seconds > 0.05
    for link, (_, quaternion) in frame.poses.items():
        np.testing.assert_allclose(np.abs(quaternion @ simulator.link_pose(link)[1]), 1.0, atol=1e-12)
    forces = frame.contacts.forces.sum(axis=0)
    np.testing.assert_allclose(forces, (0.0, 0.0, 9.81 * box_mass(simulator)), atol=1e-3)  # on the box
    assert set(frame.contacts.states) == {"stick"} and (frame.contacts.friction > 0.0).all()
    assert {"contacts", "solver", "worst residual"} <= set(frame.certificate)


def test_frames_of_another_node_are_left_alone(followed):
    follower, node = followed
    wait_until(lambda: all(client.service_is_ready() for client in follower._clients.values()), "the services")
    follower.pause()
    wait_until(lambda: node.paused, "the pause")
    foreign, seen = node.peer.publisher("/tf", "tf2_msgs/msg/TFMessage"), []
    for x, name in ((5.0, "box"), (6.0, "left/box"), (7.0, "cell/box")):
        message = message_class("tf2_msgs/msg/TFMessage")()
        transform = message_class("geometry_msgs/msg/TransformStamped")()
        transform.header.frame_id, transform.child_frame_id = "world", name
        transform.transform.translation.x, transform.transform.rotation.w = x, 1.0
        message.transforms.append(transform)
        foreign.publish(message)
    frames_until(follower, lambda frame: seen.append(frame.poses["box"][0][0]) or seen[-1] == 7.0)
    assert not {5.0, 6.0} & set(seen)
    follower.run()
    wait_until(lambda: not node.paused, "the run")  # or the next test takes this pause for its own


def box_mass(simulator):
    return float(simulator.world.tree.mass[simulator.world.objects["box"]])


def test_step_reset_and_run_reach_the_node(followed):
    follower, node = followed
    wait_until(lambda: all(client.service_is_ready() for client in follower._clients.values()), "the services")
    follower.pause()
    wait_until(lambda: node.paused, "the pause")
    before = node.ask(lambda: node.simulator.step_count)  # no step is under way any more
    follower.step()
    wait_until(lambda: node.simulator.step_count == before + 1, "the step")
    follower.reset()
    wait_until(lambda: node.simulator.step_count == 0, "the reset")
    follower.run()
    wait_until(lambda: node.simulator.step_count > 10, "the run")
    assert frames_until(follower, lambda frame: frame.real_time_factor is not None).real_time_factor > 0.0


def test_spawned_objects_come_and_deleted_ones_go(followed):
    follower, node = followed
    pose = message_class("geometry_msgs/msg/PoseStamped")()
    pose.pose.position.x, pose.pose.position.z, pose.pose.orientation.w = 2.0, 3.0, 1.0
    spawn, delete = (f"simulation_interfaces/srv/{name}Entity" for name in ("Spawn", "Delete"))
    shape = "{shape: capsule, size: [0.1, 0.4], mass: 0.5, base: free}"
    call = node.peer.call
    answer = call("/cell/spawn_entity", spawn, name="pill", resource_string=shape, initial_pose=pose)
    assert answer.result.result == 1, answer.result.error_message
    frame = frames_until(follower, lambda frame: "pill" in frame.poses)
    assert {part.link for part in frame.objects.spawned} == {"pill"} and len(frame.objects.spawned) == 3
    corners = np.concatenate([part.vertices for part in frame.objects.spawned])
    np.testing.assert_allclose(np.ptp(corners, axis=0), (0.2, 0.2, 0.6), atol=1e-3)
    assert abs(frame.poses["pill"][0][0] - 2.0) < 1e-9 and "box" in frame.objects.present
    for name in ("pill", "box"):
        assert call("/cell/delete_entity", delete, entity=name).result.result == 1
    frame = frames_until(follower, lambda frame: "box" not in frame.objects.present)
    assert not frame.objects.spawned and "pill" not in frame.poses and "table" in frame.objects.present


SPACED = """
time_step: 0.001
primitives:
  - {name: my box, shape: box, size: [0.1, 0.1, 0.1], mass: 1.0, base: free, material: ice,
     pose: {position: [0.0, 0.0, 0.05]}, velocity: {linear: [0.5, 0.0, 0.0]}}
ground: {height: 0.0, material: ice}
materials: {ice: {friction: 0.01}}
"""


def test_names_with_spaces_keep_the_states_of_their_contacts(tmp_path, monkeypatch):
    scene = tmp_path / "spaced.yaml"
    scene.write_text(SPACED, encoding="utf-8")
    with Session() as ros:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(ros.domain))
        simulator = mb.Simulator(scene)
        node = SimulatorNode(EmbeddedNode("mb_contact"), simulator, NodeOptions(real_time_factor=0.1))
        world = mb.build_world(simulator.scene)
        follower = Follower(world, scene_drawing(simulator.scene, world), "embedded")
        thread = threading.Thread(target=node.run, daemon=True)
        follower.start()
        thread.start()
        try:
            frame = frames_until(follower, lambda frame: "slip" in frame.contacts.states)
            assert set(frame.contacts.states) == {"slip"} and "my box" in frame.poses
        finally:
            follower.stop()
            node.stop()
            thread.join()
            node.node.destroy_node()


def test_without_a_node_it_waits_and_says_so():
    scene = mb.load_scene(ARMS)
    world = mb.build_world(scene)
    with Session() as ros, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_DOMAIN_ID", str(ros.domain))
        follower = Follower(world, scene_drawing(scene, world), "embedded")
        follower.start()
        try:
            assert follower.frame(1.0).message == "waiting for the node mb_contact"
            follower.reset()
            assert follower.frame(1.0).message == "the node does not offer reset: is it running?"
            message = message_class(topics_module.STATES)(name=["head_joint_1"], position=np.zeros(1))
            follower._on(follower.topics.keep, topics_module.STATES, serialize(message, topics_module.STATES))
            assert 0.0 <= follower.frame(1.0).lag < 0.2  # since it was heard
            time.sleep(0.6)
            assert 0.5 < follower.frame(1.0).lag < 3.0  # nothing came: that is drawn, too
            now = time.time() - 0.3
            message.header.stamp.sec, message.header.stamp.nanosec = int(now), int(1e9 * (now % 1.0))
            follower._on(follower.topics.keep, topics_module.STATES, serialize(message, topics_module.STATES))
            assert 0.3 <= follower.frame(1.0).lag < 1.3  # stamped by the clock on the wall
        finally:
            follower.stop()


def tf(link, quaternion=(0.0, 0.0, 0.0, 1.0), position=(0.0, 0.0, 0.0)):
    transform = message_class("geometry_msgs/msg/TransformStamped")()
    transform.header.frame_id, transform.child_frame_id = "world", link
    p, o = transform.transform.translation, transform.transform.rotation
    (p.x, p.y, p.z), (o.x, o.y, o.z, o.w) = position, quaternion
    return message_class(topics_module.TF)(transforms=[transform])


ROOTED = """<robot name='r'><link name='world'/><link name='arm'><inertial><mass value='1'/>
<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link><joint name='j' type='{kind}'>
<parent link='world'/><child link='arm'/><axis xyz='0 1 0'/></joint></robot>"""


@pytest.mark.parametrize("where, kind", [([2.0, 0.0, 1.0], "continuous"), ([0.0, 0.0, 0.0], "spherical")])
def test_frames_of_free_bodies_count_where_a_root_link_is_called_world(where, kind, tmp_path, monkeypatch):
    """And those of a robot's links, which robot_state_publisher gives in their parents, where that is the world."""
    (tmp_path / "r.urdf").write_text(ROOTED.format(kind=kind))
    scene_file = tmp_path / "scene.yaml"
    box = "primitives: [{name: box, shape: box, size: [1, 1, 1], mass: 1.0, base: free}]"
    scene_file.write_text(f"models: [{{urdf: r.urdf, pose: {{position: {where}}}}}]\n{box}")
    scene = mb.load_scene(scene_file)
    world = mb.build_world(scene)
    with Session() as ros:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(ros.domain))
        follower = Follower(world, scene_drawing(scene, world), "embedded")
        try:
            follower.topics.on_tf(tf("box", position=(1.0, 2.0, 3.0)))
            follower.topics.on_tf(tf("arm", (0.0, 1.0, 0.0, 0.0)))
            assert tuple(follower.topics.poses()["box"][0]) == (1.0, 2.0, 3.0)
            assert ("arm" in follower.topics.frames) == (kind == "spherical")
        finally:
            follower.stop()


def certificate(**values):
    pair = message_class("diagnostic_msgs/msg/KeyValue")
    pairs = [pair(key=key.replace("__", "/"), value=value) for key, value in values.items()]
    return message_class(topics_module.STATUS)(values=pairs)


def two_corners():
    marker, point = (message_class(kind)() for kind in ("visualization_msgs/msg/Marker", "geometry_msgs/msg/Point"))
    marker.ns, marker.type, marker.points = "odd", 11, [point, point]
    marker.pose.orientation.w = 1.0
    return message_class(topics_module.MARKERS)(markers=[marker])


NONSENSE = {
    "no rotation": ("/tf", topics_module.TF, lambda: tf("box", (0.0, 0.0, 0.0, 0.0))),
    "nowhere": ("/tf", topics_module.TF, lambda: tf("box", position=(np.nan, 0.0, 0.0))),
    "two corners": ("object_markers", topics_module.MARKERS, two_corners),
    "one word": ("certificate", topics_module.STATUS, lambda: certificate(contact__0="what")),
    "unknown state": ("certificate", topics_module.STATUS, lambda: certificate(contact__0="a b flies sigma=1")),
    "no number": ("certificate", topics_module.STATUS, lambda: certificate(infeasibility="much")),
}


@pytest.fixture(scope="module")
def alone():
    """(Follower of a node that is not there, a peer that writes on its topics)."""
    scene = mb.load_scene(ARMS)
    world = mb.build_world(scene)
    with Session() as ros, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_DOMAIN_ID", str(ros.domain))
        follower = Follower(world, scene_drawing(scene, world), "embedded")
        follower.start()
        yield follower, ros.peer()
        follower.stop()


@pytest.mark.parametrize("what", NONSENSE)
def test_messages_that_make_no_sense_are_skipped_told_once_and_the_next_is_heard(what, alone, capsys, monkeypatch):
    follower, peer = alone
    monkeypatch.setattr(follower.node.get_logger()._throttle, "_last", {})
    topic, kind, make = NONSENSE[what]
    publisher = peer.publisher(topic, kind, LATCHED if topic == "object_markers" else None)
    said = []

    def told():
        follower.frame(0.05)
        said.append(capsys.readouterr().err)
        return f"skipping a {kind}" in "".join(said)

    peer.send_until(publisher, make(), told)
    for _ in range(3):
        publisher.publish(make())
        told()
    assert "".join(said).count("skipping") == 1 and follower._thread.is_alive()
    good = peer.publisher("/tf", topics_module.TF)
    place = (1.0 + list(NONSENSE).index(what), 2.0, 3.0)  # another one each time
    seen = []

    def moved():
        seen.append(follower.frame(0.1))
        return seen[-1] is not None and tuple(seen[-1].poses["box"][0]) == place

    peer.send_until(good, tf("box", position=place), moved)


@pytest.mark.parametrize("kind", [kind for _, kind in TOPICS])
def test_bytes_that_are_no_message_are_skipped(kind, alone, capsys, monkeypatch):
    follower, _ = alone
    monkeypatch.setattr(follower.node.get_logger()._throttle, "_last", {})
    follower.topics.newest.clear()
    follower._on(follower.topics.keep, kind, b"\0\1\0\0\1\2\3")
    assert follower.frame(1.0) is not None
    assert f"skipping a {kind} that makes no sense" in capsys.readouterr().err


@pytest.mark.skipif(importlib.util.find_spec("viser") is None, reason="viser is not installed")
def test_the_demonstration_starts_a_view_of_its_node(monkeypatch, capsys):
    from mb_contact.programs.demo import lift, running

    with Session() as ros:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(ros.domain))
        monkeypatch.delenv("DISPLAY", raising=False)
        monkeypatch.setattr(running, "_LOOK", 0.1)
        view = running.start_view(lift.DEMONSTRATION, running.DemoOptions(backend="embedded", view=True))
        try:
            assert view.address.startswith("http://localhost:")
        finally:
            view.stop()
    assert f"open {view.address} in a browser" in capsys.readouterr().out
