# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Butcher tableaux of the explicit Runge-Kutta methods, as the kernels read them."""

from typing import NamedTuple

import numpy as np


class Tableau(NamedTuple):
    """An explicit Runge-Kutta method of s stages."""

    A: np.ndarray  #: (s, s), coefficients, the lower triangle
    b: np.ndarray  #: (s,), weights
    difference: np.ndarray  #: (s,), b minus the weights of the embedded method, an order lower
    order: float


def explicit(rows, b, embedded=None, order=4):
    """The Tableau of a method given by the rows of A below the first, its weights, and those of the embedded one."""
    A = np.zeros((len(b), len(b)))
    for i, row in enumerate(rows):
        A[i + 1, : i + 1] = row
    b = np.array(b, float)
    return Tableau(A, b, b - (0.0 if embedded is None else np.array(embedded, float)), float(order))


#: Kutta's method of 1901.
RK4 = explicit([[1 / 2], [0, 1 / 2], [0, 0, 1]], [1 / 6, 1 / 3, 1 / 3, 1 / 6])

#: Dormand and Prince's pair of orders 5 and 4 (1980); its last stage is the derivative at the end of the step.
RK54 = explicit(
    [
        [1 / 5],
        [3 / 40, 9 / 40],
        [44 / 45, -56 / 15, 32 / 9],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0],
    [5179 / 57600, 0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40],
    order=5,
)

#: The room that a flow without a tableau needs.
ONE_STAGE = explicit([], [1.0])
