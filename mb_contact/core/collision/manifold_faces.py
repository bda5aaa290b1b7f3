# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Points between a flat face (polygon, disc, plane) and what faces it: a polygon, a disc, a line or a point."""

import math

from mb_contact.core.collision.manifold_clip import (
    CUT,
    EVERYWHERE,
    OF_FACE,
    TOP,
    add_point,
    clip_polygon,
    clip_segment,
    clip_to_circle,
    encloses,
    into_frame,
    is_over,
    out_of_frame,
    to_frame,
)
from mb_contact.core.collision.shapes import (
    NO_FLAT,
    core_point,
    face_normal,
    facing,
    farthest,
    into_body,
    is_round,
    outline,
    place,
    rim_point,
)
from mb_contact.core.jit import INTEGER, kernel, on_demand
from mb_contact.core.tree.spatial import length_of, opposite, put_vector, vector, vector_dot, vector_sum
from mb_contact.types import SHAPE_BOX, SHAPE_CONE, SHAPE_CONVEX, SHAPE_ELLIPSOID, SHAPE_SPHERE

LEVEL = 1e-9  #: by which the square of a radius may exceed 1
HALVINGS = 50


@kernel
def face_points(geoms, geom_R, geom_p, g, region, side, margin, tol, work):
    """Points between the face in ``work.frame`` and the feature of shape g that faces it.

    Parameters
    ----------
    region : (corners, radius)
        Of the face, of ``set_region``.
    side : int
        1 where the face is X's, 2 where it is Y's: tells their identities apart.
    margin, tol : float
        Largest gap kept; play of inside tests [m].
    work : ManifoldWork
        Out: ``points`` (world, midway between the surfaces, and gap), ``ids``.

    Returns
    -------
    int
        Number of points.
    """
    polygon, frame, points = work.polygon, work.frame, work.points
    corners, radius = region
    n = vector(frame, 2)
    face = facing(geoms, geom_R, g, opposite(n))
    if face == NO_FLAT:
        count = set_line(geoms, geom_R, geom_p, g, opposite(n), work)
    elif corners == 0 and geoms.kind[g] == SHAPE_CONVEX:
        count = set_vertices(geoms, geom_R, geom_p, g, work)
    else:
        count = outline(geoms, geom_R, geom_p, g, face, polygon[0], work.name[0])
    to_frame(frame, polygon[0], count)
    if face != NO_FLAT and (radius > 0.0 or (corners > 0 and is_round(geoms, g))):
        found = disc_points(geoms, geom_R, g, face, count, region, side, margin, tol, work)
    else:
        if count > 2:
            count = clip_polygon(work, count, corners, tol)
        elif count == 2:
            count = clip_segment(polygon, region, tol)
        elif not is_over(polygon, region, vector(polygon[0], 0), tol):
            count = 0
        found = corner_points(count, EVERYWHERE, side, margin, tol, work)
    if face != NO_FLAT and geoms.kind[g] != SHAPE_BOX:
        found = add_lowest(geoms, geom_R, geom_p, g, region, found, side, margin, tol, work)
    for j in range(found):
        u, v, gap = vector(points, j)
        put_vector(points, j, out_of_frame(frame, (u, v, 0.5 * gap)))
        points[j, 3] = gap
    return found


@kernel
def set_line(geoms, geom_R, geom_p, g, d, work):
    """Point or line of a curved shape that faces along d; world coordinates, in row 0 of the polygons."""
    points, name = work.polygon[0], work.name
    shape, size = geoms.kind[g], vector(geoms.size, g)
    name[0, 0], name[0, 1] = 0, 1
    if shape == SHAPE_ELLIPSOID or shape == SHAPE_SPHERE:
        put_vector(points, 0, farthest(geoms, geom_R, geom_p, g, d))
        return 1
    a = into_body(geom_R, g, d)
    u, v, _ = rim_point(size[0], a)
    axial = 0.0
    if not is_round(geoms, g):  # a capsule
        u, v, axial = size[0] * a[0], size[0] * a[1], size[0] * a[2]
    put_vector(points, 0, place(geom_R, geom_p, g, (u, v, axial - size[1])))
    if shape == SHAPE_CONE:
        u, v = 0.0, 0.0
    put_vector(points, 1, place(geom_R, geom_p, g, (u, v, axial + size[1])))
    return 2


@kernel
def set_vertices(geoms, geom_R, geom_p, g, work):
    """All vertices of a hull, in row 0 of the polygons; world coordinates."""
    first = geoms.first_vertex[g]
    count = geoms.first_vertex[g + 1] - first
    for i in range(count):
        put_vector(work.polygon[0], i, place(geom_R, geom_p, g, vector(geoms.vertices, first + i)))
        work.name[0, i] = i
    return count


@kernel
def corner_points(count, region, side, margin, tol, work):
    """Collect the corners of row 0 that are in a region and within the margin; returns the number of points."""
    found = 0
    for i in range(count):
        p = vector(work.polygon[0], i)
        if is_over(work.polygon, region, p, tol):
            found = add_point(work.points, work.ids, found, p, side * TOP + work.name[0, i], margin, tol)
    return found


@on_demand(INTEGER)
def add_lowest(geoms, geom_R, geom_p, g, region, found, side, margin, tol, work):
    """Append the point of g nearest to the plane of the face, if it is over the face.

    Of a tilted cap or base it is that of its rim.  The face of a hull that faces most need not hold it: the tip of a
    slender pyramid points at what it touches; it counts only if it is lower than all other points.
    """
    down = opposite(vector(work.frame, 2))
    name, _ = core_point(geoms, geom_R, g, down)
    p = vector_sum(farthest(geoms, geom_R, geom_p, g, down), -1.0, vector(work.frame, 3))
    p = into_frame(work.frame, p)
    if is_round(geoms, g):
        if geoms.size[g, 0] * rim_point(1.0, into_body(geom_R, g, down))[2] <= tol:
            return found
    else:
        for j in range(found):
            if work.points[j, 2] <= p[2] + tol:
                return found
    if not is_over(work.polygon, region, p, tol):
        return found
    return add_point(work.points, work.ids, found, p, side * TOP + name, margin, tol)


# --- where one of two faces is a disc -----------------------------------------------------------


@kernel
def on_plane(q, m, p):
    """The point above (x, y) of p on the plane through q with normal m; all in the frame of the reference face."""
    return p[0], p[1], q[2] - (m[0] * (p[0] - q[0]) + m[1] * (p[1] - q[1])) / m[2]


@on_demand(INTEGER)
def disc_points(geoms, geom_R, g, face, count, region, side, margin, tol, work):
    """Points of two faces one of which at least is a disc: corners of either over the other, crossings of outlines."""
    polygon, points, ids = work.polygon, work.points, work.ids
    corners, radius = region
    rounded = is_round(geoms, g)
    m = into_frame(work.frame, face_normal(geoms, geom_R, g, face))
    q = vector(polygon[0], 0)
    if rounded:
        opposed = vector(polygon[0], 2)
        q = 0.5 * (q[0] + opposed[0]), 0.5 * (q[1] + opposed[1]), 0.5 * (q[2] + opposed[2])
    found = corner_points(count, region, side, margin, tol, work)
    for i in range(corners):
        p = on_plane(q, m, vector(polygon[2], i))
        if rounded:
            under = length_of(vector_sum(p, -1.0, q)) <= geoms.size[g, 0] + tol
        else:
            under = encloses(polygon[0], count, -1.0, p, tol)
        if under:
            found = add_point(points, ids, found, p, side * TOP + OF_FACE + work.name[2, i], margin, tol)
    if rounded and radius > 0.0:
        return rim_crossings(radius, geoms.size[g, 0], q, m, found, side, margin, tol, work)
    row, edges = (2, corners) if rounded else (0, count)
    for i in range(edges):
        a, b = vector(polygon[row], i), vector(polygon[row], i + 1 if i + 1 < edges else 0)
        if rounded:
            a, b = on_plane(q, m, a), on_plane(q, m, b)
            c, circle = vector_sum(a, -1.0, q), geoms.size[g, 0]
        else:
            c, circle = (a[0], a[1], 0.0), radius
        d = vector_sum(b, -1.0, a)
        t0, t1, cut0, cut1 = clip_to_circle(c, d if rounded else (d[0], d[1], 0.0), circle, tol)
        code = side * TOP + CUT + (work.name[row, i] << 10)
        if cut0 and t0 <= t1:
            found = add_point(points, ids, found, vector_sum(a, t0, d), code, margin, tol)
        if cut1 and t0 <= t1:
            found = add_point(points, ids, found, vector_sum(a, t1, d), code + 1, margin, tol)
    return found


@kernel
def rim_crossings(radius, r2, q, m, found, side, margin, tol, work):
    """The two points where the rims of two discs cross, seen along the face's normal.

    The other disc, of radius r2 about q with normal m, may be tilted; its crossings are looked for on this side of its
    centre only.
    """
    d = math.sqrt(q[0] * q[0] + q[1] * q[1])
    if d <= tol or d >= radius + r2 or d <= abs(radius - r2):
        return found
    along = (d * d + radius * radius - r2 * r2) / (2.0 * d)
    across = math.sqrt(max(0.0, radius * radius - along * along))
    for which in range(2):
        sign = 1.0 if (which == 0) == (side == 1) else -1.0  # the same name seen from either disc
        p = on_plane(q, m, ((along * q[0] - sign * across * q[1]) / d, (along * q[1] + sign * across * q[0]) / d, 0.0))
        if beside(p, q, r2):  # a tilted disc is an ellipse within its circle
            p = under_the_rim(p, q, m, radius, r2)
            if beside(p, q, r2):
                continue
        found = add_point(work.points, work.ids, found, p, side * TOP + CUT + which, margin, tol)
    return found


@kernel
def beside(p, q, r2):
    """Whether a point of its plane is outside of a disc about q."""
    away = vector_sum(p, -1.0, q)
    return vector_dot(away, away) > (1.0 + LEVEL) * r2 * r2


@kernel
def under_the_rim(start, q, m, radius, r2):
    """The point of the reference rim under the rim of a tilted disc: from ``start``, beside it, towards its centre q.

    By halving; where the whole way lies beside the disc, the end comes back.
    """
    scale = radius / math.sqrt(q[0] * q[0] + q[1] * q[1])
    end = scale * q[0], scale * q[1]
    p = on_plane(q, m, (end[0], end[1], 0.0))
    out, inside = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (out + inside)
        x, y = start[0] + middle * (end[0] - start[0]), start[1] + middle * (end[1] - start[1])
        length = math.sqrt(x * x + y * y)
        if length == 0.0:  # the two are opposite
            return p
        trial = on_plane(q, m, (radius * x / length, radius * y / length, 0.0))
        away = vector_sum(trial, -1.0, q)
        if vector_dot(away, away) > r2 * r2:
            out = middle
        else:
            inside = middle
            p = trial
    return p
