# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The linear system of a step's derivative: A by the tree's factors, the rows that hold by their Schur complement.

    A dv+ = db + B x,    C dv+ + softness x = dg,    A = L* D L,

so that with Z = L^-* db and C, B standing for C L^-1 and L^-* B

    (C D^-1 B + softness) x = dg - C D^-1 Z,    dv+ = L^-1 D^-1 (Z + B x).

Soft rows are eliminated first.  What is left is solved by QR with exchanged columns, and where it is singular x is that
of least norm in units of the rows' compliances.
"""

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.gradients.rows import row_path
from mb_contact.core.gradients.workspace import (
    BY_DAMPING,
    BY_EFFORT,
    BY_JOINT_FRICTION,
    BY_MASS,
    BY_OFFSET,
    BY_Q,
    BY_V,
    HELD,
    NAMES,
    PATH,
    ROWS,
    SOFT,
    SPANS,
    UNIQUE,
)
from mb_contact.core.jit import kernel, sweep

RANK = 1e-9  #: part of the largest diagonal below which impulses are not unique


@kernel
def reduce_rows(g):
    """``Y`` and ``compliance`` of all rows."""
    before, M = g.d.before, g.d.M
    for row in range(g.count[ROWS]):
        row_path(g, row)
        for e in range(g.count[PATH]):
            g.Y[row, g.path[e]] = g.J[row, g.path[e]]
        total = 0.0
        for e in range(g.count[PATH]):
            i = g.path[e]
            y = g.Y[row, i]
            total += y * y / M[i, i]
            j = before[i]
            while j >= 0:
                g.Y[row, j] -= M[i, j] * y
                j = before[j]
        g.compliance[row] = total


@kernel
def solve_held(g, a, Z, T):
    """Unknowns x into the last columns of T (H + 1, H + columns), and their part of Z."""
    held, soft = g.count[HELD], g.count[SOFT]
    pose_matrix(g, a, T)
    width = _spans(g, held, Z.shape[1])
    _pose_right(g, Z, T, held, width)
    g.count[UNIQUE] = 1 if solve_posed(g, T, soft, held, width) else 0
    for p in range(soft, held):
        _push(g, Z, T, p, g.order[p])
    for p in range(soft):
        _push(g, Z, T, p, p)


@sweep
def touch_trees(g):
    """``touched``."""
    for k in range(g.touched.shape[0]):
        g.touched[k] = 0
    for e in range(g.count[HELD]):
        for tip in (g.tip_a[g.row[e]], g.tip_b[g.row[e]]):
            if tip >= 0:
                g.touched[g.d.tree.root[g.body[tip]]] = 1


@kernel
def _spans(g, held, width):
    """``span`` and ``column`` of the columns that are not zero along the rows' paths, of trees that they touch.

    Returns where the columns end in T.
    """
    tree, first, at, count = g.d.tree, g.first, held, 0
    touch_trees(g)
    begins = True
    for name in range(NAMES):
        for c in range(first[name], first[name + 1]):
            j = c - first[name]
            if name == BY_MASS:
                there = g.touched[tree.root[j]]
            elif name == BY_EFFORT:
                there = g.touched[tree.root[g.body[g.joint_v[j]]]]
            elif name == BY_Q or name == BY_V or name == BY_DAMPING or name == BY_JOINT_FRICTION:
                there = g.touched[tree.root[g.body[j]]]
            else:
                there = 1
            if there != 0:
                if begins:
                    g.span[count, 0], g.span[count, 2] = c, at
                    count += 1
                g.span[count - 1, 1], g.column[c] = c + 1, at
                at += 1
            begins = there == 0
    g.count[SPANS] = count
    return at


@sweep
def add_spans(g, f, x, out):
    """``out`` (columns,) += f times the row x of T, of the columns that it has."""
    for s in range(g.count[SPANS]):
        begin, at = g.span[s, 0], g.span[s, 2]
        for c in range(begin, g.span[s, 1]):
            out[c] += f * x[at - begin + c]


@kernel
def solve_posed(g, T, soft, held, width):
    """Solve T (held + 1, width) for its last columns, which its rows then have in the order; whether that is unique."""
    _eliminate(T, 0, soft, held, width)
    rank = _triangle(g, T, soft, held, width)
    _back(T, soft, soft + rank, width)
    if rank < held - soft:
        _least_norm(T, soft, soft + rank, held, width)
    _soft_unknowns(g, T, soft, held, width)
    return rank == held - soft


@sweep
def entry(X, g, e, k):
    """Entry k of row e of the linear system from the rows X: Y, their derivatives by q ``u_q`` or by v ``u_v``."""
    row, v = g.row[e], g.weight[e, 1]
    return X[row, k] * g.weight[e, 0] + (X[row + 1, k] * v if v != 0.0 else 0.0)


@kernel
def pose_matrix(g, a, T):
    """T := C D^-1 B + softness, rows and columns in units of the rows' compliances."""
    M, held = g.d.M, g.count[HELD]
    _columns(g, a, held)
    for e in range(held):
        row_path(g, g.row[e])
        fill(held, T[e], 0.0)
        for i in range(g.count[PATH]):
            k = g.path[i]
            f = entry(g.Y, g, e, k) / M[k, k]
            for c in range(held):
                T[e, c] += f * g.B[k, c]
        T[e, e] += g.softness[e]
        for c in range(held):
            T[e, c] *= g.scale[e] * g.scale[c]


@kernel
def _pose_right(g, Z, T, held, width):
    """dg - C D^-1 Z behind the matrix in T, which ends at ``width``."""
    M = g.d.M
    for e in range(held):
        row_path(g, g.row[e])
        for c in range(held, width):
            T[e, c] = 0.0
        for i in range(g.count[PATH]):
            k = g.path[i]
            f = entry(g.Y, g, e, k) / M[k, k]
            for s in range(g.count[SPANS]):
                begin, at = g.span[s, 0], g.span[s, 2]
                for c in range(begin, g.span[s, 1]):
                    T[e, at - begin + c] -= f * Z[k, c]
            if g.first[BY_Q + 1] > g.first[BY_Q]:
                T[e, g.column[g.first[BY_Q] + k]] -= entry(g.u_q, g, e, k)
            if g.first[BY_V + 1] > g.first[BY_V]:
                T[e, g.column[g.first[BY_V] + k]] -= entry(g.u_v, g, e, k)
        if g.first[BY_OFFSET + 1] > g.first[BY_OFFSET]:
            c = g.column[g.first[BY_OFFSET] + g.row[e]]
            T[e, c] -= g.weight[e, 0]
            if g.weight[e, 1] != 0.0:
                T[e, c + 1] -= g.weight[e, 1]
        for c in range(held, width):
            T[e, c] *= g.scale[e]


@kernel
def _columns(g, a, held):
    """``B``: those of rows that hold, a normal with the friction that it makes."""
    for k in range(g.B.shape[0]):
        fill(held, g.B[k], 0.0)
    for e in range(held):
        row = g.row[e]
        row_path(g, row)
        for i in range(g.count[PATH]):
            k = g.path[i]
            y = entry(g.Y, g, e, k)
            if g.weight[e, 1] == 0.0 and row % 3 == 0 and row < 3 * a.contacts.count[0]:
                f = a.rows.next[row]
                while f >= 0:
                    y += g.drag[f] * g.Y[f, k]
                    f = a.rows.next[f]
            g.B[k, e] = y


@kernel
def _eliminate(T, first, last, end, width):
    """Gauss's elimination of the unknowns from ``first`` to ``last``, of a definite block, in rows up to ``end``."""
    for k in range(first, last):
        pivot = T[k, k] if abs(T[k, k]) > 1e-300 else 1e-300
        for i in range(k + 1, end):
            f = T[i, k] / pivot
            if f != 0.0:
                for c in range(k + 1, width):
                    T[i, c] -= f * T[k, c]


@kernel
def _triangle(g, T, first, held, width):
    """R of QR with exchanged columns from row ``first`` on, Q* applied to what is right of it; the rank."""
    largest = 0.0
    for j in range(first, held):
        g.order[j] = j
    for k in range(first, held):
        size = _exchange(g, T, k, held, first)
        largest = max(largest, size)
        if size <= RANK * largest:
            return k - first
        alpha = -size if T[k, k] > 0.0 else size
        head = T[k, k] - alpha
        T[k, k] = head
        beta = -1.0 / (alpha * head)  # 2 / v.v
        for c in range(k + 1, width):
            T[held, c] = 0.0
        for i in range(k, held):
            f = T[i, k]
            for c in range(k + 1, width):
                T[held, c] += f * T[i, c]
        for i in range(k, held):
            f = beta * T[i, k]
            for c in range(k + 1, width):
                T[i, c] -= f * T[held, c]
        T[k, k] = alpha
    return held - first


@kernel
def _exchange(g, T, k, held, first):
    """Bring the longest column from row k on to place k; its length."""
    for c in range(k, held):
        g.norm[c] = 0.0
    for i in range(k, held):
        for c in range(k, held):
            g.norm[c] += T[i, c] * T[i, c]
    best = k
    for c in range(k, held):
        if g.norm[c] > g.norm[best]:
            best = c
    if best != k:
        g.order[k], g.order[best] = g.order[best], g.order[k]
        for i in range(first, held):
            T[i, k], T[i, best] = T[i, best], T[i, k]
    return np.sqrt(g.norm[best])


@kernel
def _back(T, first, last, width):
    """Solve the triangle of rows ``first`` to ``last`` for all that stands right of it."""
    for i in range(last - 1, first - 1, -1):
        for j in range(i + 1, last):
            f = T[i, j]
            for c in range(last, width):
                T[i, c] -= f * T[j, c]
        f = 1.0 / T[i, i]
        for c in range(last, width):
            T[i, c] *= f


@kernel
def _least_norm(T, first, middle, held, width):
    """The solution of least norm of x_1 + F x_2 = y: (1 + F* F) x_2 = F* y, for which the rows behind are taken."""
    for i in range(middle, held):
        for c in range(middle, width):
            T[i, c] = 1.0 if c == i else 0.0
        for k in range(first, middle):
            f = T[k, i]
            for c in range(middle, width):
                T[i, c] += f * T[k, c]
    _eliminate(T, middle, held, held, width)
    _back(T, middle, held, width)
    for k in range(first, middle):
        for i in range(middle, held):
            f = T[k, i]
            for c in range(held, width):
                T[k, c] -= f * T[i, c]


@kernel
def _soft_unknowns(g, T, soft, held, width):
    """Unknowns of the soft rows, then all of them in their own units."""
    for k in range(soft - 1, -1, -1):
        for j in range(k + 1, held):
            f = T[k, j if j < soft else g.order[j]]
            for c in range(held, width):
                T[k, c] -= f * T[j, c]
        f = 1.0 / (T[k, k] if abs(T[k, k]) > 1e-300 else 1e-300)
        for c in range(held, width):
            T[k, c] *= f
    for j in range(held):
        f = g.scale[j if j < soft else g.order[j]]
        for c in range(held, width):
            T[j, c] *= f


@kernel
def _push(g, Z, T, p, e):
    """Add what the unknown in row p of T, of row e of the system, does to Z."""
    row_path(g, g.row[e])
    for i in range(g.count[PATH]):
        k = g.path[i]
        add_spans(g, g.B[k, e], T[p], Z[k])
