# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Normals of parts, kept from picture to picture, and meshes for a browser, which has one normal for each vertex."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mb_contact.checks import Floats
from mb_contact.model.shapes.normals import WELD, corner_normals
from mb_contact.viewer.drawing import Part

LARGEST = 1024  #: rows and columns of a picture that a browser is given
FEW = 200  #: triangles that are always drawn
#: distances in radii, and the part of triangles drawn beyond: the outline of a ball is then less than a pixel off
FEWER = ((8.0, 0.25), (16.0, 0.12))
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


def closed(part: Part) -> bool:
    """Whether a Part's triangles enclose a volume and turn outwards: of such a body nobody sees the back of a face."""
    if part.opacity < 1.0 or len(part.triangles) < 4:
        return False
    corners = part.vertices[part.triangles].astype(float)
    size = max(float(np.ptp(corners.reshape(-1, 3), axis=0).max()), 1e-12)
    _, place = np.unique(np.round(corners.reshape(-1, 3) / (WELD * size)).astype(np.int64), axis=0, return_inverse=True)
    triangles = place.reshape(-1, 3)
    triangles = triangles[(triangles != np.roll(triangles, 1, axis=1)).all(axis=1)]  # without those that are lines
    ends = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]) @ (len(place), 1)
    back = np.concatenate([triangles[:, [1, 0]], triangles[:, [2, 1]], triangles[:, [0, 2]]]) @ (len(place), 1)
    once = len(np.unique(ends)) == len(ends) and np.array_equal(np.sort(ends), np.sort(back))
    a, b, c = np.moveaxis(corners - corners[0, 0], 1, 0)
    return once and float(np.einsum("ij,ij->", a, np.cross(b, c))) > 0.0


def side(part: Part) -> str:
    """The faces of a Part that a browser draws, as viser has it: twice as many take a browser that much longer."""
    return "front" if closed(part) else "double"


def fewer(part: Part) -> Any:
    """How many of a Part's triangles a browser draws from how far away, as viser's ``lod``: (distance [m], ratio)."""
    radius = 0.5 * float(np.linalg.norm(np.ptp(part.vertices, axis=0)))
    return tuple((radii * radius, ratio) for radii, ratio in FEWER) if len(part.triangles) > FEW else "off"


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
