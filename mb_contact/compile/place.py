# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What stands in a caller for a function that is compiled or loaded when it is first called."""

from llvmlite import ir
from numba.core import cgutils

RESOLVER = "mb_contact_address"  #: symbol of the function by which machine code asks for the address of a key's


def place(context, library, described, key):
    """LLVM's module of a function that looks up the address of the one of this key at its first call, and calls it."""
    module = library.create_ir_module(library.name)
    function = context.declare_function(module, described)
    function.attributes.add("alwaysinline")
    builder = ir.IRBuilder(function.append_basic_block())
    pointer = cgutils.voidptr_t
    slot = cgutils.add_global_variable(module, pointer, "address")
    slot.linkage, slot.initializer = "internal", pointer(None)
    with cgutils.if_unlikely(builder, cgutils.is_null(builder, builder.load(slot))):
        resolver = cgutils.get_or_insert_function(module, ir.FunctionType(pointer, [pointer]), RESOLVER)
        builder.store(builder.call(resolver, [context.insert_const_string(module, key)]), slot)
    address = builder.load(slot)
    with cgutils.if_unlikely(builder, cgutils.is_null(builder, address)):
        context.call_conv.return_user_exc(builder, RuntimeError, (f"{key} cannot be compiled",))
    builder.ret(builder.call(builder.bitcast(address, function.type), function.args))
    return module
