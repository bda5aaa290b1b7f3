# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Judge impulses on a contact problem, from the problem's own data and nothing else."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.checks import as_matrix, as_vector
from mb_contact.core.lcp.certificate import CONE, GAP, INFEASIBLE, WORST
from mb_contact.core.lcp.certificate import certify as _certify


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


class FormulationCertificate(NamedTuple):
    """How far z is from solving a formulation's mixed problem; pairs in sqrt(N s m/s), see ``scale``."""

    complementarity_gap: float  #: largest min(z, w) over the complementary rows
    infeasibility_z: float  #: largest negative impulse or sigma
    infeasibility_w: float  #: largest negative velocity or friction slack
    equality: float  #: largest |w| of the equality rows: momentum, hinges, loops
    cone_violation: float  #: friction beyond the pyramid mu F_n [N s]
    natural_map: float  #: largest |min(z, w)|, and |w| of equality rows
    worst_contact: int  #: contact, or n_u + limit, with the largest residual; -1 without contact

    @property
    def worst(self):
        """Largest of the scaled residuals; infinite where something is not finite."""
        return max(
            self.complementarity_gap, self.infeasibility_z, self.infeasibility_w, self.equality, self.natural_map
        )


def certify_formulation(formulation, z):
    """Judge z (size,) on a formulation's original problem, from its M and q alone.

    Every row is scaled, z s and w / s with s of ``formulation.scale()``, so that newton seconds and metres per
    second compare.

    Returns
    -------
    FormulationCertificate

    Raises
    ------
    InputError
        z has the wrong length.
    """
    z = as_vector(z, formulation.size, "z", finite=False)
    if not np.isfinite(z).all():
        bad = float("inf")
        return FormulationCertificate(bad, bad, bad, bad, bad, bad, -1)
    s = formulation.scale()
    w = formulation.M @ z + formulation.q
    zs, ws, free = z * s, w / s, formulation.free
    equality = np.abs(ws[:free])
    smaller = np.minimum(zs[free:], ws[free:])
    per_row = np.concatenate([equality, np.abs(smaller)])
    layout, p = formulation.layout, formulation.problem
    beta, sigma = per_row[layout["beta"]], per_row[layout["sigma"]]
    m = p.n_u * (p.n_f + 1)
    units = np.concatenate([np.maximum(beta[:m].reshape(p.n_u, p.n_f + 1).max(axis=1, initial=0.0), sigma), beta[m:]])
    return FormulationCertificate(
        complementarity_gap=float(smaller.max(initial=0.0)),
        infeasibility_z=float(-zs[free:].min(initial=0.0)),
        infeasibility_w=float(-ws[free:].min(initial=0.0)),
        equality=float(equality.max(initial=0.0)),
        cone_violation=float(-w[layout["sigma"]].min(initial=0.0)),  # w of sigma is mu F_n - sum of beta
        natural_map=float(per_row.max(initial=0.0)),
        worst_contact=int(units.argmax()) if len(units) else -1,
    )
