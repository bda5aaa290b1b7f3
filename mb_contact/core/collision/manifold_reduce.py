# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""At most four points of a manifold: the deepest, then those that span the largest area."""

from __future__ import annotations

import numpy as np

from mb_contact.core.jit import kernel

# Among equally good points the one farthest along this world direction is taken.  It is a
# direction that no ordinary scene has, so that rounding does not decide, and that does not
# depend on which geometry is called A.
DIRECTION_0 = 0.5377
DIRECTION_1 = 0.6812
DIRECTION_2 = 0.4971


@kernel
def best_point(points, count, tie):
    """Point with the largest score (column 4); within ``tie`` the one farthest along the direction (5)."""
    best = -np.inf
    for i in range(count):
        best = max(best, points[i, 4])
    chosen = 0
    farthest = -np.inf
    for i in range(count):
        if points[i, 4] >= best - tie and points[i, 5] > farthest:
            farthest = points[i, 5]
            chosen = i
    return chosen


@kernel
def area_beyond(points, i, j, k, normal):
    """Twice the area of the triangle i j k, positive counterclockwise seen against the normal."""
    a0 = points[j, 0] - points[i, 0]
    a1 = points[j, 1] - points[i, 1]
    a2 = points[j, 2] - points[i, 2]
    b0 = points[k, 0] - points[i, 0]
    b1 = points[k, 1] - points[i, 1]
    b2 = points[k, 2] - points[i, 2]
    return (
        normal[0] * (a1 * b2 - a2 * b1) + normal[1] * (a2 * b0 - a0 * b2) + normal[2] * (a0 * b1 - a1 * b0)
    )


@kernel
def reduce_points(points, ids, count, normal, depth_tie):
    """Keep four of the points, in their order.

    Parameters
    ----------
    points : (MAX_POINTS, 6), in, out
        Columns 0..3: world position, gap [m]; 4 and 5 are scratch.
    ids : int64 (MAX_POINTS,), in, out
    count : int
        Number of points.
    normal : (3,)
    depth_tie : float
        Points this much less deep than the deepest count as equally deep [m].

    Returns
    -------
    int
        Number of points kept.
    """
    if count <= 4:
        return count
    for i in range(count):
        points[i, 4] = -points[i, 3]
        points[i, 5] = DIRECTION_0 * points[i, 0] + DIRECTION_1 * points[i, 1] + DIRECTION_2 * points[i, 2]
    first = best_point(points, count, depth_tie)
    largest = 0.0
    for i in range(count):
        distance = 0.0
        for j in range(3):
            distance += (points[i, j] - points[first, j]) ** 2
        points[i, 4] = distance
        largest = max(largest, distance)
    second = best_point(points, count, 1e-3 * largest)
    for i in range(count):
        points[i, 4] = abs(area_beyond(points, first, second, i, normal))
    third = best_point(points, count, 1e-3 * largest)
    if area_beyond(points, first, second, third, normal) < 0.0:
        first, second = second, first
    for i in range(count):
        # counterclockwise triangle: a point outside an edge adds the area of a clockwise one
        points[i, 4] = max(
            -area_beyond(points, first, second, i, normal),
            -area_beyond(points, second, third, i, normal),
            -area_beyond(points, third, first, i, normal),
        )
    fourth = best_point(points, count, 1e-3 * largest)
    adds = points[fourth, 4] > 1e-6 * largest
    kept = 0
    for i in range(count):
        if i == first or i == second or i == third or (i == fourth and adds):
            for j in range(4):
                points[kept, j] = points[i, j]
            ids[kept] = ids[i]
            kept += 1
    return kept
