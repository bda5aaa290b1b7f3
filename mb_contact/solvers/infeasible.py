# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Proof that a linear complementarity problem has no solution."""

import numpy as np
from scipy.optimize import nnls

MARGIN = 1e-9  #: of the sizes that cancel


def proves_no_solution(M, q):
    """Whether a checked Farkas vector shows that no z >= 0 has M z + q >= 0.

    y >= 0, M* y <= 0 and q* y < 0 contradict M z + q >= 0, z >= 0.  Such a y is the residual of the least-squares
    problem
    min |M z - w + q|, z, w >= 0; rounding is given a margin, so True is a proof for the matrix as given to about nine
    digits, and False proves nothing.
    """
    n = len(q)
    size = np.abs(q).max(initial=0.0)
    if n == 0 or size == 0.0 or (q >= 0.0).all():
        return False
    for i in np.flatnonzero(q < 0.0):  # one row that nothing can lift
        if (M[i] <= 0.0).all():
            return True
    A = np.hstack([M, -np.eye(n)])
    columns = np.linalg.norm(A, axis=0)
    columns[columns == 0.0] = 1.0
    try:
        x, distance = nnls(A / columns, -q / size, maxiter=50 * n + 100)
    except RuntimeError:
        return False
    if not distance > 1e-7:
        return False
    y = -(A / columns @ x + q / size)
    y = np.maximum(y / np.abs(y).max(), 0.0)
    lifted = M.T @ y
    return bool(lifted.max() <= MARGIN * (np.abs(M).T @ y).max() * 1e-3 and q @ y < -MARGIN * (np.abs(q) @ y))
