# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The contact problem of a chain whose links are free bodies (J14 section 8, NMC/OS): compiled, for comparison with OS.

    [ K M^-1 K*   K M^-1 D ] [ p_b ]   [ K V_free + ... ]   = 0
    [ D M^-1 K*   D M^-1 D ] [ p_u ] + [ D V_free + ... ]   complementary on the friction cone

Two ways to solve it.  ``solve_eliminated`` factors the band K M^-1 K* and hands what is left to the step's own solver:
the best that can be done with these unknowns.  ``solve_mixed`` gives the whole problem to that solver, with the hinge
rows as equalities, which is what a general solver has to do with it.
"""

import numpy as np

from mb_contact.core.arrays import copy
from mb_contact.core.constraints.rows import row_impulses
from mb_contact.core.handle import BUDGET, DT, TOLERANCE
from mb_contact.core.impact.phases import energy_after
from mb_contact.core.jit import kernel
from mb_contact.core.lcp.band import band_backward, band_factor, band_forward, band_forward_columns
from mb_contact.core.solve.assemble import FLOOR, scale_normals, spread_scales
from mb_contact.core.solve.certificate import certify
from mb_contact.core.solve.newton import SOLVED, TIGHT, solve_island
from mb_contact.core.solve.system import BLOCKS, BY_ROWS, EQUALITY, ISLANDS, ROWS, make_system
from mb_contact.core.tree.kinematics import bias_terms, body_velocities
from mb_contact.core.tree.spatial import STILL, body_point, put_spatial, vector, vector_dot, vector_sum
from mb_contact.core.workspace import ITERATIONS, STAGE
from mb_contact.studies.hinged_bodies.rows import (
    BAND,
    add_hinge_impulses,
    contact_coupling,
    hinge_compliance,
    hinge_rows,
    hinge_velocities,
    velocity_change,
)
from mb_contact.types import NOT_FINITE, OK, SINGULAR_HINGE, SOLVER_NEWTON, SOLVER_NONE, SOLVER_OVER_BUDGET

IMMOBILE = 1e-11  # part of its compliance without hinges that a row must keep: the band's elimination rounds that much


def make_mixed_system(hinge_rows, R, blocks):
    """The system of so many hinge rows, contact rows and contacts: hinge rows first, each a block of its own."""
    rows, none = hinge_rows + R, np.zeros(0, np.int64)
    return make_system(rows, hinge_rows + blocks, 0, rows, none, none)


@kernel
def pose_hinged(h, g):
    """Compliances and free velocities of the hinges, and their coupling with the posed contacts, into ``g``."""
    hinge_rows(h.kin, h.tree.mass, h.work.V_free, h.settings[DT], g)
    hinge_compliance(g)
    contact_coupling(h.rows, h.blocks.rows[0], g)


@kernel
def eliminate_hinges(h, g):
    """Hinges out of the posed contact problem by a band factor; returns a status."""
    pose_hinged(h, g)
    return _factor_out(h, g, h.sol.q, h.sol.u)


@kernel
def _factor_out(h, g, q, scratch):
    """The posed hinges out of W and the rows' velocities q; returns a status."""
    n_rows = h.blocks.rows[0]
    if not band_factor(g.band):
        return SINGULAR_HINGE
    copy(g.q.shape[0], g.q, g.y)
    band_forward(g.band, g.y)
    if n_rows > 0:
        band_forward_columns(g.band, g.C, n_rows)
        _eliminate(g.C, g.y, h.blocks, h.system.W, q, scratch)
        take_matrix(h.system, q)
    return OK


@kernel
def recover_hinges(h, g):
    """Impulses of the hinges from those of the contacts, and the certificate."""
    hinged_residuals(h)
    _recover(g, h.blocks.rows[0], h.sol.r)


@kernel
def _recover(g, n_rows, r):
    """Impulses of the hinges from the impulses r of the contact rows."""
    for i in range(g.p.shape[0]):
        x = g.y[i]
        for s in range(n_rows):
            x += g.C[i, s] * r[s]
        g.p[i] = -x
    band_backward(g.band, g.p)


@kernel
def take_matrix(P, q):
    """Scales and velocities of a system whose W has changed; all its islands become one."""
    for i in range(P.count[ROWS]):
        P.blocks.D[i] = P.W[P.source[i], P.source[i]]
        P.q[i] = q[P.source[i]]
        P.immobile[i] = 0
    spread_scales(P.blocks, P.count[BLOCKS])
    scale_normals(P)
    P.count[ISLANDS] = 1
    P.island[1] = P.count[BLOCKS]


@kernel
def hinged_residuals(h):
    """Velocities and certificate of the impulses ``sol.r`` on what the hinges leave of W and q."""
    n_rows = h.blocks.rows[0]
    for i in range(n_rows):
        h.sol.u[i] = h.sol.q[i]
        for j in range(n_rows):
            h.sol.u[i] += h.system.W[i, j] * h.sol.r[j]
    certify(h.system, h.sol.u, n_rows, h.sol.residuals, h.sol.loops)


@kernel
def _eliminate(Y, y, blocks, W, q, free):
    """W -= Y* Y, q -= Y* y; ``free`` (R,) is scratch.  Rows that hinges leave rounding alone of part."""
    n_rows = blocks.rows[0]
    for r in range(n_rows):
        free[r] = W[r, r]
    for i in range(y.shape[0]):
        for r in range(n_rows):
            f = Y[i, r]
            if f != 0.0:
                q[r] -= f * y[i]
                for s in range(n_rows):
                    W[r, s] -= f * Y[i, s]
    for i in range(blocks.count[0]):
        for r in range(blocks.start[i], blocks.start[i] + blocks.dim[i]):
            if W[r, r] > IMMOBILE * free[r]:
                continue
            for s in range(n_rows):
                W[r, s] = 0.0
                W[s, r] = 0.0
            W[r, r] = FLOOR * free[r]
            q[r] = max(q[r], np.sqrt(W[r, r])) if r == blocks.start[i] else 0.0


@kernel
def solve_mixed(h, g, m):
    """Hinges and contacts together, dense, by the step's solver on the system m; returns a status."""
    pose_hinged(h, g)
    hinges = g.q.shape[0]
    _fill_mixed(h.system, h.sol.q, h.blocks.rows[0], g, m)
    budget = int(h.solver[BUDGET])
    status, steps, _ = solve_island(m, 0, 0, 0, h.solver[TOLERANCE], TIGHT, False, budget, budget, False, True)
    copy(hinges, m.r, g.p)
    for i in range(h.system.count[ROWS]):
        row = h.system.source[i]
        h.system.r[i] = h.sol.r[row] = m.r[hinges + i]
        for k in range(hinges):
            h.sol.q[row] += g.C[k, row] * g.p[k]
    h.work.info[STAGE] = SOLVER_NEWTON if h.blocks.rows[0] > 0 else SOLVER_NONE
    if status != SOLVED:
        h.work.info[STAGE] = SOLVER_OVER_BUDGET
    h.work.info[ITERATIONS] = steps
    hinged_residuals(h)
    return OK


@kernel
def _fill_mixed(P, q, n_rows, g, m):
    """The dense mixed problem from the band, the coupling and the contacts' own system."""
    hinges = g.q.shape[0]
    count = P.count[ROWS]
    for i in range(hinges):
        for j in range(hinges + count):
            m.W[i, j] = 0.0
        for j in range(max(0, i - BAND), i + 1):
            m.W[i, j] = m.W[j, i] = g.band[i, BAND - i + j]
        m.q[i] = g.q[i]
        m.r[i] = g.p[i]
        m.blocks.kind[i] = EQUALITY
        m.blocks.start[i + 1] = i + 1
        m.blocks.mu[i] = 0.0
        m.blocks.D[i] = m.blocks.S[i] = m.W[i, i]
        for r in range(count):
            m.W[i, hinges + r] = m.W[hinges + r, i] = g.C[i, P.source[r]]
    for r in range(count):
        m.q[hinges + r] = q[P.source[r]]
        m.r[hinges + r] = P.r[r]
        m.blocks.mu[hinges + r] = P.blocks.mu[r]
        m.blocks.D[hinges + r] = P.blocks.D[r]
        m.blocks.S[hinges + r] = P.blocks.S[r]
        for s in range(count):
            m.W[hinges + r, hinges + s] = P.W[P.source[r], P.source[s]]
    for b in range(P.count[BLOCKS]):
        m.blocks.kind[hinges + b] = P.blocks.kind[b]
        m.blocks.n_f[hinges + b] = P.blocks.n_f[b]
        m.blocks.start[hinges + b + 1] = hinges + P.blocks.start[b + 1]
    for i in range(hinges + count):
        m.source[i] = i
    m.count[BLOCKS] = hinges + P.count[BLOCKS]
    m.count[ROWS] = hinges + count
    m.count[ISLANDS] = 1
    m.island[1] = m.count[BLOCKS]
    m.face[0] = BY_ROWS


@kernel
def settle_hinged(h, g):
    """New velocities of the bodies: v_free + M^-1 (K* p_b + D* p_u); returns a status."""
    work = h.work
    row_impulses(h.rows, h.blocks.rows[0], h.sol.r, work.impulse)
    add_hinge_impulses(g, work.impulse)
    for k in range(g.anchor.shape[0]):
        change = velocity_change(h.tree.mass, k, g.inverse, work.impulse, k)
        for c in range(6):
            x = work.V_free[k, c] + change[c]
            if not np.isfinite(x):
                return NOT_FINITE
            work.v_next[h.tree.v_start[k] + c] = x
    return OK


@kernel
def eliminate_in_impact(h, imp, g):
    """Take the hinges out of an impact that ``phases.assemble_impact`` has posed; returns a status."""
    hinge_rows(h.kin, h.tree.mass, h.kin.V, h.settings[DT], g)
    hinge_velocities(h.kin.V, g)
    hinge_compliance(g)
    contact_coupling(h.rows, h.blocks.rows[0], g)
    return _factor_out(h, g, imp.u, imp.q)


@kernel
def apply_hinges_in_impact(h, imp, g):
    """What the hinges do in an impact, after ``phases.apply_impact`` has applied the contacts' impulses."""
    _recover(g, h.blocks.rows[0], imp.total)
    for k in range(g.anchor.shape[0]):
        put_spatial(h.work.impulse, k, STILL)
    add_hinge_impulses(g, h.work.impulse)
    for k in range(g.anchor.shape[0]):
        change = velocity_change(h.tree.mass, k, g.inverse, h.work.impulse, k)
        for c in range(6):
            h.v[h.tree.v_start[k] + c] += change[c]
    body_velocities(h.tree, h.kin, h.v, h.kin.V)
    bias_terms(h.tree, h.kin, h.v)
    energy_after(h, imp)


@kernel
def hinge_opening(h, g):
    """Farthest that a hinge is open [m], of the state that ``h.kin`` describes."""
    worst = 0.0
    for k in range(g.anchor.shape[0]):
        at_k = body_point(h.kin.R, h.kin.p, k, vector(g.anchor, k))
        apart = vector_sum(at_k, -1.0, body_point(h.kin.R, h.kin.p, k - 1, vector(g.anchor_up, k)))
        worst = max(worst, vector_dot(apart, apart))
    return np.sqrt(worst)
