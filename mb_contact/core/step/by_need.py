# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts with a gap come in by need: what is not touched is not hit.

The row n.v+ + g/dt >= 0 of a contact with a gap, with the normal n of the step's start, keeps two convex bodies apart;
but they are apart if any direction separates them at the end, and a body that passes another, or slides from one slab
to a flush one, ends apart along another direction than the one it began with.  So a pair that was not loaded before,
and is with the solution, is questioned:

    1. Where n is the normal of a face, and pushing the pair further together along n, and aside with its motion, by
       several times its way in the step leaves n the direction of least depth, it meets along n whatever the others do:
       its rows stand (``is_plain``).
    2. Otherwise the problem is solved without it, as it is at first without those that passed in the last step
       (``passing.py``), and both shapes are moved along that motion (``meeting.py``).  Who passes is left alone.  Who
       meets gets the contacts of the moment of meeting: their normal, the middle of both bodies' points, and as gap
       the separation along that normal at the start.
    3. Of pairs of one tree the first one that meets comes in, for it may keep the others apart.  Solved with these,
       whoever was left out is looked at again.  After MOST_ROUNDS the rows of the start come back.
    4. Who meets after a way that is longer than itself and leads along the surfaces strikes: where the step ends the
       contact would be another one, so it is an impact at the moment of meeting, with or without restitution, and acts
       on each body at its own point.

Patches of a height field have a rule of their own: their rows always stand.  So have meshes, and hulls on half-spaces
(``feature_meeting.py``).
"""

from mb_contact.core.collision.meeting import (
    APART,
    GO_ON,
    LOOKS,
    MEET,
    answer,
    ask,
    go_back,
    look,
    place_pair,
)
from mb_contact.core.collision.shapes import has_faces
from mb_contact.core.handle import DT, UNIT_LENGTH
from mb_contact.core.jit import INTEGER, kernel, on_demand
from mb_contact.core.solve.friction import COULOMB, MODEL
from mb_contact.core.step.exchange import exchange, forget, leave_out
from mb_contact.core.step.feature_meeting import review_features
from mb_contact.core.step.need import (
    ASKED_FIRST,
    ASKS,
    AT,
    AT_ONCE,
    CLAIMED,
    COUNT,
    LATER,
    LEFT_OUT,
    LOOKED,
    LOOKS_BACK,
    MASKED,
    MEAN,
    MEETS,
    MET,
    MOST_ROUNDS,
    MOVES,
    NONE,
    ON,
    OPEN_STILL,
    OUT,
    ROUND,
    SAME,
    STANDS,
    STARTED,
    STRIKES,
    TOUCHES,
    TOUCHING,
    TRIED,
    WAITS,
    drop_pair,
    is_asked,
    part_of,
    put_pair,
)
from mb_contact.core.step.pair_motion import (
    end_of_step,
    first_look,
    is_far,
    is_plain,
    is_surpassed,
    meet,
    second_order,
    sunken,
)
from mb_contact.core.step.passing import take_back
from mb_contact.core.tree.spatial import (
    put_vector,
    vector,
    vector_dot,
)
from mb_contact.types import (
    ASK_ON_WAY,
    CONTACTS_CHANGED,
    IN_PARTS,
    OK,
    SHAPE_PLANE,
    WORLD,
)


@kernel
def review(h):
    """OK where all contacts of the solved problem are needed; otherwise it has others, or an engine has to be asked.

    Reads: art, bil, buffers, compliance, contacts, forest, frames, friction, geoms, hinges, joints, kin, memory, need,
    q, rows, settings, sleep, sol, solver, system, tree, v, work.
    Writes: art, bil, compliance, contacts, forest, hinges, need, rows, sol, system, work.

    Returns
    -------
    int
        OK, CONTACTS_CHANGED, ASK_ON_WAY (call again behind the answer), IN_PARTS (a pair strikes), TOO_MANY_CONTACTS.
    """
    need = h.need
    if need.rule[ON] == 0.0:
        return OK
    status = OK
    if (
        need.info[STARTED] != 0 or need.info[COUNT] > 0 or _first_new(h, 0, False) >= 0 or _first_new(h, 0, True) >= 0
    ):  # fmt: skip
        status = LEFT_OUT
        while status == LEFT_OUT:
            status = _decide(h)
    return review_features(h) if status == OK and need.rule[LOOKS_BACK] != 0.0 else status


@kernel
def _first_new(h, i, grazes):
    """The first contact from i on that is loaded, or that ``grazes``, and whose pair was not loaded before and is not
    decided on; or -1."""
    contacts, memory = h.contacts, h.memory
    for k in range(i, contacts.count[0]):
        if (not _may_graze(h, k)) if grazes else (not _acts(h.sol.r, k)):
            continue
        j = h.frames.known[k]
        if j >= 0 and memory.impulse[j, 0] > 0.0:
            continue
        if is_asked(h, contacts.pair[k], k):
            return k
    return -1


@kernel
def _acts(r, k):
    """Whether contact k has an impulse: a normal one, or of viscous or no-slip friction, which act at a gap."""
    return r[3 * k] > 0.0 or r[3 * k + 1] != 0.0 or r[3 * k + 2] != 0.0


@kernel
def _may_graze(h, k):
    """Whether a contact that its row leaves open may meet within the step for what turning adds to its way."""
    gap, dt = h.contacts.gap[k], h.settings[DT]
    if h.need.rule[MEAN] != 0.0 or h.need.info[MASKED] != 0 or gap <= TOUCHING * h.settings[UNIT_LENGTH]:
        return False
    end = gap + dt * (h.sol.u[3 * k] - h.rows.offset[3 * k])
    return min(gap, end) <= second_order(h, h.contacts.pair[k])


@kernel
def _first_verdict(h, pair):
    """Of a pair that is new: where neither shape has faces its normal is that of none.

    Other friction than Coulomb's acts at a gap, and presses who passes against it: its pairs are always left out first.
    """
    geoms = h.geoms
    a, b = geoms.pairs[pair, 0], geoms.pairs[pair, 1]
    if max(geoms.kind[a], geoms.kind[b]) >= SHAPE_PLANE:
        return ASKED_FIRST
    faces = has_faces(geoms, a) or has_faces(geoms, b)
    return ASKED_FIRST if faces and h.friction.model[MODEL] == COULOMB else OUT


@on_demand(INTEGER)
def claim(h, marks, touching):
    """Let the pairs of the marked contacts (c,) that are more than ``touching`` apart be decided on by ``review``.

    Whether they meet is judged on ``work.v_next``, the motion without them.

    Reads: contacts, geoms, kin, memory, need, settings.  Writes: need.
    """
    if h.need.rule[ON] == 0.0:
        return 0
    claimed = 0
    for i in range(h.contacts.count[0]):
        far = h.contacts.gap[i] > touching and marks[i] != 0
        if far and is_asked(h, h.contacts.pair[i], i):
            put_pair(h, h.contacts.pair[i], CLAIMED, i)
            claimed += 1
    return claimed


@on_demand(INTEGER)
def _decide(h):
    """``review`` where there is a pair to decide on."""
    need = h.need
    info = need.info
    if info[STARTED] == 0:
        at_first = info[ROUND] == 0 and info[TRIED] != 0
        if at_first:
            take_back(h)
        info[STARTED], info[AT] = ASKS, info[COUNT]
        for k in range(info[COUNT]):
            if at_first and need.verdict[k] == OUT:
                need.verdict[k], info[AT] = _first_verdict(h, need.pair[k]), 0
        info[LOOKED] = info[WAITS] = info[TOUCHES] = 0
        k = _first_new(h, 0, False) if info[ROUND] <= MOST_ROUNDS else -1
        while k >= 0:
            put_pair(h, h.contacts.pair[k], _first_verdict(h, h.contacts.pair[k]), k)
            k = _first_new(h, k + 1, False)
        if info[AT] == info[COUNT] and info[TRIED] == 0 and info[ROUND] <= MOST_ROUNDS and not _changes(need):
            k = _first_new(h, 0, True)  # who is open in a solution that would stand
            while k >= 0:
                put_pair(h, h.contacts.pair[k], CLAIMED, k)
                k = _first_new(h, k + 1, True)
    while True:
        if info[AT] == info[COUNT]:
            if info[STARTED] == MOVES or _changes(need) or not _moves_pairs(need):
                break
            info[STARTED], info[AT] = MOVES, 0
            end_of_step(h)
        verdict = need.verdict[info[AT]]
        if verdict == ASKED_FIRST or (info[STARTED] == MOVES and (verdict == CLAIMED or verdict == OUT)):
            if info[WAITS] == 0:
                if info[LOOKED] == 0:
                    first_look(h, info[AT])
                info[WAITS] = ask(h.geoms, need.pair[info[AT]], need.poses)
                if info[WAITS] > 0:
                    return ASK_ON_WAY
            info[WAITS] = 0
            info[LOOKED] += 1
            if not _looked(h, info[AT]):
                continue
        info[LOOKED] = 0
        if need.verdict[info[AT]] == OPEN_STILL:
            drop_pair(need, info[AT])
        else:
            info[AT] += 1
    info[STARTED] = 0
    strikes = _choose_first(h)
    if not _changes(need) and info[TRIED] == 0:
        return OK
    if leave_out(h):
        return LEFT_OUT
    status = exchange(h)
    return IN_PARTS if status == CONTACTS_CHANGED and strikes else status


@kernel
def _changes(need):
    """Whether the verdicts ask for other contacts than those of the last solution."""
    for k in range(need.info[COUNT]):
        if need.part[k] != part_of(need.verdict[k]):
            return True
    return False


@kernel
def _moves_pairs(need):
    """Whether any pair is looked at along the motion of the step."""
    for k in range(need.info[COUNT]):
        if need.verdict[k] == OUT or need.verdict[k] == CLAIMED:
            return True
    return False


@kernel
def _looked(h, k):
    """Go on behind an answer; whether pair k is decided on."""
    need = h.need
    pair, verdict = need.pair[k], need.verdict[k]
    if verdict == ASKED_FIRST and is_surpassed(h, need.first[k]):
        need.verdict[k] = OUT
        return True
    n, s = answer(h.geoms, pair, need.poses)
    if verdict == ASKED_FIRST:
        need.verdict[k] = STANDS if is_plain(h, need.first[k], n, s) else OUT
        return True
    back, time, depth = need.back, need.motion.time, TOUCHING * h.settings[UNIT_LENGTH] + sunken(h, pair)
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
        need.verdict[k] = OUT if verdict == OUT or need.info[MASKED] != 0 else OPEN_STILL
    elif time[0] == 0.0:
        need.verdict[k] = STANDS
    else:
        same = verdict == CLAIMED and vector_dot(n, vector(h.contacts.normal, need.first[k])) >= SAME
        need.verdict[k], need.time[k], need.kind[k] = MEETS, time[0], STANDS
        if not same:
            need.kind[k] = STRIKES if is_far(h, pair, n) else MET
            meet(h, k)
    return True


@kernel
def _choose_first(h):
    """Who meets first among pairs that share a tree has its contacts from now on, the others are left out still.

    A motion for which what collides is masked leads through it, so there who has met already counts too.  Returns
    whether any of them strikes.
    """
    need, strikes = h.need, False
    for k in range(need.info[COUNT]):
        if need.verdict[k] != MEETS:
            continue
        for j in range(need.info[COUNT]):
            meets = need.verdict[j] == MEETS or need.verdict[j] == LATER
            meets = meets or (need.info[MASKED] != 0 and need.part[j] != NONE and need.time[j] >= 0.0)
            if meets and need.time[j] < need.time[k] - AT_ONCE and _share_tree(h, need.pair[j], need.pair[k]):
                need.verdict[k] = LATER
    for k in range(need.info[COUNT]):
        if need.verdict[k] == MEETS:
            need.verdict[k] = need.kind[k]
            strikes = strikes or need.kind[k] == STRIKES
        elif need.verdict[k] == LATER:
            need.verdict[k] = OUT
            forget(need.met, need.pair[k])
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
