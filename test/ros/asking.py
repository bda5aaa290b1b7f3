# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Questions to the node of the contract, from the peer of a test: its endpoints and its parameters."""

from __future__ import annotations

from mb_contact.ros.embedded.messages import message_class
from mb_contact.ros.embedded.parameters import from_message, to_message


def endpoints(peer, kind):
    """{DDS topic name: endpoint} of the simulator's writers or readers, as any participant sees them."""
    from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication, BuiltinTopicDcpsSubscription

    from mb_contact.ros.embedded.dds import raw as dds_raw

    topic = BuiltinTopicDcpsPublication if kind == "writers" else BuiltinTopicDcpsSubscription
    reader = BuiltinDataReader(peer.node.context.participant, topic)
    try:
        found = [e for e in reader.take(500) if getattr(e, "topic_name", None)]
    finally:
        dds_raw.delete(reader)
    ours = own_prefixes(peer)
    return {e.topic_name: e for e in found if e.key.bytes[:12] not in ours}


def own_prefixes(peer):
    """The first bytes of the identifiers of the peer's own endpoints."""
    asked = getattr(peer.node, "own_prefixes", None)
    return {peer.node.context.participant.guid.bytes[:12]} if asked is None else asked()


def newest(peer, topic):
    return peer.next_messages(topic, 1)[0]


def ask(peer, name, **fields):
    words = "".join(f"_{c.lower()}" if c.isupper() else c for c in name)[1:]
    return peer.call(f"/cell/sim/{words}", f"rcl_interfaces/srv/{name}", **fields)


def parameters(**values):
    make = message_class("rcl_interfaces/msg/Parameter")
    return [make(name=name, value=to_message(value)) for name, value in values.items()]


def set_parameters(peer, **values):
    return ask(peer, "SetParameters", parameters=parameters(**values)).results


def get_parameter(peer, name):
    return from_message(ask(peer, "GetParameters", names=[name]).values[0])
