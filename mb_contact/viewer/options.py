# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The options of a view; nothing heavy is imported here, for ``--help``."""

from __future__ import annotations

from dataclasses import dataclass

EFFORTS = ("zero", "gravity_compensation")  #: what the joints' motors do, as the node's timeout policies call it


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


def add_view_arguments(parser):
    """Add the options of a view to a parser."""
    default = ViewOptions()
    parser.add_argument("scene", metavar="SCENE", help="scene file (YAML), a path or package://")
    parser.add_argument("--port", type=int, default=default.port, help="of the web page, or the next free one")
    text = "address to listen on; 0.0.0.0 lets other machines look and press the buttons (default: this machine alone)"
    parser.add_argument("--host", default=default.host, help=text)
    parser.add_argument("--open", action="store_true", help="open a browser too, where there is a screen")
    parser.add_argument("--paused", action="store_true", help="begin paused")
    parser.add_argument("--real-time-factor", dest="factor", type=float, default=1.0, help="0: as fast as possible")
    parser.add_argument("--efforts", choices=EFFORTS, default=default.efforts, help="what the joints' motors do")
    parser.add_argument("--duration", type=float, metavar="S", help="simulated seconds (else until Ctrl-C)")
    follow = parser.add_argument_group("following a node", "show a node that runs this scene instead of simulating it")
    follow.add_argument("--follow", action="store_true", help="by its topics joint_states, /tf, contacts, certificate")
    follow.add_argument("--backend", choices=("auto", "rclpy", "embedded"), default=default.backend)
    follow.add_argument("--namespace", default=default.namespace, help="of the node")
    follow.add_argument("--node", default=default.node, help="its name, for its services (default: mb_contact)")


def options_from_arguments(arguments, ros_args=()):
    """ViewOptions of parsed arguments."""
    names = ViewOptions.__dataclass_fields__.keys() - {"ros_args"}
    return ViewOptions(**{name: getattr(arguments, name) for name in names}, ros_args=tuple(ros_args))
