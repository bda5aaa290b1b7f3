# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Broad phase: which of the world's pairs are near enough for the narrow phase."""

import math

import numpy as np

from mb_contact.core.collision.geometry import first_face, half_width, separation
from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import ZERO, between, vector_dot, vector_sum
from mb_contact.types import SHAPE_PLANE

OTHER_AXIS = 1.5  #: times as far must the shapes be apart along another axis to be swept along it: it is sorted anew
AHEAD = 8.0  #: steps for which boxes are made wide enough at the shapes' velocities
PAYS = 2  #: calls that rows have to serve for wider boxes to be worth their price; otherwise not again for
PATIENCE = 16  #: so many sweeps
AXIS, ROWS, SERVED, WAIT = range(4)  #: of Swept.state


@kernel
def candidate_pairs(geoms, geom_R, geom_p, lower, upper, travel, swept, resting, candidates, reach):
    """Rows of ``geoms.pairs`` that may be within the margin or come that near in the step, in ascending order.

    A pair passes if its inflated boxes overlap, which 2 ns tell, and neither the line of centres nor a face
    normal of either shape separates it by more than its reach: these few tests cost less than
    1 us, the narrow phase and the manifold of a pair 1 to 6 us.  Planes are tested exactly.  Large worlds
    (those with ``geoms.first_row``) are swept along the axis on which their shapes are most spread out, and only where
    a box leaves a wider one that the last sweep was made with: in between the pairs that it found are tested.

    Parameters
    ----------
    geoms : Geoms
    geom_R, geom_p : (g, 3, 3), (g, 3)
        World poses of the geometries.
    lower, upper : (g, 3)
        Inflated boxes of ``aabbs`` [m].
    travel : (g, 7)
        Of ``shape_travel``.
    swept : Swept, in, out
        From the last call, or as it was made.
    resting : int64 (g,)
        1 for geometries of the world and of trees that sleep: no pair of two such ones passes.
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
    pairs, margin = geoms.pairs, geoms.margin[0]
    large = geoms.first_row.shape[0] > 0
    if large and not _stay_within(lower, upper, swept):
        _widen(lower, upper, travel, margin, swept)
        _choose_axis(geom_p, swept.state)
        _sweep(geoms, swept)
    for k in range(swept.state[ROWS] if large else pairs.shape[0]):
        row = swept.rows[k] if large else k
        a, b = pairs[row, 0], pairs[row, 1]
        if resting[a] + resting[b] == 2 or not boxes_overlap(lower, upper, a, b):
            continue
        if is_near(geoms, geom_R, geom_p, travel, a, b):
            candidates[count] = row
            count += 1
    for i in range(count):
        row = candidates[i]
        reach[i] = margin + relative_way(travel, pairs[row, 0], pairs[row, 1])
    return count


@kernel
def _stay_within(lower, upper, swept):
    """Whether all boxes are within those that the last sweep was made with."""
    for g in range(lower.shape[0]):
        for i in range(3):
            if not (lower[g, i] >= swept.lower[g, i] and upper[g, i] <= swept.upper[g, i]):
                return False
    swept.state[SERVED] += 1
    return True


@kernel
def _widen(lower, upper, travel, margin, swept):
    """Boxes to sweep with: wider ones where those before have served some calls, as worlds by turns do not let them."""
    state = swept.state
    if state[WAIT] > 0:
        state[WAIT] -= 1
    elif state[SERVED] < PAYS:
        state[WAIT] = PATIENCE
    state[SERVED] = 0
    steps = AHEAD if state[WAIT] == 0 else 0.0
    for g in range(lower.shape[0]):
        around = min(steps, 1.0) * margin + steps * travel[g, 3]
        for i in range(3):
            ahead = steps * travel[g, i]
            swept.lower[g, i] = lower[g, i] - around + min(ahead, 0.0)
            swept.upper[g, i] = upper[g, i] + around + max(ahead, 0.0)


@kernel
def _choose_axis(geom_p, state):
    """The axis along which the shapes' centres are farthest apart; another than before only if it is much better."""
    best = _extent(geom_p, state[AXIS])
    for i in range(3):
        wide = _extent(geom_p, i)
        if wide > OTHER_AXIS * best:
            best, state[AXIS] = wide, i


@kernel
def _extent(geom_p, i):
    """Of all centres along axis i [m]."""
    least, most = np.inf, -np.inf
    for g in range(geom_p.shape[0]):
        least, most = min(least, geom_p[g, i]), max(most, geom_p[g, i])
    return most - least


@kernel
def _sweep(geoms, swept):
    """Rows of the pairs whose wider boxes overlap: sorted along an axis, only those that overlap there are compared.

    ``order`` is sorted anew by insertion, which takes a few moves where little has changed since the last
    call; it does not change the result.
    """
    order, lower, upper, axis, count = swept.order, swept.lower, swept.upper, swept.state[AXIS], 0
    g = order.shape[0]
    for i in range(1, g):
        moving = order[i]
        j = i - 1
        while j >= 0 and lower[order[j], axis] > lower[moving, axis]:
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = moving
    for i in range(g):
        a = order[i]
        end = upper[a, axis]
        for j in range(i + 1, g):
            b = order[j]
            if lower[b, axis] > end:
                break
            if not boxes_overlap(lower, upper, a, b):
                continue
            row = find_row(geoms.pairs, geoms.first_row, min(a, b), max(a, b))
            if row >= 0:
                swept.rows[count] = row
                count += 1
    sort_rows(swept.rows, count)
    swept.state[ROWS] = count


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
def is_near(geoms, geom_R, geom_p, travel, a, b):
    """Whether no quick test separates a pair, whose boxes overlap, by more than its reach."""
    kind, size, far = geoms.kind, geoms.size, geoms.margin[0] + relative_way(travel, a, b)
    if kind[a] == SHAPE_PLANE:
        return kind[b] != SHAPE_PLANE and plane_gap(kind, size, geom_R, geom_p, b, a) <= far
    if kind[b] == SHAPE_PLANE:
        return plane_gap(kind, size, geom_R, geom_p, a, b) <= far
    return (
        not centres_separate(kind, size, geom_R, geom_p, a, b, far)
        and not faces_separate(kind, size, geom_R, geom_p, a, b, a, far)
        and not faces_separate(kind, size, geom_R, geom_p, a, b, b, far)
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
