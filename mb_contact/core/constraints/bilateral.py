# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rows behind those of contacts and limits: loop closures, tendons, friction of joints, gears (``gear.py``)."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.constraints.loop import DRIFT_SPEED, closure_rows, thread_row
from mb_contact.core.constraints.rows import joint_row
from mb_contact.core.constraints.tendon import tendon_rows
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.jit import kernel, part
from mb_contact.core.tree.frames import velocity_products
from mb_contact.types import RUB

FIRST = 0  # entries of BilateralWork.info: first bilateral row, and so the number of the others
COUNT = 1  # bilateral rows
GEARS = 2  # of them, the last ones, couplings of two joints; behind all rows stands a partner row for each
HINGES = 3  # of them, the last ones of a world in body coordinates, which has no gears: forces in hinges (``hinge.py``)
TENDONS_AT = 4  # where among them rows of tendons begin, and how many these are
TENDONS = 5
PARTNERS = 6  # partner rows behind all rows: of gears, then of tendons
LOADS = 7  # whether friction of some row grows with the impulses of others
ROUNDS = 8  # how often the problem of the step has been solved with bounds of such friction
CHANGES = 9  # how many of the rounds' changes are kept, of at most DEPTH
DEPTH = 6
VELOCITY = 0  # entries of BilateralWork.residuals: worst scaled residual [sqrt(N s m/s)]
CLOSURE = 1  # worst closure error [m, rad]
SPEED = 2  # worst velocity residual [m/s, rad/s]


class BilateralWork(NamedTuple):
    """m bilateral rows among R."""

    ratio: Annotated[Reals, "m"]  #: minus the weight of partner rows: of a gear its ratio
    terms: Annotated[Integers, "m", 2]  #: partner rows of each row of a tendon: the first, and that behind the last
    load: Annotated[Integers, "m", 2]  #: rows that press where friction grows with their impulses: first, and behind
    share: Annotated[Reals, "m"]  #: of that friction for their sum; 0 of all other rows
    most: Annotated[Reals, "m", 7]  #: its bound, that of the round before and what was asked then; what presses anyway,
    #: what was missing, the bound without a load, and what changes have left of what was missing
    past: Annotated[Reals, "m", 2 * DEPTH]  #: changes of bounds between rounds, and of what was missing
    V: Annotated[Reals, "n", 6]  #: velocities of the bodies after the step
    residuals: Annotated[Reals, 3]
    info: Annotated[Integers, 10]


def make_bilateral_work(n, m):
    """For n bodies and m bilateral rows."""
    return allocate(BilateralWork, n=n, m=m)


@part
def bilateral_rows(tree, kin, q, closures, tendons, rubbing, gears, dt, rate, first, rows, loop, bil):
    """Rows of closures, tendons, friction of joints and threads ``rubbing``, gears from ``first`` on, behind others.

    A row asks for ``G v+ + dt dG/dt v + rate c / dt = 0``, with c the closure error; laws of tendons: ``tendon_laws``.
    """
    row = first
    if bil.info[LOADS] != 0:
        fill(bil.share.shape[0], bil.share, 0.0)
        bil.info[LOADS] = 0
    if closures.kind.shape[0] > 0:
        velocity_products(tree, kin, loop.alpha)
        row = closure_rows(closures, kin, dt, rate, first, rows, loop)
    more = tendons.row_of.shape[0]
    bil.info[TENDONS_AT], bil.info[TENDONS], bil.info[PARTNERS] = row - first, more, gears.ratio.shape[0]
    if more > 0:
        velocity_products(tree, kin, loop.alpha)
        behind = row + more + rubbing.shape[0] + 2 * gears.ratio.shape[0]
        ratio = bil.ratio[row - first :]
        bil.info[PARTNERS] += tendon_rows(tendons, tree, kin, loop.alpha, row, behind, rows, ratio, bil.terms)
        row += more
    for f in range(rubbing.shape[0]):
        if rubbing[f] >= 0:
            _joint(tree, kin, rubbing[f], rows, row)
        else:
            thread_row(closures, -1 - rubbing[f], kin, rows, row)
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
    bil.info[HINGES] = 0


@kernel
def _joint(tree, kin, k, rows, row):
    """The rate of scalar joint k as a row without offset."""
    joint_row(tree, kin, k, RUB, rows, row)
    rows.offset[row] = 0.0


@kernel
def worst_closure(loop, bil):
    """Largest closure error of the rows last posed [m, rad]."""
    worst = 0.0
    for i in range(bil.info[COUNT]):
        x = abs(loop.error[i])
        worst = max(worst, x if np.isfinite(x) else 1e300)
    return worst
