# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What turning adds to the way of contacts, taken out of the positions where the step ends.

The row of a contact moves its points straight on with the velocities of the step's end.  Shapes that turn end deeper
than that by the second order of the step, (omega dt)^2 / 2 of their size.  Rows that ask for that much more would end
right, and make the bodies faster by it over dt, which is as wrong as the depth was.  So the posed problem is solved
once more with such rows, and what its motion is ahead of the first one's is added to the positions alone.
"""

import math

from mb_contact.core.arrays import copy, fill
from mb_contact.core.collision.mesh_tree import SHALLOW
from mb_contact.core.constraints.contact import normal_velocity
from mb_contact.core.handle import DT
from mb_contact.core.jit import NOTHING, kernel, on_demand
from mb_contact.core.step.need import ASKED, CORRECTED, ROUND
from mb_contact.core.step.problem import STEP, rows_in_use, solve, start
from mb_contact.core.step.step import settle
from mb_contact.core.tree.kinematics import body_velocities
from mb_contact.core.tree.spatial import STILL, put_spatial
from mb_contact.core.workspace import ITERATIONS, STAGE
from mb_contact.types import OK, SOLVER_OVER_BUDGET

STRAY = 1000.0  #: end that a row tells, in depths found, from which it is not the row of what is there


@kernel
def ask_for(h, k, end, least):
    """Have contact k, which has the gap ``end`` where the step ends, end no deeper than its pair was at the start [m].

    Where it is deeper than that by ``least`` [m]; ``correct_positions`` sees to it.  Who was deep comes out by SHALLOW.
    Its row, which told another end, is asked for the difference; not where it told of another place.

    Reads: contacts, geoms, kin, need, settings, sol.  Writes: need.
    """
    before, deep = h.need.before if h.need.info[ROUND] > 0 else h.contacts, math.inf
    for j in range(before.count[0]):
        if before.pair[j] == h.contacts.pair[k]:
            deep = min(deep, before.gap[j])
    more = min(deep + SHALLOW * h.geoms.unit[0], 0.0) - end
    told = h.settings[DT] * h.sol.u[3 * k] + normal_velocity(h.geoms, h.contacts, h.kin.p, h.need.V, k)
    if more > least and told <= STRAY * more:
        h.need.asked[k] = max(h.need.asked[k], more + told)
        h.need.info[ASKED] = 1


@kernel
def ask_for_nothing(h):
    """Positions end where the velocities lead.  Reads: contacts.  Writes: need."""
    need, count = h.need, h.contacts.count[0]
    fill(need.ahead.shape[0], need.ahead, 0.0)
    fill(count, need.asked, 0.0)
    for i in range(need.V.shape[0]):
        put_spatial(need.V, i, STILL)
    need.info[ASKED] = need.info[CORRECTED] = 0


@kernel
def has_asked(h, pair):
    """Whether a contact of the pair has been asked to end farther apart.  Reads: contacts, need.  Writes: nothing."""
    for k in range(h.contacts.count[0]):
        if h.contacts.pair[k] == pair and h.need.asked[k] > 0.0:
            return True
    return False


@on_demand(NOTHING)
def correct_positions(h):
    """What is to be added to the way of the step [rad, m], into ``need.ahead``.

    Reads: art, bil, compliance, contacts, forest, hinges, joints, kin, memory, need, q, rows, settings, sleep, sol,
    solver, system, tree, v, work.
    Writes: art, bil, compliance, forest, hinges, need, rows, sol, system, work.
    """
    need, info, n_rows, dt = h.need, h.work.info, rows_in_use(h), h.settings[DT]
    stage, steps = info[STAGE], info[ITERATIONS]
    need.info[ASKED] = 0
    need.info[CORRECTED] += 1
    if stage == SOLVER_OVER_BUDGET or h.sol.solved[0] == 0:
        return
    copy(n_rows, h.sol.r, need.impulses)
    _ask(h, -1.0 / dt)
    found = _solved(h)
    steps += info[ITERATIONS]
    copy(h.v.shape[0], h.work.v_next, need.ahead)
    _ask(h, 1.0 / dt)
    copy(n_rows, need.impulses, h.sol.r)
    found = _solved(h) and found
    info[STAGE], info[ITERATIONS] = max(stage, info[STAGE]), steps + info[ITERATIONS]
    for i in range(h.v.shape[0]):
        need.ahead[i] = dt * (need.ahead[i] - h.work.v_next[i]) if found else 0.0
    body_velocities(h.tree, h.kin, need.ahead, need.V)


@kernel
def _ask(h, factor):
    """Add the factor [1/s] times what is asked for to the offsets of the contacts."""
    for k in range(h.contacts.count[0]):
        if h.need.asked[k] > 0.0:
            h.sol.q[3 * k] += factor * h.need.asked[k]
            h.rows.offset[3 * k] += factor * h.need.asked[k]


@kernel
def _solved(h):
    """Whether the posed problem is solved, from the impulses ``sol.r``."""
    start(h)
    return solve(h, STEP) == OK and settle(h) == OK
