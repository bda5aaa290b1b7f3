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
    return turned_vector(turn, vector(rays, r))


@kernel
def turned_vector(turn, a):
    """``turn a`` of axes (3, 3) and a vector."""
    x, y, z = a
    return (
        turn[0, 0] * x + turn[0, 1] * y + turn[0, 2] * z,
        turn[1, 0] * x + turn[1, 1] * y + turn[1, 2] * z,
        turn[2, 0] * x + turn[2, 1] * y + turn[2, 2] * z,
    )


@unlocked
def turn_tiles(turn, rays, chosen, out):
    """Directions of the ``chosen`` tiles in another frame, (k r, 3) of single precision."""
    for i in range(chosen.shape[0]):
        for r in range(rays.shape[1]):
            x, y, z = turned(turn, rays[chosen[i]], r)
            at = i * rays.shape[1] + r
            out[at, 0], out[at, 1], out[at, 2] = x, y, z


@unlocked
def meet_triangles(which, normals, offset, turn, o, rays, chosen, first, t, who):
    """Places of rays on the planes of their triangles, where these are nearer than ``t``.

    Parameters
    ----------
    which : int32 (k r,)
        Triangle that each ray of the ``chosen`` tiles meets first, -1 where none.
    normals : (n, 3)
        Of the triangles, of one length.
    offset : (n,)
        Their planes: normal times x [m].
    turn, o : (3, 3), (1, 3)
        Axes of the rays' frame in that of the mesh, their origin there [m].
    rays, chosen, t, who
        As ``cast`` and ``turn_tiles`` have them.
    first : int
        Number of the mesh's first triangle in ``who``.
    """
    x, y, z = vector(o, 0)
    for i in range(chosen.shape[0]):
        c = chosen[i]
        for r in range(rays.shape[1]):
            k = which[i * rays.shape[1] + r]
            if k < 0:
                continue
            d, (a, b, e) = turned(turn, rays[c], r), vector(normals, k)
            along = a * d[0] + b * d[1] + e * d[2]
            if along == 0.0:
                continue
            found = (offset[k] - a * x - b * y - e * z) / along
            if 0.0 < found < t[c, r]:
                t[c, r], who[c, r] = found, first + k


@unlocked
def surface_normals(kind, size, turn, origin, normals, solid, R, rays, t, who, out):
    """Normals of what rays have met, world axes, of any length; 0 of what has met nothing.

    Parameters
    ----------
    kind, size, turn, origin, rays, t, who
        As ``cast`` has them; ``turn`` and ``origin`` of meshes too.
    normals : (n, 3)
        Of the triangles of all meshes.
    solid : int64 (s + n,)
        Mesh of each triangle.
    R : (s + m, 3, 3)
        Axes of the solids in the world.
    out : (c, r, 3)
    """
    shapes = kind.shape[0]
    for c in range(rays.shape[0]):
        for r in range(rays.shape[1]):
            w, n = who[c, r], (0.0, 0.0, 0.0)
            if w >= 0:
                s = w if w < shapes else solid[w]
                d, (x, y, z) = turned(turn[s], rays[c], r), vector(origin, s)
                at = (x + t[c, r] * d[0], y + t[c, r] * d[1], z + t[c, r] * d[2])
                own = normal(kind[s], vector(size, s), at) if w < shapes else vector(normals, w - shapes)
                n = turned_vector(R[s], own)
            out[c, r, 0], out[c, r, 1], out[c, r, 2] = n
