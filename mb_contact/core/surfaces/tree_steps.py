# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Runge-Kutta steps of a tree with contacts of surfaces, which stop at the first step with an event."""

from __future__ import annotations

import numpy as np

from mb_contact.core.arrays import copy
from mb_contact.core.jit import kernel
from mb_contact.core.surfaces.flight import GAP_LIMIT
from mb_contact.core.surfaces.friction import settle, taken
from mb_contact.core.surfaces.layout import (
    FREE,
    FRICTION_ROOM,
    GAP,
    GAP_RATE,
    NORMAL_FORCE,
    ROLLING,
    SLIDING,
    SLIP_1,
    SLIP_2,
)
from mb_contact.core.surfaces.steps import BREAKS, LANDS, LEAVES, NONE, SLIPS, SLOWS
from mb_contact.core.surfaces.tree import tree_accelerations
from mb_contact.core.surfaces.tree_layout import HOLDS
from mb_contact.core.surfaces.tree_watch import tree_watch
from mb_contact.types import JOINT_FLOATING, JOINT_SPHERICAL, NOT_FINITE, OK

STOPS = 6  #: an event: a joint has come to its limit
RELEASES = 7  #: a joint moves away from its limit


@kernel
def tree_steps(tree, kin, art, joints, work, stages, h, count, q, v):
    """``count`` steps of Runge and Kutta's method in place: (status, body, steps done, event, its contact or dof).

    The step with an event (but LEAVES) is not taken: q and v are those at its start.
    """
    nq = q.shape[0]
    N = v.shape[0]
    for j in range(joints.body.shape[0]):
        for c in range(3):
            joints.guide[j, c] = 0.0
    status, body = tree_watch(tree, kin, art, joints, work, stages, q, v)
    if status != OK:
        return status, body, 0, NONE, -1
    for done in range(count):
        copy(nq, q, stages.q_start)
        copy(N, v, stages.v_start)
        for j in range(joints.body.shape[0]):
            joints.guide[j, 0] = joints.watch[j, SLIP_1]
            joints.guide[j, 1] = joints.watch[j, SLIP_2]
        status, body, turning = _advance(tree, kin, art, joints, work, stages, h, q, v)
        if status == OK:
            status, body = tree_watch(tree, kin, art, joints, work, stages, q, v)
        event, index = NONE, -1
        if status == OK:
            event, index = SLOWS, turning
            if turning < 0:
                event, index = _tree_event(tree, joints, stages, q, v)
        if status != OK or (event != NONE and event != LEAVES):
            copy(nq, stages.q_start, q)
            copy(N, stages.v_start, v)
            return status, body, done, event, index
        if event != NONE:
            return OK, -1, done + 1, event, index
    return OK, -1, count, NONE, -1


@kernel
def _advance(tree, kin, art, joints, work, stages, h, q, v):
    """A step to (q, v), twice if it is long for a slip: (status, body, contact that turns too much for it or -1)."""
    guide = joints.guide
    long = False
    for j in range(joints.body.shape[0]):
        if joints.mode[j] == SLIDING:
            guide[j, 2] = taken(joints.watch[j], h)
            long = long or guide[j, 2] > 0.0
    status, body = _runge_kutta(tree, kin, art, joints, work, stages, h, q, v)
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
            status, body = _runge_kutta(tree, kin, art, joints, work, stages, h, q, v)
    for j in range(joints.body.shape[0]):
        guide[j, 2] = 0.0
    return status, body, turning


@kernel
def _runge_kutta(tree, kin, art, joints, work, stages, h, q, v):
    """One step from (q_start, v_start), whose rates stand in row 0, to (q, v); (status, body)."""
    for stage in range(1, 4):
        part = h if stage == 3 else 0.5 * h
        for i in range(q.shape[0]):
            stages.q[i] = stages.q_start[i] + part * stages.q_dot[stage - 1, i]
        for i in range(v.shape[0]):
            stages.v[i] = stages.v_start[i] + part * stages.v_dot[stage - 1, i]
        status, body = tree_accelerations(tree, kin, art, joints, work, stages, stages.q, stages.v, stage)
        if status != OK:
            return status, body
    k = stages.q_dot
    for i in range(q.shape[0]):
        q[i] = stages.q_start[i] + h / 6.0 * (k[0, i] + 2.0 * k[1, i] + 2.0 * k[2, i] + k[3, i])
    k = stages.v_dot
    for i in range(v.shape[0]):
        v[i] = stages.v_start[i] + h / 6.0 * (k[0, i] + 2.0 * k[1, i] + 2.0 * k[2, i] + k[3, i])
        if not abs(v[i]) < 1e300:
            return NOT_FINITE, -1
    _normalise(tree, q)
    return OK, -1


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
def _tree_event(tree, joints, stages, q, v):
    """(event, contact or degree of freedom) at the end of a step, (NONE, -1) if nothing has happened."""
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
