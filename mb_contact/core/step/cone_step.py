# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The problem of a step under ``friction_model: coulomb_cone``, posed, solved and judged in one compiled call.

Rows, W and q are those of the polyhedral step, with rows for torsion and rolling behind them.  The ladder:

    NEWTON          from the last step's impulses
    FROM_PYRAMID    from the impulses that pivoting finds for the polyhedral cone
    CONTINUATION    along proximal problems from the best of these, above MANY rows; below, INTERIOR is quicker
    INTERIOR        the interior point, ended by Newton, from two starts
    PROXIMAL        proximal points
    FROM_LADDER     from what the whole polyhedral ladder finds
    BEST            the least residual of all of these, and of the polyhedral impulses themselves
    NO_PUSH_OUT     before BEST is accepted: all of it again without push-out velocities

None of them is believed: after each the natural map of Coulomb's law is measured from W, q and the impulses.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.cone.judge import INFEASIBLE, NATURAL, VIOLATION, judge_units
from mb_contact.core.cone.problem import scale_problem, scale_velocities, unit_scales
from mb_contact.core.cone.proximal import BUDGET, continuation
from mb_contact.core.cone.rows import cone_units, contact_moments, moment_rows, turn_frames, warm_impulses
from mb_contact.core.cone.solver import solve_cone
from mb_contact.core.cone.workspace import blocks_view, factors_view, interior_view, newton_view, units_view
from mb_contact.core.jit import entry, kernel
from mb_contact.core.lcp.block_pattern import eliminate, gather_blocks, place_factors
from mb_contact.core.lcp.ladder import PIVOT_LIMIT, solve_step
from mb_contact.core.lcp.pivoting import pivot_solve
from mb_contact.core.step.step import ITERATIONS, RUNG, SIGMA, drop_push_out, pose_frames, pose_rows, row_system
from mb_contact.types import NOT_FINITE, OK

NONE = 0  #: what ended the climb
NEWTON = 1
FROM_PYRAMID = 2
CONTINUATION = 3
INTERIOR = 4
PROXIMAL = 5
FROM_LADDER = 6
BEST = 7
NO_PUSH_OUT = 8

TOLERANCE = 1e-10  #: natural residual asked of the solver, relative to the scaled q
ROUNDING = 1e-12  #: of the continuation, which ends where every contact is good enough: |q| is large while bodies fall
GOOD = 1e-9  #: natural residual of a unit, in sqrt(N s m/s), up to which a step counts as solved
SURE = 0.5  #: of GOOD in scaled units: they differ from the judge's by the root of 3 at most
STILL = 1e-9  #: slip up to which a contact sticks [m/s]
LIMIT = 60  #: interior-point steps of an attempt
POINTS = 60  #: proximal points
DENSE = 0.5  #: share of entries in the factors above which dense ones are faster
MANY = 180  #: rows above which the dense rungs (FROM_PYRAMID and FROM_LADDER) take seconds and are passed over
LEAST_DENSE = 48  #: rows below which they never are


@entry
def solve_cone_contacts(h, c):
    """Rows and impulses of the step; a status."""
    pose_frames(h)
    turn_frames(c.surfaces, h.geoms, h.contacts, h.kin, h.frames, c.mu)
    pose_rows(h)
    plain = h.cones.rows[0]
    moment_rows(c.surfaces, h.contacts, h.frames, h.rows, h.cones, c.extra)
    row_system(h)
    for k in range(h.sol.judge.shape[0]):
        h.sol.judge[k] = 0.0
    h.sol.judge[3] = -1.0
    h.work.info[RUNG] = NONE
    h.work.info[ITERATIONS] = 0
    if h.cones.count[0] == 0:
        return OK
    rows, groups = cone_units(h.cones, h.contacts, c.surfaces, c.mu, c.extra, c.units, c.source)
    _climb(h, c, plain, rows, groups)
    if not h.sol.judge[0] < np.inf:
        return NOT_FINITE
    _states(h.cones, h.sol)
    return OK


@entry
def _climb(h, c, plain, rows, groups):
    """The ladder; ``plain`` rows of the step are those of the polyhedral problem."""
    m = h.cones.count[0]
    sol = h.sol
    units = units_view(c, m, rows, groups)
    adjacent = c.adjacent[: m * m].reshape((m, m))
    number, entries = gather_blocks(sol.W, c.source, units.start, adjacent, c.blocks)
    blocks = blocks_view(c, m, number, entries)
    later, filled, dense = _order(c, blocks, m, rows, entries)
    factors = factors_view(c, m, rows, later, number, filled, dense)
    place_factors(blocks, adjacent, c.order_work[0], factors)
    unit_scales(blocks, units)
    q = c.q[:rows]
    _gather(sol.q, c.source, q)
    scale_problem(blocks, q, units)
    S = interior_view(c, m, rows, groups)
    N = newton_view(c, m, rows)
    for a in range(h.cones.rows[0]):
        sol.r[a] = 0.0
    warm = warm_impulses(h.contacts, h.frames, h.memory, c.extra, c.surfaces, sol.r)
    last = INTERIOR if rows > MANY else BEST  # where the rungs above take seconds, the push-out goes before them
    first = NEWTON if warm else FROM_PYRAMID
    rung, total = _rungs(h, c, blocks, q, units, factors, S, N, plain, first, last)
    if rung == BEST:
        dropped = drop_push_out(h)
        if dropped:
            _gather(sol.q, c.source, q)
            scale_velocities(q, units)
        if dropped or last < BEST:
            first = FROM_PYRAMID if dropped else last
            rung, more = _rungs(h, c, blocks, q, units, factors, S, N, plain, first, BEST)
            total += more
            rung = NO_PUSH_OUT if dropped and rung != BEST else rung
    h.work.info[RUNG] = rung
    h.work.info[ITERATIONS] = total


@kernel
def _gather(x, source, y):
    """y := x[source]."""
    for a in range(y.shape[0]):
        y[a] = x[source[a]]


@entry
def _rungs(h, c, blocks, q, units, factors, S, N, plain, first, last):
    """From rung ``first`` up to the one before ``last``, starting with ``h.sol.r``.

    Returns what ended the climb, BEST if nothing did, and the iterations.
    """
    sol = h.sol
    rows = q.shape[0]
    step_rows = h.cones.rows[0]
    r = c.r[:rows]
    work = c.work[: 6 * rows].reshape((6, rows))
    _row_scales(units, c.row_scale)
    for a in range(step_rows):
        c.best[a] = 0.0
    least = np.inf
    if first > FROM_PYRAMID:  # what a first climb has found
        least = _consider(h, c, units, plain, least)
    total = 0
    end = BEST
    for rung in range(first, last):
        if rung == CONTINUATION and rows <= MANY:
            continue
        if rung == FROM_PYRAMID or rung == FROM_LADDER:
            if rows > MANY:
                continue
            total += _polyhedral(h, plain, rung == FROM_LADDER)
            least = _consider(h, c, units, plain, least)
        for a in range(rows):
            r[a] = sol.r[c.source[a]] / c.row_scale[a]
        if rung == CONTINUATION:
            enough = SURE * GOOD / units.unit[0]
            _, interior, newton = continuation(
                blocks, q, units, factors, S, N, r, work, ROUNDING, enough, LIMIT, BUDGET
            )
        else:
            steps = LIMIT if rung == INTERIOR or rung == PROXIMAL else 0
            points = POINTS if rung == PROXIMAL else 0
            _, _, interior, newton, _ = solve_cone(
                blocks, q, units, factors, S, N, r, work, steps == 0, steps, points, TOLERANCE
            )
        total += interior + newton
        for a in range(step_rows):
            sol.r[a] = 0.0
        for a in range(rows):
            sol.r[c.source[a]] = r[a] * c.row_scale[a]
        least = _consider(h, c, units, plain, least)
        if least <= GOOD:
            end = rung
            break
    for a in range(step_rows):
        sol.r[a] = c.best[a]
    _judge(h, c, units, plain)
    return end, total


@entry
def _polyhedral(h, plain, whole_ladder):
    """Impulses of the polyhedral cone into ``h.sol``, without torsion and rolling; returns the iterations."""
    sol = h.sol
    step_rows = h.cones.rows[0]
    h.cones.rows[0] = plain
    if whole_ladder:
        _, total = solve_step(sol, h.cones, h.piv, h.lem)
    else:
        _, total = pivot_solve(sol.W, sol.q, h.cones, h.piv, sol.state, sol.r, sol.u, PIVOT_LIMIT)
    h.cones.rows[0] = step_rows
    for a in range(plain, step_rows):
        sol.r[a] = 0.0
    return total


@entry
def _order(c, blocks, m, rows, entries):
    """Pattern of the factors; (later neighbours, their entries, ``rows`` where dense ones are faster, else 0)."""
    adjacent = c.adjacent[: m * m].reshape((m, m))
    order = c.factors.order
    first = c.factors.first
    dense = rows >= LEAST_DENSE and entries > DENSE * rows * rows
    later = 0
    filled = 0
    if not dense:
        later, filled = eliminate(blocks, adjacent, c.order_work[0], c.order_work[1], order, first)
        dense = rows >= LEAST_DENSE and filled > DENSE * rows * rows
    if not dense:
        return later, filled, 0
    first[0] = 0
    for i in range(m):
        order[i] = i
        first[i + 1] = first[i] + m - 1 - i
        for j in range(m):
            adjacent[i, j] = 1
    return m * (m - 1) // 2, rows * rows, rows


@kernel
def _row_scales(units, row_scale):
    """What an impulse of the scaled problem is in N s (or N m s)."""
    for i in range(units.kind.shape[0]):
        for a in range(units.start[i], units.start[i + 1]):
            row_scale[a] = units.scale[i] * units.mu[a] * units.unit[0]


@entry
def _consider(h, c, units, plain, least):
    """Judge ``h.sol.r`` and keep it if it is the best so far; returns the least residual."""
    residual = _judge(h, c, units, plain)
    if residual < least:
        for a in range(h.cones.rows[0]):
            c.best[a] = h.sol.r[a]
        return residual
    return least


@entry
def _judge(h, c, units, plain):
    """Fill ``h.sol.judge`` from W, q and the impulses alone; returns the worse of natural map and infeasibility.

    Each unit in the scale that gives its force rows a unit diagonal, so in sqrt(N s m/s); the cone violation in N s.
    """
    sol = h.sol
    W = sol.W
    step_rows = h.cones.rows[0]
    for a in range(step_rows):
        t = sol.q[a]
        for b in range(step_rows):
            t += W[a, b] * sol.r[b]
        sol.u[a] = t
    rows = units.mu.shape[0]
    r = c.unscaled[:rows]
    u = c.u[:rows]
    for a in range(rows):
        r[a] = sol.r[c.source[a]]
        u[a] = sol.u[c.source[a]]
    m = units.kind.shape[0]
    for i in range(m):
        c.unit_scale[i] = 1.0
    judge_units(units, r, u, c.unit_scale, c.measures, c.newton.length, c.newton.slope)
    violation = 0.0
    for i in range(m):
        violation = max(violation, c.measures[i, VIOLATION])
        mean = 0.0
        count = 0
        for a in range(units.start[i], units.start[i + 1]):
            b = c.source[a]
            if b < plain:
                mean += W[b, b]
                count += 1
        c.unit_scale[i] = np.sqrt(count / mean) if mean > 0.0 else 1.0
    judge_units(units, r, u, c.unit_scale, c.measures, c.newton.length, c.newton.slope)
    judge = sol.judge
    judge[0] = 0.0
    judge[1] = 0.0
    judge[2] = violation
    worst = -1.0
    for i in range(m):
        if not c.measures[i, NATURAL] <= worst:
            worst = c.measures[i, NATURAL]
            judge[3] = i
        judge[0] = max(judge[0], c.measures[i, NATURAL])
        judge[1] = max(judge[1], c.measures[i, INFEASIBLE])
    return max(judge[0], judge[1])


@kernel
def _states(cones, sol):
    """Separate, stick or slip."""
    for i in range(cones.count[0]):
        row = cones.start[i]
        slides = cones.dim[i] == 3 and np.hypot(sol.u[row + 1], sol.u[row + 2]) > STILL
        sol.state[i] = -1 if sol.r[row] <= 0.0 else (1 if slides else 0)


@entry
def report_cones(h, c):
    """What the finished step's report lacks: sigma of Coulomb's law is the slip speed itself, and moments."""
    for i in range(h.contacts.count[0]):
        h.work.report[i, SIGMA] = np.hypot(h.sol.u[3 * i + 1], h.sol.u[3 * i + 2])
    contact_moments(
        c.surfaces, h.geoms, h.contacts, h.frames, c.extra, h.sol.r, h.memory, h.work.geom_impulse
    )
