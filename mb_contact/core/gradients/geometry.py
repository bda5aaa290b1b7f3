# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How a contact's normal, point and gap follow the poses of its two shapes, in closed form.

What is differentiated is how the narrow phase makes them (docs/collision.md): between a face and a feature over it, or
between points and edges.  With X_A(y), X_B(y) the velocities of the points of A and B that are at y:

    a face of O with normal m, and y of the other shape over it       dm = w_O x m,  dg = m.(dy - X_O(y))
        y a vertex                                                    dy = X(y)
        y a corner c of the face, moved along m by s to a face m'     dy = X_O(c) + s dm + ds m,  m'.(dy - X(y)) = 0
        y where an edge e crosses that of the face, h = m x edge      dy = X(y) + dt e,  h.(dy - X_O(y)) = 0
    points a and b of cores at d = a - b = L n                        dn = (1 - n n*) dd / L,  dg = n.dd
        b on an edge e                                                d(e.d) = 0
    two edges, n along e_a x e_b                                      dd = dL n + L dn
"""

import numpy as np

from mb_contact.core.gradients.features import (
    ACROSS,
    AXIS,
    CORNER,
    CROSS,
    EDGE,
    EDGE_A,
    EDGE_B,
    EDGES,
    GAP,
    HEIGHT,
    KIND,
    LINE,
    NORMAL,
    ON_A,
    ON_B,
    OUT,
    OWNER,
    POINT,
    ROUND,
    ROUND_A,
    ROUND_B,
    SAME,
    SINE,
    find_features,
    opposite,
)
from mb_contact.core.gradients.motion import velocity_at
from mb_contact.core.gradients.workspace import COINCIDENT, FINE, PARALLEL
from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.spatial import STILL, ZERO, vector, vector_dot, vector_product, vector_sum


@sweep
def _times(t, a):
    return vector_sum(ZERO, t, a)


@sweep
def _across(a, n):
    """a without its part along n."""
    return vector_sum(a, -vector_dot(a, n), n)


@sweep
def _unit(i):
    """Twist of one along coordinate i."""
    return (
        1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0,
        1.0 if i == 3 else 0.0, 1.0 if i == 4 else 0.0, 1.0 if i == 5 else 0.0,
    )  # fmt: skip


@kernel
def place_contact(g, a, i):
    """``place[i]`` of contact i; a status."""
    contacts, geoms = a.contacts, a.geoms
    pair = contacts.pair[i]
    status = find_features(g, geoms, pair, vector(contacts.normal, i), vector(contacts.point, i), contacts.gap[i])
    if status == FINE and g.meeting.kind[KIND] == EDGES:
        status = _check_edges(g, min(g.cores.scale[geoms.pairs[pair, 0]], g.cores.scale[geoms.pairs[pair, 1]]))
    if status != FINE:
        return status
    g.above[i] = 0.0 if g.meeting.kind[KIND] == EDGES else 2.0 * g.meeting.kind[OWNER] - 1.0
    for side in range(2):
        welded = geoms.body[geoms.pairs[pair, side]] < 0
        for c in range(6):
            if welded:
                n, x, gap = ZERO, ZERO, 0.0
            else:
                n, x, gap = _rates(g, _unit(c), STILL) if side == 0 else _rates(g, STILL, _unit(c))
            column = 6 * side + c
            for j in range(3):
                g.place[i, j, column], g.place[i, 3 + j, column] = n[j], x[j]
            g.place[i, 6, column] = gap
    return FINE


@kernel
def _rates(g, V_a, V_b):
    """Rates of normal, point and gap for the twists of A and B."""
    if g.meeting.kind[KIND] == EDGES:
        return _edge_rates(g.meeting, V_a, V_b)
    if g.meeting.kind[OWNER] == 1:
        return _face_rates(g.meeting, V_b, V_a)
    n, x, gap = _face_rates(g.meeting, V_a, V_b)
    return opposite(n), x, gap


@kernel
def _face_rates(at, V_o, V):
    """Rates of the outward normal of a face of a shape with twist V_o, of the point over it and of the gap."""
    m, y = vector(at.vector, NORMAL), vector(at.vector, POINT)
    dm = vector_product(V_o[:3], m)
    dy = _line_rate(at, V, m, dm, y) if at.kind[LINE] == 1 else velocity_at(V, y)
    if at.kind[KIND] == CORNER:
        other, s = vector(at.vector, ACROSS), at.number[HEIGHT]
        moved = vector_sum(velocity_at(V_o, vector_sum(y, -s, m)), s, dm)
        dy = vector_sum(moved, vector_dot(other, vector_sum(dy, -1.0, moved)) / vector_dot(other, m), m)
    elif at.kind[KIND] == CROSS:
        h, e = vector(at.vector, ACROSS), vector(at.vector, EDGE)
        dy = vector_sum(dy, vector_dot(h, vector_sum(velocity_at(V_o, y), -1.0, dy)) / vector_dot(h, e), e)
    rise = vector_dot(m, vector_sum(dy, -1.0, velocity_at(V_o, y)))
    r = at.number[HEIGHT] - 0.5 * at.number[GAP]  # x = y - (r + g / 2) m
    return dm, vector_sum(vector_sum(dy, -0.5 * rise, m), -r, dm), rise


@kernel
def _line_rate(at, V, m, dm, y):
    """Rate of a point at y on the line of a cylinder that faces m: X(axis) + r du.

    u is -m without its part along the axis k, as a unit vector.
    """
    k, u, r = vector(at.vector, AXIS), vector(at.vector, OUT), at.number[ROUND]
    dk = vector_product(V[:3], k)
    along = vector_dot(m, k)
    d = vector_sum(_times(vector_dot(k, dm) + vector_dot(m, dk), k), along, dk)
    d = _across(vector_sum(d, -1.0, dm), u)
    return vector_sum(velocity_at(V, vector_sum(y, -r, u)), r / at.number[SINE], d)


@kernel
def _check_edges(g, scale):
    """A status: whether points and edges that meet have a derivative."""
    at = g.meeting
    if at.kind[LINE] < 3:
        away = at.number[GAP] + at.number[ROUND_A] + at.number[ROUND_B]
        return COINCIDENT if abs(away) < SAME * scale else FINE
    e_a, e_b = vector(at.vector, EDGE_A), vector(at.vector, EDGE_B)
    c = vector_product(e_a, e_b)
    small = vector_dot(c, c) < 1e-6 * vector_dot(e_a, e_a) * vector_dot(e_b, e_b)
    return PARALLEL if small else FINE


@kernel
def _edge_rates(at, V_a, V_b):
    """Rates of a contact of points and edges."""
    n, on_a, on_b = vector(at.vector, NORMAL), vector(at.vector, ON_A), vector(at.vector, ON_B)
    r_b, gap = at.number[ROUND_B], at.number[GAP]
    L = gap + at.number[ROUND_A] + r_b
    apart = vector_sum(velocity_at(V_a, on_a), -1.0, velocity_at(V_b, on_b))
    d_b = velocity_at(V_b, on_b)
    if at.kind[LINE] == 3:
        e_a, e_b = vector(at.vector, EDGE_A), vector(at.vector, EDGE_B)
        c = vector_product(e_a, e_b)
        dc = vector_sum(
            vector_product(e_a, vector_product(V_b[:3], e_b)), -1.0, vector_product(e_b, vector_product(V_a[:3], e_a))
        )
        sign = 1.0 if vector_dot(c, n) > 0.0 else -1.0
        dn = _times(sign / np.sqrt(vector_dot(c, c)), _across(dc, n))
        right = vector_sum(_times(L, dn), -1.0, apart)  # = s e_a - t e_b - rise n
        volume = vector_dot(n, c)
        d_b = vector_sum(d_b, vector_dot(right, vector_product(n, e_a)) / -volume, e_b)
        rise = -vector_dot(right, c) / volume
    else:
        if at.kind[LINE] == 2:
            e = vector(at.vector, EDGE_B)
            by = (L * vector_dot(n, vector_product(V_b[:3], e)) + vector_dot(e, apart)) / vector_dot(e, e)
            d_b, apart = vector_sum(d_b, by, e), vector_sum(apart, -by, e)
        elif at.kind[LINE] == 1:
            e = vector(at.vector, EDGE_A)
            by = (L * vector_dot(n, vector_product(V_a[:3], e)) + vector_dot(e, apart)) / vector_dot(e, e)
            apart = vector_sum(apart, -by, e)
        dn, rise = _times(1.0 / L, _across(apart, n)), vector_dot(n, apart)
    return dn, vector_sum(vector_sum(d_b, 0.5 * rise, n), r_b + 0.5 * gap, dn), rise


@kernel
def level_contacts(g, a, low):
    """Points of one face stand at the height of its deepest (``flat_manifolds.py``), and their derivatives too.

    x := x + s n, s = h_low - h; both heights are the same behind it.  ``low`` (c,) is scratch.
    """
    contacts = a.contacts
    count = contacts.count[0]
    for i in range(count):
        low[i] = _deepest(contacts, i, count)
    for i in range(count):
        k = low[i]
        if k == i:
            continue
        n = vector(contacts.normal, i)
        s = 0.5 * g.above[i] * (contacts.gap[k] - contacts.gap[i])
        away = vector_sum(vector(contacts.point, k), -1.0, vector(contacts.point, i))
        for c in range(12):
            rise = 0.0
            for j in range(3):
                rise += n[j] * (g.place[k, 3 + j, c] - g.place[i, 3 + j, c]) + away[j] * g.place[i, j, c]
            for j in range(3):
                g.place[i, 3 + j, c] += n[j] * rise + s * g.place[i, j, c]


@kernel
def _deepest(contacts, i, count):
    """The first of the deepest contacts of the face of contact i; those of a pair stand side by side."""
    first = i
    while first > 0 and contacts.pair[first - 1] == contacts.pair[i]:
        first -= 1
    low = i
    for j in range(first, count):
        if contacts.pair[j] != contacts.pair[i]:
            break
        same = True
        for c in range(3):
            same = same and contacts.normal[j, c] == contacts.normal[i, c]
        if same and (contacts.gap[j] < contacts.gap[low] or (contacts.gap[j] == contacts.gap[low] and j < low)):
            low = j
    return low
