# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How a contact's normal, point and gap follow the poses of its two shapes, in closed form.

What is differentiated is how the narrow phase makes them (docs/collision.md): between a face and a feature over it, or
between points and edges.  All derivatives are matrices (., 12): by the twist of body A, then of body B, in world axes
at the world's origin.  With X_A(y), X_B(y) the velocities of the points of A and B that are at y:

    a face of O with normal m, and y of the other shape over it       dm = w_O x m,  dg = m.(dy - X_O(y))
        y a vertex                                                    dy = X(y)
        y a corner c of the face, moved along m by s to a face m'     dy = X_O(c) + s dm + ds m,  m'.(dy - X(y)) = 0
        y where an edge e crosses that of the face, h = m x edge      dy = X(y) + dt e,  h.(dy - X_O(y)) = 0
    points a and b of cores at d = a - b = L n                        dn = (1 - n n*) dd / L,  dg = n.dd
        b on an edge e                                                d(e.d) = 0
    two edges, n along e_a x e_b                                      dd = dL n + L dn
"""

import numpy as np

from mb_contact.core.collision.shapes import COS_CAP
from mb_contact.errors import InputError
from mb_contact.gradients.cores import KNOWN, Core
from mb_contact.gradients.motion import cross, point_map, skew
from mb_contact.types import SHAPE_CYLINDER, SHAPE_NAMES, SHAPE_PLANE

SAME = 1e-7  #: of a shape's size: points so near are one point
ALIKE = 1e-8  #: by which a normal may differ from that of the face that it is
LEVEL = 1e-9  #: as in manifold_normals.py


class Side:
    """A core placed in the world, the first or the second of a pair."""

    def __init__(self, core, R, p, second):
        self.core, self.second = core, second
        self.R, self.p = (np.eye(3), np.zeros(3)) if core.body < 0 else (R[core.body], p[core.body])
        self.points, self.normals = core.points @ self.R.T + self.p, core.normals @ self.R.T

    def material(self, y):
        """X(y) of this body, (3, 12)."""
        return self._placed(point_map(y))

    def turning(self, d):
        """Derivative of a direction d fixed in this body, (3, 12)."""
        return self._placed(np.concatenate((-skew(d), np.zeros((3, 3))), axis=1))

    def _placed(self, block):
        none = np.zeros((3, 6))
        return np.concatenate((none, block) if self.second else (block, none), axis=1)

    def face(self, n):
        """The face whose outward normal is n; None where there is none."""
        near = np.flatnonzero(np.abs(self.normals - n).max(axis=1, initial=0.0) < ALIKE)
        return int(near[0]) if len(near) else None

    def features(self, m, dm):
        """Points that may lie over a face with normal m, those that move within the shape; pairs that edges join.

        Of the former the last ones are the latter, given by their derivatives.
        """
        points, edges, by = self.points, self.core.edges, []
        if self.core.kind == SHAPE_CYLINDER:
            ends, by_ends = self._facing_line(m, dm)
            if abs(self.R @ self.core.axis @ m) < COS_CAP:  # no cap faces that way
                points = points[:0]
            edges = np.array([[len(points), len(points) + 1]]) if len(ends) else edges
            points, by = np.concatenate((points, ends)), by_ends
        return points, by, edges

    def _facing_line(self, m, dm):
        """Ends of the line of a cylinder that faces a face with normal m, and their derivatives: on the rims, r u.

        u is -m without its part along the axis k, as a unit vector.
        """
        k = self.R @ self.core.axis
        dk, r = self.turning(k), self.core.size[0]
        across = (m @ k) * k - m
        sine = np.linalg.norm(across)
        if sine < 1e-9:
            return np.zeros((0, 3)), []
        u = across / sine
        d_across = np.outer(k, k @ dm + m @ dk) + (m @ k) * dk - dm
        du = (d_across - np.outer(u, u @ d_across)) / sine
        ends = self.core.ends @ self.R.T + self.p
        return ends + r * u, [self.material(y) + r * du for y in ends]


class Geometry:
    """Derivatives of the contacts of a world.

    Parameters
    ----------
    world : World
    pair_links : sequence of (str, str)
        Names, for errors.
    """

    def __init__(self, world, pair_links):
        self._geoms, self._links, self._cores = world.geoms, pair_links, {}

    def _core(self, g):
        if g not in self._cores:
            self._cores[g] = Core(self._geoms, g)
        return self._cores[g]

    def refuse(self, pair, what):
        """InputError about a pair of shapes."""
        a, b = self._links[pair]
        return InputError(f"no derivative of the contact of '{a}' and '{b}': {what}")

    def contact(self, pair, n, x, gap, motion, placed):
        """Derivatives (7, 12) of normal, point and gap of a contact of a pair, with the poses of a Motion.

        ``placed`` keeps the sides of pairs whose bodies stand as they do.
        """
        kinds = self._geoms.kind[self._geoms.pairs[pair]]
        for kind in kinds:
            if kind not in KNOWN:
                text = f"none is known of a {SHAPE_NAMES[kind]}; give it primitives or a convex hull for collisions"
                raise self.refuse(pair, text)
        if pair not in placed:
            cores = (self._core(int(g)) for g in self._geoms.pairs[pair])
            placed[pair] = [Side(core, motion.R, motion.p, i == 1) for i, core in enumerate(cores)]
        sides = a, b = placed[pair]
        faces = a.face(-n), b.face(n)
        if faces != (None, None):
            owner = self._reference(sides, faces, pair)
            found = over_face(sides[owner], faces[owner], sides[1 - owner], x, gap)
            if found is not None:
                dm, dx, dgap = found
                return np.concatenate((dm if owner == 1 else -dm, dx, dgap[None]))
        if SHAPE_CYLINDER in kinds or SHAPE_PLANE in kinds:
            raise self.refuse(pair, "it is not over a flat face; give the shape a convex hull for collisions")
        found = between_edges(a, b, n, x, gap)
        if isinstance(found, str):
            raise self.refuse(pair, found)
        return found

    def _reference(self, sides, faces, pair):
        """0 or 1: whose face it is, of two parallel ones as the narrow phase decides."""
        if None in faces:
            return 0 if faces[1] is None else 1
        if sides[0].core.kind == SHAPE_PLANE or sides[1].core.kind == SHAPE_PLANE:
            return 0 if sides[0].core.kind == SHAPE_PLANE else 1
        areas = [side.core.area(face) for side, face in zip(sides, faces, strict=True)]
        if abs(areas[0] - areas[1]) > 1e-9 * sum(areas):
            return 0 if areas[0] > areas[1] else 1
        keys = [(side.core.kind, *side.core.size) for side in sides]
        x, y = (1, 0) if keys[0] > keys[1] else (0, 1)
        at = [self._centre(pair, i, sides) for i in range(2)]
        for i in (2, 0, 1):
            if abs(at[x][i] - at[y][i]) > LEVEL:
                return x if at[x][i] < at[y][i] else y
        return x

    def _centre(self, pair, i, sides):
        g = self._geoms.pairs[pair, i]
        return sides[i].R @ self._geoms.p[g] + sides[i].p


def over_face(owner, face, other, x, gap):
    """Derivatives of the outward normal m, of the point and of the gap over a face; None where nothing fits there."""
    m, near = owner.normals[face], SAME * min(owner.core.scale, other.core.scale)
    dm = owner.turning(m)
    corners = owner.core.corners[face]
    base = owner.points[corners[0] if len(corners) else 0]
    r = other.core.radius
    level = gap + r  # of the core's point above the face
    points, moving, edges = other.features(m, dm)

    def by(i):
        return moving[i - len(points)] if i >= len(points) - len(moving) else other.material(points[i])

    def beside(y):
        away = y - x
        return np.sqrt(np.maximum((away * away).sum(axis=-1) - (away @ m) ** 2, 0.0))

    fits = np.flatnonzero((np.abs((points - base) @ m - level) < near) & (beside(points) < near))
    if len(fits):
        i = int(fits[0])
        return _levelled(owner, m, dm, points[i], by(i), r, gap)
    outline = owner.points[corners] if len(corners) else np.zeros((0, 3))
    for c in outline:
        if beside(c) < near:
            y = c + level * m
            for q, normal in zip(other.core.corners, other.normals, strict=True):
                lies = len(q) and normal @ m < -1e-6 and abs(normal @ (y - other.points[q[0]])) < near
                if lies:
                    dy = owner.material(c) + level * dm
                    dy = dy + np.outer(m, normal @ (other.material(y) - dy)) / (normal @ m)
                    return _levelled(owner, m, dm, y, dy, r, gap)
    for i, j in edges:
        e, first = points[j] - points[i], points[i]
        for c0, c1 in zip(outline, np.roll(outline, -1, axis=0), strict=True):
            h = cross(m, c1 - c0)
            if abs(h @ e) <= 1e-9 * np.linalg.norm(h) * np.linalg.norm(e):
                continue
            t = h @ (c0 - first) / (h @ e)
            y = first + t * e
            if -SAME <= t <= 1.0 + SAME and beside(y) < near and abs(m @ (y - base) - level) < near:
                dy = (1.0 - t) * by(i) + t * by(j)
                dy = dy + np.outer(e, h @ (owner.material(y) - dy)) / (h @ e)
                return _levelled(owner, m, dm, y, dy, r, gap)
    return None


def _levelled(owner, m, dm, y, dy, r, gap):
    """(dm, dx, dg) from the core's point y: x = y - (r + g / 2) m."""
    dgap = m @ (dy - owner.material(y))
    return dm, dy - 0.5 * np.outer(m, dgap) - (r + 0.5 * gap) * dm, dgap


def between_edges(a, b, n, x, gap):
    """Derivatives (7, 12) of a contact of points and edges; a text where they have none."""
    r_a, r_b = a.core.radius, b.core.radius
    on_a, on_b = x + (0.5 * gap + r_a) * n, x - (0.5 * gap + r_b) * n
    e_a, e_b = _edge(a, on_a, n), _edge(b, on_b, n)
    if isinstance(e_a, str) or isinstance(e_b, str):
        return "its points do not lie on vertices or edges, or lie along two parallel ones"
    L, across = gap + r_a + r_b, np.eye(3) - np.outer(n, n)
    apart = a.material(on_a) - b.material(on_b)
    if e_a is not None and e_b is not None:
        c = cross(e_a, e_b)
        size = np.linalg.norm(c)
        if size < 1e-3 * np.linalg.norm(e_a) * np.linalg.norm(e_b):
            return "its edges are parallel"
        dc = skew(e_a) @ b.turning(e_b) - skew(e_b) @ a.turning(e_a)
        dn = np.sign(c @ n) / size * across @ dc
        parts = np.linalg.solve(np.stack((e_a, -e_b, -n), axis=1), L * dn - apart)
        d_b, dgap = b.material(on_b) + np.outer(e_b, parts[1]), parts[2]
    else:
        if abs(L) < SAME * min(a.core.scale, b.core.scale):
            return "a vertex lies on another one or on an edge"
        d_b = b.material(on_b)
        if e_b is not None:
            by = (L * n @ b.turning(e_b) + e_b @ apart) / (e_b @ e_b)
            d_b, apart = d_b + np.outer(e_b, by), apart - np.outer(e_b, by)
        elif e_a is not None:
            apart = apart - np.outer(e_a, (L * n @ a.turning(e_a) + e_a @ apart) / (e_a @ e_a))
        dn, dgap = across @ apart / L, n @ apart
    dx = d_b + 0.5 * np.outer(n, dgap) + (r_b + 0.5 * gap) * dn
    return np.concatenate((dn, dx, dgap[None]))


def _edge(side, y, n):
    """The edge on which the core's point y lies, None where it is a vertex; a text where it is neither."""
    near = SAME * side.core.scale
    if np.linalg.norm(side.points - y, axis=1).min() < near:
        return None
    for i, j in side.core.edges:
        e = side.points[j] - side.points[i]
        t = e @ (y - side.points[i]) / (e @ e)
        if 0.0 <= t <= 1.0 and np.linalg.norm(side.points[i] + t * e - y) < near and abs(e @ n) < 1e-6 * np.sqrt(e @ e):
            return e
    return "beside"
