# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts of a convex shape with a height field: with the planes of its triangles, its ridges and its peaks.

Triangles that lie in one plane and hang together are one patch and are treated as that plane, with the functions
that serve SHAPE_PLANE: what slides or rolls over them meets no edge.  A point on a plane counts where it lies over the
patch.  An edge between two planes counts where it is a ridge, with normals between those of its two sides, a grid point
where it is a peak, with normals that no neighbour rises above (``height_edges.py``, ``height_peaks.py``).  No other
normals can come out.  They point from the field (Y) to the shape (X).
"""

from __future__ import annotations

import math

from mb_contact.core.collision.convex import into_body, reach
from mb_contact.core.collision.height_edges import cell_edges
from mb_contact.core.collision.height_grid import (
    add_field_point,
    box_in_field,
    is_over_patch,
    reduce_field_points,
    triangle_plane,
)
from mb_contact.core.collision.height_peaks import cell_peaks
from mb_contact.core.collision.manifold_clip import EVERYWHERE, W_X, W_Y
from mb_contact.core.collision.manifold_convex import low_points
from mb_contact.core.collision.manifold_faces import region_points
from mb_contact.core.jit import kernel
from mb_contact.types import SHAPE_CONE, SHAPE_PLANE

OF_TRIANGLE, SUNK = 0, 3  # kinds of features of the field, in identities


@kernel
def field_manifold(geoms, geom_R, geom_p, travel, x, y, far, tol, work):
    """Points of a convex shape X and a height field Y, in ``work.field``: at most four of each group of alike normals.

    Parameters
    ----------
    travel : (g, 4)
        Way of each geometry in the step [m]; the field stands still.
    x, y : int
    far : float
        Largest gap of a point [m].
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
                count = patch_points(geoms, geom_R, geom_p, travel, x, y, patch, far, tol, work, count)
    for j in range(j0, j1 + 1):
        for i in range(i0, i1 + 1):
            cell = 2 * (j * (nx - 1) + i)
            if is_below(geoms, y, cell, low) and is_below(geoms, y, cell + 1, low):
                continue
            count = with_room(work, count, tol)
            count = cell_edges(geoms, geom_R, geom_p, x, y, i, j, far, tol, work, count)
            count = cell_peaks(geoms, geom_R, geom_p, x, y, i, j, far, tol, work, count)
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
def patch_points(geoms, geom_R, geom_p, travel, x, y, patch, far, tol, work, count):
    """Points of X and the plane of a patch that lie over the patch, now or where their way meets the plane."""
    n0, n1, n2, a0, a1, a2 = triangle_plane(geoms, geom_R, geom_p, y, patch)
    height = n0 * (geom_p[x, 0] - a0) + n1 * (geom_p[x, 1] - a1) + n2 * (geom_p[x, 2] - a2)
    lowest = height - reach(geoms, geom_R, x, -n0, -n1, -n2)
    if height < 0.0 or lowest > far:
        return count
    set_plane_frame(geom_R, y, n0, n1, n2, a0, a1, a2, work.frame)
    points, ids = work.points, work.ids
    if geoms.kind[x] >= SHAPE_CONE:
        found = low_points(geoms, geom_R, geom_p, x, far, work)
    else:
        found = region_points(
            geoms.kind, geoms.size, geom_R, geom_p, SHAPE_PLANE, 2, 1, EVERYWHERE, 0.0, 0.0, x, W_Y, W_X, far, tol,
            work,
        )  # fmt: skip
        frame = work.frame
        for k in range(found):
            u, v, gap = points[k, 0], points[k, 1], points[k, 2]
            for c in range(3):
                points[k, c] = frame[3, c] + u * frame[0, c] + v * frame[1, c] + 0.5 * gap * frame[2, c]
            points[k, 3] = gap
    approach = -(n0 * travel[x, 0] + n1 * travel[x, 1] + n2 * travel[x, 2])
    rests = False  # X faces the plane: a point that is about as low as X gets is over the patch
    for k in range(found):
        gap = points[k, 3]
        p0 = points[k, 0] - 0.5 * gap * n0
        p1 = points[k, 1] - 0.5 * gap * n1
        p2 = points[k, 2] - 0.5 * gap * n2
        over = is_over_patch(geoms, geom_R, geom_p, y, patch, p0, p1, p2, tol)
        if not over and gap > 0.0 and approach >= gap:
            t = gap / approach
            over = is_over_patch(
                geoms, geom_R, geom_p, y, patch, p0 + t * travel[x, 0] + gap * n0, p1 + t * travel[x, 1] + gap * n1,
                p2 + t * travel[x, 2] + gap * n2, tol,
            )  # fmt: skip
        points[k, 4] = 1.0 if over else 0.0
        rests = rests or (over and gap <= lowest + geoms.margin[0])
    for k in range(found):
        if rests and points[k, 4] == 1.0:
            count = add_field_point(
                work, count, points[k, 0], points[k, 1], points[k, 2], points[k, 3], n0, n1, n2, OF_TRIANGLE, patch,
                ids[k], tol,
            )  # fmt: skip
    return count


@kernel
def set_plane_frame(geom_R, y, n0, n1, n2, a0, a1, a2, frame):
    """Frame of a plane: z its normal, x along the field's x axis as far as that lies in the plane."""
    along = geom_R[y, 0, 0] * n0 + geom_R[y, 1, 0] * n1 + geom_R[y, 2, 0] * n2
    u0, u1, u2 = geom_R[y, 0, 0] - along * n0, geom_R[y, 1, 0] - along * n1, geom_R[y, 2, 0] - along * n2
    length = math.sqrt(u0 * u0 + u1 * u1 + u2 * u2)
    frame[0, 0], frame[0, 1], frame[0, 2] = u0 / length, u1 / length, u2 / length
    frame[1, 0] = n1 * frame[0, 2] - n2 * frame[0, 1]
    frame[1, 1] = n2 * frame[0, 0] - n0 * frame[0, 2]
    frame[1, 2] = n0 * frame[0, 1] - n1 * frame[0, 0]
    frame[2, 0], frame[2, 1], frame[2, 2] = n0, n1, n2
    frame[3, 0], frame[3, 1], frame[3, 2] = a0, a1, a2


@kernel
def sunk_point(geoms, geom_R, geom_p, x, y, tol, work):
    """One point for a shape whose origin is below the surface: out along the normal of the triangle above it."""
    i, j, side = triangle_above(geoms, geom_R, geom_p, x, y)
    if i < 0:
        return 0
    triangle = 2 * (j * (geoms.grid[y, 0] - 1) + i) + side
    n0, n1, n2, a0, a1, a2 = triangle_plane(geoms, geom_R, geom_p, y, triangle)
    height = n0 * (geom_p[x, 0] - a0) + n1 * (geom_p[x, 1] - a1) + n2 * (geom_p[x, 2] - a2)
    if height >= 0.0:
        return 0
    gap = height - reach(geoms, geom_R, x, -n0, -n1, -n2)
    middle = 0.5 * gap - height
    return add_field_point(
        work, 0, geom_p[x, 0] + middle * n0, geom_p[x, 1] + middle * n1, geom_p[x, 2] + middle * n2, gap,
        n0, n1, n2, SUNK, triangle, 0, tol,
    )  # fmt: skip


@kernel
def triangle_above(geoms, geom_R, geom_p, x, y):
    """Cell and side of the triangle above or below the origin of X; -1 where there is none."""
    d0, d1, d2 = geom_p[x, 0] - geom_p[y, 0], geom_p[x, 1] - geom_p[y, 1], geom_p[x, 2] - geom_p[y, 2]
    u, v, _ = into_body(geom_R, y, d0, d1, d2)
    nx, ny = geoms.grid[y, 0], geoms.grid[y, 1]
    u = 0.5 * (u / geoms.size[y, 0] + 1.0) * (nx - 1)
    v = 0.5 * (v / geoms.size[y, 1] + 1.0) * (ny - 1)
    if u < 0.0 or v < 0.0 or u > nx - 1 or v > ny - 1:
        return -1, 0, 0
    i, j = min(int(u), nx - 2), min(int(v), ny - 2)
    return i, j, 0 if v - j <= u - i else 1
