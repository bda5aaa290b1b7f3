# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Inverse and rank of a compliance."""

import numpy as np

from mb_contact.checks import Floats
from mb_contact.core.tree.operational import NO_ENTRY, RANK_TOLERANCE, regular_inverse

COMPILED = 60  #: rows up to which a compiled loop is faster than the blocks of a linear algebra library


def invert_compliance(L: Floats) -> tuple[Floats, int]:
    """Inverse of a compliance (pseudo-inverse below RANK_TOLERANCE) and its rank.

    Rows are scaled to a unit diagonal first, since rad/s and m/s mix.

    Parameters
    ----------
    L : ndarray (rows, rows)
        Symmetric, positive semidefinite; in any axes [1/(kg m^2), 1/(kg m), 1/kg].

    Returns
    -------
    inverse : ndarray (rows, rows)
        In the same axes [kg m^2, kg m, kg].
    rank : int

    Raises
    ------
    numpy.linalg.LinAlgError
        L is not square or not finite.

    Examples
    --------
    >>> inverse, rank = mb.dynamics.invert_compliance(np.array([[0.5, 0.0], [0.0, 0.0]]))
    >>> inverse, rank
    (array([[2., 0.],
           [0., 0.]]), 1)
    """
    n = len(L)
    if L.shape == (n, n) and 0 < n <= COMPILED:
        inverse, work = np.empty((n, n)), np.empty((n + 1, n))
        if regular_inverse(np.ascontiguousarray(L, dtype=float), work[n], work[:n], inverse):
            return inverse, n
    scaled, scale = unit_diagonal(L)
    regular = _regular_inverse(scaled) if n > COMPILED else None
    if regular is not None:
        return regular / scale, n
    values, vectors = np.linalg.eigh(scaled)
    keep = values > RANK_TOLERANCE * values.max(initial=0.0)
    inverse = (vectors[:, keep] / values[keep]) @ vectors[:, keep].T
    return inverse / scale, int(keep.sum())


def unit_diagonal(L):
    """L scaled to a unit diagonal, and the scale; rows along which nothing moves but rounding are zero.

    An entry of a Jacobian that should be zero is some 1e-17 of the others, its square in L 1e-34.
    """
    diagonal = np.diag(L)
    moves = diagonal > NO_ENTRY * diagonal.max(initial=0.0)
    s = np.sqrt(np.where(moves, diagonal, np.inf))
    scale = np.outer(s, s)
    return L / scale, scale


def _regular_inverse(scaled):
    """Inverse of a matrix with unit diagonal, None unless its rank is certainly full.

    The eigenvalues lie between 1 / trace(inverse) and n, so no eigenvalue need be computed.
    """
    n = len(scaled)
    try:
        inverse = np.linalg.inv(scaled)
    except np.linalg.LinAlgError:
        return None
    inverse = 0.5 * (inverse + inverse.T)
    trace = inverse.trace()
    positive = trace > 0.0 and inverse.diagonal().min() > 0.0
    return inverse if positive and 1.0 / trace > RANK_TOLERANCE * n else None
