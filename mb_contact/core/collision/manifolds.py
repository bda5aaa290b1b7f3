# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact points of all candidate pairs: normals, exact gaps, stable identities.

A pair is treated in an order of its own (X, Y) that does not depend on which geometry is
called A, so either order gives the same points and mirrored normals.
"""

import numpy as np

from mb_contact.core.arrays import copy
from mb_contact.core.collision.broadphase import relative_way
from mb_contact.core.collision.height_field import field_manifold
from mb_contact.core.collision.manifold_clip import set_region
from mb_contact.core.collision.manifold_faces import face_points
from mb_contact.core.collision.manifold_lines import across_face, line_manifold
from mb_contact.core.collision.manifold_normals import APART, NO_FACE, ascend, reference, unit_or
from mb_contact.core.collision.manifold_reduce import reduce_points
from mb_contact.core.collision.mesh_pairs import mesh_manifold
from mb_contact.core.collision.shapes import face_normal, gap_along
from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import ZERO, between, opposite, put_vector, vector, vector_sum
from mb_contact.types import OK, RIGID, SHAPE_HEIGHT_FIELD, SHAPE_MESH, SHAPE_PLANE, TOO_MANY_CONTACTS

PLANE_FACE = 1  #: the face of a plane, which is always Y: its axis z, at the positive side


@kernel
def build_contacts(geoms, geom_R, geom_p, travel, candidates, count, reach, witness, work, contacts):
    """Contact manifolds of the candidate pairs: every point with gap <= reach, at most four a pair.

    With a height field there are at most four for each group of alike normals, with a mesh of each plane.

    Parameters
    ----------
    geoms : Geoms
    geom_R, geom_p : (g, 3, 3), (g, 3)
        World poses of the geometries.
    travel : (g, 7)
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
    tol = 1e-3 * geoms.margin[0] + 1e-9 * geoms.unit[0]
    # fields taken out of the tuples once: each access counts a reference
    kind, size, pairs, points, ids = geoms.kind, geoms.size, geoms.pairs, work.points, work.ids
    contacts.count[0] = 0
    status = OK
    for i in range(count):
        row = candidates[i]
        x, y = pairs[row, 0], pairs[row, 1]
        sign = 1.0
        if y_comes_first(kind, size, x, y):
            x, y, sign = y, x, -1.0
        for c in range(3):  # at a moment of the way (``feature_meeting.py``) the points of that moment count
            work.turn[c] = travel[x, 4 + c] - travel[y, 4 + c] if work.mesh.query[1] == 0 else 0.0
        if kind[y] >= SHAPE_HEIGHT_FIELD:
            copy(7, travel[x], work.travel[0])
            copy(7, travel[y], work.travel[1])
            soft = geoms.soft.law
            work.mesh.query[2] = 1 if soft.shape[0] > 0 and soft[row] != RIGID else 0
            if kind[y] == SHAPE_MESH:
                found = mesh_manifold(geoms, geom_R, geom_p, x, y, reach[i], work)
            else:
                found = field_manifold(geoms, geom_R, geom_p, x, y, reach[i], tol, work)
            for j in range(found):
                n = vector(work.field.normals, j)
                status = max(status, append(contacts, row, work.field.points, work.field.ids[j], j, sign, n))
        elif kind[y] == SHAPE_PLANE or witness[i, 3] <= reach[i]:
            n = vector_sum(ZERO, sign, vector(witness, i))
            found, n = pair_manifold(geoms, geom_R, geom_p, x, y, n, witness[i, 3], reach[i], tol, work)
            way = relative_way(travel, x, y) + tol
            found = reduce_points(points, ids, found, n, work.turn, tol, way)
            for j in range(found):
                status = max(status, append(contacts, row, points, ids[j], j, sign, n))
    return status


@kernel
def append(contacts, row, points, name, j, sign, n):
    """Append point j of a pair to the contacts; returns a status."""
    at = contacts.count[0]
    if at == contacts.pair.shape[0]:
        return TOO_MANY_CONTACTS
    contacts.pair[at] = row
    contacts.feature[at] = name
    contacts.gap[at] = points[j, 3]
    put_vector(contacts.point, at, vector(points, j))
    put_vector(contacts.spread, at, ZERO)
    put_vector(contacts.normal, at, vector_sum(ZERO, sign, n))  # from zero: no -0.0
    contacts.count[0] = at + 1
    return OK


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
def pair_manifold(geoms, geom_R, geom_p, x, y, n, distance, margin, tol, work):
    """Points of X and Y, world and gap, in ``work.points`` and ``work.ids``.

    Parameters
    ----------
    x, y : int
        X is no plane unless Y is one; nor is either a height field.
    n, distance : tuple, float
        The engine's normal from Y to X and signed distance [m]; ignored with a plane.
    margin, tol : float
        Largest gap of a point; play of inside tests [m].

    Returns
    -------
    found, n
        Number of points and their normal, from Y to X.
    """
    owner, face, best = y, PLANE_FACE, np.inf
    if geoms.kind[x] == SHAPE_PLANE:
        return 0, n
    if geoms.kind[y] != SHAPE_PLANE:
        owner, face, best, n = reference(geoms, geom_R, geom_p, x, y, n, distance, margin, tol)
        if owner == APART:
            return 0, n
    if owner != NO_FACE:
        normal = face_normal(geoms, geom_R, owner, face)
        region = set_region(geoms, geom_R, geom_p, owner, face, normal, work)
        side = 1 if owner == x else 2
        found = face_points(geoms, geom_R, geom_p, x + y - owner, region, side, margin, tol, work)
        least = np.inf
        for j in range(found):
            least = min(least, work.points[j, 3])
        if least <= best + 2.0 * tol:
            return found, (normal if owner == y else opposite(normal))
        # what is nearest lies beside the face: the normal is a matter of edges after all
    found, n = line_manifold(geoms, geom_R, geom_p, x, y, n, best, margin, work)
    if found == 1:
        found = across_face(geoms, geom_R, geom_p, x, y, n, margin, work)
    return found, n


@kernel
def exact_witnesses(geoms, geom_R, geom_p, candidates, count, reach, witness):
    """Normals and signed distances of the first ``count`` candidates, from rough normals in ``witness``.

    Farther than its reach a pair keeps a lower bound of its distance.  Rows of planes and height fields are left alone.
    """
    for i in range(count):
        x, y = geoms.pairs[candidates[i], 0], geoms.pairs[candidates[i], 1]
        if max(geoms.kind[x], geoms.kind[y]) >= SHAPE_PLANE:
            continue
        sign = 1.0
        if y_comes_first(geoms.kind, geoms.size, x, y):
            x, y, sign = y, x, -1.0
        n = unit_or(vector_sum(ZERO, sign, vector(witness, i)), between(geom_p, x, geom_p, y))
        s = gap_along(geoms, geom_R, geom_p, x, y, n)
        if s <= reach[i]:
            s, n = ascend(geoms, geom_R, geom_p, x, y, n, np.inf, 0.0)
        put_vector(witness, i, vector_sum(ZERO, sign, n))
        witness[i, 3] = s
