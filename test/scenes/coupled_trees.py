# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""An island of trees of one to three tiles with blocks of every kind and size, by bodies, and its dense W."""

from __future__ import annotations

import numpy as np

from mb_contact.core.solve.assemble import scale_normals, spread_scales
from mb_contact.core.solve.by_bodies import factor_masses
from mb_contact.core.solve.own_compliance import own_compliance
from mb_contact.core.solve.system import BY_BODIES, make_factors, make_system, make_system_handle
from mb_contact.core.workspace import BOX, CONTACT, EQUALITY, UNILATERAL

ROOM = (2000, 500, 500)  #: rows, blocks and entries


def coupled_trees(seed, trees=24, blocks=90, room=ROOM):
    """(System, handle, W) of one island with room for so many more rows, blocks and entries."""
    rng = np.random.default_rng(seed)
    tiles = rng.choice([1, 1, 1, 2, 3], size=trees)
    first = np.concatenate(([0], np.cumsum(tiles)))
    kinds = rng.choice([CONTACT, CONTACT, CONTACT, UNILATERAL, BOX, EQUALITY], size=blocks)
    sizes = np.where(kinds == CONTACT, rng.choice([3, 3, 4, 5, 6], size=blocks), 1)
    touched = []
    for b in range(blocks):
        near = int(rng.integers(max(0, b % trees - 3), min(trees, b % trees + 4)))
        pair = {b % trees, b % trees - 1} if 0 < b < trees else {b % trees, near if rng.random() < 0.4 else b % trees}
        touched.append([p for t in sorted(pair) for p in range(first[t], first[t] + rng.integers(1, tiles[t] + 1))])
    rows, entries, n = int(sizes.sum()), sum(map(len, touched)), 6 * int(first[-1])
    P = make_system(rows + room[0], blocks + room[1], entries, 0, tiles, np.arange(n))
    free = P.bodies._replace(**{k: np.zeros(entries + room[2], np.int64) for k in ("tile", "at")})
    P = P._replace(bodies=free, factors=make_factors(0, n // 6, n * n, n**3 // 36))
    P.count[:], P.form[0], P.island[1], P.source[:rows] = (blocks, rows, 1), BY_BODIES, blocks, np.arange(rows)
    P.blocks.kind[:blocks], P.blocks.start[1 : blocks + 1] = kinds, np.cumsum(sizes)
    P.blocks.n_f[:blocks] = np.where(rng.random(blocks) < 0.7, 0, 8)
    J, e, at = np.zeros((rows, n)), 0, 0
    for b in range(blocks):
        r, end = P.blocks.start[b], P.blocks.start[b + 1]
        P.blocks.mu[r:end] = {CONTACT: 0.01, BOX: 0.05, EQUALITY: rng.choice([0.0, 0.3]), UNILATERAL: 0.0}[kinds[b]]
        if kinds[b] == CONTACT:
            P.blocks.mu[r], P.blocks.mu[r + 1 : r + 3] = 0.0, rng.choice([0.3, 0.5], size=2)
        for tile in touched[b]:
            P.bodies.tile[e], P.bodies.at[e] = tile, at
            P.bodies.J[at : at + end - r] = rng.normal(size=(end - r, 6))
            J[r:end, 6 * tile : 6 * tile + 6] += P.bodies.J[at : at + end - r]
            e, at = e + 1, at + end - r
        P.bodies.entry[b + 1] = e
    P.bodies.tiles[: n // 6], P.bodies.first_tile[1] = np.arange(n // 6), n // 6
    M = np.zeros((n, n))
    for t, own in enumerate(tiles):
        place = slice(6 * first[t], 6 * (first[t] + own))
        A = 0.3 * rng.normal(size=(6 * own, 6 * own))
        M[place, place] = A @ A.T + np.eye(6 * own)
        P.bodies.M[P.bodies.mass_at[t] : P.bodies.mass_at[t + 1]] = M[place, place].ravel()
    factor_masses(P.bodies, 0, n // 6)
    W = J @ np.linalg.solve(M, J.T)
    P.blocks.D[:rows], P.q[:rows] = np.diag(W), J @ rng.normal(size=n)
    P.immobile[:rows] = rng.random(rows) < 0.1
    own_compliance(P.blocks.start, P.bodies, 0, blocks, P.work.own, P.work.Y)
    spread_scales(P.blocks, blocks)
    handle = make_system_handle(P)
    scale_normals(handle)
    return P, handle, W
