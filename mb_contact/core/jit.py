# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The decorators of compiled functions, and the hash of the sources that their compiled code belongs to.

A kernel holds code of the functions that it calls, so the file of a compiled function carries a hash of every file of
its room of ``core`` and of those that the room may import, of ``compile/``, and of ``types.py``, whose constants are
compiled in; any edit is a new hash for all that is built on it.  ``compile/`` has what compiles, keeps and calls.
"""

import functools
import hashlib
from pathlib import Path

from numba import types

from ..compile.decorated import decorated

#: room of kernels -> rooms of core/ that it may import (test_imports.py holds them to it), beside files of core/ itself
ROOMS = {
    "tree": (),
    "lcp": (),
    "collision": ("tree",),
    "rays": ("tree",),
    "constraints": ("tree",),
    "surfaces": ("tree", "lcp"),
    "solve": ("tree", "lcp", "constraints"),
    "step": ("tree", "lcp", "collision", "rays", "constraints", "solve"),
    "impact": ("tree", "collision", "constraints", "solve", "step"),
    "integrate": ("tree", "collision", "constraints", "solve", "step", "impact"),
    "worlds": ("constraints", "step", "integrate"),
    "gradients": ("tree", "collision", "constraints", "solve"),
}
STUDIES = "studies"  #: may import every room


def room_of(module):
    """Room of a module's kernels: a folder of core/, "" for the files of core/ itself, ``STUDIES`` for all others."""
    _, _, inside = module.partition(".core.")
    return inside.rpartition(".")[0].partition(".")[0] if inside else STUDIES


@functools.cache
def source_digest(room):
    """Hash of every source file that compiled code of a room depends on."""
    package = Path(__file__).parent.parent
    files = [package / "types.py", *(package / "core").glob("*.py"), *(package / "compile").glob("*.py")]
    rooms, wanted = set(), {STUDIES, *ROOMS} if room == STUDIES else {room}
    while wanted:
        rooms |= wanted
        wanted = {below for above in rooms for below in ROOMS.get(above, ())} - rooms
    for name in rooms - {""}:
        files += (package / (name if name == STUDIES else f"core/{name}")).rglob("*.py")
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.relative_to(package).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


#: what functions ``on_demand`` return
INTEGER, REAL, TRUTH, NOTHING = types.int64, types.float64, types.boolean, types.none
VECTOR = types.UniTuple(REAL, 3)


def kernel(function):
    """Compile ``function`` on first call; cached on disk, NumPy division semantics, no fastmath.

    A kernel works on arrays that its caller owns: it makes none and keeps none, and is compiled without Numba's
    reference counts (30 atomic operations a call with two named tuples: forward dynamics of 7 bodies 2.3 -> 1.8 us).
    Its indices count from the start of an array: none is negative.
    """
    return _compiled(function)


def sweep(function):
    """As ``kernel``, and copied into compiled callers: handing two named tuples over pushes 300 words on the stack.

    For sweeps over a tree (forward dynamics of 7 bodies 1.8 -> 1.1 us); elsewhere it would only cost compile time.
    Products and sums may be fused (the flag "contract" alone: NaN, infinities and the order of sums stay as they are).
    """
    return _compiled(function, inlined=True, fused={"contract"})


def part(function):
    """As ``kernel``, and copied into compiled callers, as ``sweep`` is, but without fused products and sums.

    For what a step does once with many named tuples: handing those over took more time than the work.
    """
    return _compiled(function, inlined=True)


def on_demand(result):
    """As ``kernel``, for what many scenes never call: compiled or loaded when it is first called.

    Parameters
    ----------
    result : numba type or tuple of them
        Of what the function returns, which its callers are compiled with.
    """
    result = types.Tuple(result) if isinstance(result, tuple) else result
    return lambda function: _compiled(function, result=result)


def unlocked(function):
    """As ``kernel``, and Python's lock is released while it runs."""
    return _compiled(function, nogil=True)


def _compiled(function, **options):
    package = __name__.partition(".")[0]
    inside = function.__module__.partition(".")[0] == package
    return decorated(function, source_digest(room_of(function.__module__)) if inside else None, **options)
