# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The quadratic programme of the no-slip and viscous models by primal active sets (D15 section VII-A)."""

import numpy as np

from mb_contact.checks import Floats


def active_set_qp(F: Floats, e: Floats) -> tuple[Floats, int]:
    """min 1/2 z* F z + e* z, z >= 0, by a primal active-set method; every working set is factored afresh.

    Returns
    -------
    z, iterations
    """
    n = len(e)
    z, free, iterations = np.zeros(n), np.zeros(n, bool), 0
    tolerance = 1e-11 * max(np.abs(e).max(initial=0.0), 1e-300)
    while iterations < 20 * n:
        iterations += 1
        B = np.flatnonzero(free)
        target = np.zeros(n)
        if len(B):
            target[B] = np.linalg.lstsq(F[np.ix_(B, B)], -e[B], rcond=1e-12)[0]
        blocked = B[target[B] < -tolerance]
        if len(blocked):
            ratio = z[blocked] / (z[blocked] - target[blocked])
            z += ratio.min() * (target - z)
            free[blocked[np.argmin(ratio)]] = False
            continue
        z = np.maximum(target, 0.0)
        gradient = np.where(free, 0.0, F @ z + e)
        if not gradient.min(initial=0.0) < -tolerance:
            break
        free[np.argmin(gradient)] = True
    return z, iterations
