# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A key that is declared once: its reader, its rules in Python, its schema and its page follow.

Covers keys/declaration.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from mb_contact.errors import SceneError
from mb_contact.keys.declaration import Key, key
from mb_contact.keys.kinds import Record
from mb_contact.keys.page import page
from mb_contact.model.scene.reader import Reader
from mb_contact.model.scene.records import Scene
from mb_contact.model.scene.rules import _faults

pytestmark = pytest.mark.quick


@dataclass(frozen=True)
class Pair:
    """Two numbers."""

    a: float = key("First.", example="1.0")
    b: float = key("Second.", 2.0, example="3.0")


@dataclass(frozen=True)
class Car:
    """What has one key of each kind."""

    ONE_OF: ClassVar[tuple] = (("name", "number"),)
    AT_MOST_ONE: ClassVar[tuple] = (("place", "angle"),)

    name: str | None = key("Name.", None, example="box")
    number: int | None = key("Number.", None, low=1, high=99, example="7")
    speed: float = key("Speed.", 1.0, unit="m/s", above=0.0, high=100.0, example="3.0")
    count: int = key("Even count.", 4, low=2, high=8, even=True, example="2")
    on: bool = key("Whether it is on.", False)
    kind: str = key("Kind.", "slow", choices=("slow", "fast"))
    fuel: float = key(
        "Fuel.", 0.0, unit="kg", low=0.0, only={"kind": ("fast",)}, needed={"kind": ("fast",)}, example="5.0",
    )
    place: tuple[float, float, float] | None = key("Place.", None, unit="m", example="[0, 0, 1]")
    angle: float | None = key("Angle.", None, unit="rad", example="0.5")
    size: tuple[float, ...] = key("Size.", (), unit="m", above=0.0, single=True, example="[0.1, 0.2]")
    names: tuple[str, ...] = key("Names.", (), example="[a, b]")
    masses: dict[str, float] = key("Masses.", factory=dict, unit="kg", low=0.0, example="{a: 1.0}")
    pair: Pair | None = key("A pair.", None)
    either: bool | Pair = key("Nothing or a pair.", False)
    brake: float = key("Brake.", 0.0, beside=("fuel",), example="1.0")
    notes: dict[str, int] = field(default_factory=dict)  # no key


CAR = Record(Key(""), Car)


def read(content):
    reader = Reader("file.yaml")
    return reader.record(Car, reader.compose("name: box\n" + content), "")


@pytest.mark.parametrize("content, value", [
    ("speed: 1.5e-3", 1.5e-3), ("count: 6", 6), ("on: true", True),
    ("place: [1, 2, 3.5]", (1.0, 2.0, 3.5)), ("size: 0.2", (0.2,)), ("size: [1, 2]", (1.0, 2.0)),
    ("names: [a, b]", ("a", "b")), ("masses: {a: 1, b: 0}", {"a": 1.0, "b": 0.0}), ("pair: {a: 1}", Pair(1.0)),
    ("either: true", True), ("either: {a: 1, b: 3}", Pair(1.0, 3.0)),
])  # fmt: skip
def test_values(content, value):
    assert getattr(read(content), content.split(":")[0]) == value


@pytest.mark.parametrize("content, message", [
    ("speed: 0", r"file.yaml:2: speed: must be greater than 0"),
    ("speed: 200", r"file.yaml:2: speed: must be at most 100, got 200"),
    ("speed: .nan", r"file.yaml:2: speed: must be a number"),
    ("on: true\nspeed: much", r"file.yaml:3: speed: must be a number"),
    ("on: perhaps", r"file.yaml:2: on: must be true or false"),
    ("count: 3", r"file.yaml:2: count: must be an even whole number from 2 to 8, got 3"),
    ("place: [1, 2]", r"file.yaml:2: place: must be a list of 3 numbers, got 2"),
    ("names:\n- a\n- [b]", r"file.yaml:4: names\[1\]: must be .*got a list"),
    ("kind: fastt", r"file.yaml:2: kind: .*slow, fast"),
    ("masses: {a: -1}", r"file.yaml:2: masses.a: must be"),
    ("pair: {b: 1}", r"file.yaml:2: pair: the key 'a' is missing"),
    ("spead: 1", r"file.yaml:2: spead: unknown key \(did you mean 'speed'\?\); allowed keys: name, number, speed"),
    ("on: true\non: false", r"file.yaml:3: on: is given twice, first in line 2"),
    ("a: [", r"file.yaml:2: not well-formed YAML"),
    ("number: 3", r"file.yaml:1: scene: has both name and number; keep one of them"),
    ("place: [0, 0, 0]\nangle: 1", r"file.yaml:1: scene: has both place and angle"),
    ("fuel: 1", r"file.yaml:2: fuel: a car of kind slow has no fuel; leave it out, or set kind: fast"),
    ("kind: fast", r"fuel: a car of kind fast needs a fuel; add fuel: 5.0"),
    ("brake: 1", r"file.yaml:2: brake: has no meaning without a fuel above zero; add it"),
])  # fmt: skip
def test_refusals(content, message):
    with pytest.raises(SceneError, match=message):
        read(content)


def test_a_file_without_anything_is_told_what_there_is():
    with pytest.raises(SceneError, match="file.yaml:1: the file is empty; allowed keys: preset, models"):
        Reader("file.yaml").compose("")


@pytest.mark.parametrize("values, fault", [
    ({"speed": 0}, ("speed", "must be greater than 0, got 0")),
    ({"speed": float("inf")}, ("speed", "must be finite, got inf")),
    ({"speed": "fast"}, ("speed", "must be a number, got 'fast'")),
    ({"count": 4.0}, ("count", "must be an even whole number from 2 to 8, got 4")),
    ({"count": 5}, ("count", "must be an even whole number from 2 to 8, got 5")),
    ({"size": (0.1, -2.0)}, ("size[1]", "must be greater than 0, got -2")),
    ({"size": 3.0}, ("size", "must be a list, got 3.0")),
    ({"place": (1.0, 2.0)}, ("place", "must be a list of 3 numbers, got 2")),
    ({"masses": {"a": -1}}, ("masses.a", "must be at least 0, got -1")),
    ({"masses": [1.0]}, ("masses", "must be a mapping, got [1.0]")),
    ({"pair": Pair("x")}, ("pair.a", "must be a number, got 'x'")),
    ({"pair": 3}, ("pair", "must be a Pair, got int")),
    ({"name": None}, ("", "the key 'name' is missing; give name or number")),
])  # fmt: skip
def test_what_is_made_in_python_has_the_same_rules(values, fault):
    car = Car(**{"name": "box", **values})
    assert next(_faults(CAR, car, "", Scene())) == fault
    assert not [*_faults(CAR, Car("box"), "", Scene())]


def test_schema_and_page_have_what_is_declared():
    schema = CAR.schema()
    assert schema["properties"]["speed"] == {
        "type": "number", "exclusiveMinimum": 0.0, "maximum": 100.0, "description": "Speed. [m/s]", "default": 1.0,
        "examples": [3.0],
    }  # fmt: skip
    assert schema["properties"]["pair"]["required"] == ["a"] and "notes" not in schema["properties"]
    text = page("# Cars", schema)
    assert "| speed | number | m/s | > 0, ≤ 100 | 1.0 | Speed. | `speed: 3.0` |" in text
    assert "| fuel | number | kg | ≥ 0 | 0.0 | Fuel. Only with kind fast, where it is needed. | `fuel: 5.0` |" in text
    assert "| kind | `slow`, `fast` |  |  | slow | Kind. | `kind: fast` |" in text
    assert "## Pair\n\nTwo numbers.\n" in text and "| **a** | number |" in text


def test_lines_are_those_of_the_keys():
    reader = Reader("file.yaml")
    reader.record(Car, reader.compose("name: b\nmasses:\n  a: 1\n"), "")
    assert reader.lines == {"name": 1, "masses": 2, "masses.a": 3}
