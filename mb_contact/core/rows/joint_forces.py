# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Springs and Coulomb friction of scalar joints.

A spring is implicit, like the damping: with the force -k (q + dt v+ - rest) - d v+ at the end of the step,

    (M + dt d + dt^2 k) (v+ - v) = dt (T - k (q - rest) - (d + dt k) v - C) + J* p,

so the step with damping d + dt k and the force -k (q - rest) is that step; it is stable for any k and dt.

Friction of a joint is a row with bounded impulse and maximal dissipation,

    |p| <= f dt,    p v+ = -f dt |v+|:    it sticks, v+ = 0, or slips with p = -f dt sign(v+).

The rows of joints that stick are bilateral and are eliminated with the loops; those that slip are known impulses.
States are chosen again, and the step solved again, until none is violated: principal pivoting on the states, around
whichever solver the friction model of the contacts has.  First all violated states change at once; where that does
not end soon, one at a time, the first, as in Murty's rule.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.jit import kernel
from mb_contact.core.rows.bilateral import COUNT, FIRST, FRICTION, GEARS, ROUNDS

STICK = 0  # states of a joint's friction
UP = 1  # impulse f dt, the joint moves down
DOWN = 2

MOVING = 1e-9  # [rad/s, m/s] free speed above which friction that is not known yet is taken to slip
BLOCK_ROUNDS = 8  # solves of a step in which all violated states change at once
MOST_ROUNDS = 80  # the certificate tells of what is violated then
BOUND_TOLERANCE = 1e-12  # of a bound
SLIPPING = 1e-10  # [rad/s, m/s] a joint that sticks and is moved faster by loops that close slips
SPEED_TOLERANCE = 1e-13  # [rad/s, m/s], and of the joint's free speed


@kernel
def stiffen(joints, dt):
    """Damping and dt times the stiffness, which is what the step's tree has for damping."""
    if joints.sprung.shape[0] > 0:
        for i in range(joints.total.shape[0]):
            joints.total[i] = joints.damping[i] + dt * joints.stiffness[i]


@kernel
def spring_forces(tree, joints, q, force):
    """force -= k (q - rest)."""
    for s in range(joints.sprung.shape[0]):
        k = joints.sprung[s]
        d = tree.v_start[k]
        force[d] -= joints.stiffness[d] * (q[tree.q_start[k]] - joints.rest[d])


@kernel
def spring_energy(tree, joints, q):
    """Energy of all springs, k (q - rest)^2 / 2 [J]."""
    total = 0.0
    for s in range(joints.sprung.shape[0]):
        k = joints.sprung[s]
        d = tree.v_start[k]
        x = q[tree.q_start[k]] - joints.rest[d]
        total += 0.5 * joints.stiffness[d] * x * x
    return total


@kernel
def pose_friction(joints, dt, v_free, bil):
    """Bounds of the friction rows, and the impulses of those that slip; an unknown state is guessed from v_free."""
    first = bil.info[COUNT] - bil.info[GEARS] - bil.info[FRICTION]
    for i in range(first, first + bil.info[FRICTION]):
        d = bil.dof[i]
        bound = joints.friction[d] * dt
        if bil.state[d] < 0:
            bil.state[d] = STICK
            if abs(v_free[d]) > MOVING:
                bil.state[d] = DOWN if v_free[d] > 0.0 else UP
        bil.bound[i] = bound
        bil.fixed[i] = 0.0
        if bil.state[d] == UP:
            bil.fixed[i] = bound
        elif bil.state[d] == DOWN:
            bil.fixed[i] = -bound


@kernel
def friction_changes(r, bil):
    """Choose violated states again, from the impulses ``r`` and velocities ``bil.u``; whether any has changed."""
    info = bil.info
    info[ROUNDS] += 1
    if info[FRICTION] == 0 or info[ROUNDS] > MOST_ROUNDS:
        return False
    first = info[COUNT] - info[GEARS] - info[FRICTION]
    changed = False
    for i in range(first, first + info[FRICTION]):
        d = bil.dof[i]
        p = r[info[FIRST] + i]
        u = bil.u[info[FIRST] + i]
        state = bil.state[d]
        if state == STICK:
            if p > bil.bound[i] * (1.0 + BOUND_TOLERANCE):
                state = UP
            elif p < -bil.bound[i] * (1.0 + BOUND_TOLERANCE):
                state = DOWN
            elif abs(u) > SLIPPING:  # its row follows from others, and these move it
                state = DOWN if u > 0.0 else UP
        elif (u if state == UP else -u) > SPEED_TOLERANCE * max(1.0, np.abs(u)):
            state = STICK
        if state != bil.state[d]:
            bil.state[d] = state
            changed = True
            if info[ROUNDS] > BLOCK_ROUNDS:
                return True
    return changed
