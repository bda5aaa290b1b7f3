# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Limits of joints, of position and of velocity: unilateral rows, posed only where a step can reach them."""

from mb_contact.core.constraints.rows import gap_velocity, joint_row
from mb_contact.core.jit import kernel, part
from mb_contact.core.workspace import UNILATERAL
from mb_contact.types import LOWER, SLOWEST

NEAR_LIMIT = 0.9  # part of a velocity limit from which on it is in the problem
LIMIT_MARGIN = 1e-3  # [rad, m] limits nearer than this are always in the problem


@kernel
def limit_reach(speed, dt):
    """Distance [rad, m] within which a limit of a joint of this speed is in the problem."""
    return 2.0 * dt * speed + LIMIT_MARGIN


@part
def limit_rows(tree, velocity_limit, kin, q, speed, dt, push_rate, push_speed, rows):
    """One row for every joint limit that this step could reach at twice the joint's ``speed``.

    Past it the row asks for the push-out velocity of contacts, in rad/s or m/s.
    A velocity limit is the pair of rows ``velocity_limit -+ v+ >= 0``.
    """
    for k in range(tree.nv.shape[0]):
        if tree.nv[k] != 1:
            continue
        d = tree.v_start[k]
        x = q[tree.q_start[k]]
        reach = limit_reach(speed[d], dt)
        for side in range(2):
            gap = x - tree.lower[d] if side == 0 else tree.upper[d] - x
            if gap < reach:
                offset = gap_velocity(gap, dt, push_rate, push_speed, 1.0)
                limit_row(tree, kin, k, LOWER + side, offset, rows)
        if speed[d] > NEAR_LIMIT * velocity_limit[d]:
            for side in range(2):
                limit_row(tree, kin, k, SLOWEST + side, velocity_limit[d], rows)


@kernel
def limit_row(tree, kin, k, which, offset, rows):
    """The row of one limit of joint k, of position (LOWER, UPPER) or of velocity (SLOWEST, FASTEST)."""
    row = rows.end[0]
    joint_row(tree, kin, k, which, rows, row)
    rows.offset[row], rows.law[row] = offset, UNILATERAL
    rows.end[0] = row + 1
