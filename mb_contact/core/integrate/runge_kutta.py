# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Explicit Runge-Kutta methods on the joints' manifolds: one step of any tableau, and steps with error control."""

import numpy as np

from mb_contact.core.arrays import copy, fill
from mb_contact.core.integrate.flow import accelerate, chart_rates, ended, flow_powers, move_chart
from mb_contact.core.integrate.held_servos import hold_servos, servos_agree
from mb_contact.core.jit import INTEGER, kernel, on_demand
from mb_contact.types import NOT_FINITE, OK, STEP_TOO_SMALL

SHORTEST = 1e-6  # part of the flow below which an error-controlled step is given up
SAFETY, SHRINK, GROW = 0.9, 0.2, 5.0  # of the next step's length
ROUNDING = 1e-6  # error of a step beside a singular position of a loop, where a shorter step has more [rad, m]


@kernel
def runge_kutta_step(h, f, dt):
    """One step of the flow's tableau from (q_start, v_start) to (q_end, v_end).

    Its work is added to ``f.work``.
    """
    tree, A, b = h.tree, f.A, f.b
    stages = b.shape[0]
    N = f.v.shape[0]
    for s in range(stages):
        for i in range(N):
            x = 0.0
            v = 0.0
            for j in range(s):
                x += A[s, j] * f.rates[j, i]
                v += A[s, j] * f.accelerations[j, i]
            f.x[i] = dt * x
            f.v[i] = f.v_start[i] + dt * v
        move_chart(tree, f.q_start, f.x, f.q)
        status = accelerate(h, f, 0.0, f.v)
        if status != OK:
            return status
        chart_rates(tree, f.x, f.v, f.rates[s])
        copy(N, f.v_dot, f.accelerations[s])
        flow_powers(h, f, s)
    for i in range(N):
        x = 0.0
        v = 0.0
        for s in range(stages):
            x += b[s] * f.rates[s, i]
            v += b[s] * f.accelerations[s, i]
        f.x[i] = dt * x
        f.v_end[i] = f.v_start[i] + dt * v
    move_chart(tree, f.q_start, f.x, f.q_end)
    for c in range(f.work.shape[0]):
        for s in range(stages):
            f.work[c] += dt * b[s] * f.powers[s, c]
    return OK


@on_demand(INTEGER)
def fixed_flow(h, f, dt):
    """The flow over dt in one step."""
    f.count[0] = 1
    f.count[1] = 0
    status = hold_servos(h, f, dt)
    agree = False
    while status == OK and not agree:
        fill(f.work.shape[0], f.work, 0.0)
        status = runge_kutta_step(h, f, dt)
        if status == OK:
            status, agree = servos_agree(h, f, dt)
    return ended(f) if status == OK else status


@kernel
def step_error(rates, accelerations, v, difference, dt, tolerance):
    """Largest difference of the two embedded results over ``tolerance``, speeds relative to 1 + |v|."""
    error = 0.0
    for i in range(v.shape[0]):
        x = 0.0
        a = 0.0
        for s in range(difference.shape[0]):
            x += difference[s] * rates[s, i]
            a += difference[s] * accelerations[s, i]
        error = max(error, abs(dt * x), abs(dt * a) / (1.0 + abs(v[i])))
        if not np.isfinite(x + a):
            return np.inf
    return error / tolerance


@on_demand(INTEGER)
def adaptive_flow(h, f, dt):
    """The flow over dt in steps whose estimated error, rad, m or relative speed, stays below its tolerance.

    Every flow begins with one step of its whole length, so nothing has to be remembered from flow to flow.
    """
    f.count[0] = 0
    f.count[1] = 0
    status = hold_servos(h, f, dt)
    agree = False
    while status == OK and not agree:
        status = _adaptive_steps(h, f, dt)
        if status == OK:
            status, agree = servos_agree(h, f, dt)
    return status


@kernel
def _adaptive_steps(h, f, dt):
    """The steps of ``adaptive_flow`` with the efforts of servos as they are; a status.

    Beside a singular position of an embedded loop rounding over its distance, cubed, is an error of accelerations, and
    shorter steps come closer to it: where a shorter step has the greater error, it is taken, and where none is short
    enough the flow is one step.
    """
    order, tolerance = f.control[0], f.control[1]
    fill(f.work.shape[0], f.work, 0.0)
    done = 0.0
    before = np.inf  # error of the last step that was refused, longer and from the same start
    closed = f.art.aggregates.base.shape[0] > 0
    if closed:
        copy(f.q_start.shape[0], f.q_start, f.q_first)
        copy(f.v_start.shape[0], f.v_start, f.v_first)
    step = dt
    while True:
        last = step >= (dt - done) * (1.0 - 1e-9)
        if last:
            step = dt - done
        copy(f.work.shape[0], f.work, f.before)
        status = runge_kutta_step(h, f, step)
        if status != OK:
            return status
        error = step_error(f.rates, f.accelerations, f.v_start, f.difference, step, tolerance)
        f.count[0] += 1
        if error <= 1.0 or (closed and before <= error <= ROUNDING / tolerance):
            if last:
                return ended(f)
            done += step
            before = np.inf
            copy(f.q_start.shape[0], f.q_end, f.q_start)
            copy(f.v_start.shape[0], f.v_end, f.v_start)
        else:
            copy(f.work.shape[0], f.before, f.work)
            before = error
        factor = GROW if error == 0.0 else SAFETY * error ** (-1.0 / order)
        step *= min(max(factor, SHRINK), GROW)
        if step < SHORTEST * dt and closed:
            copy(f.q_start.shape[0], f.q_first, f.q_start)
            copy(f.v_start.shape[0], f.v_first, f.v_start)
            fill(f.work.shape[0], f.work, 0.0)
            status = runge_kutta_step(h, f, dt)
            return ended(f) if status == OK else status
        if step < SHORTEST * dt:
            return NOT_FINITE if not np.isfinite(error) else STEP_TOO_SMALL
