# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies and joints of a compiled MJCF to URDFs: one robot for each child of the world."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from mb_contact.checks import Floats
from mb_contact.model.mjcf.compiled import BALL, HINGE, SLIDE, Compiled, file_name, rotation
from mb_contact.model.mjcf.elements import number, numbers, origin, pose_of
from mb_contact.model.mjcf.shapes import Shapes
from mb_contact.model.rotations import rotation_about

Element = ElementTree.Element


class Robot:
    """A child of the world with all below it: the text of its URDF, and how it stands in the scene."""

    def __init__(self, compiled: Compiled, shapes: Shapes, top: int) -> None:
        self.c, self.m, self.shapes = compiled, compiled.m, shapes
        self.top, self.name = top, compiled.links[top]
        self.links: list[str] = []
        self.file = f"{file_name(self.name)}.urdf"
        self.free = compiled.is_free(top)
        self.joints: list[int] = []  #: of one degree of freedom
        self.root = Element("robot", name=self.name)
        if not self.free and len(compiled.joints_of(top)):
            mount = self._link(compiled.names.unique(f"{self.name}_mount"))
            self._body(top, mount, np.eye(3), np.zeros(3))
        else:
            self._body(top, None, np.eye(3), np.zeros(3))
        R, p = rotation(self.m.body_quat[top]), self.m.body_pos[top]
        self.pose = pose_of(p, self.m.body_quat[top])
        for body in range(top + 1, self.m.nbody):
            if self.m.body_rootid[body] == top:
                parent = int(self.m.body_parentid[body])
                R, p = rotation(self.m.body_quat[body]), self.m.body_pos[body] - compiled.anchor[parent]
                self._body(body, compiled.links[parent], R, p)

    def write(self, folder: Path) -> None:
        """Write the URDF into a folder."""
        ElementTree.indent(self.root)
        text = ElementTree.tostring(self.root, encoding="unicode")
        (folder / self.file).write_text(f'<?xml version="1.0"?>\n{text}\n', encoding="utf-8")

    def _link(self, name: str) -> str:
        self._element(name)
        return name

    def _element(self, name: str) -> Element:
        self.links.append(name)
        return ElementTree.SubElement(self.root, "link", name=name)

    def _body(self, body: int, parent: str | None, R: Floats, p: Floats) -> None:
        """A body's joints, links without mass between them, and its link; (R, p) place it in its parent's link."""
        link, at, joints = self.c.links[body], np.zeros(3), self.c.joints_of(body)
        for j in joints if parent is not None else ():
            last = j == joints[-1]
            child = link if last else self.c.names.unique(f"{link}_{self.c.joints[j]}")
            if not last:
                self._link(child)
            anchor = self.m.jnt_pos[j] if self.m.jnt_type[j] in (BALL, HINGE) else at
            self._joint(j, parent or "", child, R, p + R @ (anchor - at))
            parent, at, R, p = child, anchor, np.eye(3), np.zeros(3)
        if parent is not None and not len(joints):
            self._fixed(link, parent, R, p)
        element = self._element(link)
        self._inertial(element, body)
        self.shapes.draw(element, body)
        for name in self.shapes.parts_of(body):
            if name == link:
                self.shapes.collide(element, name)
                continue
            self.shapes.collide(self._element(name), name)
            self._fixed(name, link, np.eye(3), np.zeros(3))
        for s in np.flatnonzero(self.m.site_bodyid == body).tolist():
            if self.c.name("site", s):
                name = self.c.site_links[s] = self._link(self.c.names.unique(self.c.name("site", s)))
                place = self.m.site_pos[s] - self.c.anchor[body]
                self._fixed(name, link, rotation(self.m.site_quat[s]), place)

    def _fixed(self, child: str, parent: str, R: Floats, p: Floats) -> None:
        joint = ElementTree.SubElement(self.root, "joint", name=f"{child}_fixed", type="fixed")
        _ends(joint, parent, child, R, p)

    def _joint(self, j: int, parent: str, child: str, R: Floats, p: Floats) -> None:
        """One joint; where MuJoCo's reference is not zero, the frame is set back by it, so that q is MuJoCo's qpos."""
        m, kind = self.m, self.m.jnt_type[j]
        axis, reference = m.jnt_axis[j], float(m.qpos0[m.jnt_qposadr[j]])
        limited = bool(m.jnt_limited[j]) and not self.c.flags & {"LIMIT", "CONSTRAINT"}
        types = {HINGE: "revolute" if limited else "continuous", SLIDE: "prismatic", BALL: "spherical"}
        element = ElementTree.SubElement(self.root, "joint", name=self.c.joints[j], type=types[kind])
        if kind == HINGE and reference:
            R = R @ rotation_about(axis, -reference)
        elif kind == SLIDE:
            p = p - R @ axis * reference
        _ends(element, parent, child, R, p)
        damping = number(0.0 if "DAMPER" in self.c.flags else m.dof_damping[m.jnt_dofadr[j]])
        if kind == BALL:
            ElementTree.SubElement(element, "dynamics", damping=damping)
            return
        self.joints.append(j)
        ElementTree.SubElement(element, "axis", xyz=numbers(axis))
        if limited or kind == SLIDE:
            low, high = self.c.limits("jnt", j) if limited else (-np.inf, np.inf)
            ElementTree.SubElement(
                element, "limit", lower=number(low), upper=number(high), effort="inf", velocity="inf"
            )
        friction = number(0.0 if self.c.flags & {"FRICTIONLOSS", "CONSTRAINT"} else m.dof_frictionloss[m.jnt_dofadr[j]])
        ElementTree.SubElement(element, "dynamics", damping=damping, friction=friction)

    def _inertial(self, link: Element, body: int) -> None:
        m, mass = self.m, self.m.body_mass[body]
        moments = m.body_inertia[body]
        if mass == 0.0 and not moments.any():
            return
        R = rotation(m.body_iquat[body])
        I = R @ np.diag(moments) @ R.T
        I = np.diag(moments) if np.array_equal(R, np.eye(3)) else 0.5 * (I + I.T)
        element = ElementTree.SubElement(link, "inertial")
        place = m.body_ipos[body] - self.c.anchor[body]
        ElementTree.SubElement(element, "origin", xyz=numbers(place))
        ElementTree.SubElement(element, "mass", value=number(mass))
        entries = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
        ElementTree.SubElement(element, "inertia", {key: number(I[at]) for key, at in entries.items()})


def write_robots(compiled: Compiled, shapes: Shapes, folder: Path) -> list[Robot]:
    """Write a URDF for each child of the world."""
    m = compiled.m
    robots = [Robot(compiled, shapes, b) for b in range(1, m.nbody) if m.body_parentid[b] == 0]
    for robot in robots:
        robot.write(folder)
    return robots


def _ends(joint: Element, parent: str, child: str, R: Floats, p: Floats) -> None:
    origin(joint, R, p)
    ElementTree.SubElement(joint, "parent", link=parent)
    ElementTree.SubElement(joint, "child", link=child)
