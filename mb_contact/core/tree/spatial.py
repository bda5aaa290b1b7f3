# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Small rigid-body building blocks: vectors, spatial vectors, matrices and inertias.

Arrays of vectors and matrices are taken with an index.  What a sweep computes with stands in tuples of scalars: vectors
(3), spatial vectors (6, angular part first) and 3 x 3 matrices by rows (9), because LLVM cannot tell that a store into
one array leaves another alone.  Symmetric 6 x 6 matrices [[A, B], [B*, C]] are packed as 21 numbers, A 00 01 02 11 12
22, B by rows, C as A, and as the three tuples A, B, C.
"""

import numpy as np

from mb_contact.core.jit import sweep

ZERO = (0.0, 0.0, 0.0)
STILL = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@sweep
def vector(A, k):
    """The first three entries of ``A[k]``: a vector, or the angular part of a spatial vector."""
    return A[k, 0], A[k, 1], A[k, 2]


@sweep
def linear(A, k):
    """Linear part of the spatial vector ``A[k]``."""
    return A[k, 3], A[k, 4], A[k, 5]


@sweep
def spatial(A, k):
    """Spatial vector ``A[k]``."""
    return A[k, 0], A[k, 1], A[k, 2], A[k, 3], A[k, 4], A[k, 5]


@sweep
def matrix(A, k):
    """3 x 3 matrix ``A[k]`` by rows."""
    return A[k, 0, 0], A[k, 0, 1], A[k, 0, 2], A[k, 1, 0], A[k, 1, 1], A[k, 1, 2], A[k, 2, 0], A[k, 2, 1], A[k, 2, 2]


@sweep
def put_vector(A, k, a):
    """``A[k, :3]`` := a."""
    A[k, 0], A[k, 1], A[k, 2] = a


@sweep
def put_spatial(A, k, a):
    """``A[k]`` := a."""
    A[k, 0], A[k, 1], A[k, 2], A[k, 3], A[k, 4], A[k, 5] = a


@sweep
def put_matrix(A, k, a):
    """``A[k]`` := a, 3 x 3 by rows."""
    A[k, 0, 0], A[k, 0, 1], A[k, 0, 2] = a[:3]
    A[k, 1, 0], A[k, 1, 1], A[k, 1, 2] = a[3:6]
    A[k, 2, 0], A[k, 2, 1], A[k, 2, 2] = a[6:]


@sweep
def add_vector(A, k, a):
    """``A[k, :3]`` += a."""
    put_vector(A, k, vector_sum(vector(A, k), 1.0, a))


@sweep
def add_spatial(A, k, a):
    """``A[k]`` += a."""
    put_spatial(A, k, spatial_sum(spatial(A, k), 1.0, a))


@sweep
def between(B, j, A, i):
    """``B[j] - A[i]``: from the point ``A[i]`` to the point ``B[j]``."""
    return B[j, 0] - A[i, 0], B[j, 1] - A[i, 1], B[j, 2] - A[i, 2]


@sweep
def unit_vector(c):
    """Axis c of three."""
    return 1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0


@sweep
def unit_twist(i):
    """Spatial vector of one along component i."""
    return unit_vector(i) + unit_vector(i - 3)


@sweep
def vector_sum(a, t, b):
    """``a + t b`` of two vectors."""
    return a[0] + t * b[0], a[1] + t * b[1], a[2] + t * b[2]


@sweep
def vector_dot(a, b):
    """``a . b`` of two vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@sweep
def length_of(a):
    """``|a|`` of a vector."""
    return np.sqrt(vector_dot(a, a))


@sweep
def unit_of(a):
    """(a over its length, its length) of a vector; zero where that is zero."""
    length = length_of(a)
    return (vector_sum(ZERO, 1.0 / length, a) if length > 0.0 else ZERO), length


@sweep
def opposite(a):
    """``-a`` of a vector."""
    return -a[0], -a[1], -a[2]


@sweep
def vector_product(a, b):
    """``a x b`` of two vectors."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@sweep
def spatial_sum(a, t, b):
    """``a + t b`` of two spatial vectors."""
    return a[0] + t * b[0], a[1] + t * b[1], a[2] + t * b[2], a[3] + t * b[3], a[4] + t * b[4], a[5] + t * b[5]


@sweep
def spatial_dot(a, b):
    """``a . b`` of two spatial vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@sweep
def spatial_at(X, at):
    """Spatial vector ``X[at:at + 6]`` of an array."""
    return X[at], X[at + 1], X[at + 2], X[at + 3], X[at + 4], X[at + 5]


@sweep
def dot_at(X, at, y):
    """``X[at:at + 6] . y`` of an array and a spatial vector."""
    return spatial_dot(spatial_at(X, at), y)


@sweep
def moved(V, l):
    """``phi* V = [w; v + w x l]``: the velocity V at the point l further on."""
    return V[:3] + vector_sum(V[3:], 1.0, vector_product(V[:3], l))


@sweep
def gathered(f, l):
    """``phi f = [n + l x f; f]``: the force f, which acts at l, about the origin."""
    return vector_sum(f[:3], 1.0, vector_product(l, f[3:])) + f[3:]


@sweep
def wrench_at(r, f):
    """``[r x f; f]``: the force f that acts at r as a spatial force about the origin."""
    return vector_product(r, f) + f


@sweep
def motion_cross(a, b):
    """``a x b`` of two twists: [w_a x w_b; w_a x v_b + v_a x w_b]."""
    v = vector_sum(vector_product(a[:3], b[3:]), 1.0, vector_product(a[3:], b[:3]))
    return vector_product(a[:3], b[:3]) + v


@sweep
def force_cross(a, f):
    """``a x* f`` of a twist and a force: [w x n + v x l; w x l]."""
    n = vector_sum(vector_product(a[:3], f[:3]), 1.0, vector_product(a[3:], f[3:]))
    return n + vector_product(a[:3], f[3:])


@sweep
def momentum(I, mc, m, k, V):
    """``M(k) V = [I w + m c x v; m v + w x m c]``: the momentum of a rigid body at velocity V."""
    w = V[:3]
    v = V[3:]
    c = vector(mc, k)
    n = vector_sum(turned(matrix(I, k), w), 1.0, vector_product(c, v))
    return n + vector_sum(vector_product(w, c), m, v)


@sweep
def centripetal(w, r):
    """``w x (w x r)``."""
    return vector_product(w, vector_product(w, r))


@sweep
def spin(V, k):
    """Angular velocity of body k; -1 is the inertial frame, down to body_point."""
    if k < 0:
        return ZERO
    return vector(V, k)


@sweep
def point_velocity(V, origin, k, point):
    """Velocity of the point of body k that is at ``point``."""
    if k < 0:
        return ZERO
    r = vector_sum(point, -1.0, vector(origin, k))
    return vector_sum(linear(V, k), 1.0, vector_product(vector(V, k), r))


@sweep
def point_bias(V, origin, k, point):
    """Centripetal acceleration of the point of body k that is at ``point``."""
    if k < 0:
        return ZERO
    return centripetal(vector(V, k), vector_sum(point, -1.0, vector(origin, k)))


@sweep
def body_vector(R, k, a):
    """World components of the vector a of body k."""
    if k < 0:
        return a
    return turned(matrix(R, k), a)


@sweep
def body_point(R, p, k, a):
    """World place of the point a of body k."""
    if k < 0:
        return a
    return vector_sum(vector(p, k), 1.0, turned(matrix(R, k), a))


@sweep
def turned(r, a):
    """``r a`` with the matrix r by rows."""
    x, y, z = a
    return r[0] * x + r[1] * y + r[2] * z, r[3] * x + r[4] * y + r[5] * z, r[6] * x + r[7] * y + r[8] * z


@sweep
def product(r, b):
    """``r b`` of two matrices by rows."""
    return (
        r[0] * b[0] + r[1] * b[3] + r[2] * b[6],
        r[0] * b[1] + r[1] * b[4] + r[2] * b[7],
        r[0] * b[2] + r[1] * b[5] + r[2] * b[8],
        r[3] * b[0] + r[4] * b[3] + r[5] * b[6],
        r[3] * b[1] + r[4] * b[4] + r[5] * b[7],
        r[3] * b[2] + r[4] * b[5] + r[5] * b[8],
        r[6] * b[0] + r[7] * b[3] + r[8] * b[6],
        r[6] * b[1] + r[7] * b[4] + r[8] * b[7],
        r[6] * b[2] + r[7] * b[5] + r[8] * b[8],
    )


@sweep
def transposed(b):
    """``b*`` of a matrix by rows."""
    return b[0], b[3], b[6], b[1], b[4], b[7], b[2], b[5], b[8]


@sweep
def packed(P, k):
    """Blocks A, B, C of the packed matrix ``P[k]``."""
    a = P[k, 0], P[k, 1], P[k, 2], P[k, 3], P[k, 4], P[k, 5]
    b = P[k, 6], P[k, 7], P[k, 8], P[k, 9], P[k, 10], P[k, 11], P[k, 12], P[k, 13], P[k, 14]
    return a, b, (P[k, 15], P[k, 16], P[k, 17], P[k, 18], P[k, 19], P[k, 20])


@sweep
def put_packed(P, k, a, b, c):
    """``P[k]`` := [[A, B], [B*, C]]."""
    P[k, 0], P[k, 1], P[k, 2], P[k, 3], P[k, 4], P[k, 5] = a
    P[k, 6], P[k, 7], P[k, 8], P[k, 9], P[k, 10], P[k, 11], P[k, 12], P[k, 13], P[k, 14] = b
    P[k, 15], P[k, 16], P[k, 17], P[k, 18], P[k, 19], P[k, 20] = c


@sweep
def packed_product(a, b, c, h):
    """``[[A, B], [B*, C]] h``."""
    u = (
        a[0] * h[0] + a[1] * h[1] + a[2] * h[2],
        a[1] * h[0] + a[3] * h[1] + a[4] * h[2],
        a[2] * h[0] + a[4] * h[1] + a[5] * h[2],
        b[0] * h[0] + b[3] * h[1] + b[6] * h[2],
        b[1] * h[0] + b[4] * h[1] + b[7] * h[2],
        b[2] * h[0] + b[5] * h[1] + b[8] * h[2],
    )
    if h[3] == 0.0 and h[4] == 0.0 and h[5] == 0.0:  # a pure rotation
        return u
    return (
        u[0] + (b[0] * h[3] + b[1] * h[4] + b[2] * h[5]),
        u[1] + (b[3] * h[3] + b[4] * h[4] + b[5] * h[5]),
        u[2] + (b[6] * h[3] + b[7] * h[4] + b[8] * h[5]),
        u[3] + (c[0] * h[3] + c[1] * h[4] + c[2] * h[5]),
        u[4] + (c[1] * h[3] + c[3] * h[4] + c[4] * h[5]),
        u[5] + (c[2] * h[3] + c[4] * h[4] + c[5] * h[5]),
    )


@sweep
def less_outer(b, x, y):
    """``B - x y*`` of a matrix by rows and two vectors."""
    return (
        b[0] - x[0] * y[0],
        b[1] - x[0] * y[1],
        b[2] - x[0] * y[2],
        b[3] - x[1] * y[0],
        b[4] - x[1] * y[1],
        b[5] - x[1] * y[2],
        b[6] - x[2] * y[0],
        b[7] - x[2] * y[1],
        b[8] - x[2] * y[2],
    )


@sweep
def packed_shift(a, b, c, l):
    """``phi P phi*``, phi = [[1, l~], [0, 1]]: C' = C, B' = B + l~ C, A' = A + l~ B* - B' l~.

    ``phi* P phi`` is the same with the blocks the other way round: of C, B*, A and -l.
    """
    x, y, z = l
    e0 = b[0] + (y * c[2] - z * c[1])
    e1 = b[1] + (y * c[4] - z * c[3])
    e2 = b[2] + (y * c[5] - z * c[4])
    e3 = b[3] + (z * c[0] - x * c[2])
    e4 = b[4] + (z * c[1] - x * c[4])
    e5 = b[5] + (z * c[2] - x * c[5])
    e6 = b[6] + (x * c[1] - y * c[0])
    e7 = b[7] + (x * c[3] - y * c[1])
    e8 = b[8] + (x * c[4] - y * c[2])
    d = (
        a[0] + (y * b[2] - z * b[1]) - (e1 * z - e2 * y),
        a[1] + (y * b[5] - z * b[4]) - (e2 * x - e0 * z),
        a[2] + (y * b[8] - z * b[7]) - (e0 * y - e1 * x),
        a[3] + (z * b[3] - x * b[5]) - (e5 * x - e3 * z),
        a[4] + (z * b[6] - x * b[8]) - (e3 * y - e4 * x),
        a[5] + (x * b[7] - y * b[6]) - (e6 * y - e7 * x),
    )
    return d, (e0, e1, e2, e3, e4, e5, e6, e7, e8), c
