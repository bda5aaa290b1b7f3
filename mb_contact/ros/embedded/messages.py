# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Message types without ROS 2: classes with defaults, CDR in and out, type hashes.

The definitions come from rosbags' type store and ``definitions.py``.  A class made here looks like the one of
rclpy: ``JointState()`` has every field at its default, constants are class attributes,
and fields of numbers accept lists, ``array.array`` and NumPy arrays (they read back as
NumPy arrays, where rclpy gives ``array.array``).
"""

import dataclasses
import struct
from functools import cache
from typing import Any

import numpy as np

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.definitions import actions, messages, services

_DTYPES = {"bool": np.bool_, "byte": np.uint8, "char": np.uint8, "octet": np.uint8}
_DTYPES |= {n: np.dtype(n).type for k in ("int", "uint") for n in (f"{k}8", f"{k}16", f"{k}32", f"{k}64")}
_DTYPES |= {"float32": np.float32, "float64": np.float64}


@cache
def type_store() -> Any:
    """Return the ROS 2 Jazzy type store, with the types of services and actions that this package serves.

    Raises
    ------
    CommunicationError
        The rosbags package is not installed.
    """
    try:
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    except ImportError as error:
        raise CommunicationError(
            f"the embedded ROS 2 backend needs the 'rosbags' package ({error}): pip install rosbags"
        ) from None
    store = get_typestore(Stores.ROS2_JAZZY)
    for name, text in messages().items():
        store.register(get_types_from_msg(text, name))
    for name, texts in services().items():
        for kind, text in zip(("Request", "Response"), texts):
            store.register({f"{name}_{kind}": _definition(text)})
    for name, texts in actions().items():
        store.register(_action_types(name, texts))
    return store


def _definition(text):
    """The fields of a type, read under a message's name: rosbags would insert 'msg' into that of a service."""
    from rosbags.typesys import get_types_from_msg

    (definition,) = get_types_from_msg(text, "a/msg/B").values()
    return definition


def _action_types(name, texts):
    """The types of an action: goal, result and feedback, and the requests, answers and the topic that carry them."""
    from rosbags.interfaces import Nodetype

    parts = {part: _definition(text) for part, text in zip(("Goal", "Result", "Feedback"), texts)}
    identifier = "unique_identifier_msgs/UUID goal_id"

    def with_part(text, field, part):
        constants, own = _definition(text)
        return constants, [*own, (field, (Nodetype.NAME, f"{name}_{part}"))]

    parts |= {
        "SendGoal_Request": with_part(identifier, "goal", "Goal"),
        "SendGoal_Response": _definition("bool accepted\nbuiltin_interfaces/Time stamp"),
        "GetResult_Request": _definition(identifier),
        "GetResult_Response": with_part("int8 status", "result", "Result"),
        "FeedbackMessage": with_part(identifier, "feedback", "Feedback"),
    }
    return {f"{name}_{part}": definition for part, definition in parts.items()}


def fields_of(type_name: str) -> Any:
    """Return the fields of a message type as ``[(name, descriptor)]`` in wire order."""
    definition = type_store().fielddefs.get(type_name)
    if definition is None:
        raise CommunicationError(f"unknown message type '{type_name}'; write it as 'package/msg/Name'")
    return definition[1] or _empty_structure()


def _empty_structure():
    from rosbags.interfaces import Nodetype

    return [("structure_needs_at_least_one_member", (Nodetype.BASE, ("uint8", 0)))]


@cache
def message_class(type_name: str) -> Any:
    """Return the class of a message type, such as ``sensor_msgs/msg/JointState``.

    Raises
    ------
    CommunicationError
        No such type.
    """
    from rosbags.typesys.base import normalize_fieldname

    names, defaults, arrays = [], [], {}
    for name, descriptor in fields_of(type_name):
        name = normalize_fieldname(name)
        default, dtype = _default(descriptor)
        names.append(name)
        defaults.append(default)
        if dtype is not None:
            arrays[name] = dtype
    members = [
        (name, object, dataclasses.field(default_factory=default)) for name, default in zip(names, defaults)
    ]
    namespace = {n: value for n, _, value in type_store().fielddefs[type_name][0]}
    namespace["__msgtype__"] = type_name
    if arrays:
        namespace["__setattr__"] = _coercing_setattr(arrays)
    cls = dataclasses.make_dataclass(type_name.rsplit("/", 1)[1], members, namespace=namespace, eq=False)
    type_store().types[type_name] = cls  # what rosbags' decoder builds
    type_store().cache.pop(type_name, None)
    return cls


def _coercing_setattr(arrays):
    """Return a ``__setattr__`` that turns the listed fields into NumPy arrays."""

    def setattr_(self, name, value):
        dtype = arrays.get(name)
        if dtype is not None:
            value = np.ascontiguousarray(value, dtype=dtype)
        object.__setattr__(self, name, value)

    return setattr_


def _default(descriptor):
    """Return ``(factory, dtype)`` of a field; dtype only for arrays and sequences of numbers."""
    from rosbags.interfaces import Nodetype

    kind, detail = descriptor
    if kind == Nodetype.BASE:
        return {"string": str, "wstring": str, "bool": bool, "float32": float, "float64": float}.get(
            detail[0], int
        ), None
    if kind == Nodetype.NAME:
        return message_class(detail), None
    element, length = detail
    count = length if kind == Nodetype.ARRAY else 0
    if element[0] == Nodetype.BASE and element[1][0] in _DTYPES:
        dtype = _DTYPES[element[1][0]]
        return (lambda: np.zeros(count, dtype)), dtype
    make, _ = _default(element)
    return (lambda: [make() for _ in range(count)]), None


@cache
def interface_class(type_name: str) -> Any:
    """Return the class of a message, or what stands for a service or an action: an object with their parts, as rclpy's.

    Raises
    ------
    CommunicationError
        No such type.
    """
    parts = {"srv": ("Request", "Response"), "action": ("Goal", "Result", "Feedback")}
    package, _, rest = type_name.partition("/")
    kind, _, name = rest.partition("/")
    if kind not in parts or f"{type_name}_{parts[kind][0]}" not in type_store().fielddefs:
        return message_class(type_name)
    made = {part: message_class(f"{type_name}_{part}") for part in parts[kind]}
    return type(name, (), {**made, "__msgtype__": type_name})


def type_name_of(message_type: Any) -> Any:
    """Return ``package/kind/Name`` of a type given as that text, our class or an rclpy class."""
    if isinstance(message_type, str):
        parts = message_type.split("/")
        if len(parts) != 3 or not all(parts):
            raise CommunicationError(f"'{message_type}' is not a type name; write it as 'package/msg/Name'")
        return message_type
    name = getattr(message_type, "__msgtype__", None)
    if name is None:
        raise CommunicationError(f"{message_type!r} is not a message type of the embedded backend")
    return name


def serialize(message: Any, type_name: str) -> Any:
    """Return the CDR bytes (with encapsulation header) of a message."""
    message_class(type_name)
    return bytes(type_store().serialize_cdr(message, type_name))


def deserialize(data: Any, type_name: str) -> Any:
    """Return the message of CDR bytes.

    Raises
    ------
    CommunicationError
        The bytes do not fit the type.
    """
    from rosbags.serde import SerdeError

    message_class(type_name)
    try:
        return type_store().deserialize_cdr(data, type_name)
    except (SerdeError, IndexError, ValueError, struct.error) as error:  # not UTF-8 is a ValueError
        raise CommunicationError(f"cannot decode a {type_name}: {error}") from None


@cache
def type_hash(type_name: str) -> Any:
    """Return the RIHS01 hash of a type, as endpoints announce it."""
    return _described(type_name).hash_rihs01(type_name)


@cache
def service_hash(service_type: str) -> Any:
    """Return the RIHS01 hash of a service: of its request, its answer, and the event that tells of either."""
    from rosbags.interfaces import Nodetype

    def named(part):
        return Nodetype.NAME, f"{service_type}_{part}"

    one = [(word.lower(), (Nodetype.SEQUENCE, (named(word), 1))) for word in ("Request", "Response")]
    event = [("info", (Nodetype.NAME, "service_msgs/msg/ServiceEventInfo")), *one]
    whole = [(f"{word.lower()}_message", named(word)) for word in ("Request", "Response", "Event")]
    store = _described(f"{service_type}_Request", f"{service_type}_Response", "service_msgs/msg/ServiceEventInfo")
    store.fielddefs |= {f"{service_type}_Event": ([], event), service_type: ([], whole)}
    return store.hash_rihs01(service_type)


def _described(*type_names):
    """A store of these types and what they hold as rosidl describes them: a char there is a uint8."""
    from rosbags.typesys import Stores, get_typestore

    store, waiting = get_typestore(Stores.EMPTY), list(type_names)
    while waiting:
        name = waiting.pop()
        if name not in store.fielddefs:
            fields = [(field, *_as_described(descriptor)) for field, descriptor in fields_of(name)]
            store.fielddefs[name] = ([], [(field, descriptor) for field, descriptor, _ in fields])
            waiting += [nested for _, _, nested in fields if nested]
    return store


def _as_described(descriptor):
    """The descriptor of a field, and the type that it holds if that is a message."""
    from rosbags.interfaces import Nodetype

    kind, detail = descriptor
    if kind == Nodetype.NAME:
        return descriptor, detail
    if kind == Nodetype.BASE:
        return (kind, ("uint8", 0) if detail[0] == "char" else detail), None
    element, nested = _as_described(detail[0])
    return (kind, (element, detail[1])), nested


def wire_type(type_name: str) -> str:
    """Return the name of a ROS type on DDS and in keys of Zenoh: ``pkg::msg::dds_::Name_``."""
    package, kind, name = type_name.split("/")
    return f"{package}::{kind}::dds_::{name}_"


def ros_type(name: str) -> str:
    """Return what :func:`wire_type` was made of."""
    return name.replace("::dds_::", "::").replace("::", "/").removesuffix("_")


def stamp_ns(stamp: Any) -> Any:
    """Return a ``builtin_interfaces/Time`` in nanoseconds."""
    return stamp.sec * 1_000_000_000 + stamp.nanosec
