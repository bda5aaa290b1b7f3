# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A free body that is held ends where the body that holds it takes it.

Free bodies move straight on with the velocities of the step's end, links of robots on the circles of their joints.  So
what a turning hand holds would part from it by (omega dt)^2 / 2 of the arm's length in each step, always outward, half
a metre from a shoulder that turns with 1 rad/s by 0.25 mm in a second at 1 ms; and what sticks never comes back, for
sticking is a law of velocities.  So a free body with a loaded contact on a moving link goes with the axes of that
link, where it is at rest in them and beside all other links, and the world, that press on it; what little it moves in
them is straight on.  What rests on such a body goes along too.  Velocities stay what they are.
"""

from mb_contact.core.arrays import fill
from mb_contact.core.handle import UNIT_LENGTH, UNIT_SPEED
from mb_contact.core.jit import NOTHING, kernel, on_demand
from mb_contact.core.step.closing import follow
from mb_contact.core.tree.embedding import close_aggregates
from mb_contact.core.tree.kinematics import body_pose, body_poses, body_velocities
from mb_contact.core.tree.rotations import rotate_quaternion, rotation_vector
from mb_contact.core.tree.spatial import (
    length_of,
    matrix,
    moved,
    product,
    spatial,
    spatial_sum,
    transposed,
    turned,
    vector,
    vector_sum,
)
from mb_contact.types import JOINT_FLOATING

MOVES = 1e-6  #: velocity of a body from which it takes others along [rad/s, m/s]
HELD = 1e-2  #: and that of those others beside it, in parts of its own


@kernel
def may_be_held(h):
    """Whether a free body of the finished step may be held by a link that moves.

    Reads: contacts, geoms, kin, settings, sol, tree.  Writes: nothing.
    """
    for i in range(h.contacts.count[0]):
        for side in range(2):
            a, b = _bodies(h, i, side)
            if a >= 0 and not _is_root(h.tree, a) and _loaded(h, i) and _is_free(h.tree, b):
                if _size(h, spatial(h.kin.V, a)) > MOVES * h.settings[UNIT_SPEED]:
                    return True
    return False


@kernel
def _bodies(h, i, side):
    """The body of that side at contact i, and the other one; -1 is the inertial frame."""
    pair = h.contacts.pair[i]
    return h.geoms.body[h.geoms.pairs[pair, side]], h.geoms.body[h.geoms.pairs[pair, 1 - side]]


@kernel
def _loaded(h, i):
    return h.sol.r[3 * i] > 0.0


@kernel
def _is_root(tree, k):
    return tree.parent[k] < 0 and tree.joint_type[k] == JOINT_FLOATING


@kernel
def _is_free(tree, k):
    """Whether body k floats and nothing hangs on it."""
    if k < 0 or not _is_root(tree, k):
        return False
    for i in range(k + 1, tree.parent.shape[0]):
        if tree.parent[i] == k:
            return False
    return True


@kernel
def _size(h, V):
    """Of a twist, with angles as ways at the unit of length."""
    return max(h.settings[UNIT_LENGTH] * length_of(V[:3]), length_of(V[3:]))


@on_demand(NOTHING)
def go_along(h):
    """Put what is held where it is taken: at the end of the way ``work.dv``, whose coordinates stand in q.

    Reads: art, contacts, gears, geoms, kin, need, q, settings, sol, tree, v, work.  Writes: art, need, q, v.
    """
    tree, end, along = h.tree, h.need.kin, h.need.along
    follow(tree, h.gears, h.q, h.v)
    body_poses(tree, h.q, end)
    if h.art.aggregates.base.shape[0] > 0:
        close_aggregates(tree, h.q, h.v, end, h.art.aggregates)
        body_poses(tree, h.q, end)
    body_velocities(tree, h.kin, h.work.dv, end.V)
    fill(along.shape[0], along, 0)
    again = True
    while again:
        again = False
        for i in range(h.contacts.count[0]):
            for side in range(2):
                a, b = _bodies(h, i, side)
                if a < 0 or not _loaded(h, i) or not (along[a] != 0 or not _is_root(tree, a)):
                    continue
                if _is_free(tree, b) and along[b] == 0 and _is_held(h, a, b):
                    _take(h, a, b)
                    along[b], again = 1, True


@kernel
def _own(h, a, b):
    """(Way of b beside a in the step, way on which a takes it) [rad, m]."""
    taken = moved(spatial(h.need.kin.V, a), vector_sum(vector(h.kin.p, b), -1.0, vector(h.kin.p, a)))
    return spatial_sum(spatial(h.need.kin.V, b), -1.0, taken), taken


@kernel
def _rests(h, a, b):
    """Whether b is at rest beside a, which moves."""
    if a < 0:
        return False
    own, taken = _own(h, a, b)
    return _size(h, own) < HELD * _size(h, taken)


@kernel
def _is_held(h, a, b):
    """Whether b is at rest beside a, and beside all else that presses on it and is no free body."""
    for i in range(h.contacts.count[0] if _rests(h, a, b) else 0):
        for side in range(2):
            other, body = _bodies(h, i, side)
            if body == b and _loaded(h, i) and not (_is_free(h.tree, other) or _rests(h, other, b)):
                return False
    return _rests(h, a, b)


@kernel
def _take(h, a, b):
    """Put b where a takes it."""
    start, end, q, s = h.kin, h.need.kin, h.q, h.tree.q_start[b]
    own, _ = _own(h, a, b)
    arm = vector_sum(vector_sum(vector(start.p, b), -1.0, vector(start.p, a)), 1.0, own[3:])
    turn = product(matrix(end.R, a), transposed(matrix(start.R, a)))
    p = vector_sum(vector(end.p, a), 1.0, turned(turn, arm))
    x, y, z = rotation_vector(turn)
    for i in range(3):
        q[s + i] = h.work.q_start[s + i] + (p[i] - start.p[b, i])
    for i in range(3, 7):
        q[s + i] = h.work.q_start[s + i]
    rotate_quaternion(q, s + 3, own[0], own[1], own[2])
    rotate_quaternion(q, s + 3, x, y, z)
    body_pose(h.tree, q, end, b)
