# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts of a convex shape with a height field: with the planes of its triangles, its ridges and its peaks.

Triangles that lie in one plane and hang together are one patch and are treated as that plane, with the functions
that serve SHAPE_PLANE: what slides or rolls over them meets no edge.  A point on a plane counts where it lies over the
patch.  An edge between two planes counts where it is a ridge, with normals between those of its two sides, a grid point
where it is a peak, with normals that no neighbour rises above (``height_ridges.py``).  No other
normals can come out.  They point from the field (Y) to the shape (X).
"""

import math

from mb_contact.core.collision.height_grid import (
    add_field_point,
    box_in_field,
    is_over_patch,
    reduce_field_points,
    triangle_plane,
)
from mb_contact.core.collision.height_peaks import cell_peaks
from mb_contact.core.collision.height_ridges import cell_edges
from mb_contact.core.collision.manifold_clip import EVERYWHERE, set_frame
from mb_contact.core.collision.manifold_faces import face_points
from mb_contact.core.collision.ridge_lines import into_line
from mb_contact.core.collision.shapes import body_axis, into_body, reach
from mb_contact.core.jit import INTEGER, kernel, on_demand
from mb_contact.core.tree.spatial import ZERO, opposite, vector, vector_dot, vector_sum
from mb_contact.types import SHAPE_PLANE

OF_TRIANGLE, SUNK = 0, 3  #: kinds of features of the field, in identities
AS_DEEP = 0.5  #: part of its depth below a plane that a point is deep at its own place, at least


@on_demand(INTEGER)
def field_manifold(geoms, geom_R, geom_p, x, y, far, tol, work):
    """Points of a convex shape X and a height field Y, in ``work.field``: at most four of each group of alike normals.

    Parameters
    ----------
    x, y : int
    far : float
        Largest gap of a point [m]; of ridges and peaks it is ``tol`` where a step of rigid contacts starts.
    tol : float
        Play of inside tests [m].

    Returns
    -------
    int
        Number of points.
    """
    if geoms.kind[x] >= SHAPE_PLANE:
        return 0
    count = 0
    seen = 0
    at_start = work.mesh.query[1] == 0 and work.mesh.query[2] == 0  # rows of soft pairs stand for the whole step
    touch = tol if at_start else far
    i0, i1, j0, j1, low = box_in_field(geoms, geom_R, geom_p, x, y, far)
    nx = geoms.grid[y, 0]
    first = geoms.first_face[y]
    for j in range(j0, j1 + 1):
        for i in range(i0, i1 + 1):
            for side in range(2):
                triangle = 2 * (j * (nx - 1) + i) + side
                if is_below(geoms, y, triangle, low):
                    continue
                patch = geoms.patch[first + triangle]
                known = False
                for k in range(seen):
                    known = known or work.field.seen[k] == patch
                if known:
                    continue
                count = with_room(work, count, tol)
                if seen < work.field.seen.shape[0]:
                    work.field.seen[seen] = patch
                    seen += 1
                else:  # the oldest goes; a plane that is looked at twice gives the same points
                    work.field.seen[patch % seen] = patch
                count = patch_points(geoms, geom_R, geom_p, x, y, patch, far, touch, tol, work, count)
    for j in range(j0, j1 + 1):
        for i in range(i0, i1 + 1):
            cell = 2 * (j * (nx - 1) + i)
            if is_below(geoms, y, cell, low) and is_below(geoms, y, cell + 1, low):
                continue
            count = with_room(work, count, tol)
            count = cell_edges(geoms, geom_R, geom_p, x, y, i, j, touch, tol, work, count)
            count = cell_peaks(geoms, geom_R, geom_p, x, y, i, j, touch, tol, work, count)
    if count == 0:
        count = sunk_point(geoms, geom_R, geom_p, x, y, tol, work)
    return reduce_field_points(work, count, tol)


@kernel
def with_room(work, count, tol):
    """Reduce a list that is half full; returns the number of points."""
    return reduce_field_points(work, count, tol) if 2 * count > work.field.points.shape[0] else count


@kernel
def is_below(geoms, y, triangle, low):
    """Whether a triangle is all below a height in the axes of the field."""
    start = 3 * triangle + geoms.first_corner[geoms.first_face[y]]
    for k in range(3):
        if geoms.vertices[geoms.first_vertex[y] + geoms.corners[start + k], 2] >= low:
            return False
    return True


@kernel
def patch_points(geoms, geom_R, geom_p, x, y, patch, far, touch, tol, work, count):
    """Points of X and the plane of a patch that lie over the patch, now or where their way meets the plane.

    One that is below the plane by more than ``touch`` has to be in the field: beyond a ridge of the patch it may be in
    the air, or not so deep below another side of the ridge.
    """
    n, a = triangle_plane(geoms, geom_R, geom_p, y, patch)
    height = vector_dot(n, vector_sum(vector(geom_p, x), -1.0, a))
    lowest = height - reach(geoms, geom_R, x, opposite(n))
    if height < 0.0 or lowest > far:
        return count
    set_frame(geom_R, y, n, a, work.frame)
    points, ids = work.points, work.ids
    found = face_points(geoms, geom_R, geom_p, x, EVERYWHERE, 2, far, tol, work)
    way = vector(work.travel, 0)
    approach = -vector_dot(n, way)
    rests = False  # X faces the plane: a point that is about as low as X gets is over the patch
    for k in range(found):
        gap = points[k, 3]
        on = vector_sum(vector(points, k), -0.5 * gap, n)
        over = is_over_patch(geoms, geom_R, geom_p, y, patch, on, gap, tol)
        if not over:
            inwards = into_line(geoms, geom_R, geom_p, x, n, on, tol)
            on = vector_sum(on, 1.0, inwards)
            over = inwards != ZERO and is_over_patch(geoms, geom_R, geom_p, y, patch, on, gap, tol)
        if not over and gap > 0.0 and approach >= gap:
            later = vector_sum(vector_sum(on, gap, n), gap / approach, way)
            over = is_over_patch(geoms, geom_R, geom_p, y, patch, later, gap, tol)
        if over and gap < -touch:
            deep = -gap / vector_dot(n, body_axis(geom_R, y, 2))
            over = depth_of(geoms, geom_R, geom_p, y, vector_sum(on, gap, n)) >= AS_DEEP * deep
        points[k, 4] = 1.0 if over else 0.0
        rests = rests or (over and gap <= lowest + geoms.margin[0])
    for k in range(found):
        if rests and points[k, 4] == 1.0:
            p = vector(points, k)
            count = add_field_point(work, count, p, points[k, 3], n, OF_TRIANGLE, patch, ids[k], tol)
    return count


@kernel
def sunk_point(geoms, geom_R, geom_p, x, y, tol, work):
    """One point for a shape whose origin is below the surface: out along the normal of the triangle above it."""
    triangle = triangle_above(geoms, geom_R, geom_p, y, vector(geom_p, x))
    if triangle < 0:
        return 0
    n, a = triangle_plane(geoms, geom_R, geom_p, y, triangle)
    height = vector_dot(n, vector_sum(vector(geom_p, x), -1.0, a))
    if height >= 0.0:
        return 0
    gap = height - reach(geoms, geom_R, x, opposite(n))
    p = vector_sum(vector(geom_p, x), 0.5 * gap - height, n)
    return add_field_point(work, 0, p, gap, n, SUNK, triangle, 0, tol)


@kernel
def depth_of(geoms, geom_R, geom_p, y, p):
    """Depth of a world point below the surface, along the upright axis of the field [m]; -inf beside the field."""
    triangle = triangle_above(geoms, geom_R, geom_p, y, p)
    if triangle < 0:
        return -math.inf
    n, a = triangle_plane(geoms, geom_R, geom_p, y, triangle)
    return vector_dot(n, vector_sum(a, -1.0, p)) / vector_dot(n, body_axis(geom_R, y, 2))


@kernel
def triangle_above(geoms, geom_R, geom_p, y, p):
    """The triangle above or below a world point; -1 where there is none."""
    u, v, _ = into_body(geom_R, y, vector_sum(p, -1.0, vector(geom_p, y)))
    nx, ny = geoms.grid[y, 0], geoms.grid[y, 1]
    u = 0.5 * (u / geoms.size[y, 0] + 1.0) * (nx - 1)
    v = 0.5 * (v / geoms.size[y, 1] + 1.0) * (ny - 1)
    if u < 0.0 or v < 0.0 or u > nx - 1 or v > ny - 1:
        return -1
    i, j = min(int(u), nx - 2), min(int(v), ny - 2)
    return 2 * (j * (nx - 1) + i) + (0 if v - j <= u - i else 1)
