# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Proximal Newton steps on the exact laws of an island from one start: the solver of every contact problem.

Redundant contacts make W singular, so the problem that is solved is anchored at impulses r_k,

    u + eps S (r - r_k) and r fulfil the laws,

and r_k follows its solutions while eps falls: the limit fulfils the laws themselves.  One Newton step
(``newton_step.py``) is one linearisation, one factorisation and one substitution.
Where steps go round in circles eps rises, and the states are chosen with another weight rho.  Where that does not help
the search goes on otherwise (``search.py``).

Contacts that nearly contradict each other let the anchors run along a direction that moves nothing, with one residual,
until a contact changes its state: they jump there (robots on feet with many points: 400 Newton steps become 8 to 300).

A step that no motion can fulfil (push-out between two walls) shows itself by a ray: the solutions of the anchored
problems run along d = r - r_k with W d = 0, d in the cones and q.d < 0, and the residual stays where it is.  Then no
velocity has u in the dual cones, u_n >= mu |u_t|.  Coulomb's law asks for u_n >= 0 only, so where friction is part of
the ray it jams, and a solution may exist all the same: few do (5 of 32 captured steps with rays, which are solved).
"""

from typing import NamedTuple

import numpy as np

from mb_contact.core.jit import REAL, TRUTH, kernel, on_demand, sweep
from mb_contact.core.solve.body_factors import order_tiles
from mb_contact.core.solve.laws import RHO, apart_from_cones, residual
from mb_contact.core.solve.newton_step import (
    FIRST_EPS,
    NEAR_EPS,
    anchored_velocities,
    apply_operator,
    attainable,
    copy_rows,
    evaluate,
    first_step,
    keeps,
    newton_step,
)
from mb_contact.core.solve.system import BY_BODIES, BY_NODES, ISLANDS, MASSES, RESIDUAL
from mb_contact.core.workspace import CONTACT, UNILATERAL

SOLVED = 0  #: status of an island
OVER_BUDGET = 1  #: the best impulses of so many Newton steps
NO_MOTION = 2  #: there is a ray, in work.rest; the best impulses in P.r
TOO_LARGE = 3  #: the factors' workspace is too small: make_factors, and again
LARGE = 64  #: blocks of a large island, whose search has other means
NODES_EPS = 1e-4  #: the same by nodes: 8.5 steps in the place of 11
MISSED = 10.0  #: times the residual before it, above which that step is not taken by nodes; elsewhere it must be less
PROBE_EPS = 1e-7  #: of the one step that is tried first
LEAST_EPS = 1e-8  #: least weight of an anchored problem,
FINER = 1e-2  #: part of it behind the first start: slower to begin with, but impulses creep less
EVEN = 1e-7  #: ratio of masses of free bodies below which the least eps falls with it
MOST_EPS = 1e3  #: a contact whose rows are strongly coupled needs this much to choose its state
PROBE_FROM = 1e-4  #: residual below which the probe is worth its step
OTHER_RHO = 1.0  #: by turns with RHO where steps go round in circles
PATIENCE = 8  #: steps on one anchored problem
RISE = 5.0  #: of eps where it is not solved in so many
TIGHT = 1e-3  #: part of the tolerance above which one more Newton step is spent on a solution
SETTLED = 1e-5  #: the same behind a step that took Newton steps, whose impulses also stopped what moved,
RESUMED = 1.0  #: and of impulses that have just solved the step with other contacts
CIRCLE = 1e-3  #: change of the residual over two steps, relative, that counts as a circle
JUMP_FROM = 1e-6  #: residual below which anchors that run on without better residuals jump,
MOST_MOVES = 1e3  #: and at most so many times their last move
RAYS = 3  #: times that a ray must show itself
RAY_STILL = 1e-10  #: d* W d over d* D d of a ray
RAY_FAR = 1e6  #: impulses at least along d at which W d would outweigh q.d [sqrt(N s m/s)]: below it is a solution
RAY_APART = 1e-5  #: distance of a ray from the cones, relative


class Goal(NamedTuple):
    """What is asked of the solution of an island."""

    tolerance: float  #: worst natural map of a block [sqrt(N s m/s)]
    taken: float  #: part of it up to which the impulses at the start are taken as they are
    known: bool  #: whether work.before is
    rays: bool  #: whether a ray ends the search
    #: whether a solution gets one more Newton step: by nodes only where the start was near it, because a machine in
    #: motion starts its next step from afar
    polish: bool
    least: float  #: least weight eps of an anchored problem; by nodes NEAR_EPS, less where masses are uneven


@sweep
def anew(goal):
    """The same goal behind other starts, where velocities before tell nothing."""
    return Goal(goal.tolerance, goal.taken, False, goal.rays, goal.polish, FINER * LEAST_EPS)


@sweep
def without_rays(goal):
    """The same goal where a ray does not end the search."""
    return Goal(goal.tolerance, goal.taken, goal.known, False, goal.polish, goal.least)


@kernel
def _keep_best(P, first, last, now, best):
    """Keep the impulses of residual ``now`` in work.best where they are better; the least residual."""
    if not now < best:
        return best
    copy_rows(first, last, P.r, P.work.best)
    return now


@on_demand(TRUTH)
def _is_ray(P, b0, b1, c0, c1, soft):
    """Whether d = r - r_k is a ray; it is left in work.rest.

    A heavy body on a light one moves by as little as its share of their compliance, ``soft`` times EVEN.
    """
    d = P.work.rest
    first = P.blocks.start[b0]
    last = P.blocks.start[b1]
    for i in range(first, last):
        d[i] = P.r[i] - P.work.anchor[i]
    apply_operator(P, b0, b1, c0, c1, d, P.work.du)
    moved = 0.0
    size = 0.0
    against = 0.0
    for i in range(first, last):
        moved += d[i] * P.work.du[i]
        size += d[i] * d[i] * P.blocks.D[i]
        against += d[i] * P.q[i]
    most = soft * min(RAY_STILL * size, -against * np.sqrt(size) / (RAY_FAR * P.unit[RESIDUAL]))
    if not (against < 0.0 and abs(moved) <= most):
        return False
    return apart_from_cones(P.blocks, d, b0, b1) <= RAY_APART * np.sqrt(size)


@kernel
def _moves_left(P, b0, b1):
    """How many times the move r - r_k can be taken again until a pressing contact opens or one that sticks slips."""
    blocks, r, u, anchor, moves = P.blocks, P.r, P.u, P.work.anchor, MOST_MOVES
    for b in range(b0, b1):
        n = blocks.start[b]
        z, d = r[n] - RHO * u[n] / blocks.S[n] - blocks.mu[n], r[n] - anchor[n]
        if (blocks.kind[b] != CONTACT and blocks.kind[b] != UNILATERAL) or z <= 0.0:
            continue
        if d < 0.0:
            moves = min(moves, -z / d)
        p, q, s = d * d, z * d, z * z  # p a^2 + 2 q a + s = (z + a d)^2 - |y + a e|^2, y over mu: zero on the cone
        for i in range(n + 1, n + 3 if blocks.kind[b] == CONTACT else n):
            if blocks.mu[i] > 0.0:
                y, e = (r[i] - RHO * u[i] / blocks.D[i]) / blocks.mu[i], (r[i] - anchor[i]) / blocks.mu[i]
                p, q, s = p - e * e, q - y * e, s - y * y
        root = q * q - p * s
        if s >= 0.0 and root >= 0.0 and np.sqrt(root) > q:
            moves = min(moves, s / (np.sqrt(root) - q))
    return moves


@kernel
def softness(P, c0, c1):
    """Factor on the least eps, 1 unless free bodies of an island posed by bodies have masses of all magnitudes.

    Anchored problems come nearer to the solution as fast as eps D is small beside the compliance of the heaviest body.
    """
    if P.form[0] != BY_BODIES or P.unit[MASSES] >= EVEN:
        return 1.0
    least, largest, bodies = np.inf, 0.0, P.bodies
    for k in range(c0, c1):
        t = bodies.tree_of[bodies.tiles[k]]
        at = bodies.mass_at[t]
        m = bodies.M[at + 21]
        if bodies.tree[t + 1] == bodies.tree[t] + 1 and m > 0.0 and bodies.M[at + 28] == m and bodies.M[at + 35] == m:
            least, largest = min(least, m), max(largest, m)
    return min(1.0, least / (EVEN * largest)) if largest > 0.0 else 1.0


@kernel
def _try_first(P, b0, b1, c0, c1, known, used, soft, tolerance, best, enough):
    """One step from the start: by the velocities before where they are ``known``, else for a start that is near.

    Where it leads away from a solution the impulses of the start stand in P again.  Returns the residual there, the
    best one and the one that is enough.
    """
    k, first, last, by_nodes = P.work, P.blocks.start[b0], P.blocks.start[b1], P.form[0] == BY_NODES
    if known:
        now = first_step(P, b0, b1, c0, c1, used)
        worst = MISSED * best if by_nodes else best
    else:
        now = newton_step(P, b0, b1, c0, c1, PROBE_EPS * soft, RHO, used)
        worst = best if best <= enough else 0.1 * best
    if not now < worst:
        return evaluate(P, b0, b1, c0, c1, k.best), best, enough
    if now < best:
        best = _keep_best(P, first, last, now, best)
        enough = attainable(P, first, last, tolerance)
    copy_rows(first, last, P.r, k.anchor)
    return now, best, enough


@on_demand(REAL)
def _jump(P, b0, b1, c0, c1):
    """The last move of the anchor as often as it changes no state, at once; the residual behind it."""
    first, last, k = P.blocks.start[b0], P.blocks.start[b1], P.work
    moves = _moves_left(P, b0, b1)
    for i in range(first, last):
        k.rest[i] = P.r[i] + moves * (P.r[i] - k.anchor[i])
    return evaluate(P, b0, b1, c0, c1, k.rest)


@kernel
def _polish(P, b0, b1, c0, c1, soft, used, best):
    """One more Newton step from a solution, which stays where that is worse; the residual."""
    copy_rows(P.blocks.start[b0], P.blocks.start[b1], P.r, P.work.anchor)
    now = newton_step(P, b0, b1, c0, c1, PROBE_EPS * soft, RHO, used)
    return now if now < best else evaluate(P, b0, b1, c0, c1, P.work.anchor)


@kernel
def solve_island(P, island, goal, budget):
    """Impulses and velocities of one island into P.r, P.u, from the impulses that stand in P.r.

    Parameters
    ----------
    goal : Goal
    budget : int
        Newton steps.

    Returns
    -------
    tuple
        (status, Newton steps, residual).
    """
    k, tolerance, by_nodes = P.work, goal.tolerance, P.form[0] == BY_NODES
    b0, b1 = P.island[island], P.island[island + 1]
    c0, c1 = P.bodies.first_tile[island], P.bodies.first_tile[island + 1]
    first, last = P.blocks.start[b0], P.blocks.start[b1]
    now = evaluate(P, b0, b1, c0, c1, P.r)
    if keeps(P, first, last, tolerance, goal.taken, now):
        return SOLVED, 0, now
    if not goal.known and residual(P.blocks, k.zero, P.q, b0, b1) <= now:
        now = evaluate(P, b0, b1, c0, c1, k.zero)
        if keeps(P, first, last, tolerance, goal.taken, now):
            return SOLVED, 0, now
    used = 0
    if P.form[0] == BY_BODIES:
        used = order_tiles(P.bodies, P.factors, b0, b1, c0, c1)
        if used < 0:
            return TOO_LARGE, 0, now
    best, enough, soft, steps = now, attainable(P, first, last, tolerance), softness(P, c0, c1), 0
    least = NEAR_EPS if by_nodes else min(goal.least, soft * LEAST_EPS)
    copy_rows(first, last, P.r, k.best)
    copy_rows(first, last, P.r, k.anchor)
    near_by = now < PROBE_FROM * P.unit[RESIDUAL]
    known = goal.known and not near_by
    if (known or near_by) and budget > 0:
        steps = 1
        now, best, enough = _try_first(P, b0, b1, c0, c1, known, used, soft, tolerance, best, enough)
    eps, first_part = (NODES_EPS, 0.3) if by_nodes else (FIRST_EPS, 0.1)
    if by_nodes and known and now < PROBE_FROM * P.unit[RESIDUAL]:
        eps = NEAR_EPS
    rho, floor, at_anchor = RHO, 0.0, now
    before = before_that = np.inf  # residuals of the last two steps on one anchored problem
    since = accepted = failures = shown = 0  # shown: times that a ray showed itself
    while best > enough and steps < budget:
        if by_nodes and failures > 1:
            break  # another form has other means
        now = newton_step(P, b0, b1, c0, c1, eps, rho, used)
        steps += 1
        since += 1
        if now < best:
            best = _keep_best(P, first, last, now, best)
            enough = attainable(P, first, last, tolerance)
        near = np.inf
        if now >= 0.9 * at_anchor:
            anchored_velocities(P, first, last, eps)
            near = residual(P.blocks, P.r, k.w, b0, b1)
        circle = since > 3 and abs(now - before_that) < CIRCLE * now
        if goal.rays and near <= 0.1 * at_anchor and 0.9 <= now / at_anchor < 1.5 and _is_ray(P, b0, b1, c0, c1, soft):
            shown += 1
            if shown == RAYS:
                evaluate(P, b0, b1, c0, c1, k.best)
                return NO_MOTION, steps, best
        if now < 0.9 * at_anchor:
            part = first_part if since == 1 else (0.3 if since <= 4 else 1.0)
            eps = min(eps, max(part * eps, max(least, floor)))
        elif near <= 0.5 * at_anchor and now < 10.0 * at_anchor:
            eps = min(eps, max(0.1 * eps, max(least, floor)))
            if now < JUMP_FROM * P.unit[RESIDUAL] and enough <= tolerance:  # else what runs on is rounding
                now = _jump(P, b0, b1, c0, c1)
                if now < best:
                    best = _keep_best(P, first, last, now, best)
                    enough = attainable(P, first, last, tolerance)
        elif since >= PATIENCE or circle or not now < np.inf:
            rho = OTHER_RHO if rho == RHO else RHO
            floor = 3.0 * eps
            eps = min(RISE * eps, MOST_EPS)
            failures += 1
            at_anchor = evaluate(P, b0, b1, c0, c1, k.best if failures % 2 == 0 else k.anchor)
            since, before, before_that = 0, np.inf, np.inf
            continue
        else:
            before_that, before = before, now
            continue
        copy_rows(first, last, P.r, k.anchor)
        at_anchor, since, failures, before, before_that = now, 0, 0, np.inf, np.inf
        accepted += 1
        if accepted % 4 == 0:
            floor *= 0.3
    if now != best:
        best = evaluate(P, b0, b1, c0, c1, k.best)
    if goal.polish and (near_by or not by_nodes) and TIGHT * tolerance < best <= enough:
        steps += 1
        best = _polish(P, b0, b1, c0, c1, soft, used, best)
    return (SOLVED if best <= enough else OVER_BUDGET), steps, best


@kernel
def apply_to_all(P, x, y):
    """y = W x of all rows, for study."""
    for i in range(P.count[ISLANDS]):
        apply_operator(P, P.island[i], P.island[i + 1], P.bodies.first_tile[i], P.bodies.first_tile[i + 1], x, y)
