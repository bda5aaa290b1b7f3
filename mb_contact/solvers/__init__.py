# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Bare linear complementarity problems: w = M z + q, w >= 0, z >= 0, w* z = 0.  They know nothing of robots."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.checks import as_matrix, as_vector
from mb_contact.core.lemke import LEMKE_LIMIT, LEMKE_RAY, lemke
from mb_contact.errors import InputError

METHODS = ("lemke",)
STATUS = {LEMKE_RAY: "ray", LEMKE_LIMIT: "limit"}


class LcpResult(NamedTuple):
    """Outcome of a linear complementarity solver; judge it by ``residual``."""

    z: np.ndarray
    w: np.ndarray
    status: str  #: "solved", "ray" (no solution found along a ray), "limit", "inaccurate"
    iterations: int
    residual: float  #: largest |min(z_i, w_i)|, recomputed from M, q and z


def solve_lcp(M, q, method="lemke", tolerance=1e-9, limit=None):
    """Solve a linear complementarity problem.

    Parameters
    ----------
    M : (n, n)
    q : (n,)
    method : str
        ``"lemke"``: Lemke's algorithm with the lexicographic ratio test.
    tolerance : float
        ``"solved"`` is only said if the recomputed residual is at most this times
        ``max(1, max |q|)``.
    limit : int, optional
        Most pivots; by default 20 n + 50.

    Returns
    -------
    LcpResult

    Raises
    ------
    InputError
        Shapes do not fit, entries are not finite, or the method is unknown.
    """
    M = as_matrix(M, name="M")
    if M.shape[0] != M.shape[1]:
        raise InputError(f"M must be square, got {M.shape[0]} x {M.shape[1]}")
    n = M.shape[0]
    q = as_vector(q, n, "q")
    if method not in METHODS:
        raise InputError(f"there is no method '{method}'; choose one of {', '.join(METHODS)}")
    z = np.zeros(n)
    limit = 20 * n + 50 if limit is None else int(limit)
    status, iterations = lemke(M, q, n, np.zeros((n, 2 * n + 2)), np.zeros(n, np.int64), z, limit)
    w = M @ z + q
    residual = float(np.abs(np.minimum(z, w)).max(initial=0.0))
    good = residual <= tolerance * max(1.0, np.abs(q).max(initial=0.0))
    return LcpResult(z, w, STATUS.get(status, "solved" if good else "inaccurate"), iterations, residual)
