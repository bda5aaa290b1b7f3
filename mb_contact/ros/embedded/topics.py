# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Publishers and subscriptions of the embedded node: encoded messages in and out of DDS."""

from collections.abc import Callable
from typing import Any

from cyclonedds.core import Policy

from mb_contact.ros.embedded import dds_raw
from mb_contact.ros.embedded.cdr import Decoder
from mb_contact.ros.embedded.context import endpoint_qos, writer_qos
from mb_contact.ros.embedded.messages import serialize
from mb_contact.ros.embedded.prepared import Prepared
from mb_contact.ros.embedded.types import idl_struct
from mb_contact.ros.qos import MOST


class Publisher:
    """One writer; ``publish(message)``, or :meth:`prepare` for messages that never change shape."""

    def __init__(self, node: Any, type_name: str, topic_name: str, qos: Any) -> None:
        self.topic_name = topic_name
        self.type_name = type_name
        self.qos = qos
        self.tap = None  #: called with the CDR bytes of every message, for recording
        self.look_at, self.heard = 0.0, False  #: when to look for listeners again, and whether there were some
        self.dropped = 0  #: messages given up because a reliable reader hangs
        self.writer = node.context.writer(f"rt{topic_name}", idl_struct(type_name), writer_qos(qos, type_name))
        self._last, self._met = b"", set()  # of a latched topic: what was sent, and the readers that were looked at

    def publish(self, message: Any) -> None:
        """Encode and send a message."""
        data = serialize(message, self.type_name)
        self.send(data.ljust((len(data) + 3) & ~3, b"\0"), len(data))

    def send(self, data: Any, size: int) -> None:
        """Send CDR bytes, padded to a multiple of 4; ``size`` without the padding."""
        if not dds_raw.write(self.writer, data):
            self.dropped += 1
        if self.qos.latched and self.qos.depth == 1:
            self._last = bytes(data)
        if self.tap is not None:
            self.tap(bytes(data[:size]))

    def greet(self) -> None:
        """Send what is latched again where a best-effort reader has come: DDS keeps nothing for those that are late."""
        if not self._last:
            return
        readers = set(dds_raw.readers_of(self.writer))
        new = (dds_raw.of_peer(self.writer.get_matched_subscription_data, at) for at in readers - self._met)
        self._met = readers
        if any(reader is not None and _takes_latched_at_best(reader.qos) for reader in new):
            dds_raw.write(self.writer, self._last)

    def get_subscription_count(self) -> Any:
        """Return how many subscriptions are matched."""
        return dds_raw.matched_readers(self.writer)

    def prepare(self, message: Any) -> Any:
        """Return a :class:`Prepared` message of this shape."""
        return Prepared(self, message)


class Subscription:
    """One reader and its callback."""

    ordered = True  #: its samples are handed over in the order in which all were written

    def __init__(
        self, node: Any, type_name: str, topic_name: str, callback: Callable[..., Any], qos: Any, raw: bool
    ) -> None:
        self.topic_name = topic_name
        self.type_name = type_name
        self.depth = MOST if qos.keep_all else max(1, qos.depth)
        self._callback, self._raw = callback, raw
        self._decode = Decoder(type_name)
        self.tap = None  #: called with the CDR bytes of every message, for recording
        self.reader, self.condition = node.context.reader(
            f"rt{topic_name}", idl_struct(type_name), endpoint_qos(qos, type_name)
        )

    def get_publisher_count(self) -> Any:
        """Return how many publishers are matched."""
        return dds_raw.matched_writers(self.reader)

    def handle(self, data: Any, _writer_handle: Any) -> None:
        """Decode a sample and call back."""
        if self.tap is not None:
            self.tap(data)
        self._callback(data if self._raw else self._decode(data))


def _takes_latched_at_best(qos):
    """Whether a reader is best effort and nevertheless expects what was sent before it came."""
    reliability, durability = qos[Policy.Reliability], qos[Policy.Durability]
    return reliability == Policy.Reliability.BestEffort and durability == Policy.Durability.TransientLocal
