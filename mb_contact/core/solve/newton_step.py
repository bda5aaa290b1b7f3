# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One Newton step on the anchored problem of an island, whichever form its operator W has.

    dr = c - G du,   (1 + G W) dr = c,

with c and G of ``laws.py``, from the velocities behind the step or, for the first one, from those before it.
"""

import numpy as np

from mb_contact.core.jit import kernel, sweep
from mb_contact.core.solve.body_factors import factor_bodies, substitute_bodies
from mb_contact.core.solve.by_bodies import apply_bodies, scatter
from mb_contact.core.solve.by_nodes import apply_nodes, factor_nodes, substitute_nodes
from mb_contact.core.solve.by_rows import apply_rows, factor_rows, substitute_rows
from mb_contact.core.solve.laws import RHO, friction_group, linearise, residual
from mb_contact.core.solve.own_compliance import add_own, soften_step
from mb_contact.core.solve.system import BY_BODIES, BY_NODES, BY_ROWS, RESIDUAL, SPEED
from mb_contact.core.workspace import CONTACT

FIRST_EPS = 1e-3  #: weight of the first anchored problem
GUESS_EPS = 1e-6  #: of the first step, which keeps the states of the velocities before; FIRST_EPS by bodies
STANDING = 1e-9  #: velocity of a row that stands still, slip up to which a contact sticks [m/s, rad/s]
NEAR_EPS = 1e-6  #: weight below which a step is refined; by nodes the first one near a solution has it
CLOSE = 1e-5  #: residual from which velocities are those of the impulses, not those that the factors' solution gives,
CLOSER = 1e-8  #: and behind a refined step
LEAST_RESIDUAL = 4e-15  #: of the largest impulse: rounding, below which a residual cannot fall


@sweep
def copy_rows(first, last, source, target):
    """Entries first <= i < last of one array into another."""
    for i in range(first, last):
        target[i] = source[i]


@kernel
def apply_operator(P, b0, b1, c0, c1, x, y):
    """y = (W + C) x of an island."""
    apply_rigid(P, b0, b1, c0, c1, x, y)
    if P.soft[0] != 0:
        add_own(P.blocks.own, P.blocks.start[b0], P.blocks.start[b1], x, y)


@kernel
def apply_rigid(P, b0, b1, c0, c1, x, y):
    """y = W x of an island."""
    if P.form[0] == BY_ROWS:
        apply_rows(P.W, P.source, P.blocks.start[b0], P.blocks.start[b1], x, y, P.factors.acting)
    elif P.form[0] == BY_NODES:
        apply_nodes(P, b0, b1, x, y)
    else:
        apply_bodies(P.blocks.start, P.bodies, P.work, b0, b1, c0, c1, x, y)


@kernel
def evaluate(P, b0, b1, c0, c1, r):
    """Take the impulses r of an island into P.r, their velocities into P.u; returns the residual."""
    first, last, u, q = P.blocks.start[b0], P.blocks.start[b1], P.u, P.q
    copy_rows(first, last, r, P.r)
    apply_operator(P, b0, b1, c0, c1, r, u)
    for i in range(first, last):
        u[i] += q[i]
    return residual(P.blocks, P.r, u, b0, b1)


@kernel
def _substitute(P, b0, b1, c0, c1, c, dr):
    """dr = (1 + G W)^-1 c with the factors at hand; may overwrite work.du, f and v."""
    if P.form[0] == BY_ROWS:
        substitute_rows(P.factors, P.blocks.start[b0], P.blocks.start[b1], c, dr)
        return
    if P.form[0] == BY_NODES:
        substitute_nodes(P, b0, b1, c, P.work.du)
    else:
        substitute_bodies(P.blocks.start, P.bodies, P.factors, b0, b1, c0, c1, c, P.work.v)
        scatter(P.blocks.start, P.bodies, b0, b1, P.work.v, P.work.du)
    _respond(P.blocks, P.work.G, b0, b1, c, P.work.du, dr)


@kernel
def attainable(P, first, last, tolerance):
    """The tolerance, less in S than in D, or what rounding leaves beside impulses of this size [sqrt(N s m/s)].

    Only normals that press or approach count: for others both scales are the same.
    """
    largest, least, r, u, D, S = 0.0, 1.0, P.r, P.u, P.blocks.D, P.blocks.S
    for i in range(first, last):
        largest = max(largest, D[i] * r[i] * r[i])
        if r[i] != 0.0 or u[i] < -tolerance * np.sqrt(D[i]):
            least = min(least, D[i] / S[i])
    return max(tolerance * np.sqrt(least), LEAST_RESIDUAL * np.sqrt(largest))


@kernel
def keeps(P, first, last, tolerance, part, now):
    """Whether impulses of the residual ``now`` solve the problem to this part of the tolerance: in S, and in D."""
    return now <= part * tolerance and now <= attainable(P, first, last, tolerance)


@kernel
def _respond(blocks, G, b0, b1, c, du, dr):
    """dr = c - G du."""
    for b in range(b0, b1):
        n = blocks.start[b]
        if blocks.kind[b] == CONTACT and blocks.start[b + 1] == n + 3:
            x, y, z = du[n], du[n + 1], du[n + 2]
            dr[n] = c[n] - G[n, 0] * x
            dr[n + 1] = c[n + 1] - G[n + 1, 0] * x - G[n + 1, 1] * y - G[n + 1, 2] * z
            dr[n + 2] = c[n + 2] - G[n + 2, 0] * x - G[n + 2, 1] * y - G[n + 2, 2] * z
            continue
        for i in range(n, blocks.start[b + 1]):
            at, size = friction_group(blocks, b, i)
            dr[i] = c[i] - G[i, 0] * du[n] - G[i, 1] * du[at]
            if size == 2:
                dr[i] -= G[i, 2] * du[at + 1]


@kernel
def newton_step(P, b0, b1, c0, c1, eps, rho, used):
    """One step of P.r on the problem anchored at work.anchor, P.u after it; the residual, infinite where singular."""
    k = P.work
    first = P.blocks.start[b0]
    last = P.blocks.start[b1]
    anchored_velocities(P, first, last, eps)
    linearise(P.blocks, P.r, k.w, eps, rho, b0, b1, k.c, k.G)
    return take_step(P, b0, b1, c0, c1, eps, used)


@kernel
def first_step(P, b0, b1, c0, c1, used):
    """The step that keeps the states of the velocities before, anchored where P.r is; the residual behind it.

    Contacts that stick, slip or open mostly do so in the next step too, but W r + q with the last impulses r is off by
    all that the other forces have changed.  Only a block without an impulse that stands still has no state.
    """
    k, r, first, last = P.work, P.r, P.blocks.start[b0], P.blocks.start[b1]
    eps = FIRST_EPS if P.form[0] == BY_BODIES else GUESS_EPS
    for b in range(b0, b1):
        n = P.blocks.start[b]
        has_state = r[n] != 0.0 or abs(k.before[n]) > STANDING * P.unit[SPEED]
        copy_rows(n, P.blocks.start[b + 1], k.before if has_state else P.u, k.w)
    linearise(P.blocks, r, k.w, eps, RHO, b0, b1, k.c, k.G)
    for i in range(first, last):
        k.du[i] = P.u[i] - k.w[i]
    _respond(P.blocks, k.G, b0, b1, k.c, k.du, k.dr)
    copy_rows(first, last, k.dr, k.c)
    return take_step(P, b0, b1, c0, c1, eps, used)


@kernel
def take_step(P, b0, b1, c0, c1, eps, used):
    """The step dr = c - G W dr of P.r, P.u after it; the residual, infinite where singular."""
    k = P.work
    first = P.blocks.start[b0]
    last = P.blocks.start[b1]
    soft, C = P.soft[0] != 0, P.blocks.own
    if soft:
        soften_step(P.blocks, b0, b1, k.c, k.G)
    if P.form[0] == BY_ROWS:
        good = factor_rows(P.blocks, P.W, P.source, b0, b1, k.G, P.factors)
    elif P.form[0] == BY_NODES:
        good = factor_nodes(P, b0, b1)
    else:
        good = factor_bodies(P.blocks, P.bodies, k.G, P.factors, used, b0, b1, c0, c1)
    if not good:
        return np.inf
    r, u, dr, du, rest = P.r, P.u, k.dr, k.du, k.rest
    _substitute(P, b0, b1, c0, c1, k.c, dr)
    refined = eps < NEAR_EPS
    if refined:
        apply_rigid(P, b0, b1, c0, c1, dr, du)
        _respond(P.blocks, k.G, b0, b1, k.c, du, rest)
        if soft:
            add_own(C, first, last, dr, du)
        for i in range(first, last):
            rest[i] -= dr[i]
            r[i] += dr[i]
            u[i] += du[i]
        _substitute(P, b0, b1, c0, c1, rest, dr)
    if soft:
        add_own(C, first, last, dr, du)
    for i in range(first, last):
        r[i] += dr[i]
        u[i] += du[i]
    if P.form[0] != BY_ROWS:
        now = residual(P.blocks, r, u, b0, b1)
        if now > (CLOSER if refined else CLOSE) * P.unit[RESIDUAL]:
            return now
    return evaluate(P, b0, b1, c0, c1, r)


@kernel
def anchored_velocities(P, first, last, eps):
    """work.w = u + eps S (r - r_k)."""
    w, u, S, r, anchor = P.work.w, P.u, P.blocks.S, P.r, P.work.anchor
    for i in range(first, last):
        w[i] = u[i] + eps * S[i] * (r[i] - anchor[i])
