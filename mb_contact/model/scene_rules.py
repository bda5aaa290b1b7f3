# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a scene must be to make sense, whether it was written in Python or read from a file."""

from dataclasses import fields

import numpy as np

from mb_contact.model.flexible.rules import flexible_rules
from mb_contact.model.places import place_rules
from mb_contact.model.scene import (
    CHOICES,
    ELASTIC_MODELS,
    FEWEST_DIRECTIONS,
    LEAST_TOLERANCE,
    MOST_DIRECTIONS,
    MOST_TOLERANCE,
    Actuator,
    JointProperties,
    Pose,
    Rest,
)
from mb_contact.model.scene_parts import ACTUATORS, HULL_VERTICES, INTERPOLATIONS, SHAPE_SIZES, TERRAINS
from mb_contact.model.sensors import sensor_rules
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
    for broken, key, message in _rules(scene):
        scene.refuse_if(broken, key, message)


def _rules(scene):
    """(whether it is broken, key, what is wrong) of one rule after the other; each may count on those before it."""
    yield from _setting_rules(scene)
    names = {"ground"} if scene.ground is not None else set()
    for i, primitive in enumerate(scene.primitives):
        yield from _primitive_rules(primitive, f"primitives[{i}]")
        message = f"'{primitive.name}' is used twice; give each body its own name"
        yield primitive.name in names, f"primitives[{i}].name", message
        names.add(primitive.name)
        yield _material_rule(scene, primitive.material, f"primitives[{i}].material")
    if scene.ground is not None:
        yield _numbers_rule("ground.height", scene.ground.height)
        yield _material_rule(scene, scene.ground.material, "ground.material")
    for name, material in scene.materials.items():
        yield from _surface_rules(scene, material, f"materials.{name}")
    for i, model in enumerate(scene.models):
        yield from _model_rules(scene, model, f"models[{i}]")
    yield from _pair_rules(scene)
    yield from _coupling_rules(scene)
    for i, sensor in enumerate(scene.sensors):
        yield from _pose_rules(sensor.pose or Pose(), f"sensors[{i}].pose")
    yield from sensor_rules(scene, _numbers_rule)
    yield from place_rules(scene, _numbers_rule)
    yield from flexible_rules(scene, _numbers_rule)
    yield not (np.isfinite(scene.time_step) and scene.time_step > 0.0), "time_step", (
        f"must be greater than zero, got {scene.time_step}"
    )
    period = scene.rates.get("control_period", scene.time_step)
    steps = period / scene.time_step
    message = f"{period} s must be a multiple of the time step {scene.time_step} s"
    yield round(steps) < 1 or abs(steps - round(steps)) > 1e-6, "rates.control_period", message


def _setting_rules(scene):
    for key, allowed in CHOICES.items():
        yield _choice_rule(key, getattr(scene, key), allowed)
    model, pivots = scene.friction_model, scene.pivots
    known = ("coulomb_polyhedral",) if scene.solver == "lemke" else ()
    known += ("no_slip", "viscous")
    message = f"{scene.solver} solves problems of friction_model {' or '.join(known)}; set that, or solver: auto"
    yield pivots and model not in known, "solver", message
    yield _numbers_rule("gravity", scene.gravity, size=3)
    yield _numbers_rule("contact_margin", scene.contact_margin, low=0.0)
    yield _numbers_rule("push_out_velocity", scene.push_out_velocity, low=0.0)
    event, models = scene.collision_scheme == "event", " or ".join(ELASTIC_MODELS)
    message = f"'event' needs friction_model {models}, which know impacts; {model} does not"
    yield event and model not in ELASTIC_MODELS, "collision_scheme", message
    yield event and pivots, "collision_scheme", f"'event' needs solver: auto, got {scene.solver}"
    yield _numbers_rule("impact_threshold", scene.impact_threshold, low=0.0, optional=True)
    tolerance = scene.integrator_tolerance
    yield _numbers_rule("integrator_tolerance", tolerance, low=LEAST_TOLERANCE, high=MOST_TOLERANCE)
    if scene.sleep:
        yield from _sleep_rules(scene)
    n_f = scene.friction_directions
    even = isinstance(n_f, (int, np.integer)) and n_f % 2 == 0 and FEWEST_DIRECTIONS <= n_f <= MOST_DIRECTIONS
    message = f"must be an even whole number from {FEWEST_DIRECTIONS} to {MOST_DIRECTIONS}, got {n_f}"
    yield not even, "friction_directions", message


def _sleep_rules(scene):
    """Bodies sleep in the steps of one compiled call, whose every input is known."""
    if isinstance(scene.sleep, Rest):
        yield _numbers_rule("sleep.distance", scene.sleep.distance, low=0.0, high=1e-6)
        yield _numbers_rule("sleep.time", scene.sleep.time, low=np.finfo(float).tiny)
    usual = {"integrator": "semi_implicit_euler", "collision_scheme": "time_stepping", "solver": "auto"}
    usual |= {"coordinates": "joints"}
    for key, value in {**usual, "drift_control": "baumgarte"}.items():
        message = f"bodies sleep with {key}: {value} alone; set that, or sleep: false"
        yield getattr(scene, key) != value, "sleep", message
    message = "bodies sleep with loops: auto or multipliers alone; set that, or sleep: false"
    yield scene.loops == "embed", "sleep", message


def _numbers_rule(key, value, size=1, low=-np.inf, high=np.inf, optional=False):
    """``size`` finite numbers of at least ``low`` and at most ``high``, or perhaps None."""
    try:
        numbers = np.asarray(value, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        numbers = np.full(size, np.nan)
    broken = len(numbers) != size or not np.isfinite(numbers).all() or ((numbers < low) | (numbers > high)).any()
    wanted = "a finite number" if size == 1 else f"{size} finite numbers"
    bound = "" if np.isinf(low) else f" of at least {low:g}"
    bound += "" if np.isinf(high) else f" and at most {high:g}"
    return broken and not (optional and value is None), key, f"must be {wanted}{bound}, got {value}"


def _choice_rule(key, value, allowed):
    """One of several words, as the reader says it."""
    return value not in allowed, key, f"'{value}' is not known; available: {', '.join(allowed)}"


def _pose_rules(pose, key):
    for name, size in (("position", 3), ("rpy", 3), ("quat_xyzw", 4)):
        yield _numbers_rule(f"{key}.{name}", getattr(pose, name), size, optional=True)
    quat = (1.0,) if pose.quat_xyzw is None else pose.quat_xyzw
    yield abs(np.linalg.norm(quat) - 1.0) > 1e-3, f"{key}.quat_xyzw", "must be a unit quaternion x y z w"


def _base_rules(entry, key):
    yield _choice_rule(f"{key}.base", entry.base, ("weld", "free"))
    if entry.velocity is not None:
        message = "what is welded to the inertial frame has none; use base: free"
        yield entry.base == "weld", f"{key}.velocity", message
        yield _numbers_rule(f"{key}.velocity.angular", entry.velocity.angular, size=3)
        yield _numbers_rule(f"{key}.velocity.linear", entry.velocity.linear, size=3)


def _primitive_rules(primitive, key):
    shape, size, base = primitive.shape, list(primitive.size), primitive.base
    yield _choice_rule(f"{key}.shape", shape, SHAPE_SIZES)
    wanted = SHAPE_SIZES[shape]
    form = f"[{', '.join(wanted)}]" if wanted else "none"
    yield len(size) != len(wanted), f"{key}.size", f"a {shape} has size {form}, got {size}"
    positive = all(np.isfinite(length) and length > 0.0 for length in size)
    yield not positive, f"{key}.size", f"lengths must be greater than zero, got {size}"
    given = (primitive.mesh is not None) + bool(primitive.pieces)
    message = ("a mesh needs the address of its file, or pieces", "only a mesh has a file",
               "stands beside pieces; keep one of them")[given]  # fmt: skip
    place = "mesh" if primitive.mesh is not None or given == 0 else "pieces"
    yield given != (shape == "mesh"), f"{key}.{place}", message
    yield _numbers_rule(f"{key}.scale", primitive.scale, size=3)
    yield not all(primitive.scale), f"{key}.scale", f"no factor may be zero, got {list(primitive.scale)}"
    yield _choice_rule(f"{key}.collision_meshes", primitive.collision_meshes, ("convex_hull", "convex_pieces"))
    yield from _height_rules(primitive, key)
    (low, high), vertices = HULL_VERTICES, primitive.hull_vertices
    message = f"must be from {low} to {high}, got {vertices}"
    yield vertices is not None and not low <= vertices <= high, f"{key}.hull_vertices", message
    yield from _pose_rules(primitive.pose, f"{key}.pose")
    yield from _base_rules(primitive, key)
    if base == "weld":
        return
    message = f"a {shape.replace('_', ' ')} has no mass and cannot be free; use base: weld"
    yield primitive.kind() in (SHAPE_PLANE, SHAPE_HEIGHT_FIELD), f"{key}.base", message
    heavy = primitive.mass is not None and 0.0 < primitive.mass < np.inf
    yield not heavy, f"{key}.mass", "a free body needs a mass [kg] greater than zero and finite"
    yield _numbers_rule(f"{key}.inertia", primitive.inertia, size=3, optional=True)


def _height_rules(primitive, key):
    """What a height field is made from: one source, and what that source needs."""
    heights, key = primitive.heights, f"{key}.heights"
    message = "a height field needs heights: {file: ...}, {grid: ...} or {generator: ...}"
    yield heights is None and primitive.shape == "height_field", key, message
    if heights is None:
        return
    yield primitive.shape != "height_field", key, "only a height_field has heights"
    given = [name for name in ("file", "grid", "generator") if getattr(heights, name) is not None]
    message = f"needs one of file, grid and generator, got {' and '.join(given) or 'none'}"
    yield len(given) != 1, key, message
    yield _numbers_rule(f"{key}.factor", heights.factor)
    seed = heights.seed
    whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) and seed >= 0
    yield not whole, f"{key}.seed", f"must be a whole number of at least 0, got {seed}"
    for i, row in enumerate(heights.grid or ()):
        yield _numbers_rule(f"{key}.grid[{i}]", row, size=len(heights.grid[0]))
    generator, owner, needed = heights.generator, given[0], ()
    if generator is not None:
        yield _choice_rule(f"{key}.generator", generator, TERRAINS)
        owner, needed = f"generator {generator}", ("resolution", *TERRAINS[generator])
    for name in ("resolution", "amplitude", "wavelength"):
        value = getattr(heights, name)
        message = f"is missing; {owner} needs it" if value is None else f"belongs to no {owner}; leave it out"
        yield (value is None) != (name not in needed), f"{key}.{name}", message
        yield _numbers_rule(f"{key}.{name}", value, optional=True)
        low = name != "amplitude" and value is not None and not value > 0.0
        yield low, f"{key}.{name}", f"must be greater than zero, got {value}"


def _material_rule(scene, name, key):
    known = ", ".join(scene.materials) or "none"
    message = f"material '{name}' is not defined under materials; defined: {known}"
    return name is not None and name not in scene.materials, key, message


def _surface_rules(scene, entry, key):
    """Coefficients of a material or of a pair: their ranges, and a friction model that has them."""
    model, owners = scene.friction_model, getattr(entry, "materials", None)
    exact, models = model == "coulomb_cone", " or ".join(ELASTIC_MODELS)
    for name in ("friction", "viscous", "restitution", "torsional", "rolling"):
        yield _numbers_rule(f"{key}.{name}", getattr(entry, name), low=0.0, optional=owners is not None)
    restitution = entry.restitution or 0.0
    yield restitution > 1.0, f"{key}.restitution", f"must be at most 1, got {restitution:g}"
    message = f"impacts under friction_model {model} are inelastic; use 0 here, or {models}"
    yield restitution > 0.0 and model not in ELASTIC_MODELS, f"{key}.restitution", message
    for name in ("torsional", "rolling"):
        message = f"{model} has no {name} friction; set friction_model: coulomb_cone, or 0 here"
        yield bool(getattr(entry, name)) and not exact, f"{key}.{name}", message
    friction, key = entry.anisotropic_friction, f"{key}.anisotropic_friction"
    if friction is None:
        return
    message = f"{model} is the same in all directions; set friction_model: coulomb_cone"
    yield not exact, key, message
    for name in ("along", "across"):
        yield _numbers_rule(f"{key}.{name}", getattr(friction, name), low=0.0)
    yield _numbers_rule(f"{key}.direction", friction.direction, size=3)
    yield not np.linalg.norm(friction.direction) > 0.0, f"{key}.direction", "must not be zero"
    message = "belongs to pairs; the direction of a material is that of its own links"
    yield friction.of is not None and owners is None, f"{key}.of", message
    if friction.of is not None:
        yield friction.of not in owners, f"{key}.of", f"must be {owners[0]} or {owners[1]}, got '{friction.of}'"


def _pair_rules(scene):
    seen = set()
    for i, pair in enumerate(scene.pairs):
        for name in pair.materials:
            yield _material_rule(scene, name, f"pairs[{i}].materials")
        message = f"the pair {' and '.join(pair.materials)} is listed twice"
        yield frozenset(pair.materials) in seen, f"pairs[{i}].materials", message
        problem = "is missing" if pair.friction is None else "stands beside anisotropic_friction"
        message = f"the key 'friction' {problem}; give one of the two"
        yield (pair.friction is None) == (pair.anisotropic_friction is None), f"pairs[{i}]", message
        yield from _surface_rules(scene, pair, f"pairs[{i}]")
        seen.add(frozenset(pair.materials))


def _model_rules(scene, model, key):
    yield from _pose_rules(model.pose, f"{key}.pose")
    yield from _base_rules(model, key)
    for name, rate in model.velocities.items():
        yield _numbers_rule(f"{key}.velocities.{name}", rate)
    for name, properties in model.joint_properties.items():
        place = f"{key}.joint_properties.{name}"
        for entry in fields(JointProperties):
            low = -np.inf if entry.name == "rest_position" else 0.0
            yield _numbers_rule(f"{place}.{entry.name}", getattr(properties, entry.name), low=low, optional=True)
        senseless = properties.rest_position is not None and not properties.stiffness
        yield senseless, f"{place}.rest_position", "has no meaning without a stiffness above zero; add it"
    for name, actuator in model.actuators.items():
        yield from _actuator_rules(actuator, f"{key}.actuators.{name}")
    yield _material_rule(scene, model.materials.default, f"{key}.materials.default")
    for link, material in model.materials.links.items():
        yield _material_rule(scene, material, f"{key}.materials.links.{link}")


def _actuator_rules(actuator, key):
    yield _choice_rule(f"{key}.kind", actuator.kind, ACTUATORS)
    for entry in fields(Actuator)[1:]:
        low = -np.inf if entry.name == "gear_ratio" else 0.0
        optional = entry.name in ("effort_limit", "series_stiffness")
        yield _numbers_rule(f"{key}.{entry.name}", getattr(actuator, entry.name), low=low, optional=optional)
    for name in sorted({"stiffness", "damping"} - set(ACTUATORS.get(actuator.kind, ()))):
        message = f"a {actuator.kind} actuator has none; leave it out"
        yield getattr(actuator, name) != 0.0, f"{key}.{name}", message
    if actuator.kind in ACTUATORS and actuator.kind != "effort":
        needed = ACTUATORS[actuator.kind][0]
        yield not getattr(actuator, needed) > 0.0, f"{key}.{needed}", f"a {actuator.kind} actuator needs it above zero"
    elastic = actuator.series_stiffness is not None
    yield actuator.series_stiffness == 0.0, f"{key}.series_stiffness", "must be above zero"
    message = "a rotor on a spring needs inertia: give rotor_inertia above zero"
    yield elastic and not actuator.gear_ratio * actuator.rotor_inertia, f"{key}.rotor_inertia", message
    message = "has no meaning without series_stiffness; add it"
    yield actuator.series_damping and not elastic, f"{key}.series_damping", message


def _coupling_rules(scene):
    for i, closure in enumerate(scene.loop_closures):
        key, kind, length = f"loop_closures[{i}]", closure.kind, closure.length
        yield _choice_rule(f"{key}.kind", kind, CLOSURE_NAMES)
        for end in ("pose_a", "pose_b"):
            yield from _pose_rules(getattr(closure, end) or Pose(), f"{key}.{end}")
        message = f"a closure of kind {kind} has no length; leave it out"
        yield length is not None and kind != "distance", f"{key}.length", message
        yield _numbers_rule(f"{key}.length", length, low=0.0, optional=True)
        message = "must be above zero; two points that coincide are the kind point"
        yield length == 0.0, f"{key}.length", message
        yield from _thread_rules(closure, key)
    for i, gear in enumerate(scene.gears):
        yield _numbers_rule(f"gears[{i}].ratio", gear.ratio)
        yield _numbers_rule(f"gears[{i}].offset", gear.offset)
        yield gear.joint_a == gear.joint_b, f"gears[{i}].joint_b", f"'{gear.joint_a}' cannot follow itself"
    for i, motion in enumerate(scene.motions):
        yield from _motion_rules(motion, f"motions[{i}]")
    needs = {
        "integrator": "semi_implicit_euler", "collision_scheme": "time_stepping", "solver": "auto",
    }  # fmt: skip
    for key, value in needs.items():
        yield bool(scene.motions) and getattr(scene, key) != value, key, f"motions need {value}"
    yield _numbers_rule("drift_rate", scene.drift_rate, low=0.0)
    yield scene.drift_rate >= 1.0, "drift_rate", f"must be below 1, got {scene.drift_rate:g}"


def _thread_rules(closure, key):
    """Of what only a closure of kind screw has."""
    screw = closure.kind == "screw"
    yield screw and not closure.pitch, f"{key}.pitch", "a screw needs a pitch [m] that is not zero"
    yield _numbers_rule(f"{key}.pitch", closure.pitch, optional=True)
    yield _numbers_rule(f"{key}.friction", closure.friction, low=0.0)
    yield _numbers_rule(f"{key}.end", closure.end, optional=True)
    for name, there in (("pitch", closure.pitch), ("friction", closure.friction or None), ("end", closure.end)):
        message = f"a closure of kind {closure.kind} has none; leave it out"
        yield there is not None and not screw, f"{key}.{name}", message


def _motion_rules(motion, key):
    """Of a prescribed motion, beside what ``model/closures.py`` finds out about its joint or closure."""
    yield (motion.joint is None) == (motion.closure is None), key, "give either a joint or the name of a loop closure"
    yield _choice_rule(f"{key}.interpolation", motion.interpolation, INTERPOLATIONS)
    of_joint = motion.joint is not None
    for name, wanted in (("positions", True), ("displacements", False), ("rotations", False), ("lengths", False)):
        values = getattr(motion, name)
        owner = "joint" if of_joint else "loop closure"
        yield len(values) > 0 and wanted != of_joint, f"{key}.{name}", f"a {owner} has none; leave it out"
        message = f"has {len(values)} values for {len(motion.times)} times"
        yield len(values) not in (0, len(motion.times)), f"{key}.{name}", message
        yield _numbers_rule(f"{key}.{name}", values, np.size(values))
    given = any(len(getattr(motion, name)) for name in ("positions", "displacements", "rotations", "lengths"))
    yield len(motion.times) > 0 and not given, f"{key}.times", "has times, but no values to go with them"
    yield not of_joint and not given, key, "a closure's motion needs displacements, rotations or lengths"
    yield len(motion.times) == 1, f"{key}.times", "needs two times at least, or none for a joint that stays"
    yield bool(np.any(np.diff(motion.times) <= 0.0)), f"{key}.times", "must grow from each to the next"
    for name in ("positions", "displacements", "rotations", "lengths"):
        values = getattr(motion, name)
        ends = motion.periodic and len(values) > 0 and not np.allclose(values[0], values[-1], rtol=0.0, atol=1e-9)
        yield ends, f"{key}.{name}", "a periodic motion ends where it starts"
