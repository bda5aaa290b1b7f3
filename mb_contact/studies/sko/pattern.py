# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Sparsity of E_A, A and the mass matrix, predicted from the serial-chain segments (J11 section 7, Eq. 61-63).

A prediction is exact outside: those blocks are zero whatever the weights are.  Inside, a block can still
vanish by its values, as where a weight is singular or two axes have nothing to do with each other.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mb_contact.checks import Floats
from mb_contact.studies.sko.digraph import TreeDigraph
from mb_contact.studies.sko.operators import Spo
from mb_contact.types import WORLD

Booleans = NDArray[np.bool_]


def sko_pattern(tree: TreeDigraph) -> Booleans:
    """Blocks of E_A that may differ from zero, bool (n, n) (Eq. 61, 62).

    Within a segment the superdiagonal along the chain; between a segment and its child the one block of the
    parent's tip node and the child's base node.

    Parameters
    ----------
    tree : TreeDigraph

    Returns
    -------
    ndarray (n, n) of bool
    """
    pattern = np.zeros((tree.n, tree.n), bool)
    for s, nodes in enumerate(tree.segments):
        pattern[list(nodes[:-1]), list(nodes[1:])] = True  # Eq. 61
        above = tree.segment_tree.parent[s]
        if above != WORLD:
            pattern[tree.segments[above][-1], nodes[0]] = True  # Eq. 62
    return pattern


def spo_pattern(tree: TreeDigraph) -> Booleans:
    """Blocks of A that may differ from zero, bool (n, n) (Eq. 63).

    A segment's own block is triangular along the chain; the block of two segments is full where the first is an
    ancestor of the second, and zero otherwise.

    Parameters
    ----------
    tree : TreeDigraph

    Returns
    -------
    ndarray (n, n) of bool
    """
    pattern = np.zeros((tree.n, tree.n), bool)
    for s, nodes in enumerate(tree.segments):
        pattern[np.ix_(nodes, nodes)] = np.triu(np.ones((len(nodes), len(nodes)), bool))
        for above in tree.segment_tree.path(s)[1:]:
            pattern[np.ix_(tree.segments[above], nodes)] = True
    return pattern


def mass_pattern(tree: TreeDigraph) -> Booleans:
    """Blocks of the mass matrix that may differ from zero, bool (n, n): pairs of related segments (section 7.4).

    Parameters
    ----------
    tree : TreeDigraph

    Returns
    -------
    ndarray (n, n) of bool
    """
    pattern = spo_pattern(tree)
    return pattern | pattern.T


def expand(pattern: Booleans, row_sizes: Sequence[int], column_sizes: Sequence[int] | None = None) -> Booleans:
    """A block pattern as one of elements: ``sizes`` of the nodes for A, ``r`` of the hinges for the mass matrix.

    Parameters
    ----------
    pattern : ndarray (n, n) of bool
        Of blocks.
    row_sizes : sequence of int
        Rows of every block row.
    column_sizes : sequence of int, optional
        Columns of every block column, ``row_sizes`` by default.

    Returns
    -------
    ndarray (sum of row_sizes, sum of column_sizes) of bool
    """
    columns = row_sizes if column_sizes is None else column_sizes
    return np.repeat(np.repeat(pattern, row_sizes, axis=0), columns, axis=1)


def segment_spo(spo: Spo) -> Floats:
    """A assembled segment by segment (Eq. 63), full matrix.

    The segments' own operators A_j = (I - E_Aj)^-1 stand on the diagonal; ``A_{j,k} = A_j E_{j,i} A_{i,k}``
    with i the child of j on the way to k.

    Parameters
    ----------
    spo : Spo

    Returns
    -------
    ndarray (m, m)
    """
    tree = spo.tree
    A = np.zeros((spo.m, spo.m))
    index = [np.concatenate([np.arange(spo.m)[spo.slices[k]] for k in nodes]) for nodes in tree.segments]
    for j in reversed(range(len(index))):  # parents' segments come first, so children are done before
        own = _segment_operator(spo, tree.segments[j])
        A[np.ix_(index[j], index[j])] = own
        for i in tree.segment_tree.children[j]:
            connector = spo.E[np.ix_(index[j], index[i])]  # Eq. 62
            for k in range(len(index)):
                if tree.segment_tree.is_ancestor(i, k):
                    A[np.ix_(index[j], index[k])] = own @ connector @ A[np.ix_(index[i], index[k])]
    return A


def _segment_operator(spo, nodes):
    weights = [None, *(spo.weights[k] for k in nodes[1:])]
    return Spo(TreeDigraph(range(-1, len(nodes) - 1)), weights, [spo.sizes[k] for k in nodes]).A


def text_picture(tree: TreeDigraph, pattern: Booleans, by_segment: bool = True) -> str:
    """A block pattern in characters: ``X`` may differ from zero, ``.`` is zero; lines between segments.

    With ``by_segment`` rows and columns are ordered segment by segment, otherwise by node number.

    Parameters
    ----------
    tree : TreeDigraph
    pattern : ndarray (n, n) of bool
        Of blocks.
    by_segment : bool
        Order rows and columns segment by segment.

    Returns
    -------
    str
        One line a row.
    """
    order = [k for nodes in tree.segments for k in nodes] if by_segment else list(range(tree.n))
    ends = set(np.cumsum([len(nodes) for nodes in tree.segments])[:-1]) if by_segment else set()
    lines = []
    for at, i in enumerate(order):
        if at in ends:
            lines.append("+".join("-" * (2 * len(nodes) + 1) for nodes in tree.segments))
        cells = [("| " if col in ends else "") + ("X" if pattern[i, j] else ".") for col, j in enumerate(order)]
        lines.append(" " + " ".join(cells))
    return "\n".join(lines)
