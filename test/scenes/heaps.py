# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Captured steps of heaps of free bodies, as systems by bodies.

test/data/heap_of_50.npz: 50 spheres, boxes, capsules and cylinders that settle in a bin; heap_of_16.npz: 16 boxes that
touch each other, of 22 that fall into one.  A file has the contacts of one island (``kind``, ``start``, ``mu``), their
rows J in entries of six velocities of a body (``entry``, ``piece``, ``at``), the mass matrices M, the scales D and S,
q, the impulses and velocities before (``warm``, ``before``).
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.solve.by_bodies import factor_masses
from mb_contact.core.solve.system import BY_BODIES, make_factors, make_system
from paths import DATA


def heap(name, room=0):
    """The System of a heap without impulses, with room for so many more blocks; the impulses of the step before."""
    with np.load(DATA / f"{name}.npz") as data:
        part = {"tile" if name == "piece" else name: array for name, array in data.items()}
    blocks, rows, entries, bodies = len(part["kind"]), len(part["q"]), len(part["tile"]), len(part["M"])
    P = make_system(
        rows + 3 * room, blocks + room, entries + 2 * room, 0, np.ones(bodies, np.int64), np.arange(6 * bodies)
    )
    P.count[:], P.form[0], P.island[1] = (blocks, rows, 1), BY_BODIES, blocks
    P.source[:rows] = np.arange(rows)
    for array in (P.blocks, P.bodies, P):
        for field in set(array._fields) & {"kind", "start", "mu", "D", "S", "entry", "tile", "at", "J", "q"}:
            getattr(array, field)[: len(part[field])] = part[field]
    P.bodies.M[:], P.work.before[:rows] = part["M"].ravel(), part["before"]
    P.bodies.tiles[:bodies], P.bodies.first_tile[1] = np.arange(bodies), bodies
    factor_masses(P.bodies, 0, bodies)
    return P._replace(factors=make_factors(0, bodies, 4000, 8000)), part["warm"]


def heap_velocities(P, r):
    """W r + q of a heap, with J and M written out."""
    rows, bodies = int(P.count[1]), len(P.bodies.tree_of)
    u, J = P.q[:rows].copy(), np.zeros((rows, 6 * bodies))
    for b in range(P.count[0]):
        n, size = P.blocks.start[b], P.blocks.start[b + 1] - P.blocks.start[b]
        for e in range(P.bodies.entry[b], P.bodies.entry[b + 1]):
            at, k = P.bodies.at[e], 6 * P.bodies.tile[e]
            J[n : n + size, k : k + 6] += P.bodies.J[at : at + size]
    for k in range(bodies):
        own = J[:, 6 * k : 6 * k + 6]
        u += own @ np.linalg.solve(P.bodies.M[36 * k : 36 * k + 36].reshape(6, 6), own.T @ r[:rows])
    return u
