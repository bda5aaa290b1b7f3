# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What linear algebra in numbers other than float64 needs: np.linalg knows neither longdouble nor object arrays."""

import numpy as np

from mb_contact.errors import DynamicsError


def zeros(shape, dtype):
    """Zeros of any number type; those of an object array are integers and take the type of what is added."""
    return np.full(shape, 0, dtype=dtype)


def identity(m, dtype):
    """Identity matrix (m, m)."""
    X = zeros((m, m), dtype)
    X[range(m), range(m)] = 1
    return X


def solve(S, B, name):
    """``S^-1 B`` for a symmetric positive definite S by ``S = L D L*``, which needs no square root.

    Raises
    ------
    DynamicsError
        A pivot is not positive; ``name`` says whose.
    """
    n = len(S)
    L, X = S.copy(), B.copy()
    for i in range(n):  # row i of the upper triangle stays, the part below is eliminated
        if not L[i, i] > 0:
            raise DynamicsError(f"{name} carries no inertia: the pivot {i} of its inertia is not positive")
        for j in range(i + 1, n):
            factor = L[j, i] / L[i, i]
            L[j, i:] = L[j, i:] - factor * L[i, i:]
            X[j] = X[j] - factor * X[i]
    for i in range(n - 1, -1, -1):
        X[i] = (X[i] - L[i, i + 1 :] @ X[i + 1 :]) / L[i, i] if i + 1 < n else X[i] / L[i, i]
    return X
