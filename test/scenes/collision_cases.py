# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Small worlds of collision shapes for the tests, and the truth about them in plain NumPy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.collision import make_buffers, make_contacts, make_narrow_phase
from mb_contact.core.collision.broadphase import candidate_pairs
from mb_contact.core.collision.geometry import aabbs, geometry_poses
from mb_contact.core.collision.manifolds import build_contacts
from mb_contact.core.handle import make_geoms_handle
from mb_contact.core.jit import kernel
from mb_contact.model.pairs import first_rows, hull_arrays
from mb_contact.model.shapes.height_fields import HeightField, height_field
from mb_contact.model.shapes.hulls import convex_hull
from mb_contact.types import (
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CONE,
    SHAPE_CONVEX,
    SHAPE_CYLINDER,
    SHAPE_ELLIPSOID,
    SHAPE_HEIGHT_FIELD,
    SHAPE_PLANE,
    SHAPE_SPHERE,
    Geoms,
)

MARGIN = 0.002
KINDS = {
    "sphere": SHAPE_SPHERE,
    "capsule": SHAPE_CAPSULE,
    "cylinder": SHAPE_CYLINDER,
    "box": SHAPE_BOX,
    "cone": SHAPE_CONE,
    "ellipsoid": SHAPE_ELLIPSOID,
    "convex": SHAPE_CONVEX,
    "plane": SHAPE_PLANE,
    "height_field": SHAPE_HEIGHT_FIELD,
}


class Shape(NamedTuple):
    """One shape and its world pose; of a convex one ``points`` are in axes with the middle of its box as origin.

    Of a height field they are its HeightField.
    """

    kind: str
    size: tuple
    p: np.ndarray
    R: np.ndarray = np.eye(3)
    points: np.ndarray | HeightField | None = None


UPRIGHT = np.eye(3)


def convex(points, p=(0.0, 0.0, 0.0), R=UPRIGHT):
    """A Shape that is the hull of points, which are placed as if ``p`` were their own origin."""
    hull = convex_hull(points)
    return Shape("convex", tuple(hull.half), np.asarray(p) + R @ hull.centre, R, hull.vertices)


def field(heights, size, p=(0.0, 0.0, 0.0), R=UPRIGHT):
    """A height field as a Shape; ``p`` is amid its grid at height zero."""
    grid = height_field(heights, size)
    return Shape("height_field", tuple(grid.half), np.asarray(p) + R @ grid.centre, R, grid)


def _solid(shape):
    """What Geoms keeps of the surface of a shape."""
    if shape.points is None or shape.kind == "height_field":
        return shape.points
    return convex_hull(shape.points)


class World:
    """One body per shape; every pair may touch."""

    def __init__(self, shapes, margin=MARGIN, pairs=None, capacity=64, engine="coal"):
        n = len(shapes)
        self.shapes = list(shapes)
        size = np.zeros((n, 3))
        for row, shape in zip(size, shapes):
            row[: len(shape.size)] = shape.size
        if pairs is None:
            pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
        self.geoms = Geoms(
            body=np.arange(n, dtype=np.int64),
            kind=np.array([KINDS[s.kind] for s in shapes], dtype=np.int64),
            size=size,
            R=np.tile(np.eye(3), (n, 1, 1)),
            p=np.zeros((n, 3)),
            pairs=np.array(pairs, dtype=np.int64).reshape(-1, 2),
            mu=np.full(len(pairs), 0.5),
            margin=np.array([float(margin)]),
            **hull_arrays([_solid(s) for s in shapes]),
            first_row=first_rows(pairs, n),
        )
        self.buffers, self.handle = make_buffers(self.geoms), make_geoms_handle(self.geoms)
        self.contacts = make_contacts(capacity)
        self.narrow_phase = make_narrow_phase(self.geoms, engine)
        self.status = None

    def near(self, shapes=None):
        """Broad phase; returns the candidate rows."""
        if shapes is not None:
            self.shapes = list(shapes)
        R_w = np.ascontiguousarray([s.R for s in self.shapes], dtype=np.float64)
        p_w = np.ascontiguousarray([s.p for s in self.shapes], dtype=np.float64)
        g, b = self.handle, self.buffers
        geometry_poses(g, R_w, p_w, b.geom_R, b.geom_p)
        aabbs(g, b.geom_R, b.geom_p, b.travel, b.lower, b.upper)
        count = candidate_pairs(
            g, b.geom_R, b.geom_p, b.lower, b.upper, b.travel, b.swept, b.resting, b.candidates, b.reach
        )
        return b.candidates[:count].copy()

    def contacts_of(self, shapes=None):
        """The whole pipeline; returns a Manifold of copies."""
        count = len(self.near(shapes))
        b, c = self.buffers, self.contacts
        self.narrow_phase.query(b.candidates, count, b.reach, b.geom_R, b.geom_p, b.witness)
        self.status = build_contacts(
            self.handle, b.geom_R, b.geom_p, b.travel, b.candidates, count, b.reach, b.witness, b.work, c
        )
        n = int(c.count[0])
        return Manifold(
            c.pair[:n].copy(), c.feature[:n].copy(), c.point[:n].copy(), c.normal[:n].copy(), c.gap[:n].copy()
        )


class Manifold(NamedTuple):
    """Copies of the valid rows of a Contacts."""

    pair: np.ndarray
    feature: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    gap: np.ndarray


@kernel
def _look_on_way(work, on_way):
    work.mesh.query[1] = on_way


def manifold(a, b, margin=MARGIN, engine="coal", on_way=False):
    """Contacts of two shapes, a first; ``on_way``: as they are looked at on the way of a step."""
    world = World([a, b], margin=margin, engine=engine)
    _look_on_way(world.buffers.work, int(on_way))
    result = world.contacts_of()
    assert world.status == 0
    return result


def rotation(axis, angle):
    """Rodrigues' formula."""
    x, y, z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K


def random_rotation(rng):
    """Uniform rotation."""
    q = rng.normal(size=4)
    x, y, z, w = q / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def moved(shape, R, p):
    """The shape after a rigid motion of the world."""
    return shape._replace(R=R @ shape.R, p=R @ np.asarray(shape.p, dtype=float) + p)


def half_widths(shape, n):
    """Reach of a shape along each row of n, from its origin."""
    s = shape.size
    if shape.kind == "convex":
        return (n @ shape.R @ shape.points.T).max(axis=1)
    if shape.kind == "ellipsoid":
        return np.linalg.norm(n @ shape.R * np.array(s), axis=1)
    if shape.kind == "cone":
        x, y, z = (n @ shape.R).T
        return np.maximum(s[1] * z, s[0] * np.hypot(x, y) - s[1] * z)
    x, y, z = np.abs(n @ shape.R).T
    if shape.kind == "sphere":
        return np.full(len(n), s[0])
    if shape.kind == "capsule":
        return s[0] + s[1] * z
    if shape.kind == "cylinder":
        return s[0] * np.hypot(x, y) + s[1] * z
    return s[0] * x + s[1] * y + s[2] * z


def separations(a, b, n):
    """Separation of two shapes along each row of n, from b to a."""
    return n @ (np.asarray(a.p) - np.asarray(b.p)) - half_widths(a, -n) - half_widths(b, n)


def true_distance(a, b, rng, hints=()):
    """Signed distance = largest separation over all directions: faces, pairs of edges, random search."""
    if b.kind == "plane":
        n = b.R[:, 2]
        return n @ (np.asarray(a.p) - np.asarray(b.p)) - half_widths(a, -n[None])[0]
    crosses = np.cross(a.R.T[:, None, :], b.R.T[None, :, :]).reshape(-1, 3)
    hints = [*hints, *(s.R @ face for s in (a, b) if s.kind == "convex" for face in convex_hull(s.points).faces)]
    n = np.vstack([a.R.T, b.R.T, crosses, rng.normal(size=(200, 3)), *[np.atleast_2d(h) for h in hints]])
    n = n[np.linalg.norm(n, axis=1) > 1e-6]
    n = np.vstack([n, -n]) / np.linalg.norm(np.vstack([n, n]), axis=1)[:, None]
    values = separations(a, b, n)
    best = values.max()
    for start in np.argsort(values)[-3:]:
        best = max(best, _refine(a, b, n[start]))
    return best


def _refine(a, b, n):
    """Pattern search on the sphere; stops after a while, for it creeps along ridges."""
    step, best = 0.1, separations(a, b, n[None])[0]
    angles = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    for _ in range(80):
        trial = n + step * circle @ np.linalg.svd(n[None])[2][1:]
        trial /= np.linalg.norm(trial, axis=1)[:, None]
        values = separations(a, b, trial)
        if values.max() > best:
            best, n = values.max(), trial[values.argmax()]
        else:
            step *= 0.4
    return best


def surface_distance(shape, points):
    """Signed distance of points from the surface of a shape."""
    local = (points - np.asarray(shape.p)) @ shape.R
    s = shape.size
    if shape.kind == "plane":
        return local[:, 2]
    if shape.kind == "sphere":
        return np.linalg.norm(local, axis=1) - s[0]
    if shape.kind == "capsule":
        local[:, 2] -= np.clip(local[:, 2], -s[1], s[1])
        return np.linalg.norm(local, axis=1) - s[0]
    if shape.kind == "convex":
        return _distance_to_hull(convex_hull(shape.points), local)
    if shape.kind == "ellipsoid":  # first order: value over gradient
        level = np.linalg.norm(local / np.array(s), axis=1)
        return (level - 1.0) * level / np.linalg.norm(local / np.array(s) ** 2, axis=1)
    if shape.kind == "cone":
        return _distance_to_cone(s, local)
    if shape.kind == "cylinder":
        excess = np.column_stack([np.hypot(local[:, 0], local[:, 1]) - s[0], np.abs(local[:, 2]) - s[1]])
    else:
        excess = np.abs(local) - np.array(s)
    return np.linalg.norm(np.maximum(excess, 0.0), axis=1) + np.minimum(excess.max(axis=1), 0.0)


def _distance_to_hull(hull, local):
    """Signed distance of points near a convex hull whose box has its middle at the origin."""
    corners = hull.vertices[hull.triangles]
    edge0, edge1 = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    normal = np.cross(edge0, edge1)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    distances = []
    for point in local:
        height = np.einsum("ij,ij->i", normal, point - corners[:, 0])
        if height.max() <= 0.0:
            distances.append(height.max())
            continue
        best = np.inf
        for a, b, c in corners:  # nearest point of each triangle, as the least of a few candidates
            best = min(best, _distance_to_triangle(point, a, b, c))
        distances.append(best)
    return np.array(distances)


def _distance_to_triangle(point, a, b, c):
    basis = np.column_stack([b - a, c - a])
    u, v = np.linalg.lstsq(basis, point - a, rcond=None)[0]
    candidates = []
    if u >= 0.0 and v >= 0.0 and u + v <= 1.0:
        candidates.append(a + basis @ [u, v])
    for start, end in ((a, b), (b, c), (c, a)):
        t = np.clip((point - start) @ (end - start) / ((end - start) @ (end - start)), 0.0, 1.0)
        candidates.append(start + t * (end - start))
    return min(np.linalg.norm(point - candidate) for candidate in candidates)


def _distance_to_cone(size, local):
    """Signed distance of points from a cone: in its half plane (distance from the axis, height) it is a triangle."""
    radius, half = size
    distances = []
    for x, y, z in local:
        point = np.array([np.hypot(x, y), z])
        inside = max(-half - z, (point @ [2.0 * half, radius] - radius * half) / np.hypot(2.0 * half, radius))
        if inside <= 0.0:
            distances.append(inside)
            continue
        best = np.inf
        for start, end in (((0.0, -half), (radius, -half)), ((radius, -half), (0.0, half))):
            start, end = np.array(start), np.array(end)
            t = np.clip((point - start) @ (end - start) / ((end - start) @ (end - start)), 0.0, 1.0)
            best = min(best, np.linalg.norm(point - start - t * (end - start)))
        distances.append(best)
    return np.array(distances)
