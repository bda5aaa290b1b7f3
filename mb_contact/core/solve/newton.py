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
the ray it jams, and a solution may exist all the same: few do (4 of 32 captured steps with rays, which are solved).
"""

import numpy as np

from mb_contact.core.jit import REAL, TRUTH, kernel, on_demand
from mb_contact.core.solve.body_factors import order_pieces
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
LEAST_EPS = 1e-9
EVEN = 1e-7  #: ratio of masses of free bodies below which the least eps falls with it
MOST_EPS = 1e3  #: a contact whose rows are strongly coupled needs this much to choose its state
PROBE_FROM = 1e-4  #: residual below which the probe is worth its step
OTHER_RHO = 1.0  #: by turns with RHO where steps go round in circles
PATIENCE = 8  #: steps on one anchored problem
RISE = 5.0  #: of eps where it is not solved in so many
FAST_RISE = 30.0  #: and of small islands that do not start from zero: other starts follow
TIGHT = 1e-3  #: part of the tolerance above which one more Newton step is spent on a solution
SETTLED = 1e-5  #: the same behind a step that took Newton steps, whose impulses also stopped what moved
FAR = 1e3  #: times the tolerance: most residual of an island that is near its solution
CIRCLE = 1e-3  #: change of the residual over two steps, relative, that counts as a circle
JUMP_FROM = 1e-6  #: residual below which anchors that run on without better residuals jump,
MOST_MOVES = 1e3  #: and at most so many times their last move
RAYS = 3  #: times that a ray must show itself
RAY_STILL = 1e-10  #: d* W d over d* D d of a ray
RAY_FAR = 1e6  #: impulses at least along d at which W d would outweigh q.d [sqrt(N s m/s)]: below it is a solution
RAY_APART = 1e-5  #: distance of a ray from the cones, relative


@kernel
def _keep_best(P, first, last, now, best):
    """Keep the impulses of residual ``now`` in work.best where they are better; the least residual."""
    if not now < best:
        return best
    copy_rows(first, last, P.r, P.work.best)
    return now


@on_demand(TRUTH)
def _is_ray(P, b0, b1, c0, c1):
    """Whether d = r - r_k is a ray; it is left in work.rest."""
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
    most = min(RAY_STILL * size, -against * np.sqrt(size) / (RAY_FAR * P.unit[RESIDUAL]))
    if not (against < 0.0 and abs(moved) <= most):
        return False
    return apart_from_cones(P.blocks, d, b0, b1) <= RAY_APART * np.sqrt(size)


@on_demand(REAL)
def _room(P, b0, b1):
    """How many times the move r - r_k can be taken again until a pressing contact opens or one that sticks slips."""
    blocks, r, u, anchor, room = P.blocks, P.r, P.u, P.work.anchor, MOST_MOVES
    for b in range(b0, b1):
        n = blocks.start[b]
        z, d = r[n] - RHO * u[n] / blocks.S[n] - blocks.mu[n], r[n] - anchor[n]
        if (blocks.kind[b] != CONTACT and blocks.kind[b] != UNILATERAL) or z <= 0.0:
            continue
        if d < 0.0:
            room = min(room, -z / d)
        p, q, s = d * d, z * d, z * z  # p a^2 + 2 q a + s = (z + a d)^2 - |y + a e|^2, y over mu: zero on the cone
        for i in range(n + 1, n + 3 if blocks.kind[b] == CONTACT else n):
            if blocks.mu[i] > 0.0:
                y, e = (r[i] - RHO * u[i] / blocks.D[i]) / blocks.mu[i], (r[i] - anchor[i]) / blocks.mu[i]
                p, q, s = p - e * e, q - y * e, s - y * y
        root = q * q - p * s
        if s >= 0.0 and root >= 0.0 and np.sqrt(root) > q:
            room = min(room, s / (np.sqrt(root) - q))
    return room


@kernel
def softness(P, c0, c1):
    """Factor on the least eps, 1 unless free bodies of an island posed by bodies have masses of all magnitudes.

    Anchored problems come nearer to the solution as fast as eps D is small beside the compliance of the heaviest body.
    """
    if P.face[0] != BY_BODIES or P.unit[MASSES] >= EVEN:
        return 1.0
    least, largest, bodies = np.inf, 0.0, P.bodies
    for k in range(c0, c1):
        t = bodies.tree_of[bodies.pieces[k]]
        at = bodies.mass_at[t]
        m = bodies.M[at + 21]
        if bodies.tree[t + 1] == bodies.tree[t] + 1 and m > 0.0 and bodies.M[at + 28] == m and bodies.M[at + 35] == m:
            least, largest = min(least, m), max(largest, m)
    return min(1.0, least / (EVEN * largest)) if largest > 0.0 else 1.0


@kernel
def solve_island(P, island, c0, c1, tolerance, taken, known, budget, longer, rays, polish):
    """Impulses and velocities of one island into P.r, P.u, from the impulses that stand in P.r.

    ``tolerance`` is the worst natural map of a block [sqrt(N s m/s)], ``taken`` the part of it up to which the
    impulses at the start are taken as they are, ``known`` whether work.before is, ``budget`` a number of Newton steps
    and ``longer`` that where the residual is at most FAR times the tolerance, ``rays`` whether a ray ends the search,
    ``polish`` whether a solution gets one more Newton step: by nodes only where the start was near it, because a
    machine in motion starts its next step from afar.  Returns (status, Newton steps, residual).
    """
    k = P.work
    b0 = P.island[island]
    by_nodes = P.face[0] == BY_NODES
    b1 = P.island[island + 1]
    first = P.blocks.start[b0]
    last = P.blocks.start[b1]
    now = evaluate(P, b0, b1, c0, c1, P.r)
    if now <= taken * tolerance:
        return SOLVED, 0, now
    warm = False
    for i in range(first, last):
        warm = warm or P.r[i] != 0.0
    from_zero = not known and residual(P.blocks, k.zero, P.q, b0, b1) <= now
    if from_zero:
        now = evaluate(P, b0, b1, c0, c1, k.zero)
        if now <= taken * tolerance:
            return SOLVED, 0, now
    used = 0
    if P.face[0] == BY_BODIES:
        used = order_pieces(P.bodies, P.factors, b0, b1, c0, c1)
        if used < 0:
            return TOO_LARGE, 0, now
    best = now
    enough = attainable(P, first, last, tolerance)
    soft = softness(P, c0, c1)
    copy_rows(first, last, P.r, k.best)
    copy_rows(first, last, P.r, k.anchor)
    steps = 0
    near_by = now < PROBE_FROM * P.unit[RESIDUAL]
    known = known and not near_by
    if (known or near_by) and budget > 0:
        steps = 1
        if known:
            now = first_step(P, b0, b1, c0, c1, used)
            worst = MISSED * best if by_nodes else best
        else:
            now = newton_step(P, b0, b1, c0, c1, PROBE_EPS * soft, RHO, used)
            worst = best if best <= enough else 0.1 * best
        if now < worst:
            if now < best:
                best = _keep_best(P, first, last, now, best)
                enough = attainable(P, first, last, tolerance)
            copy_rows(first, last, P.r, k.anchor)
        else:
            now = evaluate(P, b0, b1, c0, c1, k.best)
    eps, first_part = (NODES_EPS, 0.3) if by_nodes else (FIRST_EPS, 0.1)
    if by_nodes and known and now < PROBE_FROM * P.unit[RESIDUAL]:
        eps = NEAR_EPS
    rise = FAST_RISE if warm and b1 - b0 < LARGE else RISE
    rho = RHO
    floor = 0.0
    at_anchor = now
    before = np.inf  # residuals of the last two steps on one anchored problem
    before_that = np.inf
    since = 0
    accepted = 0
    failures = 0
    shown = 0  # times that a ray showed itself
    while best > enough and steps < (longer if best <= FAR * enough else budget):
        if by_nodes and failures > 1:
            break  # another face has other means
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
        if rays and near <= 0.1 * at_anchor and 0.9 <= now / at_anchor < 1.5 and _is_ray(P, b0, b1, c0, c1):
            shown += 1
            if shown == RAYS:
                evaluate(P, b0, b1, c0, c1, k.best)
                return NO_MOTION, steps, best
        if now < 0.9 * at_anchor:
            part = first_part if since == 1 else (0.3 if since <= 4 else 1.0)
            eps = min(eps, max(part * eps, max(NEAR_EPS * soft, floor)))
        elif near <= 0.5 * at_anchor and now < 10.0 * at_anchor:
            eps = min(eps, max(0.1 * eps, max(LEAST_EPS * soft, floor)))
            if now < JUMP_FROM * P.unit[RESIDUAL] and enough <= tolerance:  # else what runs on is rounding
                room = _room(P, b0, b1)
                for i in range(first, last):
                    k.rest[i] = P.r[i] + room * (P.r[i] - k.anchor[i])
                now = evaluate(P, b0, b1, c0, c1, k.rest)
                if now < best:
                    best = _keep_best(P, first, last, now, best)
                    enough = attainable(P, first, last, tolerance)
        elif since >= PATIENCE or circle or not now < np.inf:
            rho = OTHER_RHO if rho == RHO else RHO
            floor = 3.0 * eps
            eps = min(rise * eps, MOST_EPS)
            failures += 1
            at_anchor = evaluate(P, b0, b1, c0, c1, k.best if failures % 2 == 0 else k.anchor)
            since = 0
            before = before_that = np.inf
            continue
        else:
            before_that = before
            before = now
            continue
        copy_rows(first, last, P.r, k.anchor)
        at_anchor = now
        since = 0
        before = before_that = np.inf
        failures = 0
        accepted += 1
        if accepted % 4 == 0:
            floor *= 0.3
    if now != best:
        best = evaluate(P, b0, b1, c0, c1, k.best)
    if polish and (near_by or not by_nodes) and TIGHT * tolerance < best <= enough:
        copy_rows(first, last, P.r, k.anchor)
        steps += 1
        now = newton_step(P, b0, b1, c0, c1, PROBE_EPS * soft, RHO, used)
        if now < best:
            best = now
        else:
            best = evaluate(P, b0, b1, c0, c1, k.anchor)
    return (SOLVED if best <= enough else OVER_BUDGET), steps, best


@kernel
def apply_to_all(P, x, y):
    """y = W x of all rows, for study."""
    for i in range(P.count[ISLANDS]):
        apply_operator(P, P.island[i], P.island[i + 1], P.bodies.first_piece[i], P.bodies.first_piece[i + 1], x, y)
