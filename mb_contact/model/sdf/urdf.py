# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A model of an SDF file as the text of a URDF: one robot, whose trees are loose where nothing holds them together."""

from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

import numpy as np

from mb_contact.checks import Floats
from mb_contact.model.mjcf.elements import number, numbers, origin
from mb_contact.model.scene.couplings import Closure
from mb_contact.model.scene.robots import JointProperties
from mb_contact.model.sdf.elements import WORLD, Frames, scene_pose, scoped, with_z, within
from mb_contact.model.sdf.models import SdfModel, unused
from mb_contact.model.sdf.shapes import STILL_SHAPES, add_collision, add_visual, shape_of
from mb_contact.model.urdf.xml_reader import WRITTEN

KINDS = {"revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "fixed": "fixed",
         "ball": "spherical", "universal": "", "revolute2": "", "screw": "screw"}  # fmt: skip
TWO_AXES = ("universal", "revolute2")
ENDLESS = 1e15  #: a limit beyond it is none
#: Kinds of loop closures that hold what a joint holds.
CLOSURES = {"revolute": "axis", "continuous": "axis", "ball": "point", "fixed": "weld"}
ENTRIES = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}


@dataclass
class Robot:
    """What a model becomes."""

    name: str
    urdf: str = ""
    base: str = "weld"
    pose: tuple[Floats, Floats] = (np.eye(3), np.zeros(3))  #: of the root link in the world
    properties: dict[str, JointProperties] = field(default_factory=dict)  #: springs of joints
    #: Places of joints with the rotations of their children, in the links at whose origin their wrenches are measured.
    measured: dict[str, tuple[Floats, Floats, Floats]] = field(default_factory=dict)
    closures: list[Closure] = field(default_factory=list)  #: joints that close loops
    still: list[tuple[str, Any]] = field(default_factory=list)  #: (link, collision) of planes and height fields


class RobotBuilder:
    """Makes the Robot of an SdfModel.

    Parameters
    ----------
    model : SdfModel
    frames : Frames
    names : dict
        Names of links, frames and joints in the scene, by scoped names.
    taken : set of str
        Names that the scene has already; those that are made here come to it.
    """

    def __init__(self, model: SdfModel, frames: Frames, names: dict[str, str], taken: set[str]) -> None:
        self.model, self.frames, self.names, self.taken = model, frames, names, taken
        self.robot = Robot(model.name)
        self.root = ElementTree.Element("robot", name=model.name)
        two = [name for name, part in model.joints.items() if part.element.get("type") in TWO_AXES]
        self.second = {name: unused(f"{names[name]}_2", self.taken) for name in two}  #: joints of second axes

    def build(self) -> Robot:
        """The Robot."""
        model, robot = self.model, self.robot
        edges = self._edges()
        starts = [WORLD] if any(WORLD in ends for _, *ends in edges) else []
        first = model.canonical.get(model.name, next(iter(model.links)))
        trees = self._trees([*starts, first, *model.links], edges)
        if len(trees) == 1 and not starts:
            robot.base, robot.pose = ("weld" if model.static else "free"), self.frames.pose(first)
        else:
            robot.pose = self.frames.pose(model.name)
            self.base = unused(model.name, self.taken, "_base")
            ElementTree.SubElement(self.root, "link", name=self.base)
        for start, tree in trees:
            if robot.base == "weld" and start != WORLD and (len(trees) > 1 or starts):
                self._mount(start)
            if start != WORLD:
                self._link(start)
            for joint, parent, child, turned in tree:
                self._joint(joint, parent, child, turned)
                self._link(child)
        for name, part in model.frames.items():
            self._frame(name, part)
        ElementTree.indent(self.root)
        robot.urdf = str(ElementTree.tostring(self.root, encoding="unicode"))
        return robot

    # --- the tree -----------------------------------------------------------------------

    def _edges(self):
        """(joint, parent, child) of all joints; of a static model of none."""
        if self.model.static:
            return []
        found = []
        for name, part in self.model.joints.items():
            reader, joint = part.reader, part.element
            kind = joint.get("type")
            reader.refuse_if(
                kind not in KINDS, joint,
                f"joint '{joint.get('name')}': type '{kind}' is not read; allowed: {', '.join(KINDS)}",
            )
            ends = [self.model.link_of(part, reader.text(joint, tag)) for tag in ("parent", "child")]
            reader.refuse_if(ends[0] == ends[1], joint, f"joint '{joint.get('name')}' joins a link to itself")
            found.append((name, *ends))
        return found

    def _trees(self, starts, edges):
        """[(first link, [(joint, parent, child, whether turned round)])]; joints that are left over close loops."""
        reached, used, trees = set(), set(), []
        for start in starts:
            if start in reached:
                continue
            reached.add(start)
            tree, queue = [], [start]
            while queue:
                link = queue.pop(0)
                for joint, parent, child in edges:
                    if joint in used or link not in (parent, child):
                        continue
                    other = child if link == parent else parent
                    if other in reached:
                        continue
                    used.add(joint)
                    reached.add(other)
                    tree.append((joint, link, other, link == child))
                    queue.append(other)
            trees.append((start, tree))
        self.robot.closures = [self._closure(*edge) for edge in edges if edge[0] not in used]
        return trees

    def _closure(self, name, parent, child):
        """The loop closure of a joint whose links hang together without it."""
        part = self.model.joints[name]
        joint, kind = part.element, part.element.get("type")
        part.reader.take(joint, "parent", "child", "pose", "axis")
        for axis in joint.findall("axis"):
            part.reader.take(axis, "xyz", "use_parent_model_frame")  # it has no limits, no damping, no spring
        part.reader.refuse_if(
            kind not in CLOSURES, joint,
            f"joint '{joint.get('name')}' closes a loop; of type {kind} that is not read, {', '.join(CLOSURES)} are",
        )
        R, p = self.frames.pose(name)
        if CLOSURES[kind] == "axis":
            R = with_z(R @ self._axis(part, name))
        ends = [] if WORLD not in (parent, child) else [WORLD]
        poses = {link: scene_pose(within(self.frames.pose(link), (R, p))) for link in {parent, child} - set(ends)}
        poses |= {link: scene_pose((R, p)) for link in ends}
        a, b = (self.names.get(link, link) for link in (parent, child))
        return Closure(CLOSURES[kind], a, b, poses[parent], poses[child], name=self.names[name])

    def _mount(self, link):
        """A loose link is the root of a tree of its own; one of a static model is fixed."""
        kind = "fixed" if self.model.static else "floating"
        called = unused(f"{self.names[link]}_{kind}", self.taken)
        joint = ElementTree.SubElement(self.root, "joint", name=called, type=kind)
        self._ends(joint, self.base, self.names[link], within(self.robot.pose, self.frames.pose(link)))

    def _ends(self, joint, parent, child, pose):
        origin(joint, *pose)
        ElementTree.SubElement(joint, "parent", link=parent)
        ElementTree.SubElement(joint, "child", link=child)

    # --- links --------------------------------------------------------------------------

    def _link(self, name):
        part = self.model.links[name]
        reader, element = part.reader, part.element
        reader.take(element, "pose", "inertial", "collision", "visual", "sensor", "gravity")
        written = {WRITTEN: reader.place(element)}
        link = ElementTree.SubElement(self.root, "link", {"name": self.names[name], **written})
        if not self.model.static:
            self._inertial(part, name, link)
        if not reader.flag(element, "gravity", True):
            gazebo = ElementTree.SubElement(self.root, "gazebo", reference=self.names[name])
            ElementTree.SubElement(gazebo, "gravity").text = "0"
        for collision in element.findall("collision"):
            if self.model.static and shape_of(reader, collision).tag in STILL_SHAPES:
                self.robot.still.append((name, collision))
            else:
                add_collision(reader, collision, self.frames.within_link(part, collision, name), link)
        for visual in element.findall("visual"):
            add_visual(reader, visual, self.frames.within_link(part, visual, name), link)

    def _inertial(self, part, name, link):
        """``<inertial>``, by default that of SDF: 1 kg and 1 kg m^2."""
        reader, inertial = part.reader, part.element.find("inertial")
        mass, I, pose = 1.0, np.eye(3), (np.eye(3), np.zeros(3))
        if inertial is not None:
            reader.take(inertial, "pose", "mass", "inertia", *(["density"] if inertial.get("auto") else []))
            reader.refuse_if(
                inertial.get("auto") in ("true", "1"), inertial,
                "inertias are not computed of shapes; `gz sdf --expand-auto-inertials -p FILE` writes them",
            )
            mass, pose = reader.number(inertial, "mass", 1.0), self.frames.within_link(part, inertial, name)
            inertia = inertial.find("inertia")
            if inertia is not None:
                for key, (i, j) in ENTRIES.items():
                    I[i, j] = I[j, i] = reader.number(inertia, key, float(i == j))
        written = {} if inertial is None else {WRITTEN: reader.place(inertial)}
        element = ElementTree.SubElement(link, "inertial", written)
        origin(element, *pose)
        ElementTree.SubElement(element, "mass", value=number(mass))
        ElementTree.SubElement(element, "inertia", {key: number(I[at]) for key, at in ENTRIES.items()})

    def _frame(self, name, part):
        """A frame is a link without mass at the one that it is attached to."""
        on = self.model.link_of(part, part.element.get("name"))
        child = self.names[name]
        ElementTree.SubElement(self.root, "link", name=child)
        joint = ElementTree.SubElement(self.root, "joint", name=unused(f"{child}_fixed", self.taken), type="fixed")
        self._ends(joint, self.names[on], child, within(self.frames.pose(on), self.frames.pose(name)))

    # --- joints -------------------------------------------------------------------------

    def _joint(self, name, parent, child, turned):
        """A joint of the tree; where its frame is not the child's, a link without mass stands in it."""
        part = self.model.joints[name]
        joint, kind = part.element, part.element.get("type")
        part.reader.take(joint, "parent", "child", "pose", "axis", "axis2", "sensor", "screw_thread_pitch")
        at = self.frames.pose(name)
        start = within(self.robot.pose if parent == WORLD else self.frames.pose(parent), at)
        link, offset = (self.base if parent == WORLD else self.names[parent]), within(at, self.frames.pose(child))
        axes = ["axis", "axis2"] if name in self.second else ["axis"]
        moving = [] if kind == "fixed" else axes
        away = not (np.allclose(offset[0], np.eye(3), atol=1e-12) and np.allclose(offset[1], 0.0, atol=1e-12))
        ends = [unused(f"{self.names[name]}_{i}", self.taken) for i in range(1, len(axes))]
        ends += [unused(f"{self.names[name]}_frame", self.taken) if moving and away else self.names[child]]
        if not (turned or name in self.second):
            self.robot.measured[name] = *within(self.frames.pose(child), at), np.eye(3)
            if moving and away:
                self.robot.measured[name] = np.eye(3), np.zeros(3), offset[0]
        if not moving:
            start = within(self.robot.pose if parent == WORLD else self.frames.pose(parent), self.frames.pose(child))
        for tag, end in zip(axes[::-1] if turned else axes, ends):
            called = self.second[name] if tag == "axis2" else self.names[name]
            what = called, KINDS[kind] or "revolute", tag if moving else ""
            self._hinge(part, name, what, (link, end), start, turned)
            if end != self.names[child]:
                ElementTree.SubElement(self.root, "link", name=end)
            link, start = end, (np.eye(3), np.zeros(3))
        if ends[-1] != self.names[child]:
            called = unused(f"{ends[-1]}_fixed", self.taken)
            fixed = ElementTree.SubElement(self.root, "joint", name=called, type="fixed")
            self._ends(fixed, ends[-1], self.names[child], offset)

    def _hinge(self, part, name, what, ends, pose, turned):
        """One joint of a URDF; ``what`` is its name, its type and the element of its axis.

        Where the child carries the parent, ``turned``, the same position is one about the opposite axis.
        """
        called, kind, tag = what
        reader, axis = part.reader, part.element.find(tag) if tag else None
        bounds = _bounds(reader, axis) if kind in ("revolute", "prismatic") else {}
        kind = "continuous" if kind == "revolute" and set(bounds.values()) == {"inf", "-inf"} else kind
        written = reader.place(part.element if axis is None else axis)
        joint = ElementTree.SubElement(self.root, "joint", {"name": called, "type": kind, WRITTEN: written})
        self._ends(joint, *ends, pose)
        if kind in ("fixed", "spherical"):
            if axis is not None:
                reader.take(axis, "xyz", "use_parent_model_frame")
            return
        reader.refuse_if(axis is None, part.element, f"joint '{part.element.get('name')}' has no <{tag}>; add it")
        direction = self._axis(part, name, tag)
        ElementTree.SubElement(joint, "axis", xyz=numbers(-direction if turned else direction))
        if kind == "screw":
            pitch = reader.number(part.element, "screw_thread_pitch")
            ElementTree.SubElement(joint, "thread", pitch=number(pitch))
        self._limit(reader, axis, joint, called, bounds)

    def _limit(self, reader, axis, joint, called, bounds):
        """Limits, damping, friction, spring and mimicry of a joint."""
        reader.take(axis, "xyz", "use_parent_model_frame", "limit", "dynamics", "mimic")
        limit, dynamics, mimic = (axis.find(tag) for tag in ("limit", "dynamics", "mimic"))
        for key in ("effort", "velocity"):
            value = -1.0 if limit is None else reader.number(limit, key, -1.0, finite=False)
            bounds[key] = number(value if value >= 0.0 else np.inf)
        ElementTree.SubElement(joint, "limit", bounds)
        if limit is not None:
            reader.take(limit, *set(bounds), "effort", "velocity")
        if dynamics is not None:
            reader.take(dynamics, "damping", "friction", "spring_stiffness", "spring_reference")
            given = {key: number(reader.number(dynamics, key, 0.0)) for key in ("damping", "friction")}
            ElementTree.SubElement(joint, "dynamics", given)
            stiffness = reader.number(dynamics, "spring_stiffness", 0.0)
            if stiffness > 0.0:
                rest = reader.number(dynamics, "spring_reference", 0.0)
                self.robot.properties[called] = JointProperties(stiffness=stiffness, rest_position=rest)
        if mimic is not None:
            reader.refuse_if(not mimic.get("joint"), mimic, "<mimic> names no joint; add joint=\"...\"")
            ratio = reader.number(mimic, "multiplier", 1.0)
            offset = reader.number(mimic, "offset", 0.0) - ratio * reader.number(mimic, "reference", 0.0)
            scope = next(part.scope for part in self.model.joints.values() if part.element is axis.getparent())
            leader = scoped(scope, mimic.get("joint"))
            reader.refuse_if(leader not in self.model.joints, mimic, f"<mimic>: there is no joint '{leader}'")
            second = self.second.get(leader) if mimic.get("axis") == "axis2" else self.names[leader]
            reader.refuse_if(second is None, mimic, f"<mimic>: joint '{leader}' has no axis2")
            reader.refuse_if(
                second in {closure.name for closure in self.robot.closures}, mimic,
                f"<mimic>: joint '{leader}' closes a loop, and has no position; follow another joint",
            )
            follows = {"joint": second, "multiplier": number(ratio), "offset": number(offset)}
            ElementTree.SubElement(joint, "mimic", follows)

    def _axis(self, part, name, tag="axis"):
        """Direction (3,) of a joint's axis in the joint's frame."""
        reader, axis = part.reader, part.element.find(tag)
        reader.refuse_if(axis is None, part.element, f"joint '{part.element.get('name')}' has no <{tag}>; add it")
        direction = reader.numbers(axis, "xyz", 3, np.array([0.0, 0.0, 1.0]))
        found, frame = axis.find("xyz"), ""
        if found is not None:
            frame = found.get("expressed_in") or ""
        if not frame and (reader.old_axes or reader.flag(axis, "use_parent_model_frame")):
            frame = "__model__"
        if not frame:
            return direction
        R, other = self.frames.pose(name)[0], self.frames.pose(scoped(part.scope, frame), reader, axis)[0]
        return R.T @ other @ direction


def _bounds(reader, axis):
    """Limits of a hinge or slider as attributes of a URDF."""
    limit = None if axis is None else axis.find("limit")
    low, high = -np.inf, np.inf
    if limit is not None:
        low, high = (reader.number(limit, *side, finite=False) for side in (("lower", low), ("upper", high)))
    ends = {"lower": low, "upper": high}
    return {side: number(end if abs(end) < ENDLESS else np.copysign(np.inf, end)) for side, end in ends.items()}
