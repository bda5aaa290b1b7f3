# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Outlines of flat faces that clip polygons, segments and points, and the list that collects contact points.

Coordinates are those of the reference face: x, y in it, z along its outward normal, so that the z of a point of the
other shape *is* its gap.  Row 0 of the ``polygon`` scratch is what is clipped, row 1 the result of a cut, row 2 the
outline of the reference face.  Every corner carries a name, and that of the edge that starts at it, so a point keeps
its identity while shapes slide over each other.

A region is a tuple (corners, radius): the outline in row 2; with a radius the disc about the origin of the frame, of
which row 2 has four rim points; without corners the whole plane.
"""

import math

from mb_contact.core.arrays import copy
from mb_contact.core.collision.shapes import is_round, outline
from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import (
    ZERO,
    between,
    length_of,
    put_vector,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)

EVERYWHERE = (0, 0.0)  #: region of a plane
MAX_POINTS = 32  #: candidates of one pair of shapes without many faces before the reduction; 17 at most occur
# kinds of points in an identity; below: corners of the clipped feature
CUT = 1 << 20  #: an edge of the feature crosses an edge of the face
OF_FACE = 2 << 20  #: a corner of the face
EDGE_OF_FACE = 1 << 10  #: names of edges from here on are the face's
TOP = 1 << 22  #: of all identities of one shape's faces


# --- frames -------------------------------------------------------------------------------------


@kernel
def set_frame(geom_R, g, n, origin, frame):
    """Frame of a plane: z its normal n, x along the axis of geometry g that is most nearly in it; row 3 the origin."""
    best = 2.0
    k = 0
    for i in range(3):
        along = abs(n[0] * geom_R[g, 0, i] + n[1] * geom_R[g, 1, i] + n[2] * geom_R[g, 2, i])
        if along < best - 1e-9:
            best = along
            k = i
    x = geom_R[g, 0, k], geom_R[g, 1, k], geom_R[g, 2, k]
    x = vector_sum(x, -vector_dot(x, n), n)
    x = vector_sum(ZERO, 1.0 / length_of(x), x)
    put_vector(frame, 0, x)
    put_vector(frame, 1, vector_product(n, x))
    put_vector(frame, 2, n)
    put_vector(frame, 3, origin)


@kernel
def into_frame(frame, d):
    """Components of a world vector along the axes of a frame."""
    return vector_dot(vector(frame, 0), d), vector_dot(vector(frame, 1), d), vector_dot(vector(frame, 2), d)


@kernel
def to_frame(frame, points, count):
    """World points (count, 3) to a frame."""
    for i in range(count):
        put_vector(points, i, into_frame(frame, between(points, i, frame, 3)))


@kernel
def out_of_frame(frame, a):
    """World position of a point in a frame."""
    p = vector_sum(vector(frame, 3), a[0], vector(frame, 0))
    return vector_sum(vector_sum(p, a[1], vector(frame, 1)), a[2], vector(frame, 2))


@kernel
def set_region(geoms, geom_R, geom_p, g, face, n, work):
    """Frame and outline of a face of g with outward normal n in ``work``; returns its region."""
    corners = outline(geoms, geom_R, geom_p, g, face, work.polygon[2], work.name[2])
    radius = 0.0
    origin = vector(geom_p, g)
    if is_round(geoms, g):
        radius = geoms.size[g, 0]
        origin = vector_sum(origin, geoms.size[g, 1], n)
    elif corners > 0:
        origin = vector(work.polygon[2], 0)
    set_frame(geom_R, g, n, origin, work.frame)
    to_frame(work.frame, work.polygon[2], corners)
    return corners, radius


# --- points -------------------------------------------------------------------------------------


@kernel
def add_point(points, ids, count, p, code, margin, tol):
    """Append a point if its gap is within the margin; of two at the same place the first stays unless much higher."""
    gap = p[2]
    if not gap <= margin or count >= points.shape[0]:
        return count
    for i in range(count):
        dx = points[i, 0] - p[0]
        dy = points[i, 1] - p[1]
        if dx * dx + dy * dy <= 16.0 * tol * tol:
            if gap < points[i, 2] - tol:
                put_vector(points, i, p)
                ids[i] = code
            return count
    put_vector(points, count, p)
    ids[count] = code
    return count + 1


@kernel
def encloses(outer, corners, turn, p, tol):
    """Whether (x, y) of p is inside a convex outline, counterclockwise for ``turn`` 1, clockwise for -1."""
    for r in range(corners):
        e = between(outer, r + 1 if r + 1 < corners else 0, outer, r)
        length = math.sqrt(e[0] * e[0] + e[1] * e[1])
        side = turn * (e[0] * (p[1] - outer[r, 1]) - e[1] * (p[0] - outer[r, 0]))
        if length > tol and side < -tol * length:
            return False
    return True


@kernel
def is_over(polygon, region, p, tol):
    """Whether (x, y) of p is inside a region."""
    corners, radius = region
    if radius > 0.0:
        return p[0] * p[0] + p[1] * p[1] <= (radius + tol) ** 2
    return encloses(polygon[2], corners, 1.0, p, tol)


# --- segments -----------------------------------------------------------------------------------


@kernel
def clip_to_circle(c, d, radius, tol):
    """Part of the segment c + t d, 0 <= t <= 1, that is in a circle (of a plane with the segment) about the origin.

    An end that is outside by no more than ``tol`` stays, and so does the nearest point of a segment that passes: an
    edge that lies on the rim or touches it must not come and go with rounding.

    Returns
    -------
    t0, t1 : float
        Empty where t0 > t1.
    cut0, cut1 : bool
        Whether the circle cut the end off.
    """
    a, b, middle = vector_dot(d, d), vector_dot(c, d), vector_dot(c, c)
    outer = (radius + tol) ** 2
    start_out = middle > outer
    end_out = middle + 2.0 * b + a > outer
    if not (start_out or end_out):
        return 0.0, 1.0, False, False
    discriminant = b * b - a * (middle - radius * radius)
    if a == 0.0 or (b * b < a * (middle - outer) and start_out and end_out):
        return 1.0, 0.0, False, False
    root = math.sqrt(max(0.0, discriminant))
    t0 = max(0.0, (-b - root) / a) if start_out else 0.0
    t1 = min(1.0, (-b + root) / a) if end_out else 1.0
    return t0, t1, start_out, end_out


@kernel
def clip_segment(polygon, region, tol):
    """Clip the segment in row 0 to a region; returns the number of ends left (0, 2)."""
    corners, radius = region
    start, step = vector(polygon[0], 0), between(polygon[0], 1, polygon[0], 0)
    t0, t1 = 0.0, 1.0
    if radius > 0.0:
        t0, t1, _, _ = clip_to_circle((start[0], start[1], 0.0), (step[0], step[1], 0.0), radius, tol)
    else:
        outer = polygon[2]
        for r in range(corners):
            e = between(outer, r + 1 if r + 1 < corners else 0, outer, r)
            length = math.sqrt(e[0] * e[0] + e[1] * e[1])
            if length <= tol:
                continue
            first = (e[0] * (start[1] - outer[r, 1]) - e[1] * (start[0] - outer[r, 0])) / length
            last = first + (e[0] * step[1] - e[1] * step[0]) / length
            if first < -tol and last < -tol:
                return 0
            if first < -tol:
                t0 = max(t0, first / (first - last))
            elif last < -tol:
                t1 = min(t1, first / (first - last))
    if t0 > t1:
        return 0
    put_vector(polygon[0], 0, vector_sum(start, t0, step))
    put_vector(polygon[0], 1, vector_sum(start, t1, step))
    return 2


# --- polygons -----------------------------------------------------------------------------------


@kernel
def clip_polygon(work, count, corners, tol):
    """Clip row 0 to the polygon in row 2 (Sutherland and Hodgman).

    Parameters
    ----------
    work : ManifoldWork, in, out
        ``polygon`` (3, K, 3), ``name`` of its corners, ``edge``: names of the edges that start at them.
    count, corners : int
        Corners of rows 0 and 2; row 2 is counterclockwise.
    tol : float
        What is outside by no more than this stays [m].

    Returns
    -------
    int
        Number of corners left, in row 0.
    """
    outer = work.polygon[2]
    copy(count, work.name[0], work.edge[0])
    for r in range(corners):
        e = between(outer, r + 1 if r + 1 < corners else 0, outer, r)
        length = math.sqrt(e[0] * e[0] + e[1] * e[1])
        if length > tol and count > 0:
            count = cut_polygon(work, count, corners, r, -e[1] / length, e[0] / length, tol)
    return count


@kernel
def cut_polygon(work, count, corners, r, a, b, tol):
    """Keep what is on the inner side, a x + b y >= 0 from corner r of the outline on; returns the corners left.

    Where two edges of the face meet its corner has the name of the one that starts there.
    """
    polygon, name, edge = work.polygon, work.name, work.edge
    x, y = polygon[2, r, 0], polygon[2, r, 1]
    on_face, before = EDGE_OF_FACE + name[2, r], EDGE_OF_FACE + name[2, r - 1 if r > 0 else corners - 1]
    kept = 0
    for i in range(count):
        j = i + 1 if i + 1 < count else 0
        here = a * (polygon[0, i, 0] - x) + b * (polygon[0, i, 1] - y)
        there = a * (polygon[0, j, 0] - x) + b * (polygon[0, j, 1] - y)
        inside, next_inside = here >= -tol, there >= -tol
        if inside:
            put_vector(polygon[1], kept, vector(polygon[0], i))
            name[1, kept] = name[0, i]
            edge[1, kept] = edge[0, i]
            kept += 1
        if inside != next_inside and here != there and kept < polygon.shape[1]:
            t = min(1.0, max(0.0, here / (here - there)))
            put_vector(polygon[1], kept, vector_sum(vector(polygon[0], i), t, between(polygon[0], j, polygon[0], i)))
            cut = edge[0, i]
            corner = on_face if cut == before else cut
            name[1, kept] = OF_FACE + corner if cut >= EDGE_OF_FACE else CUT + (cut << 10) + name[2, r]
            edge[1, kept] = on_face if inside else cut
            kept += 1
    for i in range(kept):
        put_vector(polygon[0], i, vector(polygon[1], i))
        name[0, i] = name[1, i]
        edge[0, i] = edge[1, i]
    return kept
