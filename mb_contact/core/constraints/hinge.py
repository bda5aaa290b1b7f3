# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What acts in the hinges of a world in body coordinates, where a joint's position is no coordinate (J14 section 3).

The rate of hinge i is a row of its two bodies, ``K V``, with z the axis fixed in the base:

    turns     x' = z . (omega_k - omega_m),                   x'' = K dV/dt
    slides    x' = z . (v_k - v_m - omega_m x l),             x'' = K dV/dt - z . (omega_m x (omega_m x l))

and its position x follows from the bodies' poses.  Limits are rows of it with one side, ``K V+ + x / dt >= 0``, and
damping d with a rotor's inertia A one soft row: with h = dt (in flows, whose impulses are constant, h = dt / 2)

    p = -A (x'+ - x') - h d x'+ - (dt - h) d x':    K V+ + p / (A + h d) = (A - (dt - h) d) / (A + h d) x'.

In an impact these rows have no part: damping and friction have no time to act, and a rotor is not felt.
"""

import numpy as np

from mb_contact.core.constraints.bilateral import COUNT, FIRST, HINGES
from mb_contact.core.constraints.limit import limit_reach
from mb_contact.core.constraints.rows import begin_row, gap_velocity
from mb_contact.core.jit import NOTHING, TRUTH, kernel, on_demand
from mb_contact.core.tree.frames import angular_row, node_rows
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    body_point,
    body_vector,
    matrix,
    product,
    put_spatial,
    spatial,
    spatial_sum,
    spin,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)
from mb_contact.core.workspace import BOX, UNILATERAL

DAMPING, FRICTION = 2, 3  #: columns of Hinges.posed behind those of the lower and the upper limit


@kernel
def _axes(R, k, own, i):
    """Axes ``own[i]`` of body k in the world's."""
    return product(matrix(R, k), matrix(own, i)) if k >= 0 else matrix(own, i)


@kernel
def _axis(hinges, i, kin):
    """Unit vector along hinge i in the world's axes, as its base has it."""
    R = matrix(hinges.R_base, i)
    return body_vector(kin.R, hinges.base[i], (R[2], R[5], R[8]))


@kernel
def hinge_position(hinges, i, kin):
    """Position of hinge i by the poses of its bodies [rad, m]; an angle within half a turn of ``middle``."""
    k, m = hinges.body[i], hinges.base[i]
    if hinges.slides[i] != 0:
        origin = body_point(kin.R, kin.p, m, vector(hinges.p_base, i))
        return vector_dot(_axis(hinges, i, kin), vector_sum(vector(kin.p, k), -1.0, origin))
    a, b = _axes(kin.R, k, hinges.R_body, i), _axes(kin.R, m, hinges.R_base, i)
    x = a[0], a[3], a[6]
    angle = np.arctan2(vector_dot((b[1], b[4], b[7]), x), vector_dot((b[0], b[3], b[6]), x))
    turns = np.floor((angle - hinges.middle[i]) / (2.0 * np.pi) + 0.5)
    return angle - 2.0 * np.pi * turns


@kernel
def _free_velocity(v, k):
    """Velocity of free body k out of all velocities v (6 n,)."""
    if k < 0:
        return STILL
    d = 6 * k
    return v[d], v[d + 1], v[d + 2], v[d + 3], v[d + 4], v[d + 5]


@kernel
def _arm(hinges, i, kin):
    """From the base's origin to the body's, in the world's axes [m]; zero of a hinge on the inertial frame."""
    m = hinges.base[i]
    return vector_sum(vector(kin.p, hinges.body[i]), -1.0, vector(kin.p, m)) if m >= 0 else ZERO


@kernel
def hinge_rate(hinges, i, kin, v):
    """Rate of hinge i at the poses in ``kin`` and the velocities v (6 n,) of the bodies [rad/s, m/s]."""
    a, b = _free_velocity(v, hinges.body[i]), _free_velocity(v, hinges.base[i])
    z = _axis(hinges, i, kin)
    if hinges.slides[i] == 0:
        return vector_dot(z, vector_sum(a[:3], -1.0, b[:3]))
    carried = vector_sum(b[3:], 1.0, vector_product(b[:3], _arm(hinges, i, kin)))
    return vector_dot(z, vector_sum(a[3:], -1.0, carried))


@kernel
def _pose(hinges, i, kin, dt, rows, row):
    """The rate of hinge i at the end of the step as a row; its velocity product over dt as the offset."""
    a, b, z = hinges.body[i], hinges.base[i], _axis(hinges, i, kin)
    begin_row(rows, row, a, b)
    rows.offset[row] = 0.0
    if hinges.slides[i] == 0:
        angular_row(rows, row, z)
        return
    at = vector(kin.p, a)
    node_rows(kin.p, a, at, b, at, z, rows, row)
    if b >= 0:
        w = spin(kin.V, b)
        rows.offset[row] = -dt * vector_dot(z, vector_product(w, vector_product(w, _arm(hinges, i, kin))))


@on_demand(NOTHING)
def hinge_limits(hinges, kin, v, v_free, dt, push_rate, push_speed, rows):
    """A row for every limit of a hinge that this step could reach, as ``limit_rows`` has those of joints."""
    for i in range(hinges.body.shape[0]):
        hinges.posed[i, 0] = hinges.posed[i, 1] = -1
        if hinges.lower[i] == -np.inf and hinges.upper[i] == np.inf:
            continue
        fastest = max(abs(hinge_rate(hinges, i, kin, v)), abs(hinge_rate(hinges, i, kin, v_free)))
        reach = limit_reach(max(fastest, hinges.speed[i]), dt)
        x = hinge_position(hinges, i, kin)
        for side in range(2):
            gap = x - hinges.lower[i] if side == 0 else hinges.upper[i] - x
            if not gap < reach:
                continue
            row, sign = rows.end[0], 1.0 - 2.0 * side
            _pose(hinges, i, kin, dt, rows, row)
            rows.law[row] = UNILATERAL
            put_spatial(rows.on_a, row, spatial_sum(STILL, sign, spatial(rows.on_a, row)))
            put_spatial(rows.on_b, row, spatial_sum(STILL, sign, spatial(rows.on_b, row)))
            rows.offset[row] = sign * rows.offset[row] + gap_velocity(gap, dt, push_rate, push_speed, 1.0)
            hinges.posed[i, side] = row
            rows.end[0] = row + 1


@on_demand(TRUTH)
def hinge_limits_missed(hinges, kin, v_next, dt):
    """Whether impulses drive a hinge past a limit that was not in the problem; its ``speed`` is raised then."""
    missed = False
    for i in range(hinges.body.shape[0]):
        if hinges.lower[i] == -np.inf and hinges.upper[i] == np.inf:
            continue
        rate = hinge_rate(hinges, i, kin, v_next)
        after = hinge_position(hinges, i, kin) + dt * rate
        below = hinges.posed[i, 0] < 0 and after < hinges.lower[i]
        above = hinges.posed[i, 1] < 0 and after > hinges.upper[i]
        if below or above:
            hinges.speed[i] = max(abs(rate), 2.0 * hinges.speed[i])
            missed = True
    return missed


@on_demand(NOTHING)
def hinge_forces(hinges, kin, v, dt, acting, rows, error, bil):
    """Rows of damping, rotors and friction behind all others; ``acting`` is the h of the soft rows [s]."""
    first = bil.info[FIRST]
    row = first + bil.info[COUNT]
    for i in range(hinges.body.shape[0]):
        d, inertia = hinges.damping[i], hinges.armature[i]
        hinges.posed[i, DAMPING] = hinges.posed[i, FRICTION] = -1
        if d + inertia > 0.0:
            stiff = inertia + acting * d
            _pose(hinges, i, kin, dt, rows, row)
            rows.offset[row] -= (inertia - (dt - acting) * d) / stiff * hinge_rate(hinges, i, kin, v)
            rows.mu[row], error[row - first] = 1.0 / stiff, 0.0
            hinges.posed[i, DAMPING] = row
            row += 1
        if hinges.friction[i] > 0.0:
            _pose(hinges, i, kin, dt, rows, row)
            rows.law[row], rows.mu[row], error[row - first] = BOX, hinges.friction[i] * dt, 0.0
            hinges.posed[i, FRICTION] = row
            row += 1
    bil.info[HINGES] = row - first - bil.info[COUNT]
    bil.info[COUNT] = row - first
