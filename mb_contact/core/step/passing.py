# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Who passed in the last step is left out of the next one's first problem (``by_need.py``).

A body that passes another stays beside it for many steps, and in each of them the row of the step's start would hold
it: the solution with all rows is then far from that of the step, and takes many Newton steps.  So a pair with a gap,
of which the last step's problem had no contact, begins as one that is left out: it has passed, or was not near.  Its
rows are posed, and kept open.  Where the solution fulfils them they are what they were; otherwise the pair is
questioned as one that is loaded.
"""

from mb_contact.core.arrays import copy
from mb_contact.core.handle import TIED, UNIT_LENGTH, UNIT_SPEED
from mb_contact.core.jit import NOTHING, kernel, on_demand
from mb_contact.core.solve.friction import COULOMB, MODEL
from mb_contact.core.step.certify import certify_step
from mb_contact.core.step.need import (
    COUNT,
    MASKED,
    MEAN,
    NONE,
    OF_START,
    OFFSETS,
    ON,
    OPEN,
    OUT,
    ROUND,
    TOUCHING,
    TRIED,
    VELOCITIES,
    drop_pair,
    is_asked,
    is_known,
    put_pair,
)
from mb_contact.core.step.problem import rows_in_use, start


@kernel
def leave_out_passers(h):
    """Keep the rows open of pairs with a gap that had no contact in the last step; behind ``assemble``.

    Reads: bil, buffers, contacts, frames, friction, geoms, kin, memory, need, rows, settings, sol, solver.
    Writes: need, rows, sol.
    """
    need, resting = h.need, h.buffers.resting
    if need.rule[ON] == 0.0 or need.info[ROUND] > 0 or not can_stay_open(h):
        return
    some = False
    for i in range(h.contacts.count[0]):
        pair = h.contacts.pair[i]
        if h.frames.known[i] >= 0 or h.contacts.gap[i] <= TOUCHING * h.settings[UNIT_LENGTH]:
            continue
        asleep = resting[h.geoms.pairs[pair, 0]] + resting[h.geoms.pairs[pair, 1]] == 2
        if not asleep and is_asked(h, pair, i) and not is_known(h, pair):
            put_pair(h, pair, OUT, i)
    for k in range(need.info[COUNT]):
        if need.verdict[k] == OUT:
            need.part[k], some = OF_START, True
    if some:
        _open(h)


@on_demand(NOTHING)
def _open(h):
    """Keep the rows of what is left out open, and what they were."""
    need, n_rows = h.need, rows_in_use(h)
    copy(n_rows, h.sol.q, need.kept[VELOCITIES])
    copy(n_rows, h.rows.offset, need.kept[OFFSETS])
    open_rows(h)
    for k in range(need.info[COUNT]):
        if need.verdict[k] == OUT:
            need.part[k] = NONE
    need.info[TRIED] = 1


@kernel
def can_stay_open(h):
    """Whether rows of the posed problem can be kept open: not those that others follow, or that act at a gap."""
    plain = h.solver[TIED] == 0.0 and h.friction.model[MODEL] == COULOMB and h.need.rule[MEAN] == 0.0
    return plain and h.need.info[MASKED] == 0


@kernel
def open_rows(h):
    """Free velocities that keep those pairs open which are to be left out and are in the problem; impulses of zero.

    Reads: bil, contacts, need, rows, settings, sol.  Writes: rows, sol.
    """
    need, fastest = h.need, h.settings[UNIT_SPEED]
    for i in range(rows_in_use(h)):
        fastest = max(fastest, abs(h.sol.q[i]))
    for i in range(h.contacts.count[0]):
        if _leaves(need, h.contacts.pair[i]):
            h.sol.q[3 * i] += OPEN * fastest
            h.rows.offset[3 * i] += OPEN * fastest
            row = 3 * i
            while row >= 0:
                h.sol.r[row] = 0.0
                row = h.rows.next[row]


@kernel
def _leaves(need, pair):
    """Whether a pair is left out from now on."""
    for k in range(need.info[COUNT]):
        if need.pair[k] == pair:
            return need.verdict[k] == OUT and need.part[k] != NONE
    return False


@on_demand(NOTHING)
def take_back(h):
    """Have the rows of the first problem that its solution fulfils in it, as they were.

    Reads: art, bil, contacts, kin, need, rows, sol, system, work.  Writes: bil, need, rows, sol, system.
    """
    need, k, some = h.need, 0, False
    while k < need.info[COUNT]:
        if need.verdict[k] != OUT:
            k += 1
        elif _is_fulfilled(h, need.pair[k]):
            for i in range(h.contacts.count[0]):
                if h.contacts.pair[i] == need.pair[k]:
                    h.sol.q[3 * i], h.rows.offset[3 * i] = need.kept[VELOCITIES, 3 * i], need.kept[OFFSETS, 3 * i]
            drop_pair(need, k)
        else:
            k, some = k + 1, True
    if not some:
        need.info[TRIED] = 0
        start(h)
        certify_step(h)


@kernel
def _is_fulfilled(h, pair):
    """Whether the solution fulfils the rows of a pair that have been kept open."""
    for i in range(h.contacts.count[0]):
        row = 3 * i
        if h.contacts.pair[i] == pair and h.sol.u[row] < h.rows.offset[row] - h.need.kept[OFFSETS, row]:
            return False
    return True
