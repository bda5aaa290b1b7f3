# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A node's link to DDS: its ends in the participant of the process, and its own one for services to Fast DDS."""

from collections.abc import Mapping
from typing import Any

from mb_contact.ros.embedded.dds import raw as dds_raw
from mb_contact.ros.embedded.dds.context import acquire_context
from mb_contact.ros.embedded.dds.discovery import discovery_range
from mb_contact.ros.embedded.dds.graph import Topics, publishers_of
from mb_contact.ros.embedded.dds.rtps import join
from mb_contact.ros.embedded.dds.services import Client, Server
from mb_contact.ros.embedded.dds.topics import Reader, Writer
from mb_contact.ros.embedded.dds.waitset import WaitSet


class Link:
    """What one node has of the wire.

    Parameters
    ----------
    node : EmbeddedNode
    environment : mapping, optional
        Instead of ``os.environ``.
    """

    wire = "dds"

    def __init__(self, node: Any, environment: Mapping[str, str] | None) -> None:
        self.node, self.ends = node, []
        self.context = acquire_context(environment)
        self.fast_dds = join(self.context.domain_id, discovery_range(environment), node.get_logger())
        self._topics: Topics | None = None
        self._added = False
        if self.context.confined is False:
            node.get_logger().warning(
                "this system has no packet filters for sockets: forged packets from the network reach this node's "
                "ports; let a firewall drop UDP from 7400 on (docs/ros_security.md)"
            )

    def writer(self, type_name: str, topic: str, qos: Any) -> Any:
        """Return the sending end of a topic."""
        return self._kept(Writer(self, type_name, topic, qos))

    def reader(self, type_name: str, topic: str, qos: Any) -> Any:
        """Return the receiving end of a topic."""
        return self._kept(Reader(self, type_name, topic, qos))

    def server(self, source: Any, service_type: str, name: str) -> Any:
        """Return the end of a service; ``source`` is handed what Fast DDS sends."""
        return self._kept(Server(self, source, service_type, name))

    def client(self, source: Any, service_type: str, name: str) -> Any:
        """Return the end that calls a service."""
        return self._kept(Client(self, source, service_type, name))

    def _kept(self, end):
        self.ends = [*self.ends, end]
        return end

    def waitset(self) -> Any:
        """Return what one thread waits with."""
        return WaitSet(self.context.participant)

    def announce(self) -> None:
        """Tell other nodes which ends are this node's."""
        if not self._added:
            self._added = True
            self.context.add(self)
        else:
            self.context.announce()

    def close(self, end: Any) -> None:
        """Take an end off the graph."""
        self.ends = [other for other in self.ends if other is not end]
        self.context.close(end)

    def names_and_types(self) -> Any:
        """Return ``[(absolute topic, [type name])]`` of all that was ever heard of."""
        self._topics = self._topics or Topics(self.context.participant)
        return self._topics.names_and_types()

    def publishers_of(self, topic: str) -> tuple[int, int]:
        """How many publish on a topic (its absolute name) now, and how many of them are best effort."""
        return publishers_of(self.context.participant, topic)

    def leave(self) -> None:
        """Take the node and its ends off the graph; the last node of the process ends the participant."""
        if self.fast_dds is not None:
            self.fast_dds.close()
        for end in self.ends:
            for entity in end.entities():
                dds_raw.delete(entity)
        self.context.release(self)
