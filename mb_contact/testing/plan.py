# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a test is: scene, controllers, conditions, expectations and budgets; in Python, or a file that needs no code."""

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
from mb_contact.keys.declaration import Key
from mb_contact.keys.kinds import Boolean, Kind, Named, Number, Several, Text, Whole
from mb_contact.model.scene.reader import Reader
from mb_contact.model.scene.schema import DIALECT
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

_TEXT, _TRUTH, _NUMBER = Text(Key("")), Boolean(Key("")), Number(Key(""))
_TIME, _LASTING = Number(Key("", low=0.0)), Number(Key("", above=0.0))


def _list(entry, size=None):
    return Several(Key(""), entry, size)


def _mapping_schema(kinds):
    properties = {name: kind.schema() for name, kind in kinds.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


class _Plain(Kind):
    """A number, truth or text, or a list of them."""

    def __init__(self, schema=None):
        super().__init__(Key(""))
        self._schema = schema or {}

    def read(self, reader, node, place):
        return yaml.SafeLoader("").construct_object(node, deep=True)

    def schema(self):
        return dict(self._schema)


class _Moment(_Plain):
    """A time, or the end of the run."""

    def read(self, reader, node, place):
        value = super().read(reader, node, place)
        return value if value == END else _TIME.read(reader, node, place)


def _parameters(make):
    return list(signature(make).parameters)


_PLAIN = _Plain()
_EXPECTED = {
    "least": _NUMBER, "most": _NUMBER, "is": _TRUTH, "after": _TIME, "until": _TIME, "within": _TIME, "lasting": _TIME,
    "at": _Moment({"anyOf": [{"type": "number", "minimum": 0}, {"const": END}]}), "name": _TEXT,
}  # fmt: skip


class _OneExpectation(Kind):
    """A check and its time: the name of a quantity, its parameters, bounds, times."""

    def read(self, reader, node, place):
        names = [name for name, _, _ in Reader(reader.path).entries(node, place)]
        chosen = [name for name in names if name in QUANTITIES]
        if len(chosen) != 1:
            message = f"names {' and '.join(chosen) or 'no quantity'}; one of: {', '.join(QUANTITIES)}"
            raise reader.error(node, place, message)
        make = QUANTITIES[chosen[0]]
        first, *others = _parameters(make) or [""]
        values = reader.mapping(node, place, {name: _PLAIN for name in (chosen[0], *others)} | _EXPECTED)
        try:
            own = {first: values.pop(chosen[0]), **{name: values.pop(name) for name in others if name in values}}
            return _with_bounds(reader, node, place, make(**own), values)
        except InputError as error:
            raise reader.error(node, place, str(error)) from None

    def schema(self):
        others = {name: _PLAIN for make in QUANTITIES.values() for name in _parameters(make)[1:]}
        own = {name: _Plain({"description": str(make.__doc__).splitlines()[0]}) for name, make in QUANTITIES.items()}
        return _mapping_schema({**others, **own, **_EXPECTED})


def _with_bounds(reader, node, place, quantity, values):
    low, high, truth = (values.pop(name, None) for name in ("least", "most", "is"))
    if quantity.is_truth:
        if low is not None or high is not None:
            raise reader.error(node, place, "is so or not: say 'is: true' or 'is: false' in place of bounds")
        check = quantity <= 0.0 if truth is False else quantity >= 1.0
    elif low is None and high is None:
        raise reader.error(node, place, f"needs 'least' or 'most' [{quantity.unit or 'a number'}]")
    else:
        check = Check(quantity, -math.inf if low is None else low, math.inf if high is None else high)
    return Expectation(check, **values)


def _push(values):
    return push(values.pop("push"), **values)


def _spawn(values):
    place = {"position": values.get("position", (0, 0, 0)), "quaternion": values.get("quaternion", (0, 0, 0, 1))}
    return "spawn", {"name": values["spawn"], "uri": values.get("uri", ""), "text": values.get("text", ""), **place}


_VECTOR, _QUATERNION = _list(_NUMBER, 3), _list(_NUMBER, 4)
#: what happens: its own keys, and what makes kind and fields of them
_EVENTS = {
    "push": ({"push": _TEXT, "force": _VECTOR, "torque": _VECTOR, "lasting": _LASTING}, _push),
    "spawn": ({"spawn": _TEXT, "text": _TEXT, "uri": _TEXT, "position": _VECTOR, "quaternion": _QUATERNION}, _spawn),
    "delete": ({"delete": _TEXT}, lambda v: ("delete", {"names": [v["delete"]]})),
    "reset": ({"reset": _TRUTH}, lambda v: ("reset", {})),
    "restart": ({"restart": Whole(Key("", low=1, high=100))}, lambda v: ("restart", {"controller": v["restart"]})),
}


class _OneEvent(Kind):
    """What happens at a stated time."""

    def read(self, reader, node, place):
        names = [name for name, _, _ in Reader(reader.path).entries(node, place)]
        kind = next((name for name in names if name in _EVENTS), None)
        if kind is None:
            raise reader.error(node, place, f"says nothing that can happen: {', '.join(_EVENTS)}")
        kinds, make = _EVENTS[kind]
        values = reader.mapping(node, place, {"at": _TIME, **kinds}, ("at",))
        return Event(values.pop("at"), *make(values))

    def schema(self):
        own = {name: kind for kinds, _ in _EVENTS.values() for name, kind in kinds.items()}
        return _mapping_schema({"at": _TIME, **own})


class _OneDraw(Kind):
    """A value that trials draw."""

    def read(self, reader, node, place):
        values = reader.mapping(node, place, {name: _PLAIN for name in (*KINDS, *WAYS)})
        kinds, ways = [n for n in values if n in KINDS], [n for n in values if n in WAYS]
        if len(kinds) != 1 or len(ways) != 1:
            raise reader.error(node, place, f"needs one of {', '.join(KINDS)} and one of {', '.join(WAYS)}")
        bounds, of = values[ways[0]], values[kinds[0]]
        if not isinstance(bounds, list) or len(bounds) != 2:
            raise reader.error(node, place, f"{ways[0]} must be a list of two: the least and the greatest")
        try:
            return Draw(kinds[0], tuple(of) if isinstance(of, list) else of, *bounds, ways[0])
        except (InputError, ValueError) as error:
            raise reader.error(node, place, str(error)) from None

    def schema(self):
        two = _Plain({"minItems": 2, "maxItems": 2})
        return _mapping_schema({**{name: _PLAIN for name in KINDS}, **{name: two for name in WAYS}})


KEYS = {
    "scene": _TEXT, "controllers": _list(_TEXT), "expect": _list(_OneExpectation(Key(""))),
    "events": _list(_OneEvent(Key(""))), "duration": _LASTING, "wall": _LASTING, "lockstep": _TRUTH,
    "joints": _list(_TEXT), "parameters": Named(Key(""), _PLAIN), "remap": Named(Key(""), _TEXT), "delay": _TIME,
    "loss": Number(Key("", low=0.0, high=0.99)), "draw": _list(_OneDraw(Key(""))),
    "trials": Whole(Key("", low=0, high=10**6)), "rate": Number(Key("", low=0.0, high=1.0)),
    "seed": Whole(Key("", low=0, high=2**32 - 1)),
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
    values = reader.mapping(reader.compose(content, KEYS), "", KEYS)
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
    return {"$schema": DIALECT, "title": "mb_contact manipulation test", **_mapping_schema(KEYS)}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(plan_schema(), indent=1) + "\n")
