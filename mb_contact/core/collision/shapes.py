# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a contact asks of a shape of any kind: its reach and farthest point in a direction, its flat faces and edges.

Directions d and n are unit vectors in world axes, points tuples of three numbers.
"""

import math

import numpy as np

from mb_contact.core.collision.geometry import half_width
from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import (
    ZERO,
    between,
    length_of,
    matrix,
    opposite,
    put_vector,
    transposed,
    turned,
    vector,
    vector_dot,
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
    SHAPE_MESH,
    SHAPE_PLANE,
    SHAPE_SPHERE,
)

NO_FLAT = -1  #: no flat face looks that way
RIM_CORNERS = 4  #: points that stand for the rim of a cap or base, fixed in the body
COS_CAP = 0.70710678118654752  #: a cap or base faces what is within 45 degrees of it
AXIAL = 1e-12  #: sine of an angle to the axis below which a direction has no side of a round shape to point at

# names within a shape: 0 to 7 box vertices, 8 to 31 box edges; 0 and 1 the ends of a capsule or of a line of a cylinder
# or cone, 12 the line itself; vertices of a hull by number, PAIR * (first + 1) + last its edges
EDGE = 8
LATERAL = 12
PAIR = 1 << 12
NEAREST_RIM = 1000  #: the point of a rim nearest to the other shape


@kernel
def into_body(geom_R, g, d):
    """Components of a world direction along the axes of geometry g."""
    return turned(transposed(matrix(geom_R, g)), d)


@kernel
def out_of_body(geom_R, g, a):
    """World components of a vector in the axes of geometry g."""
    return turned(matrix(geom_R, g), a)


@kernel
def place(geom_R, geom_p, g, a):
    """World position of the point a of geometry g."""
    return vector_sum(vector(geom_p, g), 1.0, turned(matrix(geom_R, g), a))


@kernel
def body_axis(geom_R, g, k):
    """World direction of axis k of geometry g."""
    return geom_R[g, 0, k], geom_R[g, 1, k], geom_R[g, 2, k]


@kernel
def is_round(geoms, g):
    """Whether the flat faces of shape g are discs."""
    return geoms.kind[g] == SHAPE_CYLINDER or geoms.kind[g] == SHAPE_CONE


@kernel
def has_faces(geoms, g):
    """Whether a shape has flat faces."""
    shape = geoms.kind[g]
    return shape == SHAPE_BOX or shape == SHAPE_CONVEX or is_round(geoms, g)


@kernel
def rounding(geoms, g):
    """How far the surface of a sphere or capsule is from its centre or axis, its core; 0 of other shapes [m]."""
    return geoms.size[g, 0] if geoms.kind[g] == SHAPE_SPHERE or geoms.kind[g] == SHAPE_CAPSULE else 0.0


# --- farthest points ----------------------------------------------------------------------------


@kernel
def reach(geoms, geom_R, g, n):
    """Reach of shape g from its origin along n, max of n . x over the shape [m]."""
    shape = geoms.kind[g]
    if shape == SHAPE_CONE:
        x, y, z = into_body(geom_R, g, n)
        half = geoms.size[g, 1]
        return max(half * z, geoms.size[g, 0] * math.sqrt(x * x + y * y) - half * z)
    if shape == SHAPE_CONVEX or shape == SHAPE_MESH:
        a = into_body(geom_R, g, n)
        return vector_dot(a, vector(geoms.vertices, farthest_vertex(geoms, g, a)))
    return half_width(geoms.kind, geoms.size, geom_R, g, n)


@kernel
def gap_along(geoms, geom_R, geom_p, x, y, n):
    """Separation of two shapes along n, which points from Y to X: never more than their signed distance [m]."""
    along = vector_dot(n, between(geom_p, x, geom_p, y))
    return along - reach(geoms, geom_R, x, opposite(n)) - reach(geoms, geom_R, y, n)


@kernel
def farthest_vertex(geoms, g, a):
    """Row of ``geoms.vertices`` of the vertex of a hull farthest along a, in its axes."""
    vertices = geoms.vertices
    best, chosen = -np.inf, geoms.first_vertex[g]
    for v in range(geoms.first_vertex[g], geoms.first_vertex[g + 1]):
        along = a[0] * vertices[v, 0] + a[1] * vertices[v, 1] + a[2] * vertices[v, 2]
        if along > best:
            best = along
            chosen = v
    return chosen


@kernel
def box_corner(size, bits):
    """Vertex of a box: a bit for each of its axes, 1 at the positive end."""
    return (
        size[0] if bits & 1 else -size[0],
        size[1] if bits & 2 else -size[1],
        size[2] if bits & 4 else -size[2],
    )


@kernel
def vertex_along(a):
    """Name of the vertex of a box farthest along a, in its axes."""
    return (1 if a[0] > 0.0 else 0) | (2 if a[1] > 0.0 else 0) | (4 if a[2] > 0.0 else 0)


@kernel
def rim_point(radius, a):
    """Point of a circle about the axis z farthest along a, and the sine of the angle between a and the axis."""
    sine = math.sqrt(a[0] * a[0] + a[1] * a[1])
    if sine <= AXIAL:
        return 0.0, 0.0, sine
    return radius * a[0] / sine, radius * a[1] / sine, sine


@kernel
def ellipsoid_point(size, a):
    """Point of an ellipsoid farthest along a, in its axes."""
    s = size[0] ** 2 * a[0], size[1] ** 2 * a[1], size[2] ** 2 * a[2]
    return vector_sum(ZERO, 1.0 / math.sqrt(vector_dot(a, s)), s)


@kernel
def core_point(geoms, geom_R, g, d):
    """Name and place, in the axes of g, of the point of its core farthest along d.

    The core of a sphere or capsule is its centre or axis; ``rounding`` more along d is the farthest point of the shape.
    """
    shape, size = geoms.kind[g], vector(geoms.size, g)
    a = into_body(geom_R, g, d)
    end = 1 if a[2] > 0.0 else 0
    height = size[1] if end == 1 else -size[1]
    if shape == SHAPE_BOX:
        bits = vertex_along(a)
        return bits, box_corner(size, bits)
    if shape == SHAPE_SPHERE:
        return 0, ZERO
    if shape == SHAPE_CAPSULE:
        return end, (0.0, 0.0, height)
    if shape == SHAPE_ELLIPSOID:
        return 0, ellipsoid_point(size, a)
    if shape == SHAPE_CONVEX:
        v = farthest_vertex(geoms, g, a)
        return v - geoms.first_vertex[g], vector(geoms.vertices, v)
    u, v, sine = rim_point(size[0], a)
    if shape == SHAPE_CYLINDER:
        return (end if abs(a[2]) < COS_CAP else NEAREST_RIM + end), (u, v, height)
    if size[1] * a[2] >= size[0] * sine - size[1] * a[2]:
        return 1, (0.0, 0.0, size[1])
    return (NEAREST_RIM if a[2] <= -COS_CAP else 0), (u, v, -size[1])


@kernel
def farthest(geoms, geom_R, geom_p, g, d):
    """World point of shape g farthest along d."""
    _, a = core_point(geoms, geom_R, g, d)
    return vector_sum(place(geom_R, geom_p, g, a), rounding(geoms, g), d)


@kernel
def support_line(geoms, geom_R, geom_p, g, d, margin):
    """The part of shape g farthest along d: a point, or a line both ends of which are within the margin.

    Returns
    -------
    name, centre, half : int, tuple, tuple
        Centre and half vector of the line in world axes; a half vector of zero for a point.
    """
    shape, size = geoms.kind[g], vector(geoms.size, g)
    a = into_body(geom_R, g, d)
    if shape == SHAPE_BOX:
        name, middle, half = box_line(size, a, margin)
    elif shape == SHAPE_CONVEX:
        name, middle, half = hull_line(geoms, g, a, margin)
    else:
        name, middle = core_point(geoms, geom_R, g, d)
        half = ZERO
        u, v, sine = rim_point(size[0], a)
        if shape == SHAPE_CONE:
            if abs(2.0 * size[1] * a[2] - size[0] * sine) <= margin:
                name, middle, half = 2, (0.5 * u, 0.5 * v, 0.0), (0.5 * u, 0.5 * v, -size[1])
        elif (shape == SHAPE_CAPSULE or shape == SHAPE_CYLINDER) and 2.0 * abs(a[2]) * size[1] <= margin:
            name, middle, half = LATERAL, (middle[0], middle[1], 0.0), (0.0, 0.0, size[1])
    centre = vector_sum(place(geom_R, geom_p, g, middle), rounding(geoms, g), d)
    return name, centre, out_of_body(geom_R, g, half)


@kernel
def box_line(size, a, margin):
    """Edge or vertex of a box farthest along a: name, centre and half vector in its axes."""
    bits = vertex_along(a)
    x, y, z = box_corner(size, bits)
    i, j, k = abs(a[0]) * size[0], abs(a[1]) * size[1], abs(a[2]) * size[2]
    if 2.0 * min(i, j, k) > margin:
        return bits, (x, y, z), ZERO
    if i <= j and i <= k:
        return EDGE + (bits & 6), (0.0, y, z), (size[0], 0.0, 0.0)
    if j <= k:
        return EDGE + 8 + (bits & 5), (x, 0.0, z), (0.0, size[1], 0.0)
    return EDGE + 16 + (bits & 3), (x, y, 0.0), (0.0, 0.0, size[2])


@kernel
def hull_line(geoms, g, a, margin):
    """Vertex of a hull farthest along a, or the edge from there that falls off least: name, centre, half vector."""
    vertices, start = geoms.vertices, geoms.first_vertex[g]
    top = farthest_vertex(geoms, g, a)
    p = vector(vertices, top)
    least, other = np.inf, -1
    for v in range(start, geoms.first_vertex[g + 1]):
        away = between(vertices, top, vertices, v)
        drop = vector_dot(a, away)
        if v == top or drop > margin:
            continue
        slope = drop / length_of(away)
        if slope < least:
            least = slope
            other = v
    if other < 0:
        return top - start, p, ZERO
    first, last = min(top, other), max(top, other)
    half = vector_sum(ZERO, 0.5, between(vertices, last, vertices, first))
    return PAIR * (first - start + 1) + last - start, vector_sum(vector(vertices, first), 1.0, half), half


# --- flat faces ---------------------------------------------------------------------------------


@kernel
def faces_of(geoms, g):
    """Number of flat faces of shape g."""
    shape = geoms.kind[g]
    if shape == SHAPE_BOX:
        return 6
    if shape == SHAPE_CYLINDER:
        return 2
    if shape == SHAPE_CONE:
        return 1
    return geoms.first_face[g + 1] - geoms.first_face[g] if shape == SHAPE_CONVEX else 0


@kernel
def face_normal(geoms, geom_R, g, face):
    """Outward normal of a flat face in world axes: of a box 2k + side, of a cylinder its side, of a cone its base."""
    shape = geoms.kind[g]
    if shape == SHAPE_CONVEX or shape == SHAPE_HEIGHT_FIELD:
        return out_of_body(geom_R, g, vector(geoms.faces, geoms.first_face[g] + face))
    n = body_axis(geom_R, g, face // 2 if shape == SHAPE_BOX else 2)
    return n if face % 2 == 1 else opposite(n)


@kernel
def facing(geoms, geom_R, g, d):
    """Flat face of shape g whose outward normal is nearest to the world direction d; NO_FLAT if none faces it."""
    shape = geoms.kind[g]
    a = into_body(geom_R, g, d)
    if shape == SHAPE_BOX:
        k = 0
        if abs(a[1]) > abs(a[0]) + 1e-9:
            k = 1
        if abs(a[2]) > abs(a[k]) + 1e-9:
            k = 2
        return 2 * k + (1 if a[k] > 0.0 else 0)
    if shape == SHAPE_CYLINDER:
        return NO_FLAT if abs(a[2]) < COS_CAP else (1 if a[2] > 0.0 else 0)
    if shape == SHAPE_CONE:
        return 0 if a[2] <= -COS_CAP else NO_FLAT
    if shape != SHAPE_CONVEX:
        return NO_FLAT
    faces = geoms.faces
    best, chosen = -np.inf, geoms.first_face[g]
    for row in range(geoms.first_face[g], geoms.first_face[g + 1]):
        along = a[0] * faces[row, 0] + a[1] * faces[row, 1] + a[2] * faces[row, 2]
        if along > best:
            best = along
            chosen = row
    return chosen - geoms.first_face[g]


@kernel
def outline(geoms, geom_R, geom_p, g, face, points, names):
    """Corners of a flat face in world coordinates, counterclockwise seen from outside; of a disc four of its rim.

    Parameters
    ----------
    points : (., 3), out
    names : int64 (.,), out
        Identities of the corners within the shape.

    Returns
    -------
    int
        Number of corners; none of a plane.
    """
    shape, size = geoms.kind[g], vector(geoms.size, g)
    if shape == SHAPE_PLANE:
        return 0
    if shape == SHAPE_CONVEX:
        row = geoms.first_face[g] + face
        start = geoms.first_corner[row]
        count = geoms.first_corner[row + 1] - start
        for i in range(count):
            names[i] = geoms.corners[start + i]
            put_vector(points, i, place(geom_R, geom_p, g, vector(geoms.vertices, geoms.first_vertex[g] + names[i])))
        return count
    side = face % 2
    for i in range(4):
        corner = i if side == 1 else 3 - i
        if shape == SHAPE_BOX:
            k = face // 2
            first = 1 if corner == 1 or corner == 2 else 0
            bits = (side << k) | (first << ((k + 1) % 3)) | ((corner // 2) << ((k + 2) % 3))
            names[i] = bits
            put_vector(points, i, place(geom_R, geom_p, g, box_corner(size, bits)))
        else:
            names[i] = corner + RIM_CORNERS * face
            x, y = size[0] * (corner == 0) - size[0] * (corner == 2), size[0] * (corner == 1) - size[0] * (corner == 3)
            put_vector(points, i, place(geom_R, geom_p, g, (x, y, size[1] if side == 1 else -size[1])))
    return RIM_CORNERS


@kernel
def best_flat(geoms, geom_R, geom_p, x, y, owner):
    """Face of ``owner`` along whose normal X and Y are separated most, and that separation; of all its faces."""
    best, chosen = -np.inf, NO_FLAT
    for face in range(faces_of(geoms, owner)):
        s = face_gap(geoms, geom_R, geom_p, x, y, owner, face)
        if s > best:
            best = s
            chosen = face
    return chosen, best


@kernel
def face_gap(geoms, geom_R, geom_p, x, y, owner, face):
    """Separation of X and Y along the normal of a face of ``owner``; -inf for no face [m]."""
    if face == NO_FLAT:
        return -np.inf
    n = face_normal(geoms, geom_R, owner, face)
    return gap_along(geoms, geom_R, geom_p, x, y, n if owner == y else opposite(n))
