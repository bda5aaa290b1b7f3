# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Peaks of a height field against a convex shape: grid points that no neighbour rises above along the normal."""

from __future__ import annotations

from mb_contact.core.collision.convex import reach
from mb_contact.core.collision.convex_point import point_gap
from mb_contact.core.collision.height_edges import ROUND_SLACK, SLACK, has_faces
from mb_contact.core.collision.height_grid import add_field_point, grid_point, length_of
from mb_contact.core.jit import kernel

OF_PEAK = 2  # kind of a feature of the field, in identities


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
    nx = geoms.grid[y, 0]
    v = j * nx + i
    if not is_bent(geoms, y, i, j):
        return count
    p0, p1, p2 = grid_point(geoms, geom_R, geom_p, y, v)
    c0, c1, c2 = geom_p[x, 0] - p0, geom_p[x, 1] - p1, geom_p[x, 2] - p2
    distance = length_of(c0, c1, c2)
    if distance > 0.0:
        c0, c1, c2 = c0 / distance, c1 / distance, c2 / distance
        if distance - reach(geoms, geom_R, x, -c0, -c1, -c2) > far:
            return count
    gap, n0, n1, n2 = point_gap(geoms, geom_R, geom_p, x, p0, p1, p2)
    n0, n1, n2 = -n0, -n1, -n2
    if gap > far or n0 * c0 + n1 * c1 + n2 * c2 <= 0.0:
        return count
    slack = SLACK if has_faces(geoms.kind, x) else ROUND_SLACK
    if not is_peak(geoms, geom_R, geom_p, y, i, j, p0, p1, p2, n0, n1, n2, slack):
        return count
    p0, p1, p2 = p0 + 0.5 * gap * n0, p1 + 0.5 * gap * n1, p2 + 0.5 * gap * n2
    return add_field_point(work, count, p0, p1, p2, gap, n0, n1, n2, OF_PEAK, v, 0, tol)


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
def is_peak(geoms, geom_R, geom_p, y, i, j, p0, p1, p2, n0, n1, n2, slack):
    """Whether no neighbour of a grid point rises above it along n, nor two opposite ones are level with it: a ridge."""
    nx, ny = geoms.grid[y, 0], geoms.grid[y, 1]
    for k in range(3):
        level = 0
        for way in range(2):
            di = (0 if k == 1 else 1) * (1 - 2 * way)
            dj = (0 if k == 0 else 1) * (1 - 2 * way)
            if i + di < 0 or j + dj < 0 or i + di >= nx or j + dj >= ny:
                continue
            q0, q1, q2 = grid_point(geoms, geom_R, geom_p, y, (j + dj) * nx + i + di)
            d0, d1, d2 = q0 - p0, q1 - p1, q2 - p2
            rise = (n0 * d0 + n1 * d1 + n2 * d2) / length_of(d0, d1, d2)
            if rise > slack:
                return False
            if rise >= -slack:
                level += 1
        if level == 2:
            return False
    return n0 * geom_R[y, 0, 2] + n1 * geom_R[y, 1, 2] + n2 * geom_R[y, 2, 2] >= -ROUND_SLACK
