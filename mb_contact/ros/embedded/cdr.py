# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""CDR templates: messages whose shape never changes are encoded once and then patched, and decoded once and then read.

Building and encoding a 26-joint JointState costs 20 to 40 microseconds; patching its
numbers in an encoded template and writing the bytes costs about 4.  Decoding one costs 25, reading the numbers of one
whose names are those of the last 4.
"""

import array
import re
import struct
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from mb_contact.ros.embedded.messages import deserialize, fields_of, serialize

_SIZES = {"bool": 1, "byte": 1, "char": 1, "octet": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2}
_SIZES |= {"int32": 4, "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8}
_OF_RCLPY = {"boolean": "bool", "float": "float32", "double": "float64"}  #: names of rclpy's own
_ALIASES = {"byte": "uint8", "char": "uint8", "octet": "uint8"}
_LETTERS = {"int64": "q", "uint64": "Q", "byte": "b", "octet": "b"}  #: of struct, where they are not NumPy's

HEADER = 4  #: bytes of the encapsulation header; alignment counts from behind it


def layout(message: Any, type_name: str) -> tuple[dict[str, tuple[int, np.dtype, int | None]], int]:
    """Locate every number of an encoded message; returns the places and the message's size in bytes.

    Parameters
    ----------
    message : object
        Prototype; the lengths of its strings and sequences fix the layout.
    type_name : str

    Returns
    -------
    dict
        ``{"header.stamp.sec": (offset, dtype, count)}``; offsets count from the first
        byte of the encapsulation header, list elements are named ``field.0`` and so on,
        ``count`` is None for a single number.
    int
    """
    places = {}
    return places, _walk(message, type_name, "", HEADER, places)


class _Field(NamedTuple):
    """A field: the type of its entries (text, number or message), and "array" or "sequence" where it has many."""

    name: str
    type: str
    many: str = ""


@cache
def _fields(kind, type_name):
    """The fields of a class of messages; rclpy's tell their own, so that rosbags need not be there."""
    told = getattr(kind, "get_fields_and_field_types", None)
    if told is not None:
        return tuple(_told(name, text) for name, text in told().items())
    from rosbags.interfaces import Nodetype
    from rosbags.typesys.base import normalize_fieldname

    many, fields = {Nodetype.ARRAY: "array", Nodetype.SEQUENCE: "sequence"}, []
    for name, (node, detail) in fields_of(type_name):
        inner, entry = detail[0] if node in many else (node, detail)
        entry = entry if inner == Nodetype.NAME else entry[0]
        fields.append(_Field(normalize_fieldname(name), entry, many.get(node, "")))
    return tuple(fields)


def _told(name, text):
    """The field of rclpy's text: ``double``, ``string<9>``, ``pkg/Name``, ``sequence<double, 3>``, ``double[9]``."""
    parts = re.fullmatch(r"(sequence<)?([\w/]+)(?:<\d+>)?(?:, \d+)?>?(\[\d+\])?", text)
    element = _OF_RCLPY.get(parts[2], parts[2])
    return _Field(name, element, "sequence" if parts[1] else "array" if parts[3] else "")


def _walk(message, type_name, prefix, position, places):
    for field in _fields(type(message), type_name):
        position = _value(getattr(message, field.name), field, f"{prefix}{field.name}", position, places)
    return position


def _value(value, field, path, position, places):
    if not field.many:
        return _single(value, field.type, path, position, places)
    if field.many == "sequence":
        position = _align(position, 4) + 4
    if field.type in _SIZES:
        size = _SIZES[field.type]
        if len(value):
            position = _align(position, size)
        places[path] = (position, _dtype(field.type), len(value))
        return position + size * len(value)
    for i, item in enumerate(value):
        position = _single(item, field.type, f"{path}.{i}", position, places)
    return position


def _single(value, base, path, position, places):
    if "/" in base:
        return _walk(value, base, f"{path}.", position, places)
    if base == "string":
        return _align(position, 4) + 4 + len(value.encode()) + 1
    size = _SIZES[base]
    position = _align(position, size)
    places[path] = (position, _dtype(base), None)
    return position + size


def _align(position, size):
    return (position - HEADER + size - 1) // size * size + HEADER


def _dtype(base):
    return np.dtype(_ALIASES.get(base, base))


class Template:
    """An encoded message with writable views of its numbers.

    Parameters
    ----------
    message : object
        Prototype, encoded once.
    type_name : str
    encoded : bytes, optional
        The prototype in CDR where it is encoded already; what follows its end is left out.

    Attributes
    ----------
    data : bytearray
        The CDR bytes, padded to a multiple of 4, as the middleware takes them.
    size : int
        Bytes of the message itself.
    """

    def __init__(self, message: Any, type_name: str, encoded: bytes | None = None) -> None:
        encoded = serialize(message, type_name) if encoded is None else encoded
        self.type_name = type_name
        self._places, self.size = layout(message, type_name)
        encoded = encoded[: self.size]  # rmw_fastrtps_dynamic_cpp leaves bytes behind the end
        self.data = bytearray(encoded.ljust((self.size + 3) & ~3, b"\0"))

    def view(self, path: str, count: int | None = None) -> Any:
        """Return a writable NumPy view (always an array, of one entry for a single number).

        ``count``: of so many numbers, where those that follow are of the same type, as the x, y and z of vectors.
        """
        offset, dtype, length = self._places[path]
        return np.frombuffer(self.data, dtype, count or (1 if length is None else length), offset)


class Decoder:
    """Decodes messages of a type; of those that have the strings and lengths of the last one only the numbers are read.

    Parameters
    ----------
    type_name : str
    decode, encode : callable, optional
        From bytes to a message and back; of this backend by default.
    """

    def __init__(
        self, type_name: str, decode: Callable[[bytes], Any] | None = None, encode: Callable[[Any], bytes] | None = None
    ) -> None:
        self._type_name = type_name
        self._decode = decode or (lambda data: deserialize(data, type_name))
        self._encode = encode or (lambda message: serialize(message, type_name))
        self._length = 0  #: bytes of the message before
        self._fixed: list[tuple[slice, bytes]] | None = None  #: what of a known shape is no number
        self._build: Callable[[bytes], Any] | None = None

    def __call__(self, data: bytes) -> Any:
        """Return the message.

        Raises
        ------
        CommunicationError
            The bytes do not fit the type.
        """
        fixed = self._fixed
        if fixed is not None and len(data) == self._length:
            for place, text in fixed:
                if data[place] != text:
                    break
            else:
                return self._build(data)  # type: ignore[misc]
        message = self._decode(data)
        again, self._length, self._fixed = len(data) == self._length, len(data), None
        if again:  # shapes that change from message to message are not worth it
            self._learn(data, message)
        return message

    def _learn(self, data, message):
        """Note where the numbers are, if encoding the message gives these bytes again: big-endian ones differ."""
        encoded = self._encode(message)
        if data[: len(encoded)] != encoded:
            return
        places, size = layout(message, self._type_name)
        build = _builder(message, self._type_name, "", places)
        if build is None:
            return
        fixed, end = [], 0
        for offset, dtype, count in places.values():  # in the order of the bytes
            fixed.append((slice(end, offset), data[end:offset]))
            end = offset + dtype.itemsize * (1 if count is None else count)
        fixed.append((slice(end, size), data[end:size]))
        self._fixed, self._build = [(place, text) for place, text in fixed if text], build


def _builder(message, type_name, prefix, places):
    """The function from bytes to a message of the shape of this one; None where there is a field of a strange kind."""
    slots = getattr(message, "__slots__", ())  # of rclpy's messages, whose properties check what is assigned
    parts = [(slot, partial(_constant, getattr(message, slot))) for slot in slots if not hasattr(message, slot[1:])]
    for field in _fields(type(message), type_name):
        read = _reader(getattr(message, field.name), field, f"{prefix}{field.name}", places)
        if read is None:
            return None
        parts.append((f"_{field.name}" if slots else field.name, read))
    return partial(_built, type(message), parts)


def _built(cls, parts, data):
    message = object.__new__(cls)
    put = object.__setattr__  # past what checks and coerces that which users assign
    for name, read in parts:
        put(message, name, read(data))
    return message


def _constant(value, _data):
    return value


def _reader(value, field, path, places):
    """The function from bytes to the value of a field; None for fields of a strange kind."""
    if path in places:
        return _number_reader(value, field.type, *places[path])
    if "/" not in field.type:
        if not field.many:
            return partial(_constant, value)
        texts = tuple(value)
        return lambda data: list(texts)
    if not field.many:
        return _builder(value, field.type, f"{path}.", places)
    readers = [_builder(item, field.type, f"{path}.{i}.", places) for i, item in enumerate(value)]
    return None if None in readers else lambda data: [read(data) for read in readers]


def _number_reader(value, base, offset, dtype, count):
    """The function from bytes to a number, an array or a list like this one."""
    if count is None and isinstance(value, bytes):  # rclpy's byte
        return lambda data: data[offset : offset + 1]
    if count is None:
        unpack = struct.Struct(f"<{_LETTERS.get(base, dtype.char)}").unpack_from
        return lambda data: unpack(data, offset)[0]
    if isinstance(value, array.array):  # rclpy's sequences
        code, end = value.typecode, offset + dtype.itemsize * count
        return lambda data: array.array(code, data[offset:end])
    if not isinstance(value, np.ndarray):
        return None
    if value.flags.writeable:  # rclpy's arrays of fixed length
        return lambda data: np.frombuffer(data, dtype, count, offset).copy()
    return lambda data: np.frombuffer(data, dtype, count, offset)
