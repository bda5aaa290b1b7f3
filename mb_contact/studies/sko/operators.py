# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""SKO and SPO operators with blocks of any size: E_A, A = (I - E_A)^-1, and lemmas 1 and 2 of J11."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_matrix
from mb_contact.errors import InputError, ModelError
from mb_contact.studies.sko.digraph import TreeDigraph
from mb_contact.types import WORLD


def block_diag(blocks: Sequence[Floats]) -> Floats:
    """Block-diagonal matrix of blocks of any shape; an r x 0 or 0 x m block keeps its place.

    Parameters
    ----------
    blocks : sequence of ndarray (r(k), m(k))
        The blocks.

    Returns
    -------
    ndarray (sum of r, sum of m)
    """
    rows = np.cumsum([0, *(X.shape[0] for X in blocks)])
    columns = np.cumsum([0, *(X.shape[1] for X in blocks)])
    full = np.zeros((rows[-1], columns[-1]))
    for X, i, j in zip(blocks, rows, columns):
        full[i : i + X.shape[0], j : j + X.shape[1]] = X
    return full


def slices_of(sizes: Iterable[int]) -> tuple[slice, ...]:
    """The slice of every block in a stacked vector.

    Parameters
    ----------
    sizes : iterable of int
        Rows of the blocks.

    Returns
    -------
    tuple of slice
    """
    ends = np.cumsum([0, *sizes])
    return tuple(slice(int(i), int(j)) for i, j in zip(ends[:-1], ends[1:]))


class Spo:
    """An SPO operator: a tree, node sizes m(k), and a weight A(p(k), k) on every edge.

    Parameters
    ----------
    tree : TreeDigraph
    weights : sequence of n (array_like (m(p(k)), m(k)) or None)
        Weight of the edge from the parent to k; None for nodes on the inertial frame.
    sizes : sequence of int
        Weight dimensions m(k).

    Attributes
    ----------
    E : ndarray (m, m)
        The SKO operator E_A: block (p(k), k) is A(p(k), k); nilpotent.
    A : ndarray (m, m)
        The SPO operator, 1-resolvent of E: block (i, k) is the product of the weights on the path from i to k.
    tilde : ndarray (m, m)
        A - I = E A = A E.

    Raises
    ------
    ModelError
        A weight is missing or does not fit the sizes of its two nodes.
    """

    def __init__(self, tree: TreeDigraph, weights: Sequence[ArrayLike | None], sizes: Sequence[int]) -> None:
        self.tree = tree
        self.sizes = tuple(int(m) for m in sizes)
        if len(weights) != tree.n or len(self.sizes) != tree.n:
            raise ModelError(f"{tree.n} nodes need as many weights and sizes, got {len(weights)}, {len(sizes)}")
        self.m = sum(self.sizes)
        self.slices = slices_of(self.sizes)
        self.weights = tuple(self._checked(k, weight) for k, weight in enumerate(weights))

    def _checked(self, k, weight):
        p = self.tree.parent[k]
        if p == WORLD:
            if weight is not None:
                raise ModelError(f"node {k} hangs on the inertial frame and must have no weight")
            return None
        if weight is None:
            raise ModelError(f"the edge from node {p} to node {k} needs a weight")
        try:
            return as_matrix(weight, (self.sizes[p], self.sizes[k]), f"the weight of edge ({p}, {k})")
        except InputError as error:
            raise ModelError(str(error)) from None

    def with_weights(self, weights: Sequence[ArrayLike | None]) -> Spo:
        """Another SPO operator on the same tree with the same sizes.

        Parameters
        ----------
        weights : sequence of n (array_like (m(p(k)), m(k)) or None)
            As in the constructor.

        Returns
        -------
        Spo
        """
        return Spo(self.tree, weights, self.sizes)

    def split(self, x: ArrayLike, name: str = "x") -> list[Floats]:
        """Blocks x(k) of a stacked vector (m,) or stacked matrix (m, c).

        Parameters
        ----------
        x : array_like (m,) or (m, c)
            Stacked as the operator's blocks.
        name : str
            For messages.

        Returns
        -------
        list of ndarray (m(k),) or (m(k), c)
        """
        x = np.asarray(x, dtype=np.float64)
        if x.ndim == 0 or len(x) != self.m:
            raise InputError(f"{name} must be stacked like this operator, {self.m} rows, got shape {x.shape}")
        return [x[rows] for rows in self.slices]

    def stack(self, blocks: Iterable[Floats]) -> Floats:
        """Stacked vector or matrix of the blocks x(k).

        Parameters
        ----------
        blocks : iterable of ndarray (m(k),) or (m(k), c)
            One for every node.

        Returns
        -------
        ndarray (m,) or (m, c)
        """
        return np.concatenate(list(blocks)) if self.tree.n else np.zeros(0)

    def block(self, X: Floats, i: int, k: int) -> Floats:
        """Block (i, k) of a full matrix.

        Parameters
        ----------
        X : ndarray (m, m)
            Full matrix.
        i : int
            Node of the rows.
        k : int
            Node of the columns.

        Returns
        -------
        ndarray (m(i), m(k))
        """
        return X[self.slices[i], self.slices[k]]

    @cached_property
    def E(self) -> Floats:
        """The SKO operator (m, m).

        Returns
        -------
        ndarray (m, m)
        """
        E = np.zeros((self.m, self.m))
        for k, p in enumerate(self.tree.parent):
            if p != WORLD:
                E[self.slices[p], self.slices[k]] = self.weights[k]
        return E

    @cached_property
    def A(self) -> Floats:
        """The SPO operator (m, m), column by column down the paths (Eq. 6).

        Returns
        -------
        ndarray (m, m)
        """
        A = np.eye(self.m)
        for k in self.tree.order:  # block column k from the parent's: A(:, k) = A(:, p) A(p, k) + e(k)
            p = self.tree.parent[k]
            if p != WORLD:
                A[:, self.slices[k]] += A[:, self.slices[p]] @ self.weights[k]
        return A

    @property
    def tilde(self) -> Floats:
        """A - I (m, m).

        Returns
        -------
        ndarray (m, m)
        """
        return self.A - np.eye(self.m)

    def product(self, i: int, k: int) -> Floats:
        """A(i, k): product of the weights along the path from i down to k; I for i = k, 0 for no path.

        Parameters
        ----------
        i : int
            A node.
        k : int
            A node.

        Returns
        -------
        ndarray (m(i), m(k))
        """
        if not self.tree.is_ancestor(i, k):
            return np.zeros((self.sizes[i], self.sizes[k]))
        X = np.eye(self.sizes[k])
        while k != i:
            X = self.weights[k] @ X
            k = self.tree.parent[k]
        return X

    def gather(self, x: ArrayLike) -> Floats:
        """y = A x, tips to base: y(k) = sum over children A(k, i) y(i) + x(k) (lemma 1, Eq. 4-5).

        Parameters
        ----------
        x : array_like (m,) or (m, c)
            Stacked as the operator's blocks.

        Returns
        -------
        ndarray (m,) or (m, c)
        """
        y = [block.copy() for block in self.split(x)]
        for k in reversed(self.tree.order):
            for i in self.tree.children[k]:
                y[k] += self.weights[i] @ y[i]  # Eq. 5
        return self.stack(y)

    def scatter(self, x: ArrayLike) -> Floats:
        """y = A* x, base to tips: y(k) = A*(p(k), k) y(p(k)) + x(k) (lemma 2, Eq. 7-8).

        Parameters
        ----------
        x : array_like (m,) or (m, c)
            Stacked as the operator's blocks.

        Returns
        -------
        ndarray (m,) or (m, c)
        """
        y = [block.copy() for block in self.split(x)]
        for k in self.tree.order:
            if self.tree.parent[k] != WORLD:
                y[k] += self.weights[k].T @ y[self.tree.parent[k]]  # Eq. 8
        return self.stack(y)

    def gather_strict(self, x: ArrayLike) -> Floats:
        """y = (A - I) x = E_A A x: y(k) = sum over children A(k, j) [y(j) + x(j)] (corollary 3.1).

        Parameters
        ----------
        x : array_like (m,) or (m, c)
            Stacked as the operator's blocks.

        Returns
        -------
        ndarray (m,) or (m, c)
        """
        return self.E @ self.gather(x)

    def scatter_strict(self, x: ArrayLike) -> Floats:
        """y = (A - I)* x = E_A* A* x: y(k) = A*(p(k), k) [y(p(k)) + x(p(k))] (corollary 3.1).

        Parameters
        ----------
        x : array_like (m,) or (m, c)
            Stacked as the operator's blocks.

        Returns
        -------
        ndarray (m,) or (m, c)
        """
        return self.E.T @ self.scatter(x)
