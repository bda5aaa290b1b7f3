# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Runge-Kutta steps of a tree with contacts, of fixed or adapted length, which stop at the first step with an event."""

import numpy as np

from mb_contact.core.arrays import copy
from mb_contact.core.jit import kernel
from mb_contact.core.surfaces.friction import settle, taken
from mb_contact.core.surfaces.layout import (
    FREE,
    FRICTION_ROOM,
    GAP,
    GAP_RATE,
    HOLDS,
    NORMAL_FORCE,
    ROLLING,
    SLIDING,
    SLIP_1,
    SLIP_2,
)
from mb_contact.core.surfaces.tree import tree_accelerations
from mb_contact.core.surfaces.watch import GAP_LIMIT, tree_watch
from mb_contact.types import JOINT_FLOATING, JOINT_SPHERICAL, NOT_FINITE, OK

# --- why a run of steps ended -----------------------------------------------------------------------
NONE = 0  #: all steps done
BREAKS = 1  #: the normal force vanishes: on to free flight
STICKS = 2  #: the slip vanishes: on to rolling; found by those who creep, not by these steps
SLIPS = 3  #: friction cannot hold: on to sliding
LANDS = 4  #: the surfaces meet
LEAVES = 5  #: a contact coordinate leaves the part of its chart that is meant for it
STOPS = 6  #: a joint has come to its limit
RELEASES = 7  #: a joint moves away from its limit
SLOWS = 8  #: the slip loses half of itself along itself within a step, or turns in a long one: shorter steps follow it
TOO_SHORT = 23  #: a status: the step has to be shorter than the time's rounding

# --- settings of adapted steps ----------------------------------------------------------------------
STEP = 0  #: length of the next one [s]
TIME = 1  #: [s]
END = 2  #: [s]
RELATIVE = 3  #: tolerances
ABSOLUTE = 4
LONGEST = 5  #: [s]


@kernel
def fixed_steps(tree, kin, art, joints, work, stages, tableau, h, count, q, v):
    """``count`` Runge-Kutta steps of h in place: (status, body, steps done, event, its contact or dof).

    The step with an event is not taken: q and v are those at its start.
    """
    status, body = _begin(tree, kin, art, joints, work, stages, q, v)
    if status != OK:
        return status, body, 0, NONE, -1
    for done in range(count):
        _remember(joints, stages, q, v)
        status, body, turning = _advance(tree, kin, art, joints, work, stages, tableau, h, q, v)
        if status == OK:
            status, body = tree_watch(tree, kin, art, joints, work, stages, q, v, 0)
        event, index = NONE, -1
        if status == OK:
            event, index = _event(tree, joints, stages, q, v, turning)
        if status != OK or event != NONE:
            _go_back(stages, q, v)
            return status, body, done, event, index
    return OK, -1, count, NONE, -1


@kernel
def adapted_steps(tree, kin, art, joints, work, stages, tableau, settings, count, q, v):
    """At most ``count`` steps up to ``settings[END]``, as long as an embedded pair's error allows.

    Returns as ``fixed_steps``.  The pair's last stage is the derivative at the end of the step (Dormand and Prince).
    """
    status, body = _begin(tree, kin, art, joints, work, stages, q, v)
    last = tableau.b.shape[0] - 1
    done = 0
    while status == OK and done < count and settings[TIME] < settings[END]:
        rest = settings[END] - settings[TIME]
        h = min(settings[STEP], settings[LONGEST], rest)
        if not settings[TIME] + h > settings[TIME]:
            return TOO_SHORT, -1, done, NONE, -1
        _remember(joints, stages, q, v)
        status, body, turning = _advance(tree, kin, art, joints, work, stages, tableau, h, q, v)
        if status == OK:
            status, body = tree_watch(tree, kin, art, joints, work, stages, q, v, last)
        worst = 1e6
        if status == OK:
            worst = _worst_error(stages.q_start, q, stages.q_dot, tableau.difference, h, settings)
            worst = max(worst, _worst_error(stages.v_start, v, stages.v_dot, tableau.difference, h, settings))
        factor = 0.9 * max(worst, 1e-10) ** -0.2
        if turning < 0 and worst > 1.0:  # a failed stage counts as an error too large
            _go_back(stages, q, v)
            settings[STEP] = h * max(factor, 0.1)
            if not settings[TIME] + settings[STEP] > settings[TIME]:
                return (TOO_SHORT if status == OK else status), body, done, NONE, -1
            status, body = _begin(tree, kin, art, joints, work, stages, q, v)
            continue
        event, index = _event(tree, joints, stages, q, v, turning)
        if event != NONE:
            _go_back(stages, q, v)
            settings[STEP] = h
            return OK, -1, done, event, index
        if h < rest or h >= settings[STEP]:
            settings[STEP] = h * min(factor, 5.0)
        settings[TIME] += h
        copy(q.shape[0], stages.q_dot[last], stages.q_dot[0])
        copy(v.shape[0], stages.v_dot[last], stages.v_dot[0])
        done += 1
    return status, body, done, NONE, -1


@kernel
def _begin(tree, kin, art, joints, work, stages, q, v):
    """Everything about the state that steps start from, the slip free to turn; (status, body)."""
    for j in range(joints.body.shape[0]):
        for c in range(3):
            joints.guide[j, c] = 0.0
    return tree_watch(tree, kin, art, joints, work, stages, q, v, 0)


@kernel
def _remember(joints, stages, q, v):
    """The state and the slips at the start of a step."""
    copy(q.shape[0], q, stages.q_start)
    copy(v.shape[0], v, stages.v_start)
    for j in range(joints.body.shape[0]):
        joints.guide[j, 0] = joints.watch[j, SLIP_1]
        joints.guide[j, 1] = joints.watch[j, SLIP_2]


@kernel
def _go_back(stages, q, v):
    """The state at the start of the step."""
    copy(q.shape[0], stages.q_start, q)
    copy(v.shape[0], stages.v_start, v)


@kernel
def _worst_error(start, end, rates, difference, h, settings):
    """Largest error estimate of a step over what its coordinate may err by, at most 1e6."""
    worst = 0.0
    for i in range(start.shape[0]):
        total = 0.0
        for stage in range(difference.shape[0]):
            total += difference[stage] * rates[stage, i]
        ratio = abs(h * total) / (settings[ABSOLUTE] + settings[RELATIVE] * max(abs(end[i]), abs(start[i])))
        if not ratio <= worst:
            worst = ratio if ratio < 1e6 else 1e6
    return worst


@kernel
def _advance(tree, kin, art, joints, work, stages, tableau, h, q, v):
    """A step to (q, v), twice if it is long for a slip: (status, body, contact that turns too much for it or -1)."""
    guide = joints.guide
    long = False
    for j in range(joints.body.shape[0]):
        if joints.mode[j] == SLIDING:
            guide[j, 2] = taken(joints.watch[j], h)
            long = long or guide[j, 2] > 0.0
    status, body = _runge_kutta(tree, kin, art, joints, work, stages, tableau, h, q, v)
    if not long:
        return status, body, -1
    turning = -1
    if status == OK:
        status, body = tree_accelerations(tree, kin, art, joints, work, stages, q, v, 1)
    if status == OK:
        for j in range(joints.body.shape[0]):
            if guide[j, 2] > 0.0 and not settle(guide[j], joints.watch[j]):
                turning = j
    if status == OK and turning < 0:
        status, body = tree_accelerations(tree, kin, art, joints, work, stages, stages.q_start, stages.v_start, 0)
        if status == OK:
            status, body = _runge_kutta(tree, kin, art, joints, work, stages, tableau, h, q, v)
    for j in range(joints.body.shape[0]):
        guide[j, 2] = 0.0
    return status, body, turning


@kernel
def _runge_kutta(tree, kin, art, joints, work, stages, tableau, h, q, v):
    """One step from (q_start, v_start), whose rates stand in row 0, to (q, v); (status, body)."""
    b = tableau.b
    count = b.shape[0]
    if b[count - 1] == 0.0:
        count -= 1  # its derivative is that at the end, which is found there anyway
    for stage in range(1, count):
        _combine(stages.q_start, h, tableau.A[stage], stage, stages.q_dot, stages.q)
        _combine(stages.v_start, h, tableau.A[stage], stage, stages.v_dot, stages.v)
        status, body = tree_accelerations(tree, kin, art, joints, work, stages, stages.q, stages.v, stage)
        if status != OK:
            return status, body
    _combine(stages.q_start, h, b, count, stages.q_dot, q)
    _combine(stages.v_start, h, b, count, stages.v_dot, v)
    for i in range(v.shape[0]):
        if not abs(v[i]) < 1e300:
            return NOT_FINITE, -1
    _normalise(tree, q)
    return OK, -1


@kernel
def _combine(start, h, weights, count, rates, out):
    """out := start + h sum weights[j] rates[j] of the first ``count`` stages."""
    for i in range(start.shape[0]):
        total = 0.0
        for j in range(count):
            total += weights[j] * rates[j, i]
        out[i] = start[i] + h * total


@kernel
def _normalise(tree, q):
    """Quaternions of length one."""
    for k in range(tree.parent.shape[0]):
        kind = tree.joint_type[k]
        if kind != JOINT_FLOATING and kind != JOINT_SPHERICAL:
            continue
        s = tree.q_start[k] + (3 if kind == JOINT_FLOATING else 0)
        f = 1.0 / np.sqrt(q[s] * q[s] + q[s + 1] * q[s + 1] + q[s + 2] * q[s + 2] + q[s + 3] * q[s + 3])
        for i in range(4):
            q[s + i] *= f


@kernel
def _event(tree, joints, stages, q, v, turning):
    """(event, contact or degree of freedom) at the end of a step, (NONE, -1) if nothing has happened.

    ``turning`` is the contact whose slip turns too much for the step, or -1.
    """
    if turning >= 0:
        return SLOWS, turning
    watch = joints.watch
    for j in range(joints.body.shape[0]):
        mode = joints.mode[j]
        mu = joints.law[j, 0]
        if mode == FREE:
            if watch[j, GAP] < -GAP_LIMIT and watch[j, GAP_RATE] < 0.0:
                return LANDS, j
            continue
        if watch[j, NORMAL_FORCE] < 0.0 and joints.law[j, 1] != 0.0:
            return BREAKS, j
        x = joints.guide[j, 0]
        y = joints.guide[j, 1]
        if mode == SLIDING and mu > 0.0 and watch[j, SLIP_1] * x + watch[j, SLIP_2] * y < 0.5 * (x * x + y * y):
            return SLOWS, j
        if mode == ROLLING and mu < np.inf and watch[j, FRICTION_ROOM] < 0.0:
            return SLIPS, j
    for s in range(stages.stop.shape[0]):
        i = stages.stop[s, 0]
        x = q[stages.stop[s, 1]]
        if stages.stop[s, 2] == 0 and ((x > tree.upper[i] and v[i] > 0.0) or (x < tree.lower[i] and v[i] < 0.0)):
            return STOPS, i
    for n in range(stages.row.shape[0]):
        if stages.row[n, 0] == HOLDS:
            for s in range(stages.stop.shape[0]):
                if stages.stop[s, 0] == stages.row[n, 1] and stages.stop[s, 2] * stages.load[n] > 0.0:
                    return RELEASES, stages.row[n, 1]
    return _leaves(tree, joints, q)


@kernel
def _leaves(tree, joints, q):
    """A contact that is where its chart is not meant for."""
    for j in range(joints.body.shape[0]):
        s = tree.q_start[joints.body[j]]
        for i in range(4):
            x = joints.near[j, i] if joints.mode[j] == FREE else q[s + i]
            if not joints.bounds[j, i, 0] <= x <= joints.bounds[j, i, 1]:
                return LEAVES, j
    return NONE, -1
