# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Message packages that no wheel brings, made by the wheels of rosidl: ``python -m mb_contact.ros.message_packages``.

rclpy comes from PyPI with the common interfaces only.  tf2_msgs, simulation_interfaces and what else
``embedded/definitions.py`` describes is written out as .msg, .srv and .action files, turned into C by rosidl's own
generators, compiled into one library and put beside rclpy, for this Python.  A package that is there already stays.
"""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded import definitions

TF = {"tf2_msgs/msg/TFMessage": "geometry_msgs/TransformStamped[] transforms"}  #: which rosbags' store has
OURS = "made_by_mb_contact"  #: a file in each package that was made here
LIBRARY = "libmb_contact_messages.so"
_C, _FAST, _TYPES = "rosidl_typesupport_c", "rosidl_typesupport_fastrtps_c", "rosidl_typesupport_introspection_c"
_SUPPORTS = (_FAST, _TYPES)  #: what rmw_fastrtps_cpp asks for: how messages are encoded, and of what they are made
_HASH = "rosidl_generator_type_description"


def interfaces() -> dict[str, dict[str, str]]:
    """Return the text of each interface by package and ``msg/Name``; a package comes after those that it uses."""
    texts = {**TF, **definitions.messages()}
    parts = {**definitions.services(), **definitions.actions()}
    texts |= {name: "\n---\n".join(sections) for name, sections in parts.items()}
    packages: dict[str, dict[str, str]] = {}
    for full_name, text in texts.items():
        package, _, name = full_name.partition("/")
        packages.setdefault(package, {})[name] = text
    return packages


def missing(folder: Path) -> dict[str, dict[str, str]]:
    """Those of :func:`interfaces` that are not installed, but for what stands in ``folder`` by our own hand."""
    def foreign(package):
        return find_spec(package) is not None and not (folder / package / OURS).is_file()

    return {
        package: texts for package, texts in interfaces().items()
        if not foreign(package) and not package.startswith(("std_srvs", "rcl_", "action_", "type_description"))
    }  # fmt: skip


class _Workshop:
    """A folder where the sources of some packages are made and compiled, from the wheels of this interpreter.

    The definitions of ``package`` are in ``idl/package``, what a tool makes of them in ``TOOL/package``.
    """

    def __init__(self, folder: Path, packages: dict[str, dict[str, str]]) -> None:
        self._folder, self._packages = folder, packages
        self._share = Path(sys.prefix) / "share"

    def generate(self) -> None:
        """Write interface files, and Python and C of them."""
        from rosidl_adapter import convert_to_idl

        tools = _generators()
        for package, texts in self._packages.items():
            root = self._folder / "idl" / package
            for name, text in texts.items():
                path = root / _file(name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"{text}\n", encoding="utf-8")
                with contextlib.redirect_stdout(io.StringIO()):  # it tells of every file
                    convert_to_idl(root, package, path.relative_to(root), root)
            for tool, generator in tools.items():
                self._write_visibility(tool, package)
                generator(self._arguments(package, tool))

    def _write_visibility(self, tool, package):
        """The header that a tool's CMake function would make."""
        source = self._share / tool / "resource" / f"{tool}__visibility_control.h.in"
        if source.is_file():
            text = source.read_text(encoding="utf-8").replace("@PROJECT_NAME@", package)
            target = self._folder / tool / package / "msg" / source.name.removesuffix(".in")
            target.parent.mkdir(parents=True)
            target.write_text(text.replace("@PROJECT_NAME_UPPER@", package.upper()), encoding="utf-8")

    def _arguments(self, package, tool):
        """The file of arguments of one generator, as its CMake function writes it."""
        root, names = self._folder / "idl" / package, self._packages[package]
        described = self._folder / _HASH
        places = [*self._share.iterdir(), *(described / other for other in self._packages)]
        arguments = {
            "package_name": package, "output_dir": str(self._folder / tool / package),
            "template_dir": str(self._share / tool / "resource"), "target_dependencies": [],
            "idl_tuples": [f"{root}:{name}.idl" for name in names], "ros_interface_dependencies": [],
            "include_paths": [f"{place.name}:{place}" for place in places],
            "ros_interface_files": [str(root / _file(name)) for name in names],
        }  # fmt: skip
        if tool == "rosidl_generator_c":
            arguments["type_description_tuples"] = [f"{name}.idl:{described / package / name}.json" for name in names]
        path = self._folder / f"{package}.{tool}.json"
        path.write_text(json.dumps(arguments), encoding="utf-8")
        return str(path)

    def compile(self) -> Path:
        """Return the library of all packages; it is the extension module and the type supports of each.

        Raises
        ------
        CommunicationError
            There is no C and C++ compiler, or it fails.
        """
        name, library = os.environ.get("CC") or "cc", self._folder / LIBRARY
        compiler = shutil.which(name)
        if compiler is None:
            raise CommunicationError(f"no C compiler '{name}' here: install one (Debian, Ubuntu: sudo apt install g++)")
        described = sorted(self._folder.rglob("*__description.c"))  # whose static names are the same in each
        sources: list[Path] = [*described]
        for kind in ("c", "cpp"):  # the others are two files for the compiler: it would read rclpy's headers for each
            files = sorted(set(self._folder.rglob(f"*.{kind}")) - set(described))
            sources.append(self._folder / f"all.{kind}")
            sources[-1].write_text("".join(f'#include "{file}"\n' for file in files), encoding="utf-8")
        done = subprocess.run(
            [compiler, "-shared", "-fPIC", "-O1", "-w", "-DNDEBUG", *self._flags(), *sources, "-o", library,
             *_libraries(), "-lstdc++"], capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip()[-200:])
            raise CommunicationError(f"{compiler} cannot compile the message packages: {first}")
        return library

    def _flags(self):
        import numpy as np

        include = Path(sys.prefix) / "include"
        folders = [*self._folder.glob("rosidl_*/"), include, *include.glob("*/")]
        return [f"-I{folder}" for folder in (*folders, sysconfig.get_path("include"), np.get_include())]


def _file(name):
    """The file of an interface: ``msg/Name.msg``."""
    return f"{name}.{name.partition('/')[0]}"


def _libraries():
    """What the packages of the wheels that are used here export."""
    lib = Path(sys.prefix) / "lib"
    kinds = ("rosidl_generator_c", "rosidl_generator_py", _C, *_SUPPORTS)
    found = [file for kind in kinds for file in sorted(lib.glob(f"lib*_msgs__{kind}.so"))]
    found += [lib / f"libbuiltin_interfaces__{kind}.so" for kind in kinds]
    found += [lib / f"lib{name}.so" for name in ("rosidl_runtime_c", "rcutils", "fastcdr", "rmw", _C, *_SUPPORTS)]
    return [*found, f"-Wl,-rpath,{lib}"]


def _generators() -> dict[str, Callable[[str], Any]]:
    """What each tool makes of its arguments, in the order in which one needs the other's files."""
    import rosidl_generator_c
    import rosidl_generator_py
    import rosidl_generator_type_description
    import rosidl_typesupport_c
    import rosidl_typesupport_fastrtps_c
    import rosidl_typesupport_introspection_c

    return {
        _HASH: rosidl_generator_type_description.generate_type_hash,
        "rosidl_generator_c": rosidl_generator_c.generate_c,
        _FAST: rosidl_typesupport_fastrtps_c.generate_typesupport_fastrtps_c,
        _TYPES: rosidl_typesupport_introspection_c.generate_c,
        _C: lambda file: rosidl_typesupport_c.generate_c(file, _SUPPORTS),
        "rosidl_generator_py": lambda file: rosidl_generator_py.generate_py(file, [_C]),
    }


def make(prefix: Path | None = None, folder: Path | None = None) -> list[str]:
    """Make the packages that are missing; returns their names.

    Parameters
    ----------
    prefix, folder : path, optional
        Where the linker finds libraries (in ``lib``) and Python packages; those of this interpreter by default.

    Raises
    ------
    CommunicationError
        rosidl's wheels or a compiler are not there.
    """
    lib, folder = (prefix or Path(sys.prefix)) / "lib", folder or Path(sysconfig.get_path("platlib"))
    if find_spec("rosidl_generator_py") is None:
        raise CommunicationError(
            "the message packages are made by rosidl's wheels: pip install 'mb_contact[ros]' (in a clone '.[ros]')"
        )
    packages = missing(folder)
    with tempfile.TemporaryDirectory(prefix="mb_contact_messages_") as made:
        workshop = _Workshop(Path(made), packages)
        workshop.generate()
        library = shutil.copy(workshop.compile(), lib / LIBRARY)
        for package in packages:
            _install(Path(made) / "rosidl_generator_py" / package, folder / package)
            supports = [lib / f"lib{package}__{support}.so" for support in _SUPPORTS]
            for name in (folder / package / f"{package}_s__{_C}.so", *supports):
                name.unlink(missing_ok=True)
                name.symlink_to(library)  # one library by all its names: it is loaded once
    return list(packages)


def _install(source: Path, target: Path) -> None:
    """Put a package's Python files where Python finds them."""
    shutil.rmtree(target, ignore_errors=True)
    for file in source.rglob("*.py"):
        (target / file.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target / file.relative_to(source))
    (target / "__init__.py").touch()
    (target / OURS).touch()


def main(argv: Sequence[str] | None = None) -> int:
    """Make them, and tell; returns the exit code."""
    try:
        print(f"made {', '.join(make())}")
    except CommunicationError as error:
        print(f"message_packages: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
