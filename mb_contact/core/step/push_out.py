# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Push-out velocities taken out of a posed problem, where they contradict each other.

A body squeezed between two others cannot leave both of them, and gaps below ``TOUCHING_JAMMED`` are not known.
``sol.pushed`` keeps what was dropped.
"""

import numpy as np

from mb_contact.core.constraints.bilateral import FIRST
from mb_contact.core.handle import DT, PUSH_RATE, UNIT_LENGTH
from mb_contact.core.jit import NOTHING, TRUTH, kernel, on_demand
from mb_contact.core.solve.search import is_large
from mb_contact.core.solve.system import BY_NODES, ISLANDS, ROWS
from mb_contact.types import TOUCHING_JAMMED


@on_demand(TRUTH)
def drop_all_push_out(h):
    """Take the push-out velocities out of the posed problem; False where there are none.

    Reads: bil, contacts, rows, settings, sol, system.  Writes: rows, sol, system.
    """
    found = False
    for i in range(h.system.count[ISLANDS]):
        if drop_push_out(h, h.system, i, np.inf):
            found = True
    return found


@on_demand(NOTHING)
def keep_push_out(h):
    """Remember which push-out velocities are dropped, for ``restore_push_out``.

    Reads: sol, system.  Writes: system.
    """
    for i in range(h.system.count[ROWS]):
        h.system.work.dropped[i] = h.sol.pushed[h.system.source[i]]


@on_demand(NOTHING)
def restore_push_out(h):
    """The push-out velocities that were dropped since ``keep_push_out`` into the posed problem again.

    Reads: rows, sol, system.  Writes: rows, sol, system.
    """
    for i in range(h.system.count[ROWS]):
        row, dropped = h.system.source[i], h.system.work.dropped[i]
        _shift(h, i, h.sol.pushed[row] - dropped)
        h.sol.pushed[row] = dropped


@kernel
def _shift(h, i, offset):
    """Add a push-out velocity to row i of the posed problem."""
    P, row = h.system, h.system.source[i]
    P.q[i] += offset
    P.work.before[i] += offset
    h.sol.q[row] += offset
    h.rows.offset[row] += offset


@kernel
def drop_small_gaps(h):
    """Behind ``assemble_problem`` of a step: the large islands without gaps and penetrations that are not known.

    Contacts that all stick contradict each other where such gaps differ: without them steps of 100 boxes take 0.6
    of the time.  A second call changes nothing.

    Reads: bil, contacts, rows, settings, sol, system.  Writes: rows, sol, system.
    """
    P = h.system
    for i in range(P.count[ISLANDS] if P.form[0] != BY_NODES else 0):
        if is_large(P, i):
            drop_gaps(h, P, i)


@kernel
def _jammed_gap(h):
    """TOUCHING_JAMMED in the unit of length [m]."""
    return TOUCHING_JAMMED * h.settings[UNIT_LENGTH]


@kernel
def drop_gaps(h, P, island):
    """Take gaps and penetrations of at most ``TOUCHING_JAMMED`` for none; False where no push-out was dropped.

    Reads: bil, contacts, rows, settings, sol, system.  Writes: rows, sol, system.
    """
    return drop_push_out(h, P, island, h.settings[PUSH_RATE] * _jammed_gap(h) / h.settings[DT])


@kernel
def drop_push_out(h, P, island, most):
    """Take push-out velocities up to ``most`` out of the problem of an island; False where there are none.

    A body squeezed between two others cannot leave both of them; without push-out standing still is admissible.
    It is so for all contacts that touch only if gaps below TOUCHING_JAMMED are none here.

    Reads: bil, contacts, rows, settings, sol, system.  Writes: rows, sol, system.
    """
    found = False
    least = _jammed_gap(h) / h.settings[DT]
    for i in range(P.blocks.start[P.island[island]], P.blocks.start[P.island[island + 1]]):
        row = P.source[i]
        if P.immobile[i] != 0 or h.rows.carried[row] != 0.0 or h.rows.compliance[row] != 0.0:
            continue
        offset, contact = h.rows.offset[row], row < 3 * h.contacts.count[0]
        normal, friction = contact and row % 3 == 0, contact and row % 3 != 0
        if row < h.bil.info[FIRST] and not friction and (-most <= offset < 0.0 or (normal and 0.0 < offset < least)):
            found = found or offset < 0.0
            _shift(h, i, -offset)
            h.sol.pushed[row] = offset
    return found
