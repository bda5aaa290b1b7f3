# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts of elastic foundations: points of faces of a box, each of which stands for an area of its own.

A face that meets the other shape is divided into cells.  Rays along its normal from nine places of a cell tell how far
the other shape is, or how deep; the cell's point lies in the middle of those that meet it, at their mean gap, and
stands for their part of the area.  So pressures have the foundation's zeroth and first moments exactly, and points the
identity of their cells.

Which faces these are is told by the contacts that the pair has without a foundation: the face that their normal is
nearest to.  Meshes and height fields touch with several normals at once, and so with several faces.  Then all faces
count that a normal is not nearly at right angles to, because forces along one face alone need not hold the box where
edges rest on slopes, and what lies farther along a ray than these contacts are deep is another part of the shape.
Features of such shapes may tell nothing of what is in them by millimetres.  So faces that pressed in the last step
count as well, as long as their rays meet the shape.
"""

import numpy as np

from mb_contact.core.constraints.contact import copy_contact
from mb_contact.core.jit import INTEGER, kernel, on_demand
from mb_contact.core.step.pads import entry, is_near
from mb_contact.core.step.softness import COMPRESSED
from mb_contact.core.tree.spatial import ZERO, matrix, put_vector, transposed, turned, vector, vector_dot, vector_sum
from mb_contact.types import FOUNDATION, OK, SHAPE_HEIGHT_FIELD, TOO_MANY_CONTACTS

PLACES = 3  #: along either side of a cell
NAMED = 1 << 40  #: of all identities of these points
BITS = 16  #: of a cell's number in them
SAME = 1e-9  #: 1 - cosine of the angle between two normals up to which they are one
LEAN = 0.3  #: least cosine of the angle between a normal and a face's, where there are several normals
DEEPER = 2.0  #: times as deep as its contacts may a face be, where there are several normals


@on_demand(INTEGER)
def lay_foundations(h, candidates):
    """Points of faces in the place of the contacts of pairs with a foundation; OK, or TOO_MANY_CONTACTS.

    Reads: buffers, contacts, geoms, memory, need.  Writes: contacts, need.
    """
    contacts, before, law = h.contacts, h.need.before, h.geoms.soft.law
    found = False
    for i in range(candidates):
        found = found or law[h.buffers.candidates[i]] == FOUNDATION
    if not found:
        return OK
    count = contacts.count[0]
    for i in range(count):
        copy_contact(contacts, i, before, i)
    contacts.count[0] = 0
    i = 0
    while i < count:
        pair, end = before.pair[i], i + 1
        while end < count and before.pair[end] == pair:
            end += 1
        room = True
        if law[pair] == FOUNDATION:
            room = _lay_faces(h, pair, i, end, _reach_of(h, pair, candidates))
        else:
            for k in range(i, end):
                room = room and _put(contacts, before, k, 0.0)
        if not room:
            return TOO_MANY_CONTACTS
        i = end
    for i in range(candidates):
        pair = h.buffers.candidates[i]
        if law[pair] == FOUNDATION and _is_patchy(h.geoms, pair) and not _has_contacts(before, count, pair):
            if not _lay_faces(h, pair, 0, 0, h.buffers.reach[i]):
                return TOO_MANY_CONTACTS
    return OK


@kernel
def _is_patchy(geoms, pair):
    """Whether one of the shapes of a pair is a mesh or height field."""
    a, b = geoms.pairs[pair, 0], geoms.pairs[pair, 1]
    return geoms.kind[a] >= SHAPE_HEIGHT_FIELD or geoms.kind[b] >= SHAPE_HEIGHT_FIELD


@kernel
def _has_contacts(contacts, count, pair):
    """Whether one of the first ``count`` contacts is of a pair."""
    for i in range(count):
        if contacts.pair[i] == pair:
            return True
    return False


@kernel
def _pressed(memory, pair, face):
    """How much a face of a pair's foundation was compressed behind the last step; -1 where it did not press [m]."""
    most = -1.0
    for j in range(memory.count[0]):
        if memory.pair[j] == pair and memory.impulse[j, 0] > 0.0 and memory.feature[j] >= NAMED:
            if (memory.feature[j] - NAMED) >> (2 * BITS) == face:
                most = max(most, memory.stretch[j, COMPRESSED])
    return most


@kernel
def _put(contacts, source, k, area):
    """Append contact k of another table; False where there is no room."""
    at = contacts.count[0]
    if at == contacts.pair.shape[0]:
        return False
    copy_contact(source, k, contacts, at)
    contacts.area[at] = area
    contacts.count[0] = at + 1
    return True


@kernel
def _lay_faces(h, pair, first, end, reach):
    """Append the points of all faces that contacts ``first`` to before ``end``, of a pair, ask for; False without room.

    Where they are none, or have several normals, those that pressed in the last step ask for themselves.  A face
    whose cells meet nothing touches between their places, where its own contacts count.
    """
    contacts, before = h.contacts, h.need.before
    several = first == end or _are_several(before, first, end)
    for face in range(6):
        axis, sign, deep, asked = face // 2, 2.0 * (face % 2) - 1.0, 0.0, False
        d = _outward(h, pair, axis, sign)
        for k in range(first, end):
            along = vector_dot(d, vector(before.normal, k))
            if _face(h, pair, vector(before.normal, k if several else first)) == face or (several and along > LEAN):
                asked, deep = True, max(deep, -before.gap[k] / along)
        if several:
            last = _pressed(h.memory, pair, face)
            asked, deep = asked or last >= 0.0, max(deep, last)
        if not asked:
            continue
        at, least = contacts.count[0], -2.0 * h.geoms.size[h.geoms.soft.host[pair], axis]
        if several:
            least = max(least, -DEEPER * deep - reach)
        if not _lay_cells(h, pair, axis, sign, least, reach):
            return False
        if contacts.count[0] > at:
            continue
        for k in range(first, end):
            own = _face(h, pair, vector(before.normal, k if several else first)) == face
            if own and not _put(contacts, before, k, _place_area(h, pair, axis)):
                return False
    return True


@kernel
def _are_several(contacts, first, end):
    """Whether normals of contacts ``first`` to before ``end`` differ."""
    n = vector(contacts.normal, first)
    for k in range(first + 1, end):
        if vector_dot(n, vector(contacts.normal, k)) < 1.0 - SAME:
            return True
    return False


@kernel
def _face(h, pair, n):
    """The host's face that meets the other shape: twice its axis, and one more on the positive side; n from B to A."""
    face, most = 0, -np.inf
    for i in range(6):
        along = vector_dot(_outward(h, pair, i // 2, 2.0 * (i % 2) - 1.0), n)
        if along > most:
            face, most = i, along
    return face


@kernel
def _outward(h, pair, axis, sign):
    """Direction of the normal of contacts at a face of the host, from B to A."""
    g = h.geoms.soft.host[pair]
    return vector_sum(ZERO, -sign if g == h.geoms.pairs[pair, 0] else sign, _axis(h, g, axis))


@kernel
def _axis(h, g, a):
    """Axis a of geometry g, world."""
    R = h.buffers.geom_R
    return R[g, 0, a], R[g, 1, a], R[g, 2, a]


@kernel
def _place_area(h, pair, axis):
    """Area of one place of a face across an axis [m^2]."""
    g = h.geoms.soft.host[pair]
    a, b = (axis + 1) % 3, (axis + 2) % 3
    cells, size = h.geoms.soft.cells[pair], h.geoms.size[g]
    return 4.0 * size[a] * size[b] / (cells[a] * cells[b] * PLACES * PLACES)


@kernel
def _reach_of(h, pair, candidates):
    """Gap up to which contacts of a pair exist in this step [m]."""
    for i in range(candidates):
        if h.buffers.candidates[i] == pair:
            return h.buffers.reach[i]
    return h.geoms.margin[0]


@kernel
def _lay_cells(h, pair, axis, sign, least, reach):
    """Append the points of the cells of a face that meets the other shape between both gaps; False without room."""
    g = h.geoms.soft.host[pair]
    guest = h.geoms.pairs[pair, 0] + h.geoms.pairs[pair, 1] - g
    a, b = (axis + 1) % 3, (axis + 2) % 3
    first, second = h.geoms.soft.cells[pair, a], h.geoms.soft.cells[pair, b]
    d = vector_sum(ZERO, sign, _axis(h, g, axis))
    centre = vector_sum(vector(h.buffers.geom_p, g), h.geoms.size[g, axis], d)
    u, v = h.geoms.size[g, a] / (first * PLACES), h.geoms.size[g, b] / (second * PLACES)
    face = 2 * axis + (1 if sign > 0 else 0)
    for i in range(first):
        for j in range(second):
            hits, x, y, gap = 0, 0.0, 0.0, 0.0
            for k in range(PLACES * PLACES):
                s = u * (2 * (i * PLACES + k // PLACES) + 1 - first * PLACES)
                t = v * (2 * (j * PLACES + k % PLACES) + 1 - second * PLACES)
                z = _gap_at(h, guest, _on_face(h, g, a, b, centre, s, t), d, least, reach)
                if z <= reach:
                    hits, x, y, gap = hits + 1, x + s, y + t, gap + z
            if hits > 0:
                at = h.contacts.count[0]
                if at == h.contacts.pair.shape[0]:
                    return False
                x, y, gap = x / hits, y / hits, gap / hits
                _fill_in(h.contacts, at, pair, NAMED + (((face << BITS) + i) << BITS) + j, gap, 4.0 * u * v * hits)
                point = vector_sum(_on_face(h, g, a, b, centre, x, y), 0.5 * gap, d)
                put_vector(h.contacts.point, at, point)
                put_vector(h.contacts.normal, at, vector_sum(ZERO, -1.0 if g == h.geoms.pairs[pair, 0] else 1.0, d))
    return True


@kernel
def _on_face(h, g, a, b, centre, s, t):
    """The point (s, t) of a face along the axes a and b of geometry g, world."""
    return vector_sum(vector_sum(centre, s, _axis(h, g, a)), t, _axis(h, g, b))


@kernel
def _fill_in(contacts, at, pair, name, gap, area):
    """Contact ``at`` but for its place, which is the next one."""
    contacts.pair[at], contacts.feature[at], contacts.gap[at], contacts.area[at] = pair, name, gap, area
    put_vector(contacts.spread, at, ZERO)
    contacts.count[0] = at + 1


@kernel
def _gap_at(h, g, x, d, least, reach):
    """How far shape g is from x along d, negative where it is deeper; inf where it is not met between both bounds."""
    b = h.buffers
    if not is_near(b, g, x, d, least, reach):
        return np.inf
    back = transposed(matrix(b.geom_R, g))
    gap = entry(h.geoms, g, turned(back, vector_sum(x, -1.0, vector(b.geom_p, g))), turned(back, d), least)
    return gap if gap >= least else np.inf
