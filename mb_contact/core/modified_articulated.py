# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Modified articulated-body sweep (P00 section 7): the hinge inertia as a sum of squares, from factors of P.

P00 forms the pivot in two parts, so that a small M(k) is projected on its hinge before it meets a large M~(k), the
part of P(k) that the children brought:

    D(k) = H M(k) H* + H M~(k) H*,      M~(p) = sum over children phi P+ phi*,      P+ = P - P H* D^-1 H P

That alone gains little (docs/formulation_stiffness.md): where the hinge lies in the null space of M~, the second term
is zero by cancellation of entries of its size, and 1e-16 of a large M~ is more than a small M.  So no inertia is ever
subtracted here.  P is held as a factor, P = A* A, and a weighted least-squares step takes the place of P+:

    orthogonal Q with  Q [A H*  A; s  0] = [D^(1/2)  D^(-1/2) H P; 0  A+],      s* s = armature + dt damping

    D = |A H*|^2 + s* s = |A_M H*|^2 + |A~ H*|^2 + s* s,   G* = D^(-1/2) (D^(-1/2) H P),   P+ = A+* A+

D is a sum of squares of the rows of M and of M~, and what rounding leaves in A H* enters squared.  The rows of a small
and of a large body stand under each other and keep their own relative precision, because Householder reflections
with row and column pivoting are stable row by row (Cox and Higham 1998).  About four times the time of
``articulated_inertias``, whose workspace it fills: every sweep that uses ``art`` runs behind it unchanged.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.core.jit import kernel
from mb_contact.types import OK, SINGULAR_HINGE

#: D below this part of what the whole of P could give it is rounding: (450 * 2.2e-16)^2, for D is a square here
SINGULAR_FACTOR = 1e-26
RANK_OF_INERTIA = 1e-15  #: of a rotational inertia, relative to its trace: a thin rod has rank 2


class Factors(NamedTuple):
    """Workspace of :func:`factored_inertias`."""

    A: np.ndarray  #: (n, 6, 6), rows of the factors, P = A* A
    hinge: np.ndarray  #: (12, 12), [A H*, A; s, 0] of one body
    stack: np.ndarray  #: (12, 6), own rows and those of a child
    inverse: np.ndarray  #: (6, 6)
    order: np.ndarray  #: int64 (6,), column exchanges


def make_factors(n):
    """Workspace for n bodies."""
    return Factors(
        np.zeros((n, 6, 6)), np.zeros((12, 12)), np.zeros((12, 6)), np.zeros((6, 6)), np.zeros(6, np.int64)
    )


@kernel
def factored_inertias(tree, kin, dt, fac, art):
    """Fill P, U, G and D^-1 of ``art`` from factored inertias; returns (status, body of a singular hinge).

    Parameters and results are those of :func:`~mb_contact.core.articulated.articulated_inertias`, and ``fac`` a
    workspace.  ``kin`` needs poses and hinge maps only.
    """
    A = fac.A
    B = fac.hinge
    S = fac.stack
    order = fac.order
    inverse = fac.inverse
    P = art.P
    U = art.U
    G = art.G
    D_inv = art.D_inv
    R = kin.R
    H = kin.H
    l = kin.l
    parent = tree.parent
    v_start = tree.v_start
    nv = tree.nv
    mass = tree.mass
    com = tree.com
    inertia = tree.inertia
    armature = tree.armature
    damping = tree.damping
    for k in range(parent.shape[0]):
        _body_factor(mass[k], com, inertia, R, k, inverse, A)
    for k in range(parent.shape[0] - 1, -1, -1):
        s = v_start[k]
        r = nv[k]
        _gram(A, k, P)
        _hinge_rows(A, H, armature, damping, dt, s, r, k, B)
        if not _triangular_hinge(B, P, H, armature, s, r, k, order):
            return SINGULAR_HINGE, k
        _gains(B, order, inverse, s, r, U, G, D_inv)
        m = parent[k]
        if m < 0:
            continue
        for i in range(6):  # rows of A+ phi*(m, k), phi* = [[1, 0], [-l~, 1]]
            a = B[r + i, r + 3]
            b = B[r + i, r + 4]
            c = B[r + i, r + 5]
            S[6 + i, 0] = B[r + i, r] + l[k, 1] * c - l[k, 2] * b
            S[6 + i, 1] = B[r + i, r + 1] + l[k, 2] * a - l[k, 0] * c
            S[6 + i, 2] = B[r + i, r + 2] + l[k, 0] * b - l[k, 1] * a
            S[6 + i, 3] = a
            S[6 + i, 4] = b
            S[6 + i, 5] = c
            for j in range(6):
                S[i, j] = A[m, i, j]
        _compress(S, order)
        for i in range(6):
            for j in range(6):
                A[m, i, j] = S[i, j]
    return OK, -1


@kernel
def _body_factor(mass, com, inertia, R, k, X, A):
    """A[k] with M(k) = A* A: sqrt(m) [-c~, 1] and, with the inertia L L* about c in body axes, [L* R*, 0]."""
    root = np.sqrt(mass)
    for i in range(6):
        for j in range(6):
            A[k, i, j] = 0.0
    for i in range(3):
        A[k, i, 3 + i] = root
    c0 = R[k, 0, 0] * com[k, 0] + R[k, 0, 1] * com[k, 1] + R[k, 0, 2] * com[k, 2]
    c1 = R[k, 1, 0] * com[k, 0] + R[k, 1, 1] * com[k, 1] + R[k, 1, 2] * com[k, 2]
    c2 = R[k, 2, 0] * com[k, 0] + R[k, 2, 1] * com[k, 1] + R[k, 2, 2] * com[k, 2]
    A[k, 0, 1] = root * c2
    A[k, 0, 2] = -root * c1
    A[k, 1, 0] = -root * c2
    A[k, 1, 2] = root * c0
    A[k, 2, 0] = root * c1
    A[k, 2, 1] = -root * c0
    for i in range(3):
        for j in range(3):
            X[i, j] = inertia[k, i, j]
    least = RANK_OF_INERTIA * (X[0, 0] + X[1, 1] + X[2, 2])
    for i in range(3):  # Cholesky with diagonal pivoting, one row of L* at a time
        p = 0
        for j in range(1, 3):
            if X[j, j] > X[p, p]:
                p = j
        if not X[p, p] > least:
            return
        root = np.sqrt(X[p, p])
        l0 = X[0, p] / root
        l1 = X[1, p] / root
        l2 = X[2, p] / root
        for j in range(3):
            A[k, 3 + i, j] = l0 * R[k, j, 0] + l1 * R[k, j, 1] + l2 * R[k, j, 2]
        X[0, 0] -= l0 * l0
        X[0, 1] -= l0 * l1
        X[0, 2] -= l0 * l2
        X[1, 1] -= l1 * l1
        X[1, 2] -= l1 * l2
        X[2, 2] -= l2 * l2
        X[1, 0] = X[0, 1]
        X[2, 0] = X[0, 2]
        X[2, 1] = X[1, 2]
        X[p, p] = 0.0


@kernel
def _gram(A, k, P):
    """P[k] := A[k]* A[k]."""
    for i in range(6):
        for j in range(6):
            P[k, i, j] = 0.0
    for c in range(6):
        for i in range(6):
            x = A[k, c, i]
            for j in range(6):
                P[k, i, j] += x * A[k, c, j]


@kernel
def _hinge_rows(A, H, armature, damping, dt, s, r, k, B):
    """B := [A H*, A; diag(sqrt(armature + dt damping)), 0], 6 + r rows and r + 6 columns."""
    for i in range(6):
        for d in range(r):
            x = 0.0
            for c in range(6):
                x += A[k, i, c] * H[s + d, c]
            B[i, d] = x
        for c in range(6):
            B[i, r + c] = A[k, i, c]
    for i in range(r):
        for c in range(r + 6):
            B[6 + i, c] = 0.0
        B[6 + i, i] = np.sqrt(armature[s + i] + dt * damping[s + i])


@kernel
def _triangular_hinge(B, P, H, armature, s, r, k, order):
    """Reflect the first r columns of B to upper triangular form; False where a pivot is only rounding.

    ``order[i]`` is the degree of freedom that column i belongs to.  The largest D that P could give a hinge h is the
    trace of its angular block times |h_w|^2 plus that of the linear block times |h_v|^2.
    """
    angular = P[k, 0, 0] + P[k, 1, 1] + P[k, 2, 2]
    linear = P[k, 3, 3] + P[k, 4, 4] + P[k, 5, 5]
    for i in range(r):
        order[i] = i
    for i in range(r):
        best = -1.0
        p = i
        for j in range(i, r):
            x = 0.0
            for c in range(i, 6 + r):
                x += B[c, j] * B[c, j]
            if x > best:
                best = x
                p = j
        if p != i:
            order[i], order[p] = order[p], order[i]
            for c in range(6 + r):
                B[c, i], B[c, p] = B[c, p], B[c, i]
        d = s + order[i]
        most = angular * (H[d, 0] * H[d, 0] + H[d, 1] * H[d, 1] + H[d, 2] * H[d, 2])
        most += linear * (H[d, 3] * H[d, 3] + H[d, 4] * H[d, 4] + H[d, 5] * H[d, 5]) + armature[d]
        if not best > SINGULAR_FACTOR * most:
            return False
        _reflect(B, i, 6 + r, i, r + 6)
    return True


@kernel
def _reflect(B, first, rows, column, columns):
    """Householder reflection of rows first..rows that clears ``column`` below its first entry.

    The row with the largest entry comes first (its sign then adds, and rows keep their own precision).
    """
    p = first
    for i in range(first, rows):
        if abs(B[i, column]) > abs(B[p, column]):
            p = i
    if p != first:
        for j in range(columns):
            B[first, j], B[p, j] = B[p, j], B[first, j]
    x = 0.0
    for i in range(first, rows):
        x += B[i, column] * B[i, column]
    if x == 0.0:
        return
    x = np.sqrt(x)
    if B[first, column] > 0.0:
        x = -x
    lead = B[first, column] - x
    scale = -1.0 / (x * lead)  # 2 / |v|^2 with v = (lead, column below)
    for j in range(columns):
        if j == column:
            continue
        t = lead * B[first, j]
        for i in range(first + 1, rows):
            t += B[i, column] * B[i, j]
        t *= scale
        B[first, j] -= t * lead
        for i in range(first + 1, rows):
            B[i, j] -= t * B[i, column]
    B[first, column] = x
    for i in range(first + 1, rows):
        B[i, column] = 0.0


@kernel
def _gains(B, order, inverse, s, r, U, G, D_inv):
    """From B[:r] = [R, T]: U = R* T, G* = R^-1 T and D^-1 = R^-1 R^-*, in the joint's own order."""
    for i in range(r):
        u = s + order[i]
        for c in range(6):
            x = 0.0
            for j in range(i + 1):
                x += B[j, i] * B[j, r + c]
            U[u, c] = x
    for i in range(r - 1, -1, -1):
        g = s + order[i]
        for c in range(6):
            x = B[i, r + c]
            for j in range(i + 1, r):
                x -= B[i, j] * G[s + order[j], c]
            G[g, c] = x / B[i, i]
        for c in range(r):  # row i of R^-1
            x = 1.0 if c == i else 0.0
            for j in range(i + 1, r):
                x -= B[i, j] * inverse[j, c]
            inverse[i, c] = x / B[i, i]
    for i in range(r):
        for j in range(r):
            x = 0.0
            for c in range(r):
                x += inverse[i, c] * inverse[j, c]
            D_inv[s + order[i], order[j]] = x


@kernel
def _compress(S, order):
    """The 12 rows of S to 6 with the same S* S, in S[:6]; columns are eliminated largest first."""
    for j in range(6):
        order[j] = 0  # column not yet eliminated
    for i in range(6):
        best = -1.0
        p = 0
        for j in range(6):
            if order[j] != 0:
                continue
            x = 0.0
            for c in range(i, 12):
                x += S[c, j] * S[c, j]
            if x > best:
                best = x
                p = j
        order[p] = 1
        _reflect(S, i, 12, p, 6)
