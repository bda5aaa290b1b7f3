# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which features of two convex shapes end in each other where the step ends (``feature_meeting.py``).

A manifold has four points, those of one face.  Shapes that roll, slide over each other's curves or are thrown about by
an impact bring down other features within one step, and those that touch end deeper than their straight rows tell.
Where the step ends contacts of the end that the step did not have come in: their normal, both bodies' points moved
back with each body, and as gap their separation along that normal at the start.  For contacts that only moved on the
positions are corrected (``position_correction.py``).

A hull of many faces that rolls on a half-space or on a face of another shape brings down corners of the next faces one
after the other: from a smaller depth on, with the normal of that face.
"""

import math

from mb_contact.core.collision.broadphase import relative_way
from mb_contact.core.collision.manifold_clip import TOP, into_frame, is_over, set_region
from mb_contact.core.collision.manifold_normals import climb
from mb_contact.core.collision.manifolds import PLANE_FACE
from mb_contact.core.collision.meeting import at_start, separation_along
from mb_contact.core.collision.shapes import NO_FLAT, face_normal, facing, has_faces, is_round, place
from mb_contact.core.jit import kernel
from mb_contact.core.step.need import FLAT, MASKED, MEAN, STRIKES, put_met, verdict_on, was_loaded
from mb_contact.core.step.pair_motion import find_contacts, find_motion, taken_back
from mb_contact.core.step.position_correction import TURNS, ask_for, deepest_before
from mb_contact.core.tree.spatial import opposite, put_vector, vector, vector_dot, vector_sum
from mb_contact.types import SHAPE_CONVEX, SHAPE_ELLIPSOID, SHAPE_PLANE

DEEP = 2e-9  #: depth at the end from which a corner that is no contact comes in [m],
HARDLY = 1e-6  #: way at the start's velocity up to which nothing turns in [m]
AT_ONE_PLACE = 4e-3  #: distance below which a contact is at a corner, in contact margins (``add_point``)
ALIKE = 0.98  #: cosine of normals between which a contact has only turned,
MOVES_ON = 2.0  #: the way of its place meanwhile, in ways of the two shapes,
BESIDE = 0.1  #: and in sizes of the smaller one, as along a rim
BENDS = 4.0  #: and the depth added to its pair's up to which it is still that contact, in what turning bends its way
ROLLING = 2.5e-4  #: depth up to which a rim or an ellipsoid rolls on, in its sizes
NEARLY = 1e-10  #: difference to the least depth up to which that is found, in sizes
#: of the identity of a corner over a face, over a half-space it is that of the manifold; and of points at the end
CORNER, OF_END = 1 << 40, 1 << 41


@kernel
def may_turn_in(h, pair):
    """Whether a pair that moves, and does not strike, may end in one another for what turning adds to its way.

    Not along a path that does not end with its last velocity, nor one that leads through what collides.
    Reads: buffers, contacts, geoms, need.  Writes: nothing.
    """
    geoms = h.geoms
    x, y = geoms.pairs[pair, 0], geoms.pairs[pair, 1]
    if max(geoms.kind[x], geoms.kind[y]) > SHAPE_PLANE or h.need.rule[MEAN] != 0.0 or h.need.info[MASKED] != 0:
        return False
    if relative_way(h.buffers.travel, x, y) <= HARDLY * geoms.unit[0] or verdict_on(h.need, pair) == STRIKES:
        return False
    return first_contact(h.contacts, pair) >= 0


@kernel
def first_contact(contacts, pair):
    """The first contact of a pair; -1 where it has none."""
    for k in range(contacts.count[0]):
        if contacts.pair[k] == pair:
            return k
    return -1


@kernel
def _has_face(geoms, g):
    return geoms.kind[g] == SHAPE_PLANE or has_faces(geoms, g)


@kernel
def turns_in(h, pair):
    """Whether contacts of the end come in: ``met`` has then what they need; others are asked to end farther apart.

    Of the corners of a hull over the face that it touches that is the deepest one that is no contact.
    Both shapes are where the step ends (``place_at_end``); their motion there is found where they overlap.
    Reads: buffers, contacts, geoms, kin, memory, need, rows, settings, sol.  Writes: need.
    """
    geoms, contacts = h.geoms, h.contacts
    k, came = first_contact(contacts, pair), False
    for side in range(2):
        g, other = geoms.pairs[pair, side], geoms.pairs[pair, 1 - side]
        if geoms.kind[g] != SHAPE_CONVEX or not _has_face(geoms, other):
            continue
        n = vector(contacts.normal, k)
        toward = n if side == 0 else opposite(n)
        face = PLANE_FACE
        if geoms.kind[other] != SHAPE_PLANE:
            face = facing(geoms, h.buffers.geom_R, other, toward)
        if face != NO_FLAT and vector_dot(face_normal(geoms, h.buffers.geom_R, other, face), toward) >= FLAT:
            came = _comes_down(h, pair, side, face) or came
    return came or _overlaps(h, pair, k)


@kernel
def _overlaps(h, pair, k):
    """``turns_in`` along the normal with which both shapes overlap at the end, not along that of contact k."""
    geoms, need, poses = h.geoms, h.need, h.need.poses
    a, b, deep = geoms.pairs[pair, 0], geoms.pairs[pair, 1], TURNS * geoms.unit[0]
    n = vector(h.contacts.normal, k)
    depth = separation_along(geoms, poses, a, b, n)
    if depth < -deep and max(geoms.kind[a], geoms.kind[b]) != SHAPE_PLANE:
        depth, n = climb(geoms, poses.geom_R, poses.geom_p, a, b, n, NEARLY)
    if depth >= -deep:
        return False
    find_motion(h, pair)
    put_vector(poses.witness, 0, n)
    poses.witness[0, 3] = depth
    find_contacts(h, pair, geoms.margin[0], 1)
    came = False
    for i in range(need.found.count[0]):
        came = (need.found.gap[i] < -deep and _comes_in(h, pair, i)) or came
    return came


@kernel
def _size(geoms, pair):
    """Largest half length of the smaller one of two shapes [m]; a half-space has none."""
    least = math.inf
    for side in range(2):
        g = geoms.pairs[pair, side]
        if geoms.kind[g] != SHAPE_PLANE:
            least = min(least, max(geoms.size[g, 0], max(geoms.size[g, 1], geoms.size[g, 2])))
    return least


@kernel
def _rolls(h, pair):
    """Whether a pair that pressed in the last step has a shape that is curved, but by no constant radius."""
    a, b = h.geoms.pairs[pair, 0], h.geoms.pairs[pair, 1]
    return (_is_curved(h.geoms, a) or _is_curved(h.geoms, b)) and was_loaded(h, pair)


@kernel
def _bend(h, pair):
    """By how much turning bends the ways of points of a pair in the step, (omega dt)^2 / 2 of both sizes [m]."""
    total, turn = 0.0, h.need.motion.turn
    for side in range(2):
        size = vector(h.geoms.size, h.geoms.pairs[pair, side])
        total += 0.5 * vector_dot(vector(turn, side), vector(turn, side)) * math.sqrt(vector_dot(size, size))
    return total


@kernel
def _is_curved(geoms, g):
    """Whether a shape is curved, but by no constant radius."""
    return is_round(geoms, g) or geoms.kind[g] == SHAPE_ELLIPSOID


@kernel
def _comes_in(h, pair, i):
    """Put contact i of ``found`` at the end of the step to those of the step, or ask the one that is there for more.

    Returns whether it is put to them.
    """
    geoms, need, contacts = h.geoms, h.need, h.contacts
    n = vector(need.found.normal, i)
    middle, way = taken_back(h, i, 1.0)
    start, nearest, known = vector_dot(n, way), math.inf, -1
    if start < -geoms.margin[0]:
        return False
    size = _size(geoms, pair)
    near = abs(start) + MOVES_ON * relative_way(h.buffers.travel, geoms.pairs[pair, 0], geoms.pairs[pair, 1])
    for k in range(contacts.count[0]):
        if contacts.pair[k] == pair and vector_dot(vector(contacts.normal, k), n) >= ALIKE:
            d = vector_sum(middle, -1.0, vector(contacts.point, k))
            apart = math.sqrt(vector_dot(d, d))
            same = contacts.feature[k] == need.found.feature[i]
            if apart < nearest and apart <= max(near, size if same else BESIDE * size):
                nearest, known = apart, k
    further, rolls = min(deepest_before(h, pair), 0.0) - need.found.gap[i], _rolls(h, pair)
    least = max(TURNS * geoms.unit[0], ROLLING * size if rolls else 0.0)
    if known >= 0 and (nearest <= BESIDE * size or further <= max(BENDS * _bend(h, pair), least)):
        ask_for(h, known, need.found.gap[i], least, rolls)
        return False
    if need.met.count[0] == need.met.pair.shape[0]:
        return False
    put_met(need.met, pair, OF_END + need.met.count[0], start, n, middle)
    return True


@kernel
def _comes_down(h, pair, side, face):
    """``turns_in`` with the hull on a side of the pair, and a face of the other one."""
    geoms, need = h.geoms, h.need
    g, other = geoms.pairs[pair, side], geoms.pairs[pair, 1 - side]
    poses, motion, work = need.poses, need.motion, need.poses.work
    tol = AT_ONE_PLACE * geoms.margin[0]
    n = face_normal(geoms, poses.geom_R, other, face)
    region = set_region(geoms, poses.geom_R, poses.geom_p, other, face, n, work)
    deepest, chosen, before, moved = -DEEP * geoms.unit[0], -1, 0.0, False
    for i in range(geoms.first_vertex[g], geoms.first_vertex[g + 1]):
        corner = place(poses.geom_R, poses.geom_p, g, vector(geoms.vertices, i))
        p = into_frame(work.frame, vector_sum(corner, -1.0, vector(work.frame, 3)))
        if p[2] >= max(deepest, -TURNS * geoms.unit[0]) or not is_over(work.polygon, region, p, tol):
            continue
        k = _contact_at(h, pair, side, i, tol)
        if k >= 0:
            ask_for(h, k, p[2], TURNS * geoms.unit[0], False)
            continue
        if not moved:
            find_motion(h, pair)
            moved = True
        foot = vector_sum(corner, -p[2], n)
        apart = vector_sum(at_start(motion, side, 1.0, corner), -1.0, at_start(motion, 1 - side, 1.0, foot))
        start = vector_dot(n, apart)
        if p[2] < deepest and start >= -geoms.margin[0]:
            deepest, chosen, before = p[2], i, start
    if chosen < 0 or need.met.count[0] == need.met.pair.shape[0]:
        return False
    corner = place(poses.geom_R, poses.geom_p, g, vector(geoms.vertices, chosen))
    foot = vector_sum(corner, -deepest, n)
    on_hull, on_face = at_start(motion, side, 1.0, corner), at_start(motion, 1 - side, 1.0, foot)
    name = chosen - geoms.first_vertex[g] + (2 * TOP if geoms.kind[other] == SHAPE_PLANE else CORNER)
    middle = vector_sum(on_face, 0.5, vector_sum(on_hull, -1.0, on_face))
    put_met(need.met, pair, name, before, n if side == 0 else opposite(n), middle)
    return True


@kernel
def _contact_at(h, pair, side, i, tol):
    """The contact of the step at vertex i of the pair's hull; or -1."""
    geoms, contacts = h.geoms, h.contacts
    g = geoms.pairs[pair, side]
    corner = place(h.buffers.geom_R, h.buffers.geom_p, g, vector(geoms.vertices, i))
    for k in range(contacts.count[0]):
        if contacts.pair[k] != pair:
            continue
        half = (0.5 if side == 0 else -0.5) * contacts.gap[k]
        apart = vector_sum(vector_sum(corner, -1.0, vector(contacts.point, k)), -half, vector(contacts.normal, k))
        if vector_dot(apart, apart) <= tol * tol:
            return k
    return -1
