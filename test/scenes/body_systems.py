# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact systems by bodies with random J and M, and the same as dense matrices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.core.solve.assemble import spread_scales
from mb_contact.core.solve.by_bodies import factor_masses
from mb_contact.core.solve.own_compliance import own_compliance
from mb_contact.core.solve.system import BLOCKS, BY_BODIES, BY_ROWS, ISLANDS, ROWS, TILE, System, make_system
from mb_contact.core.workspace import CONTACT, EQUALITY, UNILATERAL

#: (kind, tiles that it touches) of each block; tiles 1 and 2 are one tree
BLOCK_LIST = ((CONTACT, (0, 1)), (UNILATERAL, (2,)), (CONTACT, (2, 3)), (EQUALITY, (1, 2)), (CONTACT, (0,)))
TREES = (1, 2, 1)  #: tiles of each tree
SIZES = {CONTACT: 3, UNILATERAL: 1, EQUALITY: 1}


class BodySystem(NamedTuple):
    """One island of a System, and its dense matrices."""

    system: System
    J: np.ndarray  #: (R, 6 C)
    M: np.ndarray  #: (6 C, 6 C)
    W: np.ndarray  #: (R, R)


def body_system(seed=0, n_f=0, mu=0.5):
    """The blocks of BLOCK_LIST with random rows on four tiles of random masses; in W by rows too."""
    rng = np.random.default_rng(seed)
    sizes = [SIZES[kind] for kind, _ in BLOCK_LIST]
    rows, tiles, entries = sum(sizes), sum(TREES), sum(len(touched) for _, touched in BLOCK_LIST)
    P = make_system(rows, len(sizes), entries, rows, np.array(TREES), np.arange(TILE * tiles))
    P.count[[BLOCKS, ROWS, ISLANDS]] = len(sizes), rows, 1
    P.island[1], P.source[:], P.form[0] = len(sizes), np.arange(rows), BY_BODIES
    P.blocks.start[1:], P.blocks.n_f[:] = np.cumsum(sizes), n_f
    J, M = np.zeros((rows, TILE * tiles)), np.zeros((TILE * tiles,) * 2)
    entry = at = 0
    for b, (kind, touched) in enumerate(BLOCK_LIST):
        first, size = P.blocks.start[b], sizes[b]
        P.blocks.kind[b] = kind
        P.blocks.mu[first + 1 : first + size] = mu
        for tile in touched:
            P.bodies.tile[entry], P.bodies.at[entry] = tile, at
            P.bodies.J[at : at + size] = rng.normal(size=(size, TILE))
            J[first : first + size, TILE * tile : TILE * (tile + 1)] = P.bodies.J[at : at + size]
            entry, at = entry + 1, at + size
        P.bodies.entry[b + 1] = entry
    P.bodies.tiles[:tiles], P.bodies.first_tile[1] = np.arange(tiles), tiles
    for t, own in enumerate(TREES):
        n, base = TILE * own, TILE * P.bodies.tree[t]
        A = rng.normal(size=(n, n))
        M[base : base + n, base : base + n] = A @ A.T + np.eye(n)
        P.bodies.M[P.bodies.mass_at[t] : P.bodies.mass_at[t + 1]] = M[base : base + n, base : base + n].ravel()
    factor_masses(P.bodies, 0, tiles)
    W = J @ np.linalg.inv(M) @ J.T
    P.W[:], P.blocks.D[:], P.q[:] = W, np.diag(W), rng.normal(size=rows)
    spread_scales(P.blocks, len(sizes))
    own_compliance(P.blocks.start, P.bodies, 0, len(sizes), P.work.own, P.work.Y)
    return BodySystem(P, J, M, W)


def both_faces(seed):
    """A body system by bodies, then the same by rows."""
    for face in (BY_BODIES, BY_ROWS):
        P = body_system(seed).system
        P.form[0] = face
        yield P


def random_gain(P, rng):
    """G as the laws fill it: positive on the normals, any 2 by 3 of friction on its normal and both tangents."""
    G, dense = np.zeros((P.count[ROWS], 3)), np.zeros((P.count[ROWS],) * 2)
    for b in range(P.count[BLOCKS]):
        n = P.blocks.start[b]
        G[n, 0] = dense[n, n] = rng.uniform(0.5, 2.0)
        for row in range(n + 1, P.blocks.start[b + 1]):
            G[row] = dense[row, n : n + 3] = rng.normal(size=3)
    return G, dense
