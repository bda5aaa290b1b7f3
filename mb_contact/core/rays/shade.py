# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Colours of what rays have met: smooth normals, and rays from the lamp for shadows; Python's lock is not held."""

import math

from mb_contact.core.jit import kernel, unlocked
from mb_contact.core.rays.cast import turned, turned_vector
from mb_contact.core.rays.light import GLOSS, HORIZON, shaded, sky
from mb_contact.core.rays.shapes import normal
from mb_contact.core.tree.spatial import length_of, vector, vector_dot, vector_product, vector_sum
from mb_contact.types import SHAPE_PLANE

LIFTED, SLACK = 1.5, 8.0  #: above a surface from which the lamp is looked for, and below what it sees [its pixels]


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


@unlocked
def draw_triangles(screen, nearness, which, near):
    """Draw triangles into a depth buffer.

    Parameters
    ----------
    screen, nearness : (t, 3, 2), (t, 3)
        Of their corners: columns and rows, and what is larger of the nearer one, linear on the screen.
    which, near : int64 (h, w), (h, w)
        Nearest triangle of each pixel, and its nearness in the pixel's middle; what is not nearer stays.
    """
    for row in range(screen.shape[0]):
        ax, ay = screen[row, 0]
        bx, by = screen[row, 1]
        cx, cy = screen[row, 2]
        whole = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if abs(whole) < 1e-12:
            continue
        left, right = max(0.0, math.floor(min(ax, bx, cx))), min(float(near.shape[1]), math.ceil(max(ax, bx, cx)))
        top, bottom = max(0.0, math.floor(min(ay, by, cy))), min(float(near.shape[0]), math.ceil(max(ay, by, cy)))
        for i in range(int(top), int(bottom)):
            y = i + 0.5
            for j in range(int(left), int(right)):
                x = j + 0.5
                u = ((cx - bx) * (y - by) - (cy - by) * (x - bx)) / whole
                v = ((ax - cx) * (y - cy) - (ay - cy) * (x - cx)) / whole
                z = u * nearness[row, 0] + v * nearness[row, 1] + (1.0 - u - v) * nearness[row, 2]
                if u >= 0.0 and v >= 0.0 and u + v <= 1.0 and z > near[i, j]:
                    near[i, j], which[i, j] = z, row


@unlocked
def paint(pixels, hit, colours, triangles, near, rays, eye, depth, tiles, frame, at, soft, middle, out):
    """Colours of a picture's rays, of which a depth buffer says what they meet, under a lamp with another one.

    Parameters
    ----------
    pixels, hit : int64 (k,), int64 (k,)
        Rays that meet something, in ascending order, and its triangle; behind the last one a floor.
    colours : (k, 3)
        Of what they meet.
    triangles : (t, 6, 3)
        Corners [m] and unit normals there.
    near : (n,)
        The place that a ray meets is the eye's plus the ray over this [1/m].
    rays, eye : (n, 3), (1, 3)
        World axes [m].
    depth : (m, s, s)
        What the lamp sees, ever more of it: heights above the lowest of all along ``frame``'s third axis [m], 0 where
        nothing.
    tiles : (m, 2, t, t)
        Highest and lowest of each ``depth`` in squares of ``soft`` + 1 pixels.
    frame, at : (3, 3), (m, 4)
        Axes of the lamp as columns; of each ``depth`` lowest places [m] on the first two, and on the third, and pixels
        a metre.
    soft : int
        Side of the square around a place over which the edges of shadows are softened, odd [pixels of ``depth``].
    middle : (3,)
        Of the floor, which fades into the horizon, and half of its side [m].
    out : (n, 3)
    """
    k = 0
    for i in range(rays.shape[0]):
        d = vector(rays, i)
        if k >= pixels.shape[0] or pixels[k] != i:
            out[i, 0], out[i, 1], out[i, 2] = sky(d)
            continue
        floor = hit[k] == triangles.shape[0]
        point = vector_sum(vector(eye, 0), 1.0 / near[i], d)
        n, side = ((0.0, 0.0, 1.0), -d[2]) if floor else smooth_normal(triangles[hit[k]], point, d)
        long = max(length_of(n), 1e-300) * (1.0 if side >= 0.0 else -1.0)
        n = (n[0] / long, n[1] / long, n[2] / long)
        reached = part_reached(depth, tiles, frame, at, soft, point, n)
        colour = shaded(vector(colours, k), n, d, reached, 0.0 if floor else GLOSS)
        mist = 0.0
        if floor:
            far = math.hypot(point[0] - middle[0], point[1] - middle[1]) / middle[2]
            mist = min(1.0, max(0.0, (far - 0.25) / 0.75)) ** 2
        for a in range(3):
            out[i, a] = (1.0 - mist) * colour[a] + mist * HORIZON[a]
        k += 1


@kernel
def part_reached(depth, tiles, frame, at, soft, point, n):
    """Part of the lamp that is seen from a point of a surface with normal n, by the finest ``depth`` that has it."""
    x = frame[0, 0] * point[0] + frame[1, 0] * point[1] + frame[2, 0] * point[2]
    y = frame[0, 1] * point[0] + frame[1, 1] * point[1] + frame[2, 1] * point[2]
    last, pixels = depth.shape[0] - 1, depth.shape[1]
    for k in range(last):
        column, row = (x - at[k, 0]) * at[k, 3], (y - at[k, 1]) * at[k, 3]
        if min(column, row) >= soft and max(column, row) < pixels - soft:
            return part_seen(depth[k], tiles[k], frame, at[k], soft, vector_sum(point, LIFTED / at[k, 3], n))
    return part_seen(depth[last], tiles[last], frame, at[last], soft, vector_sum(point, LIFTED / at[last, 3], n))


@kernel
def part_seen(depth, tiles, frame, at, soft, point):
    """Part of the lamp that is seen from a point, by one depth buffer: the mean over a square, which has no steps."""
    x = frame[0, 0] * point[0] + frame[1, 0] * point[1] + frame[2, 0] * point[2]
    y = frame[0, 1] * point[0] + frame[1, 1] * point[1] + frame[2, 1] * point[2]
    z = frame[0, 2] * point[0] + frame[1, 2] * point[1] + frame[2, 2] * point[2]
    scale, pixels = at[3], depth.shape[0]
    column, row = (x - at[0]) * scale, (y - at[1]) * scale
    if min(column, row) < 0.0 or max(column, row) >= pixels:
        return 1.0
    deep = z - at[2] + SLACK / scale
    left, top = math.floor(column - 0.5 * soft), math.floor(row - 0.5 * soft)
    lit, dark, size = True, True, soft + 1
    for i in range(max(0, int(top)) // size, min(pixels - 1, int(top) + soft) // size + 1):
        for j in range(max(0, int(left)) // size, min(pixels - 1, int(left) + soft) // size + 1):
            lit = lit and (tiles[0, i, j] <= deep or tiles[0, i, j] == 0.0)
            dark = dark and tiles[1, i, j] > deep and tiles[1, i, j] != 0.0
    if lit or dark:
        return 1.0 if lit else 0.0
    reached = 0.0
    across, down = column - 0.5 * soft - left, row - 0.5 * soft - top  # of the first pixels what is outside the square
    for i in range(soft + 1):
        high = 1.0 - down if i == 0 else down if i == soft else 1.0
        for j in range(soft + 1):
            wide = 1.0 - across if j == 0 else across if j == soft else 1.0
            reached += high * wide * lamp_sees(depth, int(top) + i, int(left) + j, deep)
    return reached / (soft * soft)


@kernel
def lamp_sees(depth, row, column, deep):
    """1 where nothing is above a height in a pixel of the lamp's depth buffer, or the nearest one in it; else 0."""
    last = depth.shape[0] - 1
    over = depth[min(last, max(0, row)), min(last, max(0, column))]
    return 1 if over <= deep or over == 0.0 else 0


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
