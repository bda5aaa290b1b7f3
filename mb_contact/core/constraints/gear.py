# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Gears: couplings of two joints, each a row of joint a with a partner row of joint b behind all others.

A coupling acts on up to four bodies, a row on two; whoever works on rows combines the two.
"""

from mb_contact.core.constraints.bilateral import COUNT, FIRST, GEARS
from mb_contact.core.jit import part, sweep


@sweep
def gear_partner(bil, row):
    """Partner row of a gear's row, and its weight; (-1, 0) of any other row."""
    i, info = row - bil.info[FIRST], bil.info
    if i < info[COUNT] - info[GEARS] or i >= info[COUNT]:
        return -1, 0.0
    return row + info[GEARS], -bil.ratio[i]


@part
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


@part
def combine_velocities(u, bil):
    """Velocities of the gear rows from those of the two joints."""
    info = bil.info
    last = info[FIRST] + info[COUNT]
    for g in range(info[GEARS]):
        i = last - info[GEARS] + g
        u[i] -= bil.ratio[i - info[FIRST]] * u[last + g]


@part
def partner_impulses(r, bil):
    """Impulses of the partner rows: a gear's impulse p turns joint a by p and joint b by -ratio p."""
    info = bil.info
    last = info[FIRST] + info[COUNT]
    for g in range(info[GEARS]):
        i = last - info[GEARS] + g
        r[last + g] = -bil.ratio[i - info[FIRST]] * r[i]
