# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A convex polygon, segment or point clipped to the outline of a reference face (Sutherland and Hodgman).

Coordinates are those of the face: x, y in it, z along its outward normal, so z is the gap.  Row 0 of the
scratch is the polygon that is clipped, row 1 the result of a cut, row 2 the outline.  Every corner carries a name and
the name of the edge that starts at it, so a point keeps its identity while shapes slide over each other.
"""

from __future__ import annotations

from mb_contact.core.collision.manifold_clip import add_point
from mb_contact.core.jit import kernel

# kinds of points in an identity; below: corners of the clipped feature
CUT = 1 << 20  #: an edge of the feature crosses an edge of the face
OF_FACE = 2 << 20  #: a corner of the face
EDGE_OF_FACE = 1 << 10  #: names of edges from here on are the face's
TOP = 1 << 22  #: of all identities of one shape's faces


@kernel
def to_frame(frame, points, count):
    """World points (count, 3) to the frame of a face: rows of ``frame`` are axes x, y, z and the origin."""
    for i in range(count):
        d0 = points[i, 0] - frame[3, 0]
        d1 = points[i, 1] - frame[3, 1]
        d2 = points[i, 2] - frame[3, 2]
        for k in range(3):
            points[i, k] = frame[k, 0] * d0 + frame[k, 1] * d1 + frame[k, 2] * d2


@kernel
def clip_polygon(polygon, name, edge, count, corners, tol):
    """Clip row 0 of ``polygon`` to the outline in row 2; returns the number of corners left, in row 0.

    Parameters
    ----------
    polygon : (3, K, 3), in, out
    name, edge : int64 (3, K), in, out
        Of the corners and of the edges that start at them, in rows 0 and 1; of row 2 the names of corners.
    count, corners : int
        Corners of rows 0 and 2; row 2 is counterclockwise.
    tol : float
        What is outside by no more than this stays [m].
    """
    for r in range(corners):
        s = r + 1 if r + 1 < corners else 0
        ex, ey = polygon[2, s, 0] - polygon[2, r, 0], polygon[2, s, 1] - polygon[2, r, 1]
        length = (ex * ex + ey * ey) ** 0.5
        if length <= tol:
            continue
        count = cut_polygon(polygon, name, edge, count, r, -ey / length, ex / length, tol)
        if count == 0:
            return 0
    return count


@kernel
def cut_polygon(polygon, name, edge, count, r, a, b, tol):
    """Keep what is on the inner side, a x + b y >= 0 from corner r of the outline on; returns the corners left."""
    x, y = polygon[2, r, 0], polygon[2, r, 1]
    on_face = EDGE_OF_FACE + name[2, r]
    kept = 0
    for i in range(count):
        j = i + 1 if i + 1 < count else 0
        here = a * (polygon[0, i, 0] - x) + b * (polygon[0, i, 1] - y)
        there = a * (polygon[0, j, 0] - x) + b * (polygon[0, j, 1] - y)
        inside, next_inside = here >= -tol, there >= -tol
        if inside:
            for k in range(3):
                polygon[1, kept, k] = polygon[0, i, k]
            name[1, kept] = name[0, i]
            edge[1, kept] = edge[0, i]
            kept += 1
        if inside != next_inside and here != there and kept < polygon.shape[1]:
            t = here / (here - there)
            t = min(1.0, max(0.0, t))
            for k in range(3):
                polygon[1, kept, k] = polygon[0, i, k] + t * (polygon[0, j, k] - polygon[0, i, k])
            cut = edge[0, i]
            if cut >= EDGE_OF_FACE:
                name[1, kept] = OF_FACE + max(cut, on_face)
            else:
                name[1, kept] = CUT + (cut << 10) + name[2, r]
            edge[1, kept] = on_face if inside else edge[0, i]
            kept += 1
    for i in range(kept):
        for k in range(3):
            polygon[0, i, k] = polygon[1, i, k]
        name[0, i] = name[1, i]
        edge[0, i] = edge[1, i]
    return kept


@kernel
def clip_segment(polygon, name, corners, tol):
    """Clip the segment in row 0 to the outline in row 2; returns the number of ends left (0, 2)."""
    t0, t1 = 0.0, 1.0
    for r in range(corners):
        s = r + 1 if r + 1 < corners else 0
        ex, ey = polygon[2, s, 0] - polygon[2, r, 0], polygon[2, s, 1] - polygon[2, r, 1]
        length = (ex * ex + ey * ey) ** 0.5
        if length <= tol:
            continue
        a, b = -ey / length, ex / length
        first = a * (polygon[0, 0, 0] - polygon[2, r, 0]) + b * (polygon[0, 0, 1] - polygon[2, r, 1])
        last = a * (polygon[0, 1, 0] - polygon[2, r, 0]) + b * (polygon[0, 1, 1] - polygon[2, r, 1])
        if first < -tol and last < -tol:
            return 0
        if first < -tol:
            t0 = max(t0, first / (first - last))
        elif last < -tol:
            t1 = min(t1, first / (first - last))
    if t0 > t1:
        return 0
    for k in range(3):
        start, step = polygon[0, 0, k], polygon[0, 1, k] - polygon[0, 0, k]
        polygon[0, 0, k] = start + t0 * step
        polygon[0, 1, k] = start + t1 * step
    return 2


@kernel
def is_over(polygon, corners, x, y, tol):
    """Whether (x, y) is inside the outline in row 2."""
    for r in range(corners):
        s = r + 1 if r + 1 < corners else 0
        ex, ey = polygon[2, s, 0] - polygon[2, r, 0], polygon[2, s, 1] - polygon[2, r, 1]
        length = (ex * ex + ey * ey) ** 0.5
        if length > tol and -ey * (x - polygon[2, r, 0]) + ex * (y - polygon[2, r, 1]) < -tol * length:
            return False
    return True


@kernel
def polygon_points(polygon, name, count, owner, margin, tol, points, ids):
    """Collect the corners of row 0 within the margin; ``owner`` tells the identities of X's faces from Y's."""
    found = 0
    for i in range(count):
        x, y, gap = polygon[0, i, 0], polygon[0, i, 1], polygon[0, i, 2]
        found = add_point(points, ids, found, x, y, gap, owner * TOP + name[0, i], margin, tol)
    return found
