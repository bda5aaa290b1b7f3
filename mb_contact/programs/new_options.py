# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Options of ``mb-contact new``: what is said of each robot follows it; arguments of xacro files."""

import argparse
from typing import Any


def xacro_argument(text: str) -> tuple[str, str]:
    """Name and value of NAME:=VALUE, an argument of a xacro file."""
    name, given, value = text.partition(":=")
    if not (name and given):
        raise argparse.ArgumentTypeError(f"'{text}' is no argument NAME:=VALUE of a xacro file")
    return name, value


class OfRobot(argparse.Action):
    """Options of the robot that was named last, in ``robots``; those before any count for the first."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Keep a value for the robot that it belongs to."""
        value = True if self.nargs == 0 else tuple(values) if self.nargs else values
        self.robot_of(parser, namespace, option_string)[self.dest] = value

    def robot_of(self, parser: Any, namespace: Any, option_string: str | None) -> dict[str, Any]:
        """What is said of the robot that a value of this option belongs to."""
        robots = namespace.robots = getattr(namespace, "robots", None) or [{}]
        if self.dest in robots[-1]:
            if self.dest != "robot":
                parser.error(f"{option_string} is given twice for one robot; each --robot has its own")
            robots.append({})
        return robots[-1]


class OfFile(OfRobot):
    """An option that names a file of a robot, and behind it the arguments of a xacro file."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Keep the file, and its arguments in ``robot_args`` or ``gripper_args``."""
        file, *words = values
        try:
            given = dict(map(xacro_argument, words))
        except argparse.ArgumentTypeError as error:
            parser.error(f"{option_string} {file}: {error}; the folder's NAME stands before {option_string}")
        self.robot_of(parser, namespace, option_string).update({self.dest: file, f"{self.dest}_args": given})


#: As of ``add_argument``.
NEW_OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("name", {"metavar": "NAME", "help": "folder to write scene.yaml to"}),
    ("--robot", {"required": True, "action": OfFile, "nargs": "+", "metavar": ("FILE", "NAME:=VALUE"),
                 "help": "URDF, xacro or SDF file, a path or package://, and arguments of a xacro file; again for more,"
                         " each with what follows it"}),
    ("--gripper", {"action": OfFile, "nargs": "+", "metavar": ("FILE", "NAME:=VALUE"),
                   "help": "file of what is fixed to the robot"}),
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
