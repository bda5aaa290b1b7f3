# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a scene must be to make sense, whether it was written in Python or read from a file."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from mb_contact.model.scene import (
    CHOICES,
    ELASTIC_MODELS,
    FEWEST_DIRECTIONS,
    HULL_VERTICES,
    LEAST_TOLERANCE,
    MOST_DIRECTIONS,
    MOST_TOLERANCE,
    SHAPE_SIZES,
    TERRAINS,
    JointProperties,
)
from mb_contact.types import CLOSURE_NAMES, SHAPE_HEIGHT_FIELD, SHAPE_PLANE


def check_scene(scene):
    """Refuse a scene whose entries do not fit together.

    Raises
    ------
    SceneError
        A free body without mass, a name used twice, a material that is not defined, a size
        that does not belong to its shape, a number out of its range, a period that is no
        multiple of the time step.
    """
    _check_settings(scene)
    names = set()
    for i, primitive in enumerate(scene.primitives):
        _check_primitive(scene, primitive, f"primitives[{i}]")
        if primitive.name in names or (primitive.name == "ground" and scene.ground is not None):
            message = f"'{primitive.name}' is used twice; give each body its own name"
            raise scene.error(f"primitives[{i}].name", message)
        names.add(primitive.name)
        _check_material(scene, primitive.material, f"primitives[{i}].material")
    if scene.ground is not None:
        _check_numbers(scene, "ground.height", scene.ground.height)
        _check_material(scene, scene.ground.material, "ground.material")
    for name, material in scene.materials.items():
        _check_numbers(scene, f"materials.{name}.friction", material.friction, low=0.0)
        _check_numbers(scene, f"materials.{name}.viscous", material.viscous, low=0.0)
        _check_restitution(scene, f"materials.{name}.restitution", material.restitution)
        _check_surface(scene, material, f"materials.{name}")
    for i, model in enumerate(scene.models):
        _check_pose(scene, model.pose, f"models[{i}].pose")
        _check_velocity(scene, model, f"models[{i}]")
        for name, rate in model.velocities.items():
            _check_numbers(scene, f"models[{i}].velocities.{name}", rate)
        _check_joints(scene, model, f"models[{i}].joint_properties")
        _check_material(scene, model.materials.default, f"models[{i}].materials.default")
        for link, material in model.materials.links.items():
            _check_material(scene, material, f"models[{i}].materials.links.{link}")
    _check_pairs(scene)
    _check_couplings(scene)
    _check_timing(scene)


def _check_settings(scene):
    for key, allowed in CHOICES.items():
        if getattr(scene, key) not in allowed:
            message = f"'{getattr(scene, key)}' is not available; available: {', '.join(allowed)}"
            raise scene.error(key, message)
    if scene.formulation != "os" and scene.friction_model != "coulomb_polyhedral":
        message = f"{scene.formulation} has friction_model coulomb_polyhedral only; set that, or formulation: os"
        raise scene.error("formulation", message)
    _check_numbers(scene, "gravity", scene.gravity, size=3)
    _check_numbers(scene, "contact_margin", scene.contact_margin, low=0.0)
    _check_numbers(scene, "push_out_velocity", scene.push_out_velocity, low=0.0)
    if scene.collision_scheme == "event" and scene.friction_model not in ELASTIC_MODELS:
        models = " or ".join(ELASTIC_MODELS)
        message = f"'event' needs friction_model {models}, which know impacts; {scene.friction_model} does not"
        raise scene.error("collision_scheme", message)
    if scene.collision_scheme == "event" and scene.formulation != "os":
        raise scene.error("collision_scheme", f"'event' needs formulation os, got {scene.formulation}")
    if scene.impact_threshold is not None:
        _check_numbers(scene, "impact_threshold", scene.impact_threshold, low=0.0)
    tolerance = scene.integrator_tolerance
    _check_numbers(scene, "integrator_tolerance", tolerance, low=LEAST_TOLERANCE, high=MOST_TOLERANCE)
    n_f = scene.friction_directions
    if not isinstance(n_f, (int, np.integer)) or n_f % 2 or not FEWEST_DIRECTIONS <= n_f <= MOST_DIRECTIONS:
        message = f"must be an even whole number from {FEWEST_DIRECTIONS} to {MOST_DIRECTIONS}, got {n_f}"
        raise scene.error("friction_directions", message)


def _check_numbers(scene, key, value, size=1, low=-np.inf, high=np.inf):
    """Refuse anything but ``size`` finite numbers of at least ``low`` and at most ``high``."""
    try:
        numbers = np.asarray(value, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        numbers = np.full(size, np.nan)
    if len(numbers) != size or not np.isfinite(numbers).all() or ((numbers < low) | (numbers > high)).any():
        wanted = "a finite number" if size == 1 else f"{size} finite numbers"
        bound = "" if np.isinf(low) else f" of at least {low:g}"
        if not np.isinf(high):
            bound += f" and at most {high:g}"
        raise scene.error(key, f"must be {wanted}{bound}, got {value}")


def _check_pose(scene, pose, key):
    for name, size in (("position", 3), ("rpy", 3), ("quat_xyzw", 4)):
        value = getattr(pose, name)
        if value is not None:
            _check_numbers(scene, f"{key}.{name}", value, size)
    if pose.quat_xyzw is not None and abs(np.linalg.norm(pose.quat_xyzw) - 1.0) > 1e-3:
        raise scene.error(f"{key}.quat_xyzw", "must be a unit quaternion x y z w")


def _check_velocity(scene, entry, key):
    if entry.velocity is None:
        return
    if entry.base == "weld":
        raise scene.error(f"{key}.velocity", "what is welded to the inertial frame has none; use base: free")
    _check_numbers(scene, f"{key}.velocity.angular", entry.velocity.angular, size=3)
    _check_numbers(scene, f"{key}.velocity.linear", entry.velocity.linear, size=3)


def _check_primitive(scene, primitive, key):
    if primitive.shape not in SHAPE_SIZES:
        allowed = ", ".join(SHAPE_SIZES)
        raise scene.error(f"{key}.shape", f"'{primitive.shape}' is not a shape; allowed: {allowed}")
    wanted = SHAPE_SIZES[primitive.shape]
    if len(primitive.size) != len(wanted):
        form = f"[{', '.join(wanted)}]" if wanted else "none"
        raise scene.error(f"{key}.size", f"a {primitive.shape} has size {form}, got {list(primitive.size)}")
    if not all(np.isfinite(length) and length > 0.0 for length in primitive.size):
        raise scene.error(f"{key}.size", f"lengths must be greater than zero, got {list(primitive.size)}")
    given = (primitive.mesh is not None) + bool(primitive.pieces)
    if given != (primitive.shape == "mesh"):
        message = "a mesh needs the address of its file, or pieces" if given == 0 else "only a mesh has a file"
        if given == 2:
            message = "stands beside pieces; keep one of them"
        raise scene.error(f"{key}.{'mesh' if primitive.mesh is not None or given == 0 else 'pieces'}", message)
    _check_numbers(scene, f"{key}.scale", primitive.scale, size=3)
    if not all(primitive.scale):
        raise scene.error(f"{key}.scale", f"no factor may be zero, got {list(primitive.scale)}")
    if primitive.collision_meshes not in ("convex_hull", "convex_pieces"):
        message = f"'{primitive.collision_meshes}' is not available; allowed: convex_hull, convex_pieces"
        raise scene.error(f"{key}.collision_meshes", message)
    _check_heights(scene, primitive, key)
    if primitive.hull_vertices is not None and not HULL_VERTICES[0] <= primitive.hull_vertices <= HULL_VERTICES[1]:
        message = f"must be from {HULL_VERTICES[0]} to {HULL_VERTICES[1]}, got {primitive.hull_vertices}"
        raise scene.error(f"{key}.hull_vertices", message)
    if primitive.base not in ("weld", "free"):
        raise scene.error(f"{key}.base", f"'{primitive.base}' is not available; allowed: weld, free")
    _check_pose(scene, primitive.pose, f"{key}.pose")
    _check_velocity(scene, primitive, key)
    if primitive.base == "weld":
        return
    if primitive.kind() in (SHAPE_PLANE, SHAPE_HEIGHT_FIELD):
        word = primitive.shape.replace("_", " ")
        raise scene.error(f"{key}.base", f"a {word} has no mass and cannot be free; use base: weld")
    if primitive.mass is None or not 0.0 < primitive.mass < np.inf:
        raise scene.error(f"{key}.mass", "a free body needs a mass [kg] greater than zero and finite")
    if primitive.inertia is not None:
        _check_numbers(scene, f"{key}.inertia", primitive.inertia, size=3)


def _check_heights(scene, primitive, key):
    """What a height field is made from: one source, and what that source needs."""
    heights = primitive.heights
    if (primitive.shape == "height_field") != (heights is not None):
        missing = "a height field needs heights: {file: ...}, {grid: ...} or {generator: ...}"
        raise scene.error(f"{key}.heights", missing if heights is None else "only a height_field has heights")
    if heights is None:
        return
    key += ".heights"
    given = [name for name in ("file", "grid", "generator") if getattr(heights, name) is not None]
    if len(given) != 1:
        raise scene.error(key, f"needs one of file, grid and generator, got {' and '.join(given) or 'none'}")
    _check_numbers(scene, f"{key}.factor", heights.factor)
    if isinstance(heights.seed, bool) or not isinstance(heights.seed, (int, np.integer)) or heights.seed < 0:
        raise scene.error(f"{key}.seed", f"must be a whole number of at least 0, got {heights.seed}")
    if heights.grid is not None:
        for i, row in enumerate(heights.grid):
            _check_numbers(scene, f"{key}.grid[{i}]", row, size=len(heights.grid[0]))
    if heights.generator is not None and heights.generator not in TERRAINS:
        message = f"'{heights.generator}' is not known; available: {', '.join(TERRAINS)}"
        raise scene.error(f"{key}.generator", message)
    needed = ("resolution", *TERRAINS[heights.generator]) if heights.generator is not None else ()
    for name in ("resolution", "amplitude", "wavelength"):
        value = getattr(heights, name)
        if (value is None) != (name not in needed):
            owner = f"generator {heights.generator}" if heights.generator is not None else given[0]
            message = f"is missing; {owner} needs it" if value is None else f"belongs to no {owner}; leave it out"
            raise scene.error(f"{key}.{name}", message)
        if value is not None:
            _check_numbers(scene, f"{key}.{name}", value)
            if name != "amplitude" and not value > 0.0:
                raise scene.error(f"{key}.{name}", f"must be greater than zero, got {value:g}")


def _check_material(scene, name, key):
    if name is not None and name not in scene.materials:
        known = ", ".join(scene.materials) or "none"
        raise scene.error(key, f"material '{name}' is not defined under materials; defined: {known}")


def _check_restitution(scene, key, value):
    _check_numbers(scene, key, value, low=0.0)
    if value > 1.0:
        raise scene.error(key, f"must be at most 1, got {value:g}")
    if value > 0.0 and scene.friction_model not in ELASTIC_MODELS:
        models = " or ".join(ELASTIC_MODELS)
        message = f"impacts under friction_model {scene.friction_model} are inelastic; use 0 here, or {models}"
        raise scene.error(key, message)


def _check_surface(scene, entry, key):
    """Torsional, rolling and anisotropic coefficients: their ranges, and a friction model that has them."""
    exact = scene.friction_model == "coulomb_cone"
    for name in ("torsional", "rolling"):
        value = getattr(entry, name)
        if value is None:
            continue
        _check_numbers(scene, f"{key}.{name}", value, low=0.0)
        if value > 0.0 and not exact:
            message = f"{scene.friction_model} has no {name} friction; set friction_model: coulomb_cone, or 0 here"
            raise scene.error(f"{key}.{name}", message)
    friction = entry.anisotropic_friction
    if friction is None:
        return
    key += ".anisotropic_friction"
    if not exact:
        message = f"{scene.friction_model} is the same in all directions; set friction_model: coulomb_cone"
        raise scene.error(key, message)
    for name in ("along", "across"):
        _check_numbers(scene, f"{key}.{name}", getattr(friction, name), low=0.0)
    _check_numbers(scene, f"{key}.direction", friction.direction, size=3)
    if not np.linalg.norm(friction.direction) > 0.0:
        raise scene.error(f"{key}.direction", "must not be zero")
    owners = getattr(entry, "materials", None)
    if friction.of is not None and owners is None:
        raise scene.error(f"{key}.of", "belongs to pairs; the direction of a material is that of its own links")
    if friction.of is not None and friction.of not in owners:
        raise scene.error(f"{key}.of", f"must be {owners[0]} or {owners[1]}, got '{friction.of}'")


def _check_pairs(scene):
    seen = set()
    for i, pair in enumerate(scene.pairs):
        for name in pair.materials:
            _check_material(scene, name, f"pairs[{i}].materials")
        if frozenset(pair.materials) in seen:
            names = " and ".join(pair.materials)
            raise scene.error(f"pairs[{i}].materials", f"the pair {names} is listed twice")
        if (pair.friction is None) == (pair.anisotropic_friction is None):
            problem = "is missing" if pair.friction is None else "stands beside anisotropic_friction"
            raise scene.error(f"pairs[{i}]", f"the key 'friction' {problem}; give one of the two")
        if pair.friction is not None:
            _check_numbers(scene, f"pairs[{i}].friction", pair.friction, low=0.0)
        _check_surface(scene, pair, f"pairs[{i}]")
        if pair.viscous is not None:
            _check_numbers(scene, f"pairs[{i}].viscous", pair.viscous, low=0.0)
        if pair.restitution is not None:
            _check_restitution(scene, f"pairs[{i}].restitution", pair.restitution)
        seen.add(frozenset(pair.materials))


def _check_joints(scene, model, key):
    for name, properties in model.joint_properties.items():
        for entry in fields(JointProperties):
            value = getattr(properties, entry.name)
            if value is not None:
                low = -np.inf if entry.name == "rest_position" else 0.0
                _check_numbers(scene, f"{key}.{name}.{entry.name}", value, low=low)
        if properties.rest_position is not None and not properties.stiffness:
            raise scene.error(f"{key}.{name}.rest_position", "has no meaning without a stiffness above zero; add it")


def _check_couplings(scene):
    for i, closure in enumerate(scene.loop_closures):
        key = f"loop_closures[{i}]"
        if closure.kind not in CLOSURE_NAMES:
            message = f"'{closure.kind}' is not known; available: {', '.join(CLOSURE_NAMES)}"
            raise scene.error(f"{key}.kind", message)
        for end in ("pose_a", "pose_b"):
            if getattr(closure, end) is not None:
                _check_pose(scene, getattr(closure, end), f"{key}.{end}")
        if closure.length is None:
            continue
        if closure.kind != "distance":
            raise scene.error(f"{key}.length", f"a closure of kind {closure.kind} has no length; leave it out")
        _check_numbers(scene, f"{key}.length", closure.length, low=0.0)
        if closure.length == 0.0:
            raise scene.error(f"{key}.length", "must be above zero; two points that coincide are the kind point")
    for i, gear in enumerate(scene.gears):
        _check_numbers(scene, f"gears[{i}].ratio", gear.ratio)
        _check_numbers(scene, f"gears[{i}].offset", gear.offset)
        if gear.joint_a == gear.joint_b:
            raise scene.error(f"gears[{i}].joint_b", f"'{gear.joint_a}' cannot follow itself")
    _check_numbers(scene, "drift_rate", scene.drift_rate, low=0.0)
    if scene.drift_rate >= 1.0:
        raise scene.error("drift_rate", f"must be below 1, got {scene.drift_rate:g}")


def _check_timing(scene):
    if not (np.isfinite(scene.time_step) and scene.time_step > 0.0):
        raise scene.error("time_step", f"must be greater than zero, got {scene.time_step}")
    period = scene.rates.get("control_period", scene.time_step)
    steps = period / scene.time_step
    if round(steps) < 1 or abs(steps - round(steps)) > 1e-6:
        message = f"{period} s must be a multiple of the time step {scene.time_step} s"
        raise scene.error("rates.control_period", message)
