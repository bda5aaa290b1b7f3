# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Coulomb friction of scalar joints and of threads: a row with bounded impulse and maximal dissipation,

    |p| <= f dt,    p v+ = -f dt |v+|:    it sticks, v+ = 0, or slips with p = -f dt sign(v+),

a box of the contact problem (``core/solve``).
"""

from mb_contact.core.constraints.bilateral import COUNT, FIRST, GEARS
from mb_contact.core.jit import part
from mb_contact.core.workspace import BOX


@part
def bound_friction(tree, joints, closures, dt, rows, bil):
    """Greatest impulses of the rows of joint friction, which stand before those of the gears.

    A thread that has come off has none.
    """
    first = bil.info[FIRST] + bil.info[COUNT] - bil.info[GEARS] - joints.rubbing.shape[0]
    for i in range(joints.rubbing.shape[0]):
        k = joints.rubbing[i]
        rows.law[first + i] = BOX
        if k >= 0:
            rows.mu[first + i] = joints.friction[tree.v_start[k]] * dt
        else:
            rows.mu[first + i] = 0.0 if closures.released[-1 - k] != 0 else closures.friction[-1 - k] * dt
