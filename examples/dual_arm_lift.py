# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Two arms lift a box: a controller in a process of its own, over ROS 2 topics.

The law is in lift_controller.py, the topics are in controller_node.py.

    mb-contact run config/dual_arm_lift.yaml --lockstep       # one terminal
    python examples/dual_arm_lift.py                          # another

It also works without lockstep and, in a sourced ROS 2, through rclpy.
"""

from __future__ import annotations

import sys

from controller_node import TaskNode, main
from lift_controller import LiftController


class LiftNode(TaskNode):
    """The lift of the box that /tf shows."""

    def __init__(self, node, frame_prefix=""):
        super().__init__(node, f"{frame_prefix}box")

    def begin(self, model, names, position, seen):
        """Begin where the box is seen."""
        return LiftController(model, names, position, seen[0])

    def law(self, state):
        """Efforts for one state."""
        effort = self.controller.update(state.elapsed, state.position, state.velocity, state.terms, state.seen[0])
        self.phase = self.controller.phase(state.elapsed)
        self.done = state.elapsed >= self.controller.duration
        return effort


if __name__ == "__main__":
    sys.exit(main(None, "dual_arm_lift", "Two arms lift a box: the controller.", LiftNode))
