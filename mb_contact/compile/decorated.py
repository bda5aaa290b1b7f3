# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A Python function with its options made a compiled one.

    usually                         by ``dispatcher.py``
    where a private name is missing by Numba alone, cached by Numba: the same results, and longer waits for the compiler
    with NUMBA_DISABLE_JIT=1        not at all: kernels run as plain Python
"""

import logging
import os

import numba

from . import files, private

LOG = logging.getLogger("mb_contact.kernels")
DISABLE_JIT = bool(numba.config.DISABLE_JIT)
_ASKED = "MB_CONTACT_NUMBA_ALONE"  #: environment variable that asks for Numba alone
files.choose_target()  # before anything asks Numba for it
#: why kernels are compiled by Numba alone, or an empty string
ALONE = f"{_ASKED} is set" if os.environ.get(_ASKED) else private.missing()

AS_IT_IS = DISABLE_JIT or bool(ALONE)  #: nothing is compiled ahead: functions are called, and that is all

if not ALONE:
    from .dispatcher import KernelDispatcher
elif not DISABLE_JIT:
    why = ALONE if ALONE.startswith(_ASKED) else f"Numba {numba.__version__} has no {ALONE}"
    LOG.warning(f"kernels are compiled by Numba alone, which takes minutes at first: {why}")


def decorated(function, digest, inlined=False, fused=False, nogil=False, result=None):
    """The compiled form of a function.

    Every flag is set for every function: Numba lets those that are not pass on from whatever caller came first.

    Parameters
    ----------
    function : callable
    digest : str or None
        Hash of the sources that the function's code depends on; without it nothing is kept on disk.
    inlined : bool
        Copied into compiled callers.
    fused : bool or set of str
        Flags of floating-point arithmetic.
    nogil : bool
        Python's lock is released while it runs.
    result : numba type, optional
        Of what it returns: then it is compiled when it is first called, and not with its callers.
    """
    if DISABLE_JIT:
        return function
    if ALONE:
        return numba.njit(cache=digest is not None, error_model="numpy", fastmath=fused, nogil=nogil)(function)
    options = {"error_model": "numpy", "_nrt": False, "forceinline": inlined, "fastmath": fused, "nogil": nogil}
    return KernelDispatcher(function, options, digest, result)


def entry_for(function, *arguments):
    """What a call from Python with arguments like these ends in: it does not look at their types again (0.4 us)."""
    if AS_IT_IS:
        return function
    return function.entry_of(tuple(map(function.typeof_pyval, arguments)))


def is_kept(function):
    """Whether a function can be called from Python without compiling, as far as that is known."""
    return AS_IT_IS or function.is_kept()
