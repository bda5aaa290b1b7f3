# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Bilateral rows eliminated from a step's problem before a solver sees it (J14 Eq. 39 on the rows' compliance).

With rows u (contacts, limits) and b (loops, gears) of W = B* Omega B and q,

    W_uu' = W_uu - W_ub W_bb^-1 W_bu,    q_u' = q_u - W_ub W_bb^-1 q_b,    p_b = -W_bb^-1 (q_b + W_bu r_u).

The Cholesky factor of W_bb takes the rows one by one, those with much compliance of their own first; a row that
depends on those taken before is left out.  Y = L^-1 W_b. is kept, so W_uu' = W_uu - Y_u* Y_u.  Whether a row left
out is satisfied all the same is judged afterwards, from the velocities of the impulse sweep (``judge_bilateral``).

A row is *held* where hinges and loops leave its bodies no motion along it.  Its compliance is then rounding, of
either sign, and no impulse of it does anything; it is taken out of the problem and carries none.

For one configuration W is factored once; q may change (the two phases of a collision): ``reduce_velocities`` and
``recover_impulses`` are all that has to be called again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.core.jit import kernel
from mb_contact.core.rows.contact_rows import joint_row, row_velocities
from mb_contact.core.rows.loop_rows import DRIFT_SPEED, closure_rows
from mb_contact.core.tree.frames import velocity_products
from mb_contact.core.workspace import Rows, make_rows

FIRST = 0  # entries of BilateralWork.info: first bilateral row, and so the number of the others
COUNT = 1  # bilateral rows
GEARS = 2  # of them, the last ones, couplings of two joints; behind all rows stands a partner row for each
PICKED = 3  # independent ones; -1 where another solver has found their impulses
FRICTION = 4  # rows of joint friction, before those of the gears
ROUNDS = 5  # solves of this step so far
INDEPENDENT = 6  # rows that do not follow from others, whoever found the impulses
BILATERAL_INFO = 7

VELOCITY = 0  # entries of BilateralWork.judge: worst scaled velocity residual [sqrt(N s m/s)]
CLOSURE = 1  # worst closure error [m, rad]
SPEED = 2  # worst velocity residual [m/s, rad/s]

RANK_TOLERANCE = 1e-10  # part of its compliance that a bilateral row must have of its own
HELD = 1e-12  # part of what a row's compliance was, or of the terms it is the sum of, that counts as rounding
NOTHING = 1e-22  # of the largest compliance: axes that are perpendicular but for the rounding of pi / 2
SUSPECT = 1e-9  # of the largest compliance: rows below are looked at more closely
FLOOR = 1e-4  # a row's scale is at least that of this part of the terms of its compliance,
LEAST = 1e-6  # and that of this part of the largest compliance


class BilateralWork(NamedTuple):
    """The elimination of m bilateral rows out of R rows."""

    Y: np.ndarray  #: (m, R), L^-1 W_b.
    y: np.ndarray  #: (m,), L^-1 q_b
    s: np.ndarray  #: (m,), scratch
    picked: np.ndarray  #: int64 (m,)
    left: np.ndarray  #: (R,), of the diagonal of W
    diagonal: np.ndarray  #: (R,), of W before the elimination, or the FLOOR of a held row
    held: np.ndarray  #: int64 (R,), 1 where nothing moves along the row
    ratio: np.ndarray  #: (m,), weight of a gear row's partner
    fixed: np.ndarray  #: (m,), impulse of a joint's friction row that slips, 0 for all other rows
    bound: np.ndarray  #: (m,), greatest friction impulse, 0 for all other rows
    dof: np.ndarray  #: int64 (m,), of a friction row
    state: np.ndarray  #: int64 (N,), of the joints' friction: -1 not known yet, or STICK, UP, DOWN
    r: np.ndarray  #: (R,), scratch
    V: np.ndarray  #: (n, 6), velocities of the bodies after the step
    u: np.ndarray  #: (R,), velocities of the rows after the step
    judge: np.ndarray  #: (3,)
    info: np.ndarray  #: int64 (BILATERAL_INFO,)


def make_closing_work(n, N, m, gears):
    """For n bodies, N degrees of freedom, m bilateral rows of which ``gears`` are couplings of joints."""
    size = m + gears
    return ClosingWork(
        make_rows(n, size), make_bilateral_work(n, N, size, m), np.zeros((size, size)), np.zeros(size), np.zeros(N),
        np.zeros(0, np.int64),
    )  # fmt: skip


def make_bilateral_work(n, N, R, m):
    """For n bodies, N degrees of freedom, R rows and m bilateral ones among them."""
    return BilateralWork(
        Y=np.zeros((m, R)),
        y=np.zeros(m),
        s=np.zeros(m),
        picked=np.zeros(m, np.int64),
        left=np.zeros(R),
        diagonal=np.zeros(R),
        held=np.zeros(R, np.int64),
        ratio=np.zeros(m),
        fixed=np.zeros(m),
        bound=np.zeros(m),
        dof=np.zeros(m, np.int64),
        state=np.full(N, -1, np.int64),
        r=np.zeros(R),
        V=np.zeros((n, 6)),
        u=np.zeros(R),
        judge=np.zeros(3),
        info=np.zeros(BILATERAL_INFO, np.int64),
    )


class ClosingWork(NamedTuple):
    """Rows, compliance and impulses of the bilateral rows alone: to measure and to mend the closure error."""

    rows: Rows
    bil: BilateralWork
    W: np.ndarray  #: (m + gears, m + gears)
    r: np.ndarray  #: (m + gears,)
    dq: np.ndarray  #: (N,)
    nobody: np.ndarray  #: int64 (0,), joints with friction: none of them keeps a loop from closing


@kernel
def bilateral_rows(tree, kin, q, closures, rubbing, gears, dt, rate, first, rows, loop, bil):
    """Rows of closures, friction of the joints ``rubbing``, and gears from row ``first`` on, behind all others.

    A row asks for ``G v+ + dt dG/dt v + rate c / dt = 0``, with c the closure error.
    """
    if closures.kind.shape[0] > 0:
        velocity_products(tree, kin, loop.alpha)
    row = closure_rows(closures, kin, dt, rate, first, rows, loop)
    for i in range(row - first):
        bil.fixed[i] = 0.0
        bil.bound[i] = 0.0
    for f in range(rubbing.shape[0]):
        joint_row(tree, kin, rubbing[f], 1.0, rows, row)
        rows.dof[row] = -1
        rows.offset[row] = 0.0
        loop.error[row - first] = 0.0
        bil.dof[row - first] = tree.v_start[rubbing[f]]
        row += 1
    count = gears.ratio.shape[0]
    for g in range(count):
        a = gears.body_a[g]
        b = gears.body_b[g]
        joint_row(tree, kin, a, 1.0, rows, row + g)
        joint_row(tree, kin, b, 1.0, rows, row + count + g)
        error = q[tree.q_start[a]] - gears.ratio[g] * q[tree.q_start[b]] - gears.offset[g]
        loop.error[row + g - first] = error
        rows.offset[row + g] = min(max(rate * error / dt, -DRIFT_SPEED), DRIFT_SPEED)
        rows.offset[row + count + g] = 0.0
        rows.dof[row + g] = -1
        rows.dof[row + count + g] = -1
        bil.ratio[row + g - first] = gears.ratio[g]
        bil.fixed[row + g - first] = 0.0
        bil.bound[row + g - first] = 0.0
    bil.info[FIRST] = first
    bil.info[COUNT] = row + count - first
    bil.info[FRICTION] = rubbing.shape[0]
    bil.info[GEARS] = count
    bil.info[PICKED] = 0


@kernel
def worst_closure(loop, bil):
    """Largest closure error of the rows last posed [m, rad]."""
    worst = 0.0
    for i in range(bil.info[COUNT]):
        x = abs(loop.error[i])
        worst = max(worst, x if np.isfinite(x) else 1e300)
    return worst


@kernel
def combine_gears(W, bil):
    """Rows and columns of gears: those of joint a minus the ratio times those of its partner row, joint b."""
    info = bil.info
    last = info[FIRST] + info[COUNT]
    for g in range(info[GEARS]):
        i = last - info[GEARS] + g
        j = last + g
        ratio = bil.ratio[i - info[FIRST]]
        for s in range(last + info[GEARS]):
            W[i, s] -= ratio * W[j, s]
        for s in range(last + info[GEARS]):
            W[s, i] -= ratio * W[s, j]


@kernel
def combine_velocities(u, bil):
    """Velocities of the gear rows from those of the two joints."""
    info = bil.info
    last = info[FIRST] + info[COUNT]
    for g in range(info[GEARS]):
        i = last - info[GEARS] + g
        u[i] -= bil.ratio[i - info[FIRST]] * u[last + g]


@kernel
def fixed_impulses(r, bil):
    """Impulses of the joints' friction rows that slip."""
    first = bil.info[FIRST]
    for i in range(bil.info[COUNT]):
        if bil.fixed[i] != 0.0:
            r[first + i] = bil.fixed[i]


@kernel
def free_bilateral(bil):
    """Bilateral rows whose impulse is not fixed."""
    free = 0
    for i in range(bil.info[COUNT]):
        if bil.fixed[i] == 0.0:
            free += 1
    return free


@kernel
def partner_impulses(r, bil):
    """Impulses of the partner rows: a gear's impulse p turns joint a by p and joint b by -ratio p."""
    info = bil.info
    last = info[FIRST] + info[COUNT]
    for g in range(info[GEARS]):
        i = last - info[GEARS] + g
        r[last + g] = -bil.ratio[i - info[FIRST]] * r[i]


@kernel
def measure_rows(com, rows, W, bil):
    """The rows' scales, and which of them nothing moves."""
    last = bil.info[FIRST] + bil.info[COUNT]
    largest = 0.0
    for r in range(last):
        largest = max(largest, W[r, r])
    for r in range(last):
        bil.held[r] = 0
        bil.diagonal[r] = W[r, r]
        if W[r, r] <= SUSPECT * largest:
            terms = _terms(com, rows, r)
            if r >= last - bil.info[GEARS]:
                ratio = bil.ratio[r - bil.info[FIRST]]
                terms += ratio * ratio * _terms(com, rows, last + r - (last - bil.info[GEARS]))
            bil.diagonal[r] = max(W[r, r], max(FLOOR * terms, LEAST * largest))
            if W[r, r] <= max(HELD * terms, NOTHING * largest):
                bil.held[r] = 1


@kernel
def _terms(com, rows, r):
    """Sum of the absolute terms of W_rr: where it is much larger than W_rr, the latter is rounding."""
    total = 1e-300
    a = rows.side_a[r]
    b = rows.side_b[r]
    for c in range(6):
        for d in range(6):
            if a >= 0:
                total += abs(rows.on_a[r, c] * com.Omega[a, a, c, d] * rows.on_a[r, d])
            if b >= 0:
                total += abs(rows.on_b[r, c] * com.Omega[b, b, c, d] * rows.on_b[r, d])
            if a >= 0 and b >= 0 and com.same_tree[a, b] != 0:
                total += 2.0 * abs(rows.on_a[r, c] * com.Omega[a, b, c, d] * rows.on_b[r, d])
    return total


@kernel
def factor_bilateral(W, bil):
    """L and Y of the bilateral rows, and W_uu' in place."""
    info = bil.info
    n = info[FIRST]
    last = n + info[COUNT]
    left = bil.left
    for r in range(last):
        left[r] = W[r, r]
    info[PICKED] = 0
    for least in (1e-3, 1e-6, RANK_TOLERANCE):
        for r in range(n, last):
            if bil.held[r] == 0 and bil.fixed[r - n] == 0.0 and left[r] > least * bil.diagonal[r]:
                _pick(W, last, r, bil)
    Y = bil.Y
    for k in range(info[PICKED]):
        for i in range(n):
            t = Y[k, i]
            if t != 0.0:
                for j in range(n):
                    W[i, j] -= t * Y[k, j]
    for i in range(n):
        if W[i, i] <= HELD * bil.diagonal[i]:
            bil.held[i] = 1
        if bil.held[i] != 0:
            for j in range(n):
                W[i, j] = 0.0
                W[j, i] = 0.0
            W[i, i] = bil.diagonal[i]
    info[INDEPENDENT] = info[PICKED]


@kernel
def _pick(W, last, r, bil):
    """One more row of Y, for row r."""
    Y = bil.Y
    k = bil.info[PICKED]
    for s in range(last):
        Y[k, s] = W[r, s]
    for j in range(k):
        t = Y[j, r]
        for s in range(last):
            Y[k, s] -= t * Y[j, s]
    own = Y[k, r]
    bil.left[r] = -1.0
    if not own > 0.0:
        return
    inverse = 1.0 / np.sqrt(own)
    for s in range(last):
        Y[k, s] *= inverse
        bil.left[s] -= Y[k, s] * Y[k, s]
    bil.left[r] = -1.0
    bil.picked[k] = r
    bil.info[PICKED] = k + 1


@kernel
def reduce_velocities(q, bil):
    """q_u' in place; along a held row nothing can be asked for, so its velocity is not below zero."""
    Y = bil.Y
    y = bil.y
    n = bil.info[FIRST]
    for k in range(bil.info[PICKED]):
        x = q[bil.picked[k]]
        for j in range(k):
            x -= Y[j, bil.picked[k]] * y[j]
        y[k] = x / Y[k, bil.picked[k]]
        for i in range(n):
            q[i] -= Y[k, i] * y[k]
    for i in range(n):
        if bil.held[i] != 0:
            q[i] = max(q[i], 0.0)


@kernel
def hold_rows(cones, q, bil):
    """Tangents and friction of held rows have no velocity to speak of."""
    for i in range(cones.count[0]):
        for r in range(cones.start[i] + 1, cones.start[i] + cones.dim[i]):
            if bil.held[r] != 0:
                q[r] = 0.0


@kernel
def recover_impulses(r, bil):
    """p_b behind the impulses r_u in ``r``, and those of the partner rows."""
    info = bil.info
    n = info[FIRST]
    Y = bil.Y
    s = bil.s
    for i in range(n, n + info[COUNT] + info[GEARS]):
        r[i] = 0.0
    fixed_impulses(r, bil)
    for k in range(info[PICKED]):
        x = bil.y[k]
        for i in range(n):
            x += Y[k, i] * r[i]
        s[k] = x
    _back_substitute(r, bil)
    partner_impulses(r, bil)


@kernel
def _back_substitute(r, bil):
    """r_b -= L^-* s; ``s`` is used up."""
    Y = bil.Y
    s = bil.s
    for k in range(bil.info[PICKED] - 1, -1, -1):
        row = bil.picked[k]
        x = s[k] / Y[k, row]
        r[row] -= x
        for j in range(k):
            s[j] -= Y[j, row] * x


@kernel
def correct_impulses(r, bil):
    """One refinement with the same factors: the bilateral rows' residuals ``bil.u`` to zero, r_u held."""
    for k in range(bil.info[PICKED]):
        x = bil.u[bil.picked[k]]
        for j in range(k):
            x -= bil.Y[j, bil.picked[k]] * bil.s[j]
        bil.s[k] = x / bil.Y[k, bil.picked[k]]
    _back_substitute(r, bil)
    partner_impulses(r, bil)


@kernel
def bilateral_residuals(rows, V_free, alpha, r, bil):
    """``bil.u`` := G v+ + offset of the bilateral rows, from the bodies' velocities; returns the worst, scaled.

    A friction row that slips violates its law by as much as it moves with the friction, one that sticks by as much
    as its impulse is beyond the bound.
    """
    n = bil.info[FIRST]
    last = n + bil.info[COUNT]
    for k in range(V_free.shape[0]):
        for c in range(6):
            bil.V[k, c] = V_free[k, c] + alpha[k, c]
    row_velocities(rows, last + bil.info[GEARS], bil.V, bil.u)
    combine_velocities(bil.u, bil)
    worst = 0.0
    speed = 0.0
    for i in range(n, last):
        bil.u[i] += rows.offset[i]
        x = abs(bil.u[i])
        if bil.fixed[i - n] != 0.0:
            x = max(0.0, bil.u[i] if bil.fixed[i - n] > 0.0 else -bil.u[i])
        if not np.isfinite(x):
            x = 1e300
        speed = max(speed, x)
        scale = np.sqrt(bil.diagonal[i])
        if scale > 0.0:
            worst = max(worst, x / scale)
        if bil.bound[i - n] > 0.0 and bil.fixed[i - n] == 0.0:
            worst = max(worst, (abs(r[i]) - bil.bound[i - n]) * scale)
    bil.judge[VELOCITY] = worst
    bil.judge[SPEED] = speed
    return worst
