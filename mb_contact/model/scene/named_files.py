# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The files that a scene names: meshes, robots, heights, modes; which keys do so is declared with them."""

from collections.abc import Callable
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from mb_contact.keys.declaration import declared

Record = TypeVar("Record")


def with_files(record: Record, placed: Callable[[str, str], str]) -> Record:
    """A record, with all that it holds, that names other files.

    Parameters
    ----------
    record : Scene, Primitive, or another record of a scene
    placed : callable
        From a key and what it names, a file's address or the text of a URDF, to what shall stand there.
    """

    def changed(name, about, value):
        if about.file and value:
            return tuple(placed(name, one) for one in value) if isinstance(value, tuple) else placed(name, str(value))
        if isinstance(value, dict):
            return {key: changed(name, about, entry) for key, entry in value.items()}
        if isinstance(value, (tuple, list)) and any(map(is_dataclass, value)):
            return tuple(with_files(entry, placed) for entry in value)
        return with_files(value, placed) if is_dataclass(value) else value

    keys: Any = {name: entry.key for name, entry in declared(type(record)).items()}  # type: ignore[arg-type]
    return replace(record, **{name: changed(name, keys[name], getattr(record, name)) for name in keys})  # type: ignore


def beside(record: Record, path: str | Path | None) -> Record:
    """A record that another file may hold: what it names from the folder of ``path``, its file, by whole paths."""
    if path is None:
        return record

    def placed(_, address):
        return address if "://" in address or "<" in address else str((Path(path).parent / address).resolve())

    return with_files(record, placed)
