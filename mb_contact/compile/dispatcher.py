# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled functions that are compiled once each, whoever calls them, and loaded as machine code.

Numba links the code of a called function into each of its callers and compiles it again there, gives every function a
wrapper that unpacks Python's arguments, and restores the types of a cached function before it runs.  Here

* a function of more than ``INLINED`` instructions stays where it is: its callers refer to it by its name;
* a wrapper is made when Python first calls a function, in a file of its own;
* such a call loads machine code alone: the wrapper's, and that of all that it refers to;
* a function ``on_demand`` is compiled or loaded when machine code first calls it: ``_address`` tells where it is.

Names are made of the sources and the types, so that what several processes compile fits together.
"""

import ctypes
import gc
import importlib
import logging
from contextlib import contextmanager

from llvmlite import binding
from numba import _dynfunc
from numba.core import compiler, event, sigutils, types, typing
from numba.core.compiler_lock import global_compiler_lock
from numba.core.funcdesc import PythonFunctionDescriptor
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.core.targetconfig import ConfigStack

from . import files
from .compiler import CopiedLibrary, Executable, KernelCompiler, mangle, names_of, on_one_stack, short_hash
from .place import RESOLVER, place

LOG = logging.getLogger("mb_contact.kernels")
INLINED = 200  #: lines of LLVM's code up to which it is a part of callers; LLVM would not copy larger functions
COMPILED = []  #: names of what this process compiled, wrappers too

_keys = {}  # symbol of a function -> key of its file, or None
_symbols = {}  # key -> symbol
_wanted = {}  # key -> dispatcher and argument types of a function that is compiled when it is first called
_loaded = {}  # key -> references to what its machine code needs
_depth = 0  # of compilations under way; the compiler's lock guards it


@contextmanager
def _compilation():
    """Inside it, functions are compiled for a caller that is compiled, not to be called from Python.

    Garbage is not collected meanwhile: of a compiler's many objects that costs an eighth of its time.
    """
    global _depth
    with global_compiler_lock:
        collects = gc.isenabled()
        gc.disable()
        _depth += 1
        try:
            yield
        finally:
            _depth -= 1
            if collects:
                gc.enable()


class KernelDispatcher(CPUDispatcher):
    """What the decorators make of a function.

    Parameters
    ----------
    function : callable
    options : dict
        Numba's options.
    digest : str or None
        Hash of the sources that the function's code depends on; without it nothing is kept on disk.
    result : numba type, optional
        Of what it returns: then it is not compiled with its callers, but when it is first called.
    """

    def __init__(self, function, options, digest, result=None):
        function.kernel_digest = digest
        options = {**options, "nopython": True, "boundscheck": None}
        options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        super().__init__(py_func=function, locals={}, targetoptions=options, pipeline_class=KernelCompiler)
        self._is_copied = bool(options.get("forceinline"))
        self._result, self._places = result, {}
        self._entries = {}
        self.digest = digest
        inside = function.__module__.partition(".")[2]
        self.stem = f"{inside}.{function.__qualname__}-{function.__code__.co_firstlineno}"

    def __reduce__(self):
        return _kernel, (self.__module__, self.py_func.__qualname__)

    def key(self, arguments):
        """Key of the file of this function for these argument types, or None where none is kept."""
        names = names_of(arguments)
        if self.digest is None or " at 0x" in names or "<locals>" in self.stem:
            return None
        return f"{self.digest}/{self.stem}-{short_hash(names)}"

    def is_kept(self):
        """Whether some compiled form of this function can be called from Python without compiling."""
        return self.digest is None or files.find(f"{self.digest}/{self.stem}-*.entry")

    @property
    def cache_path(self):
        """Folder that this function's files are written to."""
        return str(files.folders()[-1] / str(self.digest))

    # --- compiling --------------------------------------------------------------------------

    def get_call_template(self, args, kws):
        """As Numba's, with integer constants as plain int64: else each literal would be a function of its own."""
        args, kws = tuple(map(types.unliteral, args)), {name: types.unliteral(kind) for name, kind in dict(kws).items()}
        if self._result is None:
            with _compilation():
                return super().get_call_template(args, kws)
        folded, args = self.fold_argument_types(args, kws)
        signature = typing.signature(self._result, *args)
        if signature.args not in self._places:
            self._places[signature.args] = self._make_place(signature)
        return typing.make_concrete_template(self.__name__, self.__name__, [signature]), folded, args, {}

    def get_overload(self, sig):
        """As Numba's."""
        arguments = tuple(sigutils.normalize_signature(sig)[0])
        return self._places.get(arguments) or super().get_overload(sig)

    def get_compile_result(self, sig):
        """As Numba's."""
        with _compilation():
            return super().get_compile_result(sig)

    def compile(self, sig):
        """Compile or load for a signature: for the caller that is being compiled, else for Python."""
        arguments = tuple(sigutils.normalize_signature(sig)[0])
        with global_compiler_lock:
            if not _depth:
                return self.entry_of(arguments)
            if arguments not in self.overloads:
                with _compilation(), self._compiling_counter:
                    self._load(arguments) or self._compile(arguments)
            return self.overloads[arguments].entry_point

    def _compile(self, arguments):
        with event.trigger_event("numba:compile", data={"dispatcher": self, "args": arguments}):
            cres = self._compiler.compile(arguments, self._result)
            self.add_overload(cres)
        self._keep(cres)

    def add_overload(self, cres):
        """Known to callers that are compiled; Python calls a wrapper (``_entry``)."""
        arguments = tuple(cres.signature.args)
        self.overloads[arguments] = cres
        _keys[cres.fndesc.mangled_name] = key = self.key(arguments)
        if key is not None:
            _symbols[key] = cres.fndesc.mangled_name

    def _load(self, arguments):
        """A function that was compiled before, for callers that are compiled now; False where there is none."""
        key, context = self.key(arguments), self.targetctx
        parts = key and files.read(key, second=True)
        if not parts or not _load(context.codegen(), key):
            return False
        name, bitcode, fndesc, environment, signature, reload_init = parts[1]
        library = context.codegen().create_library(name)
        library._shared_module = binding.parse_bitcode(bitcode)
        library._finalized = True
        cres = compiler.compile_result(
            typing_context=context.typing_context, target_context=context, library=library, environment=environment,
            entry_point=Executable(), fndesc=fndesc, type_annotation="",
            signature=signature, objectmode=False, lifted=(), reload_init=reload_init, referenced_envs=[environment],
        )  # fmt: skip
        self._cache_hits[arguments] += 1
        context.insert_user_function(cres.entry_point, fndesc, [library])
        self.add_overload(cres)
        return True

    def _keep(self, cres):
        """Decide how callers take this function, and keep it."""
        library, fndesc = cres.library, cres.fndesc
        COMPILED.append(self.stem)
        fndesc.typemap = fndesc.calltypes = None
        environments = _set_environments(cres, not self._is_copied)
        if not self._is_copied and str(library._final_module.get_function(fndesc.mangled_name)).count("\n") > INLINED:
            empty = library.codegen._create_empty_module(library.name)
            library._shared_module = binding.parse_assembly(str(empty))
        key, needed = self.key(tuple(cres.signature.args)), _needed(library)
        if key is None or None in needed.values():
            _keys[fndesc.mangled_name] = None
            return
        code = b"" if self._is_copied else library._get_compiled_object()
        bitcode, reload_init = library._get_module_for_linking().as_bitcode(), tuple(cres.reload_init)
        second = (library.name, bitcode, fndesc, cres.environment, cres.signature, reload_init)
        files.write(key, dumps((code, needed, environments, reload_init, fndesc.mangled_name)), dumps(second))
        _loaded[key] = environments

    # --- on demand --------------------------------------------------------------------------

    def _make_place(self, signature):
        """What a caller is compiled with in place of this function: it asks for the address, once, and calls it."""
        context, arguments = self.targetctx, tuple(signature.args)
        key = self.key(arguments) or f"{id(self)}/{self.stem}-{short_hash(names_of(arguments))}"
        _wanted[key] = self, arguments
        if self.key(arguments) is not None:
            files.write(key + files.WANTED, dumps(_wanted[key]))
        symbol = f"on_demand.{short_hash(key)}"
        described = PythonFunctionDescriptor(
            native=True, modname=self.__module__, qualname=symbol, unique_name=symbol, doc="", typemap=None,
            restype=signature.return_type, calltypes=None, args=(), kws=(), argtypes=arguments,
            mangler=lambda name, *_, **__: symbol,
        )  # fmt: skip
        library = CopiedLibrary(context.codegen(), symbol)
        library.add_ir_module(place(context, library, described, key))
        library.finalize()
        asked = Executable()
        context.insert_user_function(asked, described, [library])
        return asked

    def address(self, arguments):
        """Address of this function's machine code, compiled now."""
        self.compile_for_callers(arguments)
        return self.targetctx.codegen()._engine.get_function_address(self.overloads[arguments].fndesc.mangled_name)

    @on_one_stack
    def compile_for_callers(self, arguments):
        """Compile or load for callers that are compiled."""
        with _compilation():
            self.targetctx.refresh()  # a wrapper may be all that is compiled, and it does not do so
            self.compile(arguments)

    # --- calls from Python ------------------------------------------------------------------

    def entry_of(self, arguments):
        """What Python calls for these argument types."""
        with global_compiler_lock:
            if arguments not in self._entries:
                entry = self._entries[arguments] = self._load_entry(arguments) or self._make_entry(arguments)
                self._insert([kind._code for kind in arguments], entry, False)
            return self._entries[arguments]

    def _load_entry(self, arguments):
        codegen, key = self.targetctx.codegen(), self.key(arguments)
        key = key and key + ".entry"
        parts = key and files.read(key, second=True)
        if not parts or not _load(codegen, key):
            return None
        symbol, environment = parts[1]
        self._cache_hits[arguments] += 1
        return self._function(codegen._engine.get_function_address(symbol), environment, _loaded[key])

    def _make_entry(self, arguments):
        self.compile_for_callers(arguments)
        COMPILED.append(self.stem + ".entry")
        cres, key = self.overloads[arguments], self.key(arguments)
        fndesc, flags = cres.fndesc, compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags.nrt = True  # a handle is borrowed for the call
        context = compiler._make_subtarget(self.targetctx, flags)
        context.mangler = mangle
        library = context.codegen().create_library(f"entry.{fndesc.mangled_name}")
        library.enable_object_caching()
        with ConfigStack().enter(flags), context.push_code_library(library):
            context.create_cpython_wrapper(library, fndesc, cres.environment, None, flags.release_gil)
        for linked in (rtsys.library, cres.library):
            library.add_linking_library(linked)
        symbol = fndesc.llvm_cpython_wrapper_name
        address = library.get_pointer_to_function(symbol)
        environments = _set_environments(cres._replace(library=library))
        entry = self._function(address, cres.environment, (library, *environments))
        needed = _needed(library)
        if key is not None and None not in needed.values():
            first = (library._get_compiled_object(), needed, environments, (), symbol)
            files.write(key + ".entry", dumps(first), dumps((symbol, cres.environment)))
        return entry

    def _function(self, address, environment, kept):
        """A function of Python's from the address of a wrapper."""
        module = importlib.import_module(self.__module__)
        return _dynfunc.make_function(module, self.__name__, self.__doc__ or "", address, environment, kept)


def _kernel(module, name):
    return getattr(importlib.import_module(module), name)


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)
def _address(name):
    """Address of the machine code of a key; machine code calls this."""
    try:
        return find_address(name.decode())
    except BaseException:  # which cannot pass through machine code
        LOG.exception("a kernel cannot be compiled")
        return None


def find_address(key):
    """Address of the machine code of a key, which is compiled where no file has it."""
    codegen = cpu_target.target_context.codegen()
    with global_compiler_lock:
        if key in _symbols and key in _loaded or _load(codegen, key):
            return codegen._engine.get_function_address(_symbols[key])
        dispatcher, arguments = _wanted.get(key) or files.read(key + files.WANTED)[0]
        return dispatcher.address(arguments)


binding.add_symbol(RESOLVER, ctypes.cast(_address, ctypes.c_void_p).value)


def _set_environments(cres, in_engine=True):
    """The objects that compiled code finds its constants in, its own and those of what was copied into it."""
    environments = (*cres._find_referenced_environments(), cres.environment)
    for environment in environments if in_engine else ():
        cres.codegen.set_env(environment.env_name, environment)
    return environments


def _needed(library):
    """Keys by symbol of the functions that this machine code refers to; None for one that is not kept."""
    declared = (function.name for function in library._final_module.functions if function.is_declaration)
    return {name: _keys.get(name) for name in declared if name in _keys or name.startswith("_ZN")}


def _load(codegen, key):
    """Load the machine code of a key and of all that it refers to; False where some of it is missing."""
    found, wanted = {}, [key]
    while wanted:
        key = wanted.pop()
        if key in _loaded or key in found:
            continue
        parts = files.read(key)
        if parts is None:
            return False
        found[key] = parts[0]
        _keys.update(parts[0][1])
        _symbols[key] = parts[0][4]
        wanted += parts[0][1].values()
    if not _loaded:
        rtsys.initialize(cpu_target.target_context)  # machine code refers to Numba's runtime by addresses
    for code, _, _, reload_init, _ in found.values():
        for initialise in reload_init:
            initialise()
        if code:
            codegen._engine._ee.add_object_file(binding.ObjectFileRef.from_data(code))
    if found:
        codegen._engine.finalize_object()
    for key, (code, _, environments, _, _) in found.items():
        for environment in environments if code else ():
            codegen.set_env(environment.env_name, environment)
        _loaded[key] = environments
    return True
