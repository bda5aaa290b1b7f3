# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a step leaves: the next one's warm start, and a table of contacts for the user."""

import numpy as np

from mb_contact.core.arrays import copy, fill
from mb_contact.core.constraints.bilateral import CLOSURE, COUNT, FIRST, SPEED, VELOCITY
from mb_contact.core.constraints.torsion_rolling import moments
from mb_contact.core.handle import IMPACT_SPEED, UNIT_SPEED
from mb_contact.core.jit import kernel
from mb_contact.core.lcp.certificate import GAP as DISTANCE, INFEASIBLE, VIOLATION
from mb_contact.core.solve.friction import DIRECTIONS
from mb_contact.core.solve.newton_step import STANDING
from mb_contact.core.step.need import SPENT, is_soft
from mb_contact.core.tree.spatial import put_vector
from mb_contact.core.workspace import (
    BENT,
    CLOSURE_ERROR,
    COMPLEMENTARITY,
    CONE_VIOLATION,
    CONTACT_ENERGY,
    CONTACT_ERROR,
    ENERGY,
    FEATURE,
    GAIN,
    GAINED,
    GAP,
    IMPULSE,
    INFEASIBILITY,
    ITERATIONS,
    KINETIC,
    KINETIC_ENERGY,
    LANDED,
    LANDINGS,
    LOOP_RESIDUAL,
    LOOP_ROWS,
    LOOP_VELOCITY,
    MOTION,
    NEWTON_STEPS,
    NORMAL,
    PAIR,
    PENETRATION,
    POINT,
    POINTS,
    POTENTIAL,
    PUSH_OUT,
    PUSHED_OUT,
    RAY,
    RAY_GAIN,
    SLIDING,
    SOLVER,
    STAGE,
    STATE,
    TIED_RESIDUAL,
    TIED_ROWS,
    UNLAWFUL,
    WORK,
)
from mb_contact.types import SEPARATE, SLIP, STICK


@kernel
def remember(h):
    """Identities, frames and impulses for the next step's warm start.

    Reads: bil, contacts, frames, friction, memory, rows, soft, sol, work.  Writes: memory.
    """
    memory = h.memory
    c = h.contacts.count[0]
    memory.count[0] = c
    memory.unsettled[0] = 1 if memory.unsettled[0] == 0 and h.work.info[ITERATIONS] > 0 else 0
    for i in range(c):
        memory.pair[i] = h.contacts.pair[i]
        memory.feature[i] = h.contacts.feature[i]
        for a in range(3):
            memory.tangent[i, a] = h.frames.t1[i, a]
            memory.impulse[i, a] = h.sol.r[3 * i + a]
        put_vector(memory.moment, i, moments(h.friction.surfaces, h.contacts.pair[i], h.friction.extra[i], h.sol.r))
    for i in range(c if h.soft.start.shape[0] > 0 else 0):
        copy(5, h.soft.end[i], memory.stretch[i])
    for d in range(memory.joint.shape[0]):
        fill(memory.joint.shape[1], memory.joint[d], 0.0)
    for i in range(3 * c, h.bil.info[FIRST]):
        dof = h.rows.dof[i]
        if dof >= 0:
            memory.joint[dof, h.rows.bound[i]] = h.sol.r[i]
    for i in range(h.bil.info[COUNT]):
        memory.loop[i] = h.sol.r[h.bil.info[FIRST] + i]


@kernel
def summarise(h):
    """The step's numbers, as ``results.Certificate`` has them, into ``work.record``.

    ENERGY_GAINED, ENERGY_REMOVED, BALANCE, PIECES, BY_EULER, TIME_STEPPED and RELEASED are filled in by others.

    Reads: bil, contacts, geoms, need, sol, work.  Writes: work.
    """
    work, info, out = h.work, h.bil.info, h.work.record
    out[COMPLEMENTARITY] = h.sol.residuals[DISTANCE]
    out[INFEASIBILITY] = h.sol.residuals[INFEASIBLE]
    out[CONE_VIOLATION] = h.sol.residuals[VIOLATION]
    out[PENETRATION] = 0.0
    for i in range(h.contacts.count[0]):
        if not is_soft(h.geoms, h.contacts.pair[i]):
            out[PENETRATION] = max(out[PENETRATION], -work.report[i, GAP])
    out[SOLVER] = work.info[STAGE]
    out[NEWTON_STEPS] = work.info[ITERATIONS] + h.need.info[SPENT]
    out[POINTS] = h.contacts.count[0]
    out[ENERGY] = work.energy[KINETIC] + work.energy[POTENTIAL]
    out[KINETIC_ENERGY] = work.energy[KINETIC]
    out[CONTACT_ENERGY] = work.contact_energy[GAINED]
    out[PUSH_OUT] = work.contact_energy[PUSHED_OUT] + work.contact_energy[BENT]
    out[CONTACT_ERROR] = work.contact_energy[UNLAWFUL]
    bilateral = info[COUNT] > 0
    out[LOOP_RESIDUAL] = h.bil.residuals[VELOCITY] if bilateral else 0.0
    out[LOOP_VELOCITY] = h.bil.residuals[SPEED] if bilateral else 0.0
    closed = bilateral or h.art.aggregates.base.shape[0] > 0
    out[CLOSURE_ERROR] = h.bil.residuals[CLOSURE] if closed else 0.0
    out[LOOP_ROWS] = info[COUNT]
    out[RAY] = h.sol.proof[MOTION]
    out[RAY_GAIN] = h.sol.proof[GAIN]
    out[TIED_RESIDUAL], out[TIED_ROWS] = h.sol.loops[2], h.sol.loops[3]
    out[WORK] = 0.0
    for i in range(work.work_terms.shape[0]):
        out[WORK] += work.work_terms[i]
    out[LANDINGS] = work.info[LANDED]


@kernel
def report(h):
    """What a user reads of the contacts, one row of ``work.report`` each.

    Reads: contacts, friction, settings, sol, work.  Writes: work.
    """
    out = h.work.report
    h.work.info[LANDED] = 0
    for i in range(h.contacts.count[0]):
        if h.sol.before[3 * i] < -h.settings[IMPACT_SPEED] and h.sol.r[3 * i] > 0.0:
            h.work.info[LANDED] += 1
        for a in range(3):
            out[i, POINT + a] = h.contacts.point[i, a]
            out[i, NORMAL + a] = h.contacts.normal[i, a]
            out[i, IMPULSE + a] = h.work.contact_impulse[i, a]
        out[i, GAP] = h.contacts.gap[i]
        x = h.sol.u[3 * i + 1]
        y = h.sol.u[3 * i + 2]
        sigma = np.sqrt(x * x + y * y)
        n_f = h.friction.model[DIRECTIONS]
        if n_f > 0:  # the largest closing speed along one of the polygon's directions
            sigma = 0.0
            for d in range(n_f):
                angle = 2.0 * np.pi * d / n_f
                sigma = max(sigma, -(np.cos(angle) * x + np.sin(angle) * y))
        out[i, SLIDING] = sigma
        slips = sigma > STANDING * h.settings[UNIT_SPEED]
        out[i, STATE] = SEPARATE if h.sol.r[3 * i] <= 0.0 else (SLIP if slips else STICK)
        out[i, PAIR] = h.contacts.pair[i]
        out[i, FEATURE] = h.contacts.feature[i]
