# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Collision shapes as triangles to draw: markers for rviz, the web view, pictures."""

import numpy as np

from mb_contact.model.shapes.height_fields import grid_triangles
from mb_contact.types import (
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CONE,
    SHAPE_CONVEX,
    SHAPE_CYLINDER,
    SHAPE_ELLIPSOID,
    SHAPE_HEIGHT_FIELD,
    SHAPE_MESH,
    SHAPE_PLANE,
    SHAPE_SPHERE,
)

ROUND = 32  #: sides of what is round


def shape_mesh(geoms, g, most=None):
    """Vertices (v, 3) [m] and triangles (t, 3) of geometry ``g`` in its own frame, counterclockwise from outside.

    Of a height field only its surface, without the body below, and of its rows and columns at most ``most`` each where
    that is given.  A plane has no extent and gets no triangle.
    """
    kind, size = int(geoms.kind[g]), geoms.size[g]
    if kind == SHAPE_BOX:
        return box_mesh(size)
    if kind == SHAPE_HEIGHT_FIELD:
        return _field(geoms, g, most)
    if kind in (SHAPE_CONVEX, SHAPE_MESH):
        return _faces(geoms, g)
    if kind == SHAPE_PLANE:
        return np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)
    return round_mesh(kind, size)


def round_mesh(kind, size):
    """A shape that is round about its z axis; ``size`` as SHAPE_* says."""
    return turned(*_profile(kind, size))


def box_mesh(half):
    """A box with half extents ``half`` (3,)."""
    corners = np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1), indexing="ij")).reshape(3, 8).T * np.asarray(half)
    squares = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    return corners, np.array([t for a, b, c, d in squares for t in ((a, b, c), (a, c, d))])


def turned(r, z, scale=(1.0, 1.0, 1.0)):
    """A profile of radii ``r`` and heights ``z``, from the bottom up, turned about the z axis, then scaled."""
    angle = np.linspace(0.0, 2.0 * np.pi, ROUND, endpoint=False)
    rings = np.stack([np.outer(r, np.cos(angle)), np.outer(r, np.sin(angle)), np.repeat([z], ROUND, axis=0).T], axis=-1)
    low, k = np.meshgrid(np.arange(len(r) - 1), np.arange(ROUND), indexing="ij")
    right = (k + 1) % ROUND
    a, b, c, d = (level * ROUND + k_ for level, k_ in ((low, k), (low, right), (low + 1, right), (low + 1, k)))
    triangles = np.stack([a, b, c, a, c, d], axis=-1).reshape(-1, 3)
    return _merged(rings.reshape(-1, 3) * np.asarray(scale), triangles)


def ball_profile():
    """Radii and heights of a ball of radius one, for :func:`turned`."""
    t = np.linspace(0.0, np.pi, ROUND // 2 + 1)
    return np.sin(t), -np.cos(t)


def _profile(kind, size):
    """(r, z, scale) of a round shape."""
    radius, half = float(size[0]), float(size[1])
    if kind in (SHAPE_SPHERE, SHAPE_ELLIPSOID):
        return *ball_profile(), np.full(3, radius) if kind == SHAPE_SPHERE else size
    if kind == SHAPE_CAPSULE:
        t = np.linspace(0.0, 0.5 * np.pi, ROUND // 4 + 1)
        r, z = radius * np.sin(t), radius * np.cos(t)
        return np.concatenate([r, r[::-1]]), np.concatenate([-half - z, (half + z)[::-1]]), np.ones(3)
    return {
        SHAPE_CYLINDER: (np.array([0.0, radius, radius, 0.0]), np.array([-half, -half, half, half]), np.ones(3)),
        SHAPE_CONE: (np.array([0.0, radius, 0.0]), np.array([-half, -half, half]), np.ones(3)),
    }[kind]


def _field(geoms, g, most):
    """The surface of a height field, with rows and columns left out evenly where it has more than ``most``."""
    nx, ny = (int(count) for count in geoms.grid[g])
    points = geoms.vertices[geoms.first_vertex[g] : geoms.first_vertex[g + 1]].reshape(ny, nx, 3)
    i, j = (np.linspace(0, n - 1, n if most is None else min(n, most)).round().astype(int) for n in (nx, ny))
    return points[np.ix_(j, i)].reshape(-1, 3), grid_triangles(len(i), len(j))


def _faces(geoms, g):
    """The faces of a hull, cut into triangles, or the triangles of a mesh."""
    vertices = geoms.vertices[geoms.first_vertex[g] : geoms.first_vertex[g + 1]]
    starts = geoms.first_corner[geoms.first_face[g] : geoms.first_face[g + 1] + 1]
    rings = np.split(geoms.corners[starts[0] : starts[-1]], (starts - starts[0])[1:-1])
    return vertices, np.array([(ring[0], b, c) for ring in rings for b, c in zip(ring[1:], ring[2:])])


def _merged(vertices, triangles):
    """Points of a ring of radius zero made one, and the triangles left out that lose their area by it."""
    vertices, index = np.unique(vertices.round(15), axis=0, return_inverse=True)
    triangles = index.reshape(-1)[triangles]
    a, b, c = triangles.T
    return vertices, triangles[(a != b) & (b != c) & (c != a)]
