# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""ROS 2 services over DDS topics, in rmw_cyclonedds' way.

A request travels on ``rq/<name>Request``, its answer on ``rr/<name>Reply``; both are led by
(client guid, sequence number), which the server echoes.  rmw_fastrtps puts these into DDS's own sample identity,
which the wheel neither tells of nor lets one write: a participant of its own (:mod:`mb_contact.ros.embedded.rtps`)
takes requests of Fast DDS and sends their answers, and asks its servers; what Cyclone hears of them is left alone.
"""

from __future__ import annotations

import inspect
import itertools
import struct
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded import dds_raw
from mb_contact.ros.embedded.context import endpoint_qos, writer_qos
from mb_contact.ros.embedded.messages import deserialize, message_class, serialize, type_hash
from mb_contact.ros.embedded.rtps_streams import End
from mb_contact.ros.embedded.types import dds_type_name, idl_service_struct
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


class _Endpoint:
    """The reader and writer of a service or a client."""

    ordered = False  #: among the samples of topics
    calls = False  #: a client

    def __init__(self, node, service_type, name):
        self._node, self.srv_name, is_service = node, node.resolve(name), not self.calls
        topics = dict(_topics(service_type, self.srv_name))
        incoming, outgoing = topics if is_service else reversed(topics)
        self.ends = tuple(End(topics[kind], dds_type_name(kind), type_hash(kind)) for kind in (incoming, outgoing))
        if node.fast_dds is not None:  # first: what Cyclone's end hears of Fast DDS's clients is lost
            node.fast_dds.serve(self)
        role = "serviceid" if is_service else "clientid"
        identity = f"{role}={'.'.join(f'{b:x}' for b in uuid.uuid4().bytes)};"
        self._incoming, self._outgoing = incoming, outgoing
        qos = writer_qos(SERVICE, outgoing, identity)
        twice = is_service and node.fast_dds is not None  # for Fast DDS alone: see Participant
        self.writers = [
            node.context.writer(topics[outgoing], idl_service_struct(outgoing), qos) for _ in range(1 + twice)
        ]
        self.writer = self.writers[0]
        self.reader, self.condition = node.context.reader(
            topics[incoming], idl_service_struct(incoming), endpoint_qos(SERVICE, incoming, identity)
        )
        self.depth = SERVICE.depth

    def is_foreign(self, writer_handle: int, but: tuple[bytes, ...] = ()) -> bool:
        """Whether who sends to this is of another DDS vendor, and of none of these."""
        sender = dds_raw.of_peer(self.reader.get_matched_publication_data, writer_handle)
        return sender is not None and not sender.key.bytes.startswith((_CYCLONE, *but))

    def take(self, data: bytes, identity: tuple[bytes, bytes]) -> None:
        """Have a request or an answer of Fast DDS handled by the thread that spins the node; from any thread."""
        self._node.hand_over(self, data, identity)


class Service(_Endpoint):
    """Server side; ``callback(request, response) -> response``, which may be a coroutine or a :class:`Future`."""

    def __init__(self, node: Any, service_type: str, name: str, callback: Callable[..., Any]) -> None:
        self._callback = callback
        self._met: set[int] = set()  #: handles of clients whose readers have been matched
        super().__init__(node, service_type, name)

    def handle(self, data: Any, sender: Any) -> None:
        """Answer one request, at the end of a coroutine where the callback is one, or once a future is there.

        The sender is the handle of Cyclone's writer, or an identity of Fast DDS.
        """
        if isinstance(sender, tuple):
            header, body = None, data
        elif sender not in self._met and self.is_foreign(sender):
            return  # its request begins otherwise: what fits by chance was not asked for
        else:
            header, body = unpack(data)
        request = deserialize(body, self._incoming)
        response = self._callback(request, message_class(self._outgoing)())
        if inspect.iscoroutine(response):
            self._node.await_later(response, lambda value: self._answer(header, value, sender))
        elif isinstance(response, Future):
            response.then(lambda value: self._answer(header, value, sender))
        else:
            self._answer(header, response, sender)

    def has_foreign_client(self, but: tuple[bytes, ...] = ()) -> bool:
        """Whether a client of another DDS vendor is there, beside these, which waits in vain."""
        return any(self.is_foreign(handle, but) for handle in dds_raw.writers_of(self.reader))

    def _answer(self, header, response, writer_handle):
        if header is None:
            self._node.fast_dds.answer(self, writer_handle, serialize(response, self._outgoing))
            return
        self._await_client(writer_handle)
        if not dds_raw.write(self.writer, pack(header, serialize(response, self._outgoing))):
            self._node.get_logger().warning(f"an answer of {self.srv_name} is lost: a client does not take its answers")

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


class Client(_Endpoint):
    """Calling side, with rclpy's ``call_async`` and ``wait_for_service``."""

    calls = True

    def __init__(self, node: Any, service_type: str, name: str) -> None:
        super().__init__(node, service_type, name)
        self._guid = self.writer.get_instance_handle() & 0xFFFFFFFFFFFFFFFF  # the wheel gives it signed
        self._sequence = itertools.count(1)
        self._pending = {}
        self.Request = message_class(self._outgoing)

    def service_is_ready(self) -> bool:
        """Whether a server is matched in both directions."""
        return self._has_server() or (self._node.fast_dds is not None and self._node.fast_dds.reaches(self))

    def _has_server(self):
        """One that takes requests as rmw_cyclonedds sends them: Fast DDS would take their head for what is asked."""
        heard = any(not self.is_foreign(handle) for handle in dds_raw.writers_of(self.reader))
        return heard and dds_raw.matched_readers(self.writer) > 0

    def wait_for_service(self, timeout_sec: float | None = None) -> bool:
        """Wait for a server; returns whether there is one."""
        deadline = None if timeout_sec is None else time.monotonic() + timeout_sec
        while not self.service_is_ready():
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(0.005)
        return True

    def call_async(self, request: Any) -> Any:
        """Send a request and return its :class:`Future`."""
        header, body, future = (self._guid, next(self._sequence)), serialize(request, self._outgoing), Future()
        if not self._has_server() and self._node.fast_dds is not None and self._node.fast_dds.reaches(self):
            self._node.fast_dds.call(self, body, lambda identity: self._pending.__setitem__(identity, future))
            return future
        self._pending[header] = future
        dds_raw.write(self.writer, pack(header, body))
        return future

    def handle(self, data: Any, writer_handle: Any) -> None:
        """Complete the future of an answer; answers to other clients pass by on the same topic."""
        if isinstance(writer_handle, tuple):
            header, body = writer_handle, data
        elif self.is_foreign(writer_handle):
            return
        else:
            header, body = unpack(data)
        future = self._pending.pop(header, None)
        if future is not None:
            future.set_result(deserialize(body, self._incoming))


class Future:
    """The answer to come."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._result = None
        self._then: Callable[[Any], Any] | None = None

    def then(self, callback: Callable[[Any], Any]) -> None:
        """Call ``callback(answer)`` when it comes, on the thread that delivers it; it must not be there yet."""
        self._then = callback

    def done(self) -> bool:
        """Whether the answer is there."""
        return self._event.is_set()

    def result(self) -> Any:
        """The answer, None before it came."""
        return self._result

    def set_result(self, value: Any) -> None:
        """Deliver the answer."""
        self._result = value
        self._event.set()
        if self._then is not None:
            self._then(value)

    def wait(self, timeout: float | None = None) -> Any:
        """Block until the answer is there (another thread spins); returns whether it is."""
        return self._event.wait(timeout)


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
