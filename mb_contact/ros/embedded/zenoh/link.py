# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A node's link to Zenoh, and the session that all nodes of a process share in one domain."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from typing import Any

from mb_contact.errors import CommunicationError

try:
    import zenoh
except ImportError as _error:  # pragma: no cover - exercised by a test in a child process
    raise CommunicationError(
        f"the wire zenoh of the embedded ROS 2 backend needs the 'eclipse-zenoh' package ({_error}): "
        "pip install eclipse-zenoh"
    ) from None

from mb_contact.ros.embedded.domain import domain_id
from mb_contact.ros.embedded.zenoh import keys
from mb_contact.ros.embedded.zenoh.ends import Client, End, Reader, Server, Writer
from mb_contact.ros.embedded.zenoh.graph import Graph
from mb_contact.ros.embedded.zenoh.router import Router, configuration, stays_here
from mb_contact.ros.embedded.zenoh.waitset import WaitSet

_contexts: dict[int, Context] = {}
_lock = threading.Lock()


class Context:
    """A Zenoh session in a ROS domain, and who is on its graph; for any thread.

    Raises
    ------
    CommunicationError
        A configuration that is malformed, or a router that is waited for in vain.
    """

    def __init__(self, domain: int, environment: Mapping[str, str] | None, logger: Any) -> None:
        self.domain_id, self.users, self._numbers = domain, 0, itertools.count()
        settings = configuration(environment)
        #: whether only this machine reaches the session; None where the network is meant to
        self.confined = True if stays_here(settings) else None
        self.router = Router(settings, environment, logger)
        try:
            self.session = zenoh.open(settings)
        except zenoh.ZError as error:
            self.router.close()
            raise CommunicationError(f"cannot open a Zenoh session: {error}; see ZENOH_SESSION_CONFIG_URI") from None
        try:
            self.router.meet(self.session)
        except CommunicationError:
            self.close()
            raise
        self.graph = Graph(self.session, domain)

    def number(self) -> int:
        """One that no other node or endpoint of this session has."""
        return next(self._numbers)

    def close(self) -> None:
        """End the session, and the router that came with it."""
        self.session.close()
        self.router.close()


class Link:
    """What one node has of the wire.

    Parameters
    ----------
    node : EmbeddedNode
    environment : mapping, optional
        Instead of ``os.environ``.
    """

    wire = "zenoh"

    def __init__(self, node: Any, environment: Mapping[str, str] | None) -> None:
        number = domain_id(environment)
        with _lock:
            if number not in _contexts:
                _contexts[number] = Context(number, environment, node.get_logger())
            self.context = _contexts[number]
            self.context.users += 1
        self.ends: list[End] = []
        session = str(self.context.session.zid())
        self.place = keys.Place(number, session, self.context.number(), node.get_namespace(), node.get_name())
        self._token = self.context.session.liveliness().declare_token(self.place.token(self.place.number, keys.NODE))

    def writer(self, type_name: str, topic: str, qos: Any) -> Any:
        """Return the sending end of a topic."""
        return self._kept(Writer(self, type_name, topic, qos))

    def reader(self, type_name: str, topic: str, qos: Any) -> Any:
        """Return the receiving end of a topic."""
        return self._kept(Reader(self, type_name, topic, qos))

    def server(self, _source: Any, service_type: str, name: str) -> Any:
        """Return the end of a service."""
        return self._kept(Server(self, service_type, name))

    def client(self, _source: Any, service_type: str, name: str) -> Any:
        """Return the end that calls a service."""
        return self._kept(Client(self, service_type, name))

    def _kept(self, end):
        self.ends.append(end)
        return end

    def waitset(self) -> Any:
        """Return what one thread waits with."""
        return WaitSet()

    def announce(self) -> None:
        """Nothing: every end has a token of its own."""

    def close(self, end: Any) -> None:
        """Take an end off the graph."""
        self.ends = [other for other in self.ends if other is not end]
        end.close()

    def names_and_types(self) -> Any:
        """Return ``[(absolute topic, [type name])]`` of all that was ever heard of."""
        return [(name, sorted(types)) for name, types in sorted(self.context.graph.ever.items())]

    def publishers_of(self, topic: str) -> tuple[int, int]:
        """How many publish on a topic (its absolute name) now, and how many of them are best effort."""
        found = self.context.graph.of(keys.PUBLISHER, topic)
        return len(found), sum(not end.reliable for end in found)

    def leave(self) -> None:
        """Take the node and its ends off the graph; the last node ends the session."""
        for end in self.ends:
            end.close()
        self._token.undeclare()
        with _lock:
            self.context.users -= 1
            if not self.context.users:
                _contexts.pop(self.context.domain_id, None)
                self.context.close()
