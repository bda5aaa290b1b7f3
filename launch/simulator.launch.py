# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The simulator node for any scene file, or for any URDF on a ground plane.

::

    ros2 launch mb_contact simulator.launch.py urdf:=/path/to/robot.urdf base:=free height:=0.6
    ros2 launch mb_contact simulator.launch.py scene:=/path/to/scene.yaml rviz:=true
    ros2 launch mb_contact simulator.launch.py --show-args
"""

from launch.actions import OpaqueFunction

from launch import LaunchDescription
from mb_contact.ros import launching

ARGUMENTS = (
    "scene", "urdf", "base", "height", "lockstep", "real_time_factor", "clock_rate", "paused", "duration",
    "params_file", "state_publisher", "rviz", "rviz_config", "view", "record", "namespace",
    "frame_prefix", "backend",
)  # fmt: skip


def _actions(context):
    return launching.simulation(context, launching.scene_of(context))


def generate_launch_description():
    """The arguments and what they start."""
    return LaunchDescription([*launching.declare(*ARGUMENTS, lockstep="false"), OpaqueFunction(function=_actions)])
