# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rows of tendons: springs and dampers, limits, friction, held lengths (``tendon_path.py`` has their lengths L).

With u the rate of L in the row and g = dJ/dt v its velocity product, L ends at L + dt u + dt^2 g / 2, so

    spring       r = -dt (k (L + dt u + dt^2 g / 2 - L_0) + d (u + dt g)):
                 u + r / (dt (dt k + d)) + (k (L - L_0 + dt^2 g / 2) + d dt g) / (dt k + d) = 0,
    limit        (L_max - L) / dt - u - dt g / 2 >= 0, r >= 0, one of them zero; the shortest length likewise,
    friction     |r| <= f dt against u,
    on a shape   |r| <= tanh(mu theta / 2) T dt against the slip, the rates of both sides' lengths subtracted,
    held         u + dt g / 2 + rate (L - L_held) / dt = 0:

a soft equality, unilateral rows, a box and an equality of the one contact problem.  Each is the row of the first part
of the path with those of the other parts as its partners (``gear.py``), which all rows of a tendon share, but for
friction on a shape: its T is the mean of both sides' tensions, so that their quotient is at most e^(mu theta), the
capstan's law, with theta the angle by which the path turns on the shape.
"""

import numpy as np

from mb_contact.core.constraints.loop import DRIFT_SPEED
from mb_contact.core.constraints.rows import begin_row, gap_velocity, joint_row, rate_axis, row_dot
from mb_contact.core.constraints.tendon_path import lay_tendons
from mb_contact.core.jit import INTEGER, NOTHING, REAL, kernel, on_demand
from mb_contact.core.tree.frames import node_rows
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    add_spatial,
    gathered,
    point_bias,
    point_velocity,
    put_spatial,
    spatial,
    spatial_sum,
    vector,
    vector_dot,
    vector_sum,
    wrench_at,
)
from mb_contact.core.workspace import BOX, DAMPING, EQUALITY, LIMITS, LOOPS, NO_BLOCK, UNILATERAL, WRENCHES
from mb_contact.types import (
    RUB,
    TENDON_GRIPS,
    TENDON_HELD,
    TENDON_LONGEST,
    TENDON_RUBS,
    TENDON_SHORTEST,
    TENDON_SPRING,
)


@on_demand(INTEGER)
def tendon_rows(tendons, tree, kin, alpha, row, partners, rows, ratio, terms):
    """Rows of all tendons from ``row`` on, the other parts of their paths from row ``partners`` on; how many these are.

    ``alpha`` are the bodies' velocity products, ``ratio`` and ``terms`` the weights and partners of the rows.
    """
    start = end = partners
    for i in range(tendons.row_of.shape[0]):
        t, r = tendons.row_of[i], row + i
        first, last = tendons.first_part[t], tendons.first_part[t + 1]
        if i == 0 or t != tendons.row_of[i - 1]:
            start = end
            tendons.bend[t] = 0.0
            for s in range(first + 1, last):
                tendons.bend[t] += _part_row(tendons, s, 1.0, tree, kin, alpha, rows, end)
                end += 1
        if tendons.row_kind[i] == TENDON_GRIPS:
            begin_row(rows, r, -1, -1)
            terms[i, 0], ratio[i] = end, -1.0
            if tendons.turned[t] > 0.0:
                _part_row(tendons, first, side_of(tendons, t, first), tree, kin, alpha, rows, r)
                for s in range(first + 1, last):
                    _part_row(tendons, s, side_of(tendons, t, s), tree, kin, alpha, rows, end)
                    end += 1
            rows.law[r], rows.offset[r], terms[i, 1] = NO_BLOCK, 0.0, end
            continue
        sign = -1.0 if tendons.row_kind[i] == TENDON_LONGEST else 1.0
        if last > first:
            bend = _part_row(tendons, first, sign, tree, kin, alpha, rows, r)
            if i == 0 or t != tendons.row_of[i - 1]:
                tendons.bend[t] += sign * bend
        else:
            begin_row(rows, r, -1, -1)
        rows.law[r], rows.offset[r] = NO_BLOCK, 0.0
        terms[i, 0], terms[i, 1], ratio[i] = start, end, -sign
    return end - partners


@kernel
def side_of(tendons, t, s):
    """1 of a part before the shape on which tendon t has friction, -1 of one behind."""
    return 1.0 if tendons.end_b[s] <= tendons.gripped[t] else -1.0


@kernel
def _part_row(tendons, s, sign, tree, kin, alpha, rows, row):
    """The row of part s, times ``sign`` and its weight; returns its velocity product."""
    weight = sign * tendons.weight[s]
    if tendons.joint[s] >= 0:
        joint_row(tree, kin, tendons.joint[s], RUB, rows, row)
        rows.dof[row] = -1
        _scale(rows, row, weight / rows.sign[row])
        rows.offset[row] = 0.0
        return 0.0
    a, b = tendons.body_a[s], tendons.body_b[s]
    x, y, d = vector(tendons.at_a, s), vector(tendons.at_b, s), vector(tendons.direction, s)
    begin_row(rows, row, a, b)
    rows.offset[row] = 0.0
    node_rows(kin.p, a, x, b, y, vector_sum(ZERO, weight, d), rows, row)
    u = vector_sum(point_velocity(kin.V, kin.p, a, x), -1.0, point_velocity(kin.V, kin.p, b, y))
    bias = vector_sum(point_bias(kin.V, kin.p, a, x), -1.0, point_bias(kin.V, kin.p, b, y))
    across = max(vector_dot(u, u) - vector_dot(d, u) ** 2, 0.0)
    return weight * (vector_dot(d, bias) + across / tendons.span[s]) + row_dot(rows, row, alpha)


@kernel
def _scale(rows, row, factor):
    """A row times a factor."""
    put_spatial(rows.on_a, row, spatial_sum(STILL, factor, spatial(rows.on_a, row)))
    if rows.body_b[row] >= 0:
        put_spatial(rows.on_b, row, spatial_sum(STILL, factor, spatial(rows.on_b, row)))


@kernel
def tendon_laws(tendons, dt, rate, first, u, rows, error):
    """Laws and offsets of the tendons' rows from row ``first`` on, whose free velocities are in u; their ``error``.

    A spring with slack acts where its free motion ends beyond the slack: of one row that is where its force has the
    sign that it may have.  One that pulls alone has no damper either where it is loose or would push.
    """
    for i in range(tendons.row_of.shape[0]):
        t, kind, row = tendons.row_of[i], tendons.row_kind[i], first + i
        error[i] = 0.0
        if tendons.first_part[t + 1] == tendons.first_part[t]:
            continue
        L, half = tendons.length[t], 0.5 * dt * tendons.bend[t]
        if kind == TENDON_SPRING:
            _spring(tendons, t, L + dt * half, dt, u[row], rows, row)
        elif kind == TENDON_LONGEST:
            rows.law[row] = UNILATERAL
            rows.offset[row] = gap_velocity(tendons.longest[t] - L, dt, rate, DRIFT_SPEED, 1.0) - half
        elif kind == TENDON_SHORTEST:
            rows.law[row] = UNILATERAL
            rows.offset[row] = gap_velocity(L - tendons.shortest[t], dt, rate, DRIFT_SPEED, 1.0) + half
        elif kind == TENDON_RUBS:
            rows.law[row], rows.mu[row] = BOX, tendons.friction[t] * dt
        elif kind == TENDON_GRIPS and tendons.turned[t] > 0.0:
            rows.law[row], rows.mu[row] = BOX, 0.0  # its load: joint_friction.py
        elif kind == TENDON_HELD:
            error[i] = L - tendons.held[t]
            rows.law[row] = EQUALITY
            rows.offset[row] = min(max(rate * error[i] / dt, -DRIFT_SPEED), DRIFT_SPEED) + half


@kernel
def _stretch(tendons, t, L):
    """How much longer than its spring's rest length a tendon is, or shorter than where its slack ends [m]."""
    longer = L - tendons.rest[t]
    return max(longer, 0.0) if longer >= -tendons.slack[t] else longer + tendons.slack[t]


@kernel
def _spring(tendons, t, L, dt, u, rows, row):
    """The law of a spring and damper, for the length L at which the step would end without the rate of its row."""
    k, d = tendons.stiffness[t], tendons.damping[t]
    ahead = L + dt * u - tendons.rest[t]
    stretch = L - tendons.rest[t]
    if tendons.slack[t] > 0.0 and ahead < 0.0:
        k = k if ahead < -tendons.slack[t] else 0.0
        stretch += tendons.slack[t] if k > 0.0 else 0.0
    hard = dt * k + d
    if tendons.slack[t] == np.inf and (ahead < 0.0 or k * ahead + d * (u + dt * tendons.bend[t]) < 0.0):
        hard = 0.0
    if hard > 0.0:
        rows.law[row], rows.mu[row] = EQUALITY, 1.0 / (dt * hard)
        rows.offset[row] = (k * (stretch if k > 0.0 else 0.0) + d * dt * tendons.bend[t]) / hard


@on_demand(REAL)
def tendon_energy(tendons):
    """Energy of the springs of all tendons as they were last laid [J]."""
    total = 0.0
    for t in range(tendons.length.shape[0]):
        if tendons.stiffness[t] > 0.0:
            x = _stretch(tendons, t, tendons.length[t])
            total += 0.5 * tendons.stiffness[t] * x * x
    return total


@kernel
def pull_tendons(tendons, tree, kin, external):
    """Add the forces of tendons as they were last laid to those on the bodies: commanded tensions, and where they have
    no rows springs and dampers.
    """
    for t in range(tendons.length.shape[0]):
        force = tendons.tension[t] + (spring_force(tendons, t) if tendons.flows[0] != 0 else 0.0)
        for s in range(tendons.first_part[t], tendons.first_part[t + 1] if force != 0.0 else 0):
            _pull_part(tendons, s, -force * tendons.weight[s], tree, kin, external)


@kernel
def spring_force(tendons, t):
    """What spring and damper of a tendon pull with at its length and rate [N]."""
    k, d = tendons.stiffness[t], tendons.damping[t]
    force = k * _stretch(tendons, t, tendons.length[t]) + d * tendons.rate[t]
    if tendons.slack[t] == np.inf and (tendons.length[t] < tendons.rest[t] or force < 0.0):
        return 0.0
    return force


@on_demand(NOTHING)
def pull_in_flow(tendons, tree, q, v, kin, force):
    """Forces of all tendons at a stage of a flow, beside those ``force`` on its bodies."""
    lay_tendons(tendons, tree, q, v, kin)
    pull_tendons(tendons, tree, kin, force)


@on_demand(NOTHING)
def tendon_powers(tendons, powers):
    """Powers of tensions and dampers as the tendons were last laid, to those of a stage [W]."""
    for t in range(tendons.length.shape[0]):
        rate, tension = tendons.rate[t], tendons.tension[t]
        loose = tendons.slack[t] == np.inf and spring_force(tendons, t) == 0.0
        powers[WRENCHES] -= tension * rate
        powers[DAMPING] -= 0.0 if loose else tendons.damping[t] * rate * rate


@kernel
def _pull_part(tendons, s, force, tree, kin, external):
    """A force along the rate of part s."""
    if tendons.joint[s] >= 0:
        k = tendons.joint[s]
        m, h = tree.parent[k], spatial_sum(STILL, force, rate_axis(kin, tree.v_start[k]))
        add_spatial(external, k, h)
        if m >= 0:
            put_spatial(external, m, spatial_sum(spatial(external, m), -1.0, gathered(h, vector(kin.l, k))))
        return
    a, b = tendons.body_a[s], tendons.body_b[s]
    for side in range(2):
        k = a if side == 0 else b
        if k >= 0:
            x = vector(tendons.at_a, s) if side == 0 else vector(tendons.at_b, s)
            f = vector_sum(ZERO, force if side == 0 else -force, vector(tendons.direction, s))
            add_spatial(external, k, wrench_at(vector_sum(x, -1.0, vector(kin.p, k)), f))


@kernel
def book_tendons(tendons, dt, first, sol, rows, terms):
    """Work of the tendons' rows, which stands in LOOPS: that of limits to LIMITS, of dampers to DAMPING.

    What springs do is the change of their energy, and what holds a length does none: its turning row does, which
    judges the step.
    """
    for i in range(tendons.row_of.shape[0]):
        t, kind, r = tendons.row_of[i], tendons.row_kind[i], first + i
        after = sol.u[r] - rows.offset[r]
        mean = 0.5 * (sol.before[r] + after)
        if kind == TENDON_SPRING and rows.law[r] == EQUALITY:
            terms[LOOPS] -= sol.r[r] * mean
            terms[DAMPING] -= dt * tendons.damping[t] * (after + dt * tendons.bend[t]) * mean
        elif kind == TENDON_LONGEST or kind == TENDON_SHORTEST:
            terms[LOOPS] -= sol.r[r] * mean
            terms[LIMITS] += sol.r[r] * mean
        elif kind == TENDON_HELD:
            terms[LOOPS] -= sol.r[r] * mean
