# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What rays meet first: shapes in closed form, triangles through Embree.

Embree works in single precision and is asked which triangle a ray meets, not where: the place is that of the
triangle's plane, in double precision.  Solids stand in the frames of their bodies and are never rebuilt; rays are
turned into these frames.  They come in tiles: a tile is held against those solids alone whose bounding ball is in its
cone, and nearer than what it has met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mb_contact.checks import Floats
from mb_contact.core.rays.cast import cast, facing
from mb_contact.errors import CollisionError
from mb_contact.types import SHAPE_PLANE, WORLD

TILE = 16  #: rows and columns of a tile of rays; rings that are fewer have longer tiles
INSTALL = "rays meet meshes through Embree: pip install mb_contact[cameras]"


class Tiles(NamedTuple):
    """The rays of a grid in tiles; those at the grid's end hold some rays twice."""

    rays: Floats  #: (c, r, 3), in the sensor's frame
    length: Floats  #: (c, r), of each
    axis: Floats  #: (c, 3), unit: middle of each tile's cone
    spread: Floats  #: (c,), angle between the axis and the farthest ray [rad]
    place: npt.NDArray[np.int64]  #: (rows, columns), where each ray of the grid stands among those of the tiles


class Hits(NamedTuple):
    """What rays have met, in the order of their grid."""

    t: Floats  #: (rows, columns), the point is t times the direction from the origin on; inf where nothing was met
    colour: Floats  #: (rows, columns, 3), red, green, blue from 0 to 1; zero where nothing was met or none is wanted
    facing: Floats  #: (rows, columns), cosine between normal and ray, from 0 to 1; zero likewise


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
    length = np.linalg.norm(tiled, axis=2)
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

    Raises
    ------
    CollisionError
        There are meshes and Embree is not installed.
    """

    def __init__(self, world: Any, visuals: Sequence[Any]) -> None:
        shapes: list[Any] = []
        meshes: dict[str, list[Any]] = {}
        for visual in visuals:
            if visual.shape is not None:
                shapes.append(visual)
            elif len(visual.triangles):
                meshes.setdefault(visual.link, []).append(visual)
        self._meshes = [_Mesh(parts) for parts in meshes.values()]
        self._kind = np.array([v.shape.kind for v in shapes], dtype=np.int64)
        self._size = np.array([v.shape.size for v in shapes], dtype=np.float64).reshape(-1, 3)
        links = [*(v.link for v in shapes), *meshes]
        self._links, frames = np.array(links, dtype=np.str_), [world.frames[link] for link in links]
        poses = [(v.shape.R, v.shape.p) for v in shapes] + [(np.eye(3), mesh.middle) for mesh in self._meshes]
        self._body = np.array([frame.body for frame in frames], dtype=np.int64)
        self._R = np.array([frame.R @ R for frame, (R, _) in zip(frames, poses)]).reshape(-1, 3, 3)
        self._p = np.array([frame.p + frame.R @ p for frame, (_, p) in zip(frames, poses)]).reshape(-1, 3)
        self._radius = np.array([_radius(v) for v in shapes] + [mesh.radius for mesh in self._meshes])
        table = [np.array([v.colour[:3] for v in shapes]).reshape(-1, 3), *(mesh.colours for mesh in self._meshes)]
        self._first = np.cumsum([0, *map(len, table)])[1:]  # number of each mesh's first triangle, behind the shapes
        self._colours = np.concatenate([*table, np.zeros((1, 3))])

    def cast(self, rays: Tiles, R: Floats, p: Floats, pose: tuple[Floats, Floats], hidden: str, shade: bool) -> Hits:
        """First hits of rays.

        Parameters
        ----------
        rays : Tiles
        R, p : ndarray (n, 3, 3), (n, 3)
            Axes and origins of the bodies in the world [m].
        pose : (ndarray (3, 3), ndarray (3,))
            Axes of the rays' frame, and the origin of all rays, in the world [m].
        hidden : str
            Link that the rays pass through.
        shade : bool
            Whether colours and cosines are wanted too.

        Returns
        -------
        Hits
        """
        seen = self._seen_from(R, p, pose, hidden)
        t, who = np.full(rays.length.shape, np.inf), np.full(rays.length.shape, -1, dtype=np.int64)
        shapes = len(self._kind)
        arrays = self._kind, self._size, seen.turn, seen.origin
        order = seen.order[seen.order < shapes]
        cast(*arrays, seen.towards, seen.width, seen.near, order, rays.rays, rays.axis, rays.spread, t, who)
        for s in seen.order[seen.order >= shapes]:
            self._cast_mesh(rays, seen, s, t, who)
        if not shade:
            nothing = np.zeros(())
            grid = rays.place.shape
            return Hits(t.ravel()[rays.place], np.broadcast_to(nothing, (*grid, 3)), np.broadcast_to(nothing, grid))
        cosine = np.zeros(t.shape)
        facing(*arrays, rays.rays, t, who, cosine)
        for i, mesh in enumerate(self._meshes):
            met = (who >= self._first[i]) & (who < self._first[i + 1])
            normal = mesh.normals[who[met] - self._first[i]] @ seen.turn[shapes + i]
            cosine[met] = np.abs(np.einsum("ij,ij->i", normal, rays.rays[met])) / rays.length[met]
        place = rays.place
        return Hits(t.ravel()[place], self._colours[who.ravel()[place]], cosine.ravel()[place])

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
        return _Seen(turn, -np.einsum("sij,si->sj", R_solid, away), towards, width, near, order)

    def _cast_mesh(self, rays, seen, s, t, who):
        """Triangles of solid s, where they are nearer than ``t``."""
        cosine = (rays.axis @ seen.towards[s]).clip(-1.0, 1.0)
        chosen = np.flatnonzero(np.arccos(cosine) <= rays.spread + seen.width[s])
        chosen = chosen[(t[chosen] * rays.length[chosen]).max(axis=1) > seen.near[s]]
        if not len(chosen):
            return
        i = s - len(self._kind)
        found, which = self._meshes[i].meet(seen.origin[s], rays.rays[chosen].reshape(-1, 3) @ seen.turn[s].T)
        found = found.reshape(len(chosen), -1)
        nearer, which = found < t[chosen], which.reshape(len(chosen), -1) + self._first[i]
        t[chosen], who[chosen] = np.where(nearer, found, t[chosen]), np.where(nearer, which, who[chosen])


class _Seen(NamedTuple):
    """Where all solids are, as ``core.rays.cast`` wants it."""

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

    def __init__(self, parts):
        corners = np.concatenate([v.vertices[v.triangles] for v in parts])
        self.colours = np.concatenate([np.tile(v.colour[:3], (len(v.triangles), 1)) for v in parts])
        self.middle = 0.5 * (corners.min(axis=(0, 1)) + corners.max(axis=(0, 1)))
        corners -= self.middle
        self.radius = 1.001 * float(np.linalg.norm(corners, axis=2).max())
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        self.normals = normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
        self._offset = np.einsum("ij,ij->i", self.normals, corners[:, 0])
        self._first_hits = _embree(corners)

    def meet(self, origin, directions):
        """(t, triangle) of each ray, inf where none."""
        which = self._first_hits(origin, directions)
        rows = np.flatnonzero(which >= 0)
        normal, t = self.normals[which[rows]], np.full(len(directions), np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            place = (self._offset[which[rows]] - normal @ origin) / np.einsum("ij,ij->i", normal, directions[rows])
        t[rows] = np.where(place > 0.0, place, np.inf)  # nan where a ray lies in the plane
        return t, which


def _embree(corners: Floats) -> Callable[[Floats, Floats], npt.NDArray[np.int64]]:
    """The function that tells which of the triangles (n, 3, 3) each ray meets first, -1 where none.

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
    mesh = TriangleMesh(scene, np.ascontiguousarray(corners, dtype=np.float32))

    def first_hits(origin, directions, _kept=mesh):  # the triangles live as long as this function
        origins = np.ascontiguousarray(np.broadcast_to(origin.astype(np.float32), directions.shape))
        return scene.run(origins, directions.astype(np.float32)).astype(np.int64)

    return first_hits
