# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a test is: scene, controllers, conditions, expectations and budgets; in Python, or a file that needs no code."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from inspect import signature
from pathlib import Path
from typing import Any

import yaml

from mb_contact.errors import InputError
from mb_contact.model.scene_schema import DIALECT, schema_of
from mb_contact.model.yaml_reader import (
    Reader,
    boolean,
    describe_mapping,
    described,
    many,
    named,
    number,
    text,
    vector,
    whole,
)
from mb_contact.ros.options import NodeOptions
from mb_contact.testing.checks import END, Check, Expectation
from mb_contact.testing.conditions import Conditions, Event, push
from mb_contact.testing.draws import KINDS, WAYS, Draw
from mb_contact.testing.quantities import QUANTITIES


@dataclass(frozen=True)
class Plan:
    """A test.

    Attributes
    ----------
    scene : path or Scene
    controllers : tuple of str
        Command lines, each a process of its own.
    expectations : tuple of Expectation
    conditions : Conditions
    duration : float, optional
        Simulated seconds at most; else the run ends when all is decided or a controller has ended.
    wall : float, optional
        Wall seconds at most; none where left out: how fast a machine is does not change a verdict.
    backend : str
        'auto', 'rclpy' or 'embedded'.
    lockstep : bool
        Wait for the answer to every state; without it the run is paced in real time, and not the same every time.
    joints : tuple of str
        For which every state has to be answered; needed where several controllers share the joints.
    parameters, remap : mapping
        Parameters of the node, and other names of its topics.
    draws : tuple of Draw
    trials : int
        How many trials are asked for; 0: one run of the scene as it is.
    attach : bool
        Check what runs already in this process's ROS domain, seen by its topics; the scene is not needed.
    rate : float
        Least rate of success of trials.
    seed : int
    folder : path, optional
        Where controllers run; the present one where left out.
    """

    scene: Any = None
    controllers: tuple[str, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    conditions: Conditions = Conditions()
    duration: float | None = None
    wall: float | None = None
    backend: str = "auto"
    lockstep: bool = True
    joints: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    remap: Mapping[str, str] = field(default_factory=dict)
    draws: tuple[Draw, ...] = ()
    trials: int = 0
    attach: bool = False
    rate: float = 1.0
    seed: int = 0
    folder: Path | None = None

    def __post_init__(self) -> None:
        if self.scene is None and not self.attach:
            raise InputError("a test needs a scene: name it on the command line, or as 'scene' in the file")
        if not self.controllers and self.duration is None and not any(e.within for e in self.expectations):
            raise InputError("a test without controllers needs a 'duration'")

    @property
    def options(self) -> NodeOptions:
        """Options of the node.

        Raises
        ------
        InputError
            A parameter that it does not have.
        """
        known = {entry.name for entry in fields(NodeOptions)}
        for name in self.parameters:
            if name not in known:
                raise InputError(f"parameters: the node has no '{name}'; it has {', '.join(sorted(known))}")
        waits = self.lockstep and bool(self.controllers)
        options = NodeOptions(
            lockstep=waits, lockstep_timeout=0.0, lockstep_joints=list(self.joints) or [""], start_paused=True,
            real_time_factor=0.0 if self.lockstep else 1.0, external_wrench_links=["*"],
        )  # fmt: skip
        return replace(options, **self.parameters)


# --- the file ---------------------------------------------------------------------------------------

_TIMES = {"after": number(low=0.0), "until": number(low=0.0), "within": number(low=0.0), "lasting": number(low=0.0)}
_BOUNDS = {"least": number(), "most": number()}


def _plain(reader, node, key):
    """A number, truth or text, or a list of them."""
    return yaml.SafeLoader("").construct_object(node, deep=True)


described(_plain)


def _moment(reader, node, key):
    value = _plain(reader, node, key)
    return value if value == END else number(low=0.0)(reader, node, key)


described(_moment, anyOf=[{"type": "number", "minimum": 0}, {"const": END}])


def _parameters(make):
    return list(signature(make).parameters)


def _expectation(reader, node, key):
    """A check and its time: the name of a quantity, its parameters, bounds, times."""
    names = [name for name, _, _ in Reader(reader.path).entries(node, key)]
    chosen = [name for name in names if name in QUANTITIES]
    if len(chosen) != 1:
        raise reader.error(node, key, f"names {' and '.join(chosen) or 'no quantity'}; one of: {', '.join(QUANTITIES)}")
    make = QUANTITIES[chosen[0]]
    first, *others = _parameters(make) or [""]
    readers = {chosen[0]: _plain, **{name: _plain for name in others}, **_EXPECTED}
    values = reader.mapping(node, key, readers)
    try:
        own = {first: values.pop(chosen[0]), **{name: values.pop(name) for name in others if name in values}}
        return _with_bounds(reader, node, key, make(**own), values)
    except InputError as error:
        raise reader.error(node, key, str(error)) from None


def _with_bounds(reader, node, key, quantity, values):
    low, high, truth = (values.pop(name, None) for name in ("least", "most", "is"))
    if quantity.is_truth:
        if low is not None or high is not None:
            raise reader.error(node, key, "is so or not: say 'is: true' or 'is: false' in place of bounds")
        check = quantity <= 0.0 if truth is False else quantity >= 1.0
    elif low is None and high is None:
        raise reader.error(node, key, f"needs 'least' or 'most' [{quantity.unit or 'a number'}]")
    else:
        check = Check(quantity, -math.inf if low is None else low, math.inf if high is None else high)
    return Expectation(check, **values)


_EXPECTED = {**_BOUNDS, "is": boolean, **_TIMES, "at": _moment, "name": text}
_OF_QUANTITIES: dict[str, Any] = {
    **{name: {} for make in QUANTITIES.values() for name in _parameters(make)[1:]},
    **{name: {"description": str(make.__doc__).splitlines()[0]} for name, make in QUANTITIES.items()},
}
describe_mapping(_expectation, {**_OF_QUANTITIES, **_EXPECTED})


def _push(values):
    return push(values.pop("push"), **values)


def _spawn(values):
    place = {"position": values.get("position", (0, 0, 0)), "quaternion": values.get("quaternion", (0, 0, 0, 1))}
    return "spawn", {"name": values["spawn"], "uri": values.get("uri", ""), "text": values.get("text", ""), **place}


#: what happens: its own keys, and what makes kind and fields of them
_EVENTS = {
    "push": ({"push": text, "force": vector(3), "torque": vector(3), "lasting": number(above=0.0)}, _push),
    "spawn": ({"spawn": text, "text": text, "uri": text, "position": vector(3), "quaternion": vector(4)}, _spawn),
    "delete": ({"delete": text}, lambda v: ("delete", {"names": [v["delete"]]})),
    "reset": ({"reset": boolean}, lambda v: ("reset", {})),
    "restart": ({"restart": whole(1, 100)}, lambda v: ("restart", {"controller": v["restart"]})),
}


def _event(reader, node, key):
    """What happens at a stated time."""
    names = [name for name, _, _ in Reader(reader.path).entries(node, key)]
    kind = next((name for name in names if name in _EVENTS), None)
    if kind is None:
        raise reader.error(node, key, f"says nothing that can happen: {', '.join(_EVENTS)}")
    readers, make = _EVENTS[kind]
    values = reader.mapping(node, key, {"at": number(low=0.0), **readers}, ("at",))
    return Event(values.pop("at"), *make(values))


_OF_EVENTS = {name: read for readers, _ in _EVENTS.values() for name, read in readers.items()}
describe_mapping(_event, {"at": number(low=0.0), **_OF_EVENTS})


def _draw(reader, node, key):
    """A value that trials draw."""
    readers = {name: _plain for name in (*KINDS, *WAYS)}
    values = reader.mapping(node, key, readers)
    kinds, ways = [n for n in values if n in KINDS], [n for n in values if n in WAYS]
    if len(kinds) != 1 or len(ways) != 1:
        raise reader.error(node, key, f"needs one of {', '.join(KINDS)} and one of {', '.join(WAYS)}")
    bounds, of = values[ways[0]], values[kinds[0]]
    if not isinstance(bounds, list) or len(bounds) != 2:
        raise reader.error(node, key, f"{ways[0]} must be a list of two: the least and the greatest")
    try:
        return Draw(kinds[0], tuple(of) if isinstance(of, list) else of, *bounds, ways[0])
    except (InputError, ValueError) as error:
        raise reader.error(node, key, str(error)) from None


describe_mapping(_draw, {**{name: {} for name in KINDS}, **{name: {"minItems": 2, "maxItems": 2} for name in WAYS}})

READERS = {
    "scene": text, "controllers": many(text), "expect": many(_expectation), "events": many(_event),
    "duration": number(above=0.0), "wall": number(above=0.0), "lockstep": boolean, "joints": many(text),
    "parameters": named(_plain), "remap": named(text), "delay": number(low=0.0),
    "loss": number(low=0.0, high=0.99), "draw": many(_draw), "trials": whole(0, 10**6),
    "rate": number(low=0.0, high=1.0), "seed": whole(0, 2**32 - 1),
}  # fmt: skip


def load_plan(path: str | Path, **given: Any) -> Plan:
    """A test from an expectations file; ``given`` are attributes of Plan that count more than the file's.

    Raises
    ------
    InputError
        The file does not exist or is wrong: the message names line and key.
    """
    path = Path(path)
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as expectations: {getattr(error, 'strerror', error)}") from None
    reader = Reader(path)
    values = reader.mapping(reader.compose(content, READERS), "", READERS)
    scene = values.pop("scene", None)
    if scene is not None and not scene.startswith("package://"):
        scene = str(path.parent / scene)
    conditions = Conditions(values.pop("events", ()), values.pop("delay", 0.0), values.pop("loss", 0.0))
    for key, attribute in (("expect", "expectations"), ("draw", "draws")):
        values[attribute] = values.pop(key, ())
    if "controllers" in values:
        values["folder"] = path.parent
    if given.get("controllers"):
        values["folder"] = None
    given = {key: value for key, value in given.items() if value is not None and value != ()}
    return Plan(**{"scene": scene, "conditions": conditions, **values, **given})


def plan_schema() -> dict[str, Any]:
    """The JSON Schema of expectations files: editors complete and check with it."""
    properties = {key: schema_of(read) for key, read in READERS.items()}
    return {"$schema": DIALECT, "title": "mb_contact manipulation test", "type": "object", "properties": properties,
            "additionalProperties": False}  # fmt: skip


if __name__ == "__main__":
    sys.stdout.write(json.dumps(plan_schema(), indent=1) + "\n")
