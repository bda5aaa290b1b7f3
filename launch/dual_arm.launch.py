# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Two arms and a box: the simulator node, and on request a controller, rviz and the web view.

::

    ros2 launch mb_contact dual_arm.launch.py [scene:=FILE] [controller:=true] [rviz:=true] [view:=true]
"""

import importlib.util
import sys
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix, get_package_share_directory
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    ExecuteProcess,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription

SHARE = Path(get_package_share_directory("mb_contact"))
ARGUMENTS = (
    ("scene", str(SHARE / "config" / "dual_arm_lift.yaml"), "scene file to simulate"),
    ("controller", "false", "start the example controller, which lifts the box"),
    ("lockstep", "auto", "wait for one command per control period: true, false; auto: with the controller"),
    ("rviz", "false", "start rviz2 (needs the package rviz2)"),
    ("view", "false", "start the web view (needs an mb_contact that has one)"),
    ("record", "", "MCAP file to record into"),
    ("namespace", "", "namespace of the node"),
)


def _has(package):
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True


def _truth(context, name):
    text = LaunchConfiguration(name).perform(context).strip().lower()
    if text not in ("true", "false", "1", "0"):
        raise RuntimeError(f"{name}:={text} must be true or false")
    return text in ("true", "1")


def _robot_description(scene):
    from mb_contact.model.scene import load_scene
    from mb_contact.model.world import build_world

    models = build_world(load_scene(scene)).robot_models
    return models[0].urdf if models else ""


def _actions(context):
    scene = LaunchConfiguration("scene").perform(context)
    record = LaunchConfiguration("record").perform(context)
    namespace = LaunchConfiguration("namespace").perform(context)
    controller = _truth(context, "controller")
    lockstep = LaunchConfiguration("lockstep").perform(context)
    lockstep = controller if lockstep == "auto" else _truth(context, "lockstep")
    simulator = Node(
        package="mb_contact",
        executable="simulator_node",
        namespace=namespace,
        arguments=[scene, "--backend", "rclpy", *(["--record", record] if record else [])],
        # controllers on simulated time need the clock at every control period
        parameters=[{"lockstep": lockstep, "clock_rate": 1000.0}],
        output="screen",
        sigterm_timeout="15",  # its writers wait some seconds for the answers of a controller that was killed
    )
    actions = [simulator, _ends_the_launch(simulator)]
    actions += _state_publisher(scene, namespace)
    if controller:
        script = SHARE / "examples" / "dual_arm_lift.py"
        command = [sys.executable, str(script), *(["--namespace", namespace] if namespace else [])]
        process = ExecuteProcess(cmd=command, name="dual_arm_lift", output="screen")
        actions += [process, _ends_the_launch(process)]
    if _truth(context, "rviz"):
        actions.append(_rviz())
    if _truth(context, "view"):
        actions.append(_web_view(scene))
    return actions


def _ends_the_launch(process):
    done = [EmitEvent(event=Shutdown(reason="the simulation or its controller has ended"))]
    return RegisterEventHandler(OnProcessExit(target_action=process, on_exit=done))


def _state_publisher(scene, namespace):
    """robot_state_publisher gives the robots' links to /tf."""
    if not _has("robot_state_publisher"):
        return [LogInfo(msg="robot_state_publisher is not installed: /tf has the free objects only")]
    description = _robot_description(scene)
    if not description:
        return []
    parameters = [{"robot_description": description, "use_sim_time": True}]
    name = "robot_state_publisher"
    return [Node(package=name, executable=name, namespace=namespace, parameters=parameters)]


def _rviz():
    if not _has("rviz2"):
        return LogInfo(msg="rviz:=true, but rviz2 is not installed: sudo apt install ros-$ROS_DISTRO-rviz2")
    return Node(package="rviz2", executable="rviz2", parameters=[{"use_sim_time": True}])


def _web_view(scene):
    if importlib.util.find_spec("mb_contact.viewer") is None:
        return LogInfo(msg="view:=true, but this mb_contact has no web view")
    return ExecuteProcess(cmd=["mb-contact", "view", scene], output="screen")


def generate_launch_description():
    declared = [
        DeclareLaunchArgument(name, default_value=value, description=text) for name, value, text in ARGUMENTS
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=_actions)])
