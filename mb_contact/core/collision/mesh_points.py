# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The list of points between a mesh and another shape: flat regions become manifolds."""

import math

from mb_contact.core.arrays import copy, fill
from mb_contact.core.collision.manifold_reduce import ALL, DIRECTION, reduce_points
from mb_contact.core.collision.mesh_tree import TOUCHES
from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.spatial import between, length_of, put_vector, vector, vector_dot, vector_sum

CELL = 1e-6  #: of a component of unit normals, larger than what those of one plane differ by,
SAME = 2e-13  #: square of this difference, up to which normals, which rounding leaves no units, are of one plane
LEVEL = 1e-13  #: by which the separations of two directions may differ and both be the best [m]
MANY = 0.99  #: cosine of normals at one place up to which none of them is chosen,
BEHIND = -0.9  #: and from which on: both sides of a sheet stay
ULP = 2.3e-16


@kernel
def reduce_mesh_points(work, count, tol):
    """At most four points of every plane, plane by plane; returns the number of points.

    Points of two planes have normals that differ in the last digit at least: what follows takes points of one pair
    with the same normal, one behind the other, for those of one face.
    """
    field, sorted_ = work.field, work.mesh
    points, normals, ids, group = field.points, field.normals, field.ids, field.group
    fill(count, group, -1)
    _sort_by_normals(work, count)
    kept = 0
    for k in range(count):
        if group[k] != -1:
            continue
        size, n, cell = 0, vector(normals, k), _cell(normals, k)
        first = sorted_.alike[0]
        chains = first[(cell - 1) % count], first[cell % count], first[(cell + 1) % count]
        m = _first_of(chains)
        while m < count:
            chains = _behind(chains, m, sorted_.alike[1, m])
            aside = vector_sum(vector(normals, m), -1.0, n)
            apart = vector_sum(vector(points, m), -1.0, vector(points, k))
            if (
                m >= k and group[m] == -1 and size < work.points.shape[0] and vector_dot(aside, aside) <= SAME
                and abs(vector_dot(n, apart)) <= 4.0 * tol + abs(points[k, 3]) + abs(points[m, 3])
            ):  # fmt: skip
                copy(4, points[m], work.points[size])
                work.ids[size] = m
                group[m] = k
                size += 1
            m = _first_of(chains)
        size = reduce_points(work.points, work.ids, size, n, work.turn, tol, ALL)
        if kept > 0 and n == vector(sorted_.normals, kept - 1):
            n = n[0] + (ULP if n[0] >= 0.0 else -ULP), n[1], n[2]
        for m in range(size):
            copy(4, work.points[m], sorted_.points[kept])
            put_vector(sorted_.normals, kept, n)
            sorted_.ids[kept] = ids[work.ids[m]]
            kept += 1
    for k in range(kept):
        copy(4, sorted_.points[k], points[k])
        put_vector(normals, k, vector(sorted_.normals, k))
    copy(kept, sorted_.ids, ids)
    return kept


@kernel
def _cell(normals, k):
    """Number of the cell of a normal along one direction; normals of one plane are in one cell, or in neighbours."""
    return int(math.floor(vector_dot(vector(normals, k), DIRECTION) / CELL))


@kernel
def _sort_by_normals(work, count):
    """Chains of points whose normals are in cells of one number modulo ``count``, ascending, into ``mesh.alike``."""
    first, behind = work.mesh.alike[0], work.mesh.alike[1]
    fill(count, first, count)
    for k in range(count - 1, -1, -1):
        cell = _cell(work.field.normals, k) % count
        behind[k], first[cell] = first[cell], k


@sweep
def _first_of(chains):
    """The first of all points at which three chains stand."""
    return min(chains[0], min(chains[1], chains[2]))


@sweep
def _behind(chains, m, then):
    """Three chains, those that stood at m at the point behind it."""
    x, y, z = chains
    return then if x == m else x, then if y == m else y, then if z == m else z


@kernel
def choose_direction(work, unit, count):
    """Of points at one place, one of which is at a border, those along whose normal the step separates most.

    A vertex at the border of two planes may be in neither of them at the end of the step: it has to be kept out of one.
    Where all touch at their borders, as an edge that has reached one of the other mesh, none says where the meshes may
    go: what they come to is found where the step ends (``core/step/feature_meeting.py``).  ``field.points[k, 5]`` is 1
    where the point is at a border.  Returns the number of points.
    """
    field, touch = work.field, TOUCHES * unit
    way, near = way_of_pair(work), 4.0 * touch
    for k in range(count):
        field.points[k, 4] = field.points[k, 3] + vector_dot(vector(field.normals, k), way)
    kept = 0
    for k in range(count):
        field.group[k] = 0
        for m in range(count if field.points[k, 5] == 1.0 else 0):
            apart = vector_sum(vector(field.points, m), -1.0, vector(field.points, k))
            if vector_dot(apart, apart) > near * near:
                continue
            touches = work.mesh.query[1] == 0 and max(abs(field.points[k, 3]), abs(field.points[m, 3])) <= touch
            cosine = vector_dot(vector(field.normals, m), vector(field.normals, k))
            many = cosine < MANY and cosine > BEHIND
            if field.points[m, 4] > field.points[k, 4] + LEVEL * unit or (
                touches and many and field.points[m, 5] == 1.0
            ):
                field.group[k] = 1
    for k in range(count):
        if field.group[k] == 0:
            move_point(field, k, kept)
            kept += 1
    return kept


@kernel
def move_point(field, k, to):
    """Point k of the list to an earlier place."""
    if k == to:
        return
    copy(6, field.points[k], field.points[to])
    put_vector(field.normals, to, vector(field.normals, k))
    field.ids[to] = field.ids[k]


@kernel
def way_of_pair(work):
    """Way of the centre of X against that of Y in the step [m]."""
    return between(work.travel, 0, work.travel, 1)


@kernel
def reach_of_pair(work, unit, reach):
    """Gap up to which the pair has points: twice its way in the step, as the broad phase's reach allows [m]."""
    way = way_of_pair(work)
    far = 2.0 * (length_of(way) + work.travel[0, 3] + work.travel[1, 3])
    return max(min(far, reach), TOUCHES * unit)
