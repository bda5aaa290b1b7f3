# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Driven constraints, J14's U(t): rows of closures and gears whose second frame, length or offset moves.

    G v+ + dt dG/dt v + gamma c / dt = U,    c the closure error where the step starts.

The arrays hold where the targets are when the step ends, so the rows come with the error against that, which is by
dt U less.
"""

from mb_contact.core.constraints.bilateral import COUNT, FIRST, GEARS
from mb_contact.core.constraints.loop import DRIFT_SPEED, rows_of
from mb_contact.core.jit import NOTHING, kernel, on_demand
from mb_contact.core.tree.spatial import body_point, body_vector, linear, vector, vector_dot, vector_product, vector_sum
from mb_contact.types import CLOSURE_DISTANCE, CLOSURE_POINT


@on_demand(NOTHING)
def row_motions(kin, closures, gears, rows, bil, U):
    """U of the bilateral rows last posed, into ``U[FIRST:]``; those of joint friction have none."""
    row = bil.info[FIRST]
    for i in range(closures.kind.shape[0]):
        count = 0 if closures.released[i] != 0 else rows_of(closures.kind[i])
        for r in range(row, row + count):
            U[r] = _closure_motion(kin, closures, i, rows, r)
        row += count
    last = bil.info[FIRST] + bil.info[COUNT]
    for r in range(row, last - bil.info[GEARS]):
        U[r] = 0.0
    for g in range(bil.info[GEARS]):
        U[last - bil.info[GEARS] + g] = gears.rate[g]


@on_demand(NOTHING)
def drive_rows(kin, closures, gears, dt, rate, error, rows, bil, U):
    """Offsets of the bilateral rows with their motions; U is a workspace."""
    row_motions(kin, closures, gears, rows, bil, U)
    first = bil.info[FIRST]
    for r in range(first, first + bil.info[COUNT]):
        rows.offset[r] += _drift(rate, error[r - first] + dt * U[r], dt) - _drift(rate, error[r - first], dt) - U[r]


@kernel
def _drift(rate, error, dt):
    """Velocity that takes back a part of a closure error."""
    return min(max(rate * error / dt, -DRIFT_SPEED), DRIFT_SPEED)


@kernel
def _closure_motion(kin, closures, i, rows, r):
    """Velocity of closure i's second frame and length in the direction of row r.

    The direction stands in the row: on body a, or on b the other way round.
    """
    a, b = closures.body_a[i], closures.body_b[i]
    if a >= 0:
        turning, along = vector(rows.on_a, r), linear(rows.on_a, r)
    else:
        turning, along = vector_sum((0.0, 0.0, 0.0), -1.0, vector(rows.on_b, r)), linear(rows.on_b, r)
        along = vector_sum((0.0, 0.0, 0.0), -1.0, along)
    spin = body_vector(kin.R, b, (closures.motion[i, 0], closures.motion[i, 1], closures.motion[i, 2]))
    if vector_dot(along, along) == 0.0:
        return vector_dot(turning, spin)
    velocity = body_vector(kin.R, b, (closures.motion[i, 3], closures.motion[i, 4], closures.motion[i, 5]))
    at_a = body_point(kin.R, kin.p, a, vector(closures.p_a, i))
    apart = vector_sum(at_a, -1.0, body_point(kin.R, kin.p, b, vector(closures.p_b, i)))
    if closures.kind[i] == CLOSURE_DISTANCE or closures.kind[i] == CLOSURE_POINT:
        spin = (0.0, 0.0, 0.0)
    return vector_dot(along, vector_sum(velocity, 1.0, vector_product(spin, apart))) + closures.motion[i, 6]
