# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The grid of a height field: which cells a shape is over, which patch a point, and the list of contact points."""

from mb_contact.core.arrays import copy, fill
from mb_contact.core.collision.manifold_normals import ALIKE
from mb_contact.core.collision.manifold_reduce import ALL, reduce_points
from mb_contact.core.collision.shapes import body_axis, face_normal, into_body, place, reach
from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import between, opposite, put_vector, vector, vector_dot, vector_sum

SAME = 1.0 - 1e-9  #: cosine of the angle between normals of points that may be one and the same
OF_SHAPE = 1 << 30  #: identities of a shape's features are below this
KINDS = 4  #: of features of the field
OF_EDGE, OF_PEAK = 1, 2  #: two of them, in identities
OUTSIDE, INSIDE, ON_RIDGE = range(3)  #: of an edge of a triangle


@kernel
def box_in_field(geoms, geom_R, geom_p, x, y, far):
    """Cells under the box of X, inflated by ``far``, in the axes of the field.

    Returns
    -------
    i0, i1, j0, j1, low
        First and last cell along x and y (none: i1 < i0), and the lowest height of the box.
    """
    u, v, w = into_body(geom_R, y, between(geom_p, x, geom_p, y))
    nx, ny = geoms.grid[y, 0], geoms.grid[y, 1]
    hx, hy = geoms.size[y, 0], geoms.size[y, 1]
    dx, dy = 2.0 * hx / (nx - 1), 2.0 * hy / (ny - 1)
    ex, ey, ez = body_axis(geom_R, y, 0), body_axis(geom_R, y, 1), body_axis(geom_R, y, 2)
    u0 = u - far - reach(geoms, geom_R, x, opposite(ex))
    u1 = u + far + reach(geoms, geom_R, x, ex)
    v0 = v - far - reach(geoms, geom_R, x, opposite(ey))
    v1 = v + far + reach(geoms, geom_R, x, ey)
    low = w - far - reach(geoms, geom_R, x, opposite(ez))
    if u1 < -hx or u0 > hx or v1 < -hy or v0 > hy:
        return 0, -1, 0, -1, low
    i0, i1 = int(max(0.0, (u0 + hx) / dx)), int(max(0.0, (u1 + hx) / dx))
    j0, j1 = int(max(0.0, (v0 + hy) / dy)), int(max(0.0, (v1 + hy) / dy))
    return min(i0, nx - 2), min(i1, nx - 2), min(j0, ny - 2), min(j1, ny - 2), low


@kernel
def grid_point(geoms, geom_R, geom_p, y, index):
    """World position of a point of the grid."""
    return place(geom_R, geom_p, y, vector(geoms.vertices, geoms.first_vertex[y] + index))


@kernel
def triangle_plane(geoms, geom_R, geom_p, y, triangle):
    """Upward normal and first corner of a triangle, world."""
    corner = geoms.corners[geoms.first_corner[geoms.first_face[y]] + 3 * triangle]
    return face_normal(geoms, geom_R, y, triangle), grid_point(geoms, geom_R, geom_p, y, corner)


@kernel
def is_over_patch(geoms, geom_R, geom_p, y, patch, p, gap, tol):
    """Whether a world point in the plane of a patch lies over one of its triangles, with some play at valleys.

    On a ridge or at the border, and nearer to it than the play, it does not: such a point is the ridge's business.
    What is below two planes that meet in a valley, by ``gap``, may seem to be over neither, by as much.
    """
    u, v, _ = into_body(geom_R, y, vector_sum(p, -1.0, vector(geom_p, y)))
    nx, ny = geoms.grid[y, 0], geoms.grid[y, 1]
    hx, hy = geoms.size[y, 0], geoms.size[y, 1]
    per_x, per_y = (nx - 1) / (2.0 * hx), (ny - 1) / (2.0 * hy)
    play_x, play_y = tol * per_x, tol * per_y
    deep = max(tol, -gap)
    deep_x, deep_y = min(deep * per_x, 1.0), min(deep * per_y, 1.0)
    u = 0.5 * (u / hx + 1.0) * (nx - 1)
    v = 0.5 * (v / hy + 1.0) * (ny - 1)
    if u < play_x or v < play_y or u > nx - 1 - play_x or v > ny - 1 - play_y:
        return False
    first, below = geoms.first_face[y], 2 * (nx - 1) - 1
    for i in range(max(0, int(u - deep_x)), min(nx - 2, int(u + deep_x)) + 1):
        for j in range(max(0, int(v - deep_y)), min(ny - 2, int(v + deep_y)) + 1):
            for side in range(2):
                here = 2 * (j * (nx - 1) + i) + side
                if geoms.patch[first + here] != patch:
                    continue
                beside = 1 - 2 * side  # the triangle across the diagonal, one or the other way
                at_diagonal = edge_side(
                    geoms, y, here, here + beside, beside * (u - i - v + j), play_x + play_y, deep_x + deep_y
                )
                at_x = edge_side(
                    geoms, y, here, here + 3 * beside, 1.0 - u + i if side == 0 else u - i, play_x, deep_x
                )
                at_y = edge_side(
                    geoms, y, here, here - beside * below, v - j if side == 0 else 1.0 - v + j, play_y, deep_y
                )
                if min(at_diagonal, at_x, at_y) == OUTSIDE:
                    continue
                return max(at_diagonal, at_x, at_y) != ON_RIDGE
    return False


@kernel
def edge_side(geoms, y, here, there, inside, play, deep):
    """Where a point is that lies ``inside`` of an edge between two triangles: OUTSIDE, INSIDE or ON_RIDGE.

    A ridge has a play about it; beyond a valley the point may be by ``deep``.  All in cells.
    """
    if inside > play:
        return INSIDE
    if is_ridge(geoms, y, here, there):
        return ON_RIDGE if inside >= -play else OUTSIDE
    return INSIDE if inside >= -deep else OUTSIDE


@kernel
def is_ridge(geoms, y, here, there):
    """Whether two neighbouring triangles are of two planes and fall off from each other."""
    first = geoms.first_face[y]
    if geoms.patch[first + here] == geoms.patch[first + there]:
        return False
    start = geoms.first_corner[first]
    a = geoms.first_vertex[y] + geoms.corners[start + 3 * here]
    lowest = 0.0
    for k in range(3):
        b = geoms.first_vertex[y] + geoms.corners[start + 3 * there + k]
        height = vector_dot(vector(geoms.faces, first + here), between(geoms.vertices, b, geoms.vertices, a))
        if abs(height) > abs(lowest):
            lowest = height
    return lowest < 0.0


@kernel
def add_field_point(work, count, p, gap, n, what, feature, name, tol):
    """Append a point unless it is there already or the list is full; returns the number of points."""
    field = work.field
    points, normals = field.points, field.normals
    for k in range(count):
        if vector_dot(n, vector(normals, k)) > SAME and abs(gap - points[k, 3]) <= tol:
            apart = vector_sum(p, -1.0, vector(points, k))
            if vector_dot(apart, apart) <= tol * tol:
                return count
    if count == points.shape[0]:
        return count
    put_vector(points, count, p)
    put_vector(normals, count, n)
    points[count, 3] = gap
    field.ids[count] = (KINDS * feature + what) * OF_SHAPE + name
    return count + 1


@kernel
def reduce_field_points(work, count, tol):
    """Leave at most four points of every group of alike normals, in their order; returns the number of points."""
    if count <= 4:
        return count
    field = work.field
    points, normals, ids, group = field.points, field.normals, field.ids, field.group
    fill(count, group, -1)
    for k in range(count):
        if group[k] != -1:
            continue
        size = 0
        for m in range(k, count):
            alike = vector_dot(vector(normals, k), vector(normals, m)) >= ALIKE
            if group[m] == -1 and alike and size < work.points.shape[0]:
                copy(4, points[m], work.points[size])
                work.ids[size] = m
                group[m] = -2  # left out
                size += 1
        size = reduce_points(work.points, work.ids, size, vector(normals, k), work.turn, tol, ALL)
        for m in range(size):
            group[work.ids[m]] = k
    kept = 0
    for k in range(count):
        if group[k] >= 0:
            copy(4, points[k], points[kept])
            put_vector(normals, kept, vector(normals, k))
            ids[kept] = ids[k]
            kept += 1
    return kept
