# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Projected Gauss-Seidel for linear complementarity with bounds (Cryer 1971)."""

import numpy as np

from mb_contact.core.jit import kernel


@kernel
def box_gauss_seidel(M, q, lower, upper, n, z, relaxation, tolerance, limit):
    """Sweep z in place until no row moves more than ``tolerance``; returns (whether that happened, sweeps).

    A row without a positive diagonal entry is left alone.  Small steps do not prove a small residual: the caller
    recomputes it.
    """
    for sweep in range(limit):
        moved = 0.0
        for i in range(n):
            d = M[i, i]
            if not d > 0.0:
                continue
            w = q[i]
            for j in range(n):
                w += M[i, j] * z[j]
            x = min(max(z[i] - relaxation * w / d, lower[i]), upper[i])
            change = abs(x - z[i]) * np.sqrt(d)
            if not change <= moved:
                moved = change
            z[i] = x
        if not np.isfinite(moved):
            return False, sweep + 1
        if moved <= tolerance:
            return True, sweep + 1
    return False, limit
