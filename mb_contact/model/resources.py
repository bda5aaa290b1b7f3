# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Where files are: paths and ``package://`` addresses, with and without a sourced ROS 2."""

import contextlib
import os
import re
import site
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

OWN_PACKAGE = "mb_contact"
ON_PYPI = ("example-robot-data",)  #: packages of robots that scenes of this one use, and pip installs
WHEEL_SHARE = "cmeel.prefix/share"  #: where such wheels put them, below site-packages


#: environment variables of folders that hold models, of Gazebo's versions
MODEL_PATHS = ("GZ_SIM_RESOURCE_PATH", "IGN_GAZEBO_RESOURCE_PATH", "GAZEBO_MODEL_PATH", "SDF_PATH")
MOST_NAMED = 6  #: places of one kind that a message names
PACKAGE_PATH = "MB_CONTACT_PACKAGE_PATH"  #: environment variable of folders that hold packages, the first to count
NAME = re.compile(r"<name>\s*([^<]*?)\s*</name>")  #: of a package, in its package.xml, without what is
COMMENT = re.compile("<!--.*?-->", re.DOTALL)


def find_resource(
    address: str | os.PathLike[str],
    package_dirs: Iterable[str | os.PathLike[str]] = (),
    start: str | os.PathLike[str] | None = None,
) -> Path:
    """Path of an existing file or folder.

    A ``package://name/rest`` address is looked for along MB_CONTACT_PACKAGE_PATH (``--package-path`` of the commands),
    in the ament index, along ROS_PACKAGE_PATH, then in ``package_dirs`` and the folders above ``start``, then where
    wheels of PyPI put the ``share`` folder of such packages; this package itself is also found in its source checkout
    or beside an installed wheel.  A package is a folder of that name, or one whose ``package.xml`` has that name; above
    ``start`` the latter only where it is such a folder itself.  A ``model://name/rest`` address is looked for along the
    paths of Gazebo (see ``MODEL_PATHS``), in ``package_dirs`` and the folders above ``start``.  ``%20`` and its like
    are read as they are written where there is such a file, otherwise as what they stand for.

    Parameters
    ----------
    address : str or path
        ``package://``, ``model://``, ``file://`` or a plain path.
    package_dirs : sequence of path
        Folders that hold packages, or are packages.
    start : path, optional
        Folder that relative paths start from, by default the current one.

    Returns
    -------
    Path

    Raises
    ------
    FileNotFoundError
        Nothing there; the message lists where it looked.

    Examples
    --------
    >>> mb.model.find_resource("package://mb_contact/urdf/peg.urdf").name
    'peg.urdf'
    """
    address, package_dirs = str(address), tuple(package_dirs)
    scheme, rest = address.split("://", 1) if "://" in address else ("", address)
    package, _, inside = rest.partition("/")
    if scheme == "package":
        candidates = [folder / inside for folder in _package_folders(package, package_dirs, start)]
    elif scheme == "model":
        candidates = [folder / rest for folder in _model_folders(package_dirs, start)]
    elif scheme in ("", "file"):
        candidates = [Path(start or ".") / Path(rest).expanduser()]
    else:
        raise FileNotFoundError(
            f"'{address}': {scheme}:// addresses are not read; fetch the file and name it by its path, package:// or "
            "model://"
        )
    for candidate in (*candidates, *(Path(unquote(str(path))) for path in candidates)):
        if exists(candidate):
            return candidate
    if scheme in ("", "file"):
        raise FileNotFoundError(_missing(candidates[0]))
    if scheme == "model":
        looked = ", ".join(map(str, candidates[:MOST_NAMED]))
        raise FileNotFoundError(
            f"'{address}' not found; looked at {looked}; add the folder that holds '{package}' to GZ_SIM_RESOURCE_PATH "
            "or package_dirs (in a scene: packages; on the command line: --package-path)"
        )
    looked = ", ".join(map(str, candidates)) or _searched(package, package_dirs, start)
    remedy = "source its workspace or pass package_dirs (in a scene: packages; on the command line: --package-path)"
    if package in ON_PYPI:
        remedy += f", or pip install {package}"
    raise FileNotFoundError(f"'{address}' not found; looked at {looked}; {remedy}")


def _missing(path):
    """What a message says of a file that is not there."""
    path = Path(os.path.normpath(path))
    try:
        files = [file.name for file in path.parent.iterdir() if not file.name.startswith(".")]
    except (OSError, ValueError):
        files = []
    stems = get_close_matches(path.name.split(".")[0], {name.split(".")[0] for name in files}, n=1)
    alike = [name for name in files if name.split(".")[0] in stems]
    near = get_close_matches(path.name, alike, n=1, cutoff=0.0)
    return f"'{path}' does not exist" + (f"; did you mean '{path.parent / near[0]}'?" if near else "")


def _model_folders(package_dirs, start):
    """Folders that may hold models, in the order in which they count."""
    folders = [folder for variable in (PACKAGE_PATH, *MODEL_PATHS) for folder in _split(variable)]
    parents = [] if start is None else [Path(start).resolve(), *Path(start).resolve().parents]
    return [*folders, *map(Path, package_dirs), *parents, Path.home() / ".gazebo" / "models"]


def exists(path):
    """Whether there is such a file or folder; False for a name that no file can have."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _package_folders(package, package_dirs, start):
    """Folders that may be ``package``, in the order in which they count."""
    folders = _held(package, _split(PACKAGE_PATH))
    for prefix in _split("AMENT_PREFIX_PATH"):
        marker = prefix / "share" / "ament_index" / "resource_index" / "packages" / package
        if marker.exists():
            folders.append(prefix / "share" / package)
    parents = []
    if start is not None:
        here = Path(start).resolve()
        parents = [here, *here.parents]
    folders += _held(package, [*_split("ROS_PACKAGE_PATH"), *map(Path, package_dirs)])
    folders += _held(package, parents, among=False)
    folders += [share / package for share in _wheel_shares() if (share / package).is_dir()]
    if package == OWN_PACKAGE:
        folders += _own_folders()
    return folders


def _searched(package, package_dirs, start):
    """Where a package is that is nowhere, for a message."""
    given = {
        "--package-path": _split(PACKAGE_PATH),
        "AMENT_PREFIX_PATH": _split("AMENT_PREFIX_PATH"),
        "ROS_PACKAGE_PATH": _split("ROS_PACKAGE_PATH"),
        "package_dirs": list(package_dirs),
    }
    told = [
        f"{name} ({', '.join(map(str, folders[:MOST_NAMED])) or 'none'}{', ...' if folders[MOST_NAMED:] else ''})"
        for name, folders in given.items()
    ]
    above = "" if start is None else f", the folders above {Path(start).resolve()}"
    return f"{', '.join(told)}{above}: no folder and no package.xml there is called '{package}'"


def _held(package, folders, among=True):
    """Folders of the package among ``folders``, which are it or, if ``among``, hold it under a name of their own."""
    found = []
    for base in folders:
        if (base.name == package and (base / "package.xml").exists()) or _declared_name(base) == package:
            found.append(base)
        if (base / package).is_dir():
            found.append(base / package)
        elif among:
            with contextlib.suppress(OSError):  # it is none, or may not be read
                found += [folder for folder in sorted(base.iterdir()) if _declared_name(folder) == package]
    return found


def _declared_name(folder):
    """The name in the package.xml of a folder, or None."""
    file = folder / "package.xml"
    try:
        return _name_in(file, file.stat().st_mtime_ns)
    except OSError:
        return None


@lru_cache(maxsize=1024)
def _name_in(file, _):
    """The name in a package.xml, read anew where its time is another."""
    name = NAME.search(COMMENT.sub("", file.read_text(encoding="utf-8", errors="replace")))
    return name and name[1]


def _wheel_shares():
    """The ``share`` folders of wheels, in this environment."""
    return [Path(base) / WHEEL_SHARE for base in (*site.getsitepackages(), site.getusersitepackages())]


def _own_folders():
    """The source checkout first: beside an editable install, an older wheel's files may still lie about."""
    checkout = Path(__file__).resolve().parents[2]
    installed = [Path(base) / "share" / OWN_PACKAGE for base in (sys.prefix, site.getuserbase())]
    return [checkout, *installed] if (checkout / "package.xml").exists() else installed


def _split(variable):
    return [Path(entry) for entry in os.environ.get(variable, "").split(os.pathsep) if entry]


def child_environment():
    """Environment of a Python child: this very package, also when it runs from a checkout that is not installed."""
    environment = dict(os.environ, PYTHONUNBUFFERED="1")
    root = Path(__file__).resolve().parents[2]
    if (root / "package.xml").exists():
        paths = [str(root), *filter(None, [environment.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
    return environment
