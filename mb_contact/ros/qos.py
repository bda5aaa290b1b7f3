# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Quality of service in the few terms that the package uses, the same for both backends."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class QoS:
    """History depth, reliability and durability of one end of a topic.

    Parameters
    ----------
    depth : int
        Messages kept for a slow reader, or for a late joiner when ``latched``.
    reliable : bool
        RELIABLE, otherwise BEST_EFFORT.
    latched : bool
        TRANSIENT_LOCAL: a late joiner receives the last ``depth`` messages.
    """

    depth: int = 10
    reliable: bool = True
    latched: bool = False


STATE = QoS(depth=10)  #: outputs of the simulator
LATCHED = QoS(depth=1, latched=True)  #: robot_description
COMMAND = QoS(depth=1, reliable=False)  #: commands in real time: only the newest counts
COMMAND_LOCKSTEP = QoS(depth=10)  #: commands in lockstep: none may be lost
SERVICE = QoS(depth=10)


def as_qos(value):
    """Return ``value`` as a :class:`QoS`; an integer means its depth, as in rclpy."""
    return QoS(depth=value) if isinstance(value, int) else value
