# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Loop closures (``tree/closures.py``) as rows of a step's problem, and the threads of screws.

The first equation of J14's q, with the drift that (47) and (54) leave out (docs/constraints.md):

    G v+ + dt dG/dt v + gamma c / dt = 0,

so that ``rows.offset`` is the sum of the last two, the drift term within DRIFT_SPEED.
"""

import numpy as np

from mb_contact.core.constraints.rows import begin_row, row_dot
from mb_contact.core.jit import INTEGER, kernel, on_demand
from mb_contact.core.tree.closures import closure_geometry, place_frames
from mb_contact.core.tree.frames import angular_row
from mb_contact.core.tree.spatial import (
    ZERO,
    add_spatial,
    between,
    body_point,
    body_vector,
    matrix,
    opposite,
    vector,
    vector_dot,
    vector_sum,
    wrench_at,
)
from mb_contact.types import CLOSURE_AXIS, CLOSURE_DISTANCE, CLOSURE_SCREW, CLOSURE_WELD

DRIFT_SPEED = 1.0  # [m/s, rad/s] fastest correction of a closure error


@on_demand(INTEGER)
def closure_rows(closures, kin, dt, rate, first, rows, loop):
    """Rows of all closures from row ``first`` on, their offsets and errors; returns the row after the last.

    ``loop.alpha`` comes in.  A thread that has come off has no rows.
    """
    row = first
    for i in range(closures.kind.shape[0]):
        if closures.released[i] != 0:
            continue
        start = row
        row = closure_geometry(closures, i, kin, row, first, rows, loop)
        for r in range(start, row):
            _finish(r, closures.body_a[i], closures.body_b[i], dt, rate, loop.error[r - first], loop.alpha, rows)
    return row


@kernel
def _finish(r, a, b, dt, rate, error, alpha, rows):
    """Bodies of a row; its bias, which stands in ``rows.offset``, to the offset."""
    begin_row(rows, r, a, b)
    product = rows.offset[r] + row_dot(rows, r, alpha)
    rows.offset[r] = dt * product + min(max(rate * error / dt, -DRIFT_SPEED), DRIFT_SPEED)


@kernel
def thread_row(closures, i, kin, rows, row):
    """The rate of a screw's turn, z_b . (omega_a - omega_b), as a row without offset: friction of its thread.

    Friction that grows with the load acts along the flanks: the row is their slip over the radius, the turn and
    lead / radius^2 times the way along the axis.
    """
    a = closures.body_a[i]
    b = closures.body_b[i]
    R = matrix(closures.R_b, i)
    z = body_vector(kin.R, b, (R[2], R[5], R[8]))
    angular_row(rows, row, z)
    begin_row(rows, row, a, b)
    rows.offset[row] = 0.0
    if closures.climb[i] != 0.0:
        x, climb = body_point(kin.R, kin.p, a, vector(closures.p_a, i)), vector_sum(ZERO, closures.climb[i], z)
        if a >= 0:
            add_spatial(rows.on_a, row, wrench_at(vector_sum(x, -1.0, vector(kin.p, a)), climb))
        if b >= 0:
            add_spatial(rows.on_b, row, wrench_at(vector_sum(x, -1.0, vector(kin.p, b)), opposite(climb)))


@kernel
def release_closures(closures, kin, memory, loop, dt):
    """Mark screws at the end of their threads, at the poses in ``kin``, and welds that break; returns how many.

    With 1: the step of dt [s] that has just ended still had their rows; with 2 from the next one on.
    """
    count = row = 0
    for i in range(closures.kind.shape[0]):
        if memory.released[i] == 1:
            memory.released[i] = 2
        if memory.released[i] != 0:
            continue
        if _comes_off(closures, i, kin, loop) or _breaks(closures, i, memory.loop, row, dt):
            memory.released[i] = 1
            count += 1
        row += rows_of(closures.kind[i])
    return count


@kernel
def rows_of(kind):
    """Rows of a kind of closure."""
    if kind == CLOSURE_WELD:
        return 6
    if kind == CLOSURE_AXIS or kind == CLOSURE_SCREW:
        return 5
    return 1 if kind == CLOSURE_DISTANCE else 3


@kernel
def _comes_off(closures, i, kin, loop):
    """Whether closure i is a thread at its end."""
    if closures.end[i] == np.inf:
        return False
    place_frames(closures, i, kin, loop)
    R = loop.axes
    return vector_dot((R[1, 0, 2], R[1, 1, 2], R[1, 2, 2]), between(loop.point, 0, loop.point, 1)) > closures.end[i]


@kernel
def _breaks(closures, i, impulse, row, dt):
    """Whether closure i, a weld, bears more than it holds: its impulses stand from ``row`` on, moments first."""
    if closures.break_force[i] == np.inf and closures.break_torque[i] == np.inf:
        return False
    moment = impulse[row] ** 2 + impulse[row + 1] ** 2 + impulse[row + 2] ** 2
    force = impulse[row + 3] ** 2 + impulse[row + 4] ** 2 + impulse[row + 5] ** 2
    return force > (dt * closures.break_force[i]) ** 2 or moment > (dt * closures.break_torque[i]) ** 2
