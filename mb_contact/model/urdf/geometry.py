# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Collision shapes, friction tags and misspelled names of a URDF, each on its own, with its line."""

import re
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from mb_contact.checks import as_number
from mb_contact.model.pairs import doubt
from mb_contact.model.resources import find_resource
from mb_contact.model.scene import ABSURD_FRICTION
from mb_contact.model.scene.bodies import kernel_size
from mb_contact.model.shapes.deviations import told
from mb_contact.model.shapes.hulls import MOST_VERTICES, Hull
from mb_contact.model.shapes.meshes import convex_bodies
from mb_contact.model.shapes.triangle_meshes import kind_of
from mb_contact.model.urdf.xml_reader import ElementReader
from mb_contact.types import (
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CONE,
    SHAPE_CYLINDER,
    SHAPE_ELLIPSOID,
    SHAPE_SPHERE,
)

#: Of these the cone (tip at +z) and the ellipsoid (``size``: its diameters) are not in the URDF standard.
KINDS = {"box": SHAPE_BOX, "sphere": SHAPE_SPHERE, "cylinder": SHAPE_CYLINDER, "capsule": SHAPE_CAPSULE,
         "cone": SHAPE_CONE, "ellipsoid": SHAPE_ELLIPSOID}  # fmt: skip
FEW_HULLS = 2  #: hulls of one file of which each is told of
NOTABLE_LOSS = 1e-3  #: what a hull may lose without a warning [m]

#: What an element of a URDF may hold; other programs' elements pass, unless they look like one of these misspelled.
CHILDREN = {
    "robot": ("link", "joint", "material", "transmission", "gazebo", "sensor", "ros2_control"),
    "link": ("inertial", "visual", "collision", "collision_checking", "contact"),
    "joint": ("origin", "parent", "child", "axis", "axis2", "thread", "limit", "dynamics", "mimic", "calibration",
              "safety_controller"),
    "inertial": ("origin", "mass", "inertia"),
    "collision": ("origin", "geometry"),
}
#: Of these an element holds one at most.
SINGLE = ("inertial", "origin", "mass", "inertia", "geometry", "parent", "child", "axis", "axis2", "thread", "limit",
          "dynamics", "mimic")
ATTRIBUTES = {
    "origin": ("xyz", "rpy", "quat_xyzw"),
    "mass": ("value",),
    "inertia": ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
    "axis": ("xyz",),
    "axis2": ("xyz",),
    "thread": ("pitch",),
    "limit": ("lower", "upper", "effort", "velocity", "acceleration", "deceleration", "jerk"),
    "dynamics": ("damping", "friction"),
    "mimic": ("joint", "multiplier", "offset"),
    "parent": ("link",),
    "child": ("link",),
    "box": ("size",),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
    "cone": ("radius", "length"),
    "ellipsoid": ("size",),
    "mesh": ("filename", "scale"),
}
#: Other programs add attributes of their own to these: only what looks misspelled is reported.
EXTENDED = ("limit", "dynamics", "mesh", "mimic")


@dataclass
class CollisionSpec:
    """One ``<collision>``: a shape in the link frame."""

    name: str | None
    kind: int
    size: np.ndarray
    R: np.ndarray
    p: np.ndarray
    friction: float | None = None
    hull: Hull | None = None


class GeometryReader(ElementReader):
    """Reads what a link says about its surface.

    Parameters
    ----------
    source : str
        Name of the file in messages.
    meshes : MeshChoices
    package_dirs, start
        Where mesh files are looked for, see :func:`~mb_contact.model.resources.find_resource`.
    """

    def __init__(self, source, meshes, package_dirs=(), start=None):
        super().__init__(source)
        self.lenient = {}  # options without which the file would have been refused
        self.meshes, self.package_dirs, self.start = meshes, package_dirs, start
        self._far = []  # (deviation [m], element, link, sentence) of hulls that are not near their mesh

    def collisions(self, element, link):
        """All CollisionSpec of a ``<link>``."""
        shapes = []
        for collision in element.findall("collision"):
            shapes += self._collision(collision, link)
        self._capsules(element, link, shapes)
        return shapes

    def _capsules(self, element, link, shapes):
        """Cylinders named in ``<collision_checking><capsule name="..."/>`` are capsules of that axis length.

        Readers older than URDF 1.1 refuse ``<capsule>``; this convention of Pinocchio and HPP
        keeps such a file readable for all of them.
        """
        for capsule in element.iterfind("collision_checking/capsule"):
            named = [shape for shape in shapes if shape.name == capsule.get("name")]
            self.refuse_if(
                not named or named[0].kind != SHAPE_CYLINDER, capsule,
                f"link '{link}' has no cylinder '{capsule.get('name')}' to make a capsule; "
                "correct the name under <collision_checking>",
            )
            named[0].kind = SHAPE_CAPSULE

    # --- shapes -------------------------------------------------------------------------

    def _collision(self, element, link):
        geometry = element.find("geometry")
        shapes = [] if geometry is None else [child for child in geometry if isinstance(child.tag, str)]
        self.refuse_if(len(shapes) != 1, element, f"link '{link}': <collision> needs one shape in its <geometry>")
        shape = shapes[0]
        self.check_names(element)
        friction = self._drake_friction(element, link)
        R, p = self.origin(element)
        name = element.get("name")
        if shape.tag == "sphere" and self.number(shape, "radius") == 0.0:
            self.warn(shape, f"link '{link}': a sphere of radius zero has no surface; left out, nothing will touch it")
            return []
        if shape.tag != "mesh":
            kind, size = self._shape(shape, link)
            return [CollisionSpec(name, kind, size, R, p, friction)]
        hulls = self._mesh(shape, link)
        return [
            CollisionSpec(name and (name if i == 0 else f"{name}_{i}"), kind_of(hull), hull.half, R,
                          p + R @ hull.centre, friction, hull)
            for i, hull in enumerate(hulls)
        ]

    def _mesh(self, shape, link):
        """Convex bodies of a mesh; none where the user leaves it out."""
        file, choice = shape.get("filename"), self.meshes.of(link)
        self.refuse_if(not file, shape, f"link '{link}': <mesh> has no attribute 'filename'; add it")
        name = f"link '{link}': collision mesh '{file}'"
        scale = self.vector(shape, "scale", 3, np.ones(3))
        self.refuse_if(
            not scale.all(), shape,
            f"{name}: the scale {shape.get('scale')} makes it flat; no factor may be zero",
        )
        if choice == "skip":
            return self._leave_out(shape, f"{name} skipped; nothing will touch it")
        self.refuse_if(
            choice == "error", shape,
            f"{name}: collision_meshes is 'error'; use convex_hull, convex_pieces or skip",
        )
        try:
            path = find_resource(file, self.package_dirs, self.start)
            method = "convex_hull" if choice == "warn" else choice
            hulls = convex_bodies(path, scale, method, tolerance=self.meshes.tolerance)
        except (FileNotFoundError, ValueError) as error:
            if choice == "warn":
                return self._leave_out(shape, f"{name}: {error}; left out, nothing will touch it")
            remedy = "mend it, or load with collision_meshes='skip'"
            raise self.error(shape, f"{name}: {error}; {remedy}") from None
        if any(hull.flat for hull in hulls):
            self.warn(shape, f"{name} is flat; it is given a thickness")
        if (deviates := told(hulls, self.meshes.tolerance if choice == "convex_pieces" else None)) is not None:
            self._far.append((hulls[0].gap, shape, link, f"{name}: {deviates}"))
        loss = max(hull.loss for hull in hulls)
        if loss > NOTABLE_LOSS:
            self.warn(shape, f"{name}: up to {1000.0 * loss:.1f} mm are cut off by a hull of {MOST_VERTICES} vertices")
        return hulls

    def tell_deviations(self):
        """Warn of hulls that are not near their meshes: of many in one sentence, about the worst."""
        told = self._far
        if len(told) > FEW_HULLS:
            (_, shape, _, sentence), *others = sorted(told, key=lambda entry: -entry[0])
            less = ", ".join(f"'{link}' {1000.0 * gap:.1f} mm" for gap, _, link, _ in others)
            told = [(0.0, shape, "", f"{sentence}; by less those of {less}")]
        for _, shape, _, sentence in told:
            self.warn(shape, sentence)

    def _leave_out(self, shape, message):
        self.lenient["collision_meshes"] = "skip"
        self.warn(shape, message)
        return []

    def _shape(self, shape, link):
        kind = KINDS.get(shape.tag)
        message = f"link '{link}': <{shape.tag}> is not a collision shape; allowed: {', '.join((*KINDS, 'mesh'))}"
        self.refuse_if(kind is None, shape, message)
        keys = ATTRIBUTES[shape.tag]
        lengths = self.vector(shape, "size", 3) if keys == ("size",) else [self.number(shape, key) for key in keys]
        return kind, kernel_size(kind, self._lengths(shape, lengths, link))

    def _lengths(self, element, numbers, link):
        numbers = np.asarray(numbers)
        self.refuse_if(
            not (numbers > 0.0).all(), element,
            f"link '{link}': <{element.tag}> has a length that is not greater than zero",
        )
        return numbers

    # --- friction -----------------------------------------------------------------------

    def apply_frictions(self, robot, links):
        """Give each shape the friction of its link, unless it has Drake's: Gazebo's, otherwise Bullet's tag.

        Parameters
        ----------
        robot : element
        links : dict of str to LinkSpec
        """
        frictions = {}
        for bullet in robot.iterfind("link/contact/lateral_friction"):
            link = bullet.getparent().getparent().get("name")
            frictions[link] = self._friction(bullet, bullet.get("value"), f"link '{link}': <lateral_friction>")
        for gazebo in robot.findall("gazebo"):
            mu = gazebo.find("mu1")
            link = gazebo.get("reference")
            if mu is not None and link not in links:
                self.warn(gazebo, f"<gazebo> gives the friction of '{link}', which is no link; passed over")
            elif mu is not None:
                frictions[link] = self._gazebo_friction(gazebo, mu, link)
        for link, friction in frictions.items():
            for shape in links[link].collisions:
                shape.friction = friction if shape.friction is None else shape.friction

    def _gazebo_friction(self, gazebo, mu, link):
        friction = self._friction(mu, mu.get("value") or mu.text, f"link '{link}': <mu1>")
        second = gazebo.find("mu2")
        if second is not None:
            other = self._friction(second, second.get("value") or second.text, f"link '{link}': <mu2>")
            if other != friction:
                both = f"anisotropic_friction: {{along: {friction:g}, across: {other:g}}}"
                message = "<mu2> differs from <mu1>, which is used in all directions; a material of the scene with"
                self.warn(second, f"link '{link}': {message} {both} has both")
        return friction

    def _drake_friction(self, element, link):
        """``<drake:proximity_properties><drake:mu_dynamic value="..."/>`` of a ``<collision>``, or None."""
        for tag in element.iter():
            if isinstance(tag.tag, str) and re.split("[:}]", tag.tag)[-1] == "mu_dynamic":
                return self._friction(tag, tag.get("value"), f"link '{link}': <drake:mu_dynamic>")
        return None

    def _friction(self, element, text, name):
        try:
            value = as_number(text or "")
        except ValueError:
            raise self.error(element, f"{name} must be a number, got '{text}'") from None
        self.refuse_if(
            not 0.0 <= value < np.inf, element,
            f"{name} is {value:g}; a friction coefficient is at least 0 and finite",
        )
        if value > ABSURD_FRICTION:
            self.warn(element, f"{name} of {value:g} {doubt(value)}")
        return value

    # --- spelling -----------------------------------------------------------------------

    def check_names(self, element):
        """Warn of children and attributes that look like misspelled ones, and of a second element where one counts.

        Looks at the element's children, their attributes, and the shape inside a ``<geometry>``.
        """
        known, seen = CHILDREN[element.tag], set()
        for child in element:
            if not isinstance(child.tag, str) or child.tag.startswith("{"):
                continue
            if child.tag in seen and child.tag in SINGLE:
                self.warn(child, f"a second <{child.tag}> in <{element.tag}>; only the first counts")
            seen.add(child.tag)
            close = [] if child.tag in known else get_close_matches(child.tag, known, n=1, cutoff=0.8)
            if close:
                message = f"<{child.tag}> in <{element.tag}> is not known and passed over; did you mean <{close[0]}>?"
                self.warn(child, message)
            for part in child if child.tag == "geometry" else (child,):
                self._check_attributes(part)

    def _check_attributes(self, element):
        known = ATTRIBUTES.get(element.tag)
        for key in element.keys() if known else ():
            foreign = element.tag in EXTENDED and not get_close_matches(key, known, n=1)
            if key not in known and not key.startswith("{") and not foreign:
                allowed = ", ".join(known)
                self.warn(element, f"<{element.tag}> has no attribute '{key}'; passed over; it may have {allowed}")
