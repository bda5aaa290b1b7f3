# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a scene must be to make sense, whether it was written in Python or read from a file.

Types, ranges, and what one key asks of others are declared with the keys (``keys.py``); here is what is left: names
that must differ, numbers that must fit each other.  A rule yields (whether it is broken, key, what is wrong).
"""

import math
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from mb_contact.checks import instead_of
from mb_contact.keys.declaration import Key, alternatives, broken_conditions, declared
from mb_contact.keys.kinds import Kind, Record, Text
from mb_contact.model.flexible.beams import SECTIONS
from mb_contact.model.scene.bodies import SHAPE_SIZES, Heights, Pose, Primitive, PrimitiveVisual
from mb_contact.model.scene.couplings import Motion
from mb_contact.model.scene.flexible_links import Beam
from mb_contact.model.scene.handling import REACH
from mb_contact.model.scene.materials import AnisotropicFriction
from mb_contact.model.scene.places import NamedPose, is_box, is_hull, is_sphere
from mb_contact.model.scene.records import Scene
from mb_contact.model.scene.sensors import MOST_RAYS, Image, Scan
from mb_contact.model.scene.tendons import AXIS
from mb_contact.types import SHAPE_HEIGHT_FIELD, SHAPE_PLANE

Rule = tuple[bool, str, str]
Fault = tuple[str, str]  #: place and message


def check_scene(scene: Scene) -> None:
    """Refuse a scene whose entries do not fit together.

    Raises
    ------
    SceneError
        A number out of its range, a key without one that it needs, a free body without mass, a name used twice, a
        material that is not defined, a size that does not belong to its shape, a period that is no multiple of the
        time step.
    """
    rules = ((key, message) for broken, key, message in _scene_rules(scene) if broken)
    for place, message in chain(_faults(Record(Key(""), Scene), scene, "", scene), rules):
        raise scene.error(place, message)


def faults_of_record(record: Any, place: str) -> Iterator[Fault]:
    """(place, what is wrong) of one record by itself, whose values are in their ranges."""
    for broken, name, message in RULES.get(type(record), lambda _: ())(record):
        if broken:
            yield _join(place, name), message
    yield from ((_join(place, name), message) for name, message in broken_conditions(record))


def _join(place, name):
    return f"{place}.{name}" if place and name else place or name


def _faults(kind: Kind, value: Any, place: str, scene: Scene) -> Iterator[Fault]:
    """Of a value and all that is in it, by itself and beside the scene's other keys."""
    yield from kind.faults(value, place)
    refers = kind.key.refers
    if isinstance(kind, Text) and refers and value not in getattr(scene, refers):
        defined = instead_of(value, getattr(scene, refers), "defined:")
        yield place, f"{refers.removesuffix('s')} '{value}' is not defined under {refers}; {defined}"
    for part in kind.parts(value, place):
        yield from _faults(*part, scene)
    if isinstance(kind, Record) and isinstance(value, kind.record):
        yield from faults_of_record(value, place)
        for name, (about, *_) in declared(kind.record).items():
            yield from ((_join(place, name), message) for message in _unmet_needs(scene, about, getattr(value, name)))


def _unmet_needs(scene: Scene, about: Key, value: Any) -> Iterator[str]:
    """What a key of this value lacks among the scene's."""
    for other, values in about.needs.items():
        got = getattr(scene, other)
        if got not in values and (value in about.when if about.when else bool(value)):
            who = f"'{value}' " if about.when else ""
            why = f": {about.why}" if about.why else ""
            remedy = "set that, or leave this key out"
            yield f"{who}needs {other} {alternatives(values)}, got {got}{why}; {remedy}"


def _scene_rules(scene: Scene) -> Iterator[Rule]:
    """Of names that must differ and of settings that several keys make together."""
    yield from _study_rules(scene)
    yield from _name_rules(scene, "primitives", taken=("ground",) if scene.ground is not None else ())
    yield from _name_rules(scene, "named_poses")
    for key in ("sensors", "adhesion_pads", "moving_surfaces", "tendons"):
        yield from _name_rules(scene, key)
        yield from _topic_rules(key, [entry.name for entry in getattr(scene, key)])
    yield from _topic_rules("contact_wrench_links", scene.contact_wrench_links, "")
    yield from _friction_rules(scene)
    for i, gear in enumerate(scene.gears):
        yield gear.joint_a == gear.joint_b, f"gears[{i}].joint_b", f"'{gear.joint_a}' cannot follow itself"
    yield from _handling_rules(scene)
    yield from _tendon_rules(scene)
    period = scene.rates.get("control_period", scene.time_step)
    steps = period / scene.time_step
    message = f"{period} s must be a multiple of the time step {scene.time_step} s"
    yield round(steps) < 1 or abs(steps - round(steps)) > 1e-6, "rates.control_period", message


def _study_rules(scene: Scene) -> Iterator[Rule]:
    """Of the friction models whose problems a solver knows that is asked for."""
    known = (*(("coulomb_polyhedral",) if scene.solver == "lemke" else ()), "no_slip", "viscous")
    message = f"{scene.solver} solves problems of friction_model {alternatives(known)}; set that, or solver: auto"
    yield scene.pivots and scene.friction_model not in known, "solver", message


def _friction_rules(scene: Scene) -> Iterator[Rule]:
    """Of pairs that are listed twice, and of whose direction it is."""
    pairs = [frozenset(pair.materials) for pair in scene.pairs]
    for i, pair in enumerate(scene.pairs):
        message = f"the pair {' and '.join(pair.materials)} is listed twice"
        yield pairs[i] in pairs[:i], f"pairs[{i}].materials", message
        owner = pair.anisotropic_friction.of if pair.anisotropic_friction else None
        message = f"must be {pair.materials[0]} or {pair.materials[1]}, got '{owner}'"
        yield owner not in (None, *pair.materials), f"pairs[{i}].anisotropic_friction.of", message
    for name, material in scene.materials.items():
        owned = material.anisotropic_friction is not None and material.anisotropic_friction.of is not None
        message = "belongs to pairs; the direction of a material is that of its own links"
        yield owned, f"materials.{name}.anisotropic_friction.of", message


def _handling_rules(scene: Scene) -> Iterator[Rule]:
    """Welds that come on and off have names of their own, curves of pads grow, a link has one surface motion."""
    for i, pad in enumerate(scene.adhesion_pads):
        gaps = [gap for gap, _ in pad.curve]
        yield gaps != sorted(set(gaps)), f"adhesion_pads[{i}].curve", "its gaps do not grow"
        yield any(part > 1.0 for _, part in pad.curve), f"adhesion_pads[{i}].curve", "a part of the force is above 1"
        message = "has no meaning beside curve, whose last gap is the reach; leave one of them out"
        yield bool(pad.curve) and pad.reach != REACH, f"adhesion_pads[{i}].reach", message
        yield not pad.points, f"adhesion_pads[{i}].points", "has no points; give one at least"
    names = [closure.name or f"{closure.link_a}_{closure.link_b}" for closure in scene.loop_closures]
    for i, closure in enumerate(scene.loop_closures):
        message = f"'{names[i]}' is used twice; give a weld that comes on and off its own name"
        yield closure.switched and names.count(names[i]) > 1, f"loop_closures[{i}].name", message
    yield from _topic_rules("loop_closures", [x if c.switched else None for c, x in zip(scene.loop_closures, names)])
    driven, known = [motion.surface for motion in scene.motions], [entry.name for entry in scene.moving_surfaces]
    for i, name in enumerate(driven):
        message = f"no moving surface is called '{name}'; surfaces: {', '.join(known) or 'none'}"
        yield name is not None and name not in known, f"motions[{i}].surface", message
        yield name is not None and name in driven[:i], f"motions[{i}].surface", f"'{name}' is driven twice"
    links = [entry.link for entry in scene.moving_surfaces]
    for i, link in enumerate(links):
        yield link in links[:i], f"moving_surfaces[{i}].link", f"'{link}' moves twice; give one velocity"


def _name_rules(scene: Scene, key: str, taken: Sequence[str] = ()) -> Iterator[Rule]:
    """Each entry of a list of the scene has a name of its own, none that is taken."""
    seen = set(taken)
    for i, entry in enumerate(getattr(scene, key)):
        said = f"'{entry.name}' is used twice" if entry.name else "is empty"
        yield not entry.name or entry.name in seen, f"{key}[{i}].name", f"{said}; give each its own name"
        seen.add(entry.name)


def _topic_rules(key: str, names: Sequence[str | None], of: str = ".name") -> Iterator[Rule]:
    """Names are those of topics too, in which all but letters, digits and _ is _; None for entries without topics."""
    topics = [name and re.sub(r"^(?=\d)", "_", re.sub(r"\W", "_", name, flags=re.ASCII)) for name in names]
    for i, (name, topic) in enumerate(zip(names, topics)):
        message = f"'{name}' has topics of {topic}, as another one; change a letter or a digit"
        message = f"'{name}' stands here twice; leave one out" if name in names[:i] else message
        yield topic is not None and topic in topics[:i], f"{key}[{i}]{of}", message


def _tendon_rules(scene: Scene) -> Iterator[Rule]:
    """Tendons have paths along which something moves, and lengths that fit each other."""
    message = "bodies that tendons join do not sleep; leave sleep out"
    yield bool(scene.tendons and scene.sleep), "sleep", message
    for i, tendon in enumerate(scene.tendons):
        key, path = f"tendons[{i}]", tendon.path
        low = -math.inf if tendon.shortest is None else tendon.shortest
        high = math.inf if tendon.longest is None else tendon.longest
        yield low > high, f"{key}.shortest", f"{low:g} m is more than the greatest length, {high:g} m"
        stiff = tendon.friction > 0.0 or any(element.friction > 0.0 for element in path)
        bounded = (tendon.shortest, tendon.longest, tendon.held_length) != (None, None, None)
        message = "under rk4 and adaptive tendons have springs, dampers and tensions; set semi_implicit_euler"
        yield scene.integrator in ("rk4", "adaptive") and (stiff or bounded), "integrator", message
        for name in () if any(element.joint for element in path) else ("held_length", "longest"):
            length = getattr(tendon, name)
            message = f"{length} m is below zero, and a length between points is not; give one above it"
            yield length is not None and length < 0.0, f"{key}.{name}", message
        held = tendon.held_length
        message = f"{held} m is beyond the shortest or longest length; leave one of them out"
        yield held is not None and not low <= held <= high, f"{key}.held_length", message
        message = "has no meaning beside pulls_only, whose spring is loose below its rest length; leave one of them out"
        yield tendon.pulls_only and tendon.slack > 0.0, f"{key}.slack", message
        loose = "slack" if tendon.slack > 0.0 else "pulls_only" if tendon.pulls_only else ""
        loose = "rest_length" if not loose and tendon.rest_length is not None else loose
        message = "is that of a spring; give the tendon a stiffness or damping, or leave it out"
        yield bool(loose) and max(tendon.stiffness, tendon.damping) == 0.0, f"{key}.{loose}", message
        twin = next((one for one in scene.tendons[:i] if one.path == path and one.held_length is not None), None)
        if twin is not None and held is not None and held != twin.held_length:
            message = f"{held:g} m, and '{twin.name}' holds the same path at {twin.held_length:g} m; leave one out"
            yield True, f"{key}.held_length", message
        for j, element in enumerate(path):
            message = "is that of a point or a shape; add its link, or leave it out"
            yield element.link is None and any(element.position), f"{key}.path[{j}].position", message
            message = "is that of a cylinder; add its shape, or leave it out"
            yield element.shape is None and element.axis != AXIS, f"{key}.path[{j}].axis", message
        points = [element.link is not None and element.shape is None for element in path]
        along = any(a and b for a, b in zip(points, points[1:])) or any(element.joint for element in path)
        around = [j for j, element in enumerate(path) if element.shape is not None]
        yield not (along or around), f"{key}.path", "has no way; give two points one after the other, or a joint"
        for j in around:
            inside = 0 < j < len(path) - 1 and points[j - 1] and points[j + 1]
            yield not inside, f"{key}.path[{j}].shape", "a shape has a point before and a point behind it"
            yield not any(path[j].axis), f"{key}.path[{j}].axis", "has no direction"
        rubs = [j for j in around if path[j].friction > 0.0]
        message = "one shape of a tendon has friction; cut the tendon in two, joined by a body"
        yield len(rubs) > 1, f"{key}.path[{rubs[-1] if rubs else 0}].friction", message
        other = any(element.divisor or element.joint for element in path)
        message = "friction on a shape is that of a tendon without pulleys and joints; leave them out"
        yield bool(rubs) and other, f"{key}.path[{rubs[0] if rubs else 0}].friction", message


def _pose_rules(pose: Pose) -> Iterator[Rule]:
    quat = (1.0,) if pose.quat_xyzw is None else pose.quat_xyzw
    length = np.linalg.norm(quat)
    yield abs(length - 1.0) > 1e-3, "quat_xyzw", f"must be a unit quaternion x y z w, got a length of {length:g}"


def _primitive_rules(primitive: Primitive) -> Iterator[Rule]:
    shape = primitive.shape
    yield from _visual_rules(primitive)
    pieceless = shape == "mesh" and primitive.mesh is None and not primitive.pieces
    yield pieceless, "mesh", "a mesh needs the address of its file, or pieces"
    message = f"a {shape.replace('_', ' ')} has no mass and cannot be free; use base: weld"
    yield primitive.base == "free" and primitive.kind() in (SHAPE_PLANE, SHAPE_HEIGHT_FIELD), "base", message
    massless = primitive.base == "free" and primitive.mass is None and primitive.density is None
    yield massless, "mass", "a primitive of base free needs a mass; add mass: 2.0, or a density"


def _visual_rules(visual: Primitive | PrimitiveVisual) -> Iterator[Rule]:
    """Of size and colour, which objects and their looks have."""
    shape, size, wanted = visual.shape, list(visual.size), SHAPE_SIZES[visual.shape]
    form = f"[{', '.join(wanted)}]" if wanted else "none"
    yield len(size) != len(wanted), "size", f"a {shape} has size {form}, got {size}"
    colour = list(visual.color)
    yield len(colour) not in (0, 3, 4), "color", f"is red, green, blue, and opacity where one likes, got {colour}"


def _height_rules(heights: Heights) -> Iterator[Rule]:
    grid = heights.grid if heights.grid is not None else ()
    for i, row in enumerate(grid):
        columns = len(grid[0])
        yield len(row) != columns, f"grid[{i}]", f"must have {columns} numbers, as the first row, got {len(row)}"


def _anisotropy_rules(friction: AnisotropicFriction) -> Iterator[Rule]:
    yield not np.linalg.norm(friction.direction) > 0.0, "direction", "must not be zero"


def _motion_rules(motion: Motion) -> Iterator[Rule]:
    """Of a prescribed motion, beside what ``model/closures.py`` finds out about its joint or closure."""
    of_joint, of_surface, times = motion.joint is not None, motion.surface is not None, motion.times
    values = {name: getattr(motion, name) for name in ("positions", "displacements", "rotations", "lengths", "speeds")}
    for name, entries in values.items():
        what = "joint" if of_joint else "surface" if of_surface else "loop closure"
        fits = (name == "positions") == of_joint and (name == "speeds") == of_surface
        yield len(entries) > 0 and not fits, name, f"a {what} has none; leave it out"
        yield len(entries) not in (0, len(times)), name, f"has {len(entries)} values for {len(times)} times"
        ends = motion.periodic and len(entries) > 0 and not np.allclose(entries[0], entries[-1], rtol=0.0, atol=1e-9)
        yield ends, name, "a periodic motion ends where it starts"
    given = any(len(entries) for entries in values.values())
    yield len(times) > 0 and not given, "times", "has times, but no values to go with them"
    yield of_surface and not given, "speeds", "a surface's motion needs speeds"
    yield not (of_joint or of_surface or given), "", "a closure's motion needs displacements, rotations or lengths"
    yield len(times) == 1, "times", "needs two times at least, or none for a joint that stays"
    yield bool(np.any(np.diff(times) <= 0.0)), "times", "must grow from each to the next"


def _image_rules(image: Image) -> Iterator[Rule]:
    yield from _ray_rules(image, image.width * image.height)


def _scan_rules(scan: Scan) -> Iterator[Rule]:
    yield scan.angles[1] < scan.angles[0], "angles", "the second must not be below the first"
    yield scan.elevations[1] < scan.elevations[0], "elevations", "the second must not be below the first"
    yield from _ray_rules(scan, scan.samples * scan.rings)


def _ray_rules(rays: Any, count: int) -> Iterator[Rule]:
    yield count > MOST_RAYS, "", f"{count} rays are more than {MOST_RAYS}"
    yield rays.far <= rays.near, "far", f"must be above near, {rays.near}"


def _place_rules(place: NamedPose) -> Iterator[Rule]:
    message = "must be two corners, the upper right one first, that lie apart in every direction"
    yield bool(place.box) and not is_box(place.box), "box", message
    message = "must be a centre and a radius greater than zero"
    yield place.sphere is not None and not is_sphere(place.sphere), "sphere", message
    yield bool(place.hull) and not is_hull(place.hull), "hull", "needs three corners that lie on no line"


def _beam_rules(beam: Beam) -> Iterator[Rule]:
    yield not beam.length > 0.0, "end", "must not be where the beam starts"
    along = np.linalg.norm(np.cross(np.subtract(beam.end, beam.start), beam.up))
    yield not along > 1e-6 * beam.length * np.linalg.norm(beam.up), "up", "must not lie along the beam"
    wanted = SECTIONS[beam.section]
    message = f"a {beam.section} has size [{', '.join(wanted)}], got {list(beam.size)}"
    yield len(beam.size) != len(wanted), "size", message
    solid = beam.section == "tube" and beam.size[1] >= beam.size[0]
    yield solid, "size", "the inner radius must be below the outer"
    yield len(beam.motions) == 0, "motions", "needs one at least"


#: Rules of single records.
RULES: dict[type, Any] = {
    Pose: _pose_rules, Primitive: _primitive_rules, PrimitiveVisual: _visual_rules, Heights: _height_rules,
    AnisotropicFriction: _anisotropy_rules,
    Motion: _motion_rules, Image: _image_rules, Scan: _scan_rules, NamedPose: _place_rules, Beam: _beam_rules,
}  # fmt: skip
