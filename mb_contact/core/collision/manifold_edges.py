# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Manifold of a pair that touches with an edge, a lateral line, a rim or a point: one or two points."""

from __future__ import annotations

import math

from mb_contact.core.collision.manifold_clip import W_X, W_Y
from mb_contact.core.collision.manifold_features import EDGE, LATERAL, NEAREST
from mb_contact.core.jit import kernel
from mb_contact.types import SHAPE_BOX, SHAPE_CAPSULE, SHAPE_SPHERE

PARALLEL = 1e-3  #: sine of the angle between two lines below which they touch along a length


@kernel
def support_line(kind, size, geom_R, geom_p, g, normal, sign, margin, feature, row):
    """The part of shape g farthest along sign * n: a point, or a line with both ends within the margin.

    Parameters
    ----------
    feature : (4, 3), out
        Row ``row``: centre of the line; row ``row + 1``: its half vector, zero for a point.  World axes.

    Returns
    -------
    int
        Feature id within the shape.
    """
    n0 = sign * normal[0]
    n1 = sign * normal[1]
    n2 = sign * normal[2]
    for i in range(3):
        feature[row, i] = geom_p[g, i]
        feature[row + 1, i] = 0.0
    shape = kind[g]
    if shape == SHAPE_BOX:
        return box_line(size, geom_R, g, n0, n1, n2, margin, feature, row)
    radius = size[g, 0]
    if shape == SHAPE_SPHERE:
        shift(feature, row, radius, n0, n1, n2)
        return 0
    a0, a1, a2 = geom_R[g, 0, 2], geom_R[g, 1, 2], geom_R[g, 2, 2]
    slope = a0 * n0 + a1 * n1 + a2 * n2
    end = 1 if slope > 0.0 else 0
    name = LATERAL
    if 2.0 * abs(slope) * size[g, 1] <= margin:
        shift(feature, row + 1, size[g, 1], a0, a1, a2)
    else:
        shift(feature, row, size[g, 1] if end == 1 else -size[g, 1], a0, a1, a2)
        name = end if shape == SHAPE_CAPSULE else NEAREST + end
    if shape == SHAPE_CAPSULE:
        shift(feature, row, radius, n0, n1, n2)
        return name
    r0, r1, r2 = n0 - slope * a0, n1 - slope * a1, n2 - slope * a2
    length = math.sqrt(r0 * r0 + r1 * r1 + r2 * r2)
    if length > 1e-12:
        shift(feature, row, radius / length, r0, r1, r2)
    return name


@kernel
def shift(feature, row, amount, v0, v1, v2):
    """Add amount * v to a row."""
    feature[row, 0] += amount * v0
    feature[row, 1] += amount * v1
    feature[row, 2] += amount * v2


@kernel
def box_line(size, geom_R, g, n0, n1, n2, margin, feature, row):
    """Edge or vertex of a box farthest along n."""
    vertex = 0
    flattest = 0
    least = 0.0
    for k in range(3):
        slope = geom_R[g, 0, k] * n0 + geom_R[g, 1, k] * n1 + geom_R[g, 2, k] * n2
        rise = abs(slope) * size[g, k]
        if k == 0 or rise < least:
            least = rise
            flattest = k
        if slope > 0.0:
            vertex |= 1 << k
    edge = 2.0 * least <= margin
    for k in range(3):
        if edge and k == flattest:
            shift(feature, row + 1, size[g, k], geom_R[g, 0, k], geom_R[g, 1, k], geom_R[g, 2, k])
        else:
            reach = size[g, k] if (vertex >> k) & 1 else -size[g, k]
            shift(feature, row, reach, geom_R[g, 0, k], geom_R[g, 1, k], geom_R[g, 2, k])
    if edge:
        return EDGE + 8 * flattest + (vertex & ~(1 << flattest))
    return vertex


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
    tiny = 1e-24
    if a <= tiny and c <= tiny:
        return 1, 0.0, 0.0, 0.0, 0.0
    if a <= tiny:
        return 1, 0.0, clamp(e / c), 0.0, 0.0
    if c <= tiny:
        return 1, clamp(-d / a), 0.0, 0.0, 0.0
    determinant = a * c - b * b
    if determinant <= PARALLEL * PARALLEL * a * c:
        middle = -d / a
        half = abs(b) / a
        t0 = max(-1.0, middle - half)
        t1 = min(1.0, middle + half)
        if t1 - t0 > 1e-6:
            return 2, t0, clamp((b * t0 + e) / c), t1, clamp((b * t1 + e) / c)
        t = clamp(0.5 * (t0 + t1))
        return 1, t, clamp((b * t + e) / c), 0.0, 0.0
    t = clamp((b * e - c * d) / determinant)
    u = (b * t + e) / c
    if abs(u) > 1.0:
        u = clamp(u)
        t = clamp((b * u - d) / a)
    return 1, t, u, 0.0, 0.0


@kernel
def edge_manifold(kind, size, geom_R, geom_p, x, y, margin, work):
    """Points of a pair whose normal, ``work.normal`` from Y to X, is not that of a face.

    Returns
    -------
    int
        Number of points; ``work.points`` holds world positions midway and gaps.
    """
    normal, feature = work.normal, work.feature
    code = 0
    for which in range(2):
        g = x if which == 0 else y
        sign = -1.0 if which == 0 else 1.0
        weight = W_X if which == 0 else W_Y
        code += weight * support_line(kind, size, geom_R, geom_p, g, normal, sign, margin, feature, 2 * which)
    return line_points(code, margin, work)


@kernel
def line_points(code, margin, work):
    """Where the two lines in ``work.feature`` (rows 0, 1 on X and 2, 3 on Y) are nearest: one or two points.

    ``code`` is the identity of the first; the second's is one more.  Row 0 is overwritten.
    """
    normal, feature, points, ids = work.normal, work.feature, work.points, work.ids
    na, nb, nw = 0.0, 0.0, 0.0
    for i in range(3):
        feature[0, i] -= feature[2, i]  # centre of the line on X from that on Y
        nw += normal[i] * feature[0, i]
        na += normal[i] * feature[1, i]
        nb += normal[i] * feature[3, i]
    a, b, c, d, e = -na * na, -na * nb, -nb * nb, -na * nw, -nb * nw
    for i in range(3):
        a += feature[1, i] * feature[1, i]
        b += feature[1, i] * feature[3, i]
        c += feature[3, i] * feature[3, i]
        d += feature[1, i] * feature[0, i]
        e += feature[3, i] * feature[0, i]
    found, t0, u0, t1, u1 = line_parameters(a, b, c, d, e)
    count = 0
    for which in range(found):
        t = t0 if which == 0 else t1
        u = u0 if which == 0 else u1
        gap = nw + t * na - u * nb
        for i in range(3):
            on_y = feature[2, i] + u * feature[3, i]
            apart = feature[0, i] + t * feature[1, i] - u * feature[3, i]
            points[count, i] = on_y + 0.5 * apart
        if gap <= margin:
            points[count, 3] = gap
            ids[count] = code + which
            count += 1
    return count
