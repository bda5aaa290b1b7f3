# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The contact normal of a near pair, and the flat face that gives it, if one does.

The separation of two shapes along a unit vector n has a closed form, is never more than the signed distance, and
equals it for the right normal.  So what a narrow phase finds by iteration, and loses where two shapes just touch,
competes on that measure with the normals of flat faces; a face wins ties.  Two ways lead uphill from a normal that is
lost or coarse, as those of all engines are at curved shapes: ``climb``, to 1e-7, and for cylinders, whose curvature is
known, Newton's method, to rounding.
"""

import math

import numpy as np

from mb_contact.core.collision.geometry import first_axis
from mb_contact.core.collision.gjk import best_direction
from mb_contact.core.collision.shapes import (
    NO_FLAT,
    best_flat,
    body_axis,
    face_gap,
    face_normal,
    facing,
    farthest,
    gap_along,
    is_round,
    rounding,
)
from mb_contact.core.jit import REAL, VECTOR, kernel, on_demand
from mb_contact.core.tree.spatial import (
    ZERO,
    between,
    length_of,
    opposite,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)
from mb_contact.types import SHAPE_BOX, SHAPE_CONE, SHAPE_CYLINDER, SHAPE_ELLIPSOID

APART = -2  #: the shapes are more than the margin apart
NO_FACE = -1  #: the normal is not that of a face
ALIKE = 0.98  #: cosine of two normals that may stand for each other
ROUNDING = 1e-13  #: by which rounding may make one separation more than another [m]
LEVEL = 1e-9  #: by which rounding may put one of two shapes that lie on the same ground above the other [m]
UNKNOWN = -1e100  #: below it the engine's distance is none
STARTS = 16  #: the engine's normal, the line of centres, both ways along the axes of both shapes, their best faces
DEEP = 0.1  #: overlap of curved shapes from which no engine is believed, in sizes of the smaller one
COARSE = 1e-5  #: by which an engine's depth of curved shapes may be wrong, in sizes of the smaller one
STALL = 1e-16  #: difference to the largest separation, in sizes, at which rounding is all that is left
STEPS = 50  #: of a climb at most
LEAD = 0.01  #: by which a climb moves cores apart, in sizes of the smaller shape,
STILL = 3e-8  #: turn of the normal that ends it,
NOISE = 1e-14  #: and by which rounding may make a separation less, in sizes
NEWTON_STEPS = 5
NEAR_EDGE = 0.05  #: cosine of normal and edge below which the edge may take part
STIFF = 1e6  #: curvature that holds n perpendicular to an edge [m]


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
    if is_unknown(geoms, x, y, distance):
        distance = np.inf
    if max(best, sx, sy) < distance - tol:  # the engine's normal is lost, as where shapes just touch
        fx, sx = best_flat(geoms, geom_R, geom_p, x, y, x)
        fy, sy = best_flat(geoms, geom_R, geom_p, x, y, y)
    if max(best, sx, sy) < distance - tol:
        best, n = ascend(geoms, geom_R, geom_p, x, y, n, distance, tol)
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

    That is where a maximum is nearer to it than the engine is to the truth.  Shapes that are apart have one only.
    """
    best, chosen, enough = -np.inf, normal, distance - max(tol, COARSE * scale_of(geoms, x, y))
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
        s, n = climb(geoms, geom_R, geom_p, x, y, vector_sum(ZERO, 1.0 / length, n), STALL)
        if s > best:
            best, chosen = s, n
        if best > 0.0 or best >= enough:
            break
    return best, chosen


@on_demand((REAL, VECTOR))
def climb(geoms, geom_R, geom_p, x, y, n, stall):
    """Uphill from n: the separation reached [m], and where.

    Moved apart by t along n, the shapes are s(m) + t m . n apart along any m.  The m that makes this largest has
    s(m) >= s(n) + t (1 - m . n): the separation grows with each step, to a normal along which it is largest.
    """
    scale = scale_of(geoms, x, y)
    radii, apart = rounding(geoms, x) + rounding(geoms, y), between(geom_p, x, geom_p, y)
    s = gap_along(geoms, geom_R, geom_p, x, y, n)
    for _ in range(STEPS):
        way = max(LEAD * scale - radii - s, 0.0)
        m = best_direction(geoms, geom_R, x, y, n, vector_sum(apart, way, n), stall * scale)
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
    """Whether a kind of shape is curved, but has no core with a constant distance around it."""
    return kind == SHAPE_CYLINDER or kind == SHAPE_CONE or kind == SHAPE_ELLIPSOID


# --- by Newton's method -------------------------------------------------------------------------


@kernel
def apart(geoms, geom_R, geom_p, x, y, n):
    """w(n) [m]."""
    on_x = farthest(geoms, geom_R, geom_p, x, opposite(n))
    return vector_sum(on_x, -1.0, farthest(geoms, geom_R, geom_p, y, n))


@kernel
def has_known_curvature(a, b):
    """Whether one of two kinds of shapes is a cylinder, and both are symmetric and no ellipsoids."""
    return (a == SHAPE_CYLINDER or b == SHAPE_CYLINDER) and a < SHAPE_CONE and b < SHAPE_CONE


@on_demand((REAL, VECTOR))
def polish(geoms, geom_R, geom_p, x, y, n, best):
    """Improve the normal n, of separation ``best``, of two shapes with ``has_known_curvature``.

    The roundness of the shapes gives the second derivative of s: r t t* / sin(n, axis) for a cylinder (t: tangent of
    the rim), r for a sphere or capsule, nothing for a box.  An edge that takes part keeps n perpendicular to itself;
    since s(n) is exact for any n, every assumption about edges may be tried and the largest separation wins.

    Returns
    -------
    best, n
    """
    kind = geoms.kind
    chosen = n
    for edge_of in range(3):  # no edge, one of X, one of Y
        edge = ZERO
        if edge_of > 0:
            g = x if edge_of == 1 else y
            k = nearly_flat_axis(kind, geom_R, g, chosen)
            if k < 0:
                continue
            edge = body_axis(geom_R, g, k)
        trial = chosen
        for _ in range(NEWTON_STEPS):
            trial, more = newton_step(geoms, geom_R, geom_p, x, y, trial, edge)
            if not more:
                break
            s = gap_along(geoms, geom_R, geom_p, x, y, trial)
            if s > best - ROUNDING * geoms.unit[0]:  # at the top s is flat: 1e-8 in n is below its rounding
                best, chosen = max(best, s), trial
    return best, chosen


@kernel
def nearly_flat_axis(kind, geom_R, g, n):
    """Straight edge of g most nearly perpendicular to the normal; -1 if none is near."""
    least, chosen = NEAR_EDGE, -1
    for k in range(first_axis(kind[g]), 3):
        slope = abs(vector_dot(body_axis(geom_R, g, k), n))
        if slope < least:
            least = slope
            chosen = k
    return chosen


@kernel
def newton_step(geoms, geom_R, geom_p, x, y, n, edge):
    """One step from n, which an edge (zero: none) holds perpendicular to itself; the new n, and False: converged."""
    t = (0.0, n[2], -n[1]) if abs(n[0]) < 0.6 else (-n[2], 0.0, n[0])
    t = vector_sum(ZERO, 1.0 / length_of(t), t)
    b = vector_product(n, t)
    htt, htb, hbb = 0.0, 0.0, 0.0
    for g in (x, y):
        across = geoms.size[g, 0]
        if geoms.kind[g] == SHAPE_CYLINDER:
            tangent = vector_product(body_axis(geom_R, g, 2), n)
            p, q = vector_dot(tangent, t), vector_dot(tangent, b)
            sine = math.sqrt(p * p + q * q)
            if sine > 1e-6:
                across /= sine * sine * sine
                htt += across * p * p
                htb += across * p * q
                hbb += across * q * q
        elif geoms.kind[g] != SHAPE_BOX:
            htt += across
            hbb += across
    w = apart(geoms, geom_R, geom_p, x, y, n)
    damping = abs(vector_dot(n, w)) + 1e-9 * geoms.unit[0]
    et, eb = vector_dot(edge, t), vector_dot(edge, b)
    # sideways distance without its part along the edge, which slides freely; the edge pulls n straight
    stiff = STIFF * geoms.unit[0]
    along = vector_dot(w, edge) + stiff * vector_dot(edge, n)
    gt = vector_dot(w, t) - along * et
    gb = vector_dot(w, b) - along * eb
    htt += damping + stiff * et * et
    htb += stiff * et * eb
    hbb += damping + stiff * eb * eb
    determinant = htt * hbb - htb * htb
    st = (hbb * gt - htb * gb) / determinant
    sb = (htt * gb - htb * gt) / determinant
    step = math.sqrt(st * st + sb * sb)
    scale = 1.0 if step < 0.3 else 0.3 / step
    n = vector_sum(vector_sum(n, scale * st, t), scale * sb, b)
    return vector_sum(ZERO, 1.0 / length_of(n), n), step > 1e-13
