# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts of elastic foundations: points of the face of a box, each of which stands for an area of its own.

The face that meets the other shape is divided into cells.  Rays along its normal from nine places of a cell tell how
far the other shape is, or how deep; the cell's point lies in the middle of those that meet it, at their mean gap, and
stands for their part of the area.  So pressures have the foundation's zeroth and first moments exactly, and points the
identity of their cells.
"""

import numpy as np

from mb_contact.core.constraints.contact import copy_contact
from mb_contact.core.jit import INTEGER, kernel, on_demand
from mb_contact.core.step.pads import entry, is_near
from mb_contact.core.tree.spatial import ZERO, matrix, put_vector, transposed, turned, vector, vector_dot, vector_sum
from mb_contact.types import FOUNDATION, OK, TOO_MANY_CONTACTS

PLACES = 3  #: along either side of a cell
NAMED = 1 << 40  #: of all identities of these points
BITS = 16  #: of a cell's number in them


@on_demand(INTEGER)
def lay_foundations(h, candidates):
    """Points of faces in the place of the contacts of pairs with a foundation; OK, or TOO_MANY_CONTACTS.

    Reads: buffers, contacts, geoms, need.  Writes: contacts, need.
    """
    contacts, before, law = h.contacts, h.need.before, h.geoms.soft.law
    found = False
    for i in range(contacts.count[0]):
        found = found or law[contacts.pair[i]] == FOUNDATION
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
        room = law[pair] != FOUNDATION or _lay_cells(h, pair, vector(before.normal, i), candidates)
        if room and (law[pair] != FOUNDATION or _is_bare(contacts, pair)):
            for k in range(i, end):
                room = room and _put(contacts, before, k, _place_area(h, pair, vector(before.normal, i)))
        if not room:
            return TOO_MANY_CONTACTS
        i = end
    return OK


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
def _is_bare(contacts, pair):
    """Whether no point was laid for a pair: it touches between the places, where its own contacts count."""
    last = contacts.count[0] - 1
    return last < 0 or contacts.pair[last] != pair


@kernel
def _face(h, pair, n):
    """(Axis, outward sign) of the host's face that meets the other shape; n from B to A."""
    g = h.geoms.soft.host[pair]
    side = -1.0 if g == h.geoms.pairs[pair, 0] else 1.0
    axis, most = 0, -1.0
    for a in range(3):
        along = abs(vector_dot(_axis(h, g, a), n))
        if along > most:
            axis, most = a, along
    return axis, (1.0 if side * vector_dot(_axis(h, g, axis), n) > 0.0 else -1.0)


@kernel
def _axis(h, g, a):
    """Axis a of geometry g, world."""
    R = h.buffers.geom_R
    return R[g, 0, a], R[g, 1, a], R[g, 2, a]


@kernel
def _place_area(h, pair, n):
    """Area of one place [m^2]; zero for a pair that has none."""
    g = h.geoms.soft.host[pair]
    if g < 0:
        return 0.0
    axis, _ = _face(h, pair, n)
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
def _lay_cells(h, pair, n, candidates):
    """Append the points of the cells of a pair; False where there is no room."""
    g = h.geoms.soft.host[pair]
    guest = h.geoms.pairs[pair, 0] + h.geoms.pairs[pair, 1] - g
    axis, sign = _face(h, pair, n)
    a, b = (axis + 1) % 3, (axis + 2) % 3
    first, second = h.geoms.soft.cells[pair, a], h.geoms.soft.cells[pair, b]
    d = vector_sum(ZERO, sign, _axis(h, g, axis))
    centre = vector_sum(vector(h.buffers.geom_p, g), h.geoms.size[g, axis], d)
    u, v = h.geoms.size[g, a] / (first * PLACES), h.geoms.size[g, b] / (second * PLACES)
    least, reach, face = -2.0 * h.geoms.size[g, axis], _reach_of(h, pair, candidates), 2 * axis + (1 if sign > 0 else 0)
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
