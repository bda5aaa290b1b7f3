# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Reference faces and the features that face them: frames, kinds, identities.

The frame of a reference face has its x and y in the face and z along its outward normal.
There the z of a point on the other shape *is* its gap.
"""

from __future__ import annotations

import math

from mb_contact.core.collision.manifold_clip import DISC, EVERYWHERE, RECTANGLE
from mb_contact.core.jit import kernel
from mb_contact.types import SHAPE_BOX, SHAPE_CYLINDER, SHAPE_PLANE, SHAPE_SPHERE

# kinds of the other shape's feature
POINT = 0
SEGMENT = 1  #: centre, half vector
QUAD = 2  #: centre, two half vectors
ROUND = 3  #: centre, two radius vectors

# feature ids within a shape: 0..7 box vertices, 8..31 box edges; 0..7 fixed rim points, 8 9 the
# rim points nearest to the other shape, 10 11 the rims; 0 1 capsule ends; 12 the lateral line
EDGE = 8
NEAREST = 8
RIM = 10
LATERAL = 12
ANY = 63  #: somewhere on the other shape


@kernel
def corner_id(shape, k, side, corner):
    """Id of corner 0..3 of a face: signs (- -), (+ -), (+ +), (- +) of a box; quarters of a cap's rim.

    A box vertex has one bit per body axis; k is the axis of the face.
    """
    if shape == SHAPE_BOX:
        first = 1 if corner == 1 or corner == 2 else 0
        second = 1 if corner >= 2 else 0
        return (side << k) | (first << ((k + 1) % 3)) | (second << ((k + 2) % 3))
    return 4 * side + corner


@kernel
def side_id(shape, k, side, number):
    """Id of side 0..3 of a box face (at +1, -1, +2, -2 of the two axes after k), or of the rim of a cap.

    A box edge is named by its axis and the bits of the other two axes.
    """
    if shape != SHAPE_BOX:
        return RIM + side
    across = (k + 1 + number // 2) % 3
    along = (k + 2 - number // 2) % 3
    return EDGE + 8 * along + ((side << k) | ((1 - number % 2) << across))


@kernel
def set_frame(kind, size, geom_R, geom_p, g, k, side, frame):
    """Frame of the face of g at its axis k; returns its region: shape and two sizes."""
    sign = 1.0 if side == 1 else -1.0
    reach = 0.0
    if kind[g] == SHAPE_BOX:
        reach = size[g, k]
    elif kind[g] != SHAPE_PLANE:
        reach = size[g, 1]
    for i in range(3):
        frame[0, i] = geom_R[g, i, (k + 1) % 3]
        frame[1, i] = geom_R[g, i, (k + 2) % 3]
        frame[2, i] = sign * geom_R[g, i, k]
        frame[3, i] = geom_p[g, i] + reach * frame[2, i]
    if kind[g] == SHAPE_BOX:
        return RECTANGLE, size[g, (k + 1) % 3], size[g, (k + 2) % 3]
    if kind[g] == SHAPE_PLANE:
        return EVERYWHERE, 0.0, 0.0
    return DISC, size[g, 0], size[g, 0]


@kernel
def set_feature(kind, size, geom_R, geom_p, g, frame, feature):
    """The feature of shape g that faces the reference face, in its frame.

    Returns
    -------
    kind of feature, body axis and side (box: of the face; cylinder: side of the cap)
    """
    shape = kind[g]
    k = facing_axis(geom_R, g, frame) if shape == SHAPE_BOX else 2
    for i in range(3):
        feature[0, i] = 0.0
        for j in range(3):
            feature[0, i] += frame[i, j] * (geom_p[g, j] - frame[3, j])
        for row in range(1, 4):  # body axes k + 1, k + 2, k
            feature[row, i] = 0.0
            for j in range(3):
                feature[row, i] += frame[i, j] * geom_R[g, j, (k + row) % 3]
    side = 0 if feature[3, 2] > 0.0 else 1
    what = QUAD
    if shape == SHAPE_BOX:
        reach = size[g, k] if side == 1 else -size[g, k]
        for i in range(3):
            feature[0, i] += reach * feature[3, i]
            feature[1, i] *= size[g, (k + 1) % 3]
            feature[2, i] *= size[g, (k + 2) % 3]
    elif shape == SHAPE_CYLINDER:
        what = set_cylinder(size[g, 0], size[g, 1], side, feature)
    else:
        what = POINT if shape == SHAPE_SPHERE else SEGMENT
        feature[0, 2] -= size[g, 0]
        for i in range(3):
            feature[1, i] = size[g, 1] * feature[3, i]
    return what, k, side


@kernel
def facing_axis(geom_R, g, frame):
    """Body axis of a box nearest to the normal of the frame; ties go to the first."""
    best = -1.0
    chosen = 0
    for k in range(3):
        z = frame[2, 0] * geom_R[g, 0, k] + frame[2, 1] * geom_R[g, 1, k] + frame[2, 2] * geom_R[g, 2, k]
        if abs(z) > best + 1e-9:
            best = abs(z)
            chosen = k
    return chosen


@kernel
def set_cylinder(radius, half, side, feature):
    """Cap (within 45 degrees of facing) or the lower line of the lateral surface.

    In: rows 0..3 centre and unit axes x, y, z.  Out, cap: row 3 leads to its nearest rim point.
    """
    a0, a1, a2 = feature[3, 0], feature[3, 1], feature[3, 2]
    sine = math.sqrt(a0 * a0 + a1 * a1)
    # direction across the axis that descends fastest: -e_z without its axial part
    d0, d1, d2 = 0.0, 0.0, 0.0
    if sine > 1e-12:
        d0, d1, d2 = radius * a2 * a0 / sine, radius * a2 * a1 / sine, -radius * sine
    if abs(a2) <= 0.70710678118654752:
        feature[0, 0] += d0
        feature[0, 1] += d1
        feature[0, 2] += d2
        for i in range(3):
            feature[1, i] = half * feature[3, i]
        return SEGMENT
    reach = half if side == 1 else -half
    for i in range(3):
        feature[0, i] += reach * feature[3, i]
        feature[1, i] *= radius
        feature[2, i] *= radius
    feature[3, 0] = d0
    feature[3, 1] = d1
    feature[3, 2] = d2
    return ROUND
