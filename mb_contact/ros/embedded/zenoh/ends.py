# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The ends of topics and services on Zenoh: publishers, subscribers, queryables and queries with attachments."""

from __future__ import annotations

import itertools
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import zenoh

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.messages import service_hash, type_hash
from mb_contact.ros.embedded.zenoh import keys
from mb_contact.ros.qos import MOST, SERVICE

_QUERY_SECONDS = 24 * 3600.0  #: an action's result may be asked for long before it is there
_NO_SENDER = bytes(16)


class End:
    """One endpoint of a node: its key expression, its token, and what waits in it.

    Parameters
    ----------
    link : Link
    kind : str
        Of :mod:`~mb_contact.ros.embedded.zenoh.keys`.
    name : str
        Absolute.
    type_name, type_hash : str
    qos : QoS
    """

    queue: Any = ()
    tells: Callable[[], Any] = staticmethod(lambda: None)  #: of something in the queue

    def __init__(self, link: Any, kind: str, name: str, type_name: str, type_hash: str, qos: Any) -> None:
        self._graph, self._about = link.context.graph, (name, type_name, type_hash)
        self.key = keys.key_expression(link.context.domain_id, name, type_name, type_hash)
        about = name, keys.wire_type(type_name), type_hash, keys.qos_text(qos)
        token = link.place.token(link.context.number(), kind, *about)
        self.gid = keys.identifier(token)
        self._token = link.context.session.liveliness().declare_token(token)
        self.entity: Any = None  #: that of Zenoh

    def _count(self, kind):
        return self._graph.count(kind, *self._about)

    def take(self) -> list[tuple[bytes, int, Any]]:
        """Everything that has come."""
        taken = []
        while self.queue:
            taken.append(self.queue.popleft())
        return taken

    def close(self) -> None:
        """Leave the graph; a second call does nothing."""
        for declared in (self._token, self.entity):
            if declared is not None:
                declared.undeclare()
        self._token = self.entity = None


class Writer(End):
    """A publisher; where it is latched it keeps what late joiners ask for."""

    def __init__(self, link: Any, type_name: str, name: str, qos: Any) -> None:
        super().__init__(link, keys.PUBLISHER, name, type_name, type_hash(type_name), qos)
        session, self._sequence = link.context.session, itertools.count(1)
        # each message at once: together with the next ones it would wait for them
        settings = {"express": True, "congestion_control": zenoh.CongestionControl.DROP}
        if qos.latched:
            cache = zenoh.ext.CacheConfig(qos.depth)
            self.entity = zenoh.ext.declare_advanced_publisher(
                session, self.key, cache=cache, publisher_detection=True, **settings
            )
        else:
            self.entity = session.declare_publisher(self.key, **settings)

    def write(self, data: Any, size: int) -> bool:
        """Send the first ``size`` of these CDR bytes; True: what a peer that hangs has missed Zenoh does not tell.

        Raises
        ------
        CommunicationError
            The publisher is closed.
        """
        entity = self.entity
        if entity is None:
            raise CommunicationError(f"the publisher of '{self.key}' is closed")
        entity.put(bytes(data[:size]), attachment=keys.attachment(next(self._sequence), self.gid))
        return True

    def matched(self) -> int:
        """How many subscriptions take this."""
        return self._count(keys.SUBSCRIPTION)

    def greet(self, data: bytes) -> None:
        """Nothing: late joiners ask for what they have missed."""


class Reader(End):
    """A subscriber, which asks for what it has missed where it is latched."""

    def __init__(self, link: Any, type_name: str, name: str, qos: Any) -> None:
        super().__init__(link, keys.SUBSCRIPTION, name, type_name, type_hash(type_name), qos)
        self.queue = deque(maxlen=None if qos.keep_all else max(1, qos.depth))
        self._waiting: Counter | None = Counter() if qos.keep_all else None  # by sender: none pushes out another
        session, handler = link.context.session, zenoh.handlers.Callback(self._on_sample, indirect=False)
        if qos.latched:
            history = zenoh.ext.HistoryConfig(detect_late_publishers=True, max_samples=max(1, qos.depth))
            self.entity = zenoh.ext.declare_advanced_subscriber(session, self.key, handler, history=history)
        else:
            self.entity = session.declare_subscriber(self.key, handler)

    def _on_sample(self, sample):
        try:
            _, stamp, gid = keys.attached(sample.attachment)
        except CommunicationError:  # of a program that speaks Zenoh, but not as ROS: its bytes may be good
            stamp, gid = time.time_ns(), _NO_SENDER
        if self._waiting is not None:
            if self._waiting[gid] >= MOST:
                return
            self._waiting[gid] += 1
        self.queue.append((sample.payload.to_bytes(), stamp, gid))
        self.tells()

    def take(self) -> list[tuple[bytes, int, Any]]:
        """Everything that has come."""
        taken = super().take()
        if self._waiting is not None:
            self._waiting.subtract(gid for _, _, gid in taken)
        return taken

    def matched(self) -> int:
        """How many publishers send to this."""
        return self._count(keys.PUBLISHER)


class Server(End):
    """A queryable; an answer carries the number and the sender of its request."""

    def __init__(self, link: Any, service_type: str, name: str) -> None:
        super().__init__(link, keys.SERVER, name, service_type, service_hash(service_type), SERVICE)
        self.queue = deque(maxlen=MOST)
        handler = zenoh.handlers.Callback(self._on_query, indirect=False)
        self.entity = link.context.session.declare_queryable(self.key, handler, complete=True)

    def _on_query(self, query):
        self.queue.append((b"" if query.payload is None else query.payload.to_bytes(), time.time_ns(), query))
        self.tells()

    def unpack(self, data: bytes, query: Any) -> tuple[bytes, Any]:
        """The request, and what its answer needs.

        Raises
        ------
        CommunicationError
            It has no number.
        """
        sequence, _, gid = keys.attached(query.attachment)
        return data, (query, sequence, gid)

    def answer(self, asked: Any, payload: bytes) -> bool:
        """Answer a request; False where its client has gone."""
        query, sequence, gid = asked
        try:
            query.reply(self.key, payload, attachment=keys.attachment(sequence, gid))
        except zenoh.ZError:
            return False
        finally:
            query.drop()  # the client is told that there are no more
        return True

    def waits_in_vain(self) -> bool:
        """Whether a client is there that this cannot answer."""
        return False


class Client(End):
    """Queries to the servers of a name, one of which answers."""

    def __init__(self, link: Any, service_type: str, name: str) -> None:
        super().__init__(link, keys.CLIENT, name, service_type, service_hash(service_type), SERVICE)
        self.queue = deque(maxlen=MOST)
        self._session, self._sequence = link.context.session, itertools.count(1)

    def ready(self) -> bool:
        """Whether there is a server."""
        return self._count(keys.SERVER) > 0

    def call(self, body: bytes, keep: Callable[[Any], Any]) -> None:
        """Send a request; before that ``keep`` is told by what its answer will be known."""
        number = next(self._sequence)
        keep(number)

        def on_reply(reply):
            if reply.ok is not None:
                self.queue.append((reply.ok.payload.to_bytes(), time.time_ns(), number))
                self.tells()

        self._session.get(
            self.key, zenoh.handlers.Callback(on_reply, indirect=False), payload=body,
            attachment=keys.attachment(number, self.gid), target=zenoh.QueryTarget.ALL_COMPLETE,
            consolidation=zenoh.ConsolidationMode.NONE, timeout=_QUERY_SECONDS, express=True,
        )  # fmt: skip

    def unpack(self, data: bytes, number: Any) -> tuple[Any, bytes]:
        """By what an answer is known, and the answer."""
        return number, data
