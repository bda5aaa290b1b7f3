# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The tree digraph of an SKO model (J11 sections 2.1, 7.1 and 8.2)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from operator import index
from types import SimpleNamespace
from typing import SupportsIndex

import numpy as np

from mb_contact.errors import ModelError
from mb_contact.model.segments import serial_segments
from mb_contact.types import WORLD


class TreeDigraph:
    """A forest of n nodes that hang on the inertial frame, numbered in any order.

    Parameters
    ----------
    parent : sequence of int
        Parent of every node; ``WORLD`` (-1) for those on the inertial frame.

    Raises
    ------
    ModelError
        A directed cycle: E_A would not be nilpotent and (I - E_A)^-1 would not exist (J11 section 8.2).
    """

    def __init__(self, parent: Iterable[SupportsIndex]) -> None:
        self.parent = tuple(index(p) for p in parent)
        self.n = len(self.parent)
        for k, p in enumerate(self.parent):
            if not WORLD <= p < self.n:
                raise ModelError(f"node {k} hangs on node {p}, but there are only nodes 0 to {self.n - 1}")
        children: list[list[int]] = [[] for _ in range(self.n)]
        for k, p in enumerate(self.parent):
            if p != WORLD:
                children[p].append(k)
        self.children = tuple(map(tuple, children))
        self.bases = tuple(k for k, p in enumerate(self.parent) if p == WORLD)  #: nodes on the inertial frame
        self.order = self._base_to_tips()  #: every node after its parent

    @classmethod
    def from_edges(cls, n: int, edges: Iterable[tuple[int, int]]) -> TreeDigraph:
        """The digraph of n nodes with the given (parent, child) edges.

        Parameters
        ----------
        n : int
            Number of nodes.
        edges : iterable of (int, int)
            Parent and child; the inertial frame has none.

        Returns
        -------
        TreeDigraph

        Raises
        ------
        ModelError
            A node with two parents, whose hinge velocities would not be independent, or a cycle
            (J11 section 8.2).
        """
        parent = [WORLD] * n
        for p, k in edges:
            for node in (p, k):
                if not 0 <= node < n:
                    raise ModelError(f"the edge ({p}, {k}) names node {node}, but there are only 0 to {n - 1}")
            if parent[k] not in (WORLD, p):
                raise ModelError(
                    f"node {k} has two parents, {parent[k]} and {p}: its two hinge velocities would have to agree "
                    "and are not independent; cut one edge or aggregate the loop into one node (sko.aggregate)"
                )
            parent[k] = p
        return cls(parent)

    def __repr__(self) -> str:
        return f"TreeDigraph({list(self.parent)})"

    def _base_to_tips(self):
        order, stack = [], list(reversed(self.bases))
        while stack:
            k = stack.pop()
            order.append(k)
            stack.extend(reversed(self.children[k]))
        if len(order) < self.n:
            raise ModelError(
                f"the edges form a directed cycle: {self._find_cycle(set(range(self.n)) - set(order))}; "
                "E_A is not nilpotent and has no 1-resolvent, so a cycle cannot be an SKO model"
            )
        return tuple(order)

    def _find_cycle(self, left):
        k, seen = min(left), []
        while k not in seen:
            seen.append(k)
            k = self.parent[k]
        loop = [*seen[seen.index(k) :], k]
        return " -> ".join(str(node) for node in reversed(loop))

    @property
    def is_canonical(self) -> bool:
        """Whether every parent comes before its children, the numbering of this package.

        J11 numbers the other way round, tips to base; its lower-triangular operators are upper-triangular here.

        Returns
        -------
        bool
        """
        return all(p < k for k, p in enumerate(self.parent))

    @property
    def is_chain(self) -> bool:
        """Whether all nodes form one serial chain (lemma 6).

        Returns
        -------
        bool
        """
        return len(self.bases) <= 1 and all(len(c) <= 1 for c in self.children)

    def path(self, k: int) -> list[int]:
        """Node k and its ancestors, from k towards the base.

        Parameters
        ----------
        k : int
            A node.

        Returns
        -------
        list of int
        """
        nodes = []
        while k != WORLD:
            nodes.append(k)
            k = self.parent[k]
        return nodes

    def is_ancestor(self, i: int, k: int) -> bool:
        """Whether i is k or an ancestor of it: A(i, k) is not zero.

        Parameters
        ----------
        i : int
            A node.
        k : int
            A node.

        Returns
        -------
        bool
        """
        return i in self.path(k)

    def related(self, i: int, j: int) -> bool:
        """Whether a directed path connects i and j.

        Parameters
        ----------
        i : int
            A node.
        j : int
            A node.

        Returns
        -------
        bool
        """
        return self.is_ancestor(i, j) or self.is_ancestor(j, i)

    def common_ancestor(self, i: int, j: int) -> int:
        """Closest common ancestor-or-self of i and j, ``WORLD`` where they share only the inertial frame.

        Parameters
        ----------
        i : int
            A node.
        j : int
            A node.

        Returns
        -------
        int
        """
        of_i = set(self.path(i))
        return next((k for k in self.path(j) if k in of_i), WORLD)

    @cached_property
    def segments(self) -> tuple[tuple[int, ...], ...]:
        """Serial-chain segments (J11 section 7.1): tuples of nodes, base to tip, parents' segments first.

        A segment starts at a node on the inertial frame and behind every branching.

        Returns
        -------
        tuple of tuples of int
        """
        return tuple(segment.bodies for segment in self._segments)

    @cached_property
    def _segments(self):
        return serial_segments(SimpleNamespace(parent=self.parent, nv=np.ones(self.n, int)))

    @cached_property
    def segment_tree(self) -> TreeDigraph:
        """The tree of segments, homeomorphic to this one.

        Returns
        -------
        TreeDigraph
        """
        return TreeDigraph([segment.parent for segment in self._segments])
