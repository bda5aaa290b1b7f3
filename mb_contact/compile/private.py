# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The names of Numba and llvmlite that are not public and that the other files of this folder need.

A release of Numba may change them.  Where one is missing kernels are compiled by Numba's own means (``decorated.py``):
slower to compile and to call, with the same results.
"""

import importlib

#: module -> names, of classes with the attributes that are used or overridden
NAMES = {
    "llvmlite.binding": ("add_symbol", "parse_bitcode", "ObjectFileRef.from_data", "get_host_cpu_features"),
    "numba._dynfunc": ("make_function",),
    "numba.core.cgutils": ("add_global_variable", "create_struct_proxy", "get_or_insert_function", "if_unlikely"),
    "numba.core.codegen": (
        "JITCodeLibrary._optimize_functions", "JITCodeLibrary._optimize_final_module",
        "JITCodeLibrary._finalize_final_module", "JITCodeLibrary._finalize_dynamic_globals",
        "JITCodeLibrary._get_compiled_object", "JITCodeLibrary._get_module_for_linking",
        "JITCodeLibrary.enable_object_caching", "JITCodeLibrary.get_pointer_to_function",
        "JITCPUCodegen._module_pass_manager", "JITCPUCodegen._create_empty_module", "JITCPUCodegen.set_env",
        "JITCPUCodegen.magic_tuple",
    ),
    "numba.core.compiler": ("CompilerBase._compile_bytecode", "Flags", "_make_subtarget", "compile_result"),
    "numba.core.compiler_lock": ("global_compiler_lock",),
    "numba.core.compiler_machinery": ("PassManager",),
    "numba.core.dispatcher": (
        "Dispatcher.get_call_template", "Dispatcher.get_overload", "Dispatcher.get_compile_result",
        "Dispatcher.fold_argument_types", "Dispatcher.add_overload",
    ),
    "numba.core.event": ("trigger_event",),
    "numba.core.funcdesc": ("PythonFunctionDescriptor",),
    "numba.core.itanium_mangler": ("mangle",),
    "numba.core.registry": ("CPUDispatcher", "cpu_target"),
    "numba.core.runtime._nrt_python": ("meminfo_new",),
    "numba.core.runtime.nrt": ("MemInfo",),
    "numba.core.runtime.nrtdynmod": ("_meminfo_struct_type",),
    "numba.core.serialize": ("dumps",),
    "numba.core.sigutils": ("normalize_signature",),
    "numba.core.targetconfig": ("ConfigStack",),
    "numba.core.typing": ("Context.resolve_function_type", "Context.resolve_getattr"),
    "numba.core.typed_passes": (
        "NopythonTypeInference", "PreLowerStripPhis", "AnnotateTypes", "NativeLowering", "NoPythonBackend",
    ),
    "numba.core.untyped_passes": (
        "TranslateByteCode", "FixupArgs", "IRProcessing", "RewriteSemanticConstants", "GenericRewrites",
        "ReconstructSSA", "DeadBranchPrune",
    ),
    "numba.experimental.structref": ("StructRefProxy._numba_box_", "define_boxing"),
    "numba.np.arrayobj": ("fix_integer_index",),
}  # fmt: skip


def missing(names=NAMES):
    """The first name that is missing, written out, or an empty string."""
    for module, wanted in names.items():
        try:
            place = importlib.import_module(module)
        except ImportError:
            return module
        for name in wanted:
            found = place
            for part in name.split("."):
                if not hasattr(found, part):
                    return f"{module}.{name}"
                found = getattr(found, part)
    return ""
