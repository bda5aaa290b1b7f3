# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scene YAML to Scene: types, ranges and spelling of every key, each error with file, line and key.

Each key has one reader below, made of those of :mod:`mb_contact.model.yaml_reader`.
What concerns several keys at once is :func:`mb_contact.model.scene_rules.check_scene`'s business.
"""

import math
from pathlib import Path

import yaml

from mb_contact.model.flexible.beams import ENDS, MOST_MODES, MOTIONS, SECTIONS, THEORIES
from mb_contact.model.places import CATEGORIES, EntityInfo, NamedPose
from mb_contact.model.presets import PRESETS, preset
from mb_contact.model.scene import (
    CHOICES,
    DEFAULT_RATES,
    FEWEST_DIRECTIONS,
    LEAST_TOLERANCE,
    MOST_DIRECTIONS,
    MOST_TOLERANCE,
    Actuator,
    AnisotropicFriction,
    Beam,
    Closure,
    CollisionFilters,
    FlexibleLink,
    Gear,
    Ground,
    Heights,
    JointProperties,
    Material,
    MaterialPair,
    MeshChoices,
    ModelMaterials,
    Motion,
    Pose,
    Primitive,
    Rest,
    Scene,
    SceneModel,
    Velocity,
)
from mb_contact.model.scene_parts import ACTUATORS, HULL_VERTICES, INTERPOLATIONS, MESH_CHOICES, SHAPE_SIZES, TERRAINS
from mb_contact.model.scene_rules import check_scene
from mb_contact.model.sensors import FACES, KINDS as SENSOR_KINDS, Image, Pad, Scan, Sensor
from mb_contact.model.yaml_reader import (
    boolean,
    choice,
    describe_mapping,
    described,
    lengths,
    literal,
    many,
    named,
    number,
    open_scene,
    record,
    text,
    vector,
    whole,
)
from mb_contact.types import CLOSURE_NAMES

RATES = ("control_period", *DEFAULT_RATES)  #: keys of ``rates``


def load_scene(path: str | Path) -> Scene:
    """Read a scene file.

    Parameters
    ----------
    path : str or Path
        A YAML file, also as a ``package://`` address; the URDF or xacro file of a robot is the scene of that robot
        alone, welded to the world.

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
    reader, root = open_scene(path, SCENE_READERS)
    values = reader.mapping(root, "", SCENE_READERS)
    printed = preset(values.pop("preset")) if "preset" in values else {}
    scene = Scene(**{**printed, **values}, path=reader.path, lines=reader.lines)
    check_scene(scene)
    return scene


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

_beam = record(Beam, {
    "start": vector(3), "end": vector(3), "up": vector(3), "section": choice(*SECTIONS), "size": lengths,
    "young_modulus": number(above=0.0), "shear_modulus": number(above=0.0), "density": number(above=0.0),
    "theory": choice(*THEORIES), "root": choice(*ENDS), "modes": whole(1, MOST_MODES),
    "motions": many(choice(*MOTIONS)), "static_modes": boolean, "stiffening": boolean,
}, required=("end", "section", "size", "young_modulus"))

_flexible_link = record(FlexibleLink, {
    "beam": _beam, "file": text, "damping_ratio": number(low=0.0), "nodes": named(vector(3)),
})

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
    "actuators": named(record(Actuator, {
        "kind": choice(*ACTUATORS), "stiffness": number(low=0.0), "damping": number(low=0.0), "gear_ratio": number(),
        "rotor_inertia": number(low=0.0), "rotor_damping": number(low=0.0), "effort_limit": number(low=0.0),
        "series_stiffness": number(above=0.0), "series_damping": number(low=0.0),
    }, required=("kind",))),
    "velocity": _velocity,
    "materials": record(ModelMaterials, {"default": text, "links": named(text)}),
    "collision_meshes": _meshes,
    "inertia_errors": choice("error", "warn"),
    "mimic": choice("eliminate", "independent", "error"),
    "massless": choice("error", "merge", "armature"),
    "xacro_args": named(literal),
    "srdf": text,
    "flexible_links": named(_flexible_link),
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
    "pitch": number(),
    "friction": number(low=0.0),
    "end": number(),
}, required=("kind", "link_a", "link_b"))

_gear = record(Gear, {"joint_a": text, "joint_b": text, "ratio": number(), "offset": number()},
               required=("joint_a", "joint_b", "ratio"))

_motion = record(Motion, {
    "joint": text,
    "closure": text,
    "times": many(number()),
    "positions": many(number()),
    "displacements": many(vector(3)),
    "rotations": many(vector(3)),
    "lengths": many(number(above=0.0)),
    "interpolation": choice(*INTERPOLATIONS),
    "periodic": boolean,
})

_counts = whole(1, 2**15)


def _cells(reader, node, key):
    values = many(_counts)(reader, node, key)
    if len(values) != 2:
        raise reader.error(node, key, f"must be a list of 2 whole numbers, got {len(values)}")
    return values


described(_cells, type="array", items=_counts, minItems=2, maxItems=2)

_sensor = record(Sensor, {
    "name": text,
    "kind": choice(*SENSOR_KINDS),
    "link": text,
    "joint": text,
    "joints": many(text),
    "pose": _pose,
    "image": record(Image, {
        "width": _counts, "height": _counts, "fov": number(above=0.0), "near": number(low=0.0),
        "far": number(above=0.0), "colour": boolean,
    }),
    "scan": record(Scan, {
        "samples": _counts, "angles": vector(2), "rings": _counts, "elevations": vector(2), "near": number(low=0.0),
        "far": number(above=0.0),
    }),
    "pad": record(Pad, {"face": choice(*FACES), "cells": _cells, "geometry": text}),
    "partner": text,
    "rate": number(low=0.0),
    "noise": vector(2),
    "resolution": number(low=0.0),
    "latency": number(low=0.0),
    "seed": whole(0, 2**31 - 1),
}, required=("name", "kind"))

_named_pose = record(NamedPose, {
    "name": text,
    "pose": _pose,
    "description": text,
    "tags": many(text),
    "box": many(vector(3)),
    "sphere": vector(4),
    "hull": many(vector(3)),
}, required=("name", "pose"))

_rest = record(Rest, {"distance": number(low=0.0, high=1e-6), "time": number(above=0.0, high=60.0)})


def _sleep(reader, node, key):
    """Reader of true, false or what counts as rest."""
    return (_rest if isinstance(node, yaml.MappingNode) else boolean)(reader, node, key)


described(_sleep, anyOf=[boolean, _rest])

SCENE_READERS = {
    "preset": choice(*PRESETS),
    "models": many(_model),
    "primitives": many(_primitive),
    "ground": record(Ground, {"height": number(), "material": text}),
    "materials": named(_material),
    "pairs": many(record(_material_pair, {"materials": _pair_of_names, **_surface},
                         required=("materials",))),
    "collision_filters": record(CollisionFilters, {"adjacent": boolean, "disable": many(_pair_of_names)}),
    "loop_closures": many(_closure),
    "gears": many(_gear),
    "motions": many(_motion),
    "sensors": many(_sensor),
    "loops": choice(*CHOICES["loops"]),
    "coordinates": choice(*CHOICES["coordinates"]),
    "drift_control": choice(*CHOICES["drift_control"]),
    "drift_rate": number(low=0.0, high=0.99),
    "enforce_velocity_limits": boolean,
    "time_step": number(above=0.0, high=0.1),
    "gravity": vector(3),
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
    "sleep": _sleep,
    "operational_frames": many(text),
    "contact_wrench_links": many(text),
    "description": text,
    "tags": many(text),
    "named_poses": many(_named_pose),
    "entities": named(record(EntityInfo, {"category": choice(*CATEGORIES), "description": text, "tags": many(text)})),
    "rates": record(lambda **rates: {**DEFAULT_RATES, **rates}, dict.fromkeys(RATES, number(above=0.0))),
}
