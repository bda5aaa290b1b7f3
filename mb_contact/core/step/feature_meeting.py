# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which features of a pair with a triangle mesh meet in the step (``by_need.py``): found where the step ends.

A mesh is not convex, so that no single direction tells that a pair is apart.  Its rows at the start of the step are
those of features that touch, and of points over planes.  Along the solved motion both shapes are moved to the end of
the step, and where features overlap there that did not at the start, back to when they touched: their contacts of that
moment come in, moved back with each body, and the problem is solved again.  A row says where its points go in a
straight line; where features that touched end deeper than BENDS, for what turning adds to that, the positions are
corrected (``position_correction.py``).

Features of convex shapes come in likewise (``corner_meeting.py``).
"""

import math

from mb_contact.core.collision.closed_forms import NEAR
from mb_contact.core.collision.height_grid import KINDS, OF_SHAPE
from mb_contact.core.collision.manifolds import y_comes_first
from mb_contact.core.collision.meeting import at_start, place_pair, way_of_centre
from mb_contact.core.collision.mesh_tree import ASIDE, DEEPEST, SHALLOW, SHEET, TOUCHES, is_sharp, least_width
from mb_contact.core.collision.mesh_walls import PEAK_OF_X, PEAK_OF_Y, is_walled
from mb_contact.core.collision.point_distance import point_gap
from mb_contact.core.collision.shapes import into_body, place
from mb_contact.core.constraints.contact import find_contact
from mb_contact.core.jit import INTEGER, kernel, on_demand
from mb_contact.core.step.corner_meeting import may_turn_in, turns_in
from mb_contact.core.step.exchange import exchange
from mb_contact.core.step.need import ASKED, CORRECTED, MASKED, MEAN, MOST_ROUNDS, ROUND, is_soft, join, put_met
from mb_contact.core.step.pair_motion import (
    end_of_step,
    find_contacts,
    find_motion,
    place_at_end,
    put_start,
    taken_back,
)
from mb_contact.core.step.position_correction import (
    MOST_CORRECTIONS,
    ask_for,
    ask_for_nothing,
    correct_positions,
    deepest_before,
    has_asked,
)
from mb_contact.core.tree.spatial import ZERO, vector, vector_dot, vector_sum
from mb_contact.types import OK, SHAPE_HEIGHT_FIELD, SHAPE_PLANE

OVERLAPS = 2e-9  #: depth from which features that did not touch are in each other [m]
CLOSE = 1e-8  #: and depth up to which the moment at which they touched is found [m],
AIM = 6e-9  #: and at which it is looked for [m]
BENDS = 5e-9  #: depth from which positions of features that touched are corrected [m]
STILL = 1e-10  #: motion against each other of a pair that ends as it began [m]
FINER = 4  #: times more looks where something may have come through a wall
SAMPLES = 400  #: most looks on the way of a fast body: 0.1 m past a wall of 1 mm
LOOKS_OF_SHARP = 16  #: most looks for the sake of sharp edges, near which a shape is thinner than its way: one
NARROW = 0.02  #: for this part of the smallest half width
STEPS = 16  #: most looks for it,
AT_ONCE = 4.0  #: times that it would have to go faster than it did, from which it did not come on this way,
ON_FROM = 0.01  #: and part of what is left by which the first one that came short goes on


@on_demand(INTEGER)
def review_features(h):
    """OK where the solved step brings no further features into each other; or as ``exchange``.

    Reads: art, bil, buffers, compliance, contacts, forest, geoms, hinges, joints, kin, memory, need, q, rows, settings,
    sleep, sol, solver, system, tree, v, work.
    Writes: art, bil, compliance, contacts, forest, hinges, need, rows, sol, system, work.
    """
    need = h.need
    ask_for_nothing(h)
    if _look_at_ends(h, need.info[ROUND] <= MOST_ROUNDS):
        return exchange(h)
    while need.info[ASKED] != 0 and need.info[CORRECTED] < MOST_CORRECTIONS:
        correct_positions(h)
        _look_at_ends(h, False)
    return OK


@kernel
def _look_at_ends(h, may_come):
    """Whether features come in where the step ends; also asks contacts that end deep for more.

    Once positions have been corrected, only pairs that asked for it, and meshes, are looked at.
    """
    need, b, pairs = h.need, h.buffers, h.geoms.pairs
    changed, ended = False, False
    need.mesh_end[0], need.mesh_end[1] = math.inf, -1.0
    for i in range(b.found[NEAR]):
        row = b.candidates[i]
        x, y = pairs[row, 0], pairs[row, 1]
        has_triangles = max(h.geoms.kind[x], h.geoms.kind[y]) >= SHAPE_HEIGHT_FIELD
        asked = has_triangles or (need.info[ROUND] <= MOST_ROUNDS and may_turn_in(h, row))
        if not asked or b.resting[x] + b.resting[y] == 2 or is_soft(h.geoms, row):
            continue
        if need.info[CORRECTED] > 0 and not (has_triangles or has_asked(h, row)):
            continue
        if not ended:
            end_of_step(h)
            ended = True
        place_at_end(h, row)
        comes, met = False, need.met.count[0]
        if not has_triangles:
            comes = turns_in(h, row) and may_come
            need.met.count[0] = need.met.count[0] if may_come else met
        elif _meets(h, row):
            comes = may_come and _comes_in(h, row)
            if not comes:
                _note_end(need, row, need.mesh_end[2])
        elif need.rule[MEAN] == 0.0 and need.info[MASKED] == 0:
            _look_deeper(h, row)
        if comes:
            join(h, row)
            changed = True
    return changed


@kernel
def _meets(h, pair):
    """Whether new features of a pair overlap on its way; then it is placed where they touch, ``need.found`` there."""
    find_motion(h, pair)
    need, geoms, motion = h.need, h.geoms, h.need.motion
    x, y = geoms.pairs[pair, 0], geoms.pairs[pair, 1]
    far = _way_of_points(h, pair)
    if far <= STILL * geoms.unit[0]:
        for i in range(h.contacts.count[0]):
            if h.contacts.pair[i] == pair:
                _note_end(need, pair, h.contacts.gap[i])
        need.found.count[0] = 0
        return False
    deep, mesh = max(-deepest_before(h, pair), 0.0), need.poses.work.mesh
    reach, mesh.limit[1] = ASIDE * far + deep, deep + 2.0 * SHALLOW * geoms.unit[0]
    put_start(h, pair, h.buffers.geom_R, h.buffers.geom_p)
    width = min(least_width(geoms, x), least_width(geoms, y))
    looks = 1 + min(int(far / (DEEPEST * width)), SAMPLES - 1)
    if is_sharp(geoms, x) or is_sharp(geoms, y):
        looks = max(looks, min(1 + int(far / (NARROW * width)), LOOKS_OF_SHARP))
    for times in (1, FINER):  # again where something may have come through a wall, which is thinner than the shapes
        mesh.walled[0] = 0
        for k in range(1, times * looks + 1):
            t = k / (times * looks)
            worst = _look(h, pair, t, reach)
            if k == times * looks:
                _note_ends(h, pair)
            if worst >= 0:
                need.mesh_end[2] = need.found.gap[worst]
                if geoms.kind[x] == SHAPE_PLANE or geoms.kind[y] == SHAPE_PLANE:
                    motion.time[0] = t  # one normal, and points of the body: they are the same all the way
                else:
                    _go_back(h, pair, t, worst, reach)
                return True
        if mesh.walled[0] == 0:
            break
    return False


@kernel
def _note_ends(h, pair):
    """Keep the smallest gap of the features of a pair where the step ends that are known, or not in each other."""
    found = h.need.found
    for i in range(found.count[0]):
        known = find_contact(h.contacts, pair, found.feature[i], 0) >= 0
        if found.gap[i] >= -OVERLAPS * h.geoms.unit[0] or known:
            _note_end(h.need, pair, found.gap[i])


@kernel
def _way_of_points(h, pair):
    """Most by which points of two shapes that meet on their way move against each other [m].

    All of them are in the smaller shape, so how far both bodies go at its centre, and turn, tells more than their own
    ways where a large one turns about a place near it; what they go there bends by what they turn.
    """
    geoms, motion = h.geoms, h.need.motion
    least, small, turns = math.inf, 0, 0.0
    way = vector_sum(way_of_centre(motion, 0, 1.0), -1.0, way_of_centre(motion, 1, 1.0))
    far = math.sqrt(vector_dot(way, way))
    for side in range(2):
        g = geoms.pairs[pair, side]
        size, turn = vector(geoms.size, g), vector(motion.turn, side)
        radius, angle = math.sqrt(vector_dot(size, size)), math.sqrt(vector_dot(turn, turn))
        far, turns = far + angle * radius, turns + angle
        if geoms.kind[g] != SHAPE_PLANE and radius < least:
            least, small = radius, side
    centre = vector(h.need.poses.geom_p, geoms.pairs[pair, small])
    way = vector_sum(at_start(motion, 0, 1.0, centre), -1.0, at_start(motion, 1, 1.0, centre))
    return min(far, math.sqrt(vector_dot(way, way)) + turns * (least + 0.5 * far))


@kernel
def _note_end(need, pair, gap):
    """Keep the smallest gap of all pairs with meshes at the end of the step."""
    if gap < need.mesh_end[0]:
        need.mesh_end[0], need.mesh_end[1] = gap, pair


@kernel
def _look(h, pair, t, reach):
    """The new contact of a pair that is deepest at t, of those not so deep at the start; -1 where none is.

    All contacts are in ``need.found``.
    """
    need, found = h.need, h.need.found
    place_pair(h.geoms, pair, need.motion, t, need.poses)
    need.poses.work.mesh.limit[0] = t * reach
    find_contacts(h, pair, t * reach, 1)
    worst, depth = -1, OVERLAPS * h.geoms.unit[0]
    for i in range(found.count[0]):
        if (
            found.gap[i] < -depth
            and find_contact(h.contacts, pair, found.feature[i], 0) < 0
            and _was_outside(h, pair, i, taken_back(h, i, t))
        ):
            worst, depth = i, -found.gap[i]
    return worst


@kernel
def _look_deeper(h, pair):
    """Have features that touch end in each other no more than at the start."""
    found, least = h.need.found, BENDS * h.geoms.unit[0]
    for i in range(found.count[0]):
        k = find_contact(h.contacts, pair, found.feature[i], 0) if found.gap[i] < -least else -1
        if k >= 0:
            ask_for(h, k, found.gap[i], least, False)


@kernel
def _was_outside(h, pair, i, start):
    """Whether points of contact i of ``found`` may not have been in each other at the start.

    ``start`` is what ``taken_back`` tells of it.  A point that slides by s comes over an edge, from the plane of
    another face: below that of this one, by less than s.  A sheet has no inside: below its plane is beside its border
    too, so that there a point has to have come through (``_came_through``).
    """
    middle, apart = start
    depth = -vector_dot(vector(h.need.found.normal, i), apart)
    for side in range(2):
        if h.geoms.mesh.sided[h.geoms.pairs[pair, side]] == SHEET:
            return _came_through(h, pair, i, start)
    aside = vector_sum(apart, depth, vector(h.need.found.normal, i))
    return depth <= SHALLOW * h.geoms.unit[0] + math.sqrt(vector_dot(aside, aside))


@kernel
def _came_through(h, pair, i, start):
    """Whether a point of contact i of ``found`` has come through the surface of the other shape on its way.

    A vertex, or of edges that of either, through triangles that do not face away from the normal: what comes in at one
    side of a body is not deep below the opposite one.  What touched when the step began is on the side on which it has
    a contact, or else on that of the normal.
    """
    geoms, need, touch = h.geoms, h.need, TOUCHES * h.geoms.unit[0]
    n, p, gap = vector(need.found.normal, i), vector(need.found.point, i), need.found.gap[i]
    middle, apart = start
    depth, what = -vector_dot(n, apart), need.found.feature[i] // OF_SHAPE % KINDS
    of_x = 1 if y_comes_first(geoms.kind, geoms.size, geoms.pairs[pair, 0], geoms.pairs[pair, 1]) else 0
    for side in range(2):
        other, sign = geoms.pairs[pair, 1 - side], 1.0 if side == 0 else -1.0
        if (what == PEAK_OF_X and side != of_x) or (what == PEAK_OF_Y and side == of_x):
            continue
        end = vector_sum(p, sign * (0.5 * gap - max(gap, 0.0) - touch), n)
        begin = vector_sum(middle, 0.5 * sign, apart)
        lift = vector_sum(ZERO, sign * touch if depth > 0.0 and depth <= touch else 0.0, n)
        for j in range(h.contacts.count[0]):
            d = vector_sum(begin, -1.0, vector(h.contacts.point, j))
            if h.contacts.pair[j] == pair and vector_dot(d, d) <= 16.0 * touch * touch:
                lift = vector_sum(ZERO, 2.0 * sign * touch, vector(h.contacts.normal, j))
        begin = vector_sum(begin, 1.0, lift)
        if geoms.kind[other] == SHAPE_PLANE:
            if depth <= touch:
                return True
            continue
        a = into_body(h.buffers.geom_R, other, vector_sum(begin, -1.0, vector(h.buffers.geom_p, other)))
        from_ = place(need.poses.geom_R, need.poses.geom_p, other, a)
        if geoms.kind[other] < SHAPE_PLANE:
            outside = point_gap(geoms, h.buffers.geom_R, h.buffers.geom_p, other, begin)[0] >= -touch
            if outside and point_gap(geoms, need.poses.geom_R, need.poses.geom_p, other, end)[0] < 0.0:
                return True
        else:
            out, now = vector_sum(ZERO, sign, n), need.poses
            if is_walled(geoms, now.geom_R, now.geom_p, other, from_, end, touch, out, now.work):
                return True
    return False


@kernel
def _go_back(h, pair, t, worst, reach):
    """From an overlap at t back to where the first of the new features touch; ``motion.time`` says when.

    Straight back along the way of the deepest one to where it is nearly CLOSE deep, or as its depth changed between the
    last two looks, for ways bend; where that comes short, a little on from there, and more and more.  What is deeper
    than four times what it came in that part of its way was there at once: it touched as another feature.
    """
    need, unit, part = h.need, h.geoms.unit[0], ON_FROM
    low, high, seen, deep, start, name = 0.0, t, t, 0.0, 0.0, -1
    for k in range(STEPS + 1):
        slope = 0.0
        if worst >= 0:
            n = vector(need.found.normal, worst)
            if need.found.feature[worst] == name:
                slope = (deep + need.found.gap[worst]) / (high - seen)
            high, deep, name = seen, -need.found.gap[worst], need.found.feature[worst]
            start = max(vector_dot(n, taken_back(h, worst, seen)[1]), 0.0)
        else:
            low = seen
        if deep <= CLOSE * unit or k == STEPS or high * deep > AT_ONCE * (high - low) * (start + deep):
            break
        seen = high * (start + AIM * unit) / (start + deep)
        if slope > 0.0:
            seen = min(high - (deep - AIM * unit) / slope, seen)
        if not (seen > low and seen < high):
            seen, part = low + part * (high - low), min(10.0 * part, 0.5)
        worst = _look(h, pair, seen, reach)
    if seen != high:
        _look(h, pair, high, reach)
    need.motion.time[0] = high


@kernel
def _comes_in(h, pair):
    """Put the new contacts of a pair at the moment of touching to those of the step; whether there are any."""
    found, met, t = h.need.found, h.need.met, h.need.motion.time[0]
    came = False
    for i in range(found.count[0]):
        middle, apart = taken_back(h, i, t)
        if (
            met.count[0] == met.pair.shape[0] or found.gap[i] > TOUCHES * h.geoms.unit[0]
            or not _was_outside(h, pair, i, (middle, apart)) or find_contact(h.contacts, pair, found.feature[i], 0) >= 0
        ):  # fmt: skip
            continue
        n = vector(found.normal, i)
        put_met(met, pair, found.feature[i], vector_dot(n, apart), n, middle)
        came = True
    return came
