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
