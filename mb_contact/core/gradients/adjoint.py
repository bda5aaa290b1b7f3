# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The adjoint of a step: what of it is kept, and the product of a vector with its derivative.

With z = y_v + dt E_l* y_q of the adjoint y of the state behind the step, and the system of ``solve.py``,

    s = D^-1 L^-* z,    T* t = B* s,    p = L^-1 (s - D^-1 C* t),    out = p* db + t* dg + E* y_q

are the products with the derivatives by all names.  A record is one vector: what does not depend on y.
"""

from mb_contact.core.arrays import fill
from mb_contact.core.gradients.motion import join_paths
from mb_contact.core.gradients.rows import row_path
from mb_contact.core.gradients.solve import entry, pose_matrix, solve_posed, touch_trees
from mb_contact.core.gradients.step import linearise, pose_step
from mb_contact.core.gradients.workspace import (
    BY_EFFORT,
    BY_LEAST,
    BY_Q,
    BY_V,
    FINE,
    HELD,
    KINKS as FOUND,
    LED,
    PATH,
    SOFT,
)
from mb_contact.core.jit import kernel, unlocked
from mb_contact.core.tree.rotations import left_jacobian, turn_factors
from mb_contact.core.tree.spatial import vector_dot, vector_product, vector_sum
from mb_contact.types import JOINT_FLOATING, JOINT_SPHERICAL

HELD_ROWS, SOFT_ROWS, KINKS, LENGTH, HEADER = range(5)  #: of a record, which has so many numbers before the others


@unlocked
def record_step(g, a, q, v, gravity, dt, near, Z, T, record):
    """Keep the step from (q, v) in ``record``; (status, contact).

    Behind the header stand v+, which columns of q and v follow, db by the efforts, L and D by degrees of freedom, db by
    those columns and by all other names, and the rows that hold, each along its path.

    Parameters
    ----------
    q, v, gravity : ndarray
        As of ``pose_step``.
    Z : ndarray (N, columns)
        Scratch.
    T : ndarray (rows + 1, rows)
        Scratch.
    record : ndarray
        Of 4 + 3 N + joints + N (N + 1) / 2 + N columns + rows (3 + 4 N + rows) numbers at most.
    """
    status, contact = pose_step(g, a, q, v, v, gravity, dt)
    if status != FINE:
        return status, contact
    linearise(g, a, dt, near, Z)
    N, width, joints, held, first = Z.shape[0], Z.shape[1], g.joint_v.shape[0], g.count[HELD], g.first
    pose_matrix(g, a, T)
    record[HELD_ROWS], record[SOFT_ROWS], record[KINKS], record[LENGTH] = held, g.count[SOFT], g.count[FOUND], dt
    at = HEADER + 3 * N + joints
    _couple(g)
    for i in range(N):
        record[HEADER + i] = a.v[i]
        record[HEADER + N + i], record[HEADER + 2 * N + i] = g.among[i, 0], g.among[i, 1]
    for c in range(first[BY_EFFORT + 1] - first[BY_EFFORT]):
        record[HEADER + 3 * N + c] = Z[g.joint_v[c], first[BY_EFFORT] + c]
    for i in range(N):
        j = i
        while j >= 0:
            record[at] = g.d.M[i, j]
            at += 1
            j = g.d.before[j]
    for i in range(N):
        for name in (BY_Q, BY_V):
            for c in range(first[name] + g.among[i, 0], first[name] + g.among[i, 1]):
                if first[name + 1] > first[name]:
                    record[at] = Z[i, c]
                    at += 1
        for c in range(first[BY_EFFORT + 1], width):
            record[at] = Z[i, c]
            at += 1
    for e in range(held):
        row = g.row[e]
        row_path(g, row)
        record[at], record[at + 1], record[at + 2] = g.tip_a[row], g.tip_b[row], g.scale[e]
        at += 3
        for i in range(g.count[PATH]):
            k = g.path[i]
            record[at], record[at + 1], record[at + 2] = entry(g.Y, g, e, k), g.B[k, e], entry(g.u_q, g, e, k)
            record[at + 3] = entry(g.u_v, g, e, k)
            at += 4
        for c in range(held):
            record[at + c] = T[e, c]
        at += held
    return FINE, -1


@kernel
def _couple(g):
    """``among``: degrees of freedom by which efforts change; of all trees that rows act on, or of its own tree."""
    begin, end, root, N = g.S.shape[0], 0, g.d.tree.root, g.S.shape[0]
    touch_trees(g)
    for i in range(N):
        if g.touched[root[g.body[i]]] != 0:
            begin, end = min(begin, i), max(end, i + 1)
    for i in range(N):
        if g.touched[root[g.body[i]]] != 0:
            g.among[i, 0], g.among[i, 1] = begin, end
        else:
            g.among[i, 0], g.among[i, 1] = g.alone[i, 0], g.alone[i, 1]


@unlocked
def pull_step(g, a, record, y, T, out):
    """``out`` (columns,) := y (2 N,) times the derivative of the recorded step; y and T are scratch behind it."""
    N, width, held, joints, first = g.S.shape[0], out.shape[0], int(record[HELD_ROWS]), g.joint_v.shape[0], g.first
    M = HEADER + 3 * N + joints
    _follow_back(g, a, y, 0, N)
    fill(width, out, 0.0)
    _coordinates_back(g, record, y, out)
    s, before, at = g.rate, g.d.before, M + g.chain[N]
    for i in range(N):
        s[i] = y[N + i]
        g.among[i, 0], g.among[i, 1] = int(record[HEADER + N + i]), int(record[HEADER + 2 * N + i])
        for name in (BY_Q, BY_V):
            at += g.among[i, 1] - g.among[i, 0] if first[name + 1] > first[name] else 0
    for i in range(N - 1, -1, -1):
        j, k = before[i], M + g.chain[i] + 1
        while j >= 0:
            s[j] -= record[k] * s[i]
            j, k = before[j], k + 1
    for i in range(N):
        s[i] /= record[M + g.chain[i]]
    if held > 0:
        _rows_back(g, record, at + N * (first[BY_LEAST] - first[BY_EFFORT + 1]), M, held, T, out)
    at = M + g.chain[N]
    for i in range(N):
        j, k = before[i], M + g.chain[i] + 1
        while j >= 0:
            s[i] -= record[k] * s[j]
            j, k = before[j], k + 1
        f = s[i]
        for name in (BY_Q, BY_V):
            for c in range(first[name] + g.among[i, 0], first[name] + g.among[i, 1]):
                if first[name + 1] > first[name]:
                    out[c] += f * record[at]
                    at += 1
        for c in range(first[BY_EFFORT + 1], first[BY_LEAST]):
            out[c] += f * record[at]
            at += 1
    for c in range(first[BY_EFFORT + 1] - first[BY_EFFORT]):
        out[first[BY_EFFORT] + c] += s[g.joint_v[c]] * record[HEADER + 3 * N + c]
    for name in (BY_Q, BY_V):
        if first[name + 1] > first[name]:
            _follow_back(g, a, out, first[name], 0)


@kernel
def _rows_back(g, record, rows, M, held, T, out):
    """T* t = B* s; s := s - D^-1 C* t, and what t says of q."""
    s, first, at, soft = g.rate, g.first, rows, int(record[SOFT_ROWS])
    for e in range(held):
        g.row[e], g.scale[e] = at, record[at + 2]
        join_paths(g, int(record[at]), int(record[at + 1]))
        at += 3
        total = 0.0
        for i in range(g.count[PATH]):
            total += record[at + 1] * s[g.path[i]]
            at += 4
        for c in range(held):
            T[c, e] = record[at + c]
        at += held
        T[e, held] = g.scale[e] * total
    solve_posed(g, T, soft, held, held + 1)
    for p in range(held):
        at, t = g.row[p if p < soft else g.order[p]], T[p, held]
        join_paths(g, int(record[at]), int(record[at + 1]))
        at += 3
        for i in range(g.count[PATH]):
            k = g.path[i]
            s[k] -= record[at] * t / record[M + g.chain[k]]
            if first[BY_Q + 1] > first[BY_Q]:
                out[first[BY_Q] + k] -= record[at + 2] * t
            if first[BY_V + 1] > first[BY_V]:
                out[first[BY_V] + k] -= record[at + 3] * t
            at += 4


@kernel
def _coordinates_back(g, record, y, out):
    """Into y_v what y_q says of v+, and E* y_q into ``out``."""
    tree, q, dt = g.d.tree, g.first[BY_Q], record[LENGTH]
    N, wanted = g.S.shape[0], g.first[BY_Q + 1] > g.first[BY_Q]
    for k in range(tree.parent.shape[0]):
        start, kind = tree.v_start[k], tree.joint_type[k]
        turns = 3 if kind == JOINT_FLOATING or kind == JOINT_SPHERICAL else 0
        for i in range(start + turns, start + tree.nv[k]):
            y[N + i] += dt * y[i]
            if wanted:
                out[q + i] = y[i]
        if turns:
            at = HEADER + start
            w = -dt * record[at], -dt * record[at + 1], -dt * record[at + 2]  # the transposed of w~
            square, x = vector_dot(w, w), (y[start], y[start + 1], y[start + 2])
            c, s, _, _ = turn_factors(square)
            once = vector_product(w, x)
            by_v = left_jacobian(c, s, w, x)
            by_q = vector_sum(vector_sum(x, 1.0 - s * square, once), c, vector_product(w, once))
            for i in range(3):
                y[N + start + i] += dt * by_v[i]
                if wanted:
                    out[q + start + i] = by_q[i]


@kernel
def _follow_back(g, a, y, first, second):
    """Adjoint of joints that follow others by gears, in y from ``first`` on, and from ``second`` on unless it is 0."""
    gears, tree = a.gears, g.d.tree
    for e in range(gears.ratio.shape[0] - 1, -1, -1):
        i, j = tree.v_start[gears.body_a[e]], tree.v_start[gears.body_b[e]]
        if g.drive[e] != LED:
            if second == 0 and first == g.first[BY_V]:
                y[first + i] = 0.0
            continue
        y[first + j] += gears.ratio[e] * y[first + i]
        y[first + i] = 0.0
        if second > 0:
            y[second + j] += gears.ratio[e] * y[second + i]
            y[second + i] = 0.0
