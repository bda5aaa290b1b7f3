# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Ridges of a height field against a convex shape.

Seen along a ridge, the shape is a convex region of a plane and the ridge a point.  The normal is the one, of those
between the normals of the ridge's sides, along which both are farthest apart.  It is found by chords: the lowest
points of the shape for two directions on either side of it span a line, whose normal is the next direction.
"""

from __future__ import annotations

import math

from mb_contact.core.collision.convex import NO_FLAT, face_normal, facing, outline, reach
from mb_contact.core.collision.convex_point import core_support
from mb_contact.core.collision.height_grid import add_field_point, grid_point, length_of, triangle_normal
from mb_contact.core.collision.manifold_convex import any_line
from mb_contact.core.collision.manifold_flat import set_flat_frame
from mb_contact.core.collision.manifold_polygon import clip_segment, to_frame
from mb_contact.core.jit import kernel
from mb_contact.types import SHAPE_BOX, SHAPE_CONE, SHAPE_CONVEX, SHAPE_CYLINDER

OF_EDGE = 1  # kind of a feature of the field, in identities
BORDER = -1
SLACK = 0.02  # angle by which a flat face may lean out of the normals of a ridge or peak and still rest on it [rad]
ROUND_SLACK = 1e-9  # of a round shape
FLUSH = 0.999  # cosine of the angle between a face and the normal from which on the face rests on the ridge
CHORDS = 60  # most chords
CLOSE = 1e-15  # of a chord to the shape: the direction is found [m]
PARALLEL = 1e-3  # sine of the angle between a ridge and a line below which they touch along a length
ON_FACE = 1 << 28  # weight of the face in the identity of a point between a ridge and a face


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
def has_faces(kind, x):
    """Whether a shape has flat faces."""
    shape = kind[x]
    return shape == SHAPE_BOX or shape == SHAPE_CYLINDER or shape == SHAPE_CONE or shape == SHAPE_CONVEX


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
    a0, a1, a2 = grid_point(geoms, geom_R, geom_p, y, va)
    b0, b1, b2 = grid_point(geoms, geom_R, geom_p, y, vb)
    u0, u1, u2 = b0 - a0, b1 - a1, b2 - a2
    length = length_of(u0, u1, u2)
    u0, u1, u2 = u0 / length, u1 / length, u2 / length
    n0, n1, n2 = triangle_normal(geoms, geom_R, y, t1)
    if gap_from(geoms, geom_R, geom_p, x, a0, a1, a2, n0, n1, n2) > far:
        return count
    if gap_from(geoms, geom_R, geom_p, x, b0, b1, b2, u0, u1, u2) > far:
        return count
    if gap_from(geoms, geom_R, geom_p, x, a0, a1, a2, -u0, -u1, -u2) > far:
        return count
    # t: at right angles to the edge, in the plane of the first triangle, away from it
    t_0, t_1, t_2 = u1 * n2 - u2 * n1, u2 * n0 - u0 * n2, u0 * n1 - u1 * n0
    o0, o1, o2 = third_corner(geoms, geom_R, geom_p, y, t1, va, vb)
    if t_0 * (o0 - a0) + t_1 * (o1 - a1) + t_2 * (o2 - a2) > 0.0:
        t_0, t_1, t_2 = -t_0, -t_1, -t_2
    if t2 == BORDER:  # the side of the solid, which is upright
        m0, m1, m2 = side_normal(geom_R, y, u0, u1, u2, t_0, t_1, t_2)
    else:
        m0, m1, m2 = triangle_normal(geoms, geom_R, y, t2)
    bend = m0 * t_0 + m1 * t_1 + m2 * t_2
    if bend <= 0.0:  # a valley: both planes hold by themselves
        return count
    if gap_from(geoms, geom_R, geom_p, x, a0, a1, a2, m0, m1, m2) > far:
        return count
    angle = math.atan2(bend, m0 * n0 + m1 * n1 + m2 * n2)
    flat = has_faces(geoms.kind, x)
    slack = SLACK if flat else ROUND_SLACK
    found, theta = ridge_angle(geoms, geom_R, geom_p, x, a0, a1, a2, n0, n1, n2, t_0, t_1, t_2, -slack, angle + slack)
    if not found:
        return count
    leans = theta < 0.0 or theta > angle
    theta = min(angle, max(0.0, theta))
    c, s = math.cos(theta), math.sin(theta)
    n0, n1, n2 = c * n0 + s * t_0, c * n1 + s * t_1, c * n2 + s * t_2
    if n0 * (geom_p[x, 0] - a0) + n1 * (geom_p[x, 1] - a1) + n2 * (geom_p[x, 2] - a2) < 0.0:
        return count
    before, after = goes_on(geoms, y, va, vb, t1, t2, -1), goes_on(geoms, y, va, vb, t1, t2, 1)
    if flat:
        count, rests = flush_points(
            geoms, geom_R, geom_p, x, a0, a1, a2, b0, b1, b2, before, after, n0, n1, n2, name, far, tol, work, count
        )
        if rests or leans:
            return count
    return crossing_points(
        geoms, geom_R, geom_p, x, a0, a1, a2, u0, u1, u2, length, before, after, n0, n1, n2, name, far, tol, work, count
    )


@kernel
def gap_from(geoms, geom_R, geom_p, x, a0, a1, a2, n0, n1, n2):
    """Distance along n from a point to the lowest point of X [m]."""
    along = n0 * (geom_p[x, 0] - a0) + n1 * (geom_p[x, 1] - a1) + n2 * (geom_p[x, 2] - a2)
    return along - reach(geoms, geom_R, x, -n0, -n1, -n2)


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
def side_normal(geom_R, y, u0, u1, u2, t_0, t_1, t_2):
    """Normal of the upright side below a border edge with direction u; t points outwards."""
    z0, z1, z2 = geom_R[y, 0, 2], geom_R[y, 1, 2], geom_R[y, 2, 2]
    m0, m1, m2 = u1 * z2 - u2 * z1, u2 * z0 - u0 * z2, u0 * z1 - u1 * z0
    size = length_of(m0, m1, m2) * (1.0 if m0 * t_0 + m1 * t_1 + m2 * t_2 > 0.0 else -1.0)
    return m0 / size, m1 / size, m2 / size


@kernel
def ridge_angle(geoms, geom_R, geom_p, x, a0, a1, a2, n0, n1, n2, t_0, t_1, t_2, low, high):
    """Angle from n to t at which X and the ridge through a are farthest apart, if it is between ``low`` and ``high``.

    p and q are coordinates of lowest points of X along n and t, from the ridge.

    Returns
    -------
    found, angle
    """
    c, s = math.cos(low), math.sin(low)
    pl, ql = _lowest(geoms, geom_R, geom_p, x, a0, a1, a2, n0, n1, n2, t_0, t_1, t_2, c, s)
    if c * ql - s * pl <= 0.0:
        return False, 0.0
    c, s = math.cos(high), math.sin(high)
    ph, qh = _lowest(geoms, geom_R, geom_p, x, a0, a1, a2, n0, n1, n2, t_0, t_1, t_2, c, s)
    if c * qh - s * ph >= 0.0:
        return False, 0.0
    for _ in range(CHORDS):
        dp, dq = ph - pl, qh - ql
        chord = math.sqrt(dp * dp + dq * dq)
        if chord <= 1e-12:  # one point is lowest on either side
            return True, math.atan2(qh, ph)
        c, s = -dq / chord, dp / chord
        p, q = _lowest(geoms, geom_R, geom_p, x, a0, a1, a2, n0, n1, n2, t_0, t_1, t_2, c, s)
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
    return True, math.atan2(s, c)


@kernel
def _lowest(geoms, geom_R, geom_p, x, a0, a1, a2, n0, n1, n2, t_0, t_1, t_2, c, s):
    """Coordinates along n and t, from the ridge, of the point of the core of X that is lowest along c n + s t."""
    x0, x1, x2 = core_support(geoms, geom_R, geom_p, x, -c * n0 - s * t_0, -c * n1 - s * t_1, -c * n2 - s * t_2)
    d0, d1, d2 = x0 - a0, x1 - a1, x2 - a2
    return n0 * d0 + n1 * d1 + n2 * d2, t_0 * d0 + t_1 * d1 + t_2 * d2


@kernel
def flush_points(
    geoms, geom_R, geom_p, x, a0, a1, a2, b0, b1, b2, before, after, n0, n1, n2, name, far, tol, work, count
):
    """Ends of the part of a ridge that is under a face of X, if a face lies flush on it.

    An end from which the ridge goes on straight (``before``, ``after``) is none.

    Returns
    -------
    count, rests
        Number of points; whether there was such a face.
    """
    face = facing(geoms, geom_R, x, -n0, -n1, -n2)
    if face == NO_FLAT:
        return count, False
    f0, f1, f2 = face_normal(geoms, geom_R, x, face)
    cosine = -(f0 * n0 + f1 * n1 + f2 * n2)
    if cosine < FLUSH:
        return count, False
    polygon, names, frame = work.polygon, work.name, work.frame
    corners = outline(geoms, geom_R, geom_p, x, face, polygon[2], names[2])
    set_flat_frame(geom_R, x, f0, f1, f2, polygon, frame)
    to_frame(frame, polygon[2], corners)
    polygon[0, 0, 0], polygon[0, 0, 1], polygon[0, 0, 2] = a0, a1, a2
    polygon[0, 1, 0], polygon[0, 1, 1], polygon[0, 1, 2] = b0, b1, b2
    to_frame(frame, polygon[0], 2)
    for k in range(2):
        for c in range(3):
            polygon[1, k, c] = polygon[0, k, c]
    ends = clip_segment(polygon, names, corners, tol)
    for k in range(ends):
        r0, r1, r2 = polygon[0, k, 0], polygon[0, k, 1], polygon[0, k, 2]
        gap = r2 / cosine
        on_ridge = length_of(r0 - polygon[1, k, 0], r1 - polygon[1, k, 1], r2 - polygon[1, k, 2])
        if gap > far or (on_ridge <= tol and (before if k == 0 else after)):
            continue
        p0 = frame[3, 0] + r0 * frame[0, 0] + r1 * frame[1, 0] + r2 * frame[2, 0] + 0.5 * gap * n0
        p1 = frame[3, 1] + r0 * frame[0, 1] + r1 * frame[1, 1] + r2 * frame[2, 1] + 0.5 * gap * n1
        p2 = frame[3, 2] + r0 * frame[0, 2] + r1 * frame[1, 2] + r2 * frame[2, 2] + 0.5 * gap * n2
        code = ON_FACE + 2 * face + k
        count = add_field_point(work, count, p0, p1, p2, gap, n0, n1, n2, OF_EDGE, name, code, tol)
    return count, True


@kernel
def crossing_points(
    geoms, geom_R, geom_p, x, a0, a1, a2, u0, u1, u2, length, before, after, n0, n1, n2, name, far, tol, work, count
):
    """Where the lowest point, edge or line of X along n is over the ridge: one point, two if they run side by side."""
    normal, feature = work.normal, work.feature
    normal[0], normal[1], normal[2] = n0, n1, n2
    code = any_line(geoms, geom_R, geom_p, x, normal, -1.0, geoms.margin[0], feature, 0)
    w0, w1, w2 = n1 * u2 - n2 * u1, n2 * u0 - n0 * u2, n0 * u1 - n1 * u0
    c0, c1, c2 = feature[0, 0] - a0, feature[0, 1] - a1, feature[0, 2] - a2
    cu, cw, cn = u0 * c0 + u1 * c1 + u2 * c2, w0 * c0 + w1 * c1 + w2 * c2, n0 * c0 + n1 * c1 + n2 * c2
    hu = u0 * feature[1, 0] + u1 * feature[1, 1] + u2 * feature[1, 2]
    hw = w0 * feature[1, 0] + w1 * feature[1, 1] + w2 * feature[1, 2]
    hn = n0 * feature[1, 0] + n1 * feature[1, 1] + n2 * feature[1, 2]
    first, last = 0.0, 0.0
    if abs(hw) > PARALLEL * abs(hu):
        first = min(1.0, max(-1.0, -cw / hw))
        last = first
    elif hu != 0.0:
        one, other = -cu / hu, (length - cu) / hu  # where the line passes the ends of the ridge
        first, last = max(-1.0, min(one, other)), min(1.0, max(one, other))
        if last - first < 1e-6:
            first = min(1.0, max(-1.0, 0.5 * (first + last)))
            last = first
    for k in range(2 if last > first else 1):
        t = first if k == 0 else last
        s, gap, aside = cu + t * hu, cn + t * hn, cw + t * hw
        if s < -tol or s > length + tol or gap > far or (first == last and abs(aside) > tol + PARALLEL * abs(gap)):
            continue
        if last > first and ((before and s <= tol) or (after and s >= length - tol)):
            continue
        p0, p1, p2 = a0 + s * u0 + 0.5 * gap * n0, a1 + s * u1 + 0.5 * gap * n1, a2 + s * u2 + 0.5 * gap * n2
        count = add_field_point(work, count, p0, p1, p2, gap, n0, n1, n2, OF_EDGE, name, 2 * code + k, tol)
    return count
