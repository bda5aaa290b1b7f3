# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The grid of a height field: which cells a shape is over, which patch a point, and the list of contact points."""

from __future__ import annotations

import math

from mb_contact.core.collision.convex import into_body, reach
from mb_contact.core.collision.manifold_reduce import reduce_points
from mb_contact.core.jit import kernel

ALIKE = 0.98  # cosine of the angle between normals whose points are reduced together
SAME = 1.0 - 1e-9  # between normals of points that may be one and the same
OF_SHAPE = 1 << 30  # identities of a shape's features are below this
KINDS = 4  # of features of the field


@kernel
def box_in_field(geoms, geom_R, geom_p, x, y, far):
    """Cells under the box of X, inflated by ``far``, in the axes of the field.

    Returns
    -------
    i0, i1, j0, j1, low
        First and last cell along x and y (none: i1 < i0), and the lowest height of the box.
    """
    d0, d1, d2 = geom_p[x, 0] - geom_p[y, 0], geom_p[x, 1] - geom_p[y, 1], geom_p[x, 2] - geom_p[y, 2]
    u, v, w = into_body(geom_R, y, d0, d1, d2)
    nx, ny = geoms.grid[y, 0], geoms.grid[y, 1]
    hx, hy = geoms.size[y, 0], geoms.size[y, 1]
    dx, dy = 2.0 * hx / (nx - 1), 2.0 * hy / (ny - 1)
    u0 = u - far - _reach_along(geoms, geom_R, x, y, 0, -1.0)
    u1 = u + far + _reach_along(geoms, geom_R, x, y, 0, 1.0)
    v0 = v - far - _reach_along(geoms, geom_R, x, y, 1, -1.0)
    v1 = v + far + _reach_along(geoms, geom_R, x, y, 1, 1.0)
    low = w - far - _reach_along(geoms, geom_R, x, y, 2, -1.0)
    if u1 < -hx or u0 > hx or v1 < -hy or v0 > hy:
        return 0, -1, 0, -1, low
    i0, i1 = int(max(0.0, (u0 + hx) / dx)), int(max(0.0, (u1 + hx) / dx))
    j0, j1 = int(max(0.0, (v0 + hy) / dy)), int(max(0.0, (v1 + hy) / dy))
    return min(i0, nx - 2), min(i1, nx - 2), min(j0, ny - 2), min(j1, ny - 2), low


@kernel
def _reach_along(geoms, geom_R, x, y, k, sign):
    return reach(geoms, geom_R, x, sign * geom_R[y, 0, k], sign * geom_R[y, 1, k], sign * geom_R[y, 2, k])


@kernel
def grid_point(geoms, geom_R, geom_p, y, index):
    """World position of a point of the grid."""
    v = geoms.first_vertex[y] + index
    a, b, c = geoms.vertices[v, 0], geoms.vertices[v, 1], geoms.vertices[v, 2]
    return (
        geom_p[y, 0] + geom_R[y, 0, 0] * a + geom_R[y, 0, 1] * b + geom_R[y, 0, 2] * c,
        geom_p[y, 1] + geom_R[y, 1, 0] * a + geom_R[y, 1, 1] * b + geom_R[y, 1, 2] * c,
        geom_p[y, 2] + geom_R[y, 2, 0] * a + geom_R[y, 2, 1] * b + geom_R[y, 2, 2] * c,
    )


@kernel
def triangle_normal(geoms, geom_R, y, triangle):
    """Upward normal of a triangle, world."""
    row = geoms.first_face[y] + triangle
    a, b, c = geoms.faces[row, 0], geoms.faces[row, 1], geoms.faces[row, 2]
    return (
        geom_R[y, 0, 0] * a + geom_R[y, 0, 1] * b + geom_R[y, 0, 2] * c,
        geom_R[y, 1, 0] * a + geom_R[y, 1, 1] * b + geom_R[y, 1, 2] * c,
        geom_R[y, 2, 0] * a + geom_R[y, 2, 1] * b + geom_R[y, 2, 2] * c,
    )


@kernel
def triangle_plane(geoms, geom_R, geom_p, y, triangle):
    """Normal and first corner of a triangle, world."""
    n0, n1, n2 = triangle_normal(geoms, geom_R, y, triangle)
    corner = geoms.corners[geoms.first_corner[geoms.first_face[y]] + 3 * triangle]
    a0, a1, a2 = grid_point(geoms, geom_R, geom_p, y, corner)
    return n0, n1, n2, a0, a1, a2


@kernel
def is_over_patch(geoms, geom_R, geom_p, y, patch, p0, p1, p2, tol):
    """Whether a world point in the plane of a patch lies over one of its triangles, with some play at valleys.

    On a ridge or at the border, and nearer to it than the play, it does not: such a point is the ridge's business.
    """
    u, v, _ = into_body(geom_R, y, p0 - geom_p[y, 0], p1 - geom_p[y, 1], p2 - geom_p[y, 2])
    nx, ny = geoms.grid[y, 0], geoms.grid[y, 1]
    hx, hy = geoms.size[y, 0], geoms.size[y, 1]
    play_x, play_y = tol * (nx - 1) / (2.0 * hx), tol * (ny - 1) / (2.0 * hy)
    u = 0.5 * (u / hx + 1.0) * (nx - 1)
    v = 0.5 * (v / hy + 1.0) * (ny - 1)
    if u < play_x or v < play_y or u > nx - 1 - play_x or v > ny - 1 - play_y:
        return False
    first = geoms.first_face[y]
    for i in range(max(0, int(u - play_x)), min(nx - 2, int(u + play_x)) + 1):
        for j in range(max(0, int(v - play_y)), min(ny - 2, int(v + play_y)) + 1):
            for side in range(2):
                triangle = 2 * (j * (nx - 1) + i) + side
                if geoms.patch[first + triangle] != patch:
                    continue
                across = (u - i) - (v - j) if side == 0 else (v - j) - (u - i)
                along_x = 1.0 - (u - i) if side == 0 else u - i
                along_y = v - j if side == 0 else 1.0 - (v - j)
                play = play_x + play_y
                if across < -play or along_x < -play_x or along_y < -play_y:
                    continue
                beside = 1 - 2 * side  # the triangle across the diagonal, one or the other way
                if (
                    (across <= play and is_ridge(geoms, y, triangle, triangle + beside))
                    or (along_x <= play_x and is_ridge(geoms, y, triangle, triangle + 3 * beside))
                    or (along_y <= play_y and is_ridge(geoms, y, triangle, triangle - beside * (2 * (nx - 1) - 1)))
                ):
                    return False
                return True
    return False


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
        height = 0.0
        for c in range(3):
            height += geoms.faces[first + here, c] * (geoms.vertices[b, c] - geoms.vertices[a, c])
        if abs(height) > abs(lowest):
            lowest = height
    return lowest < 0.0


@kernel
def add_field_point(work, count, p0, p1, p2, gap, n0, n1, n2, what, feature, name, tol):
    """Append a point unless it is there already or the list is full; returns the number of points."""
    field = work.field
    points, normals = field.points, field.normals
    for k in range(count):
        cosine = n0 * normals[k, 0] + n1 * normals[k, 1] + n2 * normals[k, 2]
        if cosine > SAME and abs(gap - points[k, 3]) <= tol:
            apart = (p0 - points[k, 0]) ** 2 + (p1 - points[k, 1]) ** 2 + (p2 - points[k, 2]) ** 2
            if apart <= tol * tol:
                return count
    if count == points.shape[0]:
        return count
    points[count, 0], points[count, 1], points[count, 2], points[count, 3] = p0, p1, p2, gap
    normals[count, 0], normals[count, 1], normals[count, 2] = n0, n1, n2
    field.ids[count] = (KINDS * feature + what) * OF_SHAPE + name
    return count + 1


@kernel
def reduce_field_points(work, count, tol):
    """Leave at most four points of every group of alike normals, in their order; returns the number of points."""
    if count <= 4:
        return count
    field = work.field
    points, normals, ids, group = field.points, field.normals, field.ids, field.group
    for k in range(count):
        group[k] = -1
    for k in range(count):
        if group[k] != -1:
            continue
        size = 0
        for m in range(k, count):
            cosine = normals[k, 0] * normals[m, 0] + normals[k, 1] * normals[m, 1] + normals[k, 2] * normals[m, 2]
            if group[m] == -1 and cosine >= ALIKE and size < work.points.shape[0]:
                for c in range(4):
                    work.points[size, c] = points[m, c]
                work.ids[size] = m
                group[m] = -2  # left out
                size += 1
        for c in range(3):
            work.normal[c] = normals[k, c]
        size = reduce_points(work.points, work.ids, size, work.normal, tol)
        for m in range(size):
            group[work.ids[m]] = k
    kept = 0
    for k in range(count):
        if group[k] >= 0:
            for c in range(4):
                points[kept, c] = points[k, c]
            for c in range(3):
                normals[kept, c] = normals[k, c]
            ids[kept] = ids[k]
            kept += 1
    return kept


@kernel
def length_of(a, b, c):
    """Length of a vector."""
    return math.sqrt(a * a + b * b + c * c)
