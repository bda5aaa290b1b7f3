# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""URDF to Model: finds and reads the file, or expands the xacro, and builds the tree."""

from __future__ import annotations

from pathlib import Path

from mb_contact.errors import InputError, ModelError
from mb_contact.model.resources import find_resource
from mb_contact.model.urdf_tree import TreeBuilder
from mb_contact.model.urdf_xml import UrdfReader


def load_urdf(source, *, floating=False, package_dirs=(), collision_meshes="error", xacro_args=None):
    """Read a URDF file, a xacro file or URDF text.

    Parameters
    ----------
    source : str or Path
        Path, ``package://`` address, or the XML itself (text that starts with ``<``).
    floating : bool
        Put a floating joint on the root link; otherwise the root is welded to the inertial frame.
    package_dirs : sequence of path
        Folders that hold ROS packages, for ``package://`` addresses.
    collision_meshes : {"error", "skip"}
        What to do with collision meshes: refuse the file, or leave them out with a warning.
    xacro_args : mapping of str to str, optional
        Arguments of a xacro file.

    Returns
    -------
    Model

    Raises
    ------
    ModelError
        The file is missing, is not XML, or does not describe a tree of rigid bodies; the
        message names file, line and element.
    """
    if collision_meshes not in ("error", "skip"):
        raise InputError(f"collision_meshes must be 'error' or 'skip', got '{collision_meshes}'")
    text, name = _read(source, package_dirs, xacro_args)
    reader = UrdfReader(name, collision_meshes)
    robot, links, joints = reader.parse(text)
    return TreeBuilder(reader, robot, links, joints, floating).model(text.decode("utf-8", errors="replace"))


def _read(source, package_dirs, xacro_args):
    """Bytes of the URDF and the name that messages call it by."""
    if isinstance(source, str) and source.lstrip().startswith("<"):
        return source.strip().encode(), "<urdf text>"
    if not isinstance(source, (str, Path)) or not str(source):
        raise InputError(f"load_urdf needs a path or XML text, got {type(source).__name__} {source!r}")
    try:
        path = find_resource(str(source), package_dirs)
    except FileNotFoundError as error:
        raise ModelError(f"no URDF: {error}") from None
    if path.suffix == ".xacro":
        return _expand_xacro(path, xacro_args).encode(), f"{path} (expanded)"
    try:
        return path.read_bytes(), str(path)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None


def _expand_xacro(path, arguments):
    try:
        import xacro  # optional, and only a xacro file needs it
    except ImportError:
        message = f"{path}: reading xacro files needs the 'xacro' package: pip install xacro, "
        raise ModelError(message + "or expand the file first: xacro FILE > robot.urdf") from None
    try:
        return xacro.process_file(str(path), mappings=dict(arguments or {})).toprettyxml(indent="  ")
    except Exception as error:  # xacro raises its own types, SyntaxError, expat and OS errors
        raise ModelError(f"{path}: xacro failed: {error}") from error
