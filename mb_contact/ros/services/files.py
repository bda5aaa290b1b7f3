# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which files a request may name: those below the allowed folders, up to a size, whatever links and ``..`` say."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from mb_contact.checks import shorten
from mb_contact.errors import InputError
from mb_contact.model.resources import find_resource
from mb_contact.model.scene.named_files import with_files

LIBRARY = ("config", "urdf")  #: folders of this package whose files may be taken always
MOST_LISTED = 1000  #: files of a listing
SCHEMES = ("file", "package", "model")  #: of addresses that are looked for
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*)://")
_LINKS = ("filename", "uri")  #: attributes of URDF's elements that name files
ROBOT_KEYS = ("urdf", "srdf")  #: keys of a scene whose files are resources, as a request names them


class NotAllowed(InputError):
    """A file that is not there, or that nobody may take."""


class AllowedFiles:
    """The folders that files of requests may come from, and how large they may be.

    Parameters
    ----------
    roots : sequence of str
        Folders, or ``package://`` addresses of such, beside the library's own; empty texts stand for nothing.
    most, most_mesh : int
        Bytes of a resource, and of a mesh or another file that it names.
    also : sequence of Path
        Single files that may be taken too.

    Raises
    ------
    InputError
        A root is no folder.
    """

    def __init__(self, roots: Sequence[str], most: int, most_mesh: int, also: Sequence[Path] = ()) -> None:
        self.most, self.most_mesh = most, most_mesh
        self._also = [path.resolve() for path in also]
        self.roots = [folder for name in LIBRARY if (folder := _folder(f"package://mb_contact/{name}")) is not None]
        for root in filter(None, roots):
            folder = _folder(root)
            if folder is None:
                raise InputError(f"resource_roots: '{root}' is no folder; give one that exists, or leave it out")
            self.roots.append(folder)

    def find(self, address: str, start: Path | None = None, most: int | None = None) -> Path:
        """The file of an address, a path or one of ``SCHEMES``; relative ones start from ``start`` or a root.

        Raises
        ------
        NotAllowed
            None of that name in the allowed folders (what lies elsewhere is not told), or it is too large.
        """
        scheme = _SCHEME.match(address)
        if scheme and scheme[1] not in SCHEMES:
            known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
            raise NotAllowed(f"'{shorten(address)}': only paths and addresses with {known} are known")
        found = next((path for path in self._candidates(address, start) if self.allows(path)), None)
        if found is None:
            folders = ", ".join(map(str, self.roots))
            raise NotAllowed(
                f"no file '{shorten(address)}' in the folders that files may be taken from: {folders}; "
                "the parameter resource_roots adds some"
            )
        size, most = found.stat().st_size, self.most if most is None else most
        if size > most:
            raise NotAllowed(f"'{shorten(address)}' has {size} bytes; at most {most} are taken")
        return found

    def _candidates(self, address, start) -> Iterator[Path]:
        starts = [start] if start is not None else [*self.roots, Path.cwd()]
        for folder in starts:
            try:
                yield find_resource(address, start=folder).resolve()
            except (OSError, ValueError, RuntimeError):  # not there, no name of a file, links in a circle
                continue

    def allows(self, path: Path) -> bool:
        """Whether a path without links is a file in one of the folders."""
        return path.is_file() and (path in self._also or self._holds(path))

    def _holds(self, path: Path) -> bool:
        return any(path.is_relative_to(root) for root in self.roots)

    def named(self, address: str, start: Path | None = None) -> str:
        """The path of a mesh or another file that a resource names."""
        return str(self.find(address, start, self.most_mesh))

    def named_by_sdf(self, address: str) -> str:
        """The same of what an SDF names, which may be the folder of a model."""
        folders = (path for path in self._candidates(address, None) if path.is_dir() and self._holds(path))
        return str(next(folders, None) or self.named(address))

    def read(self, address: str, endings: Sequence[str]) -> tuple[str, Path]:
        """Text and path of a file.

        Raises
        ------
        NotAllowed
            As :meth:`find`, or it is no text.
        InputError
            Its name has another ending.
        """
        if Path(address).suffix not in endings:
            raise InputError(f"'{shorten(address)}' ends in none of {', '.join(endings)}")
        path = self.find(address)
        try:
            return path.read_text(encoding="utf-8"), path
        except (OSError, UnicodeDecodeError) as error:
            raise NotAllowed(f"cannot read '{shorten(address)}': {error}") from None

    def listed(self, endings: Sequence[str], folders: Sequence[Path] | None = None) -> list[Path]:
        """Files with these endings in all folders, by name, and at most MOST_LISTED."""
        found: dict[Path, None] = {}
        for root in self.roots if folders is None else folders:
            for path in sorted(root.rglob("*")):
                real = _real(path) if path.suffix in endings else None
                if real is not None and self.allows(real):
                    found.setdefault(real)
                if len(found) >= MOST_LISTED:
                    return list(found)
        return list(found)

    def folder(self, address: str) -> Path | None:
        """A folder below the roots; None for anything else."""
        path = None if _SCHEME.match(address) and not address.startswith(SCHEMES) else _folder(address)
        return path if path is not None and self._holds(path) else None


def _real(path):
    """A path without links; None where it has none: links in a circle, no name of a file."""
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):
        return None


def _folder(address):
    try:
        path = _real(find_resource(address))
    except (OSError, ValueError, RuntimeError):
        return None
    return path if path is not None and path.is_dir() else None


def parsed(text: str, error: Callable[[str], Exception]) -> Any:
    """The root element of XML from a request, which has no document type: entities can grow without bounds."""
    if "<!" in text.replace("<!--", ""):
        raise error("the resource has a document type or entities, which no robot needs")
    try:
        return ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as problem:
        raise error(f"the resource is no XML: {problem}") from None


def confine(root: Any, files: AllowedFiles, start: Path | None = None) -> None:
    """Replace every file that a URDF names by its path, which must be allowed."""
    for element in root.iter():
        for key in _LINKS:
            address = element.get(key)
            if element.tag in ("mesh", "texture") and address:
                element.set(key, files.named(address, start))


def confined(record: Any, files: AllowedFiles) -> Any:
    """A Scene, or a record of one, whose files are replaced by their paths, which must be allowed.

    Raises
    ------
    NotAllowed
        A file that is not.
    """

    def placed(key, address):
        if key == "urdf" and address.lstrip().startswith("<"):
            root = parsed(address, InputError)
            confine(root, files)
            return ElementTree.tostring(root, encoding="unicode")
        return str(files.find(address)) if key in ROBOT_KEYS else files.named(address)

    return with_files(record, placed)
