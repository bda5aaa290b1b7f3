# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Unmodified ros2_control controllers move the simulated dual arm, through joint_state_topic_hardware_interface.

::

    ros2 launch mb_contact ros2_control.launch.py
    ros2 control list_controllers
    ros2 launch mb_contact ros2_control.launch.py --show-args

Not in lockstep: the hardware stamps its commands with its own clock, and they answer no particular state.
"""

from launch.actions import OpaqueFunction
from launch.substitutions import Command
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription
from mb_contact.model.resources import find_resource
from mb_contact.ros import launching

SCENE = "package://mb_contact/config/dual_arm_lift.yaml"
ROBOT = "package://mb_contact/config/ros2_control/dual_arm.urdf.xacro"
CONTROLLERS = "package://mb_contact/config/ros2_control/controllers.yaml"
REMAPPINGS = {
    "joint_states": "robot_joint_states",  # joint_states itself comes from the joint_state_broadcaster
    "joint_commands": "robot_joint_commands",
    "robot_description": "simulator_description",  # the controllers' description has the ros2_control part
}
#: what no controller moves yet must not fall meanwhile
PARAMETERS = {"command_timeout_policy": "gravity_compensation"}
PACKAGES = ("controller_manager", "joint_state_topic_hardware_interface", "robot_state_publisher")
SPAWNED = ("joint_state_broadcaster", "left_arm_controller", "right_arm_controller", "effort_controller")
SECONDS = "600"  #: a switch waits for simulated time, which begins after the kernels were compiled on the first run
ARGUMENTS = (
    "scene", "robot", "controllers", "lockstep", "real_time_factor", "clock_rate", "paused", "duration", "params_file",
    "rviz", "rviz_config", "view", "record", "backend",
)  # fmt: skip


def _actions(context):
    launching.refuse_lockstep(context)
    launching.require(*PACKAGES)
    robot, controllers = (find_resource(launching.text_of(context, name)) for name in ("robot", "controllers"))
    description = ParameterValue(Command(["xacro ", str(robot)]), value_type=str)
    simulated = {"use_sim_time": True}
    actions = launching.simulation(context, launching.text_of(context, "scene"), None, REMAPPINGS, False, PARAMETERS)
    actions += [
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            parameters=[{"robot_description": description, **simulated}],
        ),
        Node(
            package="controller_manager",
            executable="ros2_control_node",
            parameters=[str(controllers), simulated],
            output="screen",
        ),
    ]
    # as a group: a message in which some joint has no effort yet is refused whole
    patience = ["--switch-timeout", SECONDS, "--service-call-timeout", SECONDS]
    spawner = ["--param-file", str(controllers), "--activate-as-group", *patience]
    actions.append(Node(package="controller_manager", executable="spawner", arguments=[*SPAWNED, *spawner]))
    return actions


def generate_launch_description():
    """The arguments and what they start."""
    declared = launching.declare(*ARGUMENTS, scene=SCENE, robot=ROBOT, controllers=CONTROLLERS, lockstep="false")
    return LaunchDescription([*declared, OpaqueFunction(function=_actions)])
