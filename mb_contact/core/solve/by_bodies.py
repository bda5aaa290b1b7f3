# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The operator by bodies: W = J M^-1 J* without forming it, and Newton steps by a sparse factorisation.

    dr = c - G J dv,    (M + J* G J) dv = J* c,

which is the same step as (1 + G W) dr = c.  The matrix has a block of 6 x 6 for each pair of pieces that a contact or
a tree couples; it is not symmetric where contacts slip.  Pieces are eliminated in the order of least degree.
"""

import numpy as np

from mb_contact.core.jit import NOTHING, kernel, on_demand, sweep
from mb_contact.core.solve.system import PIECE
from mb_contact.core.tree.spatial import dot_at


@kernel
def invert_masses(bodies, c0, c1):
    """M^-1 of the trees of the pieces c0 <= c < c1 of an island."""
    for c in range(c0, c1):
        t = bodies.tree_of[bodies.pieces[c]]
        if bodies.pieces[c] == bodies.tree[t]:
            _invert(bodies.M, bodies.M_inv, bodies.mass_at[t], PIECE * (bodies.tree[t + 1] - bodies.tree[t]))


@kernel
def _invert(M, X, at, n):
    """X = M^-1 of a positive definite matrix of n rows, both stored row after row from ``at`` on."""
    for i in range(n):  # Cholesky factor L in the lower part of X
        for j in range(i + 1):
            t = M[at + i * n + j]
            for k in range(j):
                t -= X[at + i * n + k] * X[at + j * n + k]
            X[at + i * n + j] = np.sqrt(t) if i == j else t / X[at + j * n + j]
    for j in range(n):  # L^-1 in place, column by column
        X[at + j * n + j] = 1.0 / X[at + j * n + j]
        for i in range(j + 1, n):
            t = 0.0
            for k in range(j, i):
                t -= X[at + i * n + k] * X[at + k * n + j]
            X[at + i * n + j] = t / X[at + i * n + i]
    for i in range(n):  # L^-* L^-1, the upper part first
        for j in range(i, n):
            t = 0.0
            for k in range(j, n):
                t += X[at + k * n + i] * X[at + k * n + j]
            X[at + i * n + j] = t
    for i in range(n):
        for j in range(i):
            X[at + i * n + j] = X[at + j * n + i]


@sweep
def gather(start, bodies, b0, b1, c0, c1, x, f):
    """f = J* x on the pieces of an island."""
    for c in range(c0, c1):
        at = PIECE * bodies.pieces[c]
        for k in range(PIECE):
            f[at + k] = 0.0
    J = bodies.J
    for b in range(b0, b1):
        i = start[b]
        size = start[b + 1] - i
        for e in range(bodies.entry[b], bodies.entry[b + 1]):
            at = PIECE * bodies.piece[e]
            row = bodies.at[e]
            f0 = f[at]
            f1 = f[at + 1]
            f2 = f[at + 2]
            f3 = f[at + 3]
            f4 = f[at + 4]
            f5 = f[at + 5]
            for a in range(size):
                t = x[i + a]
                f0 += J[row + a, 0] * t
                f1 += J[row + a, 1] * t
                f2 += J[row + a, 2] * t
                f3 += J[row + a, 3] * t
                f4 += J[row + a, 4] * t
                f5 += J[row + a, 5] * t
            f[at] = f0
            f[at + 1] = f1
            f[at + 2] = f2
            f[at + 3] = f3
            f[at + 4] = f4
            f[at + 5] = f5


@sweep
def scatter(start, bodies, b0, b1, v, u):
    """u = J v of the rows of an island."""
    J = bodies.J
    for b in range(b0, b1):
        i = start[b]
        size = start[b + 1] - i
        for a in range(size):
            t = 0.0
            for e in range(bodies.entry[b], bodies.entry[b + 1]):
                at = PIECE * bodies.piece[e]
                row = bodies.at[e] + a
                t += (
                    J[row, 0] * v[at] + J[row, 1] * v[at + 1] + J[row, 2] * v[at + 2]
                    + (J[row, 3] * v[at + 3] + J[row, 4] * v[at + 4] + J[row, 5] * v[at + 5])
                )  # fmt: skip
            u[i + a] = t


@sweep
def weigh(bodies, c0, c1, f, v):
    """v = M^-1 f on the pieces of an island."""
    for c in range(c0, c1):
        piece = bodies.pieces[c]
        t = bodies.tree_of[piece]
        base = PIECE * bodies.tree[t]
        n = PIECE * bodies.tree[t + 1] - base
        at = bodies.mass_at[t] + (PIECE * piece - base) * n
        for k in range(PIECE):
            x = 0.0
            for j in range(0, n, PIECE):
                i = base + j
                x += dot_at(bodies.M_inv, at + j, (f[i], f[i + 1], f[i + 2], f[i + 3], f[i + 4], f[i + 5]))
            v[PIECE * piece + k] = x
            at += n


@on_demand(NOTHING)
def apply_bodies(start, bodies, work, b0, b1, c0, c1, x, y):
    """y = W x of the rows of an island."""
    gather(start, bodies, b0, b1, c0, c1, x, work.f)
    weigh(bodies, c0, c1, work.f, work.v)
    scatter(start, bodies, b0, b1, work.v, y)
