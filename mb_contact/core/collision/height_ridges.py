# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Ridges of a height field or a mesh against a convex shape.

Seen along a ridge, the shape is a convex region of a plane and the ridge a point.  The normal is the one, of those
between the normals of the ridge's sides, along which both are farthest apart.  It is found by chords: the lowest
points of the shape for two directions on either side of it span a line, whose normal is the next direction.
"""

import math

from mb_contact.core.collision.height_grid import OF_EDGE, add_field_point, grid_point
from mb_contact.core.collision.manifold_clip import clip_segment, out_of_frame, set_region, to_frame
from mb_contact.core.collision.manifold_lines import IN_FACE
from mb_contact.core.collision.ridge_lines import crossing_points, level_side
from mb_contact.core.collision.shapes import (
    NO_FLAT,
    body_axis,
    core_point,
    face_normal,
    facing,
    has_faces,
    place,
    reach,
)
from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import (
    ZERO,
    between,
    length_of,
    opposite,
    put_vector,
    unit_of,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)

BORDER = -1
SLACK = 0.02  #: angle by which a flat face may lean out of the normals of a ridge or peak and still rest on it [rad]
ROUND_SLACK = 1e-9  #: of a round shape
FLUSH = 0.999  #: cosine of the angle between a face and the normal from which on the face rests on the ridge
CHORDS = 60  #: most chords
CLOSE = 1e-15  #: of a chord to the shape: the direction is found [m]
MANY = 0.1  #: angle between normals along which a shape and a ridge touch alike, from which none is chosen [rad]
BEYOND = 4.0  #: times the tolerance, up to which it is looked beyond the end of a ridge whether the face goes on too
ON_FACE = 1 << 28  #: weight of the face in the identity of a point between a ridge and a face


@kernel
def slack_of(geoms, x):
    """Angle by which shape X may lean out of the normals of a ridge or peak and still rest on it [rad]."""
    return SLACK if has_faces(geoms, x) else ROUND_SLACK


@kernel
def gap_from(geoms, geom_R, geom_p, x, a, n):
    """Distance along n from a point a to the lowest point of X [m]."""
    return vector_dot(n, vector_sum(vector(geom_p, x), -1.0, a)) - reach(geoms, geom_R, x, opposite(n))


# --- ridges -------------------------------------------------------------------------------------


@kernel
def goes_on(geoms, y, va, vb, t1, t2, sign):
    """Whether the ridge from grid point ``va`` to ``vb`` goes on straight beyond ``vb`` (sign 1) or ``va`` (-1)."""
    nx, ny = geoms.grid[y, 0], geoms.grid[y, 1]
    di, dj = vb % nx - va % nx, vb // nx - va // nx
    i, j = va % nx + sign * di, va // nx + sign * dj
    if i < 0 or j < 0 or i + di > nx - 1 or j + dj > ny - 1:
        return False
    first = geoms.first_face[y]
    step = 2 * sign * (dj * (nx - 1) + di)
    if geoms.patch[first + t1] != geoms.patch[first + t1 + step]:
        return False
    return t2 == BORDER or geoms.patch[first + t2] == geoms.patch[first + t2 + step]


@kernel
def cell_edges(geoms, geom_R, geom_p, x, y, i, j, far, tol, work, count):
    """Points of X and the edges of cell (i, j): the lower, the left, the diagonal one, and those of the far border."""
    nx, ny = geoms.grid[y, 0], geoms.grid[y, 1]
    v = j * nx + i
    cell = 2 * (j * (nx - 1) + i)
    below = cell - 2 * (nx - 1) + 1 if j > 0 else BORDER
    left = cell - 2 if i > 0 else BORDER
    count = edge_points(geoms, geom_R, geom_p, x, y, v, v + 1, cell, below, 3 * v, far, tol, work, count)
    count = edge_points(geoms, geom_R, geom_p, x, y, v, v + nx, cell + 1, left, 3 * v + 1, far, tol, work, count)
    count = edge_points(geoms, geom_R, geom_p, x, y, v, v + nx + 1, cell, cell + 1, 3 * v + 2, far, tol, work, count)
    if j == ny - 2:
        w = v + nx
        count = edge_points(geoms, geom_R, geom_p, x, y, w, w + 1, cell + 1, BORDER, 3 * w, far, tol, work, count)
    if i == nx - 2:
        w = v + 1
        count = edge_points(geoms, geom_R, geom_p, x, y, w, w + nx, cell, BORDER, 3 * w + 1, far, tol, work, count)
    return count


@kernel
def edge_points(geoms, geom_R, geom_p, x, y, va, vb, t1, t2, name, far, tol, work, count):
    """Points of X and the edge from grid point ``va`` to ``vb`` between triangles ``t1`` and ``t2`` (or the border)."""
    first = geoms.first_face[y]
    if t2 != BORDER and geoms.patch[first + t1] == geoms.patch[first + t2]:
        return count
    a, b = grid_point(geoms, geom_R, geom_p, y, va), grid_point(geoms, geom_R, geom_p, y, vb)
    u, length = unit_of(vector_sum(b, -1.0, a))
    n = face_normal(geoms, geom_R, y, t1)
    if (
        gap_from(geoms, geom_R, geom_p, x, a, n) > far
        or gap_from(geoms, geom_R, geom_p, x, b, u) > far
        or gap_from(geoms, geom_R, geom_p, x, a, opposite(u)) > far
    ):
        return count
    # t: at right angles to the edge, in the plane of the first triangle, away from it
    t = vector_product(u, n)
    if vector_dot(t, vector_sum(third_corner(geoms, geom_R, geom_p, y, t1, va, vb), -1.0, a)) > 0.0:
        t = opposite(t)
    if t2 == BORDER:  # the side of the solid, which is upright
        m = vector_product(u, body_axis(geom_R, y, 2))
        m = vector_sum(ZERO, (1.0 if vector_dot(m, t) > 0.0 else -1.0) / length_of(m), m)
    else:
        m = face_normal(geoms, geom_R, y, t2)
    bend = vector_dot(m, t)
    # a valley: both planes hold by themselves
    if bend <= 0.0 or gap_from(geoms, geom_R, geom_p, x, a, m) > far:
        return count
    angle, slack = math.atan2(bend, vector_dot(m, n)), slack_of(geoms, x)
    open_ends = goes_on(geoms, y, va, vb, t1, t2, -1), goes_on(geoms, y, va, vb, t1, t2, 1), False, False
    sides, edge = (n, t, angle, -slack, angle + slack), (a, b, u, length)
    return points_of_ridge(geoms, geom_R, geom_p, x, edge, sides, open_ends, name, far, tol, work, count)


@kernel
def points_of_ridge(geoms, geom_R, geom_p, x, edge, sides, open_ends, name, far, tol, work, count):
    """Points of X and a ridge, for normals between those of its sides.

    Parameters
    ----------
    edge : (3,), (3,), (3,), float
        Its ends [m], direction and length [m].
    sides : (3,), (3,), float, float, float
        Normal of the first side, the direction across the ridge in that side and away from it, the angle to the other
        side's normal, and those between which the normal is looked for [rad].
    open_ends : bool, bool, bool, bool
        Whether the ridge goes on beyond its ends, and whether it ends in hollows: there what it crosses beyond an end
        is over it as long as the end is in X.
    """
    a, b, u, length = edge
    n, t, angle, low, high = sides
    found, theta = ridge_angle(geoms, geom_R, geom_p, x, a, n, t, (angle, low, high), tol)
    if not found:
        found, theta = level_side(geoms, geom_R, geom_p, x, edge, sides, tol)
    if not found:
        return count
    leans = theta < 0.0 or theta > angle
    theta = min(angle, max(0.0, theta))
    if work.mesh.query[1] == 0 and has_many(geoms, geom_R, geom_p, x, a, n, t, angle, theta, tol):
        return count
    n = vector_sum(vector_sum(ZERO, math.cos(theta), n), math.sin(theta), t)
    if vector_dot(n, vector_sum(vector(geom_p, x), -1.0, a)) < 0.0:
        return count
    if has_faces(geoms, x):
        count, rests = flush_points(geoms, geom_R, geom_p, x, a, b, open_ends, n, name, far, tol, work, count)
        if rests:
            return count
    if leans and not level_side(geoms, geom_R, geom_p, x, edge, sides, tol)[0]:
        return count
    return crossing_points(geoms, geom_R, geom_p, x, (a, u), length, open_ends, n, name, far, tol, work, count)


@kernel
def third_corner(geoms, geom_R, geom_p, y, triangle, va, vb):
    """World position of the corner of a triangle that is neither ``va`` nor ``vb``."""
    start = geoms.first_corner[geoms.first_face[y] + triangle]
    third = geoms.corners[start]
    for k in range(1, 3):
        if third == va or third == vb:
            third = geoms.corners[start + k]
    return grid_point(geoms, geom_R, geom_p, y, third)


@kernel
def ridge_angle(geoms, geom_R, geom_p, x, a, n, t, angles, tol):
    """Angle from n to t at which X and the ridge through a are farthest apart, if it is between two bounds.

    ``angles`` are that between both sides and the bounds.  Beyond them X is over one of the sides, which has its own
    points, but for those that are no farther than ``tol`` inside of the ridge: there the normal is the side's.  A ridge
    that is in X may be nearer to its surface between the bounds than along either side: where the separation only grows
    again towards a bound, that counts.  p and q are coordinates of lowest points of X along n and t, from the ridge.

    Returns
    -------
    found, angle
    """
    angle, low, high = angles
    rests, side, least = False, 0.0, -math.inf
    c, s = math.cos(low), math.sin(low)
    pl, ql = _lowest(geoms, geom_R, geom_p, x, a, n, t, c, s)
    if c * ql - s * pl <= 0.0:
        rests, least = low < 0.0 and ql >= -tol, _along(max(low, 0.0), pl, ql)
        if least >= -tol:
            return rests, side
    c, s = math.cos(high), math.sin(high)
    ph, qh = _lowest(geoms, geom_R, geom_p, x, a, n, t, c, s)
    if c * qh - s * ph >= 0.0:
        end = _along(min(high, angle), ph, qh)
        if end > least:
            rests, side, least = high > angle and math.sin(angle) * ph - math.cos(angle) * qh >= -tol, angle, end
        if least >= -tol:
            return rests, side
    theta = 0.5 * (low + high)
    for _ in range(CHORDS):
        dp, dq = ph - pl, qh - ql
        chord = math.sqrt(dp * dp + dq * dq)
        if chord <= 1e-12:  # one point is lowest on either side
            theta = math.atan2(qh, ph)
            break
        c, s = -dq / chord, dp / chord
        theta = math.atan2(s, c)
        p, q = _lowest(geoms, geom_R, geom_p, x, a, n, t, c, s)
        if c * p + s * q < c * pl + s * ql - CLOSE:
            if c * q - s * p > 0.0:
                pl, ql = p, q
            else:
                ph, qh = p, q
        elif c * qh - s * ph > 0.0:
            pl, ql = ph, qh
        elif c * ql - s * pl < 0.0:
            ph, qh = pl, ql
        else:
            break
    if least > -math.inf:
        p, q = _lowest(geoms, geom_R, geom_p, x, a, n, t, math.cos(theta), math.sin(theta))
        if theta < low or theta > high or _along(theta, p, q) <= least:
            return rests, side
    return True, theta


@kernel
def _along(theta, p, q):
    """Coordinate along the direction at an angle from n to t of the point with coordinates p and q."""
    return math.cos(theta) * p + math.sin(theta) * q


@kernel
def has_many(geoms, geom_R, geom_p, x, a, n, t, angle, theta, tol):
    """Whether a corner or edge of X is at the ridge through a, so that X and the ridge touch along many normals.

    None of them says where X may go; what it comes to is found where the step ends (``core/step/feature_meeting.py``).
    ``theta`` is one of the angles from n to t, and ``angle`` the largest.
    """
    middle = min(max(theta, MANY), angle - MANY)
    for k in range(2):
        probe = middle + (k - 0.5) * MANY
        p, q = _lowest(geoms, geom_R, geom_p, x, a, n, t, math.cos(probe), math.sin(probe))
        if p * p + q * q > tol * tol:
            return False
    return angle >= 2.0 * MANY


@kernel
def _lowest(geoms, geom_R, geom_p, x, a, n, t, c, s):
    """Coordinates along n and t, from the ridge, of the point of the core of X that is lowest along c n + s t."""
    _, p = core_point(geoms, geom_R, x, opposite(vector_sum(vector_sum(ZERO, c, n), s, t)))
    d = vector_sum(place(geom_R, geom_p, x, p), -1.0, a)
    return vector_dot(n, d), vector_dot(t, d)


@kernel
def flush_points(geoms, geom_R, geom_p, x, a, b, open_ends, n, name, far, tol, work, count):
    """Ends of the part of a ridge from a to b that is under a face of X, if a face lies flush on it.

    An end from which ridge (``open_ends``) and face go on is none.  A ridge that ends at the border of the face is
    beside X, however far below the face: an edge that passes over the side of a flush slab is not in it.

    Returns
    -------
    count, rests
        Number of points; whether part of the ridge is under such a face, or beside one in whose plane it is.
    """
    face = facing(geoms, geom_R, x, opposite(n))
    if face == NO_FLAT:
        return count, False
    f = face_normal(geoms, geom_R, x, face)
    cosine = -vector_dot(f, n)
    if cosine < FLUSH:
        return count, False
    polygon = work.polygon
    region = set_region(geoms, geom_R, geom_p, x, face, f, work)
    along, length = unit_of(vector_sum(b, -1.0, a))
    leans = abs(vector_dot(f, along)) * length > tol
    put_vector(polygon[0], 0, vector_sum(a, -BEYOND * tol if open_ends[0] else 0.0, along))
    put_vector(polygon[0], 1, vector_sum(b, BEYOND * tol if open_ends[1] else 0.0, along))
    put_vector(polygon[1], 0, a)
    put_vector(polygon[1], 1, b)
    for row in range(2):
        to_frame(work.frame, polygon[row], 2)
    left = clip_segment(polygon, region, tol)
    short = length_of(between(polygon[0], 1, polygon[0], 0)) <= tol
    for k in range(left):
        gap = polygon[0, k, 2] / cosine
        away, goes_on = between(polygon[0], k, polygon[1], k), False
        beyond = vector_dot(away, between(polygon[1], k, polygon[1], 1 - k))
        if open_ends[k] and beyond > 0.0:
            goes_on = length_of(away) > 0.5 * BEYOND * tol
            put_vector(polygon[0], k, vector(polygon[1], k))
        is_beside = short and region[1] == 0.0  # a rim may touch the ridge
        if gap > far or goes_on or is_beside:
            continue
        normal, ends = n, not (open_ends[k] or open_ends[2 + k]) and length_of(away) <= tol
        if leans and ends:
            normal, gap = opposite(f), polygon[0, k, 2]
        p = vector_sum(out_of_frame(work.frame, vector(polygon[0], k)), 0.5 * gap, normal)
        count = add_field_point(work, count, p, gap, normal, OF_EDGE, name, ON_FACE + 2 * face + k, tol)
    return count, left > 0 or cosine >= IN_FACE
