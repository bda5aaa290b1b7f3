# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes of smooth bodies in contact: the YAML file and what it may say; every error names file, line and key."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import yaml

from mb_contact.errors import SceneError
from mb_contact.keys.declaration import key
from mb_contact.keys.kinds import kinds
from mb_contact.model.scene import DEFAULT_RATES, Pose, Scene, Velocity, check_scene
from mb_contact.model.scene.reader import SCENE_KEYS, open_scene
from mb_contact.surfaces.bodies import GRAVITY

TREE_KEY = "surface_contacts"  #: the key that makes a scene one of this kind
ORDINARY = ("models", "primitives", "ground")  #: keys of objects whose contacts are impulses
APART = "it takes the place of a model, and ordinary objects know none: leave '{}' out, or let the world be the base"
#: What a scene of both kinds may choose, and why nothing else.
BOTH = {
    "integrator": ("semi_implicit_euler",), "collision_scheme": ("time_stepping",),
    "solver": ("auto",), "friction_model": ("coulomb_cone", "coulomb_polyhedral"), "coordinates": ("joints",),
    "loops": ("auto", "multipliers"), "drift_control": ("baumgarte",),
}  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """A surface as a scene gives it; exactly one of its lines."""

    ONE_OF: ClassVar = (("net", "subdivision", "sphere", "ellipsoid", "cylinder", "torus", "plane"),)

    net: str | None = key("Bezier patches of a file.", None, example="package://mb_contact/config/nets/bowl.yaml")
    subdivision: str | None = key(
        "OBJ file of the cage of a Catmull-Clark surface.", None, example="package://mb_contact/config/nets/pebble.obj"
    )
    sphere: float | None = key("Radius of a sphere.", None, unit="m", above=0.0, example="0.1")
    ellipsoid: tuple[float, float, float] | None = key(
        "Half axes of an ellipsoid.", None, unit="m", example="[0.3, 0.2, 0.1]"
    )
    cylinder: float | None = key("Radius of an endless cylinder.", None, unit="m", above=0.0, example="0.1")
    torus: tuple[float, float] | None = key("Radii of a torus.", None, unit="m", example="[0.3, 0.1]")
    plane: str | None = key("Plane of two axes.", None, choices=("xy",), example="xy")
    side: str = key("Side on which the other body is.", "outer", choices=("outer", "inner"))
    pose: Pose = key("Where it stands on its body.", factory=Pose)


@dataclass(frozen=True)
class BasePart:
    """What stands, or moves as told, whatever it carries."""

    name: str = key("Name, the link of contacts on it.", example="bowl")
    pose: Pose = key("Where it stands.", factory=Pose)
    velocity: Velocity = key("How it moves.", factory=Velocity)


@dataclass(frozen=True)
class BodyPart:
    """What moves; lowered along gravity until it touches, unless it starts in free flight."""

    name: str = key("Name.", example="ball")
    surface: Shape = key("Its surface.", example="{sphere: 0.1}")
    mass: float = key("Mass.", unit="kg", above=0.0, example="2.0")
    inertia: tuple[float, float, float] | None = key(
        "Principal moments; by default those of a thin shell, of a bounded surface.", None, unit="kg m^2",
        example="[0.008, 0.008, 0.008]",
    )
    com: tuple[float, float, float] = key("Centre of mass.", (0.0, 0.0, 0.0), unit="m", example="[0, 0, 0.01]")
    pose: Pose = key("Where it starts.", factory=Pose)
    velocity: Velocity = key("How it starts to move.", factory=Velocity)
    start: str = key("How it starts.", "sliding", choices=("sliding", "rolling", "free"))
    material: str | None = key("Material among ordinary objects.", None, example="rubber")


@dataclass(frozen=True)
class ModelPart:
    """The robot that carries the contacts, welded to the world."""

    urdf: str = key("URDF or xacro file.", example="package://mb_contact/urdf/plate_arm.urdf")
    joints: dict[str, float] = key(
        "Initial positions of joints.", factory=dict, unit="rad, m", example="{wrist: 0.1}"
    )
    velocities: dict[str, float] = key(
        "Initial velocities of joints.", factory=dict, unit="rad/s, m/s", example="{shoulder: 1.0}"
    )


@dataclass(frozen=True)
class Support:
    """What a body touches: a surface on a link, on the body of an earlier contact, or in the world."""

    surface: Shape = key("Its surface.", example="{sphere: 0.1}")
    link: str | None = key("Link or body that has it; by default the world.", None, example="plate")
    material: str | None = key("Material among ordinary objects.", None, example="rubber")


@dataclass(frozen=True)
class ContactPart:
    """One contact."""

    on: Support = key("What the body touches.")
    body: BodyPart = key("What touches it.")
    friction: float = key("Coefficient of friction.", 0.0, low=0.0, infinite=True, example="0.4")
    restitution: float = key("Part of an impact's impulse that is recovered.", 0.0, low=0.0, high=1.0, example="0.5")

    def base_name(self):
        """Link of the shape of a surface that stands in the world, among ordinary objects."""
        return f"{self.body.name}_base"


@dataclass(frozen=True)
class SurfaceScene:
    """A scene of contacts in a tree, on the world, a robot or a base."""

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
        return f"{TREE_KEY}[{i}]"

    def error(self, key, message):
        """A SceneError at the line of ``key``."""
        return SceneError(f"{self.path}:{self.lines.get(key, 1)}: {key}: {message}")


@dataclass(frozen=True)
class SurfaceFile:
    """The keys of a scene of surfaces beside those of other scenes."""

    surface_contacts: tuple[ContactPart, ...] = key("Smooth bodies in contact, in a tree.", ())
    model: ModelPart | None = key("The robot that carries the contacts.", None)
    base: BasePart | None = key("What carries the contacts in the place of a robot.", None)


KEYS = kinds(SurfaceFile)
SETTINGS = {name: SCENE_KEYS[name] for name in ("time_step", "gravity", "rates")}
ALONE = (*SETTINGS, *KEYS)  #: keys of a scene without ordinary objects
READERS = {**{name: kind for name, kind in SCENE_KEYS.items() if name not in ("preset", "sleep")}, **KEYS}


def _present(root):
    """The keys of a file and their values."""
    return {name.value: node for name, node in root.value} if isinstance(root, yaml.MappingNode) else {}


def is_surface_scene(path):
    """Whether a scene file is one of smooth surfaces."""
    return TREE_KEY in _present(open_scene(path)[1])


def load_surface_scene(path):
    """Read a scene of smooth bodies.

    Raises
    ------
    SceneError
        As ``load_scene``.
    """
    reader, root = open_scene(path)
    present = _present(root)
    objects = [name for name in ORDINARY if name in present]
    for name in ("model", *objects) if "base" in present else ():
        if name in present:
            raise reader.error(present["base"], "base", APART.format(name))
    # without objects what is said of them has nothing to be said of
    readers = READERS if objects else {name: READERS[name] for name in ALONE}
    values = reader.mapping(root, "", readers, (TREE_KEY,))
    contacts, place = values.pop(TREE_KEY), {"path": reader.path, "lines": reader.lines}
    if objects:
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
