# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Cyclone DDS's own types for ROS messages: what a topic is registered with.

They are final (the wheel's default) and carry no keys; ``char`` and ``byte`` are uint8;
service types are led by rmw_cyclonedds' request header (guid, sequence number).
"""

from functools import cache
from typing import Any

from mb_contact.ros.embedded.messages import fields_of, wire_type


@cache
def idl_struct(type_name: str) -> Any:
    """Return the IdlStruct class of a message type."""
    return _make(type_name, {})


@cache
def idl_service_struct(type_name: str) -> Any:
    """Return the IdlStruct class of a service request or response, header first."""
    from cyclonedds.idl import types

    return _make(type_name, {"request_guid": types.uint64, "request_seq": types.int64})


def _make(type_name, members):
    from cyclonedds.idl import make_idl_struct

    for name, descriptor in fields_of(type_name):
        members[name] = _idl_type(descriptor)
    package, _, name = type_name.split("/")
    return make_idl_struct(f"{package}_{name}_", wire_type(type_name), members)


def _idl_type(descriptor):
    from cyclonedds.idl import types
    from rosbags.interfaces import Nodetype

    kind, detail = descriptor
    if kind == Nodetype.NAME:
        return idl_struct(detail)
    if kind == Nodetype.BASE:
        name, bound = detail
        if name == "string":
            return types.bounded_str[bound] if bound else str
        if name == "bool":
            return bool
        return getattr(types, {"byte": "uint8", "char": "uint8", "octet": "uint8"}.get(name, name))
    element, length = detail
    if kind == Nodetype.ARRAY:
        return types.array[_idl_type(element), length]
    return types.sequence[_idl_type(element), length] if length else types.sequence[_idl_type(element)]
