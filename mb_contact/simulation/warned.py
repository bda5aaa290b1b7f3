# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What is odd about a scene that is none the less simulated: the list of ``mb-contact check``."""

from typing import Any

import numpy as np

from mb_contact.collision.overlap import boxes_around
from mb_contact.core.step.pads import DEPTH
from mb_contact.dynamics.joint_space import nonlinear_effects
from mb_contact.model.pairs import PairLinks
from mb_contact.model.poses import tree_poses
from mb_contact.model.scene import DEFAULT_RATES, Scene
from mb_contact.model.shapes.visuals import scene_visuals
from mb_contact.model.world import World
from mb_contact.simulation.initial import geometry_poses, initial_penetrations
from mb_contact.types import (
    FOUNDATION,
    JOINT_PRISMATIC,
    RIGID,
    SHAPE_CONVEX,
    SHAPE_PLANE,
    SHAPE_SPHERE,
    SPRING,
    WORLD,
)

LONG = 20.0  #: a body that moves and is longer, or stands farther off, is meant in millimetres, more likely [m]
EARTH = (1.0, 30.0)  #: gravity of scenes in metres [m/s^2]
TURNS = 2.0 * np.pi  #: an angle beyond may be meant in degrees [rad]
DENSITIES = (2.0, 25e3)  #: of what may be handled [kg/m^3]
SPREAD = 1e3  #: times m r^2 from which on an inertia is meant in kg mm^2, or kg cm^2; any body has 1 at most
SUNK = 0.2  #: part of its least size by which a weight may press an object into what gives way
OFF_RATE = 0.05  #: part by which a rate may be another than was asked for
BEND = 0.05  #: by which gravity may bend a servo [rad, m]


def scene_warnings(scene: Scene, world: World) -> list[str]:
    """Sentences about what is odd.

    Parameters
    ----------
    scene : Scene
    world : World
        Of that scene.

    Returns
    -------
    list of str
        Lengths and places like millimetres; what reading the files gave; overlaps at the start; robots whose ``world``
        stands elsewhere; angles like degrees, masses and inertias that nothing of that size has; rates of sensors that
        steps are too long for; gravity that points up; servos that gravity bends, joints whose
        effort limit is below what gravity asks for; objects below which there is nothing; tendons of a length that does
        not change, or that hold what others hold; contacts so soft that objects sink into them; visuals
        that cannot be drawn.
    """
    first = [line for part in (_places, _sizes) for line in part(scene, world)]  # in other units all else is odd too
    parts = (_overlaps, _roots, _angles, _inertias, _rates, _servos, _falling, _tendons, _sinking, _missing)
    return [*first, *world.warnings, *(line for part in parts for line in part(scene, world))]


class Warned:
    """The part of a Simulator that tells what is odd about its scene."""

    scene: Any
    world: Any
    _odd: tuple[str, ...] | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd about the scene, as ``mb-contact check`` prints it; looked at when first asked for.

        Returns
        -------
        tuple of str

        Examples
        --------
        >>> ball = mb.model.Primitive("ball", "sphere", (0.1,), mb.model.Pose((0.0, 0.0, 1.0)), base="free", mass=1.0)
        >>> mb.Simulator(mb.Scene(primitives=(ball,))).warnings
        ("there is nothing below 'ball': it falls for ever; a ground: {} catches it",)
        """
        if self._odd is None:
            self._odd = tuple(scene_warnings(self.scene, self.world))
        return self._odd


def _missing(scene, world):
    return scene_visuals(scene, world)[1]


def _at(scene, key, text):
    """A sentence about a key, with file and line where the scene is of a file."""
    return f"{key}: {text}" if scene.path is None else str(scene.error(key, text))


def _overlaps(scene, world):
    soft = {frozenset(pair) for pair, law in zip(PairLinks(world.geoms.pairs, world.geometry_links),
                                                 world.geoms.soft.law) if law != RIGID}  # fmt: skip
    long = _long(world)
    for a, b, depth in initial_penetrations(world, engine=scene.collision_engine):
        if frozenset((a, b)) in soft or a in long or b in long:
            continue  # compressed, or told as too long
        yield f"{a} and {b} penetrate by {1000.0 * depth:.1f} mm at the start; move one, or disable the pair"


def _roots(scene, world):
    """Robots whose root link is called as the frame that does not move, and stands elsewhere."""
    for i, model in enumerate(world.robot_models):
        root = world.frames[model.root_link]
        if model.root_link == "world" and root.body == WORLD and not (root.p == 0.0).all():
            what = "its root link is called 'world' and stands elsewhere, which /tf and RViz take for the world itself"
            yield _at(scene, f"models[{i}]", f"{what}; rename it, as mb-contact new does")


def _angles(scene, world):
    """Angles that may be degrees."""
    for i, entry in enumerate(scene.models):
        turning = {name for name, v in zip(world.joint_names, world.joint_v) if not _slides(world, v)}
        for name, value in entry.joints.items():
            if name in turning and abs(value) > TURNS:
                yield _like_degrees(scene, f"models[{i}].joints.{name}", value)
    for kind, entries in (("models", scene.models), ("primitives", scene.primitives), ("sensors", scene.sensors)):
        for i, entry in enumerate(entries):
            largest = max(map(abs, (entry.pose and entry.pose.rpy) or (0.0,)))
            if largest > TURNS:
                yield _like_degrees(scene, f"{kind}[{i}].pose.rpy", largest)


def _slides(world, v):
    return world.tree.joint_type[np.searchsorted(world.tree.v_start, v, side="right") - 1] == JOINT_PRISMATIC


def _like_degrees(scene, key, value):
    meant = f"{value:g} degrees are {np.radians(value):.4g} rad"
    return _at(scene, key, f"{value:g} rad is more than a turn; angles are in rad, {meant}")


def _places(scene, world):
    """Robots and objects that stand far from the origin and from all else."""
    things = [(f"models[{i}]", entry.pose, world.robot_models[i].frames) for i, entry in enumerate(scene.models)]
    things += [(f"primitives[{i}]", entry.pose, {entry.name}) for i, entry in enumerate(scene.primitives)]
    far = {key: max(map(abs, pose.position)) if pose else 0.0 for key, pose, _ in things}
    if not _in_metres(world) or not any(LONG < distance < 1e3 * LONG for distance in far.values()):
        return
    R, p = geometry_poses(world)
    long, kinds = _long(world), zip(world.geoms.kind.tolist(), world.geometry_links)
    shapes = [g for g, (kind, link) in enumerate(kinds) if kind != SHAPE_PLANE and link not in long]
    low, high = boxes_around(world.geoms, shapes, R[shapes], p[shapes]).swapaxes(0, 1)
    for key, pose, links in things:
        if not LONG < far[key] < 1e3 * LONG or not long.keys().isdisjoint(links):
            continue
        own = np.array([world.geometry_links[g] in links for g in shapes], dtype=bool)
        lower, upper = (low[own].min(axis=0), high[own].max(axis=0)) if own.any() else [np.array(pose.position)] * 2
        gaps = np.linalg.norm(np.maximum(0.0, np.maximum(low[~own] - upper, lower - high[~own])), axis=1)
        if (gaps > LONG).all():
            meant = f"lengths are in m, {far[key]:g} mm are {1e-3 * far[key]:.4g} m"
            yield _at(scene, f"{key}.pose.position", f"{far[key]:g} m off, and nothing within {LONG:g} m; {meant}")


def _in_metres(world):
    """Whether gravity is of a scene in metres."""
    return EARTH[0] <= np.linalg.norm(world.gravity) <= EARTH[1]


def _long(world):
    """{link: (a shape, its length [m])} of bodies that move and are too long, and of what is too large all round."""
    found: dict[str, tuple[int, float]] = {}
    if not _in_metres(world):
        return found
    for g, (body, link, size) in enumerate(zip(world.geoms.body.tolist(), world.geometry_links, _own_sizes(world))):
        if body == WORLD and (world.geoms.kind[g] >= SHAPE_CONVEX or size.min() <= LONG):
            continue
        if size.max() > LONG:
            found.setdefault(link, (g, float(size.max())))
    return found


def _own_sizes(world):
    """Sizes (g, 3) [m] of the boxes around all geometries in their own axes."""
    count = len(world.geometry_links)
    boxes = boxes_around(world.geoms, range(count), np.tile(np.eye(3), (count, 1, 1)), np.zeros((count, 3)))
    return boxes[:, 1] - boxes[:, 0]


def _sizes(scene, world):
    """Bodies that are too long, and free ones that are too heavy or too light for their size."""
    if not _in_metres(world):
        return
    told, sizes = set(), _own_sizes(world)
    for link, (g, long) in _long(world).items():
        told.add(link)
        mesh = world.geoms.kind[g] >= SHAPE_CONVEX
        remedy = "a mesh in mm needs scale: [0.001, 0.001, 0.001]" if mesh else f"{long:.3g} mm are {1e-3 * long:.3g} m"
        yield f"'{link}' is {long:.3g} m long; lengths are in m, {remedy}"
    for g, (body, link) in enumerate(zip(world.geoms.body.tolist(), world.geometry_links)):
        if body == WORLD or link in told or link not in world.objects or len(world.link_geometries[link]) != 1:
            continue
        volume = float(sizes[g].prod())
        density = float(world.tree.mass[world.objects[link]]) / volume if volume > 0.0 else DENSITIES[0]
        if not DENSITIES[0] <= density <= DENSITIES[1]:
            grams = " (grams?)" if DENSITIES[0] <= 1e-3 * density <= DENSITIES[1] else ""
            yield f"'{link}' has {density:.2g} kg/m^3 in its box; masses are in kg{grams} and lengths in m"


def _inertias(scene, world):
    """Bodies that are harder to turn than their mass at the farthest point of their shapes."""
    boxes = boxes_around(world.geoms, range(len(world.geometry_links)), world.geoms.R, world.geoms.p)
    for body in sorted(set(world.geoms.body.tolist()) - {WORLD}):
        shapes = np.flatnonzero(world.geoms.body == body).tolist()
        far = np.linalg.norm(np.abs(boxes[shapes] - world.tree.com[body]).max(axis=1), axis=1).max()
        most, inertia = world.tree.mass[body] * far**2, np.linalg.eigvalsh(world.tree.inertia[body])[-1]
        if inertia > SPREAD * most > 0.0:
            what = f"'{world.geometry_links[shapes[0]]}' has a moment of inertia of {inertia:.2g} kg m^2"
            yield f"{what}, where its mass and size allow {most:.1g}; 1 kg mm^2 is 1e-6 kg m^2"


def _rates(scene, world):
    """Sensors and topics whose rate is another than was asked for, since they come after whole steps."""
    rates = [(f"sensors[{i}].rate", sensor.rate) for i, sensor in enumerate(scene.sensors)]
    asked = {name: rate for name, rate in scene.rates.items() if rate != DEFAULT_RATES.get(name)}
    rates += [(f"rates.{name}", rate) for name, rate in asked.items() if name.endswith("_rate")]
    for key, wanted in rates:
        steps = 1.0 / (wanted * scene.time_step) if wanted > 0.0 else 1.0
        taken = max(1, round(steps))
        if abs(steps / taken - 1.0) > OFF_RATE:
            rate = 1.0 / (taken * scene.time_step)
            yield _at(scene, key, f"{wanted:g} /s is {rate:.4g} /s with steps of {scene.time_step:g} s")


def _servos(scene, world):
    """Joints that gravity bends or overcomes at the start."""
    if scene.loop_closures or scene.gears or world.hinge_names or not world.joint_names:
        return
    h = nonlinear_effects(world, world.q0, np.zeros(len(world.v0)), world.gravity)
    kept = np.arange(len(h))
    if world.S is not None:
        h, kept = world.S.T @ h, np.delete(kept, world.follower_v)
    at = {int(v): i for i, v in enumerate(kept)}
    for name, v in zip(world.joint_names, world.joint_v.tolist()):
        effort, gain, limit = abs(h[at[v]]), world.joints.gain[v], world.tree.effort_limit[v]
        if world.joints.stiffness[v] > 0.0 or world.joints.friction[v] >= effort:
            continue
        unit, way = ("N", "m") if _slides(world, v) else ("N m", "rad")
        if 0.0 < limit < effort:
            yield f"joint '{name}': gravity asks for {effort:.3g} {unit} at the start, above its limit {limit:.3g}"
        elif gain > 0.0 and effort / gain > BEND:
            wanted = f"a stiffness of {10.0 * effort / BEND:.3g} {unit}/{way} leaves {0.1 * BEND:g} {way}"
            yield f"joint '{name}': gravity bends its actuator by {effort / gain:.2g} {way} at the start; {wanted}"


def _falling(scene, world):
    """Free bodies with nothing below."""
    down = world.gravity / max(np.linalg.norm(world.gravity), 1e-12)
    if down[2] > 0.5:
        yield f"gravity is {world.gravity[2]:g} m/s^2 along z, which points up"
    if not np.allclose(down, (0.0, 0.0, -1.0), atol=1e-3):
        return
    held = {end for closure in scene.loop_closures for end in (closure.link_a, closure.link_b)}
    held |= {element.link for tendon in scene.tendons if tendon.acts or tendon.tension for element in tendon.path}
    standing = _standing(scene, world)
    for name, body in world.objects.items():
        root = int(world.tree.root[body])
        bodies = set(np.flatnonzero(world.tree.root == root).tolist())
        links = {link for link, frame in world.frames.items() if frame.body in bodies}
        moves = world.v0[world.tree.v_start[body] : world.tree.v_start[body] + 6].any()
        if root not in standing and not links & held and not moves:
            shaped = not links.isdisjoint(world.link_geometries)
            way = "let it collide with the ground" if shaped else "give it a collision shape"
            way = way if scene.ground is not None else "a ground: {} catches it"
            yield f"there is nothing below '{name}': it falls for ever; {way}"


def _tendons(scene, world):
    """Tendons that stay on one body, and such that hold the path of another one."""
    body = {link: frame.body for link, frame in world.frames.items()}
    rigid = ("held_length", "longest", "shortest")
    for i, tendon in enumerate(scene.tendons):
        ends = {body.get(element.link, WORLD) for element in tendon.path if element.link is not None}
        if len(ends) == 1 and not any(element.joint for element in tendon.path):
            yield f"tendon '{tendon.name}' stays on one body, its length does not change; put an end on another one"
        for other in scene.tendons[:i]:
            both = [key for key in rigid if getattr(tendon, key) is not None and getattr(other, key) is not None]
            if other.path == tendon.path and both:
                words = f"'{other.name}' and '{tendon.name}' have one path and both a {both[0]}"
                yield f"tendons {words}: they share its force; leave one out"


def _sinking(scene, world):
    """Objects that their weight presses deep into what gives way below them."""
    g, soft = float(np.linalg.norm(world.gravity)), world.geoms.soft
    told, own = set(), _own_sizes(world)
    for row in np.flatnonzero((soft.law == SPRING) | (soft.law == FOUNDATION)).tolist():
        a, b = world.geoms.pairs[row].tolist()
        for one, other in ((a, b), (b, a)):
            name, k = world.geometry_links[one], float(soft.stiffness[row])
            if name not in world.objects or name in told or world.geoms.body[other] != WORLD:
                continue
            sizes = np.sort(own[one])
            many = 1 if world.geoms.kind[one] == SHAPE_SPHERE else 4
            hard = k * (many if soft.law[row] == SPRING else float(sizes[1] * sizes[2]))
            depth = float(world.tree.mass[world.objects[name]]) * g / hard
            if depth > SUNK * sizes[0]:
                told.add(name)
                on = world.geometry_links[other]
                yield (f"'{name}' sinks {1000.0 * depth:.3g} mm into '{on}' under its weight, more than {SUNK:g} of "
                       f"its size; {100.0 * k * depth / sizes[0]:.2g} in the place of {k:.2g} leaves 0.01")  # fmt: skip


def _standing(scene, world) -> set[int]:
    """Roots of the trees that have something that stands below that they can touch, or at a pad, and WORLD."""
    R, p = geometry_poses(world)
    boxes = boxes_around(world.geoms, range(len(world.geometry_links)), R, p)
    bodies, roots = world.geoms.body.tolist(), world.tree.root
    free = {int(roots[body]) for body in world.objects.values()}

    def root_of(body):
        return WORLD if body == WORLD or int(roots[body]) not in free else int(roots[body])

    root = np.array([root_of(body) for body in bodies], dtype=np.int64)
    above: list[tuple[int, int]] = []
    for link, g in _pulled(scene, world, boxes):
        pad = root_of(world.frames[link].body)
        above += [(pad, int(root[g])), (int(root[g]), pad)]
    x, y = np.vstack((world.geoms.pairs, world.geoms.pairs[:, ::-1])).T
    over = (root[x] != root[y]) & _over(world, boxes, x, y)
    above += set(zip(root[x[over]].tolist(), root[y[over]].tolist()))
    standing = {WORLD}
    while grown := {top for top, below in above if below in standing} - standing:
        standing |= grown
    return standing


def _over(world, boxes, x, y):
    """Whether geometries y (k,) reach below geometries x (k,), beside which they are not."""
    (low, high), (lower, upper) = boxes[x].swapaxes(0, 1), boxes[y].swapaxes(0, 1)
    beside = ((high[:, :2] < lower[:, :2]) | (upper[:, :2] < low[:, :2])).any(axis=1)
    return (world.geoms.kind[y] == SHAPE_PLANE) | ~beside & (lower[:, 2] <= high[:, 2])


def _pulled(scene, world, boxes):
    """(link, geometry) of pads that are on, and what they reach."""
    R, p = tree_poses(world.tree, world.q0, world.flexible)
    for pad in scene.adhesion_pads:
        R_link, p_link = world.frames[pad.link].placed(R, p)
        R_pad, reach = R_link @ pad.pose.rotation(), pad.knots[-1][0]
        points = p_link + R_link @ pad.pose.origin() + np.array(pad.points) @ R_pad.T
        ends = points - max(reach, DEPTH) * R_pad[:, 2], points + reach * R_pad[:, 2]
        for g, (lower, upper) in enumerate(boxes):
            near = (np.maximum(*ends) >= lower) & (np.minimum(*ends) <= upper)
            if pad.on and world.geoms.kind[g] != SHAPE_PLANE and near.all(axis=1).any():
                yield pad.link, g
