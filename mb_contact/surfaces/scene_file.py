# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes of two smooth bodies in contact: YAML to SurfaceMotion; every error names file, line and key."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import yaml

from mb_contact.errors import DynamicsError, InputError, SceneError
from mb_contact.model.resources import exists
from mb_contact.model.scene import DEFAULT_RATES, Pose, Velocity
from mb_contact.model.scene_yaml import (
    RATES,
    choice,
    described,
    number,
    open_scene,
    pose,
    record,
    text,
    vector,
)
from mb_contact.surfaces import surface as shapes
from mb_contact.surfaces.bodies import GRAVITY, SurfaceBase, SurfaceBody
from mb_contact.surfaces.mass import shell
from mb_contact.surfaces.motion import SurfaceMotion
from mb_contact.surfaces.nets import load_net

KEY = "surface_contact"  #: the key that makes a scene one of this kind: one body on one base
TREE_KEY = "surface_contacts"  #: contacts in a tree (tree_scene.py)


@dataclass(frozen=True)
class Shape:
    """A surface as a scene gives it; exactly one of its lines."""

    net: str | None = None
    sphere: float | None = None
    ellipsoid: tuple | None = None
    cylinder: float | None = None
    torus: tuple | None = None
    plane: str | None = None
    side: str = "outer"
    pose: Pose = field(default_factory=Pose)


@dataclass(frozen=True)
class BasePart:
    """What stands, or moves as told."""

    name: str
    surface: Shape
    pose: Pose = field(default_factory=Pose)
    velocity: Velocity = field(default_factory=Velocity)


@dataclass(frozen=True)
class BodyPart:
    """What moves; lowered along gravity until it touches, unless it starts in free flight."""

    name: str
    surface: Shape
    mass: float
    inertia: tuple | None = None
    com: tuple = (0.0, 0.0, 0.0)
    pose: Pose = field(default_factory=Pose)
    velocity: Velocity = field(default_factory=Velocity)
    start: str = "sliding"


@dataclass(frozen=True)
class SurfaceScene:
    """A scene of one body on one base."""

    base: BasePart
    body: BodyPart
    friction: float = 0.0
    restitution: float = 0.0
    time_step: float = 0.001
    gravity: tuple = GRAVITY
    rates: dict = field(default_factory=lambda: dict(DEFAULT_RATES))
    path: Path | None = None
    lines: dict = field(default_factory=dict, repr=False, compare=False)

    def error(self, key, message):
        """A SceneError at the line of ``key``."""
        return SceneError(f"{self.path}:{self.lines.get(key, 1)}: {key}: {message}")


shape = record(Shape, {
    "net": text,
    "sphere": number(above=0.0),
    "ellipsoid": vector(3),
    "cylinder": number(above=0.0),
    "torus": vector(2),
    "plane": choice("xy"),
    "side": choice("outer", "inner"),
    "pose": pose,
})  # fmt: skip
_velocity = record(Velocity, {"angular": vector(3), "linear": vector(3)})
_base = record(
    BasePart, {"name": text, "surface": shape, "pose": pose, "velocity": _velocity}, required=("name", "surface")
)
body_part = record(BodyPart, {
    "name": text,
    "surface": shape,
    "mass": number(above=0.0),
    "inertia": vector(3),
    "com": vector(3),
    "pose": pose,
    "velocity": _velocity,
    "start": choice("sliding", "rolling", "free"),
}, required=("name", "surface", "mass"))  # fmt: skip


def friction(reader, node, key):
    """A coefficient, or .inf for a body that never slips."""
    if isinstance(node, yaml.ScalarNode) and node.value.lower() in (".inf", "inf"):
        return np.inf
    return number(low=0.0)(reader, node, key)


described(friction, oneOf=[number(low=0.0), {"enum": [".inf", "inf"]}])

SETTINGS = {
    "time_step": number(above=0.0, high=0.1),
    "gravity": vector(3),
    "rates": record(lambda **rates: {**DEFAULT_RATES, **rates}, dict.fromkeys(RATES, number(above=0.0))),
}
READERS = {
    **SETTINGS,
    KEY: record(dict, {
        "base": _base, "body": body_part, "friction": friction, "restitution": number(low=0.0, high=1.0),
    }, required=("base", "body")),
}  # fmt: skip


def is_surface_scene(path):
    """Whether a scene file has a key that makes it one of smooth surfaces."""
    _, root = open_scene(path)
    return _has(root, KEY) or _has(root, TREE_KEY)


def is_tree_scene(path):
    """Whether a scene file is one of contacts in a tree."""
    return _has(open_scene(path)[1], TREE_KEY)


def _has(root, key):
    return isinstance(root, yaml.MappingNode) and any(name.value == key for name, _ in root.value)


def load_surface_scene(path):
    """Read a scene of two smooth bodies.

    Raises
    ------
    SceneError
        As ``load_scene``.
    """
    reader, root = open_scene(path)
    values = reader.mapping(root, "", READERS, (KEY,))
    return SurfaceScene(**values.pop(KEY), **values, path=reader.path, lines=reader.lines)


def build_motion(scene):
    """The SurfaceMotion of a scene, at its start.

    Raises
    ------
    SceneError
        A surface with none or several of its kinds, a shell without mass properties, a body that does not touch.
    """
    base, body = scene.base, scene.body
    place = f"{KEY}.body"
    solid = body_of(scene, body, place)
    below = SurfaceBase(
        surface_of(scene, base.surface, f"{KEY}.base.surface", base.name),
        base.pose.rotation(), base.pose.origin(), np.array(base.velocity.linear), np.array(base.velocity.angular),
    )  # fmt: skip
    try:
        motion = SurfaceMotion(solid, below, scene.friction, scene.restitution, scene.gravity)
        start(motion, scene)
    except (InputError, DynamicsError) as error:
        raise scene.error(place, str(error)) from None
    return motion


def body_of(scene, body, place):
    """The SurfaceBody of a part of the scene."""
    surface = surface_of(scene, body.surface, f"{place}.surface", body.name)
    if body.inertia is not None:
        return SurfaceBody(surface, body.mass, np.diag(body.inertia), np.array(body.com))
    try:
        return shell(surface, body.mass)
    except InputError as error:
        raise scene.error(place, f"the key 'inertia' is missing: {error}") from None


def start(motion, scene):
    """Bring a motion to the start of its scene."""
    body = scene.body
    R, p = body.pose.rotation(), body.pose.origin()
    w, v = np.array(body.velocity.angular), np.array(body.velocity.linear)
    motion.contact.set_charts((0, 0))
    if body.start == "free":
        motion.fly(R, p, w, v)
        return
    E, o = motion.base_pose(0.0)
    q, _ = motion.contact.first_touch(E.T @ R, E.T @ (p - o), E.T @ np.array(scene.gravity))
    axes = E @ motion.contact.surfaces[0].frame(q[:2], motion.contact.charts[0])
    spin = np.array(scene.base.velocity.angular)
    if body.start == "rolling":
        motion.roll(q, axes.T @ (w - spin))
        return
    point = E @ motion.contact.points(q)[0]  # from the origin of the base to the contact
    _, origin = motion.contact.pose(q)
    slip = v + np.cross(w, point - E @ (origin - motion.contact.pose(q)[0] @ motion.body.com))
    slip -= np.array(scene.base.velocity.linear) + np.cross(spin, point)
    motion.slide(q, motion.contact.rates(q) @ (*(axes.T @ (w - spin)), *(axes.T @ slip)[:2]))


def surface_of(scene, shape, key, name):
    """The Surface of a part of the scene, placed in its body."""
    kinds = ("net", "sphere", "ellipsoid", "cylinder", "torus", "plane")
    given = [kind for kind in kinds if getattr(shape, kind) is not None]
    if len(given) != 1:
        raise scene.error(key, f"needs exactly one of {', '.join(kinds)}; it has {', '.join(given) or 'none'}")
    value = getattr(shape, given[0])
    try:
        if given[0] == "net":
            surface = load_net(_near(scene, value), name)
        elif given[0] == "torus":
            surface = shapes.torus(*value, name=name)
        elif given[0] == "plane":
            surface = shapes.plane(name)
        else:
            surface = getattr(shapes, given[0])(value, name=name)
    except InputError as error:
        raise scene.error(key, str(error)) from None
    except SceneError as error:
        raise scene.error(f"{key}.net", str(error)) from None
    if shape.side == "inner":
        surface = surface.flipped()
    return surface.placed(shape.pose.rotation(), shape.pose.origin())


def _near(scene, name):
    """A file beside the scene, or what ``find_resource`` finds."""
    beside = None if scene.path is None else Path(scene.path).parent / name
    return beside if beside is not None and exists(beside) else name


def describe_motion_scene(path):
    """Lines about a scene of one body on a base: both, and where they touch; raises as ``build_motion``."""
    scene = load_surface_scene(path)
    motion = build_motion(scene)
    com, moments = motion.body.com, np.diag(motion.body.inertia)
    lines = [
        f"scene      {scene.path}",
        f"base       {scene.base.name}: {motion.base.surface!r}",
        f"body       {scene.body.name}: {motion.body.surface!r}, {scene.body.mass:g} kg",
        f"           centre of mass ({com[0]:.6g}, {com[1]:.6g}, {com[2]:.6g}) m, moments "
        f"({moments[0]:.6g}, {moments[1]:.6g}, {moments[2]:.6g}) kg m^2",
        f"friction   {scene.friction:g}, restitution {scene.restitution:g}",
        f"starts     {motion.mode_name}",
    ]
    force = motion.contact_force()
    if force is not None:
        lines.append(f"touches    at ({', '.join(f'{x:.6g}' for x in force.point)}) m with {force.normal_force:.6g} N")
    return lines
