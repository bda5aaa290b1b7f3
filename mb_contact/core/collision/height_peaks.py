# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Peaks of a height field against a convex shape: grid points that no neighbour rises above along their normal.

The normal of a peak is that of the nearest point of the shape; at an edge of the shape there are many, and none is
chosen (``height_ridges.has_many``).
"""

import math

from mb_contact.core.collision.height_grid import OF_PEAK, add_field_point, grid_point
from mb_contact.core.collision.height_ridges import ROUND_SLACK, slack_of
from mb_contact.core.collision.mesh_tree import deepest_of
from mb_contact.core.collision.point_distance import next_face, point_gap
from mb_contact.core.collision.shapes import body_axis, has_faces, reach
from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import (
    ZERO,
    length_of,
    opposite,
    unit_of,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)

NUDGE = 4.0  #: times the tolerance, from a peak to places beside it,
FALLS = 0.25  #: and part of it by which the shape's surface falls off there from an edge


@kernel
def cell_peaks(geoms, geom_R, geom_p, x, y, i, j, far, tol, work, count):
    """Points of X and the first grid point of cell (i, j), and those of the far border."""
    nx, ny = geoms.grid[y, 0], geoms.grid[y, 1]
    right, top = i == nx - 2, j == ny - 2
    count = peak_point(geoms, geom_R, geom_p, x, y, i, j, far, tol, work, count)
    if right:
        count = peak_point(geoms, geom_R, geom_p, x, y, i + 1, j, far, tol, work, count)
    if top:
        count = peak_point(geoms, geom_R, geom_p, x, y, i, j + 1, far, tol, work, count)
    if right and top:
        count = peak_point(geoms, geom_R, geom_p, x, y, i + 1, j + 1, far, tol, work, count)
    return count


@kernel
def peak_point(geoms, geom_R, geom_p, x, y, i, j, far, tol, work, count):
    """The point of X and grid point (i, j), if that is a peak along their normal."""
    if not is_bent(geoms, y, i, j):
        return count
    v = j * geoms.grid[y, 0] + i
    p = grid_point(geoms, geom_R, geom_p, y, v)
    gap, n = gap_above(geoms, geom_R, geom_p, x, p, far, tol, work)
    if gap > far:
        return count
    while not is_peak(geoms, geom_R, geom_p, y, i, j, n, slack_of(geoms, x)):
        gap, n = gap_deeper(geoms, geom_R, geom_p, x, y, p, gap, tol, work)
        if gap == math.inf:
            return count
    return add_field_point(work, count, vector_sum(p, 0.5 * gap, n), gap, n, OF_PEAK, v, 0, tol)


@kernel
def gap_above(geoms, geom_R, geom_p, x, p, far, tol, work):
    """Gap [m] between X and the point p of a peak, and its normal towards X.

    Infinite where the gap is surely larger than ``far``, the normal does not lead to the middle of X, or none is.
    """
    c, distance = unit_of(vector_sum(vector(geom_p, x), -1.0, p))
    if distance > 0.0 and distance - reach(geoms, geom_R, x, opposite(c)) > far:
        return math.inf, ZERO
    gap, n = point_gap(geoms, geom_R, geom_p, x, p)
    n = opposite(n)
    if vector_dot(n, c) <= 0.0 or (work.mesh.query[1] == 0 and has_edge_at(geoms, geom_R, geom_p, x, p, gap, n, tol)):
        return math.inf, n
    return gap, n


@kernel
def gap_deeper(geoms, geom_R, geom_p, x, y, p, gap, tol, work):
    """The next deeper ``gap`` [m] of the point p of a peak of Y in X, and its normal towards X.

    Which face of X the peak came through, its own neighbours tell: near an edge of X that is not always the nearest.
    Infinite where there is no other face that the peak is below as little as shapes may be in each other.
    """
    if gap >= -tol or not has_faces(geoms, x):
        return math.inf, ZERO
    gap, n = next_face(geoms, geom_R, geom_p, x, p, gap)
    return (gap, opposite(n)) if gap >= -deepest_of(geoms, x, y, work) else (math.inf, ZERO)


@kernel
def has_edge_at(geoms, geom_R, geom_p, x, p, gap, n, tol):
    """Whether an edge or a corner of X is at p, which is ``gap`` from X along n: they touch along many normals."""
    if abs(gap) > tol:
        return False
    t, _ = unit_of(vector_product(n, (1.0, 0.0, 0.0) if abs(n[0]) < 0.8 else (0.0, 1.0, 0.0)))
    for _ in range(4):  # beside an edge the surface falls off
        beside = point_gap(geoms, geom_R, geom_p, x, vector_sum(p, NUDGE * tol, t))[0]
        if beside - gap > FALLS * NUDGE * tol:
            return True
        t = vector_product(n, t)
    return False


@kernel
def is_bent(geoms, y, i, j):
    """Whether the triangles about a grid point lie in more than one plane, or it is on the border."""
    nx, ny = geoms.grid[y, 0], geoms.grid[y, 1]
    if i == 0 or j == 0 or i == nx - 1 or j == ny - 1:
        return True
    first = geoms.first_face[y]
    here = first + 2 * (j * (nx - 1) + i)
    left, below = here - 2, here - 2 * (nx - 1)
    corner = below - 2
    patch = geoms.patch
    one = patch[here]
    return not (
        patch[here + 1] == one and patch[left] == one and patch[below + 1] == one and patch[corner] == one
        and patch[corner + 1] == one
    )  # fmt: skip


@kernel
def is_peak(geoms, geom_R, geom_p, y, i, j, n, slack):
    """Whether no neighbour of a grid point rises above it along n, nor two opposite ones are level with it: a ridge."""
    nx, ny = geoms.grid[y, 0], geoms.grid[y, 1]
    p = grid_point(geoms, geom_R, geom_p, y, j * nx + i)
    for k in range(3):
        level = 0
        for way in range(2):
            di = (0 if k == 1 else 1) * (1 - 2 * way)
            dj = (0 if k == 0 else 1) * (1 - 2 * way)
            if i + di < 0 or j + dj < 0 or i + di >= nx or j + dj >= ny:
                continue
            d = vector_sum(grid_point(geoms, geom_R, geom_p, y, (j + dj) * nx + i + di), -1.0, p)
            rise = vector_dot(n, d) / length_of(d)
            if rise > slack:
                return False
            if rise >= -slack:
                level += 1
        if level == 2:
            return False
    return vector_dot(n, body_axis(geom_R, y, 2)) >= -ROUND_SLACK
