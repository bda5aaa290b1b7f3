# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts of a convex shape or a half-space (X) with a triangle mesh (Y): with its planes, ridges and peaks.

As with a height field: the shape's points on a plane count where they are over its triangles, a ridge where the shape
and the ridge, seen along it, are farthest apart in a direction between the sides' normals, a peak where no neighbour
rises above it.  Normals point from the mesh to the shape.  Ridges and peaks count where they touch: who will meet them
is found where the step ends (``core/step/feature_meeting.py``).  Of shapes that give way, which have no such meetings,
they count from afar, and points of a plane where they are less deep than its deepest.
"""

import math

import numpy as np

from mb_contact.core.arrays import copy
from mb_contact.core.collision.height_grid import OF_PEAK, add_field_point
from mb_contact.core.collision.height_peaks import gap_above, gap_deeper
from mb_contact.core.collision.height_ridges import gap_from, points_of_ridge, slack_of
from mb_contact.core.collision.manifold_clip import EVERYWHERE, set_frame
from mb_contact.core.collision.manifold_faces import face_points
from mb_contact.core.collision.manifold_reduce import ALL, reduce_points
from mb_contact.core.collision.mesh_points import reduce_mesh_points, way_of_pair
from mb_contact.core.collision.mesh_tree import (
    TOUCHES,
    corner_of,
    deepest_of,
    edge_heights,
    is_at_corner,
    is_normal_of_peak,
    mesh_point,
    near_triangles,
    plane_of,
    play_beside,
    put_relative,
    put_way,
    side_of,
)
from mb_contact.core.collision.mesh_walls import OF_PLANE, SURE, drop_false, is_inside
from mb_contact.core.collision.ridge_lines import into_line
from mb_contact.core.collision.shapes import body_axis, core_point, into_body, out_of_body, place, reach, rounding
from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import ZERO, between, length_of, opposite, unit_of, vector, vector_dot, vector_sum

SUNK = 3  #: kind of feature of the mesh, in identities, beside OF_PLANE, OF_EDGE and OF_PEAK
AROUND = 4.0  #: of its box, in tolerances, within which a ridge or a peak may touch a shape
WIDE = 2.5  #: angle between a ridge's sides from which it is searched in two halves [rad]


@kernel
def shape_and_mesh(geoms, geom_R, geom_p, x, y, far, work):
    """Points of a convex shape X and a mesh Y, in ``work.field``; returns their number."""
    tol = TOUCHES * geoms.unit[0]
    mesh, count = geoms.mesh, 0
    touch = tol if work.mesh.query[2] == 0 else far  # rows of soft pairs stand for the whole step
    lower, upper = box_of_shape(geoms, geom_R, geom_p, x, y, far)
    put_relative(geom_R, geom_p, x, y, work.mesh.relative)
    if work.mesh.query[1] != 0:
        put_way(work)
    for k in range(3):
        axis = body_axis(geom_R, x, k)
        work.mesh.own[0, k] = -far - reach(geoms, geom_R, x, opposite(axis))
        work.mesh.own[1, k] = far + reach(geoms, geom_R, x, axis)
    near, room = near_triangles(geoms, y, lower, upper, True, work), work.field.points.shape[0] // 2
    at_start = work.mesh.query[1] == 0 and work.mesh.query[2] == 0
    chain_planes(geoms, y, near, work)
    for i in range(near):
        triangle = work.mesh.near[i]
        if work.mesh.first[geoms.first_face[y] + geoms.patch[triangle]] == i:
            count = plane_points(geoms, geom_R, geom_p, x, y, i, far, tol, work, count)
        if at_start and _is_beside(geoms, y, triangle, far - AROUND * tol, work):
            continue
        for ridge in range(mesh.first_ridge[triangle], mesh.first_ridge[triangle + 1]):
            count = ridge_points(geoms, geom_R, geom_p, x, y, ridge, touch, tol, work, count)
        for peak in range(mesh.first_peak[triangle], mesh.first_peak[triangle + 1]):
            count = peak_point(geoms, geom_R, geom_p, x, y, peak, touch, tol, work, count)
        if count > room:
            count = drop_false(geoms, geom_R, geom_p, x, y, near, work, count)
            count = reduce_mesh_points(work, count, tol)
            room = (count + work.field.points.shape[0]) // 2
    count = drop_false(geoms, geom_R, geom_p, x, y, near, work, count)
    if count == 0 and mesh.sided[y] == 1:
        count = sunk_point(geoms, geom_R, geom_p, x, y, vector(geom_p, x), tol, work)
        if count == 0 and at_start:
            count = _sunk_corners(geoms, geom_R, geom_p, x, y, tol, work)
    return reduce_mesh_points(work, count, tol)


@kernel
def chain_planes(geoms, y, near, work):
    """Of each plane the first one of its near triangles, and of each of these the next one in its plane; -1 ends."""
    mesh, first = work.mesh, geoms.first_face[y]
    mesh.query[0] += 1
    for i in range(near - 1, -1, -1):
        patch = first + geoms.patch[mesh.near[i]]
        mesh.next[i] = mesh.first[patch] if mesh.seen[patch] == mesh.query[0] else -1
        mesh.seen[patch], mesh.first[patch] = mesh.query[0], i


@kernel
def _is_beside(geoms, y, triangle, less, work):
    """Whether a triangle is beside the box ``work.mesh.own`` of X, made smaller by ``less`` all round [m]."""
    m, own = work.mesh.relative, work.mesh.own
    a = vector(geoms.vertices, corner_of(geoms, y, triangle, 0))
    b = vector(geoms.vertices, corner_of(geoms, y, triangle, 1))
    c = vector(geoms.vertices, corner_of(geoms, y, triangle, 2))
    for k in range(3):
        axis = vector(m, k)
        middle = vector_dot(axis, vector(m, 3))
        u, v, w = vector_dot(axis, a) - middle, vector_dot(axis, b) - middle, vector_dot(axis, c) - middle
        if max(u, v, w) < own[0, k] + less or min(u, v, w) > own[1, k] - less:
            return True
    return False


@kernel
def box_of_shape(geoms, geom_R, geom_p, x, y, far):
    """(lower, upper) corner of the box of X, inflated by ``far``, in the axes of Y."""
    u, v, w = into_body(geom_R, y, between(geom_p, x, geom_p, y))
    ex, ey, ez = body_axis(geom_R, y, 0), body_axis(geom_R, y, 1), body_axis(geom_R, y, 2)
    lower = (
        u - far - reach(geoms, geom_R, x, opposite(ex)),
        v - far - reach(geoms, geom_R, x, opposite(ey)),
        w - far - reach(geoms, geom_R, x, opposite(ez)),
    )
    upper = (
        u + far + reach(geoms, geom_R, x, ex),
        v + far + reach(geoms, geom_R, x, ey),
        w + far + reach(geoms, geom_R, x, ez),
    )
    return lower, upper


@kernel
def plane_points(geoms, geom_R, geom_p, x, y, at, far, tol, work, count):
    """Points of X and the plane of near triangle ``at`` that are over triangles of it, also where their way ends."""
    triangle = work.mesh.near[at]
    n, a = plane_of(geoms, geom_R, geom_p, y, triangle)
    height = vector_dot(n, vector_sum(vector(geom_p, x), -1.0, a))
    lowest = height - reach(geoms, geom_R, x, opposite(n))
    if height < 0.0 or lowest > far or lowest < -deepest_of(geoms, x, y, work):
        return count
    set_frame(geom_R, y, n, a, work.frame)
    points, ids, patch = work.points, work.ids, geoms.patch[triangle]
    way = way_of_pair(work)
    approach, rigid = -vector_dot(n, way), work.mesh.query[2] == 0
    for k in range(face_points(geoms, geom_R, geom_p, x, EVERYWHERE, 2, far, tol, work)):
        gap, p = points[k, 3], vector(points, k)
        if gap > lowest + far and rigid:
            continue
        on = vector_sum(p, -0.5 * gap, n)
        if not is_over_plane(geoms, geom_R, geom_p, y, at, on, gap, work):
            inwards = into_line(geoms, geom_R, geom_p, x, n, on, tol)
            on = vector_sum(on, 1.0, inwards)
            if inwards == ZERO or not is_over_plane(geoms, geom_R, geom_p, y, at, on, gap, work):
                continue
        if gap > tol:
            later = vector_sum(on, gap / approach if approach > gap else 1.0, way)
            if not is_over_plane(geoms, geom_R, geom_p, y, at, later, gap, work):
                continue
        count = add_field_point(work, count, p, gap, n, OF_PLANE, patch, ids[k], tol)
    return count


@kernel
def is_over_plane(geoms, geom_R, geom_p, y, at, p, gap, work):
    """Whether point p of a plane, with this gap, is over a near triangle and not at a ridge: that has its own rule.

    ``at`` is the first one of the plane.
    """
    a, inside = into_body(geom_R, y, vector_sum(p, -1.0, vector(geom_p, y))), TOUCHES * geoms.unit[0]
    while at >= 0:
        triangle = work.mesh.near[at]
        edges, over = edge_heights(geoms, y, triangle, a), True
        for k in range(3):
            at_ridge = geoms.mesh.border[triangle, k] >= 0
            over = over and edges[k] > (inside if at_ridge else -play_beside(geoms, triangle, k, gap, inside, work))
            over = over and not is_at_corner(geoms, triangle, edges, k, inside)
        if over:
            return True
        at = work.mesh.next[at]
    return False


@kernel
def ridge_points(geoms, geom_R, geom_p, x, y, ridge, far, tol, work, count):
    """Points of X and a ridge."""
    mesh = geoms.mesh
    a = mesh_point(geoms, geom_R, geom_p, y, mesh.ridge[ridge, 0])
    b = mesh_point(geoms, geom_R, geom_p, y, mesh.ridge[ridge, 1])
    u, length = unit_of(vector_sum(b, -1.0, a))
    n, m = side_of(geoms, geom_R, y, ridge, 0), side_of(geoms, geom_R, y, ridge, 1)
    if (
        gap_from(geoms, geom_R, geom_p, x, a, n) > far
        or gap_from(geoms, geom_R, geom_p, x, a, m) > far
        or gap_from(geoms, geom_R, geom_p, x, b, u) > far
        or gap_from(geoms, geom_R, geom_p, x, a, opposite(u)) > far
    ):
        return count
    d = vector_sum(vector(geom_p, x), -1.0, a)
    if max(vector_dot(n, d), vector_dot(m, d)) < 0.0:  # none of the normals leads to the middle of X
        return count
    t = opposite(side_of(geoms, geom_R, y, ridge, 2))
    angle = abs(math.atan2(vector_dot(m, t), vector_dot(m, n)))
    bits, slack = mesh.goes_on[ridge], slack_of(geoms, x)
    ends = bits & 1 != 0, bits & 2 != 0, bits & 4 != 0, bits & 8 != 0
    parts = 2 if angle > WIDE else 1
    for part in range(parts):
        low = -slack if part == 0 else 0.5 * angle
        high = angle + slack if part == parts - 1 else 0.5 * angle
        sides, edge = (n, t, angle, low, high), (a, b, u, length)
        count = points_of_ridge(geoms, geom_R, geom_p, x, edge, sides, ends, ridge, far, tol, work, count)
    return count


@kernel
def peak_point(geoms, geom_R, geom_p, x, y, peak, far, tol, work, count):
    """The point of X and a peak, if no neighbour rises above it along their normal."""
    p = mesh_point(geoms, geom_R, geom_p, y, geoms.mesh.peak[peak])
    gap, n = gap_above(geoms, geom_R, geom_p, x, p, far, tol, work)
    if gap > far:
        return count
    while not is_normal_of_peak(geoms, geom_R, y, peak, n, slack_of(geoms, x)):
        gap, n = gap_deeper(geoms, geom_R, geom_p, x, y, p, gap, tol, work)
        if gap == math.inf:
            return count
    return add_field_point(work, count, vector_sum(p, 0.5 * gap, n), gap, n, OF_PEAK, peak, 0, tol)


@kernel
def sunk_point(geoms, geom_R, geom_p, x, y, q, tol, work):
    """One point for a shape X of which a point q is inside of a closed mesh Y: out through the nearest of its surface.

    Returns the number of points, 0 where q is not inside.
    """
    a = into_body(geom_R, y, vector_sum(q, -1.0, vector(geom_p, y)))
    if not is_inside(geoms, y, a, work):
        return 0
    least, chosen, out = _way_out(geoms, y, a, tol)
    if chosen < 0:
        return 0
    n = out_of_body(geom_R, y, out)
    height = vector_dot(n, vector_sum(vector(geom_p, x), -1.0, q)) - least
    gap = height - reach(geoms, geom_R, x, opposite(n))
    p = vector_sum(vector(geom_p, x), 0.5 * gap - height, n)
    return add_field_point(work, 0, p, gap, n, SUNK, geoms.patch[chosen], 0, tol)


@kernel
def _sunk_corners(geoms, geom_R, geom_p, x, y, tol, work):
    """Points of X farthest along its diagonals that are inside of a closed mesh Y: each out by the nearest way."""
    count, sure = 0, SURE * length_of(vector(geoms.size, y))
    for k in range(8):
        d = vector_sum(ZERO, 1.0 if k & 1 else -1.0, body_axis(geom_R, x, 0))
        d = vector_sum(d, 1.0 if k & 2 else -1.0, body_axis(geom_R, x, 1))
        d, _ = unit_of(vector_sum(d, 1.0 if k & 4 else -1.0, body_axis(geom_R, x, 2)))
        q = vector_sum(place(geom_R, geom_p, x, core_point(geoms, geom_R, x, d)[1]), rounding(geoms, x), d)
        a = into_body(geom_R, y, vector_sum(q, -1.0, vector(geom_p, y)))
        if is_inside(geoms, y, a, work):
            least, chosen, out = _way_out(geoms, y, a, tol)
            if chosen >= 0 and least > sure:  # as near as that the ray does not tell
                n = out_of_body(geom_R, y, out)
                p = vector_sum(q, 0.5 * least, n)
                count = add_field_point(work, count, p, -least, n, SUNK, geoms.patch[chosen], k + 1, tol)
    return count


@kernel
def _way_out(geoms, y, a, tol):
    """(Distance [m], nearest triangle, direction) from a point inside of mesh Y, in its axes, to the surface."""
    least, chosen, out = np.inf, -1, ZERO
    for triangle in range(geoms.first_face[y], geoms.first_face[y + 1]):
        n = vector(geoms.faces, triangle)
        height = vector_dot(n, vector_sum(a, -1.0, vector(geoms.vertices, corner_of(geoms, y, triangle, 0))))
        if -least < height and height < 0.0:
            far, way = -height, n
            e0, e1, e2 = edge_heights(geoms, y, triangle, vector_sum(a, -height, n))
            if min(e0, e1, e2) < -tol:  # in a hollow, seen from inside, an edge or a corner is nearest
                far, way = _to_edges(geoms, y, triangle, a)
            if far < least:
                least, chosen, out = far, triangle, way
    return least, chosen, out


@kernel
def _to_edges(geoms, y, triangle, a):
    """(Distance [m], direction) from a point, in the axes of mesh Y, to the nearest of a triangle's edges."""
    least, way = np.inf, ZERO
    for k in range(3):
        p = vector(geoms.vertices, corner_of(geoms, y, triangle, k))
        u, length = unit_of(vector_sum(vector(geoms.vertices, corner_of(geoms, y, triangle, (k + 1) % 3)), -1.0, p))
        d = vector_sum(p, -1.0, a)
        n, far = unit_of(vector_sum(d, min(max(-vector_dot(u, d), 0.0), length), u))
        if far < least:
            least, way = far, n
    return least, way


@kernel
def plane_and_mesh(geoms, geom_R, geom_p, x, y, far, work):
    """Points of a half-space X and the peaks of a mesh Y, in ``work.field``; returns their number."""
    up, tol = body_axis(geom_R, x, 2), TOUCHES * geoms.unit[0]
    a, d = into_body(geom_R, y, between(geom_p, x, geom_p, y)), into_body(geom_R, y, up)
    mesh, stack, top, count = geoms.mesh, work.mesh.stack, 1, 0
    stack[0] = mesh.first_node[y]
    while top > 0:
        top -= 1
        node, low = stack[top], 0.0
        for i in range(3):
            low += d[i] * (mesh.box[node, 0 if d[i] > 0.0 else 1, i] - a[i])
        if low > far:
            continue
        if mesh.child[node, 0] >= 0:
            stack[top], stack[top + 1] = mesh.child[node, 0], mesh.child[node, 1]
            top += 2
            continue
        for k in range(mesh.child[node, 1]):
            triangle = mesh.order[-1 - mesh.child[node, 0] + k]
            for peak in range(mesh.first_peak[triangle], mesh.first_peak[triangle + 1]):
                p = mesh_point(geoms, geom_R, geom_p, y, mesh.peak[peak])
                gap = vector_dot(up, vector_sum(p, -1.0, vector(geom_p, x)))
                if gap <= far:
                    p = vector_sum(p, -0.5 * gap, up)
                    count = add_field_point(work, count, p, gap, opposite(up), OF_PEAK, peak, 0, tol)
        if 2 * count > work.field.points.shape[0]:
            count = lowest_points(work, count, tol)
    return lowest_points(work, count, tol)


@kernel
def lowest_points(work, count, tol):
    """At most four points of a half-space; returns their number."""
    field, size = work.field, 0
    while count > 4:
        size = min(count, work.points.shape[0])
        for k in range(size):
            copy(4, field.points[count - size + k], work.points[k])
            work.ids[k] = field.ids[count - size + k]
        size = reduce_points(work.points, work.ids, size, vector(field.normals, 0), work.turn, tol, ALL)
        count -= min(count, work.points.shape[0])
        for k in range(size):
            copy(4, work.points[k], field.points[count + k])
            field.ids[count + k] = work.ids[k]
        count += size
    return count
