# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""``coal_narrow.cpp`` as a library: built where there is a C++ compiler, found again, loaded.

It stands beside compiled kernels, in the package or in the user's cache folder, under a name made of all that it is
valid for: its source, the compiler's options, coal's version and the size of coal's own library.  Nothing needs it: the
Python binding gives the same numbers, and before a new library is kept, a process of its own compares them.
"""

import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

from mb_contact.collision.coal_settled import coal
from mb_contact.compile.files import PACKAGED, user_folder

SOURCE = Path(__file__).with_name("coal_narrow.cpp")
OPTIONS = ("-std=c++17", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-DNDEBUG", "-w")
FOLDER = "coal"  #: beside the folders of kernels
_CHECK = "import sys; from mb_contact.collision.coal_check import check; check(sys.argv[1])"
_POINTER, _WHOLE, _REAL = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
_FUNCTIONS = {
    "mb_coal_version": (ctypes.c_char_p, []),
    "mb_coal_make": (_POINTER, [_WHOLE, *[_POINTER] * 6, _REAL, _REAL]),
    "mb_coal_drop": (None, [_POINTER]),
    "mb_coal_failure": (ctypes.c_char_p, [_POINTER]),
    "mb_coal_query": (_WHOLE, [_POINTER, _WHOLE, *[_POINTER] * 7]),
}


class NoLibrary(Exception):
    """Why coal's narrow phase cannot be built here, in one sentence."""


@functools.cache
def library():
    """The loaded library, or None where there is none for this coal."""
    for path in _places():
        try:
            return load(path)
        except OSError:  # there is none, or it needs a newer C++ library than this system has
            pass
    return None


def load(path):
    """The library of a file, its functions with their types.

    Raises
    ------
    OSError
        It cannot be loaded, or was built for another coal.
    """
    loaded = ctypes.CDLL(str(path))  # finds the libcoal that the import of coal has loaded
    for name, (result, arguments) in _FUNCTIONS.items():
        getattr(loaded, name).restype, getattr(loaded, name).argtypes = result, arguments
    if loaded.mb_coal_version().decode() != coal.__version__:
        raise OSError(f"{path} was built for another coal")
    return loaded


def build(into=None):
    """Build the library unless it is there.

    Parameters
    ----------
    into : path, optional
        Folder that gets a copy, as a package carries it.

    Raises
    ------
    NoLibrary
        Something that it takes is missing, the compiler fails, or the answers are not those of the Python binding.
    """
    if library() is None:
        path = _places()[-1]
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise NoLibrary(f"its folder cannot be made: {error}") from error
        command, draft = _command(), path.with_suffix(f".{uuid.uuid4().hex[:12]}.part")
        try:
            _run([*command, "-o", str(draft)], "the compiler fails")
            _run([sys.executable, "-c", _CHECK, str(draft)], "its answers are not those of coal's Python binding")
            draft.replace(path)
        except NoLibrary as error:
            _failure().write_text(str(error), encoding="utf-8")
            raise
        finally:
            draft.unlink(missing_ok=True)
        library.cache_clear()
    if into:
        copy = Path(into) / FOLDER
        copy.mkdir(parents=True, exist_ok=True)
        shutil.copy(next(path for path in reversed(_places()) if path.exists()), copy)


def is_worth_a_try():
    """Whether there is no library, and all that it takes is there and has not failed before."""
    if any(path.exists() for path in (*_places(), _failure())):
        return False
    try:
        return bool(_command())
    except NoLibrary:
        return False


def _failure():
    """File that says why a build has failed."""
    return _places()[-1].with_suffix(".failed")


def _run(command, complaint):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "rror" in line] or done.stderr.splitlines()
        raise NoLibrary(f"{complaint}: {lines[-1] if lines else f'exit code {done.returncode}'}")


def _command():
    """The compiler with its options."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        raise NoLibrary("there is no C++ compiler (g++, clang++, or the one that CXX names)")
    own = _own_library()
    if own is None:
        raise NoLibrary("libcoal.so is not beside coal's Python package")
    include = _prefix() / "include"
    if not (include / "coal" / "distance.h").is_file():
        raise NoLibrary(f"coal's headers are not in {include}")
    folders = (os.environ.get("EIGEN_INCLUDE", ""), include / "eigen3", "/usr/include/eigen3")
    eigen = next((folder for folder in folders if folder and (Path(folder) / "Eigen" / "Core").is_file()), None)
    if eigen is None:
        raise NoLibrary("Eigen's headers are missing: pip install 'mb_contact[compiler]' or apt install libeigen3-dev")
    return [compiler, *OPTIONS, f"-I{include}", f"-I{eigen}", str(SOURCE), f"-L{own.parent}", "-lcoal"]


def _prefix():
    """Of coal's installation: <prefix>/lib/python3.x/site-packages/coal/__init__.py, as wheels and conda have it."""
    return Path(coal.__file__).resolve().parents[4]


def _own_library():
    """The library of coal itself; None where it is not found, as on systems other than Linux."""
    found = (_prefix() / name / "libcoal.so" for name in ("lib", "lib64"))
    return next((path for path in found if path.is_file()), None)


@functools.cache
def _places():
    """Where the library may be, the user's folder last."""
    own = _own_library()
    size = own.stat().st_size if own else 0
    valid = repr((coal.__version__, size, platform.machine(), OPTIONS)).encode() + SOURCE.read_bytes()
    name = f"{hashlib.sha256(valid).hexdigest()[:16]}.so"
    return [base / FOLDER / name for base in (PACKAGED, user_folder())]
