# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The one reference that kernels take in the place of all the arrays of a declaration (a named tuple).

Numba unpacks every array of every argument at each call, about 0.2 us each, and a step has 150 of them (measured on 128
arrays: 22.6 us as named tuples, 0.7 us behind one structure reference).
"""

import numba
import numpy as np
from numba.core import types
from numba.experimental import structref
from numba.extending import infer_getattr, lower_getattr_generic, models, register_model

from .decorated import ALONE, DISABLE_JIT

if not ALONE:
    from numba.core import cgutils, imputils
    from numba.core.registry import cpu_target
    from numba.core.runtime import _nrt_python as _nrt, rtsys
    from numba.core.runtime.nrt import MemInfo
    from numba.core.runtime.nrtdynmod import _meminfo_struct_type
    from numba.core.typing.templates import AttributeTemplate

DATA = 3  #: entry of Numba's header of a counted object that points to its data


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
    if DISABLE_JIT:
        return None, declaration, lambda arrays: arrays
    name, module = declaration.__name__ + "Handle", {"__module__": place or declaration.__module__}
    if ALONE:
        return _plain_handle(declaration, name, module)
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


def _plain_handle(declaration, name, module):
    """``handle`` by Numba's public means."""
    kind = structref.register(type(name + "Type", (HandleType,), module))
    made = {"__new__": lambda cls, *fields: structref.StructRefProxy.__new__(cls, *fields)}
    proxy = type(name, (structref.StructRefProxy,), module | made)
    structref.define_proxy(proxy, kind, declaration._fields)
    return kind, proxy, lambda arrays: proxy(*arrays)


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
