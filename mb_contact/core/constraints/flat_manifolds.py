# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the contacts of one flat face have in common: one plane, and offsets that one rigid motion can meet.

Four points of a face are more than a rigid body needs, so their rows of W depend on each other, and q must depend in
the same way if all four are to carry.  Two things spoil that in the last digits:

* points midway between two faces that are not quite parallel lie at unequal heights along the normal, so that turning
  the faces together would slide the points apart;
* gaps are known to about 1e-12 m, and a flow leaves a face that slides and spins tilted by the third order of a step,
  but approaching and parting gaps count differently in the offsets.

Coulomb's law then has three points carry the body and the fourth float 1e-11 m above: a solution that is nobody's
physics, jumps from step to step, and lies orders of magnitude farther from the next one than the data from each other.
"""

from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import ZERO, add_vector, between, vector, vector_dot, vector_product, vector_sum

SAME_GAP = 1e-10  #: changes of a gap that do not count [m]


@kernel
def last_of_face(contacts, i):
    """One past the last contact of the same pair with the same normal as contact i."""
    j, pair, n = i + 1, contacts.pair[i], vector(contacts.normal, i)
    while j < contacts.count[0] and contacts.pair[j] == pair and vector(contacts.normal, j) == n:
        j += 1
    return j


@kernel
def deepest_of(contacts, i, end):
    """The first of the deepest contacts from i on before ``end``."""
    deepest = i
    for j in range(i + 1, end):
        if contacts.gap[j] < contacts.gap[deepest]:
            deepest = j
    return deepest


@kernel
def level_points(contacts):
    """Move the points of every flat manifold along the normal to the height of its deepest one.

    A point stands for two, one on each surface, so its height was free within the gap.
    """
    i = 0
    while i < contacts.count[0]:
        end = last_of_face(contacts, i)
        deepest = deepest_of(contacts, i, end)
        n = vector(contacts.normal, i)
        height = vector_dot(vector(contacts.point, deepest), n)
        for j in range(i, end):
            if j != deepest:
                move = height - vector_dot(vector(contacts.point, j), n)
                add_vector(contacts.point, j, vector_sum(ZERO, move, n))
        i = end


@kernel
def level_offsets(contacts, time, slower, face_gap, offset):
    """Offsets of the normal rows of four points become those of one rigid motion, where SAME_GAP allows.

    ``time`` is the step over the unit of length [s/m], in which SAME_GAP is meant.

    Gaps of one face are those of one rigid motion, and so are their offsets where all of them lie well within
    ``face_gap`` [m]: there a gap may close by ``slower`` times itself less, as fast as a penetration is pushed out.

    The areas a_i of the triangles without point i, with alternating signs, are what makes sum a_i and sum a_i x_i
    vanish; an offset o is a rigid motion's if sum a_i o_i = 0.
    """
    i = 0
    while i < contacts.count[0]:
        end = last_of_face(contacts, i)
        if end == i + 4:
            level = _levelness(contacts, i, face_gap)
            for j in range(i, end):
                offset[3 * j] -= level * slower * max(contacts.gap[j], 0.0)
            a0 = _area(contacts, i + 1, i + 2, i + 3)
            a1 = -_area(contacts, i, i + 2, i + 3)
            a2 = _area(contacts, i, i + 1, i + 3)
            a3 = -_area(contacts, i, i + 1, i + 2)
            o = 3 * i
            square = a0 * a0 + a1 * a1 + a2 * a2 + a3 * a3
            if square > 0.0:
                t = (a0 * offset[o] + a1 * offset[o + 3] + a2 * offset[o + 6] + a3 * offset[o + 9]) / square
                if abs(t) * max(abs(a0), abs(a1), abs(a2), abs(a3)) * time <= SAME_GAP:
                    offset[o] -= t * a0
                    offset[o + 3] -= t * a1
                    offset[o + 6] -= t * a2
                    offset[o + 9] -= t * a3
        i = end


@kernel
def _levelness(contacts, i, face_gap):
    """1 where the gaps of the four contacts from i on are within half of ``face_gap``, 0 where one is beyond it."""
    largest = 0.0
    for j in range(i, i + 4):
        largest = max(largest, abs(contacts.gap[j]))
    return min(1.0, 2.0 - 2.0 * largest / face_gap) if largest < face_gap else 0.0


@kernel
def _area(contacts, i, j, k):
    """Twice the signed area of the triangle of three points, seen along the normal [m^2]."""
    p = contacts.point
    return vector_dot(vector(contacts.normal, i), vector_product(between(p, j, p, i), between(p, k, p, i)))
