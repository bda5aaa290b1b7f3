# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What rviz2 is told to show of a scene: everything that the node tells of it, with a quality of service that fits."""

from __future__ import annotations

import re
import struct
from types import SimpleNamespace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.resources import find_resource
from mb_contact.model.scene import load_scene
from mb_contact.model.world import build_world
from mb_contact.ros.outputs.robot import Description
from mb_contact.ros.rviz import NAMED, configuration
from paths import ROOT

SCENES = ("dual_arm_lift", "wheel_nuts", "drumwright_grasp", "watched_table", "bin_of_200", "box_on_table")


def made(name, prefix=""):
    scene = load_scene(find_resource(f"package://mb_contact/config/{name}.yaml"))
    world = build_world(scene)
    return scene, world, configuration(scene, world, prefix)


def displays(config):
    """Every display, those of groups too."""
    found = []
    for display in config["Visualization Manager"]["Displays"]:
        found += display.get("Displays", [display])
    return found


def of_class(config, name):
    return [display for display in displays(config) if display["Class"].endswith(f"/{name}")]


def asked(display):
    return display.get("Topic") or display.get("Description Topic")


@pytest.mark.parametrize("name", SCENES)
def test_a_display_for_each_robot_that_is_described(name):
    _, world, config = made(name, "cell/")
    robots = of_class(config, "RobotModel")
    topics = [f"robot_description{suffix}" for suffix in ("", "_2", "_3", "_4")[: len(world.robot_models)]]
    assert [robot["Description Topic"]["Value"] for robot in robots] == topics
    for robot, model in zip(robots, world.robot_models):
        assert model.name in robot["Name"]
        assert robot["TF Prefix"] + "/" == "cell/"  # rviz puts a slash between them
        assert robot["Description Topic"]["Durability Policy"] == "Transient Local"


@pytest.mark.parametrize("name", ["wheel_nuts", "watched_table"])
def test_every_topic_is_the_nodes_with_a_quality_that_fits(name):
    from mb_contact.ros.embedded.backend import EmbeddedNode
    from mb_contact.ros.node import SimulatorNode
    from ros.support import Session

    _, _, config = made(name)
    with Session() as ros:
        node = EmbeddedNode("mb_contact", environment=ros.env)
        simulator = mb.Simulator(find_resource(f"package://mb_contact/config/{name}.yaml"))
        outputs = SimulatorNode(node, simulator).outputs
        offered = {publisher.topic_name: publisher for publisher in outputs.publishers}
        outputs.close()
        node.destroy_node()
    for display in displays(config):
        topic = asked(display)
        if topic is None:
            continue
        publisher = offered[f"/{topic['Value']}"]
        # a transient local reader gets nothing from a volatile writer, a reliable one nothing from a best-effort one
        assert topic["Durability Policy"] == "Volatile" or publisher.qos.latched, topic
        assert topic["Reliability Policy"] == "Best Effort" or publisher.qos.reliable, topic
        kind = display["Class"].split("/")[1].replace("Wrench", "WrenchStamped").replace("RobotModel", "String")
        assert publisher.type_name.endswith(f"/{kind}")


def test_the_node_describes_every_robot():
    scene, world, _ = made("wheel_nuts")
    sent = {}

    def publisher(_, topic, qos):
        assert qos.latched
        return SimpleNamespace(publish=lambda message: sent.__setitem__(topic, message.data))

    make = SimpleNamespace(publisher=publisher, message=lambda _: SimpleNamespace(data=""))
    Description(make, SimpleNamespace(world=world, robot_description="not this one"))
    assert list(sent.values()) == [model.urdf for model in world.robot_models]
    assert list(sent) == ["robot_description", *(f"robot_description_{i}" for i in (2, 3, 4))]
    Description(make, SimpleNamespace(world=SimpleNamespace(robot_models=()), robot_description=""))
    assert sent["robot_description"] == ""  # of a scene without robots


def test_wrenches_and_sensors():
    scene, _, config = made("wheel_nuts")
    wrenches = of_class(config, "Wrench")
    assert [w["Topic"]["Value"] for w in wrenches] == [f"contact_wrenches/{k}" for k in scene.contact_wrench_links]
    _, _, config = made("watched_table")
    topics = {display["Topic"]["Value"]: display["Enabled"] for display in displays(config) if "Topic" in display}
    assert {"sensors/camera/image", "sensors/scanner", "sensors/rings"} <= {t for t, shown in topics.items() if shown}
    off = {topic for topic, shown in topics.items() if not shown}
    assert off == {"sensors/camera/depth", "sensors/camera/points", "sensors/table_top/pressure"}
    (points,) = [d for d in of_class(config, "PointCloud2") if d["Topic"]["Value"] == "sensors/camera/points"]
    assert points["Color Transformer"] == "RGB8"


def test_objects_alone_are_named():
    _, world, config = made("wheel_nuts", "left/")
    (frames,) = of_class(config, "TF")
    shown = re.compile(frames["Filter (whitelist)"])
    assert all(shown.search(f"left/{name}") for name in world.objects)
    assert not shown.search("left/left_finger_1") and not shown.search("world")
    for name in ("wheel_nuts", "dual_arm_lift", "bin_of_200", "pendulum_3"):
        _, world, config = made(name)
        assert of_class(config, "TF")[0]["Enabled"] == (0 < len(world.objects) <= NAMED), name


@pytest.mark.parametrize(
    "name, shown, hidden",
    [
        ("wheel_nuts", ["Displays"], []),
        ("watched_table", ["Displays", "camera image"], ["camera depth", "table_top pressure"]),
    ],
)
def test_the_scene_has_two_thirds_of_the_window(name, shown, hidden):
    """What Qt restores: the panels in one column at the left."""
    window = made(name)[2]["Window Geometry"]
    state = bytes.fromhex(window["QMainWindow State"])
    marker, version, docks, areas, where, wide, high = struct.unpack_from(">2iB4i", state)
    assert (marker, version, docks, areas, where) == (0xFF, 0, 0xFD, 1, 0)
    assert (window["Width"] - wide) * high > 2 / 3 * window["Width"] * window["Height"]
    for text, visible in [*((text, 1) for text in (*shown, "Tools")), *((text, 0) for text in hidden)]:
        letters = text.encode("utf-16-be")  # the flag follows its panel's name
        assert state[state.index(letters) + len(letters)] == visible, text
    assert state.count(0xFB) == len(shown) + len(hidden)
    assert (window["Hide Left Dock"], window["Hide Right Dock"]) == (False, False)  # rviz reads memory without them


@pytest.mark.parametrize("name", SCENES)
def test_the_view_holds_the_scene(name):
    """From the camera every robot and everything that can move is within a cone of 45 degrees."""
    _, world, config = made(name)
    view = config["Visualization Manager"]["Views"]["Current"]
    focus = np.array([view["Focal Point"][axis] for axis in "XYZ"])
    yaw, pitch = view["Yaw"], view["Pitch"]
    back = np.array([np.cos(yaw) * np.cos(pitch), np.sin(yaw) * np.cos(pitch), np.sin(pitch)])
    eye = focus + view["Distance"] * back
    simulator = mb.Simulator(find_resource(f"package://mb_contact/config/{name}.yaml"))
    links = [link for model in world.robot_models for link in model.link_names] + list(world.objects)
    for link in links:
        ray = simulator.link_pose(link)[0] - eye
        assert -ray @ back / np.linalg.norm(ray) > np.cos(np.radians(22.5)), link
        assert np.linalg.norm(ray) > view["Near Clip Distance"]


def test_robots_of_the_launch_files_have_colours():
    """rviz draws a visual without a material in red."""
    from xml.etree import ElementTree

    for path in sorted((ROOT / "urdf").glob("*.urdf")):
        visuals = ElementTree.parse(path).findall("link/visual")
        assert all(visual.find("material") is not None for visual in visuals), path.name
