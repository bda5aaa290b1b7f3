# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Packages whose names are imported when first used (PEP 562)."""

import importlib
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Names = Mapping[str, Sequence[str]]  #: module below the package -> names that it defines


def lazy_names(
    package: str,
    defined: Names,
    rooms: Sequence[str] = (),
    moved: Names | None = None,
    renamed: Mapping[str, str] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    defined : mapping of str to sequence of str
        Names by the module below the package that defines them.
    rooms : sequence of str
        Packages below it that are public themselves.
    moved : mapping of str to sequence of str, optional
        Former names of the package by the room that has them now: they work, with a DeprecationWarning.
    renamed : mapping of str to str, optional
        The same for names that have another name now, given with its room: ``{"old": "room.new"}``.
    """
    where = {name: module for module, names in defined.items() for name in names}
    former = {name: f"{room}.{name}" for room, names in (moved or {}).items() for name in names} | dict(renamed or {})

    def get(name: str) -> Any:
        if name in former:
            place, _, new = f"{package}.{former[name]}".rpartition(".")
            warnings.warn(f"{package}.{name} has moved: use {place}.{new}", DeprecationWarning, stacklevel=2)
            return getattr(importlib.import_module(place), new)
        if name in rooms:
            return importlib.import_module(f"{package}.{name}")
        if name not in where:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(importlib.import_module(f"{package}.{where[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    public = sorted([*where, *rooms])
    return get, lambda: public, public


def former_name(instance: object, old: str, new: str) -> Any:
    """Value of an attribute by its former name, with a DeprecationWarning; for the body of a property of that name.

    Parameters
    ----------
    instance : object
    old, new : str
        Its former name and the one to use.
    """
    owner = type(instance).__name__
    warnings.warn(f"{owner}.{old} is now {owner}.{new}", DeprecationWarning, stacklevel=3)
    return getattr(instance, new)
