# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Two jaws hold two boxes against gravity: the simulator node, and on request the squeeze, rviz, a recording.

::

    ros2 launch mb_contact grasp.launch.py controller:=true rviz:=true
    ros2 launch mb_contact grasp.launch.py --show-args
"""

from launch.actions import OpaqueFunction

from launch import LaunchDescription
from mb_contact.ros import launching

SCENE = "package://mb_contact/config/drumwright_grasp.yaml"
ARGUMENTS = (
    "scene", "controller", "lockstep", "real_time_factor", "clock_rate", "paused", "duration", "params_file",
    "state_publisher", "rviz", "rviz_config", "view", "record", "namespace",
    "frame_prefix", "backend",
)  # fmt: skip


def _actions(context):
    scene = launching.text_of(context, "scene")
    return launching.simulation(context, scene, launching.example("grasp_squeeze.py"))


def generate_launch_description():
    """The arguments and what they start."""
    return LaunchDescription([*launching.declare(*ARGUMENTS, scene=SCENE), OpaqueFunction(function=_actions)])
