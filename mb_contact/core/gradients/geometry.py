# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How a contact's normal, point and gap follow the poses of its two shapes, in closed form.

What is differentiated is how the narrow phase makes them (docs/collision.md): between a face and a feature over it, or
between points and edges.  With X_A(y), X_B(y) the velocities of the points of A and B that are at y:

    a face of O with normal m, and y of the other shape over it       dm = w_O x m,  dg = m.(dy - X_O(y))
        y a vertex                                                    dy = X(y)
        y a corner c of the face, moved along m by s to a face m'     dy = X_O(c) + s dm + ds m,  m'.(dy - X(y)) = 0
        y where an edge e crosses that of the face, h = m x edge      dy = X(y) + dt e,  h.(dy - X_O(y)) = 0
    points a and b of cores at d = a - b = L n                        dd = dL n + L dn,  dg = dL
        b on an edge e; on a curved surface                     dy = X(y) + ds e, d(e.n) = 0; X(y) + H (dn - w x n)

H is the Hessian of the support function of a curved surface, by which its point follows its normal; one over a face has
dy = X(y) + H (w x m - dm).
"""

from mb_contact.core.arrays import fill
from mb_contact.core.constraints.contact import some_tangent
from mb_contact.core.constraints.flat_manifolds import deepest_of, last_of_face
from mb_contact.core.gradients.features import (
    ACROSS,
    BEND_A,
    BEND_B,
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
    OWNER,
    POINT,
    ROUND_A,
    ROUND_B,
    SAME,
    find_features,
)
from mb_contact.core.gradients.motion import velocity_at
from mb_contact.core.gradients.workspace import COINCIDENT, FINE, PARALLEL
from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    between,
    opposite,
    unit_of,
    unit_twist,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)


@kernel
def place_contact(g, a, i):
    """``place[i]`` of contact i; a status."""
    contacts, geoms = a.contacts, a.geoms
    pair = contacts.pair[i]
    status = find_features(g, geoms, pair, vector(contacts.normal, i), vector(contacts.point, i), contacts.gap[i])
    if status == FINE and g.meeting.kind[KIND] == EDGES:
        scale = min(g.cores.scale[geoms.pairs[pair, 0]], g.cores.scale[geoms.pairs[pair, 1]])
        if _solve_edges(g.meeting, scale):
            status = PARALLEL if g.meeting.kind[LINE] == 3 else COINCIDENT
    if status != FINE:
        return status
    g.above[i] = 0.0 if g.meeting.kind[KIND] == EDGES else 2.0 * g.meeting.kind[OWNER] - 1.0
    for side in range(2):
        welded = geoms.body[geoms.pairs[pair, side]] < 0
        for c in range(6):
            if welded:
                n, x, gap = ZERO, ZERO, 0.0
            else:
                n, x, gap = _rates(g, side, c)
            column = 6 * side + c
            for j in range(3):
                g.place[i, j, column], g.place[i, 3 + j, column] = n[j], x[j]
            g.place[i, 6, column] = gap
    return FINE


@kernel
def _rates(g, side, c):
    """Rates of normal, point and gap for a unit of component c of the twist of A or B."""
    if g.meeting.kind[KIND] == EDGES:
        return _edge_rates(g.meeting, 6 * side + c)
    owner = g.meeting.kind[OWNER]
    V_o, V = (unit_twist(c), STILL) if side == owner else (STILL, unit_twist(c))
    n, x, gap = _face_rates(g.meeting, V_o, V)
    return (n if owner == 1 else opposite(n)), x, gap


@kernel
def _face_rates(at, V_o, V):
    """Rates of the outward normal of a face of a shape with twist V_o, of the point over it and of the gap."""
    m, y = vector(at.vector, NORMAL), vector(at.vector, POINT)
    dm = vector_product(V_o[:3], m)
    dy = vector_sum(velocity_at(V, y), 1.0, _bent(at, BEND_A, vector_sum(vector_product(V[:3], m), -1.0, dm)))
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
def _bent(at, row, a):
    """A Hessian times the vector a."""
    return vector_dot(vector(at.vector, row), a), vector_dot(vector(at.vector, row + 1), a), vector_dot(
        vector(at.vector, row + 2), a)  # fmt: skip


@kernel
def _solve_edges(at, scale):
    """Rates of the normal, in two directions t across it, and of both slides along edges, for all twists; a status.

        t.(X_A - X_B + H_A (w_A x n) + H_B (w_B x n) + s_a e_a - s_b e_b) = t.(H_A + H_B + L) dn,    d(e.n) = 0

    which ends in the columns behind the fourth of ``system``; X is the velocity of the point of the core.
    """
    n, T = vector(at.vector, NORMAL), at.system
    t1 = unit_of(some_tangent(n)[0])[0]
    L = at.number[GAP] + at.number[ROUND_A] + at.number[ROUND_B]
    for r in range(4):
        fill(16, T[r], 0.0)
    for i in range(2):
        t = t1 if i == 0 else vector_product(n, t1)
        for j in range(2):
            u = t1 if j == 0 else vector_product(n, t1)
            bent = vector_sum(_bent(at, BEND_A, u), 1.0, _bent(at, BEND_B, u))
            T[i, j] = vector_dot(t, bent) + (L if i == j else 0.0)
        for side in range(2):
            row, edge, sign = (BEND_A, EDGE_A, 1.0) if side == 0 else (BEND_B, EDGE_B, -1.0)
            e = _edge_along(at, side, edge)
            T[i, 2 + side] = -sign * vector_dot(t, e)
            T[2 + side, i] = vector_dot(t, e)
            for c in range(6):
                V = unit_twist(c)
                turn = vector_product(V[:3], n)
                moved = velocity_at(V, vector(at.vector, ON_A if side == 0 else ON_B))
                T[i, 4 + 6 * side + c] = vector_dot(t, vector_sum(_bent(at, row, turn), sign, moved))
                if i == 0:  # e.dn = e.(w x n)
                    T[2 + side, 4 + 6 * side + c] = vector_dot(e, turn)
    for side in range(2):
        if (at.kind[LINE] >> side) & 1 == 0:
            T[2 + side, 2 + side] = 1.0
    return _eliminate_edges(T, SAME * scale)


@sweep
def _edge_along(at, side, row):
    """The edge of a side as a unit vector, or zero."""
    if (at.kind[LINE] >> side) & 1 == 0:
        return ZERO
    e = vector(at.vector, row)
    return unit_of(e)[0]


@kernel
def _eliminate_edges(T, least):
    """Gauss and Jordan's elimination of the four unknowns; whether it fails, for pivots below ``least``."""
    for k in range(4):
        best = k
        for i in range(k + 1, 4):
            if abs(T[i, k]) > abs(T[best, k]):
                best = i
        if abs(T[best, k]) < least:
            return True
        for c in range(16):
            T[k, c], T[best, c] = T[best, c], T[k, c]
        f = 1.0 / T[k, k]
        for c in range(k, 16):
            T[k, c] *= f
        for i in range(4):
            f = T[i, k]
            if i != k and f != 0.0:
                for c in range(k, 16):
                    T[i, c] -= f * T[k, c]
    return False


@kernel
def _edge_rates(at, column):
    """Rates of a contact of points, edges and curved surfaces for a unit of one of both twists' components."""
    n, T = vector(at.vector, NORMAL), at.system
    t1 = unit_of(some_tangent(n)[0])[0]
    dn = vector_sum(vector_sum(ZERO, T[0, 4 + column], t1), T[1, 4 + column], vector_product(n, t1))
    V = unit_twist(column % 6)
    on_b = column >= 6
    moved = velocity_at(V, vector(at.vector, ON_B if on_b else ON_A))
    rise = -vector_dot(n, moved) if on_b else vector_dot(n, moved)
    d_b = _bent(at, BEND_B, vector_sum(dn, -1.0, vector_product(V[:3], n)) if on_b else dn)
    d_b = vector_sum(d_b, T[3, 4 + column], _edge_along(at, 1, EDGE_B))
    d_b = vector_sum(d_b, 1.0, moved) if on_b else d_b
    r_b, gap = at.number[ROUND_B], at.number[GAP]
    return dn, vector_sum(vector_sum(d_b, 0.5 * rise, n), r_b + 0.5 * gap, dn), rise


@kernel
def level_contacts(g, a):
    """Points of one face stand at the height of its deepest (``flat_manifolds.py``), and their derivatives too.

    x := x + s n, s = h_low - h; both heights are the same behind it.
    """
    contacts, first = a.contacts, 0
    while first < contacts.count[0]:
        end, n = last_of_face(contacts, first), vector(contacts.normal, first)
        low = deepest_of(contacts, first, end)
        for i in range(first, end):
            if i == low:
                continue
            s = 0.5 * g.above[i] * (contacts.gap[low] - contacts.gap[i])
            away = between(contacts.point, low, contacts.point, i)
            for c in range(12):
                rise = 0.0
                for j in range(3):
                    rise += n[j] * (g.place[low, 3 + j, c] - g.place[i, 3 + j, c]) + away[j] * g.place[i, j, c]
                for j in range(3):
                    g.place[i, 3 + j, c] += n[j] * rise + s * g.place[i, j, c]
        first = end
