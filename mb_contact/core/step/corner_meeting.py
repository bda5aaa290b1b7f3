# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which corners of a convex hull come down in the step on the face that it touches (``feature_meeting.py``).

A manifold has four points, those of one face of the hull.  A hull of many faces that rolls on a half-space or on a
face of another shape brings down corners of the next faces within one step.  Their rows are those of the face where
the step ends: its normal there, the corner and its foot on the face moved back with each body, and as gap their
separation along that normal at the start.
"""

from mb_contact.core.collision.broadphase import relative_way
from mb_contact.core.collision.manifold_clip import TOP, into_frame, is_over, set_region
from mb_contact.core.collision.manifolds import PLANE_FACE
from mb_contact.core.collision.meeting import answer, ask, at_start, separation_along
from mb_contact.core.collision.shapes import NO_FLAT, face_normal, facing, has_faces, place
from mb_contact.core.jit import kernel
from mb_contact.core.step.exchange import bend, is_pressed
from mb_contact.core.step.need import FLAT, MEAN, STRIKES, put_met, verdict_on
from mb_contact.core.step.pair_motion import find_contacts, taken_back
from mb_contact.core.tree.spatial import opposite, put_vector, vector, vector_dot, vector_sum
from mb_contact.types import SHAPE_CONVEX, SHAPE_PLANE

DEEP = 2e-9  #: depth at the end from which a corner that is no contact comes in [m],
TURNS = 1e-6  #: and from which what turning adds to the way of one that is a contact counts [m]
HARDLY = 1e-6  #: way at the start's velocity up to which a hull brings down no other corners [m]
AT_ONE_PLACE = 4e-3  #: distance below which points of a manifold are one, in contact margins (``add_point``)
ALIKE = 1.0 - 1e-6  #: cosine of normals between which a contact has only turned
#: of the identity of a corner over a face, over a half-space it is that of the manifold; and of points at the end
CORNER, OF_END = 1 << 40, 1 << 41


@kernel
def may_roll(h, pair):
    """Whether a pair that moves, and does not strike, has a hull and another shape with a face.

    Reads: buffers, geoms, need.  Writes: nothing.
    """
    geoms = h.geoms
    x, y = geoms.pairs[pair, 0], geoms.pairs[pair, 1]
    if max(geoms.kind[x], geoms.kind[y]) > SHAPE_PLANE or h.need.rule[MEAN] != 0.0:
        return False
    if relative_way(h.buffers.travel, x, y) <= HARDLY * geoms.unit[0] or verdict_on(h.need, pair) == STRIKES:
        return False
    return (geoms.kind[x] == SHAPE_CONVEX and _has_face(geoms, y)) or (
        geoms.kind[y] == SHAPE_CONVEX and _has_face(geoms, x)
    )


@kernel
def _has_face(geoms, g):
    return geoms.kind[g] == SHAPE_PLANE or has_faces(geoms, g)


@kernel
def corner_comes_down(h, pair):
    """Whether corners of a pair's hull end in the face that the pair touches: ``met`` has then what they need.

    That is the deepest one that is no contact, and those that are and turn into the face.

    Both shapes are where the step ends (``move_pair``).
    Reads: buffers, contacts, geoms, need, rows, settings, sol.  Writes: need.
    """
    geoms, contacts = h.geoms, h.contacts
    k = 0
    while k < contacts.count[0] and contacts.pair[k] != pair:
        k += 1
    if k == contacts.count[0]:
        return False
    came = False
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
    """``corner_comes_down`` along the normal with which both shapes overlap at the end, not along that of contact k.

    Two hulls that clash turn other faces and edges to each other within a step than those of its start.
    """
    geoms, need, poses = h.geoms, h.need, h.need.poses
    a, b, deep = geoms.pairs[pair, 0], geoms.pairs[pair, 1], TURNS * geoms.unit[0]
    if max(geoms.kind[a], geoms.kind[b]) == SHAPE_PLANE:
        return False
    if separation_along(geoms, poses, a, b, vector(h.contacts.normal, k)) >= -deep or ask(geoms, pair, poses) != 0:
        return False
    n, depth = answer(geoms, pair, poses)
    if depth >= -deep:
        return False
    put_vector(poses.witness, 0, n)
    poses.witness[0, 3] = depth
    find_contacts(h, pair, 0.0, 1)
    came = False
    for i in range(need.found.count[0]):
        came = (need.found.gap[i] < -deep and _comes_in(h, pair, i)) or came
    return came


@kernel
def _comes_in(h, pair, i):
    """Put contact i of ``found`` at the end of the step to those of the step; whether it is another one than those."""
    geoms, need, contacts = h.geoms, h.need, h.contacts
    n = vector(need.found.normal, i)
    middle, apart = taken_back(h, i, 1.0)
    start, near = vector_dot(n, apart), AT_ONE_PLACE * geoms.margin[0]
    if start < -geoms.margin[0] or need.met.count[0] == need.met.pair.shape[0]:
        return False
    for k in range(contacts.count[0]):
        if contacts.pair[k] == pair and vector_dot(vector(contacts.normal, k), n) >= ALIKE:
            d = vector_sum(middle, -1.0, vector(contacts.point, k))
            if vector_dot(d, d) <= (near + abs(start)) ** 2:
                return is_pressed(h, k) and bend(h, k, need.found.gap[i])
    put_met(need.met, pair, OF_END + need.met.count[0], start, n, middle)
    return True


@kernel
def _comes_down(h, pair, side, face):
    """``corner_comes_down`` with the hull on a side of the pair, and a face of the other one."""
    geoms, need = h.geoms, h.need
    g, other = geoms.pairs[pair, side], geoms.pairs[pair, 1 - side]
    poses, motion, work = need.poses, need.motion, need.poses.work
    tol = AT_ONE_PLACE * geoms.margin[0]
    n = face_normal(geoms, poses.geom_R, other, face)
    region = set_region(geoms, poses.geom_R, poses.geom_p, other, face, n, work)
    deepest, chosen, before, changes = -DEEP * geoms.unit[0], -1, 0.0, False
    for i in range(geoms.first_vertex[g], geoms.first_vertex[g + 1]):
        corner = place(poses.geom_R, poses.geom_p, g, vector(geoms.vertices, i))
        p = into_frame(work.frame, vector_sum(corner, -1.0, vector(work.frame, 3)))
        if p[2] >= max(deepest, -TURNS * geoms.unit[0]) or not is_over(work.polygon, region, p, tol):
            continue
        k = _contact_at(h, pair, side, i, tol)
        if k >= 0:
            turns = p[2] < -TURNS * geoms.unit[0] and is_pressed(h, k)
            changes = (turns and bend(h, k, p[2])) or changes
            continue
        foot = vector_sum(corner, -p[2], n)
        apart = vector_sum(at_start(motion, side, 1.0, corner), -1.0, at_start(motion, 1 - side, 1.0, foot))
        start = vector_dot(n, apart)
        if p[2] < deepest and start >= -geoms.margin[0]:
            deepest, chosen, before = p[2], i, start
    if chosen < 0 or need.met.count[0] == need.met.pair.shape[0]:
        return changes
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
