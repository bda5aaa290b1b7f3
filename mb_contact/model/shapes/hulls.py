# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Convex hulls of points: vertices, flat faces merged out of triangles, and what was left out."""

from typing import NamedTuple

import numpy as np
import scipy  # its parts are imported where they are first used: scipy.spatial takes 0.3 s

MOST_VERTICES = 256  #: of a hull unless more are asked for; a support search walks over all of them
DETAIL = 1e-4  #: vertices that stand out less than this part of the diagonal are left out of larger hulls
BATCH = 8  #: vertices added to a thinned hull at a time
FLAT = 1e-5  #: corners this part of the diagonal off a plane still lie in the face
PARALLEL = 0.9999  #: cosine of the angle between triangles of one face
CENTRAL = 0.5  #: depth of the middle of a bounding box in that of the vertices' middle from which it is the origin
THICKNESS = 1e-3  #: that a flat mesh is given [m]


class Hull(NamedTuple):
    """A convex body in axes parallel to those of its points.

    Its origin is the middle of its bounding box, or of its vertices where that is much deeper in it: of a wedge the box
    has its middle on the slope, of a corner that is cut off a box outside.
    """

    vertices: np.ndarray  #: (k, 3) [m]
    triangles: np.ndarray  #: int64 (t, 3), counterclockwise seen from outside
    faces: np.ndarray  #: (f, 3), outward unit normals
    corners: np.ndarray  #: int64 (.,), vertices of all faces, counterclockwise seen from outside
    first_corner: np.ndarray  #: int64 (f + 1,), entries of ``corners`` of each face
    centre: np.ndarray  #: (3,), the origin in the points' frame [m]
    half: np.ndarray  #: (3,), half extents of a box about the origin [m]
    loss: float  #: how far vertices that were left out stand out [m]
    flat: bool  #: the points lie in a plane, and the hull was given a thickness
    gap: float = 0.0  #: how far it, or the pieces that it is one of, deviates from the mesh [m]
    excess: float = 0.0  #: by how much its volume, or theirs, is larger than that of the mesh [m^3]


def sharpest_angle(hull):
    """Least angle between two faces of a hull that share a vertex, measured within it: of edges and tips [rad]."""
    face, order = np.repeat(np.arange(len(hull.faces)), np.diff(hull.first_corner)), np.argsort(hull.corners)
    cosine = -1.0
    for at in np.split(face[order], np.flatnonzero(np.diff(hull.corners[order])) + 1):
        cosine = max(cosine, float(-(hull.faces[at] @ hull.faces[at].T).min()))
    return np.arccos(min(cosine, 1.0))


def convex_hull(points, most=MOST_VERTICES):
    """Hull of points (n, 3) [m].

    More than ``most`` vertices are thinned: those that stand out most are kept.

    Raises
    ------
    ValueError
        The points are fewer than three, not finite, all in a line, or all in one place.
    """
    points = np.asarray(points, dtype=np.float64).reshape(-1, 3)
    if len(points) < 3 or not np.isfinite(points).all():
        raise ValueError("a hull needs at least three finite points")
    points = np.unique(points, axis=0)
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    points = points - middle
    diagonal = float(np.linalg.norm(np.ptp(points, axis=0)))
    if not diagonal > 0.0:
        raise ValueError("all points are in one place")
    points, flat = _thicken(points, diagonal)
    vertices = points[scipy.spatial.ConvexHull(points).vertices]
    vertices, loss = _thin(vertices, DETAIL * diagonal, most)
    shift = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    planes, mean = scipy.spatial.ConvexHull(vertices).equations, vertices.mean(axis=0)
    of_box, of_vertices = (-(planes[:, :3] @ p + planes[:, 3]).max() for p in (shift, mean))
    shift = mean if of_box < CENTRAL * of_vertices else shift
    vertices = np.ascontiguousarray(vertices - shift)
    hull = scipy.spatial.ConvexHull(vertices)
    triangles = _oriented(vertices, hull)
    faces, polygons = _merge(vertices, triangles, hull.neighbors, FLAT * diagonal)
    return Hull(
        vertices=vertices, triangles=triangles, faces=faces,
        corners=np.concatenate(polygons).astype(np.int64),
        first_corner=np.cumsum([0, *map(len, polygons)]).astype(np.int64),
        centre=middle + shift, half=np.abs(vertices).max(axis=0), loss=loss, flat=flat,
    )


def _thicken(points, diagonal):
    """Points in a plane become two layers; points in a line are refused."""
    axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]
    extent = np.ptp(points @ axes.T, axis=0)
    if extent[1] <= 1e-9 * diagonal:
        raise ValueError("all points are in a line")
    if extent[2] > 1e-6 * diagonal:
        try:
            scipy.spatial.ConvexHull(points)
            return points, False
        except scipy.spatial.QhullError:
            pass
    offset = 0.5 * max(THICKNESS, 1e-3 * diagonal) * axes[2]
    return np.concatenate([points - offset, points + offset]), True


def _thin(vertices, detail, most):
    """At most ``most`` of the vertices of a hull, chosen so that the others stand out little."""
    if len(vertices) <= most:
        return vertices, 0.0
    chosen = np.zeros(len(vertices), dtype=bool)
    for k in range(3):
        chosen[[vertices[:, k].argmin(), vertices[:, k].argmax()]] = True
    if np.linalg.matrix_rank(np.diff(vertices[chosen], axis=0), tol=detail) < 3:
        rng = np.random.default_rng(0)
        directions = rng.normal(size=(32, 3))
        chosen[(vertices @ directions.T).argmax(axis=0)] = True
    while True:
        hull = scipy.spatial.ConvexHull(vertices[chosen])
        height = vertices @ hull.equations[:, :3].T + hull.equations[:, 3]
        room = most - int(chosen.sum())
        loss = max(float(height.max()), 0.0)
        if loss <= detail or room <= 0:
            return vertices[chosen], loss
        farthest, out = height.argmax(axis=0), height.max(axis=0)  # of each facet: they lie apart
        order = np.argsort(-out)[: min(room, BATCH)]
        chosen[farthest[order[out[order] > 0.5 * loss]]] = True


def _oriented(vertices, hull):
    """Triangles of a hull, counterclockwise seen from outside."""
    triangles = hull.simplices.astype(np.int64)
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    triangles[inward] = triangles[inward][:, ::-1]
    return triangles


def _merge(vertices, triangles, neighbours, tolerance):
    """Faces out of triangles that lie in one plane: their normals (f, 3) and polygons, from the largest triangle on."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    doubled = np.cross(b - a, c - a)
    area = np.linalg.norm(doubled, axis=1)
    normals = doubled / np.maximum(area, 1e-300)[:, None]
    free = np.ones(len(triangles), dtype=bool)
    faces, polygons = [], []
    for seed in np.argsort(-area, kind="stable"):
        if not free[seed]:
            continue
        free[seed] = False
        group, stack = [seed], [seed]
        height = normals[seed] @ vertices[triangles[seed, 0]]
        while stack:
            for other in neighbours[stack.pop()]:
                flat = np.abs(vertices[triangles[other]] @ normals[seed] - height).max() <= tolerance
                alike = area[other] <= tolerance**2 or normals[other] @ normals[seed] >= PARALLEL
                if free[other] and flat and alike:
                    free[other] = False
                    group.append(other)
                    stack.append(other)
        normal = doubled[group].sum(axis=0)
        normal /= np.linalg.norm(normal)
        faces.append(normal)
        polygons.append(_polygon(vertices, triangles[group], normal))
    return np.array(faces), polygons


def _polygon(vertices, triangles, normal):
    """Outline of triangles in one plane, counterclockwise about the normal, without corners on its sides."""
    if len(triangles) == 1:
        return triangles[0]
    corners = np.unique(triangles)
    first = np.cross(normal, np.eye(3)[np.abs(normal).argmin()])
    first /= np.linalg.norm(first)
    flat = vertices[corners] @ np.array([first, np.cross(normal, first)]).T
    return corners[scipy.spatial.ConvexHull(flat).vertices]  # counterclockwise in two dimensions
