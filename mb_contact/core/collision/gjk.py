# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Direction along which two convex shapes that are apart are separated most (Gilbert, Johnson and Keerthi).

The points x - y of their cores are a convex body; its point v nearest to the origin is the distance, v / |v| the
direction.  Support points w in this direction make a simplex whose nearest point is the next v.  s = v . w / |v| is the
separation along the direction and never more than |v|, so the best direction is that of the largest s.  Simplices of
curved shapes become slivers: what is computed from their sides begins with the short ones.
"""

import numpy as np

from mb_contact.core.collision.shapes import core_point, out_of_body
from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import ZERO, length_of, opposite, vector_dot, vector_product, vector_sum

LOOKS = 100  #: most support points
A, B, C = 1, 2, 4  #: corners of a triangle that its nearest point lies between


@kernel
def difference_point(geoms, geom_R, x, y, n, apart):
    """Point of the core of X less one of that of Y, farthest against n; ``apart`` is the origin of X less Y's."""
    _, a = core_point(geoms, geom_R, x, opposite(n))
    _, b = core_point(geoms, geom_R, y, n)
    return vector_sum(vector_sum(out_of_body(geom_R, x, a), -1.0, out_of_body(geom_R, y, b)), 1.0, apart)


@kernel
def nearest_on_edge(a, b):
    """(point of the segment from a to b nearest to the origin, its part of the way)."""
    e = vector_sum(b, -1.0, a)
    square = vector_dot(e, e)
    t = min(max(-vector_dot(a, e) / square, 0.0), 1.0) if square > 0.0 else 0.0
    return vector_sum(a, t, e), t


@kernel
def nearest_on_triangle(a, b, c):
    """(point of a triangle nearest to the origin, the corners that it lies between)."""
    ab, bc, ca = vector_sum(b, -1.0, a), vector_sum(c, -1.0, b), vector_sum(a, -1.0, c)
    i, j, k = vector_dot(ab, ab), vector_dot(bc, bc), vector_dot(ca, ca)
    if i >= j and i >= k:
        normal = vector_product(bc, ca)
    else:
        normal = vector_product(ca, ab) if j >= k else vector_product(ab, bc)
    square = vector_dot(normal, normal)
    if square > 0.0:
        p = vector_sum(ZERO, vector_dot(normal, a) / square, normal)
        pa, pb, pc = vector_sum(a, -1.0, p), vector_sum(b, -1.0, p), vector_sum(c, -1.0, p)
        if (
            vector_dot(normal, vector_product(pb, pc)) > 0.0
            and vector_dot(normal, vector_product(pc, pa)) > 0.0
            and vector_dot(normal, vector_product(pa, pb)) > 0.0
        ):
            return p, A + B + C
    best, t = nearest_on_edge(a, b)
    corners = A if t == 0.0 else (B if t == 1.0 else A + B)
    p, t = nearest_on_edge(b, c)
    if vector_dot(p, p) < vector_dot(best, best):
        best, corners = p, (B if t == 0.0 else (C if t == 1.0 else B + C))
    p, t = nearest_on_edge(c, a)
    if vector_dot(p, p) < vector_dot(best, best):
        best, corners = p, (C if t == 0.0 else (A if t == 1.0 else C + A))
    return best, corners


@kernel
def best_direction(geoms, geom_R, x, y, n, apart, enough):
    """Unit vector from Y to X along which cores that are apart are separated most; n where they meet.

    Parameters
    ----------
    n : tuple
        To begin with.
    apart : tuple
        Origin of X less that of Y [m].
    enough : float
        By how much less than that of the best one its separation may be [m].
    """
    a = difference_point(geoms, geom_R, x, y, n, apart)
    b, c, v, best = a, a, a, -np.inf
    size = length_of(v)
    for _ in range(LOOKS):
        if not size > 0.0:
            break
        along = vector_sum(ZERO, 1.0 / size, v)
        d = difference_point(geoms, geom_R, x, y, along, apart)
        s = vector_dot(along, d)
        if s > best:
            best, n = s, along
        if size - s <= enough:
            break
        p, corners = nearest_on_triangle(a, b, d)
        of = 0
        other, its = nearest_on_triangle(b, c, d)
        if vector_dot(other, other) < vector_dot(p, p):
            p, corners, of = other, its, 1
        other, its = nearest_on_triangle(c, a, d)
        if vector_dot(other, other) < vector_dot(p, p):
            p, corners, of = other, its, 2
        if not length_of(p) < size:
            break
        v, size = p, length_of(p)
        if of > 0:
            a, b = (b, c) if of == 1 else (c, a)
        a, b, c = _kept(a, b, d, corners)
    return n


@kernel
def _kept(a, b, d, corners):
    """The corners that a nearest point lies between, once or more."""
    if corners & C == 0:
        d = b if corners & B else a
    if corners & A == 0:
        a = d
    return a, (b if corners & B else d), d
