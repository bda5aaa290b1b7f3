# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The ends of topics on DDS: encoded messages in and out of readers and writers."""

from functools import cached_property
from typing import Any

from cyclonedds.core import Policy

from mb_contact.ros.embedded.dds import raw as dds_raw
from mb_contact.ros.embedded.dds.context import endpoint_qos, gid_of, writer_qos
from mb_contact.ros.embedded.dds.types import idl_struct
from mb_contact.ros.qos import MOST


class End:
    """The readers and writers of one endpoint of a node."""

    reader: Any = None
    condition: Any = None  #: that wakes who waits for the reader
    writers: tuple[Any, ...] = ()

    @cached_property
    def reader_gids(self) -> list[Any]:
        """Of the reader, as the node announces it."""
        return [] if self.reader is None else [gid_of(self.reader)]

    @cached_property
    def writer_gids(self) -> list[Any]:
        """Of the writers, as the node announces them."""
        return [gid_of(writer) for writer in self.writers]

    def entities(self) -> list[Any]:
        """All, in the order in which they are deleted."""
        return [entity for entity in (self.condition, self.reader, *self.writers) if entity is not None]


class Writer(End):
    """The writer of a topic."""

    def __init__(self, link: Any, type_name: str, topic: str, qos: Any) -> None:
        self.writer = link.context.writer(f"rt{topic}", idl_struct(type_name), writer_qos(qos, type_name))
        self.writers = (self.writer,)
        self._met: set[int] = set()  #: readers that were looked at

    def write(self, data: Any, _size: int) -> bool:
        """Send CDR bytes, padded to a multiple of 4; False where a reliable reader hangs and nothing was sent."""
        return dds_raw.write(self.writer, data)

    def matched(self) -> int:
        """How many readers are matched."""
        return dds_raw.matched_readers(self.writer)

    def greet(self, data: bytes) -> None:
        """Send what is latched again where a best-effort reader has come: DDS keeps nothing for those that are late."""
        readers = set(dds_raw.readers_of(self.writer))
        new = (dds_raw.of_peer(self.writer.get_matched_subscription_data, at) for at in readers - self._met)
        self._met = readers
        if any(reader is not None and _takes_latched_at_best(reader.qos) for reader in new):
            dds_raw.write(self.writer, data)


class Reader(End):
    """The reader of a topic."""

    def __init__(self, link: Any, type_name: str, topic: str, qos: Any) -> None:
        self.depth = MOST if qos.keep_all else max(1, qos.depth)
        self.reader, self.condition = link.context.reader(
            f"rt{topic}", idl_struct(type_name), endpoint_qos(qos, type_name)
        )

    def matched(self) -> int:
        """How many writers are matched."""
        return dds_raw.matched_writers(self.reader)


def _takes_latched_at_best(qos):
    """Whether a reader is best effort and nevertheless expects what was sent before it came."""
    reliability, durability = qos[Policy.Reliability], qos[Policy.Durability]
    return reliability == Policy.Reliability.BestEffort and durability == Policy.Durability.TransientLocal
