# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Two arms, a hub and a wheel: the simulator node, and on request a controller, rviz, the web view, a recording.

::

    ros2 launch mb_contact wheel.launch.py controller:=true rviz:=true
    ros2 launch mb_contact wheel.launch.py controller:=true nuts:=true
    ros2 launch mb_contact wheel.launch.py --show-args
"""

from launch.actions import OpaqueFunction

from launch import LaunchDescription
from mb_contact.ros import launching

SCENE = "package://mb_contact/config/wheel_change.yaml"
NUTS = "package://mb_contact/config/wheel_nuts.yaml"
ARGUMENTS = (
    "scene", "nuts", "controller", "lockstep", "real_time_factor", "clock_rate", "paused", "duration", "params_file",
    "state_publisher", "rviz", "rviz_config", "view", "record", "namespace",
    "frame_prefix", "backend",
)  # fmt: skip


def _actions(context):
    scene, nuts = launching.text_of(context, "scene"), launching.truth_of(context, "nuts")
    if nuts and scene == SCENE:
        scene = NUTS
    controller = "nut_off.py" if nuts else "wheel_change.py"
    frames = ["--frame-prefix", launching.text_of(context, "frame_prefix")]
    return launching.simulation(context, scene, [*launching.example(controller), *frames])


def generate_launch_description():
    """The arguments and what they start."""
    return LaunchDescription([*launching.declare(*ARGUMENTS, scene=SCENE), OpaqueFunction(function=_actions)])
