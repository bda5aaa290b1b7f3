# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One pair on trial (``by_need.py``): pushed together, moved along the step, and its contacts where it meets."""

import math

from mb_contact.core.arrays import copy
from mb_contact.core.collision.broadphase import relative_way
from mb_contact.core.collision.geometry import pose_of_shape
from mb_contact.core.collision.manifold_normals import STALL, climb
from mb_contact.core.collision.manifolds import build_contacts, y_comes_first
from mb_contact.core.collision.meeting import (
    at_start,
    place_pair,
    separation_along,
    set_motion,
    way_of_centre,
)
from mb_contact.core.collision.mesh_tree import put_relative
from mb_contact.core.handle import DT
from mb_contact.core.jit import kernel
from mb_contact.core.step.need import (
    ASKED_FIRST,
    CLOSES,
    DEPTH,
    FAR,
    FLAT,
    LEAST_WAY,
    MASKED,
    MEAN,
    MOMENT,
    PUSHED,
    SIDEWAYS,
    STRIKES,
    SUNKEN,
    SURPASSED,
    TOUCHING,
    put_met,
)
from mb_contact.core.tree.joints import integrate_joints
from mb_contact.core.tree.kinematics import body_poses
from mb_contact.core.tree.spatial import (
    ZERO,
    matrix,
    put_matrix,
    put_vector,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)
from mb_contact.types import SHAPE_PLANE, WORLD


@kernel
def end_of_step(h):
    """Poses of the bodies where the step ends with the solved velocities.

    Reads: need, q, settings, tree, v, work.  Writes: need.
    """
    need, dt = h.need, h.settings[DT]
    mean = need.rule[MEAN]
    for i in range(h.v.shape[0]):
        need.way[i] = dt * (mean * h.v[i] + (1.0 - mean) * h.work.v_next[i]) + need.ahead[i] - h.work.shift[i]
    copy(h.q.shape[0], h.q, need.q)
    integrate_joints(h.tree, need.way, 1.0, need.q)
    body_poses(h.tree, need.q, need.kin)


@kernel
def first_look(h, k):
    """Put the shapes of a pair where its first query is: pushed together, or at the start of their motion.

    Reads: buffers, contacts, geoms, need.  Writes: need.
    """
    need, b = h.need, h.buffers
    pair, poses = need.pair[k], need.poses
    if need.verdict[k] != ASKED_FIRST:
        move_pair(h, pair)
        place_pair(h.geoms, pair, need.motion, 0.0, poses)
        return
    for side in range(2):
        g = h.geoms.pairs[pair, side]
        put_vector(poses.geom_p, g, vector(b.geom_p, g))
        put_matrix(poses.geom_R, g, matrix(b.geom_R, g))
    a = h.geoms.pairs[pair, 0]
    put_vector(poses.geom_p, a, vector_sum(vector(poses.geom_p, a), 1.0, _push(h, need.first[k])))


@kernel
def move_pair(h, pair):
    """Put both shapes of a pair where the step ends (``end_of_step``), and their motion there to ``need.motion``.

    Reads: buffers, geoms, need.  Writes: need.
    """
    place_at_end(h, pair)
    find_motion(h, pair)


@kernel
def place_at_end(h, pair):
    """Put both shapes of a pair where the step ends.  Reads: geoms, need.  Writes: need."""
    kin, poses = h.need.kin, h.need.poses
    for side in range(2):
        pose_of_shape(h.geoms, kin.R, kin.p, h.geoms.pairs[pair, side], poses.geom_R, poses.geom_p)


@kernel
def find_motion(h, pair):
    """The motion of a pair to where it is placed.  Reads: buffers, geoms, need.  Writes: need."""
    set_motion(h.geoms, pair, h.buffers.geom_R, h.buffers.geom_p, h.need.poses, h.need.motion)


@kernel
def _way(h, pair):
    """Most by which two shapes can move against each other in the step [m]."""
    way = relative_way(h.buffers.travel, h.geoms.pairs[pair, 0], h.geoms.pairs[pair, 1])
    return max(way, LEAST_WAY * h.geoms.unit[0])


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
def _size(geoms, g):
    """Largest half length of a geometry [m]."""
    return max(geoms.size[g, 0], max(geoms.size[g, 1], geoms.size[g, 2]))


@kernel
def is_plain(h, i, n, s):
    """Whether the pair of contact i, pushed together, has the normal n and the separation s of one that has to meet."""
    far = PUSHED * _way(h, h.contacts.pair[i])
    return s <= -DEPTH * far and vector_dot(n, vector(h.contacts.normal, i)) >= FLAT


@kernel
def is_surpassed(h, i):
    """Whether the pair of contact i, pushed together, is plainly less deep along the engine's normal, or one uphill.

    Then ``is_plain`` is false without the best of all.  Reads: buffers, contacts, geoms, need.  Writes: nothing.
    """
    poses, pair, n = h.need.poses, h.contacts.pair[i], vector(h.contacts.normal, i)
    a, b = h.geoms.pairs[pair, 0], h.geoms.pairs[pair, 1]
    if max(h.geoms.kind[a], h.geoms.kind[b]) >= SHAPE_PLANE:
        return False
    enough = separation_along(h.geoms, poses, a, b, n) + SURPASSED * PUSHED * _way(h, pair)
    m = vector(poses.witness, 0)
    if separation_along(h.geoms, poses, a, b, m) > enough and vector_dot(m, n) < FLAT:
        return True
    s, m = climb(h.geoms, poses.geom_R, poses.geom_p, a, b, n, STALL)
    return s > enough and vector_dot(m, n) < FLAT


@kernel
def is_far(h, pair, n):
    """Whether both shapes go farther than their size until they meet, and along their surfaces."""
    motion, t = h.need.motion, h.need.motion.time[0]
    way = vector_sum(way_of_centre(motion, 0, t), -1.0, way_of_centre(motion, 1, t))
    aside = vector_sum(way, -vector_dot(way, n), n)
    size = min(_size(h.geoms, h.geoms.pairs[pair, 0]), _size(h.geoms, h.geoms.pairs[pair, 1]))
    return vector_dot(way, way) > (FAR * size) ** 2 and vector_dot(aside, aside) > (SIDEWAYS * size) ** 2


@kernel
def _parting(h, pair, n):
    """How fast a pair that meets with the normal n goes apart where the step ends [m a step].

    At the end of the motion that its row leaves it, which closes the gap along n, and along the normal that the pair
    has there.  Never between flat faces, whose normal stays.
    """
    need, geoms = h.need, h.geoms
    a, b = geoms.pairs[pair, 0], geoms.pairs[pair, 1]
    if max(geoms.kind[a], geoms.kind[b]) >= SHAPE_PLANE:
        return -math.inf
    place_pair(geoms, pair, need.motion, 1.0, need.poses)
    deep = min(separation_along(geoms, need.poses, a, b, n), 0.0)
    _shift(need.poses, a, vector_sum(ZERO, -deep, n))
    after, m = climb(geoms, need.poses.geom_R, need.poses.geom_p, a, b, n, STALL)
    if vector_dot(m, n) >= FLAT:
        return -math.inf
    place_pair(geoms, pair, need.motion, 1.0 - MOMENT, need.poses)
    _shift(need.poses, a, vector_sum(ZERO, -deep * (1.0 - MOMENT), n))
    after -= separation_along(geoms, need.poses, a, b, m)
    return after / MOMENT


@kernel
def _shift(poses, g, way):
    """Move shape g."""
    put_vector(poses.geom_p, g, vector_sum(vector(poses.geom_p, g), 1.0, way))


@kernel
def sunken(h, pair):
    """How deep bodies of a pair are in others, up to SUNKEN: by so much more they may be in each other [m]."""
    a, b = h.geoms.body[h.geoms.pairs[pair, 0]], h.geoms.body[h.geoms.pairs[pair, 1]]
    deepest = 0.0
    for i in range(h.contacts.count[0]):
        if h.contacts.gap[i] < -deepest and h.sol.r[3 * i] > 0.0:
            other = h.contacts.pair[i]
            c, d = h.geoms.body[h.geoms.pairs[other, 0]], h.geoms.body[h.geoms.pairs[other, 1]]
            if (a != WORLD and (a == c or a == d)) or (b != WORLD and (b == c or b == d)):
                deepest = -h.contacts.gap[i]
    return min(deepest, SUNKEN * h.geoms.unit[0])


@kernel
def meet(h, k):
    """Contacts of pair k at the moment of meeting, moved back to the start with each body, to ``met``.

    Only who strikes has a point for each body: an impulse for the whole step at two points would not keep the angular
    momentum of the positions that it starts from.  Where the straight row of a contact would leave it open its gap is
    what that row comes nearer until the moment.  A row leaves the velocity that closes its gap to the next step; who
    grazes is past the other by then, so that it has no gap, or strikes under flows.

    Reads: buffers, geoms, need.  Writes: need.
    """
    need, pair = h.need, h.need.pair[k]
    found, met = need.found, need.met
    way = relative_way(h.buffers.travel, h.geoms.pairs[pair, 0], h.geoms.pairs[pair, 1])
    find_contacts(h, pair, h.geoms.margin[0] + way, 0)
    first, flows = 0, need.rule[MEAN] != 0.0
    for i in range(found.count[0]):
        first = i if found.gap[i] < found.gap[first] else first
    grazes = (flows or need.info[MASKED] == 0) and need.kind[k] != STRIKES and found.count[0] > 0
    if grazes:
        n = vector(found.normal, first)
        gap = vector_dot(n, taken_back(h, first, need.motion.time[0])[1])
        grazes = _parting(h, pair, n) > (-CLOSES * gap if flows else 0.0)
        if grazes and flows:
            need.kind[k], grazes = STRIKES, False
    for i in range(min(found.count[0], met.pair.shape[0] - met.count[0])):
        n = vector(found.normal, i)
        middle, apart = taken_back(h, i, need.motion.time[0])
        gap, closing = vector_dot(n, apart), vector_dot(n, _straight_way(need.motion, middle))
        if closing < 0.0 <= gap + closing:  # who grazes for what turning adds
            gap = min(gap, found.gap[i] - need.motion.time[0] * closing)
        if grazes and found.gap[i] <= found.gap[first] + TOUCHING * h.geoms.unit[0]:
            gap = min(gap, 0.0)
        j = put_met(met, pair, found.feature[i], gap, n, middle)
        if need.kind[k] == STRIKES:
            put_vector(met.spread, j, vector_sum(ZERO, 0.5, apart))


@kernel
def _straight_way(motion, point):
    """Way of A's point at the start against B's in the step without what turning bends [m]."""
    way = ZERO
    for side in range(2):
        arm = vector_sum(point, -1.0, vector(motion.p, side))
        goes = vector_sum(vector(motion.way, side), 1.0, vector_product(vector(motion.turn, side), arm))
        way = vector_sum(way, 1.0 if side == 0 else -1.0, goes)
    return way


@kernel
def find_contacts(h, pair, reach, on_way):
    """Contacts of a pair where it is placed (``need.poses``), within reach [m], to ``need.found``.

    On the way (1) sheets too may be entered deeply, from the side on which their features were.

    Reads: geoms, need.  Writes: need.
    """
    b = h.need.poses
    b.candidates[0], b.reach[0], b.work.mesh.query[1] = pair, reach, on_way
    build_contacts(h.geoms, b.geom_R, b.geom_p, b.travel, b.candidates, 1, b.reach, b.witness, b.work, h.need.found)
    b.work.mesh.query[1] = 0


@kernel
def put_start(h, pair, geom_R, geom_p):
    """Where one shape of a pair is in the axes of the other where their way starts, for meshes.

    Reads: geoms.  Writes: need.
    """
    geoms, start = h.geoms, h.need.poses.work.mesh.start
    x, y = geoms.pairs[pair, 0], geoms.pairs[pair, 1]
    if y_comes_first(geoms.kind, geoms.size, x, y):
        put_relative(geom_R, geom_p, y, x, start)
    else:
        put_relative(geom_R, geom_p, x, y, start)


@kernel
def taken_back(h, i, t):
    """(Middle, from B to A) [m] at the start of the points that are those of contact i of ``need.found`` at t.

    Reads: need.  Writes: nothing.
    """
    found, motion = h.need.found, h.need.motion
    n, p, gap = vector(found.normal, i), vector(found.point, i), found.gap[i]
    on_a = at_start(motion, 0, t, vector_sum(p, 0.5 * gap, n))
    on_b = at_start(motion, 1, t, vector_sum(p, -0.5 * gap, n))
    apart = vector_sum(on_a, -1.0, on_b)
    return vector_sum(on_b, 0.5, apart), apart


@kernel
def second_order(h, pair):
    """What turning in a step moves points of both shapes beside their velocities' way, about their bodies' origins [m].

    Reads: geoms, kin, settings.  Writes: nothing.
    """
    moved = 0.0
    for side in range(2):
        g = h.geoms.pairs[pair, side]
        k = h.geoms.body[g]
        if k != WORLD:
            spin = vector(h.kin.V, k)
            arm = vector(h.geoms.p, g)
            size = max(h.geoms.size[g, 0], max(h.geoms.size[g, 1], h.geoms.size[g, 2]))
            size += math.sqrt(vector_dot(arm, arm))
            moved += h.settings[DT] ** 2 * vector_dot(spin, spin) * size
    return moved
