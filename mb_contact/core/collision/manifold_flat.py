# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A flat face of a shape of any kind against what faces it: polygon, segment or point, clipped to the face's outline.

The outline of a round face is a polygon of sixteen corners on its rim; the lowest point of the other shape is looked
for over the disc itself.
"""

from __future__ import annotations

import math

import numpy as np

from mb_contact.core.collision.convex import COS_CAP, NO_FLAT, face_normal, facing, into_body, outline, place
from mb_contact.core.collision.manifold_polygon import (
    TOP,
    clip_polygon,
    clip_segment,
    is_over,
    polygon_points,
    to_frame,
)
from mb_contact.core.jit import kernel
from mb_contact.types import (
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CONE,
    SHAPE_CYLINDER,
    SHAPE_ELLIPSOID,
    SHAPE_SPHERE,
)

NEAREST_RIM = 1000  #: name of the point of a rim nearest to the other shape


@kernel
def flat_points(geoms, geom_R, geom_p, x, y, owner, face, margin, tol, work):
    """Points between a face of ``owner`` and the feature of the other shape that faces it."""
    other = x + y - owner
    polygon, name, edge, frame = work.polygon, work.name, work.edge, work.frame
    corners = outline(geoms, geom_R, geom_p, owner, face, polygon[2], name[2])
    a, b, c = face_normal(geoms, geom_R, owner, face)
    set_flat_frame(geom_R, owner, a, b, c, polygon, frame)
    to_frame(frame, polygon[2], corners)
    facing_face = facing(geoms, geom_R, other, -a, -b, -c)
    if facing_face == NO_FLAT:
        count = round_feature(geoms, geom_R, geom_p, other, a, b, c, polygon, name)
        to_frame(frame, polygon[0], count)
        if count == 1 and not _is_over(geoms, owner, polygon, corners, polygon[0, 0, 0], polygon[0, 0, 1], tol):
            count = 0
        elif count == 2:
            count = clip_segment(polygon, name, corners, tol)
    else:
        count = outline(geoms, geom_R, geom_p, other, facing_face, polygon[0], name[0])
        to_frame(frame, polygon[0], count)
        for i in range(count):
            edge[0, i] = name[0, i]
        count = clip_polygon(polygon, name, edge, count, corners, tol)
    found = polygon_points(polygon, name, count, 1 if owner == x else 2, margin, tol, work.points, work.ids)
    if _is_round(geoms, owner) or (facing_face != NO_FLAT and geoms.kind[other] != SHAPE_BOX):
        weight = TOP if owner == x else 2 * TOP
        found = add_lowest(geoms, geom_R, geom_p, owner, other, corners, found, weight, margin, tol, work)
    points = work.points
    for j in range(found):
        u, v, gap = points[j, 0], points[j, 1], points[j, 2]
        for i in range(3):
            points[j, i] = frame[3, i] + u * frame[0, i] + v * frame[1, i] + 0.5 * gap * frame[2, i]
        points[j, 3] = gap
    return found


@kernel
def set_flat_frame(geom_R, owner, a, b, c, polygon, frame):
    """Frame of a face with normal (a, b, c): x along the body axis that is most nearly in the face."""
    best = 2.0
    for k in range(3):
        along = abs(a * geom_R[owner, 0, k] + b * geom_R[owner, 1, k] + c * geom_R[owner, 2, k])
        if along < best - 1e-9:
            best = along
            for i in range(3):
                frame[0, i] = geom_R[owner, i, k]
    dot = frame[0, 0] * a + frame[0, 1] * b + frame[0, 2] * c
    frame[2, 0], frame[2, 1], frame[2, 2] = a, b, c
    length = 0.0
    for i in range(3):
        frame[0, i] -= dot * frame[2, i]
        length += frame[0, i] ** 2
    length = math.sqrt(length)
    for i in range(3):
        frame[0, i] /= length
        frame[3, i] = polygon[2, 0, i]
    frame[1, 0] = b * frame[0, 2] - c * frame[0, 1]
    frame[1, 1] = c * frame[0, 0] - a * frame[0, 2]
    frame[1, 2] = a * frame[0, 1] - b * frame[0, 0]


@kernel
def round_feature(geoms, geom_R, geom_p, g, a, b, c, polygon, name):
    """Point or line of a curved shape that faces a face with outward normal (a, b, c); world coordinates, row 0."""
    shape, size = geoms.kind[g], geoms.size
    x, y, z = into_body(geom_R, g, a, b, c)
    name[0, 0], name[0, 1] = 0, 1
    if shape == SHAPE_ELLIPSOID:
        s0, s1, s2 = size[g, 0] ** 2 * x, size[g, 1] ** 2 * y, size[g, 2] ** 2 * z
        length = math.sqrt(x * s0 + y * s1 + z * s2)
        place(geom_R, geom_p, g, -s0 / length, -s1 / length, -s2 / length, polygon[0], 0)
        return 1
    radius, half = size[g, 0], size[g, 1]
    if shape == SHAPE_SPHERE:
        place(geom_R, geom_p, g, -radius * x, -radius * y, -radius * z, polygon[0], 0)
        return 1
    if shape == SHAPE_CAPSULE:
        place(geom_R, geom_p, g, -radius * x, -radius * y, -radius * z - half, polygon[0], 0)
        place(geom_R, geom_p, g, -radius * x, -radius * y, -radius * z + half, polygon[0], 1)
        return 2
    sine = math.sqrt(x * x + y * y)
    u, v = 0.0, 0.0
    if sine > 1e-12:
        u, v = -radius * x / sine, -radius * y / sine
    place(geom_R, geom_p, g, u, v, -half, polygon[0], 0)
    if shape == SHAPE_CONE:
        place(geom_R, geom_p, g, 0.0, 0.0, half, polygon[0], 1)
    else:
        place(geom_R, geom_p, g, u, v, half, polygon[0], 1)
    return 2


@kernel
def add_lowest(geoms, geom_R, geom_p, owner, g, corners, found, weight, margin, tol, work):
    """Append the point of g nearest to the plane of the face, if it is over the face and lower than all others.

    The face that faces most need not hold it: the tip of a slender pyramid points at what it touches.  And the outline
    of a round face lies within its rim, so what is over the sliver between them has been clipped off.  ``weight`` and
    the point's name within g make its identity, the same as before the clipping.
    """
    frame, polygon = work.frame, work.polygon
    a, b, c = frame[2, 0], frame[2, 1], frame[2, 2]
    name = support_point(geoms, geom_R, geom_p, g, -a, -b, -c, polygon[1])
    to_frame(frame, polygon[1], 1)
    gap = polygon[1, 0, 2]
    for j in range(found):
        if work.points[j, 2] <= gap + tol:
            return found
    if gap > margin or not _is_over(geoms, owner, polygon, corners, polygon[1, 0, 0], polygon[1, 0, 1], tol):
        return found
    for i in range(3):
        work.points[found, i] = polygon[1, 0, i]
    work.ids[found] = weight + name
    return found + 1


@kernel
def _is_round(geoms, g):
    """Whether the flat faces of shape g are discs."""
    return geoms.kind[g] == SHAPE_CYLINDER or geoms.kind[g] == SHAPE_CONE


@kernel
def _is_over(geoms, owner, polygon, corners, x, y, tol):
    """Whether (x, y) is inside the face whose outline is in row 2 of ``polygon``; a disc is one exactly."""
    if not _is_round(geoms, owner):
        return is_over(polygon, corners, x, y, tol)
    opposite = corners // 2
    x -= 0.5 * (polygon[2, 0, 0] + polygon[2, opposite, 0])
    y -= 0.5 * (polygon[2, 0, 1] + polygon[2, opposite, 1])
    return math.sqrt(x * x + y * y) <= geoms.size[owner, 0] + tol


@kernel
def support_point(geoms, geom_R, geom_p, g, d0, d1, d2, out):
    """World point of a shape farthest along d, in row 0 of ``out``; returns its name, that of ``outline`` or
    ``round_feature`` where they have it."""
    x, y, z = into_body(geom_R, g, d0, d1, d2)
    shape = geoms.kind[g]
    if shape == SHAPE_BOX:
        bits = (1 if x > 0.0 else 0) | (2 if y > 0.0 else 0) | (4 if z > 0.0 else 0)
        place(
            geom_R, geom_p, g,
            geoms.size[g, 0] if bits & 1 else -geoms.size[g, 0],
            geoms.size[g, 1] if bits & 2 else -geoms.size[g, 1],
            geoms.size[g, 2] if bits & 4 else -geoms.size[g, 2],
            out, 0,
        )  # fmt: skip
        return bits
    if shape == SHAPE_ELLIPSOID:
        s0, s1, s2 = geoms.size[g, 0] ** 2 * x, geoms.size[g, 1] ** 2 * y, geoms.size[g, 2] ** 2 * z
        length = math.sqrt(x * s0 + y * s1 + z * s2)
        place(geom_R, geom_p, g, s0 / length, s1 / length, s2 / length, out, 0)
        return 0
    if shape == SHAPE_SPHERE or shape == SHAPE_CAPSULE:
        radius, half = geoms.size[g, 0], geoms.size[g, 1] if shape == SHAPE_CAPSULE else 0.0
        place(geom_R, geom_p, g, radius * x, radius * y, radius * z + (half if z > 0.0 else -half), out, 0)
        return 1 if z > 0.0 else 0
    if shape == SHAPE_CONE or shape == SHAPE_CYLINDER:
        radius, half = geoms.size[g, 0], geoms.size[g, 1]
        sine = math.sqrt(x * x + y * y)
        if shape == SHAPE_CYLINDER and sine > 1e-12:
            place(geom_R, geom_p, g, radius * x / sine, radius * y / sine, half if z > 0.0 else -half, out, 0)
            side = 1 if z > 0.0 else 0
            return side if abs(z) < COS_CAP else NEAREST_RIM + side
        if half * z >= radius * sine - half * z or sine <= 1e-12:
            place(geom_R, geom_p, g, 0.0, 0.0, half if z > 0.0 else -half, out, 0)
            return 1
        place(geom_R, geom_p, g, radius * x / sine, radius * y / sine, -half, out, 0)
        return NEAREST_RIM if z <= -COS_CAP else 0
    best, chosen = -np.inf, 0
    vertices = geoms.vertices
    for v in range(geoms.first_vertex[g], geoms.first_vertex[g + 1]):
        along = x * vertices[v, 0] + y * vertices[v, 1] + z * vertices[v, 2]
        if along > best:
            best = along
            chosen = v
    place(geom_R, geom_p, g, vertices[chosen, 0], vertices[chosen, 1], vertices[chosen, 2], out, 0)
    return chosen - geoms.first_vertex[g]
