# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Numba's compiler as kernels need it: names that every process finds alike, and less work for each function.

Functions are many and small, and most of a small one's time went into passes and look-ups that kernels do not need:

* passes for what kernels do not have (``with``, closures, array expressions, reference counts);
* types of calls and attributes, which Numba finds by trying all templates again at each call;
* memory for Python's frames (``on_one_stack``).

Indices count from the start of an array: Numba adds the size of the array to what is negative, which takes three
instructions at every index and hides from LLVM that neighbours are neighbours (a step of the machine of 36 joints with
closed loops: 45 -> 37 us).
"""

import contextlib
import functools
import hashlib
import types as python

from llvmlite import ir
from numba.core import compiler, itanium_mangler, typed_passes as typed, types, typing, untyped_passes as untyped
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import PassManager
from numba.np import arrayobj


def short_hash(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def mangle(name, argument_types, *, abi_tags=(), uid=None):
    """Symbol of a function: Numba writes out all fields of all arguments, 10,000 characters for a step's."""
    tags = (*abi_tags, short_hash(names_of(argument_types)))
    return itanium_mangler.mangle(name, (), abi_tags=tags, uid=uid)


def names_of(argument_types):
    return ",".join(map(str, argument_types))


class Executable:
    """Stands for a compiled function among the compiler's definitions; Python calls a wrapper instead."""


class KernelFlags(compiler.Flags):
    """Flags compared by what is set: Numba looks them up 300 times a function, and spells out all options each time."""

    __slots__ = ()

    def __hash__(self):
        return hash(KernelFlags)

    def __eq__(self, other):
        return self.given() == other.given() if isinstance(other, KernelFlags) else super().__eq__(other)

    def given(self):
        return self._values


PASSES = (
    untyped.TranslateByteCode, untyped.FixupArgs, untyped.IRProcessing, untyped.RewriteSemanticConstants,
    untyped.GenericRewrites, untyped.ReconstructSSA, untyped.DeadBranchPrune,
    typed.NopythonTypeInference, typed.PreLowerStripPhis, typed.AnnotateTypes,
    typed.NativeLowering, typed.NoPythonBackend,
)  # fmt: skip
WORDS = 1 << 17  #: of the frame that the frames of a compilation come after


class KernelTyping(typing.Context):
    """The compiler's typing context, which remembers what calls and attributes of the same types give."""

    _known = {}  # ids of types -> result, and the types, so that no other one gets their ids

    @classmethod
    def of(cls, context):
        """A view of ``context``, with which it shares all that it knows."""
        view = cls.__new__(cls)
        view.__dict__ = context.__dict__
        return view

    def resolve_function_type(self, func, args, kws):
        """As Numba's."""
        if kws or isinstance(func, types.Dispatcher):
            return super().resolve_function_type(func, args, kws)
        return self._look_up((func, *args), lambda: super(KernelTyping, self).resolve_function_type(func, args, kws))

    def resolve_getattr(self, typ, attr):
        """As Numba's."""
        return self._look_up((typ, attr), lambda: super(KernelTyping, self).resolve_getattr(typ, attr))

    def _look_up(self, what, find):
        key = tuple(map(id, what))
        if key not in self._known:
            result = find()
            if result is None:
                return None
            self._known[key] = result, what
        return self._known[key][0]


class KernelLibrary(JITCodeLibrary):
    """LLVM's code of a kernel, for which LLVM's passes run once.

    Numba lets them run over each function, a few over the module and then all over the module, because the code between
    them is looked through for reference counts.
    """

    def __init__(self, codegen, name):
        super().__init__(codegen, name)
        self.enable_object_caching()

    def _optimize_functions(self, ll_module):
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self):
        passes, builder = self._codegen._module_pass_manager(slp_vectorize=True)  # for unrolled sums of six and of four
        passes.run(self._final_module, builder)


class CopiedLibrary(KernelLibrary):
    """Code that is copied into all its callers, and therefore never made machine code by itself."""

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True


class KernelCompiler(compiler.CompilerBase):
    """Numba's compiler with fewer passes, and with symbols that every process finds alike."""

    def define_pipelines(self):
        """Numba's passes but those for what kernels do not have, and but the one that ends reference counts."""
        passes = PassManager("kernel")
        for step in PASSES:
            passes.add_pass(step, step.__name__)
        passes.finalize()
        return [passes]

    def _compile_bytecode(self):
        state, function = self.state, self.state.func_id
        state.flags = KernelFlags(state.flags)
        state.typingctx = KernelTyping.of(state.typingctx)
        context = state.targetctx  # a copy for this function
        context.mangler = mangle
        refresh = [context.refresh]  # asked for at each array whose type has no special form; once is enough for
        context.refresh = lambda: refresh and refresh.pop()()  # what typing has defined
        context.get_executable = lambda library, *_: library._ensure_finalized() or Executable()
        library = CopiedLibrary if state.flags.forceinline else KernelLibrary
        state.library = library(context.codegen(), function.func_qualname)
        digest = getattr(function.func, "kernel_digest", None)
        if digest is not None:
            text = f"{digest} {function.modname} {function.func_qualname} {function.firstlineno}"
            function.unique_id = int(short_hash(text), 16)
        with _indices_from_the_start():
            return super()._compile_bytecode()


@contextlib.contextmanager
def _indices_from_the_start():
    """Let Numba lower indices as they are; it compiles one function at a time (``numba.core.compiler_lock``)."""
    usual = arrayobj.fix_integer_index
    arrayobj.fix_integer_index = _as_it_is
    try:
        yield
    finally:
        arrayobj.fix_integer_index = usual


def _as_it_is(context, builder, kind, index, size):
    """An index of an array of this size; a literal that is negative is refused."""
    if isinstance(index, ir.Constant) and kind.signed and index.constant < 0:
        raise IndexError(f"the index {index.constant}: kernels count from the start of an array")
    return context.cast(builder, index, kind, types.intp if kind.signed else types.uintp)


def on_one_stack(function):
    """Let all that ``function`` calls have its frames in one piece of memory.

    Python takes frames from chunks of 16 KiB, and gives a chunk back when the frame that began it ends: a loop whose
    calls begin one asks the system for memory at each of them (70,000 times in 8 s of compiling, and 4 s of 29 went
    into that).  A chunk has twice the size of its first frame, so the first one is made large here.
    """
    code = function.__code__.replace(co_stacksize=WORDS)
    return functools.wraps(function)(python.FunctionType(code, function.__globals__, function.__name__))
