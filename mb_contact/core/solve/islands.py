# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The blocks of a problem's rows, sorted by islands: trees that rows couple."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.core.constraints.gear import partners
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.jit import kernel, part
from mb_contact.core.solve.system import BLOCKS, ISLANDS, ROWS, TILE
from mb_contact.core.workspace import CONTACT, EQUALITY, NO_BLOCK

NEXT_BLOCK, NEXT_ROW = range(2)  #: columns of System.report while blocks are sorted


class Forest(NamedTuple):
    """The trees that rows couple: T trees of n bodies and N degrees of freedom."""

    leader: Annotated[Integers, "T"]
    number: Annotated[Integers, "T"]  #: island of a tree, -1 where none
    where: Annotated[Integers, "C"]  #: entry of a tile in the present block, -1 where none
    freedom: Annotated[Integers, "N"]  #: degrees of freedom that the present row acts on,
    share: Annotated[Reals, "N"]  #: and its share of each
    tree: Annotated[Integers, "n"]  #: tree of each body
    I: Annotated[Reals, "n", 3, 3]  #: composite inertias
    mc: Annotated[Reals, "n", 3]
    mass: Annotated[Reals, "n"]
    damping: Annotated[Reals, "N"]  #: dt times the damping: part of M in a step, zero in an impact


def tree_layout(parent, root, v_start, nv):
    """(tree of each body, tiles of each tree, place of each velocity) of a forest; each tree has tiles of its own."""
    roots, tree = np.unique(root, return_inverse=True)
    sizes = np.bincount(tree, weights=nv, minlength=len(roots)).astype(np.int64)
    tiles = -(-sizes // TILE)
    used = TILE * (np.cumsum(tiles) - tiles)
    place = np.zeros(int(sizes.sum()), np.int64)
    for k in range(len(parent)):
        place[v_start[k] : v_start[k] + nv[k]] = used[tree[k]] + np.arange(nv[k])
        used[tree[k]] += nv[k]
    return tree.astype(np.int64), tiles, place


def make_forest(tree, tiles, N):
    """For the bodies' ``tree_layout`` and N degrees of freedom."""
    where = np.full(int(tiles.sum()), -1, np.int64)
    return allocate(Forest, T=len(tiles), n=len(tree), N=N, tree=tree, where=where)


@kernel
def leader_of(leader, t):
    """Leader of the trees that tree t is coupled with."""
    while leader[t] != t:
        leader[t] = leader[leader[t]]
        t = leader[t]
    return t


@kernel
def _couple(forest, rows, row, first):
    """Couple the trees of one row with tree ``first`` (-1 for none yet); returns a tree of theirs."""
    for side in range(2):
        k = rows.body_a[row] if side == 0 else rows.body_b[row]
        if k >= 0:
            t = leader_of(forest.leader, forest.tree[k])
            if first >= 0:
                forest.leader[t] = leader_of(forest.leader, first)
            first = t
    return first


@kernel
def _leader_of_row(forest, rows, row):
    """Leader of the trees that a row acts on."""
    k = rows.body_a[row] if rows.body_a[row] >= 0 else rows.body_b[row]
    return leader_of(forest.leader, forest.tree[k])


@kernel
def _island_of(forest, rows, row):
    """Island of a row."""
    return forest.number[_leader_of_row(forest, rows, row)]


@part
def sort_islands(P, forest, rows, bil, count, n_f):
    """The blocks of the first ``count`` rows, island by island, each where its first row stands among the rows.

    Islands are in the order of their first blocks; ``n_f`` is the number of vertices of the contacts' friction.
    """
    for t in range(forest.leader.shape[0]):
        forest.leader[t] = t
        forest.number[t] = -1
    for row in range(count):
        if rows.law[row] != NO_BLOCK:
            t, (start, end, _) = _couple(forest, rows, row, -1), partners(bil, row)
            for partner in range(start, end):
                t = _couple(forest, rows, partner, t)
    _number_islands(P, forest, rows, count)
    _sort_tiles(P, forest)
    for row in range(count):
        if rows.law[row] != NO_BLOCK:
            i, kind, k = _island_of(forest, rows, row), rows.law[row], row
            _begin_block(P, i, kind, n_f if kind == CONTACT else 0)
            while k >= 0:
                _put_row(P, i, k, rows.mu[k])
                k = rows.next[k]
        if rows.viscous[row] > 0.0:
            i = _island_of(forest, rows, row)
            _begin_block(P, i, EQUALITY, 0)
            _put_row(P, i, row, rows.viscous[row])


@kernel
def _number_islands(P, forest, rows, count):
    """Numbers of the islands, and where the first block and the first row of each stand."""
    number, islands, first_row = forest.number, 0, 0
    for row in range(count):
        viscous = 1 if rows.viscous[row] > 0.0 else 0
        if rows.law[row] == NO_BLOCK and viscous == 0:
            continue
        t = _leader_of_row(forest, rows, row)
        if number[t] < 0:
            number[t] = islands
            P.island[islands + 1], P.report[islands, NEXT_ROW] = 0, 0.0
            islands += 1
        i, k = number[t], row if rows.law[row] != NO_BLOCK else -1
        P.island[i + 1] += viscous + (1 if k >= 0 else 0)
        P.report[i, NEXT_ROW] += viscous
        while k >= 0:
            P.report[i, NEXT_ROW] += 1.0
            k = rows.next[k]
    P.island[0] = 0
    for i in range(islands):
        P.report[i, NEXT_BLOCK] = P.island[i]
        P.island[i + 1] += P.island[i]
        size = np.int64(P.report[i, NEXT_ROW])
        P.report[i, NEXT_ROW], first_row = first_row, first_row + size
    P.count[BLOCKS], P.count[ROWS], P.count[ISLANDS] = P.island[islands], first_row, islands
    P.blocks.start[P.count[BLOCKS]] = first_row


@kernel
def _sort_tiles(P, forest):
    """The tiles of the islands' trees, one island after the other."""
    at, first_tile = 0, P.bodies.first_tile
    first_tile[0] = 0
    for i in range(P.count[ISLANDS]):
        for t in range(forest.leader.shape[0]):
            if forest.number[leader_of(forest.leader, t)] == i:
                for c in range(P.bodies.tree[t], P.bodies.tree[t + 1]):
                    P.bodies.tiles[at] = c
                    at += 1
        first_tile[i + 1] = at


@kernel
def _begin_block(P, i, kind, n_f):
    """The next block of island i."""
    b = np.int64(P.report[i, NEXT_BLOCK])
    P.blocks.start[b], P.blocks.kind[b], P.blocks.n_f[b] = np.int64(P.report[i, NEXT_ROW]), kind, n_f
    P.report[i, NEXT_BLOCK] += 1.0


@kernel
def _put_row(P, i, row, mu):
    """The next row of the block that was begun last in island i."""
    at = np.int64(P.report[i, NEXT_ROW])
    P.source[at], P.blocks.mu[at] = row, mu
    P.report[i, NEXT_ROW] += 1.0
