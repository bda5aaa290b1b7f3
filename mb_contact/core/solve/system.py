# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The contact problem as its solver sees it: scalar rows in blocks, blocks in islands, and the operator W twice.

    u = W r + q,    W = J M^-1 J*,    and (r, u) of each block fulfil the law of its kind (``laws.py``).

By rows W is a dense matrix; by bodies it is J and M in pieces of six velocities: a free body is one piece, a robot as
many as its degrees of freedom fill.  Impulses are in N s (N m s), velocities in m/s (rad/s).
"""

from __future__ import annotations

from collections import namedtuple
from typing import NamedTuple

import numba
import numpy as np
from numba.core import types
from numba.experimental import structref

from mb_contact.core.jit import entry

EQUALITY = 0  #: u + mu r = 0, mu a softness
UNILATERAL = 1  #: r >= mu, u >= 0, (r - mu) u = 0
BOX = 2  #: |r| <= mu, u against r where it is at the bound, 0 within
CONTACT = 3  #: a UNILATERAL normal, then friction: two tangents, torsion, two rows of rolling, each group against r_n

BY_ROWS = 0  #: faces of the operator
BY_BODIES = 1

PIECE = 6  #: velocities in a piece
LARGEST_BLOCK = 6  #: rows of a contact with torsion and rolling

BLOCKS = 0  #: entries of System.count
ROWS = 1
ISLANDS = 2


class Blocks(NamedTuple):
    """The rows' partition and their laws; R rows in B blocks."""

    kind: np.ndarray  #: int64 (B,)
    start: np.ndarray  #: int64 (B + 1,), first row of a block
    n_f: np.ndarray  #: int64 (B,), vertices of the polygon of friction, 0 for the disc
    mu: np.ndarray  #: (R,), coefficient of a friction row; of other rows see their kind
    D: np.ndarray  #: (R,), scale: the diagonal of W, of a friction group the mean of mu^2 W_ii, over mu^2


class Bodies(NamedTuple):
    """J and M; E entries of J over C pieces of T trees.  A row touches its block's pieces only."""

    entry: np.ndarray  #: int64 (B + 1,), first entry of a block
    piece: np.ndarray  #: int64 (E,)
    at: np.ndarray  #: int64 (E,), first row of an entry in J
    J: np.ndarray  #: (E', 6), for each entry a row for each row of its block
    tree: np.ndarray  #: int64 (T + 1,), first piece of a tree
    tree_of: np.ndarray  #: int64 (C,)
    place: np.ndarray  #: int64 (N,), of each velocity among the pieces' 6 C
    mass_at: np.ndarray  #: int64 (T + 1,), where a tree's matrix starts in M and M_inv
    M: np.ndarray  #: dense matrices of the trees one after the other, padded to whole pieces with ones
    M_inv: np.ndarray
    pieces: np.ndarray  #: int64 (C,), the islands' pieces, one island after the other
    first_piece: np.ndarray  #: int64 (I + 1,)


class Factors(NamedTuple):
    """Factors of a Newton matrix: dense by rows, sparse by bodies."""

    A: np.ndarray  #: (R', R')
    scale: np.ndarray  #: (R',)
    pivot: np.ndarray  #: int64 (R',)
    order: np.ndarray  #: int64 (C,), pieces in the order of elimination
    rank: np.ndarray  #: int64 (C,)
    degree: np.ndarray  #: int64 (C,)
    slot: np.ndarray  #: int32 (C, C), block of the factors, -1 where there is none
    later: np.ndarray  #: int64 (..,), later neighbours of each piece in the order
    first: np.ndarray  #: int64 (C + 1,), first of them
    L: np.ndarray  #: (.., 36), blocks of the factors


class Vectors(NamedTuple):
    """What the Newton method writes."""

    c: np.ndarray  #: (R,)
    G: np.ndarray  #: (R, 3), minus the derivative of dr by du: of the normal row, of both rows of the friction group
    dr: np.ndarray  #: (R,)
    du: np.ndarray  #: (R,)
    w: np.ndarray  #: (R,), velocities of the anchored problem
    rest: np.ndarray  #: (R,)
    anchor: np.ndarray  #: (R,), impulses that the anchored problem is drawn to
    best: np.ndarray  #: (R,)
    zero: np.ndarray  #: (R,)
    f: np.ndarray  #: (6 C,), impulses on the pieces
    v: np.ndarray  #: (6 C,), velocities of the pieces
    own: np.ndarray  #: (B, 6, 6), W_bb of the blocks
    small: np.ndarray  #: (8, 7), the Newton matrix of one block; two of its vectors


class System(NamedTuple):
    """The problem of R rows in I islands, its solution, and what the solver needs."""

    count: np.ndarray  #: int64 (3,): blocks, rows, islands
    blocks: Blocks
    source: np.ndarray  #: int64 (R,), the caller's number of each row
    immobile: np.ndarray  #: int64 (R,), 1 where nothing moves along a row: its compliance is rounding
    q: np.ndarray  #: (R,)
    r: np.ndarray  #: (R,)
    u: np.ndarray  #: (R,)
    island: np.ndarray  #: int64 (I + 1,), first block of an island
    face: np.ndarray  #: int64 (1,), BY_ROWS or BY_BODIES
    W: np.ndarray  #: (R', R'), by the numbers of ``source``; only BY_ROWS
    bodies: Bodies
    factors: Factors
    work: Vectors
    report: np.ndarray  #: (I, 3), status, Newton steps and residual of each island


class SystemHandleType(types.StructRef):
    """Numba type of ``SystemHandle``."""

    def preprocess_fields(self, fields):
        return tuple((name, types.unliteral(kind)) for name, kind in fields)


if numba.config.DISABLE_JIT:
    SystemHandle = namedtuple("SystemHandle", System._fields)
else:

    class SystemHandle(structref.StructRefProxy):
        """A System as kernels take it: one reference, because 60 arrays at each call take long to compile."""

    structref.register(SystemHandleType)
    structref.define_proxy(SystemHandle, SystemHandleType, list(System._fields))


@entry
def make_system_handle(
    count, blocks, source, immobile, q, r, u, island, face, W, bodies, factors, work, report,
):  # fmt: skip
    """A SystemHandle of the fields of a System."""
    return SystemHandle(count, blocks, source, immobile, q, r, u, island, face, W, bodies, factors, work, report)


def make_system(rows, blocks, entries, dense, trees, place):
    """For so many rows, blocks and entries of J, and dense matrices of so many rows.

    Parameters
    ----------
    trees : int64 (T,)
        Pieces of each tree.
    place : int64 (N,)
        Where each velocity stands among the pieces' velocities.
    """
    tree = np.concatenate(([0], np.cumsum(trees))).astype(np.int64)
    at = np.concatenate(([0], np.cumsum((PIECE * np.asarray(trees)) ** 2))).astype(np.int64)
    pieces = int(tree[-1])
    return System(
        count=np.zeros(3, np.int64),
        blocks=Blocks(
            kind=np.zeros(blocks, np.int64), start=np.zeros(blocks + 1, np.int64), n_f=np.zeros(blocks, np.int64),
            mu=np.zeros(rows), D=np.ones(rows),
        ),
        source=np.zeros(rows, np.int64),
        immobile=np.zeros(rows, np.int64),
        q=np.zeros(rows),
        r=np.zeros(rows),
        u=np.zeros(rows),
        island=np.zeros(blocks + 1, np.int64),
        face=np.zeros(1, np.int64),
        W=np.zeros((dense, dense)),
        bodies=Bodies(
            entry=np.zeros(blocks + 1, np.int64), piece=np.zeros(entries, np.int64), at=np.zeros(entries, np.int64),
            J=np.zeros((3 * entries, PIECE)), tree=tree, tree_of=np.repeat(np.arange(len(trees)), trees), place=place,
            mass_at=at, M=np.zeros(at[-1]), M_inv=np.zeros(at[-1]), pieces=np.zeros(pieces, np.int64),
            first_piece=np.zeros(blocks + 1, np.int64),
        ),
        factors=make_factors(dense, pieces, 0),
        work=Vectors(
            **{name: np.zeros(rows) for name in ("c", "dr", "du", "w", "rest", "anchor", "best", "zero")},
            G=np.zeros((rows, 3)), f=np.zeros(PIECE * pieces), v=np.zeros(PIECE * pieces),
            own=np.zeros((blocks, LARGEST_BLOCK, LARGEST_BLOCK)), small=np.zeros((8, 7)),
        ),
        report=np.zeros((blocks, 3)),
    )  # fmt: skip


def make_factors(dense, pieces, blocks):
    """For dense matrices of so many rows, and sparse ones of so many pieces and blocks besides the least."""
    blocks += 16 * pieces + 16
    return Factors(
        A=np.zeros((dense, dense)),
        scale=np.zeros(dense),
        pivot=np.zeros(dense, np.int64),
        order=np.zeros(pieces, np.int64),
        rank=np.zeros(pieces, np.int64),
        degree=np.zeros(pieces, np.int64),
        slot=np.zeros((pieces, pieces), np.int32),
        later=np.zeros(blocks, np.int64),
        first=np.zeros(pieces + 1, np.int64),
        L=np.zeros((blocks, PIECE * PIECE)),
    )
