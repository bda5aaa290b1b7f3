# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The modified PPM on what equality rows leave of a contact problem (D15 section VI, algorithms 1 and 2)."""

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.jit import kernel
from mb_contact.core.lcp.active_factor import ACTIVE, PIVOTS, RULE, append, solve_active
from mb_contact.core.lcp.principal_pivoting import ppm_add, ppm_next, ppm_reset, ppm_scatter
from mb_contact.core.solve.equality_rows import (
    CORRECTIONS,
    FREE_ROWS,
    PICKED_ROWS,
    RULE_USED,
    STATUS,
    TOTAL_PIVOTS,
    back_substitute,
    complete,
    eliminate,
    prepare_compliance,
    reduced_column,
    reduced_velocities,
    respond,
)

TOLERANCE = 1e-11  # of the largest scaled free velocity: how far z and w of the pivoting may be below zero
MOST_CORRECTIONS = 4


@kernel
def solve_with_equalities(tree, kin, art, compliance, rows, n_rows, rank_tolerance, warm, limit, eq, ppm):
    """The whole problem: X v+ + C p = 0, 0 <= N v+ _|_ z >= 0, by algorithms 2 and 1.

    ``eq.equality, eq.softness, eq.hard, eq.q`` and the first ``warm`` of ``eq.start`` come in; impulses
    ``eq.r``, velocities ``eq.u`` and ``eq.dv`` go out.  Returns a PPM_* status.
    """
    prepare_compliance(tree, kin, art, compliance, rows, n_rows, eq)
    eliminate(compliance, rows, n_rows, rank_tolerance, eq)
    largest = reduced_velocities(rank_tolerance, eq)
    tolerance = TOLERANCE * largest + 1e-300
    n = eq.info[FREE_ROWS]
    ppm_reset(n, ppm)
    fill(n, ppm.weight, 1.0)  # of the scaled diagonal W_ii, not of what elimination left
    for i in range(warm):
        if ppm.is_active[eq.start[i]] == 0:
            _scaled_column(compliance, rows, n_rows, eq.start[i], eq, ppm)
            append(eq.start[i], ppm)
    ppm.info[PIVOTS] = 0
    while True:
        i = ppm_next(eq.e, n, tolerance, limit, ppm)
        if i < 0:
            break
        _scaled_column(compliance, rows, n_rows, i, eq, ppm)
        ppm_add(i, eq.e, tolerance, ppm)
    ppm_scatter(n, eq.z, ppm)
    eq.info[STATUS] = i
    eq.info[TOTAL_PIVOTS] = ppm.info[PIVOTS]
    eq.info[RULE_USED] = ppm.info[RULE]
    for i in range(n):
        eq.z[i] *= eq.scale[i]
    complete(tree, kin, art, rows, n_rows, eq.z, eq)
    _correct(tree, kin, art, rows, n_rows, largest, eq, ppm)
    return eq.info[STATUS]


@kernel
def _scaled_column(compliance, rows, n_rows, i, eq, ppm):
    """Column i of F among the rows N, rows and columns scaled to W_ii = 1, where ``ppm_next`` wants it."""
    reduced_column(compliance, rows, n_rows, eq.hard[i], eq, eq.column)
    t = ppm.slot[ppm.info[ACTIVE]]
    x = eq.scale[i]
    for j in range(eq.info[FREE_ROWS]):
        ppm.columns[t, j] = eq.column[eq.hard[j]] * x * eq.scale[j]


@kernel
def _correct(tree, kin, art, rows, n_rows, largest, eq, ppm):
    """Corrections with the same factors, from the residual that the sweep shows, until it is rounding."""
    n = eq.info[FREE_ROWS]
    k = eq.info[PICKED_ROWS]
    before = 1e300
    for _ in range(MOST_CORRECTIONS):
        worst = 0.0
        for j in range(k):
            r = eq.picked[j]
            x = eq.u[r] + eq.soft[j] * eq.r[r]
            worst = max(worst, abs(x) / np.sqrt(eq.diagonal[r] + eq.soft[j]))
            for i in range(j):
                x -= eq.Y[i, r] * eq.s[i]
            eq.s[j] = x / eq.Y[j, r]
        for i in range(n):  # of the active ones: what elimination leaves of their velocities
            r = eq.hard[i]
            x = eq.u[r]
            if ppm.is_active[i] != 0:
                worst = max(worst, abs(x) * eq.scale[i])
            for j in range(k):
                x -= eq.Y[j, r] * eq.s[j]
            ppm.w[i] = x * eq.scale[i]
        if worst <= 1e-15 * largest or worst > 0.5 * before:
            return
        before = worst
        eq.info[CORRECTIONS] += 1
        solve_active(ppm.w, ppm.target, ppm)
        change = eq.column
        fill(n_rows, change, 0.0)
        for s in range(ppm.info[ACTIVE]):
            i = ppm.active[s]
            r = eq.hard[i]
            change[r] = max(ppm.target[s] * eq.scale[i], -eq.r[r])  # no pulling
        back_substitute(eq, n, change)
        for r in range(n_rows):
            eq.r[r] += change[r]
        respond(tree, kin, art, rows, n_rows, eq)
