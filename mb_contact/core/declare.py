# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Workspaces declared once: a named tuple whose fields say their kind and shape, from which it is allocated.

>>> class Example(NamedTuple):
...     count: Annotated[Integers, 1]  #: points
...     point: Annotated[Reals, "c", 3]  #: [m]
>>> allocate(Example, c=8).point.shape
(8, 3)

``handle`` makes of such a declaration the one reference that kernels take in the place of all its arrays: Numba unpacks
every array of every argument at each call, about 0.2 us each, and a step has 150 of them (measured on 128 arrays:
22.6 us as named tuples, 0.7 us behind one structure reference).
"""

import functools
import re
from typing import get_type_hints

import numba
import numpy as np
import numpy.typing as npt
from numba.core import cgutils, imputils, types
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python as _nrt, rtsys
from numba.core.runtime.nrt import MemInfo
from numba.core.runtime.nrtdynmod import _meminfo_struct_type
from numba.core.typing.templates import AttributeTemplate
from numba.experimental import structref
from numba.extending import infer_getattr, lower_getattr_generic, models, register_model

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Integers32 = npt.NDArray[np.int32]
KINDS = {Reals: np.float64, Integers: np.int64, Integers32: np.int32}

DATA = 3  #: entry of Numba's header of a counted object that points to its data
SIZE = re.compile(r"(?:(\d+) \* )?([A-Za-z]\w*)(?: \+ (\d+))?")  #: of a shape


@functools.cache
def _shapes(declaration):
    """(field, dtype, shape) of every field that is an array."""
    hints = get_type_hints(declaration, include_extras=True)
    arrays = {name: hint for name, hint in hints.items() if hasattr(hint, "__metadata__")}
    return [(name, KINDS[hint.__origin__], hint.__metadata__) for name, hint in arrays.items()]


def _size(text, known):
    """Value of a size by its name, multiplied by a number before it, raised by a number behind it."""
    factor, name, more = SIZE.fullmatch(text).groups()
    return int(factor or 1) * known[name] + int(more or 0)


def allocate(declaration, **known):
    """Zeros for every field of a declaration.

    Parameters
    ----------
    declaration : class of NamedTuple
        Its arrays are ``Annotated[Reals, ...]`` or ``Annotated[Integers, ...]`` with the shape: numbers, names of
        sizes, ``"6 * n"``, ``"n + 1"``.
    **known
        The sizes that shapes name; fields that are not zeros.
    """
    fields = {
        name: np.zeros([size if isinstance(size, int) else _size(size, known) for size in shape], dtype)
        for name, dtype, shape in _shapes(declaration)
        if name not in known
    }
    return declaration(**fields, **{name: known[name] for name in declaration._fields if name in known})


class HandleType(types.StructRef):
    """Numba type of a handle."""

    def preprocess_fields(self, fields):
        return tuple((name, types.unliteral(kind)) for name, kind in fields)


class HandleProxy(structref.StructRefProxy):
    """What Python has of a handle of a type, whose counted object Numba has at an address."""

    def __new__(cls, handle_type, address):
        made = cls._numba_box_(handle_type, MemInfo(address))
        made.address = address
        return made


def handle(declaration, place=None):
    """(Numba type, class, maker) of a handle with the fields of ``declaration``; all become names of its module.

    (Or of the module ``place``.)

    ``maker(arrays)`` writes the fields into memory as Numba lays them out.  To compile what does so took 7 s for a
    step's, and 9 s more by the constructor that structref offers.  With NUMBA_DISABLE_JIT the handle is the named tuple
    itself.
    """
    if numba.config.DISABLE_JIT:
        return None, declaration, lambda arrays: arrays
    name, module = declaration.__name__ + "Handle", {"__module__": place or declaration.__module__}
    kind = type(name + "Type", (HandleType,), module)
    proxy = type(name, (HandleProxy,), module)
    register_model(kind)(models.StructRefModel)
    _define_fields(kind)
    structref.define_boxing(kind, proxy)

    def make(arrays):
        rtsys.initialize(cpu_target.target_context)
        words = np.array(list(_words(arrays)), np.int64)
        address = _nrt.meminfo_new(words.ctypes.data, (words, arrays))  # which live as long as the handle
        handle_type = kind([(field, numba.typeof(value)) for field, value in zip(arrays._fields, arrays)])
        return proxy(handle_type, address)

    return kind, proxy, make


def _words(value):
    """The words that Numba has for an array, for the fields of a named tuple one after the other, or for a handle."""
    if isinstance(value, tuple):
        for field in value:
            yield from _words(field)
    elif isinstance(value, np.ndarray):  # owned by nobody that Numba counts
        yield from (0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides)
    else:
        yield value.address


def _define_fields(kind):
    """How kernels read a handle's fields: as structref does, but without Numba's reference counts.

    Those took atomic operations for every array of every tuple that a kernel looked at.  No kernel writes a field, so
    LLVM may keep what it has read of it (a step of 36 joints with closed loops: 38.1 -> 36.5 us).
    """

    @infer_getattr
    class Fields(AttributeTemplate):
        key = kind

        def generic_resolve(self, handle_type, name):
            return handle_type.field_dict.get(name)

    @lower_getattr_generic(kind)
    def read(context, builder, handle_type, value, name):
        reference = cgutils.create_struct_proxy(handle_type)(context, builder, value=value)
        first = len(builder.block.instructions)
        header = builder.bitcast(reference.meminfo, _meminfo_struct_type.as_pointer())
        data_type = handle_type.get_data_type()
        where = context.data_model_manager[data_type].get_value_type().as_pointer()
        data = builder.bitcast(builder.load(cgutils.gep(builder, header, 0, DATA)), where)
        field = getattr(cgutils.create_struct_proxy(data_type)(context, builder, ref=data), name)
        for instruction in builder.block.instructions[first:]:
            if instruction.opname == "load":
                instruction.set_metadata("invariant.load", builder.module.add_metadata([]))
        return imputils.impl_ret_borrowed(context, builder, handle_type.field_dict[name], field)
