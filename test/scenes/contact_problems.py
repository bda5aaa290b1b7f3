# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Random contact problems as matrices and as J14's Eq. 53; solved, and judged by ``oracles/coulomb.py``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.solvers.blocks import CONTACT, UNILATERAL, solve_blocks
from mb_contact.studies.formulations.os import ContactProblem
from oracles.coulomb import CONE, cone_residual, dense_residual


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


class Outcome(NamedTuple):
    """What the solver made of it."""

    status: str
    steps: int
    residual: float  #: the solver's own
    r: np.ndarray
    u: np.ndarray


def solve(problem, warm=None, **options):
    """Outcome, from zero or from ``warm``."""
    W, q, mu, dim, n_f = problem
    kind = [CONTACT if d == 3 else UNILATERAL for d in dim]
    rows = np.concatenate([[0.0, m, m] if d == 3 else [0.0] for m, d in zip(mu, dim)])
    found = solve_blocks(W, q, kind, dim, rows, n_f, warm=warm, **options)
    return Outcome(found.status, found.steps, found.residual, found.r, found.u)


def judged(problem, r):
    """Residual by the judge of the problem's cone."""
    if problem.n_f == CONE:
        return cone_residual(*problem[:4], r)
    return dense_residual(*problem, r)


def good(problem, outcome):
    """The judge accepts, and on the pyramid agrees with the package's."""
    own = judged(problem, outcome.r)
    assert outcome.status == "solved" and outcome.residual <= 1e-10
    assert own <= 1e-9
    if problem.n_f != CONE:
        residuals = mb.studies.certify(written_out(problem, outcome.r))
        # both judges see the same pairs; what rounds differently is far below the tolerance
        assert max(residuals.complementarity_gap, residuals.infeasibility) == pytest.approx(own, abs=1e-11)
    size = np.abs(problem.W) @ np.abs(outcome.r) + np.abs(problem.q)
    np.testing.assert_allclose(outcome.u, problem.W @ outcome.r + problem.q, atol=1e-12 * max(1.0, size.max()))
    return own


def all_good(problems):
    """Each is solved and judged; of the pyramid one may be left at the budget, which then is said."""
    left = 0
    for problem in problems:
        outcome = solve(problem)
        if outcome.status != "solved" and problem.n_f != CONE:
            assert outcome.status == "limit"
            left += 1
            continue
        good(problem, outcome)
    assert left <= 1
