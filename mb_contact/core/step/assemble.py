# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rows and their laws, free velocities and warm impulses of a step."""

from mb_contact.core.arrays import copy
from mb_contact.core.constraints.belts import carry_rows, turn_along
from mb_contact.core.constraints.bilateral import COUNT, FIRST, LOADS, TENDONS, bilateral_rows
from mb_contact.core.constraints.contact import contact_frames, contact_rows, turn_frames
from mb_contact.core.constraints.driven import drive_rows
from mb_contact.core.constraints.flat_manifolds import level_offsets
from mb_contact.core.constraints.gear import combine_velocities
from mb_contact.core.constraints.hinge import hinge_forces, hinge_limits
from mb_contact.core.constraints.joint_friction import bound_by_loads, bound_friction
from mb_contact.core.constraints.limit import limit_rows
from mb_contact.core.constraints.mean_rows import mean_rows
from mb_contact.core.constraints.mean_slip import bend_rows
from mb_contact.core.constraints.rows import row_velocities
from mb_contact.core.constraints.torsion_rolling import moment_rows, warm_impulses
from mb_contact.core.handle import (
    DRIFT_RATE,
    DRIFT_STEP,
    DRIVEN,
    DT,
    FACE_GAP,
    PUSH_RATE,
    PUSH_SPEED,
    SLIP_SPEED,
    UNIT_LENGTH,
)
from mb_contact.core.jit import kernel
from mb_contact.core.solve.friction import HALVES, contact_laws
from mb_contact.core.step.exchange import start_again
from mb_contact.core.step.need import ROUND
from mb_contact.core.step.problem import rows_in_use
from mb_contact.core.step.sleep import has_sleepers, hold_frames, hold_impulses
from mb_contact.core.step.softness import soften
from mb_contact.core.step.tendons import pose_laws
from mb_contact.types import RUB, UPPER


@kernel
def assemble(h):
    """Rows and their laws, free velocities ``sol.q`` and warm impulses ``sol.r`` of the step.

    Reads: belts, bil, buffers, closures, contacts, drift, end, flow, frames, friction, gears, geoms, hinges, joints,
    kin, loop, memory, need, q, rows, settings, sleep, soft, sol, tendons, tree, v, work.
    Writes: bil, forest, frames, friction, hinges, loop, rows, soft, sol, tendons, work.
    """
    dt = h.settings[DT]
    push_rate = h.settings[PUSH_RATE]
    push_speed = h.settings[PUSH_SPEED]
    contact_frames(h.geoms, h.contacts, h.kin, h.memory, h.settings[SLIP_SPEED], h.frames)
    if h.belts.of.shape[0] > 0:
        turn_along(h.belts, h.geoms, h.contacts, h.kin, h.settings[SLIP_SPEED], h.frames)
    turn_frames(h.friction.surfaces, h.geoms, h.contacts, h.kin, h.frames, h.friction.mu)
    if has_sleepers(h):
        hold_frames(h)
    contact_rows(h.geoms, h.contacts, h.kin, h.frames, dt, push_rate, push_speed, h.rows)
    limit_rows(h.tree, h.joints.velocity_limit, h.kin, h.q, h.work.speed, dt, push_rate, push_speed, h.rows)
    bend_rows(h)
    _shift_offsets(h, dt, push_rate)
    if h.hinges.body.shape[0] > 0:
        hinge_limits(h.hinges, h.kin, h.v, h.work.v_free, dt, push_rate, push_speed, h.rows)
    moment_rows(h.friction.surfaces, h.contacts, h.frames, h.rows, h.friction.extra)
    if h.belts.of.shape[0] > 0:
        carry_rows(h.belts, h.geoms, h.contacts, h.kin, h.frames, h.friction, h.rows)
    rate = h.drift[DRIFT_RATE] * min(1.0, dt / h.drift[DRIFT_STEP])  # a shorter step takes back a smaller part
    bilateral_rows(
        h.tree, h.kin, h.q, h.closures, h.tendons, h.joints.rubbing, h.gears, dt, rate, h.rows.end[0], h.rows, h.loop,
        h.bil,
    )  # fmt: skip
    if h.drift[DRIVEN] != 0.0:
        drive_rows(h.kin, h.closures, h.gears, dt, rate, h.loop.error, h.rows, h.bil, h.sol.q)
    bound_friction(h.tree, h.joints, h.joints.rubbing, h.closures, dt, h.rows, h.bil)
    if h.hinges.body.shape[0] > 0:
        hinge_forces(h.hinges, h.kin, h.v, dt, 0.5 * dt * h.friction.model[HALVES], h.rows, h.loop.error, h.bil)
    contact_laws(h.rows, h.contacts, h.friction, dt, h.settings[UNIT_LENGTH])
    copy(h.v.shape[0], h.work.implicit, h.forest.damping)
    n_rows = rows_in_use(h)
    row_velocities(h.rows, n_rows, h.work.V_free, h.sol.q)
    combine_velocities(h.sol.q, h.bil)
    if h.soft.start.shape[0] > 0:
        soften(h)
    if h.bil.info[TENDONS] > 0:
        pose_laws(h, rate)
    if h.bil.info[LOADS] != 0:
        bound_by_loads(h.bil, h.rows, h.memory.loop)
    for i in range(n_rows):
        h.sol.q[i] += h.rows.offset[i]
        h.sol.r[i] = 0.0
    if h.flow.end_known[0] != 0:
        mean_rows(h)
    warm_impulses(h.contacts, h.frames, h.memory, h.friction.extra, h.friction.surfaces, h.sol.r)
    if h.need.info[ROUND] > 0:
        start_again(h)
    if has_sleepers(h):
        hold_impulses(h)
    for i in range(3 * h.contacts.count[0], n_rows):
        dof = h.rows.dof[i]
        if dof >= 0 and h.rows.bound[i] < RUB:
            h.sol.r[i] = h.memory.joint[dof, h.rows.bound[i]]
    for i in range(h.bil.info[COUNT]):
        h.sol.r[h.bil.info[FIRST] + i] = h.memory.loop[i]


@kernel
def _shift_offsets(h, dt, push_rate):
    """Offsets of the rows with what impacts and second-order terms move, those of a flat face as one rigid motion's."""
    for i in range(h.contacts.count[0]):
        h.rows.offset[3 * i] += h.work.gap_shift[i] / dt
        for a in range(3):
            h.rows.offset[3 * i + a] += h.work.row_bias[i, a]
        for a in range(2):
            h.rows.offset[3 * i + 1 + a] += h.work.asked_slip[i, a]
    level_offsets(h.contacts, dt / h.settings[UNIT_LENGTH], (1.0 - push_rate) / dt, h.settings[FACE_GAP], h.rows.offset)
    for row in range(3 * h.contacts.count[0], h.rows.end[0]):
        dof = h.rows.dof[row]
        if dof >= 0 and h.rows.bound[row] <= UPPER:
            h.rows.offset[row] -= h.rows.sign[row] * h.work.shift[dof] / dt
