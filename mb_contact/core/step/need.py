# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What is decided about the pairs of a step (``by_need.py``): verdicts, and the workspace that they stand in."""

import math
from typing import Annotated, NamedTuple

from mb_contact.core.arrays import fill
from mb_contact.core.constraints.contact import normal_velocity
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.handle import UNIT_SPEED
from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.spatial import (
    ZERO,
    put_vector,
)
from mb_contact.core.tree_workspace import Kinematics
from mb_contact.types import RIGID, SHAPE_PLANE, Contacts

#: verdicts on a pair; ASKED_FIRST and CLAIMED are not decided on yet, MEETS and LATER who is first; NO_SHAPES: its
#: contact is one of contact coordinates; JOINED: those of features that meet later stand beside its own; OPEN_STILL:
#: who might have grazed, and does not
STANDS, ASKED_FIRST, CLAIMED, OUT, MEETS, LATER, MET, STRIKES, HELD, NO_SHAPES, JOINED, OPEN_STILL = range(12)
NONE, OF_START, OF_MEETING = range(3)  #: of Need.part
ASKS, MOVES = 1, 2  #: of Need.info[STARTED]: pairs that are new are pushed together, others are moved
#: of Need.rule: 1 where pairs are questioned, weight of the step's first velocity in its motion, 1 where features of
#: some pairs are looked for where the step ends
ON, MEAN, LOOKS_BACK = range(3)
#: of Need.info
COUNT, AT, STARTED, WAITS, LOOKED, TOUCHES, MASKED, ROUND, TRIED, ASKED, CORRECTED, SOLVER, BACK, SPENT = range(14)
CAME, PASSED, FELL_BACK = range(3)  #: of Need.told
IMPULSES, VELOCITIES, RAY, PUSH_OUT, OFFSETS = range(5)  #: of Need.kept
LEFT_OUT = -1  #: status: the problem is solved without the pairs that are left out, which goes on to be decided on

TOUCHING = 5e-8  #: overlap up to which shapes that end so only touch: faces that are flush [m],
SUNKEN = 1e-6  #: and most by which it is raised where a body is in others already [m]
SLOW = 0.01  #: approach to a half-space up to which flows land by its row [m/s]
OPEN = 10.0  #: velocity that keeps a contact open which is left out, in parts of the largest, or of the unit
MOST_POINTS = 8  #: of a pair
MOST_OF_MESHES = 512  #: of a pair with a mesh
MOST_ROUNDS = 8  #: of solutions with other contacts in one step
AT_ONCE = 1e-6  #: part of a step within which meetings are at once
PUSHED = 3.0  #: ways of the step by which a pair is pushed together on trial
SURPASSED = 1e-5  #: part of that push by which another direction is plainly less deep
DEPTH = 0.7  #: part of that push which has to be left of the depth
FLAT = 1.0 - 1e-10  #: cosine of the angle that the normal may turn by then: it is that of a face
LEAST_WAY = 1e-6  #: of a pair in a step, for that [m]
FAR = 1.0  #: way before two shapes meet, in sizes of the smaller one, from which they strike in the midst of the step,
SIDEWAYS = 1e-3  #: and the part of it along the surfaces
MOMENT = 1e-3  #: part of a step in which it is looked how fast a pair goes apart where the step ends,
CLOSES = 0.98  #: and part of what closes its gap that it has to approach by under flows, whose ends stop what is there
SAME = 1.0 - 1e-14  #: cosine of a normal at the start and at the moment of meeting that are one


class Need(NamedTuple):
    """What is decided about the pairs of a step; n bodies, N velocities, c contacts."""

    rule: Annotated[Reals, 3]
    info: Annotated[Integers, 14]
    told: Annotated[Integers, 3]  #: pairs with contacts of the moment of meeting, that pass, that fell back
    pair: Annotated[Integers, "c"]
    verdict: Annotated[Integers, "c"]
    first: Annotated[Integers, "c"]  #: a loaded contact of the pair when it was questioned
    time: Annotated[Reals, "c"]  #: when it meets, of the step's length, -1 where nothing said so,
    kind: Annotated[Integers, "c"]  #: and the verdict if it is the first: STANDS, MET or STRIKES
    part: Annotated[Integers, "c"]  #: of its contacts in the last solution: none, those of the start, of the meeting
    motion: object  #: collision.workspace.Motion
    back: Annotated[Reals, 4]  #: moment and normal with which a pair overlaps
    poses: object  #: CollisionBuffers with room for one pair
    #: smallest gap of pairs with meshes where the step ends [m], and the pair; that of what has just been found to meet
    mesh_end: Annotated[Reals, 3]
    found: Contacts  #: of one pair
    met: Contacts  #: of the moments of meeting
    before: Contacts  #: of the step's start
    impulse: Annotated[Reals, "c", 3]  #: their impulses in the first solution
    last: Contacts  #: of the last solution,
    last_impulse: Annotated[Reals, "c", 3]  #: its impulses,
    bias: Annotated[Reals, "c", 3]  #: and their ``work.row_bias``
    kin: Kinematics  #: bodies where the step ends
    q: Annotated[Reals, "nq"]
    way: Annotated[Reals, "N"]
    V: Annotated[Reals, "n", 6]
    #: by how much the rows of contacts are to end farther apart [m] (``position_correction.py``)
    asked: Annotated[Reals, "c"]
    rolls: Annotated[Integers, "c"]  #: 1 where that is asked of their velocities, 2 where it has been
    ahead: Annotated[Reals, "N"]  #: by which positions end ahead of the velocities' way [rad, m],
    kept: Annotated[Reals, 5, "R"]  #: and the rows of the step's own problem and solution,
    speed: Annotated[Reals, "N"]  #: with its ``work.speed``


@kernel
def begin_review(h):
    """Nothing is decided about the contacts of a new step.  Reads: nothing.  Writes: need, work."""
    fill(14, h.need.info, 0)
    fill(3, h.need.told, 0)
    h.need.met.count[0] = 0
    h.need.mesh_end[0] = math.inf
    fill(h.work.gap_shift.shape[0], h.work.gap_shift, 0.0)
    fill(h.need.ahead.shape[0], h.need.ahead, 0.0)


@kernel
def put_pair(h, pair, verdict, contact):
    """Add a pair to those under review.  Reads: need.  Writes: need."""
    need = h.need
    k = need.info[COUNT]
    need.pair[k], need.verdict[k], need.first[k], need.part[k] = pair, verdict, contact, OF_START
    need.time[k] = -1.0
    need.info[COUNT] = k + 1


@kernel
def drop_pair(need, k):
    """Take pair k off the list, to be questioned again where a later solution holds it; the last takes its place."""
    last = need.info[COUNT] - 1
    need.pair[k], need.verdict[k], need.first[k] = need.pair[last], need.verdict[last], need.first[last]
    need.part[k], need.time[k], need.kind[k] = need.part[last], need.time[last], need.kind[last]
    need.info[COUNT] = last


@kernel
def verdict_on(need, pair):
    """The verdict on a pair; STANDS where it is not under review."""
    for k in range(need.info[COUNT]):
        if need.pair[k] == pair:
            return need.verdict[k]
    return STANDS


@kernel
def is_asked(h, pair, i):
    """Whether the pair of contact i is questioned: not loaded in the last step, and not decided on in this one.

    Soft pairs keep the rows of the start.
    A half-space has one normal; its row asks too much only of a path that does not end with its last velocity.
    """
    a, b = h.geoms.pairs[pair, 0], h.geoms.pairs[pair, 1]
    kind = max(h.geoms.kind[a], h.geoms.kind[b])
    if kind > SHAPE_PLANE or is_soft(h.geoms, pair):
        return False
    slow = -SLOW * h.settings[UNIT_SPEED]
    if kind == SHAPE_PLANE and (
        h.need.rule[MEAN] == 0.0 or normal_velocity(h.geoms, h.contacts, h.kin.p, h.kin.V, i) >= slow
    ):
        return False
    for k in range(h.need.info[COUNT]):
        if h.need.pair[k] == pair:
            return False
    return not was_loaded(h, pair)


@kernel
def is_known(h, pair):
    """Whether the last step's problem had a contact of the pair.  Reads: memory.  Writes: nothing."""
    for j in range(h.memory.count[0]):
        if h.memory.pair[j] == pair:
            return True
    return False


@kernel
def was_loaded(h, pair):
    """Whether a contact of the pair pressed in the last step.  Reads: memory.  Writes: nothing."""
    for j in range(h.memory.count[0]):
        if h.memory.pair[j] == pair and h.memory.impulse[j, 0] > 0.0:
            return True
    return False


@kernel
def part_of(verdict):
    """Which contacts of a pair are in the step's problem."""
    if verdict == OUT:
        return NONE
    return OF_MEETING if verdict == MET or verdict == STRIKES or verdict == JOINED else OF_START


@kernel
def strikes(h, i):
    """Whether contact i is that of a pair that strikes."""
    return h.need.info[COUNT] > 0 and verdict_on(h.need, h.contacts.pair[i]) == STRIKES


@sweep
def is_soft(geoms, pair):
    """Whether the materials of a pair give way."""
    return geoms.soft.law.shape[0] > 0 and geoms.soft.law[pair] != RIGID


@kernel
def join(h, pair):
    """The pair has contacts of a later moment beside those of its start.  Reads: need.  Writes: need."""
    need = h.need
    for k in range(need.info[COUNT]):
        if need.pair[k] == pair:
            if need.verdict[k] != MET:
                need.verdict[k] = JOINED
            return
    put_pair(h, pair, JOINED, 0)
    need.kind[need.info[COUNT] - 1], need.time[need.info[COUNT] - 1] = STANDS, need.motion.time[0]


@kernel
def put_met(met, pair, feature, gap, normal, point):
    """Add a contact of a moment of meeting to ``met``, which has room for it; returns its place."""
    j = met.count[0]
    met.pair[j], met.feature[j], met.gap[j] = pair, feature, gap
    put_vector(met.normal, j, normal)
    put_vector(met.point, j, point)
    put_vector(met.spread, j, ZERO)
    met.count[0] = j + 1
    return j


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
    most = MOST_OF_MESHES if context.world.geoms.mesh.sided.any() else MOST_POINTS
    return allocate(
        Need, R=len(context.solution.r), c=capacity, n=context.n, N=context.N, nq=len(context.q),
        rule=context.need_rule, poses=poses, found=contacts(most), met=contacts(capacity), before=contacts(capacity),
        last=contacts(capacity),
        kin=kinematics, motion=motion,
    )  # fmt: skip
