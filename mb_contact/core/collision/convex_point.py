# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A single point against a convex shape: signed distance, direction, and the shape's core for searches in a plane."""

from __future__ import annotations

import math

import numpy as np

from mb_contact.core.collision.convex import into_body
from mb_contact.core.jit import kernel
from mb_contact.types import (
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CONE,
    SHAPE_CONVEX,
    SHAPE_CYLINDER,
    SHAPE_ELLIPSOID,
)

NEWTON = 60  # most iterations on an ellipsoid


@kernel
def core_support(geoms, geom_R, geom_p, g, d0, d1, d2):
    """World point of the core of shape g farthest along d: of a sphere or capsule the centre or axis."""
    shape = geoms.kind[g]
    size = geoms.size
    x, y, z = into_body(geom_R, g, d0, d1, d2)
    a, b, c = 0.0, 0.0, 0.0
    if shape == SHAPE_CAPSULE:
        c = size[g, 1] if z > 0.0 else -size[g, 1]
    elif shape == SHAPE_BOX:
        a = size[g, 0] if x > 0.0 else -size[g, 0]
        b = size[g, 1] if y > 0.0 else -size[g, 1]
        c = size[g, 2] if z > 0.0 else -size[g, 2]
    elif shape == SHAPE_CYLINDER or shape == SHAPE_CONE:
        radius, half = size[g, 0], size[g, 1]
        around = math.sqrt(x * x + y * y)
        c = half if z > 0.0 else -half
        if shape == SHAPE_CONE:
            c = half if half * z >= radius * around - half * z else -half
        if around > 1e-12 and (shape == SHAPE_CYLINDER or c < 0.0):
            a, b = radius * x / around, radius * y / around
    elif shape == SHAPE_ELLIPSOID:
        a, b, c = size[g, 0] ** 2 * x, size[g, 1] ** 2 * y, size[g, 2] ** 2 * z
        length = math.sqrt(a * x + b * y + c * z)
        a, b, c = a / length, b / length, c / length
    elif shape == SHAPE_CONVEX:
        vertices = geoms.vertices
        best, chosen = -np.inf, 0
        for v in range(geoms.first_vertex[g], geoms.first_vertex[g + 1]):
            along = x * vertices[v, 0] + y * vertices[v, 1] + z * vertices[v, 2]
            if along > best:
                best = along
                chosen = v
        a, b, c = vertices[chosen, 0], vertices[chosen, 1], vertices[chosen, 2]
    return (
        geom_p[g, 0] + geom_R[g, 0, 0] * a + geom_R[g, 0, 1] * b + geom_R[g, 0, 2] * c,
        geom_p[g, 1] + geom_R[g, 1, 0] * a + geom_R[g, 1, 1] * b + geom_R[g, 1, 2] * c,
        geom_p[g, 2] + geom_R[g, 2, 0] * a + geom_R[g, 2, 1] * b + geom_R[g, 2, 2] * c,
    )


@kernel
def point_gap(geoms, geom_R, geom_p, g, w0, w1, w2):
    """Signed distance of a world point from shape g, and the unit world direction along which it grows.

    Exact for all shapes, but for points outside of a hull whose nearest point is not on the face that faces them
    most: there the distance is that of this face.

    Returns
    -------
    gap, n0, n1, n2
        [m]; a direction of length zero at the very centre of a round shape.
    """
    shape = geoms.kind[g]
    size = geoms.size
    x, y, z = into_body(geom_R, g, w0 - geom_p[g, 0], w1 - geom_p[g, 1], w2 - geom_p[g, 2])
    if shape == SHAPE_BOX:
        gap, a, b, c = _box(size[g, 0], size[g, 1], size[g, 2], x, y, z)
    elif shape == SHAPE_ELLIPSOID:
        gap, a, b, c = _ellipsoid(size[g, 0], size[g, 1], size[g, 2], x, y, z)
    elif shape == SHAPE_CONVEX:
        gap, a, b, c = _hull(geoms, g, x, y, z)
    elif shape == SHAPE_CYLINDER or shape == SHAPE_CONE:
        around = math.sqrt(x * x + y * y)
        if shape == SHAPE_CYLINDER:
            gap, radial, _, c = _box(size[g, 0], 0.0, size[g, 1], around, 0.0, z)
        else:
            gap, radial, c = _cone(size[g, 0], size[g, 1], around, z)
        a, b = (radial * x / around, radial * y / around) if around > 1e-15 else (radial, 0.0)
    else:
        if shape == SHAPE_CAPSULE:
            z -= min(size[g, 1], max(-size[g, 1], z))
        length = math.sqrt(x * x + y * y + z * z)
        gap = length - size[g, 0]
        a, b, c = (x / length, y / length, z / length) if length > 1e-15 else (0.0, 0.0, 0.0)
    return (
        gap,
        geom_R[g, 0, 0] * a + geom_R[g, 0, 1] * b + geom_R[g, 0, 2] * c,
        geom_R[g, 1, 0] * a + geom_R[g, 1, 1] * b + geom_R[g, 1, 2] * c,
        geom_R[g, 2, 0] * a + geom_R[g, 2, 1] * b + geom_R[g, 2, 2] * c,
    )


@kernel
def _box(h0, h1, h2, x, y, z):
    """Point (x, y, z) and the box with half extents h; a second half extent of zero makes it a rectangle."""
    e0, e1, e2 = abs(x) - h0, abs(y) - h1, abs(z) - h2
    s0 = 1.0 if x >= 0.0 else -1.0
    s1 = 1.0 if y >= 0.0 else -1.0
    s2 = 1.0 if z >= 0.0 else -1.0
    if h1 == 0.0:
        e1 = -np.inf
    p0, p1, p2 = max(e0, 0.0), max(e1, 0.0), max(e2, 0.0)
    length = math.sqrt(p0 * p0 + p1 * p1 + p2 * p2)
    if length > 0.0:
        return length, s0 * p0 / length, s1 * p1 / length, s2 * p2 / length
    if e2 >= e0 and e2 >= e1:
        return e2, 0.0, 0.0, s2
    if e0 >= e1:
        return e0, s0, 0.0, 0.0
    return e1, 0.0, s1, 0.0


@kernel
def _cone(radius, half, around, z):
    """Point at a distance from the axis and a height, and the cone: a triangle there."""
    slant = math.sqrt(4.0 * half * half + radius * radius)
    n, m = 2.0 * half / slant, radius / slant  # outward normal of the side
    side = n * around + m * (z - half)
    base = -half - z
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
def _ellipsoid(h0, h1, h2, x, y, z):
    """Nearest point of an ellipsoid: Newton's method on sum (h x / (t + h^2))^2 = 1, monotone from the left."""
    x0, y0, z0 = abs(x), abs(y), abs(z)
    level = (x0 / h0) ** 2 + (y0 / h1) ** 2 + (z0 / h2) ** 2
    t = 0.0
    if level < 1.0:
        t = max(h0 * x0 - h0 * h0, max(h1 * y0 - h1 * h1, h2 * z0 - h2 * h2))
        least = min(h0, min(h1, h2))
        t = max(t, -least * least * (1.0 - 1e-12))
    for _ in range(NEWTON):
        a, b, c = h0 * x0 / (t + h0 * h0), h1 * y0 / (t + h1 * h1), h2 * z0 / (t + h2 * h2)
        value = a * a + b * b + c * c - 1.0
        slope = -2.0 * (a * a / (t + h0 * h0) + b * b / (t + h1 * h1) + c * c / (t + h2 * h2))
        if not slope < 0.0:
            break
        step = -value / slope
        t += step
        if abs(step) <= 1e-16 * (1.0 + abs(t)) or value <= 0.0:
            break
    a, b, c = h0 * h0 * x / (t + h0 * h0), h1 * h1 * y / (t + h1 * h1), h2 * h2 * z / (t + h2 * h2)
    n0, n1, n2 = a / (h0 * h0), b / (h1 * h1), c / (h2 * h2)
    length = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    if not length > 0.0:
        return -min(h0, min(h1, h2)), 0.0, 0.0, 0.0
    n0, n1, n2 = n0 / length, n1 / length, n2 / length
    return n0 * (x - a) + n1 * (y - b) + n2 * (z - c), n0, n1, n2


@kernel
def _hull(geoms, g, x, y, z):
    """The face of a hull that faces a point most, and where the point is outside of its outline, the outline."""
    faces, vertices, corners = geoms.faces, geoms.vertices, geoms.corners
    start = geoms.first_vertex[g]
    best, chosen = -np.inf, geoms.first_face[g]
    for row in range(geoms.first_face[g], geoms.first_face[g + 1]):
        v = start + corners[geoms.first_corner[row]]
        height = (
            faces[row, 0] * (x - vertices[v, 0])
            + faces[row, 1] * (y - vertices[v, 1])
            + faces[row, 2] * (z - vertices[v, 2])
        )
        if height > best:
            best = height
            chosen = row
    a, b, c = faces[chosen, 0], faces[chosen, 1], faces[chosen, 2]
    if best <= 0.0:
        return best, a, b, c
    first, last = geoms.first_corner[chosen], geoms.first_corner[chosen + 1]
    nearest, n0, n1, n2, outside = np.inf, a, b, c, False
    for k in range(first, last):
        p = start + corners[k]
        q = start + corners[k + 1 if k + 1 < last else first]
        e0, e1, e2 = vertices[q, 0] - vertices[p, 0], vertices[q, 1] - vertices[p, 1], vertices[q, 2] - vertices[p, 2]
        d0, d1, d2 = x - vertices[p, 0], y - vertices[p, 1], z - vertices[p, 2]
        if (b * e2 - c * e1) * d0 + (c * e0 - a * e2) * d1 + (a * e1 - b * e0) * d2 < 0.0:
            outside = True
        t = min(1.0, max(0.0, (e0 * d0 + e1 * d1 + e2 * d2) / (e0 * e0 + e1 * e1 + e2 * e2)))
        d0, d1, d2 = d0 - t * e0, d1 - t * e1, d2 - t * e2
        length = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
        if length > 0.0 and length < nearest:
            nearest, n0, n1, n2 = length, d0 / length, d1 / length, d2 / length
    return (nearest, n0, n1, n2) if outside else (best, a, b, c)
