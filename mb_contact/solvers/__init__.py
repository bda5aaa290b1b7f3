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
        ``"solved"`` is only said if the residual of the problem scaled to a unit diagonal
        (rows with a positive diagonal entry) is at most this times the largest scaled ``|q|``.
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
    if limit is not None and (not isinstance(limit, (int, np.integer)) or limit < 1):
        raise InputError(f"limit must be a positive number of pivots, got {limit!r}")
    limit = 20 * n + 50 if limit is None else int(limit)
    # units of z and w may mix: z sqrt(M_ii) and w / sqrt(M_ii) compare
    diagonal = np.diag(M)
    s = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = np.ascontiguousarray(M / np.outer(s, s))
    z = np.zeros(n)
    status, iterations = lemke(scaled, q / s, n, np.zeros((n, 2 * n + 2)), np.zeros(n, np.int64), z, limit)
    z /= s
    w = M @ z + q
    residual = float(np.abs(np.minimum(z, w)).max(initial=0.0))
    good = np.abs(np.minimum(z * s, w / s)).max(initial=0.0) <= tolerance * np.abs(q / s).max(initial=0.0)
    return LcpResult(z, w, STATUS.get(status, "solved" if good else "inaccurate"), iterations, residual)
