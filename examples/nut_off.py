# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A socket in the right hand turns a lug nut off its stud: a controller in a process of its own, over ROS 2 topics.

The law is in nut_controller.py, the topics are in controller_node.py.

    mb-contact run config/wheel_nuts.yaml --lockstep        # one terminal
    python examples/nut_off.py                              # another

It also works in a sourced ROS 2, through rclpy.
"""

from __future__ import annotations

import sys

from controller_node import TaskNode, main
from nut_controller import NutController
from nut_in_process import NUT


class NutNode(TaskNode):
    """The lug nut that /tf shows."""

    def __init__(self, node, frame_prefix=""):
        super().__init__(node, f"{frame_prefix}{NUT}", f"{frame_prefix}wheel_hub")

    def begin(self, model, names, position, seen):
        """Begin with the nut on its stud."""
        return NutController(model, names, position, seen, self.fixed)


if __name__ == "__main__":
    sys.exit(main(None, "nut_off", "A hand turns a lug nut off: the controller.", NutNode))
