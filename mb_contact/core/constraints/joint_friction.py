# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Coulomb friction of scalar joints and of threads: a row with bounded impulse and maximal dissipation,

    |p| <= f dt,    p v+ = -f dt |v+|:    it sticks, v+ = 0, or slips with p = -f dt sign(v+),

a box of the contact problem (``core/solve``).  Where friction grows with the impulses of other rows, as on the flanks
of a loaded thread and of a tendon on a drum, the bound is b = f dt + c |sum of these|.  It is known when the problem is
solved: then it is solved again with the bound that its loads ask for, B(b), until both agree.  B is linear in b as long
as the same rows slip, so each row goes to where the line through two rounds meets b, in at most ROUNDS_MOST rounds.
"""

import numpy as np

from mb_contact.core.constraints.bilateral import COUNT, FIRST, GEARS, LOADS, ROUNDS, TENDONS_AT
from mb_contact.core.constraints.loop import rows_of
from mb_contact.core.jit import NOTHING, TRUTH, kernel, on_demand, part
from mb_contact.core.workspace import BOX
from mb_contact.types import TENDON_GRIPS

THREAD = 4  #: row of a screw's closure that holds it on its thread
ROUNDS_MOST = 50
AGREED = 1e-13  #: part of a bound by which it may miss what its loads ask for
STEEP = 0.9  #: slope of B from which on a round goes to B(b) itself: the line does not lead to where friction holds


@part
def bound_friction(tree, joints, closures, dt, rows, bil):
    """Greatest impulses of the rows of joint friction, which stand before those of the gears.

    A thread that has come off has none.
    """
    first = bil.info[FIRST] + bil.info[COUNT] - bil.info[GEARS] - joints.rubbing.shape[0]
    for i in range(joints.rubbing.shape[0]):
        k = joints.rubbing[i]
        rows.law[first + i] = BOX
        if k >= 0:
            rows.mu[first + i] = joints.friction[tree.v_start[k]] * dt
            continue
        on = closures.released[-1 - k] == 0
        rows.mu[first + i] = closures.friction[-1 - k] * dt if on else 0.0
        if on and closures.grip[-1 - k] > 0.0:
            thread = _first_row(closures, -1 - k) + THREAD
            _load(bil, first + i - bil.info[FIRST], closures.grip[-1 - k], thread, thread + 1, 0.0)


@kernel
def _first_row(closures, c):
    """First row of closure c among the bilateral ones."""
    row = 0
    for i in range(c):
        row += rows_of(closures.kind[i]) if closures.released[i] == 0 else 0
    return row


@kernel
def _load(bil, row, share, start, end, anyway):
    """Friction of a row that grows with the impulses of the rows from ``start`` to before ``end``."""
    bil.load[row, 0], bil.load[row, 1] = start, end
    bil.share[row], bil.most[row, 3], bil.info[LOADS] = share, anyway, 1


@on_demand(NOTHING)
def load_tendons(tendons, dt, bil):
    """The loads of friction of tendons on shapes, whose row stands behind the others of its tendon."""
    others = 0
    for i in range(tendons.row_of.shape[0]):
        t = tendons.row_of[i]
        others = others + 1 if i > 0 and tendons.row_of[i - 1] == t else 0
        if tendons.row_kind[i] == TENDON_GRIPS and tendons.turned[t] > 0.0:
            row = bil.info[TENDONS_AT] + i
            _load(bil, row, np.tanh(0.5 * tendons.turned[t]), row - others, row, dt * tendons.tension[t])


@on_demand(NOTHING)
def bound_by_loads(bil, rows, before):
    """Bounds of friction that grows with a load; those of a step's first round by the impulses ``before``."""
    for i in range(bil.info[COUNT]):
        if bil.share[i] > 0.0:
            row = bil.info[FIRST] + i
            if bil.info[ROUNDS] == 0:
                bil.most[i, 0] = rows.mu[row] + bil.share[i] * _pressing(bil, i, before, 0)
            bil.most[i, 0], rows.mu[row] = rows.mu[row], bil.most[i, 0]


@kernel
def _pressing(bil, i, r, first):
    """What presses where row i rubs: impulses of its loads, that of a thread on either flank."""
    total = bil.most[i, 3]
    for k in range(bil.load[i, 0], bil.load[i, 1]):
        total += abs(r[first + k]) if k < bil.info[TENDONS_AT] else bil.ratio[k] * r[first + k]
    return max(total, 0.0)


@on_demand(TRUTH)
def loads_differ(bil, rows, r):
    """Whether bounds were others than the solved impulses r ask for; the next round has those that may agree."""
    differ, first = False, bil.info[FIRST]
    bil.info[ROUNDS] += 1
    for i in range(bil.info[COUNT]):
        if bil.share[i] <= 0.0:
            continue
        plain, bound = bil.most[i, 0], rows.mu[first + i]
        asked = plain + bil.share[i] * _pressing(bil, i, r, first)
        agree = abs(asked - bound) <= AGREED * max(asked, bound) or abs(r[first + i]) < min(asked, bound)
        way = bound - bil.most[i, 1]
        slope = (asked - bil.most[i, 2]) / way if bil.info[ROUNDS] > 1 and way != 0.0 else 0.0
        bil.most[i, 1], bil.most[i, 2], bil.most[i, 0] = bound, asked, asked
        if not agree:
            differ = True
            bil.most[i, 0] = max(bound + (asked - bound) / (1.0 - slope), plain) if slope < STEEP else asked
    return differ and bil.info[ROUNDS] < ROUNDS_MOST
