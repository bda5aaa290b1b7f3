# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The contact problem as its solver sees it: scalar rows in blocks, blocks in islands, and the operator W twice.

    u = W r + q,    W = J M^-1 J* + C,    and (r, u) of each block fulfil the law of its kind (``laws.py``).

C is diagonal: what soft materials give way (``step/softness.py``), zero for rigid ones.

By rows W is a dense matrix; by nodes it is a small one between the velocities of touched bodies; by bodies it is J and
M in tiles of six velocities: a free body is one tile, a robot as many as its degrees of freedom fill.  Impulses are
in N s (N m s), velocities in m/s (rad/s).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.compile.handles import handle
from mb_contact.core.declare import Integers, Integers32, Reals, allocate

BY_ROWS = 0  #: forms of the operator
BY_BODIES = 1
BY_NODES = 2

TILE = 6  #: velocities in a tile
LARGEST_BLOCK = 6  #: rows of a contact with torsion and rolling
COORDINATES = 48  #: most of the nodes BY_NODES
UNKNOWNS = 320  #: most of an island's polyhedral problem

BLOCKS = 0  #: entries of System.count
ROWS = 1
ISLANDS = 2

RESIDUAL = 0  #: entries of System.unit
SPEED = 1
MASSES = 2


class Blocks(NamedTuple):
    """The rows' partition and their laws; R rows in B blocks."""

    kind: Annotated[Integers, "B"]
    start: Annotated[Integers, "B + 1"]  #: first row of a block
    n_f: Annotated[Integers, "B"]  #: vertices of the polygon of friction, 0 for the disc
    mu: Annotated[Reals, "R"]  #: coefficient of a friction row; of other rows see their kind
    D: Annotated[Reals, "R"]  #: scale: the diagonal of W, of a friction group the mean of mu^2 W_ii, over mu^2
    S: Annotated[Reals, "R"]  #: scale of the solver's steps: D, but of a normal at least a tenth of mu |W_nt|
    own: Annotated[Reals, "R"]  #: compliance C of a row's own beside that of W, of a soft material [1/kg]


class Bodies(NamedTuple):
    """J and M; E entries of J over C tiles of T trees.  A row touches its block's tiles only."""

    entry: Annotated[Integers, "B + 1"]  #: first entry of a block
    tile: Annotated[Integers, "2 * E"]  #: of the entries of J, and once more of those that a part of an island has
    at: Annotated[Integers, "2 * E"]  #: first row of an entry in J
    J: Annotated[Reals, "3 * E", 6]  #: for each entry a row for each row of its block
    tree: Annotated[Integers, "T + 1"]  #: first tile of a tree
    tree_of: Annotated[Integers, "C"]
    place: Annotated[Integers, "N"]  #: of each velocity among the tiles' 6 C
    mass_at: Annotated[Integers, "T + 1"]  #: where a tree's matrix starts in M and root
    M: Annotated[Reals, "masses"]  #: dense matrices of the trees one after the other, padded to whole tiles with ones
    factored: Annotated[Reals, "masses"]  #: M of root: a step poses its problem again and again in one pose
    root: Annotated[Reals, "masses"]  #: U^-*, lower triangular, M = U U*
    tiles: Annotated[Integers, "2 * C"]  #: the islands' tiles, one island after the other, and those of a part
    first_tile: Annotated[Integers, "B + 1"]


class Factors(NamedTuple):
    """Factors of a Newton matrix: dense by rows, sparse by bodies."""

    A: Annotated[Reals, "dense", "dense"]
    scale: Annotated[Reals, "dense"]
    pivot: Annotated[Integers, "dense"]
    rows: Annotated[Integers, "dense"]  #: an island's rows, first those with a gain G: only they are factored
    giving: Annotated[Integers, 1]  #: how many these are
    acting: Annotated[Integers, "dense"]  #: rows whose impulse is not zero
    order: Annotated[Integers, "C"]  #: tiles in the order of elimination
    rank: Annotated[Integers, "C"]
    degree: Annotated[Integers, "C"]
    slot: Annotated[Integers32, "C", "C"]  #: block of the factors, -1 where there is none
    later: Annotated[Integers, "fill"]  #: later neighbours of each tile in the order
    first: Annotated[Integers, "C + 1"]  #: first of them
    L: Annotated[Reals, "fill", 36]  #: blocks of the factors
    until: Annotated[Integers32, "fill"]  #: end of the products that a block is reduced by,
    products: Annotated[Integers32, "terms", 2]  #: of two blocks each, in the order of the blocks


class Dictionary(NamedTuple):
    """The polyhedral problem of a small island (``pivoting.py``)."""

    row: Annotated[Integers, UNKNOWNS]  #: row of an unknown impulse, -1 of a sigma
    way: Annotated[Reals, UNKNOWNS, 2]  #: its weights on that row and the next; of a sigma: bound, normal's weight
    sigma: Annotated[Integers, UNKNOWNS]  #: the unknown that bounds an impulse, the normal of a sigma; -1 for none
    T: Annotated[Reals, UNKNOWNS, UNKNOWNS + 2]
    line: Annotated[Reals, UNKNOWNS + 2]
    basis: Annotated[Integers, UNKNOWNS]
    nonbasis: Annotated[Integers, UNKNOWNS + 1]
    place: Annotated[Integers, UNKNOWNS]
    z: Annotated[Reals, UNKNOWNS]


class Nodes(NamedTuple):
    """One island by its touched nodes: W = A Omega A* (``by_nodes.py``).

    A node is a body with six coordinates, its velocity, or a joint with one.  K coordinates, and eight to spare.
    """

    count: Annotated[Integers, 1]  #: coordinates
    node: Annotated[Integers, "bodies"]  #: first coordinate of a body, -1 where it is no node
    joint: Annotated[Integers, "N"]  #: coordinate of a degree of freedom, or -1
    at: Annotated[Integers, "nR", 2]  #: first coordinates of a row's nodes, -1 for none
    A: Annotated[Reals, 2, "nR", 6]  #: for either node
    Omega: Annotated[Reals, "K", "K"]
    fours: Annotated[Reals, "K", "K4", 4]  #: Omega once more: LLVM takes four neighbours at once where it sees them
    stiff: Annotated[Reals, "K", "K"]  #: A* G A
    LU: Annotated[Reals, "K", "K"]
    scale: Annotated[Reals, "K"]
    order: Annotated[Integers, "K"]
    t: Annotated[Reals, "K"]
    s: Annotated[Reals, "K"]


class Vectors(NamedTuple):
    """What the Newton method writes."""

    c: Annotated[Reals, "R"]
    G: Annotated[Reals, "R", 3]  #: minus the derivative of dr by du: the normal row, both rows of the friction group
    dr: Annotated[Reals, "R"]
    du: Annotated[Reals, "R"]
    w: Annotated[Reals, "R"]  #: velocities of the anchored problem
    rest: Annotated[Reals, "R"]
    before: Annotated[Reals, "R"]  #: velocities of the rows at the start of the step, with their offsets
    anchor: Annotated[Reals, "R"]  #: impulses that the anchored problem is drawn to
    best: Annotated[Reals, "R"]
    kept: Annotated[Reals, "R"]  #: the best of all starts; BY_NODES the first start
    zero: Annotated[Reals, "R"]
    strained: Annotated[Reals, "R"]  #: impulses of a step that is solved again from zero,
    dropped: Annotated[Reals, "R"]  #: and what was dropped of its push-out velocities [m/s, rad/s]
    f: Annotated[Reals, "6 * C"]  #: impulses on the tiles
    v: Annotated[Reals, "6 * C"]  #: velocities of the tiles
    own: Annotated[Reals, "B", LARGEST_BLOCK, LARGEST_BLOCK]  #: W_bb of the blocks
    Y: Annotated[Reals, LARGEST_BLOCK, TILE]  #: a tile of U^-1 J* of the rows of a block


class System(NamedTuple):
    """The problem of R rows in I islands, its solution, and what the solver needs."""

    count: Annotated[Integers, 3]  #: blocks, rows, islands
    blocks: Blocks
    source: Annotated[Integers, "R"]  #: the caller's number of each row
    origin: Annotated[Integers, "R"]  #: row of the island that a row of its part is (``parts.py``)
    immobile: Annotated[Integers, "R"]  #: 1 where nothing moves along a row, of friction along its normal: rounding
    q: Annotated[Reals, "R"]
    r: Annotated[Reals, "R"]
    u: Annotated[Reals, "R"]
    island: Annotated[Integers, "B + 1"]  #: first block of an island
    form: Annotated[Integers, 1]  #: BY_ROWS, BY_BODIES or BY_NODES
    soft: Annotated[Integers, 1]  #: 1 where rows have compliances of their own
    W: Annotated[Reals, "dense", "dense"]  #: by the numbers of ``source``; only BY_ROWS
    tied: Annotated[Integers, 1]  #: rows that follow from equality rows (``dependent.py``), only BY_ROWS
    follower: Annotated[Integers, "R"]  #: 1 of such a row
    order: Annotated[Integers, "F"]  #: equality rows of an island, those that follow last
    left: Annotated[Reals, "F"]  #: what a row has of its own
    factor: Annotated[Reals, "F", "F"]  #: Cholesky factor of W among them
    bodies: Bodies
    factors: Factors
    dictionary: Dictionary
    nodes: Nodes
    work: Vectors
    #: by what the method's own residuals and velocities are multiplied (``model/units.py``), and least over greatest
    #: mass of the free bodies
    unit: Annotated[Reals, 3]
    report: Annotated[Reals, "B", 3]  #: status, Newton steps and residual of each island


SystemHandleType, SystemHandle, make_system_handle = handle(System)


def make_system(rows, blocks, entries, dense, trees, place, bodies=0, ties=False):
    """For so many rows, blocks and entries of J, and dense matrices of so many rows.

    Parameters
    ----------
    bodies : int
        Of the forest; 0 for a system that is never posed BY_NODES.
    ties : bool
        Whether equality rows may be made to follow others.
    trees : int64 (T,)
        Pieces of each tree.
    place : int64 (N,)
        Where each velocity stands among the tiles' velocities.
    """
    tree = np.concatenate(([0], np.cumsum(trees))).astype(np.int64)
    at = np.concatenate(([0], np.cumsum((TILE * np.asarray(trees)) ** 2))).astype(np.int64)
    size = {"R": rows, "B": blocks, "E": entries, "C": int(tree[-1]), "dense": dense, "masses": int(at[-1])}
    size["F"] = dense if ties else 0
    tree_of = np.repeat(np.arange(len(trees)), trees)
    more = {"bodies": bodies, "N": len(place) if bodies else 0, "nR": rows if bodies else 0}
    fours = (COORDINATES + 8) // 4 if bodies else 0
    more |= {"K": 4 * fours, "K4": fours}
    Omega = np.zeros((4 * fours, fours, 4))
    more |= {"Omega": Omega.reshape(4 * fours, 4 * fours), "fours": Omega}
    parts = allocate(Bodies, **size, tree=tree, tree_of=tree_of, place=place, mass_at=at)
    return allocate(
        System, **size, blocks=allocate(Blocks, **size, D=np.ones(rows), S=np.ones(rows)), bodies=parts,
        factors=make_factors(dense, size["C"], 0, 0), nodes=allocate(Nodes, **more), work=allocate(Vectors, **size),
        dictionary=allocate(Dictionary), unit=np.ones(3),
    )  # fmt: skip


def make_factors(dense, tiles, blocks, products):
    """For dense matrices of so many rows, and sparse ones of so many tiles, blocks and products besides the least."""
    least = 16 * tiles + 16
    return allocate(Factors, dense=dense, C=tiles, fill=blocks + least, terms=products + least)


def spread_rows(count):
    """``count`` or a few more: rows of an odd number of cache lines, whose columns use all sets of the cache.

    Those of rows of 512 numbers use few (LU factors of 231 rows 240 -> 800 us).
    """
    return 8 * (-(-count // 8) | 1) if count else 0
