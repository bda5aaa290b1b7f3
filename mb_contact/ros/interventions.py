# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What acts on a simulation beside efforts: pushes, entities that come and go, states that are set, other worlds.

A recording keeps each as one line of JSON (Python writes floats so that they come back bit for bit), and a replay does
the same again.  ``NODE/applied_events``, std_msgs/String: ``{"stamp": ns, "kind": "push", ...}``.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mb_contact.errors import InputError
from mb_contact.model.resources import find_resource
from mb_contact.model.scene import Pose, Scene
from mb_contact.ros.handling import act
from mb_contact.ros.services.files import AllowedFiles
from mb_contact.ros.services.resources import Source, moved, scene_of_text, with_entity, without
from mb_contact.simulation.simulator import Simulator
from mb_contact.simulation.surfaces.simulator import simulator_of

EVENTS = "applied_events"  #: private name of the recorded topic


def encode(stamp: int, kind: str, fields: Any) -> Any:
    """One line about what happened at published time ``stamp`` [ns]."""
    return json.dumps({"stamp": stamp, "kind": kind, **fields}, default=lambda array: np.asarray(array).tolist())


def decode(line: str) -> Any:
    """``(stamp, kind, fields)`` of a line.

    Raises
    ------
    InputError
        It is none.
    """
    try:
        fields = json.loads(line)
        return int(fields.pop("stamp")), str(fields.pop("kind")), fields
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{EVENTS} of the recording hold what nobody has written: {error}") from None


def do_again(simulator: Simulator, kind: str, fields: dict, scene: Scene) -> Simulator:
    """Do it to a simulator that began with ``scene``; returns that, or the one which goes on instead.

    Raises
    ------
    MbContactError
        It does not fit this scene.
    """
    if kind not in (known := (*_KINDS, "restore")):
        raise InputError(f"the recording has an event '{kind}'; known are {', '.join(known)}")
    try:
        if kind == "restore":
            return simulator.rebuilt(scene)
        return _KINDS[kind](simulator, **fields) or simulator
    except TypeError as error:
        raise InputError(f"the recording's event '{kind}' is incomplete: {error}") from None


def _push(simulator, link, wrench, duration, axes):
    simulator.set_external_wrench(link, wrench, duration, axes)


def _set(simulator, link, pose, velocity):
    simulator.set_object(link, pose, velocity)


def _set_joints(simulator, names, positions, velocities):
    simulator.set_joints(names, positions, velocities)


def _set_targets(simulator, names, positions=None, velocities=None):
    simulator.set_targets(names, positions, velocities)


def _handle(kind, simulator, **fields):
    act(simulator, kind, fields)


def _spawn(simulator, name, uri, text, position, quaternion):
    source = Source(text, Path(uri) if uri else None)
    if not text:  # recordings of former versions have the address alone
        source = Source(Path(find_resource(uri)).read_text(encoding="utf-8"), Path(find_resource(uri)))
    place, everything = _pose(position, quaternion), _EveryFile([], 0, 0)
    return simulator.rebuilt(with_entity(source, name, place, simulator.scene, _NoCodes(), everything))


def _pose(position, quaternion):
    return Pose(tuple(position), quat_xyzw=tuple(quaternion))


def _move(simulator, name, position, quaternion):
    place = _pose(position, quaternion)
    return simulator.rebuilt(moved(simulator.scene, simulator.world.robot_models, name, place))


def _world(simulator, uri, text):
    """Another world; with neither a file nor a text an empty one."""
    if uri:
        return simulator_of(Path(uri))
    return Simulator(scene_of_text(text, _EveryFile([], 0, 0)) if text else Scene(time_step=simulator.time_step))


def _delete(simulator, names):
    return simulator.rebuilt(without(simulator.scene, simulator.world.robot_models, names))


_KINDS: dict[str, Callable[..., Any]] = {
    "push": _push, "set": _set, "joints": _set_joints, "targets": _set_targets, "spawn": _spawn, "delete": _delete,
    "move": _move, "world": _world, **{kind: partial(_handle, kind) for kind in ("value", "attach", "detach")},
}  # fmt: skip


class _EveryFile(AllowedFiles):
    """What was taken once may be taken again."""

    def find(self, address: str, start: Path | None = None, most: int | None = None) -> Path:
        """The file of an address, wherever it lies."""
        return Path(find_resource(address, start=start))

    def _holds(self, path: Path) -> bool:
        return True


class _NoCodes:
    """Stands for the result codes of an answer that nobody reads."""

    def __getattr__(self, name):
        return 0
