# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""ros2_control's controllers of the dual arm, without a simulator: that is started by the test."""

from launch.substitutions import Command
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription
from mb_contact.model.resources import find_resource

FOLDER = "package://mb_contact/config/ros2_control"
FILES = ("dual_arm.urdf.xacro", "controllers.yaml")
SPAWNED = ("joint_state_broadcaster", "left_arm_controller", "right_arm_controller", "effort_controller")
SECONDS = "600"  #: a switch waits for simulated time


def generate_launch_description():
    """robot_state_publisher, the controller manager, and the spawner."""
    robot, controllers = (str(find_resource(f"{FOLDER}/{name}")) for name in FILES)
    description = ParameterValue(Command(["xacro ", robot]), value_type=str)
    simulated = {"use_sim_time": True}
    patience = ["--switch-timeout", SECONDS, "--service-call-timeout", SECONDS]
    spawner = ["--param-file", controllers, "--activate-as-group", *patience]
    return LaunchDescription([
        Node(package="robot_state_publisher", executable="robot_state_publisher",
             parameters=[{"robot_description": description, **simulated}]),
        Node(package="controller_manager", executable="ros2_control_node", parameters=[controllers, simulated]),
        Node(package="controller_manager", executable="spawner", arguments=[*SPAWNED, *spawner]),
    ])  # fmt: skip
