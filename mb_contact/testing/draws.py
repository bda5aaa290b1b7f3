# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What trials draw: values of a scene and of the way of commands, by a seed and the trial's own number alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mb_contact.checks import Floats, as_choice
from mb_contact.errors import InputError
from mb_contact.model.pairs import link_frictions
from mb_contact.model.rotations import matrix_to_quat, rotation_about
from mb_contact.model.scene import Pose, Scene
from mb_contact.model.world import build_world
from mb_contact.testing.conditions import Conditions

WAYS = ("factor", "offset", "value")
COMMANDS = "commands"  #: that delays and losses are of


@dataclass(frozen=True)
class Draw:
    """One value that is drawn uniformly.

    Attributes
    ----------
    kind : str
        One of KINDS.
    of : str or tuple of str
        What has the value; of friction a material, or two.
    low, high : float or tuple
    by : str
        'factor' on the scene's value, 'offset' to it, or the 'value' itself.
    """

    kind: str
    of: Any
    low: Any
    high: Any
    by: str = "value"

    def __post_init__(self) -> None:
        as_choice(self.kind, KINDS, "kind of draw")
        as_choice(self.by, WAYS, "way to draw")
        low, high = np.broadcast_arrays(np.asarray(self.low, dtype=float), np.asarray(self.high, dtype=float))
        if not (low <= high).all():
            raise InputError(f"a draw of {self.text}: the first number must not be above the second")

    @property
    def text(self) -> str:
        """In a few words."""
        return f"{self.kind} of {self.of if isinstance(self.of, str) else ' and '.join(self.of)}"

    def new(self, old: Any, drawn: Floats) -> Any:
        """The value of a trial, from the scene's and what was drawn."""
        old = np.asarray(old, dtype=float)
        return drawn * old if self.by == "factor" else drawn + old if self.by == "offset" else drawn


def drawn(draws: Sequence[Draw], seed: int, number: int) -> list[Floats]:
    """Numbers of trial ``number``, one array a draw."""
    return [
        np.random.default_rng([seed, number, i]).uniform(np.asarray(draw.low, float), np.asarray(draw.high, float))
        for i, draw in enumerate(draws)
    ]


def varied(
    scene: Scene, conditions: Conditions, draws: Sequence[Draw], seed: int, number: int
) -> tuple[Scene, Conditions]:
    """The scene and the conditions of a trial.

    Raises
    ------
    InputError
        The scene has nothing of that name.
    """
    conditions = replace(conditions, seed=(seed, number))
    for draw, value in zip(draws, drawn(draws, seed, number)):
        if draw.of == COMMANDS:
            changed: Any = {draw.kind: float(draw.new(getattr(conditions, draw.kind), value))}
            conditions = replace(conditions, **changed)
        else:
            scene = KINDS[draw.kind](scene, draw, value)
    return scene, conditions


def _changed(scene: Scene, draw: Draw, change: Callable[[Any], Any], rows: Sequence[str] = ("primitives",)) -> Scene:
    """The scene with one entry of its lists changed."""
    known = []
    for row in rows:
        entries = list(getattr(scene, row))
        names = [entry.name for entry in entries]
        known += names
        if draw.of in names:
            i = names.index(draw.of)
            entries[i] = change(entries[i])
            changed: Any = {row: tuple(entries)}
            return replace(scene, **changed)
    raise InputError(f"a draw of {draw.text}: the scene has {', '.join(map(str, known)) or 'none'} there")


def _row(values, length):
    """A value for all of a row, or each of its own."""
    return tuple(np.broadcast_to(values, length).tolist())


def _mass(scene, draw, value):
    def change(entry):
        key = "mass" if entry.density is None else "density"
        return replace(entry, **{key: float(draw.new(getattr(entry, key), value))})

    return _changed(scene, draw, change)


def _size(scene, draw, value):
    return _changed(scene, draw, lambda entry: replace(entry, size=_row(draw.new(entry.size, value), len(entry.size))))


def _position(scene, draw, value):
    def change(entry):
        return replace(entry, pose=replace(entry.pose, position=_row(draw.new(entry.pose.position, value), 3)))

    return _changed(scene, draw, change, ("primitives", "models"))


def _yaw(scene, draw, value):
    def change(entry):
        turned = rotation_about(np.array([0.0, 0.0, 1.0]), float(value)) @ entry.pose.rotation()
        return replace(entry, pose=Pose(entry.pose.position, quat_xyzw=tuple(matrix_to_quat(turned).tolist())))

    return _changed(scene, draw, change, ("primitives", "models"))


def _friction(scene, draw, value):
    names = (draw.of,) if isinstance(draw.of, str) else tuple(draw.of)
    for name in names:
        as_choice(name, scene.materials, "material", "of the scene")
    if len(names) == 1:
        (name,) = names
        entry = scene.materials[name]
        changed = replace(entry, friction=float(draw.new(entry.friction, value)))
        return replace(scene, materials={**scene.materials, name: changed})
    pairs = list(scene.pairs)
    for i, pair in enumerate(pairs):
        if set(pair.materials) == set(names):
            pairs[i] = replace(pair, friction=float(draw.new(pair.friction, value)))
            return replace(scene, pairs=tuple(pairs))
    raise InputError(f"a draw of {draw.text}: the scene has no entry of 'pairs' for them")


def _joint(scene, draw, value):
    for i, model in enumerate(scene.models):
        if draw.of in model.joints or len(scene.models) == 1:
            joints = {**model.joints, draw.of: float(draw.new(model.joints.get(draw.of, 0.0), value))}
            models = (*scene.models[:i], replace(model, joints=joints), *scene.models[i + 1 :])
            return replace(scene, models=models)
    raise InputError(f"a draw of {draw.text}: no model of the scene has it among its 'joints'")


def _noise(scene, draw, value):
    return _changed(scene, draw, lambda old: replace(old, noise=_row(draw.new(old.noise, value), 2)), ["sensors"])


def _of_commands(scene, draw, value):
    raise InputError(f"a draw of {draw.text}: it is of '{COMMANDS}'")


#: kinds of draws: what changes the scene
KINDS: dict[str, Callable[[Scene, Draw, Floats], Scene]] = {
    "mass": _mass, "size": _size, "position": _position, "yaw": _yaw, "friction": _friction, "joint": _joint,
    "noise": _noise, "delay": _of_commands, "loss": _of_commands,
}  # fmt: skip


def put_into(worlds: Any, scenes: Sequence[Scene], draws: Sequence[Draw]) -> None:
    """Give each of many worlds what the scene of its trial has; sizes leave masses and inertias as they are.

    Raises
    ------
    InputError
        Worlds cannot have it of their own.
    """
    for kind, of in dict.fromkeys((draw.kind, draw.of) for draw in draws if draw.of != COMMANDS):
        if kind == "noise":
            raise InputError(f"a draw of {kind} of {of}: worlds read no sensors")
        if kind == "friction":
            frictions = [link_frictions(build_world(scene)) for scene in scenes]
            pairs = [pair for pair in frictions[0] if pair[0] < pair[1]]
            worlds.set("friction", [[entry[pair] for pair in pairs] for entry in frictions], of=pairs)
        elif kind == "joint":
            places = [next(m.joints[of] for m in scene.models if of in m.joints) for scene in scenes]
            worlds.set("position", np.reshape(places, (-1, 1)), of=[of])
        else:
            parts = [p for scene in scenes for p in scene.primitives if p.name == of]
            if not parts:
                raise InputError(f"a draw of {kind} of {of}: worlds have one place for each robot")
            if kind in ("position", "yaw"):
                poses = [[*p.pose.position, *matrix_to_quat(p.pose.rotation())] for p in parts]
                worlds.set("pose", np.reshape(poses, (-1, 1, 7)), of=[of])
            else:
                rows = np.array([p.mass if kind == "mass" else p.size for p in parts])
                worlds.set(kind, rows.reshape(len(parts), 1, *rows.shape[1:]), of=[of])
    worlds.reset()
