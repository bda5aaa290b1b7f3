# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Readers of YAML values alone: what each takes, and the file, line and key in what it refuses."""

from __future__ import annotations

import pytest

from mb_contact.errors import SceneError
from mb_contact.model.yaml_reader import (
    Reader,
    boolean,
    choice,
    lengths,
    many,
    named,
    number,
    record,
    text,
    vector,
    whole,
)

KEYS = {
    "speed": number(above=0.0), "count": whole(2, 8, even=True), "on": boolean, "name": text, "place": vector(3),
    "size": lengths, "kind": choice("slow", "fast"), "names": many(text), "masses": named(number(low=0.0)),
    "pair": record(lambda a, b=2.0: (a, b), {"a": number(), "b": number()}, ("a",)),
}  # fmt: skip


def read(content):
    reader = Reader("file.yaml")
    return reader.mapping(reader.compose(content, KEYS), "", KEYS)


@pytest.mark.parametrize("content, value", [
    ("speed: 1.5e-3", 1.5e-3), ("count: 4", 4), ("on: true", True), ("name: box", "box"),
    ("place: [1, 2, 3.5]", (1.0, 2.0, 3.5)), ("size: 0.2", (0.2,)), ("size: [1, 2]", (1.0, 2.0)),
    ("kind: fast", "fast"), ("names: [a, b]", ("a", "b")),
    ("masses: {a: 1, b: 0}", {"a": 1.0, "b": 0.0}), ("pair: {a: 1}", (1.0, 2.0)),
])  # fmt: skip
def test_values(content, value):
    assert read(content) == {content.split(":")[0]: value}


@pytest.mark.parametrize("content, message", [
    ("speed: 0", r"file.yaml:1: speed: must be greater than 0"),
    ("on: true\nspeed: much", r"file.yaml:2: speed: must be a number"),
    ("count: 3", r"file.yaml:1: count: must be an even"),
    ("place: [1, 2]", r"file.yaml:1: place: must be a list of 3 numbers, got 2"),
    ("names:\n- a\n- [b]", r"file.yaml:3: names\[1\]: must be .*got a list"),
    ("kind: fastt", r"file.yaml:1: kind: .*slow, fast"),
    ("masses: {a: -1}", r"file.yaml:1: masses.a: must be"),
    ("pair: {b: 1}", r"file.yaml:1: pair: the key 'a' is missing"),
    ("spead: 1", r"file.yaml:1: spead: unknown key \(did you mean 'speed'\?\); allowed keys: speed"),
    ("on: true\non: false", r"file.yaml:2: on: is given twice, first in line 1"),
    ("", r"file.yaml:1: the scene is empty; allowed keys: speed"),
    ("a: [", r"file.yaml:1: not well-formed YAML"),
])  # fmt: skip
def test_refusals(content, message):
    with pytest.raises(SceneError, match=message):
        read(content)


def test_lines_are_those_of_the_keys():
    reader = Reader("file.yaml")
    reader.mapping(reader.compose("on: true\nmasses:\n  a: 1\n", KEYS), "", KEYS)
    assert reader.lines == {"on": 1, "masses": 2, "masses.a": 3}
