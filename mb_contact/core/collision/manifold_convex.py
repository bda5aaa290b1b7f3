# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Manifold of a pair with a cone, an ellipsoid or a convex hull, against any other shape.

The normal is the engine's, unless that of a flat face or the common perpendicular of two edges separates
more; a face wins ties.  With a face, the other shape's facing feature (polygon, line, point) is clipped to it;
without, the points or lines nearest to each other touch.
"""

from __future__ import annotations

import math

import numpy as np

from mb_contact.core.collision.convex import (
    COS_CAP,
    NO_FLAT,
    best_flat,
    face_normal,
    facing,
    gap_along,
    into_body,
    place,
)
from mb_contact.core.collision.manifold_ascent import ascend
from mb_contact.core.collision.manifold_edges import line_points, support_line
from mb_contact.core.collision.manifold_flat import flat_points
from mb_contact.core.collision.manifold_normals import ALIKE, APART, NO_FACE, ROUNDING
from mb_contact.core.jit import kernel
from mb_contact.types import (
    SHAPE_CONE,
    SHAPE_CONVEX,
    SHAPE_ELLIPSOID,
    SHAPE_PLANE,
)

OF_X = 1 << 30  #: weight of X's feature in the identity of a point between edges
OF_Y = 4
PAIR = 1 << 12  #: weight of the first vertex of an edge of a hull
GIVEN_UP = -1e100  #: below it the engine's distance is none
PERPENDICULAR = 1e-6  #: sine of the angle between edges from which on they have a common perpendicular


@kernel
def convex_manifold(geoms, geom_R, geom_p, x, y, distance, margin, tol, work):
    """Points of X and Y in ``work.points`` (world, gap) and ``work.ids``.

    ``work.normal`` holds the engine's normal, from Y to X, and then the final one; ``distance`` is the engine's
    signed distance [m].  Y may be a plane.

    Returns
    -------
    int
        Number of points.
    """
    if geoms.kind[y] == SHAPE_PLANE:
        return plane_points(geoms, geom_R, geom_p, x, y, margin, tol, work)
    owner, face, best = reference(geoms, geom_R, geom_p, x, y, distance, margin, tol, work)
    if owner == APART:
        return 0
    if owner != NO_FACE:
        found = flat_points(geoms, geom_R, geom_p, x, y, owner, face, margin, tol, work)
        least = np.inf
        for i in range(found):
            least = min(least, work.points[i, 3])
        if least <= best + 2.0 * tol:
            sign = 1.0 if owner == y else -1.0
            for i in range(3):
                work.normal[i] = sign * work.frame[2, i]
            return found
    return line_manifold(geoms, geom_R, geom_p, x, y, best, margin, work)


@kernel
def reference(geoms, geom_R, geom_p, x, y, distance, margin, tol, work):
    """Geometry with the reference face, that face, and the largest separation found.

    Instead of a geometry, APART or NO_FACE.  ``work.normal`` becomes the direction that separates most.
    """
    normal = work.normal
    length = math.sqrt(normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2)
    if not (length > 0.5 and length < 2.0):  # NaN too
        for i in range(3):
            normal[i] = geom_p[x, i] - geom_p[y, i]
        length = math.sqrt(normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2)
        if not length > 0.0:
            normal[0], normal[1], normal[2], length = 0.0, 0.0, 1.0, 1.0
    n0, n1, n2 = normal[0] / length, normal[1] / length, normal[2] / length
    normal[0], normal[1], normal[2] = n0, n1, n2
    best = gap_along(geoms, geom_R, geom_p, x, y, n0, n1, n2)
    if best > margin:
        return APART, 0, best
    fx, fy = facing(geoms, geom_R, x, -n0, -n1, -n2), facing(geoms, geom_R, y, n0, n1, n2)
    sx = face_gap(geoms, geom_R, geom_p, x, y, x, fx)
    sy = face_gap(geoms, geom_R, geom_p, x, y, y, fy)
    if max(best, sx, sy) < distance - tol:  # the engine's normal is lost, as where shapes just touch
        fx, sx = best_flat(geoms, geom_R, geom_p, x, y, x)
        fy, sy = best_flat(geoms, geom_R, geom_p, x, y, y)
    smooth = geoms.kind[x] == SHAPE_ELLIPSOID or geoms.kind[y] == SHAPE_ELLIPSOID
    if smooth or max(best, sx, sy) < distance - tol or distance < GIVEN_UP:
        best = ascend(geoms, geom_R, geom_p, x, y, distance, tol, work)
    if best > margin or sx > margin or sy > margin:
        return APART, 0, max(best, sx, sy)
    for which in range(2):
        owner, face, s = (x, fx, sx) if which == 0 else (y, fy, sy)
        if s > best:
            best = s
            toward = 1.0 if owner == y else -1.0
            a, b, c = face_normal(geoms, geom_R, owner, face)
            normal[0], normal[1], normal[2] = toward * a, toward * b, toward * c
    good_x = fx != NO_FLAT and sx >= best - play(geoms, geom_R, x, fx, -1.0, tol, normal)
    good_y = fy != NO_FLAT and sy >= best - play(geoms, geom_R, y, fy, 1.0, tol, normal)
    if good_x and good_y:
        good_x = x_is_larger(geoms, geom_p, x, y)
    if good_x:
        return x, fx, best
    if good_y:
        return y, fy, best
    return NO_FACE, 0, best


@kernel
def face_gap(geoms, geom_R, geom_p, x, y, owner, face):
    """Separation of X and Y along the normal of a face of ``owner``; -inf for no face [m]."""
    if face == NO_FLAT:
        return -np.inf
    toward = 1.0 if owner == y else -1.0
    n0, n1, n2 = face_normal(geoms, geom_R, owner, face)
    return gap_along(geoms, geom_R, geom_p, x, y, toward * n0, toward * n1, toward * n2)


@kernel
def play(geoms, geom_R, owner, face, toward, tol, normal):
    """How much less than the best a face may separate and still win: nothing if it points elsewhere [m]."""
    a, b, c = face_normal(geoms, geom_R, owner, face)
    return tol if toward * (a * normal[0] + b * normal[1] + c * normal[2]) > ALIKE else ROUNDING


@kernel
def x_is_larger(geoms, geom_p, x, y):
    """Which of two equally good faces is the reference: that of the larger shape, then of the lower one."""
    size = geoms.size
    volume_x = size[x, 0] * max(size[x, 1], size[x, 0] * 1e-3)
    volume_y = size[y, 0] * max(size[y, 1], size[y, 0] * 1e-3)
    if abs(volume_x - volume_y) > 1e-9 * (volume_x + volume_y):
        return volume_x > volume_y
    for i in (2, 0, 1):
        if geom_p[x, i] != geom_p[y, i]:
            return geom_p[x, i] < geom_p[y, i]
    return True


# --- with a plane -------------------------------------------------------------------------------


@kernel
def plane_points(geoms, geom_R, geom_p, x, y, margin, tol, work):
    """Points of X within the margin of the plane Y: vertices of a hull; tip and rim of a cone; the lowest point."""
    for i in range(3):
        work.frame[2, i] = geom_R[y, i, 2]
        work.frame[3, i] = geom_p[y, i]
        work.normal[i] = work.frame[2, i]
    return low_points(geoms, geom_R, geom_p, x, margin, work)


@kernel
def low_points(geoms, geom_R, geom_p, x, margin, work):
    """The same for the plane through ``work.frame[3]`` with normal ``work.frame[2]``."""
    frame = work.frame
    n0, n1, n2 = frame[2, 0], frame[2, 1], frame[2, 2]
    found = 0
    shape = geoms.kind[x]
    if shape == SHAPE_CONVEX:
        vertices = geoms.vertices
        for v in range(geoms.first_vertex[x], geoms.first_vertex[x + 1]):
            found = keep_low(
                geom_R, geom_p, x, vertices[v, 0], vertices[v, 1], vertices[v, 2], v - geoms.first_vertex[x],
                margin, found, work,
            )  # fmt: skip
        return found
    a, b, c = into_body(geom_R, x, n0, n1, n2)
    size = geoms.size
    if shape == SHAPE_ELLIPSOID:
        s0, s1, s2 = size[x, 0] ** 2 * a, size[x, 1] ** 2 * b, size[x, 2] ** 2 * c
        length = math.sqrt(a * s0 + b * s1 + c * s2)
        return keep_low(geom_R, geom_p, x, -s0 / length, -s1 / length, -s2 / length, 0, margin, found, work)
    radius, half = size[x, 0], size[x, 1]
    found = keep_low(geom_R, geom_p, x, 0.0, 0.0, half, 0, margin, found, work)
    sine = math.sqrt(a * a + b * b)
    if sine > 1e-9:
        found = keep_low(
            geom_R, geom_p, x, -radius * a / sine, -radius * b / sine, -half, 1, margin, found, work
        )
    if c > COS_CAP:  # stands on its base: quarters of the rim, fixed in the body
        for i in range(4):
            s = radius if i == 0 else (-radius if i == 2 else 0.0)
            t = radius if i == 1 else (-radius if i == 3 else 0.0)
            found = keep_low(geom_R, geom_p, x, s, t, -half, 2 + i, margin, found, work)
    return found


@kernel
def keep_low(geom_R, geom_p, x, a, b, c, name, margin, found, work):
    """Append a point of X (in its axes) midway to the plane if it is within the margin of it."""
    points, frame = work.points, work.frame
    place(geom_R, geom_p, x, a, b, c, points, found)
    gap = 0.0
    for i in range(3):
        gap += frame[2, i] * (points[found, i] - frame[3, i])
    if gap > margin or found + 1 >= points.shape[0]:
        return found
    for i in range(3):
        points[found, i] -= 0.5 * gap * frame[2, i]
    points[found, 3] = gap
    work.ids[found] = name
    return found + 1


# --- without ------------------------------------------------------------------------------------


@kernel
def line_manifold(geoms, geom_R, geom_p, x, y, best, margin, work):
    """Points between the points or lines of X and Y nearest to each other; edges may correct the normal."""
    normal, feature = work.normal, work.feature
    code = lines(geoms, geom_R, geom_p, x, y, margin, work)
    for _ in range(2):
        c0 = feature[1, 1] * feature[3, 2] - feature[1, 2] * feature[3, 1]
        c1 = feature[1, 2] * feature[3, 0] - feature[1, 0] * feature[3, 2]
        c2 = feature[1, 0] * feature[3, 1] - feature[1, 1] * feature[3, 0]
        length = math.sqrt(c0 * c0 + c1 * c1 + c2 * c2)
        lengths = math.sqrt(
            (feature[1, 0] ** 2 + feature[1, 1] ** 2 + feature[1, 2] ** 2)
            * (feature[3, 0] ** 2 + feature[3, 1] ** 2 + feature[3, 2] ** 2)
        )
        if length <= PERPENDICULAR * lengths:
            break
        sign = 1.0 if c0 * normal[0] + c1 * normal[1] + c2 * normal[2] >= 0.0 else -1.0
        c0, c1, c2 = sign * c0 / length, sign * c1 / length, sign * c2 / length
        s = gap_along(geoms, geom_R, geom_p, x, y, c0, c1, c2)
        if s <= best:
            break
        best = s
        normal[0], normal[1], normal[2] = c0, c1, c2
        code = lines(geoms, geom_R, geom_p, x, y, margin, work)
    return line_points(code, margin, work)


@kernel
def lines(geoms, geom_R, geom_p, x, y, margin, work):
    """Support lines of X and Y against each other in ``work.feature``; returns the identity of the pair of lines."""
    on_x = any_line(geoms, geom_R, geom_p, x, work.normal, -1.0, margin, work.feature, 0)
    return OF_X * on_x + OF_Y * any_line(geoms, geom_R, geom_p, y, work.normal, 1.0, margin, work.feature, 2)


@kernel
def any_line(geoms, geom_R, geom_p, g, normal, sign, margin, feature, row):
    """``support_line`` for shapes of every kind."""
    shape, size = geoms.kind[g], geoms.size
    if shape < SHAPE_CONE:
        return support_line(geoms.kind, size, geom_R, geom_p, g, normal, sign, margin, feature, row)
    d0, d1, d2 = sign * normal[0], sign * normal[1], sign * normal[2]
    x, y, z = into_body(geom_R, g, d0, d1, d2)
    for i in range(3):
        feature[row + 1, i] = 0.0
    if shape == SHAPE_ELLIPSOID:
        s0, s1, s2 = size[g, 0] ** 2 * x, size[g, 1] ** 2 * y, size[g, 2] ** 2 * z
        length = math.sqrt(x * s0 + y * s1 + z * s2)
        place(geom_R, geom_p, g, s0 / length, s1 / length, s2 / length, feature, row)
        return 0
    if shape == SHAPE_CONE:
        radius, half = size[g, 0], size[g, 1]
        sine = math.sqrt(x * x + y * y)
        u, v = (radius * x / sine, radius * y / sine) if sine > 1e-12 else (0.0, 0.0)
        drop = half * z - (radius * sine - half * z)  # of the rim below the tip
        if abs(drop) <= margin:
            place(geom_R, geom_p, g, 0.5 * u, 0.5 * v, 0.0, feature, row)
            for i in range(3):
                feature[row + 1, i] = 0.5 * (geom_R[g, i, 0] * u + geom_R[g, i, 1] * v) - geom_R[g, i, 2] * half
            return 2
        if drop > 0.0:
            place(geom_R, geom_p, g, 0.0, 0.0, half, feature, row)
            return 0
        place(geom_R, geom_p, g, u, v, -half, feature, row)
        return 1
    return hull_line(geoms, geom_R, geom_p, g, x, y, z, margin, feature, row)


@kernel
def hull_line(geoms, geom_R, geom_p, g, x, y, z, margin, feature, row):
    """Vertex of a hull farthest along (x, y, z) in its axes, or the edge from there that falls off least."""
    vertices, start, end = geoms.vertices, geoms.first_vertex[g], geoms.first_vertex[g + 1]
    best, top = -np.inf, start
    for v in range(start, end):
        along = x * vertices[v, 0] + y * vertices[v, 1] + z * vertices[v, 2]
        if along > best:
            best = along
            top = v
    least, other = np.inf, -1
    for v in range(start, end):
        drop = best - (x * vertices[v, 0] + y * vertices[v, 1] + z * vertices[v, 2])
        if v == top or drop > margin:
            continue
        apart = 0.0
        for i in range(3):
            apart += (vertices[v, i] - vertices[top, i]) ** 2
        slope = drop / math.sqrt(apart)
        if slope < least:
            least = slope
            other = v
    if other < 0:
        place(geom_R, geom_p, g, vertices[top, 0], vertices[top, 1], vertices[top, 2], feature, row)
        return top - start
    first, last = min(top, other), max(top, other)
    place(
        geom_R, geom_p, g,
        0.5 * (vertices[first, 0] + vertices[last, 0]),
        0.5 * (vertices[first, 1] + vertices[last, 1]),
        0.5 * (vertices[first, 2] + vertices[last, 2]),
        feature, row,
    )  # fmt: skip
    for i in range(3):
        for k in range(3):
            feature[row + 1, i] += 0.5 * geom_R[g, i, k] * (vertices[last, k] - vertices[first, k])
    return PAIR * (first - start + 1) + last - start
