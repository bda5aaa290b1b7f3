# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Runge-Kutta steps of a body in contact, of fixed or adapted length, which stop at the first step with an event."""

from __future__ import annotations

import numpy as np

from mb_contact.core.arrays import copy
from mb_contact.core.jit import kernel
from mb_contact.core.surfaces.flight import gap_of_free_body
from mb_contact.core.surfaces.friction import settle, taken
from mb_contact.core.surfaces.layout import (
    FREE,
    FRICTION,
    FRICTION_ROOM,
    GAP,
    GAP_RATE,
    NORMAL_FORCE,
    RELEASE,
    ROLLING,
    SLIDING,
    SLIP_1,
    SLIP_2,
    STATE_SIZE,
)
from mb_contact.core.surfaces.motion import accelerations
from mb_contact.types import NOT_FINITE, OK

# --- why a run of steps ended -----------------------------------------------------------------------
NONE = 0  #: all steps done
BREAKS = 1  #: the normal force vanishes: on to free flight
STICKS = 2  #: the slip vanishes: on to rolling; found by those who creep, not by these steps
SLIPS = 3  #: friction cannot hold: on to sliding
LANDS = 4  #: the surfaces meet
SLOWS = 8  #: the slip loses half of itself along itself within a step, or turns in a long one: shorter steps follow it
LEAVES = 5  #: a contact coordinate leaves the part of its chart that is meant for it
TOO_SHORT = 23  #: a status: the step has to be shorter than the time's rounding

# settings of a run
STEP = 0  #: length of a fixed step, first length of an adapted one; then the one to go on with [s]
END = 1  #: [s]
RELATIVE = 2  #: tolerances of an adapted step
ABSOLUTE = 3
LONGEST = 4


@kernel
def runge_kutta(mode, constants, code, data, t, h, tableau, y, work, watch):
    """One step from ``work.start`` to y; ``stages[0]`` holds the derivative at the start.  A status.

    ``tableau`` (s + 1, s + 1): column 0 the times, then the coefficients; its last row the weights.
    """
    stages = tableau.shape[0] - 1
    n = STATE_SIZE[mode]
    start = work.start
    k = work.stages
    trial = work.trial
    for stage in range(1, stages + 1):
        target = trial if stage < stages else y
        for i in range(n):
            total = 0.0
            for j in range(stage):
                total += tableau[stage, 1 + j] * k[j, i]
            target[i] = start[i] + h * total
        if stage < stages:
            status = accelerations(mode, constants, code, data, t + tableau[stage, 0] * h, trial, work, stage, watch)
            if status != OK:
                return status
    if mode == FREE:
        _normalise(y)
    return OK


@kernel
def _normalise(y):
    """A quaternion of length one."""
    f = 1.0 / np.sqrt(y[3] * y[3] + y[4] * y[4] + y[5] * y[5] + y[6] * y[6])
    for i in range(3, 7):
        y[i] *= f


@kernel
def observe(mode, constants, code, data, t, y, work, watch, near, A, order, stage):
    """Derivative at (t, y) into ``stages[stage]`` and everything watched there; ``near`` follows the closest points."""
    status = accelerations(mode, constants, code, data, t, y, work, stage, watch)
    if status == OK and mode == FREE:
        status = gap_of_free_body(constants, code, data, t, y, work, watch, near, A, order)
    return status


@kernel
def _event(mode, constants, bounds, y, near, watch, slip_1, slip_2):
    """What has happened at the end of a step, NONE if nothing; slip_1, slip_2 the slip at its start."""
    if mode == FREE:
        if watch[GAP] < 0.0 and watch[GAP_RATE] < 0.0:
            return LANDS
        return LEAVES if _outside(bounds, near) else NONE
    if watch[NORMAL_FORCE] < 0.0 and constants[RELEASE] != 0.0:
        return BREAKS
    mu = constants[FRICTION]
    if mode == SLIDING and mu > 0.0:
        if watch[SLIP_1] * slip_1 + watch[SLIP_2] * slip_2 < 0.5 * (slip_1 * slip_1 + slip_2 * slip_2):
            return SLOWS
    if mode == ROLLING and mu < np.inf and watch[FRICTION_ROOM] < 0.0:
        return SLIPS
    return LEAVES if _outside(bounds, y) else NONE


@kernel
def _outside(bounds, x):
    """Whether one of the first four coordinates is not where its chart is meant for."""
    for i in range(4):
        if not bounds[i, 0] <= x[i] <= bounds[i, 1]:
            return True
    return False


@kernel
def _advance(mode, constants, code, data, t, h, tableau, y, work, watch):
    """A step from ``work.start`` to y, twice if it is long for the slip: (status, whether it may be so long)."""
    guide = work.guide
    guide[2] = taken(watch, h) if mode == SLIDING else 0.0
    status = runge_kutta(mode, constants, code, data, t, h, tableau, y, work, watch)
    if status != OK or guide[2] == 0.0:
        guide[2] = 0.0
        return status, True
    status = accelerations(mode, constants, code, data, t + h, y, work, 1, watch)
    follows = status == OK and settle(guide, watch)
    if follows:
        status = accelerations(mode, constants, code, data, t, work.start, work, 0, watch)
        if status == OK:
            status = runge_kutta(mode, constants, code, data, t, h, tableau, y, work, watch)
    guide[2] = 0.0
    return status, follows


@kernel
def _guide(slip_1, slip_2, work):
    """Remember the slip at the start of a step."""
    work.guide[0] = slip_1
    work.guide[1] = slip_2
    work.guide[2] = 0.0


@kernel
def run_steps(mode, constants, code, data, bounds, tableau, t, y, settings, work, watch, near, A, order, steps, log):
    """Up to ``steps`` fixed steps; returns (status, event, steps done).

    The step with an event (but LEAVES) is not taken: y and t[0] are those at its start.  ``log`` (steps, 14) receives
    t, y and nothing else after every step when it has rows.
    """
    h = settings[STEP]
    _guide(0.0, 0.0, work)
    status = observe(mode, constants, code, data, t[0], y, work, watch, near, A, order, 0)
    if status != OK:
        return status, NONE, 0
    n = STATE_SIZE[mode]
    for done in range(steps):
        slip_1 = watch[SLIP_1]
        slip_2 = watch[SLIP_2]
        _guide(slip_1, slip_2, work)
        copy(n, y, work.start)
        status, follows = _advance(mode, constants, code, data, t[0], h, tableau, y, work, watch)
        if status == OK:
            status = observe(mode, constants, code, data, t[0] + h, y, work, watch, near, A, order, 0)
        event = NONE
        if status == OK:
            event = _event(mode, constants, bounds, y, near, watch, slip_1, slip_2) if follows else SLOWS
            for i in range(n):
                if not abs(y[i]) < 1e300:
                    status = NOT_FINITE
        if status != OK or (event != NONE and event != LEAVES):
            copy(n, work.start, y)
            return status, event, done
        t[0] += h
        if done < log.shape[0]:
            log[done, 0] = t[0]
            for i in range(n):
                log[done, 1 + i] = y[i]
        if event != NONE:
            return OK, event, done + 1
    return OK, NONE, steps


@kernel
def run_adapted(mode, constants, code, data, bounds, tableau, error, t, y, settings, work, watch, near, A, order, log):
    """Steps of adapted length up to settings[END]; as ``run_steps``, but returns when ``log`` is full too.

    ``error`` (s + 1,) holds the differences of the weights of the two orders; the last is that of the derivative at
    the end (Dormand and Prince, 5(4)).
    """
    _guide(0.0, 0.0, work)
    status = observe(mode, constants, code, data, t[0], y, work, watch, near, A, order, 0)
    n = STATE_SIZE[mode]
    last = error.shape[0] - 1
    done = 0
    while status == OK and done < log.shape[0] and t[0] < settings[END]:
        slip_1 = watch[SLIP_1]
        slip_2 = watch[SLIP_2]
        _guide(slip_1, slip_2, work)
        copy(n, y, work.start)
        h = min(settings[STEP], settings[LONGEST], settings[END] - t[0])
        if not t[0] + h > t[0]:
            return TOO_SHORT, NONE, done
        status, follows = _advance(mode, constants, code, data, t[0], h, tableau, y, work, watch)
        if status == OK:
            status = observe(mode, constants, code, data, t[0] + h, y, work, watch, near, A, order, last)
        worst = 1e6
        if status == OK:
            worst = 0.0
            for i in range(n):
                total = 0.0
                for j in range(last + 1):
                    total += error[j] * work.stages[j, i]
                scale = settings[ABSOLUTE] + settings[RELATIVE] * max(abs(y[i]), abs(work.start[i]))
                ratio = abs(h * total) / scale
                if not ratio <= worst:
                    worst = ratio if ratio < 1e6 else 1e6
        factor = 0.9 * max(worst, 1e-10) ** -0.2
        if follows and worst > 1.0:  # a failed stage counts as an error too large
            copy(n, work.start, y)
            settings[STEP] = h * max(factor, 0.1)
            if not t[0] + settings[STEP] > t[0]:
                return (TOO_SHORT if status == OK else status), NONE, done
            status = OK
            if mode == SLIDING:  # a long step has changed the derivative at the start
                _guide(0.0, 0.0, work)
                status = observe(mode, constants, code, data, t[0], y, work, watch, near, A, order, 0)
            continue
        event = _event(mode, constants, bounds, y, near, watch, slip_1, slip_2) if follows else SLOWS
        if event != NONE and event != LEAVES:
            copy(n, work.start, y)
            settings[STEP] = h
            return OK, event, done
        if h < settings[END] - t[0] or h >= settings[STEP]:
            settings[STEP] = h * min(factor, 5.0)
        t[0] += h
        for i in range(n):
            work.stages[0, i] = work.stages[last, i]
            log[done, 1 + i] = y[i]
        log[done, 0] = t[0]
        done += 1
        if event != NONE:
            return OK, event, done
    return status, NONE, done
