# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Elements of an SDF file as texts, numbers and poses, the frames that poses are relative to, and what is not taken."""

from pathlib import Path

import numpy as np

from mb_contact.checks import Floats, as_number
from mb_contact.errors import ModelError
from mb_contact.model.resources import find_resource
from mb_contact.model.rotations import matrix_to_quat, quat_to_matrix, rpy_to_matrix
from mb_contact.model.scene.bodies import Pose
from mb_contact.model.urdf.xml_reader import ElementReader

WORLD = "world"  #: the frame that all others stand in
MODEL = "__model__"  #: what a model's own frame is called within it
SEVERAL_LINES = 5  #: lines that a warning names
#: What switches nothing where it has this value, which programs that write SDF spell out.
DEFAULTS = {"kinematic": False, "enable_wind": False, "self_collide": False,
            "allow_auto_disable": True, "must_be_base_link": False}  # fmt: skip
FLAGS = {"true": True, "1": True, "false": False, "0": False}
#: Why some elements are not taken, and what is here in their place.
INSTEAD = {
    "plugin": "actuators and sensors of a scene do its work, and topics of the node",
    "contact": "contact is rigid",
    "light": "pictures have a light of their own",
    "noise": "a sensor of a scene has noise: [first, second]",
    "material": "a mesh that has colours in its file is seen in these",
    "max_step_size": "the longest step of a scene is 0.1 s",
    "script": "its colour is not known; <diffuse> gives one",
}


class SdfReader(ElementReader):
    """Reads elements of one file; ``left`` collects what is not taken, of all files of a scene.

    Parameters
    ----------
    path : Path
    packages : sequence of path
        Where ``model://`` and ``package://`` addresses are looked for.
    left : dict, optional
        {(file, element, element that it is in): elements}
    text : str, optional
        What stands in the file; without it that is read.
    named : callable, optional
        Path of what the file names by an address; beside the file or in the packages if left out.
    """

    def __init__(self, path, packages=(), left=None, text=None, named=None):
        super().__init__(str(path))
        self.path, self.packages = Path(path), tuple(packages)
        self.left, self.named = {} if left is None else left, named
        try:
            self.sdf = self.root(self.path.read_bytes() if text is None else text.strip().encode())
        except OSError as error:
            raise ModelError(f"{path}: cannot be read: {error.strerror}") from None
        self.refuse_if(self.sdf.tag != "sdf", self.sdf, f"the root element is <{self.sdf.tag}>, an SDF has <sdf>")
        version = self.sdf.get("version", "1.6")
        self.refuse_if(not version.startswith("1."), self.sdf, f"SDF version '{version}' is not read; 1.x are")
        self.old_axes = version in ("1.0", "1.2", "1.3", "1.4")  # joint axes stand in the model's frame

    def take(self, element, *tags):
        """Keep what else the element holds for the warnings."""
        for child in element:
            if not isinstance(child.tag, str) or child.tag in tags:
                continue
            plain = DEFAULTS.get(child.tag)
            if plain is None or self.flag(element, child.tag, plain) != plain:
                self.leave(child)

    def leave(self, element):
        """Keep an element that is not taken for the warnings."""
        parent = element.getparent()
        kept = self.left.setdefault((self.source, element.tag, "sdf" if parent is None else parent.tag), [])
        if not any(element is other for other in kept):
            kept.append(element)

    # --- values -------------------------------------------------------------------------

    def text(self, element, tag, default=None):
        """Text of a child; without ``default`` it must be there."""
        found = element.find(tag)
        text = "" if found is None else (found.text or "").strip()
        self.refuse_if(not text and default is None, element, f"<{element.tag}> has no <{tag}>; add it")
        return text or default

    def numbers(self, element, tag, size, default=None, finite=True):
        """Numbers of a child (size,); without ``default`` it must be there."""
        if default is not None and element.find(tag) is None:
            return default
        text, found = self.text(element, tag, ""), element.find(tag)
        self.refuse_if(found is None, element, f"<{element.tag}> has no <{tag}>; add it")
        return self.as_numbers(found, text, size, finite)

    def as_numbers(self, element, text, size, finite=True):
        """Numbers (size,) of a text of an element."""
        try:
            values = np.array([as_number(word) for word in text.split()])
        except ValueError:
            values = np.zeros(0)
        wrong = len(values) != size or np.isnan(values).any() or (finite and not np.isfinite(values).all())
        what = "a number" if size == 1 else f"{size} numbers"
        self.refuse_if(wrong, element, f"<{element.tag}> must be {what}, got '{text}'")
        return values

    def number(self, element, tag, default=None, finite=True):  # of a child: SDF has hardly an attribute
        """Number of a child; without ``default`` it must be there."""
        found = self.numbers(element, tag, 1, None if default is None else np.array([default]), finite)
        return float(found[0])

    def flag(self, element, tag, default=False):
        """Whether a child is true."""
        found = element.find(tag)
        if found is None:
            return default
        text = (found.text or "").strip().lower()
        self.refuse_if(text not in FLAGS, found, f"<{tag}> must be {', '.join(FLAGS)}, got '{text}'")
        return FLAGS[text]

    def pose(self, element):
        """(frame that it is relative to or '', R (3, 3), p (3,)) of an element's ``<pose>``."""
        pose = element.find("pose")
        if pose is None:
            return "", np.eye(3), np.zeros(3)
        relative = pose.get("relative_to") or pose.get("frame") or ""
        text, form = (pose.text or "").strip(), pose.get("rotation_format", "euler_rpy")
        if not text:
            return relative, np.eye(3), np.zeros(3)
        if form == "quat_xyzw":
            values = self.as_numbers(pose, text, 7)
            norm = np.linalg.norm(values[3:])
            self.refuse_if(norm < 1e-9, pose, "<pose> has a quaternion of length zero")
            return relative, quat_to_matrix(values[3:] / norm), values[:3]
        values = self.as_numbers(pose, text, 6)
        turn = np.deg2rad(values[3:]) if pose.get("degrees") in ("true", "1") else values[3:]
        return relative, rpy_to_matrix(turn), values[:3]

    def find(self, uri):
        """Path of a file or folder that the file names; FileNotFoundError where there is none."""
        return Path(self.named(uri)) if self.named else find_resource(uri, self.packages, self.path.parent)


def warnings_of(left):
    """A sentence for each kind of element that is not taken."""
    found = []
    for (source, tag, parent), elements in left.items():
        first, *others = elements
        name = first.get("name") or first.get("filename") or first.get("type")
        lines = [str(element.sourceline) for element in others]
        called = f" '{name}'" if name else ""
        more = ", ..." if len(lines) > SEVERAL_LINES else ""
        also = f", nor in line {', '.join(lines[:SEVERAL_LINES])}{more}" if lines else ""
        why = f"; {INSTEAD[tag]}" if tag in INSTEAD else ""
        found.append(f"{source}:{first.sourceline}: <{tag}>{called} in <{parent}> is not taken{also}{why}")
    return tuple(found)


class Frames:
    """Places of links, joints, models and frames by their scoped names, each relative to another one."""

    def __init__(self):
        self._entries = {}  # name: (reader, element, name of the frame that it is relative to, R, p)
        self._found = {WORLD: (np.eye(3), np.zeros(3))}  # poses in the world

    def add(self, name, reader, element, relative, R, p):
        """Add a frame that is at (R, p) in the frame ``relative``."""
        reader.refuse_if(name == WORLD, element, f"'{WORLD}' is the frame that does not move; choose another name")
        reader.refuse_if(not name, element, f"'{MODEL}' is what every model calls its own frame; choose another name")
        if name in self._entries:
            first = self._entries[name][1].sourceline
            raise reader.error(element, f"'{name}' is declared twice, first in line {first}; rename one")
        self._entries[name] = reader, element, relative, R, p

    def pose(self, name, reader=None, element=None):
        """(R, p) of a frame in the world; ModelError where there is none, or where it is relative to itself.

        reader, element : where a file names the frame.
        """
        chain = {}  # a loop, as a file may have thousands of frames that stand one in the other
        while name not in self._found:
            if name not in self._entries:
                raise reader.error(element, f"<{element.tag}>: there is no frame '{name}'")
            reader, element, relative, *pose = self._entries[name]
            reader.refuse_if(
                name in chain, element, f"the pose of '{name}' is relative to itself, by {' -> '.join((*chain, name))}"
            )
            chain[name] = pose
            name = relative
        R_other, p_other = self._found[name]
        for asked in reversed(chain):
            R, p = chain[asked]
            self._found[asked] = R_other, p_other = R_other @ R, p_other + R_other @ p
        return R_other, p_other

    def within_link(self, part, element, link):
        """(R, p) of the ``<pose>`` of an element of a part, in the frame of the link or joint ``link``."""
        relative, R, p = part.reader.pose(element)
        if not relative:
            return R, p
        R_other, p_other = within(self.pose(link), self.pose(scoped(part.scope, relative), part.reader, element))
        return R_other @ R, p_other + R_other @ p


def scoped(scope, name):
    """A name as seen from the world, of something within a model of the scoped name ``scope``, '' for the world."""
    if name == WORLD:
        return WORLD
    if name == MODEL:
        return scope
    return f"{scope}::{name}" if scope else name


def within(base, pose):
    """The pose (R, p) as seen from the pose ``base``; both stand in the same frame."""
    R, p = base
    return R.T @ pose[0], R.T @ (pose[1] - p)


def scene_pose(pose: tuple[Floats, Floats]) -> Pose:
    """A pose (R, p) as a scene has it."""
    R, p = pose
    return Pose(tuple(p.tolist()), quat_xyzw=tuple(matrix_to_quat(R).tolist()))


def with_z(direction: Floats) -> Floats:
    """Rotation whose z axis has a direction."""
    z = direction / np.linalg.norm(direction)
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    return np.column_stack((x, np.cross(z, x), z))
