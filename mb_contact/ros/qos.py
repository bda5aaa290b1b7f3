# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Quality of service in the few terms that the package uses, the same for both backends."""

from dataclasses import dataclass, replace
from typing import Any

from mb_contact.errors import CommunicationError


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
    keep_all : bool
        Of a reader: lose nothing; when MOST messages wait, reliable writers have to.  Otherwise a flood on a topic
        pushes out what others send there: DDS counts ``depth`` over all writers together.
    lifespan : float, optional
        Seconds after which a late joiner does not receive a message any more.
    """

    depth: int = 10
    reliable: bool = True
    latched: bool = False
    keep_all: bool = False
    lifespan: float | None = None


MOST = 1000  #: messages that wait in a reader which keeps all
STATE = QoS(depth=10)  #: outputs of the simulator
LATCHED = QoS(depth=1, latched=True)  #: robot_description
COMMAND = QoS(depth=100, reliable=False)  #: commands in real time: the newest acts, and all that came in are taken
COMMAND_LOCKSTEP = QoS(depth=10, keep_all=True)  #: commands in lockstep: none may be lost
SERVICE = QoS(depth=10)
SENSOR = QoS(depth=5, reliable=False)  #: images and scans, as ROS has it for sensor data: a late one is of no use

#: Policies that ROS's ``qos_overrides.TOPIC.publisher|subscription.POLICY`` parameters may change, and their words.
RELIABILITY = {"reliable": True, "best_effort": False}
HISTORY = {"keep_all": True, "keep_last": False}
DURABILITY = {"transient_local": True, "volatile": False}


def as_qos(value: Any) -> Any:
    """Return ``value`` as a :class:`QoS`; an integer means its depth, as in rclpy."""
    return QoS(depth=value) if isinstance(value, int) else value


def policies(qos: Any) -> Any:
    """Return the overridable policies as parameter values."""
    return {
        "depth": qos.depth,
        "durability": "transient_local" if qos.latched else "volatile",
        "history": "keep_all" if qos.keep_all else "keep_last",
        "reliability": "reliable" if qos.reliable else "best_effort",
    }


def overridden(qos: Any, values: Any, prefix: str) -> Any:
    """Return ``qos`` with the policies in ``values``, checked; ``prefix`` begins the parameters' names.

    Raises
    ------
    CommunicationError
        An unknown word, or a depth below one.
    """
    for policy, field, words in (
        ("reliability", "reliable", RELIABILITY), ("durability", "latched", DURABILITY),
        ("history", "keep_all", HISTORY),
    ):  # fmt: skip
        if policy in values:
            if values[policy] not in words:
                message = f"{prefix}.{policy} is '{values[policy]}'; it must be one of {', '.join(words)}"
                raise CommunicationError(message)
            qos = replace(qos, **{field: words[values[policy]]})
    depth = values.get("depth", 1)
    if not isinstance(depth, int) or depth < 1:
        raise CommunicationError(f"{prefix}.depth is {depth!r}; it must be a number from 1 on")
    return replace(qos, depth=values.get("depth", qos.depth))
