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

from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.jit import kernel
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
        _body_factor(tree.mass[k], tree.com, tree.inertia, kin.R, k, fac.square, fac.A)
    for k in range(tree.parent.shape[0] - 1, -1, -1):
        _gram(fac.A, k, fac.square, art.P)
        angular = art.P[k, 0] + art.P[k, 3] + art.P[k, 5]
        linear = art.P[k, 15] + art.P[k, 18] + art.P[k, 20]
        s = tree.v_start[k]
        for i in range(s + tree.nv[k] - 1, s - 1, -1):
            _hinge_rows(fac.A, kin.H, np.sqrt(tree.armature[i] + dt * tree.damping[i]), i, k, B)
            # the largest D that P could give a hinge h: the traces of its blocks times |h_w|^2 and |h_v|^2
            most = angular * (kin.H[i, 0] * kin.H[i, 0] + kin.H[i, 1] * kin.H[i, 1] + kin.H[i, 2] * kin.H[i, 2])
            x, y, z = kin.H[i, 3], kin.H[i, 4], kin.H[i, 5]
            most += linear * (x * x + y * y + z * z) + tree.armature[i]
            _reflect(B, 0, 7, 0, 7)
            root = B[0, 0]  # D^(1/2), either sign
            if not root * root > SINGULAR_FACTOR * most:
                return SINGULAR_HINGE, k
            art.D_inv[i] = 1.0 / (root * root)
            for c in range(6):
                art.U[i, c] = root * B[0, 1 + c]  # B[0, 1:] is D^(-1/2) H P
                for a in range(6):
                    fac.A[k, a, c] = B[1 + a, 1 + c]  # A+
        m = tree.parent[k]
        if m < 0:
            continue
        for i in range(6):  # rows of A+ phi*(m, k), phi* = [[1, 0], [-l~, 1]]
            a = fac.A[k, i, 3]
            b = fac.A[k, i, 4]
            c = fac.A[k, i, 5]
            S[6 + i, 0] = fac.A[k, i, 0] + kin.l[k, 1] * c - kin.l[k, 2] * b
            S[6 + i, 1] = fac.A[k, i, 1] + kin.l[k, 2] * a - kin.l[k, 0] * c
            S[6 + i, 2] = fac.A[k, i, 2] + kin.l[k, 0] * b - kin.l[k, 1] * a
            S[6 + i, 3] = a
            S[6 + i, 4] = b
            S[6 + i, 5] = c
            for j in range(6):
                S[i, j] = fac.A[m, i, j]
        _compress(S, fac.done)
        for i in range(6):
            for j in range(6):
                fac.A[m, i, j] = S[i, j]
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
def _gram(A, k, X, P):
    """P[k] := A[k]* A[k], packed as ``articulated`` says; X (6, 6) is a workspace."""
    for i in range(6):
        for j in range(i, 6):
            x = 0.0
            for c in range(6):
                x += A[k, c, i] * A[k, c, j]
            X[i, j] = x
    e = 0
    for i in range(3):
        for j in range(i, 3):
            P[k, e] = X[i, j]
            P[k, 15 + e] = X[3 + i, 3 + j]
            e += 1
        for j in range(3):
            P[k, 6 + 3 * i + j] = X[i, 3 + j]


@kernel
def _hinge_rows(A, H, s, i, k, B):
    """B := [A h, A; s, 0] of degree of freedom i of body k."""
    for a in range(6):
        x = 0.0
        for c in range(6):
            x += A[k, a, c] * H[i, c]
            B[a, 1 + c] = A[k, a, c]
        B[a, 0] = x
    B[6, 0] = s
    for c in range(6):
        B[6, 1 + c] = 0.0


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
    for j in range(6):
        done[j] = 0
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
