# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Triangle meshes as they are: which triangles lie in one plane, which edges and vertices stand out."""

from typing import NamedTuple

import numpy as np
import scipy  # its parts are imported where they are first used

from mb_contact.model.shapes.mesh_edges import (
    closed_pairs,
    directed,
    matched,
    neighbours,
    sheet_pairs,
    touching_pairs,
    without_flaps,
)
from mb_contact.model.shapes.mesh_trees import box_tree
from mb_contact.model.shapes.united import enclosed, united, volumes
from mb_contact.types import HOLLOW, SHAPE_CONVEX, SHAPE_MESH, WITHIN

SAME_POINT = 1e-9  #: vertices nearer than this part of the diagonal are one
FLAT = 2e-7  #: corners this part of the diagonal off a plane still lie in it: the rounding of files in single precision
PARALLEL = 1e-3  #: largest angle between normals of triangles in one plane [rad]
STRAIGHT = 1.0 - 1e-10  #: cosine of the angle between two ridges that are one
CLOSED, SHEET = 1, 2  #: of ``TriangleMesh.sided``


class TriangleMesh(NamedTuple):
    """Triangles with the middle of their bounding box as origin; arrays named as in ``types.Meshes`` are those.

    Of a sheet, a mesh that encloses no volume, every triangle is there twice, once for each side.
    """

    vertices: np.ndarray  #: (k, 3) [m]
    triangles: np.ndarray  #: int64 (t, 3), counterclockwise seen from outside
    faces: np.ndarray  #: (t, 3), outward unit normals, the same for all triangles of a patch
    corners: np.ndarray  #: int64 (3 t,)
    first_corner: np.ndarray  #: int64 (t + 1,)
    patch: np.ndarray  #: int64 (t,), first triangle of those in one plane that hang together
    centre: np.ndarray  #: (3,), of the bounding box, in the file's frame [m]
    half: np.ndarray  #: (3,), half extents of the bounding box [m]
    sided: int  #: CLOSED or SHEET
    box: np.ndarray
    child: np.ndarray
    order: np.ndarray
    first_ridge: np.ndarray
    ridge: np.ndarray
    goes_on: np.ndarray
    sides: np.ndarray
    first_peak: np.ndarray
    peak: np.ndarray
    first_beside: np.ndarray
    beside: np.ndarray
    outward: np.ndarray
    border: np.ndarray
    loss: float = 0.0  #: this and the following as of a hull
    flat: bool = False
    gap: float = 0.0
    excess: float = 0.0

    @property
    def volume(self):
        """Volume that is enclosed; zero of a sheet [m^3]."""
        if self.sided == SHEET:
            return 0.0
        a, b, c = (self.vertices[self.triangles[:, k]] for k in range(3))
        return float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6.0


def triangle_mesh(vertices, triangles):
    """A mesh made ready for contacts.

    Parameters
    ----------
    vertices : (n, 3)
        [m]
    triangles : int (t, 3)
        Counterclockwise seen from outside; where neighbours disagree, or the whole is inside out, they are turned.
        Closed parts that overlap are united.

    Raises
    ------
    ValueError
        There is no triangle with an area.
    """
    vertices = np.asarray(vertices, dtype=np.float64).reshape(-1, 3)
    triangles = np.asarray(triangles, dtype=np.int64).reshape(-1, 3)
    used = vertices[np.unique(triangles)]
    if len(used) < 3 or not np.isfinite(used).all():
        raise ValueError("a mesh needs at least one triangle with finite corners")
    lower, upper = used.min(axis=0), used.max(axis=0)
    centre, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    diagonal = float(np.linalg.norm(upper - lower))
    vertices, triangles = _merged(vertices - centre, triangles, SAME_POINT * diagonal)
    if len(triangles) == 0:
        raise ValueError("no triangle has an area")
    whole = united(vertices, triangles)
    if whole is not None:
        vertices, triangles = _merged(*whole, SAME_POINT * diagonal)
    triangles = _once(triangles)
    used, triangles = np.unique(without_flaps(triangles), return_inverse=True)
    vertices, triangles = np.ascontiguousarray(vertices[used]), triangles.reshape(-1, 3).astype(np.int64)
    triangles, sided = _oriented(vertices, triangles)
    normals, pairs, sided = _sides(vertices, triangles, sided)
    return _assembled(vertices, triangles, normals, pairs, sided, centre, half, FLAT * diagonal)


def open_edges(mesh):
    """Edges of a sheet that have other than two triangles, and all of its edges; (0, 0) of what encloses a volume."""
    if mesh.sided == CLOSED:
        return 0, 0
    count = neighbours(mesh.triangles[: len(mesh.triangles) // 2])[2]
    return int((count != 2).sum()), len(count)


def field_mesh(field):
    """The same arrays of a height field: its border falls off straight down.

    Parameters
    ----------
    field : HeightField
    """
    normals = np.asarray(field.faces)
    pairs = matched(directed(field.triangles))
    return _assembled(
        field.vertices, field.triangles, normals, pairs, CLOSED, field.centre, field.half, 0.0, field.patch,
    )  # fmt: skip


# --- one surface ----------------------------------------------------------------------------------


def _merged(vertices, triangles, same):
    """Vertices that are one made one; triangles without an area left out."""
    used, triangles = np.unique(triangles, return_inverse=True)
    vertices, triangles = vertices[used], triangles.reshape(-1, 3)
    _, index = np.unique(vertices, axis=0, return_inverse=True)
    first = np.full(index.max() + 1, len(vertices))
    np.minimum.at(first, index.reshape(-1), np.arange(len(vertices)))
    near = scipy.spatial.cKDTree(vertices[first]).query_pairs(same, output_type="ndarray")
    graph = scipy.sparse.coo_array((np.ones(len(near)), near.T), shape=(len(first), len(first)))
    label = scipy.sparse.csgraph.connected_components(graph, directed=False)[1]
    kept = np.full(label.max() + 1, len(first))
    np.minimum.at(kept, label, np.arange(len(first)))
    vertices, triangles = vertices[first[kept]], label[index.reshape(-1)[triangles]]
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    longest = np.linalg.norm(np.stack([b - a, c - b, a - c]), axis=2).max(axis=0)
    triangles = triangles[np.linalg.norm(np.cross(b - a, c - a), axis=1) > same * longest]
    return vertices, triangles


def _once(triangles):
    """Triangles with their lowest corner first, those that are there twice left out."""
    turned = np.argmin(triangles, axis=1)
    triangles = np.stack([triangles[np.arange(len(triangles)), (turned + k) % 3] for k in range(3)], axis=1)
    _, once = np.unique(triangles, axis=0, return_index=True)
    return triangles[np.sort(once)]


def _oriented(vertices, triangles):
    """Triangles wound alike, outward where they enclose a volume; CLOSED or SHEET."""
    edges, number, count = neighbours(triangles)
    two = (count == 2).all()
    order = np.argsort(number, kind="stable").reshape(-1, 2) if two else touching_pairs(vertices, triangles)
    if order is None:
        return triangles, SHEET
    agree = edges[order[:, 0], 0] == edges[order[:, 1], 1]
    t = len(triangles)
    graph = scipy.sparse.coo_array((np.ones(len(order)), (order // 3).T), shape=(t, t)).tocsr()
    part = scipy.sparse.csgraph.connected_components(graph, directed=False)[1]
    mended = set()
    if not agree.all():
        flip, known = np.zeros(t, dtype=bool), np.zeros(t, dtype=bool)
        beside = [[] for _ in range(t)]
        for (i, j), same in zip((order // 3).tolist(), agree.tolist()):
            beside[i].append((j, same))
            beside[j].append((i, same))
        mended = set(np.unique(part[(order[~agree] // 3)[:, 0]]).tolist())
        for seed in range(t):
            stack = [] if known[seed] else [seed]
            known[seed] = True
            while stack:
                i = stack.pop()
                for j, same in beside[i]:
                    if known[j] and (flip[i] ^ flip[j]) == same:
                        return triangles, SHEET  # as of a Klein bottle
                    if not known[j]:
                        known[j], flip[j] = True, flip[i] ^ (not same)
                        stack.append(j)
        triangles = np.where(flip[:, None], triangles[:, ::-1], triangles)
    volume = volumes(vertices, triangles, part)
    size = float(np.linalg.norm(np.ptp(vertices, axis=0)))
    if np.abs(volume).max() <= SAME_POINT * size**3:
        return triangles, SHEET
    inside_out = np.isin(np.arange(len(volume)), list(mended)) & (volume < 0.0)
    volume[inside_out] *= -1.0
    inside = enclosed(vertices, triangles, part, np.abs(volume))
    cavity = np.bincount(inside[:, 0], minlength=len(volume)) % 2 == 1  # any other is solid
    inside_out ^= cavity == (volume > 0.0)  # however it is wound
    return np.where(inside_out[part][:, None], triangles[:, ::-1], triangles), CLOSED


def _sides(vertices, triangles, sided):
    """(normals of triangles, pairs of half edges, CLOSED or SHEET); of a sheet both sides of each triangle are paired.

    What would be closed, but has solids that touch along an edge on no side that looks at another, is a sheet.
    """
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    if sided == CLOSED:
        found = closed_pairs(vertices, triangles)
        if found is not None:
            return normals, found, CLOSED
    return normals, sheet_pairs(vertices, triangles), SHEET


# --- what stands out ------------------------------------------------------------------------------


def _assembled(vertices, triangles, normals, pairs, sided, centre, half, flat, patch=None):
    """The mesh from its triangles, and from the half edges that are two sides of one edge."""
    single = len(triangles)
    edges = directed(triangles)
    if sided == SHEET:
        triangles = np.concatenate([triangles, triangles[:, [1, 0, 2]]])  # edge 0 of the back is that of the front
        normals = np.concatenate([normals, -normals])
        back = 3 * single + np.array([0, 2, 1])[np.arange(3 * single) % 3] + 3 * (np.arange(3 * single) // 3)
        pairs = np.where(pairs >= 3 * single, back[np.maximum(pairs - 3 * single, 0)], pairs)
        edges = directed(triangles)
    if patch is None:
        patch = _patches(vertices, triangles, normals, pairs, flat)
        doubled = np.cross(*(vertices[triangles[:, k]] - vertices[triangles[:, 0]] for k in (1, 2)))
        of_patch = np.stack([np.bincount(patch, doubled[:, k], len(triangles)) for k in range(3)], axis=1)[patch]
        normals = of_patch / np.linalg.norm(of_patch, axis=1)[:, None]
    i, j = pairs.T
    ends = edges[i]
    along = vertices[ends[:, 1]] - vertices[ends[:, 0]]
    along /= np.linalg.norm(along, axis=1)[:, None]
    n1, n2 = normals[i // 3], normals[np.maximum(j, 0) // 3]
    d1, d2 = np.cross(n1, along), -np.cross(n2, along)
    alone = j < 0
    down = np.array([0.0, 0.0, -1.0])
    d2[alone] = down - (along[alone] @ down)[:, None] * along[alone]
    d2[alone] /= np.linalg.norm(d2[alone], axis=1)[:, None]
    n2[alone] = np.cross(d2[alone], along[alone])
    apart = alone | (patch[i // 3] != patch[np.maximum(j, 0) // 3])
    border = np.full(len(edges), HOLLOW, dtype=np.int64)
    border[pairs[~apart].ravel()] = WITHIN
    stands_out = apart & (np.einsum("ij,ij->i", n1, d2) < -1e-12) | (np.einsum("ij,ij->i", n1, n2) < -1.0 + 1e-12)
    if sided == CLOSED:
        stands_out &= apart
    chosen = np.flatnonzero(stands_out)
    chosen = chosen[np.argsort(i[chosen] // 3, kind="stable")]
    i, j, ends = i[chosen], j[chosen], ends[chosen]
    sides = np.stack([n1[chosen], n2[chosen], d1[chosen], d2[chosen]], axis=1)
    border[i] = np.arange(len(i))
    border[j[j >= 0]] = np.flatnonzero(j >= 0)
    goes_on = _straight(vertices, ends, np.stack([patch[i // 3], np.where(j < 0, -1, patch[np.maximum(j, 0) // 3])], 1))
    peak, owner, first_beside, beside = _peaks(triangles, edges, patch, ends, goes_on)
    outward = _outward(vertices, triangles, normals)[peak] if sided == CLOSED else np.zeros((len(peak), 3))
    goes_on = goes_on | _hollow(vertices, edges, ends, sides)
    t = len(triangles)
    box, child, order = box_tree(vertices[triangles])
    return TriangleMesh(
        vertices=vertices, triangles=triangles, faces=np.ascontiguousarray(normals), corners=triangles.reshape(-1),
        first_corner=np.arange(0, 3 * t + 1, 3, dtype=np.int64), patch=patch, centre=centre, half=half, sided=sided,
        box=box, child=child, order=order, first_ridge=np.searchsorted(i // 3, np.arange(t + 1)).astype(np.int64),
        ridge=np.ascontiguousarray(ends), goes_on=goes_on, sides=sides,
        first_peak=np.searchsorted(owner, np.arange(t + 1)).astype(np.int64), peak=peak, first_beside=first_beside,
        beside=beside, outward=outward, border=np.hstack([border.reshape(-1, 3), _at_corners(edges, border, patch)]),
    )  # fmt: skip


def _at_corners(edges, border, patch):
    """Two ridges (t, 6) at the border of its patch for every corner of a triangle, -1 where it is inside of it."""
    kept = np.flatnonzero(border >= 0)
    ends = edges[kept] + (patch[kept // 3] * (edges.max() + 1))[:, None]
    keys, ridges = ends.reshape(-1), np.repeat(border[kept], 2)
    order = np.argsort(keys, kind="stable")
    keys, ridges = np.append(keys[order], [-1, -1]), np.append(ridges[order], [-1, -1])
    corners = edges[:, 0] + np.repeat(patch, 3) * (edges.max() + 1)
    first = np.searchsorted(keys[:-2], corners)
    return np.stack([np.where(keys[first + k] == corners, ridges[first + k], -1) for k in range(2)], 1).reshape(-1, 6)


def _patches(vertices, triangles, normals, pairs, tolerance):
    """First triangle of those in one plane that hang together, of each triangle."""
    t = len(triangles)
    i, j = (pairs[pairs[:, 1] >= 0] // 3).T
    flat = np.einsum("ij,ij->i", normals[i], normals[j]) > 0.0
    for here, there in ((i, j), (j, i)):
        away = vertices[triangles[there]] - vertices[triangles[here, 0]][:, None, :]
        flat &= np.abs(np.einsum("ijk,ik->ij", away, normals[here])).max(axis=1) <= tolerance
    graph = scipy.sparse.coo_array((np.ones(flat.sum()), (i[flat], j[flat])), shape=(t, t))
    label = scipy.sparse.csgraph.connected_components(graph, directed=False)[1]
    _, first = np.unique(label, return_index=True)
    patch = first[label].astype(np.int64)
    area = np.linalg.norm(np.cross(*(vertices[triangles[:, k]] - vertices[triangles[:, 0]] for k in (1, 2))), axis=1)
    largest = np.lexsort((-area, patch))
    seed = largest[np.searchsorted(patch[largest], patch)]  # the largest triangle of the patch tells its plane best
    away = vertices[triangles] - vertices[triangles[seed, 0]][:, None, :]
    drift = np.abs(np.einsum("ijk,ik->ij", away, normals[seed])).max(axis=1) > 10.0 * tolerance
    bent = np.isin(patch, patch[drift])  # many tiny angles in a row: no plane after all
    return np.where(bent, np.arange(t), patch)


def _straight(vertices, ends, patches):
    """Bits of the ends beyond which each ridge goes on straight between the same two planes."""
    along = vertices[ends[:, 1]] - vertices[ends[:, 0]]
    along /= np.linalg.norm(along, axis=1)[:, None]
    at = {}
    key = np.sort(patches, axis=1).tolist()
    for r, (a, b) in enumerate(ends.tolist()):
        at.setdefault((a, *key[r]), []).append((r, 0))
        at.setdefault((b, *key[r]), []).append((r, 1))
    goes_on = np.zeros(len(ends), dtype=np.int64)
    for met in at.values():
        for r, end in met:
            for s, other in met:
                cosine = along[r] @ along[s] * (1.0 if end != other else -1.0)
                if s != r and cosine > STRAIGHT:
                    goes_on[r] |= 1 << end
    return goes_on


def _hollow(vertices, edges, ends, sides):
    """Bits of the ends at which a neighbour rises along a normal of each ridge, so that the surface goes on there."""
    beside = np.unique(np.concatenate([edges, edges[:, ::-1]]), axis=0)
    bits = np.zeros(len(ends), dtype=np.int64)
    normals = np.stack([sides[:, 0], sides[:, 1], -sides[:, 2] - sides[:, 3]], axis=1)
    for end in range(2):
        first, last = (np.searchsorted(beside[:, 0], ends[:, end], side=side) for side in ("left", "right"))
        ridge = np.repeat(np.arange(len(ends)), last - first)
        near = np.arange(len(ridge)) + np.repeat(first - np.cumsum(last - first) + last - first, last - first)
        d = vertices[beside[near, 1]] - vertices[beside[near, 0]]
        rises = np.einsum("rkj,rj->rk", normals[ridge], d).max(axis=1) > PARALLEL * np.linalg.norm(d, axis=1)
        bits[ridge[rises]] |= 4 << end
    return bits


def _peaks(triangles, edges, patch, ends, goes_on):
    """Vertices that are neither amid a plane nor on a straight ridge, by the triangle that owns them."""
    peaks = np.unique(ends)
    half = np.concatenate([ends[:, 0], ends[:, 1]])
    straight = np.concatenate([goes_on & 1, goes_on >> 1]) != 0
    ridges = np.bincount(half, minlength=triangles.max() + 1)
    amid = np.bincount(half, straight, minlength=triangles.max() + 1)
    v = triangles.reshape(-1)
    both = np.unique(np.stack([v, np.repeat(patch, 3)], axis=1), axis=0)
    planes = np.bincount(both[:, 0], minlength=triangles.max() + 1)
    peaks = peaks[~((ridges[peaks] == 2) & (amid[peaks] == 2) & (planes[peaks] <= 2))]
    owner = np.full(triangles.max() + 1, len(triangles))
    np.minimum.at(owner, v, np.repeat(np.arange(len(triangles)), 3))
    peaks = peaks[np.argsort(owner[peaks], kind="stable")]
    beside = np.unique(np.concatenate([edges, edges[:, ::-1]]), axis=0)
    first = np.searchsorted(beside[:, 0], peaks)
    last = np.searchsorted(beside[:, 0], peaks, side="right")
    near = [beside[a:b, 1] for a, b in zip(first, last)]
    starts = np.cumsum([0, *map(len, near)]).astype(np.int64)
    return peaks.astype(np.int64), owner[peaks], starts, np.concatenate([np.zeros(0, np.int64), *near])


def _outward(vertices, triangles, normals):
    """Mean normal (k, 3) of the triangles at each vertex, by their angles there (Baerentzen and Aanaes, 2005).

    What leads out of the solid and has its nearest point there goes along it, what leads in goes against it.
    """
    sums = np.zeros_like(vertices)
    for k in range(3):
        u, w = (vertices[triangles[:, (k + i) % 3]] - vertices[triangles[:, k]] for i in (1, 2))
        angle = np.arctan2(np.linalg.norm(np.cross(u, w), axis=1), np.einsum("ij,ij->i", u, w))
        np.add.at(sums, triangles[:, k], angle[:, None] * normals)
    return sums / np.maximum(np.linalg.norm(sums, axis=1), 1e-300)[:, None]


def kind_of(shape):
    """SHAPE_MESH of a TriangleMesh, SHAPE_CONVEX of a hull."""
    return SHAPE_MESH if isinstance(shape, TriangleMesh) else SHAPE_CONVEX
