# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts with a gap come in by need: what is not touched is not hit.

The row n.v+ + g/dt >= 0 of a contact with a gap, with the normal n of the step's start, keeps two convex bodies apart;
but they are apart if any direction separates them at the end, and a body that passes another, or slides from one slab
to a flush one, ends apart along another direction than the one it began with.  So a pair that was not loaded before,
and is with the solution, is questioned:

    1. Where pushing it further together along n, and aside with its motion, by several times its way in the step leaves
       n the direction of least depth, it meets along n whatever the others do: its rows stand (``_is_plain``).
    2. Otherwise the problem is solved without it, and both shapes are moved along that motion (``meeting.py``).  Who
       passes is left alone.  Who meets gets the contacts of the moment of meeting: their normal, each body's own
       points, and as gap the separation along that normal at the start.
    3. Of pairs of one tree the first one that meets comes in, for it may keep the others apart.  Solved with these,
       whoever was left out is looked at again.  After MOST_ROUNDS the rows of the start come back.
    4. Who meets after a way that is longer than itself and leads along the surfaces strikes: where the step ends the
       contact would be another one, so it is an impact at the moment of meeting, with or without restitution.

Patches of a height field have a rule of their own: their rows always stand.
"""

import math
from typing import Annotated, NamedTuple

from mb_contact.core.arrays import copy, fill
from mb_contact.core.collision.broadphase import relative_way
from mb_contact.core.collision.manifolds import build_contacts
from mb_contact.core.collision.meeting import (
    APART,
    CLOSE,
    GO_ON,
    LOOKS,
    MEET,
    answer,
    ask,
    at_start,
    go_back,
    look,
    place_pair,
    separation_along,
    set_motion,
)
from mb_contact.core.constraints.contact import normal_velocity
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.handle import DT
from mb_contact.core.jit import INTEGER, kernel, on_demand
from mb_contact.core.tree.joints import integrate_joints
from mb_contact.core.tree.kinematics import body_poses, body_velocities
from mb_contact.core.tree.spatial import (
    ZERO,
    body_point,
    matrix,
    multiply,
    put_matrix,
    put_vector,
    vector,
    vector_dot,
    vector_sum,
)
from mb_contact.core.workspace import Kinematics
from mb_contact.types import (
    ASK_ON_WAY,
    CONTACTS_CHANGED,
    IN_PARTS,
    OK,
    SHAPE_PLANE,
    TOO_MANY_CONTACTS,
    WORLD,
    Contacts,
)

#: verdicts on a pair; ASKED_FIRST and CLAIMED are not decided on yet, MEETS and LATER who is first; NO_SHAPES: its
#: contact is one of contact coordinates
STANDS, ASKED_FIRST, CLAIMED, OUT, MEETS, LATER, MET, STRIKES, HELD, NO_SHAPES = range(10)
ASKS, MOVES = 1, 2  #: of Need.info[STARTED]: pairs that are new are pushed together, others are moved
ON, MEAN = range(2)  #: of Need.rule: 1 where pairs are questioned, weight of the step's first velocity in its motion
COUNT, AT, STARTED, WAITS, LOOKED, TOUCHES, ENDS, CHANGED, ROUND = range(9)  #: of Need.info
CAME, PASSED, FELL_BACK = range(3)  #: of Need.told

TOUCHING = 5e-8  #: overlap up to which shapes that end so only touch: faces that are flush [m],
SUNKEN = 1e-6  #: and most by which it is raised where a body is in others already [m]
SLOW = 0.01  #: approach to a half-space up to which flows land by its row [m/s]
MOST_POINTS = 8  #: of a pair
MOST_ROUNDS = 8  #: of solutions with other contacts in one step
AT_ONCE = 1e-6  #: part of a step within which meetings are at once
PUSHED = 3.0  #: ways of the step by which a pair is pushed together on trial
DEPTH = 0.7  #: part of that push which has to be left of the depth
ALIKE = 1e-4  #: angle that the normal may turn by then [rad], and three times the push over the smaller shape
LEAST_WAY = 1e-6  #: of a pair in a step, for that [m]
FAR = 1.0  #: way before two shapes meet, in sizes of the smaller one, from which they strike in the midst of the step,
SIDEWAYS = 1e-3  #: and the part of it along the surfaces
FLAT = 1.0 - 1e-10  #: cosine of that turn from which on the normal is that of a face
CURVED = 0.7  #: squares of the way aside over a shape's size by which free motion has to reach too far elsewhere


class Need(NamedTuple):
    """What is decided about the pairs of a step; n bodies, N velocities, c contacts."""

    rule: Annotated[Reals, 2]
    info: Annotated[Integers, 9]
    told: Annotated[Integers, 3]  #: pairs with contacts of the moment of meeting, that pass, that fell back
    pair: Annotated[Integers, "c"]
    verdict: Annotated[Integers, "c"]
    first: Annotated[Integers, "c"]  #: a loaded contact of the pair when it was questioned
    time: Annotated[Reals, "c"]  #: when it meets, of the step's length,
    far: Annotated[Integers, "c"]  #: and 1 where it strikes then
    motion: object  #: collision.workspace.Motion
    back: Annotated[Reals, 4]  #: moment and normal with which a pair overlaps
    poses: object  #: CollisionBuffers with room for one pair
    found: Contacts  #: of one pair
    met: Contacts  #: of the moments of meeting
    before: Contacts  #: of the step's start
    impulse: Annotated[Reals, "c", 3]  #: their impulses in the first solution,
    shift: Annotated[Reals, "c"]  #: ``work.gap_shift``
    bias: Annotated[Reals, "c", 3]  #: and ``work.row_bias``
    kin: Kinematics  #: bodies where the step ends
    q: Annotated[Reals, "nq"]
    way: Annotated[Reals, "N"]
    V: Annotated[Reals, "n", 6]


@kernel
def begin_review(h):
    """Nothing is decided about the contacts of a new step."""
    fill(9, h.need.info, 0)
    fill(3, h.need.told, 0)
    h.need.met.count[0] = 0


@kernel
def review(h):
    """OK where all contacts of the solved problem are needed; otherwise it has others, or an engine has to be asked.

    Returns
    -------
    int
        OK, CONTACTS_CHANGED, ASK_ON_WAY (call again behind the answer), IN_PARTS (a pair strikes), TOO_MANY_CONTACTS.
    """
    need = h.need
    if need.rule[ON] == 0.0:
        return OK
    if need.info[STARTED] == 0 and need.info[COUNT] == 0 and _first_new(h, 0) < 0:
        return OK
    return _decide(h)


@kernel
def _first_new(h, i):
    """The first contact from i on that is loaded, and whose pair was not loaded before and is not decided on; or -1."""
    contacts, memory = h.contacts, h.memory
    for k in range(i, contacts.count[0]):
        if not h.sol.r[3 * k] > 0.0:
            continue
        j = h.frames.known[k]
        if j >= 0 and memory.impulse[j, 0] > 0.0:
            continue
        if _is_asked(h, contacts.pair[k], k):
            return k
    return -1


@kernel
def _is_asked(h, pair, i):
    """Whether the pair of contact i is questioned: not loaded in the last step, and not decided on in this one.

    A half-space has one normal; its row asks too much only of a path that does not end with its last velocity.
    """
    a, b = h.geoms.pairs[pair, 0], h.geoms.pairs[pair, 1]
    kind = max(h.geoms.kind[a], h.geoms.kind[b])
    if kind > SHAPE_PLANE:
        return False
    if kind == SHAPE_PLANE and (
        h.need.rule[MEAN] == 0.0 or normal_velocity(h.geoms, h.contacts, h.kin.p, h.kin.V, i) >= -SLOW
    ):
        return False
    for k in range(h.need.info[COUNT]):
        if h.need.pair[k] == pair:
            return False
    for j in range(h.memory.count[0]):
        if h.memory.pair[j] == pair and h.memory.impulse[j, 0] > 0.0:
            return False
    return True


@kernel
def put_pair(h, pair, verdict, contact):
    """Add a pair to those under review."""
    need = h.need
    k = need.info[COUNT]
    need.pair[k], need.verdict[k], need.first[k] = pair, verdict, contact
    need.info[COUNT] = k + 1


@on_demand(INTEGER)
def claim(h, marks, touching):
    """Let the pairs of the marked contacts (c,) that are more than ``touching`` apart be decided on by ``review``.

    Whether they meet is judged on ``work.v_next``, the motion without them.
    """
    if h.need.rule[ON] == 0.0:
        return 0
    claimed = 0
    for i in range(h.contacts.count[0]):
        far = h.contacts.gap[i] > touching and marks[i] != 0
        if far and _is_asked(h, h.contacts.pair[i], i):
            put_pair(h, h.contacts.pair[i], CLAIMED, i)
            claimed += 1
    return claimed


@on_demand(INTEGER)
def _decide(h):
    """``review`` where there is a pair to decide on."""
    need = h.need
    info = need.info
    if info[STARTED] == 0:
        info[STARTED], info[AT] = ASKS, info[COUNT]
        info[LOOKED] = info[WAITS] = info[TOUCHES] = info[ENDS] = 0
        k = _first_new(h, 0) if info[ROUND] <= MOST_ROUNDS else -1
        while k >= 0:
            put_pair(h, h.contacts.pair[k], ASKED_FIRST, k)
            k = _first_new(h, k + 1)
    while True:
        if info[AT] == info[COUNT]:
            if info[STARTED] == MOVES or info[CHANGED] > 0 or not _moves_pairs(need):
                break
            info[STARTED], info[AT] = MOVES, 0
            _end_of_step(h)
        verdict = need.verdict[info[AT]]
        if verdict == ASKED_FIRST or (info[STARTED] == MOVES and (verdict == CLAIMED or verdict == OUT)):
            if info[WAITS] == 0:
                if info[LOOKED] == 0:
                    _first_look(h, info[AT])
                info[WAITS] = ask(h.geoms, need.pair[info[AT]], need.poses)
                if info[WAITS] > 0:
                    return ASK_ON_WAY
            info[WAITS] = 0
            info[LOOKED] += 1
            if not _looked(h, info[AT]):
                continue
        info[AT], info[LOOKED] = info[AT] + 1, 0
    info[STARTED] = 0
    strikes = _choose_first(h)
    if info[CHANGED] == 0:
        return OK
    info[CHANGED] = 0
    status = _exchange(h)
    return IN_PARTS if status == CONTACTS_CHANGED and strikes else status


@kernel
def _moves_pairs(need):
    """Whether any pair is looked at along the motion of the step."""
    for k in range(need.info[COUNT]):
        if need.verdict[k] == OUT or need.verdict[k] == CLAIMED:
            return True
    return False


@kernel
def _end_of_step(h):
    """Poses of the bodies where the step ends with the solved velocities."""
    need, dt = h.need, h.settings[DT]
    mean = need.rule[MEAN]
    for i in range(h.v.shape[0]):
        need.way[i] = dt * (mean * h.v[i] + (1.0 - mean) * h.work.v_next[i]) - h.work.shift[i]
    copy(h.q.shape[0], h.q, need.q)
    integrate_joints(h.tree, need.way, 1.0, need.q)
    body_poses(h.tree, need.q, need.kin)


# --- a pair -------------------------------------------------------------------------------------


@kernel
def _first_look(h, k):
    """Put the shapes of a pair where its first query is: pushed together, or at the start of their motion."""
    need, b = h.need, h.buffers
    pair, poses = need.pair[k], need.poses
    for side in range(2):
        g = h.geoms.pairs[pair, side]
        if need.verdict[k] == ASKED_FIRST:
            put_vector(poses.geom_p, g, vector(b.geom_p, g))
            put_matrix(poses.geom_R, g, matrix(b.geom_R, g))
        else:
            pose_of_shape(h.geoms, need.kin, g, poses)
    if need.verdict[k] == ASKED_FIRST:
        a = h.geoms.pairs[pair, 0]
        put_vector(poses.geom_p, a, vector_sum(vector(poses.geom_p, a), 1.0, _push(h, need.first[k])))
    else:
        set_motion(h.geoms, pair, b.geom_R, b.geom_p, poses, need.motion)
        place_pair(h.geoms, pair, need.motion, 0.0, poses)


@kernel
def pose_of_shape(geoms, kin, g, poses):
    """The pose of shape g that bodies with the poses of ``kin`` give it."""
    k = geoms.body[g]
    put_vector(poses.geom_p, g, body_point(kin.R, kin.p, k, vector(geoms.p, g)))
    if k == WORLD:
        put_matrix(poses.geom_R, g, matrix(geoms.R, g))
    else:
        multiply(kin.R, k, geoms.R, g, poses.geom_R, g)


@kernel
def _way(h, pair):
    """Most by which two shapes can move against each other in the step [m]."""
    return max(relative_way(h.buffers.travel, h.geoms.pairs[pair, 0], h.geoms.pairs[pair, 1]), LEAST_WAY)


@kernel
def _push(h, i):
    """Displacement of A of contact i that pushes the pair together, and aside as it moves [m]."""
    pair = h.contacts.pair[i]
    far = PUSHED * _way(h, pair)
    n = vector(h.contacts.normal, i)
    apart = vector_sum(ZERO, -far - max(h.contacts.gap[i], 0.0), n)
    a, b = h.geoms.pairs[pair, 0], h.geoms.pairs[pair, 1]
    way = vector_sum(vector(h.buffers.travel, a), -1.0, vector(h.buffers.travel, b))
    aside = vector_sum(way, -vector_dot(way, n), n)
    length = math.sqrt(vector_dot(aside, aside))
    return vector_sum(apart, far / length, aside) if length > 1e-3 * far else apart


@kernel
def _sag(h, i):
    """Squares of the ways by which the pair of contact i moves aside in the step and turns [m^2]."""
    a, b = h.geoms.pairs[h.contacts.pair[i], 0], h.geoms.pairs[h.contacts.pair[i], 1]
    n, travel = vector(h.contacts.normal, i), h.buffers.travel
    way = vector_sum(vector(travel, a), -1.0, vector(travel, b))
    aside = vector_sum(way, -vector_dot(way, n), n)
    return vector_dot(aside, aside) + travel[a, 3] * travel[a, 3] + travel[b, 3] * travel[b, 3]


@kernel
def _size(geoms, g):
    """Largest half length of a geometry [m]."""
    return max(geoms.size[g, 0], max(geoms.size[g, 1], geoms.size[g, 2]))


@kernel
def _is_plain(h, i, n, s):
    """Whether the pair of contact i, pushed together, has the normal n and the separation s of one that has to meet."""
    pair = h.contacts.pair[i]
    way, size = _way(h, pair), min(_size(h.geoms, h.geoms.pairs[pair, 0]), _size(h.geoms, h.geoms.pairs[pair, 1]))
    turn = ALIKE + 3.0 * PUSHED * way / size
    mean, dt = h.need.rule[MEAN], h.settings[DT]
    before = normal_velocity(h.geoms, h.contacts, h.kin.p, h.kin.V, i)
    too_far = -dt * (h.sol.q[3 * i] + mean * (before - (h.sol.q[3 * i] - h.rows.offset[3 * i])))  # without impulses
    cosine = vector_dot(n, vector(h.contacts.normal, i))
    return (
        (h.contacts.gap[i] <= TOUCHING or cosine >= FLAT or too_far > CURVED * _sag(h, i) / size)
        and s <= -DEPTH * PUSHED * way
        and cosine >= 1.0 - 0.5 * turn * turn
    )


@kernel
def _looked(h, k):
    """Go on behind an answer; whether pair k is decided on."""
    need = h.need
    pair, verdict = need.pair[k], need.verdict[k]
    n, s = answer(h.geoms, pair, need.poses)
    if verdict == ASKED_FIRST:
        need.verdict[k] = STANDS if _is_plain(h, need.first[k], n, s) else OUT
        need.info[CHANGED] += need.verdict[k] == OUT
        return True
    if need.info[ENDS] != 0:
        need.info[ENDS] = 0
        return _end_together(h, k, verdict, n, s)
    back, time, depth = need.back, need.motion.time, TOUCHING + _sunken(h, pair)
    touches = need.info[TOUCHES] != 0  # and is at the moment before its overlap
    found = look(h.geoms, pair, need.motion, need.poses, n, s, 0.0 if touches else depth)
    if found == GO_ON and need.info[LOOKED] < LOOKS:
        return False
    if touches and found == APART:  # along another direction, that parts no longer when they overlap
        time[0], n, found = back[0], (back[1], back[2], back[3]), MEET
        place_pair(h.geoms, pair, need.motion, time[0], need.poses)
        put_vector(need.poses.witness, 0, n)
        need.poses.witness[0, 3] = -depth
    elif found != APART and not touches and time[0] > 0.0:
        back[0], back[1], back[2], back[3] = time[0], n[0], n[1], n[2]
        if go_back(h.geoms, pair, need.motion, need.poses, n, depth):
            need.info[TOUCHES] = 1
            return False
    need.info[TOUCHES] = 0
    if found == APART:
        a, b = h.geoms.pairs[pair, 0], h.geoms.pairs[pair, 1]
        if separation_along(h.geoms, need.poses, a, b, n) < -CLOSE:
            need.info[ENDS] = 1
            return False
        _leave_out(need, k, verdict)
    elif need.motion.time[0] == 0.0 or (verdict == CLAIMED and _is_same(h, k, n)):
        need.info[CHANGED] += verdict == OUT
        need.verdict[k] = STANDS
    else:
        _meet(h, k)
        need.verdict[k], need.time[k] = MEETS, need.motion.time[0]
        need.far[k] = 1 if _is_far(h, pair, n) else 0
        need.info[CHANGED] += 1
    return True


@kernel
def _leave_out(need, k, verdict):
    """Pair k passes."""
    need.verdict[k] = OUT
    need.info[CHANGED] += verdict == CLAIMED


@kernel
def _end_together(h, k, verdict, n, s):
    """A pair that touches where the step ends, with an overlap of rounding, has the contact of the end; True."""
    need = h.need
    if s >= -CLOSE:
        _leave_out(need, k, verdict)
    else:
        put_vector(need.poses.witness, 0, n)
        need.poses.witness[0, 3] = s
        _meet(h, k)
        need.verdict[k], need.time[k], need.far[k] = MEETS, 1.0, 0
        need.info[CHANGED] += 1
    return True


@kernel
def _is_far(h, pair, n):
    """Whether both shapes go farther than their size until they meet, and along their surfaces."""
    motion = h.need.motion
    way = vector_sum(vector(motion.way, 0), -1.0, vector(motion.way, 1))
    way = vector_sum(ZERO, motion.time[0], way)
    aside = vector_sum(way, -vector_dot(way, n), n)
    size = min(_size(h.geoms, h.geoms.pairs[pair, 0]), _size(h.geoms, h.geoms.pairs[pair, 1]))
    return vector_dot(way, way) > (FAR * size) ** 2 and vector_dot(aside, aside) > (SIDEWAYS * size) ** 2


@kernel
def strikes(h, i):
    """Whether contact i is that of a pair that strikes."""
    return h.need.info[COUNT] > 0 and verdict_on(h.need, h.contacts.pair[i]) == STRIKES


@kernel
def _choose_first(h):
    """Who meets first among pairs that share a tree has its contacts from now on, the others are left out still.

    Returns whether any of them strikes.
    """
    need, strikes = h.need, False
    for k in range(need.info[COUNT]):
        if need.verdict[k] != MEETS:
            continue
        for j in range(need.info[COUNT]):
            meets = need.verdict[j] == MEETS or need.verdict[j] == LATER
            if meets and need.time[j] < need.time[k] - AT_ONCE and _share_tree(h, need.pair[j], need.pair[k]):
                need.verdict[k] = LATER
    for k in range(need.info[COUNT]):
        if need.verdict[k] == MEETS:
            need.verdict[k] = STRIKES if need.far[k] != 0 else MET
            strikes = strikes or need.far[k] != 0
        elif need.verdict[k] == LATER:
            need.verdict[k] = OUT
            _forget(need.met, need.pair[k])
    return strikes


@kernel
def _share_tree(h, pair, other):
    """Whether two pairs have shapes on the same moving tree."""
    for side in range(2):
        for beside in range(2):
            a = h.geoms.body[h.geoms.pairs[pair, side]]
            b = h.geoms.body[h.geoms.pairs[other, beside]]
            if a != WORLD and b != WORLD and h.tree.root[a] == h.tree.root[b]:
                return True
    return False


@kernel
def _forget(met, pair):
    """Take the contacts of a pair out of ``met``."""
    kept = 0
    for i in range(met.count[0]):
        if met.pair[i] != pair:
            _copy_contacts(met, i, i + 1, met, kept)
            kept += 1
    met.count[0] = kept


@kernel
def _is_same(h, k, n):
    """Whether a claimed pair meets along the normal that it has."""
    return vector_dot(n, vector(h.contacts.normal, h.need.first[k])) >= 1.0 - 1e-14


@kernel
def _sunken(h, pair):
    """How deep bodies of a pair are in others, up to SUNKEN: by so much more they may be in each other [m]."""
    a, b = h.geoms.body[h.geoms.pairs[pair, 0]], h.geoms.body[h.geoms.pairs[pair, 1]]
    deepest = 0.0
    for i in range(h.contacts.count[0]):
        if h.contacts.gap[i] < -deepest and h.sol.r[3 * i] > 0.0:
            other = h.contacts.pair[i]
            c, d = h.geoms.body[h.geoms.pairs[other, 0]], h.geoms.body[h.geoms.pairs[other, 1]]
            if (a != WORLD and (a == c or a == d)) or (b != WORLD and (b == c or b == d)):
                deepest = -h.contacts.gap[i]
    return min(deepest, SUNKEN)


@kernel
def _meet(h, k):
    """Contacts of pair k at the moment of meeting, moved back to the start with each body, to ``met``."""
    need, pair, t = h.need, h.need.pair[k], h.need.motion.time[0]
    b, found, met = need.poses, need.found, need.met
    b.reach[0] = h.geoms.margin[0] + relative_way(h.buffers.travel, h.geoms.pairs[pair, 0], h.geoms.pairs[pair, 1])
    build_contacts(
        h.geoms, b.geom_R, b.geom_p, b.travel, b.candidates, 1, b.reach, b.witness, b.work, found
    )
    for i in range(min(found.count[0], met.pair.shape[0] - met.count[0])):
        n, gap, j = vector(found.normal, i), found.gap[i], met.count[0]
        on_a = at_start(need.motion, 0, t, vector_sum(vector(found.point, i), 0.5 * gap, n))
        on_b = at_start(need.motion, 1, t, vector_sum(vector(found.point, i), -0.5 * gap, n))
        apart = vector_sum(on_a, -1.0, on_b)
        met.pair[j], met.feature[j], met.gap[j] = pair, found.feature[i], vector_dot(n, apart)
        put_vector(met.normal, j, n)
        put_vector(met.point, j, vector_sum(on_b, 0.5, apart))
        put_vector(met.spread, j, vector_sum(ZERO, 0.5, apart))
        met.count[0] = j + 1


# --- the contacts of the step -------------------------------------------------------------------


@kernel
def _exchange(h):
    """The contacts of the step as its pairs have been decided on; CONTACTS_CHANGED or TOO_MANY_CONTACTS."""
    need, contacts, work = h.need, h.contacts, h.work
    info = need.info
    if info[ROUND] == 0:
        count = contacts.count[0]
        _copy_contacts(contacts, 0, count, need.before, 0)
        need.before.count[0] = count
        for i in range(count):
            need.shift[i] = work.gap_shift[i]
            for c in range(3):
                need.bias[i, c], need.impulse[i, c] = work.row_bias[i, c], h.sol.r[3 * i + c]
    info[ROUND] += 1
    if info[ROUND] > MOST_ROUNDS:
        for k in range(info[COUNT]):
            if need.verdict[k] == OUT or need.verdict[k] == MET:
                need.verdict[k] = HELD
    body_velocities(h.tree, h.kin, work.shift, need.V)
    _tell(need)
    i, count, status = 0, 0, CONTACTS_CHANGED
    while i < need.before.count[0]:
        end = i + 1
        while end < need.before.count[0] and need.before.pair[end] == need.before.pair[i]:
            end += 1
        verdict = verdict_on(need, need.before.pair[i])
        if verdict == MET or verdict == STRIKES:
            first, last = _met_of(need, need.before.pair[i])
            status = max(status, _append(h, need.met, first, last, count, True))
            count = contacts.count[0]
        elif verdict != OUT:
            status = max(status, _append(h, need.before, i, end, count, False))
            count = contacts.count[0]
        i = end
    contacts.count[0] = count
    return TOO_MANY_CONTACTS if status > CONTACTS_CHANGED else CONTACTS_CHANGED


@kernel
def start_again(h):
    """Warm impulses of a further round: those of the first solution."""
    before, j = h.need.before, 0
    count = before.count[0]
    for i in range(h.contacts.count[0]):
        pair, feature = h.contacts.pair[i], h.contacts.feature[i]
        for k in range(count):
            at = j + k if j + k < count else j + k - count
            if before.pair[at] == pair and before.feature[at] == feature:
                for c in range(3):
                    h.sol.r[3 * i + c] = h.need.impulse[at, c]
                j = at + 1
                break


@kernel
def _tell(need):
    """Count the verdicts for the certificate."""
    fill(3, need.told, 0)
    for k in range(need.info[COUNT]):
        need.told[CAME] += need.verdict[k] == MET or need.verdict[k] == STRIKES
        need.told[PASSED] += need.verdict[k] == OUT
        need.told[FELL_BACK] += need.verdict[k] == HELD


@kernel
def verdict_on(need, pair):
    """The verdict on a pair; STANDS where it is not under review."""
    for k in range(need.info[COUNT]):
        if need.pair[k] == pair:
            return need.verdict[k]
    return STANDS


@kernel
def _met_of(need, pair):
    """First and one past the last of the contacts in ``met`` of a pair."""
    first = 0
    while first < need.met.count[0] and need.met.pair[first] != pair:
        first += 1
    last = first
    while last < need.met.count[0] and need.met.pair[last] == pair:
        last += 1
    return first, last


@kernel
def _append(h, source, first, last, at, is_met):
    """Contacts of a source behind those that the step has already; a status above CONTACTS_CHANGED: no room."""
    if at + last - first > h.contacts.pair.shape[0]:
        return CONTACTS_CHANGED + 1
    need, work = h.need, h.work
    _copy_contacts(source, first, last, h.contacts, at)
    h.contacts.count[0] = at + last - first
    for i in range(first, last):
        j = at + i - first
        work.gap_shift[j] = need.shift[i]
        if is_met:
            work.gap_shift[j] = -normal_velocity(h.geoms, h.contacts, h.kin.p, need.V, j)
        for c in range(3):
            work.row_bias[j, c] = 0.0 if is_met else need.bias[i, c]
    return CONTACTS_CHANGED


@kernel
def _copy_contacts(source, first, last, target, at):
    """Contacts ``first`` to ``last`` of a source to the place ``at`` of the target."""
    for i in range(first, last):
        j = at + i - first
        target.pair[j], target.feature[j], target.gap[j] = source.pair[i], source.feature[i], source.gap[i]
        put_vector(target.point, j, vector(source.point, i))
        put_vector(target.normal, j, vector(source.normal, i))
        put_vector(target.spread, j, vector(source.spread, i))


def make_need(context, poses, contacts, kinematics, motion):
    """Workspace for a context's steps.

    Parameters
    ----------
    context : StepContext
    poses : CollisionBuffers
        With room for one pair.
    contacts : callable
        Makes Contacts for so many points.
    kinematics : Kinematics
    motion : Motion
    """
    capacity = context.capacity
    return allocate(
        Need, c=capacity, n=context.n, N=context.N, nq=len(context.q), rule=context.need_rule, poses=poses,
        found=contacts(MOST_POINTS), met=contacts(capacity), before=contacts(capacity), kin=kinematics,
        motion=motion,
    )  # fmt: skip
