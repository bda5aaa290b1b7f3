# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes of smooth bodies in contact: the YAML file and what it may say; every error names file, line and key."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import yaml

from mb_contact.errors import SceneError
from mb_contact.model.scene import DEFAULT_RATES, Pose, Scene, Velocity
from mb_contact.model.scene_rules import check_scene
from mb_contact.model.scene_yaml import RATES, SCENE_READERS, pose
from mb_contact.model.yaml_reader import choice, described, many, named, number, open_scene, record, text, vector
from mb_contact.surfaces.bodies import GRAVITY

KEY = "surface_contact"  #: the key that makes a scene one of this kind: one body on one base
TREE_KEY = "surface_contacts"  #: contacts in a tree
ORDINARY = ("models", "primitives", "ground")  #: keys of objects whose contacts are impulses
APART = (
    f"ordinary objects stand beside {TREE_KEY} only: write this contact as the one entry of {TREE_KEY}, its base under "
    "'on', with the base's pose in that of its surface"
)
#: What a scene of both kinds may choose, and why nothing else.
BOTH = {
    "integrator": ("semi_implicit_euler",), "collision_scheme": ("time_stepping",),
    "solver": ("auto",), "friction_model": ("coulomb_cone", "coulomb_polyhedral"), "coordinates": ("joints",),
    "loops": ("auto", "multipliers"), "drift_control": ("baumgarte",),
}  # fmt: skip


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
    material: str | None = None


@dataclass(frozen=True)
class ModelPart:
    """The robot that carries the contacts, welded to the world."""

    urdf: str
    joints: dict = field(default_factory=dict)
    velocities: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Support:
    """What a body touches: a surface on a link, on the body of an earlier contact, or in the world."""

    surface: Shape
    link: str | None = None
    material: str | None = None


@dataclass(frozen=True)
class ContactPart:
    """One contact."""

    on: Support
    body: BodyPart
    friction: float = 0.0
    restitution: float = 0.0

    def base_name(self):
        """Link of the shape of a surface that stands in the world, among ordinary objects."""
        return f"{self.body.name}_base"


@dataclass(frozen=True)
class SurfaceScene:
    """A scene of contacts in a tree, or of one body on a ``base``, which is a tree of one contact."""

    contacts: tuple
    model: ModelPart | None = None
    base: BasePart | None = None
    ordinary: Scene | None = None  #: the objects beside them and how these touch, without the robot that carries them
    time_step: float = 0.001
    gravity: tuple = GRAVITY
    rates: dict = field(default_factory=lambda: dict(DEFAULT_RATES))
    path: Path | None = None
    lines: dict = field(default_factory=dict, repr=False, compare=False)

    def key(self, i):
        """Where contact i stands in the file."""
        return f"{TREE_KEY}[{i}]" if self.base is None else KEY

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
    "material": text,
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
ALONE = (*SETTINGS, "model", KEY, TREE_KEY)  #: keys of a scene without ordinary objects
_laws = {"friction": friction, "restitution": number(low=0.0, high=1.0)}
READERS = {
    KEY: {**SETTINGS, KEY: record(dict, {"base": _base, "body": body_part, **_laws}, required=("base", "body"))},
    TREE_KEY: {
        **{name: read for name, read in SCENE_READERS.items() if name not in ("preset", "sleep")},
        **SETTINGS,
        "model": record(ModelPart, {"urdf": text, "joints": named(number()), "velocities": named(number())}, ("urdf",)),
        TREE_KEY: many(record(ContactPart, {
            "on": record(Support, {"surface": shape, "link": text, "material": text}, ("surface",)), "body": body_part,
            **_laws,
        }, ("on", "body"))),
    },
}  # fmt: skip


def _kind(root):
    """The key that says which kind of scene a file is, or None."""
    keys = {name.value for name, _ in root.value} if isinstance(root, yaml.MappingNode) else ()
    return TREE_KEY if TREE_KEY in keys else KEY if KEY in keys else None


def is_surface_scene(path):
    """Whether a scene file has a key that makes it one of smooth surfaces."""
    return _kind(open_scene(path, SCENE_READERS)[1]) is not None


def load_surface_scene(path):
    """Read a scene of smooth bodies of either kind.

    Raises
    ------
    SceneError
        As ``load_scene``.
    """
    reader, root = open_scene(path, SCENE_READERS)
    kind = _kind(root) or KEY
    present = {name.value: node for name, node in root.value} if isinstance(root, yaml.MappingNode) else {}
    objects = [name for name in ORDINARY if name in present]
    if objects and kind == KEY:
        raise reader.error(present[objects[0]], objects[0], APART)
    readers = READERS[kind]
    if not objects:  # what is said of objects has nothing to be said of
        readers = {name: read for name, read in readers.items() if name in ALONE}
    values = reader.mapping(root, "", readers, (kind,))
    contacts, place = values.pop(kind), {"path": reader.path, "lines": reader.lines}
    if kind == KEY:
        values["base"] = base = contacts.pop("base")
        contacts = [ContactPart(Support(base.surface, base.name), **contacts)]
    elif objects:
        own = {name: values[name] for name in ALONE if name in values}
        shared = {name: value for name, value in values.items() if name != "model"}
        values = {**own, "ordinary": ordinary_part(Scene(**shared, **place))}
    return SurfaceScene(tuple(contacts), **values, **place)


def ordinary_part(scene):
    """The Scene of the objects beside surface contacts, checked.

    Raises
    ------
    SceneError
        It is impossible, or asks for what steps of both kinds cannot do.
    """
    check_scene(scene)
    for name, allowed in BOTH.items():
        message = f"beside {TREE_KEY} it must be {' or '.join(allowed)}, got '{getattr(scene, name)}'"
        scene.refuse_if(getattr(scene, name) not in allowed, name, message)
    return scene
