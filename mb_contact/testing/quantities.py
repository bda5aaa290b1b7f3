# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What can be checked: each quantity once, with its parameters, its unit and its words.

A function below makes a :class:`~mb_contact.testing.checks.Quantity`; an expectations file has the same by its name:
``{height: box, above: start, least: 0.2}``, where the first parameter stands at the name.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mb_contact.errors import InputError
from mb_contact.testing.checks import Quantity

QUANTITIES: dict[str, Callable[..., Quantity]] = {}  #: by name
Place = Any  #: 'start', 'world', the name of a link, or three numbers in world axes [m]


def _quantity(unit: str) -> Callable[[Callable[..., Any]], Callable[..., Quantity]]:
    """Turn a reader (view, memory, parameters) into a function of the parameters; its docstring is what it is called.

    Of a truth the docstring has two sentences, with a bar between them.
    """

    def make(reader):
        name, template = reader.__name__, inspect.cleandoc(reader.__doc__).splitlines()[0].rstrip(".")
        signature = inspect.signature(reader)
        own = signature.replace(parameters=list(signature.parameters.values())[2:], return_annotation=Quantity)

        def quantity(*values, **named):
            try:
                bound = own.bind(*values, **named)
            except TypeError as error:
                raise InputError(f"{name}{own}: {error}") from None
            bound.apply_defaults()
            given = bound.arguments
            texts = [part.format(**{key: _said(value) for key, value in given.items()}) for part in template.split("|")]

            def read(view, memory):
                return reader(view, memory, **given)

            return Quantity(texts[0] if len(texts) == 1 else tuple(texts), unit, read, (quantity, dict(given)))

        quantity.__name__ = quantity.__qualname__ = name
        said, *more = inspect.cleandoc(reader.__doc__).splitlines()
        said = f"Whether {said.split('|')[0]}." if "|" in said else said[0].upper() + said[1:].rstrip(".") + "."
        quantity.__doc__ = "\n".join([said, *more, *(["", f"[{unit}]"] if unit else [])])
        quantity.__signature__, quantity.unit = own, unit
        QUANTITIES[name] = quantity
        return quantity

    return make


def _said(value):
    if value == "start":
        return "its start"
    if isinstance(value, str) or value is None:
        return value
    words = [str(entry) for entry in value] if np.iterable(value) else [str(value)]
    if not words:
        return "anything"
    if np.iterable(value) and not isinstance(value[0], str):
        return f"({', '.join(words)})"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _place(view, of, place):
    """Positions (worlds, 3) of a Place."""
    if isinstance(place, str):
        if place == "world":
            return np.zeros(3)
        return view.start(of)[0] if place == "start" else view.pose(place)[0]
    return np.asarray(place, dtype=float)


def _length(rows):
    return np.sqrt((rows * rows).sum(axis=-1))  # a third of np.linalg.norm's time


@_quantity("m")
def height(view, memory, of: str, above: Place = "world"):
    """the height of {of} above {above}"""
    return view.pose(of)[0][:, 2] - _place(view, of, above)[..., 2]


@_quantity("m")
def position(view, memory, of: str, axis: str = "x"):
    """the {axis} coordinate of {of}

    World axes.
    """
    return view.pose(of)[0][:, "xyz".index(axis)]


@_quantity("m")
def distance(view, memory, of: str, to: Place = "start"):
    """the distance of {of} from {to}"""
    return _length(view.pose(of)[0] - _place(view, of, to))


@_quantity("rad")
def tilt(view, memory, of: str):
    """the tilt of {of}

    The angle between its z axis and the one that it had at the start.
    """
    now, first = view.pose(of)[1][:, :, 2], view.start(of)[1][:, :, 2]
    return 2.0 * np.arctan2(_length(now - first), _length(now + first))


@_quantity("m/s")
def speed(view, memory, of: str):
    """the speed of {of}

    Of its origin, between two observations.
    """
    time, place = view.time, view.pose(of)[0]
    before, there = memory.get("last", (time, place))
    memory["last"] = time, place
    return _length(place - there) / max(time - before, 1e-9)


@_quantity("m")
def slip(view, memory, of: str, against: str):
    """the way that {of} has slipped against {against}

    How far it is, seen from the other link, from where it was when this check began to look.
    """
    (p, _), (origin, R) = view.pose(of), view.pose(against)
    now = np.einsum("wji,wj->wi", R, p - origin)
    return _length(now - memory.setdefault("first", now))


@_quantity("rad, m")
def joint(view, memory, of: str):
    """the position of joint {of}"""
    return view.joint(of, "position")


@_quantity("rad/s, m/s")
def joint_velocity(view, memory, of: str):
    """the velocity of joint {of}"""
    return view.joint(of, "velocity")


@_quantity("N m, N")
def joint_effort(view, memory, of: str):
    """the effort of joint {of}"""
    return view.joint(of, "effort")


@_quantity("N")
def force(view, memory, of: str, by: Sequence[str] = ()):
    """the contact force on {of} by {by}

    Length of the sum over all contact points, the mean of a step; by anything where ``by`` is left out.
    """
    return _length(view.force(of, _names(by)))


@_quantity("")
def touch(view, memory, of: str, by: Sequence[str] = ()):
    """{of} is touched by {by}|{of} is not touched by {by}"""
    return (_length(view.force(of, _names(by))) > 0.0).astype(float)


@_quantity("N")
def held(view, memory, of: str, by: Sequence[str]):
    """the least force with which {of} is held by {by} alone

    Of the forces of all holders the least; zero while anything else touches it.
    """
    names = _names(by)
    least = np.min([_length(view.force(of, (name,))) for name in names], axis=0)
    return np.where(_length(view.force(of, names, others=True)) > 0.0, 0.0, least)


@_quantity("N, N m")
def wrench(view, memory, of: str, part: str = "force"):
    """the {part} through joint {of}

    What a force and torque sensor in the joint reads: 'force' or 'torque'.
    """
    rows = view.wrench(of)
    return _length(rows[:, 3:] if part == "force" else rows[:, :3])


@_quantity("J")
def energy(view, memory, part: str = "energy"):
    """the {part} of the scene

    'energy', 'kinetic_energy', or 'energy_balance': energy less what was there at first and all work since.
    """
    return view.certificate(part)


@_quantity("")
def certificate(view, memory, of: str = "residual"):
    """the {of} of the certificate

    A field of ``mb.simulation.Certificate``, 'penetration' [m] for instance, or 'residual'.
    """
    return view.certificate(of)


@_quantity("")
def message(view, memory, of: str, type: str, field: str = "data"):
    """{field} of topic {of}

    A number of the last message.
    """
    value = view.message(of, type, field)
    return np.array([np.nan if value is None else float(value)])


@_quantity("")
def told(view, memory, of: str, type: str, value: Any, field: str = "data"):
    """{field} of topic {of} is {value}|{field} of topic {of} is not {value}

    Of the last message.
    """
    return np.array([float(view.message(of, type, field) == value)])


@_quantity("")
def action(view, memory, of: str, status: int = 4):
    """the last goal of action {of} has status {status}|the last goal of action {of} has another status than {status}

    As action_msgs/GoalStatus has them: 4 succeeded, 5 cancelled, 6 aborted.
    """
    value = view.message(f"{of}/_action/status", "action_msgs/msg/GoalStatusArray", "status_list.-1.status")
    return np.array([float(value == status)])


def _names(by):
    return (by,) if isinstance(by, str) else tuple(by)
