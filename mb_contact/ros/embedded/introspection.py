# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What other ROS 2 programs expect of every node: /rosout, and descriptions of the types it uses."""

import time
from typing import Any

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.messages import fields_of, message_class, type_hash, type_store
from mb_contact.ros.qos import QoS

ROSOUT = QoS(depth=1000, latched=True, lifespan=10.0)
_LEVELS = {"DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40, "FATAL": 50}

#: FieldType of a plain field; 48, 96 and 144 more for arrays, bounded and unbounded sequences.
_FIELD_TYPES = {
    "int8": 2, "uint8": 3, "int16": 4, "uint16": 5, "int32": 6, "uint32": 7, "int64": 8, "uint64": 9, "float32": 10,
    "float64": 11, "char": 3, "bool": 15, "byte": 16, "octet": 16, "string": 17, "wstring": 18,
}  # fmt: skip
_NESTED, _BOUNDED = 1, {17: 21, 18: 22}
_ARRAY, _BOUNDED_SEQUENCE, _SEQUENCE = 48, 96, 144


class RosOut:
    """Sends what a node logs to /rosout."""

    def __init__(self, node: Any, logger: Any) -> None:
        self._name = logger.name
        self._publisher = node.create_publisher("rcl_interfaces/msg/Log", "/rosout", ROSOUT, overridable=False)
        logger.sink = self._send

    def _send(self, level, text, code, line):
        message = message_class("rcl_interfaces/msg/Log")()
        message.stamp.sec, message.stamp.nanosec = divmod(time.time_ns(), 1_000_000_000)
        message.level, message.name, message.msg = _LEVELS[level], self._name, text
        message.file, message.function, message.line = code.co_filename, code.co_name, line
        try:
            self._publisher.publish(message)
        except CommunicationError:
            pass  # the node is closing; the line is on standard error


def type_description(type_name: str) -> Any:
    """Return the type_description_interfaces/TypeDescription of a message type.

    Raises
    ------
    CommunicationError
        No such type.
    """
    description = message_class("type_description_interfaces/msg/TypeDescription")()
    found = {}
    _collect(type_name, found)
    description.type_description = found.pop(type_name)
    description.referenced_type_descriptions = [found[name] for name in sorted(found)]
    return description


def _collect(type_name, found):
    """Individual descriptions of a type and all that it contains."""
    individual = message_class("type_description_interfaces/msg/IndividualTypeDescription")()
    individual.type_name = type_name
    found[type_name] = individual
    for name, descriptor in fields_of(type_name):
        field = message_class("type_description_interfaces/msg/Field")()
        field.name = name
        _fill(field.type, descriptor, found)
        individual.fields.append(field)


def _fill(target, descriptor, found):
    from rosbags.interfaces import Nodetype

    kind, detail = descriptor
    if kind == Nodetype.NAME:
        target.type_id, target.nested_type_name = _NESTED, detail
        if detail not in found:
            _collect(detail, found)
    elif kind == Nodetype.BASE:
        name, bound = detail
        target.type_id = _FIELD_TYPES[name]
        if bound:
            target.type_id, target.string_capacity = _BOUNDED[target.type_id], bound
    else:
        element, capacity = detail
        _fill(target, element, found)
        more = _ARRAY if kind == Nodetype.ARRAY else _BOUNDED_SEQUENCE if capacity else _SEQUENCE
        target.type_id += more
        target.capacity = capacity


class TypeDescriptions:
    """``~/get_type_description``."""

    def __init__(self, node: Any) -> None:
        name = "type_description_interfaces/srv/GetTypeDescription"
        node.create_service(name, "~/get_type_description", self._answer)

    @staticmethod
    def _answer(request, answer):
        name = request.type_name
        if name not in type_store().fielddefs:
            answer.failure_reason = f"this node knows no type '{name}'"
            return answer
        if request.type_hash and request.type_hash != type_hash(name):
            answer.failure_reason = f"here '{name}' has the hash {type_hash(name)}, not {request.type_hash}"
            return answer
        answer.successful = True
        answer.type_description = type_description(name)
        if request.include_type_sources:
            source = message_class("type_description_interfaces/msg/TypeSource")()
            source.type_name, source.encoding = name, "dynamic"  # there is no file that it was read from
            answer.type_sources = [source]
        return answer
