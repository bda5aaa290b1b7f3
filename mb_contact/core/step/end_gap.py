# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Where a step has ended, on the shapes themselves: the smallest distance of all pairs that were near in it.

Two convex shapes are at least as far apart as any direction separates them.  The normal of the step's contact is such a
direction, and at the new poses its separation has a closed form; where it says that they overlap, and of pairs that
were left out of the step, that of the narrow phase counts too.  What an engine in Python would have to be asked for
stays that bound.  Of contacts that hardly move their rows tell the end.
"""

import math

from mb_contact.core.collision.geometry import pose_of_shape
from mb_contact.core.collision.meeting import answer, ask, separation_along
from mb_contact.core.handle import DT, UNIT_LENGTH
from mb_contact.core.jit import NOTHING, kernel, on_demand
from mb_contact.core.step.need import CORRECTED, COUNT, LOOKS_BACK, MEAN, NO_SHAPES, ON, OUT, is_soft, verdict_on
from mb_contact.core.step.pair_motion import find_contacts, put_start, second_order
from mb_contact.core.tree.spatial import vector
from mb_contact.core.workspace import DEEPEST_PAIR, END_GAP, PAIRS_HELD, PAIRS_MET, PAIRS_PASSED
from mb_contact.types import SHAPE_PLANE

ROUNDED = 1e-9  #: overlap up to which nothing is named [m]
SMALL_MOTION = 1e-6  #: relative motion in a step up to which its second order is below rounding [m]


@kernel
def measure_end(h):
    """The numbers of the step that ``by_need.py`` and the new poses tell, into ``work.record``.

    Reads: buffers, contacts, geoms, kin, need, rows, settings, sol, work.  Writes: need, work.
    """
    out, need, contacts = h.work.record, h.need, h.contacts
    out[PAIRS_MET], out[PAIRS_PASSED], out[PAIRS_HELD] = need.told[0], need.told[1], need.told[2]
    out[END_GAP], out[DEEPEST_PAIR] = math.inf, -1.0
    i = 0
    while i < contacts.count[0]:
        end = i + 1
        while end < contacts.count[0] and contacts.pair[end] == contacts.pair[i]:
            end += 1
        shapes = need.info[COUNT] == 0 or verdict_on(need, contacts.pair[i]) != NO_SHAPES
        if shapes and not is_soft(h.geoms, contacts.pair[i]):  # whose compression is none of its faults
            still, least = _hardly_moves(h, i, end)
            if still:
                out[END_GAP] = min(out[END_GAP], least)
            else:
                _measure_pair(h, contacts.pair[i], i)
        i = end
    if _has_looked(need) and need.mesh_end[0] < out[END_GAP]:
        _note(h, int(need.mesh_end[1]), need.mesh_end[0])
    for k in range(need.info[COUNT]):
        if need.verdict[k] == OUT:
            _ask_pair(h, need.pair[k], -math.inf)


@kernel
def _hardly_moves(h, first, last):
    """(Whether a pair's contacts have moved so little that their rows tell the end, the least gap they tell [m])."""
    dt, unit, least = h.settings[DT], h.settings[UNIT_LENGTH], math.inf
    rows_tell = h.need.rule[MEAN] == 0.0 and h.sol.solved[0] != 0 and h.need.info[CORRECTED] == 0
    if not rows_tell or second_order(h, h.contacts.pair[first]) > ROUNDED * unit:
        return False, least
    for i in range(first, last):
        change = dt * (h.sol.u[3 * i] - h.rows.offset[3 * i])
        moved = max(abs(change), dt * max(abs(h.sol.u[3 * i + 1]), abs(h.sol.u[3 * i + 2])))
        if moved > SMALL_MOTION * unit or h.contacts.gap[i] + change < -ROUNDED * unit:
            return False, least
        least = min(least, h.contacts.gap[i] + change)
    return True, least


@kernel
def _measure_pair(h, pair, i):
    """The separation of a pair along the normal of its contact i, the first one."""
    geoms, b = h.geoms, h.buffers
    x, y = geoms.pairs[pair, 0], geoms.pairs[pair, 1]
    if b.resting[x] + b.resting[y] == 2:
        return
    _place(h, pair)
    if max(geoms.kind[x], geoms.kind[y]) > SHAPE_PLANE:
        if not _has_looked(h.need):
            _measure_triangles(h, pair)
        return
    s = separation_along(geoms, h.need.poses, x, y, vector(h.contacts.normal, i))
    if s >= -ROUNDED * h.settings[UNIT_LENGTH]:
        h.work.record[END_GAP] = min(h.work.record[END_GAP], s)
    elif s < h.work.record[END_GAP]:  # otherwise another pair is nearer, or deeper, whatever the narrow phase says
        _ask_pair(h, pair, s)


@kernel
def _has_looked(need):
    """Whether ``feature_meeting.py`` has seen the end of the step; that of a flow is known behind it alone."""
    return need.rule[LOOKS_BACK] != 0.0 and need.rule[ON] != 0.0 and need.rule[MEAN] == 0.0


@on_demand(NOTHING)
def _measure_triangles(h, pair):
    """The smallest gap of the features of a pair with a mesh or a height field, which is placed."""
    found, out = h.need.found, h.work.record
    h.need.poses.work.mesh.limit[0] = h.need.poses.work.mesh.limit[1] = h.geoms.margin[0]
    put_start(h, pair, h.need.poses.geom_R, h.need.poses.geom_p)
    find_contacts(h, pair, h.geoms.margin[0], 1)
    for i in range(found.count[0]):
        if found.gap[i] < out[END_GAP]:
            _note(h, pair, found.gap[i])


@kernel
def _place(h, pair):
    """Both shapes of a pair where they are now."""
    poses = h.need.poses
    for side in range(2):
        pose_of_shape(h.geoms, h.kin.R, h.kin.p, h.geoms.pairs[pair, side], poses.geom_R, poses.geom_p)


@on_demand(NOTHING)
def _ask_pair(h, pair, bound):
    """The distance of a pair that the narrow phase tells; the bound where it would have to ask Python."""
    geoms, out = h.geoms, h.work.record
    _place(h, pair)
    s, poses = bound, h.need.poses
    x, y = geoms.pairs[pair, 0], geoms.pairs[pair, 1]
    if max(geoms.kind[x], geoms.kind[y]) < SHAPE_PLANE and ask(geoms, pair, poses) == 0:
        s = max(s, answer(geoms, pair, poses)[1])
    elif max(geoms.kind[x], geoms.kind[y]) < SHAPE_PLANE:
        if s > -math.inf:
            out[END_GAP] = min(out[END_GAP], s)
        return
    if -math.inf < s < out[END_GAP]:
        _note(h, pair, s)


@kernel
def _note(h, pair, gap):
    """Keep the smallest gap of all pairs, and which pair has it where it is deeper than its second order."""
    beyond = gap < -ROUNDED * h.settings[UNIT_LENGTH] - second_order(h, pair)
    h.work.record[END_GAP], h.work.record[DEEPEST_PAIR] = gap, pair if beyond else -1
