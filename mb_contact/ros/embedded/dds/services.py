# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""ROS 2 services over DDS topics, in rmw_cyclonedds' way.

A request travels on ``rq/<name>Request``, its answer on ``rr/<name>Reply``; both are led by
(client guid, sequence number), which the server echoes.  rmw_fastrtps puts these into DDS's own sample identity,
which the wheel neither tells of nor lets one write: a participant of its own (:mod:`mb_contact.ros.embedded.dds.rtps`)
takes requests of Fast DDS and sends their answers, and asks its servers; what Cyclone hears of them is left alone.
"""

import itertools
import struct
import time
import uuid
from collections.abc import Callable
from typing import Any

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.dds import raw as dds_raw
from mb_contact.ros.embedded.dds.context import endpoint_qos, writer_qos
from mb_contact.ros.embedded.dds.rtps import FAST_DDS
from mb_contact.ros.embedded.dds.rtps_streams import End as FastEnd
from mb_contact.ros.embedded.dds.topics import End
from mb_contact.ros.embedded.dds.types import idl_service_struct
from mb_contact.ros.embedded.messages import type_hash, wire_type
from mb_contact.ros.qos import SERVICE

_HEADER = struct.Struct("<Qq")
_ENCAPSULATION = b"\x00\x01\x00\x00"
_CYCLONE = b"\x01\x10"  #: RTPS number of the vendor, at the beginning of the identifiers of its endpoints
_CLIENT_SECONDS = 1.0  #: how long an answer waits for its client's reader to be discovered
_MET = 1000  #: clients that a service keeps in mind


def pack(header: tuple[int, int], body: bytes) -> Any:
    """Return the CDR of a request or answer: 16 header bytes keep the alignment of ``body``."""
    data = _ENCAPSULATION + _HEADER.pack(*header) + body[4:]
    return data.ljust((len(data) + 3) & ~3, b"\0")


def unpack(data: Any) -> Any:
    """Return ``((guid, sequence), cdr of the body)``."""
    if len(data) < 4 + _HEADER.size or data[1] != 1:
        raise CommunicationError("a service message is too short or not little-endian")
    return _HEADER.unpack_from(data, 4), _ENCAPSULATION + data[4 + _HEADER.size :]


def _topics(service_type, name):
    """(type, topic) of requests and of answers."""
    return (f"{service_type}_Request", f"rq{name}Request"), (f"{service_type}_Response", f"rr{name}Reply")


class _End(End):
    """The reader and writer of a service or a client."""

    calls = False  #: a client

    def __init__(self, link: Any, source: Any, service_type: str, name: str) -> None:
        self._link, self._source, is_service = link, source, not self.calls
        topics = dict(_topics(service_type, name))
        incoming, outgoing = topics if is_service else reversed(topics)
        self.ends = tuple(FastEnd(topics[kind], wire_type(kind), type_hash(kind)) for kind in (incoming, outgoing))
        if link.fast_dds is not None:  # first: what Cyclone's end hears of Fast DDS's clients is lost
            link.fast_dds.serve(self)
        role = "serviceid" if is_service else "clientid"
        identity = f"{role}={'.'.join(f'{b:x}' for b in uuid.uuid4().bytes)};"
        qos = writer_qos(SERVICE, outgoing, identity)
        twice = is_service and link.fast_dds is not None  # for Fast DDS alone: see Participant
        struct, context = idl_service_struct(outgoing), link.context
        self.writers = tuple(context.writer(topics[outgoing], struct, qos) for _ in range(1 + twice))
        self.writer = self.writers[0]
        self.reader, self.condition = context.reader(
            topics[incoming], idl_service_struct(incoming), endpoint_qos(SERVICE, incoming, identity)
        )
        self.depth = SERVICE.depth

    def is_foreign(self, writer_handle: int, but: tuple[bytes, ...] = ()) -> bool:
        """Whether who sends to this is of another DDS vendor, and of none of these."""
        sender = dds_raw.of_peer(self.reader.get_matched_publication_data, writer_handle)
        return sender is not None and not sender.key.bytes.startswith((_CYCLONE, *but))

    def take(self, data: bytes, identity: tuple[bytes, bytes]) -> None:
        """Have a request or an answer of Fast DDS handled by the thread that spins the node; from any thread."""
        self._link.node.hand_over(self._source, data, identity)


class Server(_End):
    """The server side."""

    def __init__(self, *arguments: Any) -> None:
        self._met: set[int] = set()  #: handles of clients whose readers have been matched
        super().__init__(*arguments)

    def unpack(self, data: bytes, sender: Any) -> tuple[bytes, Any] | None:
        """The request and what its answer needs; None of a request that begins otherwise, of another vendor's client.

        The sender is the handle of Cyclone's writer, or an identity of Fast DDS.
        """
        if isinstance(sender, tuple):
            return data, (None, sender)
        if sender not in self._met and self.is_foreign(sender):
            return None  # what fits by chance was not asked for
        header, body = unpack(data)
        return body, (header, sender)

    def answer(self, asked: Any, payload: bytes) -> bool:
        """Answer a request; False where its client does not take the answer."""
        header, sender = asked
        if header is None:
            self._link.fast_dds.answer(self, sender, payload)
            return True
        self._await_client(sender)
        return dds_raw.write(self.writer, pack(header, payload))

    def waits_in_vain(self) -> bool:
        """Whether a client of another DDS vendor is there that this cannot answer."""
        served = () if self._link.fast_dds is None else (FAST_DDS,)
        return any(self.is_foreign(handle, served) for handle in dds_raw.writers_of(self.reader))

    def _await_client(self, writer_handle):
        """Wait until the client's reader is matched, so that a first answer is not lost."""
        if writer_handle in self._met:
            return
        deadline = time.monotonic() + _CLIENT_SECONDS
        identity = _identity(dds_raw.of_peer(self.reader.get_matched_publication_data, writer_handle))
        while identity is not None and time.monotonic() < deadline:
            readers = (
                dds_raw.of_peer(self.writer.get_matched_subscription_data, handle)
                for handle in dds_raw.readers_of(self.writer)
            )
            if any(_identity(reader) == identity for reader in readers):
                self._met = {writer_handle} if len(self._met) >= _MET else {*self._met, writer_handle}
                return
            time.sleep(0.002)  # discovery gives no event for one particular reader


class Client(_End):
    """The calling side."""

    calls = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._guid = self.writer.get_instance_handle() & 0xFFFFFFFFFFFFFFFF  # the wheel gives it signed
        self._sequence = itertools.count(1)

    def ready(self) -> bool:
        """Whether a server is matched in both directions."""
        return self._has_server() or self._reaches_fast_dds()

    def _reaches_fast_dds(self):
        return self._link.fast_dds is not None and self._link.fast_dds.reaches(self)

    def _has_server(self):
        """One that takes requests as rmw_cyclonedds sends them: Fast DDS would take their head for what is asked."""
        heard = any(not self.is_foreign(handle) for handle in dds_raw.writers_of(self.reader))
        return heard and dds_raw.matched_readers(self.writer) > 0

    def call(self, body: bytes, keep: Callable[[Any], Any]) -> None:
        """Send a request; before that ``keep`` is told by what its answer will be known."""
        if not self._has_server() and self._reaches_fast_dds():
            self._link.fast_dds.call(self, body, keep)
            return
        header = (self._guid, next(self._sequence))
        keep(header)
        dds_raw.write(self.writer, pack(header, body))

    def unpack(self, data: bytes, sender: Any) -> tuple[Any, bytes] | None:
        """By what an answer is known, and the answer; None of other vendors' servers."""
        if isinstance(sender, tuple):
            return sender, data
        if self.is_foreign(sender):
            return None
        return unpack(data)


def _identity(endpoint):
    """Return the ``clientid`` in an endpoint's user data, None where there is none."""
    if endpoint is None or endpoint.qos is None:
        return None
    for policy in endpoint.qos:
        if type(policy).__name__ == "Userdata":
            for part in bytes(policy.data).split(b";"):
                if part.startswith(b"clientid="):
                    return part
    return None
