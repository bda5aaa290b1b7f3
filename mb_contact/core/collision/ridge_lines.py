# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Lowest lines of a convex shape, of edges or round flanks, over planes and across ridges (``height_ridges.py``)."""

import math

from mb_contact.core.collision.height_grid import OF_EDGE, add_field_point
from mb_contact.core.collision.manifold_lines import PARALLEL, SHORT, clamp
from mb_contact.core.collision.mesh_tree import play_at
from mb_contact.core.collision.point_distance import is_within
from mb_contact.core.collision.shapes import support_line
from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import (
    ZERO,
    length_of,
    opposite,
    vector_dot,
    vector_product,
    vector_sum,
)

ON_SURFACE = 0.01  #: part of the depth below a line up to which a ridge on the surface of X is beside it
ALONG = 10.0  #: times that depth, beyond the end of a ridge that goes on, up to which it is looked for in X
INWARDS = 100.0  #: times the tolerance, from an end of a line along it to where it is over a plane or is not


@kernel
def into_line(geoms, geom_R, geom_p, x, n, p, tol):
    """From point p of a plane with normal n a little way along the lowest line of X, if p is at an end of that.

    A line that ends at the border of a plane and goes on over it rests on the plane.
    """
    _, centre, half = support_line(geoms, geom_R, geom_p, x, opposite(n), geoms.margin[0])
    length = length_of(half)
    if length <= tol:
        return ZERO
    from_centre = vector_sum(p, -1.0, centre)
    sign = 1.0 if vector_dot(from_centre, half) > 0.0 else -1.0
    away = vector_sum(from_centre, -sign, half)
    if length_of(vector_sum(away, -vector_dot(n, away), n)) > tol:
        return ZERO
    return vector_sum(ZERO, -sign * min(1.0, INWARDS * tol / length), half)


@kernel
def level_side(geoms, geom_R, geom_p, x, edge, sides, tol):
    """Angle of the side of a ridge on which the lowest line of X lies, if it touches the ridge where it crosses that.

    Its lowest point may be far beyond either border of the side, for the least of a tilt, and tells nothing of the
    ridge.

    Returns
    -------
    found, angle
    """
    a, _, u, _ = edge
    n, t, angle, low, high = sides
    for theta in (0.0, angle):
        if theta < low or theta > high:
            continue
        side = vector_sum(vector_sum(ZERO, math.cos(theta), n), math.sin(theta), t)
        _, centre, half = support_line(geoms, geom_R, geom_p, x, opposite(side), geoms.margin[0])
        across, apart = vector_product(side, u), vector_sum(centre, -1.0, a)
        crosses = vector_dot(across, half)
        if abs(crosses) <= max(PARALLEL * abs(vector_dot(u, half)), tol):
            continue
        at = -vector_dot(across, apart) / crosses
        if abs(at) <= 1.0 and abs(vector_dot(side, apart) + at * vector_dot(side, half)) <= tol:
            return True, theta
    return False, 0.0


@kernel
def crossing_points(geoms, geom_R, geom_p, x, ridge, length, open_ends, n, name, far, tol, work, count):
    """Where the lowest point, edge or line of X along n is over the ridge: one point, two if they run side by side.

    ``ridge`` is one end and the direction.  Where one of two that cross ends at the other, the ridge is on the surface
    of X, and beside it however far below the lowest line.  A sharp edge of X that cuts the ridge is thinner where they
    cross than it is deep: the ridge is in X beside that.
    """
    a, u = ridge
    code, centre, half = support_line(geoms, geom_R, geom_p, x, opposite(n), geoms.margin[0])
    w, c = vector_product(n, u), vector_sum(centre, -1.0, a)
    cu, cw, cn = vector_dot(u, c), vector_dot(w, c), vector_dot(n, c)
    hu, hw, hn = vector_dot(u, half), vector_dot(w, half), vector_dot(n, half)
    first, last = 0.0, 0.0
    if abs(hw) > PARALLEL * abs(hu):
        first = clamp(-cw / hw)
        last = first
    elif hu != 0.0:
        one, other = -cu / hu, (length - cu) / hu  # where the line passes the ends of the ridge
        first, last = max(-1.0, min(one, other)), min(1.0, max(one, other))
        if last - first < SHORT:
            if work.mesh.query[1] == 0 and abs(cn + first * hn) <= tol:
                return count  # one ends where the other begins: they touch along many normals
            first = clamp(0.5 * (first + last))
            last = first
    for k in range(2 if last > first else 1):
        t = first if k == 0 else last
        s, gap, aside = cu + t * hu, cn + t * hn, cw + t * hw
        hollow, beside = open_ends[2] if 2.0 * s < length else open_ends[3], min(s, length - s)
        play = play_at(gap, tol, work) if hollow else tol
        if gap > far or (first == last and abs(aside) > tol + PARALLEL * abs(gap)):
            continue
        if beside < -play and not (hollow and gap < -tol and first == last):
            continue
        if gap < -tol and first == last and (beside < -play or beside > tol or not hollow):
            at = min(max(s, 0.0), length)
            low, high = at, at
            if beside >= 0.0:  # and where the ridge goes on
                more = min(length, ALONG * -gap)
                low, high = -more if open_ends[0] else 0.0, length + more if open_ends[1] else length
            line = vector_sum(a, low, u), u, high - low
            if not is_within(geoms, geom_R, geom_p, x, line, at - low, min(tol, ON_SURFACE * -gap)):
                continue
        if last > first and ((open_ends[0] and s <= tol) or (open_ends[1] and s >= length - tol)):
            continue
        p = vector_sum(vector_sum(a, s, u), 0.5 * gap, n)
        count = add_field_point(work, count, p, gap, n, OF_EDGE, name, 2 * code + k, tol)
    return count
