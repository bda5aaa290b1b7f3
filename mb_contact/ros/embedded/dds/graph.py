# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which topics there are on the graph, and who publishes on one, from what DDS discovery has heard."""

from typing import Any

from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication
from cyclonedds.core import Policy

from mb_contact.ros.embedded.dds import raw as dds_raw
from mb_contact.ros.embedded.messages import ros_type

_MOST = 10_000  #: publishers of a domain


class Topics:
    """What is published in a domain.

    Parameters
    ----------
    participant : cyclonedds.domain.DomainParticipant
    """

    def __init__(self, participant: Any) -> None:
        self._reader = BuiltinDataReader(participant, BuiltinTopicDcpsPublication)
        self._known = {}

    def names_and_types(self) -> Any:
        """Return ``[(absolute topic, [type name])]`` of all that was ever heard of, as rclpy's call of that kind."""
        for sample in self._reader.take(1000):
            name, type_name = getattr(sample, "topic_name", None), getattr(sample, "type_name", "")
            if name is not None and name.startswith("rt/"):
                self._known.setdefault(name[2:], set()).add(ros_type(type_name))
        return [(name, sorted(types)) for name, types in sorted(self._known.items())]


def publishers_of(participant: Any, topic: str) -> tuple[int, int]:
    """How many publish on a topic (its absolute name) now, and how many of them are best effort."""
    reader = BuiltinDataReader(participant, BuiltinTopicDcpsPublication)
    try:
        found = [end for end in reader.take(_MOST) if getattr(end, "topic_name", None) == f"rt{topic}"]
    finally:
        dds_raw.delete(reader)
    return len(found), sum(end.qos[Policy.Reliability] == Policy.Reliability.BestEffort for end in found)
