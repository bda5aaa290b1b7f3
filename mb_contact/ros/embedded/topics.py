# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Publishers and subscriptions of the embedded node: encoded messages in and out of its wire."""

from collections.abc import Callable
from typing import Any

from mb_contact.ros.embedded.cdr import Decoder
from mb_contact.ros.embedded.messages import serialize
from mb_contact.ros.embedded.prepared import Prepared


class Publisher:
    """``publish(message)``, or :meth:`prepare` for messages that never change shape."""

    def __init__(self, node: Any, type_name: str, topic_name: str, qos: Any) -> None:
        self.topic_name = topic_name
        self.type_name = type_name
        self.qos = qos
        self.tap = None  #: called with the CDR bytes of every message, for recording
        self.look_at, self.heard = 0.0, False  #: when to look for listeners again, and whether there were some
        self.dropped = 0  #: messages given up because a reliable reader hangs
        self.end = node.link.writer(type_name, topic_name, qos)
        self._last = b""  # of a latched topic: what was sent

    def publish(self, message: Any) -> None:
        """Encode and send a message."""
        data = serialize(message, self.type_name)
        self.send(data.ljust((len(data) + 3) & ~3, b"\0"), len(data))

    def send(self, data: Any, size: int) -> None:
        """Send CDR bytes, padded to a multiple of 4; ``size`` without the padding."""
        if not self.end.write(data, size):
            self.dropped += 1
        if self.qos.latched and self.qos.depth == 1:
            self._last = bytes(data)
        if self.tap is not None:
            self.tap(bytes(data[:size]))

    def greet(self) -> None:
        """Send what is latched again to those who have come and ask for nothing."""
        if self._last:
            self.end.greet(self._last)

    def get_subscription_count(self) -> Any:
        """Return how many subscriptions are matched."""
        return self.end.matched()

    def prepare(self, message: Any) -> Any:
        """Return a :class:`Prepared` message of this shape."""
        return Prepared(self, message)


class Subscription:
    """The receiving end of a topic and its callback."""

    ordered = True  #: its samples are handed over in the order in which all were written

    def __init__(
        self, node: Any, type_name: str, topic_name: str, callback: Callable[..., Any], qos: Any, raw: bool
    ) -> None:
        self.topic_name = topic_name
        self.type_name = type_name
        self._callback, self._raw = callback, raw
        self._decode = Decoder(type_name)
        self.tap = None  #: called with the CDR bytes of every message, for recording
        self.end = node.link.reader(type_name, topic_name, qos)

    def get_publisher_count(self) -> Any:
        """Return how many publishers are matched."""
        return self.end.matched()

    def handle(self, data: Any, _sender: Any) -> None:
        """Decode a sample and call back."""
        if self.tap is not None:
            self.tap(data)
        self._callback(data if self._raw else self._decode(data))
