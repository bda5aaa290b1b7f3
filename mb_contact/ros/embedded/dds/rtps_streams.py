# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Reliable streams of RTPS, samples from one writer and to one reader, each of them once, and who has them."""

import struct
from dataclasses import dataclass, field
from typing import Any

from mb_contact.ros.embedded.dds import rtps_wire as wire

_KEPT = 1000  #: samples at most that one reader has not acknowledged, and that came out of order


class Incoming:
    """Which samples of a remote writer are there."""

    def __init__(self) -> None:
        self.next, self.count = 1, 0
        self._seen: set[int] = set()
        self._parts: dict[int, dict[int, bytes]] = {}

    def is_new(self, number: int) -> bool:
        """Whether a sample is here for the first time; from then on it is not."""
        if number < self.next or number in self._seen or len(self._seen) >= _KEPT:
            return False
        self._seen.add(number)
        self._advance(self.next)
        return True

    def skip(self, end: int, others: list[int]) -> None:
        """Nothing before ``end`` will come, nor these."""
        self._seen.update(others)
        self._advance(max(end, self.next))

    def _advance(self, to):
        self._parts = {number: parts for number, parts in self._parts.items() if number >= to}
        self._seen = {number for number in self._seen if number >= to}
        while to in self._seen:
            self._seen.remove(to)
            to += 1
        self.next = to

    def missing(self, last: int) -> list[int]:
        """Of those up to ``last``."""
        return [n for n in range(self.next, min(last + 1, self.next + 256)) if n not in self._seen]

    def joined(self, number: int, payload: bytes, place: tuple[int, int, int, int]) -> bytes | None:
        """The sample of which these are fragments, once all of them are there."""
        first, count, size, whole = place
        if not 0 < size or whole > wire.LARGEST or (number not in self._parts and len(self._parts) >= 16):
            return None
        parts = self._parts.setdefault(number, {})
        for index in range(count):
            parts[first + index] = payload[index * size : (index + 1) * size]
        if len(parts) < -(-whole // size):
            return None
        return b"".join(parts[index] for index in sorted(self._parts.pop(number)))[:whole]


class Outgoing:
    """What a remote reader gets of a writer here, in sequence numbers of its own."""

    def __init__(self, reader: bytes, writer: bytes) -> None:
        self.ends = reader, writer
        self.last, self._count = 0, 0  #: number of the newest sample
        self.kept: dict[int, list[bytes]] = {}  #: submessages of what is not acknowledged

    def add(self, payload: bytes, qos: bytes = b"") -> list[bytes]:
        """The submessages of a new sample."""
        self.last += 1
        self.kept[self.last] = wire.sample(*self.ends, self.last, payload, qos)
        if len(self.kept) > _KEPT:
            del self.kept[min(self.kept)]
        return self.kept[self.last]

    def acknowledged(self, before: int) -> None:
        """Forget what has arrived."""
        self.kept = {number: pieces for number, pieces in self.kept.items() if number >= before}

    def heartbeat(self) -> bytes:
        """Tells what there is, and asks what has arrived."""
        self._count += 1
        first = min(self.kept, default=self.last + 1)
        span = wire.sequence(first) + wire.sequence(self.last)
        return wire.submessage(wire.HEARTBEAT, self.ends[0] + self.ends[1] + span + struct.pack("<i", self._count))


@dataclass
class End:
    """Requests or answers of a service: their DDS topic, its type, that type's hash, the number of the entity."""

    topic: str
    type: str
    hash: str
    id: bytes = b""


@dataclass
class Peer:
    """A participant of Fast DDS."""

    prefix: bytes
    meta: list[tuple[str, int]]
    user: list[tuple[str, int]]
    expires: float = 0.0
    met: bool = False  #: whether it has taken our announcement; it may not listen yet when it sends its first one
    ends: dict[bytes, tuple[Any, ...]] = field(default_factory=dict)  #: (is a writer, topic, type) by entity there
    incoming: dict[bytes, Incoming] = field(default_factory=dict)  #: by writer there
    outgoing: dict[tuple[bytes, bytes], Outgoing] = field(default_factory=dict)  #: by reader there, writer here
    writers: dict[bytes, list[Any]] = field(default_factory=dict)  #: services and clients by writer there
    early: list[tuple[Any, bytes, bytes]] = field(default_factory=list)
