# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One handle for all arrays of a simulation, so that a compiled call costs 1 us instead of 30.

Numba unpacks every array of every argument at each call, about 0.2 us each; a step has 150 of them
(measured on 128 arrays: 22.6 us as named tuples, 0.7 us behind one structure reference).  The handle is
that structure reference; its fields are the named tuples of ``types`` and ``workspace``.
"""

from __future__ import annotations

from collections import namedtuple

import numba
from numba.core import types
from numba.experimental import structref

from mb_contact.core.jit import kernel


class StepHandleType(types.StructRef):
    """Numba type of ``StepHandle``."""

    def preprocess_fields(self, fields):
        return tuple((name, types.unliteral(kind)) for name, kind in fields)


STEP_FIELDS = (
    "tree",
    "geoms",
    "gravity",  # (3,)
    "settings",  # (3,): dt [s], push-out rate, push-out speed [m/s]
    "q",
    "v",
    "effort",  # (N,), commanded
    "buffers",
    "contacts",
    "kin",
    "art",
    "com",
    "rows",
    "frames",
    "memory",
    "cones",
    "sol",
    "piv",
    "lem",
    "work",
)

if numba.config.DISABLE_JIT:
    StepHandle = namedtuple("StepHandle", STEP_FIELDS)
else:

    class StepHandle(structref.StructRefProxy):
        """Fields are read by kernels only; make one with ``make_step_handle``."""

    structref.register(StepHandleType)
    structref.define_proxy(StepHandle, StepHandleType, list(STEP_FIELDS))


@kernel
def make_step_handle(
    tree, geoms, gravity, settings, q, v, effort, buffers, contacts,
    kin, art, com, rows, frames, memory, cones, sol, piv, lem, work,
):  # fmt: skip
    """A StepHandle; a kernel of ours because structref's own constructor is compiled anew in every process (4 s)."""
    return StepHandle(
        tree, geoms, gravity, settings, q, v, effort, buffers, contacts,
        kin, art, com, rows, frames, memory, cones, sol, piv, lem, work,
    )  # fmt: skip
