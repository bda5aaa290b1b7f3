# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Edges of triangle meshes: which sides of which triangles look at each other about an edge.

Half edge 3 i + k is edge k of triangle i, from its corner k to the next.
"""

import numpy as np


def directed(triangles):
    """(edges (3 t, 2), in the order of the triangles)."""
    return np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2).reshape(-1, 2)


def neighbours(triangles):
    """Half edges (3 t, 2), the number of the edge that each lies on, and how many lie on each edge."""
    edges = directed(triangles)
    _, number, count = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True, return_counts=True)
    return edges, number.reshape(-1), count


def matched(edges):
    """Half edges (i, j) that lie on each other the opposite way, i < j; alone ones as (i, -1)."""
    order = np.lexsort(np.sort(edges, axis=1).T)
    sorted_edges = np.sort(edges, axis=1)[order]
    same = (sorted_edges[1:] == sorted_edges[:-1]).all(axis=1)
    first = np.flatnonzero(np.concatenate([same, [False]]))
    alone = ~(np.concatenate([same, [False]]) | np.concatenate([[False], same]))
    both = np.sort(np.stack([order[first], order[first + 1]], axis=1), axis=1)
    return np.concatenate([both, np.stack([order[alone], np.full(alone.sum(), -1)], axis=1)])


def _by_angle(vertices, triangles):
    """Half edges by edge, and about an edge by angle: (half edges, the next one of each, which are forward, counts).

    The front of a forward one looks towards growing angles about the edge from its lower vertex.
    """
    edges, number, count = neighbours(triangles)
    order, first = np.argsort(number, kind="stable"), np.cumsum(count) - count
    following = order.copy()
    two = first[count == 2]
    following[two], following[two + 1] = order[two + 1], order[two]
    for at, size in zip(first[count > 2].tolist(), count[count > 2].tolist()):
        fan = order[at : at + size]
        low, high = np.sort(edges[fan[0]])
        along = vertices[high] - vertices[low]
        along = along / np.linalg.norm(along)
        third = vertices[triangles[fan // 3, (fan % 3 + 2) % 3]] - vertices[low]
        third -= np.outer(third @ along, along)
        u = third[0] / np.linalg.norm(third[0])
        angle = np.arctan2(third @ np.cross(along, u), third @ u) % (2.0 * np.pi)
        fan = fan[np.argsort(angle, kind="stable")]
        order[at : at + size], following[at : at + size] = fan, np.roll(fan, -1)
    return order, following, edges[:, 0] < edges[:, 1], count


def sheet_pairs(vertices, triangles):
    """Pairs of half edges of both sides of a sheet: about each edge, the sides that look at each other.

    Half edges of the front of triangle i are 3 i + k, those of its back 3 (t + i) + k, along the same edge k.
    """
    order, following, forward, _ = _by_angle(vertices, triangles)
    half, t = np.arange(3 * len(triangles)), len(triangles)
    ahead, behind = np.where(forward, half, half + 3 * t), np.where(forward, half + 3 * t, half)
    return np.stack([ahead[order], behind[following]], axis=1)


def closed_pairs(vertices, triangles):
    """Pairs of half edges (i, j), i < j, of a closed surface; None where solids touch and no side looks at another."""
    twos = (neighbours(triangles)[2] == 2).all()
    return matched(directed(triangles)) if twos else touching_pairs(vertices, triangles)


def touching_pairs(vertices, triangles):
    """The same where solids touch along an edge, about which the sides look at each other by turns."""
    order, following, forward, count = _by_angle(vertices, triangles)
    many = np.repeat(count, count) != 2
    if (count % 2).any() or (forward[order] == forward[following])[many].any():
        return None
    chosen = np.where(many, forward[order], order < following)
    return np.sort(np.stack([order[chosen], following[chosen]], axis=1), axis=1)


def without_flaps(triangles):
    """Triangles without those that have a reverse, where what is left is closed: flaps of scans enclose nothing."""
    count = neighbours(triangles)[2]
    if (count == 2).all():
        return triangles
    _, same, times = np.unique(np.sort(triangles, axis=1), axis=0, return_inverse=True, return_counts=True)
    left = triangles[times[same.reshape(-1)] == 1]
    return left if 0 < len(left) < len(triangles) and not (neighbours(left)[2] % 2).any() else triangles
