# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Colours of what rays have met: smooth normals, and rays from the lamp for shadows; Python's lock is not held."""

import math

from mb_contact.core.jit import kernel, unlocked
from mb_contact.core.rays.cast import turned, turned_vector
from mb_contact.core.rays.light import GLOSS, shaded, sky
from mb_contact.core.rays.shapes import normal
from mb_contact.core.tree.spatial import vector, vector_dot, vector_product, vector_sum
from mb_contact.types import SHAPE_PLANE


@unlocked
def aim(rays, t, axes, origin, lamp, out, length, axis, spread):
    """Rays from a lamp to what other rays have met; behind them t = 1.

    Parameters
    ----------
    rays, t : (c, r, 3), (c, r)
        What they have met; a ray that has met nothing is given the first one's of its tile.
    axes, origin : (3, 3), (1, 3)
        Of the rays' frame in the world [m].
    lamp : (1, 3)
        In the world [m].
    out, length, axis, spread : (c, r, 3), (c, r), (c, 3), (c,)
        As ``Tiles`` has them, world axes.
    """
    x, y, z = vector(origin, 0)
    for c in range(rays.shape[0]):
        first = -1
        axis[c, 0], axis[c, 1], axis[c, 2] = 0.0, 0.0, 0.0
        for r in range(rays.shape[1]):
            if t[c, r] < math.inf:
                d = turned(axes, rays[c], r)
                out[c, r, 0] = x + t[c, r] * d[0] - lamp[0, 0]
                out[c, r, 1] = y + t[c, r] * d[1] - lamp[0, 1]
                out[c, r, 2] = z + t[c, r] * d[2] - lamp[0, 2]
                far = length_of(vector(out[c], r))
                length[c, r] = far
                for a in range(3):
                    axis[c, a] += out[c, r, a] / far
                first = r if first < 0 else first
        around = length_of(vector(axis, c))
        least = 1.0
        for r in range(rays.shape[1]):
            if first < 0:
                out[c, r, 0], out[c, r, 1], out[c, r, 2], length[c, r] = 0.0, 0.0, 1.0, 1.0
            elif t[c, r] == math.inf:
                length[c, r] = length[c, first]
                for a in range(3):
                    out[c, r, a] = out[c, first, a]
            elif around > 0.0:
                least = min(least, vector_dot(vector(out[c], r), vector(axis, c)) / (length[c, r] * around))
        spread[c] = math.acos(max(-1.0, least)) + 1e-6 if first < 0 or around > 0.0 else math.pi
        axis[c, 2] += 1.0 if first < 0 else 0.0  # a tile that has met nothing: any narrow cone
        if around > 0.0:
            for a in range(3):
                axis[c, a] /= around


@unlocked
def shade(kind, size, turn, origin, triangles, solid, colours, R, axes, rays, t, who, reached, out):
    """Colours of what rays have met, and of the sky.

    Parameters
    ----------
    kind, size : int64 (s,), (s, 3)
        Of the shapes; behind them stand meshes, in the arrays of what follows.
    turn, origin : (s + m, 3, 3), (s + m, 3)
        As ``cast`` has them.
    triangles : (n, 6, 3)
        Of the meshes: corners [m], and unit normals there.
    solid : int64 (s + n,)
        Mesh of each triangle.
    colours : (s + n, 3)
        Red, green and blue, of all that ``who`` names.
    R, axes : (s + m, 3, 3), (3, 3)
        Axes of the solids, and of the rays' frame, in the world.
    rays, t, who : (c, r, 3), (c, r), int64 (c, r)
    reached : (c, r)
        Part of the lamp that is seen from there.
    out : single precision (c, r, 3)
    """
    shapes = kind.shape[0]
    for c in range(rays.shape[0]):
        for r in range(rays.shape[1]):
            d, w = turned(axes, rays[c], r), who[c, r]
            if w < 0:
                out[c, r, 0], out[c, r, 1], out[c, r, 2] = sky(d)
                continue
            s = w if w < shapes else solid[w]
            own = turned(turn[s], rays[c], r)
            x, y, z = vector(origin, s)
            at = (x + t[c, r] * own[0], y + t[c, r] * own[1], z + t[c, r] * own[2])
            gloss = GLOSS
            if w < shapes:
                n = normal(kind[s], vector(size, s), at)
                side = -vector_dot(n, own)
                gloss = 0.0 if kind[s] == SHAPE_PLANE else GLOSS
            else:
                n, side = smooth_normal(triangles[w - shapes], at, own)
            long = max(length_of(n), 1e-300) * (1.0 if side >= 0.0 else -1.0)
            n = turned_vector(R[s], (n[0] / long, n[1] / long, n[2] / long))
            colour = vector(colours, w)
            out[c, r, 0], out[c, r, 1], out[c, r, 2] = shaded(colour, n, d, reached[c, r], gloss)


@kernel
def smooth_normal(triangle, at, d):
    """Normal between those of a triangle's corners at one of its points, and how much its face looks against d."""
    a, b, c = vector(triangle, 0), vector(triangle, 1), vector(triangle, 2)
    face = vector_product(vector_sum(b, -1.0, a), vector_sum(c, -1.0, a))
    square = max(vector_dot(face, face), 1e-300)
    u = vector_dot(vector_product(vector_sum(c, -1.0, b), vector_sum(at, -1.0, b)), face) / square
    v = vector_dot(vector_product(vector_sum(a, -1.0, c), vector_sum(at, -1.0, c)), face) / square
    u, v = min(1.0, max(0.0, u)), min(1.0, max(0.0, v))
    p, q, r = vector(triangle, 3), vector(triangle, 4), vector(triangle, 5)
    n = vector_sum(vector_sum((u * p[0], u * p[1], u * p[2]), v, q), 1.0 - u - v, r)
    return n, -vector_dot(face, d)


@kernel
def length_of(a):
    """``|a|`` of a vector."""
    return math.sqrt(vector_dot(a, a))
