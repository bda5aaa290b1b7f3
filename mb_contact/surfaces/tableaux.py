# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Butcher tableaux as ``core.surfaces.steps`` reads them: column 0 the times, the last row the weights."""

from __future__ import annotations

import numpy as np


def _tableau(rows):
    """Square array of rows (time, coefficients ...); the last row is (1, weights ...)."""
    out = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out


#: The classical method of order 4.
RK4 = _tableau([(0,), (1 / 2, 1 / 2), (1 / 2, 0, 1 / 2), (1, 0, 0, 1), (1, 1 / 6, 1 / 3, 1 / 3, 1 / 6)])

#: Dormand and Prince 1980, order 5; its seventh stage is the derivative at the end of the step.
DORMAND_PRINCE = _tableau([
    (0,),
    (1 / 5, 1 / 5),
    (3 / 10, 3 / 40, 9 / 40),
    (4 / 5, 44 / 45, -56 / 15, 32 / 9),
    (8 / 9, 19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (1, 9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (1, 35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
])  # fmt: skip

#: Weights of order 5 minus those of order 4.
DORMAND_PRINCE_ERROR = np.array(
    [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40]
)
