# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Options of ``mb-contact test``, without what a test needs: ``--help`` is quick."""

from typing import Any

#: Options of a test; the command line and the launch file share them.
TEST_OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("scene", {"nargs": "?", "metavar": "SCENE", "help": "scene file, URDF or SDF; the expectations may name it"}),
    ("--expect", {"metavar": "FILE.yaml", "required": True, "help": "expectations (config/expectations.schema.json)"}),
    ("--controller", {"action": "append", "default": [], "metavar": "COMMAND",
                      "help": "command line of a controller; again for more"}),
    ("--duration", {"type": float, "metavar": "S", "help": "simulated seconds at most"}),
    ("--wall", {"type": float, "metavar": "S", "help": "wall seconds at most (else none: verdicts know no clock)"}),
    ("--backend", {"choices": ("auto", "rclpy", "embedded")}),
    ("--trials", {"type": int, "metavar": "N", "help": "trials that draw the values of 'draw'"}),
    ("--trial", {"type": int, "metavar": "K", "help": "the one trial of this number, with all that shows it"}),
    ("--seed", {"type": int, "metavar": "N", "help": "of the trials (0)"}),
    ("--rate", {"type": float, "metavar": "R", "help": "least rate of success of trials, from 0 to 1 (1)"}),
    ("--processes", {"type": int, "default": 1, "metavar": "N", "help": "that share the trials (1)"}),
    ("--law", {"metavar": "FILE.py:FUNCTION", "help": "controller for all trials at once, in this process and without "
               "topics: from time, positions and velocities (trials, joints) to efforts"}),
    ("--attach", {"action": "store_true", "help": "check what runs already in this ROS domain, another simulator or a "
                  "robot, by its topics"}),
    ("--out", {"default": "out/test", "metavar": "DIR", "help": "folder for logs, bag, pictures, page (out/test)"}),
    ("--junit", {"metavar": "FILE.xml", "help": "write the verdict as JUnit XML"}),
    ("--html", {"action": "store_true", "help": "write the page and pictures of tests that pass too"}),
)  # fmt: skip
