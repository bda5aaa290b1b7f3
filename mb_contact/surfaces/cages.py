# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Cages of polygons: their topology, and one step of Catmull and Clark's rule with its limits."""

from functools import cached_property

import numpy as np

from mb_contact.errors import InputError

CORNERS = ((1, 1), (2, 1), (2, 2), (1, 2))  #: places of a face's corners in its net of 4 x 4 points
OUTWARDS = ((0, -1), (1, 0), (0, 1), (-1, 0))  #: from its sides
FLAT = 1e-12  #: area of a face beside the square of its length, below which it has none


class Cage:
    """A mesh of polygons, which meet at most two at an edge, wound alike.

    Parameters
    ----------
    points : ndarray (n, 3)
        [m]
    vertex : ndarray of int (c,)
        Vertices of the corners of all faces, counterclockwise, one face after the other.
    sizes : ndarray of int (f,)
        Numbers of corners.
    """

    def __init__(self, points, vertex, sizes):
        self.points, self.vertex, self.sizes = points, vertex, sizes
        self.face = np.repeat(np.arange(len(sizes)), sizes)
        self.first = np.cumsum(sizes) - sizes
        corner = np.arange(len(vertex))
        last = corner == (self.first + sizes - 1)[self.face]
        self.after = np.where(last, self.first[self.face], corner + 1)  # the next corner of its face
        self.before = np.empty_like(corner)
        self.before[self.after] = corner
        self.valence = np.bincount(vertex, minlength=len(points))
        edge, back = vertex * len(points) + vertex[self.after], vertex[self.after] * len(points) + vertex
        order = np.argsort(edge)
        found = order[np.minimum(np.searchsorted(edge, back, sorter=order), len(order) - 1)]
        #: corner at the other end of the edge that begins at a corner, in the other face; -1 at a border
        self.other = np.where(edge[found] == back, found, -1)
        self.open = np.zeros(len(points), bool)
        self.open[vertex[self.other < 0]] = True

    @cached_property
    def odd(self):
        """(n,): vertices about which the limit surface is no uniform B-spline."""
        odd = np.where(self.open, self.valence > 2, self.valence != 4)
        odd[self.vertex[self.sizes[self.face] != 4]] = True
        return odd

    def around(self, values, index, count):
        """Sums (count, 3) of what the corners have."""
        return np.stack([np.bincount(index, values[:, i], count) for i in range(3)], 1)

    def ruled(self, inner, border):
        """Points (n, 3) by the rule of the vertex: within, along a border, or of a corner of it, which stays."""
        end = self.open & (self.valence == 1)
        return np.where(end[:, None], self.points, np.where(self.open[:, None], border, inner))

    def along_border(self):
        """Sums (n, 3) of the two neighbours along the border."""
        corner, n = np.flatnonzero(self.other < 0), len(self.points)
        here, there = self.vertex[corner], self.vertex[self.after[corner]]
        return self.around(self.points[there], here, n) + self.around(self.points[here], there, n)

    def refined(self):
        """The cage after one step; its face k, of four corners, is what corner k has become, which is its first one."""
        n, faces, inner = len(self.points), len(self.sizes), self.other >= 0
        here, there = self.points[self.vertex], self.points[self.vertex[self.after]]
        middle = self.around(here, self.face, faces) / self.sizes[:, None]
        half, near = 0.5 * (here + there), middle[self.face]
        edge = np.where(inner[:, None], 0.5 * half + 0.25 * (near + middle[self.face[self.other]]), half)
        valence = self.valence[:, None]
        smooth = self.around(near + 2.0 * half, self.vertex, n) / valence**2 + (1.0 - 3.0 / valence) * self.points
        vertices = self.ruled(smooth, 0.75 * self.points + 0.125 * self.along_border())
        corner = np.arange(len(self.vertex))
        chosen, number = np.unique(np.where(inner, np.minimum(corner, self.other), corner), return_inverse=True)
        points = np.concatenate((vertices, edge[chosen], middle))
        number = number.ravel() + n
        quads = np.stack((self.vertex, number, self.face + n + len(chosen), number[self.before]), 1)
        return Cage(points, quads.ravel(), np.full(len(quads), 4))

    def limits(self):
        """Where the vertices of a cage of quadrilaterals end (n, 3)."""
        n, N = len(self.points), self.valence[:, None]
        ring = 4.0 * self.points[self.vertex[self.after]] + self.points[self.vertex[self.after[self.after]]]
        inner = (N * N * self.points + self.around(ring, self.vertex, n)) / (N * (N + 5.0))
        return self.ruled(inner, (4.0 * self.points + self.along_border()) / 6.0)

    def ring(self, vertex):
        """The ends of the edges of an inner vertex and the opposite corners of its faces, counterclockwise."""
        corner, ends, opposite = np.flatnonzero(self.vertex == vertex)[0], [], []
        for _ in range(self.valence[vertex]):
            ends.append(self.vertex[self.after[corner]])
            opposite.append(self.vertex[self.after[self.after[corner]]])
            corner = self.other[self.before[corner]]
        return np.array(ends), np.array(opposite)

    def tangents(self, vertex):
        """Two directions (2, 3) of the limit surface at an inner vertex of a cage of quadrilaterals.

        Left eigenvectors of the step for its second largest eigenvalue: weights A cos 2 pi i / N of the ends of edges,
        cos 2 pi i / N + cos 2 pi (i + 1) / N of the corners, A = 1 + c + cos(pi / N) sqrt(2 (9 + c)), c = cos 2 pi / N.
        """
        ends, opposite = self.ring(vertex)
        angle = 2.0 * np.pi / len(ends)
        turn = angle * np.arange(len(ends))
        A = 1.0 + np.cos(angle) + np.cos(0.5 * angle) * np.sqrt(2.0 * (9.0 + np.cos(angle)))
        waves = np.stack([(wave(turn), wave(turn + angle)) for wave in (np.cos, np.sin)])
        at_ends, at_corners = self.points[ends], self.points[opposite]
        return A * waves[:, 0] @ at_ends + (waves[:, 0] + waves[:, 1]) @ at_corners

    def nets(self, faces):
        """Control points (k, 4, 4, 3) of faces without odd vertices; beyond a border they go on straight."""
        net, corner, borders = np.empty((len(faces), 4, 4, 3)), self.first[faces], []
        for k in range(4):
            across = self.other[corner]
            back = self.after[across]
            (i, j), (x, y) = CORNERS[k], OUTWARDS[k]
            (di, dj), (ni, nj) = OUTWARDS[k - 1], CORNERS[(k + 1) % 4]
            net[:, i, j] = self.points[self.vertex[corner]]
            net[:, i + x, j + y] = self.points[self.vertex[self.after[back]]]
            net[:, ni + x, nj + y] = self.points[self.vertex[self.before[across]]]
            net[:, i + x + di, j + y + dj] = self.points[self.vertex[self.before[self.other[back]]]]
            borders.append(across < 0)
            corner = self.after[corner]
        for border, rows in zip(borders, (net.swapaxes(1, 2), net[:, ::-1], net.swapaxes(1, 2)[:, ::-1], net)):
            rows[border, 0] = 2.0 * rows[border, 1] - rows[border, 2]
        return net

    def part(self, groups, faces, shift):
        """The cage of pairs of a group and a face, groups apart; shift (g, 3) is taken off their points."""
        sizes, n = self.sizes[faces], len(self.points)
        corner = np.repeat(self.first[faces] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        kept, vertex = np.unique(np.repeat(groups, sizes) * n + self.vertex[corner], return_inverse=True)
        return Cage(self.points[kept % n] - shift[kept // n], vertex.ravel(), sizes)

    def touching(self, faces, groups):
        """Pairs (groups, faces) of all faces that have a vertex with a face of the group in common."""
        from scipy.sparse import coo_matrix  # a tenth of a second to import, and few scenes have cages

        n, F, count = len(self.points), len(self.sizes), groups.max() + 1
        group = np.full(F, -1)
        group[faces] = groups
        mine = np.flatnonzero(group[self.face] >= 0)
        touched = coo_matrix((np.ones(len(mine)), (group[self.face[mine]], self.vertex[mine])), (count, n)).tocsr()
        near = touched @ coo_matrix((np.ones(len(self.vertex)), (self.vertex, self.face)), (n, F)).tocsr()
        rows, columns = near.nonzero()
        return rows, columns, group[columns] == rows


def checked_cage(points, faces):
    """The Cage of points (n, 3) and faces, sequences of their numbers from 0.

    Raises
    ------
    InputError
        It is none; vertices and faces are counted from 1, as in an OBJ file.
    """
    try:
        points, faces = np.array(points, float), [[int(v) for v in face] for face in faces]
    except (TypeError, ValueError) as error:
        raise InputError(f"a cage has points of three numbers and faces of numbers of points: {error}") from None
    if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
        raise InputError("the points of a cage must be n x 3 finite numbers")
    if not faces:
        raise InputError("a cage needs at least one face")
    for k, face in enumerate(faces, 1):
        if len(face) < 3 or len(set(face)) < len(face):
            raise InputError(f"face {k} of the cage needs three corners or more, all different")
        if min(face) < 0 or max(face) >= len(points):
            raise InputError(f"face {k} of the cage has a vertex that is not there: there are {len(points)}")
        sides = points[face] - points[np.roll(face, 1)]
        area = 0.5 * np.cross(points[face] - points[face[0]], sides).sum(axis=0)
        if not np.linalg.norm(area) > FLAT * np.linalg.norm(sides, axis=1).sum() ** 2:
            raise InputError(f"face {k} of the cage has no area: take it out, or move its vertices apart")
    used, vertex = np.unique(np.concatenate(faces), return_inverse=True)
    cage = Cage(points[used], vertex.ravel(), np.array([len(face) for face in faces]))
    _check_manifold(cage, used + 1)
    here, there = cage.points[cage.vertex], cage.points[cage.vertex[cage.after]]
    middles = cage.around(here, cage.face, len(faces)) / cage.sizes[:, None]
    if not cage.open.any() and np.einsum("ij,ij", middles[cage.face], np.cross(here, there)) < 0.0:
        raise InputError("the faces of the cage are seen from inside: reverse the order of their corners")
    return cage


def _check_manifold(cage, names):
    """Refuse edges of three faces, faces wound against each other, and faces that meet in a vertex alone."""
    from scipy.sparse import coo_matrix  # as above
    from scipy.sparse.csgraph import connected_components

    ends = np.stack((cage.vertex, cage.vertex[cage.after]), 1)
    for pairs, limit, what in (
        (np.sort(ends, axis=1), 2, "more than two faces share the edge {}-{} of the cage: take the others out"),
        (ends, 1, "two faces of the cage run the same way along the edge {}-{}: reverse one of them"),
    ):
        edges, counts = np.unique(pairs, axis=0, return_counts=True)
        if (counts > limit).any():
            raise InputError(what.format(*names[edges[np.argmax(counts > limit)]]))
    turned = cage.other[cage.before]
    corner = np.flatnonzero(turned >= 0)
    links = coo_matrix((np.ones(len(corner)), (corner, turned[corner])), (len(turned), len(turned)))
    _, fan = connected_components(links, directed=False)
    fans = np.unique(np.stack((cage.vertex, fan), 1), axis=0)[:, 0]
    if len(fans) > len(names):
        twice = names[fans[:-1][np.diff(fans) == 0][0]]
        raise InputError(f"faces of the cage meet in vertex {twice} alone: give each of its fans a vertex of its own")
