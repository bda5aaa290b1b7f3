# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Projected Gauss-Seidel sweeps: each block in turn takes one natural map of its law, the others held."""

from mb_contact.core.jit import NOTHING, REAL, kernel, on_demand, sweep
from mb_contact.core.solve.laws import friction_group, project_group
from mb_contact.core.solve.system import BOX, BY_ROWS, CONTACT, EQUALITY, PIECE
from mb_contact.core.tree.spatial import STILL, dot_at, spatial, spatial_dot, spatial_sum


@kernel
def own_compliance(start, bodies, by_rows, W, source, b0, b1, own):
    """W_bb of the blocks b0 <= b < b1 into ``own``."""
    for b in range(b0, b1):
        i = start[b]
        size = start[b + 1] - i
        for a in range(size):
            for k in range(size):
                own[b, a, k] = W[source[i + a], source[i + k]] if by_rows else 0.0
        for e in range(bodies.entry[b], 0 if by_rows else bodies.entry[b + 1]):
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
    at = bodies.mass_at[t] + PIECE * (bodies.piece[e] - base) * n + PIECE * (bodies.piece[f] - base)
    X = bodies.M_inv
    for k in range(size):
        y = spatial(J, bodies.at[f] + k)
        v = (
            dot_at(X, at, y), dot_at(X, at + n, y), dot_at(X, at + 2 * n, y),
            dot_at(X, at + 3 * n, y), dot_at(X, at + 4 * n, y), dot_at(X, at + 5 * n, y),
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


@on_demand(NOTHING)
def sweep_blocks(P, b0, b1, sweeps):
    """So many sweeps over the blocks of an island, forwards and backwards by turns, from ``P.r``, ``P.u``."""
    _sweep(P.blocks, P.bodies, P.work, P.W, P.source, P.r, P.u, P.face[0] == BY_ROWS, b0, b1, sweeps)


@kernel
def _sweep(blocks, bodies, work, W, source, r, u, by_rows, b0, b1, sweeps):
    """``sweep_blocks`` with what it needs of the system: a handle counts references at each access."""
    start = blocks.start
    v = work.v
    if by_rows:
        own_compliance(start, bodies, by_rows, W, source, b0, b1, work.own)
    else:
        for b in range(b0, b1):
            for e in range(bodies.entry[b], bodies.entry[b + 1]):
                t = bodies.tree_of[bodies.piece[e]]
                for k in range(PIECE * bodies.tree[t], PIECE * bodies.tree[t + 1]):
                    v[k] = 0.0
    for i in range(start[b0], start[b1]):
        work.rest[i] = u[i]  # velocities at the start: those of bodies are counted from here
    for n in range(sweeps):
        for k in range(b0, b1):
            b = k if n % 2 == 0 else b0 + b1 - 1 - k
            i = start[b]
            size = start[b + 1] - i
            if not by_rows:
                for a in range(size):
                    t = work.rest[i + a]
                    for e in range(bodies.entry[b], bodies.entry[b + 1]):
                        row = bodies.at[e] + a
                        at = PIECE * bodies.piece[e]
                        t += dot_at(v, at, spatial(bodies.J, row))
                    u[i + a] = t
            for a in range(size):
                work.dr[i + a] = r[i + a]
            _project(blocks, r, u, work.own[b], b)
            moved = False
            for a in range(size):
                work.dr[i + a] = r[i + a] - work.dr[i + a]
                moved = moved or work.dr[i + a] != 0.0
            if not by_rows:
                for e in range(bodies.entry[b], bodies.entry[b + 1] if moved else 0):
                    _push(bodies, i, size, e, work.dr, v)
                continue
            for a in range(size):
                t = work.dr[i + a]
                if t != 0.0:
                    for j in range(start[b0], start[b1]):
                        if j < i or j >= i + size:
                            u[j] += W[source[j], source[i + a]] * t


@sweep
def _push(bodies, i, size, e, dr, v):
    """Velocities of a whole tree from the impulses of a block on one of its pieces."""
    piece = bodies.piece[e]
    t = bodies.tree_of[piece]
    base = bodies.tree[t]
    n = PIECE * (bodies.tree[t + 1] - base)
    f = STILL
    for a in range(size):
        f = spatial_sum(f, dr[i + a], spatial(bodies.J, bodies.at[e] + a))
    for j in range(n):  # M^-1 is symmetric: row j by its columns of this piece
        v[PIECE * base + j] += dot_at(bodies.M_inv, bodies.mass_at[t] + j * n + PIECE * (piece - base), f)


@sweep
def _change(u, own, i, size, a, dr):
    """Velocities of the block's own rows from row i on, for an impulse dr on its row a."""
    for k in range(size):
        u[i + k] += own[k, a] * dr


@sweep
def _project(blocks, r, u, own, b):
    """One natural map of block b, r = P(r - u / D): the normal first, then each friction group within its bound."""
    i, kind, size = blocks.start[b], blocks.kind[b], blocks.start[b + 1] - blocks.start[b]
    x, d, mu = r[i], blocks.D[i], blocks.mu[i]
    if kind == EQUALITY:
        r[i] = x - (u[i] + mu * x) / (d + mu)
    elif kind == BOX:
        r[i] = min(max(x - u[i] / d, -mu), mu)
    else:
        r[i] = max(x - u[i] / d, mu)
    _change(u, own, i, size, 0, r[i] - x)
    if kind != CONTACT:
        return
    radius, k = max(r[i], 0.0), i + 1
    while k < i + size:
        two = friction_group(blocks, b, k)[1]
        x0, x1 = r[k], r[k + two - 1]
        project_group(blocks, r, u, k, two, radius, blocks.n_f[b] if k == i + 1 else 0)
        _change(u, own, i, size, k - i, r[k] - x0)
        if two == 2:
            _change(u, own, i, size, k + 1 - i, r[k + 1] - x1)
        k += two
