# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Forward and backward Lyapunov equations of SKO models (J11 lemmas 3, 5 and 6, algorithm 4.3).

X and Y are block-diagonal and given as lists of blocks; X(k) is m_A(k) x m_B(k).  B defaults to A.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_matrix
from mb_contact.errors import InputError, ModelError
from mb_contact.studies.sko.operators import Spo, block_diag
from mb_contact.types import WORLD


def _checked(A: Spo, X: Sequence[ArrayLike], B: Spo | None) -> tuple[list[Floats], Spo]:
    B = A if B is None else B
    if B.tree.parent != A.tree.parent:
        raise ModelError("the two operators belong to different trees and are not compatible (J11 section 2.3)")
    if len(X) != A.tree.n:
        raise InputError(f"X must hold {A.tree.n} blocks, got {len(X)}")
    return [as_matrix(x, (A.sizes[k], B.sizes[k]), f"X({k})") for k, x in enumerate(X)], B


def forward_lyapunov(A: Spo, X: Sequence[ArrayLike], B: Spo | None = None) -> list[Floats]:
    """Blocks Y(k) of ``X = Y - E_A Y E_B*`` (Eq. 12), tips to base (Eq. 13-14).

    Y(k) = sum over children A(k, j) Y(j) B*(k, j) + X(k): the block diagonal of ``A X B*``.

    Parameters
    ----------
    A : Spo
    X : sequence of array_like (m_A(k), m_B(k))
        Diagonal blocks X(k).
    B : Spo, optional
        Of the same tree; A where it is not given.

    Returns
    -------
    list of ndarray (m_A(k), m_B(k))
    """
    blocks, B = _checked(A, X, B)
    Y = [x.copy() for x in blocks]
    for k in reversed(A.tree.order):
        for j in A.tree.children[k]:
            Y[k] += A.weights[j] @ Y[j] @ B.weights[j].T  # Eq. 14
    return Y


def forward_terms(A: Spo, X: Sequence[ArrayLike], B: Spo | None = None) -> tuple[Floats, Floats, Floats]:
    """The disjoint terms of ``A X B* = Y + (A - I) Y + Y (B - I)*`` (lemma 3, Eq. 11), as full matrices.

    Parameters
    ----------
    A : Spo
    X : sequence of array_like (m_A(k), m_B(k))
        Diagonal blocks X(k).
    B : Spo, optional
        Of the same tree; A where it is not given.

    Returns
    -------
    three ndarray (m_A, m_B)
    """
    Y = block_diag(forward_lyapunov(A, X, B))
    return Y, A.tilde @ Y, Y @ (B or A).tilde.T


def forward_product(A: Spo, X: Sequence[ArrayLike], B: Spo | None = None) -> Floats:
    """``Z = A X B*`` from Y alone, block by block along the paths (lemma 3, Eq. 15).

    Parameters
    ----------
    A : Spo
    X : sequence of array_like (m_A(k), m_B(k))
        Diagonal blocks X(k).
    B : Spo, optional
        Of the same tree; A where it is not given.

    Returns
    -------
    ndarray (m_A, m_B)
    """
    X, B = _checked(A, X, B)
    Y = forward_lyapunov(A, X, B)
    Z = np.zeros((A.m, B.m))
    parent = A.tree.parent
    for j in range(A.tree.n):
        Z[A.slices[j], B.slices[j]] = Y[j]
        for k in A.tree.path(j)[:-1]:
            i = parent[k]  # the next block up the path
            Z[A.slices[i], B.slices[j]] = A.weights[k] @ Z[A.slices[k], B.slices[j]]
            Z[A.slices[j], B.slices[i]] = Z[A.slices[j], B.slices[k]] @ B.weights[k].T
    return Z


def backward_lyapunov(A: Spo, X: Sequence[ArrayLike], B: Spo | None = None) -> list[Floats]:
    """Blocks Y(k) of ``X = Y - diagOf(E_A* Y E_B)`` (Eq. 22), base to tips (Eq. 23-24).

    Y(k) = A*(p(k), k) Y(p(k)) B(p(k), k) + X(k): the block diagonal of ``A* X B``.

    Parameters
    ----------
    A : Spo
    X : sequence of array_like (m_A(k), m_B(k))
        Diagonal blocks X(k).
    B : Spo, optional
        Of the same tree; A where it is not given.

    Returns
    -------
    list of ndarray (m_A(k), m_B(k))
    """
    blocks, B = _checked(A, X, B)
    Y = [x.copy() for x in blocks]
    for k in A.tree.order:
        p = A.tree.parent[k]
        if p != WORLD:
            Y[k] += A.weights[k].T @ Y[p] @ B.weights[k]  # Eq. 24
    return Y


def backward_block(A: Spo, Y: Sequence[Floats], i: int, j: int, B: Spo | None = None) -> Floats:
    """One block Z(i, j) of ``A* X B`` from Y (Eq. 25, algorithm 4.3): ``A*(c, i) Y(c) B(c, j)``.

    c is the closest common ancestor-or-self; the block is zero where there is none.

    Parameters
    ----------
    A : Spo
    Y : sequence of ndarray (m_A(k), m_B(k))
        Result of :func:`backward_lyapunov`.
    i : int
        Node of the block's rows.
    j : int
        Node of its columns.
    B : Spo, optional
        Of the same tree; A where it is not given.

    Returns
    -------
    ndarray (m_A(i), m_B(j))
    """
    B = A if B is None else B
    c = A.tree.common_ancestor(i, j)
    if c == WORLD:
        return np.zeros((A.sizes[i], B.sizes[j]))
    return A.product(c, i).T @ Y[c] @ B.product(c, j)


def backward_product(A: Spo, X: Sequence[ArrayLike], B: Spo | None = None) -> Floats:
    """``Z = A* X B`` from Y alone, every block from a block one node nearer to the base (lemma 5, Eq. 25).

    Parameters
    ----------
    A : Spo
    X : sequence of array_like (m_A(k), m_B(k))
        Diagonal blocks X(k).
    B : Spo, optional
        Of the same tree; A where it is not given.

    Returns
    -------
    ndarray (m_A, m_B)
    """
    X, B = _checked(A, X, B)
    Y = backward_lyapunov(A, X, B)
    Z = np.zeros((A.m, B.m))
    parent = A.tree.parent
    for at, i in enumerate(A.tree.order):
        Z[A.slices[i], B.slices[i]] = Y[i]
        for j in A.tree.order[:at]:  # i is never an ancestor of j, so i is the one to step back from
            k = parent[i]
            if k != WORLD:
                Z[A.slices[i], B.slices[j]] = A.weights[i].T @ Z[A.slices[k], B.slices[j]]
                Z[A.slices[j], B.slices[i]] = Z[A.slices[j], B.slices[k]] @ B.weights[i]
    return Z


def backward_terms(A: Spo, X: Sequence[ArrayLike], B: Spo | None = None) -> tuple[Floats, Floats, Floats, Floats]:
    """The disjoint terms of ``A* X B = Y + (A - I)* Y + Y (B - I) + R`` (lemma 5, Eq. 21), as full matrices.

    R holds the unrelated pairs: R(i, j) = A*(k, i) Y(k) B(k, j), k the closest common ancestor.

    Parameters
    ----------
    A : Spo
    X : sequence of array_like (m_A(k), m_B(k))
        Diagonal blocks X(k).
    B : Spo, optional
        Of the same tree; A where it is not given.

    Returns
    -------
    four ndarray (m_A, m_B)
    """
    X, B = _checked(A, X, B)
    blocks = backward_lyapunov(A, X, B)
    Y = block_diag(blocks)
    R = np.zeros((A.m, B.m))
    for i in range(A.tree.n):
        for j in range(A.tree.n):
            if not A.tree.related(i, j):
                R[A.slices[i], B.slices[j]] = backward_block(A, blocks, i, j, B)
    return Y, A.tilde.T @ Y, Y @ B.tilde, R


def serial_product(A: Spo, X: Sequence[ArrayLike], B: Spo | None = None) -> Floats:
    """``Z = A* X B = Y + (A - I)* Y + Y (B - I)`` of a serial chain (lemma 6, Eq. 27-30).

    Parameters
    ----------
    A : Spo
    X : sequence of array_like (m_A(k), m_B(k))
        Diagonal blocks X(k).
    B : Spo, optional
        Of the same tree; A where it is not given.

    Returns
    -------
    ndarray (m_A, m_B)

    Raises
    ------
    ModelError
        The tree branches: lemma 5 (:func:`backward_product`) is the general one.
    """
    if not A.tree.is_chain:
        raise ModelError("lemma 6 holds for one serial chain; use backward_product for a tree")
    return backward_product(A, X, B)  # Eq. 29 and 30, one step towards the tip after the other
