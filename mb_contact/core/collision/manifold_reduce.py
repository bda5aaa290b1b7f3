# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""At most four points of a manifold: the one that ends deepest, then those that span the largest area.

Of a body that rolls on many corners the one that comes down next counts, and not the one that is lowest now; and
corners that may touch in the step go before those that only span more.
"""

import numpy as np

from mb_contact.core.arrays import copy
from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import between, vector, vector_dot, vector_product

#: Among equally good points the one farthest along this world direction is taken.  It is a direction that no ordinary
#: scene has, so that rounding does not decide, and that does not depend on which geometry is called A.
DIRECTION = (0.5377, 0.6812, 0.4971)


ALL = np.inf  #: way with which no point is nearer than others


@kernel
def _best_score(points, count, near):
    best = -np.inf
    for i in range(count):
        if points[i, 3] <= near:
            best = max(best, points[i, 4])
    return best


@kernel
def best_point(points, count, tie, near):
    """Point with the largest score (column 4); within ``tie`` the one farthest along the direction (5).

    Points with gaps above ``near`` count only where no other one has a score above ``tie``.
    """
    best = _best_score(points, count, near)
    if best <= tie:
        near = np.inf
        best = _best_score(points, count, near)
    chosen = 0
    farthest = -np.inf
    for i in range(count):
        if points[i, 4] >= best - tie and points[i, 5] > farthest and points[i, 3] <= near:
            farthest = points[i, 5]
            chosen = i
    return chosen


@kernel
def area_beyond(points, i, j, k, normal):
    """Twice the area of the triangle i j k, positive counterclockwise seen against the normal."""
    return vector_dot(normal, vector_product(between(points, j, points, i), between(points, k, points, i)))


@kernel
def reduce_points(points, ids, count, normal, turn, depth_tie, way):
    """Keep four of the points, in their order.

    Parameters
    ----------
    points : (MAX_POINTS, 6), in, out
        Columns 0..3: world position, gap [m]; 4 and 5 are scratch.
    ids : int64 (MAX_POINTS,), in, out
    count : int
        Number of points.
    normal : tuple
        From the second shape to the first one.
    turn : (3,)
        Of the first shape against the second one, world [rad]: at what their turning adds to the gaps, but for a
        constant, points are judged.
    depth_tie : float
        Points this much less deep than the deepest count as equally deep [m].
    way : float
        Points that are farther than this above the lowest one do not touch in the step [m].

    Returns
    -------
    int
        Number of points kept.
    """
    if count <= 4:
        return count
    tilt = vector_product(normal, (turn[0], turn[1], turn[2]))
    for i in range(count):
        points[i, 4] = -points[i, 3] - vector_dot(tilt, vector(points, i))
        points[i, 5] = vector_dot(DIRECTION, vector(points, i))
    first = best_point(points, count, depth_tie, ALL)
    largest, near = 0.0, np.inf
    for i in range(count):
        near = min(near, points[i, 3] + way)
    for i in range(count):
        apart = between(points, i, points, first)
        points[i, 4] = vector_dot(apart, apart)
        largest = max(largest, points[i, 4])
    tie = 1e-3 * largest
    second = best_point(points, count, tie, near)
    for i in range(count):
        points[i, 4] = abs(area_beyond(points, first, second, i, normal))
    third = best_point(points, count, tie, near)
    if area_beyond(points, first, second, third, normal) < 0.0:
        first, second = second, first
    for i in range(count):
        # counterclockwise triangle: a point outside an edge adds the area of a clockwise one
        points[i, 4] = max(
            -area_beyond(points, first, second, i, normal),
            -area_beyond(points, second, third, i, normal),
            -area_beyond(points, third, first, i, normal),
        )
    fourth = best_point(points, count, tie, near)
    adds = points[fourth, 4] > 1e-6 * largest
    kept = 0
    for i in range(count):
        if i == first or i == second or i == third or (i == fourth and adds):
            copy(4, points[i], points[kept])
            ids[kept] = ids[i]
            kept += 1
    return kept
