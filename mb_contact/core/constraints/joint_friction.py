# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Coulomb friction of scalar joints and of threads: a row with bounded impulse and maximal dissipation,

    |p| <= f dt,    p v+ = -f dt |v+|:    it sticks, v+ = 0, or slips with p = -f dt sign(v+),

a box of the contact problem (``core/solve``).  Where friction grows with the impulses of other rows, as on the flanks
of a loaded thread and of a tendon on a drum, the bound is b = f dt + c |sum of these|.  It is known when the problem is
solved: then it is solved again with the bound that its loads ask for, B(b), until both agree.  B is linear in b as long
as the same rows slip, so each row goes to where the line through two rounds meets b.  Rows that press on each other do
not get there one by one: after ROUNDS_ALONE all go together, by the changes of F = B - b in the rounds since, whose
part F loses (Anderson's acceleration: with d slipping rows d + 1 rounds).  Where they do not agree in ROUNDS_MOST the
residual is that of the bounds that the impulses ask for.

In an impact forces have no time to act, but impulses press at once: threads rub by them in both of its phases, under
the same law with f = 0.
"""

import numpy as np

from mb_contact.core.constraints.bilateral import CHANGES, COUNT, DEPTH, FIRST, GEARS, LOADS, ROUNDS, TENDONS_AT
from mb_contact.core.constraints.loop import rows_of
from mb_contact.core.jit import INTEGER, NOTHING, TRUTH, kernel, on_demand, part
from mb_contact.core.workspace import BOX
from mb_contact.types import TENDON_GRIPS

THREAD = 4  #: row of a screw's closure that holds it on its thread
ROUNDS_ALONE, ROUNDS_MOST = 12, 50
DEPENDENT = 1e-10  #: part of a change of F below which it follows from others
AGREED = 1e-13  #: part of a bound by which it may miss what its loads ask for
STEEP = 0.9  #: slope of B from which on a round goes to B(b) itself: the line does not lead to where friction holds


@on_demand(INTEGER)
def first_gripping(rubbing, closures):
    """First of the threads in ``rubbing``, the last ones there, whose friction grows with their load."""
    i = rubbing.shape[0]
    while i > 0 and rubbing[i - 1] < 0 and closures.grip[-rubbing[i - 1] - 1] > 0.0:
        i -= 1
    return i


@part
def bound_friction(tree, joints, rubbing, closures, dt, rows, bil):
    """Greatest impulses of the rows of friction of joints and threads ``rubbing``, which stand before the gears'.

    A thread that has come off has none.
    """
    first = bil.info[FIRST] + bil.info[COUNT] - bil.info[GEARS] - rubbing.shape[0]
    for i in range(rubbing.shape[0]):
        k = rubbing[i]
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
    together = bil.info[ROUNDS] > ROUNDS_ALONE
    c = bil.info[CHANGES] = bil.info[CHANGES] % DEPTH if together else 0
    for i in range(bil.info[COUNT]):
        if bil.share[i] <= 0.0:
            continue
        plain, bound = bil.most[i, 0], rows.mu[first + i]
        asked = plain + bil.share[i] * _pressing(bil, i, r, first)
        agree = abs(asked - bound) <= AGREED * max(asked, bound) or abs(r[first + i]) < min(asked, bound)
        way, missing = bound - bil.most[i, 1], 0.0 if agree else asked - bound
        slope = (asked - bil.most[i, 2]) / way if bil.info[ROUNDS] > 1 and way != 0.0 else 0.0
        bil.past[i, c], bil.past[i, DEPTH + c] = way, missing - bil.most[i, 4]
        bil.most[i, 1], bil.most[i, 2], bil.most[i, 0] = bound, asked, asked
        bil.most[i, 4], bil.most[i, 5] = missing, plain
        if not agree:
            differ = True
            bil.most[i, 0] = max(bound + missing / (1.0 - slope), plain) if slope < STEEP else asked
    if differ and together:
        bil.info[CHANGES] = _keep_change(bil, c)
        _go_together(bil)
    return differ


@kernel
def _product(bil, a, b):
    """Of two columns of ``past``."""
    total = 0.0
    for i in range(bil.info[COUNT]):
        if bil.share[i] > 0.0:
            total += bil.past[i, a] * bil.past[i, b]
    return total


@kernel
def _keep_change(bil, c):
    """The change of F in column c, without those before it and of unit length; how many there are, c if it follows."""
    size = _product(bil, DEPTH + c, DEPTH + c)
    for j in range(c):
        part = _product(bil, DEPTH + j, DEPTH + c)
        for i in range(bil.info[COUNT]):
            bil.past[i, c] -= part * bil.past[i, j]
            bil.past[i, DEPTH + c] -= part * bil.past[i, DEPTH + j]
    left = np.sqrt(_product(bil, DEPTH + c, DEPTH + c))
    if left <= DEPENDENT * np.sqrt(size):
        return c
    for i in range(bil.info[COUNT]):
        bil.past[i, c] /= left
        bil.past[i, DEPTH + c] /= left
    return c + 1


@kernel
def _go_together(bil):
    """The next bounds of all rows: b and F without the part of F that the changes before take away."""
    for i in range(bil.info[COUNT]):
        if bil.share[i] > 0.0:
            bil.most[i, 0], bil.most[i, 6] = bil.most[i, 1], bil.most[i, 4]
    for j in range(bil.info[CHANGES]):
        part = 0.0
        for i in range(bil.info[COUNT]):
            part += bil.most[i, 6] * bil.past[i, DEPTH + j] if bil.share[i] > 0.0 else 0.0
        for i in range(bil.info[COUNT]):
            if bil.share[i] > 0.0:
                bil.most[i, 0] -= part * bil.past[i, j]
                bil.most[i, 6] -= part * bil.past[i, DEPTH + j]
    for i in range(bil.info[COUNT]):
        if bil.share[i] > 0.0:
            bil.most[i, 0] = max(bil.most[i, 0] + bil.most[i, 6], bil.most[i, 5])


@on_demand(NOTHING)
def begin_loads(bil, P, count, rows):
    """No bounds in the posed system P, of ``count`` rows, of a phase of an impact, where nothing presses yet."""
    bil.info[ROUNDS] = 0
    for i in range(bil.info[COUNT]):
        bil.most[i, 0] = 0.0
    next_bounds(bil, P, count, rows)


@on_demand(NOTHING)
def next_bounds(bil, P, count, rows):
    """The bounds of the round that comes, or behind the last round those that its impulses ask for, in the system P."""
    first = bil.info[FIRST]
    for i in range(bil.info[COUNT]):
        if bil.share[i] > 0.0:
            given_up = bil.info[ROUNDS] >= ROUNDS_MOST
            rows.mu[first + i], bil.most[i, 0] = bil.most[i, 2 if given_up else 0], 0.0
    for i in range(count):
        k = P.source[i] - first
        if 0 <= k < bil.info[COUNT] and bil.share[k] > 0.0:
            P.blocks.mu[i] = rows.mu[first + k]
