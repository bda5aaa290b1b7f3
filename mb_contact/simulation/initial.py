# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which links are inside each other before anything moves: overlapping hulls of neighbours, misplaced objects.

Plain NumPy around the engine, so that ``mb-contact check`` compiles nothing but where there are triangle meshes.
"""

import numpy as np

from mb_contact.collision import make_narrow_phase
from mb_contact.collision.buffers import make_buffers, make_contacts
from mb_contact.collision.overlap import boxes_around
from mb_contact.core.collision import geometry, shapes
from mb_contact.core.collision.manifolds import build_contacts
from mb_contact.core.collision.workspace import FIELD_POINTS
from mb_contact.core.handle import make_geoms_handle
from mb_contact.model.poses import tree_poses
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.model.world import World
from mb_contact.types import SHAPE_HEIGHT_FIELD, SHAPE_MESH, SHAPE_PLANE

NOTABLE = 1e-4  #: depth from which two links are reported [m]


def initial_penetrations(
    world: World, depth: float = NOTABLE, engine: str = "coal"
) -> list[tuple[str, str, float]]:
    """Pairs of links that penetrate at a world's initial positions, the deepest first.

    Parameters
    ----------
    world : World
    depth : float
        Depth from which a pair counts [m].
    engine : str
        Collision engine.

    Returns
    -------
    list of (link, link, depth)
        Each pair of links once, with its greatest depth [m].

    Raises
    ------
    CollisionError
        The engine is unknown or not installed.

    Examples
    --------
    >>> ball = mb.model.Primitive("ball", "sphere", (0.1,), mb.model.Pose((0.0, 0.0, 0.08)), base="free", mass=1.0)
    >>> world = mb.build_world(mb.Scene(primitives=(ball,), ground=mb.model.Ground()))
    >>> mb.simulation.initial_penetrations(world)
    [('ball', 'ground', 0.02)]
    """
    geoms, pairs = world.geoms, world.geoms.pairs
    R, p = geometry_poses(world)
    boxes = boxes_around(geoms, range(len(R)), R, p)
    boxes[geoms.kind == SHAPE_HEIGHT_FIELD] = [[-np.inf], [np.inf]]  # bodies all below it as well
    low, high = boxes[pairs].transpose(2, 1, 0, 3)
    rows = np.flatnonzero(((low[0] <= high[1]) & (low[1] <= high[0])).all(axis=1))
    m, witness = len(rows), np.zeros((len(rows), 4))
    make_narrow_phase(geoms, engine).query(rows, m, np.full(m, np.inf), R, p, witness)
    meshes = _mesh_gaps(geoms, R, p, rows)
    deepest: dict[tuple[str, str], float] = {}
    for i, (row, (a, b)) in enumerate(zip(rows.tolist(), pairs[rows].tolist())):
        gap = meshes.get(row, witness[i, 3])
        if row not in meshes and SHAPE_PLANE in (geoms.kind[a], geoms.kind[b]):
            gap = _above_plane(geoms, R, p, *((b, a) if geoms.kind[a] == SHAPE_PLANE else (a, b)))
        elif row not in meshes and SHAPE_HEIGHT_FIELD in (geoms.kind[a], geoms.kind[b]):
            gap = _above_field(geoms, R, p, *((b, a) if geoms.kind[a] == SHAPE_HEIGHT_FIELD else (a, b)))
        links = tuple(sorted((world.geometry_links[a], world.geometry_links[b])))
        deepest[links] = max(deepest.get(links, -np.inf), -gap)
    found = [(*links, float(value)) for links, value in deepest.items() if value > depth]
    return sorted(found, key=lambda entry: -entry[2])


def geometry_poses(world):
    """Rotations (g, 3, 3) and origins (g, 3) [m] of a world's geometries at its initial positions."""
    geoms = world.geoms
    R, p = np.empty_like(geoms.R), np.empty_like(geoms.p)
    geometry.geometry_poses(make_geoms_handle(geoms), *tree_poses(world.tree, world.q0, world.flexible), R, p)
    return R, p


def link_poses(world):
    """Positions (3,) [m] and quaternions x y z w of all links and objects at a world's initial positions, by name."""
    R, p = tree_poses(world.tree, world.q0, world.flexible)
    poses = {}
    for name, frame in world.frames.items():
        R_link, p_link = frame.placed(R, p)
        poses[name] = p_link, matrix_to_quat(R_link)
    return poses


def support(geoms, R, g, direction):
    """Reach of geometry g from its origin along a unit world direction (3,) [m]; infinite for a plane."""
    return np.inf if geoms.kind[g] == SHAPE_PLANE else shapes.reach(make_geoms_handle(geoms), R, g, tuple(direction))


def _mesh_gaps(geoms, R, p, rows):
    """Least gap of the contacts of each of these pairs with a triangle mesh, by row; infinite where it has none [m]."""
    rows = rows[(geoms.kind[geoms.pairs[rows]] == SHAPE_MESH).any(axis=1)]
    if not len(rows):
        return {}
    contacts, still = make_contacts(FIELD_POINTS), np.zeros((len(geoms.kind), 7))
    work, handle, gaps = make_buffers(geoms, candidates=1).work, make_geoms_handle(geoms), {}
    for row in rows.tolist():
        build_contacts(handle, R, p, still, np.array([row]), 1, np.zeros(1), np.zeros((1, 4)), work, contacts)
        gaps[row] = float(contacts.gap[: contacts.count[0]].min(initial=np.inf))
    return gaps


def _above_plane(geoms, R, p, shape, plane):
    """Gap between a shape and a plane [m]; infinite between two planes."""
    if geoms.kind[shape] == SHAPE_PLANE:
        return np.inf
    normal = R[plane][:, 2]
    return float(normal @ (p[shape] - p[plane])) - support(geoms, R, shape, -normal)


def _above_field(geoms, R, p, shape, field):
    """Least gap between the lowest points of a shape and the triangles of a height field below them [m]."""
    if geoms.kind[shape] in (SHAPE_PLANE, SHAPE_HEIGHT_FIELD):
        return np.inf
    vertices = geoms.vertices[geoms.first_vertex[field]:geoms.first_vertex[field + 1]]
    faces = slice(*geoms.first_face[field:field + 2])
    corners = vertices[geoms.corners[geoms.first_corner[faces.start]:geoms.first_corner[faces.stop]].reshape(-1, 3)]
    centre = R[field].T @ (p[shape] - p[field])
    reach = [support(geoms, R, shape, sign * R[field][:, k]) for sign in (-1.0, 1.0) for k in range(2)]
    low, high = corners[:, :, :2].min(axis=1), corners[:, :, :2].max(axis=1)
    near = ((high >= centre[:2] - reach[:2]) & (low <= centre[:2] + reach[2:])).all(axis=1)
    least, handle = np.inf, make_geoms_handle(geoms)
    for triangle, normal in zip(corners[near], geoms.faces[faces][near]):
        lowest = R[field].T @ (shapes.farthest(handle, R, p, shape, tuple(-R[field] @ normal)) - p[field])
        gap = normal @ (lowest - triangle[0])
        u, v = np.linalg.solve((triangle[1:, :2] - triangle[0, :2]).T, (lowest - gap * normal - triangle[0])[:2])
        if min(u, v) >= 0.0 and u + v <= 1.0:
            least = min(least, gap)
    return float(least)
