# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts of two triangle meshes, one of which may be a height field: vertex and plane, edge and edge.

Each pair of features counts only where its direction lies in the cones of normals of both.  Normals point from Y to X.
"""

from mb_contact.core.collision.height_grid import add_field_point
from mb_contact.core.collision.mesh_points import (
    LEVEL,
    choose_direction,
    reach_of_pair,
    reduce_mesh_points,
    way_of_pair,
)
from mb_contact.core.collision.mesh_shapes import plane_and_mesh, shape_and_mesh, sunk_point
from mb_contact.core.collision.mesh_tree import (
    CLOSED,
    SHALLOW,
    TOUCHES,
    boxes_meet,
    corner_of,
    deepest_of,
    edge_heights,
    into_other,
    is_at_corner,
    is_normal_of_peak,
    is_normal_of_ridge,
    mesh_point,
    plane_of,
    planes_miss,
    play_at,
    play_beside,
    put_relative,
    put_way,
    reach_of_way,
    ridge_line,
    side_of,
)
from mb_contact.core.collision.mesh_walls import PEAK_OF_X, PEAK_OF_Y, RIDGES_BACK, TWO_RIDGES, drop_false
from mb_contact.core.collision.shapes import into_body
from mb_contact.core.jit import INTEGER, kernel, on_demand
from mb_contact.core.tree.spatial import (
    ZERO,
    opposite,
    put_vector,
    unit_of,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)
from mb_contact.types import SHAPE_PLANE

CONE = 1e-3  #: angle by which a normal may be out of a cone [rad]
MOST_LEAN = 0.5  #: most that a face at a ridge leans from a side that it still touches beside it [rad]
PARALLEL = 1e-4  #: sine of the angle between ridges up to which they are parallel: their ends tell all


@on_demand(INTEGER)
def mesh_manifold(geoms, geom_R, geom_p, x, y, reach, work):
    """Points of a shape X and a mesh Y, in ``work.field``: at most four of each plane.

    Parameters
    ----------
    x, y : int
        X is any shape, Y a mesh.
    reach : float
        Largest gap of a point; those of edges and vertices are there up to TOUCHES [m].

    Returns
    -------
    int
        Number of points.
    """
    far = reach_of_pair(work, geoms.unit[0], reach)
    if geoms.kind[x] == SHAPE_PLANE:
        return plane_and_mesh(geoms, geom_R, geom_p, x, y, far, work)
    if geoms.kind[x] < SHAPE_PLANE:
        return shape_and_mesh(geoms, geom_R, geom_p, x, y, far, work)
    return two_meshes(geoms, geom_R, geom_p, x, y, work)


@kernel
def two_meshes(geoms, geom_R, geom_p, x, y, work):
    """Points of two meshes that touch, in ``work.field``; returns their number."""
    far, mesh, stack = TOUCHES * geoms.unit[0], geoms.mesh, work.mesh.stack
    put_relative(geom_R, geom_p, x, y, work.mesh.relative)
    inside = deepest_of(geoms, x, y, work)
    deep = max(far, inside)
    on_way, within = work.mesh.query[1] != 0, inside
    near = deep if on_way else min(deep, SHALLOW * geoms.unit[0])  # boxes may be flat
    if on_way:
        put_way(work)
    count, top, room = 0, 2, work.field.points.shape[0]
    full = room // 2
    stack[0], stack[1] = mesh.first_node[x], mesh.first_node[y]
    work.mesh.pairs[0] = 0
    while top > 0:
        top -= 2
        a, b = stack[top], stack[top + 1]
        if on_way:
            within = reach_of_way(geoms, a, b, inside, work)
            near = deep = max(far, within)
        if not boxes_meet(geoms, a, b, near, deep, work):
            continue
        leaf_a, leaf_b = mesh.child[a, 0] < 0, mesh.child[b, 0] < 0
        if (leaf_b and planes_miss(geoms, x, y, a, b, False, within, work)) or (
            leaf_a and planes_miss(geoms, y, x, b, a, True, within, work)
        ):
            continue
        if leaf_a and leaf_b:
            work.mesh.pairs[0] += 1
            for i in range(mesh.child[a, 1]):
                tx = mesh.order[-1 - mesh.child[a, 0] + i]
                facet = _facet_in_y(geoms, x, tx, work)
                if _is_beside_box(facet, mesh.box[b], deep):
                    continue
                for j in range(mesh.child[b, 1]):
                    ty = mesh.order[-1 - mesh.child[b, 0] + j]
                    if not are_apart(geoms, x, y, facet, ty, far, within):
                        count = two_triangles(geoms, geom_R, geom_p, x, y, tx, ty, within, work, count)
            if count > full:
                count = drop_false(geoms, geom_R, geom_p, x, y, -1, work, count)
                count = choose_direction(work, geoms.unit[0], count)
                count = reduce_mesh_points(work, count, far)
                full = max(room // 2, (count + room) // 2)
        elif leaf_b or (not leaf_a and _is_larger(geoms, a, b)):
            stack[top], stack[top + 1] = mesh.child[a, 0], b
            stack[top + 2], stack[top + 3] = mesh.child[a, 1], b
            top += 4
        else:
            stack[top], stack[top + 1] = a, mesh.child[b, 0]
            stack[top + 2], stack[top + 3] = a, mesh.child[b, 1]
            top += 4
    count = drop_false(geoms, geom_R, geom_p, x, y, -1, work, count)
    if count == 0 and not on_way:
        return _sunk_mesh(geoms, geom_R, geom_p, x, y, far, work)
    count = choose_direction(work, geoms.unit[0], count)
    return reduce_mesh_points(work, count, far)


@kernel
def _sunk_mesh(geoms, geom_R, geom_p, x, y, far, work):
    """One point of two meshes of which one is all inside of the other, as its first vertex tells; or none."""
    q = mesh_point(geoms, geom_R, geom_p, x, geoms.first_vertex[x])
    if geoms.mesh.sided[y] == CLOSED and sunk_point(geoms, geom_R, geom_p, x, y, q, far, work) > 0:
        return 1
    q = mesh_point(geoms, geom_R, geom_p, y, geoms.first_vertex[y])
    if geoms.mesh.sided[x] != CLOSED or sunk_point(geoms, geom_R, geom_p, y, x, q, far, work) == 0:
        return 0
    put_vector(work.field.normals, 0, opposite(vector(work.field.normals, 0)))
    return 1


@kernel
def _facet_in_y(geoms, x, tx, work):
    """Corners and normal of a triangle of X, in the axes of Y."""
    m, d = work.mesh.relative, vector(geoms.faces, tx)
    return (
        into_other(m, vector(geoms.vertices, corner_of(geoms, x, tx, 0))),
        into_other(m, vector(geoms.vertices, corner_of(geoms, x, tx, 1))),
        into_other(m, vector(geoms.vertices, corner_of(geoms, x, tx, 2))),
        (
            m[0, 0] * d[0] + m[1, 0] * d[1] + m[2, 0] * d[2],
            m[0, 1] * d[0] + m[1, 1] * d[1] + m[2, 1] * d[2],
            m[0, 2] * d[0] + m[1, 2] * d[1] + m[2, 2] * d[2],
        ),
    )


@kernel
def _is_beside_box(facet, box, near):
    """Whether a triangle is farther than ``near`` beside a box, along one of its axes."""
    a, b, c, _ = facet
    for i in range(3):
        if min(a[i], b[i], c[i]) > box[1, i] + near or max(a[i], b[i], c[i]) < box[0, i] - near:
            return True
    return False


@kernel
def are_apart(geoms, x, y, facet, ty, far, inside):
    """Whether one of two triangles is all above, or all farther below than features tell, the other's plane.

    Above that of a triangle of an open mesh counts too: its corners are those of the other side.  That of X is given
    in the axes of Y.
    """
    a, b, c, d = facet
    above_x = far if geoms.mesh.sided[x] == 1 else inside
    above_y = far if geoms.mesh.sided[y] == 1 else inside
    p = vector(geoms.vertices, corner_of(geoms, y, ty, 0))
    n = vector(geoms.faces, ty)
    height = vector_dot(n, p)
    u, v, w = vector_dot(n, a) - height, vector_dot(n, b) - height, vector_dot(n, c) - height
    if min(u, v, w) > max(above_y, far) or max(u, v, w) < -max(inside, far):
        return True
    q, r = vector(geoms.vertices, corner_of(geoms, y, ty, 1)), vector(geoms.vertices, corner_of(geoms, y, ty, 2))
    height = vector_dot(d, a)
    u, v, w = vector_dot(d, p) - height, vector_dot(d, q) - height, vector_dot(d, r) - height
    return min(u, v, w) > max(above_x, far) or max(u, v, w) < -max(inside, far)


@kernel
def _is_larger(geoms, a, b):
    """Whether the box of node a is longer than that of node b."""
    box, la, lb = geoms.mesh.box, 0.0, 0.0
    for i in range(3):
        la = max(la, box[a, 1, i] - box[a, 0, i])
        lb = max(lb, box[b, 1, i] - box[b, 0, i])
    return la > lb


@kernel
def two_triangles(geoms, geom_R, geom_p, x, y, tx, ty, inside, work, count):
    """Points of the features that two triangles own, those of a vertex and the other's plane among them."""
    mesh = geoms.mesh
    for peak in range(mesh.first_peak[tx], mesh.first_peak[tx + 1]):
        count = peak_and_plane(geoms, geom_R, geom_p, x, y, peak, ty, inside, False, work, count)
    for peak in range(mesh.first_peak[ty], mesh.first_peak[ty + 1]):
        count = peak_and_plane(geoms, geom_R, geom_p, y, x, peak, tx, inside, True, work, count)
    for ridge in range(mesh.first_ridge[tx], mesh.first_ridge[tx + 1]):
        for other in range(mesh.first_ridge[ty], mesh.first_ridge[ty + 1]):
            count = two_ridges(geoms, geom_R, geom_p, x, y, ridge, other, inside, work, count)
    return count


@kernel
def peak_and_plane(geoms, geom_R, geom_p, x, y, peak, triangle, inside, swapped, work, count):
    """The point of a peak of x on a triangle of y; ``swapped`` where the pair's order is (y, x)."""
    n, a = plane_of(geoms, geom_R, geom_p, y, triangle)
    p = mesh_point(geoms, geom_R, geom_p, x, geoms.mesh.peak[peak])
    gap, touch = vector_dot(n, vector_sum(p, -1.0, a)), TOUCHES * geoms.unit[0]
    if gap > touch or gap < -inside:
        return count
    edges = edge_heights(geoms, y, triangle, into_body(geom_R, y, vector_sum(p, -1.0, vector(geom_p, y))))
    at_border = False
    for k in range(3):
        if edges[k] < -play_beside(geoms, triangle, k, gap, touch, work):
            return count
        at_border = at_border or (edges[k] <= touch and geoms.mesh.border[triangle, k] >= 0)
    if not is_normal_of_peak(geoms, geom_R, x, peak, opposite(n), CONE):
        return count
    way = way_of_pair(work)
    if swapped:
        way = opposite(way)
    for k in range(3):  # at a corner the plane may end along edges of other triangles
        at_corner = is_at_corner(geoms, triangle, edges, k, touch)
        at_border = at_border or at_corner
        if gap < -touch and at_corner:
            corner = mesh_point(geoms, geom_R, geom_p, y, corner_of(geoms, y, triangle, k))
            d = vector_sum(vector_sum(p, -gap, n), -1.0, corner)
            for j in range(2):
                ridge = geoms.mesh.border[triangle, 3 + 2 * k + j]
                if ridge >= 0 and vector_dot(d, d) <= 16.0 * touch * touch and _is_beside(
                    geoms, geom_R, geom_p, x, y, peak, p, ridge, gap, n, way
                ):
                    return count
    if at_border:
        for k in range(3):
            ridge = geoms.mesh.border[triangle, k]
            if edges[k] <= touch and ridge >= 0 and _is_beside(
                geoms, geom_R, geom_p, x, y, peak, p, ridge, gap, n, way
            ):
                return count
    patch, p = geoms.patch[triangle], vector_sum(p, -0.5 * gap, n)
    if swapped:
        return _add(work, count, p, gap, opposite(n), PEAK_OF_Y, peak, patch, at_border, touch)
    return _add(work, count, p, gap, n, PEAK_OF_X, patch, peak, at_border, touch)


@kernel
def _is_beside(geoms, geom_R, geom_p, x, y, peak, p, ridge, gap, n, way):
    """Whether a peak of x at a ridge of y, with this gap along the normal n of one side, is the other side's.

    That is whose normal it has too, and along it the peak is not in y, however deep along n; or else, at the end of its
    way, farther out of y.  A face that leans by an angle from the other side leaves it at once where the peak is deep
    along n, and is on it for longer where it is not.
    """
    touch, apart = TOUCHES * geoms.unit[0], gap + vector_dot(n, way)
    a = mesh_point(geoms, geom_R, geom_p, y, geoms.mesh.ridge[ridge, 0])
    for k in range(2):
        m = side_of(geoms, geom_R, y, ridge, k)
        beside = vector_dot(m, vector_sum(p, -1.0, a))
        farther = beside + vector_dot(m, way) > apart + LEVEL * geoms.unit[0]
        is_out = gap < -touch and beside >= -touch
        slack = CONE + (min(touch / -gap, MOST_LEAN) if is_out else 0.0)
        if (farther or is_out) and is_normal_of_peak(geoms, geom_R, x, peak, opposite(m), slack):
            return True
    return False


@kernel
def _is_out(geoms, geom_R, geom_p, y, ridge, p, far):
    """Whether a point is not below one of the planes beside a ridge of y."""
    d = vector_sum(p, -1.0, mesh_point(geoms, geom_R, geom_p, y, geoms.mesh.ridge[ridge, 0]))
    return (
        vector_dot(d, side_of(geoms, geom_R, y, ridge, 0)) >= -far
        or vector_dot(d, side_of(geoms, geom_R, y, ridge, 1)) >= -far
    )


@kernel
def two_ridges(geoms, geom_R, geom_p, x, y, ridge, other, inside, work, count):
    """The point of a ridge of X and one of Y, where both are nearest to each other between their ends."""
    mesh, touch = geoms.mesh, TOUCHES * geoms.unit[0]
    a, u, length = ridge_line(geoms, geom_R, geom_p, x, ridge)
    b, w, other_length = ridge_line(geoms, geom_R, geom_p, y, other)
    n, sine = unit_of(vector_product(u, w))
    if sine < PARALLEL:
        return count
    d = vector_sum(a, -1.0, b)
    gap = vector_dot(n, d)
    if abs(gap) > max(inside, touch):
        return count
    cosine, du, dw = vector_dot(u, w), vector_dot(u, d), vector_dot(w, d)
    s, t = (cosine * dw - du) / (sine * sine), (dw - cosine * du) / (sine * sine)
    bits = mesh.goes_on[ridge] >> (0 if 2.0 * s < length else 1)
    other_bits = mesh.goes_on[other] >> (0 if 2.0 * t < other_length else 1)
    play, beside, other_beside = play_at(-abs(gap), touch, work), min(s, length - s), min(t, other_length - t)
    if min(beside, other_beside) < -play:
        return count
    ends, other_ends = bits & 1 == 0 and beside <= touch, other_bits & 1 == 0 and other_beside <= touch
    at_border = ends or other_ends
    if at_border and abs(gap) > touch:  # deep, but where one ends it is out of the other: that is another feature's
        if ends and bits & 4 == 0 and _is_out(
            geoms, geom_R, geom_p, y, other, vector_sum(a, 0.0 if 2.0 * s < length else length, u), touch
        ):
            return count
        if other_ends and other_bits & 4 == 0 and _is_out(
            geoms, geom_R, geom_p, x, ridge, vector_sum(b, 0.0 if 2.0 * t < other_length else other_length, w), touch
        ):
            return count
    p = vector_sum(vector_sum(a, s, u), -0.5 * gap, n)
    for sign in (1.0, -1.0):
        normal, away = vector_sum(ZERO, sign, n), sign * gap
        if away > touch or away < -inside or not _is_normal_of_both(geoms, geom_R, x, y, ridge, other, normal):
            continue
        # a border of a sheet may be on either side of another edge: deep on one is beyond it on the other
        if away < -SHALLOW * geoms.unit[0] and _is_normal_of_both(geoms, geom_R, x, y, ridge, other, opposite(normal)):
            continue
        what = TWO_RIDGES if sign > 0.0 else RIDGES_BACK
        count = _add(work, count, p, away, normal, what, other, ridge, at_border, touch)
    return count


@kernel
def _is_normal_of_both(geoms, geom_R, x, y, ridge, other, n):
    """Whether n is in the cone of a ridge of Y, and its opposite in that of a ridge of X."""
    return is_normal_of_ridge(geoms, geom_R, y, other, n, CONE) and is_normal_of_ridge(
        geoms, geom_R, x, ridge, opposite(n), CONE
    )


@kernel
def _add(work, count, p, gap, n, what, feature, name, at_border, tol):
    """Append a point, and whether it is at a border; returns the number of points."""
    now = add_field_point(work, count, p, gap, n, what, feature, name, tol)
    if now > count:
        work.field.points[count, 5] = 1.0 if at_border else 0.0
    return now
