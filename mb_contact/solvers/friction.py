# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Frictional contact on exact cones: K* > u + s n _|_ r < K with u = W r + q.  Knows nothing of robots."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_matrix, as_vector
from mb_contact.core.lcp.cone_problem import CONE
from mb_contact.errors import InputError
from mb_contact.solvers.blocks import CONTACT, EQUALITY, UNILATERAL, solve_blocks
from mb_contact.solvers.layout import ConeLayout
from mb_contact.solvers.residuals import ConeResidual, Matrix, cone_residual

SHARE = 1e-2  #: of the tolerance, asked of the Newton method, whose scales differ from the judge's


class FrictionResult(NamedTuple):
    """Outcome of :func:`solve_friction`; judge it by ``residual``.

    Examples
    --------
    >>> result = mb.solve_friction(np.eye(3), [-1.0, 0.3, 0.0], mu=[0.5])
    >>> result.r, result.u, result.status
    (array([ 1. , -0.3,  0. ]), array([0., 0., 0.]), 'solved')
    >>> result.residual.natural < 1e-12
    True
    """

    r: Floats  #: impulses, the best point found
    u: Floats  #: W r + q
    status: str  #: "solved", "limit" (no point within the tolerance was found), "not_finite"
    iterations: int  #: Newton steps
    residual: ConeResidual  #: recomputed from W, q and r


def solve_friction(
    W: Matrix | ArrayLike,
    q: ArrayLike,
    mu: ArrayLike | None = None,
    *,
    layout: ConeLayout | None = None,
    warm: ArrayLike | None = None,
    tolerance: float = 1e-8,
    limit: int = 1000,
) -> FrictionResult:
    """Solve the frictional contact problem without a pyramid.

    ``u = W r + q``, per contact ``K* > u + (mu |u_T|) n _|_ r < K = {|r_T| <= mu r_n}``: Coulomb's law, as De Saxce
    wrote it.  Torsion, rolling, unequal coefficients, joint limits and bilateral rows come with a layout.

    Parameters
    ----------
    W : array_like or scipy.sparse matrix (R, R)
        Delassus matrix, taken as it is (make it symmetric first if it should be) [1/kg].
    q : array_like (R,)
        Free velocities [m/s]; rows of a contact: normal, tangent 1, tangent 2, in the contact's axes.
    mu : array_like (R / 3,) or (R / 3, 2), optional
        Friction coefficients of plain contacts, instead of a layout.
    layout : ConeLayout, optional
    warm : array_like (R,), optional
        Impulses to start from, those of the last step for instance [N s].
    tolerance : float
        "solved" is said only if the natural residual recomputed from W, q, r is at most this times ``max(1, |q|)``,
        the residual in scaled units at most this, relative to the scaled q, and W r + q known as well as that
        (an r so large that rounding hides u is no solution).
    limit : int
        Most Newton steps.

    Returns
    -------
    FrictionResult
        Impulses [N s], velocities [m/s] and residuals; not solved is a status, not an error.

    Raises
    ------
    InputError
        Shapes do not fit or entries are not finite.

    Examples
    --------
    >>> slides = mb.solve_friction(np.eye(3), [-1.0, 0.8, 0.0], mu=[0.5])  # 1 kg lands with 0.8 m/s along the ground
    >>> slides.r, slides.u
    (array([ 1. , -0.5,  0. ]), array([0. , 0.3, 0. ]))
    """
    layout, W, q = _check(W, q, mu, layout)
    if warm is not None:
        warm = as_vector(warm, len(q), "warm")
    if not isinstance(limit, (int, np.integer)) or limit < 0:
        raise InputError(f"limit must be a number of steps, got {limit!r}")
    kind, size, mu = _as_blocks(layout)
    dense = W.toarray() if hasattr(W, "toarray") else W
    diagonal = np.abs(np.diag(dense))
    scale = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    asked = SHARE * tolerance * float(np.abs(q / scale).max(initial=1e-300))
    steps, goal = 0, max(1.0, float(np.linalg.norm(q)))
    while True:
        found = solve_blocks(dense, q, kind, size, mu, warm=warm, tolerance=asked, budget=int(limit) - steps)
        residual, steps = cone_residual(W, q, layout, found.r), steps + found.steps
        known = residual.rounding <= tolerance * goal  # else u is noise
        good = residual.relative <= tolerance and residual.scaled <= tolerance and known
        if good or not known or found.status != "solved" or not found.residual > 0.0 or steps >= limit:
            break
        # what the method's scales call solved misses the judge, in N s and m/s: as much more is asked
        asked, warm = min(asked, found.residual) * 0.1 * min(1.0, tolerance / residual.relative), found.r
    status = "solved" if good else ("limit" if np.isfinite(found.r).all() else "not_finite")
    return FrictionResult(found.r, np.asarray(W @ found.r + q), status, steps, residual)


def _as_blocks(layout):
    """Kinds, sizes and coefficients of a layout's blocks."""
    kind, size, mu = [], [], []
    for law, rows, groups in layout.blocks:
        flat = [c for group in groups for c in group]
        if law == CONE:
            kind.append(CONTACT if flat else UNILATERAL)
            size.append(rows)
        else:
            kind += [EQUALITY] * rows
            size += [1] * rows
        mu += [0.0, *flat] if law == CONE else [0.0] * rows
    return kind, size, mu


def _check(W, q, mu, layout) -> tuple[ConeLayout, Any, Floats]:
    """Layout, matrix (dense or CSR) and right-hand side, checked."""
    if (mu is None) == (layout is None):
        raise InputError("give either mu (plain contacts) or a layout, not both or none")
    if layout is None:
        layout = ConeLayout.contacts(mu)
    if not isinstance(layout, ConeLayout):
        raise InputError(f"layout must be a ConeLayout, got {type(layout).__name__}")
    rows = layout.rows
    q = as_vector(q, rows, "q")
    if hasattr(W, "tocsr"):
        W = W.tocsr()
        if W.shape != (rows, rows):
            raise InputError(f"W must be {rows} x {rows}, got {W.shape[0]} x {W.shape[1]}")
        if not np.isfinite(W.data).all():
            raise InputError("W holds entries that are not finite")
        return layout, W.astype(float), q
    return layout, as_matrix(W, (rows, rows), "W"), q
