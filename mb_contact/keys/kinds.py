# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a key may be: numbers, texts, choices, lists, mappings and records.

A kind reads the value out of YAML's node tree, says what is wrong with a value, also with one from Python, and
describes itself in JSON Schema.  ``kind_of`` makes it of a field's annotation and its :class:`Key`.
"""

import math
import operator
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import numpy as np
import yaml

from mb_contact.checks import LARGEST, as_number, shorten
from mb_contact.keys.declaration import Key, declared

ENDS = (-math.inf, math.inf)
MANY = 16  #: numbers from which on NumPy is quicker
Part = tuple["Kind", Any, str]  #: kind, value and place of a part of a scene


class Kind:
    """A text, number or boolean as it is written; the others follow. ``key`` has its bounds."""

    plural = "entries"
    plain: dict[str, Any] = {"type": ["string", "number", "boolean"]}  #: in JSON Schema, without bounds

    def __init__(self, key: Key) -> None:
        self.key = key

    def read(self, reader: Any, node: Any, place: str) -> Any:
        """The value of a node; raises SceneError where it is none of this kind."""
        return reader.scalar(node, place, "a text, a number, true or false")

    def judged(self, reader: Any, node: Any, place: str, value: Any) -> Any:
        """The value, or the SceneError of its first fault."""
        for where, message in self.faults(value, place):
            raise reader.error(node, where, message)
        return value

    def faults(self, value: Any, place: str) -> Iterator[tuple[str, str]]:
        """(place, what is wrong) of a value, without its parts."""
        return iter(())

    def parts(self, value: Any, place: str) -> Iterator[Part]:
        """What a value is made of."""
        return iter(())

    def inside(self) -> Any:
        """Names of the keys that a value has itself."""
        return ()

    def schema(self) -> dict[str, Any]:
        """In JSON Schema."""
        return dict(self.plain)


class Number(Kind):
    """A finite number within the key's bounds."""

    plural, plain = "numbers", {"type": "number"}

    def read(self, reader: Any, node: Any, place: str) -> Any:
        text = reader.scalar(node, place, "a number")
        if self.key.infinite and text.lower() in (".inf", "inf"):
            return math.inf
        try:
            value = as_number(text)
        except ValueError:
            raise reader.error(node, place, f"must be a number, got '{text}'") from None
        value = int(value) if isinstance(self, Whole) and value % 1 == 0 else value
        if self.key.most_in_files is not None and value > self.key.most_in_files:
            raise reader.error(node, place, f"must be at most {self.key.most_in_files:g}, got {value:g}")
        return self.judged(reader, node, place, value)

    def faults(self, value: Any, place: str) -> Iterator[tuple[str, str]]:
        key = self.key
        try:
            number = float(value)
        except (TypeError, ValueError):
            yield place, f"must be a number, got {value!r}"
            return
        if math.isinf(number) and key.infinite:
            return
        if not math.isfinite(number):
            yield place, f"must be finite, got {number}"
        if abs(number) > LARGEST:
            yield place, f"is beyond {LARGEST:g}, as nothing of a scene is"
        for bound, words, holds in (
            (key.above, "greater than", operator.gt), (key.low, "at least", operator.ge),
            (key.high, "at most", operator.le), (key.below, "below", operator.lt),
        ):  # fmt: skip
            if bound is not None and not holds(number, bound):
                yield place, f"must be {words} {bound:g}, got {number:g}"
        if key.nonzero and number == 0.0:
            yield place, "must not be zero"

    def schema(self) -> dict[str, Any]:
        key = self.key
        most = key.high if key.most_in_files is None else key.most_in_files
        bounds = {"minimum": key.low, "exclusiveMinimum": key.above, "maximum": most, "exclusiveMaximum": key.below}
        plain = {**self.plain, **{name: bound for name, bound in bounds.items() if bound is not None}}
        return {"anyOf": [plain, {"enum": [".inf", "inf"]}]} if key.infinite else plain


class Whole(Number):
    """A whole number from ``low`` to ``high``, perhaps an even one."""

    plural = "whole numbers"

    def faults(self, value: Any, place: str) -> Iterator[tuple[str, str]]:
        low, high = (bound if bound is not None else end for bound, end in zip((self.key.low, self.key.high), ENDS))
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not whole or not low <= value <= high or (self.key.even and value % 2):
            got = f"{value:g}" if isinstance(value, float) else value
            wanted = f"{'an even' if self.key.even else 'a'} whole number from {low} to {high}"
            yield place, f"must be {wanted}, got {got}"

    def schema(self) -> dict[str, Any]:
        return {**super().schema(), "type": "integer", **({"multipleOf": 2} if self.key.even else {})}


class Text(Kind):
    """A string that is not empty in a file; one of the key's choices where it has some."""

    plural = "names"

    def read(self, reader: Any, node: Any, place: str) -> Any:
        value = reader.scalar(node, place, "a text")
        if node.tag != "tag:yaml.org,2002:str" or not value:
            raise reader.error(node, place, f"must be a text, got '{value}'")
        return self.judged(reader, node, place, value)

    def faults(self, value: Any, place: str) -> Iterator[tuple[str, str]]:
        if self.key.choices and value not in self.key.choices:
            yield place, f"'{value}' is not known; available: {', '.join(self.key.choices)}"

    def schema(self) -> dict[str, Any]:
        return {"type": "string", **({"enum": list(self.key.choices)} if self.key.choices else {"minLength": 1})}


class Boolean(Kind):
    """True or false."""

    plain = {"type": "boolean"}

    def read(self, reader: Any, node: Any, place: str) -> Any:
        value = reader.scalar(node, place, "true or false").lower()
        if value not in ("true", "false"):
            raise reader.error(node, place, f"must be true or false, got '{value}'")
        return value == "true"


class Several(Kind):
    """A list, of ``size`` entries or of any number."""

    def __init__(self, key: Key, entry: Kind, size: int | None = None) -> None:
        super().__init__(key)
        self.entry, self.size = entry, size

    def read(self, reader: Any, node: Any, place: str) -> Any:
        if self.key.single and isinstance(node, yaml.ScalarNode):
            return (self.entry.read(reader, node, place),)
        items = reader.items(node, place, self._wanted())
        values = tuple(self.entry.read(reader, item, f"{place}[{i}]") for i, item in items)
        return self.judged(reader, node, place, values)

    def faults(self, value: Any, place: str) -> Iterator[tuple[str, str]]:
        if not hasattr(value, "__len__") or isinstance(value, (str, Mapping)):
            yield place, f"must be {self._wanted()}, got {shorten(repr(value))}"
        elif self.size is not None and len(value) != self.size:
            yield place, f"must be {self._wanted()}, got {len(value)}"

    def _wanted(self):
        return "a list" if self.size is None else f"a list of {self.size} {self.entry.plural}"

    def parts(self, value: Any, place: str) -> Iterator[Part]:
        if type(self.entry) is not Number or self.key.nonzero or not self._all_in_range(value):
            yield from ((self.entry, entry, f"{place}[{i}]") for i, entry in enumerate(value))

    def _all_in_range(self, numbers):
        """Whether no number of a long list has a fault, all at once: height fields have millions."""
        if len(numbers) < MANY:
            return False
        try:
            ends = (np.min(numbers), np.max(numbers))
        except (TypeError, ValueError):
            return False
        return not any(True for end in ends for _ in self.entry.faults(end, ""))

    def schema(self) -> dict[str, Any]:
        size = {} if self.size is None else {"minItems": self.size, "maxItems": self.size}
        several = {"type": "array", "items": self.entry.schema(), **size}
        return {"anyOf": [self.entry.schema(), several]} if self.key.single else several


class Named(Several):
    """A mapping from names that the user chooses."""

    def read(self, reader: Any, node: Any, place: str) -> Any:
        return {name: self.entry.read(reader, value, there) for name, value, there in reader.entries(node, place)}

    def faults(self, value: Any, place: str) -> Iterator[tuple[str, str]]:
        if not isinstance(value, Mapping):
            yield place, f"must be a mapping, got {value!r}"

    def parts(self, value: Any, place: str) -> Iterator[Part]:
        yield from ((self.entry, entry, f"{place}.{name}") for name, entry in value.items())

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": self.entry.schema()}


class Record(Kind):
    """A mapping with the keys of a record; one that becomes a dict over the defaults where the key says so."""

    def __init__(self, key: Key, record: type) -> None:
        super().__init__(key)
        self.record = record

    def inside(self) -> Any:
        return kinds(self.record)

    def read(self, reader: Any, node: Any, place: str) -> Any:
        if self.key.record is None:
            return reader.record(self.record, node, place)
        return {**defaults(self.record), **reader.mapping(node, place, kinds(self.record))}

    def faults(self, value: Any, place: str) -> Iterator[tuple[str, str]]:
        wanted = self.key.record is None and self.record or Mapping
        if not isinstance(value, wanted):
            yield place, f"must be a {wanted.__name__}, got {type(value).__name__}"

    def parts(self, value: Any, place: str) -> Iterator[Part]:
        sparse = isinstance(value, Mapping)
        for name, kind in kinds(self.record).items():
            entry = value.get(name) if sparse else getattr(value, name)
            if entry is not None or not (sparse or NoneType in get_args(declared(self.record)[name].type)):
                yield kind, entry, f"{place}.{name}" if place else name

    def schema(self) -> dict[str, Any]:
        keys = declared(self.record)
        required = [name for name, about in keys.items() if about.required]
        return {
            "title": self.record.__name__, "$comment": str(self.record.__doc__).partition("\n")[0], "type": "object",
            "properties": {name: described(self.record, name) for name in keys}, "additionalProperties": False,
            **({"required": required} if required else {}),
        }  # fmt: skip


class Either(Kind):
    """A single value, or a record."""

    def __init__(self, key: Key, single: Kind, record: Any) -> None:
        super().__init__(key)
        self.single, self.record = single, record

    def read(self, reader: Any, node: Any, place: str) -> Any:
        return (self.record if isinstance(node, yaml.MappingNode) else self.single).read(reader, node, place)

    def parts(self, value: Any, place: str) -> Iterator[Part]:
        yield self.record if isinstance(value, self.record.record) else self.single, value, place

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.single.schema(), self.record.schema()]}


LEAVES = {float: Number, int: Whole, str: Text, bool: Boolean, Any: Kind}


def kind_of(hint: Any, key: Key) -> Kind:
    """The kind of an annotation; None among its alternatives stands for a key that is left out."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        first, *more = (kind_of(entry, key) for entry in inner if entry is not NoneType)
        return Either(key, first, more[0]) if more else first
    if is_dataclass(hint) or key.record:
        return Record(key, key.record or hint)
    if origin in (tuple, list):
        return Several(key, kind_of(inner[0], key), None if origin is list or inner[-1] is Ellipsis else len(inner))
    return Named(key, kind_of(inner[1], key)) if origin is dict else LEAVES[hint](key)


@cache
def kinds(record: type) -> dict[str, Kind]:
    """The kinds of a record's keys."""
    return {name: kind_of(about.type, about.key) for name, about in declared(record).items()}


def defaults(record: type) -> dict[str, Any]:
    """The defaults of a record's keys, without those that are None."""
    return {name: about.default for name, about in declared(record).items() if about.default is not None}


def described(record: type, name: str) -> dict[str, Any]:
    """The schema of a record's key, with its sentences, its default and its example."""
    key, _, default = declared(record)[name]
    about = {**kinds(record)[name].schema(), "description": key.sentences()}
    if default and isinstance(default, (str, int, float, tuple)) or default in (0, False):
        about["default"] = default
    return {**about, "examples": [yaml.safe_load(key.example)]} if key.example else about
