# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Coulomb's exact cone for the general model of D15 (13-28), where ``coulomb_viscous`` has a polygon otherwise."""

import numpy as np

from mb_contact.core.lcp.certificate import INFEASIBLE
from mb_contact.core.lcp.cone_residual import MEASURES, NATURAL, cone_residuals
from mb_contact.solvers.friction import solve_friction
from mb_contact.solvers.layout import ConeLayout


def acceleration_forces(W, e, mu, slides, against):
    """Forces (3 n,) of the acceleration level and the linear systems it took; not believed.

    A sliding contact is one row, its friction (19) in the matrix: the force of f_n = 1 is (1, mu ``against``), and only
    the normal's acceleration is complementary.  So the matrix is not symmetric, and there may be no solution.
    """
    n = len(mu)
    if not n:
        return np.zeros(0), 0
    layout, columns, picked = ConeLayout(()), [], []
    for i in range(n):
        own = np.zeros((3 * n, 1 if slides[i] else 3))
        if slides[i]:
            own[3 * i : 3 * i + 3, 0] = 1.0, *(mu[i] * against[i])
            layout += ConeLayout.unilateral(1)
        else:
            own[3 * i : 3 * i + 3] = np.eye(3)
            layout += ConeLayout.contacts([mu[i]])
        columns.append(own)
        picked += list(range(3 * i, 3 * i + own.shape[1]))
    Z = np.hstack(columns)
    result = solve_friction(W[picked] @ Z, e[picked], layout=layout, tolerance=1e-10)
    return Z @ result.r, result.iterations


def with_cone(certificate, eq, rows, mu):
    """The certificate with the natural map of Coulomb's law at the contacts whose ``rows`` (n, 3) these are, n > 0."""
    blocks = ConeLayout.contacts(mu).arrays()
    scale = 1.0 / np.sqrt(eq.diagonal[rows].mean(axis=1))
    out = np.zeros((len(rows), MEASURES))
    cone_residuals(blocks, eq.r[rows.ravel()], eq.u[rows.ravel()], scale, out, *np.zeros((2, 6)))
    tangential = np.abs(eq.q[rows[:, 1:]] * scale[:, None]).max()
    return certificate._replace(
        complementarity_gap=float(max(certificate.complementarity_gap, out[:, NATURAL].max())),
        infeasibility=float(max(certificate.infeasibility, out[:, INFEASIBLE].max())),
        scale=float(max(certificate.scale, tangential)),
    )
