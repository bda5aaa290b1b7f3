# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Two arms take a wheel off its hub and put it back: a controller in a process of its own, over ROS 2 topics.

The law is in wheel_controller.py, the topics are in controller_node.py.

    mb-contact run config/wheel_change.yaml --lockstep        # one terminal
    python examples/wheel_change.py                           # another

It also works in a sourced ROS 2, through rclpy.
"""

from __future__ import annotations

import sys

from controller_node import TaskNode, main
from wheel_controller import FINGERS, WheelController, grips


class WheelNode(TaskNode):
    """The change of the wheel that /tf shows."""

    def __init__(self, node, frame_prefix=""):
        fingers = [finger for hand in FINGERS for finger in hand]
        super().__init__(node, f"{frame_prefix}wheel", f"{frame_prefix}wheel_hub", fingers)
        self._forces = {}

    def begin(self, model, names, position, seen):
        """Begin with the wheel on its hub."""
        return WheelController(model, names, position, seen, self.fixed)

    def observed(self, state):
        """The wheel, and what the fingers feel."""
        self._forces.update(state.felt)
        return *super().observed(state), grips(self._forces) if state.felt else None


if __name__ == "__main__":
    sys.exit(main(None, "wheel_change", "Two arms change a wheel: the controller.", WheelNode))
