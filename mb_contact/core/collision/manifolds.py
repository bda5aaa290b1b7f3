# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact points of all candidate pairs: normals, exact gaps, stable identities.

A pair is treated in an order of its own (X, Y) that does not depend on which geometry is
called A, so either order gives the same points and mirrored normals.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.collision.height_field import field_manifold
from mb_contact.core.collision.manifold_ascent import ascend
from mb_contact.core.collision.manifold_clip import W_X, W_Y
from mb_contact.core.collision.manifold_convex import convex_manifold
from mb_contact.core.collision.manifold_edges import edge_manifold
from mb_contact.core.collision.manifold_faces import face_manifold
from mb_contact.core.collision.manifold_normals import APART, NO_FACE, choose_normal
from mb_contact.core.collision.manifold_polish import polish_normal
from mb_contact.core.collision.manifold_reduce import reduce_points
from mb_contact.core.jit import kernel
from mb_contact.types import OK, SHAPE_CONE, SHAPE_HEIGHT_FIELD, SHAPE_PLANE, TOO_MANY_CONTACTS

LOST = 5e-5  #: by which points may be deeper than the engine says before its normal counts as lost [m]
PLANE_FACE = 11  #: face code of a plane, which is always Y: its axis z, at the positive side


@kernel
def build_contacts(geoms, geom_R, geom_p, travel, candidates, count, reach, witness, work, contacts):
    """Contact manifolds of the candidate pairs: every point with gap <= reach, at most four a pair.

    With a height field there are at most four for each group of alike normals.

    Parameters
    ----------
    geoms : Geoms
    geom_R, geom_p : (g, 3, 3), (g, 3)
        World poses of the geometries.
    travel : (g, 4)
        Way of each geometry in the step, of ``shape_travel`` [m].
    candidates : int64 (m,)
        Rows of ``geoms.pairs``; the first ``count`` are valid.
    count : int
    reach : (m,)
        Of each candidate [m].
    witness : (m, 4)
        Row i: the narrow phase's normal from B to A and signed distance of candidate i;
        ignored for pairs with a plane or a height field.
    work : ManifoldWork
        Scratch.
    contacts : Contacts, out

    Returns
    -------
    int
        ``OK``, or ``TOO_MANY_CONTACTS`` with the points that fitted in ``contacts``.
    """
    tol = 1e-3 * geoms.margin[0] + 1e-9
    # fields taken out of the tuples once: each access counts a reference
    kind, size, pairs = geoms.kind, geoms.size, geoms.pairs
    normal, points, ids = work.normal, work.points, work.ids
    pair, feature, point, out_normal, gap = (
        contacts.pair, contacts.feature, contacts.point, contacts.normal, contacts.gap
    )  # fmt: skip
    written = 0
    status = OK
    for i in range(count):
        row = candidates[i]
        a = pairs[row, 0]
        b = pairs[row, 1]
        margin = reach[i]
        swapped = y_comes_first(kind, size, a, b)
        sign = -1.0 if swapped else 1.0
        x = b if swapped else a
        y = a if swapped else b
        if kind[y] == SHAPE_HEIGHT_FIELD:
            found = field_manifold(geoms, geom_R, geom_p, travel, x, y, margin, tol, work)
            written, fits = write_field(work, found, row, sign, written, contacts)
            status = status if fits else TOO_MANY_CONTACTS
            continue
        if kind[y] != SHAPE_PLANE and witness[i, 3] > margin:
            continue
        for j in range(3):
            normal[j] = sign * witness[i, j]
        if is_general(kind, x, y):
            found = convex_manifold(geoms, geom_R, geom_p, x, y, witness[i, 3], margin, tol, work)
        else:
            found = pair_manifold(kind, size, geom_R, geom_p, x, y, margin, tol, work)
            if kind[y] != SHAPE_PLANE and deepest(points, found) < witness[i, 3] - LOST:
                # no direction that was tried separates as the engine's distance says: its normal was noise
                for j in range(3):
                    normal[j] = sign * witness[i, j]
                ascend(geoms, geom_R, geom_p, x, y, witness[i, 3], tol, work)
                found = pair_manifold(kind, size, geom_R, geom_p, x, y, margin, tol, work)
        found = reduce_points(points, ids, found, normal, tol)
        for j in range(found):
            if written == pair.shape[0]:
                status = TOO_MANY_CONTACTS
                break
            pair[written] = row
            feature[written] = ids[j]
            gap[written] = points[j, 3]
            for k in range(3):
                point[written, k] = points[j, k]
                out_normal[written, k] = sign * normal[k] + 0.0  # no -0.0
            written += 1
    contacts.count[0] = written
    return status


@kernel
def deepest(points, found):
    """Least gap of the points of a pair; infinity if there is none [m]."""
    least = np.inf
    for j in range(found):
        least = min(least, points[j, 3])
    return least


@kernel
def write_field(work, found, row, sign, written, contacts):
    """Append the points of ``work.field``, each with its own normal.

    Returns
    -------
    written, fits
        Number of contacts so far; whether there was room for all.
    """
    field = work.field
    for j in range(found):
        if written == contacts.pair.shape[0]:
            return written, False
        contacts.pair[written] = row
        contacts.feature[written] = field.ids[j]
        contacts.gap[written] = field.points[j, 3]
        for k in range(3):
            contacts.point[written, k] = field.points[j, k]
            contacts.normal[written, k] = sign * field.normals[j, k] + 0.0  # no -0.0
        written += 1
    return written, True


@kernel
def is_general(kind, x, y):
    """Whether one of two shapes, in the pair's own order, is a cone, an ellipsoid or a convex hull."""
    return kind[y] >= SHAPE_CONE and (kind[y] != SHAPE_PLANE or (kind[x] >= SHAPE_CONE and kind[x] != SHAPE_PLANE))


@kernel
def y_comes_first(kind, size, a, b):
    """Whether the pair's own order is (b, a): by kind, then by size."""
    if kind[a] != kind[b]:
        return kind[a] > kind[b]
    for i in range(3):
        if size[a, i] != size[b, i]:
            return size[a, i] > size[b, i]
    return False


@kernel
def pair_manifold(kind, size, geom_R, geom_p, x, y, margin, tol, work):
    """Points of two shapes; ``work.normal`` holds the engine's normal and then the final one, from Y to X."""
    if kind[y] == SHAPE_PLANE:
        if kind[x] == SHAPE_PLANE:
            return 0
        face, distance = PLANE_FACE, np.inf
    else:
        face, distance = choose_normal(kind, size, geom_R, geom_p, x, y, margin, tol, work.normal)
        if face == APART:
            return 0
    if face != NO_FACE:
        face_is_x = face < 6
        owner = x if face_is_x else y
        w_face = W_X if face_is_x else W_Y
        w_other = W_Y if face_is_x else W_X
        sign = -1.0 if face_is_x else 1.0
        k = (face % 6) // 2
        found = face_manifold(
            kind, size, geom_R, geom_p, owner, x + y - owner, k, face % 2, w_face, w_other, margin, tol, work
        )
        if least_gap(work.points, found) <= distance + 2.0 * tol:
            for i in range(3):
                work.normal[i] = sign * work.frame[2, i]
            to_world(work.frame, work.points, found)
            return found
        # what is nearest lies beside the face: the normal is a matter of edges after all
    polish_normal(kind, size, geom_R, geom_p, x, y, work)
    return edge_manifold(kind, size, geom_R, geom_p, x, y, margin, work)


@kernel
def least_gap(points, count):
    """Smallest gap of points in the frame of a face; infinity if there is none."""
    least = np.inf
    for j in range(count):
        least = min(least, points[j, 2])
    return least


@kernel
def to_world(frame, points, count):
    """From (x, y, gap) in the frame of the reference face to world points midway between the surfaces."""
    for j in range(count):
        x, y, gap = points[j, 0], points[j, 1], points[j, 2]
        for i in range(3):
            points[j, i] = frame[3, i] + x * frame[0, i] + y * frame[1, i] + 0.5 * gap * frame[2, i]
        points[j, 3] = gap
