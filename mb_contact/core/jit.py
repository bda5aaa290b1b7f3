# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The decorators of compiled functions, and the folder their compiled code is cached in.

Numba checks only the file of the cached function itself: an edited callee in another file
would go unnoticed and stale code would run.  So the cache folder carries a hash of every
file of ``core`` (and of ``types.py``, whose constants are compiled in); any edit is a new
folder.  Kernels of ``studies`` have a folder of their own, with the hash of both rooms.
"""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path

import numba
from numba.core import types


@functools.cache
def source_digest(*rooms):
    """Hash of every source file of some rooms that compiled code depends on; of ``core`` without rooms."""
    package = Path(__file__).parent.parent
    files = [file for room in ("core", *rooms) for file in sorted((package / room).rglob("*.py"))]
    digest = hashlib.sha256(numba.__version__.encode())
    for file in [*files, package / "types.py"]:
        digest.update(file.relative_to(package).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def cache_directory(*rooms):
    """Folder of the compiled kernels; ``MB_CONTACT_CACHE_DIR`` or the user's cache folder is its parent."""
    base = os.environ.get("MB_CONTACT_CACHE_DIR")
    if not base:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mb_contact"
    return Path(base) / source_digest(*rooms)


DISABLE_JIT = bool(numba.config.DISABLE_JIT)  #: NUMBA_DISABLE_JIT=1: kernels run as plain Python


def kernel(function):
    """Compile ``function`` on first call; cached on disk, NumPy division semantics, no fastmath.

    A kernel works on arrays that its caller owns: it makes none and keeps none, and is compiled without Numba's
    reference counts (30 atomic operations a call with two named tuples: forward dynamics of 7 bodies 2.3 -> 1.8 us).
    """
    return _compiled(function, counted=False)


def sweep(function):
    """As ``kernel``, and copied into compiled callers: handing two named tuples over pushes 300 words on the stack.

    For sweeps over a tree (forward dynamics of 7 bodies 1.8 -> 1.1 us); elsewhere it would only cost compile time.
    Products and sums may be fused (the flag "contract" alone: NaN, infinities and the order of sums stay as they are).
    """
    return _compiled(function, counted=False, inlined=True, fused={"contract"})


def entry(function):
    """As ``kernel``, for functions that take a handle or make an array, whose references must be counted."""
    return _compiled(function, counted=True)


def _compiled(function, counted, inlined=False, fused=False):
    """Every flag is set for every function: Numba lets those that are not pass on from whatever caller came first.

    Integer constants in a caller are passed as plain int64: Numba would otherwise compile one
    specialisation for every literal (a sixth of the whole compile time).
    """
    previous = numba.config.CACHE_DIR
    rooms = {"studies"} & set(function.__module__.split("."))
    numba.config.CACHE_DIR = str(cache_directory(*rooms))
    try:
        compiled = numba.njit(
            cache=True, error_model="numpy", _nrt=counted, forceinline=inlined, fastmath=fused
        )(function)
    finally:
        numba.config.CACHE_DIR = previous
    if compiled is function:
        return function  # NUMBA_DISABLE_JIT
    template = compiled.get_call_template

    def without_literals(args, kws):
        plain = {name: types.unliteral(kind) for name, kind in dict(kws).items()}
        return template(tuple(types.unliteral(kind) for kind in args), plain)

    compiled.get_call_template = without_literals
    return compiled
