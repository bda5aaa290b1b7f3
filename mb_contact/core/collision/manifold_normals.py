# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The contact normal of a near pair, and the flat face that gives it, if one does.

The separation of two shapes along a unit vector n has a closed form, is never more than the signed distance, and
equals it for the right normal.  So what a narrow phase finds by iteration, and loses where two shapes just touch,
competes on that measure with the normals of flat faces; a face wins ties.  ``climb`` leads uphill from a normal that is
lost or coarse, as those of all engines are at curved shapes.
"""

import math

import numpy as np

from mb_contact.core.collision.gjk import best_direction
from mb_contact.core.collision.shapes import (
    NO_FLAT,
    best_flat,
    body_axis,
    face_gap,
    face_normal,
    facing,
    gap_along,
    is_round,
    length_of,
    opposite,
    rounding,
)
from mb_contact.core.jit import REAL, VECTOR, kernel, on_demand
from mb_contact.core.tree.spatial import ZERO, between, vector, vector_dot, vector_sum
from mb_contact.types import SHAPE_BOX, SHAPE_CONE, SHAPE_CYLINDER, SHAPE_ELLIPSOID

APART = -2  #: the shapes are more than the margin apart
NO_FACE = -1  #: the normal is not that of a face
ALIKE = 0.98  #: cosine of two normals that may stand for each other
ROUNDING = 1e-13  #: by which rounding may make one separation more than another [m]
LEVEL = 1e-9  #: by which rounding may put one of two shapes that lie on the same ground above the other [m]
UNKNOWN = -1e100  #: below it the engine's distance is none
STARTS = 16  #: the engine's normal, the line of centres, both ways along the axes of both shapes, their best faces
DEEP = 0.1  #: overlap of curved shapes from which no engine is believed, in sizes of the smaller one
STEPS = 50  #: of a climb at most
LEAD = 0.01  #: by which a climb moves cores apart, in sizes of the smaller shape,
STILL = 3e-8  #: turn of the normal that ends it,
NOISE = 1e-14  #: and by which rounding may make a separation less, in sizes


@kernel
def reference(geoms, geom_R, geom_p, x, y, n, distance, margin, tol):
    """The face that the contact of X and Y refers to, and the direction that separates most.

    Parameters
    ----------
    n : tuple
        The engine's normal, from Y to X (not finite: there is none).
    distance : float
        The engine's signed distance [m].
    margin, tol : float
        Farther apart is no contact; a face wins even if it separates less by ``tol`` [m].

    Returns
    -------
    owner, face : int
        Geometry with the face (or APART, NO_FACE) and the face.
    best : float
        Signed distance of the shapes, the largest separation found [m].
    n : tuple
        The direction, from Y to X.
    """
    n = unit_or(n, between(geom_p, x, geom_p, y))
    best = gap_along(geoms, geom_R, geom_p, x, y, n)
    if best > margin:
        return APART, 0, best, n
    fx, fy = facing(geoms, geom_R, x, opposite(n)), facing(geoms, geom_R, y, n)
    sx = face_gap(geoms, geom_R, geom_p, x, y, x, fx)
    sy = face_gap(geoms, geom_R, geom_p, x, y, y, fy)
    if max(best, sx, sy) < distance - tol:  # the engine's normal is lost, as where shapes just touch
        fx, sx = best_flat(geoms, geom_R, geom_p, x, y, x)
        fy, sy = best_flat(geoms, geom_R, geom_p, x, y, y)
    unknown = is_unknown(geoms, x, y, distance)
    if unknown or max(best, sx, sy) < distance - tol:
        best, n = ascend(geoms, geom_R, geom_p, x, y, n, -np.inf if unknown else distance, tol)
    if best > margin or sx > margin or sy > margin:
        return APART, 0, max(best, sx, sy), n
    if sx > best:
        best, n = sx, opposite(face_normal(geoms, geom_R, x, fx))
    if sy > best:
        best, n = sy, face_normal(geoms, geom_R, y, fy)
    good_x = fx != NO_FLAT and sx >= best - play(face_normal(geoms, geom_R, x, fx), opposite(n), tol)
    good_y = fy != NO_FLAT and sy >= best - play(face_normal(geoms, geom_R, y, fy), n, tol)
    if good_x and good_y:
        good_x = x_is_reference(geoms, geom_p, x, y, fx, fy)
    if good_x:
        return x, fx, best, n
    return (y, fy, best, n) if good_y else (NO_FACE, 0, best, n)


@kernel
def unit_or(n, other):
    """n as a unit vector; where it is none (NaN too) the other one, or z where that is zero."""
    length = length_of(n)
    if not (length > 0.5 and length < 2.0):
        n = other
        length = length_of(n)
        if not length > 0.0:
            return 0.0, 0.0, 1.0
    return n[0] / length, n[1] / length, n[2] / length


@kernel
def play(face, n, tol):
    """How much less than the best a face may separate and still win: nothing if it points elsewhere [m]."""
    return tol if vector_dot(face, n) > ALIKE else ROUNDING


@kernel
def face_area(geoms, g, face):
    """Area of a face [m^2], of a hull that of a side of its box."""
    size = vector(geoms.size, g)
    if is_round(geoms, g):
        return math.pi * size[0] ** 2
    k = face // 2 if geoms.kind[g] == SHAPE_BOX else 2
    return 4.0 * size[(k + 1) % 3] * size[(k + 2) % 3]


@kernel
def x_is_reference(geoms, geom_p, x, y, fx, fy):
    """Which of two equally good faces is the reference: the larger, then that of the lower shape."""
    ax, ay = face_area(geoms, x, fx), face_area(geoms, y, fy)
    if abs(ax - ay) > 1e-9 * (ax + ay):
        return ax > ay
    for i in (2, 0, 1):
        if abs(geom_p[x, i] - geom_p[y, i]) > LEVEL * geoms.unit[0]:
            return geom_p[x, i] < geom_p[y, i]
    return True


# --- uphill -------------------------------------------------------------------------------------


@on_demand((REAL, VECTOR))
def ascend(geoms, geom_R, geom_p, x, y, normal, distance, tol):
    """Largest separation of X and Y [m] and its direction, from several starts, until ``distance`` is reached.

    Shapes that are apart have one maximum only.
    """
    best, chosen = -np.inf, normal
    for start in range(STARTS):
        n = normal
        if start == 1:
            n = between(geom_p, x, geom_p, y)
        elif start > 1 and start < 14:
            n = body_axis(geom_R, x if start < 8 else y, (start // 2 - 1) % 3)
            n = n if start % 2 == 1 else opposite(n)
        elif start >= 14:
            owner = x if start == 14 else y
            face = best_flat(geoms, geom_R, geom_p, x, y, owner)[0]
            if face == NO_FLAT:
                continue
            n = face_normal(geoms, geom_R, owner, face)
            n = n if owner == y else opposite(n)
        length = length_of(n)
        if not length > 0.0:
            continue
        s, n = climb(geoms, geom_R, geom_p, x, y, vector_sum(ZERO, 1.0 / length, n))
        if s > best:
            best, chosen = s, n
        if best > 0.0 or (best >= distance - tol and distance > UNKNOWN):
            break
    return best, chosen


@on_demand((REAL, VECTOR))
def climb(geoms, geom_R, geom_p, x, y, n):
    """Uphill from n: the separation reached [m], and where.

    Moved apart by t along n, the shapes are s(m) + t m . n apart along any m.  The m that makes this largest has
    s(m) >= s(n) + t (1 - m . n): the separation grows with each step, to a normal along which it is largest.
    """
    scale = scale_of(geoms, x, y)
    radii, apart = rounding(geoms, x) + rounding(geoms, y), between(geom_p, x, geom_p, y)
    s = gap_along(geoms, geom_R, geom_p, x, y, n)
    for _ in range(STEPS):
        way = max(LEAD * scale - radii - s, 0.0)
        m = best_direction(geoms, geom_R, x, y, n, vector_sum(apart, way, n), scale)
        now = gap_along(geoms, geom_R, geom_p, x, y, m)
        if not now > s - NOISE * scale:
            break
        turn = length_of(vector_sum(m, -1.0, n))
        s, n = now, m
        if way == 0.0 or turn < STILL:
            break
    return s, n


@kernel
def is_unknown(geoms, x, y, distance):
    """Whether an engine's distance is none: curved shapes that overlap much are now and then said to overlap wholly."""
    curved = is_curved(geoms.kind[x]) or is_curved(geoms.kind[y])
    return distance < (-DEEP * scale_of(geoms, x, y) if curved else UNKNOWN)


@kernel
def scale_of(geoms, x, y):
    """Size of the smaller one of two shapes [m]."""
    return min(max(vector(geoms.size, x)), max(vector(geoms.size, y)))


@kernel
def is_curved(kind):
    """Whether a kind of shape has curved edges or is curved throughout, and no core with a distance around it."""
    return kind == SHAPE_CYLINDER or kind == SHAPE_CONE or kind == SHAPE_ELLIPSOID
