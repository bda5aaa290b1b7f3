# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The contact problem of a chain whose links are free bodies (J14 section 8, NMC/OS): compiled, for comparison with OS.

    [ K M^-1 K*   K M^-1 D ] [ p_b ]   [ K V_free + ... ]   = 0
    [ D M^-1 K*   D M^-1 D ] [ p_u ] + [ D V_free + ... ]   complementary on the friction cone

Two ways to solve it.  ``solve_eliminated`` factors the band K M^-1 K* and hands what is left to the step's own ladder:
the best that can be done with these unknowns.  ``solve_mixed`` gives the whole problem to the same block pivoting
that OS uses, with the hinge rows as unknowns of every basis, which is what a general solver has to do with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.core.jit import entry, kernel
from mb_contact.core.lcp.band import band_backward, band_factor, band_forward, band_forward_columns
from mb_contact.core.lcp.certificate import certify
from mb_contact.core.lcp.ladder import PIVOT_LIMIT, TOLERANCE, solve_step
from mb_contact.core.lcp.linear import proximal_solve
from mb_contact.core.lcp.pivoting import REGULARISATION, _basis_system, _expand, _unknowns, next_state
from mb_contact.core.rows.bilateral import FLOOR
from mb_contact.core.rows.contact_rows import row_impulses
from mb_contact.core.rows.hinge_rows import (
    BAND,
    add_hinge_impulses,
    contact_coupling,
    hinge_compliance,
    hinge_rows,
    hinge_velocities,
)
from mb_contact.core.step.collisions import energy_after
from mb_contact.core.step.step import ITERATIONS, RUNG, assemble
from mb_contact.core.tree.kinematics import bias_terms, body_velocities
from mb_contact.core.workspace import Cones, PivotWork, make_cones, make_pivot_work
from mb_contact.types import NOT_FINITE, OK, SINGULAR_HINGE, SOLVER_PIVOTING

HELD = 1e-11  # part of its compliance without hinges that a row must keep: the band's elimination rounds that much


class MixedWork(NamedTuple):
    """The mixed problem: hinge rows first, each a unit of one row, then the contacts."""

    W: np.ndarray  #: (5 n + R, 5 n + R)
    q: np.ndarray  #: (5 n + R,)
    r: np.ndarray
    u: np.ndarray
    state: np.ndarray  #: int64 (5 n + U,)
    cones: Cones
    piv: PivotWork


def make_mixed_work(hinge_rows, R, units, n_f):
    """Workspace for so many hinge rows, contact rows and contacts."""
    m = hinge_rows + R
    return MixedWork(
        W=np.zeros((m, m)),
        q=np.zeros(m),
        r=np.zeros(m),
        u=np.zeros(m),
        state=np.zeros(hinge_rows + units, np.int64),
        cones=make_cones(hinge_rows + units, n_f),
        piv=make_pivot_work(m),
    )


@entry
def pose_hinged(h, g):
    """Rows, compliances and free velocities of hinges and contacts, into ``g`` and ``h.sol``."""
    assemble(h)
    hinge_rows(h.kin, h.tree.mass, h.work.V_free, h.settings[0], g)
    hinge_compliance(g)
    contact_coupling(h.rows, h.cones.rows[0], g)


@entry
def solve_eliminated(h, g):
    """Hinges by a band factor, contacts by the ladder on what they leave; a status."""
    pose_hinged(h, g)
    n_rows = h.cones.rows[0]
    if not band_factor(g.band):
        return SINGULAR_HINGE
    for i in range(g.q.shape[0]):
        g.y[i] = g.q[i]
    band_forward(g.band, g.y)
    if n_rows > 0:
        band_forward_columns(g.band, g.C, n_rows)
        _eliminate(g.C, g.y, h.cones, h.sol.W, h.sol.q, h.sol.before)
    rung, iterations = solve_step(h.sol, h.cones, h.piv, h.lem)
    h.work.info[RUNG] = rung
    h.work.info[ITERATIONS] = iterations
    for i in range(g.p.shape[0]):
        x = g.y[i]
        for r in range(n_rows):
            x += g.C[i, r] * h.sol.r[r]
        g.p[i] = -x
    band_backward(g.band, g.p)
    return OK


@kernel
def _eliminate(Y, y, cones, W, q, free):
    """W -= Y* Y, q -= Y* y; ``free`` (R,) is scratch.  What hinges leave rounding alone of is held, as in joints."""
    n_rows = cones.rows[0]
    for r in range(n_rows):
        free[r] = W[r, r]
    for i in range(y.shape[0]):
        for r in range(n_rows):
            f = Y[i, r]
            if f != 0.0:
                q[r] -= f * y[i]
                for s in range(n_rows):
                    W[r, s] -= f * Y[i, s]
    for i in range(cones.count[0]):
        for r in range(cones.start[i], cones.start[i] + cones.dim[i]):
            if W[r, r] > HELD * free[r]:
                continue
            for s in range(n_rows):
                W[r, s] = 0.0
                W[s, r] = 0.0
            W[r, r] = FLOOR * free[r]
            if r > cones.start[i]:
                q[r] = 0.0


@entry
def solve_mixed(h, g, m):
    """Hinges and contacts together, dense, by block pivoting with the hinge rows always active; a status.

    Where block pivoting cycles, the step falls back on ``solve_eliminated``.
    """
    pose_hinged(h, g)
    n_rows = h.cones.rows[0]
    hinges = g.q.shape[0]
    _fill_mixed(h.sol.W, h.sol.q, h.sol.state, n_rows, h.cones, g, m)
    solved, iterations = _mixed_pivots(m, hinges, PIVOT_LIMIT)
    for i in range(hinges):
        g.p[i] = m.r[i]
    for r in range(n_rows):
        h.sol.r[r] = m.r[hinges + r]
        x = h.sol.q[r]
        for i in range(hinges):
            x += g.C[i, r] * g.p[i]
        h.sol.q[r] = x
    for i in range(h.cones.count[0]):
        h.sol.state[i] = m.state[hinges + i]
    h.work.info[RUNG] = SOLVER_PIVOTING if n_rows > 0 else 0
    h.work.info[ITERATIONS] = iterations
    residual = certify(h.sol.W, h.sol.q, h.cones, h.sol.r, h.sol.u, h.sol.judge)
    if solved and residual <= TOLERANCE:
        return OK
    return solve_eliminated(h, g)


@kernel
def _fill_mixed(W, q, state, n_rows, cones, g, m):
    """The dense mixed problem from the band, the coupling and the contacts' own block."""
    hinges = g.q.shape[0]
    rows = hinges + n_rows
    for i in range(hinges):
        for j in range(rows):
            m.W[i, j] = 0.0
        for j in range(max(0, i - BAND), i + 1):
            m.W[i, j] = m.W[j, i] = g.band[i, BAND - i + j]
        m.q[i] = g.q[i]
    for r in range(n_rows):
        for i in range(hinges):
            m.W[i, hinges + r] = m.W[hinges + r, i] = g.C[i, r]
        for s in range(n_rows):
            m.W[hinges + r, hinges + s] = W[r, s]
        m.q[hinges + r] = q[r]
    for i in range(hinges):
        m.cones.start[i] = i
        m.cones.dim[i] = 1
        m.cones.mu[i] = 0.0
        m.state[i] = 0
    for i in range(cones.count[0]):
        m.cones.start[hinges + i] = hinges + cones.start[i]
        m.cones.dim[hinges + i] = cones.dim[i]
        m.cones.mu[hinges + i] = cones.mu[i]
        m.state[hinges + i] = state[i]
    m.cones.count[0] = hinges + cones.count[0]
    m.cones.rows[0] = rows


@kernel
def _mixed_pivots(m, hinges, limit):
    """``pivoting.pivot_solve`` with leading rows that hold with equality; returns (solved, linear solves)."""
    rows = m.cones.rows[0]
    scale = 0.0
    largest = 0.0
    for i in range(rows):
        scale += m.W[i, i] / rows
        largest = max(largest, abs(m.q[i]))
    tol_u = 1e-11 * largest + 1e-15
    tol_r = tol_u / scale
    for iteration in range(limit):
        unknowns = _unknowns(m.cones, m.state, m.piv)
        _basis_system(m.W, m.q, unknowns, m.piv)
        residual = proximal_solve(
            m.piv.A, unknowns, REGULARISATION * scale, m.piv.LU, m.piv.order, m.piv.b, m.piv.x, m.piv.step,
            0.01 * tol_u, 8,
        )  # fmt: skip
        _expand(unknowns, m.piv, rows, m.r)
        for i in range(hinges, rows):
            x = m.q[i]
            for j in range(rows):
                x += m.W[i, j] * m.r[j]
            m.u[i] = x
        violated = 0
        for i in range(hinges, m.cones.count[0]):
            state = next_state(m.cones, i, m.state[i], m.r, m.u, tol_r, tol_u)
            if state != m.state[i]:
                m.state[i] = state
                violated += 1
        if violated == 0:
            return residual <= 100.0 * tol_u, iteration + 1
    return False, limit


@entry
def settle_hinged(h, g):
    """New velocities of the bodies: v_free + M^-1 (K* p_b + D* p_u); a status."""
    work = h.work
    row_impulses(h.rows, h.cones.rows[0], h.sol.r, work.impulse)
    add_hinge_impulses(g, work.impulse)
    for k in range(g.anchor.shape[0]):
        light = 1.0 / h.tree.mass[k]
        v = h.tree.v_start[k]
        for c in range(3):
            x = work.V_free[k, c]
            for d in range(3):
                x += g.inverse[k, c, d] * work.impulse[k, d]
            y = work.V_free[k, 3 + c] + light * work.impulse[k, 3 + c]
            if not np.isfinite(x + y):
                return NOT_FINITE
            work.v_next[v + c] = x
            work.v_next[v + 3 + c] = y
    return OK


@entry
def eliminate_in_impact(h, imp, g):
    """Take the hinges out of an impact that ``collisions.pose_impact`` has posed; a status."""
    n_rows = h.cones.rows[0]
    hinge_rows(h.kin, h.tree.mass, h.kin.V, h.settings[0], g)
    hinge_velocities(h.kin.V, g)
    hinge_compliance(g)
    contact_coupling(h.rows, n_rows, g)
    if not band_factor(g.band):
        return SINGULAR_HINGE
    for i in range(g.q.shape[0]):
        g.y[i] = g.q[i]
    band_forward(g.band, g.y)
    band_forward_columns(g.band, g.C, n_rows)
    _eliminate(g.C, g.y, h.cones, imp.W, imp.u, imp.q)
    return OK


@entry
def apply_hinges_in_impact(h, imp, g):
    """What the hinges do in an impact, after ``collisions.apply_impact`` has applied the contacts' impulses."""
    for i in range(g.p.shape[0]):
        x = g.y[i]
        for r in range(h.cones.rows[0]):
            x += g.C[i, r] * imp.total[r]
        g.p[i] = -x
    band_backward(g.band, g.p)
    for k in range(g.anchor.shape[0]):
        for c in range(6):
            h.work.impulse[k, c] = 0.0
    add_hinge_impulses(g, h.work.impulse)
    for k in range(g.anchor.shape[0]):
        v = h.tree.v_start[k]
        for c in range(3):
            for d in range(3):
                h.v[v + c] += g.inverse[k, c, d] * h.work.impulse[k, d]
            h.v[v + 3 + c] += h.work.impulse[k, 3 + c] / h.tree.mass[k]
    body_velocities(h.tree, h.kin, h.v, h.kin.V)
    bias_terms(h.tree, h.kin, h.v)
    energy_after(h, imp)


@entry
def hinge_opening(h, g):
    """Farthest that a hinge is open [m], of the state that ``h.kin`` describes."""
    worst = 0.0
    for k in range(g.anchor.shape[0]):
        square = 0.0
        for c in range(3):
            x = h.kin.p[k, c]
            for d in range(3):
                x += h.kin.R[k, c, d] * g.anchor[k, d]
            if k == 0:
                x -= g.anchor_up[k, c]
            else:
                x -= h.kin.p[k - 1, c]
                for d in range(3):
                    x -= h.kin.R[k - 1, c, d] * g.anchor_up[k, d]
            square += x * x
        worst = max(worst, square)
    return np.sqrt(worst)
