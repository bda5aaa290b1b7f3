# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""From the unknowns [beta; sigma] to three rows a contact and back, so that the simulator's solver can solve.

The condensed problem of every formulation is [[D* W D, E^], [E_, 0]] with W the compliance of the rows; D has
full row rank, so W follows from it.
"""

import numpy as np

from mb_contact.solvers.blocks import CONTACT, UNILATERAL, solve_blocks


def newton_unknowns(problem, M, q):
    """[beta; sigma] of the condensed problem (M, q) by the simulator's proximal Newton steps."""
    n_u, limits = problem.n_u, problem.n_limits
    if n_u + limits == 0:
        return np.zeros(0)
    m = problem.D_ul.shape[1]
    inverse = np.linalg.pinv(problem.D_ul)  # (m, rows): D inverse = 1
    W = inverse.T @ M[:m, :m] @ inverse
    mu = np.concatenate([np.outer(problem.mu, [0.0, 1.0, 1.0]).ravel(), np.zeros(limits)])
    kind, size = [CONTACT] * n_u + [UNILATERAL] * limits, [3] * n_u + [1] * limits
    found = solve_blocks(0.5 * (W + W.T), inverse.T @ q[:m], kind, size, mu, problem.n_f, tolerance=1e-12)
    return np.concatenate(split(problem, found.r, found.u))


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
