# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Curved surfaces: ends of the lines of round shapes, and Hessians of support functions."""

import numpy as np

from mb_contact.core.collision.shapes import COS_CAP, ellipsoid_point
from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.spatial import (
    ZERO,
    body_point,
    body_vector,
    matrix,
    opposite,
    product,
    put_vector,
    transposed,
    turned,
    unit_vector,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)
from mb_contact.types import SHAPE_CONE, SHAPE_CYLINDER, SHAPE_ELLIPSOID


@sweep
def distance_beside(y, x, m):
    """How far y is from the line through x along m."""
    d = vector_sum(y, -1.0, x)
    return np.sqrt(max(vector_dot(d, d) - vector_dot(d, m) ** 2, 0.0))


@sweep
def is_round(kind):
    return kind == SHAPE_CYLINDER or kind == SHAPE_CONE


@kernel
def bend(g, geoms, at, n, y, row):
    """Hessian of the support function of geometry ``at``, whose outward normal is n at y, into rows of ``meeting``.

    ellipsoid         Q / h - (Q n)(Q n)* / h^3,  Q of the squares of its semi-axes, h = sqrt(n* Q n)
    cylinder, cone    (r / sine) t t*,  t across the axis and n, r the distance of y from the axis
    """
    R, k, kind, out = g.d.kin.R, geoms.body[at], geoms.kind[at], g.meeting.vector
    if kind == SHAPE_ELLIPSOID:
        own = matrix(geoms.R, at)
        A = product(matrix(R, k), own) if k >= 0 else own
        m = turned(transposed(A), n)
        q = geoms.size[at, 0] ** 2, geoms.size[at, 1] ** 2, geoms.size[at, 2] ** 2
        s = q[0] * m[0], q[1] * m[1], q[2] * m[2]
        h, Qn = np.sqrt(vector_dot(m, s)), turned(A, s)
        for c in range(3):
            e = turned(transposed(A), unit_vector(c))
            Qe = turned(A, (q[0] * e[0], q[1] * e[1], q[2] * e[2]))
            put_vector(out, row + c, vector_sum(vector_sum(ZERO, 1.0 / h, Qe), -Qn[c] / h**3, Qn))
    elif is_round(kind):
        axis = body_vector(R, k, vector(g.cores.axis, at))
        t = vector_product(axis, n)
        square = vector_dot(t, t)
        r = distance_beside(y, body_point(R, g.d.kin.p, k, (g.cores.end[at, 0, 0], g.cores.end[at, 0, 1],
                                                            g.cores.end[at, 0, 2])), axis)  # fmt: skip
        f = r / (square * np.sqrt(square)) if square > 1e-18 else 0.0
        for c in range(3):
            put_vector(out, row + c, vector_sum(ZERO, f * t[c], t))


@kernel
def ellipsoid_reach(g, geoms, at, k, n):
    """From the centre of an ellipsoid to its farthest point along n: Q n / h."""
    own = matrix(geoms.R, at)
    A = product(matrix(g.d.kin.R, k), own) if k >= 0 else own
    m = turned(transposed(A), n)
    return turned(A, ellipsoid_point(vector(geoms.size, at), m))


@kernel
def face_line(g, at, o, m):
    """Whether a cap or base of a round shape faces m, and whether a line of its side does."""
    k = body_vector(g.d.kin.R, o, vector(g.cores.axis, at))
    along = vector_dot(m, k)
    faces = along if g.cores.rim[at, 1] == 0.0 else abs(along)
    return faces >= COS_CAP, 1.0 - along * along >= 1e-18


@kernel
def line_end(g, at, o, i, m):
    """End i of the line of a round shape that faces m, world."""
    R, end = g.d.kin.R, (g.cores.end[at, i, 0], g.cores.end[at, i, 1], g.cores.end[at, i, 2])
    k = body_vector(R, o, vector(g.cores.axis, at))
    across = vector_sum(opposite(m), vector_dot(m, k), k)
    r = g.cores.rim[at, i] / np.sqrt(vector_dot(across, across))
    return vector_sum(body_point(R, g.d.kin.p, o, end), r, across)
