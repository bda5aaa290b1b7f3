# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Manifold of a flat reference face (rectangle, disc, plane) against the other shape's facing feature."""

from __future__ import annotations

import math

from mb_contact.core.collision.manifold_clip import DISC, EVERYWHERE, RECTANGLE, add_point, clip_interval, contains
from mb_contact.core.collision.manifold_features import (
    ANY,
    NEAREST,
    POINT,
    QUAD,
    RIM,
    ROUND,
    SEGMENT,
    corner_id,
    set_feature,
    set_frame,
    side_id,
)
from mb_contact.core.jit import kernel
from mb_contact.types import SHAPE_CAPSULE

LEVEL = 1e-9  #: by which the square of a radius may exceed 1
HALVINGS = 50
MAX_POINTS = 32  #: candidates of one pair before the reduction; 17 at most occur


@kernel
def face_manifold(kind, size, geom_R, geom_p, face, other, k, side, w_face, w_other, margin, tol, work):
    """Points of the pair whose reference is the face of ``face`` at axis k.

    Parameters
    ----------
    face, other : int
        Geometry with the reference face, and the other one.
    k, side : int
        Body axis of the face, and 1 if it is at +k.
    w_face, w_other : int
        Weights of the two shapes' feature ids in the id of a point, ``W_X`` and ``W_Y``.
    margin, tol : float
        Largest gap kept; play of inside tests [m].
    work : ManifoldWork
        Out: ``points`` (x, y of the face frame and gap), ``ids``; ``frame``.

    Returns
    -------
    int
        Number of points.
    """
    region, h0, h1 = set_frame(kind, size, geom_R, geom_p, face, k, side, work.frame)
    return region_points(
        kind, size, geom_R, geom_p, kind[face], k, side, region, h0, h1, other, w_face, w_other, margin, tol, work
    )


@kernel
def region_points(
    kind, size, geom_R, geom_p, shape_of_face, k, side, region, h0, h1, other, w_face, w_other, margin, tol, work
):
    """The same for a region of the plane in ``work.frame``."""
    frame, feature, points, ids = work.frame, work.feature, work.points, work.ids
    what, k2, side2 = set_feature(kind, size, geom_R, geom_p, other, frame, feature)
    shape = kind[other]
    if what == POINT:
        count = 0
        if contains(region, h0, h1, feature[0, 0], feature[0, 1], tol):
            code = ANY * w_face
            count = add_point(
                points, ids, count, feature[0, 0], feature[0, 1], feature[0, 2], code, margin, tol
            )
    elif what == SEGMENT:
        first = 0 if shape == SHAPE_CAPSULE else NEAREST
        count = segment_points(region, h0, h1, first, w_face, w_other, margin, tol, feature, points, ids)
    else:
        count = corners_of_feature(
            region, h0, h1, what, shape, k2, side2, w_face, w_other, margin, tol, feature, points, ids
        )
        if region != EVERYWHERE:
            count = corners_of_face(
                region, h0, h1, what, shape_of_face, k, side, w_face, w_other, margin, tol,
                feature, points, ids, count,
            )  # fmt: skip
            count = crossings(
                region, h0, h1, what, shape_of_face, k, side, shape, k2, side2, w_face, w_other, margin, tol,
                feature, points, ids, count,
            )  # fmt: skip
    return count


@kernel
def segment_points(region, h0, h1, first, w_face, w_other, margin, tol, feature, points, ids):
    """The ends of a segment, clipped to the face; an end keeps its id when it is clipped."""
    t0, t1, _, _ = clip_interval(
        region, h0, h1, feature[0, 0], feature[0, 1], feature[1, 0], feature[1, 1], tol
    )
    count = 0
    if t0 > t1:
        return count
    for end in range(2):
        t = t0 if end == 0 else t1
        count = add_point(
            points, ids, count,
            feature[0, 0] + t * feature[1, 0],
            feature[0, 1] + t * feature[1, 1],
            feature[0, 2] + t * feature[1, 2],
            (first + end) * w_other + ANY * w_face, margin, tol,
        )  # fmt: skip
    return count


@kernel
def corner_signs(what, corner):
    """Coordinates of corner 0..3 in half vectors of a quad or radius vectors of a disc."""
    if what == QUAD:
        return (1.0 if corner == 1 or corner == 2 else -1.0), (1.0 if corner >= 2 else -1.0)
    if corner == 0:
        return 1.0, 0.0
    if corner == 1:
        return 0.0, 1.0
    if corner == 2:
        return -1.0, 0.0
    return 0.0, -1.0


@kernel
def corners_of_feature(
    region, h0, h1, what, shape, k2, side2, w_face, w_other, margin, tol, feature, points, ids
):
    """Corners of the facing feature that lie over the face; of a tilted cap also its nearest rim point."""
    count = 0
    extra = 1 if what == ROUND and abs(feature[3, 2]) > tol else 0
    for corner in range(4 + extra):
        if corner < 4:
            s, t = corner_signs(what, corner)
            x = feature[0, 0] + s * feature[1, 0] + t * feature[2, 0]
            y = feature[0, 1] + s * feature[1, 1] + t * feature[2, 1]
            z = feature[0, 2] + s * feature[1, 2] + t * feature[2, 2]
            name = corner_id(shape, k2, side2, corner)
        else:
            x = feature[0, 0] + feature[3, 0]
            y = feature[0, 1] + feature[3, 1]
            z = feature[0, 2] + feature[3, 2]
            name = NEAREST + side2
        if contains(region, h0, h1, x, y, tol):
            code = name * w_other + ANY * w_face
            count = add_point(points, ids, count, x, y, z, code, margin, tol)
    return count


@kernel
def plane_coordinates(feature, x, y):
    """Coordinates of (x, y) in the half vectors of a quad or disc, and the height of its plane there."""
    u0, u1 = feature[1, 0], feature[1, 1]
    v0, v1 = feature[2, 0], feature[2, 1]
    determinant = u0 * v1 - u1 * v0
    x -= feature[0, 0]
    y -= feature[0, 1]
    s = (x * v1 - y * v0) / determinant
    t = (u0 * y - u1 * x) / determinant
    return s, t, feature[0, 2] + s * feature[1, 2] + t * feature[2, 2]


@kernel
def corners_of_face(
    region, h0, h1, what, face_shape, k, side, w_face, w_other, margin, tol, feature, points, ids, count
):
    """Corners of the reference face that lie under the facing feature."""
    corner_of = QUAD if region == RECTANGLE else ROUND
    length = math.sqrt(feature[1, 0] ** 2 + feature[1, 1] ** 2 + feature[1, 2] ** 2)
    over = RECTANGLE if what == QUAD else DISC
    for corner in range(4):
        s, t = corner_signs(corner_of, corner)
        x = s * h0
        y = t * h1
        p, q, z = plane_coordinates(feature, x, y)
        if contains(over, 1.0, 1.0, p, q, tol / length):
            code = ANY * w_other + corner_id(face_shape, k, side, corner) * w_face
            count = add_point(points, ids, count, x, y, z, code, margin, tol)
    return count


@kernel
def crossings(
    region, h0, h1, what, face_shape, k, side, shape, k2, side2, w_face, w_other, margin, tol,
    feature, points, ids, count,
):  # fmt: skip
    """Points where the outline of the facing feature crosses the outline of the face."""
    if what == ROUND and region == DISC:
        return rim_crossings(h0, side, side2, w_face, w_other, margin, tol, feature, points, ids, count)
    length = math.sqrt(feature[1, 0] ** 2 + feature[1, 1] ** 2 + feature[1, 2] ** 2)
    over = RECTANGLE if what == QUAD else DISC
    for number in range(4):
        sign = 1.0 if number % 2 == 0 else -1.0
        if what == QUAD:
            along = 2 if number < 2 else 1
            cx = feature[0, 0] + sign * feature[3 - along, 0]
            cy = feature[0, 1] + sign * feature[3 - along, 1]
            dx = feature[along, 0]
            dy = feature[along, 1]
            t0, t1, side0, side1 = clip_interval(region, h0, h1, cx, cy, dx, dy, tol)
        else:
            cx = sign * h0 if number < 2 else 0.0
            cy = 0.0 if number < 2 else sign * h1
            dx = 0.0 if number < 2 else h0
            dy = h1 if number < 2 else 0.0
            p, q, _ = plane_coordinates(feature, cx, cy)
            p1, q1, _ = plane_coordinates(feature, cx + dx, cy + dy)
            t0, t1, side0, side1 = clip_interval(over, 1.0, 1.0, p, q, p1 - p, q1 - q, tol / length)
        if t0 > t1:
            continue
        for end in range(2):
            t = t0 if end == 0 else t1
            clipped = side0 if end == 0 else side1
            if clipped < 0:
                continue
            x = cx + t * dx
            y = cy + t * dy
            _, _, z = plane_coordinates(feature, x, y)
            if what == QUAD:
                mine = side_id(shape, k2, side2, number)
                theirs = side_id(face_shape, k, side, clipped)
            else:
                mine = side_id(shape, k2, side2, clipped)
                theirs = side_id(face_shape, k, side, number)
            which = end if what == ROUND or region == DISC else 0
            code = mine * w_other + theirs * w_face + which
            count = add_point(points, ids, count, x, y, z, code, margin, tol)
    return count


@kernel
def rim_crossings(radius, side, side2, w_face, w_other, margin, tol, feature, points, ids, count):
    """The two points where the rims of two caps cross, seen along the face's normal.

    A tilted cap's are looked for on this side of its centre only.
    """
    r2 = math.sqrt(feature[1, 0] ** 2 + feature[1, 1] ** 2 + feature[1, 2] ** 2)
    cx = feature[0, 0]
    cy = feature[0, 1]
    d = math.sqrt(cx * cx + cy * cy)
    if d <= tol or d >= radius + r2 or d <= abs(radius - r2):
        return count
    along = (d * d + radius * radius - r2 * r2) / (2.0 * d)
    across = math.sqrt(max(0.0, radius * radius - along * along))
    for which in range(2):
        sign = 1.0 if (which == 0) == (w_face > w_other) else -1.0  # the same name seen from either cap
        x = (along * cx - sign * across * cy) / d
        y = (along * cy + sign * across * cx) / d
        s, t, z = plane_coordinates(feature, x, y)
        if s * s + t * t > 1.0 + LEVEL:  # a tilted cap is an ellipse within its circle
            x, y = _under_the_rim(feature, x, y, radius * cx / d, radius * cy / d, radius)
            s, t, z = plane_coordinates(feature, x, y)
            if s * s + t * t > 1.0 + LEVEL:
                continue
        code = (RIM + side2) * w_other + (RIM + side) * w_face + which
        count = add_point(points, ids, count, x, y, z, code, margin, tol)
    return count


@kernel
def _under_the_rim(feature, x0, y0, x1, y1, radius):
    """The point of the disc's rim under the rim of the cap: from (x0, y0), beside the cap, towards (x1, y1).

    By halving; where the whole way lies beside the cap, the end comes back.
    """
    out = 0.0
    inside = 1.0
    x, y = x1, y1
    for _ in range(HALVINGS):
        middle = 0.5 * (out + inside)
        px = x0 + middle * (x1 - x0)
        py = y0 + middle * (y1 - y0)
        length = math.sqrt(px * px + py * py)
        if length == 0.0:  # the two are opposite
            return x, y
        px *= radius / length
        py *= radius / length
        s, t, _ = plane_coordinates(feature, px, py)
        if s * s + t * t > 1.0:
            out = middle
        else:
            inside = middle
            x, y = px, py
    return x, y
