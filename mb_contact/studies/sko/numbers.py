# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What linear algebra in numbers other than float64 needs: np.linalg knows neither longdouble nor object arrays."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mb_contact.errors import DynamicsError

Numbers = NDArray[Any]  #: of float64, longdouble or objects


def zeros(shape: int | tuple[int, ...], dtype: DTypeLike) -> Numbers:
    """Zeros of any number type; those of an object array are integers and take the type of what is added.

    Parameters
    ----------
    shape : int or tuple of int
        Of the array.
    dtype : dtype
        Of the array.

    Returns
    -------
    ndarray
    """
    return np.full(shape, 0, dtype=dtype)


def identity(m: int, dtype: DTypeLike) -> Numbers:
    """Identity matrix (m, m).

    Parameters
    ----------
    m : int
        Rows.
    dtype : dtype
        Of the matrix.

    Returns
    -------
    ndarray (m, m)
    """
    X = zeros((m, m), dtype)
    X[range(m), range(m)] = 1
    return X


def solve(S: Numbers, B: Numbers, name: str) -> Numbers:
    """``S^-1 B`` for a symmetric positive definite S by ``S = L D L*``, which needs no square root.

    Parameters
    ----------
    S : ndarray (n, n)
    B : ndarray (n,) or (n, c)
        Right sides.
    name : str
        What S belongs to, for the message.

    Returns
    -------
    ndarray (n,) or (n, c)

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
