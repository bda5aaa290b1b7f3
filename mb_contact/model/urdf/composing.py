# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Two robot files as one: a gripper at a link of an arm; and names of its own for a second robot of one kind."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from lxml import etree

from mb_contact.checks import instead_of
from mb_contact.errors import InputError, ModelError
from mb_contact.model.mjcf.elements import numbers, roll_pitch_yaw
from mb_contact.model.scene.bodies import Pose
from mb_contact.model.urdf.naming import name_meshes_by_paths, rename, with_prefix
from mb_contact.model.urdf.reader import read_urdf


def compose(
    robot: str | Path,
    gripper: str | Path | None = None,
    at: str | None = None,
    pose: Pose | None = None,
    prefix: str | None = None,
    package_dirs: Iterable[str | Path] = (),
    placed: Callable[[Path], str] = str,
    prefix_all: str = "",
    root: str | None = None,
    xacro_args: Mapping[str, Any] | None = None,
    gripper_args: Mapping[str, Any] | None = None,
) -> str:
    """URDF of a robot with another one, such as a gripper, fixed to one of its links.

    What an SDF file has beyond a URDF goes lost; the text says so, and who loads it is told (``Model.warnings``).
    Names of the gripper's links and joints that the robot has too get a prefix; the others stay as they are.  Mesh
    files are named by their paths, so that the text may stand in any folder.

    Parameters
    ----------
    robot, gripper : str or Path
        URDF, xacro or SDF files, ``package://`` addresses or XML texts; without a gripper the robot alone.
    at : str
        Link of the robot, which a gripper needs.
    pose : Pose, optional
        Of the gripper's root link in the axes of that link; the same place and axes if left out.
    prefix : str, optional
        Of all names of the gripper; if left out, its robot name and an underscore, of those that clash alone.
    package_dirs : sequence of path
        Where packages are looked for, as in :func:`~mb_contact.model.load_urdf`.
    placed : callable, optional
        Makes what the text says of the path of a mesh; the path itself if left out.
    prefix_all : str
        Of all names of both, for another robot of one kind in a scene.
    root : str, optional
        Another name of the robot's root link, where that is called ``world`` and stands elsewhere.
    xacro_args, gripper_args : mapping of str to str, number or bool, optional
        Arguments of the robot's and of the gripper's xacro file.

    Returns
    -------
    str
        For ``SceneModel``, ``load_urdf``, a file, or another gripper.

    Raises
    ------
    InputError
        The robot has no such link, or the prefix leaves names that clash.
    ModelError
        A file is missing or is not the XML of a robot.

    Examples
    --------
    >>> one = mb.model.compose(mb.pendulum(2).urdf(), mb.pendulum(1).urdf(), "link_1", prefix="tool_")
    >>> mb.load_urdf(one).link_names
    ('base', 'link_0', 'link_1', 'tool_base', 'tool_link_0')
    >>> two = mb.model.compose(one, mb.pendulum(1).urdf(), "base")
    >>> mb.load_urdf(two).joint_names
    ('hinge_0', 'hinge_1', 'tool_hinge_0', 'pendulum_1_hinge_0')
    >>> right = mb.model.compose(mb.pendulum(1).urdf(), prefix_all="right_")
    >>> mb.load_urdf(right).joint_names
    ('right_hinge_0',)
    """
    folders = tuple(package_dirs)
    whole = _parsed(robot, folders, placed, xacro_args)
    if gripper is not None:
        _join(whole, _parsed(gripper, folders, placed, gripper_args), at, pose or Pose(), prefix)
    elif at is not None:
        raise InputError(f"nothing is fixed to link '{at}'; give a gripper, or leave out at")
    names = with_prefix(whole, prefix_all)
    if root is not None:
        names[_root_of(whole)] = root
    rename(whole, names)
    return str(etree.tostring(whole, pretty_print=True, encoding="unicode"))


def _join(whole, part, at, pose, prefix):
    """Put the elements of a gripper into those of a robot."""
    if at is None:
        raise InputError("a gripper needs the link of the robot that it is fixed to: at='...'")
    links = [link.get("name") for link in whole.findall("link")]
    if at not in links:
        raise InputError(f"the robot has no link '{at}'; {instead_of(at, links)}")
    rename(part, _names(whole, part, prefix))
    root = _root_of(part)
    taken = {joint.get("name") for file in (whole, part) for joint in file.findall("joint")}
    whole.append(_fixed_joint(_free(f"{root}_mount", taken), at, root, pose))
    materials = {material.get("name") for material in whole.findall("material")}
    for element in part:
        if not (element.tag == "material" and element.get("name") in materials):
            whole.append(element)


def _root_of(robot):
    """Name of the link of a robot that is no other's child."""
    children = {child.get("link") for child in robot.iterfind("joint/child")}
    root = next((link.get("name") for link in robot.findall("link") if link.get("name") not in children), None)
    if root is None:
        wrong = "has no link; of a xacro file that only defines a macro take the one that calls it"
        raise ModelError(f"robot '{robot.get('name')}' {'has a loop of joints' if children else wrong}")
    return root


def _parsed(source, folders, placed, xacro_args):
    """Root element of a robot's file, whose meshes are named by their paths."""
    text, name, start = read_urdf(source, folders, xacro_args)
    try:
        root: Any = etree.fromstring(text, etree.XMLParser(resolve_entities=False, remove_comments=True))
    except etree.XMLSyntaxError as error:
        raise ModelError(f"{name}: not well-formed XML: {error}") from None
    if root.tag != "robot":
        raise ModelError(f"{name}: the root element is <{root.tag}>, a URDF has <robot>")
    name_meshes_by_paths(root, folders, start, placed)
    return root


def _names(whole, part, prefix):
    """{name in the gripper's file: its name in the whole} of those that change."""
    taken = {e.get("name") for tag in ("link", "joint") for e in whole.findall(tag)}
    own = {e.get("name") for tag in ("link", "joint") for e in part.findall(tag)}
    clashing = own & taken
    if prefix is None:
        usual = f"{part.get('name') or 'gripper'}_"
        prefix = _free(usual, taken, lambda p: any(p + name in taken for name in clashing))
        return {name: prefix + name for name in clashing}
    again = sorted(prefix + name for name in own if prefix + name in taken)
    if again:
        raise InputError(f"with the prefix '{prefix}' the name '{again[0]}' occurs twice; choose another prefix")
    return {name: prefix + name for name in own}


def _free(name, taken, clashes=None):
    """The name, or with a number the first that does not clash."""
    clashes = clashes or (lambda candidate: candidate in taken)
    found, number = name, 2
    while clashes(found):
        found, number = f"{name}{number}_", number + 1
    return found


def _fixed_joint(name, parent, child, pose):
    """The joint that holds the gripper."""
    joint = etree.Element("joint", name=name, type="fixed")
    etree.SubElement(joint, "parent", link=parent)
    etree.SubElement(joint, "child", link=child)
    etree.SubElement(joint, "origin", xyz=numbers(pose.origin()), rpy=numbers(roll_pitch_yaw(pose.rotation())))
    return joint
