# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Modified articulated-body sweep (P00 section 7): the hinge inertia as a sum of squares, from factors of P.

P00 forms the pivot in two parts, so that a small M(k) is projected on its hinge before it meets a large M~(k), the
part of P(k) that the children brought:

    D(k) = H M(k) H* + H M~(k) H*,      M~(p) = sum over children phi P+ phi*,      P+ = P - P H* D^-1 H P

That alone gains little (docs/formulation_stiffness.md): where the hinge lies in the null space of M~, the second term
is zero by cancellation of entries of its size, and 1e-16 of a large M~ is more than a small M.  So no inertia is ever
subtracted here.  P is held as a factor, P = A* A, and a weighted least-squares step takes the place of P+:

    orthogonal Q with  Q [A h  A; s  0] = [D^(1/2)  D^(-1/2) h* P; 0  A+],      s^2 = armature + dt damping

    D = |A h|^2 + s^2 = |A_M h|^2 + |A~ h|^2 + s^2,   U = P h,   P+ = A+* A+

D is a sum of squares of the rows of M and of M~, and what rounding leaves in A h enters squared.  The rows of a small
and of a large body stand under each other and keep their own relative precision, because Householder reflections
with row and column pivoting are stable row by row (Cox and Higham 1998).  Thirty times the time of
``articulated_inertias``, whose workspace it fills: every sweep that uses ``art`` runs behind it unchanged.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    gathered,
    matrix,
    packed,
    put_spatial,
    put_vector,
    spatial,
    spatial_dot,
    turned,
    vector,
    vector_dot,
    vector_sum,
)
from mb_contact.types import OK, SINGULAR_HINGE

#: D below this part of what the whole of P could give it is rounding: (450 * 2.2e-16)^2, for D is a square here
SINGULAR_FACTOR = 1e-26
RANK_OF_INERTIA = 1e-15  #: of a rotational inertia, relative to its trace: a thin rod has rank 2


class Factors(NamedTuple):
    """Workspace of :func:`factored_inertias`."""

    A: Annotated[Reals, "n", 6, 6]  #: rows of the factors, P = A* A
    hinge: Annotated[Reals, 7, 7]  #: [A h, A; s, 0] of one degree of freedom
    stack: Annotated[Reals, 12, 6]  #: own rows and those of a child
    square: Annotated[Reals, 6, 6]
    done: Annotated[Integers, 6]  #: columns already eliminated


def make_factors(n):
    """Workspace for n bodies."""
    return allocate(Factors, n=n)


@kernel
def factored_inertias(tree, kin, dt, fac, art):
    """Fill P, U and D^-1 of ``art`` from factored inertias; returns (status, body of a singular hinge).

    Parameters and results are those of :func:`~mb_contact.core.tree.articulated.articulated_inertias` (where r degrees
    of freedom are r joints of one), and ``fac`` a workspace.  ``kin`` needs poses and hinge maps only.
    """
    B = fac.hinge
    S = fac.stack
    for k in range(tree.parent.shape[0]):
        _body_factor(tree, kin.R, k, fac.square, fac.A[k])
    for k in range(tree.parent.shape[0] - 1, -1, -1):
        A = fac.A[k]
        _gram(A, k, fac.square, art.P)
        turns, _, moves = packed(art.P, k)
        angular, linear = turns[0] + turns[3] + turns[5], moves[0] + moves[3] + moves[5]
        s = tree.v_start[k]
        for i in range(s + tree.nv[k] - 1, s - 1, -1):
            h = spatial(kin.H, i)
            _hinge_rows(A, h, np.sqrt(tree.armature[i] + dt * tree.damping[i]), B)
            # the largest D that P could give a hinge h: the traces of its blocks times |h_w|^2 and |h_v|^2
            most = angular * vector_dot(h[:3], h[:3]) + linear * vector_dot(h[3:], h[3:]) + tree.armature[i]
            _reflect(B, 0, 7, 0, 7)
            root = B[0, 0]  # D^(1/2), either sign
            if not root * root > SINGULAR_FACTOR * most:
                return SINGULAR_HINGE, k
            art.D_inv[i] = 1.0 / (root * root)
            for c in range(6):
                art.U[i, c] = root * B[0, 1 + c]  # B[0, 1:] is D^(-1/2) H P
                for r in range(6):
                    A[r, c] = B[1 + r, 1 + c]  # A+
        m = tree.parent[k]
        if m < 0:
            continue
        for i in range(6):  # rows of A+ phi*(m, k), phi* = [[1, 0], [-l~, 1]]
            put_spatial(S, i, spatial(fac.A[m], i))
            put_spatial(S, 6 + i, gathered(spatial(A, i), vector(kin.l, k)))
        _compress(S, fac.done)
        for i in range(6):
            put_spatial(fac.A[m], i, spatial(S, i))
    return OK, -1


@kernel
def _body_factor(tree, R, k, X, A):
    """A with M(k) = A* A: sqrt(m) [-c~, 1] and, with the inertia L L* about c in body axes, [L* R*, 0]."""
    root = np.sqrt(tree.mass[k])
    x, y, z = vector_sum(ZERO, root, turned(matrix(R, k), vector(tree.com, k)))
    put_spatial(A, 0, (0.0, z, -y, root, 0.0, 0.0))
    put_spatial(A, 1, (-z, 0.0, x, 0.0, root, 0.0))
    put_spatial(A, 2, (y, -x, 0.0, 0.0, 0.0, root))
    for i in range(3):
        put_spatial(A, 3 + i, STILL)
        put_vector(X, i, vector(tree.inertia[k], i))
    least = RANK_OF_INERTIA * (X[0, 0] + X[1, 1] + X[2, 2])
    for i in range(3):  # Cholesky with diagonal pivoting, one row of L* at a time
        p = 0
        for j in range(1, 3):
            if X[j, j] > X[p, p]:
                p = j
        if not X[p, p] > least:
            return
        row = vector_sum(ZERO, 1.0 / np.sqrt(X[p, p]), vector(X, p))
        put_vector(A, 3 + i, turned(matrix(R, k), row))
        for j in range(3):
            put_vector(X, j, vector_sum(vector(X, j), -row[j], row))
        X[p, p] = 0.0


@kernel
def _gram(A, k, X, P):
    """P[k] := A* A, packed as ``articulated`` says; X (6, 6) is a workspace."""
    for i in range(6):
        for j in range(i, 6):
            X[i, j] = 0.0
            for c in range(6):
                X[i, j] += A[c, i] * A[c, j]
    e = 0
    for i in range(3):
        for j in range(i, 3):
            P[k, e], P[k, 15 + e] = X[i, j], X[3 + i, 3 + j]
            e += 1
        for j in range(3):
            P[k, 6 + 3 * i + j] = X[i, 3 + j]


@kernel
def _hinge_rows(A, h, s, B):
    """B := [A h, A; s, 0] of a degree of freedom."""
    for r in range(6):
        B[r, 0] = spatial_dot(spatial(A, r), h)
        for c in range(6):
            B[r, 1 + c], B[6, 1 + c] = A[r, c], 0.0
    B[6, 0] = s


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
def _compress(S, done):
    """The 12 rows of S to 6 with the same S* S, in S[:6]; columns are eliminated largest first."""
    fill(6, done, 0)
    for i in range(6):
        best = -1.0
        p = 0
        for j in range(6):
            if done[j] != 0:
                continue
            x = 0.0
            for c in range(i, 12):
                x += S[c, j] * S[c, j]
            if x > best:
                best = x
                p = j
        done[p] = 1
        _reflect(S, i, 12, p, 6)
