# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Normals at the corners of triangles, by which a mesh looks as smooth as the shape that it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mb_contact.checks import Floats
from mb_contact.viewer.drawing import Part

CREASE = np.cos(np.radians(38.0))  #: faces that meet at a larger angle keep their edge
WELD = 1e-6  #: of a mesh's size: corners as near to each other are one
LARGEST = 1024  #: rows and columns of a picture that a browser is given
KEPT = 2000  #: parts whose normals are kept
_kept: dict[tuple[int, int], tuple[Part, Floats]] = {}  #: with the part, so that its arrays live as long as their ids


def part_normals(part: Part) -> Floats:
    """Normals (t, 3, 3) at the corners of a Part's triangles, in its link's frame; kept for its next picture."""
    key = id(part.vertices), id(part.triangles)
    if key not in _kept:
        if len(_kept) >= KEPT:
            _kept.clear()
        _kept[key] = part, corner_normals(part.vertices[part.triangles])
    return _kept[key][1]


def creased(part: Part) -> tuple[Floats, NDArray[np.int64]]:
    """Vertices and triangles of a Part whose vertices are apart along its edges: faces that share one look smooth."""
    corners = part.vertices[part.triangles].reshape(-1, 3)
    size = max(float(np.ptp(corners, axis=0).max(initial=0.0)), 1e-12)
    places = np.round(corners / (WELD * size)).astype(np.int64)
    ways = np.round(500.0 * part_normals(part).reshape(-1, 3)).astype(np.int64)
    _, first, index = np.unique(np.hstack([places, ways]), axis=0, return_index=True, return_inverse=True)
    return corners[first], index.reshape(-1, 3).astype(np.int64)


def textured(part: Part) -> Any:
    """A Part with a picture as trimesh has it, its vertices apart; pictures of more than LARGEST pixels are shrunk."""
    import trimesh
    from PIL import Image

    texture: Any = part.texture
    image = Image.fromarray(texture.picture)
    image.thumbnail((LARGEST, LARGEST))
    material = trimesh.visual.material.PBRMaterial(
        baseColorTexture=image, baseColorFactor=(1.0, 1.0, 1.0, part.opacity), metallicFactor=0.0, roughnessFactor=0.8,
        doubleSided=True, alphaMode="BLEND" if part.opacity < 1.0 else "OPAQUE",
    )  # fmt: skip
    corners = part.vertices[part.triangles].reshape(-1, 3)
    return trimesh.Trimesh(
        corners, np.arange(len(corners)).reshape(-1, 3), vertex_normals=part_normals(part).reshape(-1, 3),
        visual=trimesh.visual.TextureVisuals(uv=texture.corners.reshape(-1, 2), material=material), process=False,
    )  # fmt: skip


def face_normals(triangles: Floats) -> Floats:
    """Unit normals (t, 3) of triangles (t, 3, 3), by their right hand; zero of those without an area."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    return normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)


def corner_normals(triangles: Floats) -> Floats:
    """Unit normals (t, 3, 3) at the corners of triangles (t, 3, 3) [m].

    Each is the mean of the faces around its corner that meet its own face at no more than CREASE, weighted by area.
    """
    count = len(triangles)
    if not count:
        return np.zeros((0, 3, 3))
    faces = face_normals(triangles)
    area = np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1)
    size = max(float(np.ptp(triangles.reshape(-1, 3), axis=0).max()), 1e-12)
    places = np.round(triangles.reshape(-1, 3) / (WELD * size)).astype(np.int64)
    _, vertex = np.unique(places, axis=0, return_inverse=True)
    order = np.argsort(vertex.ravel(), kind="stable")
    groups, starts, sizes = np.unique(vertex.ravel()[order], return_index=True, return_counts=True)
    sums = np.repeat(faces, 3, axis=0) * np.repeat(area, 3)[:, None]
    mean = np.zeros((3 * count, 3))
    for many in np.unique(sizes):  # corners with as many faces around them, at once
        rows = order[starts[sizes == many][:, None] + np.arange(many)]
        own = faces[rows // 3]
        near = np.einsum("gik,gjk->gij", own, own) >= CREASE
        mean[rows] = np.einsum("gij,gjk->gik", near, sums[rows])
    out = mean.reshape(count, 3, 3)
    length = np.linalg.norm(out, axis=2, keepdims=True)
    return np.where(length > 1e-12 * size * size, out / np.maximum(length, 1e-30), faces[:, None])
