# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which wire the embedded node speaks by: DDS (Eclipse Cyclone DDS) or Zenoh, each discovery and transport alone.

A wire's ``Link`` is what a node has of it: it makes the ends of topics and services, tells who else is there, and makes
what threads wait with.  Messages, their types and hashes, services, parameters and actions are the same on both.
"""

import importlib.util
import os
from collections.abc import Mapping
from typing import Any

from mb_contact.errors import CommunicationError
from mb_contact.ros.options import WIRES

VARIABLE = "MB_CONTACT_ROS_WIRE"


def chosen_wire(wire: str = "auto", environment: Mapping[str, str] | None = None) -> str:
    """Return dds or zenoh: what is asked for, here or by ``MB_CONTACT_ROS_WIRE``, or what there is.

    ``auto`` is Zenoh where ``RMW_IMPLEMENTATION`` is rmw_zenoh_cpp, and where Cyclone DDS is not installed but
    Zenoh is.

    Raises
    ------
    CommunicationError
        There is no such wire.
    """
    environment = environment if environment is not None else os.environ
    if wire == "auto":
        wire = environment.get(VARIABLE, "").strip() or "auto"
    if wire not in WIRES:
        raise CommunicationError(f"unknown wire '{wire}'; it must be one of {', '.join(WIRES)}")
    if wire != "auto":
        return wire
    if environment.get("RMW_IMPLEMENTATION") == "rmw_zenoh_cpp":
        return "zenoh"
    return "zenoh" if not _installed("cyclonedds") and _installed("zenoh") else "dds"


def speak_by(wire: str) -> None:
    """Have all nodes of this process and of its children speak by a wire, where it is not ``auto``."""
    if wire != "auto":
        os.environ[VARIABLE] = wire


def _installed(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:  # None in its place among the modules
        return False


def link(node: Any, wire: str, environment: Mapping[str, str] | None) -> Any:
    """Return a node's link to its wire.

    Raises
    ------
    CommunicationError
        A missing package, or the ROS domain cannot be joined.
    """
    if chosen_wire(wire, environment) == "zenoh":
        from mb_contact.ros.embedded.zenoh.link import Link
    else:
        from mb_contact.ros.embedded.dds.link import Link  # type: ignore[assignment]

    return Link(node, environment)
