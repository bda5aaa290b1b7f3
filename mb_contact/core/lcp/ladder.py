# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The solver ladder of a step: block pivoting, proximal points, Lemke, regularisation, best residual.

Rows whose compliances lie many orders apart are put into units of their own first (``balance.py``).
No rung is believed: its impulses are judged on the original problem (``certificate.certify``) and the first
residual within the tolerance ends the climb.
"""

from __future__ import annotations

from mb_contact.core.jit import kernel
from mb_contact.core.lcp.balance import balance, unbalance
from mb_contact.core.lcp.certificate import certify
from mb_contact.core.lcp.gauss_seidel import sweep
from mb_contact.core.lcp.lcp import impulses_of, lcp_assemble, states_of
from mb_contact.core.lcp.lemke import lemke
from mb_contact.core.lcp.pivoting import pivot_solve
from mb_contact.core.lcp.proximal import proximal_point
from mb_contact.types import (
    SOLVER_FAILED,
    SOLVER_LEMKE,
    SOLVER_NONE,
    SOLVER_PIVOTING,
    SOLVER_PROXIMAL,
    SOLVER_REGULARISED,
)

TOLERANCE = 1e-10  # scaled residual that a rung must reach [sqrt(N s m/s)]
PIVOT_LIMIT = 25
RESTARTS = 6  # new starting states from Gauss-Seidel sweeps when pivoting cycles
RESTART_LIMIT = 15
SWEEPS = 40
LEMKE_ATTEMPTS = 5
FIRST_REGULARISATION = 1e-10  # of the mean diagonal of W, times 100 at each further attempt


@kernel
def solve_step(sol, cones, piv, lem):
    """Solve ``sol.W, sol.q`` from the warm states in ``sol.state``; returns (SOLVER_* rung, iterations)."""
    return solve_rungs(sol, cones, piv, lem, LEMKE_ATTEMPTS)


@kernel
def solve_rungs(sol, cones, piv, lem, attempts):
    """The same with so many attempts of Lemke's algorithm; with none, the ladder ends at proximal points."""
    if cones.count[0] == 0:
        for i in range(sol.judge.shape[0]):
            sol.judge[i] = 0.0
        return SOLVER_NONE, 0
    balanced = balance(sol.W, sol.q, cones, piv.scale)
    rung = SOLVER_PIVOTING
    _, total = pivot_solve(sol.W, sol.q, cones, piv, sol.state, sol.r, sol.u, PIVOT_LIMIT)
    best = certify(sol.W, sol.q, cones, sol.r, sol.u, sol.judge)
    if not best <= TOLERANCE:
        rung, more = _climb(sol, cones, piv, lem, best, attempts)
        total += more
    if balanced:
        unbalance(sol.W, sol.q, sol.r, cones, piv.scale)
        certify(sol.W, sol.q, cones, sol.r, sol.u, sol.judge)
    return rung, total


@kernel
def _climb(sol, cones, piv, lem, best, attempts):
    """From rung to rung until the residual, ``best`` by now, is good; returns (SOLVER_* rung, iterations)."""
    total = 0
    _keep(sol, cones)
    for i in range(cones.rows[0]):
        sol.r[i] = 0.0
    for _ in range(RESTARTS):
        # a new guess of the states from where the sweeps have got to
        for i in range(cones.rows[0]):
            piv.guess[i] = sol.r[i]
        sweep(sol.W, sol.q, cones, piv.guess, sol.state, SWEEPS)
        for i in range(cones.rows[0]):
            sol.r[i] = piv.guess[i]
        _, more = pivot_solve(sol.W, sol.q, cones, piv, sol.state, sol.r, sol.u, RESTART_LIMIT)
        total += more
        best = _consider(sol, cones, best)
        if best <= TOLERANCE:
            return SOLVER_PIVOTING, total
        for i in range(cones.rows[0]):
            sol.r[i] = piv.guess[i]
    mean = 0.0
    for i in range(cones.rows[0]):
        mean += sol.W[i, i] / cones.rows[0]
    total += proximal_point(sol, cones, piv, mean, SWEEPS, TOLERANCE)
    best = _consider(sol, cones, best)
    if best <= TOLERANCE:
        return SOLVER_PROXIMAL, total
    weight = 0.0
    for attempt in range(attempts):
        if attempt > 0:
            weight = FIRST_REGULARISATION * 100.0 ** (attempt - 1)
        total += _lemke_impulses(sol, cones, lem, weight * mean)
        best = _consider(sol, cones, best)
        # polish: the same active set without regularisation and with least-norm impulses
        _, more = pivot_solve(sol.W, sol.q, cones, piv, sol.state, sol.r, sol.u, PIVOT_LIMIT)
        total += more
        best = _consider(sol, cones, best)
        if best <= TOLERANCE:
            break
    for i in range(cones.rows[0]):
        sol.r[i] = sol.best_r[i]
    for i in range(cones.count[0]):
        sol.state[i] = sol.best_state[i]
    best = certify(sol.W, sol.q, cones, sol.r, sol.u, sol.judge)
    if best > TOLERANCE:
        return SOLVER_FAILED, total
    return (SOLVER_LEMKE if weight == 0.0 else SOLVER_REGULARISED), total


@kernel
def _keep(sol, cones):
    for i in range(cones.rows[0]):
        sol.best_r[i] = sol.r[i]
    for i in range(cones.count[0]):
        sol.best_state[i] = sol.state[i]


@kernel
def _consider(sol, cones, best):
    """Judge ``sol.r`` and keep it if it is good enough or better than before; returns the best residual."""
    residual = certify(sol.W, sol.q, cones, sol.r, sol.u, sol.judge)
    if residual <= TOLERANCE or residual < best:
        _keep(sol, cones)
        return residual
    return best


@kernel
def _lemke_impulses(sol, cones, lem, regularisation):
    """Lemke on the full problem with the diagonal of its force rows raised; returns the pivots."""
    size = lcp_assemble(sol.W, sol.q, cones, lem.M, lem.q)
    forces = size
    for i in range(cones.count[0]):
        if cones.dim[i] == 3:
            forces -= 1
    for i in range(forces):
        lem.M[i, i] += regularisation
    _, pivots = lemke(lem.M, lem.q, size, lem.T, lem.basis, lem.z, 20 * size + 50)
    impulses_of(cones, lem.z, sol.r)
    states_of(cones, lem.z, size, sol.state)
    return pivots
