# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Whether, when and along which normal two moving convex shapes meet on the way from one pose to another.

The origin of each shape's body goes straight on, as that of a free body does, and its axes turn about it at a constant
rate: o(t) = o + t d, R(t) = exp(t theta) R for t from 0 to 1.  Two convex shapes are apart where *some* direction n
separates them, s_n > 0; the one that separates them at first need not be the one that does at the end.  So the search
holds on to a direction as long as it serves:

    t = 0               n from the narrow phase, which turns with its face, or on as from look to look
    s_n > -depth        from t to the end: apart, they do not meet
    otherwise           t := first root of s_n(t) + depth, and there n from the narrow phase again
    s_n(t) = -depth     no direction separates them any longer: they meet at t, with the normal n

``depth`` is what counts as touching, so that faces that are flush do not meet.  Who meets is moved back to where the
shapes touch.  A handful of queries decides.
"""

import math

import numpy as np

from mb_contact.core.collision.closed_forms import ASKED, NEAR, closed_witnesses
from mb_contact.core.collision.manifold_normals import is_unknown, reference
from mb_contact.core.collision.shapes import (
    NO_FLAT,
    body_axis,
    face_normal,
    facing,
    gap_along,
    has_faces,
    reach,
)
from mb_contact.core.jit import kernel
from mb_contact.core.tree.rotations import rotation_vector
from mb_contact.core.tree.spatial import (
    ZERO,
    between,
    length_of,
    matrix,
    opposite,
    product,
    put_matrix,
    put_vector,
    transposed,
    turned,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)
from mb_contact.types import SHAPE_BOX, SHAPE_PLANE, WORLD

GO_ON, APART, MEET = range(3)  #: what a look at a pair tells
CLOSE = 1e-9  #: by which separations may be wrong: the narrow phase's tolerance [m]
EXACT = 1e-12  #: how far above its root the search along one direction ends [m]
LOOKS = 60  #: most queries of a search; who has not parted by then meets
ROOT_STEPS = 60  #: along one direction,
SHORTEST = 1e-15  #: and part of the motion at which they end
ALIGNED = 1.0 - 1e-12  #: cosine of a direction and a face's normal from which on it is that
MOST_TURN = 0.5  #: of a direction that goes on turning as it did, in the whole motion [rad]
LEAST_BACK = 1e-9  #: part of the motion that is first gone back


@kernel
def set_motion(geoms, pair, start_R, start_p, end, motion):
    """The motion of both shapes of a pair.

    Parameters
    ----------
    start_R, start_p : (g, 3, 3), (g, 3)
        Poses of all geometries at the start.
    end : CollisionBuffers
        With the poses of the two at the end.
    motion : Motion, out
    """
    for side in range(2):
        g = geoms.pairs[pair, side]
        put_matrix(motion.R, side, matrix(start_R, g))
        put_vector(motion.arm, side, _arm(geoms, start_R, g))
        put_vector(motion.p, side, vector_sum(vector(start_p, g), -1.0, vector(motion.arm, side)))
        origin = vector_sum(vector(end.geom_p, g), -1.0, _arm(geoms, end.geom_R, g))
        put_vector(motion.way, side, vector_sum(origin, -1.0, vector(motion.p, side)))
        put_vector(motion.turn, side, rotation_vector(product(matrix(end.geom_R, g), transposed(matrix(start_R, g)))))
    motion.time[0], motion.before[0] = 0.0, -1.0


@kernel
def _arm(geoms, geom_R, g):
    """From the origin of a shape's body to its centre, its axes those of ``geom_R`` [m]; of the world's zero."""
    if geoms.body[g] == WORLD:
        return ZERO
    return turned(matrix(geom_R, g), turned(transposed(matrix(geoms.R, g)), vector(geoms.p, g)))


@kernel
def way_of_centre(motion, side, t):
    """How far the centre of a shape has gone at t [m]."""
    arm = vector(motion.arm, side)
    arm_then = turned_about(vector_sum(ZERO, t, vector(motion.turn, side)), arm)
    return vector_sum(vector_sum(arm_then, -1.0, arm), t, vector(motion.way, side))


@kernel
def turned_about(theta, a):
    """exp(theta) a (Rodrigues)."""
    square = vector_dot(theta, theta)
    if square < 1e-16:
        return vector_sum(a, 1.0, vector_product(theta, a))
    angle = math.sqrt(square)
    across = vector_product(theta, a)
    first, second = math.sin(angle) / angle, (1.0 - math.cos(angle)) / square
    return vector_sum(vector_sum(a, first, across), second, vector_product(theta, across))


@kernel
def place_pair(geoms, pair, motion, t, poses):
    """Put both shapes where they are at t."""
    for side in range(2):
        g = geoms.pairs[pair, side]
        theta = vector_sum(ZERO, t, vector(motion.turn, side))
        origin = vector_sum(vector(motion.p, side), t, vector(motion.way, side))
        put_vector(poses.geom_p, g, vector_sum(origin, 1.0, turned_about(theta, vector(motion.arm, side))))
        for k in range(3):
            x, y, z = motion.R[side, 0, k], motion.R[side, 1, k], motion.R[side, 2, k]
            x, y, z = turned_about(theta, (x, y, z))
            poses.geom_R[g, 0, k], poses.geom_R[g, 1, k], poses.geom_R[g, 2, k] = x, y, z


@kernel
def at_start(motion, side, t, point):
    """Where a point that moves with a shape, and is at ``point`` at t, is at the start."""
    arm = vector_sum(point, -1.0, vector_sum(vector(motion.p, side), t, vector(motion.way, side)))
    return vector_sum(vector(motion.p, side), 1.0, turned_about(vector_sum(ZERO, -t, vector(motion.turn, side)), arm))


@kernel
def ask(geoms, pair, poses):
    """The narrow phase's witness of a pair as ``poses`` has it; 1 where an engine in Python has to be asked first."""
    boxes = geoms.kind[geoms.pairs[pair, 0]] == SHAPE_BOX and geoms.kind[geoms.pairs[pair, 1]] == SHAPE_BOX
    poses.reach[0] = 0.0 if boxes else np.inf  # of boxes any axis that separates them does
    poses.candidates[0], poses.found[NEAR] = pair, 1
    closed_witnesses(geoms, poses)
    return poses.found[ASKED]


@kernel
def answer(geoms, pair, poses):
    """(normal from B to A, separation [m]) from the witness that was asked for.

    Where an engine's normal is lost, as it may be where shapes just touch, the best of all is looked for.
    """
    a, b = geoms.pairs[pair, 0], geoms.pairs[pair, 1]
    if geoms.kind[a] == SHAPE_PLANE or geoms.kind[b] == SHAPE_PLANE:
        n = body_axis(poses.geom_R, b, 2) if geoms.kind[b] == SHAPE_PLANE else opposite(body_axis(poses.geom_R, a, 2))
        return n, separation_along(geoms, poses, a, b, n)
    n, distance = vector(poses.witness, 0), poses.witness[0, 3]
    s, close = separation_along(geoms, poses, a, b, n), CLOSE * geoms.unit[0]
    if s >= distance - close and not is_unknown(geoms, a, b, distance):
        return n, s
    _, _, s, n = reference(geoms, poses.geom_R, poses.geom_p, a, b, n, distance, np.inf, close)
    return n, s


@kernel
def separation_along(geoms, poses, a, b, n):
    """Separation of two shapes along n, from B to A: of a half-space n is its normal [m]."""
    if geoms.kind[b] == SHAPE_PLANE:
        return _above(geoms, poses, a, b)
    if geoms.kind[a] == SHAPE_PLANE:
        return _above(geoms, poses, b, a)
    return gap_along(geoms, poses.geom_R, poses.geom_p, a, b, n)


@kernel
def _above(geoms, poses, g, plane):
    """Signed distance of a shape from a half-space [m]."""
    n = body_axis(poses.geom_R, plane, 2)
    height = vector_dot(n, between(poses.geom_p, g, poses.geom_p, plane))
    return height - reach(geoms, poses.geom_R, g, opposite(n))


@kernel
def look(geoms, pair, motion, poses, n, s, depth):
    """APART or MEET, at ``motion.time``; or GO_ON from there, where both shapes are put.

    Parameters
    ----------
    n, s : tuple, float
        What ``answer`` says of the poses at ``motion.time``.
    depth : float
        Up to which an overlap is touching [m].
    """
    close = CLOSE * geoms.unit[0]
    if not s > (close if depth > close else EXACT * geoms.unit[0]) - depth:
        return MEET
    _set_bearing(geoms, pair, motion, poses, n)
    motion.before[0] = motion.time[0]
    motion.before[1], motion.before[2], motion.before[3] = n
    bend = _bend(geoms, pair, motion)
    start = low = motion.time[0]
    above, length = s + depth, 1.0 - low
    depth += max(s - _separation_at(geoms, pair, motion, poses, n, low), 0.0)
    while low < 1.0:
        high = min(low + length, 1.0)
        value = _separation_at(geoms, pair, motion, poses, n, high) + depth
        chord = bend * (high - low) ** 2
        if value > 0.0 and (min(above, value) > 0.125 * chord or chord < close):
            low, above, length = high, value, 2.0 * length
        elif value <= 0.0 and (above - value > 0.5 * chord or chord < close):
            root = _first_root(geoms, pair, motion, poses, n, depth, low, above, value, high)
            place_pair(geoms, pair, motion, root, poses)
            motion.time[0] = root
            return GO_ON if root > start else MEET
        else:
            length = 0.5 * (high - low)
    motion.time[0] = 1.0
    return APART


@kernel
def _bend(geoms, pair, motion):
    """Most by which the second derivative of a separation along a direction can pull it down [m].

    Turning a shape by theta moves its points by theta^2 r / 2 beside a straight line, and so does a direction that
    turns with one; that other points become the farthest only lifts the separation over its chord.
    """
    own = length_of(vector(motion.bearing, 0))
    way = length_of(vector_sum(vector(motion.way, 0), -1.0, vector(motion.way, 1)))
    far = length_of(vector_sum(vector(motion.p, 0), -1.0, vector(motion.p, 1))) + way
    bend = own * (own * far + 2.0 * way)
    for side in range(2):
        size = length_of(vector(geoms.size, geoms.pairs[pair, side])) + length_of(vector(motion.arm, side))
        if geoms.kind[geoms.pairs[pair, side]] != SHAPE_PLANE:
            bend += size * (length_of(vector(motion.turn, side)) + own) ** 2
    return bend


@kernel
def _set_bearing(geoms, pair, motion, poses, n):
    """How the direction n turns from ``motion.time`` on: with its face, or on as it did since the look before.

    Where round shapes slide past each other one that stays parts them only for the root of a short gap.
    """
    put_vector(motion.bearing, 0, ZERO)
    for side in range(2):
        g = geoms.pairs[pair, side]
        if not has_faces(geoms, g):
            continue
        outward = opposite(n) if side == 0 else n
        face = facing(geoms, poses.geom_R, g, outward)
        if face != NO_FLAT and vector_dot(face_normal(geoms, poses.geom_R, g, face), outward) > ALIGNED:
            put_vector(motion.bearing, 0, vector(motion.turn, side))
            return
    past = motion.time[0] - motion.before[0]
    if motion.before[0] >= 0.0 and past > 0.0:
        last = (motion.before[1], motion.before[2], motion.before[3])
        turn = vector_sum(ZERO, 1.0 / past, vector_product(last, n))
        if length_of(turn) <= MOST_TURN and vector_dot(last, n) > 0.0:
            put_vector(motion.bearing, 0, turn)


@kernel
def _separation_at(geoms, pair, motion, poses, n, t):
    """Separation at t along the direction that is n at ``motion.time``; both shapes are put there."""
    place_pair(geoms, pair, motion, t, poses)
    n = turned_about(vector_sum(ZERO, t - motion.time[0], vector(motion.bearing, 0)), n)
    return separation_along(geoms, poses, geoms.pairs[pair, 0], geoms.pairs[pair, 1], n)


@kernel
def go_back(geoms, pair, motion, poses, n, depth):
    """Back from where both shapes overlap by ``depth`` along n to where they touch; False where n never parts them."""
    end, back, exact = motion.time[0], LEAST_BACK, EXACT * geoms.unit[0]
    _set_bearing(geoms, pair, motion, poses, n)
    while True:
        begin = max(end - back, 0.0)
        apart = _separation_at(geoms, pair, motion, poses, n, begin)
        if apart > exact or begin == 0.0:
            break
        back *= 4.0
    root = end
    if apart > exact:
        root = _first_root(geoms, pair, motion, poses, n, 0.0, begin, apart, -depth, end)
    place_pair(geoms, pair, motion, root, poses)
    motion.time[0] = root
    return apart > exact


@kernel
def _first_root(geoms, pair, motion, poses, n, depth, low, at_low, at_high, high):
    """Where s_n + depth has fallen to EXACT units, by regula falsi (Illinois); ``at_low`` > 0 > ``at_high``."""
    exact = EXACT * geoms.unit[0]
    kept, above, below = 0, at_low, at_high - 0.5 * exact
    for _ in range(ROOT_STEPS):
        if at_low <= exact or high - low <= SHORTEST:
            break
        t = low + (high - low) * above / (above - below)
        value = _separation_at(geoms, pair, motion, poses, n, t) + depth - 0.5 * exact
        if value > 0.0:
            low, at_low, above = t, value + 0.5 * exact, value
            below *= 0.5 if kept > 0 else 1.0
            kept = 1
        else:
            high, below = t, min(value, -1e-300)
            above *= 0.5 if kept < 0 else 1.0
            kept = -1
    return low
