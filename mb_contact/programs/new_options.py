# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Options of ``mb-contact new``: what is said of each robot follows it."""

import argparse
from typing import Any


class OfRobot(argparse.Action):
    """Options of the robot that was named last, in ``robots``; those before any count for the first."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Keep a value for the robot that it belongs to."""
        robots = namespace.robots = getattr(namespace, "robots", None) or [{}]
        if self.dest in robots[-1]:
            if self.dest != "robot":
                parser.error(f"{option_string} is given twice for one robot; each --robot has its own")
            robots.append({})
        robots[-1][self.dest] = True if self.nargs == 0 else tuple(values) if self.nargs else values


#: As of ``add_argument``.
NEW_OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("name", {"metavar": "NAME", "help": "folder to write scene.yaml to"}),
    ("--robot", {"required": True, "action": OfRobot, "metavar": "FILE",
                 "help": "URDF, xacro or SDF file, a path or package://; again for more, each with what follows it"}),
    ("--gripper", {"action": OfRobot, "metavar": "FILE", "help": "file of what is fixed to the robot"}),
    ("--at", {"action": OfRobot, "metavar": "LINK", "help": "link of the robot that the gripper is fixed to"}),
    ("--tcp", {"action": OfRobot, "nargs": 3, "type": float, "metavar": ("X", "Y", "Z"),
               "help": "of a frame 'tcp' between the gripper's fingers, in the axes of that link [m]"}),
    ("--prefix", {"action": OfRobot, "metavar": "TEXT",
                  "help": "of all its names (default: one where another robot has them)"}),
    ("--place", {"action": OfRobot, "nargs": 3, "type": float, "metavar": ("X", "Y", "YAW"),
                 "help": "of its base [m, rad] (default: side by side)"}),
    ("--free", {"action": OfRobot, "nargs": 0, "help": "the robot's base is not fixed: legs, wheels"}),
    ("--object", {"action": "append", "default": [], "dest": "objects", "metavar": "FILE",
                  "help": "mesh, URDF or SDF of something to handle; again for more"}),
    ("--table", {"action": "store_true", "help": "robots and objects stand on a table"}),
)  # fmt: skip
