# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The adjoint of a step: what of it is kept, and the product of a vector with its derivative.

With z = y_v + dt E_l* y_q of the adjoint y of the state behind the step, and the system of ``solve.py``,

    s = D^-1 L^-* z,    T* t = B* s,    p = L^-1 (s - D^-1 C* t),    out = p* db + t* dg + E* y_q

are the products with the derivatives by all names.  What does not depend on y is kept: db, and the rest in one vector.
"""

from mb_contact.core.arrays import fill
from mb_contact.core.gradients.rows import row_path
from mb_contact.core.gradients.solve import entry, pose_matrix, solve_posed, turned_entry
from mb_contact.core.gradients.step import linearise, pose_step
from mb_contact.core.gradients.workspace import BY_Q, BY_V, FINE, HELD, KINKS as FOUND, PATH, SOFT
from mb_contact.core.jit import kernel, unlocked
from mb_contact.core.tree.rotations import left_jacobian, turn_factors
from mb_contact.core.tree.spatial import vector_dot, vector_product, vector_sum
from mb_contact.types import JOINT_FLOATING, JOINT_SPHERICAL

HELD_ROWS, SOFT_ROWS, KINKS, LENGTH, HEADER = range(5)  #: of a record, which has so many numbers before the others


@unlocked
def record_step(g, a, q, v, gravity, dt, near, Z, T, record):
    """Keep the step from (q, v) in ``record`` and Z (N, columns); T (rows + 1, rows) is scratch; (status, contact)."""
    status, contact = pose_step(g, a, q, v, v, gravity, dt)
    if status != FINE:
        return status, contact
    linearise(g, a, dt, near, Z)
    N, held = Z.shape[0], g.count[HELD]
    pose_matrix(g, a, T)
    M, rows = HEADER + N, HEADER + N + N * N
    record[HELD_ROWS], record[SOFT_ROWS], record[KINKS], record[LENGTH] = held, g.count[SOFT], g.count[FOUND], dt
    for i in range(N):
        record[HEADER + i] = a.v[i]
        for j in range(N):
            record[M + i * N + j] = g.d.M[i, j]
    for e in range(held):
        at = rows + e * (4 * N + 1 + held)
        for k in range(4 * N):
            record[at + k] = 0.0
        row_path(g, g.row[e])
        for i in range(g.count[PATH]):
            k = g.path[i]
            record[at + k], record[at + N + k] = entry(g, e, k), g.B[k, e]
            record[at + 2 * N + k] = turned_entry(g, e, k)
            record[at + 3 * N + k] = g.u_v[g.row[e], k] * g.weight[e, 0]
        record[at + 4 * N] = g.scale[e]
        for c in range(held):
            record[at + 4 * N + 1 + c] = T[e, c]
    return FINE, -1


@unlocked
def pull_step(g, a, record, Z, y, T, out):
    """``out`` (columns,) := y (2 N,) times the derivative of the recorded step; y and T are scratch behind it.

    Columns of ``out`` behind those of Z are left 0.
    """
    N, width, held = Z.shape[0], Z.shape[1], int(record[HELD_ROWS])
    M, rows = HEADER + N, HEADER + N + N * N
    _follow_back(g, a, y, 0, N)
    fill(width, out, 0.0)
    _coordinates_back(g, record, y, out)
    s, before = g.rate, g.d.before
    for i in range(N):
        s[i] = y[N + i]
    for i in range(N - 1, -1, -1):
        j = before[i]
        while j >= 0:
            s[j] -= record[M + i * N + j] * s[i]
            j = before[j]
    for i in range(N):
        s[i] /= record[M + i * N + i]
    if held > 0:
        _rows_back(g, record, rows, M, held, int(record[SOFT_ROWS]), T, out)
    for i in range(N):
        j = before[i]
        while j >= 0:
            s[i] -= record[M + i * N + j] * s[j]
            j = before[j]
        f = s[i]
        for c in range(width):
            out[c] += f * Z[i, c]
    for name in (BY_Q, BY_V):
        if g.first[name + 1] > g.first[name]:
            _follow_back(g, a, out, g.first[name], 0)


@kernel
def _rows_back(g, record, rows, M, held, soft, T, out):
    """T* t = B* s; s := s - D^-1 C* t, and what t says of q."""
    N, s, q, v = g.S.shape[0], g.rate, g.first[BY_Q], g.first[BY_V]
    size = 4 * N + 1 + held
    for e in range(held):
        at = rows + e * size
        g.scale[e] = record[at + 4 * N]
        total = 0.0
        for k in range(N):
            total += record[at + N + k] * s[k]
        for c in range(held):
            T[c, e] = record[at + 4 * N + 1 + c]
        T[e, held] = g.scale[e] * total
    solve_posed(g, T, soft, held, held + 1)
    for p in range(held):
        at, t = rows + (p if p < soft else g.order[p]) * size, T[p, held]
        for k in range(N):
            s[k] -= record[at + k] * t / record[M + k * N + k]
        if g.first[BY_Q + 1] > q:
            for k in range(N):
                out[q + k] -= record[at + 2 * N + k] * t
        if g.first[BY_V + 1] > v:
            for k in range(N):
                out[v + k] -= record[at + 3 * N + k] * t


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
        y[first + j] += gears.ratio[e] * y[first + i]
        y[first + i] = 0.0
        if second > 0:
            y[second + j] += gears.ratio[e] * y[second + i]
            y[second + i] = 0.0
