# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How well a vector solves a problem, from the caller's matrix, right-hand side and that vector alone.

``scaled`` residuals are in units that mix newton seconds and metres per second fairly (a row's diagonal entry
becomes 1) and relative to the scaled q, so a vector of 1e13 with a small relative error does not pass for a solution.
"""

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats
from mb_contact.core.lcp.certificate import GAP, INFEASIBLE, VIOLATION
from mb_contact.core.lcp.cone_residual import MEASURES, NATURAL, cone_residuals
from mb_contact.solvers.layout import ConeLayout

if TYPE_CHECKING:
    from scipy.sparse import sparray, spmatrix

Matrix: TypeAlias = "Floats | sparray | spmatrix"

EPSILON = float(np.finfo(float).eps)


class LcpResidual(NamedTuple):
    """Residuals of w = M z + q, lower <= z <= upper, w >= 0 where z = lower, w <= 0 where z = upper.

    Examples
    --------
    >>> residual = mb.solvers.lcp_residual(np.eye(2), [-1.0, 1.0], [1.0, 0.5])
    >>> residual.natural, residual.gap, residual.worst  # z[1] = 0.5 has w[1] = 1.5
    (0.5, 0.75, 1)
    """

    natural: float  #: largest ``|z - mid(lower, z - w, upper)|``
    scaled: float  #: the same with a unit diagonal, relative to max(``|q|`` scaled)
    gap: float  #: largest product of w and the distance to the bound it belongs to
    infeasible_z: float  #: largest violation of a bound
    infeasible_w: float  #: largest w of the wrong sign
    rounding: float  #: largest uncertainty of w, machine precision times ``|M| |z| + |q|``
    worst: int  #: row of the largest natural residual, -1 without rows


class ConeResidual(NamedTuple):
    """Residuals of the frictional contact problem on exact cones.

    Examples
    --------
    >>> layout = mb.solvers.ConeLayout.contacts([0.5])
    >>> residual = mb.solvers.cone_residual(np.eye(3), [-1.0, 0.0, 0.0], layout, [0.0, 0.0, 0.0])
    >>> residual.natural, residual.infeasible  # no impulse, and the bodies approach
    (1.0, 1.0)
    """

    natural: float  #: ``|r - P_K(r - (u + s n))|``, Euclidean norm over all rows
    relative: float  #: natural / ``max(1, |q|)``
    scaled: float  #: natural with every block's mean diagonal 1, relative to the scaled ``|q|``
    gap: float  #: largest ``|r* (u + s n)|`` of a block [J]
    infeasible: float  #: largest approaching velocity, or velocity of a bilateral row
    cone_violation: float  #: largest impulse beyond its cone
    rounding: float  #: uncertainty of u, the norm of machine precision times ``|W| |r| + |q|``
    worst: int  #: block with the largest natural residual, -1 without blocks


def lcp_residual(
    M: Matrix, q: ArrayLike, z: ArrayLike, lower: ArrayLike | None = None, upper: ArrayLike | None = None
) -> LcpResidual:
    """Judge a solution of a linear complementarity problem; without bounds it is 0 <= w _|_ z >= 0.

    Parameters
    ----------
    M : ndarray or scipy.sparse matrix (n, n)
    q : array_like (n,)
        In the units of w.
    z : array_like (n,)
        What is judged.
    lower, upper : array_like (n,), optional
        Bounds, infinite where there is none; 0 and infinity by default.

    Returns
    -------
    LcpResidual
        Infinite residuals where z is not finite.

    Raises
    ------
    ValueError
        Shapes do not fit.

    Examples
    --------
    >>> mb.solvers.lcp_residual(np.eye(2), [-1.0, 1.0], [1.0, 0.0]).natural
    0.0
    """
    z, q = np.asarray(z, np.float64), np.asarray(q, np.float64)
    n = len(q)
    lower = np.zeros(n) if lower is None else np.asarray(lower, np.float64)
    upper = np.full(n, np.inf) if upper is None else np.asarray(upper, np.float64)
    if n == 0:
        return LcpResidual(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1)
    with np.errstate(all="ignore"):
        w = M @ z + q
        if not (np.isfinite(z).all() and np.isfinite(w).all()):
            return LcpResidual(*(np.inf,) * 6, int(np.argmin(np.isfinite(w) & np.isfinite(z))))
        natural = np.abs(np.clip(w, z - upper, z - lower))  # = z - mid(lower, z - w, upper), without cancellation
        diagonal = np.abs(np.asarray(M.diagonal()).ravel())
        s = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        scaled = np.abs(np.clip(w / s, (z - upper) * s, (z - lower) * s)).max()
        size = np.abs(q / s).max()
        near = np.where(w >= 0.0, z - lower, upper - z)  # free rows: w itself is the violation
        open_row = np.where(w >= 0.0, np.isinf(lower), np.isinf(upper))
        return LcpResidual(
            natural=float(natural.max()),
            scaled=_ratio(scaled, size),
            gap=float(np.abs(np.where(open_row, 0.0, near * w)).max()),
            infeasible_z=float(np.maximum(np.maximum(lower - z, z - upper), 0.0).max()),
            infeasible_w=float(np.where(open_row, np.abs(w), 0.0).max()),
            rounding=float(EPSILON * (abs(M) @ np.abs(z) + np.abs(q)).max()),
            worst=int(natural.argmax()),
        )


def _ratio(x, size):
    """x / size, and 0 / 0 = 0."""
    return float(x / size) if size > 0.0 else (0.0 if x == 0.0 else np.inf)


def cone_residual(W: Matrix, q: ArrayLike, layout: ConeLayout, r: ArrayLike) -> ConeResidual:
    """Judge impulses of the frictional contact problem ``K* > u + s n _|_ r < K``, u = W r + q.

    Parameters
    ----------
    W : ndarray or scipy.sparse matrix (R, R)
        [1/kg]
    q : array_like (R,)
        Free velocities [m/s].
    layout : ConeLayout
    r : array_like (R,)
        Impulses that are judged [N s].

    Returns
    -------
    ConeResidual

    Raises
    ------
    ValueError
        Shapes do not fit.

    Examples
    --------
    >>> layout = mb.solvers.ConeLayout.contacts([0.5])
    >>> mb.solvers.cone_residual(np.eye(3), [-1.0, 0.8, 0.0], layout, [1.0, -0.5, 0.0]).natural < 1e-15
    True
    """
    blocks = layout.arrays()
    r, q = np.ascontiguousarray(r, np.float64), np.asarray(q, np.float64)
    count = blocks.kind.shape[0]
    if count == 0:
        return ConeResidual(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1)
    with np.errstate(all="ignore"):
        u = np.asarray(W @ r + q, float)
        rounding = float(EPSILON * np.linalg.norm(abs(W) @ np.abs(r) + np.abs(q)))
    out = np.zeros((count, MEASURES))
    work = np.zeros((2, 6))
    cone_residuals(blocks, r, u, np.ones(count), out, *work)
    natural = float(np.linalg.norm(out[:, NATURAL]))
    diagonal = np.abs(np.asarray(W.diagonal(), np.float64).ravel())
    rows = np.diff(blocks.start)
    mean = np.add.reduceat(diagonal, blocks.start[:-1]) / rows
    scale = 1.0 / np.sqrt(np.where(mean > 0.0, mean, 1.0))
    balanced = np.zeros((count, MEASURES))
    cone_residuals(blocks, r, u, scale, balanced, *work)
    size = float(np.linalg.norm(np.repeat(scale, rows) * q))
    rest = float(np.linalg.norm(balanced[:, NATURAL]))
    return ConeResidual(
        natural=natural,
        relative=natural / max(1.0, float(np.linalg.norm(q))),
        scaled=_ratio(rest, size),
        gap=float(out[:, GAP].max()),
        infeasible=float(out[:, INFEASIBLE].max()),
        cone_violation=max(float(out[:, VIOLATION].max()), 0.0),
        rounding=rounding,
        worst=int(out[:, NATURAL].argmax()),
    )
