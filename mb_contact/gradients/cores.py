# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Shapes as their cores: points, lines between them and flat faces, with a constant radius around.

sphere, capsule   a point, a segment; their radius
box, hull, mesh   vertices, edges, faces
half-space        a face without corners
cylinder, cone    four points of each rim, the tip, caps and base; and the line that faces a direction (``_line_end``)
ellipsoid         its centre
height field      as a mesh
"""

from functools import cached_property

import numpy as np

from mb_contact.core.gradients.workspace import Cores
from mb_contact.types import (
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CONE,
    SHAPE_CYLINDER,
    SHAPE_ELLIPSOID,
    SHAPE_PLANE,
    SHAPE_SPHERE,
)

ROUND = (SHAPE_CYLINDER, SHAPE_CONE)
AXES = np.eye(3)


class Core:
    """Core of geometry g of a world's Geoms, in the frame of its body.

    Attributes
    ----------
    points : ndarray (k, 3)
        [m]
    edges : ndarray of int (e, 2)
        Of ``points``.
    normals : ndarray (f, 3)
        Outward, of the faces.
    corners : list of f arrays of int
        Of ``points``, in order around each face; empty of a half-space.
    radius : float
        [m]
    """

    def __init__(self, geoms, g):
        self.kind, self.size, self.body = int(geoms.kind[g]), geoms.size[g].copy(), int(geoms.body[g])
        self._R, self._p = geoms.R[g], geoms.p[g]
        round_ends = self.kind in (SHAPE_SPHERE, SHAPE_CAPSULE)
        self.radius = float(self.size[0]) if round_ends else 0.0
        points, normals, corners = self._own(geoms, g)
        self.points = points @ self._R.T + self._p
        self.normals, self.corners = np.reshape(normals, (-1, 3)) @ self._R.T, corners
        self.scale = float(np.abs(self.size[: 1 if self.kind == SHAPE_SPHERE else 3]).max()) or 1.0

    def _own(self, geoms, g):
        """Points, normals and corners in the geometry's frame."""
        a, b, _ = size = self.size
        if self.kind in (SHAPE_SPHERE, SHAPE_ELLIPSOID):
            return np.zeros((1, 3)), [], []
        if self.kind == SHAPE_CAPSULE:
            return np.array([[0.0, 0.0, -b], [0.0, 0.0, b]]), [], []
        if self.kind == SHAPE_PLANE:
            return np.zeros((1, 3)), [AXES[2]], [np.zeros(0, int)]
        if self.kind == SHAPE_CONE:
            rim = np.array([[a, 0, -b], [0, a, -b], [-a, 0, -b], [0, -a, -b], [0, 0, b]])
            return rim, [-AXES[2]], [np.array([3, 2, 1, 0])]
        if self.kind == SHAPE_CYLINDER:
            rim = np.array([[a, 0, 0], [0, a, 0], [-a, 0, 0], [0, -a, 0]])
            return np.concatenate((rim - b * AXES[2], rim + b * AXES[2])), [-AXES[2], AXES[2]], [
                np.array([3, 2, 1, 0]), np.array([4, 5, 6, 7])
            ]  # fmt: skip
        if self.kind == SHAPE_BOX:
            bits = np.array([[i & 1, (i >> 1) & 1, (i >> 2) & 1] for i in range(8)])
            normals = np.concatenate((-AXES, AXES))
            return (2 * bits - 1) * size, normals, [box_face(k % 3, k // 3) for k in range(6)]
        first, last = geoms.first_vertex[g], geoms.first_vertex[g + 1]
        faces = range(geoms.first_face[g], geoms.first_face[g + 1])
        corners = [geoms.corners[geoms.first_corner[f] : geoms.first_corner[f + 1]] for f in faces]
        return geoms.vertices[first:last], geoms.faces[list(faces)], corners

    @cached_property
    def edges(self):
        if self.kind == SHAPE_CAPSULE:
            return np.array([[0, 1]])
        if self.kind in ROUND:
            return np.zeros((0, 2), int)
        found = {(min(i, j), max(i, j)) for face in self.corners for i, j in zip(face, np.roll(face, -1), strict=True)}
        return np.array(sorted(found), int).reshape(-1, 2)

    @property
    def axis(self):
        """Of a cylinder or cone, in the frame of its body."""
        return self._R[:, 2]

    @property
    def ends(self):
        """Middles of a cylinder's caps, or of a cone's base and its tip, in the frame of its body, (2, 3) [m]."""
        return self._p + np.outer((-self.size[1], self.size[1]), self.axis)

    def area(self, face):
        """By which faces compete (``core/collision/manifold_normals.py``) [m^2]."""
        if self.kind == SHAPE_PLANE:
            return np.inf
        if self.kind in ROUND:
            return np.pi * self.size[0] ** 2
        k = face % 3 if self.kind == SHAPE_BOX else 2
        return 4.0 * self.size[(k + 1) % 3] * self.size[(k + 2) % 3]


def box_face(k, side):
    """Corners around the face of a box along axis k, of side 0 or 1; a corner's bits are its sides."""
    i, j = 1 << (k + 1) % 3, 1 << (k + 2) % 3
    return (side << k) + np.array([0, i, i + j, j])


def all_cores(geoms):
    """Cores (``core/gradients/workspace.py``) of a world's Geoms."""
    cores = [Core(geoms, g) for g in range(len(geoms.kind))]
    points, edges, faces = (_starts(cores, part) for part in ("points", "edges", "normals"))
    lists = [at + np.asarray(face, int) for core, at in zip(cores, points, strict=False) for face in core.corners]
    ends, rims, axis = np.zeros((len(cores), 2, 3)), np.zeros((len(cores), 2)), np.zeros((len(cores), 3))
    for g, core in enumerate(cores):
        if core.kind in ROUND:
            axis[g], ends[g], rims[g] = core.axis, core.ends, core.size[0]
            rims[g, 1] *= core.kind == SHAPE_CYLINDER
    return Cores(
        points, _joined([core.points for core in cores], 3), edges,
        _joined([core.edges + at for core, at in zip(cores, points, strict=False)], 2, int),
        faces, _joined([core.normals for core in cores], 3),
        np.array([core.area(f) for core in cores for f in range(len(core.normals))], float),
        np.cumsum([0, *(len(corners) for corners in lists)]).astype(np.int64),
        np.concatenate([np.zeros(0, int), *lists]).astype(np.int64),
        np.array([core.radius for core in cores], float), np.array([core.scale for core in cores], float),
        axis, ends, rims,
    )  # fmt: skip


def _joined(parts, width, dtype=float):
    return np.ascontiguousarray(np.concatenate([np.zeros((0, width)), *parts]), dtype)


def _starts(cores, part):
    """Where a part of each core begins, and the end of the last."""
    return np.cumsum([0, *(len(getattr(core, part)) for core in cores)]).astype(np.int64)
