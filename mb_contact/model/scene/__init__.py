# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes: their records, whose keys are declared once, and what is made of the declarations.

``mb_contact.keys`` has the means of a declaration; ``records`` and the modules that it imports hold them; ``reader``,
``rules``, ``schema``, ``writer`` and ``reference`` are the same for every key.
"""

from mb_contact.model.scene.bodies import Ground, Heights, Pose, Primitive, PrimitiveVisual, Rest, Velocity
from mb_contact.model.scene.couplings import Closure, Gear, Motion
from mb_contact.model.scene.flexible_links import Beam, FlexibleLink
from mb_contact.model.scene.handling import AdhesionPad, MovingSurface
from mb_contact.model.scene.materials import (
    DEFAULT_FRICTION,
    ELASTIC_MODELS,
    AnisotropicFriction,
    CollisionFilters,
    Material,
    MaterialPair,
    Softness,
)
from mb_contact.model.scene.places import EntityInfo, NamedPose
from mb_contact.model.scene.presets import preset
from mb_contact.model.scene.reader import load_scene
from mb_contact.model.scene.records import (
    ABSURD_FRICTION,
    CHOICES,
    CLOSURE_DRIFT_RATE,
    CONTACT_MARGIN,
    DEFAULT_RATES,
    GRAVITY,
    MOST_FRICTION,
    PUSH_OUT_RATE,
    PUSH_OUT_VELOCITY,
    Scene,
)
from mb_contact.model.scene.robots import Actuator, JointProperties, MeshChoices, ModelMaterials, SceneModel
from mb_contact.model.scene.rules import check_scene
from mb_contact.model.scene.sensors import Image, Pad, Scan, Sensor
from mb_contact.model.scene.tendons import PathElement, Tendon
from mb_contact.model.scene.writer import save_scene

__all__ = [
    "ABSURD_FRICTION", "CHOICES", "CLOSURE_DRIFT_RATE", "CONTACT_MARGIN", "DEFAULT_FRICTION", "DEFAULT_RATES",
    "ELASTIC_MODELS", "GRAVITY", "MOST_FRICTION", "PUSH_OUT_RATE", "PUSH_OUT_VELOCITY", "Actuator", "AdhesionPad",
    "AnisotropicFriction", "Beam", "Closure", "CollisionFilters", "EntityInfo", "FlexibleLink", "Gear", "Ground",
    "Heights", "Image", "JointProperties", "Material", "MaterialPair", "MeshChoices", "ModelMaterials", "Motion",
    "MovingSurface", "NamedPose", "Pad", "PathElement", "Pose", "Primitive", "PrimitiveVisual", "Rest", "Scan",
    "Scene", "SceneModel", "Sensor", "Softness", "Tendon", "Velocity", "check_scene", "load_scene", "preset",
    "save_scene",
]  # fmt: skip
