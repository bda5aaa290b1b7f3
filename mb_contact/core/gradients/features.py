# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which features of two shapes make a contact, found again from its point and its normal.

Of a contact over a face, with outward normal m, ``Meeting`` holds the point y of the other shape's core over it and

    VERTEX   nothing more: y moves with that shape
    CORNER   m', normal of the face over the corner y - s m of the face
    CROSS    h = m x edge of the face, e the edge on which y lies

and the Hessian of the support function of the other shape, by which a point of a curved surface follows a normal.
EDGES: points on the cores of A and B, their Hessians, and the edges e_a, e_b on which they lie, if they are on any.
"""

import numpy as np

from mb_contact.core.collision.manifolds import y_comes_first
from mb_contact.core.gradients.curved import (
    bend,
    distance_beside,
    ellipsoid_reach,
    face_line,
    is_round,
    line_end,
)
from mb_contact.core.gradients.workspace import BESIDE, FINE, NOT_OVER_FACE
from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.spatial import (
    ZERO,
    body_point,
    body_vector,
    matrix,
    opposite,
    put_vector,
    transposed,
    turned,
    unit_of,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)
from mb_contact.types import (
    SHAPE_ELLIPSOID,
    SHAPE_HEIGHT_FIELD,
    SHAPE_MESH,
    SHAPE_PLANE,
)

SAME = 1e-7  #: of a shape's size: points so near are one point
ALIKE = 1e-8  #: by which a normal may differ from that of the face that it is
LEVEL = 1e-9  #: as in manifold_normals.py

VERTEX, CORNER, CROSS, EDGES = range(4)  #: entry KIND of Meeting.kind
KIND, OWNER, LINE = range(3)  #: of Meeting.kind; LINE of EDGES: 1 with e_a, 2 with e_b, 3 with both
NORMAL, POINT, ACROSS, EDGE = range(4)  #: rows of Meeting.vector
ON_A, ON_B, EDGE_A, EDGE_B = 1, 2, 3, 4  #: and of EDGES
BEND_A, BEND_B = 5, 8  #: rows of the Hessians; over a face BEND_A is that of the other shape [m]
GAP, HEIGHT, ROUND_A, ROUND_B = range(4)  #: of Meeting.number
LEVELLED = 1e-2  #: of a shape's size: so far a point may lie above its edge, at the height of the pair's deepest one
COARSE = 1e-5  #: of a shape's size: so far a point of a curved surface is from where its normal says


@sweep
def into_vector(R, k, a):
    """Components in the axes of body k of the vector a of the world."""
    return turned(transposed(matrix(R, k)), a) if k >= 0 else a


@sweep
def into_point(R, p, k, a):
    """Place in the frame of body k of the point a of the world."""
    return turned(transposed(matrix(R, k)), vector_sum(a, -1.0, vector(p, k))) if k >= 0 else a


@sweep
def distance(a, b):
    d = vector_sum(a, -1.0, b)
    return np.sqrt(vector_dot(d, d))


@kernel
def face_of(g, at, k, n):
    """The face of geometry ``at`` of body k whose outward normal is n, or -1."""
    m = into_vector(g.d.kin.R, k, n)
    for f in range(g.cores.first_face[at], g.cores.first_face[at + 1]):
        d = vector_sum(vector(g.cores.normal, f), -1.0, m)
        if max(abs(d[0]), abs(d[1]), abs(d[2])) < ALIKE:
            return f
    return -1


@kernel
def find_features(g, geoms, pair, n, x, gap):
    """Fill ``meeting`` for a contact of a pair at x with normal n; a status."""
    a, b = geoms.pairs[pair, 0], geoms.pairs[pair, 1]
    _straighten(g)
    if _has_many(geoms.kind[a]) or _has_many(geoms.kind[b]):
        return _on_mesh(g, geoms, a, b, n, x, gap)
    on_a, on_b = face_of(g, a, geoms.body[a], opposite(n)), face_of(g, b, geoms.body[b], n)
    if on_a >= 0 or on_b >= 0:
        owner = _reference(g, geoms, a, b, on_a, on_b)
        g.meeting.kind[OWNER] = owner
        found = (
            _over_face(g, geoms, a, on_a, b, opposite(n), x, gap)
            if owner == 0
            else _over_face(g, geoms, b, on_b, a, n, x, gap)
        )
        if found:
            return FINE
    if geoms.kind[a] == SHAPE_PLANE or geoms.kind[b] == SHAPE_PLANE:
        return NOT_OVER_FACE
    return _on_edges(g, geoms, a, b, n, x, gap)


@kernel
def _straighten(g):
    """No Hessians."""
    for row in range(BEND_A, BEND_B + 3):
        put_vector(g.meeting.vector, row, ZERO)


@sweep
def _has_many(kind):
    """Whether a shape has faces with one normal in several places."""
    return kind == SHAPE_MESH or kind == SHAPE_HEIGHT_FIELD


@kernel
def _on_mesh(g, geoms, a, b, n, x, gap):
    """Features of a contact of which one shape is a mesh: a vertex over a face of either, or edges; a status."""
    for owner in range(2):
        own, other = (a, b) if owner == 0 else (b, a)
        m = opposite(n) if owner == 0 else n
        if not is_round(geoms.kind[own]) and _over_faces(g, geoms, own, other, m, x, gap):
            g.meeting.kind[OWNER] = owner
            return FINE
    if geoms.kind[a] == SHAPE_PLANE or geoms.kind[b] == SHAPE_PLANE:
        return NOT_OVER_FACE
    return _on_edges(g, geoms, a, b, n, x, gap)


@kernel
def _over_faces(g, geoms, own, other, m, x, gap):
    """Whether a vertex lies over one of the faces of geometry ``own`` with outward normal m."""
    cores, k, o = g.cores, geoms.body[own], geoms.body[other]
    axis, near, before = into_vector(g.d.kin.R, k, m), SAME * min(cores.scale[own], cores.scale[other]), np.inf
    put_vector(g.meeting.vector, NORMAL, m)
    for f in range(cores.first_face[own], cores.first_face[own + 1]):
        d = vector_sum(vector(cores.normal, f), -1.0, axis)
        if max(abs(d[0]), abs(d[1]), abs(d[2])) >= ALIKE:
            continue
        foot, height = _foot(g, own, k, f, m), gap + cores.radius[other]
        if abs(foot - before) < near:  # in the plane of the one before
            continue
        g.meeting.number[GAP], g.meeting.number[HEIGHT], before = gap, height, foot
        cap, line = face_line(g, other, o, m) if is_round(geoms.kind[other]) else (True, False)
        if _vertex(g, geoms, other, o, m, x, foot + height, near, cap, line):
            return True
    return False


@kernel
def _foot(g, own, k, face, m):
    """Height of a face of geometry ``own`` along m."""
    cores = g.cores
    first = cores.first_corner[face]
    base = cores.corner[first] if cores.first_corner[face + 1] > first else cores.first_point[own]
    return vector_dot(body_point(g.d.kin.R, g.d.kin.p, k, vector(cores.point, base)), m)


@kernel
def _reference(g, geoms, a, b, on_a, on_b):
    """0 or 1: whose face it is, of two parallel ones as the narrow phase decides."""
    if on_a < 0 or on_b < 0:
        return 1 if on_a < 0 else 0
    if geoms.kind[a] == SHAPE_PLANE or geoms.kind[b] == SHAPE_PLANE:
        return 0 if geoms.kind[a] == SHAPE_PLANE else 1
    area_a, area_b = g.cores.area[on_a], g.cores.area[on_b]
    if abs(area_a - area_b) > 1e-9 * (area_a + area_b):
        return 0 if area_a > area_b else 1
    x = 1 if y_comes_first(geoms.kind, geoms.size, a, b) else 0
    R, p = g.d.kin.R, g.d.kin.p
    at_x = body_point(R, p, geoms.body[b if x == 1 else a], vector(geoms.p, b if x == 1 else a))
    at_y = body_point(R, p, geoms.body[a if x == 1 else b], vector(geoms.p, a if x == 1 else b))
    for i in (2, 0, 1):
        if abs(at_x[i] - at_y[i]) > LEVEL:
            return x if at_x[i] < at_y[i] else 1 - x
    return x


@kernel
def _over_face(g, geoms, own, face, other, m, x, gap):
    """The point over a face of geometry ``own`` with outward normal m; whether something fits there."""
    cores, k, o = g.cores, geoms.body[own], geoms.body[other]
    near, foot = SAME * min(cores.scale[own], cores.scale[other]), _foot(g, own, k, face, m)
    height = gap + cores.radius[other]
    meeting = g.meeting
    put_vector(meeting.vector, NORMAL, m)
    meeting.number[GAP], meeting.number[HEIGHT] = gap, height
    cap, line = face_line(g, other, o, m) if is_round(geoms.kind[other]) else (True, False)
    return (
        _vertex(g, geoms, other, o, m, x, foot + height, near, cap, line)
        or _corner(g, own, k, face, other, o, m, x, near)
        or _crossing(g, geoms, own, k, face, other, o, m, x, foot + height, near, line)
    )


@kernel
def _vertex(g, geoms, other, o, m, x, height, near, cap, line):
    """Whether a vertex, an end of a facing line or the lowest point of an ellipsoid is the point."""
    R, p = g.d.kin.R, g.d.kin.p
    if geoms.kind[other] == SHAPE_ELLIPSOID:
        centre = body_point(R, p, o, vector(g.cores.point, g.cores.first_point[other]))
        bend(g, geoms, other, opposite(m), centre, BEND_A)
        y = vector_sum(centre, -1.0, ellipsoid_reach(g, geoms, other, o, m))
        put_vector(g.meeting.vector, POINT, y)
        g.meeting.kind[KIND] = VERTEX
        return abs(vector_dot(y, m) - height) < near and distance_beside(y, x, m) < near
    if cap:
        axis, place = into_vector(R, o, m), into_point(R, p, o, x)
        above = height if o < 0 else height - vector_dot(vector(p, o), m)
        for i in range(g.cores.first_point[other], g.cores.first_point[other + 1]):
            y = vector(g.cores.point, i)
            if abs(vector_dot(y, axis) - above) < near and distance_beside(y, place, axis) < near:
                put_vector(g.meeting.vector, POINT, body_point(R, p, o, y))
                g.meeting.kind[KIND] = VERTEX
                return True
    for i in range(2 if line else 0):
        y = line_end(g, other, o, i, m)
        if abs(vector_dot(y, m) - height) < near and distance_beside(y, x, m) < near:
            put_vector(g.meeting.vector, POINT, y)
            bend(g, geoms, other, opposite(m), y, BEND_A)
            g.meeting.kind[KIND] = VERTEX
            return True
    return False


@kernel
def _corner(g, own, k, face, other, o, m, x, near):
    """Whether a corner of the face is below the point, which lies on a face of the other shape."""
    cores, R, p = g.cores, g.d.kin.R, g.d.kin.p
    for i in range(cores.first_corner[face], cores.first_corner[face + 1]):
        c = body_point(R, p, k, vector(cores.point, cores.corner[i]))
        if distance_beside(c, x, m) >= near:
            continue
        y = vector_sum(c, g.meeting.number[HEIGHT], m)
        place = into_point(R, p, o, y)
        for f in range(cores.first_face[other], cores.first_face[other + 1]):
            if cores.first_corner[f + 1] == cores.first_corner[f]:
                continue
            normal = vector(cores.normal, f)
            away = vector_sum(place, -1.0, vector(cores.point, cores.corner[cores.first_corner[f]]))
            if abs(vector_dot(normal, away)) < near and vector_dot(body_vector(R, o, normal), m) < -1e-6:
                put_vector(g.meeting.vector, POINT, y)
                put_vector(g.meeting.vector, ACROSS, body_vector(R, o, normal))
                g.meeting.kind[KIND] = CORNER
                return True
    return False


@kernel
def _crossing(g, geoms, own, k, face, other, o, m, x, height, near, line):
    """Whether the point is where an edge of the other shape, or its facing line, crosses one of the face."""
    cores, R, p = g.cores, g.d.kin.R, g.d.kin.p
    first, last = cores.first_edge[other], cores.first_edge[other + 1]
    if line:
        start, end = line_end(g, other, o, 0, m), line_end(g, other, o, 1, m)
        if _cross_outline(g, k, face, start, end, m, x, height, near):
            bend(g, geoms, other, opposite(m), vector(g.meeting.vector, POINT), BEND_A)
            return True
        return False
    for i in range(first, last):
        start = body_point(R, p, o, vector(cores.point, cores.edge[i, 0]))
        end = body_point(R, p, o, vector(cores.point, cores.edge[i, 1]))
        if _cross_outline(g, k, face, start, end, m, x, height, near):
            return True
    return False


@kernel
def _cross_outline(g, k, face, start, end, m, x, height, near):
    """Whether the point is where the edge from ``start`` to ``end`` crosses one of a face."""
    cores, R, p = g.cores, g.d.kin.R, g.d.kin.p
    e = vector_sum(end, -1.0, start)
    first, last = cores.first_corner[face], cores.first_corner[face + 1]
    for i in range(first, last):
        c = body_point(R, p, k, vector(cores.point, cores.corner[i]))
        after = body_point(R, p, k, vector(cores.point, cores.corner[i + 1 if i + 1 < last else first]))
        h = vector_product(m, vector_sum(after, -1.0, c))
        rate = vector_dot(h, e)
        if abs(rate) <= 1e-9 * np.sqrt(vector_dot(h, h) * vector_dot(e, e)):
            continue
        t = vector_dot(h, vector_sum(c, -1.0, start)) / rate
        y = vector_sum(start, t, e)
        fits = distance_beside(y, x, m) < near and abs(vector_dot(m, y) - height) < near
        if fits and t >= -SAME and t <= 1.0 + SAME:
            put_vector(g.meeting.vector, POINT, y)
            put_vector(g.meeting.vector, ACROSS, h)
            put_vector(g.meeting.vector, EDGE, e)
            g.meeting.kind[KIND] = CROSS
            return True
    return False


@kernel
def _on_edges(g, geoms, a, b, n, x, gap):
    """Points of cores with edges or vertices there; a status."""
    meeting, r_a, r_b = g.meeting, g.cores.radius[a], g.cores.radius[b]
    _straighten(g)
    put_vector(meeting.vector, NORMAL, n)
    put_vector(meeting.vector, ON_A, vector_sum(x, 0.5 * gap + r_a, n))
    put_vector(meeting.vector, ON_B, vector_sum(x, -0.5 * gap - r_b, n))
    meeting.number[GAP], meeting.number[ROUND_A], meeting.number[ROUND_B] = gap, r_a, r_b
    on_a = _edge(g, geoms, a, ON_A, EDGE_A, BEND_A, opposite(n))
    on_b = _edge(g, geoms, b, ON_B, EDGE_B, BEND_B, n)
    if on_a < 0 or on_b < 0:
        return BESIDE
    meeting.kind[KIND], meeting.kind[LINE] = EDGES, on_a + 2 * on_b
    return FINE


@kernel
def _edge(g, geoms, at, point, edge, row, n):
    """1 where the core's point lies on an edge, which becomes a row of ``meeting``; 0 on a vertex, -1 beside both.

    Of curved shapes also their Hessian; lines of a cylinder's or cone's side are edges.
    """
    cores, R, p, k = g.cores, g.d.kin.R, g.d.kin.p, geoms.body[at]
    near = SAME * cores.scale[at]
    place = vector(g.meeting.vector, point)
    y = into_point(R, p, k, place)
    if geoms.kind[at] == SHAPE_ELLIPSOID:
        bend(g, geoms, at, n, place, row)
        support = vector_sum(vector(cores.point, cores.first_point[at]), 1.0,
                             into_vector(R, k, ellipsoid_reach(g, geoms, at, k, n)))  # fmt: skip
        return 0 if distance(y, support) < COARSE * cores.scale[at] else -1
    if is_round(geoms.kind[at]):
        bend(g, geoms, at, n, place, row)
        start, end = line_end(g, at, k, 0, opposite(n)), line_end(g, at, k, 1, opposite(n))
        e = vector_sum(end, -1.0, start)
        put_vector(g.meeting.vector, edge, e)
        near = COARSE * cores.scale[at]
        if distance(place, start) < near or distance(place, end) < near:
            return 0
        return 1 if distance_beside(place, start, unit_of(e)[0]) < near else -1
    for i in range(cores.first_point[at], cores.first_point[at + 1]):
        if distance(vector(cores.point, i), y) < near:
            return 0
    axis = into_vector(R, k, n)
    for i in range(cores.first_edge[at], cores.first_edge[at + 1]):
        start = vector(cores.point, cores.edge[i, 0])
        e = vector_sum(vector(cores.point, cores.edge[i, 1]), -1.0, start)
        size = vector_dot(e, e)
        t = vector_dot(e, vector_sum(y, -1.0, start)) / size
        nearest = vector_sum(start, t, e)
        lies = t >= 0.0 and t <= 1.0 and distance(nearest, y) < LEVELLED * cores.scale[at]
        lies = lies and distance_beside(nearest, y, axis) < near
        if lies and abs(vector_dot(e, axis)) < 1e-6 * np.sqrt(size):
            put_vector(g.meeting.vector, edge, body_vector(R, k, e))
            put_vector(g.meeting.vector, point, body_point(R, p, k, nearest))
            return 1
    return -1
