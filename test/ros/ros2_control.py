# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The files of config/ros2_control and the remappings of its launch file."""

from __future__ import annotations

import ast

from paths import ROOT

XACRO = "package://mb_contact/config/ros2_control/dual_arm.urdf.xacro"
CONTROLLERS = "package://mb_contact/config/ros2_control/controllers.yaml"


def remappings():
    tree = ast.parse((ROOT / "launch" / "ros2_control.launch.py").read_text(encoding="utf-8"))
    (found,) = [n for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "REMAPPINGS"]
    return ast.literal_eval(found.value)
