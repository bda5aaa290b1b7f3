# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Controllers in machine code: worlds call them by their address before each step, without Python."""

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mb_contact.compile.decorated import DISABLE_JIT

REALS = types.CPointer(types.float64)


def compiled_controller(law, nq, N, joints, size):
    """(What kernels call, what has to be kept as long as they may) of a controller.

    Parameters
    ----------
    law : callable
        ``law(time, world, q, v, effort, data)``, of what Numba compiles: it changes ``effort`` (joints,), and may read
        and change ``data`` (size,), the row of its world.  Or what ``numba.njit`` has made of such a function.
    nq, N, joints, size : int
        Lengths of q, v, effort and data.
    """
    if DISABLE_JIT:
        return law, law
    inner = law if hasattr(law, "py_func") else numba.njit(law, nogil=True, error_model="numpy")

    def call(time, world, q, v, effort, data):
        try:
            inner(
                time, world, numba.carray(q, (nq,)), numba.carray(v, (N,)), numba.carray(effort, (joints,)),
                numba.carray(data, (size,)),
            )
        except Exception:
            return 1
        return 0

    function = numba.cfunc(types.int64(types.float64, types.int64, REALS, REALS, REALS, REALS))(call)
    return function.address, function


@intrinsic
def _call(_context, address, time, world, q, v, effort, data):
    """Call the function at an address with the arrays' first entries, and of ``data`` those of row ``world``.

    Returns 0, or 1 where it has raised an exception.
    """

    def generate(context, builder, signature, arguments):
        kinds = signature.args
        real, whole = ir.DoubleType(), ir.IntType(64)
        first = [context.make_array(kinds[i])(context, builder, arguments[i]) for i in range(3, 7)]
        pointers = [array.data for array in first]
        rows = cgutils.unpack_tuple(builder, first[3].strides)
        pointers[3] = cgutils.pointer_add(builder, pointers[3], builder.mul(arguments[2], rows[0]), pointers[3].type)
        kind = ir.FunctionType(whole, [real, whole, *[real.as_pointer()] * 4])
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        return builder.call(function, [arguments[1], arguments[2], *pointers])

    return types.int64(types.int64, types.float64, types.int64, q, v, effort, data), generate


def _call_python(law, time, world, q, v, effort, data):
    """The same where nothing is compiled."""
    try:
        law(time, world, q, v, effort, data[world])
    except Exception:
        return 1
    return 0


call_controller = _call_python if DISABLE_JIT else _call
