# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The problem of a time step with Drumwright's friction models: no slip, viscous, Coulomb with viscous.

The rows are those of ``core/step/step.py``: three for each contact, one for each joint limit within reach.  The
tangents of touching contacts hold with equality, X v+ = 0 without slip and X v+ + p / (dt mu_v) = 0 with
viscous friction; normals and limits are complementary.  Together with Coulomb friction the viscous rows are
copies of the tangents, and the step's own ladder solves the polyhedral problem on what they leave.
Everything before and after the solver is the step's.

Penetration is pushed out slowly, as in the step.  Where that leaves no solution (a body squeezed between
two others that must not slip), the step is solved again without it: then standing still is admissible, so
there is one.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.jit import entry, kernel
from mb_contact.core.lcp.ladder import solve_step
from mb_contact.core.lcp.principal_pivoting import PPM_SOLVED
from mb_contact.core.rows.bilateral import COUNT, FIRST, GEARS, INDEPENDENT, PICKED, fixed_impulses, free_bilateral
from mb_contact.core.rows.contact_rows import contact_frames, contact_rows, limit_rows
from mb_contact.core.rows.equality_rows import (
    EQUALITY_ROWS,
    FREE_ROWS,
    GEAR,
    GEAR_ROWS,
    PICKED_ROWS,
    TOTAL_PIVOTS,
    complete,
    condense,
    solve_with_equalities,
)
from mb_contact.core.rows.least_norm import least_norm_response
from mb_contact.core.step.step import ITERATIONS, RUNG, free_row_velocities, pose_bilateral, rows_in_use
from mb_contact.types import OK, TOO_MANY_CONTACTS

NO_SLIP = 0
VISCOUS = 1
COULOMB_VISCOUS = 2

TOUCH = 1e-4  # contacts nearer than this feel friction [m]
RANK_TOLERANCE = 1e-9  # part of its compliance that an equality row must have of its own
GOOD = 1e-8  # residual of a solved step, relative to the largest scaled free velocity; for left-out rows too

# what ended the step, in StepWork.info[RUNG]
RUNG_NONE = 0
RUNG_PIVOTING = 1
RUNG_NO_PUSH_OUT = 2
RUNG_FAILED = 3


@entry
def solve_friction_model(h, model, viscous, eq, ppm):
    """Rows and impulses of the step under one of the three models; a status.

    Parameters
    ----------
    model : int
        NO_SLIP, VISCOUS or COULOMB_VISCOUS.
    viscous : (m,)
        Viscous coefficient of each pair of geometries [N s/m].
    eq : EqualityWork
        For at least ``len(h.rows.dof)`` rows.
    ppm : PpmWork
        For at least as many unknowns as there are contacts and limits.

    Returns
    -------
    int
        OK, or TOO_MANY_CONTACTS where the viscous copies of the tangents do not fit.
    """
    friction_rows(h, model, viscous, eq)
    if model != COULOMB_VISCOUS:
        solve_friction(h, model, eq, ppm)
        return OK
    if not copy_tangents(h, viscous, eq):
        return TOO_MANY_CONTACTS
    solve_both(h, eq)
    return OK


@entry
def friction_rows(h, model, viscous, eq):
    """Rows of contacts and limits, which of them hold with equality, and their free velocities."""
    dt = h.settings[0]
    contact_frames(h.geoms, h.contacts, h.kin, h.memory, h.settings[3], h.frames)
    contact_rows(
        h.geoms, h.contacts, h.kin, h.frames, h.memory, dt, h.settings[1], h.settings[2], h.rows, h.cones, h.sol.state
    )
    limit_rows(
        h.tree, h.joints.velocity_limit, h.kin, h.q, h.work.speed, dt, h.settings[1], h.settings[2], h.memory, h.rows,
        h.cones, h.sol.state,
    )  # fmt: skip
    n_rows = pose_bilateral(h)
    for i in range(eq.info.shape[0]):
        eq.info[i] = 0
    equal = bilateral_equalities(h.bil, eq)
    free_row_velocities(h, n_rows, eq.q)
    for i in range(h.cones.count[0]):
        row = h.cones.start[i]
        eq.hard[i] = row
        if h.cones.dim[i] != 3 or h.contacts.gap[i] > TOUCH or model == COULOMB_VISCOUS:
            continue
        softness = 0.0
        if model == VISCOUS:
            mu_v = viscous[h.contacts.pair[i]]
            if mu_v == 0.0:
                continue
            softness = 1.0 / (dt * mu_v)
        for c in range(1, 3):
            eq.equality[equal] = row + c
            eq.softness[equal] = softness
            equal += 1
    eq.info[EQUALITY_ROWS] = equal
    eq.info[FREE_ROWS] = h.cones.count[0]

@kernel
def bilateral_equalities(bil, eq):
    """Rows of loops and gears as the first rows X, without softness; returns how many."""
    first = bil.info[FIRST]
    count = bil.info[COUNT]
    equal = 0
    for i in range(count):
        bil.diagonal[first + i] = 0.0
        if bil.fixed[i] == 0.0:
            eq.equality[equal] = first + i
            eq.softness[equal] = 0.0
            equal += 1
    eq.info[GEAR_ROWS] = bil.info[GEARS]
    eq.info[GEAR] = first + count - bil.info[GEARS]
    for g in range(eq.info[GEAR], first + count):
        eq.ratio[g] = bil.ratio[g - first]
    bil.info[PICKED] = -1
    return equal


@kernel
def bilateral_impulses(bil, eq, r):
    """Impulses and scales of the rows of loops and gears, as the elimination found them."""
    first = bil.info[FIRST]
    last = first + bil.info[COUNT]
    for i in range(first, last + bil.info[GEARS]):
        r[i] = eq.r[i]
        bil.diagonal[i] = eq.diagonal[i]
    fixed_impulses(r, bil)


@kernel
def count_independent(bil, eq):
    """How many rows of loops, gears and joints that stick the elimination has picked."""
    first = bil.info[FIRST]
    bil.info[INDEPENDENT] = 0
    for k in range(eq.info[PICKED_ROWS]):
        if eq.picked[k] >= first and eq.picked[k] < first + bil.info[COUNT]:
            bil.info[INDEPENDENT] += 1


@entry
def copy_tangents(h, viscous, eq):
    """Viscous rows behind the others, and all others complementary; False if there is no room for them."""
    dt = h.settings[0]
    rows = h.rows
    n_rows = h.cones.rows[0]
    last = rows_in_use(h)
    for r in range(n_rows):
        eq.hard[r] = r
    eq.info[FREE_ROWS] = n_rows
    equal = eq.info[EQUALITY_ROWS]
    for i in range(h.contacts.count[0]):
        mu_v = viscous[h.contacts.pair[i]]
        if mu_v == 0.0 or h.contacts.gap[i] > TOUCH:
            continue
        if last + 2 > rows.dof.shape[0]:
            return False
        for c in range(1, 3):
            row = h.cones.start[i] + c
            rows.body_a[last] = rows.body_a[row]
            rows.body_b[last] = rows.body_b[row]
            for d in range(6):
                rows.on_a[last, d] = rows.on_a[row, d]
                rows.on_b[last, d] = rows.on_b[row, d]
            eq.q[last] = eq.q[row]
            eq.equality[equal] = last
            eq.start[equal] = row  # whose copy it is
            eq.softness[equal] = 1.0 / (dt * mu_v)
            equal += 1
            last += 1
    eq.info[EQUALITY_ROWS] = equal
    return True


@entry
def solve_both(h, eq):
    """The polyhedral problem on what the viscous rows leave, then the sum of both frictions into ``h.sol.r``."""
    n_rows = h.cones.rows[0]
    bilateral = free_bilateral(h.bil)
    last = rows_in_use(h) + eq.info[EQUALITY_ROWS] - bilateral
    if last > 0:
        condense(h.tree, h.kin, h.art, h.com, h.rows, last, RANK_TOLERANCE, eq, h.sol.W, h.sol.q)
        count_independent(h.bil, eq)
        for i in range(n_rows):  # the ladder wants a symmetric matrix
            for j in range(i):
                h.sol.W[i, j] = 0.5 * (h.sol.W[i, j] + h.sol.W[j, i])
                h.sol.W[j, i] = h.sol.W[i, j]
    rung, iterations = solve_step(h.sol, h.cones, h.piv, h.lem)
    h.work.info[RUNG] = rung
    h.work.info[ITERATIONS] = iterations
    for r in range(last):
        eq.r[r] = 0.0
    if eq.info[EQUALITY_ROWS] > 0:
        complete(h.tree, h.kin, h.art, h.rows, last, h.sol.r, eq)
    bilateral_impulses(h.bil, eq, h.sol.r)
    for k in range(bilateral, eq.info[EQUALITY_ROWS]):
        h.sol.r[eq.start[k]] += eq.r[eq.equality[k]]


@entry
def solve_friction(h, model, eq, ppm):
    """Impulses into ``h.sol``; ``h.work.info`` and ``h.sol.judge`` tell how it went."""
    units = h.cones.count[0]
    n_rows = h.cones.rows[0]
    for i in range(h.sol.judge.shape[0]):
        h.sol.judge[i] = 0.0
    h.sol.judge[3] = -1.0
    total = rows_in_use(h)
    h.work.info[RUNG] = RUNG_NONE
    h.work.info[ITERATIONS] = 0
    if total == 0:
        return
    h.work.info[RUNG] = RUNG_PIVOTING
    warm = 0
    for i in range(units):  # units that carried an impulse in the last step
        known = h.frames.known[i] >= 0 if h.cones.dim[i] == 3 else True
        if known and (h.sol.state[i] == 0 or (model == VISCOUS and h.sol.state[i] > 0)):
            eq.start[warm] = i
            warm += 1
    limit = 20 * units + 50
    status = solve_with_equalities(
        h.tree, h.kin, h.art, h.com, h.rows, total, RANK_TOLERANCE, warm, limit, eq, ppm
    )
    count_independent(h.bil, eq)
    h.work.info[ITERATIONS] = eq.info[TOTAL_PIVOTS]
    if not _judge(h, eq) or status != PPM_SOLVED:
        for i in range(n_rows):
            if h.rows.offset[i] < 0.0:
                eq.q[i] -= h.rows.offset[i]
                h.rows.offset[i] = 0.0
        h.work.info[RUNG] = RUNG_NO_PUSH_OUT
        solve_with_equalities(
            h.tree, h.kin, h.art, h.com, h.rows, total, RANK_TOLERANCE, 0, limit, eq, ppm
        )
        h.work.info[ITERATIONS] += eq.info[TOTAL_PIVOTS]
        if not _judge(h, eq):
            h.work.info[RUNG] = RUNG_FAILED
    if h.work.info[RUNG] != RUNG_FAILED:
        least_norm_response(
            h.tree, h.kin, h.art, h.com, h.rows, total, RANK_TOLERANCE, model == VISCOUS, eq, ppm
        )
        _judge(h, eq)
    for r in range(n_rows):
        h.sol.r[r] = eq.r[r]
        h.sol.u[r] = eq.u[r]
    bilateral_impulses(h.bil, eq, h.sol.r)
    for i in range(units):
        row = h.cones.start[i]
        h.sol.state[i] = 0 if eq.r[row] > 0.0 else -1
        if h.cones.dim[i] != 3 or h.sol.state[i] < 0:
            continue
        if model == NO_SLIP:
            if ppm.is_active[i] == 0:
                h.sol.state[i] = 1  # carries a share, but is not in the active set: no warm start
        elif max(abs(eq.u[row + 1]), abs(eq.u[row + 2])) > 1e-8:
            h.sol.state[i] = 1  # reported as slip


@entry
def _judge(h, eq):
    """Residuals of the impulses from the velocities that the sweep gives; True where they are good."""
    scale = 1e-12
    gap = 0.0
    below = 0.0
    worst = -1.0
    judge = h.sol.judge
    judge[3] = -1.0
    for i in range(h.cones.count[0]):
        row = h.cones.start[i]
        s = np.sqrt(eq.diagonal[row])
        z = eq.r[row] * s
        w = eq.u[row] / s
        least = min(z, w)
        if not np.isfinite(z + w):
            least = -1e300
        gap = max(gap, least)
        below = max(below, -least)
        if abs(least) > worst:
            worst = abs(least)
            judge[3] = i
        scale = max(scale, abs(eq.q[row]) / s)
    for i in range(eq.info[EQUALITY_ROWS]):
        row = eq.equality[i]
        c = eq.softness[i]
        s = np.sqrt(eq.diagonal[row] + c)
        error = abs(eq.u[row] + c * eq.r[row]) / s
        if not np.isfinite(error):
            error = 1e300
        below = max(below, error)
        scale = max(scale, abs(eq.q[row]) / s)
    judge[0] = gap
    judge[1] = below
    judge[2] = 0.0
    return max(gap, below) <= GOOD * scale
