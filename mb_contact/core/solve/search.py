# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The search for a solution of an island: Newton steps (``newton.py``) from the last impulses, then by other means.

Of a large island a part may be solved alone (``parts.py``): by rows, and on long chains, at once the contacts that
press or approach; by bodies in a step, what some Newton steps have left unsolved, or what other contacts have changed.
Where contacts jam in their states Newton steps do not find others.  A small island begins anew at a solution of its
polyhedral problem (``pivoting.py``), a large one near the middle of all solutions (``central_path.py``), as small ones
do whose impulses stagnate near a solution.  A problem posed by nodes is posed by bodies then (``step/problem.py``).
"""

import numpy as np

from mb_contact.core.jit import INTEGER, REAL, kernel, on_demand
from mb_contact.core.solve.central_path import follow_central_path
from mb_contact.core.solve.newton import (
    LARGE,
    LEAST_EPS,
    NO_MOTION,
    OVER_BUDGET,
    RESUMED,
    SOLVED,
    TIGHT,
    TOO_LARGE,
    Goal,
    anew,
    solve_island,
)
from mb_contact.core.solve.newton_step import attainable, copy_rows, evaluate, keeps
from mb_contact.core.solve.parts import largest_tree, pose_part, take_part
from mb_contact.core.solve.pivoting import fits, start_elsewhere
from mb_contact.core.solve.system import BY_BODIES, BY_ROWS, ISLANDS, RESIDUAL

RESTART = 40  #: most Newton steps from one start, twice as many behind each other start,
CENTRE = 15  #: but of a large island from the impulses of the last step only so many,
STAGNATES = 1e-5  #: residual of a small island up to which its first other start is on the central path too
ACTING = 10  #: times that those contacts of a large island by rows are solved that press or are not solved,
LONG = 100  #: and of one by bodies with a tree of so many velocities
PARTS = 3  #: times that a part of a large island is solved apart, to
TIGHTER = 0.1  #: times the tolerance, or else to that part of the residual at least,
TOGETHER = 6  #: and Newton steps on all of the island behind that


@kernel
def is_large(P, island):
    """Whether an island has so many blocks that its other start is on the central path."""
    return P.island[island + 1] - P.island[island] >= LARGE


@kernel
def first_share(P, island, budget):
    """Newton steps of the first search: of a small island half of the budget, but two starts at least."""
    return budget if is_large(P, island) else min(budget, max((budget + 1) // 2, 2 * RESTART))


@kernel
def search(P, island, goal, budget):
    """Impulses and velocities of one island into P.r, P.u: status, Newton steps, residual, as ``solve_island``.

    Of a large island by rows, or with a long chain, first without the contacts that neither press nor approach.
    """
    status, used, now = OVER_BUDGET, 0, 0.0
    if is_large(P, island) and (P.form[0] == BY_ROWS or largest_tree(P, island) >= LONG):
        status, used, now = _solve_acting(P, island, goal, budget)
    if status != SOLVED:
        status, steps, now = _from_starts(P, island, goal, budget - used)
        used += steps
    return status, used, now


@kernel
def _solve_acting(P, island, goal, budget):
    """The island's solution from parts of it, or impulses to go on from; steps on a part count by its share."""
    b0, b1, part, used, form = P.island[island], P.island[island + 1], P.count[ISLANDS], 0, P.form[0]
    c0, c1 = P.bodies.first_tile[island], P.bodies.first_tile[island + 1]
    now = evaluate(P, b0, b1, c0, c1, P.r)
    if keeps(P, P.blocks.start[b0], P.blocks.start[b1], goal.tolerance, goal.taken, now):
        return SOLVED, used, now
    for _ in range(ACTING):
        if used >= budget or not pose_part(P, island, goal.tolerance, True):
            break
        blocks = P.island[part + 1] - P.island[part]
        most = min(budget, (budget - used) * (b1 - b0) // blocks)
        P.form[0] = BY_ROWS
        status, steps, _ = _from_starts(P, part, goal, most)
        P.form[0] = form
        used, goal = used - (-steps * blocks // (b1 - b0)), anew(goal)
        if status != SOLVED:
            break
        take_part(P)
        now = evaluate(P, b0, b1, c0, c1, P.r)
        if now <= attainable(P, P.blocks.start[b0], P.blocks.start[b1], goal.tolerance):
            return SOLVED, used, now
    return OVER_BUDGET, used, now


@kernel
def _from_starts(P, island, goal, budget):
    """``solve_island`` by turns: from the impulses in P.r, from another start, of small islands from where that led.

    The other start of a small island is a solution of its polyhedral problem; that of a large one, and of one with too
    many unknowns for that, lies on the central path, and so does the first one of a small island that is near a
    solution, whose impulses stagnate.  The path begins where the search is, a second time at zero, and takes at most
    half of what is left of the budget.  A large one whose impulses have solved it with other contacts begins with the
    part that is not solved.
    A ray must show itself from a second start, for which there is so much budget again: a solution of the polyhedral
    problem, or zero.
    """
    b0, b1, kept, known = P.island[island], P.island[island + 1], P.work.kept, goal.known
    c0, c1 = P.bodies.first_tile[island], P.bodies.first_tile[island + 1]
    first, last, small = P.blocks.start[b0], P.blocks.start[b1], not is_large(P, island)
    part, most = min(budget, RESTART if small or not known else CENTRE), RESTART
    used, least, jammed, elsewhere, pivoted, centred = 0, np.inf, False, False, False, False
    if goal.taken == RESUMED and not small and P.form[0] == BY_BODIES:
        now = evaluate(P, b0, b1, c0, c1, P.r)
        if keeps(P, first, last, goal.tolerance, goal.taken, now):
            return SOLVED, used, now
        status, used, now = _solve_parts(P, island, goal, budget)
        if status == SOLVED:
            return status, used, now
    while True:
        status, steps, now = solve_island(P, island, goal, part)
        used += steps
        if status == OVER_BUDGET and known and not small and P.form[0] == BY_BODIES:
            status, steps, now = _solve_parts(P, island, goal, budget - used)
            used += steps
        shown = status == NO_MOTION
        if status == SOLVED or status == TOO_LARGE or (shown and jammed) or (used >= budget and not shown):
            break
        if now < least:
            least = now
            copy_rows(first, last, P.r, kept)
        if shown:
            budget += used
        jammed, elsewhere, known = jammed or shown, shown or not (small and elsewhere), False
        goal = anew(goal)
        if elsewhere:
            stagnates = not (shown or centred) and least <= STAGNATES * P.unit[RESIDUAL]
            pivoted = small and not (stagnates or (shown and pivoted)) and fits(P, b0, b1)
            if pivoted or shown or centred:
                start_elsewhere(P, b0, b1, c0, c1, pivoted)
            if not (pivoted or shown):
                used += follow_central_path(P, b0, b1, c0, c1, goal.tolerance, (budget - used) // 2)
                centred = True
        part = min(budget - used, 2 * most if jammed else most)
        if elsewhere:
            most *= 2
    if status != SOLVED and status != TOO_LARGE and least < now:
        now = evaluate(P, b0, b1, c0, c1, kept)
    return status, used, now


@on_demand((INTEGER, INTEGER, REAL))
def _solve_parts(P, island, goal, budget):
    """Newton steps on the part of an island that is not solved, then on all of it, by turns from the impulses in P.r.

    A small part in which contacts jam begins anew at a solution of its polyhedral problem.
    Returns (status, Newton steps, residual) as ``solve_island`` does; steps on a part count by its share of the blocks.
    Without a solution the impulses are those of the least residual.
    """
    b0, b1, part, kept = P.island[island], P.island[island + 1], P.count[ISLANDS], P.work.kept
    c0, c1 = P.bodies.first_tile[island], P.bodies.first_tile[island + 1]
    first, last, used = P.blocks.start[b0], P.blocks.start[b1], 0
    whole = Goal(goal.tolerance, TIGHT, False, False, goal.polish, goal.least)
    closer = Goal(TIGHTER * goal.tolerance, TIGHT, False, False, True, goal.least)
    copy_rows(first, last, P.r, kept)
    for _ in range(PARTS):
        now = evaluate(P, b0, b1, c0, c1, kept)  # the velocities of Newton steps far from a solution are less exact
        if used >= budget or not pose_part(P, island, goal.tolerance, False):
            return OVER_BUDGET, used, now
        blocks, d0, d1 = P.island[part + 1] - P.island[part], P.bodies.first_tile[part], P.bodies.first_tile[part + 1]
        for turn in range(2):
            most = min(RESTART, (budget - used) * (b1 - b0) // blocks)
            status, steps, left = solve_island(P, part, closer, most)
            used += steps * blocks // (b1 - b0)
            jams = status == OVER_BUDGET and left > TIGHTER * now
            if turn == 1 or not jams or used >= budget or not fits(P, P.island[part], P.island[part + 1]):
                break
            start_elsewhere(P, P.island[part], P.island[part + 1], d0, d1, True)
        if status == TOO_LARGE or (status != SOLVED and left > TIGHTER * now):
            return status, used, now
        take_part(P)
        status, steps, left = solve_island(P, island, whole, min(TOGETHER, budget - used))
        used += steps
        if status != OVER_BUDGET:
            return status, used, left
        if not left < now:
            break
        copy_rows(first, last, P.r, kept)
    return OVER_BUDGET, used, evaluate(P, b0, b1, c0, c1, kept)


@kernel
def solve(P, tolerance, budget):
    """All islands; what each came to stands in ``P.report``."""
    for i in range(P.count[ISLANDS]):
        used, goal = 0, Goal(tolerance, TIGHT, False, True, True, LEAST_EPS)
        for half in range(2):
            part = budget - used if half == 1 else first_share(P, i, budget)
            status, steps, now = search(P, i, goal, part)
            used += steps
            if status != OVER_BUDGET or used >= budget:
                break
        P.report[i, 0] = status
        P.report[i, 1] = used
        P.report[i, 2] = now
