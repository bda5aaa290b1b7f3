# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The tests of this package: four by their expectations, one in code; ``colcon test``, or ``pytest`` in its folder.

One more, by unmodified ros2_control controllers, runs where a ROS 2 that has them is sourced.
"""

import os
from pathlib import Path

import pytest

from mb_contact.testing import distance, force, load_plan, slip

HERE = Path(__file__).resolve().parents[1]
ROS2_CONTROL = ("controller_manager", "joint_state_topic_hardware_interface", "joint_trajectory_controller",
                "forward_command_controller", "robot_state_publisher", "manipulation_tests")  # fmt: skip


def lacks(packages):
    """Those of the packages that no sourced workspace has."""
    places = [Path(place) / "share" for place in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if place]
    return [package for package in packages if not any((place / package).is_dir() for place in places)]


@pytest.mark.parametrize("name", ["wheel", "peg", "lift", "grasp"])
def test_expectations(manipulation, name):
    """Expectations that need no code."""
    manipulation(load_plan(HERE / "expectations" / f"{name}.yaml")).finish()


def test_a_grasp_that_is_pushed(manipulation):
    """The same grasp, step by step: a push as soon as the jaws hold the box."""
    squeeze = f"python {HERE / 'manipulation_tests' / 'squeeze.py'}"
    run = manipulation("package://mb_contact/config/drumwright_grasp.yaml", squeeze)
    run.wait_for(force("box_left", by="left_jaw") >= 50.0, within=1.0)
    run.push("box_left", force=(0, 60, 0), lasting=0.2)
    run.keep(slip("box_left", against="left_jaw") <= 0.001, lasting=0.5)
    run.now(distance("box_left", to="start") <= 0.001)


@pytest.mark.skipif(bool(lacks(ROS2_CONTROL)), reason=f"not sourced: {', '.join(lacks(ROS2_CONTROL))}")
def test_ros2_control(manipulation):
    """An arm follows a trajectory that its joint_trajectory_controller is asked for."""
    manipulation(load_plan(HERE / "expectations" / "ros2_control.yaml")).finish()
