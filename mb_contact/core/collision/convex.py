# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Shapes without central symmetry and with many faces: exact reach in a direction, facing faces, their outlines.

The functions take shapes of every kind, so that a hull may meet anything; those of two symmetric shapes
have quicker ones of their own (:mod:`mb_contact.core.collision.manifold_normals`).
"""

from __future__ import annotations

import math

import numpy as np

from mb_contact.core.collision.geometry import half_width
from mb_contact.core.jit import kernel
from mb_contact.types import SHAPE_BOX, SHAPE_CONE, SHAPE_CONVEX, SHAPE_CYLINDER

NO_FLAT = -1  #: no flat face looks that way
ROUND_CORNERS = 16  #: corners of the polygon that stands for a circle, on the circle, fixed in the body
COS_CAP = 0.70710678118654752  #: a cap or base faces what is within 45 degrees of it


@kernel
def reach(geoms, geom_R, g, n0, n1, n2):
    """Reach of shape g from its origin along the unit world direction n, max of n . x over the shape [m]."""
    shape = geoms.kind[g]
    if shape != SHAPE_CONE and shape != SHAPE_CONVEX:
        return half_width(geoms.kind, geoms.size, geom_R, g, n0, n1, n2)
    x, y, z = into_body(geom_R, g, n0, n1, n2)
    if shape == SHAPE_CONE:
        half = geoms.size[g, 1]
        return max(half * z, geoms.size[g, 0] * math.sqrt(x * x + y * y) - half * z)
    vertices = geoms.vertices
    best = -np.inf
    for i in range(geoms.first_vertex[g], geoms.first_vertex[g + 1]):
        best = max(best, x * vertices[i, 0] + y * vertices[i, 1] + z * vertices[i, 2])
    return best


@kernel
def into_body(geom_R, g, n0, n1, n2):
    """Components of a world direction along the axes of geometry g."""
    return (
        geom_R[g, 0, 0] * n0 + geom_R[g, 1, 0] * n1 + geom_R[g, 2, 0] * n2,
        geom_R[g, 0, 1] * n0 + geom_R[g, 1, 1] * n1 + geom_R[g, 2, 1] * n2,
        geom_R[g, 0, 2] * n0 + geom_R[g, 1, 2] * n1 + geom_R[g, 2, 2] * n2,
    )


@kernel
def gap_along(geoms, geom_R, geom_p, x, y, n0, n1, n2):
    """Separation of two shapes along n, which points from Y to X: never more than their signed distance [m]."""
    along = (
        n0 * (geom_p[x, 0] - geom_p[y, 0])
        + n1 * (geom_p[x, 1] - geom_p[y, 1])
        + n2 * (geom_p[x, 2] - geom_p[y, 2])
    )
    return along - reach(geoms, geom_R, x, -n0, -n1, -n2) - reach(geoms, geom_R, y, n0, n1, n2)


@kernel
def faces_of(geoms, g):
    """Number of flat faces of shape g."""
    shape = geoms.kind[g]
    if shape == SHAPE_BOX:
        return 6
    if shape == SHAPE_CYLINDER:
        return 2
    if shape == SHAPE_CONE:
        return 1
    if shape == SHAPE_CONVEX:
        return geoms.first_face[g + 1] - geoms.first_face[g]
    return 0


@kernel
def face_normal(geoms, geom_R, g, face):
    """Outward normal of a flat face in world axes: of a box 2k + side, of a cylinder its side, of a cone its base."""
    shape = geoms.kind[g]
    if shape == SHAPE_CONVEX:
        row = geoms.first_face[g] + face
        a, b, c = geoms.faces[row, 0], geoms.faces[row, 1], geoms.faces[row, 2]
        return (
            geom_R[g, 0, 0] * a + geom_R[g, 0, 1] * b + geom_R[g, 0, 2] * c,
            geom_R[g, 1, 0] * a + geom_R[g, 1, 1] * b + geom_R[g, 1, 2] * c,
            geom_R[g, 2, 0] * a + geom_R[g, 2, 1] * b + geom_R[g, 2, 2] * c,
        )
    k = face // 2 if shape == SHAPE_BOX else 2
    sign = 1.0 if face % 2 == 1 else -1.0
    return sign * geom_R[g, 0, k], sign * geom_R[g, 1, k], sign * geom_R[g, 2, k]


@kernel
def facing(geoms, geom_R, g, d0, d1, d2):
    """Flat face of shape g whose outward normal is nearest to the world direction d; NO_FLAT if none faces it."""
    shape = geoms.kind[g]
    x, y, z = into_body(geom_R, g, d0, d1, d2)
    if shape == SHAPE_BOX:
        k, best = 0, abs(x)
        if abs(y) > best + 1e-9:
            k, best = 1, abs(y)
        if abs(z) > best + 1e-9:
            k = 2
        component = x if k == 0 else (y if k == 1 else z)
        return 2 * k + (1 if component > 0.0 else 0)
    if shape == SHAPE_CYLINDER:
        return NO_FLAT if abs(z) < COS_CAP else (1 if z > 0.0 else 0)
    if shape == SHAPE_CONE:
        return 0 if z <= -COS_CAP else NO_FLAT
    if shape != SHAPE_CONVEX:
        return NO_FLAT
    start = geoms.first_face[g]
    faces = geoms.faces
    chosen, best_z = 0, -np.inf
    for row in range(start, geoms.first_face[g + 1]):
        along = x * faces[row, 0] + y * faces[row, 1] + z * faces[row, 2]
        if along > best_z:
            best_z = along
            chosen = row - start
    return chosen


@kernel
def best_flat(geoms, geom_R, geom_p, x, y, owner):
    """Face of ``owner`` along whose normal X and Y are separated most, and that separation; of all its faces."""
    best, chosen = -np.inf, NO_FLAT
    toward = 1.0 if owner == y else -1.0
    for face in range(faces_of(geoms, owner)):
        n0, n1, n2 = face_normal(geoms, geom_R, owner, face)
        s = gap_along(geoms, geom_R, geom_p, x, y, toward * n0, toward * n1, toward * n2)
        if s > best:
            best = s
            chosen = face
    return chosen, best


@kernel
def outline(geoms, geom_R, geom_p, g, face, points, names):
    """Corners of a flat face in world coordinates, counterclockwise seen from outside.

    Parameters
    ----------
    points : (., 3), out
    names : int64 (.,), out
        Identities of the corners within the shape.

    Returns
    -------
    int
        Number of corners.
    """
    shape = geoms.kind[g]
    size = geoms.size
    if shape == SHAPE_CONVEX:
        row = geoms.first_face[g] + face
        start = geoms.first_corner[row]
        count = geoms.first_corner[row + 1] - start
        for i in range(count):
            names[i] = geoms.corners[start + i]
            v = geoms.first_vertex[g] + names[i]
            place(geom_R, geom_p, g, geoms.vertices[v, 0], geoms.vertices[v, 1], geoms.vertices[v, 2], points, i)
        return count
    if shape == SHAPE_BOX:
        k = face // 2
        for i in range(4):
            corner = i if face % 2 == 1 else 3 - i
            first = 1 if corner == 1 or corner == 2 else 0
            second = 1 if corner >= 2 else 0
            bits = ((face % 2) << k) | (first << ((k + 1) % 3)) | (second << ((k + 2) % 3))
            names[i] = bits
            place(
                geom_R, geom_p, g,
                size[g, 0] if bits & 1 else -size[g, 0],
                size[g, 1] if bits & 2 else -size[g, 1],
                size[g, 2] if bits & 4 else -size[g, 2],
                points, i,
            )  # fmt: skip
        return 4
    height = size[g, 1] if face % 2 == 1 else -size[g, 1]
    for i in range(ROUND_CORNERS):
        corner = i if face % 2 == 1 else ROUND_CORNERS - 1 - i
        angle = 2.0 * math.pi * corner / ROUND_CORNERS
        names[i] = corner + ROUND_CORNERS * face
        place(geom_R, geom_p, g, size[g, 0] * math.cos(angle), size[g, 0] * math.sin(angle), height, points, i)
    return ROUND_CORNERS


@kernel
def place(geom_R, geom_p, g, x, y, z, points, row):
    """A point of geometry g to world coordinates."""
    for i in range(3):
        points[row, i] = geom_p[g, i] + geom_R[g, i, 0] * x + geom_R[g, i, 1] * y + geom_R[g, i, 2] * z
