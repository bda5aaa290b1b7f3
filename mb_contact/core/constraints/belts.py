# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Surfaces that move in themselves, as those of belts and turntables: a velocity more in the rows of their contacts.

At x the surface of body k moves with ``s (v + w x (x - o))`` beside the body, in whose axes v, w and o stand; s is the
speed that it is commanded.  The rows of friction ask for the slip against it, so their offset is this velocity:

    u_t = t . (v_A - v_B) + t . (s_A - s_B),

and that of torsion has the spin.  Along the normal nothing is added: the shape stays where it is.
"""

from mb_contact.core.arrays import fill
from mb_contact.core.constraints.contact import relative_velocity, set_tangents, tangential
from mb_contact.core.jit import NOTHING, kernel, on_demand
from mb_contact.core.tree.spatial import (
    ZERO,
    body_point,
    body_vector,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)


@kernel
def _surface_motion(belts, geoms, contacts, kin, i):
    """(Velocity, spin) of A's surface beside A without that of B's beside B, at contact i, world axes [m/s, rad/s]."""
    velocity, spin = ZERO, ZERO
    for side in range(2):
        g = geoms.pairs[contacts.pair[i], side]
        b = belts.of[g]
        if b < 0:
            continue
        k, speed = geoms.body[g], (1.0 - 2.0 * side) * belts.speed[b]
        turning = body_vector(kin.R, k, vector(belts.angular, b))
        arm = vector_sum(vector(contacts.point, i), -1.0, body_point(kin.R, kin.p, k, vector(belts.origin, b)))
        straight = body_vector(kin.R, k, vector(belts.linear, b))
        velocity = vector_sum(velocity, speed, vector_sum(straight, 1.0, vector_product(turning, arm)))
        spin = vector_sum(spin, speed, turning)
    return velocity, spin


@on_demand(NOTHING)
def turn_along(belts, geoms, contacts, kin, slip_speed, frames):
    """Frames of contacts on moving surfaces along the slip against these, above ``slip_speed``."""
    for i in range(contacts.count[0]):
        pair = contacts.pair[i]
        if belts.of[geoms.pairs[pair, 0]] < 0 and belts.of[geoms.pairs[pair, 1]] < 0:
            continue
        velocity, _ = _surface_motion(belts, geoms, contacts, kin, i)
        slip = vector_sum(relative_velocity(geoms, contacts, kin.p, kin.V, i), 1.0, velocity)
        n = vector(contacts.normal, i)
        t, size = tangential(slip, n)
        if size > slip_speed:
            frames.aligned[i] = 1
            set_tangents(frames, i, n, t, size)


@on_demand(NOTHING)
def carry_rows(belts, geoms, contacts, kin, frames, friction, rows):
    """Velocities of the surfaces into the rows of tangents and torsion: ``rows.carried``, and into their offsets."""
    fill(rows.end[0], rows.carried, 0.0)
    for i in range(contacts.count[0]):
        velocity, spin = _surface_motion(belts, geoms, contacts, kin, i)
        rows.carried[3 * i + 1] = vector_dot(velocity, vector(frames.t1, i))
        rows.carried[3 * i + 2] = vector_dot(velocity, vector(frames.t2, i))
        if friction.extra[i] >= 0 and friction.surfaces.torsional[contacts.pair[i]] > 0.0:
            rows.carried[friction.extra[i]] = vector_dot(spin, vector(contacts.normal, i))
    for row in range(rows.end[0]):
        rows.offset[row] += rows.carried[row]
