# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The certificate of a step's contact problem, recomputed from its impulses, and the proof of a ray."""

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.constraints.bilateral import FIRST, SPEED, VELOCITY
from mb_contact.core.constraints.gear import combine_velocities, partner_impulses
from mb_contact.core.constraints.rows import row_dot, row_impulses, row_velocities
from mb_contact.core.jit import NOTHING, kernel, on_demand
from mb_contact.core.solve.certificate import certify
from mb_contact.core.solve.system import BLOCKS, BY_ROWS, ISLANDS, ROWS
from mb_contact.core.step.problem import rows_in_use
from mb_contact.core.tree.articulated import impulse_response
from mb_contact.core.workspace import BOX, CONTACT, EQUALITY, GAIN, MOTION


@kernel
def check_ray(h):
    """Judge the ray by the impulse sweep: ``sol.proof`` holds its largest velocity and q* d, both in units of its size.

    Impulses d within their bounds that move nothing (u = J v + q then has u* d = q* d whatever v is) while q* d < 0:
    no velocity v has u in the dual cones, which would make u* d >= 0.

    Reads: art, bil, kin, rows, sol, system, tree, work.  Writes: art, sol, work.
    """
    h.sol.proof[MOTION] = 0.0
    h.sol.proof[GAIN] = 0.0
    n_rows = rows_in_use(h)
    found = False
    for i in range(n_rows):
        found = found or h.sol.ray[i] != 0.0
    if found:
        _judge_ray(h, n_rows)


@on_demand(NOTHING)
def _judge_ray(h, n_rows):
    """``sol.proof`` of a ray that is not zero."""
    partner_impulses(h.sol.ray, h.bil)
    row_impulses(h.rows, n_rows, h.sol.ray, h.work.impulse)
    impulse_response(h.tree, h.kin, h.art, h.work.impulse, h.work.joint_impulse, h.work.dv)
    row_velocities(h.rows, n_rows, h.art.alpha, h.sol.u)
    combine_velocities(h.sol.u, h.bil)
    P = h.system
    for i in range(P.count[ROWS]):
        row = P.source[i]
        h.sol.proof[MOTION] = max(h.sol.proof[MOTION], abs(h.sol.u[row]) / np.sqrt(P.blocks.D[i]))
        h.sol.proof[GAIN] += h.sol.ray[row] * (h.sol.q[row] + h.sol.pushed[row])
    for b in range(P.count[BLOCKS]):
        h.sol.proof[MOTION] = max(h.sol.proof[MOTION], _outside(h, P, b))


@kernel
def _outside(h, P, b):
    """How far the ray is outside the cone of one block, scaled."""
    i = P.blocks.start[b]
    if P.blocks.kind[b] == EQUALITY:
        return 0.0
    normal = h.sol.ray[P.source[i]]
    scale = np.sqrt(P.blocks.D[i])
    if P.blocks.kind[b] == BOX:
        return abs(normal) * scale
    worst = max(-normal, 0.0)
    if P.blocks.kind[b] == CONTACT:
        x = h.sol.ray[P.source[i + 1]]
        y = h.sol.ray[P.source[i + 2]]
        mu = max(P.blocks.mu[i + 1], P.blocks.mu[i + 2])
        worst = max(worst, np.sqrt(x * x + y * y) - mu * max(normal, 0.0))
    return worst * scale


@kernel
def island_velocities(W, source, first, last, r, q, u):
    """u = W r + q of an island, by the caller's rows; one of these may stand in two blocks, with a part of r each."""
    for i in range(first, last):
        row = source[i]
        t = q[row]
        for j in range(first, last):
            t += W[row, source[j]] * r[j]
        u[row] = t


@kernel
def certify_step(h):
    """Velocities ``sol.u`` of the rows, from W or by the impulse sweep, and from them the certificate of the problem.

    W where there is one: beside a compliance of 1e-12 the sweep's rounding of 1e-11 m/s would count as 1e-5.  Where
    rows are tied W is not what they ask for.

    Reads: art, bil, rows, sol, system, work.  Writes: bil, sol.
    """
    n_rows = rows_in_use(h)
    P = h.system
    if P.count[BLOCKS] > 0 and P.form[0] == BY_ROWS and P.tied[0] == 0:
        fill(n_rows, h.sol.u, np.nan)
        for i in range(P.count[ISLANDS]):  # a gear's row has its partner's part already
            first, last = P.blocks.start[P.island[i]], P.blocks.start[P.island[i + 1]]
            island_velocities(P.W, P.source, first, last, P.r, h.sol.q, h.sol.u)
        for i in range(n_rows):
            if np.isnan(h.sol.u[i]):  # in no block, as tangents without friction
                h.sol.u[i] = h.sol.q[i] + row_dot(h.rows, i, h.art.alpha)
    else:
        V = h.bil.V
        for k in range(V.shape[0]):
            for c in range(6):
                V[k, c] = h.work.V_free[k, c] + (h.art.alpha[k, c] if n_rows > 0 else 0.0)
        row_velocities(h.rows, n_rows, V, h.sol.u)
        combine_velocities(h.sol.u, h.bil)
        for i in range(n_rows):
            h.sol.u[i] += h.rows.offset[i]
    if P.soft[0] != 0:
        for i in range(P.count[ROWS]):
            h.sol.u[P.source[i]] += P.blocks.own[i] * P.r[i]
    for i in range(h.system.count[ROWS]):
        if h.system.immobile[i] != 0 and h.system.follower[i] == 0:
            row = h.system.source[i]
            h.sol.u[row] = min(max(h.sol.q[row], 0.0), h.system.q[i])
    loops = h.sol.loops
    certify(h.system, h.sol.u, h.bil.info[FIRST], h.sol.residuals, loops)
    h.bil.residuals[VELOCITY] = loops[0]
    h.bil.residuals[SPEED] = loops[1]
