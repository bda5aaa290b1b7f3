# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Launch files and what rviz shows: consistent with the node everywhere, loaded where a ROS 2 is sourced.

Covers ros/launch_arguments.py, testing/launching.py.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
from pathlib import Path

import pytest
import yaml

from mb_contact.model.resources import find_resource
from mb_contact.model.scene import load_scene
from mb_contact.model.world import build_world
from mb_contact.ros.launch_arguments import ARGUMENTS, has_joints, parameters_of, write_rviz, write_scene
from paths import ROOT
from ros.support import WIRE

FILES = sorted((ROOT / "launch").glob("*.launch.py"))
LAUNCH = importlib.util.find_spec("launch") and importlib.util.find_spec("launch_ros")
NEEDS_LAUNCH = pytest.mark.skipif(not LAUNCH, reason="no sourced ROS 2 here: launch cannot be imported")


def constants(path):
    """The constants of a Python file that is not run."""
    found = {}
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            try:
                found[statement.targets[0].id] = ast.literal_eval(statement.value)
            except ValueError:
                pass
    return found


def test_these_launch_files_there_are():
    names = ["dual_arm", "grasp", "manipulation_test", "ros2_control", "simulator", "wheel"]
    assert [f.name for f in FILES] == [f"{name}.launch.py" for name in names]


def test_sdf_files_are_launched_as_scenes_and_as_robots(tmp_path):
    model = "<model name='m'><link name='a'/><link name='b'/><joint name='j' type='ball'><parent>a</parent>" \
        "<child>b</child></joint></model>"
    (tmp_path / "world.sdf").write_text(f"<sdf version='1.9'><world name='w'>{model}</world></sdf>")
    (tmp_path / "robot.sdf").write_text(f"<sdf version='1.9'>{model}</sdf>")
    assert "robot_description" in Path(write_rviz(str(tmp_path / "world.sdf"), "")).read_text()
    (robot,) = build_world(load_scene(write_scene(str(tmp_path / "robot.sdf"), "free", 1.0))).robot_models
    assert has_joints(robot.urdf) and robot.link_names == ("a", "b")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_arguments_are_described_and_files_exist(path):
    found = constants(path)
    assert len(set(found["ARGUMENTS"])) == len(found["ARGUMENTS"])
    own = found["ARGUMENTS"] if isinstance(found["ARGUMENTS"], dict) else ARGUMENTS  # a test is no simulation
    for name in found["ARGUMENTS"]:
        default, text = own[name]
        assert (isinstance(default, str) or name == "expect") and len(text) > 10
    if "SCENE" in found:
        load_scene(find_resource(found["SCENE"]))
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and str(node.value).startswith("package://"):
            assert find_resource(node.value).is_file()
        if isinstance(node, ast.Constant) and str(node.value).endswith(".py"):
            assert (ROOT / "examples" / node.value).is_file()


def test_the_node_knows_what_the_launch_files_set():
    from mb_contact.ros.main import add_run_arguments
    from mb_contact.ros.options import NodeOptions

    given = {name: default for name, (default, _) in ARGUMENTS.items()}
    parameters = parameters_of({**given, "lockstep": "True", "paused": "1", "frame_prefix": "left/"}.get)
    assert parameters == {
        "lockstep": True, "start_paused": True, "frame_prefix": "left/", "real_time_factor": 1.0, "clock_rate": 1000.0
    }  # fmt: skip
    NodeOptions(**parameters).checked()
    assert parameters_of(dict.fromkeys(ARGUMENTS, "").get) == {}  # what is empty is left to the parameter file
    for name, wrong in (("paused", "perhaps"), ("clock_rate", "fast")):
        with pytest.raises(RuntimeError, match=f"{name}:={wrong} must be"):
            parameters_of({**given, "lockstep": "false", name: wrong}.get)
    parser = argparse.ArgumentParser()
    add_run_arguments(parser)
    for option in ("--record", "--duration", "--backend"):
        assert option in parser.format_help()


@pytest.mark.parametrize("base, freedoms", [("weld", 26), ("free", 32)])
def test_a_scene_around_a_robot(base, freedoms):
    path = Path(write_scene(str(ROOT / "urdf" / "dual_arm.urdf"), base, 0.5))
    try:
        world = build_world(load_scene(path))
    finally:
        path.unlink()
    assert world.tree.n_v == freedoms if hasattr(world.tree, "n_v") else len(world.v0) == freedoms
    assert "ground" in world.geometry_names
    with pytest.raises(RuntimeError, match="weld or free"):
        write_scene("robot.urdf", "glued")


def test_robots_whose_links_robot_state_publisher_can_tell():
    """kdl_parser warns of each floating joint, and robot_state_publisher leaves it to the node all the same."""
    world = build_world(load_scene(find_resource("package://mb_contact/config/wheel_nuts.yaml")))
    assert [model.name for model in world.robot_models if has_joints(model.urdf)] == ["dual_arm"]
    assert {"wheel", "nut_1", "nut_5"} <= set(world.objects)  # which the node puts into /tf
    assert has_joints("<robot name='a'><joint name='b' type='fixed'/></robot>")


def test_rviz_gets_a_file_of_its_own():
    path = Path(write_rviz("package://mb_contact/config/wheel_change.yaml", "left/"))
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    finally:
        path.unlink()
    prefixes = [display.get("TF Prefix") for display in config["Visualization Manager"]["Displays"]]
    assert prefixes.count("left") == 3


def load(path):
    spec = importlib.util.spec_from_file_location(path.name.split(".")[0], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@NEEDS_LAUNCH
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_launch_description_declares_what_it_says(path):
    module = load(path)
    declared = {a.name: a for a in module.generate_launch_description().get_launch_arguments()}
    assert set(declared) == set(module.ARGUMENTS)
    assert all(argument.description for argument in declared.values())


@NEEDS_LAUNCH
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_launch_actions_can_be_made(path, monkeypatch):
    """The processes of a launch with everything asked for; nothing is started."""
    from launch.actions import ExecuteProcess

    from launch import LaunchContext
    from mb_contact.ros import launching

    monkeypatch.setattr(launching, "has_package", lambda name: True)
    module = load(path)
    context = LaunchContext()
    urdf = {"urdf": str(ROOT / "urdf" / "dual_arm.urdf")} if path.name.startswith("simulator") else {}
    asked = {"controller": "true", "rviz": "true", "view": "true", "record": "/tmp/x.mcap", "namespace": "a", **urdf}
    for argument in module.generate_launch_description().get_launch_arguments():
        value = asked.get(argument.name)
        context.launch_configurations[argument.name] = (
            argument.default_value[0].perform(context) if value is None and argument.default_value else value or ""
        )
    actions = module._actions(context)
    processes = [a for a in actions if isinstance(a, ExecuteProcess)]
    if "expect" in module.ARGUMENTS:  # a test of manipulation starts the node and the controllers itself
        assert len(processes) == 1
        return
    assert len(processes) >= (1 if urdf else 2)
    programs = [getattr(process, "node_package", None) for process in processes]
    assert programs.count("rviz2") == 1 and programs.count("robot_state_publisher") == 1
    if "controllers" in module.ARGUMENTS:
        monkeypatch.setattr(launching, "has_package", lambda name: name != "controller_manager")
        with pytest.raises(RuntimeError, match="not installed: controller_manager; sudo apt install"):
            module._actions(context)
        return
    context.launch_configurations["lockstep"] = "perhaps"
    with pytest.raises(RuntimeError, match="true or false"):
        module._actions(context)


def test_the_backend_of_a_launch_is_the_one_whose_services_its_processes_can_call(monkeypatch):
    from mb_contact.ros.launch_arguments import chosen_backend

    monkeypatch.setenv("RMW_IMPLEMENTATION", f"rmw_{'cyclonedds' if WIRE == 'dds' else WIRE}_cpp")
    assert [chosen_backend(name) for name in ("auto", "rclpy", "embedded")] == ["embedded", "rclpy", "embedded"]
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp")
    assert [chosen_backend(name) for name in ("auto", "rclpy", "embedded")] == ["rclpy", "rclpy", "embedded"]
    monkeypatch.delenv("RMW_IMPLEMENTATION")
    assert chosen_backend("auto") == "rclpy"
    with pytest.raises(RuntimeError, match="must be auto, rclpy or embedded"):
        chosen_backend("other")
