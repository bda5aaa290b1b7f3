# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Files of compiled kernels: where they are looked for, what they are valid for, how they are checked.

A file is found by the environment it was compiled in, the hash of the sources it was compiled from and the function's
name and argument types; neither the place of the package nor times of files count.  Kernels that travel with the
package are looked for first, then those of the user's own folder, where new ones are written.
"""

import contextlib
import functools
import hashlib
import logging
import os
import pickle
import platform
import shutil
import struct
import sys
import uuid
import zlib
from pathlib import Path

import llvmlite
import numba
import numpy
from llvmlite import binding

LOG = logging.getLogger("mb_contact.kernels")
#: What kernels are compiled for, so that they run on other CPUs too, in LLVM's words: x86-64 since about 2013 (Haswell,
#: Excavator), every AArch64 under Linux, every Mac of that kind.
LEVELS = {"x86_64": "x86-64-v3", "AMD64": "x86-64-v3", "aarch64": "generic", "arm64": "apple-m1"}
ARM = ("aarch64", "arm64")
PORTABLE = LEVELS.get(platform.machine(), "generic")
#: as LLVM names them; with FMA, which "contract" uses
PORTABLE_FEATURES = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
SUFFIX = ".kernel"
WANTED = ".types"  #: end of the key of a file that says for which argument types a function may be called
HEAD = struct.Struct("<8sIIQ")  #: magic, checksums of both parts, length of the first
MAGIC = b"mbkern01"
PACKAGED = Path(__file__).parent.parent / "kernels"  #: kernels that travel with the package


@functools.cache
def is_portable():
    """Whether this CPU runs code of the level ``PORTABLE``."""
    machine = platform.machine()
    if machine not in LEVELS or machine in ARM:
        return machine in ARM  # whose lowest level has FMA
    features = binding.get_host_cpu_features()
    return all(features.get(name) for name in PORTABLE_FEATURES)


def choose_target():
    """Let Numba compile for the level ``PORTABLE`` instead of this very CPU, unless its target is chosen already."""
    if is_portable() and numba.config.CPU_NAME is None and numba.config.CPU_FEATURES is None:
        numba.config.CPU_NAME, numba.config.CPU_FEATURES = PORTABLE, ""


@functools.cache
def target():
    """Name of what Numba compiles for in this process: a level, or a CPU with its features."""
    from numba.core.registry import cpu_target

    _, name, features = cpu_target.target_context.codegen().magic_tuple()
    return name if features == "" else f"{name}-{hashlib.sha256(features.encode()).hexdigest()[:8]}"


@functools.cache
def environment(level):
    """Name of the folder of kernels that this Python with these libraries compiles, or may run, for a level."""
    config = numba.config
    options = str(config.OPT), config.LOOP_VECTORIZE, config.SLP_VECTORIZE, config.BOUNDSCHECK, config.DEBUGINFO_DEFAULT
    python = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
    arrays = numpy.__version__.rpartition(".")[0]
    flags = hashlib.sha256(repr(options).encode()).hexdigest()[:4]
    return f"{python}_numba-{numba.__version__}_llvmlite-{llvmlite.__version__}_numpy-{arrays}_{level}_{flags}"


def user_folder():
    """``MB_CONTACT_CACHE_DIR`` or the user's cache folder."""
    base = os.environ.get("MB_CONTACT_CACHE_DIR")
    return Path(base or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mb_contact")


@functools.cache
def folders():
    """Folders that are looked into, in this order; kernels are written into the last one."""
    levels = [PORTABLE] * is_portable() + [target()] * (target() != PORTABLE)
    return [base / environment(level) for base in (PACKAGED, user_folder()) for level in levels]


def find(pattern):
    """Whether some folder has a file of this pattern."""
    return any(any(folder.glob(pattern + SUFFIX)) for folder in folders())


def read(key, second=False):
    """The first part of a file, and the second where it is asked for; None where there is no valid file.

    Parameters
    ----------
    key : str
        Hash of the sources, a slash, and the name of the compiled function.
    """
    for folder in folders():
        path = folder / (key + SUFFIX)
        try:
            with open(path, "rb") as file:
                head = HEAD.unpack(file.read(HEAD.size))
                length = min(head[3], os.fstat(file.fileno()).st_size)
                parts = [file.read(length)] + ([file.read()] if second else [])
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, struct.error):
            _ignore(path)
            continue
        if head[0] == MAGIC and all(_checksum(key, part) == told for part, told in zip(parts, head[1:3])):
            return [pickle.loads(part) for part in parts]
        _ignore(path)
    return None


def write(key, first, second=b""):
    """Keep both parts (pickled already) in the user's folder; where that cannot be written nothing is kept."""
    path = folders()[-1] / (key + SUFFIX)
    head = HEAD.pack(MAGIC, _checksum(key, first), _checksum(key, second), len(first))
    draft = path.with_suffix(f".{uuid.uuid4().hex[:12]}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(head + first + second)
        draft.replace(path)
    except OSError as error:
        _say_once(f"compiled kernels are not kept: {error}")
        with contextlib.suppress(OSError):
            draft.unlink()


def wanted(digests):
    """Keys of functions of these sources that machine code may ask for and that no file has."""
    end, keys = WANTED + SUFFIX, []
    for digest in digests:
        names = {path.name for folder in folders() for path in (folder / digest).glob("*")}
        asked = {name.removesuffix(end) for name in names if name.endswith(end)}
        keys += [f"{digest}/{name}" for name in asked if name + SUFFIX not in names]
    return keys


def can_write():
    """Whether compiled kernels can be kept for other processes."""
    try:
        folders()[-1].mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folders()[-1], os.W_OK)


def copy_into(folder, digests):
    """Copy the kernels of these sources as a package carries them; returns how many files and how many bytes."""
    count = size = 0
    for digest in digests:
        for file in sorted((folders()[-1] / digest).glob("*" + SUFFIX)):
            copy = Path(folder) / environment(target()) / digest / file.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
            count, size = count + 1, size + file.stat().st_size
    return count, size


def why_compile():
    """Why kernels that travel with this package are not used here, or an empty string."""
    there = sorted(path.name for path in PACKAGED.glob("*_*")) if PACKAGED.is_dir() else []
    if not there or any(folder.is_dir() for folder in folders() if folder.parent == PACKAGED):
        return ""
    if not is_portable():
        return f"this CPU is below {PORTABLE}, for which the kernels of this package were compiled"
    return f"the kernels of this package were compiled for {there[0]}, and this is {environment(PORTABLE)}"


def _checksum(key, part):
    return zlib.crc32(part, zlib.crc32(key.encode()))


def _ignore(path):
    _say_once(f"{path} is damaged or of another origin: it is compiled again")


@functools.cache
def _say_once(line):
    LOG.warning(line)
