# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Random contact problems as matrices, and as J14's Eq. 53."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.studies.formulations.os import ContactProblem


class Problem(NamedTuple):
    """A contact problem in scalar rows."""

    W: np.ndarray
    q: np.ndarray
    mu: np.ndarray
    dim: np.ndarray
    n_f: int


def random_problem(seed, contacts=4, limits=0, dof=6, n_f=8, friction=0.6, tight=0.5):
    """Rows J of a body with ``dof`` degrees of freedom: W = J M^-1 J*, and q = J v_free + gap terms.

    For contacts * 3 > dof the contacts are redundant.  Gap terms are zero for the part ``tight`` and positive
    for the others, so v = 0 is admissible and the problem always has a solution.
    """
    rng = np.random.default_rng(seed)
    dim = np.array([3] * contacts + [1] * limits)
    R = int(dim.sum())
    J = rng.normal(size=(R, dof))
    A = rng.normal(size=(dof, dof))
    W = J @ np.linalg.solve(A @ A.T + np.eye(dof), J.T)
    q = J @ rng.normal(size=dof)
    for row in np.cumsum(dim) - dim:
        if rng.random() > tight:
            q[row] += rng.uniform(0.0, 1.0)
    mu = np.where(dim == 3, rng.uniform(0.5, 1.5, len(dim)) * friction, 0.0)
    return Problem(0.5 * (W + W.T), q, mu, dim, n_f)


def written_out(problem, r=None):
    """As a ContactProblem, by default without impulses; of the pyramid."""
    W, q, mu, dim, n_f = problem
    r = np.zeros(len(q)) if r is None else r
    return ContactProblem(W, q, mu, dim.astype(np.int64), n_f, r, W @ r + q)
