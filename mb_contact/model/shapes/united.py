# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Closed parts of a mesh that overlap or lie flush become one surface, by the library Manifold.

Programs that draw bodies save a crate as five boxes and a mug as a cup with a ring through its wall.  Triangles inside
of another part are no surface of the body, an edge of one part in a side of another is no edge, and what two parts
share has its volume once.
"""

import numpy as np
import scipy  # its parts are imported where they are first used

from mb_contact.model.shapes.mesh_edges import neighbours

SAME_VOLUME = 1e-9  #: part of its volume by which a union must differ from its parts to have taken something away


def united(vertices, triangles):
    """The outer surface of the closed parts of a mesh; None where there are not two, or none meets another.

    Parameters
    ----------
    vertices : (n, 3)
        [m], each once.
    triangles : int (t, 3)

    Returns
    -------
    (vertices, triangles) or None
    """
    part = _parts(triangles)
    if part is None or part.max() == 0 or not _boxes_meet(vertices, triangles, part):
        return None
    volume = volumes(vertices, triangles, part)
    if not volume.all():
        return None
    triangles = np.where((volume < 0.0)[part][:, None], triangles[:, ::-1], triangles)
    return _union(vertices, triangles, part, enclosed(vertices, triangles, part, np.abs(volume)))


def volumes(vertices, triangles, part):
    """Signed volume that each part encloses [m^3]."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    return np.bincount(part, np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0)


def enclosed(vertices, triangles, part, volume):
    """Which part is inside of which larger one: rays from its outermost vertices tell.

    Parameters
    ----------
    vertices, triangles, part
        Closed parts.
    volume : (n,)
        Without their signs [m^3].

    Returns
    -------
    ndarray of int (m, 2)
        Pairs (part, larger part).
    """
    (lower, upper), pairs, size = boxes(vertices, triangles, part), [], np.ptp(vertices, axis=0)
    for k in range(len(volume)):
        around = (lower <= lower[k]).all(axis=1) & (upper >= upper[k]).all(axis=1) & (volume > volume[k])
        if not around.any():
            continue
        own = vertices[triangles[part == k]].reshape(-1, 3)
        outermost = own[np.concatenate([own.argmin(axis=0), own.argmax(axis=0)])] + size * [1.234e-5, 0.777e-5, 0.0]
        for j in np.flatnonzero(around).tolist():
            corners = vertices[triangles[part == j]]
            if all(_is_within(corners - p) for p in outermost):
                pairs.append((k, j))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def boxes(vertices, triangles, part):
    """Lower and upper corners (n, 3) of the boxes around all parts [m]."""
    lower, upper = np.full((part.max() + 1, 3), np.inf), np.full((part.max() + 1, 3), -np.inf)
    corners = vertices[triangles]
    np.minimum.at(lower, part, corners.min(axis=1))
    np.maximum.at(upper, part, corners.max(axis=1))
    return lower, upper


def _is_within(corners):
    """Whether the origin is within a closed surface of triangles (t, 3, 3): a ray along z crosses it an odd number."""
    a, b, c = (corners[:, i] for i in range(3))
    u, v, w = (x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0] for x, y in ((b, c), (c, a), (a, b)))
    crossed = ((u > 0.0) & (v > 0.0) & (w > 0.0)) | ((u < 0.0) & (v < 0.0) & (w < 0.0))
    height = (u * a[:, 2] + v * b[:, 2] + w * c[:, 2])[crossed] / (u + v + w)[crossed]
    return bool((height > 0.0).sum() % 2)


def _parts(triangles):
    """Number of the closed part of each triangle; None where an edge has not as many sides one way as the other.

    Where more than two meet at an edge, those go together that are next to each other in the file, as files have parts
    one behind the other.
    """
    edges, number, count = neighbours(triangles)
    way = np.where(edges[:, 0] < edges[:, 1], 1, -1)
    if np.bincount(number, way).any():
        return None
    order, first = np.argsort(number, kind="stable"), np.cumsum(count) - count
    two = first[count == 2]
    pairs = [np.stack([order[two], order[two + 1]], axis=1)]
    for at, size in zip(first[count > 2].tolist(), count[count > 2].tolist()):
        waiting = []
        for half in order[at : at + size].tolist():
            if waiting and way[waiting[-1]] != way[half]:
                pairs.append(np.array([[waiting.pop(), half]]))
            else:
                waiting.append(half)
    i, j = np.concatenate(pairs).T // 3
    graph = scipy.sparse.coo_array((np.ones(len(i)), (i, j)), shape=(len(triangles), len(triangles)))
    return scipy.sparse.csgraph.connected_components(graph, directed=False)[1]


def _boxes_meet(vertices, triangles, part):
    """Whether the boxes around any two parts have a point in common."""
    lower, upper = boxes(vertices, triangles, part)
    return any(
        ((lower[k + 1 :] <= upper[k]) & (upper[k + 1 :] >= lower[k])).all(axis=1).any() for k in range(len(lower) - 1)
    )


def _union(vertices, triangles, part, inside):
    """Solid parts, without the cavities that are inside of each, joined; None as of ``united``."""
    import manifold3d  # only where parts meet

    bodies = []
    for k in range(part.max() + 1):
        used, own = np.unique(triangles[part == k], return_inverse=True)
        bodies.append(manifold3d.Manifold(manifold3d.Mesh64(vertices[used], own.reshape(-1, 3).astype(np.uint64))))
    if any(body.status() != manifold3d.Error.NoError for body in bodies):
        return None
    depth, solids, given = np.bincount(inside[:, 0], minlength=len(bodies)), [], 0.0
    for k in np.flatnonzero(depth % 2 == 0).tolist():
        within = inside[inside[:, 1] == k, 0]
        cavities = within[depth[within] == depth[k] + 1].tolist()
        hollowed = [bodies[j] for j in (k, *cavities)]
        solids.append(manifold3d.Manifold.batch_boolean(hollowed, manifold3d.OpType.Subtract))
        given += bodies[k].volume() - sum(bodies[j].volume() for j in cavities)
    whole = manifold3d.Manifold.batch_boolean(solids, manifold3d.OpType.Add)
    if len(whole.decompose()) == len(bodies) and abs(whole.volume() - given) <= SAME_VOLUME * given:
        return None
    surface = whole.to_mesh64()
    return np.array(surface.vert_properties), np.array(surface.tri_verts, dtype=np.int64)
