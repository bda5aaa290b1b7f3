# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rows behind those of contacts and limits: loop closures, friction of joints, couplings of two joints (gears).

A coupling acts on up to four bodies, a row on two: it is kept as the row of joint a with a partner row, that of joint
b, behind all others; whoever works on rows combines the two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.constraints.contact_rows import joint_row
from mb_contact.core.constraints.loop_rows import DRIFT_SPEED, closure_rows
from mb_contact.core.jit import kernel
from mb_contact.core.tree.frames import velocity_products
from mb_contact.types import RUB

FIRST = 0  # entries of BilateralWork.info: first bilateral row, and so the number of the others
COUNT = 1  # bilateral rows
GEARS = 2  # of them, the last ones, couplings of two joints; behind all rows stands a partner row for each

VELOCITY = 0  # entries of BilateralWork.judge: worst scaled residual [sqrt(N s m/s)]
CLOSURE = 1  # worst closure error [m, rad]
SPEED = 2  # worst velocity residual [m/s, rad/s]


class BilateralWork(NamedTuple):
    """m bilateral rows among R."""

    ratio: np.ndarray  #: (m,), weight of a gear row's partner
    bound: np.ndarray  #: (m,), greatest impulse of a row of joint friction, 0 of all other rows
    V: np.ndarray  #: (n, 6), velocities of the bodies after the step
    judge: np.ndarray  #: (3,)
    info: np.ndarray  #: int64 (3,)


def make_bilateral_work(n, m):
    """For n bodies and m bilateral rows."""
    return BilateralWork(
        ratio=np.zeros(m), bound=np.zeros(m), V=np.zeros((n, 6)), judge=np.zeros(3), info=np.zeros(3, np.int64)
    )  # fmt: skip


@kernel
def bilateral_rows(tree, kin, q, closures, rubbing, gears, dt, rate, first, rows, loop, bil):
    """Rows of closures, friction of the joints ``rubbing``, and gears from row ``first`` on, behind all others.

    A row asks for ``G v+ + dt dG/dt v + rate c / dt = 0``, with c the closure error.
    """
    if closures.kind.shape[0] > 0:
        velocity_products(tree, kin, loop.alpha)
    row = closure_rows(closures, kin, dt, rate, first, rows, loop)
    for f in range(rubbing.shape[0]):
        _joint(tree, kin, rubbing[f], rows, row)
        loop.error[row - first] = 0.0
        row += 1
    count = gears.ratio.shape[0]
    for g in range(count):
        a = gears.body_a[g]
        b = gears.body_b[g]
        _joint(tree, kin, a, rows, row + g)
        _joint(tree, kin, b, rows, row + count + g)
        error = q[tree.q_start[a]] - gears.ratio[g] * q[tree.q_start[b]] - gears.offset[g]
        loop.error[row + g - first] = error
        rows.offset[row + g] = min(max(rate * error / dt, -DRIFT_SPEED), DRIFT_SPEED)
        bil.ratio[row + g - first] = gears.ratio[g]
    bil.info[FIRST] = first
    bil.info[COUNT] = row + count - first
    bil.info[GEARS] = count
    fill(bil.info[COUNT], bil.bound, 0.0)


@kernel
def _joint(tree, kin, k, rows, row):
    """The rate of scalar joint k as a row without offset."""
    joint_row(tree, kin, k, 1.0, rows, row)
    rows.dof[row] = 8 * tree.v_start[k] + RUB
    rows.offset[row] = 0.0


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
def partner_impulses(r, bil):
    """Impulses of the partner rows: a gear's impulse p turns joint a by p and joint b by -ratio p."""
    info = bil.info
    last = info[FIRST] + info[COUNT]
    for g in range(info[GEARS]):
        i = last - info[GEARS] + g
        r[last + g] = -bil.ratio[i - info[FIRST]] * r[i]
