# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The options of a view; nothing heavy is imported here, for ``--help``."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mb_contact.errors import InputError

#: what the joints' motors do: the first two as the node's timeout policies call them; where the joints are, they stay
EFFORTS = ("zero", "gravity_compensation", "hold")
FASTEST = "0: as fast as possible"  #: what that real-time factor means
LAST_PORT = 65535


@dataclass
class ViewOptions:
    """How to view a scene; see ``mb-contact view --help``."""

    host: str = "127.0.0.1"
    port: int = 8080
    paused: bool = False
    factor: float = 1.0
    efforts: str = "zero"
    duration: float | None = None
    follow: bool = False
    backend: str = "auto"
    namespace: str = ""
    node: str = "mb_contact"
    ros_args: tuple = ()
    open: bool = False
    scene: str | None = None  #: of a recording
    html: str | None = None  #: file to write in the place of a page
    rerun: str | None = None  #: the same for Rerun's viewer


def as_port(value: Any) -> int:
    """Return ``value``, a number or a text, as a port one can listen on, or raise InputError."""
    try:
        port = int(value)
    except ValueError:
        raise InputError(f"the port must be a whole number, got '{value}'") from None
    if not 1 <= port <= LAST_PORT:
        raise InputError(f"the port must be from 1 to {LAST_PORT}, got {port}")
    return port


def as_factor(value: Any) -> float:
    """Return ``value``, a number or a text, as a real-time factor, or raise InputError."""
    try:
        factor = float(value)
    except (TypeError, ValueError):
        raise InputError(f"the real-time factor must be a number, got '{value}'") from None
    if not 0.0 <= factor < math.inf:
        raise InputError(f"the real-time factor must be finite and not below zero ({FASTEST}), got {factor:g}")
    return factor


def _argument(check):
    """A check as argparse wants it."""

    def convert(text):
        try:
            return check(text)
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


_DEFAULT = ViewOptions()
_OPTIONS = (
    ("scene_file", {"metavar": "SCENE", "nargs": "?", "help": "scene file (YAML), URDF or SDF, a path, package://, or "
                                                             "a recording (MCAP, ros2 bag); none: a gallery"}),
    ("--port", {"type": _argument(as_port), "default": _DEFAULT.port, "help": "of the web page, or the next free one"}),
    ("--host", {"default": _DEFAULT.host, "help": "address to listen on; 0.0.0.0 lets other machines look and press "
                                                  "the buttons, by an address with a token (default: this machine "
                                                  "alone)"}),
    ("--open", {"action": "store_true", "help": "open a browser too, where there is a screen"}),
    ("--paused", {"action": "store_true", "help": "begin paused"}),
    ("--real-time-factor", {"dest": "factor", "type": _argument(as_factor), "default": 1.0, "help": FASTEST}),
    ("--efforts", {"choices": EFFORTS, "default": _DEFAULT.efforts, "help": "what the joints' motors do"}),
    ("--duration", {"type": float, "metavar": "S", "help": "simulated seconds (else until Ctrl-C)"}),
    ("--scene", {"metavar": "FILE", "help": "of a recording that does not tell its scene"}),
    ("--html", {"metavar": "FILE", "help": "write one HTML file that runs without a server, and end"}),
    ("--rerun", {"metavar": "FILE", "help": "write a file for Rerun's viewer (.rrd), and end"}),
)  # fmt: skip
_FOLLOWING = (
    ("--follow", {"action": "store_true", "help": "by its topics joint_states, /tf, contacts, certificate"}),
    ("--backend", {"choices": ("auto", "rclpy", "embedded"), "default": _DEFAULT.backend}),
    ("--namespace", {"default": _DEFAULT.namespace, "help": "of the node"}),
    ("--node", {"default": _DEFAULT.node, "help": "its name, for its services (default: mb_contact)"}),
)


def add_view_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a view to a parser."""
    follow = parser.add_argument_group("following a node", "show a node that runs this scene instead of simulating it")
    for group, options in ((parser, _OPTIONS), (follow, _FOLLOWING)):
        for flag, settings in options:
            group.add_argument(flag, **settings)


def options_from_arguments(arguments: argparse.Namespace, ros_args: Sequence[str] = ()) -> ViewOptions:
    """ViewOptions of parsed arguments."""
    names = ViewOptions.__dataclass_fields__.keys() - {"ros_args"}
    return ViewOptions(**{name: getattr(arguments, name) for name in names}, ros_args=tuple(ros_args))


def add_render_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``mb-contact render`` to a parser."""
    add = parser.add_argument
    add("scene_file", metavar="SCENE", help="scene file (YAML), URDF or SDF, or a recording (MCAP, ros2 bag)")
    add("--film", action="store_true", help="a film (GIF, WebP, animated PNG) in the place of a picture")
    add("--out", metavar="FILE", help="file to write (default: the scene's name, .png or .gif)")
    add("--duration", type=float, metavar="S", help="simulated seconds of the film (5), or until the picture (0)")
    add("--every", type=float, default=0.1, metavar="S", help="seconds between two pictures of a film (0.1)")
    add("--speed", type=float, default=1.0, metavar="X", help="simulated seconds of a second of the film (1)")
    add("--width", type=int, default=800, metavar="N", help="of the picture [pixels]; it is three quarters high")
    add("--eye", type=float, nargs=3, metavar=("X", "Y", "Z"), help="where one looks from [m]")
    add("--target", type=float, nargs=3, metavar=("X", "Y", "Z"), help="and at what [m]")
    add("--efforts", choices=EFFORTS, default="zero", help="of the joints' motors")
    add("--scene", metavar="FILE", help="of a recording that does not tell its scene")
    add("--no-forces", action="store_true", help="without the arrows of contact forces")
