# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Packages whose names are imported when first used (PEP 562)."""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Names = Mapping[str, Sequence[str]]  #: module below the package -> names that it defines


def lazy_names(
    package: str, defined: Names, rooms: Sequence[str] = ()
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
    """
    where = {name: module for module, names in defined.items() for name in names}

    def get(name: str) -> Any:
        if name in rooms:
            return importlib.import_module(f"{package}.{name}")
        if name not in where:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(importlib.import_module(f"{package}.{where[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    public = sorted([*where, *rooms])
    return get, lambda: public, public


def imported(name: str) -> Any:
    """A class or function by its full name, whose module is imported now: what a room uses of those above it."""
    module, _, own = name.rpartition(".")
    return getattr(importlib.import_module(module), own)
