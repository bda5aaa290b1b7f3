# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rows of several parts: gears, couplings of two joints, and tendons, whose paths have many (``tendon.py``).

Such a row is that of its first part, with partner rows of the others behind all rows: one of joint b for each gear, one
for each further part of a tendon.  A coupling acts on more than two bodies, a row on two; whoever works on rows
combines them.
"""

from mb_contact.core.constraints.bilateral import COUNT, FIRST, GEARS, PARTNERS, TENDONS, TENDONS_AT
from mb_contact.core.jit import part, sweep


@sweep
def partners(bil, row):
    """(First partner row, that behind the last, their weight) of a row; none, (0, 0, 0), of most rows."""
    i, info = row - bil.info[FIRST], bil.info
    if info[COUNT] - info[GEARS] <= i < info[COUNT]:
        return row + info[GEARS], row + info[GEARS] + 1, -bil.ratio[i]
    k = i - info[TENDONS_AT]
    if 0 <= k < info[TENDONS]:
        return bil.terms[k, 0], bil.terms[k, 1], -bil.ratio[i]
    return 0, 0, 0.0


@sweep
def _combined(info, c):
    """Row of the combined one with number c: tendons', then gears'."""
    if c < info[TENDONS]:
        return info[FIRST] + info[TENDONS_AT] + c
    return info[FIRST] + info[COUNT] - info[GEARS] + c - info[TENDONS]


@part
def combine_gears(W, bil):
    """Rows and columns of combined rows: those of their first parts and the weighted ones of their partners."""
    info = bil.info
    n_rows = info[FIRST] + info[COUNT] + info[PARTNERS]
    for c in range(info[TENDONS] + info[GEARS]):
        i = _combined(info, c)
        start, end, weight = partners(bil, i)
        for j in range(start, end):
            for s in range(n_rows):
                W[i, s] += weight * W[j, s]
            for s in range(n_rows):
                W[s, i] += weight * W[s, j]


@part
def combine_velocities(u, bil):
    """Velocities of the combined rows from those of their parts."""
    for c in range(bil.info[TENDONS] + bil.info[GEARS]):
        i = _combined(bil.info, c)
        start, end, weight = partners(bil, i)
        for j in range(start, end):
            u[i] += weight * u[j]


@part
def partner_impulses(r, bil):
    """Impulses of the partner rows: a gear's impulse p turns joint a by p and joint b by -ratio p."""
    info = bil.info
    first = info[FIRST] + info[COUNT]
    for j in range(first, first + info[PARTNERS]):
        r[j] = 0.0
    for c in range(info[TENDONS] + info[GEARS]):
        i = _combined(info, c)
        start, end, weight = partners(bil, i)
        for j in range(start, end):
            r[j] += weight * r[i]
