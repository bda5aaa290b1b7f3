# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A manipulation test without code: a scene, a controller's command line, and expectations as a file.

::

    ros2 launch mb_contact manipulation_test.launch.py scene:=cell.yaml controller:="ros2 run my_robot grasp" \
        expect:=lift.yaml
    ros2 launch mb_contact manipulation_test.launch.py --show-args

It exits with 1 where the test fails.
"""

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration

from launch import LaunchDescription
from mb_contact.testing.launching import fails_the_launch, manipulation_test

ARGUMENTS = {
    "expect": (None, "expectations: a YAML file (config/expectations.schema.json)"),
    "scene": ("", "scene file or URDF; the expectations may name it"),
    "controller": ("", "command line of the controller; those of the expectations without it"),
    "out": ("out/test", "folder for logs, bag, pictures and the page"),
    "junit": ("", "file for the verdict as JUnit XML"),
}


def _actions(context):
    given = {name: LaunchConfiguration(name).perform(context).strip() for name in ARGUMENTS}
    more = ["--out", given["out"], *(["--junit", given["junit"]] if given["junit"] else [])]
    controllers = [given["controller"]] if given["controller"] else []
    test = manipulation_test(given["expect"], given["scene"], controllers, more)
    return [test, fails_the_launch(test)]


def generate_launch_description():
    """The arguments and what they start."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, (default, text) in ARGUMENTS.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=_actions)])
