# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""YAML files whose every error names file, line and key: the node tree, and readers of single values.

The file is read as YAML's node tree, which knows lines.  A reader is a function of (Reader, node, key path) that
returns the value of a node, or raises; those of this file are for numbers, texts, lists and mappings.
"""

import json
import math
from difflib import get_close_matches

import yaml

from mb_contact.checks import LARGEST, as_number
from mb_contact.errors import SceneError, one_line
from mb_contact.model.resources import find_resource
from mb_contact.model.scene import MOST_WORDS

ROBOTS = (".urdf", ".xacro")  #: endings of files that hold a robot


def open_scene(path, keys):
    """(reader, root node) of a scene file of any kind; raises as ``load_scene`` where it is missing or not YAML.

    ``keys`` are those that an empty file is told of.  A robot's file stands for the scene of that robot alone.
    """
    try:
        file = find_resource(path)
        text = file.read_text(encoding="utf-8")
        if file.suffix in ROBOTS:
            text = f"models: [{{urdf: {json.dumps(file.name)}}}]"
    except FileNotFoundError as error:
        raise SceneError(f"no scene: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SceneError(f"{path}: cannot be read as a scene: {error}") from None
    reader = Reader(file)
    return reader, reader.compose(text, keys)


def described(read, **schema):
    """Note down what a reader accepts, in words of JSON Schema, for editors (:mod:`mb_contact.model.scene_schema`)."""
    read.schema = schema
    return read


def number(low=-math.inf, above=None, high=math.inf):
    """Reader of a finite number of at least ``low`` (or greater than ``above``) and at most ``high``."""

    def read(reader, node, key):
        value = reader.scalar(node, key, "a number")
        try:
            value = as_number(value)
        except ValueError:
            raise reader.error(node, key, f"must be a number, got '{value}'") from None
        if not math.isfinite(value):
            raise reader.error(node, key, f"must be finite, got {value}")
        if above is not None and not value > above:
            raise reader.error(node, key, f"must be greater than {above:g}, got {value:g}")
        if abs(value) > LARGEST:
            raise reader.error(node, key, f"is beyond {LARGEST:g}, as nothing of a scene is")
        if value < low or value > high:
            bound = f"at least {low:g}" if value < low else f"at most {high:g}"
            raise reader.error(node, key, f"must be {bound}, got {value:g}")
        return value

    bounds = {"minimum": low, "exclusiveMinimum": above, "maximum": high}
    bounds = {key: bound for key, bound in bounds.items() if bound is not None and math.isfinite(bound)}
    return described(read, type="number", **bounds)


def whole(low, high, even=False):
    """Reader of a whole number from ``low`` to ``high``, perhaps of an even one."""

    def read(reader, node, key):
        value = number(low, high=high)(reader, node, key)
        if value != int(value) or (even and value % 2.0 != 0.0):
            kind = "an even whole number" if even else "a whole number"
            raise reader.error(node, key, f"must be {kind} from {low} to {high}, got {value:g}")
        return int(value)

    return described(read, type="integer", **({"multipleOf": 2} if even else {}), minimum=low, maximum=high)


def text(reader, node, key):
    """Reader of a string that is not empty."""
    value = reader.scalar(node, key, "a text")
    if node.tag != "tag:yaml.org,2002:str" or not value:
        raise reader.error(node, key, f"must be a text, got '{value}'")
    return value


described(text, type="string", minLength=1)


def literal(reader, node, key):
    """Reader of a text, number or boolean as it is written."""
    return reader.scalar(node, key, "a text, a number, true or false")


described(literal, type=["string", "number", "boolean"])


def boolean(reader, node, key):
    """Reader of true or false."""
    value = reader.scalar(node, key, "true or false").lower()
    if value not in ("true", "false"):
        raise reader.error(node, key, f"must be true or false, got '{value}'")
    return value == "true"


described(boolean, type="boolean")


def choice(*available):
    """Reader of one word out of ``available``."""

    def read(reader, node, key):
        value = text(reader, node, key)
        if value in available:
            return value
        raise reader.error(node, key, f"'{value}' is not known; available: {', '.join(available)}")

    return described(read, type="string", enum=list(available))


def vector(size):
    """Reader of a list of ``size`` numbers."""

    def read(reader, node, key):
        values = tuple(number()(reader, item, f"{key}[{i}]") for i, item in reader.items(node, key))
        if len(values) != size:
            raise reader.error(node, key, f"must be a list of {size} numbers, got {len(values)}")
        return values

    return described(read, type="array", items={"type": "number"}, minItems=size, maxItems=size)


def lengths(reader, node, key):
    """Reader of a size: a list of numbers greater than zero, or one number."""
    if isinstance(node, yaml.ScalarNode):
        return (number(above=0.0)(reader, node, key),)
    return tuple(number(above=0.0)(reader, item, f"{key}[{i}]") for i, item in reader.items(node, key))


_length = {"type": "number", "exclusiveMinimum": 0.0}
described(lengths, oneOf=[_length, {"type": "array", "items": _length}])


def many(read_one):
    """Reader of a list, each entry by ``read_one``."""

    def read(reader, node, key):
        return tuple(read_one(reader, item, f"{key}[{i}]") for i, item in reader.items(node, key))

    return described(read, type="array", items=read_one)


def named(read_one):
    """Reader of a mapping from names that the user chooses, each value by ``read_one``."""

    def read(reader, node, key):
        return {name: read_one(reader, value, place) for name, value, place in reader.entries(node, key)}

    return described(read, type="object", additionalProperties=read_one)


def record(make, readers, required=()):
    """Reader of a mapping with fixed keys into ``make(**values)``."""

    def read(reader, node, key):
        return make(**reader.mapping(node, key, readers, required))

    return describe_mapping(read, readers, required)


def describe_mapping(read, readers, required=()):
    """Note down that a reader accepts a mapping with fixed keys."""
    required = {"required": list(required)} if required else {}
    return described(read, type="object", properties=readers, additionalProperties=False, **required)


class Reader:
    """Walks the node tree of one file; remembers the line of every key."""

    def __init__(self, path):
        self.path = path
        self.lines = {}

    def compose(self, content, keys):
        """Root node of the file."""
        try:
            root = yaml.compose(content, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 1
            raise SceneError(f"{self.path}:{line}: not well-formed YAML: {error.problem}") from None
        except yaml.reader.ReaderError as error:
            line = content.count("\n", 0, error.position) + 1
            problem = f"the character #x{error.character:04x} is not allowed"
            raise SceneError(f"{self.path}:{line}: not well-formed YAML: {problem}") from None
        if root is None:
            raise SceneError(f"{self.path}:1: the scene is empty; allowed keys: {', '.join(keys)}")
        return root

    def error(self, node, key, message):
        """A SceneError at the line of ``key``, or of ``node`` where that has no line yet."""
        line = self.lines.get(key, node.start_mark.line + 1)
        return SceneError(one_line(f"{self.path}:{line}: {key or 'scene'}: {message}", MOST_WORDS))

    def scalar(self, node, key, wanted):
        """The text of a scalar node that is not null."""
        if not isinstance(node, yaml.ScalarNode) or node.tag == "tag:yaml.org,2002:null":
            kind = {"mapping": "a mapping", "sequence": "a list"}.get(node.id, "nothing")
            raise self.error(node, key, f"must be {wanted}, got {kind}")
        return node.value

    def items(self, node, key):
        """(index, node) of a list."""
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(node, key, "must be a list")
        for i, item in enumerate(node.value):
            self.lines[f"{key}[{i}]"] = item.start_mark.line + 1
            yield i, item

    def entries(self, node, key):
        """(name, node, key path) of a mapping, each name once."""
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node, key, "must be a mapping of keys to values")
        for name_node, value in node.value:
            name = self.scalar(name_node, key, "a mapping whose keys are texts")
            place = f"{key}.{name}" if key else name
            first, self.lines[place] = self.lines.get(place), name_node.start_mark.line + 1
            if first is not None:
                raise self.error(name_node, place, f"is given twice, first in line {first}; keep one of them")
            yield name, value, place

    def mapping(self, node, key, readers, required=()):
        """Values of a mapping with fixed keys."""
        values = {}
        for name, value, place in self.entries(node, key):
            if name not in readers:
                raise self._unknown(value, place, name, readers)
            values[name] = readers[name](self, value, place)
        for name in required:
            if name not in values:
                raise self.error(node, key, f"the key '{name}' is missing")
        return values

    def _unknown(self, node, place, name, readers):
        allowed = f"allowed keys: {', '.join(readers)}"
        close = get_close_matches(name, readers, n=1)
        hint = f" (did you mean '{close[0]}'?)" if close else ""
        return self.error(node, place, f"unknown key{hint}; {allowed}")
