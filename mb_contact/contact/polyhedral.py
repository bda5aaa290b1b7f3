# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""From the unknowns [beta; sigma] to three rows a contact and back, so that the simulator's ladder can solve.

The condensed problem of every formulation is [[D* W D, E^], [E_, 0]] with W the compliance of the rows; D has
full row rank, so W follows from it.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.lcp.ladder import solve_step
from mb_contact.core.workspace import make_cones, make_lemke_work, make_pivot_work, make_solution


def ladder_unknowns(problem, M, q):
    """[beta; sigma] of the condensed problem (M, q) by block pivoting and the rest of the ladder."""
    if problem.n_u + problem.n_limits == 0:
        return np.zeros(0)
    m = problem.D_ul.shape[1]
    inverse = np.linalg.pinv(problem.D_ul)  # (m, rows): D inverse = 1
    W = inverse.T @ M[:m, :m] @ inverse
    cones = rows_layout(problem)
    R, units = 3 * problem.n_u + problem.n_limits, problem.n_u + problem.n_limits
    sol = make_solution(R, units)
    sol.W[:], sol.q[:] = 0.5 * (W + W.T), inverse.T @ q[:m]
    solve_step(sol, cones, make_pivot_work(R), make_lemke_work(m + problem.n_u))
    return np.concatenate(split(problem, sol.r, sol.W @ sol.r + sol.q))


def rows_layout(problem):
    """Cones of the contacts and limits of a StepProblem, for the kernels."""
    units = problem.n_u + problem.n_limits
    cones = make_cones(units, problem.n_f)
    cones.dim[:] = [3] * problem.n_u + [1] * problem.n_limits
    cones.start[:] = np.cumsum(cones.dim) - cones.dim
    cones.mu[: problem.n_u] = problem.mu
    cones.count[0], cones.rows[0] = units, 3 * problem.n_u + problem.n_limits
    return cones


def split(problem, r, u):
    """beta and sigma of impulses r and velocities u of the rows.

    Friction goes to the two neighbouring directions; sigma is the greatest speed against a direction.
    """
    n_f, n_u = problem.n_f, problem.n_u
    D = problem.D_ul[1:3, 1 : n_f + 1] if n_u else np.zeros((2, n_f))
    beta, sigma = np.zeros(problem.D_ul.shape[1]), np.zeros(n_u)
    for i in range(n_u):
        first, x = i * (n_f + 1), r[3 * i + 1 : 3 * i + 3]
        beta[first] = r[3 * i]
        k = int((np.arctan2(x[1], x[0]) % (2 * np.pi)) * n_f / (2 * np.pi)) % n_f
        pair = [k, (k + 1) % n_f]
        beta[first + 1 + np.array(pair)] = np.linalg.solve(D[:, pair], x)
        sigma[i] = max(0.0, -(u[3 * i + 1 : 3 * i + 3] @ D).min())
    beta[n_u * (n_f + 1) :] = r[3 * n_u :]
    return beta, sigma
