# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Proximal problems of the exact-cone problem, and the continuation along them.

    u = (W + eps D) r - eps D r_k + q,      D the diagonal of W

Newton's method solves such a problem in five to ten steps from r_k while eps is large, and its solution is off by
eps |r - r_k|.  The continuation starts at eps = 1e-2 and goes down, by tens where that is easy, each solution the next
one's r_k, until what is left is rounding.  Where Newton fails is a floor for eps; near it a step of the continuation
gains only a part of what is left, and many of them shift what a pile carries.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.cone.attempt import TARGET, attempt, prepare_newton
from mb_contact.core.cone.newton import LONG_PATIENCE, measure, newton
from mb_contact.core.cone.problem import worst_residual
from mb_contact.core.jit import kernel

FIRST_WEIGHT = 1e-2  #: eps of the first problem of a continuation
LEAST_WEIGHT = 1e-8
FAST = 0.1  #: factor of eps after a problem that took Newton at most FEW steps
SLOW = 0.3  #: at most SOME
FEW = 6
SOME = 11
GROW = 3.0  #: after a problem that was not solved
NEAR = 1.5  #: times the last eps that was not solved: not below
AGAIN = 8  #: solutions after which that bound falls
RELAX = 0.3  #: by this factor
STEPS = 15  #: of Newton a problem
DOWN = 0.1  #: of the residual of r_k: what its problem is solved to
STUBBORN = 2  #: failures in a row after which the interior point takes over, every second time
FAILURES = 7  #: in a row, that end a continuation
STALL = 60  #: solutions that do not halve the residual: there is none (of 20 some recover)
BUDGET = 1000  #: systems
FORCE = 1.0  #: scaled impulses from which the interior point starts
VELOCITY = 1.0


@kernel
def continuation(blocks, q, units, factors, S, N, r, work, tolerance, enough, interior_limit, budget):
    """From r, which becomes the best point, until the relative residual is ``tolerance`` or each unit's ``enough``.

    The interior point, with at most ``interior_limit`` steps, takes the problems that Newton does not solve; after
    ``budget`` systems no problem is begun.
    ``work`` (6, rows) is a workspace.  Returns (relative natural residual, interior-point steps, Newton steps).
    """
    prepare_newton(blocks, q, units, N)
    best = measure(blocks, q, units, N, r)
    last = best
    for a in range(r.shape[0]):
        work[1, a] = N.diagonal[a]
        work[2, a] = r[a]
    weight = FIRST_WEIGHT
    bound = 0.0
    solved = 0
    mark = np.inf
    stalled = 0
    interior = 0
    steps = 0
    failures = 0
    while best > tolerance and failures < FAILURES and stalled < STALL and interior + steps < budget:
        limit = interior_limit if failures >= STUBBORN and failures % 2 == 0 else 0
        target = max(DOWN * last, TARGET)
        now, more, newtons = proximal_problem(
            blocks, q, units, factors, S, N, work, weight, STEPS, target, LONG_PATIENCE, limit, FORCE, tolerance
        )
        interior += more
        steps += max(newtons, 1)  # none where eps D r_k makes |q| so large that r_k is good enough
        if now > max(target, tolerance):
            failures += 1
            solved = 0
            bound = NEAR * weight
            weight = min(GROW * weight, 1.0)
            continue
        failures = 0
        solved += 1
        if solved == AGAIN or newtons + more == 0:
            solved = 0
            bound *= RELAX
        lower = (FAST if newtons <= FEW else SLOW if newtons <= SOME else 1.0) * weight
        weight = max(lower, min(weight, bound), LEAST_WEIGHT)
        for a in range(r.shape[0]):
            work[2, a] = work[3, a]
        last = measure(blocks, q, units, N, work[2])
        stalled += 1
        if last < 0.5 * mark:
            mark = last
            stalled = 0
        if last < best:
            best = last
            for a in range(r.shape[0]):
                r[a] = work[2, a]
            if worst_residual(units, r, N.u, N.length, N.slope) <= enough:
                break
    return best, interior, steps


@kernel
def proximal_problem(blocks, q, units, factors, S, N, work, weight, steps, target, patience, limit, force, tolerance):
    """The problem around ``work[2]`` with eps = ``weight``; its solution goes to ``work[3]``.

    At most ``steps`` Newton steps from ``work[2]`` down to ``target``, then at most ``limit`` of the interior point
    from impulses ``force``.  ``work[1]`` holds D.  Returns (relative natural residual of *this* problem,
    interior-point steps, Newton steps).
    """
    near = work[2]
    read_diagonal(blocks, work[5])
    for a in range(q.shape[0]):
        work[4, a] = q[a] - weight * work[1, a] * near[a]
        work[3, a] = work[5, a] + weight * work[1, a]
    write_diagonal(blocks, work[3])
    for a in range(q.shape[0]):
        work[3, a] = near[a]
    prepare_newton(blocks, work[4], units, N)
    now = np.inf
    interior = 0
    newtons = 0
    if steps > 0:
        now, newtons = newton(blocks, work[4], units, factors, N, work[3], steps, target, patience)
    if now > max(target, tolerance) and limit > 0:
        now, interior, more = attempt(
            blocks, work[4], units, factors, S, N, work[3], work[0], now, force, VELOCITY, limit, tolerance
        )
        newtons += more
    write_diagonal(blocks, work[5])
    prepare_newton(blocks, q, units, N)
    return now, interior, newtons


@kernel
def read_diagonal(blocks, diagonal):
    """The diagonal of the matrix."""
    _diagonal(blocks, diagonal, False)


@kernel
def write_diagonal(blocks, diagonal):
    """Replace the diagonal of the matrix."""
    _diagonal(blocks, diagonal, True)


@kernel
def _diagonal(blocks, diagonal, write):
    """Read or write the diagonal of the matrix."""
    for i in range(blocks.start.shape[0] - 1):
        n = blocks.start[i]
        d = blocks.start[i + 1] - n
        for b in range(blocks.first[i], blocks.first[i + 1]):
            if blocks.column[b] == i:
                for k in range(d):
                    o = blocks.offset[b] + k * d + k
                    if write:
                        blocks.value[o] = diagonal[n + k]
                    else:
                        diagonal[n + k] = blocks.value[o]
