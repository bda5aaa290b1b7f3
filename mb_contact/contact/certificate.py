# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Judge impulses on a contact problem, from the problem's own data and nothing else."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.checks import as_matrix, as_vector
from mb_contact.core.certificate import CONE, GAP, INFEASIBLE, WORST
from mb_contact.core.certificate import certify as _certify


class Residuals(NamedTuple):
    """How far impulses are from solving a contact problem; pairs in sqrt(N s m/s)."""

    complementarity_gap: float
    infeasibility: float
    cone_violation: float  #: friction beyond the pyramid [N s]
    worst_unit: int  #: contact or limit with the largest residual


def certify(problem, impulses=None):
    """Recompute the residuals of ``impulses`` (by default the step's own) on a ContactProblem.

    Returns
    -------
    Residuals

    Raises
    ------
    InputError
        The sizes of the problem's arrays, or of the impulses, do not fit.
    """
    rows = len(problem.q)
    r = problem.impulses if impulses is None else as_vector(impulses, rows, "impulses", finite=False)
    judge = np.zeros(4)
    W, q = as_matrix(problem.W, name="W", finite=False), as_vector(problem.q, name="q", finite=False)
    _certify(W, q, problem.cones(), r, np.zeros(rows), judge)
    return Residuals(float(judge[GAP]), float(judge[INFEASIBLE]), float(judge[CONE]), int(judge[WORST]))
