# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scene to scene YAML: what differs from the defaults, under the keys that the reader knows."""

from collections.abc import Mapping
from dataclasses import MISSING, is_dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from mb_contact.errors import InputError
from mb_contact.keys.declaration import declared
from mb_contact.model.scene.records import Scene


def save_scene(
    scene: Scene, path: str | Path, comments: tuple[str, ...] = (), notes: Mapping[str, str] | None = None
) -> None:
    """Write a scene file that :func:`~mb_contact.model.load_scene` reads as the same scene.

    Parameters
    ----------
    scene : Scene
    path : str or Path
        File to write; an existing one is replaced.
    comments : tuple of str
        Lines that stand at its head.
    notes : mapping of str to str, optional
        Lines that stand above keys of the scene.

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
    if not is_dataclass(scene):
        raise InputError(f"save_scene writes a Scene, got {type(scene).__name__}: save_scene(scene, path)")
    parts = [_commented(line) for line in comments]
    keys = _plain(scene)
    for name, value in keys.items():
        parts += [_commented(line) for line in (notes or {}).get(name, "").splitlines()]
        parts.append(yaml.dump(_Key({name: value}), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120))
    Path(path).write_text("".join(parts if keys else [*parts, "{}\n"]), encoding="utf-8")


def _commented(line: str) -> str:
    return f"# {' '.join(line.split())}\n"


class _Dumper(yaml.SafeDumper):
    """Lists of numbers and small mappings in one line, as scenes are written by hand."""


class _Key(dict[str, Any]):
    """A key of the scene with its value, which stand in a line of their own however short they are."""


def _key(dumper: Any, value: Any) -> Any:
    return dumper.represent_mapping("tag:yaml.org,2002:map", value, flow_style=False)


def _sequence(dumper: Any, value: Any) -> Any:
    inner = all(not isinstance(entry, dict) for entry in value)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=inner and _depth(value) < 2)


def _mapping(dumper: Any, value: Any) -> Any:
    inner = all(_depth(entry) < 2 and not isinstance(entry, dict) for entry in value.values())
    return dumper.represent_mapping("tag:yaml.org,2002:map", value, flow_style=inner and len(value) < 6)


def _depth(value: Any) -> int:
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else int(isinstance(value, dict))


_Dumper.add_representer(_Key, _key)
_Dumper.add_representer(list, _sequence)
_Dumper.add_representer(dict, _mapping)


def _plain(value: Any) -> Any:
    """Dataclasses as mappings of what differs from their defaults, tuples as lists, numbers as Python's."""
    if is_dataclass(value):
        return {name: _plain(getattr(value, name)) for name in _written(value)}
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value.item() if hasattr(value, "item") else value


def _written(record: Any) -> list[str]:
    """Keys that the file of a record needs: what files have to say, and what would be something else without."""
    cls: Any = type(record)
    names = {name: about.required or _differs(record, name) for name, about in declared(cls).items()}
    for group in getattr(record, "ONE_OF", ()):
        names[group[0]] |= not any(names[name] for name in group)
    return [name for name, needed in names.items() if needed]


def _differs(record: Any, name: str) -> bool:
    """Whether a key has another value than it had if it were left out, where what is left out may hang on others."""
    cls: Any = type(record)
    value, default = getattr(record, name), declared(cls)[name].default
    if default is MISSING or value != default:
        return default is MISSING or bool(getattr(replace(record, **{name: default}), name) != value)
    return False
