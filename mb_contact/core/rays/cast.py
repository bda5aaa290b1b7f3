# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Many rays from one point against all shapes of a scene, tile by tile; Python's lock is not held."""

import math

from mb_contact.core.jit import kernel, unlocked
from mb_contact.core.rays.shapes import distance, normal
from mb_contact.core.tree.spatial import vector


@unlocked
def cast(kind, size, turn, origin, towards, width, near, order, rays, axis, spread, t, who):
    """Nearest shape of each ray; shapes are s, tiles c, of r rays each.

    Parameters
    ----------
    kind : int64 (s,)
        SHAPE_*.
    size : (s, 3)
    turn : (s, 3, 3)
        Axes of the rays' frame in that of each shape.
    origin : (s, 3)
        Of the rays, in the frame of each shape [m].
    towards : (s, 3)
        Unit vector in the rays' frame to the middle of each shape's bounding ball.
    width : (s,)
        Angle under which that ball is seen, from its middle on; pi from inside [rad].
    near : (s,)
        Distance to the ball [m].
    order : int64 (s,)
        The shapes by this distance.
    rays : (c, r, 3)
        Directions.
    axis : (c, 3)
        Middle of each tile's cone, unit vector in the rays' frame.
    spread : (c,)
        Angle of this cone, from its axis on [rad].
    t : (c, r)
        What they have met so far (inf: nothing), and after it.
    who : int64 (c, r)
        Number of the shape; as it was where none is nearer than ``t`` was.
    """
    for c in range(rays.shape[0]):
        reach = math.inf
        for i in range(order.shape[0]):
            s = order[i]
            if near[s] >= reach:
                break
            x, y, z = vector(axis, c)
            cosine = x * towards[s, 0] + y * towards[s, 1] + z * towards[s, 2]
            if math.acos(min(1.0, max(-1.0, cosine))) <= spread[c] + width[s]:
                reach = _tile(kind[s], vector(size, s), turn[s], vector(origin, s), s, rays[c], t[c], who[c])


@kernel
def _tile(kind, size, turn, o, s, rays, t, who):
    """Shape s against one tile; how far its farthest ray still reaches [m]."""
    reach = 0.0
    for r in range(rays.shape[0]):
        found = distance(kind, size, o, turned(turn, rays, r))
        if found < t[r]:
            t[r], who[r] = found, s
        x, y, z = vector(rays, r)
        reach = max(reach, t[r] * math.sqrt(x * x + y * y + z * z))
    return reach


@kernel
def turned(turn, rays, r):
    """Ray r in another frame."""
    x, y, z = vector(rays, r)
    return (
        turn[0, 0] * x + turn[0, 1] * y + turn[0, 2] * z,
        turn[1, 0] * x + turn[1, 1] * y + turn[1, 2] * z,
        turn[2, 0] * x + turn[2, 1] * y + turn[2, 2] * z,
    )


@unlocked
def facing(kind, size, turn, origin, rays, t, who, out):
    """Cosine ``out`` (c, r) between each ray and the normal of the shape that it has met; others stay as they are."""
    for c in range(rays.shape[0]):
        for r in range(rays.shape[1]):
            s = who[c, r]
            if s < 0 or s >= kind.shape[0]:
                continue
            d, o = turned(turn[s], rays[c], r), vector(origin, s)
            at = (o[0] + t[c, r] * d[0], o[1] + t[c, r] * d[1], o[2] + t[c, r] * d[2])
            n = normal(kind[s], vector(size, s), at)
            along = abs(n[0] * d[0] + n[1] * d[1] + n[2] * d[2])
            square = (n[0] ** 2 + n[1] ** 2 + n[2] ** 2) * (d[0] ** 2 + d[1] ** 2 + d[2] ** 2)
            out[c, r] = along / math.sqrt(square) if square > 0.0 else 1.0
