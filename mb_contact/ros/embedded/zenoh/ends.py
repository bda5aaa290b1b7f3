# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The ends of topics and services on Zenoh: publishers, subscribers, queryables and queries with attachments."""

import itertools
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import zenoh

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.messages import service_hash, type_hash, wire_type
from mb_contact.ros.embedded.zenoh import keys
from mb_contact.ros.qos import MOST, SERVICE

_QUERY_SECONDS = 24 * 3600.0  #: an action's result may be asked for long before it is there
_NO_SENDER = bytes(16)


class End:
    """One endpoint of a node: its key expression, its token, and what of Zenoh it has.

    Parameters
    ----------
    link : Link
    kind : str
        Of :mod:`~mb_contact.ros.embedded.zenoh.keys`.
    name : str
        Absolute.
    type_name, type_hash : str
    qos : QoS

    Attributes
    ----------
    inbox : str or bytes
        What tells that something which comes in is for this end.
    entity : object or None
        That of Zenoh, while the end is on the graph.
    closed : bool
        Whether it has left: what comes in before ``entity`` is there, as what latched topics keep may, counts.
    """

    def __init__(self, link: Any, kind: str, name: str, type_name: str, type_hash: str, qos: Any) -> None:
        self._session, self._graph, self.qos = link.context.session, link.context.graph, qos
        self._about = name, type_name, type_hash
        self.key = keys.key_expression(link.context.domain_id, name, type_name, type_hash)
        about = name, wire_type(type_name), type_hash, keys.qos_text(qos)
        self._name = link.place.token(link.context.number(), kind, *about)
        self.gid = keys.identifier(self._name)
        self.inbox: Any = self.key
        self.entity: Any = None
        self.closed = False
        self._token: Any = None

    def _declare(self, entity):
        """Be on the graph, with what of Zenoh does the work."""
        self.entity, self._token = entity, self._session.liveliness().declare_token(self._name)

    def _count(self, kind):
        return self._graph.count(kind, *self._about)

    def close(self) -> None:
        """Leave the graph; a second call does nothing."""
        entity, self.entity, self.closed = self.entity, None, True
        if self._token is not None:
            self._token.undeclare()
            self._token = None
            entity.undeclare()


def _direct(put):
    return zenoh.handlers.Callback(put, indirect=False)


class Writer(End):
    """A publisher; where it is latched it keeps what late joiners ask for."""

    def __init__(self, link: Any, type_name: str, name: str, qos: Any) -> None:
        super().__init__(link, keys.PUBLISHER, name, type_name, type_hash(type_name), qos)
        self._sequence = itertools.count(1)
        # each message at once: together with the next ones it would wait for them
        settings: dict[str, Any] = {"express": True, "congestion_control": zenoh.CongestionControl.DROP}
        if not qos.latched:
            self._declare(self._session.declare_publisher(self.key, **settings))
            return
        cache = zenoh.ext.CacheConfig(max(1, qos.depth))
        declare = zenoh.ext.declare_advanced_publisher
        self._declare(declare(self._session, self.key, cache=cache, publisher_detection=True, **settings))

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

    def open(self, put: Callable[[Any], Any]) -> None:
        """Subscribe; ``put`` is called with every sample, by Zenoh's threads."""
        if not self.qos.latched:
            self._declare(self._session.declare_subscriber(self.key, _direct(put)))
            return
        history = zenoh.ext.HistoryConfig(detect_late_publishers=True, max_samples=max(1, self.qos.depth))
        self._declare(zenoh.ext.declare_advanced_subscriber(self._session, self.key, _direct(put), history=history))

    def keep(self, kept: list[Any], sample: Any) -> None:
        """Add a sample to those that wait: the newest ones up to the depth or, of those that lose none, all."""
        kept.append(sample)
        if not self.qos.keep_all and len(kept) > max(1, self.qos.depth):
            del kept[0]

    def taken(self, kept: list[Any]) -> list[tuple[bytes, int, Any]]:
        """Bytes, source time and sender of samples; of a flood of one sender as many as DDS would let wait."""
        found, of = [], Counter[bytes]()
        for sample in kept:
            try:
                _, stamp, gid = keys.attached(sample.attachment)
            except CommunicationError:  # of a program that speaks Zenoh, but not as ROS: its bytes may be good
                stamp, gid = time.time_ns(), _NO_SENDER
            of[gid] += 1
            if of[gid] <= MOST:
                found.append((sample.payload.to_bytes(), stamp, gid))
        return found

    def matched(self) -> int:
        """How many publishers send to this."""
        return self._count(keys.PUBLISHER)


class Server(End):
    """A queryable; an answer carries the number and the sender of its request."""

    def __init__(self, link: Any, service_type: str, name: str) -> None:
        super().__init__(link, keys.SERVER, name, service_type, service_hash(service_type), SERVICE)

    def open(self, put: Callable[[Any], Any]) -> None:
        """Serve; ``put`` is called with every query, by Zenoh's threads."""
        self._declare(self._session.declare_queryable(self.key, _direct(put), complete=True))

    def keep(self, kept: list[Any], query: Any) -> None:
        """Add a query to those that wait."""
        kept.append(query)

    def taken(self, kept: list[Any]) -> list[tuple[bytes, int, Any]]:
        """Requests, the time, and the queries that they came with."""
        payloads = (b"" if query.payload is None else query.payload.to_bytes() for query in kept)
        return [(payload, time.time_ns(), query) for payload, query in zip(payloads, kept)]

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
        query.drop()  # the client is told that there are no more
        return True

    def waits_in_vain(self) -> bool:
        """Whether a client is there that this cannot answer."""
        return False


class Client(End):
    """Queries to the servers of a name, one of which answers."""

    def __init__(self, link: Any, service_type: str, name: str) -> None:
        super().__init__(link, keys.CLIENT, name, service_type, service_hash(service_type), SERVICE)
        self._sequence, self.inbox = itertools.count(1), self.gid
        self._put: Callable[[Any], Any] = lambda _: None

    def open(self, put: Callable[[Any], Any]) -> None:
        """Be ready to call; ``put`` is called with every reply, by Zenoh's threads."""
        self._put = put
        target, consolidation = zenoh.QueryTarget.ALL_COMPLETE, zenoh.ConsolidationMode.NONE
        self._declare(self._session.declare_querier(
            self.key, target=target, consolidation=consolidation, timeout=_QUERY_SECONDS, express=True
        ))  # fmt: skip

    def ready(self) -> bool:
        """Whether there is a server."""
        return self._count(keys.SERVER) > 0

    def call(self, body: bytes, keep: Callable[[Any], Any]) -> None:
        """Send a request; before that ``keep`` is told by what its answer will be known."""
        number = next(self._sequence)
        keep(number)
        self.entity.get(_direct(self._put), payload=body, attachment=keys.attachment(number, self.gid))

    def keep(self, kept: list[Any], reply: Any) -> None:
        """Add a reply to those that wait."""
        kept.append(reply)

    def taken(self, kept: list[Any]) -> list[tuple[bytes, int, Any]]:
        """Answers, the time, and the numbers of their requests."""
        return [(r.ok.payload.to_bytes(), time.time_ns(), keys.attached(r.ok.attachment)[0]) for r in kept]

    def unpack(self, data: bytes, number: Any) -> tuple[Any, bytes]:
        """By what an answer is known, and the answer."""
        return number, data
