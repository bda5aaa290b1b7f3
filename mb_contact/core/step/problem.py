# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""From rows to impulses, shared by steps, impacts and the closing of loops.

Each of them poses its rows, says which laws they have and writes free velocities and warm impulses; then
``assemble_problem`` and ``solve`` are called, and it goes on with the impulses.
"""

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.constraints.bilateral import COUNT, FIRST, PARTNERS
from mb_contact.core.constraints.gear import combine_velocities
from mb_contact.core.constraints.rows import row_velocities
from mb_contact.core.handle import BUDGET, ONLY_ROWS, TIED, TOLERANCE, TWICE
from mb_contact.core.jit import NOTHING, TRUTH, kernel, on_demand
from mb_contact.core.solve.assemble import (
    assemble_by_bodies,
    assemble_by_rows,
    choose_form,
    free_immobile,
    set_scales,
    set_velocities,
    try_by_nodes,
)
from mb_contact.core.solve.dependent import tie_rows
from mb_contact.core.solve.friction import DIRECTIONS
from mb_contact.core.solve.islands import sort_islands
from mb_contact.core.solve.newton import (
    EVEN,
    LEAST_EPS,
    NO_MOTION,
    OVER_BUDGET,
    RESUMED,
    SETTLED,
    SOLVED,
    TIGHT,
    TOO_LARGE,
    Goal,
    anew,
    solve_island,
    without_rays,
)
from mb_contact.core.solve.newton_step import copy_rows, keeps
from mb_contact.core.solve.own_compliance import add_own
from mb_contact.core.solve.search import first_share, search
from mb_contact.core.solve.system import BLOCKS, BY_BODIES, BY_NODES, BY_ROWS, ISLANDS, MASSES, ROWS
from mb_contact.core.step.need import CORRECTED, ROUND
from mb_contact.core.step.push_out import drop_gaps, drop_push_out, drop_small_gaps
from mb_contact.core.step.sleep import has_sleepers, is_nearly_at_rest, sleeps
from mb_contact.core.workspace import CONTACT, ITERATIONS, STAGE, UNILATERAL
from mb_contact.types import (
    OK,
    SOLVER_LEVELLED,
    SOLVER_NEWTON,
    SOLVER_NO_PUSH_OUT,
    SOLVER_NONE,
    SOLVER_OVER_BUDGET,
    SOLVER_WARM,
    SYSTEM_TOO_SMALL,
)

STEP, AGAIN, IMPACT, ANEW = range(4)  #: what a problem is solved for
NODES_BUDGET = 60  # Newton steps by nodes, then the problem is posed otherwise
REST = 1e-3  # part of the tolerance that an island at rest is solved to, in so many Newton steps:
REST_BUDGET = 40
TIGHTER = 0.1  # tolerance of a phase of an impact beside that of a step


@kernel
def assemble_problem(h):
    """Blocks, islands, operator, scales, velocities and start of ``h.system``; returns a status.

    ``h.rows`` and ``h.bil`` hold all rows, ``h.art`` the articulated inertias, ``h.sol.q`` free velocities and
    ``h.sol.r`` impulses to start from.

    Reads: art, bil, compliance, forest, friction, kin, rows, sol, solver, system, tree.
    Writes: art, compliance, forest, rows, sol, system.
    """
    for i in range(rows_in_use(h)):
        h.sol.ray[i] = 0.0
        h.sol.pushed[i] = 0.0
    h.sol.solved[0] = 0
    return pose(h, False)


@kernel
def pose(h, again):
    """``assemble_problem`` without forgetting whose push-out was dropped; a status.

    ``again`` where the same contacts and joints have had rows in this pose, which differ a little now: a problem by
    bodies keeps their scales.

    Reads: art, bil, compliance, forest, friction, kin, rows, sol, solver, system, tree.
    Writes: art, compliance, forest, rows, sol, system.
    """
    ties = h.solver[TIED] != 0.0 and rows_in_use(h) <= h.system.W.shape[0]
    only_rows = h.solver[ONLY_ROWS] != 0.0 or ties
    h.system.tied[0] = 0
    h.system.soft[0] = 1 if h.soft.start.shape[0] > 0 else 0
    status = assemble_system(h, h.system, h.rows, h.bil, only_rows, again)
    fill(h.system.count[ROWS], h.system.follower, 0)
    if status == OK and ties:
        tie_rows(h.system)
    if status == OK:
        start(h)
    return status


@kernel
def assemble_system(h, P, rows, bil, only_rows, again):
    """Blocks, islands, operator and scales of the system P; returns a status.

    Reads: art, compliance, forest, friction, kin, tree.  Writes: art, compliance, forest.

    Parameters
    ----------
    rows, bil : Rows, BilateralWork
        All rows, posed.
    only_rows : bool
        W by rows whatever it costs.
    again : bool
        As for ``pose``.
    """
    info = bil.info
    again = again and P.form[0] == BY_BODIES and P.soft[0] == 0
    sort_islands(P, h.forest, rows, bil, info[FIRST] + info[COUNT], h.friction.model[DIRECTIONS])
    if P.count[BLOCKS] == 0:
        return OK
    n_rows = info[FIRST] + info[COUNT] + info[PARTNERS]
    no_masses = only_rows or h.art.aggregates.base.shape[0] > 0
    choose_form(P, no_masses, n_rows)
    uneven = P.unit[MASSES] < EVEN and not no_masses  # W would lose the digits of the heavy bodies
    if uneven:
        P.form[0] = BY_BODIES
    if not (only_rows or uneven) and try_by_nodes(P, h.forest, h.tree, h.kin, h.art, h.compliance, rows, bil):
        return OK
    if P.form[0] == BY_ROWS:
        assemble_by_rows(P, h.tree, h.kin, h.art, h.compliance, rows, bil, n_rows)
    elif not assemble_by_bodies(P, h.forest, h.tree, h.kin, rows, bil, again):
        return SYSTEM_TOO_SMALL
    set_scales(P, h.compliance, rows)
    return OK


@kernel
def start(h):
    """Velocities and warm impulses of the posed system from ``h.sol``.

    Reads: bil, kin, rows, sol, system.  Writes: sol, system.
    """
    P, before = h.system, h.sol.before
    set_velocities(P, h.sol.q)
    row_velocities(h.rows, rows_in_use(h), h.kin.V, before)
    combine_velocities(before, h.bil)
    for i in range(P.count[ROWS]):
        row = P.source[i]
        P.r[i] = h.sol.r[row] if P.follower[i] == 0 else 0.0
        P.work.before[i] = before[row] + h.rows.offset[row]
    if P.soft[0] != 0:
        add_own(P.blocks.own, 0, P.count[ROWS], P.r, P.work.before)


@kernel
def start_phase(h, q, theta):
    """Velocities q of the posed system, normal impulses of at least theta, and a cold start: a phase of an impact.

    Reads: system.  Writes: system.
    """
    P = h.system
    set_velocities(P, q)
    for b in range(P.count[BLOCKS]):
        i = P.blocks.start[b]
        if P.blocks.kind[b] == CONTACT or P.blocks.kind[b] == UNILATERAL:
            P.blocks.mu[i] = theta[P.source[i]] if P.follower[i] == 0 else 0.0
    fill(P.count[ROWS], P.r, 0.0)


@kernel
def rows_in_use(h):
    """Rows of contacts, limits, loops, tendons and gears, with the partner rows of the last two."""
    return h.bil.info[FIRST] + h.bil.info[COUNT] + h.bil.info[PARTNERS]


@kernel
def solve(h, purpose):
    """Impulses ``sol.r`` of the posed problem, island by island; ``work.info`` tells how they were found; a status.

    ``purpose`` is STEP, AGAIN for a step's problem with other velocities, IMPACT for a phase of an impact, or ANEW for
    a step's problem from zero.

    An island of a step that shows a ray from two starts is solved without its push-out, and so it stays until another
    problem is posed.

    Reads: art, bil, compliance, contacts, forest, kin, memory, need, rows, settings, sleep, sol, solver, system, tree.
    Writes: art, compliance, forest, rows, sol, system, work.
    """
    P, budget, goal, total = h.system, int(h.solver[BUDGET]), _goal(h, purpose), 0
    stage, some = SOLVER_NONE, has_sleepers(h)
    if P.form[0] == BY_NODES and some and sleeps(h, 0):
        stage = SOLVER_WARM
    elif P.form[0] == BY_NODES:
        copy_rows(0, P.count[ROWS], P.r, P.work.kept)
        part = min(budget, NODES_BUDGET)
        status, total, _ = solve_island(P, 0, without_rays(goal), part)
        stage = SOLVER_NEWTON if total > 0 else SOLVER_WARM
        if status != SOLVED and not _pose_otherwise(h, P):
            return SYSTEM_TOO_SMALL
    if purpose == STEP:
        drop_small_gaps(h)
    for i in range(rows_in_use(h)):
        if h.sol.pushed[i] != 0.0:
            stage = max(stage, SOLVER_LEVELLED)
        if h.sol.ray[i] != 0.0:  # of this problem, solved before for other velocities
            stage = max(stage, SOLVER_NO_PUSH_OUT)
    for i in range(P.count[ISLANDS] if P.form[0] != BY_NODES else 0):
        status, steps, way = OVER_BUDGET, 0, SOLVER_WARM
        if some and sleeps(h, i):
            status = SOLVED
        elif purpose == STEP and is_nearly_at_rest(h, i):
            status, steps, way = _solve_at_rest(P, i, goal)
            total += steps
        if status != SOLVED:
            status, steps, way = _solve_apart(h, P, i, purpose, goal, budget)
            total += steps
        if status == TOO_LARGE:
            return SYSTEM_TOO_SMALL
        stage = max(stage, way)
    publish_impulses(h)
    h.work.info[STAGE] = stage
    h.work.info[ITERATIONS] = total
    h.sol.solved[0] = 1
    return OK


@kernel
def publish_impulses(h):
    """``sol.r`` of the caller's rows from the impulses of the system.

    Reads: bil, sol, system.  Writes: sol.
    """
    fill(rows_in_use(h), h.sol.r, 0.0)
    for i in range(h.system.count[ROWS]):
        h.sol.r[h.system.source[i]] += h.system.r[i]


@kernel
def _goal(h, purpose):
    """What is asked of the islands of the posed problem."""
    tolerance = h.solver[TOLERANCE] * (TIGHTER if purpose == IMPACT else 1.0)
    taken = SETTLED if purpose == STEP and h.memory.unsettled[0] != 0 else TIGHT
    if purpose == STEP and (h.need.info[ROUND] > 0 or h.need.info[CORRECTED] > 0):
        taken = RESUMED  # most islands have their impulses already
    polish = purpose != STEP or h.solver[TWICE] == 0.0
    return Goal(tolerance, taken, purpose == STEP, purpose < IMPACT, polish, LEAST_EPS)


@kernel
def _solve_at_rest(P, island, goal):
    """Impulses of an island that is nearly at rest: status, Newton steps, how they were found."""
    closer = Goal(REST * goal.tolerance, TIGHT, goal.known, False, goal.polish, goal.least)
    status, steps, left = solve_island(P, island, closer, REST_BUDGET)
    first, last = P.blocks.start[P.island[island]], P.blocks.start[P.island[island + 1]]
    enough = status != TOO_LARGE and keeps(P, first, last, goal.tolerance, 1.0, left)
    return SOLVED if enough else OVER_BUDGET, steps, SOLVER_NEWTON


@kernel
def _solve_apart(h, P, island, purpose, goal, budget):
    """Impulses of an island by rows or by bodies: the solver's status, all its Newton steps, how they were found.

    Where a small island has spent half of the budget its search begins again, without small gaps and penetrations; from
    zero where it has spent all.  Where a ray shows itself push-out is dropped.  In an impact nothing is.
    """
    first_row, last_row = P.blocks.start[P.island[island]], P.blocks.start[P.island[island + 1]]
    part = budget if purpose >= IMPACT else first_share(P, island, budget)
    way, total, first = SOLVER_NONE, 0, purpose != IMPACT
    while True:
        status, steps, _ = search(P, island, goal, part)
        total, goal = total + steps, anew(goal)
        if status == OVER_BUDGET and first:
            first, left = False, budget - part
            if drop_gaps(h, P, island):
                way, left = SOLVER_LEVELLED, max(left, part)
            part = left
            if part > 0:
                continue
        if status != NO_MOTION:
            break
        _keep_ray(h, P, island)
        if not drop_push_out(h, P, island, np.inf):
            break
        way, first, part, goal = SOLVER_NO_PUSH_OUT, False, budget, without_rays(goal)
        P.r[first_row:last_row] = 0.0
    if status != SOLVED:
        return status, total, SOLVER_OVER_BUDGET
    return status, total, max(way, SOLVER_NEWTON if total > 0 else SOLVER_WARM)


@on_demand(TRUTH)
def _pose_otherwise(h, P):
    """A problem that was posed by nodes once more, from the same velocities and impulses; False where J does not fit.

    That form has no rays, no other starts and no scales of rows along which nothing moves.
    """
    P.form[0] = BY_BODIES
    if h.art.aggregates.base.shape[0] > 0:
        assemble_by_rows(P, h.tree, h.kin, h.art, h.compliance, h.rows, h.bil, rows_in_use(h))
    elif not assemble_by_bodies(P, h.forest, h.tree, h.kin, h.rows, h.bil, False):
        return False
    set_scales(P, h.compliance, h.rows)
    free_immobile(P)
    copy_rows(0, P.count[ROWS], P.work.kept, P.r)
    return True


@on_demand(NOTHING)
def _keep_ray(h, P, island):
    """The ray of an island, d with d* D d = 1, into ``sol.ray``."""
    first = P.blocks.start[P.island[island]]
    last = P.blocks.start[P.island[island + 1]]
    size = 0.0
    for i in range(first, last):
        size += P.blocks.D[i] * P.work.rest[i] * P.work.rest[i]
    for i in range(first, last):
        h.sol.ray[P.source[i]] += P.work.rest[i] / np.sqrt(size)
