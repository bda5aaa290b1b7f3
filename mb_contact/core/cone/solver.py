# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The exact-cone solver: attempts at the problem itself, proximal points from afar, a continuation.

    u = (W + eps D) r - eps D r_k + q,      r_{k+1} its solution,      D the diagonal of W

For eps large the De Saxce term no longer spoils monotony (with W = 0 that holds for every mu < 2) and an attempt
succeeds; where r_{k+1} = r_k the regularisation cancels.  eps falls after a solution and rises after a failure, and
Newton on the original problem is tried from every point.  High friction, closed loops of contacts and mass ratios of
1e4 need it.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.cone.attempt import TARGET, TRY_STEPS, WARM_STEPS, attempt, prepare_newton
from mb_contact.core.cone.newton import PATIENCE, measure, newton
from mb_contact.core.cone.proximal import BUDGET, continuation, proximal_problem
from mb_contact.core.jit import kernel

CONE_SOLVED = 0
CONE_LIMIT = 1  #: the best point is returned

FORCE = 300.0  #: scaled impulses at the start; from 1 a quarter of the hard problems are lost, from 30 to 1000 few
VELOCITY = 1.0
OTHER_FORCE = 10.0
OTHER_VELOCITY = 10.0
PROXIMAL_LIMIT = 30  #: interior-point steps of one proximal problem
LOOSE = 1e-3  #: relative natural residual that will do for one
FIRST_WEIGHT = 1.0
SHRINK = 0.3
GROW = 3.0
CAREFUL = 0.7  #: instead of SHRINK after a failure, falling back to it by
RECOVER = 0.8  #: a success
FRACTION = 0.1  #: of the residual of the point itself, which its proximal problem must reach


@kernel
def solve_cone(blocks, q, units, factors, S, N, r, work, warm, limit, points, tolerance):
    """Solve the scaled problem; r holds the start if ``warm`` and the best point at the end.

    ``work`` (6, rows) is a workspace; at most ``limit`` interior-point steps on the problem itself and ``points``
    proximal points.  Returns (CONE_* status, relative natural residual, interior-point steps, Newton steps, points).
    """
    prepare_newton(blocks, q, units, N)
    if not warm:
        for a in range(r.shape[0]):
            r[a] = 0.0
        best = measure(blocks, q, units, N, r)
        if best <= TARGET:  # nothing touches
            return CONE_SOLVED, best, 0, 0, 0
    interior = 0
    steps = 0
    best = np.inf
    if warm:
        best, steps = newton(blocks, q, units, factors, N, r, WARM_STEPS, 0.1 * tolerance, PATIENCE)
    if best > tolerance and limit > 0:
        best, interior, newtons = attempt(
            blocks, q, units, factors, S, N, r, work[0], best, FORCE, VELOCITY, limit, tolerance
        )
        steps += newtons
    if best > tolerance and limit > 0:  # once more from another point
        now, more, newtons = attempt(
            blocks, q, units, factors, S, N, work[3], work[0], np.inf, OTHER_FORCE, OTHER_VELOCITY, limit, tolerance
        )
        interior += more
        steps += newtons
        if now < best:
            best = now
            for a in range(r.shape[0]):
                r[a] = work[3, a]
    if best <= tolerance:
        return CONE_SOLVED, best, interior, steps, 0
    near = work[2]
    for a in range(r.shape[0]):
        work[1, a] = N.diagonal[a]
        near[a] = 0.0
    weight = FIRST_WEIGHT
    shrink = SHRINK
    outer = LOOSE / FRACTION
    point = 0
    while point < points and best > tolerance:
        point += 1
        steps_first = WARM_STEPS if point > 1 else 0
        now, more, newtons = proximal_problem(
            blocks, q, units, factors, S, N, work, weight, steps_first, 0.1 * tolerance, PATIENCE, PROXIMAL_LIMIT,
            FORCE, tolerance,
        )
        interior += more
        steps += newtons
        if now > min(LOOSE, FRACTION * outer):
            weight = min(GROW * weight, 100.0)
            shrink = CAREFUL
            continue
        for a in range(r.shape[0]):
            near[a] = work[3, a]
            work[0, a] = near[a]
        weight *= shrink
        shrink = max(SHRINK, RECOVER * shrink)
        outer = measure(blocks, q, units, N, near)
        now, more = newton(blocks, q, units, factors, N, work[0], TRY_STEPS, TARGET, PATIENCE)
        steps += more
        if now < best:
            best = now
            for a in range(r.shape[0]):
                r[a] = work[0, a]
    if best > tolerance and points > 0:
        best, more, newtons = continuation(
            blocks, q, units, factors, S, N, r, work, tolerance, 0.0, limit, BUDGET
        )
        interior += more
        steps += newtons
    return (CONE_SOLVED if best <= tolerance else CONE_LIMIT), best, interior, steps, point
