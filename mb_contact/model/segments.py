# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Serial-chain segments of a tree and what they say about the mass matrix (J11 section 7), in O(n)."""

from typing import NamedTuple

import numpy as np

from mb_contact.types import WORLD


class Segment(NamedTuple):
    """Bodies that follow each other without a branching."""

    bodies: tuple  #: base to tip
    parent: int  #: the segment that it hangs on, or WORLD
    children: tuple  #: the segments that hang on it
    dof: int  #: degrees of freedom of its joints


def serial_segments(tree):
    """Segments of a tree, depth first: one starts at the inertial frame and behind every branching.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    list of Segment
    """
    n = len(tree.parent)
    children = [[] for _ in range(n + 1)]  # the last entry is the inertial frame's
    for k, p in enumerate(tree.parent):
        children[p].append(k)
    bodies, parents, below = [], [], []
    stack = [(k, WORLD) for k in reversed(children[WORLD])]
    while stack:
        k, above = stack.pop()
        own, chain = len(bodies), [k]
        while len(children[chain[-1]]) == 1:
            chain.append(children[chain[-1]][0])
        bodies.append(chain)
        parents.append(above)
        below.append([])
        if above != WORLD:
            below[above].append(own)
        stack.extend((child, own) for child in reversed(children[chain[-1]]))
    return [Segment(tuple(chain), above, tuple(down), int(tree.nv[chain].sum()))
            for chain, above, down in zip(bodies, parents, below)]


def mass_matrix_nonzeros(segments):
    """Entries of the mass matrix that may differ from zero: pairs of segments of which one leads to the other."""
    above, total = [], 0
    for segment in segments:
        over = 0 if segment.parent == WORLD else above[segment.parent] + segments[segment.parent].dof
        above.append(over)  # degrees of freedom between the inertial frame and the segment
        total += segment.dof * (segment.dof + 2 * over)
    return total


def depth(segments):
    """Bodies on the longest path from the inertial frame to a tip."""
    ends = []
    for segment in segments:
        ends.append(len(segment.bodies) + (0 if segment.parent == WORLD else ends[segment.parent]))
    return max(ends, default=0)


def segment_pattern(segments):
    """Blocks of the mass matrix, one row and column a segment, that may differ from zero: bool (s, s)."""
    pattern = np.eye(len(segments), dtype=bool)
    for s, segment in enumerate(segments):
        above = segment.parent
        while above != WORLD:
            pattern[s, above] = pattern[above, s] = True
            above = segments[above].parent
    return pattern
