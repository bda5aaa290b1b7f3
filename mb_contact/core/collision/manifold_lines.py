# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Points of a pair that touches with an edge, a lateral line, a rim or a point: one or two."""

from mb_contact.core.collision.manifold_normals import STALL, climb, has_known_curvature, is_curved, polish
from mb_contact.core.collision.shapes import (
    NO_FLAT,
    PAIR,
    face_normal,
    facing,
    gap_along,
    is_round,
    outline,
    support_line,
)
from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import (
    ZERO,
    between,
    length_of,
    opposite,
    put_vector,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)

PARALLEL = 1e-3  #: sine of the angle between two lines below which they touch along a length
PERPENDICULAR = 1e-6  #: sine of the angle between edges from which on they have a common perpendicular
TINY = 1e-24  #: square of a length below which a line is a point [m^2]
SHORT = 1e-6  #: part of its half below which a length of touch is a point
OF_X = 1 << 30  #: weight of X's feature in the identity of a point between edges
OF_Y = 4
IN_FACE = 1.0 - 5e-7  #: cosine of two normals from which on an edge of one lies almost in the face of the other
LEVEL = 1e-9  #: sine of the angle between an edge of the border and the plane of the normal up to which it is in it


@kernel
def line_manifold(geoms, geom_R, geom_p, x, y, n, best, margin, work):
    """Points between the points or lines of X and Y nearest to each other.

    Parameters
    ----------
    n, best : tuple, float
        Direction from Y to X, and the separation along it [m]; where a shape is curved another one that separates more
        is looked for, and so is the common perpendicular of the two lines.

    Returns
    -------
    found, n
        Number of points, in ``work.points`` and ``work.ids``, and the normal.
    """
    if has_known_curvature(geoms.kind[x], geoms.kind[y]):
        best, n = polish(geoms, geom_R, geom_p, x, y, n, best)
    elif is_curved(geoms.kind[x]) or is_curved(geoms.kind[y]):
        best, n = climb(geoms, geom_R, geom_p, x, y, n, STALL)
    code, x_line, y_line = support_lines(geoms, geom_R, geom_p, x, y, n, margin)
    for _ in range(2):
        c = vector_product(x_line[1], y_line[1])
        length = length_of(c)
        if length <= PERPENDICULAR * length_of(x_line[1]) * length_of(y_line[1]):
            break
        c = vector_sum(ZERO, (1.0 if vector_dot(c, n) >= 0.0 else -1.0) / length, c)
        s = gap_along(geoms, geom_R, geom_p, x, y, c)
        if s <= best:
            break
        best, n = s, c
        code, x_line, y_line = support_lines(geoms, geom_R, geom_p, x, y, n, margin)
    return line_points(code, x_line, y_line, n, margin, work), n


@kernel
def support_lines(geoms, geom_R, geom_p, x, y, n, margin):
    """Identity of the parts of X and Y farthest against each other along n, and both: (centre, half vector)."""
    on_x, x_centre, x_half = support_line(geoms, geom_R, geom_p, x, opposite(n), margin)
    on_y, y_centre, y_half = support_line(geoms, geom_R, geom_p, y, n, margin)
    return OF_X * on_x + OF_Y * on_y, (x_centre, x_half), (y_centre, y_half)


@kernel
def line_points(code, x_line, y_line, n, margin, work):
    """Where two lines (centre, half vector) are nearest, seen along n: one or two points.

    ``code`` is the identity of the first; the second's is one more.
    """
    w = vector_sum(x_line[0], -1.0, y_line[0])
    na, nb, nw = vector_dot(n, x_line[1]), vector_dot(n, y_line[1]), vector_dot(n, w)
    a = vector_dot(x_line[1], x_line[1]) - na * na
    b = vector_dot(x_line[1], y_line[1]) - na * nb
    c = vector_dot(y_line[1], y_line[1]) - nb * nb
    d = vector_dot(x_line[1], w) - na * nw
    e = vector_dot(y_line[1], w) - nb * nw
    found, t, u, t1, u1 = line_parameters(a, b, c, d, e)
    count = 0
    for which in range(found):
        gap = nw + t * na - u * nb
        if gap <= margin:
            on_y = vector_sum(y_line[0], u, y_line[1])
            on_x = vector_sum(x_line[0], t, x_line[1])
            put_vector(work.points, count, vector_sum(on_y, 0.5, vector_sum(on_x, -1.0, on_y)))
            work.points[count, 3] = gap
            work.ids[count] = code + which
            count += 1
        t, u = t1, u1
    return count


@kernel
def across_face(geoms, geom_R, geom_p, x, y, n, margin, work):
    """Both points at which an edge that lies almost in a face crosses its border, where ``work`` has one of them.

    The border's edges there are parallel, as opposite ones of a box are: otherwise n is the normal of one point alone.

    Returns
    -------
    int
        Number of points, in ``work.points`` and ``work.ids``: 2, or 1 where all is as it was.
    """
    points, owner, face, most = work.points, -1, NO_FLAT, IN_FACE
    for g in (x, y):
        toward = n if g == y else opposite(n)
        flat = facing(geoms, geom_R, g, toward)
        along = vector_dot(face_normal(geoms, geom_R, g, flat), toward) if flat != NO_FLAT else 0.0
        if along > most:
            owner, face, most = g, flat, along
    if owner < 0 or is_round(geoms, owner):
        return 1
    other, toward = (y, n) if owner == x else (x, opposite(n))
    of_other, centre, half = support_line(geoms, geom_R, geom_p, other, toward, margin)
    corners = outline(geoms, geom_R, geom_p, owner, face, work.polygon[2], work.name[2])
    first, gap, code = vector(points, 0), points[0, 3], work.ids[0]
    found, sign = 0, 1.0 if owner == y else -1.0
    for r in range(corners):
        after = r + 1 if r + 1 < corners else 0
        border = vector_sum(ZERO, 0.5, between(work.polygon[2], after, work.polygon[2], r))
        start = vector_sum(vector(work.polygon[2], r), 1.0, border)
        w, beside = vector_sum(centre, -1.0, start), vector_product(half, n)
        across = vector_dot(border, beside)
        askew = abs(vector_dot(border, n)) > LEVEL * length_of(border)
        if askew or abs(across) <= PARALLEL * length_of(border) * length_of(half):
            continue
        t, u = vector_dot(w, beside) / across, vector_dot(w, vector_product(border, n)) / across
        apart = vector_sum(vector_sum(w, u, half), -t, border)
        if abs(t) > 1.0 or abs(u) > 1.0 or found == 2 or sign * vector_dot(apart, n) > margin:
            continue
        put_vector(points, found, vector_sum(vector_sum(start, t, border), 0.5, apart))
        points[found, 3] = sign * vector_dot(apart, n)
        ends = min(work.name[2, r], work.name[2, after]), max(work.name[2, r], work.name[2, after])
        name = PAIR * (ends[0] + 1) + ends[1]
        work.ids[found] = OF_X * (name if owner == x else of_other) + OF_Y * (of_other if owner == x else name)
        found += 1
    if found == 2 and length_of(between(points, 0, points, 1)) > SHORT * length_of(half):
        return 2
    put_vector(points, 0, first)
    points[0, 3], work.ids[0] = gap, code
    return 1


@kernel
def clamp(t):
    """To [-1, 1]."""
    return min(1.0, max(-1.0, t))


@kernel
def line_parameters(a, b, c, d, e):
    """Where two segments A: t, B: u in [-1, 1] are nearest, seen along the normal; two pairs if parallel.

    With e_A, e_B the half vectors and w the centre of A minus that of B, all projected:
    a = e_A.e_A, b = e_A.e_B, c = e_B.e_B, d = e_A.w, e = e_B.w.

    Returns
    -------
    count, t0, u0, t1, u1
    """
    if a <= TINY:
        return 1, 0.0, (clamp(e / c) if c > TINY else 0.0), 0.0, 0.0
    if c <= TINY:
        return 1, clamp(-d / a), 0.0, 0.0, 0.0
    determinant = a * c - b * b
    if determinant <= PARALLEL * PARALLEL * a * c:
        middle = -d / a
        half = abs(b) / a
        t0 = max(-1.0, middle - half)
        t1 = min(1.0, middle + half)
        if t1 - t0 > SHORT:
            return 2, t0, clamp((b * t0 + e) / c), t1, clamp((b * t1 + e) / c)
        t = clamp(0.5 * (t0 + t1))
        return 1, t, clamp((b * t + e) / c), 0.0, 0.0
    t = clamp((b * e - c * d) / determinant)
    u = (b * t + e) / c
    if abs(u) > 1.0:
        u = clamp(u)
        t = clamp((b * u - d) / a)
    return 1, t, u, 0.0, 0.0
