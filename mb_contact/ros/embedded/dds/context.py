# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One DDS participant for all embedded nodes of the process, and what it tells ROS 2 about them."""

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Any

from cyclonedds.core import DDSException, Policy, Qos, ReadCondition
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.dds import raw as dds_raw
from mb_contact.ros.embedded.dds.confinement import confine, open_sockets
from mb_contact.ros.embedded.dds.discovery import domain_configuration, stays_here
from mb_contact.ros.embedded.dds.types import idl_struct
from mb_contact.ros.embedded.domain import domain_id
from mb_contact.ros.embedded.messages import message_class, serialize, type_hash
from mb_contact.ros.qos import LATCHED, MOST

#: A hanging reliable reader delays a write by at most this.  Not 0.1: that is the default, which Cyclone DDS
#: leaves out of its announcements, and peers that expect the policy there (Foxglove's) then do not match.
_BLOCKING_SECONDS = 0.05
_contexts = {}
_lock = threading.Lock()


def acquire_context(environment: Mapping[str, str] | None = None) -> Any:
    """Return the context of the environment's domain, joining it first if need be.

    Raises
    ------
    CommunicationError
        A malformed variable or configuration, or no free port or participant index.
    """
    number = domain_id(environment)
    with _lock:
        context = _contexts.get(number)
        if context is None:
            context = _contexts[number] = Context(number, domain_configuration(environment))
        context.users += 1
        return context


class Context:
    """A DDS participant, its topics, and the writer of ``ros_discovery_info``; for any thread."""

    def __init__(self, number: int, configuration: str) -> None:
        self.domain_id = number
        self.users = 0
        self._making = threading.RLock()  #: entities are made, told of and deleted one after the other
        self._links = []
        self._topics = {}
        self._uses: Counter = Counter()  #: of each topic, by readers and writers
        self._domain: Any = None
        self.participant: Any = None
        before = open_sockets()
        try:
            self._domain = Domain(number, configuration)
            self.participant = DomainParticipant(number, Qos(Policy.Userdata(b"enclave=/;")))
        except DDSException as error:
            if self._domain is not None:
                dds_raw.delete(self._domain)
            raise CommunicationError(
                f"cannot join ROS domain {number}: {error}; its ports or participant indices are in use by "
                "other processes, or CYCLONEDDS_URI is malformed: close the other nodes, choose another "
                "ROS_DOMAIN_ID, or raise MaxAutoParticipantIndex in CYCLONEDDS_URI"
            ) from None
        #: whether only this machine reaches the sockets; None where the network is meant to
        self.confined = confine(open_sockets() - before) if stays_here(configuration) else None
        self._info_type = "rmw_dds_common/msg/ParticipantEntitiesInfo"
        self._info_writer = self.writer(
            "ros_discovery_info", idl_struct(self._info_type), writer_qos(LATCHED, self._info_type)
        )

    def topic(self, name: str, struct: Any) -> Any:
        """Return the DDS topic, made once per name and type."""
        key = (name, struct)
        with self._making:
            if key not in self._topics:
                self._topics[key] = Topic(self.participant, name, struct)
            self._uses[key] += 1
            return self._topics[key]

    def close(self, end: Any) -> None:
        """Close the readers, writers and conditions of an end, and the topics that nothing else uses."""
        with self._making:
            used = [entity.topic for entity in (end.reader, *end.writers) if entity is not None]
            ended = []
            for key, topic in list(self._topics.items()):
                self._uses[key] -= sum(topic is other for other in used)
                if not self._uses[key]:
                    ended.append(self._topics.pop(key))
            for entity in (*end.entities(), *ended):
                dds_raw.delete(entity)

    def writer(self, name: str, struct: Any, qos: Any) -> Any:
        """Return a writer of a topic."""
        with self._making:
            return DataWriter(self.participant, self.topic(name, struct), qos)

    def reader(self, name: str, struct: Any, qos: Any) -> Any:
        """Return a reader of a topic, and the condition that wakes a waitset for it."""
        with self._making:
            reader = DataReader(self.participant, self.topic(name, struct), qos)
            return reader, ReadCondition(reader, dds_raw.ANY_STATE)

    def add(self, link: Any) -> None:
        """Announce a node."""
        self._links.append(link)
        self.announce()

    def announce(self) -> None:
        """Publish which nodes exist and which endpoints are theirs."""
        with self._making:
            self._announce()

    def _announce(self):
        info = message_class(self._info_type)()
        info.gid.data = list(self.participant.guid.bytes)
        for link in self._links:
            entry = message_class("rmw_dds_common/msg/NodeEntitiesInfo")()
            entry.node_namespace, entry.node_name = link.node.get_namespace(), link.node.get_name()
            entry.reader_gid_seq = [gid for end in link.ends for gid in end.reader_gids]
            entry.writer_gid_seq = [gid for end in link.ends for gid in end.writer_gids]
            info.node_entities_info_seq.append(entry)
        data = serialize(info, self._info_type)
        dds_raw.write(self._info_writer, data.ljust((len(data) + 3) & ~3, b"\0"))

    def release(self, link: Any) -> None:
        """Forget a node; the last one takes the participant down, so that peers see it leave at once."""
        if link in self._links:
            self._links.remove(link)
        with _lock:
            self.users -= 1
            if self.users > 0:
                self.announce()
                return
            _contexts.pop(self.domain_id, None)
        for entity in [self._info_writer, *self._topics.values(), self.participant, self._domain]:
            if entity is not None:
                dds_raw.delete(entity)


def gid_of(entity: Any) -> Any:
    """The ``rmw_dds_common/msg/Gid`` of a reader or writer."""
    gid = message_class("rmw_dds_common/msg/Gid")()
    gid.data = list(entity.guid.bytes)
    return gid


def endpoint_qos(qos: Any, type_name: str, extra: str = "") -> Any:
    """Return the DDS policies of one endpoint: those of rmw_cyclonedds, with the type hash in user data."""
    policies = [
        Policy.Reliability.Reliable(dds_raw.nanoseconds(_BLOCKING_SECONDS))
        if qos.reliable
        else Policy.Reliability.BestEffort,
        Policy.Durability.TransientLocal if qos.latched else Policy.Durability.Volatile,
        Policy.History.KeepAll if qos.keep_all else Policy.History.KeepLast(qos.depth),
        Policy.Userdata(f"{extra}typehash={type_hash(type_name)};".encode()),
    ]
    if qos.keep_all:
        policies.append(Policy.ResourceLimits(MOST, 1, MOST))
    return Qos(*policies)


def writer_qos(qos: Any, type_name: str, extra: str = "") -> Any:
    """Return the policies of a writer: no dispose on leaving, late joiners get ``depth`` messages."""
    more: list[Any] = [Policy.WriterDataLifecycle(autodispose=False)]
    if qos.latched:
        history = Policy.History.KeepLast(qos.depth)
        more.append(Policy.DurabilityService(0, history, -1, -1, -1))
    if qos.lifespan is not None:
        more.append(Policy.Lifespan(dds_raw.nanoseconds(qos.lifespan)))
    return Qos(*more, base=endpoint_qos(qos, type_name, extra))
