# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A single point against a convex shape: signed distance and direction."""

import math

import numpy as np

from mb_contact.core.collision.shapes import into_body, is_round, out_of_body, rounding
from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import ZERO, between, length_of, vector, vector_dot, vector_product, vector_sum
from mb_contact.types import SHAPE_BOX, SHAPE_CAPSULE, SHAPE_CONE, SHAPE_CONVEX, SHAPE_CYLINDER, SHAPE_ELLIPSOID

NEWTON = 60  #: most iterations on an ellipsoid
GOLDEN = 0.6180339887498949  #: part of an interval that golden section leaves


@kernel
def point_gap(geoms, geom_R, geom_p, g, p):
    """Signed distance of a world point from shape g, and the unit world direction along which it grows.

    Exact for all shapes, but for points outside of a hull whose nearest point is not on the face that faces them
    most: there the distance is that of this face.

    Returns
    -------
    gap, n
        [m]; a direction of length zero at the very centre of a round shape.
    """
    shape, size = geoms.kind[g], vector(geoms.size, g)
    x, y, z = into_body(geom_R, g, vector_sum(p, -1.0, vector(geom_p, g)))
    if shape == SHAPE_BOX:
        gap, n = _box(size, (x, y, z))
    elif shape == SHAPE_ELLIPSOID:
        gap, n = _ellipsoid(size, (x, y, z))
    elif shape == SHAPE_CONVEX:
        gap, n = _hull(geoms, g, (x, y, z))
    elif is_round(geoms, g):
        around = math.sqrt(x * x + y * y)
        if shape == SHAPE_CYLINDER:
            gap, (radial, _, axial) = _box((size[0], 0.0, size[1]), (around, 0.0, z))
        else:
            gap, radial, axial = _cone(size[0], size[1], around, z)
        n = (radial * x / around, radial * y / around, axial) if around > 1e-15 else (radial, 0.0, axial)
    else:
        if shape == SHAPE_CAPSULE:
            z -= min(size[1], max(-size[1], z))
        length = length_of((x, y, z))
        gap = length - rounding(geoms, g)
        n = (x / length, y / length, z / length) if length > 1e-15 else ZERO
    return gap, out_of_body(geom_R, g, n)


@kernel
def next_face(geoms, geom_R, geom_p, g, p, gap):
    """The face of shape g, flat or round, that a point in it is least deep below, of those deeper than ``gap``.

    Returns
    -------
    gap, n
        As of ``point_gap``; -infinity where there is no such face.
    """
    shape, size = geoms.kind[g], vector(geoms.size, g)
    x, y, z = into_body(geom_R, g, vector_sum(p, -1.0, vector(geom_p, g)))
    best, n = -np.inf, ZERO
    if shape == SHAPE_BOX:
        for k in range(3):
            at = x if k == 0 else (y if k == 1 else z)
            sign, height = 1.0 if at >= 0.0 else -1.0, abs(at) - size[k]
            if best < height and height < gap:
                best, n = height, (sign * (k == 0), sign * (k == 1), sign * (k == 2))
    elif shape == SHAPE_CONVEX:
        for row in range(geoms.first_face[g], geoms.first_face[g + 1]):
            height = _over(geoms, g, row, (x, y, z))
            if best < height and height < gap:
                best, n = height, vector(geoms.faces, row)
    elif is_round(geoms, g):
        around = math.sqrt(x * x + y * y)
        flat, height = (abs(z) - size[1], -1.0 if z < 0.0 else 1.0), (around - size[0], 1.0, 0.0)
        if shape == SHAPE_CONE:
            flat, height = (-size[1] - z, -1.0), _flank(size[0], size[1], around, z)
        if flat[0] < gap:
            best, n = flat[0], (0.0, 0.0, flat[1])
        if best < height[0] and height[0] < gap and around > 1e-15:
            best, n = height[0], (height[1] * x / around, height[1] * y / around, height[2])
    return best, out_of_body(geom_R, g, n)


@kernel
def is_within(geoms, geom_R, geom_p, g, line, from_, depth):
    """Whether a point of a segment is deeper than ``depth`` in shape g: golden section, as that depth is concave.

    Parameters
    ----------
    line : (3,), (3,), float
        One end [m], direction and length [m].
    from_ : float
        Where on it is looked first [m].
    """
    a, u, length = line
    if _depth(geoms, geom_R, geom_p, g, vector_sum(a, from_, u)) > depth:
        return True
    low, high = 0.0, length
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left = _depth(geoms, geom_R, geom_p, g, vector_sum(a, left, u))
    at_right = _depth(geoms, geom_R, geom_p, g, vector_sum(a, right, u))
    while max(at_left, at_right) <= depth and high - low > depth:
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = _depth(geoms, geom_R, geom_p, g, vector_sum(a, left, u))
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = _depth(geoms, geom_R, geom_p, g, vector_sum(a, right, u))
    return max(at_left, at_right) > depth


@kernel
def _depth(geoms, geom_R, geom_p, g, p):
    """How deep a point is in a shape [m]; negative outside, where it is that below the planes of a hull."""
    if geoms.kind[g] == SHAPE_CONVEX:
        return -_facing(geoms, g, into_body(geom_R, g, vector_sum(p, -1.0, vector(geom_p, g))))[0]
    return -point_gap(geoms, geom_R, geom_p, g, p)[0]


@kernel
def _box(half, p):
    """Point p and the box with half extents; a second half extent of zero makes it a rectangle."""
    e0, e1, e2 = abs(p[0]) - half[0], abs(p[1]) - half[1], abs(p[2]) - half[2]
    s0 = 1.0 if p[0] >= 0.0 else -1.0
    s1 = 1.0 if p[1] >= 0.0 else -1.0
    s2 = 1.0 if p[2] >= 0.0 else -1.0
    if half[1] == 0.0:
        e1 = -np.inf
    out = s0 * max(e0, 0.0), s1 * max(e1, 0.0), s2 * max(e2, 0.0)
    length = length_of(out)
    if length > 0.0:
        return length, (out[0] / length, out[1] / length, out[2] / length)
    if e2 >= e0 and e2 >= e1:
        return e2, (0.0, 0.0, s2)
    return (e0, (s0, 0.0, 0.0)) if e0 >= e1 else (e1, (0.0, s1, 0.0))


@kernel
def _flank(radius, half, around, z):
    """Height of a point over the side of a cone, and the outward normal there: away from the axis, along it."""
    slant = math.sqrt(4.0 * half * half + radius * radius)
    n, m = 2.0 * half / slant, radius / slant
    return n * around + m * (z - half), n, m


@kernel
def _cone(radius, half, around, z):
    """Point at a distance from the axis and a height, and the cone: a triangle there."""
    side, n, m = _flank(radius, half, around, z)
    base = -half - z
    slant = math.sqrt(4.0 * half * half + radius * radius)
    along = (m * (radius - around) + n * (z + half)) / slant  # of the foot on the side: 0 at the rim, 1 at the tip
    if side <= 0.0 and base <= 0.0:
        return (side, n, m) if side >= base else (base, 0.0, -1.0)
    if base > 0.0 and around <= radius:
        return base, 0.0, -1.0
    if along >= 0.0 and along <= 1.0 and side > 0.0:
        return side, n, m
    corner, height = (radius, -half) if along < 0.0 else (0.0, half)
    dr, dz = around - corner, z - height
    length = math.sqrt(dr * dr + dz * dz)
    return (length, dr / length, dz / length) if length > 0.0 else (0.0, n, m)


@kernel
def _ellipsoid(h, p):
    """Nearest point of an ellipsoid: Newton's method on sum (h x / (t + h^2))^2 = 1, monotone from the left."""
    s0, s1, s2 = h[0] * h[0], h[1] * h[1], h[2] * h[2]
    x, y, z = h[0] * abs(p[0]), h[1] * abs(p[1]), h[2] * abs(p[2])
    t = 0.0
    if (x / s0) ** 2 + (y / s1) ** 2 + (z / s2) ** 2 < 1.0:
        t = max(x - s0, y - s1, z - s2, -min(s0, s1, s2) * (1.0 - 1e-12))
    for _ in range(NEWTON):
        a, b, c = x / (t + s0), y / (t + s1), z / (t + s2)
        value = a * a + b * b + c * c - 1.0
        slope = -2.0 * (a * a / (t + s0) + b * b / (t + s1) + c * c / (t + s2))
        if not slope < 0.0:
            break
        step = -value / slope
        t += step
        if abs(step) <= 1e-16 * (1.0 + abs(t)) or value <= 0.0:
            break
    n = p[0] / (t + s0), p[1] / (t + s1), p[2] / (t + s2)
    nearest = s0 * n[0], s1 * n[1], s2 * n[2]
    length = length_of(n)
    if not length > 0.0:
        return -min(h), ZERO
    n = n[0] / length, n[1] / length, n[2] / length
    return vector_dot(n, vector_sum(p, -1.0, nearest)), n


@kernel
def _facing(geoms, g, p):
    """Height of a point over the plane of the face of a hull that faces it most, and that face."""
    best, chosen = -np.inf, geoms.first_face[g]
    for row in range(geoms.first_face[g], geoms.first_face[g + 1]):
        height = _over(geoms, g, row, p)
        if height > best:
            best = height
            chosen = row
    return best, chosen


@kernel
def _over(geoms, g, row, p):
    """Height of a point over the plane of a face of a hull."""
    v = geoms.first_vertex[g] + geoms.corners[geoms.first_corner[row]]
    return vector_dot(vector(geoms.faces, row), vector_sum(p, -1.0, vector(geoms.vertices, v)))


@kernel
def _hull(geoms, g, p):
    """The face of a hull that faces a point most, and where the point is outside of its outline, the outline."""
    vertices, corners, start = geoms.vertices, geoms.corners, geoms.first_vertex[g]
    best, chosen = _facing(geoms, g, p)
    n = vector(geoms.faces, chosen)
    if best <= 0.0:
        return best, n
    first, last = geoms.first_corner[chosen], geoms.first_corner[chosen + 1]
    nearest, direction, outside = np.inf, n, False
    for k in range(first, last):
        v = start + corners[k]
        edge = between(vertices, start + corners[k + 1 if k + 1 < last else first], vertices, v)
        away = vector_sum(p, -1.0, vector(vertices, v))
        if vector_dot(vector_product(n, edge), away) < 0.0:
            outside = True
        t = min(1.0, max(0.0, vector_dot(edge, away) / vector_dot(edge, edge)))
        away = vector_sum(away, -t, edge)
        length = length_of(away)
        if length > 0.0 and length < nearest:
            nearest, direction = length, (away[0] / length, away[1] / length, away[2] / length)
    return (nearest, direction) if outside else (best, n)
