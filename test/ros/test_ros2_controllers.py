# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Unmodified ros2_control: controller_manager, its controllers and JointStateTopicSystem move the dual arm.

Runs where a ROS 2 with those packages is sourced; test_ros2_control.py holds what needs none.
"""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from mb_contact.model.resources import find_resource
from mb_contact.ros import QoS
from mb_contact.ros.embedded.messages import stamp_ns
from paths import ROOT
from ros.ros2_control import CONTROLLERS, XACRO, remappings
from ros.support import REAL, SET_BOOL, Session, installed_program

SCENE = ROOT / "config" / "dual_arm_lift.yaml"
SPAWNED = ("joint_state_broadcaster", "left_arm_controller", "right_arm_controller", "effort_controller")
PACKAGES = (*SPAWNED[:1], "joint_trajectory_controller", "forward_command_controller",
            "joint_state_topic_hardware_interface")  # fmt: skip
ARM = [f"left_arm_joint_{i}" for i in range(1, 8)]
AWAY = (-0.3, 0.4, 0.3, -0.4, 0.3, 0.2, -0.3)  #: from the box
LONG = 120.0  #: the robot is simulated slowly, so that a busy machine keeps up


class Robot:
    """The simulator, the controller manager and a listener."""

    def __init__(self, ros):
        self.ros = ros
        self.manager_program = installed_program("controller_manager", "ros2_control_node")
        self.spawner_program = installed_program("controller_manager", "spawner")
        index = pytest.importorskip("ament_index_python")
        for package in PACKAGES:
            if package not in index.get_packages_with_prefixes():
                pytest.skip(f"this ROS 2 lacks {package}")
        self.peer = ros.peer()
        self.states = self.peer.listen("robot_joint_states")
        self.commands = self.peer.listen("robot_joint_commands")
        self.broadcast = self.peer.listen("joint_states")
        self._describe()
        self.simulator = self.start_simulator()
        self.peer.next_messages("robot_joint_states")
        self.start = self.position(ARM)
        self.manager = self.start_manager()
        self.spawn()

    def _describe(self):
        xacro = pytest.importorskip("xacro", reason="no xacro here")
        text = "std_msgs/msg/String"
        self.description = self.peer.node.create_publisher(text, "robot_description", QoS(1, latched=True))
        message = self.peer.node.message_type(text)()
        message.data = xacro.process_file(str(find_resource(XACRO))).toxml()
        self.description.publish(message)

    def start_simulator(self):
        parameters = ("real_time_factor:=0.2", "clock_rate:=1000.0", "command_timeout_policy:=gravity_compensation")
        renamed = [x for pair in remappings().items() for x in ("-r", ":=".join(pair))]
        return self.ros.node(SCENE, "--ros-args", *renamed, *(x for p in parameters for x in ("-p", p)))

    def start_manager(self):
        arguments = ("--ros-args", "--params-file", find_resource(CONTROLLERS))
        return self.ros.process(self.manager_program, *arguments)

    def spawn(self):
        arguments = ("--param-file", find_resource(CONTROLLERS), "--activate-as-group")
        spawner = self.ros.process(sys.executable, self.spawner_program, *SPAWNED, *arguments)
        assert spawner.wait(LONG) == 0, spawner.output() + self.manager.output()

    def position(self, names):
        """The newest measured positions."""
        state = self.states[-1]
        return np.array([state.position[list(state.name).index(name)] for name in names])

    def swing(self):
        """Move the left arm away from the box, or back where it is away; its report, and where it should be."""
        away = np.array(AWAY)
        before = self.position(ARM)
        move = -away if (before - self.start) @ away > 0.5 * (away @ away) else away
        return self.follow([str(angle) for angle in move]), before + move

    def follow(self, move):
        """Move the left arm through the controller's action; its report."""
        program = find_resource("package://mb_contact/examples/follow_trajectory.py")
        client = self.ros.process(sys.executable, program, "left_arm_controller", "--seconds", "1", "--move", *move)
        assert client.wait(LONG) == 0, client.output()
        return json.loads(client.lines[-1])

    def command_head(self, efforts):
        """Let forward_command_controller put these on the head, nothing on the hands; wait until they arrive."""
        kind = "std_msgs/msg/Float64MultiArray"
        message = self.peer.node.message_type(kind)()
        message.data = np.concatenate((efforts, np.zeros(8)))
        publisher = self.peer.publisher("effort_controller/commands", kind)
        names = [f"head_joint_{i}" for i in range(1, 5)]

        def arrived():
            command = self.commands[-1]
            found = [command.effort[list(command.name).index(name)] for name in names]
            return found == list(efforts)  # bit for bit

        self.peer.send_until(publisher, message, arrived)


@pytest.fixture(scope="module")
def robot():
    with Session(**REAL) as ros:
        yield Robot(ros)


def test_the_arms_do_not_fall_before_their_controllers_are_active(robot):
    assert np.abs(robot.position(ARM) - robot.start).max() < 0.3


def test_the_simulator_may_restart(robot):
    """The manager waits until simulated time has come to where it was, then its controllers go on; nothing fell."""
    robot.simulator.signal()
    assert robot.simulator.wait() == 0, robot.simulator.output()
    robot.simulator = robot.start_simulator()
    count = len(robot.commands)
    robot.peer.until(lambda: len(robot.commands) > count + 50, LONG)
    robot.command_head([0.5, 0.25, 0.125, 0.0])
    assert np.abs(robot.position(ARM) - robot.start).max() < 0.3


def test_a_trajectory_is_followed(robot):
    report, goal = robot.swing()
    assert report["error_code"] == 0
    assert max(report["largest"]) < 0.2 and max(report["last"]) < 0.05
    # the goal counts from where the arm was when it was asked; its wrist was then still swinging from the restart
    assert np.abs(robot.position(ARM) - goal).max() < 0.15


def test_forward_command_controllers_efforts_arrive_unchanged(robot):
    robot.command_head([0.1234567890123456, -1.75, 1.0 / 3.0, 0.0])
    assert not any(np.isnan(command.effort).any() for command in robot.commands[-100:])


def test_the_broadcaster_tells_what_the_simulator_measured(robot):
    """joint_states of the broadcaster are the simulator's, bit for bit: nothing echoes a command.

    joint_state_topic_hardware_interface copies a message while the next one takes its place: now and then what it tells
    is partly of one state and partly of the next.  An effort that echoed its command would be of another state always.
    """
    robot.peer.next_messages("joint_states", 50)
    measured = np.array([numbers(state) for state in robot.states[-5000:]])
    same = [measured == numbers(state) for state in robot.broadcast[-40:-10]]
    assert all((equal[:-1] | equal[1:]).all(axis=1).any() for equal in same)
    assert sum(equal.all(axis=1).any() for equal in same) > len(same) / 2


def numbers(state):
    """Positions, then efforts of a joint state, its joints in alphabetical order."""
    order = np.argsort(list(state.name))
    return np.concatenate((np.asarray(state.position)[order], np.asarray(state.effort)[order]))


def test_the_manager_may_restart(robot):
    """Killed while the arm hangs in the air: the simulator holds it against gravity; a new manager goes on."""
    robot.manager.close()
    robot.simulator.wait_for("policy 'gravity_compensation' applies")
    robot.manager = robot.start_manager()
    robot.spawn()
    report, _ = robot.swing()
    assert report["error_code"] == 0


def test_resets_and_pauses_with_live_controllers(robot):
    """Every state is told once, none of an earlier run, and the controllers go on; time goes on over a reset."""
    told, peer = robot.peer.listen("robot_joint_states", qos=QoS(5000)), robot.peer

    def commanded():
        count = len(robot.commands)
        peer.until(lambda: len(robot.commands) > count + 5, LONG)

    peer.until(lambda: told)
    for _ in range(20):
        assert peer.call("mb_contact/reset").success
        commanded()
    for _ in range(10):
        assert peer.call("mb_contact/pause", SET_BOOL, data=True).success
        count = len(robot.commands)
        assert peer.call("mb_contact/pause", SET_BOOL, data=False).success
        peer.until(lambda n=count: len(robot.commands) > n + 5, LONG)
    states = list(told)
    assert (np.diff([stamp_ns(state.header.stamp) for state in states]) == 1_000_000).all()
    runs = [int(state.header.frame_id.split()[1]) for state in states]
    assert (np.diff(runs) >= 0).all() and runs[-1] - runs[0] in (19, 20)
    report, _ = robot.swing()
    assert report["error_code"] == 0
