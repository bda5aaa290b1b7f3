# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Height fields: a grid of heights to triangles, their planes and what belongs to one plane."""

from typing import NamedTuple

import numpy as np
import scipy  # its parts are imported where they are first used

FLAT = 1e-9  #: corners this part of a cell's diagonal off a triangle's plane still lie in it
MOST_POINTS = 4_000_000  #: of a grid


class HeightField(NamedTuple):
    """Triangles over a grid; arrays as of a :class:`~mb_contact.model.shapes.hulls.Hull`, so that both go the same way.

    Cell (i, j) has corners (i, j) to (i + 1, j + 1); its triangles 2 c and 2 c + 1, c = j (nx - 1) + i, are the one
    below and the one above the diagonal from its first corner to its last.
    """

    vertices: np.ndarray  #: (nx ny, 3), x running fastest, with the middle of the bounding box as origin [m]
    triangles: np.ndarray  #: int64 (t, 3), counterclockwise seen from above
    faces: np.ndarray  #: (t, 3), upward unit normals
    corners: np.ndarray  #: int64 (3 t,)
    first_corner: np.ndarray  #: int64 (t + 1,)
    patch: np.ndarray  #: int64 (t,), first triangle of the plane patch that a triangle belongs to
    shape: tuple  #: (nx, ny)
    centre: np.ndarray  #: (3,), of the bounding box; the field's own origin is amid the grid, at height zero [m]
    half: np.ndarray  #: (3,), half extents of the bounding box, with the thickness below the lowest point [m]


def height_field(heights, size, thickness=None):
    """Triangles of a grid of heights.

    Parameters
    ----------
    heights : (ny, nx)
        Rows along x, the first at the smallest y [m].
    size : (2,)
        Lengths along x and y [m].
    thickness : float, optional
        How far the solid reaches below its lowest point [m]; the shorter length by default.

    Returns
    -------
    HeightField

    Raises
    ------
    ValueError
        Fewer than two rows or columns, too many points, or a height that is not finite.
    """
    heights = np.asarray(heights, dtype=np.float64)
    if heights.ndim != 2 or min(heights.shape) < 2:
        got = " x ".join(map(str, heights.shape))
        raise ValueError(f"a height field needs at least 2 rows of 2 heights, got {got}")
    if heights.size > MOST_POINTS:
        raise ValueError(f"{heights.size} heights are more than {MOST_POINTS}; use a coarser grid")
    if not np.isfinite(heights).all():
        row, column = np.argwhere(~np.isfinite(heights))[0]
        raise ValueError(f"the height in row {row}, column {column} is not finite")
    ny, nx = heights.shape
    low, high = heights.min(), heights.max()
    below = min(size) if thickness is None else thickness
    centre = np.array([0.0, 0.0, 0.5 * (high + low - below)])
    half = np.array([0.5 * size[0], 0.5 * size[1], 0.5 * (high - low + below)])
    x, y = np.meshgrid(np.linspace(-half[0], half[0], nx), np.linspace(-half[1], half[1], ny))
    vertices = np.column_stack([x.ravel(), y.ravel(), heights.ravel() - centre[2]])
    triangles = grid_triangles(nx, ny)
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    faces = np.cross(b - a, c - a)
    faces /= np.linalg.norm(faces, axis=1)[:, None]
    patch = _patches(vertices, triangles, faces, nx, FLAT * np.hypot(size[0] / (nx - 1), size[1] / (ny - 1)))
    return HeightField(
        vertices=vertices, triangles=triangles, faces=np.ascontiguousarray(faces[patch]), corners=triangles.ravel(),
        first_corner=np.arange(0, 3 * len(triangles) + 1, 3, dtype=np.int64), patch=patch, shape=(nx, ny),
        centre=centre, half=half,
    )


def grid_triangles(nx, ny):
    """Corners of both triangles of every cell of a grid whose points along x run fastest, int64 (t, 3)."""
    i, j = np.meshgrid(np.arange(nx - 1), np.arange(ny - 1))
    first = (j * nx + i).ravel()
    lower = np.column_stack([first, first + 1, first + nx + 1])
    upper = np.column_stack([first, first + nx + 1, first + nx])
    return np.stack([lower, upper], axis=1).reshape(-1, 3).astype(np.int64)


def _patches(vertices, triangles, faces, nx, tolerance):
    """Label of the plane patch of each triangle: its first one.

    Neighbours belong together where each one's far corner lies in the other's plane, and all in the plane of the first.
    """
    count = len(triangles)
    one = np.arange(0, count, 2)
    column, row = (one // 2) % (nx - 1), (one // 2) // (nx - 1)
    right, up = one[column < nx - 2], one[row < row.max()]
    pairs = np.concatenate([
        np.column_stack([one, one + 1]),  # across the diagonal
        np.column_stack([right, right + 3]),  # the lower one and the upper one of the next cell
        np.column_stack([up + 1, up + 2 * (nx - 1)]),  # the upper one and the lower one of the cell above
    ])
    flat = np.ones(len(pairs), dtype=bool)
    for here, there in (pairs.T, pairs.T[::-1]):
        away = vertices[triangles[there]] - vertices[triangles[here, 0]][:, None, :]
        flat &= np.abs(np.einsum("ijk,ik->ij", away, faces[here])).max(axis=1) <= tolerance
    a, b = pairs[flat].T
    graph = scipy.sparse.coo_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(count, count))
    label = scipy.sparse.csgraph.connected_components(graph, directed=False)[1]
    _, first = np.unique(label, return_index=True)
    patch = first[label].astype(np.int64)
    away = vertices[triangles] - vertices[triangles[patch, 0]][:, None, :]
    drift = np.abs(np.einsum("ijk,ik->ij", away, faces[patch])).max(axis=1) > 10.0 * tolerance
    bent = np.isin(patch, patch[drift])  # many tiny angles in a row: no plane after all
    return np.where(bent, np.arange(count), patch)
