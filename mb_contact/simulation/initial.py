# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which links are inside each other before anything moves: overlapping hulls of neighbours, misplaced objects.

Plain NumPy around the engine, so that ``mb-contact check`` compiles nothing.
"""

from __future__ import annotations

import numpy as np

from mb_contact.collision import make_narrow_phase
from mb_contact.model.model import tree_poses
from mb_contact.types import (
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CONE,
    SHAPE_CONVEX,
    SHAPE_CYLINDER,
    SHAPE_ELLIPSOID,
    SHAPE_PLANE,
    WORLD,
)

NOTABLE = 1e-4  #: depth from which two links are reported [m]


def initial_penetrations(world, depth=NOTABLE, engine="coal"):
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
    """
    geoms, m = world.geoms, len(world.geoms.pairs)
    R, p = geometry_poses(world)
    witness = np.zeros((m, 4))
    make_narrow_phase(geoms, engine).query(np.arange(m), m, np.full(m, np.inf), R, p, witness)
    deepest = {}
    for row, (a, b) in enumerate(geoms.pairs.tolist()):
        gap = witness[row, 3]
        if geoms.kind[a] == SHAPE_PLANE or geoms.kind[b] == SHAPE_PLANE:
            gap = _above_plane(geoms, R, p, *((b, a) if geoms.kind[a] == SHAPE_PLANE else (a, b)))
        links = tuple(sorted((world.geometry_links[a], world.geometry_links[b])))
        deepest[links] = max(deepest.get(links, -np.inf), -gap)
    found = [(*links, float(value)) for links, value in deepest.items() if value > depth]
    return sorted(found, key=lambda entry: -entry[2])


def geometry_poses(world):
    """Rotations (g, 3, 3) and origins (g, 3) [m] of a world's geometries at its initial positions."""
    geoms = world.geoms
    R_body, p_body = tree_poses(world.tree, world.q0)
    R, p = geoms.R.copy(), geoms.p.copy()
    for g, k in enumerate(geoms.body.tolist()):
        if k != WORLD:
            R[g], p[g] = R_body[k] @ geoms.R[g], p_body[k] + R_body[k] @ geoms.p[g]
    return R, p


def support(geoms, R, g, direction):
    """Reach of geometry g from its origin along a unit world direction (3,) [m]; infinite for a plane."""
    x, y, z = R[g].T @ direction
    a, b, c = geoms.size[g]
    around = np.hypot(x, y)
    kind = int(geoms.kind[g])
    if kind == SHAPE_CONVEX:
        return float((geoms.vertices[geoms.first_vertex[g]:geoms.first_vertex[g + 1]] @ [x, y, z]).max())
    return {
        SHAPE_CAPSULE: a + b * abs(z),
        SHAPE_CYLINDER: a * around + b * abs(z),
        SHAPE_BOX: a * abs(x) + b * abs(y) + c * abs(z),
        SHAPE_CONE: max(b * z, a * around - b * z),
        SHAPE_ELLIPSOID: np.sqrt((a * x) ** 2 + (b * y) ** 2 + (c * z) ** 2),
        SHAPE_PLANE: np.inf,
    }.get(kind, a)


def _above_plane(geoms, R, p, shape, plane):
    """Gap between a shape and a plane [m]; infinite between two planes."""
    if geoms.kind[shape] == SHAPE_PLANE:
        return np.inf
    normal = R[plane][:, 2]
    return float(normal @ (p[shape] - p[plane])) - support(geoms, R, shape, -normal)
