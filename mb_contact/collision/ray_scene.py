# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What rays meet first: shapes in closed form, triangles through Embree.

Embree works in single precision and is asked which triangle a ray meets, not where: the place is that of the
triangle's plane, in double precision.  Solids stand in the frames of their bodies and are never rebuilt; rays are
turned into these frames.  They come in tiles: a tile is held against those solids alone whose bounding ball is in its
cone, and nearer than what it has met.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mb_contact.checks import Floats
from mb_contact.core.rays.cast import cast, meet_triangles, surface_normals, turn_tiles
from mb_contact.core.rays.light import GROUND, LAMP
from mb_contact.core.rays.shade import aim, shade
from mb_contact.errors import CollisionError
from mb_contact.model.shapes.normals import corner_normals
from mb_contact.types import SHAPE_PLANE, WORLD

AWAY, WIDE = 200.0, 6.0  #: distance and radius of the lamp, of half the scene
BIAS = 3e-4  #: of half the scene: what is as near to a surface throws no shadow on it
CHUNK = 128  #: tiles that are handed to Embree at a time, so that they stay in the processor's cache
TILE = 16  #: rows and columns of a tile of rays; rings that are fewer have longer tiles
INSTALL = "rays meet meshes through Embree: pip install mb_contact[cameras]"


class Tiles(NamedTuple):
    """The rays of a grid in tiles; those at the grid's end hold some rays twice."""

    rays: Floats  #: (c, r, 3), in the sensor's frame
    length: Floats  #: (c, r), of each
    axis: Floats  #: (c, 3), unit: middle of each tile's cone
    spread: Floats  #: (c,), angle between the axis and the farthest ray [rad]
    place: npt.NDArray[np.int64]  #: (rows, columns), where each ray of the grid stands among those of the tiles


def tiles(directions: Floats) -> Tiles:
    """Rays of a grid in tiles.

    Parameters
    ----------
    directions : ndarray (rows, columns, 3)
        Of any length, in the sensor's frame.

    Returns
    -------
    Tiles
    """
    rows, columns = directions.shape[:2]
    height = min(TILE, rows)
    width = min(TILE * TILE // height, columns)
    index = np.arange(rows * columns).reshape(rows, columns)
    index = np.pad(index, ((0, -rows % height), (0, -columns % width)), mode="edge")
    down, along = index.shape[0] // height, index.shape[1] // width
    index = index.reshape(down, height, along, width).swapaxes(1, 2).reshape(down * along, height * width)
    place = np.empty(rows * columns, dtype=np.int64)
    place[index.ravel()] = np.arange(index.size)
    tiled = np.ascontiguousarray(directions.reshape(-1, 3)[index])
    length = np.sqrt(np.einsum("tri,tri->tr", tiled, tiled))
    unit = tiled / length[..., None]
    axis = unit.sum(axis=1)
    size = np.linalg.norm(axis, axis=1, keepdims=True)
    axis = np.where(size > 1e-6, axis / np.maximum(size, 1e-6), unit[:, 0])
    cosine = np.einsum("tri,ti->tr", unit, axis).min(axis=1).clip(-1.0, 1.0)
    return Tiles(tiled, length, axis, np.arccos(cosine) + 1e-6, place.reshape(rows, columns))


class RayScene:
    """The solids that rays can meet; several threads may cast rays at once.

    Parameters
    ----------
    world : World
    visuals : sequence of Visual
        What can be seen, in the frames of links.
    coloured : bool
        Whether :meth:`look` will be asked for.

    Raises
    ------
    CollisionError
        There are meshes and Embree is not installed.
    """

    def __init__(self, world: Any, visuals: Sequence[Any], coloured: bool = True) -> None:
        shapes: list[Any] = []
        meshes: dict[str, list[Any]] = {}
        for visual in visuals:
            if visual.shape is not None:
                shapes.append(visual)
            elif len(visual.triangles):
                meshes.setdefault(visual.link, []).append(visual)
        self._meshes = [_Mesh(parts, coloured) for parts in meshes.values()]
        self._kind = np.array([v.shape.kind for v in shapes], dtype=np.int64)
        self._size = np.array([v.shape.size for v in shapes], dtype=np.float64).reshape(-1, 3)
        links = [*(v.link for v in shapes), *meshes]
        self._links, frames = np.array(links, dtype=np.str_), [world.frames[link] for link in links]
        poses = [(v.shape.R, v.shape.p) for v in shapes] + [(np.eye(3), mesh.middle) for mesh in self._meshes]
        self._body = np.array([frame.body for frame in frames], dtype=np.int64)
        self._R = np.array([frame.R @ R for frame, (R, _) in zip(frames, poses)]).reshape(-1, 3, 3)
        self._p = np.array([frame.p + frame.R @ p for frame, (_, p) in zip(frames, poses)]).reshape(-1, 3)
        self._radius = np.array([_radius(v) for v in shapes] + [mesh.radius for mesh in self._meshes])
        seen = [GROUND if v.shape.kind == SHAPE_PLANE else v.colour[:3] for v in shapes]
        table = [np.array(seen).reshape(-1, 3), *(mesh.colours for mesh in self._meshes)]
        counts = [len(colours) for colours in table]
        self._first = np.cumsum(counts)  # number of each mesh's first triangle, behind the shapes
        self._colours = np.concatenate(table)
        self._triangles = np.concatenate([np.zeros((0, 6, 3)), *(mesh.triangles for mesh in self._meshes)])
        self._solid = np.repeat(np.arange(len(shapes) - 1, len(links)), counts)
        self._solid[: len(shapes)] = np.arange(len(shapes))

    def cast(self, rays: Tiles, R: Floats, p: Floats, pose: tuple[Floats, Floats], hidden: str | None) -> Floats:
        """First hits of rays.

        Parameters
        ----------
        rays : Tiles
        R, p : ndarray (n, 3, 3), (n, 3)
            Axes and origins of the bodies in the world [m].
        pose : (ndarray (3, 3), ndarray (3,))
            Axes of the rays' frame, and the origin of all rays, in the world [m].
        hidden : str or None
            Link that the rays pass through.

        Returns
        -------
        ndarray (rows, columns)
            The point is t times the direction from the origin on; inf where nothing was met.
        """
        t, _ = self._meet(rays, self._seen_from(R, p, pose, hidden))
        return t.ravel()[rays.place]

    def surfaces(
        self, rays: Tiles, R: Floats, p: Floats, pose: tuple[Floats, Floats], hidden: str | None
    ) -> tuple[Floats, npt.NDArray[np.int64], Floats]:
        """As :meth:`cast`, and whose surfaces are met.

        Returns
        -------
        t : ndarray (rows, columns)
        body : ndarray of int (rows, columns)
            WORLD of what lies still, and where nothing was met.
        normal : ndarray (rows, columns, 3)
            World axes, of any length; 0 where nothing was met.
        """
        seen = self._seen_from(R, p, pose, hidden)
        t, who = self._meet(rays, seen)
        normal, planes = np.empty((*t.shape, 3)), np.concatenate([np.zeros((0, 3)), *(m.normals for m in self._meshes)])
        arrays = self._kind, self._size, seen.turn, seen.origin, planes, self._solid, seen.R
        surface_normals(*arrays, rays.rays, t, who, normal)
        body = np.append(self._body[self._solid], WORLD)[who]  # -1 is the last
        return t.ravel()[rays.place], body.ravel()[rays.place], normal.reshape(-1, 3)[rays.place]

    def look(
        self, rays: Tiles, R: Floats, p: Floats, pose: tuple[Floats, Floats], hidden: str | None,
        place: tuple[float, float] = (0.0, 0.0),
    ) -> tuple[Floats, Floats]:  # fmt: skip
        """As :meth:`cast`, and the colours (rows, columns, 3) of what is met, from 0 to 1.

        ``place`` is that on the lamp, a disc of radius 1, from which shadows are thrown; ``hidden`` throws one too.
        """
        seen = self._seen_from(R, p, pose, hidden)
        t, who = self._meet(rays, seen)
        colours = np.empty((*t.shape, 3), dtype=np.float32)
        tables = self._kind, self._size, seen.turn, seen.origin, self._triangles, self._solid, self._colours
        reached = self._reached(rays, t, R, p, pose, place)
        shade(*tables, seen.R, np.ascontiguousarray(pose[0]), rays.rays, t, who, reached, colours)
        picture = colours.reshape(-1, 3)[rays.place]
        self._paint(rays, seen, t, who, picture)
        return t.ravel()[rays.place], picture

    def _meet(self, rays, seen, start=np.inf):
        """What the rays of tiles meet before ``start``: t (c, r), and its number, -1 where nothing."""
        t, who = np.full(rays.length.shape, start), np.full(rays.length.shape, -1, dtype=np.int64)
        shapes = len(self._kind)
        arrays = self._kind, self._size, seen.turn, seen.origin, seen.towards, seen.width, seen.near
        cast(*arrays, seen.order[seen.order < shapes], rays.rays, rays.axis, rays.spread, t, who)
        for s in seen.order[seen.order >= shapes]:
            self._cast_mesh(rays, seen, s, t, who)
        return t, who

    def _reached(self, rays, t, R, p, pose, place):
        """Part of the lamp that is seen from what rays have met: 1, or 0 in the shade.

        Rays go from one place of the lamp to all of them, past half-spaces, in which the lamp may be.
        """
        there = self._seen_from(R, p, (np.eye(3), np.zeros(3)), None)
        solid = np.isfinite(self._radius)
        if not solid.any():
            return np.ones(t.shape)
        centres, radius = -np.einsum("sij,sj->si", there.R[solid], there.origin[solid]), self._radius[solid, None]
        low, high = (centres - radius).min(axis=0), (centres + radius).max(axis=0)
        half = 0.5 * float(np.linalg.norm(high - low))
        towards = np.array(LAMP)
        right = np.array((-LAMP[1], LAMP[0], 0.0)) / np.hypot(LAMP[0], LAMP[1])
        offset = AWAY * towards + WIDE * (place[0] * right + place[1] * np.cross(towards, right))
        lamp = 0.5 * (low + high) + half * offset
        out, length = np.empty_like(rays.rays), np.empty_like(rays.length)
        axis, spread = np.empty_like(rays.axis), np.empty_like(rays.spread)
        axes, eye = np.ascontiguousarray(pose[0]), np.ascontiguousarray(pose[1])[None]
        aim(rays.rays, t, axes, eye, lamp[None], out, length, axis, spread)
        seen = self._seen_from(R, p, (np.eye(3), lamp), None)
        seen = seen._replace(order=seen.order[solid[seen.order]])
        _, who = self._meet(Tiles(out, length, axis, spread, rays.place), seen, 1.0 - BIAS / AWAY)
        return np.where(who < 0, 1.0, 0.0)

    def _paint(self, rays, seen, t, who, picture):
        """Pictures on triangles, which were shaded white."""
        for k, mesh in enumerate(self._meshes):
            for first, texture in mesh.textures:
                row = who.ravel()[rays.place] - int(self._first[k]) - first
                on = (row >= 0) & (row < len(texture.corners))
                if not on.any():
                    continue
                place, solid = rays.place[on], len(self._kind) + k
                way = rays.rays.reshape(-1, 3)[place] @ seen.turn[solid].T * t.ravel()[place][:, None]
                points, of = seen.origin[solid] + way, row[on]
                colours = texture.on(of, points, mesh.triangles[first + of, :3])
                picture[on] *= colours

    def _seen_from(self, R, p, pose, hidden):
        axes, origin = pose
        R_solid, p_solid, moving = self._R, self._p, self._body != WORLD
        if moving.any():
            R_solid, p_solid, of = R_solid.copy(), p_solid.copy(), self._body[moving]
            p_solid[moving] = p[of] + np.einsum("sij,sj->si", R[of], p_solid[moving])
            R_solid[moving] = R[of] @ R_solid[moving]
        turn = np.ascontiguousarray(R_solid.swapaxes(1, 2) @ axes)
        away = p_solid - origin
        distance = np.linalg.norm(away, axis=1)
        outside = distance > self._radius
        width = np.full(len(distance), np.pi)
        width[outside] = np.arcsin(self._radius[outside] / distance[outside])
        towards = (away / np.maximum(distance, 1e-300)[:, None]) @ axes
        near = distance - self._radius
        order = np.argsort(near, kind="stable")
        order = order[self._links[order] != hidden]
        there = -np.einsum("sij,si->sj", R_solid, away)
        return _Seen(np.ascontiguousarray(R_solid), turn, there, towards, width, near, order)

    def _cast_mesh(self, rays, seen, s, t, who):
        """Triangles of solid s, where they are nearer than ``t``."""
        cosine = (rays.axis @ seen.towards[s]).clip(-1.0, 1.0)
        chosen = np.flatnonzero(np.arccos(cosine) <= rays.spread + seen.width[s])
        chosen = chosen[(t[chosen] * rays.length[chosen]).max(axis=1) > seen.near[s]]
        if not len(chosen):
            return
        i, turn, origin = s - len(self._kind), seen.turn[s], seen.origin[s : s + 1]
        mesh, each = self._meshes[i], rays.rays.shape[1]
        for part in np.split(chosen, range(CHUNK, len(chosen), CHUNK)):
            directions = np.empty((len(part) * each, 3), dtype=np.float32)
            turn_tiles(turn, rays.rays, part, directions)
            origins = np.empty_like(directions)
            origins[:] = origin
            which = mesh.embree.run(origins, directions)
            meet_triangles(
                which, mesh.normals, mesh.offset, turn, origin, rays.rays, part, int(self._first[i]), t, who
            )  # fmt: skip


class _Seen(NamedTuple):
    """Where all solids are, as ``core.rays.cast`` wants it."""

    R: Floats
    turn: Floats
    origin: Floats
    towards: Floats
    width: Floats
    near: Floats
    order: npt.NDArray[np.int64]


def _radius(visual):
    """Of the ball about a shape's origin that holds it."""
    if visual.shape.kind == SHAPE_PLANE:
        return np.inf
    return 1.001 * np.linalg.norm(visual.vertices - visual.shape.p, axis=1).max()


class _Mesh:
    """All triangles of a link about the middle of their bounding box, where single precision is finest."""

    def __init__(self, parts, coloured):
        corners = np.concatenate([v.vertices[v.triangles] for v in parts])
        counts = [len(v.triangles) for v in parts]
        paint = [v.colour[:3] if v.texture is None else (1.0, 1.0, 1.0) for v in parts]
        self.colours = np.repeat(paint, counts, axis=0)
        firsts = np.cumsum([0, *counts]).tolist()
        self.textures = [(first, v.texture) for first, v in zip(firsts, parts) if v.texture is not None]
        self.middle = 0.5 * (corners.min(axis=(0, 1)) + corners.max(axis=(0, 1)))
        corners -= self.middle
        self.radius = 1.001 * float(np.linalg.norm(corners, axis=2).max())
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        self.normals = normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
        self.offset = np.einsum("ij,ij->i", self.normals, corners[:, 0])
        shown = [corners, corner_normals(corners)] if coloured else [np.zeros((0, 3, 3))] * 2
        self.triangles = np.concatenate(shown, axis=1)
        self.embree, self._kept = _embree(corners)  # Embree does not keep the triangles itself


def _embree(corners: Floats) -> tuple[Any, Any]:
    """Embree's scene of triangles (n, 3, 3), and the triangles.

    Raises
    ------
    CollisionError
        Embree is not installed.
    """
    try:
        from embreex.mesh_construction import TriangleMesh
        from embreex.rtcore_scene import EmbreeScene
    except ImportError:
        raise CollisionError(INSTALL) from None
    scene = EmbreeScene()
    return scene, TriangleMesh(scene, np.ascontiguousarray(corners, dtype=np.float32))
