# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Where the collision shapes are, their bounding boxes, and how far each reaches in a direction."""

import math

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.jit import kernel, part
from mb_contact.core.tree.rotations import multiply
from mb_contact.core.tree.spatial import (
    ZERO,
    between,
    body_point,
    linear,
    matrix,
    put_matrix,
    put_vector,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)
from mb_contact.types import (
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CONE,
    SHAPE_CONVEX,
    SHAPE_CYLINDER,
    SHAPE_ELLIPSOID,
    SHAPE_HEIGHT_FIELD,
    SHAPE_PLANE,
    SHAPE_SPHERE,
    WORLD,
)


@kernel
def geometry_poses(geoms, R_w, p_w, geom_R, geom_p):
    """World poses of all geometries from the poses of the bodies.

    Parameters
    ----------
    geoms : Geoms
    R_w : (n, 3, 3)
        Body frame to world.
    p_w : (n, 3)
        Body origins, world [m].
    geom_R : (g, 3, 3), out
        Geometry frame to world.
    geom_p : (g, 3), out
        Geometry origins, world [m].
    """
    for g in range(geoms.body.shape[0]):
        pose_of_shape(geoms, R_w, p_w, g, geom_R, geom_p)


@part
def pose_of_shape(geoms, R_w, p_w, g, geom_R, geom_p):
    """``geometry_poses`` of geometry g alone."""
    k = geoms.body[g]
    put_vector(geom_p, g, body_point(R_w, p_w, k, vector(geoms.p, g)))
    if k == WORLD:
        put_matrix(geom_R, g, matrix(geoms.R, g))
    else:
        multiply(R_w, k, geoms.R, g, geom_R, g)


@kernel
def half_width(kind, size, geom_R, g, n):
    """Reach of shape g from its centre along the unit world direction n [m].

    Most shapes are symmetric about their centres, so the reach is the same along
    -n, and ``|n . (p_a - p_b)| - half_width(a) - half_width(b)`` is the exact separation of two
    shapes along n: never more than their signed distance, and equal to it along the right n.
    Of a cone, a convex hull or a height field it is that of the cylinder or box around it, which only the broad phase
    asks for (``shapes.reach`` is exact).  A plane has no reach: infinity.
    """
    x = geom_R[g, 0, 0] * n[0] + geom_R[g, 1, 0] * n[1] + geom_R[g, 2, 0] * n[2]
    y = geom_R[g, 0, 1] * n[0] + geom_R[g, 1, 1] * n[1] + geom_R[g, 2, 1] * n[2]
    z = geom_R[g, 0, 2] * n[0] + geom_R[g, 1, 2] * n[1] + geom_R[g, 2, 2] * n[2]
    return reach_along(kind[g], size, g, x, y, z)


@kernel
def reach_along(shape, size, g, x, y, z):
    """``half_width`` along a unit direction in the axes of the shape [m]."""
    if shape == SHAPE_SPHERE:
        return size[g, 0]
    if shape == SHAPE_BOX or shape == SHAPE_CONVEX or shape >= SHAPE_HEIGHT_FIELD:
        return size[g, 0] * abs(x) + size[g, 1] * abs(y) + size[g, 2] * abs(z)
    if shape == SHAPE_CAPSULE:
        return size[g, 0] + size[g, 1] * abs(z)
    if shape == SHAPE_CYLINDER or shape == SHAPE_CONE:
        # not sqrt(1 - z*z): that loses half of the digits where n is the axis
        return size[g, 0] * math.sqrt(x * x + y * y) + size[g, 1] * abs(z)
    if shape == SHAPE_ELLIPSOID:
        return math.sqrt((size[g, 0] * x) ** 2 + (size[g, 1] * y) ** 2 + (size[g, 2] * z) ** 2)
    return np.inf


@kernel
def shape_travel(geoms, body_p, V, geom_p, dt, travel):
    """How far each shape goes in a time step at its present velocity.

    Parameters
    ----------
    geoms : Geoms
    body_p, V : (n, 3), (n, 6)
        Origins and spatial velocities of the bodies, world.
    geom_p : (g, 3)
        Geometry origins, world [m].
    dt : float
        [s]
    travel : (g, 7), out
        Way of the centre (3), and of the point farthest from it in the turn about the centre [m]; turn (3) [rad].
    """
    for g in range(geoms.body.shape[0]):
        k = geoms.body[g]
        if k == WORLD:
            fill(7, travel[g], 0.0)
            continue
        w = vector(V, k)
        turn = vector_product(w, between(geom_p, g, body_p, k))
        put_vector(travel, g, vector_sum(ZERO, dt, vector_sum(turn, 1.0, linear(V, k))))
        travel[g, 3] = dt * math.sqrt(vector_dot(w, w)) * _arm(geoms.kind[g], geoms.size, g)
        for i in range(3):
            travel[g, 4 + i] = dt * w[i]


@kernel
def _arm(shape, size, g):
    """Distance from the centre of the farthest point that a turn about the centre moves in space [m]."""
    if shape == SHAPE_CAPSULE:
        return size[g, 1]
    if shape != SHAPE_SPHERE and shape != SHAPE_PLANE:
        return math.sqrt(size[g, 0] * size[g, 0] + size[g, 1] * size[g, 1] + size[g, 2] * size[g, 2])
    return 0.0


@kernel
def aabbs(geoms, geom_R, geom_p, travel, lower, upper):
    """Bounding boxes in world axes, each inflated by half of the contact margin and by the shape's way in the step.

    Two boxes that do not overlap belong to shapes more than the margin apart, and after the step still apart.  A plane
    fills all space here, or half of it where its normal is along an axis; the broad phase tests it exactly.

    Parameters
    ----------
    geoms : Geoms
    geom_R, geom_p : (g, 3, 3), (g, 3)
        World poses of the geometries.
    travel : (g, 7)
        Of ``shape_travel``.
    lower, upper : (g, 3), out
        Corners of the boxes [m].
    """
    for g in range(geoms.kind.shape[0]):
        for i in range(3):
            inflation = 0.5 * geoms.margin[0] + abs(travel[g, i]) + travel[g, 3]
            reach = reach_along(geoms.kind[g], geoms.size, g, geom_R[g, i, 0], geom_R[g, i, 1], geom_R[g, i, 2])
            along = geom_R[g, i, 2] if geoms.kind[g] == SHAPE_PLANE else 0.0
            lower[g, i] = geom_p[g, i] - (0.0 if along == -1.0 else reach) - inflation
            upper[g, i] = geom_p[g, i] + (0.0 if along == 1.0 else reach) + inflation


@kernel
def separation(kind, size, geom_R, geom_p, a, b, n):
    """Exact separation of two shapes along +-n (the sign that separates more) [m]."""
    along = abs(vector_dot(n, between(geom_p, a, geom_p, b)))
    return along - half_width(kind, size, geom_R, a, n) - half_width(kind, size, geom_R, b, n)


@kernel
def first_axis(shape):
    """First of the body axes 0..2 along which a shape has straight edges (3: it has none)."""
    if shape == SHAPE_BOX:
        return 0
    if shape == SHAPE_CAPSULE or shape == SHAPE_CYLINDER:
        return 2
    return 3


@kernel
def first_face(shape):
    """First of the body axes 0..2 that are normals of flat faces of a shape (3: it has none)."""
    if shape == SHAPE_BOX or shape >= SHAPE_HEIGHT_FIELD:
        return 0
    if shape == SHAPE_CYLINDER:
        return 2
    return 3
