# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What turning adds to the way of contacts, taken out of the positions where the step ends.

The row of a contact moves its points straight on with the velocities of the step's end.  Shapes that turn end deeper
than that by the second order of the step, (omega dt)^2 / 2 of their size.  Rows that ask for that much more would end
right, and make the bodies faster by it over dt, which is as wrong as the depth was.  So the posed problem is solved
once more with such rows, and what its motion is ahead of the first one's is added to the positions alone.

A contact that rolls on is an exception: what it is asked for, d, its row keeps as a velocity.  The place moves over the
shapes within the step, so that what parts with d / dt where the step begins approaches with d / dt where it ends, which
the next step reverses again; a velocity of zero would become one of -2 d / dt, and all of that would be lost in each
step.  No row asks for a larger velocity than that with which its points approached: impulses r then do no work but that
of the push-out, r (u + u_before) / 2 <= 0, and what the bodies are lifted by, as by corrections.
"""

import math

from mb_contact.core.arrays import copy, fill
from mb_contact.core.collision.mesh_tree import SHALLOW
from mb_contact.core.constraints.bilateral import LOADS
from mb_contact.core.constraints.contact import normal_velocity
from mb_contact.core.handle import DT
from mb_contact.core.jit import NOTHING, kernel, on_demand
from mb_contact.core.step.need import (
    ASKED,
    CORRECTED,
    IMPULSES,
    OFFSETS,
    PUSH_OUT,
    RAY,
    ROUND,
    SOLVER,
    VELOCITIES,
)
from mb_contact.core.step.problem import STEP, rows_in_use, solve, start
from mb_contact.core.step.sleep import has_sleepers, hold_velocities
from mb_contact.core.step.step import apply_impulses, settle
from mb_contact.core.tree.kinematics import body_velocities
from mb_contact.core.tree.spatial import STILL, put_spatial
from mb_contact.core.workspace import ITERATIONS, STAGE
from mb_contact.types import OK, SOLVER_NO_PUSH_OUT, SOLVER_OVER_BUDGET

MOST_CORRECTIONS = 2  #: of positions in a step
TURNS = 1e-6  #: depth from which shapes that are no meshes are asked to end farther apart, and contacts roll on [m]
STRAY = 1000.0  #: end that a row tells, in depths found, from which it is not the row of what is there


@kernel
def deepest_before(h, pair):
    """Least gap of a pair's contacts where the step starts [m].  Reads: contacts, need.  Writes: nothing."""
    before, deep = h.need.before if h.need.info[ROUND] > 0 else h.contacts, math.inf
    for j in range(before.count[0]):
        if before.pair[j] == pair:
            deep = min(deep, before.gap[j])
    return deep


@kernel
def ask_for(h, k, end, least, rolls):
    """Have contact k, which has the gap ``end`` where the step ends, end no deeper than its pair was at the start [m].

    Where it is deeper than that by ``least`` [m]; ``correct_positions`` sees to it.  Who was deep comes out by SHALLOW.
    Its row, which told another end, is asked for the difference; not where it told of another place.  One that touches,
    presses and ``rolls`` on is to end where its row told, by its velocity as far as it approached.

    Reads: contacts, geoms, kin, need, rows, settings, sol.  Writes: need.
    """
    way, gap = h.settings[DT] * h.sol.u[3 * k], h.contacts.gap[k]
    if rolls and h.need.info[CORRECTED] == 0 and h.sol.r[3 * k] > 0.0 and gap <= TURNS * h.geoms.unit[0]:
        more = gap + way - h.settings[DT] * h.rows.offset[3 * k] - end
        approach = -h.settings[DT] * normal_velocity(h.geoms, h.contacts, h.kin.p, h.kin.V, k)
        if more > least and approach > 0.0:
            h.need.asked[k] = max(h.need.asked[k], min(more, approach))
            h.need.rolls[k] = h.need.info[ASKED] = 1
            return
    more = min(deepest_before(h, h.contacts.pair[k]) + SHALLOW * h.geoms.unit[0], 0.0) - end
    told = way + normal_velocity(h.geoms, h.contacts, h.kin.p, h.need.V, k)
    if more > least and told <= STRAY * more:
        h.need.asked[k] = max(h.need.asked[k], more + told)
        h.need.info[ASKED] = 1


@kernel
def ask_for_nothing(h):
    """Positions end where the velocities lead.  Reads: contacts.  Writes: need."""
    need, count = h.need, h.contacts.count[0]
    fill(need.ahead.shape[0], need.ahead, 0.0)
    fill(count, need.asked, 0.0)
    fill(need.rolls.shape[0], need.rolls, 0)
    for i in range(need.V.shape[0]):
        put_spatial(need.V, i, STILL)
    need.info[ASKED] = need.info[CORRECTED] = 0


@kernel
def has_asked(h, pair):
    """Whether a contact of the pair has been asked to end farther apart.  Reads: contacts, need.  Writes: nothing."""
    for k in range(h.contacts.count[0]):
        if h.contacts.pair[k] == pair and (h.need.asked[k] > 0.0 or h.need.rolls[k] != 0):
            return True
    return False


@on_demand(NOTHING)
def correct_positions(h):
    """What is to be added to the way of the step [rad, m], into ``need.ahead``; the solution stays the step's own.

    First, and once, contacts that roll on have their rows ask for more: that solution is the step's from then on.
    Where a problem is not solved nothing more is corrected in the step, and ``need.ahead`` stays.

    Reads: art, bil, compliance, contacts, forest, hinges, joints, kin, memory, need, q, rows, settings, sleep, sol,
    solver, system, tree, v, work.
    Writes: art, bil, compliance, forest, hinges, need, rows, sol, system, work.
    """
    need, info = h.need, h.work.info
    need.info[ASKED] = 0
    need.info[CORRECTED] += 1
    found = info[STAGE] != SOLVER_OVER_BUDGET and h.sol.solved[0] != 0 and h.bil.info[LOADS] == 0
    if found and need.info[CORRECTED] == 1 and _pose(h, True):
        found = _solve_again(h)
        if found:
            _go_on(h)
        else:
            _restore(h)
    if found and _pose(h, False):
        found = _solve_again(h)
        copy(h.v.shape[0], h.work.v_next, need.way)
        _restore(h)
        for i in range(h.v.shape[0] if found else 0):
            need.ahead[i] = h.settings[DT] * (need.way[i] - h.work.v_next[i])
        body_velocities(h.tree, h.kin, need.ahead, need.V)
    if not found:
        need.info[CORRECTED] = MOST_CORRECTIONS


@kernel
def _pose(h, rolls):
    """Have contacts that roll on, or all others, ask for more in the posed problem; False where none does.

    Of those that roll ``need.rolls`` is 1 until they have asked, and 2 from then on.
    """
    found = False
    for k in range(h.contacts.count[0]):
        found = found or (h.need.asked[k] > 0.0 and (h.need.rolls[k] == 1) == rolls)
    if not found:
        return False
    _keep(h)
    for k in range(h.contacts.count[0]):
        if h.need.asked[k] > 0.0 and (h.need.rolls[k] == 1) == rolls:
            h.sol.q[3 * k] -= h.need.asked[k] / h.settings[DT]
            h.rows.offset[3 * k] -= h.need.asked[k] / h.settings[DT]
    start(h)
    return True


@kernel
def _go_on(h):
    """What contacts that roll on ask for belongs to their rows, as a change of their gaps."""
    for k in range(h.contacts.count[0]):
        if h.need.rolls[k] == 1:
            h.work.gap_shift[k] -= h.need.asked[k]
            h.need.asked[k], h.need.rolls[k] = 0.0, 2


@kernel
def _solve_again(h):
    """Whether the posed problem is solved, and with no more push-out dropped."""
    info = h.work.info
    steps, jams = info[ITERATIONS], max(info[STAGE] + 1, SOLVER_NO_PUSH_OUT)
    found = solve(h, STEP) == OK and settle(h) == OK and info[STAGE] < min(jams, SOLVER_OVER_BUDGET)
    info[ITERATIONS] += steps
    return found


@kernel
def _keep(h):
    """Keep what solving the problem once more changes."""
    n_rows, kept = rows_in_use(h), h.need.kept
    copy(n_rows, h.sol.r, kept[IMPULSES])
    copy(n_rows, h.sol.q, kept[VELOCITIES])
    copy(n_rows, h.sol.ray, kept[RAY])
    copy(n_rows, h.sol.pushed, kept[PUSH_OUT])
    copy(n_rows, h.rows.offset, kept[OFFSETS])
    copy(h.v.shape[0], h.work.speed, h.need.speed)
    h.need.info[SOLVER] = h.work.info[STAGE]


@kernel
def _restore(h):
    """The step's own problem and its solution, to the bit."""
    n_rows, kept = rows_in_use(h), h.need.kept
    copy(n_rows, kept[IMPULSES], h.sol.r)
    copy(n_rows, kept[VELOCITIES], h.sol.q)
    copy(n_rows, kept[RAY], h.sol.ray)
    copy(n_rows, kept[PUSH_OUT], h.sol.pushed)
    copy(n_rows, kept[OFFSETS], h.rows.offset)
    copy(h.v.shape[0], h.need.speed, h.work.speed)
    h.work.info[STAGE] = h.need.info[SOLVER]
    start(h)
    apply_impulses(h)
    if has_sleepers(h):
        hold_velocities(h)
