# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""URDF to Model: finds and reads the file, or expands the xacro, and builds the tree."""

import sys
import threading
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from shlex import quote
from types import ModuleType
from typing import Any

from mb_contact.errors import InputError, ModelError
from mb_contact.keys.declaration import declared
from mb_contact.model.flexible.links import split_flexible
from mb_contact.model.model import Model
from mb_contact.model.resources import find_resource
from mb_contact.model.scene import FlexibleLink, MeshChoices, SceneModel
from mb_contact.model.scene.other_files import other_kind
from mb_contact.model.scene.reader import SDF
from mb_contact.model.scene.robots import MESH_CHOICES
from mb_contact.model.urdf.massless import hold_massless
from mb_contact.model.urdf.series_springs import with_series_springs
from mb_contact.model.urdf.tree import TreeBuilder
from mb_contact.model.urdf.xml import UrdfReader

_INDEX = "ament_index_python"  #: the module that xacro asks for packages
_FINDS = threading.Lock()  #: while xacro finds packages as this reader does


def load_urdf(
    source: Any,
    *,
    floating: bool = False,
    package_dirs: Iterable[str | Path] = (),
    collision_meshes: str | Mapping[str, Any] | MeshChoices = "convex_hull",
    inertia_errors: str = "error",
    mimic: str = "eliminate",
    massless: str = "error",
    xacro_args: Mapping[str, Any] | None = None,
    series_springs: Collection[str] = (),
    flexible_links: Mapping[str, FlexibleLink] | None = None,
) -> Model:
    """Read a URDF file, a xacro file, an SDF file of one model, or URDF text.

    Parameters
    ----------
    source : str or Path or yourdfpy.URDF
        Path, ``package://`` address, the XML itself (text that starts with ``<``), or a robot that ``yourdfpy`` has
        loaded.
    floating : bool
        Put a floating joint on the root link; otherwise the root is welded to the inertial frame.
    package_dirs : sequence of path
        Folders that hold ROS packages, for ``package://`` addresses and for ``$(find package)`` in xacro files.
    collision_meshes : {"convex_hull", "convex_pieces", "skip", "warn", "error"} or mapping or MeshChoices
        What becomes of collision meshes: their hull; the hulls of a convex decomposition (needs ``vhacdx``); left out
        with a warning; the hull, and left out with a warning where a mesh cannot be read; or the file is refused.  A
        mapping chooses by link: ``{"default": "convex_hull", "links": {"hand": "convex_pieces"}}``.
    inertia_errors : {"error", "warn"}
        What to do with an inertia that has a negative principal moment: refuse the file, or use it as given
        with a warning; the mass matrix is then positive definite only where the rest of the body makes it so.
        A singular inertia (a thin rod) is always used as given, with a warning.
    mimic : {"eliminate", "independent", "error"}
        What to do with joints that mimic another: eliminate them, so that q, v and efforts are those of the joints
        that follow none (``model.expand_q`` gives the others); let them move on their own, with a warning; or refuse
        the file.
    massless : {"error", "merge", "armature"}
        What to do with a joint that moves links without mass or inertia alone: refuse the file, or hold the joint at
        zero, with a warning, so that its links are parts of the one that they hang on.  ``armature`` does the same, and
        where links without inertia among others, in a robot with mimic joints, make the mass matrix singular, for
        which the file is refused otherwise, gives their joints rotors: a hundredth of the inertia about the axis.
    xacro_args : mapping of str to str, number or bool, optional
        Arguments of a xacro file; refused with other files.
    series_springs : collection of str
        Joints ``NAME`` behind which a link without mass and a joint ``NAME_spring`` of the same axis are put.
    flexible_links : mapping of str to FlexibleLink, optional
        Links that deform in modes, by name; each mode becomes a joint ``LINK/mode_1`` ....

    Returns
    -------
    Model
        SI units, frames as in the file.

    Raises
    ------
    InputError
        An option has a value that it cannot have.
    ModelError
        The file is missing, is not XML, or does not describe a tree of rigid bodies; the
        message names file, line and element.

    Examples
    --------
    >>> robot = mb.load_urdf("package://mb_contact/urdf/dual_arm.urdf")
    >>> robot
    Model('dual_arm', n=26, N=26, joints=26)
    >>> mb.load_urdf(mb.pendulum(2).urdf(), floating=True)
    Model('pendulum_2', n=3, N=8, joints=2)
    """
    meshes = _mesh_choices(collision_meshes)
    chosen = {"inertia_errors": inertia_errors, "mimic": mimic}
    for option, value in {**chosen, "massless": massless}.items():
        choices = declared(SceneModel)[option].key.choices
        if value not in choices:
            allowed = " or ".join(f"'{choice}'" for choice in choices)
            raise InputError(f"{option} must be {allowed}, got {value!r}")
    text, name, start = read_urdf(source, package_dirs, xacro_args)
    if series_springs:
        text = with_series_springs(text, series_springs)
    reader = UrdfReader(name, meshes, package_dirs, start, **chosen)
    robot, links, joints = reader.parse(text)
    if massless != "error":
        hold_massless(reader, links, joints)
    parts = split_flexible(reader, links, joints, flexible_links or {}, floating, start)
    builder = TreeBuilder(reader, robot, links, joints, floating and not reader.still, massless, parts)
    return builder.model(text.decode("utf-8", errors="replace"))


def _mesh_choices(given):
    """MeshChoices out of a word, a mapping or MeshChoices."""
    if isinstance(given, str):
        given = MeshChoices(given)
    elif isinstance(given, Mapping):
        unknown = [key for key in given if key not in ("default", "links")]
        if unknown:
            raise InputError(f"collision_meshes has the keys default and links, got {unknown[0]!r}")
        given = MeshChoices(**given)
    if not isinstance(given, MeshChoices):
        raise InputError(f"collision_meshes must be a word or a mapping, got {type(given).__name__}")
    for value in (given.default, *given.links.values()):
        if value not in MESH_CHOICES:
            allowed = ", ".join(MESH_CHOICES)
            raise InputError(f"collision_meshes must be one of {allowed}, got {value!r}")
    return given


def read_urdf(source, package_dirs, xacro_args):
    """Bytes of the URDF, the name that messages call it by, and its folder (None for text)."""
    if isinstance(source, str) and source.lstrip().startswith("<"):
        return source.strip().encode(), "<urdf text>", None
    if hasattr(source, "write_xml_string"):
        return source.write_xml_string(), "<yourdfpy.URDF>", None
    if not isinstance(source, (str, Path)) or not str(source):
        raise InputError(f"load_urdf needs a path, XML text or a yourdfpy.URDF, got {type(source).__name__} {source!r}")
    try:
        path = find_resource(str(source), package_dirs)
    except FileNotFoundError as error:
        raise ModelError(f"no URDF: {error}") from None
    if xacro_args and path.suffix != ".xacro":
        raise InputError(f"{path}: xacro_args are for files that end in .xacro; leave them out, or expand this one")
    if path.suffix == ".xacro":
        return _expand_xacro(path, xacro_args, package_dirs).encode(), f"{path} (expanded)", path.parent
    if path.suffix in SDF:
        from mb_contact.model.sdf.world import sdf_as_urdf

        return sdf_as_urdf(path, package_dirs), f"{path} (as URDF)", path.parent
    if path.is_dir():
        raise ModelError(f"no URDF: {path} is a folder; name a file in it")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None
    what = other_kind(path, content) if path.suffix != ".urdf" or not content.lstrip().startswith(b"<") else ""
    if path.suffix in (".yaml", ".yml"):
        what = what or f"YAML, as scenes are; mb-contact check {quote(str(path))} takes a scene"
    if what and not what.startswith("a robot"):
        raise ModelError(f"{path}: not a robot: it is {what}")
    return content, str(path), path.parent


def _texts(arguments):
    """Values of a xacro file's arguments as a command line has them."""
    given = (arguments or {}).items()
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in given}


def _expand_xacro(path, arguments, package_dirs):
    try:
        import xacro  # optional, and only a xacro file needs it
    except ImportError:
        message = f"{path}: reading xacro files needs the 'xacro' package: pip install xacro, "
        raise ModelError(message + "or expand the file first: xacro FILE > robot.urdf") from None

    missing = []  # said once, not in xacro's words

    def find(package):  # in the place of ROS 2's index, which need not be there
        try:
            return str(find_resource(f"package://{package}", package_dirs, path.parent).absolute())
        except FileNotFoundError as error:
            missing.append(error)
            raise

    packages = ModuleType(f"{_INDEX}.packages")
    packages.get_package_share_directory = find
    ours = {_INDEX: ModuleType(_INDEX), packages.__name__: packages}
    with _FINDS:
        kept = {name: sys.modules[name] for name in ours if name in sys.modules}
        sys.modules.update(ours)
        try:
            return xacro.process_file(str(path), mappings=_texts(arguments)).toprettyxml(indent="  ")
        except Exception as error:  # xacro raises its own types, SyntaxError, expat and OS errors
            remedy = (
                "; xacro_args gives arguments, beside a scene's urdf too, and so does NAME:=VALUE behind the file in "
                "mb-contact info and mb-contact new; or: xacro FILE NAME:=VALUE > robot.urdf"
            )
            remedy = remedy if "substitution argument" in str(error) else ""
            raise ModelError(f"{path}: xacro failed: {missing[0] if missing else error}{remedy}") from error
        finally:
            for name in ours:
                del sys.modules[name]
            sys.modules.update(kept)
