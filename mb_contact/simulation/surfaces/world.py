# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The World of a scene of ordinary objects and surface contacts: each surface body is a free body of it.

What ordinary objects meet of a surface body is its shape: spheres and ellipsoids exactly, other closed surfaces by the
convex hull of their points.  The contact of the two surfaces has a pair of geometries of its own, so that its row
stands among those of ordinary contacts; the second of them, the *anchor*, is fixed to the parent, far from everything.
"""

from dataclasses import dataclass, replace

import numpy as np

from mb_contact.model.model import Frame, Geometry
from mb_contact.model.scene import SceneModel
from mb_contact.model.shapes.hulls import convex_hull
from mb_contact.model.shapes.inertia import RigidInertia
from mb_contact.model.world import collect_parts
from mb_contact.surfaces.scene_build import build_tree
from mb_contact.surfaces.scene_file import TREE_KEY, load_surface_scene
from mb_contact.types import JOINT_NQ, SHAPE_CONVEX, SHAPE_ELLIPSOID, SHAPE_PLANE, SHAPE_SPHERE, WORLD

FAR = 1e6  #: where anchors are, each in a shell of its own about its body [m]
ANCHOR = 1e-3  #: radius of an anchor [m]
HULL_ROWS = 33  #: points along each side of a chart, of which a hull is made
ROLLS = 1e3  #: friction coefficient of the row of a contact that never slips
ANCHORS = " on its surface"  #: after a body's name, of its anchor's link until the pairs are known


@dataclass(frozen=True)
class Carrier:
    """The robot that carries surfaces, in the World and in the SurfaceTree, where its coordinates are the first."""

    bodies: slice  #: of the World
    q: slice
    v: slice


def shared_scene(scene):
    """The ordinary Scene with the robot that carries surfaces behind its own, and neighbours that never collide.

    Parameters
    ----------
    scene : SurfaceScene
        With an ordinary part.
    """
    ordinary, part = scene.ordinary, scene.model
    models = ordinary.models
    if part is not None:
        models += (SceneModel(part.urdf, joints=part.joints, velocities=part.velocities),)
    below = {c.body.name: c.base_name() if _has_base(c) else c.on.link for c in scene.contacts}
    neighbours = tuple((name, link) for name, link in below.items() if link is not None)
    filters = ordinary.collision_filters
    filters = replace(filters, disable=(*filters.disable, *neighbours))
    return replace(ordinary, models=models, collision_filters=filters)


def _has_base(part):
    """Whether a contact's parent is a surface in the world that ordinary objects meet too."""
    return part.on.link is None and _shape(part.on.surface, None) is not None


def shared_world(scene, ordinary, tree):
    """The World of a scene, and the rows in its pairs that stand for the surface contacts, int64 (c,).

    Parameters
    ----------
    scene : SurfaceScene
    ordinary : Scene
        Of ``shared_scene``.
    tree : SurfaceTree
        At its start.

    Raises
    ------
    SceneError
        As ``build_world``; a material that does not exist, or a coupling of what the tree moves.
    """
    refuse_couplings(scene, tree)
    builder = collect_parts(ordinary)
    ends = []
    for j, (part, contact) in enumerate(zip(scene.contacts, tree.contacts)):
        key = scene.key(j)
        for place, material in (("body", part.body.material), ("on", part.on.material)):
            message = f"there is no material '{material}'; define it under materials"
            missing = material is not None and material not in ordinary.materials
            ordinary.refuse_if(missing, f"{key}.{place}.material", message)
        body = _add_body(builder, tree, contact, f"{key}.body.name")
        shape = _shape(part.body.surface, contact.body.surface)
        ends.append(_add_geometries(builder, contact, part, body, shape, j))
        if _has_base(part):
            _add_base(builder, part, f"{key}.on")
    return _with_laws(builder.world(), tree, ends)


def describe_others(path):
    """Lines about the ordinary objects of a scene file of surfaces, and its World; none, and None, where it has none.

    Raises
    ------
    SceneError
        As ``shared_world``.
    """
    scene = load_surface_scene(path)
    if scene.ordinary is None:
        return [], None
    tree = build_tree(scene)
    world, _ = shared_world(scene, shared_scene(scene), tree)
    robots = [model.name for model in world.robot_models[: len(scene.ordinary.models)]]
    own = {contact.name for contact in tree.contacts}
    shapes = len(world.geometry_names) - len(world.anchors)
    return [
        f"robots     {', '.join(robots) or 'none'}",
        f"objects    {', '.join(name for name in world.objects if name not in own) or 'none'}",
        f"           {shapes} collision shapes, {len(world.geoms.pairs)} pairs that may touch",
    ], world


def refuse_couplings(scene, tree):
    """Raise SceneError where something ordinary holds a joint or a link that the tree moves."""
    ordinary, moved = scene.ordinary, set(tree.link_names())
    joints = set() if tree.model is None else set(tree.model.joint_names)
    message = "'{}' is moved by " + TREE_KEY + ", whose joints know no loops, gears and motions: leave it out"
    for i, closure in enumerate(ordinary.loop_closures):
        for end in (closure.link_a, closure.link_b):
            ordinary.refuse_if(end in moved, f"loop_closures[{i}]", message.format(end))
    for i, gear in enumerate(ordinary.gears):
        for joint in (gear.joint_a, gear.joint_b):
            ordinary.refuse_if(joint in joints, f"gears[{i}]", message.format(joint))
    for i, motion in enumerate(ordinary.motions):
        ordinary.refuse_if(motion.joint in joints, f"motions[{i}]", message.format(motion.joint))


def carrier(world, tree):
    """The Carrier of a tree with a robot, or None."""
    model = tree.model
    if model is None:
        return None
    first = world.body_names.index(model.body_names[0])
    q, v = int(world.tree.q_start[first]), int(world.tree.v_start[first])
    nq = sum(JOINT_NQ[kind] for kind in model.tree.joint_type)
    return Carrier(slice(first, first + model.n), slice(q, q + nq), slice(v, v + len(model.tree.armature)))


def _add_body(builder, tree, contact, key):
    """The free body of a surface contact; its number."""
    body = contact.body
    R, p = tree.pose(contact.name)
    inertia = RigidInertia(float(body.mass), np.array(body.com, float), np.array(body.inertia, float))
    return builder.add_body(contact.name, inertia, R, p, np.concatenate(tree.velocity(contact.name)), key)


def _add_geometries(builder, contact, part, body, shape, j):
    """The body's shape, or an anchor where it has none, and the parent's anchor; their numbers in the world."""
    first, name = len(builder.geometries), contact.name
    if shape is None:
        shape = _anchor(2 * j + 1)
    kind, size, R, p, hull = shape
    builder.geometries.append(Geometry(name, name, body, kind, size, R, p, part.body.material, hull=hull))
    below = Frame(WORLD, np.eye(3), np.zeros(3)) if contact.parent is None else builder.frames[contact.parent]
    kind, size, R, p, hull = _anchor(2 * j + 2)
    builder.geometries.append(Geometry(name + ANCHORS, name + ANCHORS, below.body, kind, size, R, p))
    return first, first + 1


def _anchor(shell):
    return SHAPE_SPHERE, np.array([ANCHOR, 0.0, 0.0]), np.eye(3), np.array([0.0, 0.0, -FAR * shell]), None


def _add_base(builder, part, key):
    """The shape of a surface that stands in the world."""
    kind, size, R, p, hull = _shape(part.on.surface, None)
    name = part.base_name()
    builder.add_frame(name, Frame(WORLD, np.eye(3), np.zeros(3)), key)
    builder.geometries.append(Geometry(name, name, WORLD, kind, size, R, p, part.on.material, hull=hull))


def _shape(given, surface):
    """(kind, size, R, p, Hull) of the solid within a surface, or None where it has no closed one.

    ``surface`` is that of a body, whose hull may stand for it; None of a surface in the world, which may be a plane.
    """
    R, p = given.pose.rotation(), given.pose.origin()
    if given.side == "inner":
        return None
    if given.sphere is not None:
        return SHAPE_SPHERE, np.array([given.sphere, 0.0, 0.0]), R, p, None
    if given.ellipsoid is not None:
        return SHAPE_ELLIPSOID, np.array(given.ellipsoid, float), R, p, None
    if surface is None:
        return (SHAPE_PLANE, np.zeros(3), R, p, None) if given.plane is not None else None
    if (given.net, given.torus, given.subdivision) == (None, None, None):
        return None
    points = [surface.samples(chart, HULL_ROWS)[1] for chart in range(len(surface.charts))]
    hull = convex_hull(np.concatenate(points))
    return SHAPE_CONVEX, hull.half, np.eye(3), hull.centre, hull


def _with_laws(world, tree, ends):
    """The world with the laws of the surface contacts in the arrays of its pairs; and the rows of these."""
    place = {tuple(pair): row for row, pair in enumerate(world.geoms.pairs.tolist())}
    rows = np.array([place[pair] for pair in ends], dtype=np.int64)
    mu, restitution, side = world.geoms.mu.copy(), world.restitution.copy(), world.surfaces.side.copy()
    mu[rows] = [min(contact.coefficient(), ROLLS) for contact in tree.contacts]
    restitution[rows], side[rows] = [contact.restitution for contact in tree.contacts], -1
    for array in (mu, restitution, side):
        array.setflags(write=False)
    links, numbers = list(world.geometry_links), {}
    for (_, anchor), contact in zip(ends, tree.contacts):
        links[anchor] = contact.parent or "world"
    anchors = frozenset(np.flatnonzero(np.abs(world.geoms.p).max(axis=1) >= FAR).tolist())
    for i, link in enumerate(links):
        if i not in anchors:
            numbers.setdefault(link, []).append(i)
    world = replace(
        world, geoms=world.geoms._replace(mu=mu), restitution=restitution, surfaces=world.surfaces._replace(side=side),
        geometry_links=tuple(links), link_geometries={link: tuple(rows) for link, rows in numbers.items()},
        anchors=anchors,
    )  # fmt: skip
    return world, rows
