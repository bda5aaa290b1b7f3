# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The contact normal of a near pair: exact where a flat face or two straight edges define it.

A narrow phase finds its normal by iteration and loses it where two shapes just touch.
But for any unit n the exact separation of two shapes along n is known in closed form
(``geometry.separation``), it is never more than their signed distance, and equal to it for the
true normal.  So the engine's normal competes with those of the faces, of pairs of straight
edges and of the lines from an axis, and the largest separation wins; faces win ties.
"""

from __future__ import annotations

import math

import numpy as np

from mb_contact.core.collision.geometry import first_axis, first_face, separation
from mb_contact.core.jit import kernel
from mb_contact.types import SHAPE_BOX

APART = -2  #: the shapes are more than the margin apart
NO_FACE = -1  #: the normal is not that of a face
TIE = 1e-9  #: a later axis of a body must separate more by this much [m]; else the first one stays
ALIKE = 0.98  #: cosine of two normals that may stand for each other
ROUNDING = 1e-13  #: [m]


@kernel
def choose_normal(kind, size, geom_R, geom_p, x, y, margin, snap, normal):
    """Choose the reference face of a pair, or the normal if there is none.

    Parameters
    ----------
    kind, size, geom_R, geom_p
        Of the geometries.
    x, y : int
        The two geometries; neither is a plane.
    margin : float
        Farther apart than this is no contact [m].
    snap : float
        A face wins even if it separates less by so much [m].
    normal : (3,), in, out
        In: the engine's normal, from Y to X (not finite: there is none).  Out: the one that separates most.

    Returns
    -------
    face : int
        ``APART``, ``NO_FACE``, or the face: axis k of X as 2k + sign, of Y as 6 + 2k + sign
        (sign 1: the face at +k).
    distance : float
        Signed distance of the shapes, the largest separation found [m].
    """
    best = engine_separation(kind, size, geom_R, geom_p, x, y, normal)
    if best > margin:
        return APART, best
    kx, sx = best_face(kind, size, geom_R, geom_p, x, y, x)
    ky, sy = best_face(kind, size, geom_R, geom_p, x, y, y)
    if sx > margin or sy > margin:
        return APART, best
    best = try_edges(kind, size, geom_R, geom_p, x, y, best, normal)
    best = try_radial(kind, size, geom_R, geom_p, x, y, x, best, normal)
    best = try_radial(kind, size, geom_R, geom_p, x, y, y, best, normal)
    if best > margin:
        return APART, best
    best = offer_face(kind, size, geom_R, geom_p, x, y, x, kx, sx, best, normal)
    best = offer_face(kind, size, geom_R, geom_p, x, y, y, ky, sy, best, normal)
    good_x = sx >= best - allowance(geom_R, x, kx, snap, normal)
    good_y = sy >= best - allowance(geom_R, y, ky, snap, normal)
    if not (good_x or good_y):
        return NO_FACE, best
    owner_is_x = good_x
    if good_x and good_y:
        owner_is_x = x_is_reference(kind, size, geom_p, x, y, kx, ky)
    if owner_is_x:
        face = 2 * kx + (0 if points_to(geom_R, geom_p, x, kx, y, x) else 1)
    else:
        face = 6 + 2 * ky + (1 if points_to(geom_R, geom_p, y, ky, y, x) else 0)
    return face, best


@kernel
def offer_face(kind, size, geom_R, geom_p, x, y, owner, k, s, best, normal):
    """Take the face normal at axis k of ``owner`` if its separation s is more than ``best``."""
    if s <= best:
        return best
    return offer(
        kind, size, geom_R, geom_p, x, y, geom_R[owner, 0, k], geom_R[owner, 1, k], geom_R[owner, 2, k],
        best, normal,
    )  # fmt: skip


@kernel
def allowance(geom_R, owner, k, snap, normal):
    """How much less than the best a face may separate and still win: nothing if it points elsewhere."""
    cosine = (
        geom_R[owner, 0, k] * normal[0] + geom_R[owner, 1, k] * normal[1] + geom_R[owner, 2, k] * normal[2]
    )
    return snap if abs(cosine) > ALIKE else ROUNDING


@kernel
def engine_separation(kind, size, geom_R, geom_p, x, y, normal):
    """Separation along the engine's normal; the line of centres stands in for a missing one."""
    length = math.sqrt(normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2)
    if not (length > 0.5 and length < 2.0):  # NaN too
        for i in range(3):
            normal[i] = geom_p[x, i] - geom_p[y, i]
        length = math.sqrt(normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2)
        if not length > 0.0:
            normal[0], normal[1], normal[2], length = 0.0, 0.0, 1.0, 1.0
    for i in range(3):
        normal[i] /= length
    return offer(kind, size, geom_R, geom_p, x, y, normal[0], normal[1], normal[2], -np.inf, normal)


@kernel
def offer(kind, size, geom_R, geom_p, x, y, n0, n1, n2, best, normal):
    """Take +-n as the normal if it separates more than ``best``; return the larger separation."""
    s = separation(kind, size, geom_R, geom_p, x, y, n0, n1, n2)
    if s > best:
        along = (
            n0 * (geom_p[x, 0] - geom_p[y, 0])
            + n1 * (geom_p[x, 1] - geom_p[y, 1])
            + n2 * (geom_p[x, 2] - geom_p[y, 2])
        )
        sign = 1.0 if along >= 0.0 else -1.0
        normal[0] = sign * n0
        normal[1] = sign * n1
        normal[2] = sign * n2
        return s
    return best


@kernel
def best_face(kind, size, geom_R, geom_p, x, y, owner):
    """Body axis of ``owner`` whose faces separate X and Y most, and the separation (-inf: no face)."""
    best = -np.inf
    best_k = 2
    for k in range(first_face(kind[owner]), 3):
        s = separation(
            kind, size, geom_R, geom_p, x, y, geom_R[owner, 0, k], geom_R[owner, 1, k], geom_R[owner, 2, k]
        )
        if s > best + TIE:
            best = s
            best_k = k
    return best_k, best


@kernel
def points_to(geom_R, geom_p, owner, k, a, b):
    """Whether body axis k of ``owner`` points from the centre of a to that of b."""
    along = 0.0
    for i in range(3):
        along += geom_R[owner, i, k] * (geom_p[b, i] - geom_p[a, i])
    return along >= 0.0


@kernel
def face_area(kind, size, g, k):
    """Area of the faces at axis k, up to a common factor [m^2]."""
    if kind[g] == SHAPE_BOX:
        return 4.0 * size[g, (k + 1) % 3] * size[g, (k + 2) % 3]
    return math.pi * size[g, 0] ** 2


@kernel
def x_is_reference(kind, size, geom_p, x, y, kx, ky):
    """Which of two equally good faces is the reference: the larger, then the lower one."""
    ax = face_area(kind, size, x, kx)
    ay = face_area(kind, size, y, ky)
    if abs(ax - ay) > 1e-9 * (ax + ay):
        return ax > ay
    for i in (2, 0, 1):
        if geom_p[x, i] != geom_p[y, i]:
            return geom_p[x, i] < geom_p[y, i]
    return True


@kernel
def try_edges(kind, size, geom_R, geom_p, x, y, best, normal):
    """Offer the common perpendiculars of the straight edges of X and Y."""
    for i in range(first_axis(kind[x]), 3):
        a0, a1, a2 = geom_R[x, 0, i], geom_R[x, 1, i], geom_R[x, 2, i]
        for j in range(first_axis(kind[y]), 3):
            b0, b1, b2 = geom_R[y, 0, j], geom_R[y, 1, j], geom_R[y, 2, j]
            c0 = a1 * b2 - a2 * b1
            c1 = a2 * b0 - a0 * b2
            c2 = a0 * b1 - a1 * b0
            length = math.sqrt(c0 * c0 + c1 * c1 + c2 * c2)
            if length > 1e-6:  # nearly parallel edges: a face or a radial normal serves them
                best = offer(
                    kind, size, geom_R, geom_p, x, y, c0 / length, c1 / length, c2 / length, best, normal
                )
    return best


@kernel
def try_radial(kind, size, geom_R, geom_p, x, y, owner, best, normal):
    """Offer the perpendiculars from the axis of a capsule or cylinder to the other's centre and vertex."""
    if first_axis(kind[owner]) != 2:
        return best
    other = x + y - owner
    toward = 1.0 if other == y else -1.0  # the nearest vertex of Y lies along the normal, of X against it
    for attempt in range(2):
        if attempt == 1 and kind[other] != SHAPE_BOX:
            break
        d0 = geom_p[other, 0] - geom_p[owner, 0]
        d1 = geom_p[other, 1] - geom_p[owner, 1]
        d2 = geom_p[other, 2] - geom_p[owner, 2]
        if attempt == 1:
            for k in range(3):
                along = 0.0
                for i in range(3):
                    along += geom_R[other, i, k] * normal[i]
                reach = size[other, k] if along * toward >= 0.0 else -size[other, k]
                d0 += reach * geom_R[other, 0, k]
                d1 += reach * geom_R[other, 1, k]
                d2 += reach * geom_R[other, 2, k]
        along = d0 * geom_R[owner, 0, 2] + d1 * geom_R[owner, 1, 2] + d2 * geom_R[owner, 2, 2]
        d0 -= along * geom_R[owner, 0, 2]
        d1 -= along * geom_R[owner, 1, 2]
        d2 -= along * geom_R[owner, 2, 2]
        length = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
        if length > 1e-9:
            best = offer(
                kind, size, geom_R, geom_p, x, y, d0 / length, d1 / length, d2 / length, best, normal
            )
    return best
