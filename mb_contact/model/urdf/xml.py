# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""URDF elements to plain specifications: every link and joint checked on its own, with its line.

What the elements mean together (the tree) is :mod:`mb_contact.model.urdf.reader`'s business.
Elements of other programs (visual, material, transmission, ros2_control, drake ...) are passed over in silence, of
Gazebo's those that would change the motion are named.
"""

from dataclasses import dataclass, field

import numpy as np

from mb_contact.model.shapes.inertia import MASSLESS, RigidInertia, breaks_triangle_inequality
from mb_contact.model.urdf.gazebo import take_gazebo
from mb_contact.model.urdf.geometry import CollisionSpec, GeometryReader
from mb_contact.model.urdf.mimics import MimicSpec
from mb_contact.model.urdf.xml_reader import doubts_of

SCALAR = ("revolute", "continuous", "prismatic", "screw")
ENDLESS = ("continuous", "screw")  #: need no <limit>
WHOLE_TURN = 6.2  #: between limits that do not mean to stop a joint, as of -3.14 and 3.14 [rad]
#: more than one degree of freedom; spherical, universal and screw are not in the URDF standard
SEVERAL = ("planar", "spherical", "universal")
JOINT_TYPES = (*SCALAR, "fixed", "floating", *SEVERAL)
VERSIONS = ("1", "1.0", "1.1", "1.2")  #: all are read alike: what a later one adds is read in the earlier ones too
DEGREES = (30.0, 720.0)  #: limits of hinges that may be meant in degrees [rad]
TOL_DEFINITE = 1e-9  #: principal moments below this part of the largest count as zero: files round their numbers
GYRATION = 1e-9  #: [m] a moment below mass * GYRATION^2 counts as zero too: no body is that small


@dataclass
class LinkSpec:
    """One ``<link>``: inertia and collision shapes in the link frame."""

    name: str
    line: int
    inertia: RigidInertia
    collisions: list[CollisionSpec] = field(default_factory=list)
    weightless: bool = False


@dataclass
class JointSpec:
    """One ``<joint>``: ``R``, ``p`` place the joint frame, which is the child's, in the parent link's."""

    name: str
    line: int
    kind: str
    parent: str
    child: str
    R: np.ndarray
    p: np.ndarray
    axis: np.ndarray
    axis2: np.ndarray = field(default_factory=lambda: np.zeros(3))
    lower: float = -np.inf
    upper: float = np.inf
    effort: float = np.inf
    velocity: float = np.inf
    damping: float = 0.0
    friction: float = 0.0
    mimic: MimicSpec | None = None


class UrdfReader(GeometryReader):
    """Reads the links and joints of one file."""

    def __init__(self, source, meshes, package_dirs=(), start=None, inertia_errors="error", mimic="eliminate"):
        super().__init__(source, meshes, package_dirs, start)
        self.still = False  #: whether the file has the robot stand still
        self.inertia_errors = inertia_errors
        self.mimic = mimic

    def parse(self, text):
        """Return (robot name, links by name, joints by name) of a URDF given as bytes.

        Raises
        ------
        ModelError
            Broken XML, or an element that is wrong in itself.
        """
        robot = self.root(text)
        self.refuse_if(
            robot.tag != "robot", robot,
            f"the root element is <{robot.tag}>, expected <robot>; is this a URDF file?",
        )
        self.check_names(robot)
        version = robot.get("version")
        if version not in (None, *VERSIONS):
            known = ', '.join(VERSIONS)
            self.warn(robot, f"URDF version '{version}' is not known (known: {known}); read as the newest")
        self.warnings.extend(doubts_of(robot))
        links, joints = {}, {}
        for element in robot.findall("link"):
            self._add(links, element, self._link(element))
        self.tell_deviations()
        for element in robot.findall("joint"):
            self._add(joints, element, self._joint(element))
        left = next((tag for tag in (str(e.tag) for e in robot.iter()) if "xacro:" in tag or "/xacro}" in tag), None)
        if left is not None:
            what = left.rpartition("}")[2].removeprefix("xacro:")
            self.warn(robot, f"<xacro:{what}> and its like are passed over; let the file's name end in .xacro")
        remedy = "add at least one; of a xacro file that only defines a macro take the one that calls it"
        if "xacro" in robot.nsmap:
            remedy = "add at least one (this is a xacro file: let its name end in .xacro)"
        self.refuse_if(not links, robot, f"the robot has no <link>; {remedy}")
        self.apply_frictions(robot, links)
        self.still = take_gazebo(self, robot, links, joints)
        return robot.get("name", "robot"), links, joints

    def _add(self, specs, element, spec):
        if spec.name in specs:
            first = specs[spec.name].line
            message = f"{element.tag} '{spec.name}' is declared twice, first in line {first}; rename one"
            raise self.error(element, message)
        specs[spec.name] = spec

    # --- links --------------------------------------------------------------------------

    def _link(self, element):
        name = self.name(element)
        self.check_names(element)
        inertia = self._inertial(element.find("inertial"), name)
        return LinkSpec(name, element.sourceline, inertia, self.collisions(element, name))

    def _inertial(self, element, link):
        if element is None:
            return MASSLESS
        self.check_names(element)
        mass_element = element.find("mass")
        self.refuse_if(
            mass_element is None, element,
            f"link '{link}': <inertial> has no <mass>; add one or remove the <inertial>",
        )
        mass = self.number(mass_element, "value")
        self.refuse_if(mass < 0.0, mass_element, f"link '{link}': mass {mass:g} kg is negative")
        R, p = self.origin(element)
        tensor = element.find("inertia")
        if tensor is None:
            if mass > 0.0:
                self.warn(element, f"link '{link}' has no <inertia>; taken as a point mass of {mass:g} kg")
            return RigidInertia(mass, p, np.zeros((3, 3)))
        inertia = self._inertia(tensor, mass, link)
        return RigidInertia(mass, p, R @ inertia @ R.T) if mass > 0.0 or inertia.any() else MASSLESS

    def _inertia(self, element, mass, link):
        xx, yy, zz = (self.number(element, key) for key in ("ixx", "iyy", "izz"))
        xy, xz, yz = (self.number(element, key, 0.0) for key in ("ixy", "ixz", "iyz"))
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if not inertia.any():
            if mass > 0.0:
                self.warn(element, f"link '{link}' has a zero inertia; taken as a point mass of {mass:g} kg")
            return inertia
        self._check_inertia(element, inertia, mass, f"link '{link}'")
        if mass == 0.0:
            self.warn(element, f"link '{link}' has an inertia but no mass; used as given")
        return inertia

    def _check_inertia(self, element, inertia, mass, name):
        """Refuse an indefinite inertia, unless asked to take it as given; warn of what no body has."""
        low, _, high = moments = np.linalg.eigvalsh(inertia)
        values = f"moments {', '.join(f'{moment:.6g}' for moment in moments)} kg m^2"
        rounding = max(TOL_DEFINITE * max(abs(low), abs(high)), mass * GYRATION ** 2)
        if low < -rounding:
            message = f"{name}: the inertia is indefinite, {values}"
            remedy = "correct <inertia>, or load with inertia_errors='warn' to use it as given"
            self.refuse_if(self.inertia_errors == "error", element, f"{message}; {remedy}")
            self.lenient["inertia_errors"] = "warn"
            self.warn(element, f"{message}; used as given: the mass matrix need not be positive definite")
        elif low <= rounding:
            self.warn(element, f"{name}: the inertia is singular, {values}, as if the body had no width; used as given")
        elif breaks_triangle_inequality(inertia):
            message = f"{name}: no body has the principal {values}"
            self.warn(element, message + " (the largest exceeds the sum of the others); used as given")

    # --- joints -------------------------------------------------------------------------

    def _joint(self, element):
        name, kind = self.name(element), element.get("type")
        self.check_names(element)
        said = f"type '{kind}' is not known" if kind else "has no type"
        self.refuse_if(
            kind not in JOINT_TYPES, element,
            f"joint '{name}'{': ' if kind else ' '}{said}; allowed: {', '.join(JOINT_TYPES)}",
        )
        R, p = self.origin(element)
        ends = (self._reference(element, name, "parent"), self._reference(element, name, "child"))
        joint = JointSpec(name, element.sourceline, kind, *ends, R, p, np.zeros(3))
        if kind in SCALAR:
            joint.axis = self._axis(element, name)
            if kind == "screw":
                joint.axis2 = self._lead(element, name) * joint.axis
            self._limit(element, joint)
            self._dynamics(element.find("dynamics"), joint)
        elif kind in SEVERAL:
            self._several(element, joint)
        if kind != "fixed" and element.find("mimic") is not None:
            joint.mimic = self._mimic(element.find("mimic"), name)
        return joint

    def _several(self, element, joint):
        """A joint with several degrees of freedom: passive unless ``<limit>`` gives an effort, which holds for each."""
        if joint.kind != "spherical":
            joint.axis = self._axis(element, joint.name)
        if joint.kind == "planar":
            joint.axis2 = first_in_plane(joint.axis)
        elif joint.kind == "universal":
            self.refuse_if(
                element.find("axis2") is None, element,
                f"joint '{joint.name}': a universal joint needs an <axis2> beside its <axis>; add it",
            )
            joint.axis2 = self._axis(element, joint.name, "axis2")
            self.refuse_if(
                np.linalg.norm(np.cross(joint.axis, joint.axis2)) < 1e-6, element.find("axis2"),
                f"joint '{joint.name}': <axis2> is parallel to <axis>; a universal joint needs two directions",
            )
        joint.effort = 0.0
        limit = element.find("limit")
        if limit is not None:
            for side in ("lower", "upper"):
                if limit.get(side) is not None:
                    message = f"joint '{joint.name}': limit '{side}' of a {joint.kind} joint is not applied"
                    self.warn(limit, message)
            for key in ("effort", "velocity"):
                if limit.get(key) is not None:
                    self._capacity(limit, joint, key)
        self._dynamics(element.find("dynamics"), joint)

    def _mimic(self, element, joint):
        self.refuse_if(
            self.mimic == "error", element,
            f"joint '{joint}' mimics another; load with mimic='eliminate' to let it follow that joint, "
            "or with mimic='independent' to let it move on its own",
        )
        if self.mimic == "eliminate":
            self.refuse_if(
                not element.get("joint"), element,
                f"joint '{joint}': <mimic> names no joint; add joint=\"...\"",
            )
            ratio, offset = self.number(element, "multiplier", 1.0), self.number(element, "offset", 0.0)
            return MimicSpec(element.get("joint"), ratio, offset, element.sourceline)
        followed = element.get("joint", "nothing")
        self.warn(element, f"joint '{joint}': its <mimic> of '{followed}' is left out: it moves on its own")

    def _reference(self, element, joint, role):
        reference = element.find(role)
        self.refuse_if(
            reference is None or not reference.get("link"), element,
            f"joint '{joint}' has no <{role} link=\"...\"/>; add it",
        )
        return reference.get("link")

    def _axis(self, element, joint, tag="axis"):
        axis_element = element.find(tag)
        if axis_element is None:
            return np.array([1.0, 0.0, 0.0])  # the specification's default
        axis = self.vector(axis_element, "xyz", 3)
        length = np.linalg.norm(axis)
        self.refuse_if(
            length < 1e-9, axis_element,
            f"joint '{joint}': the axis is zero; give a direction such as xyz=\"0 0 1\"",
        )
        return axis / length

    def _lead(self, element, joint):
        """Displacement of a screw per radian [m], of a right-handed thread positive."""
        thread = element.find("thread")
        self.refuse_if(
            thread is None, element,
            f"joint '{joint}': a screw needs a <thread pitch=\"...\"/>, its displacement in a turn [m]; add it",
        )
        self.refuse_if(
            thread.get("flank_friction") is not None, thread,
            f"joint '{joint}': no row of a joint bears its thread's load, by which friction of flanks grows; close the "
            "links by a loop closure of kind screw, or give friction as a torque in <dynamics>",
        )
        pitch = self.number(thread, "pitch")
        self.refuse_if(
            pitch == 0.0, thread,
            f"joint '{joint}': a thread of pitch 0 goes nowhere; give its displacement in a turn [m], or make the "
            "joint continuous",
        )
        return pitch / (2.0 * np.pi)

    def _limit(self, element, joint):
        limit = element.find("limit")
        remedy = " or make it continuous" if joint.kind == "revolute" else ""
        message = f"joint '{joint.name}': a {joint.kind} joint needs a <limit>; add one{remedy}"
        self.refuse_if(limit is None and joint.kind not in ENDLESS, element, message)
        if limit is None:
            return
        bounded = joint.kind != "screw" or not {"lower", "upper"}.isdisjoint(limit.keys())
        if joint.kind != "continuous" and bounded:
            for side in ("lower", "upper"):
                if limit.get(side) is None:
                    self.warn(limit, f"joint '{joint.name}': limit '{side}' is missing and defaults to 0")
            joint.lower, joint.upper = (self.number(limit, side, 0.0, finite=False) for side in ("lower", "upper"))
            self.refuse_if(
                joint.lower > joint.upper, limit,
                f"joint '{joint.name}': lower limit {joint.lower:g} is above upper {joint.upper:g}",
            )
            largest = max(abs(joint.lower), abs(joint.upper))
            if joint.kind == "revolute" and DEGREES[0] <= largest <= DEGREES[1]:
                meant = f"{largest:g} degrees are {np.radians(largest):.4g} rad"
                self.warn(limit, f"joint '{joint.name}': limits of {largest:g} rad are many turns; {meant}")
        elif joint.kind == "continuous":
            lower, upper = (self.number(limit, side, 0.0, finite=False) for side in ("lower", "upper"))
            if 0.0 < upper - lower < WHOLE_TURN:
                remedy = "type=\"revolute\" has limits"
                self.warn(limit, f"joint '{joint.name}': limits of a continuous joint are not applied; {remedy}")
        for key in ("effort", "velocity"):
            self._capacity(limit, joint, key)

    def _capacity(self, limit, joint, key):
        if limit.get(key) is None:
            self.warn(limit, f"joint '{joint.name}': limit '{key}' is missing; no limit is applied")
            return
        value = self.number(limit, key, finite=False)
        self.refuse_if(value < 0.0, limit, f"joint '{joint.name}': limit '{key}' is negative ({value:g})")
        if value == 0.0 and key == "effort":
            self.warn(limit, f"joint '{joint.name}': effort limit 0, so the joint cannot be driven")
        setattr(joint, key, value)

    def _dynamics(self, element, joint):
        if element is None:
            return
        for key in ("damping", "friction"):
            value = self.number(element, key, 0.0)
            self.refuse_if(value < 0.0, element, f"joint '{joint.name}': {key} {value:g} is negative")
            setattr(joint, key, value)
        if joint.friction > 0.0 and joint.kind not in SCALAR:
            self.warn(element, f"joint '{joint.name}': friction of a {joint.kind} joint is not applied")
            joint.friction = 0.0


def first_in_plane(normal):
    """First direction (3,) in a plane: x turned as the shortest turn takes z to the normal; the second is n x first."""
    x, y, z = normal
    square = x * x + y * y
    if square == 0.0:  # no turn, or half a turn about x
        return np.array([1.0, 0.0, 0.0])
    scale = (1.0 - z) / square if z < 0.0 else 1.0 / (1.0 + z)  # 1 / (1 + z), without cancellation
    return np.array([1.0 - scale * x * x, -scale * x * y, -x])
