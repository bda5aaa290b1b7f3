# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scene to scene YAML: what differs from the defaults, under the keys that the reader knows."""

from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

import yaml

from mb_contact.model.scene import Actuator, Material, Scene

NOT_WRITTEN = ("path", "lines")  #: where a scene came from


def save_scene(scene: Scene, path: str | Path, comments: tuple[str, ...] = ()) -> None:
    """Write a scene file that :func:`~mb_contact.model.scene_yaml.load_scene` reads as the same scene.

    Parameters
    ----------
    scene : Scene
    path : str or Path
        File to write; an existing one is replaced.
    comments : tuple of str
        Lines that stand at its head.

    Raises
    ------
    OSError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/two_ms.yaml"
    >>> mb.model.save_scene(mb.Scene(ground=mb.model.Ground(), time_step=0.002), file)
    >>> mb.load_scene(file).time_step
    0.002
    """
    head = "".join(f"# {' '.join(line.split())}\n" for line in comments)
    text = yaml.dump(_plain(scene), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    Path(path).write_text(head + text, encoding="utf-8")


class _Dumper(yaml.SafeDumper):
    """Lists of numbers and small mappings in one line, as scenes are written by hand."""


def _sequence(dumper: Any, value: Any) -> Any:
    inner = all(not isinstance(entry, dict) for entry in value)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=inner and _depth(value) < 2)


def _mapping(dumper: Any, value: Any) -> Any:
    inner = all(_depth(entry) < 2 and not isinstance(entry, dict) for entry in value.values())
    return dumper.represent_mapping("tag:yaml.org,2002:map", value, flow_style=inner and len(value) < 6)


def _depth(value: Any) -> int:
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


_Dumper.add_representer(list, _sequence)
_Dumper.add_representer(dict, _mapping)


def _plain(value: Any) -> Any:
    """Dataclasses as mappings of what differs from their defaults, tuples as lists, numbers as Python's."""
    if is_dataclass(value):
        return {
            entry.name: _plain(getattr(value, entry.name))
            for entry in fields(value)
            if entry.name not in NOT_WRITTEN and (_needed(value, entry.name) or not _is_default(value, entry))
        }
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value.item() if hasattr(value, "item") else value


def _needed(owner: Any, name: str) -> bool:
    """Whether the reader asks for a key that has a default in Python."""
    rough = isinstance(owner, Material) and owner.anisotropic_friction is None
    return isinstance(owner, Actuator) and name == "kind" or rough and name == "friction"


def _is_default(owner: Any, entry: Any) -> bool:
    value = getattr(owner, entry.name)
    if entry.default_factory is not MISSING:
        return bool(value == entry.default_factory())
    if entry.name == "friction_model" and isinstance(owner, Scene):
        return bool(value == Scene(solver=owner.solver).friction_model)
    return entry.default is not MISSING and bool(value == entry.default)
