# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Cholesky factors of a symmetric positive definite band matrix, and the solves with them.

``A[i, w - (i - j)]`` holds entry (i, j), i - w <= j <= i, for the half-width w = A.shape[1] - 1.
"""

import numpy as np

from mb_contact.core.jit import kernel


@kernel
def band_factor(A):
    """A = L L*, in place; False if A is not positive definite."""
    w = A.shape[1] - 1
    for i in range(A.shape[0]):
        for j in range(max(0, i - w), i + 1):
            x = A[i, w - i + j]
            for k in range(max(0, i - w), j):
                x -= A[i, w - i + k] * A[j, w - j + k]
            if j < i:
                A[i, w - i + j] = x / A[j, w]
            elif x > 0.0:
                A[i, w] = np.sqrt(x)
            else:
                return False
    return True


@kernel
def band_forward(A, x):
    """x := L^-1 x."""
    w = A.shape[1] - 1
    for i in range(A.shape[0]):
        s = x[i]
        for j in range(max(0, i - w), i):
            s -= A[i, w - i + j] * x[j]
        x[i] = s / A[i, w]


@kernel
def band_forward_columns(A, X, columns):
    """The leading ``columns`` of X := L^-1 X."""
    w = A.shape[1] - 1
    for i in range(A.shape[0]):
        for j in range(max(0, i - w), i):
            f = A[i, w - i + j]
            if f != 0.0:
                for c in range(columns):
                    X[i, c] -= f * X[j, c]
        inverse = 1.0 / A[i, w]
        for c in range(columns):
            X[i, c] *= inverse


@kernel
def band_backward(A, x):
    """x := L^-* x."""
    w = A.shape[1] - 1
    for i in range(A.shape[0] - 1, -1, -1):
        x[i] /= A[i, w]
        for j in range(max(0, i - w), i):
            x[j] -= A[i, w - i + j] * x[i]
