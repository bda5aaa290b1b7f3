# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which deep points of a mesh are false: the way out along their normal does not lead through the solid alone.

Features whose normals suit each other may be far below each other's planes, and outside of the bodies all the same:
behind a thin wall, below the tip of a spike, or in a concave place.
"""

import math

from mb_contact.core.collision.height_grid import KINDS, OF_EDGE, OF_SHAPE
from mb_contact.core.collision.mesh_points import move_point
from mb_contact.core.collision.mesh_tree import (
    CLOSED,
    SHALLOW,
    SHEET,
    TOUCHES,
    corner_of,
    deepest_of,
    edge_heights,
    is_blocked,
    near_triangles,
    ridge_line,
    side_of,
    way_of_place,
)
from mb_contact.core.collision.point_distance import is_within
from mb_contact.core.collision.shapes import into_body, out_of_body
from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import ZERO, length_of, opposite, unit_of, vector, vector_dot, vector_sum
from mb_contact.types import SHAPE_MESH

PEAK_OF_X, TWO_RIDGES, PEAK_OF_Y, RIDGES_BACK = range(4)  #: kinds of features of two meshes, in identities
OF_PLANE = 0  #: the same of a shape and a mesh, beside OF_EDGE and OF_PEAK
INSIDE = 0.1  #: of its depth, by which the point of a ridge that is looked at is inside of the sides of another
LESS = 0.5  #: part of a depth that another one has to exceed to count beside it
BESIDE = 1.234e-5  #: of a ray that tells inside from outside, in half extents of the mesh
SURE = 10.0 * BESIDE  #: depth from which it tells that of a deep point, in the same
STEEP = 0.01  #: least slope of a side that tells where a ridge comes out of it


@kernel
def drop_false(geoms, geom_R, geom_p, x, y, near, work, count):
    """Leave out points that are deeper than what a feature can tell, or through a wall; returns the number of points.

    From a point of X that is in the solid the way out along the normal meets no other triangle of Y; ``near`` of them
    are at hand, -1 where both are meshes.  What is left out on the way of a step although most of its depth has come
    there may have met another feature of a thin wall: ``work.mesh.walled`` counts it.
    """
    field, kept, deepest = work.field, 0, deepest_of(geoms, x, y, work)
    for k in range(count):
        gap, field.group[k] = field.points[k, 3], 0
        if gap < -deepest:
            field.group[k] = 1
        elif gap < -SHALLOW * geoms.unit[0] and (
            _is_false(geoms, geom_R, geom_p, x, y, near, work, k)
            or (near < 0 and _is_elsewhere(work, count, k, TOUCHES * geoms.unit[0]))
        ):
            field.group[k] = 1
            n, p = vector(field.normals, k), vector(field.points, k)
            if work.mesh.query[1] != 0 and came_in(geom_R, geom_p, y, p, LESS * gap, n, work):
                work.mesh.walled[0] += 1
    for k in range(count):
        if field.group[k] == 0:
            move_point(field, k, kept)
            kept += 1
    return kept


@kernel
def _is_false(geoms, geom_R, geom_p, x, y, near, work, k):
    """Whether the deep point k of the list is through a wall, or not in both of the solids that it is said to be in.

    On the way of a step they may have gone through a wall: then the features that met count, wherever they are now.
    """
    gap, n, p = work.field.points[k, 3], vector(work.field.normals, k), vector(work.field.points, k)
    shallow = SHALLOW * geoms.unit[0]
    of_x, of_y = vector_sum(p, 0.5 * gap, n), vector_sum(p, -0.5 * gap, n)
    under_x, over_y = vector_sum(of_x, -2.0 * shallow, n), vector_sum(of_y, 2.0 * shallow, n)
    if work.mesh.query[1] != 0 and came_in(geom_R, geom_p, y, p, gap + shallow, n, work):
        return False
    feature, what, name = _features_of(work.field.ids[k])
    if near >= 0:
        if what == OF_PLANE and _is_in_air(geoms, geom_R, geom_p, y, under_x, gap, work):
            return True
        inwards, _ = unit_of(vector_sum(vector(geom_p, x), -1.0, of_x))
        beside = what == OF_PLANE and _is_at_border(geoms, geom_R, geom_p, y, of_x, inwards, gap, n, near, work)
        if what == OF_EDGE and work.mesh.query[1] == 0 and geoms.mesh.sided[y] == SHEET:
            line = ridge_line(geoms, geom_R, geom_p, y, feature)
            at = vector_dot(line[1], vector_sum(of_y, -1.0, line[0]))
            beside = not is_within(geoms, geom_R, geom_p, x, line, at, TOUCHES * geoms.unit[0])
        return beside or is_blocked(
            geoms, geom_R, geom_p, y, under_x, vector_sum(of_y, INSIDE * gap, n), near, 0.0, ZERO, work
        )
    own, of_own, other, out = (x, of_x, y, n) if what == PEAK_OF_X else (y, of_y, x, opposite(n))
    if what == PEAK_OF_X or what == PEAK_OF_Y:
        peak = name if what == PEAK_OF_X else feature
        inwards = opposite(out_of_body(geom_R, own, vector(geoms.mesh.outward, peak)))
        if _is_in_air(geoms, geom_R, geom_p, other, of_own, gap, work) or _is_at_border(
            geoms, geom_R, geom_p, other, of_own, inwards, gap, out, -1, work
        ):
            return True
    if what == TWO_RIDGES or what == RIDGES_BACK:
        own, other = (x, name, of_x), (y, feature, of_y)
        return not (
            is_ridge_in(geoms, geom_R, geom_p, own, other, work)
            and is_ridge_in(geoms, geom_R, geom_p, other, own, work)
        )
    skin_x, skin_y = (shallow, -INSIDE * gap) if what == PEAK_OF_X else (-INSIDE * gap, shallow)
    return is_walled(geoms, geom_R, geom_p, y, under_x, vector_sum(of_y, -skin_x, n), 0.0, ZERO, work) or is_walled(
        geoms, geom_R, geom_p, x, over_y, vector_sum(of_x, skin_y, n), 0.0, ZERO, work
    )


@kernel
def _is_in_air(geoms, geom_R, geom_p, y, p, gap, work):
    """Whether a point p below a plane of closed mesh y by ``gap``, where a step begins, is outside of it [m]."""
    sure = SURE * length_of(vector(geoms.size, y))
    if work.mesh.query[1] != 0 or geoms.mesh.sided[y] != CLOSED or geoms.kind[y] != SHAPE_MESH or gap > -sure:
        return False
    return not is_inside(geoms, y, into_body(geom_R, y, vector_sum(p, -1.0, vector(geom_p, y))), work)


@kernel
def is_inside(geoms, y, a, work):
    """Whether a point in the axes of a closed mesh is inside: a ray along z from beside it meets an odd number.

    Straight from the point it would go along edges of meshes that are symmetric.
    """
    half, mesh, stack = vector(geoms.size, y), geoms.mesh, work.mesh.stack
    a = a[0] + BESIDE * half[0], a[1] + 0.7 * BESIDE * half[1], a[2]
    bottom = stack.shape[0] // 2  # as in ``near_triangles``
    stack[bottom], top, is_odd = mesh.first_node[y], bottom + 1, False
    while top > bottom:
        top -= 1
        node = stack[top]
        lower, upper = vector(mesh.box[node], 0), vector(mesh.box[node], 1)
        if a[2] > upper[2] or a[0] < lower[0] or a[0] > upper[0] or a[1] < lower[1] or a[1] > upper[1]:
            continue
        if mesh.child[node, 0] >= 0:
            stack[top], stack[top + 1] = mesh.child[node, 0], mesh.child[node, 1]
            top += 2
            continue
        for k in range(mesh.child[node, 1]):
            triangle = mesh.order[-1 - mesh.child[node, 0] + k]
            n = vector(geoms.faces, triangle)
            height = vector_dot(n, vector_sum(a, -1.0, vector(geoms.vertices, corner_of(geoms, y, triangle, 0))))
            if n[2] != 0.0 and -height / n[2] > 0.0:
                e0, e1, e2 = edge_heights(geoms, y, triangle, (a[0], a[1], a[2] - height / n[2]))
                is_odd = is_odd != (min(e0, e1, e2) > 0.0)
    return is_odd


@kernel
def _is_at_border(geoms, geom_R, geom_p, y, p, inwards, gap, n, near, work):
    """Whether a point p of a body that is below a plane of sheet y is so beside the border, not through the sheet.

    The body leads from p ``inwards``, to where it would come through.  Not on the way of a step: there it counts which
    way the point has come (``core/step/feature_meeting.py``).
    """
    rise = vector_dot(inwards, n)
    if work.mesh.query[1] != 0 or geoms.mesh.sided[y] != SHEET or rise < STEEP:
        return False
    q = vector_sum(p, (SHALLOW * geoms.unit[0] - gap) / rise, inwards)
    if near >= 0:
        return not is_blocked(geoms, geom_R, geom_p, y, p, q, near, TOUCHES * geoms.unit[0], ZERO, work)
    return not is_walled(geoms, geom_R, geom_p, y, p, q, TOUCHES * geoms.unit[0], ZERO, work)


@kernel
def came_in(geom_R, geom_p, y, p, gap, n, work):
    """Whether a point has come so far along n since the step started, ``gap`` less than zero [m]."""
    goes = way_of_place(work.mesh.way, into_body(geom_R, y, vector_sum(p, -1.0, vector(geom_p, y))))
    return vector_dot(n, out_of_body(geom_R, y, goes)) <= gap


@kernel
def _is_elsewhere(work, count, k, touch):
    """Whether the peak of a deep point k of the list is far less deep in another plane, the one that it came through.

    On the way of a step it may have come through any of them.
    """
    field = work.field
    _, what, _ = _features_of(field.ids[k])
    if work.mesh.query[1] != 0 or work.mesh.query[2] != 0 or what == TWO_RIDGES or what == RIDGES_BACK:
        return False
    part = 0.5 if what == PEAK_OF_X else -0.5
    p = vector_sum(vector(field.points, k), part * field.points[k, 3], vector(field.normals, k))
    for m in range(count):
        q = vector_sum(vector(field.points, m), part * field.points[m, 3], vector(field.normals, m))
        apart = vector_sum(p, -1.0, q)
        if field.points[m, 3] > LESS * field.points[k, 3] and vector_dot(apart, apart) <= 16.0 * touch * touch:
            return True
    return False


@kernel
def _features_of(number):
    """(Feature of Y, kind, feature of X) of the identity of a point."""
    front = number // OF_SHAPE
    return front // KINDS, front % KINDS, number % OF_SHAPE


@kernel
def is_ridge_in(geoms, geom_R, geom_p, own, other, work):
    """Whether a ridge that passes below a ridge of another mesh is in that mesh there.

    ``own`` and ``other`` are (mesh, ridge, point), the points those at which the lines of both are nearest.  Below an
    edge of less than a right angle that point may be beside the solid, and the ridge in it farther along: it is looked
    at where it is between the planes of both sides, and from there straight to the edge.
    """
    (x, ridge, p), (y, other_ridge, q) = own, other
    along, shallow = 0.0, SHALLOW * geoms.unit[0]
    n, depth = unit_of(vector_sum(q, -1.0, p))
    a, u, length = ridge_line(geoms, geom_R, geom_p, x, ridge)
    b, w, other_length = ridge_line(geoms, geom_R, geom_p, y, other_ridge)
    cosine = vector_dot(u, w)
    if geoms.mesh.sided[y] != SHEET:
        e, sine = unit_of(vector_sum(u, -cosine, w))
        low, high = math.inf, -math.inf
        for k in range(2, 4):
            side = side_of(geoms, geom_R, y, other_ridge, k)
            at = depth * vector_dot(side, e) / max(-vector_dot(side, n), STEEP)
            low, high = min(low, at), max(high, at)
        margin = INSIDE * min(high - low, depth)
        along = min(max(0.0, low + margin), high - margin) / sine
    m, r = vector_sum(p, along, u), vector_sum(q, along * cosine, w)
    if along != 0.0:
        s, t = vector_dot(u, vector_sum(m, -1.0, a)), vector_dot(w, vector_sum(r, -1.0, b))
        if min(min(s, length - s), min(t, other_length - t)) < -TOUCHES * geoms.unit[0]:
            return False
    out, _ = unit_of(vector_sum(r, -1.0, m))
    start = vector_sum(m, -2.0 * shallow, out)
    return not is_walled(geoms, geom_R, geom_p, y, start, vector_sum(r, -shallow, out), 0.0, ZERO, work)


@kernel
def is_walled(geoms, geom_R, geom_p, y, p, q, play, out, work):
    """Whether a triangle of mesh y crosses the segment from p to q, world; ``play`` and ``out`` of ``is_blocked``."""
    a = into_body(geom_R, y, vector_sum(p, -1.0, vector(geom_p, y)))
    b = into_body(geom_R, y, vector_sum(q, -1.0, vector(geom_p, y)))
    lower = min(a[0], b[0]), min(a[1], b[1]), min(a[2], b[2])
    upper = max(a[0], b[0]), max(a[1], b[1]), max(a[2], b[2])
    near = near_triangles(geoms, y, lower, upper, False, work)
    return is_blocked(geoms, geom_R, geom_p, y, p, q, near, play, out, work)
