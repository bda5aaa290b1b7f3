# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A normal where the engine's is lost or coarse: uphill on the separation of two shapes.

s(n) = n.w(n), with w from the point of Y farthest along n to that of X farthest along -n, is at most the signed
distance, and its gradient on the unit sphere is w - s n.  The engine's distance says when the top is reached; its
normal is noise where curved shapes penetrate by some 1e-6 m, is known to 1e-3 at ellipsoids, and now and then missing.
"""

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

STEPS = 300  #: most evaluations from one start
STILL = 1e-11  #: sideways distance of the two farthest points that ends the ascent [m]
STARTS = 14  #: the engine's normal, the line of centres, and both ways along the axes of both shapes


@kernel
def ascend(geoms, geom_R, geom_p, x, y, distance, tol, work):
    """Direction from Y to X that separates most, into ``work.normal``; ends where ``distance`` is reached.

    Returns
    -------
    float
        The separation along it [m]; never less than along ``work.normal`` before.
    """
    normal, feature = work.normal, work.feature
    best = -np.inf
    for start in range(STARTS):
        for i in range(3):
            if start == 0:
                feature[0, i] = normal[i]
            elif start == 1:
                feature[0, i] = geom_p[x, i] - geom_p[y, i]
            else:
                g = x if start < 8 else y
                sign = 1.0 if start % 2 == 1 else -1.0
                feature[0, i] = sign * geom_R[g, i, (start // 2 - 1) % 3]
        if not _unit(feature, 0):
            continue
        s = _climb(geoms, geom_R, geom_p, x, y, feature)
        if s > best:
            best = s
            for i in range(3):
                normal[i] = feature[0, i]
        if best >= distance - tol and distance > -1e100:
            break
    return best


@kernel
def _climb(geoms, geom_R, geom_p, x, y, feature):
    """Uphill from row 0 with a step that grows and shrinks; rows 1 to 3 are scratch.  Returns the separation."""
    s = _separation(geoms, geom_R, geom_p, x, y, feature)
    size = geoms.size
    step = 1e-9
    for i in range(3):
        step = max(step, size[x, i], size[y, i])
    step = 0.5 / step
    for _ in range(STEPS):
        sideways = 0.0
        for i in range(3):
            feature[2, i] = feature[0, i]
            feature[3, i] = feature[1, i] - s * feature[0, i]
            sideways += feature[3, i] ** 2
        if sideways < STILL * STILL:
            break
        for i in range(3):
            feature[0, i] += step * feature[3, i]
        _unit(feature, 0)
        after = _separation(geoms, geom_R, geom_p, x, y, feature)
        if after > s:
            s = after
            step *= 1.6
            continue
        for i in range(3):
            feature[0, i] = feature[2, i]
        _separation(geoms, geom_R, geom_p, x, y, feature)
        step *= 0.4
        if step * step * sideways < 1e-30:
            break
    return s


@kernel
def _unit(feature, row):
    """Normalise a row; False where it is zero."""
    length = math.sqrt(feature[row, 0] ** 2 + feature[row, 1] ** 2 + feature[row, 2] ** 2)
    if not length > 0.0:
        return False
    for i in range(3):
        feature[row, i] /= length
    return True


@kernel
def _separation(geoms, geom_R, geom_p, x, y, feature):
    """s(n) for n in row 0; row 1 becomes w."""
    n0, n1, n2 = feature[0, 0], feature[0, 1], feature[0, 2]
    for i in range(3):
        feature[1, i] = geom_p[x, i] - geom_p[y, i]
    _add_farthest(geoms, geom_R, x, -n0, -n1, -n2, 1.0, feature)
    _add_farthest(geoms, geom_R, y, n0, n1, n2, -1.0, feature)
    return n0 * feature[1, 0] + n1 * feature[1, 1] + n2 * feature[1, 2]


@kernel
def _add_farthest(geoms, geom_R, g, d0, d1, d2, sign, feature):
    """Add sign times the point of shape g farthest along d, from its origin, to row 1."""
    x, y, z = into_body(geom_R, g, d0, d1, d2)
    shape, size = geoms.kind[g], geoms.size
    a, b, c = size[g, 0] * x, size[g, 0] * y, size[g, 0] * z  # of a sphere
    half = size[g, 1] if z > 0.0 else -size[g, 1]
    sine = math.sqrt(x * x + y * y)
    around = size[g, 0] / sine if sine > 1e-12 else 0.0
    if shape == SHAPE_BOX:
        a = size[g, 0] if x > 0.0 else -size[g, 0]
        b = size[g, 1] if y > 0.0 else -size[g, 1]
        c = size[g, 2] if z > 0.0 else -size[g, 2]
    elif shape == SHAPE_CAPSULE:
        c += half
    elif shape == SHAPE_CYLINDER:
        a, b, c = around * x, around * y, half
    elif shape == SHAPE_ELLIPSOID:
        a, b, c = size[g, 0] ** 2 * x, size[g, 1] ** 2 * y, size[g, 2] ** 2 * z
        length = math.sqrt(x * a + y * b + z * c)
        a, b, c = a / length, b / length, c / length
    elif shape == SHAPE_CONE:
        if size[g, 1] * z > size[g, 0] * sine - size[g, 1] * z:
            a, b, c = 0.0, 0.0, size[g, 1]
        else:
            a, b, c = around * x, around * y, -size[g, 1]
    elif shape == SHAPE_CONVEX:
        vertices, farthest, top = geoms.vertices, geoms.first_vertex[g], -np.inf
        for v in range(geoms.first_vertex[g], geoms.first_vertex[g + 1]):
            along = x * vertices[v, 0] + y * vertices[v, 1] + z * vertices[v, 2]
            if along > top:
                top = along
                farthest = v
        a, b, c = vertices[farthest, 0], vertices[farthest, 1], vertices[farthest, 2]
    for i in range(3):
        feature[1, i] += sign * (geom_R[g, i, 0] * a + geom_R[g, i, 1] * b + geom_R[g, i, 2] * c)
