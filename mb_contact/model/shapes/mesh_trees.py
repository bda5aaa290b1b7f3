# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A tree of axis-aligned boxes around the triangles of a mesh."""

import numpy as np

LEAF = 4  #: most triangles of a leaf


def box_tree(corners):
    """Tree over triangles: halved at the median of their middles along the longest side, level by level.

    Parameters
    ----------
    corners : (t, 3, 3)
        [m]

    Returns
    -------
    box, child, order
        See ``types.Meshes``; nodes of one mesh, counted from zero.
    """
    lower, upper = corners.min(axis=1), corners.max(axis=1)
    middle, order = 0.5 * (lower + upper), np.arange(len(corners))
    boxes, children, waiting = [], [], [(0, len(corners))]
    at = 0
    while at < len(waiting):
        first, last = waiting[at]
        at += 1
        inside = order[first:last]
        boxes.append((lower[inside].min(axis=0), upper[inside].max(axis=0)))
        if last - first <= LEAF:
            children.append((-1 - first, last - first))
            continue
        axis = np.ptp(middle[inside], axis=0).argmax()
        half = (last - first) // 2
        order[first:last] = inside[np.argpartition(middle[inside, axis], half)]
        children.append((len(waiting), len(waiting) + 1))
        waiting += [(first, first + half), (first + half, last)]
    return np.array(boxes), np.array(children, dtype=np.int64).reshape(-1, 2), order.astype(np.int64)
