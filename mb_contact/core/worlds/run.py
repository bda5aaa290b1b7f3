# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Worlds one after the other through the workspaces of a thread: load, so many steps, store.

A world's bits do not depend on the worlds before it: what a step reads of its workspaces is loaded or written first.
"""

import numpy as np

from mb_contact.core.arrays import copy, fill
from mb_contact.core.constraints.bilateral import COUNT
from mb_contact.core.handle import DT, MEASURED
from mb_contact.core.integrate.flow_step import BEGIN, put_command, whole_step
from mb_contact.core.jit import kernel, unlocked
from mb_contact.core.state import EVEN, STEPS
from mb_contact.core.step.closing import closure_error, refresh
from mb_contact.core.workspace import (
    CLOSURE_ERROR,
    COMPLEMENTARITY,
    ENERGY_START,
    HEAD,
    INFEASIBILITY,
    KINETIC,
    LOOP_RESIDUAL,
    POTENTIAL,
    WORK_DONE,
)
from mb_contact.core.worlds.controller import call_controller
from mb_contact.core.worlds.store import (
    COMMANDED,
    LAST,
    LOADED,
    NO_COMMAND,
    NO_STATE,
    NO_STEP_LEFT,
    STAGE,
    STEP,
    STORE_TOO_SMALL,
    TAKE_STEP,
    TAKEN,
    WORLD,
)
from mb_contact.types import OK


@unlocked
def run_worlds(h, lane, store, values, job, compiled, controller):
    """Steps of the job's worlds from ``lane.at[WORLD]`` up to ``lane.at[LAST]``.

    Parameters
    ----------
    h : StepArraysHandle
        Of the calling thread, as ``lane`` is.
    compiled : bool
        False where the caller takes every step.
    controller : int
        Address of a compiled controller, 0 for none.

    Returns
    -------
    int
        NO_STEP_LEFT, or what the step ``at[STEP]`` of the world ``at[WORLD]`` needs before the next call goes on.
    """
    status = OK
    while status == OK:
        status = _next_step(h, lane, store, values, job, controller)
        if status == OK and lane.at[TAKEN] == 0:
            status = whole_step(h, lane.at[STAGE]) if compiled else TAKE_STEP
        if status == OK:
            status = _finish_step(h, lane, store, job)
    return status


@kernel
def _next_step(h, lane, store, values, job, controller):
    """The next step of the loaded world, or of the next one, which is loaded: its efforts; a status."""
    at = lane.at
    while at[LOADED] == 0:
        if at[WORLD] >= at[LAST]:
            return NO_STEP_LEFT
        w = job.worlds[at[WORLD]]
        if store.failed[w] != 0:
            at[WORLD] += 1
            continue
        at[STEP], at[STAGE], at[TAKEN], at[COMMANDED] = 0, BEGIN, 0, 0
        if not _is_finite(h, store.state[w]):
            return NO_STATE
        load_world(h, lane, store, values, w)
        at[LOADED] = 1
    if at[COMMANDED] == 0:
        if _command(h, lane, store, job, job.worlds[at[WORLD]], controller) != 0:
            return NO_COMMAND
        at[COMMANDED] = 1
    return OK


@kernel
def _is_finite(h, state):
    """Whether coordinates and velocities, which stand first, are numbers: they may have been written from outside."""
    for i in range(h.q.shape[0] + h.v.shape[0]):
        if not np.isfinite(state[i]):
            return False
    return True


@kernel
def _finish_step(h, lane, store, job):
    """Count and keep the finished step; behind the last one the world goes to the store; a status."""
    at, w = lane.at, job.worlds[lane.at[WORLD]]
    _keep_step(h, lane, store, job, w)
    at[STEP] += 1
    at[STAGE], at[TAKEN], at[COMMANDED] = BEGIN, 0, 0
    if at[STEP] < job.steps[0]:
        return OK
    if h.memory.count[0] > store.report.shape[1]:
        return STORE_TOO_SMALL
    store_world(h, lane, store, w)
    at[LOADED] = 0
    at[WORLD] += 1
    return OK


@kernel
def _command(h, lane, store, job, w, controller):
    """The efforts of the step into ``h.effort``; 1 where the controller has raised an exception, otherwise 0."""
    k, t, command = lane.at[WORLD], lane.at[STEP], h.command
    given = job.controls.shape[1] > 0
    for j in range(command.shape[0]):
        command[j] = job.controls[k, t, j] if given else store.effort[w, j]
    if controller != 0:
        time = lane.time_before[0] + (lane.clock[EVEN] + t) * h.settings[DT]
        if call_controller(controller, time, w, h.q, h.v, command, job.data) != 0:
            return 1
    put_command(h)
    return 0


@kernel
def _keep_step(h, lane, store, job, w):
    """Sums of the finished step, and what is kept of it."""
    k, t, out = lane.at[WORLD], lane.at[STEP], h.work.record
    residual = max(out[COMPLEMENTARITY], max(out[INFEASIBILITY], out[LOOP_RESIDUAL]))
    lane.worst[0] = max(lane.worst[0], residual)
    if job.q.shape[1] > 0:
        copy(h.q.shape[0], h.q, job.q[k, t])
        copy(h.v.shape[0], h.v, job.v[k, t])
        job.residual[k, t] = residual
        job.contacts[k, t] = h.memory.count[0]


@kernel
def load_world(h, lane, store, values, w):
    """World w into the workspaces, and all that follows from its state."""
    _load_values(lane, values, w)
    copy(h.state.shape[0], store.state[w], h.state)
    copy_contacts(
        h.memory.count[0], _stretch(h), store.contact_state[w], store.report.shape[1], h.contact_state,
        h.memory.pair.shape[0],
    )  # fmt: skip
    lane.worst[0] = store.worst[w]
    refresh(h)


@kernel
def _stretch(h):
    """Numbers that a contact keeps of soft materials."""
    return 5 if h.soft.start.shape[0] > 0 else 0


@kernel
def copy_contacts(count, stretch, source, room, target, target_room):
    """Rows of so many contacts from one vector of ContactState to another; each has its own room, of what sleeps none.
    """
    first = 0
    for width in (1, 1, 3, 3, 3, stretch):  # of pair, feature, tangent, impulse, moment, and of soft materials
        for i in range(width * count):
            target[first * target_room + i] = source[first * room + i]
        first += width


@kernel
def _load_values(lane, values, w):
    """What world w has in the place of the scene's values; the rows of one that has none are the last world's."""
    if values.mass.shape[0] > 0:
        for k in range(lane.mass.shape[0]):
            lane.mass[k] = values.mass[w, k]
            scale = values.mass[w, k] / lane.scene_mass[k]
            for a in range(3):
                for b in range(3):
                    lane.inertia[k, a, b] = scale * lane.scene_inertia[k, a, b]
    for k in range(lane.mass.shape[0] if values.inertia.shape[0] > 0 else 0):
        for a in range(3):
            for b in range(3):
                lane.inertia[k, a, b] = values.inertia[w, k, a, b]
    for k in range(lane.mass.shape[0] if values.body_gravity.shape[0] > 0 else 0):
        for a in range(3):
            lane.body_gravity[k, a] = values.body_gravity[w, k, a]
    if values.damping.shape[0] > 0:
        for i in range(lane.damping.shape[0]):
            lane.damping[i] = lane.total[i] = values.damping[w, i]
    if values.mu.shape[0] > 0:
        copy(lane.mu.shape[0], values.mu[w], lane.mu)
    if values.restitution.shape[0] > 0:
        copy(lane.restitution.shape[0], values.restitution[w], lane.restitution)
    if values.stiffness.shape[0] > 0:
        copy(lane.stiffness.shape[0], values.stiffness[w], lane.stiffness)
    if values.size.shape[0] > 0:
        for g in range(lane.size.shape[0]):
            for a in range(3):
                lane.size[g, a] = values.size[w, g, a]


@kernel
def store_world(h, lane, store, w):
    """World w from the workspaces, after so many steps as ``lane.at`` says."""
    work, count = h.work, h.memory.count[0]
    lane.clock[STEPS] += lane.at[STEP]
    lane.clock[EVEN] += lane.at[STEP]
    copy(h.state.shape[0], h.state, store.state[w])
    copy_contacts(
        count, _stretch(h), h.contact_state, h.memory.pair.shape[0], store.contact_state[w], store.report.shape[1]
    )
    for i in range(count):
        copy(store.report.shape[2], work.report[i], store.report[w, i])
    copy(HEAD, work.record, store.record[w])
    coupled = h.bil.info[COUNT] > 0 or h.art.aggregates.base.shape[0] > 0
    if coupled and h.drift[MEASURED] == 0.0:
        store.record[w, CLOSURE_ERROR] = closure_error(h)  # of the last of the steps alone
    _store_poses(h, store, w)
    store.worst[w] = lane.worst[0]


@kernel
def _store_poses(h, store, w):
    """Where the bodies of world w are."""
    for k in range(store.p.shape[1]):
        for a in range(3):
            store.p[w, k, a] = h.kin.p[k, a]
            for b in range(3):
                store.R[w, k, a, b] = h.kin.R[k, a, b]


@unlocked
def reset_worlds(h, lane, store, values, worlds):
    """Worlds begin anew from the coordinates and velocities of the store, without warm starts, at time zero."""
    for k in range(worlds.shape[0]):
        w = worlds[k]
        store.failed[w] = 0
        fill(store.effort.shape[1], store.effort[w], 0.0)
        fill(HEAD, store.record[w], 0.0)
    refresh_worlds(h, lane, store, values, worlds)


@unlocked
def refresh_worlds(h, lane, store, values, worlds):
    """Poses of worlds whose states or values were changed from outside; their energy balances start here."""
    for k in range(worlds.shape[0]):
        w = worlds[k]
        load_world(h, lane, store, values, w)
        h.work.sums[WORK_DONE] = 0.0
        h.work.sums[ENERGY_START] = h.work.energy[KINETIC] + h.work.energy[POTENTIAL]
        copy(h.state.shape[0], h.state, store.state[w])  # joints that follow others are put where these have them
        _store_poses(h, store, w)
        store.worst[w] = 0.0


@unlocked
def keep_world(h, lane, store, w):
    """World w as it is before a step that has failed."""
    if lane.at[STEP] > 0:
        store_world(h, lane, store, w)
    store.failed[w] = 1


@unlocked
def show_worlds(h, lane, store, values, worlds):
    """Poses of worlds whose whole states were written from outside; nothing is known of a step before."""
    for k in range(worlds.shape[0]):
        w = worlds[k]
        load_world(h, lane, store, values, w)
        _store_poses(h, store, w)
        store.failed[w], store.worst[w] = 0, 0.0
        fill(HEAD, store.record[w], 0.0)
