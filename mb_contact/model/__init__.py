# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Robots and scenes: URDF to Model, scene YAML to Scene, and both to the World that is simulated."""

from mb_contact.model.builtin.pendulum import Pendulum
from mb_contact.model.mjcf import ImportedScene, export_mjcf, import_mjcf
from mb_contact.model.model import Frame, Geometry, Model
from mb_contact.model.resources import find_resource
from mb_contact.model.scene import (
    Actuator,
    AdhesionPad,
    Beam,
    Closure,
    CollisionFilters,
    EntityInfo,
    FlexibleLink,
    Ground,
    Image,
    JointProperties,
    Material,
    MaterialPair,
    ModelMaterials,
    Motion,
    MovingSurface,
    NamedPose,
    Pad,
    PathElement,
    Pose,
    Primitive,
    Scan,
    Scene,
    SceneModel,
    Sensor,
    Softness,
    Tendon,
    Velocity,
    load_scene,
    preset,
    save_scene,
)
from mb_contact.model.urdf.composing import compose
from mb_contact.model.urdf.reader import load_urdf
from mb_contact.model.world import World, build_world

__all__ = [
    "Actuator",
    "AdhesionPad",
    "Beam",
    "Closure",
    "CollisionFilters",
    "EntityInfo",
    "FlexibleLink",
    "Frame",
    "Geometry",
    "Ground",
    "Image",
    "ImportedScene",
    "JointProperties",
    "Material",
    "MaterialPair",
    "Model",
    "ModelMaterials",
    "Motion",
    "MovingSurface",
    "NamedPose",
    "Pad",
    "PathElement",
    "Pendulum",
    "Pose",
    "Primitive",
    "Scan",
    "Scene",
    "SceneModel",
    "Sensor",
    "Softness",
    "Tendon",
    "Velocity",
    "World",
    "build_world",
    "compose",
    "export_mjcf",
    "find_resource",
    "import_mjcf",
    "load_scene",
    "load_urdf",
    "preset",
    "save_scene",
]
