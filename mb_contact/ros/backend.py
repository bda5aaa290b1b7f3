# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Choose a backend and run its nodes."""

import contextlib
import importlib.util
import os
from collections.abc import Callable, Sequence
from typing import Any

from mb_contact.errors import CommunicationError, MbContactError
from mb_contact.ros.options import BACKENDS


def create_node(
    name: str, backend: str = "auto", args: Sequence[str] | None = None, namespace: str = "", wire: str = "auto"
) -> Any:
    """Return a node on the ROS graph.

    Parameters
    ----------
    name : str
        Node name; ``--ros-args -r __node:=other`` overrides it.
    backend : str
        'rclpy' (of a sourced ROS 2 or from PyPI), 'embedded' (Cyclone DDS or Zenoh from PyPI), or 'auto': rclpy in a
        sourced ROS 2, which sets AMENT_PREFIX_PATH.  The variable MB_CONTACT_ROS_BACKEND decides for 'auto'.
    args : sequence of str, optional
        Command line with ``--ros-args``.
    namespace : str
    wire : str
        Of the embedded backend: 'dds', 'zenoh', or 'auto': what the variable MB_CONTACT_ROS_WIRE says, Zenoh where
        RMW_IMPLEMENTATION is rmw_zenoh_cpp or Cyclone DDS is not installed, else DDS.

    Returns
    -------
    EmbeddedNode or RclpyNode
        Both offer ``create_publisher/subscription/service/client/timer``, ``declare_parameter``,
        ``get_parameter``, ``get_clock``, ``get_logger``, names, ``message_type``, ``spin_once``,
        ``wake`` and ``destroy_node``.

    Raises
    ------
    CommunicationError
        Unknown backend, a missing package, or the ROS domain cannot be joined.
    """
    if backend == "auto":
        backend = os.environ.get("MB_CONTACT_ROS_BACKEND", "auto")
    if backend not in BACKENDS:
        raise CommunicationError(f"unknown ROS backend '{backend}'; it must be one of {', '.join(BACKENDS)}")
    if backend == "auto":
        # wheels of rclpy that lie beside us are not what the user has sourced
        sourced = os.environ.get("AMENT_PREFIX_PATH") and importlib.util.find_spec("rclpy")
        backend = "rclpy" if sourced else "embedded"
    if backend == "rclpy":
        from mb_contact.ros.rclpy_backend import create_rclpy_node

        return create_rclpy_node(name, namespace, args)
    from mb_contact.ros.embedded.backend import EmbeddedNode

    return EmbeddedNode(name, namespace, args, wire=wire)


def spin_once(node: Any, timeout_sec: float | None = None) -> None:
    """Wait for work at most ``timeout_sec`` seconds and do it."""
    node.spin_once(timeout_sec)


def spin(node: Any, stop: Callable[[], bool] | None = None) -> None:
    """Work until ``stop()`` is true (asked after every round) or Ctrl-C (SIGINT) arrives."""
    with contextlib.suppress(KeyboardInterrupt):
        while stop is None or not stop():
            node.spin_once(0.1)


def spin_safely(node: Any, timeout_sec: float | None) -> None:
    """As :func:`spin_once`, but what fails is logged: a callback's bug must not silence the node."""
    call_safely(node, "a callback", node.spin_once, timeout_sec)


def call_safely(node: Any, place: str, work: Callable[..., object], *arguments: Any) -> None:
    """Call ``work``; what fails is logged with its place: the thread that answers services goes on."""
    try:
        work(*arguments)
    except Exception as error:
        text = str(error) if isinstance(error, MbContactError) else f"{type(error).__name__} in {place}: {error}"
        node.get_logger().error(text, throttle_duration_sec=1.0)


def shutdown(node: Any) -> None:
    """Take the node off the graph."""
    node.destroy_node()
