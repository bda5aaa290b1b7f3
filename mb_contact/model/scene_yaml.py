# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scene YAML to Scene: types, ranges and spelling of every key, each error with file, line and key.

The file is read as YAML's node tree, which knows lines, and each key has one reader below.
What concerns several keys at once is :func:`mb_contact.model.scene_rules.check_scene`'s business.
"""

from __future__ import annotations

import math
from difflib import get_close_matches
from pathlib import Path

import yaml

from mb_contact.checks import LARGEST, as_number
from mb_contact.errors import SceneError, one_line
from mb_contact.model.resources import find_resource
from mb_contact.model.scene import (
    CHOICES,
    DEFAULT_RATES,
    FEWEST_DIRECTIONS,
    HULL_VERTICES,
    LEAST_TOLERANCE,
    MESH_CHOICES,
    MOST_DIRECTIONS,
    MOST_TOLERANCE,
    MOST_WORDS,
    SHAPE_SIZES,
    TERRAINS,
    AnisotropicFriction,
    Closure,
    CollisionFilters,
    Gear,
    Ground,
    Heights,
    JointProperties,
    Material,
    MaterialPair,
    MeshChoices,
    ModelMaterials,
    Pose,
    Primitive,
    Scene,
    SceneModel,
    Velocity,
)
from mb_contact.model.scene_rules import check_scene
from mb_contact.types import CLOSURE_NAMES

RATES = ("control_period", *DEFAULT_RATES)  #: keys of ``rates``


def load_scene(path: str | Path) -> Scene:
    """Read a scene file.

    Parameters
    ----------
    path : str or Path
        A YAML file, also as a ``package://`` address.

    Returns
    -------
    Scene
        Lengths in m, times in s.

    Raises
    ------
    SceneError
        The file is missing or not YAML, a key is unknown, a value has the wrong type or an
        impossible value; the message names file, line and key and what is allowed.

    Examples
    --------
    >>> scene = mb.load_scene("package://mb_contact/config/box_on_table.yaml")
    >>> scene.time_step, [primitive.name for primitive in scene.primitives]
    (0.001, ['table', 'box'])
    """
    reader, root = open_scene(path)
    scene = Scene(**reader.scene(root), path=reader.path, lines=reader.lines)
    check_scene(scene)
    return scene


def open_scene(path):
    """(reader, root node) of a scene file of any kind; raises as ``load_scene`` where it is missing or not YAML."""
    try:
        file = find_resource(path)
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise SceneError(f"no scene: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SceneError(f"{path}: cannot be read as a scene: {error}") from None
    reader = _Reader(file)
    return reader, reader.compose(text)


def described(read, **schema):
    """Note down what a reader accepts, in words of JSON Schema, for editors (:mod:`mb_contact.model.scene_schema`)."""
    read.schema = schema
    return read


def number(low=-math.inf, above=None, high=math.inf):
    """Reader of a finite number of at least ``low`` (or greater than ``above``) and at most ``high``."""

    def read(reader, node, key):
        value = reader.scalar(node, key, "a number")
        try:
            value = as_number(value)
        except ValueError:
            raise reader.error(node, key, f"must be a number, got '{value}'") from None
        if not math.isfinite(value):
            raise reader.error(node, key, f"must be finite, got {value}")
        if above is not None and not value > above:
            raise reader.error(node, key, f"must be greater than {above:g}, got {value:g}")
        if abs(value) > LARGEST:
            raise reader.error(node, key, f"is beyond {LARGEST:g}, as nothing of a scene is")
        if value < low or value > high:
            bound = f"at least {low:g}" if value < low else f"at most {high:g}"
            raise reader.error(node, key, f"must be {bound}, got {value:g}")
        return value

    bounds = {"minimum": low, "exclusiveMinimum": above, "maximum": high}
    bounds = {key: bound for key, bound in bounds.items() if bound is not None and math.isfinite(bound)}
    return described(read, type="number", **bounds)


def whole(low, high, even=False):
    """Reader of a whole number from ``low`` to ``high``, perhaps of an even one."""

    def read(reader, node, key):
        value = number(low, high=high)(reader, node, key)
        if value != int(value) or (even and value % 2.0 != 0.0):
            kind = "an even whole number" if even else "a whole number"
            raise reader.error(node, key, f"must be {kind} from {low} to {high}, got {value:g}")
        return int(value)

    return described(read, type="integer", **({"multipleOf": 2} if even else {}), minimum=low, maximum=high)


def text(reader, node, key):
    """Reader of a string that is not empty."""
    value = reader.scalar(node, key, "a text")
    if node.tag != "tag:yaml.org,2002:str" or not value:
        raise reader.error(node, key, f"must be a text, got '{value}'")
    return value


described(text, type="string", minLength=1)


def boolean(reader, node, key):
    """Reader of true or false."""
    value = reader.scalar(node, key, "true or false").lower()
    if value not in ("true", "false"):
        raise reader.error(node, key, f"must be true or false, got '{value}'")
    return value == "true"


described(boolean, type="boolean")


def choice(*available, later=()):
    """Reader of one word out of ``available``; those in ``later`` are known but cannot be used yet."""

    def read(reader, node, key):
        value = text(reader, node, key)
        if value in available:
            return value
        problem = "is not available yet" if value in later else "is not known"
        raise reader.error(node, key, f"'{value}' {problem}; available: {', '.join(available)}")

    return described(read, type="string", enum=list(available))


def vector(size):
    """Reader of a list of ``size`` numbers."""

    def read(reader, node, key):
        values = tuple(number()(reader, item, f"{key}[{i}]") for i, item in reader.items(node, key))
        if len(values) != size:
            raise reader.error(node, key, f"must be a list of {size} numbers, got {len(values)}")
        return values

    return described(read, type="array", items={"type": "number"}, minItems=size, maxItems=size)


def lengths(reader, node, key):
    """Reader of a size: a list of numbers greater than zero, or one number."""
    if isinstance(node, yaml.ScalarNode):
        return (number(above=0.0)(reader, node, key),)
    return tuple(number(above=0.0)(reader, item, f"{key}[{i}]") for i, item in reader.items(node, key))


_length = {"type": "number", "exclusiveMinimum": 0.0}
described(lengths, oneOf=[_length, {"type": "array", "items": _length}])


def many(read_one):
    """Reader of a list, each entry by ``read_one``."""

    def read(reader, node, key):
        return tuple(read_one(reader, item, f"{key}[{i}]") for i, item in reader.items(node, key))

    return described(read, type="array", items=read_one)


def named(read_one):
    """Reader of a mapping from names that the user chooses, each value by ``read_one``."""

    def read(reader, node, key):
        return {name: read_one(reader, value, place) for name, value, place in reader.entries(node, key)}

    return described(read, type="object", additionalProperties=read_one)


def record(make, readers, required=()):
    """Reader of a mapping with fixed keys into ``make(**values)``."""

    def read(reader, node, key):
        return make(**reader.mapping(node, key, readers, required))

    return describe_mapping(read, readers, required)


def describe_mapping(read, readers, required=()):
    """Note down that a reader accepts a mapping with fixed keys."""
    required = {"required": list(required)} if required else {}
    return described(read, type="object", properties=readers, additionalProperties=False, **required)


def _pair_of_names(reader, node, key):
    names = many(text)(reader, node, key)
    if len(names) != 2:
        raise reader.error(node, key, f"must be a list of 2 names, got {len(names)}")
    return names


described(_pair_of_names, type="array", items=text, minItems=2, maxItems=2)


def _material(reader, node, key):
    values = reader.mapping(node, key, _surface)
    if "friction" not in values and "anisotropic_friction" not in values:
        raise reader.error(node, key, "the key 'friction' is missing")
    if "friction" in values and "anisotropic_friction" in values:
        raise reader.error(node, key, "has both friction and anisotropic_friction; keep one of them")
    return Material(**values)


def _material_pair(materials, **values):
    return MaterialPair(materials, **values)


_POSE = {"position": vector(3), "rpy": vector(3), "quat_xyzw": vector(4)}


def _pose(reader, node, key):
    values = reader.mapping(node, key, _POSE)
    if "rpy" in values and "quat_xyzw" in values:
        raise reader.error(node, key, "has both rpy and quat_xyzw; keep one of them")
    if abs(math.hypot(*values.get("quat_xyzw", (1.0,))) - 1.0) > 1e-3:
        raise reader.error(node, f"{key}.quat_xyzw", "must be a unit quaternion x y z w")
    return Pose(**values)


describe_mapping(_pose, _POSE)
pose = _pose  #: reader of a pose


_surface = {"friction": number(low=0.0), "viscous": number(low=0.0), "restitution": number(low=0.0, high=1.0),
            "torsional": number(low=0.0), "rolling": number(low=0.0),
            "anisotropic_friction": record(AnisotropicFriction, {
                "along": number(low=0.0), "across": number(low=0.0), "direction": vector(3), "of": text,
            }, required=("along", "across", "direction"))}
describe_mapping(_material, _surface)
_base = choice("weld", "free")
_velocity = record(Velocity, {"angular": vector(3), "linear": vector(3)})

_mesh_mapping = record(MeshChoices, {"default": choice(*MESH_CHOICES), "links": named(choice(*MESH_CHOICES))})


def _meshes(reader, node, key):
    """Reader of one choice for all links, or of a default and exceptions."""
    if isinstance(node, yaml.ScalarNode):
        return choice(*MESH_CHOICES)(reader, node, key)
    return _mesh_mapping(reader, node, key)


described(_meshes, oneOf=[choice(*MESH_CHOICES), _mesh_mapping])

_model = record(SceneModel, {
    "name": text,
    "urdf": text,
    "pose": _pose,
    "base": _base,
    "joints": named(number()),
    "velocities": named(number()),
    "joint_properties": named(record(JointProperties, {
        "stiffness": number(low=0.0), "rest_position": number(), "damping": number(low=0.0),
        "friction": number(low=0.0), "armature": number(low=0.0), "velocity_limit": number(above=0.0),
        "effort_limit": number(low=0.0),
    })),
    "velocity": _velocity,
    "materials": record(ModelMaterials, {"default": text, "links": named(text)}),
    "collision_meshes": _meshes,
    "inertia_errors": choice("error", "warn"),
    "mimic": choice("eliminate", "independent", "error"),
    "srdf": text,
}, required=("urdf",))

_heights = record(Heights, {
    "file": text,
    "grid": many(many(number())),
    "generator": choice(*TERRAINS),
    "factor": number(),
    "resolution": number(above=0.0),
    "amplitude": number(),
    "wavelength": number(above=0.0),
    "seed": whole(0, 2**31 - 1),
})

_primitive = record(Primitive, {
    "name": text,
    "shape": choice(*SHAPE_SIZES),
    "size": lengths,
    "pose": _pose,
    "base": _base,
    "mass": number(above=0.0),
    "inertia": vector(3),
    "material": text,
    "velocity": _velocity,
    "mesh": text,
    "pieces": many(text),
    "scale": vector(3),
    "collision_meshes": choice("convex_hull", "convex_pieces"),
    "heights": _heights,
    "hull_vertices": whole(*HULL_VERTICES),
}, required=("name", "shape"))

_closure = record(Closure, {
    "kind": choice(*CLOSURE_NAMES),
    "link_a": text,
    "link_b": text,
    "pose_a": _pose,
    "pose_b": _pose,
    "length": number(above=0.0),
    "name": text,
}, required=("kind", "link_a", "link_b"))

_gear = record(Gear, {"joint_a": text, "joint_b": text, "ratio": number(), "offset": number()},
               required=("joint_a", "joint_b", "ratio"))

SCENE_READERS = {
    "models": many(_model),
    "primitives": many(_primitive),
    "ground": record(Ground, {"height": number(), "material": text}),
    "materials": named(_material),
    "pairs": many(record(_material_pair, {"materials": _pair_of_names, **_surface},
                         required=("materials",))),
    "collision_filters": record(CollisionFilters, {"adjacent": boolean, "disable": many(_pair_of_names)}),
    "loop_closures": many(_closure),
    "gears": many(_gear),
    "drift_control": choice(*CHOICES["drift_control"]),
    "drift_rate": number(low=0.0, high=0.99),
    "enforce_velocity_limits": boolean,
    "time_step": number(above=0.0, high=0.1),
    "gravity": vector(3),
    "formulation": choice(*CHOICES["formulation"]),
    "solver": choice(*CHOICES["solver"]),
    "collision_engine": choice(*CHOICES["collision_engine"]),
    "integrator": choice(*CHOICES["integrator"]),
    "integrator_tolerance": number(low=LEAST_TOLERANCE, high=MOST_TOLERANCE),
    "collision_scheme": choice(*CHOICES["collision_scheme"]),
    "friction_model": choice(*CHOICES["friction_model"]),
    "friction_directions": whole(FEWEST_DIRECTIONS, MOST_DIRECTIONS, even=True),
    "friction_frame": choice(*CHOICES["friction_frame"]),
    "contact_margin": number(low=0.0, high=0.1),
    "push_out_velocity": number(low=0.0),
    "restitution_law": choice(*CHOICES["restitution_law"]),
    "impact_threshold": number(low=0.0),
    "simultaneous_impacts": choice(*CHOICES["simultaneous_impacts"]),
    "energy_gain": choice(*CHOICES["energy_gain"]),
    "operational_frames": many(text),
    "contact_wrench_links": many(text),
    "rates": record(lambda **rates: {**DEFAULT_RATES, **rates}, dict.fromkeys(RATES, number(above=0.0))),
}


class _Reader:
    """Walks the node tree of one file; remembers the line of every key."""

    def __init__(self, path):
        self.path = path
        self.lines = {}

    def compose(self, content):
        """Root node of the file."""
        try:
            root = yaml.compose(content, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 1
            raise SceneError(f"{self.path}:{line}: not well-formed YAML: {error.problem}") from None
        except yaml.reader.ReaderError as error:
            line = content.count("\n", 0, error.position) + 1
            problem = f"the character #x{error.character:04x} is not allowed"
            raise SceneError(f"{self.path}:{line}: not well-formed YAML: {problem}") from None
        if root is None:
            raise SceneError(f"{self.path}:1: the scene is empty; allowed keys: {', '.join(SCENE_READERS)}")
        return root

    def scene(self, root):
        """Values of all top-level keys."""
        return self.mapping(root, "", SCENE_READERS)

    def error(self, node, key, message):
        """A SceneError at the line of ``key``, or of ``node`` where that has no line yet."""
        line = self.lines.get(key, node.start_mark.line + 1)
        return SceneError(one_line(f"{self.path}:{line}: {key or 'scene'}: {message}", MOST_WORDS))

    def scalar(self, node, key, wanted):
        """The text of a scalar node that is not null."""
        if not isinstance(node, yaml.ScalarNode) or node.tag == "tag:yaml.org,2002:null":
            kind = {"mapping": "a mapping", "sequence": "a list"}.get(node.id, "nothing")
            raise self.error(node, key, f"must be {wanted}, got {kind}")
        return node.value

    def items(self, node, key):
        """(index, node) of a list."""
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(node, key, "must be a list")
        for i, item in enumerate(node.value):
            self.lines[f"{key}[{i}]"] = item.start_mark.line + 1
            yield i, item

    def entries(self, node, key):
        """(name, node, key path) of a mapping, each name once."""
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node, key, "must be a mapping of keys to values")
        for name_node, value in node.value:
            name = self.scalar(name_node, key, "a mapping whose keys are texts")
            place = f"{key}.{name}" if key else name
            first, self.lines[place] = self.lines.get(place), name_node.start_mark.line + 1
            if first is not None:
                raise self.error(name_node, place, f"is given twice, first in line {first}; keep one of them")
            yield name, value, place

    def mapping(self, node, key, readers, required=()):
        """Values of a mapping with fixed keys."""
        values = {}
        for name, value, place in self.entries(node, key):
            if name not in readers:
                raise self._unknown(value, place, name, readers)
            values[name] = readers[name](self, value, place)
        for name in required:
            if name not in values:
                raise self.error(node, key, f"the key '{name}' is missing")
        return values

    def _unknown(self, node, place, name, readers):
        allowed = f"allowed keys: {', '.join(readers)}"
        close = get_close_matches(name, readers, n=1)
        hint = f" (did you mean '{close[0]}'?)" if close else ""
        return self.error(node, place, f"unknown key{hint}; {allowed}")
