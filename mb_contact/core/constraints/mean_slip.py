# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The mean slip of a step, which rows of friction ask for: what a turning body holds goes round with it.

A row of friction asks for the slip u_t of two points that touch with the velocities of the step's end.  Bodies go on
for the whole step with constant joint rates, and their points bend away from these velocities: what sticks with u_t = 0
has slipped by dt^2 a / 2 where the step ends, always outward, and what a hand holds creeps out of it.  So the rows ask
for the mean slip of the step,

    u_t = t.(v_A - v_B)(x) + sigma dt t.a(x) / 2,
    a(x) = [o_A'' + w_A' x (x - o_A)] - [o_B'' + w_B' x (x - o_B)] + w x (w x (o_B - o_A)),    w = (w_A + w_B) / 2,

o'' and w' the accelerations of a body's origin and angle with constant joint rates, zero of a body that floats.  For
two bodies that turn alike a is the acceleration of A's point beside B's, and for others too it is one rigid motion, so
that all points of a face can follow it.  It is taken with the velocities before the step: dt (a(v+) - a(v)) / 2, which
is missing, sums up to nothing while velocities come and go.

Two points that stuck in the last step have parted by dt a / 2 where the next one begins, or by dt a if they were asked
for nothing.  A pair whose slip along this is less than a quarter of dt a is asked for nothing: a contact that begins
would gain energy by it, and where shapes roll on each other the place where they touch goes on beside both of them, so
that they have not parted.  a says nothing of the slip of bodies that turn otherwise, as balls that slide and spin, so
it counts as much as both turn alike,

    sigma = max(0, (2 w_A.w_B + e^2) / (w_A^2 + w_B^2 + e^2)).

Contacts with the world ask for nothing, nor do those of a tree with itself, which its joints hold too: what they ask
for would contradict each other where they jam.  Integrators of higher order take the mean of a step's velocities.
"""

from mb_contact.core.constraints.contact import relative_velocity
from mb_contact.core.handle import DT, EULER, UNIT_LENGTH, UNIT_SPEED
from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.spatial import (
    ZERO,
    between,
    linear,
    put_vector,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)

STILL_TURN = 1e-3  #: rate below which bodies count as turning alike, e [rad/s]
PARTED = 0.5  #: part of what is asked for, dt a / 2, that a pair slips by at least,
SLOW = 1e-6  #: where that is more than this: as a hand turns back it falls faster than what has parted [m/s]


@sweep
def turn_alike(w_a, w_b, settings):
    """sigma of two bodies' angular velocities, and its denominator [rad^2/s^2]."""
    least = (STILL_TURN * settings[UNIT_SPEED] / settings[UNIT_LENGTH]) ** 2
    size = vector_dot(w_a, w_a) + vector_dot(w_b, w_b) + least
    return max((2.0 * vector_dot(w_a, w_b) + least) / size, 0.0), size


@kernel
def _point_rate(tree, kin, k, x):
    """Of body k with constant joint rates: angular acceleration, and acceleration of x but for what is centripetal
    about its origin [rad/s^2, m/s^2]."""
    angular, straight, j = ZERO, ZERO, k
    while j >= 0:
        own = vector(kin.a, j)
        angular = vector_sum(angular, 1.0, own)
        arm = vector_sum(x, -1.0, vector(kin.p, j))
        straight = vector_sum(vector_sum(straight, 1.0, linear(kin.a, j)), 1.0, vector_product(own, arm))
        j = tree.parent[j]
    return angular, straight


@kernel
def bend_rows(h):
    """What rows of friction ask for beside the slip of their velocities, into ``work.asked_slip``.

    Reads: contacts, flow, frames, geoms, kin, settings, tree.  Writes: work.
    """
    contacts, asked, first = h.contacts, h.work.asked_slip, 0
    while first < contacts.count[0]:
        pair, end = contacts.pair[first], first + 1
        while end < contacts.count[0] and contacts.pair[end] == pair:
            end += 1
        a, b = h.geoms.body[h.geoms.pairs[pair, 0]], h.geoms.body[h.geoms.pairs[pair, 1]]
        for i in range(first, end):
            put_vector(asked, i, ZERO)
        if min(a, b) >= 0 and h.tree.root[a] != h.tree.root[b] and h.flow.rule[0] == EULER:
            _bend_pair(h, a, b, first, end)
        first = end


@kernel
def _bend_pair(h, a, b, first, end):
    """``bend_rows`` of the contacts of bodies a and b, if they have parted in the last step as what sticks does."""
    contacts, kin, asked, about = h.contacts, h.kin, h.work.asked_slip, vector(h.contacts.point, first)
    part = 0.5 * h.settings[DT] * turn_alike(vector(kin.V, a), vector(kin.V, b), h.settings)[0]
    w = vector_sum(vector_sum(ZERO, 0.5, vector(kin.V, a)), 0.5, vector(kin.V, b))
    turns = vector_product(w, vector_product(w, between(kin.p, b, kin.p, a)))
    of_a, of_b = _point_rate(h.tree, kin, a, about), _point_rate(h.tree, kin, b, about)
    angular = vector_sum(vector_sum(ZERO, part, of_a[0]), -part, of_b[0])
    straight = vector_sum(vector_sum(vector_sum(ZERO, part, of_a[1]), -part, of_b[1]), part, turns)
    along, square = 0.0, 0.0
    for i in range(first, end):
        x = vector(contacts.point, i)
        bends = vector_sum(straight, 1.0, vector_product(angular, vector_sum(x, -1.0, about)))
        slip = relative_velocity(h.geoms, contacts, kin.p, kin.V, i)
        for c in range(2):
            t = vector(h.frames.t1 if c == 0 else h.frames.t2, i)
            asked[i, c] = vector_dot(bends, t)
            along, square = along + asked[i, c] * vector_dot(slip, t), square + asked[i, c] ** 2
        asked[i, 2] = 1.0
    if along < PARTED * square and square > (end - first) * (SLOW * h.settings[UNIT_SPEED]) ** 2:
        for i in range(first, end):
            put_vector(asked, i, ZERO)
