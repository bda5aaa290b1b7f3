# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Newton's method for the normal of a contact with the curved side or the rim of a cylinder.

The separation along n is s(n) = n.w, where w leads from the point of Y farthest along n to the
point of X farthest along -n.  On the unit sphere its gradient is w - s n: the sideways distance
of these two points, zero for the true normal.  The shapes' roundness gives the second derivative:
r t t* / sin(n, axis) for a cylinder (t: tangent of the rim), r for a sphere or capsule, nothing for
a box.  An edge that takes part keeps n perpendicular to itself; since s(n) is exact for any n,
every assumption about edges may be tried and the largest separation wins.
"""

from __future__ import annotations

import math

from mb_contact.core.collision.geometry import first_axis, separation
from mb_contact.core.collision.manifold_normals import offer
from mb_contact.core.jit import kernel
from mb_contact.types import SHAPE_BOX, SHAPE_CYLINDER, SHAPE_SPHERE

NEAR_EDGE = 0.05  #: cosine of normal and edge below which the edge may take part
STIFF = 1e6  #: curvature that holds n perpendicular to an edge [m]
STEPS = 5


@kernel
def polish_normal(kind, size, geom_R, geom_p, x, y, work):
    """Improve ``work.normal`` (from Y to X) of a pair with a cylinder."""
    if kind[x] != SHAPE_CYLINDER and kind[y] != SHAPE_CYLINDER:
        return
    normal, feature = work.normal, work.feature
    best = separation(kind, size, geom_R, geom_p, x, y, normal[0], normal[1], normal[2])
    for edge_of in range(3):  # no edge, one of X, one of Y
        k = -1
        g = x if edge_of == 1 else y
        if edge_of > 0:
            k = nearly_flat_axis(kind, geom_R, g, normal)
            if k < 0:
                continue
        for i in range(3):
            feature[0, i] = normal[i]
            feature[3, i] = geom_R[g, i, k] if k >= 0 else 0.0
        for _ in range(STEPS):
            if not newton_step(kind, size, geom_R, geom_p, x, y, feature):
                break
            best = offer(
                kind, size, geom_R, geom_p, x, y, feature[0, 0], feature[0, 1], feature[0, 2], best, normal
            )


@kernel
def nearly_flat_axis(kind, geom_R, g, normal):
    """Straight edge of g most nearly perpendicular to the normal; -1 if none is near."""
    least = NEAR_EDGE
    chosen = -1
    for k in range(first_axis(kind[g]), 3):
        slope = geom_R[g, 0, k] * normal[0] + geom_R[g, 1, k] * normal[1] + geom_R[g, 2, k] * normal[2]
        if abs(slope) < least:
            least = abs(slope)
            chosen = k
    return chosen


@kernel
def newton_step(kind, size, geom_R, geom_p, x, y, feature):
    """One step of n = row 0, with the edge in row 3 (zero: none); row 2 is scratch.  False: converged."""
    n0, n1, n2 = feature[0, 0], feature[0, 1], feature[0, 2]
    # tangent basis: t from the smallest component of n, b = n x t
    if abs(n0) < 0.6:
        t0, t1, t2 = 0.0, n2, -n1
    else:
        t0, t1, t2 = -n2, 0.0, n0
    length = math.sqrt(t0 * t0 + t1 * t1 + t2 * t2)
    t0, t1, t2 = t0 / length, t1 / length, t2 / length
    b0, b1, b2 = n1 * t2 - n2 * t1, n2 * t0 - n0 * t2, n0 * t1 - n1 * t0
    htt, htb, hbb = 0.0, 0.0, 0.0
    for i in range(3):
        feature[2, i] = geom_p[x, i] - geom_p[y, i]
    for which in range(2):
        g = x if which == 0 else y
        add_support(kind, size, geom_R, g, feature)
        across = size[g, 0]
        c0, c1, c2 = geom_R[g, 0, 2], geom_R[g, 1, 2], geom_R[g, 2, 2]
        if kind[g] == SHAPE_CYLINDER:
            # t t* of the rim's tangent a x n: components along t and b
            p = (c1 * n2 - c2 * n1) * t0 + (c2 * n0 - c0 * n2) * t1 + (c0 * n1 - c1 * n0) * t2
            q = (c1 * n2 - c2 * n1) * b0 + (c2 * n0 - c0 * n2) * b1 + (c0 * n1 - c1 * n0) * b2
            sine = math.sqrt(p * p + q * q)
            if sine > 1e-6:
                across /= sine * sine * sine
                htt += across * p * p
                htb += across * p * q
                hbb += across * q * q
        elif kind[g] != SHAPE_BOX:
            htt += across
            hbb += across
    w0, w1, w2 = feature[2, 0], feature[2, 1], feature[2, 2]
    damping = abs(n0 * w0 + n1 * w1 + n2 * w2) + 1e-9
    e0, e1, e2 = feature[3, 0], feature[3, 1], feature[3, 2]
    et = e0 * t0 + e1 * t1 + e2 * t2
    eb = e0 * b0 + e1 * b1 + e2 * b2
    en = e0 * n0 + e1 * n1 + e2 * n2
    # sideways distance without its part along the edge, which slides freely; the edge pulls n straight
    along = (w0 * e0 + w1 * e1 + w2 * e2) + STIFF * en
    gt = w0 * t0 + w1 * t1 + w2 * t2 - along * et
    gb = w0 * b0 + w1 * b1 + w2 * b2 - along * eb
    htt += damping + STIFF * et * et
    htb += STIFF * et * eb
    hbb += damping + STIFF * eb * eb
    determinant = htt * hbb - htb * htb
    st = (hbb * gt - htb * gb) / determinant
    sb = (htt * gb - htb * gt) / determinant
    step = math.sqrt(st * st + sb * sb)
    scale = 1.0 if step < 0.3 else 0.3 / step
    n0 += scale * (st * t0 + sb * b0)
    n1 += scale * (st * t1 + sb * b1)
    n2 += scale * (st * t2 + sb * b2)
    length = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    feature[0, 0] = n0 / length
    feature[0, 1] = n1 / length
    feature[0, 2] = n2 / length
    return step > 1e-13


@kernel
def add_support(kind, size, geom_R, g, feature):
    """Add to row 2 the point of shape g farthest along -n (n: row 0), from its centre.

    For both shapes the same sign: w = x_A - x_B, and by symmetry -(point of Y along n) is its point along -n.
    """
    n0, n1, n2 = feature[0, 0], feature[0, 1], feature[0, 2]
    shape = kind[g]
    if shape != SHAPE_BOX and shape != SHAPE_CYLINDER:
        for i in range(3):
            feature[2, i] -= size[g, 0] * feature[0, i]
    if shape == SHAPE_SPHERE:
        return
    z = n0 * geom_R[g, 0, 2] + n1 * geom_R[g, 1, 2] + n2 * geom_R[g, 2, 2]
    if shape == SHAPE_CYLINDER:
        r0, r1, r2 = n0 - z * geom_R[g, 0, 2], n1 - z * geom_R[g, 1, 2], n2 - z * geom_R[g, 2, 2]
        length = math.sqrt(r0 * r0 + r1 * r1 + r2 * r2)
        if length > 1e-12:
            feature[2, 0] -= size[g, 0] * r0 / length
            feature[2, 1] -= size[g, 0] * r1 / length
            feature[2, 2] -= size[g, 0] * r2 / length
    for k in range(first_axis(shape), 3):
        reach = size[g, k] if shape == SHAPE_BOX else size[g, 1]
        along = n0 * geom_R[g, 0, k] + n1 * geom_R[g, 1, k] + n2 * geom_R[g, 2, k]
        for i in range(3):
            feature[2, i] -= reach * geom_R[g, i, k] * (1.0 if along > 0.0 else -1.0)
