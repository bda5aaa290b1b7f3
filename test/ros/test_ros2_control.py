# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What ros2_control sends through joint_state_topic_hardware_interface, and the configuration for it.

The publishers are stand-ins that send what JointStateTopicSystem::write sends: all joints of its block in one
JointState, its own clock as the stamp, position and velocity empty, QoS reliable with depth 1; NaN for a joint whose
command nobody has set, unless the block gives an ``initial_value``.
"""

from __future__ import annotations

import signal

import numpy as np
import pytest
import yaml
from lxml import etree

from mb_contact.model.resources import find_resource
from mb_contact.model.urdf.reader import load_urdf
from mb_contact.ros import QoS
from mb_contact.testing import load_plan
from paths import ROOT
from ros.ros2_control import CONTROLLERS, XACRO, remappings
from ros.support import Session

JOINTS = ["joint_0", "joint_1", "joint_2"]
WALL = 1_700_000_000 * 10**9  #: a wall clock's stamp [ns]


@pytest.fixture(scope="module")
def block():
    """The ros2_control element of the description that the launch file gives."""
    xacro = pytest.importorskip("xacro", reason="no xacro here")
    document = xacro.process_file(str(find_resource(XACRO)))
    return etree.fromstring(document.toxml().encode()).find("ros2_control")


def test_the_block_avoids_the_traps(block):
    parameters = {p.get("name"): p.text for p in block.find("hardware").findall("param")}
    assert float(parameters["trigger_joint_command_threshold"]) == -1.0
    renamed = remappings()
    assert parameters["joint_states_topic"] == renamed["joint_states"] == "robot_joint_states"
    assert parameters["joint_commands_topic"] == renamed["joint_commands"] == "robot_joint_commands"
    assert renamed["robot_description"] != "robot_description"
    names = [joint.get("name") for joint in block.findall("joint")]
    assert sorted(names) == sorted(load_urdf(find_resource("package://mb_contact/urdf/dual_arm.urdf")).joint_names)
    for joint in block.findall("joint"):
        (command,) = joint.findall("command_interface")
        assert command.get("name") == "effort"
        # arms wait for their controllers, which set an effort as soon as they are active; what waits for a user is 0
        assert command.findtext("param") == (None if "_arm_" in joint.get("name") else "0.0")
        assert {s.get("name") for s in joint.findall("state_interface")} == {"position", "velocity", "effort"}


def test_controllers_claim_every_joint_once(block):
    document = yaml.safe_load(find_resource(CONTROLLERS).read_text(encoding="utf-8"))
    names = [joint.get("name") for joint in block.findall("joint")]
    claimed = [j for key, value in document.items() for j in value["ros__parameters"].get("joints", ())]
    assert sorted(claimed) == sorted(names)
    manager = document["controller_manager"]["ros__parameters"]
    for name, parameters in document.items():
        assert parameters["ros__parameters"]["use_sim_time"] is True
        if "gains" in parameters["ros__parameters"]:
            assert set(parameters["ros__parameters"]["gains"]) == set(parameters["ros__parameters"]["joints"])
        assert name == "controller_manager" or name in manager


def test_the_example_test_is_as_the_launch_file():
    """Names, clock and policy; slower, so that a busy machine keeps up."""
    plan = load_plan(ROOT / "examples" / "manipulation_tests" / "expectations" / "ros2_control.yaml")
    assert plan.remap == remappings() and not plan.lockstep
    manager = yaml.safe_load(find_resource(CONTROLLERS).read_text(encoding="utf-8"))["controller_manager"]
    assert plan.options.clock_rate >= manager["ros__parameters"]["update_rate"]
    assert plan.options.command_timeout_policy == "gravity_compensation" and plan.options.real_time_factor < 1.0


def hardware(peer, topic="robot_joint_commands"):
    return peer.publisher(topic, qos=QoS(depth=1))


def renamed_node(ros, *more):
    arguments = [x for pair in remappings().items() for x in ("-r", ":=".join(pair))]
    return ros.simulator("--joints", "3", "--ros-args", *arguments, *more)


def test_commands_with_a_wall_clock_act_and_the_effort_is_not_their_echo():
    with Session() as ros:
        node = renamed_node(ros)
        peer = ros.peer()
        states = peer.listen("robot_joint_states")
        commands = hardware(peer)
        command = peer.joint_command(JOINTS, [100.0, -100.0, 3.0], WALL)
        # the stand-in's limit is 50: what acted is told, not what was asked for
        acted = [50.0, -50.0, 3.0]
        peer.send_until(commands, command, lambda: states and states[-1].effort.tolist() == acted)
        assert not any(100.0 in np.abs(state.effort) for state in states)
        node.signal(signal.SIGINT)
        assert node.wait() == 0
        assert " 0 rejected" in node.output()


def test_before_a_controller_is_active_nan_is_refused_and_then_all_is_well():
    with Session() as ros:
        node = renamed_node(ros)
        peer = ros.peer()
        states = peer.listen("robot_joint_states")
        commands = hardware(peer)
        unclaimed = peer.joint_command(JOINTS, [1.0, 1.0, float("nan")], WALL)
        told = lambda: any("effort: that of joint" in line for line in node.errors)  # noqa: E731
        peer.send_until(commands, unclaimed, told)
        peer.until(lambda: states)
        assert not any(state.effort.any() for state in states)  # whole, not joint by joint
        command = peer.joint_command(JOINTS, [1.0, 1.0, 0.0], WALL)
        peer.send_until(commands, command, lambda: states and states[-1].effort.tolist() == [1.0, 1.0, 0.0])


def test_silence_of_a_threshold_ends_in_the_policy_and_repeating_does_not():
    """Why the threshold is -1: with the default the hardware falls silent once effort and command agree."""
    with Session() as ros:
        node = renamed_node(ros, "-p", "command_timeout:=0.2", "-p", "command_timeout_policy:=zero")
        peer = ros.peer()
        states = peer.listen("robot_joint_states")
        commands = hardware(peer)
        command = peer.joint_command(JOINTS, [1.0, 2.0, 3.0], WALL)
        peer.send_until(commands, command, lambda: states and states[-1].effort.tolist() == [1.0, 2.0, 3.0])
        node.wait_for("policy 'zero' applies")
        peer.until(lambda: not states[-1].effort.any())


def test_forward_command_controllers_commands_work_without_ros2_control():
    """The same message: plain data, no layout; joints in the model's order."""
    with Session() as ros:
        ros.simulator("--joints", "3", "--ros-args", "-r", "effort_commands:=forward_command_controller/commands")
        peer = ros.peer()
        states = peer.listen("joint_states")
        topic, kind = "forward_command_controller/commands", "std_msgs/msg/Float64MultiArray"
        commands = peer.publisher(topic, kind, QoS(depth=10))
        message = peer.node.message_type(kind)()
        message.data = [0.5, 1.5, 2.5]
        peer.send_until(commands, message, lambda: states and states[-1].effort.tolist() == [0.5, 1.5, 2.5])
