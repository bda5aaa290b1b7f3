# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""W_bb of each block by bodies, which its scales come from, without the rest of W."""

from mb_contact.core.jit import REAL, kernel, on_demand, sweep
from mb_contact.core.solve.system import PIECE
from mb_contact.core.tree.spatial import spatial, spatial_dot


@kernel
def own_compliance(start, bodies, b0, b1, own):
    """W_bb of the blocks b0 <= b < b1 into ``own``."""
    for b in range(b0, b1):
        size = start[b + 1] - start[b]
        for a in range(size):
            for k in range(size):
                own[b, a, k] = 0.0
        for e in range(bodies.entry[b], bodies.entry[b + 1]):
            for f in range(bodies.entry[b], e + 1):
                if bodies.tree_of[bodies.piece[e]] == bodies.tree_of[bodies.piece[f]]:
                    _through_pieces(bodies, size, e, f, own[b])


@sweep
def _through_pieces(bodies, size, e, f, own):
    """Add J_e M^-1_ef J_f* of two entries of J to W_bb, and its transpose where they are two."""
    J = bodies.J
    t = bodies.tree_of[bodies.piece[e]]
    base = bodies.tree[t]
    n = PIECE * (bodies.tree[t + 1] - base)
    at = bodies.mass_at[t] + PIECE * (bodies.piece[f] - base) * n + PIECE * (bodies.piece[e] - base)
    X = bodies.M_inv
    for k in range(size):
        v = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        for i in range(PIECE):
            y, r = J[bodies.at[f] + k, i], at + i * n
            v = (
                v[0] + y * X[r], v[1] + y * X[r + 1], v[2] + y * X[r + 2],
                v[3] + y * X[r + 3], v[4] + y * X[r + 4], v[5] + y * X[r + 5],
            )  # fmt: skip
        for a in range(size):
            x = spatial_dot(spatial(J, bodies.at[e] + a), v)
            own[a, k] += x
            if e != f:
                own[k, a] += x


@on_demand(REAL)
def own_terms(bodies, b, a):
    """Sum of the absolute terms of the diagonal entry a of W_bb: where it is much larger, that entry is rounding."""
    total = 0.0
    J = bodies.J
    for e in range(bodies.entry[b], bodies.entry[b + 1]):
        t = bodies.tree_of[bodies.piece[e]]
        base = bodies.tree[t]
        n = PIECE * (bodies.tree[t + 1] - base)
        for f in range(bodies.entry[b], bodies.entry[b + 1]):
            if bodies.tree_of[bodies.piece[f]] != t:
                continue
            at = bodies.mass_at[t] + PIECE * (bodies.piece[e] - base) * n + PIECE * (bodies.piece[f] - base)
            for i in range(PIECE):
                x = J[bodies.at[e] + a, i]
                for j in range(PIECE):
                    total += abs(x * bodies.M_inv[at + i * n + j] * J[bodies.at[f] + a, j])
    return total
