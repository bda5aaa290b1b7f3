# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A collision engine in machine code, called by its address: that is data, so no compiled kernel holds it."""

import ctypes

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mb_contact.compile.decorated import DISABLE_JIT
from mb_contact.core.arrays import copy
from mb_contact.core.jit import kernel

QUERY, ENGINE = range(2)  #: entries of ``buffers.engine``: address of the function, and of its first argument


@intrinsic
def _query(_context, query, engine, count, rows, reach, pairs, size, R, p, witness):
    """Call the function at the address ``query`` with the arrays' first entries; what it returns."""

    def generate(context, builder, signature, arguments):
        pointers = []
        for kind, value in zip(signature.args[3:], arguments[3:]):
            data = context.make_array(kind)(context, builder, value).data
            pointers.append(builder.bitcast(data, cgutils.voidptr_t))
        whole = ir.IntType(64)
        kind = ir.FunctionType(whole, [whole, whole, *[cgutils.voidptr_t] * len(pointers)])
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        return builder.call(function, [*arguments[1:3], *pointers])

    whole = types.int64
    return whole(whole, whole, whole, rows, reach, pairs, size, R, p, witness), generate


def _query_python(query, engine, count, *arrays):
    """The same where nothing is compiled."""
    pointers = [array.ctypes.data for array in arrays]
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, *[ctypes.c_void_p] * len(pointers))
    return kind(int(query))(int(engine), int(count), *pointers)


_call = _query_python if DISABLE_JIT else _query


@kernel
def ask_compiled_engine(geoms, buffers, asked):
    """Witnesses of the first ``asked`` pairs of ``buffers.asked``, put in their places; how many are left to ask for.

    All are left where the engine lives in Python, and where this one has failed: asked again from Python, it says why.
    """
    b = buffers
    if b.engine[QUERY] == 0 or _call(
        b.engine[QUERY], b.engine[ENGINE], asked, b.asked, b.asked_reach, geoms.pairs, geoms.size, b.geom_R, b.geom_p,
        b.asked_witness,
    ):
        return asked
    for k in range(asked):
        copy(4, b.asked_witness[k], b.witness[b.asked_at[k]])
    return 0
