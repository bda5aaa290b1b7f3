# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Broad phase: which of the world's pairs are near enough for the narrow phase."""

import math

from mb_contact.core.collision.geometry import first_face, half_width, separation
from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import ZERO, between, vector_dot, vector_sum
from mb_contact.types import SHAPE_PLANE


@kernel
def candidate_pairs(geoms, geom_R, geom_p, lower, upper, travel, order, candidates, reach):
    """Rows of ``geoms.pairs`` that may be within the margin or come that near in the step, in ascending order.

    A pair passes if its inflated boxes overlap and neither the line of centres nor a face
    normal of either shape separates it by more than its reach: these few tests cost less than
    1 us, the narrow phase and the manifold of a pair about 6 us.  Planes are tested exactly.  Large worlds
    (those with ``geoms.first_row``) are swept along x first.

    Parameters
    ----------
    geoms : Geoms
    geom_R, geom_p : (g, 3, 3), (g, 3)
        World poses of the geometries.
    lower, upper : (g, 3)
        Inflated boxes of ``aabbs`` [m].
    travel : (g, 4)
        Of ``shape_travel``.
    order : int64 (g,), in, out
        The geometries in any order; the next call is quicker for it.
    candidates : int64 (m,), out
        The rows; room for all m pairs.
    reach : (m,), out
        Of each candidate: the gap up to which it is in the step's problem, margin and relative way together [m].

    Returns
    -------
    int
        How many rows were written.
    """
    count = 0
    kind, size, pairs, margin = geoms.kind, geoms.size, geoms.pairs, geoms.margin[0]
    if geoms.first_row.shape[0] > 0:
        count = swept_pairs(geoms, geom_R, geom_p, lower, upper, travel, order, candidates)
    else:
        for row in range(pairs.shape[0]):
            a, b = pairs[row, 0], pairs[row, 1]
            far = margin + relative_way(travel, a, b)
            if is_near(kind, size, geom_R, geom_p, lower, upper, a, b, far):
                candidates[count] = row
                count += 1
    for i in range(count):
        row = candidates[i]
        reach[i] = margin + relative_way(travel, pairs[row, 0], pairs[row, 1])
    return count


@kernel
def swept_pairs(geoms, geom_R, geom_p, lower, upper, travel, order, candidates):
    """The same rows by sort and sweep along x: only geometries whose boxes overlap there are compared.

    ``order`` (g,) is sorted anew by insertion, which takes a few moves where little has changed since the last
    call; it does not change the result.
    """
    kind, size, margin = geoms.kind, geoms.size, geoms.margin[0]
    g = order.shape[0]
    for i in range(1, g):
        moving = order[i]
        j = i - 1
        while j >= 0 and lower[order[j], 0] > lower[moving, 0]:
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = moving
    count = 0
    for i in range(g):
        a = order[i]
        end = upper[a, 0]
        for j in range(i + 1, g):
            b = order[j]
            if lower[b, 0] > end:
                break
            if lower[a, 1] > upper[b, 1] or lower[b, 1] > upper[a, 1]:
                continue
            if lower[a, 2] > upper[b, 2] or lower[b, 2] > upper[a, 2]:
                continue
            row = find_row(geoms.pairs, geoms.first_row, min(a, b), max(a, b))
            if row >= 0:
                far = margin + relative_way(travel, a, b)
                if is_near(kind, size, geom_R, geom_p, lower, upper, a, b, far):
                    candidates[count] = row
                    count += 1
    sort_rows(candidates, count)
    return count


@kernel
def find_row(pairs, first_row, a, b):
    """Row of the pair (a, b), a < b, or -1, by bisection among the rows of a: a table would grow with the square."""
    low = first_row[a]
    high = first_row[a + 1]
    while low < high:
        middle = (low + high) // 2
        if pairs[middle, 1] < b:
            low = middle + 1
        else:
            high = middle
    return low if low < first_row[a + 1] and pairs[low, 1] == b else -1


@kernel
def sort_rows(rows, count):
    """Ascending, in place (Shell's sort: few rows, and no memory of its own)."""
    gap = count // 2
    while gap > 0:
        for i in range(gap, count):
            moving = rows[i]
            j = i
            while j >= gap and rows[j - gap] > moving:
                rows[j] = rows[j - gap]
                j -= gap
            rows[j] = moving
        gap //= 2


@kernel
def is_near(kind, size, geom_R, geom_p, lower, upper, a, b, margin):
    """Whether no quick test separates a pair by more than the margin."""
    if kind[a] == SHAPE_PLANE:
        return kind[b] != SHAPE_PLANE and plane_gap(kind, size, geom_R, geom_p, b, a) <= margin
    if kind[b] == SHAPE_PLANE:
        return plane_gap(kind, size, geom_R, geom_p, a, b) <= margin
    return (
        boxes_overlap(lower, upper, a, b)
        and not centres_separate(kind, size, geom_R, geom_p, a, b, margin)
        and not faces_separate(kind, size, geom_R, geom_p, a, b, a, margin)
        and not faces_separate(kind, size, geom_R, geom_p, a, b, b, margin)
    )


@kernel
def relative_way(travel, a, b):
    """How much nearer two shapes can come in the step at their present velocities [m]."""
    way = between(travel, a, travel, b)
    return math.sqrt(vector_dot(way, way)) + travel[a, 3] + travel[b, 3]


@kernel
def boxes_overlap(lower, upper, a, b):
    """Whether two axis-aligned boxes meet."""
    for i in range(3):
        if lower[a, i] > upper[b, i] or lower[b, i] > upper[a, i]:
            return False
    return True


@kernel
def plane_gap(kind, size, geom_R, geom_p, shape, plane):
    """Signed distance of a shape from the surface of a plane [m]."""
    n = geom_R[plane, 0, 2], geom_R[plane, 1, 2], geom_R[plane, 2, 2]
    return vector_dot(n, between(geom_p, shape, geom_p, plane)) - half_width(kind, size, geom_R, shape, n)


@kernel
def centres_separate(kind, size, geom_R, geom_p, a, b, margin):
    """Whether the line of centres separates two shapes by more than the margin."""
    d = between(geom_p, a, geom_p, b)
    length = math.sqrt(vector_dot(d, d))
    if length <= margin:
        return False
    return separation(kind, size, geom_R, geom_p, a, b, vector_sum(ZERO, 1.0 / length, d)) > margin


@kernel
def faces_separate(kind, size, geom_R, geom_p, a, b, owner, margin):
    """Whether a face normal of ``owner`` (a or b) separates two shapes by more than the margin."""
    for k in range(first_face(kind[owner]), 3):
        n = geom_R[owner, 0, k], geom_R[owner, 1, k], geom_R[owner, 2, k]
        if separation(kind, size, geom_R, geom_p, a, b, n) > margin:
            return True
    return False
