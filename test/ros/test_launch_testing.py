# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The launch_testing suite of test/ros/launch_tests, each file by launch_test in a process and a ROS domain of its own.

By hand: launch_test test/ros/launch_tests/launch_contract.py
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).resolve().parent / "launch_tests").glob("launch_*.py"))


def why_not():
    """What is missing for launch tests, or ''."""
    for package in ("launch_testing", "launch_ros", "rclpy"):
        if importlib.util.find_spec(package) is None:
            return f"no sourced ROS 2 with {package} here: launch tests cannot run"
    from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

    try:
        get_package_share_directory("mb_contact")
    except PackageNotFoundError:
        return "mb_contact is not installed in this ROS 2: colcon build first, then launch tests can run"
    return ""


REASON = why_not()


@pytest.mark.skipif(bool(REASON), reason=REASON)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_launch(path):
    domain = os.environ.get("ROS_DOMAIN_ID") or str(1 + (os.getpid() + FILES.index(path)) % 100)
    environment = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", **os.environ, "ROS_DOMAIN_ID": domain}
    command = [sys.executable, "-m", "launch_testing.launch_test", str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-8000:]
