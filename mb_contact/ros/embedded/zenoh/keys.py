# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The texts and bytes of rmw_zenoh_cpp's conventions: key expressions, liveliness tokens, attachments.

Facts of rmw_zenoh's design page and of the messages that its releases for Jazzy and later exchange.
"""

import hashlib
import struct
import time
from dataclasses import dataclass
from typing import Any

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.messages import ros_type, wire_type

SPACE = "@ros2_lv"  #: first part of every token
NODE, PUBLISHER, SUBSCRIPTION, SERVER, CLIENT = "NN", "MP", "MS", "SS", "SC"
ENCLAVE = "%"  #: that of nodes without ROS's security, "/"
_BEST_EFFORT, _TRANSIENT_LOCAL, _KEEP_ALL = "2", "1", "2"
_STAMPED = struct.Struct("<qqB16s")  #: sequence number, source time [ns], length of the identifier, identifier
_GID = 16  #: bytes of an identifier
_PARTS, _OF_NODES = 13, 9  #: of the token of an endpoint, and of a node


def key_expression(domain: int, name: str, type_name: str, type_hash: str) -> str:
    """Where the messages of a topic, or the requests of a service, are."""
    return f"{domain}/{name.strip('/')}/{wire_type(type_name)}/{type_hash}"


def _mangled(name):
    return name.replace("/", "%")


def qos_text(qos: Any) -> str:
    """Reliability, durability, history and depth of a token; deadline, lifespan and liveliness are left at defaults."""
    reliability, durability = "" if qos.reliable else _BEST_EFFORT, _TRANSIENT_LOCAL if qos.latched else ""
    return f"{reliability}:{durability}:{_KEEP_ALL if qos.keep_all else ''},{qos.depth}:,:,:,,"


@dataclass(frozen=True)
class Place:
    """Whose token it is: domain, session, number and name of the node."""

    domain: int
    session: str
    number: int
    namespace: str
    name: str

    def token(self, number: int, kind: str, *about: str) -> str:
        """The token of the node or, with name, type, hash and quality of service, of one of its endpoints."""
        parts = (SPACE, self.domain, self.session, self.number, number, kind, ENCLAVE, _mangled(self.namespace))
        return "/".join(str(part) for part in (*parts, self.name, *map(_mangled, about)))


@dataclass(frozen=True)
class Endpoint:
    """What a token says of a publisher, a subscription, a server or a client."""

    kind: str
    name: str
    type: str
    hash: str
    reliable: bool
    latched: bool
    node: str  #: its full name
    session: str

    @property
    def match(self) -> tuple[str, str, str, str]:
        """What it has in common with those that one end meets."""
        return self.kind, self.name, self.type, self.hash


def endpoint(token: str) -> Endpoint | None:
    """What a token says; None of nodes and of tokens that are malformed."""
    parts = token.split("/")
    if len(parts) < _PARTS or parts[0] != SPACE:
        return None
    session, kind = parts[2], parts[5]
    namespace, node, name = (part.replace("%", "/") for part in (parts[7], parts[8], parts[9]))
    reliability, durability = (parts[12].split(":") + [""])[:2]
    reliable, latched = reliability != _BEST_EFFORT, durability == _TRANSIENT_LOCAL
    full = f"{namespace.rstrip('/')}/{node}"
    return Endpoint(kind, name, ros_type(parts[10]), parts[11], reliable, latched, full, session)


def identifier(token: str) -> bytes:
    """The 16 bytes by which attachments name an endpoint: those of its token, whose numbers nobody else has."""
    return hashlib.blake2b(token.encode(), digest_size=_GID).digest()


def attachment(sequence: int, gid: bytes) -> bytes:
    """What goes beside each message: its number, the time and who sends it."""
    return _STAMPED.pack(sequence, time.time_ns(), _GID, gid)


def attached(data: Any) -> tuple[int, int, bytes]:
    """Sequence number, source time [ns] and identifier.

    Raises
    ------
    CommunicationError
        They are not there.
    """
    try:
        sequence, stamp, size, gid = _STAMPED.unpack(data.to_bytes())
    except (AttributeError, struct.error):
        size = 0
    if size != _GID:
        raise CommunicationError("a message over Zenoh lacks its number, its time or its sender: not of rmw_zenoh")
    return sequence, stamp, gid
