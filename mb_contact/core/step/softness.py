# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts of materials that give way: springs and dampers within the laws of the contact problem.

Compressed by d, a surface presses with k d + c d', and sheared by s it holds with -k_t s - c_t s', c = tau k.  Taken at
the end of the step, where d+ = d - dt u_n and s+ = s + dt (u_t - slip), this is the law of the rigid contact with

    u_n + C r_n - f d / dt,      u_t + C_t r_t + f s / dt,      C = 1 / (k dt^2 + c dt),    f = k dt / (k dt + c)

in the place of the velocities u: r_n >= 0, the slip is against the friction, |r_t| <= mu r_n, all as before.  So C is
a compliance of the row's own (``solve/own_compliance.py``), its spring is implicit, and the rigid law the limit of
large k.  k is that of the point, or of an area times that of the point, or of Hertz' law F = K d^(3/2) the secant
K sqrt(d) at the compression that the free motion leads to: stiffer than that at d+, so that no energy is gained.

Compressed is a contact by its penetration, of which no more counts than twice what its pair was compressed by behind
the last step: what lies deeper is an error of the second order, and pushed out as of rigid bodies.  How far a point is
sheared is part of the state.  Where k_t has grown since, s shrinks with it: the force stays, no energy is gained.

The points of a foundation come and go under what slides and tips.  What they store together when a step begins is
never more than behind the last step: where they lie deeper all their d and s are smaller by one factor.  From such a
state a foundation comes back by what it would lose: of the loss of a point,

    - r u+ - (E+ - E) >= 0,

with velocities u+ behind the step and E, E+ the point's energy before and after, so much is kept as its depth asks for.
"""

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.constraints.rows import gap_velocity
from mb_contact.core.handle import DT, PUSH_RATE, PUSH_SPEED, UNIT_LENGTH
from mb_contact.core.jit import NOTHING, kernel, on_demand
from mb_contact.core.step.need import is_soft
from mb_contact.core.tree.spatial import ZERO, vector, vector_dot, vector_product, vector_sum
from mb_contact.core.workspace import CONTACTS, GAINED
from mb_contact.types import FOUNDATION, HERTZ

CREDIBLE = 2.0  #: times the largest compression of a pair behind the last step, up to which penetration is compression
UNTOUCHED = 1e-12  #: [m] compression, and
BARELY = 1e-3  #: part of that at the start, at which Hertz' stiffness is taken at least
COMPRESSED, SHEARED, ACROSS, ENERGY = 0, 1, 3, 4  #: entries of ``Memory.stretch``


@on_demand(NOTHING)
def soften(h):
    """Compliances of the rows of soft contacts, and their offsets.

    ``sol.q`` are the velocities of the free motion, without offsets.

    Reads: contacts, frames, geoms, memory, rows, settings, soft, sol, work.  Writes: rows, soft.
    """
    fill(h.rows.compliance.shape[0], h.rows.compliance, 0.0)
    contacts = h.contacts
    i = 0
    while i < contacts.count[0]:
        pair, end = contacts.pair[i], i + 1
        while end < contacts.count[0] and contacts.pair[end] == pair:
            end += 1
        if is_soft(h.geoms, pair):
            most, shear = _last_stretch(h, pair, vector(contacts.normal, i))
            for k in range(i, end):
                _stretch(h, k, most, shear)
            if h.geoms.soft.law[pair] == FOUNDATION:
                _bound_energy(h, pair, i, end)
            for k in range(i, end):
                _soften(h, k)
        i = end


@kernel
def _last_stretch(h, pair, n):
    """(Largest compression, mean shear) of the contacts of a pair that pressed in the last step, world axes [m]."""
    memory, most, sum_of, count = h.memory, 0.0, ZERO, 0
    for j in range(memory.count[0]):
        if memory.pair[j] == pair and memory.impulse[j, 0] > 0.0:
            most = max(most, memory.stretch[j, COMPRESSED])
            sum_of = vector_sum(sum_of, 1.0, _shear_of(memory, j, n))
            count += 1
    return most, vector_sum(ZERO, 1.0 / max(count, 1), sum_of)


@kernel
def _shear_of(memory, j, n):
    """Shear of contact j of the last step, whose normal is now n, world axes [m]."""
    t = vector(memory.tangent, j)
    along = vector_sum(ZERO, memory.stretch[j, SHEARED], t)
    return vector_sum(along, memory.stretch[j, SHEARED + 1], vector_product(n, t))


@kernel
def _stretch(h, i, most, shear):
    """Stiffness of contact i, whose pair was compressed and sheared so far behind the last step, and what it is now."""
    soft, dt, row = h.soft, h.settings[DT], 3 * i
    pairs, pair, gap, unit = h.geoms.soft, h.contacts.pair[i], h.contacts.gap[i], h.settings[UNIT_LENGTH]
    deep = max(-gap, 0.0)
    start = min(deep, CREDIBLE * most) if most > 0.0 else deep
    free = max(-(gap + dt * h.sol.q[row]), max(BARELY * start, UNTOUCHED * unit))
    k = pairs.stiffness[pair]
    tangent = 1.0
    if pairs.law[pair] == FOUNDATION:
        k *= h.contacts.area[i]
    elif pairs.law[pair] == HERTZ:
        k *= np.sqrt(free)
        tangent = 1.5
    soft.start[i], soft.stiffness[i, 0], soft.stiffness[i, 1] = start, k, tangent * pairs.shear[pair] * k
    j, across = h.frames.known[i], soft.stiffness[i, 1]
    if j >= 0:
        shear = ZERO
        if h.memory.impulse[j, 0] > 0.0:
            factor = min(1.0, h.memory.stretch[j, ACROSS] / across) if across > 0.0 else 0.0
            shear = vector_sum(ZERO, factor, _shear_of(h.memory, j, vector(h.contacts.normal, i)))
    elif pairs.law[pair] == FOUNDATION or across == 0.0:
        shear = ZERO
    soft.shear[i, 0] = vector_dot(shear, vector(h.frames.t1, i))
    soft.shear[i, 1] = vector_dot(shear, vector(h.frames.t2, i))


@kernel
def _bound_energy(h, pair, first, end):
    """Contacts ``first`` to before ``end``, of a foundation, store no more than theirs did behind the last step.

    A pair that had none begins as deep as it stands.
    """
    soft, stored, kept, known = h.soft, 0.0, 0.0, False
    for i in range(first, end):
        stored += _energy(h, i, soft.start[i], soft.shear[i, 0], soft.shear[i, 1])
    for j in range(h.memory.count[0]):
        if h.memory.pair[j] == pair:
            known = True
            kept += h.memory.stretch[j, ENERGY]
    if not known or stored <= kept:
        return
    factor = np.sqrt(kept / stored)
    for i in range(first, end):
        soft.start[i] *= factor
        soft.shear[i, 0] *= factor
        soft.shear[i, 1] *= factor


@kernel
def _soften(h, i):
    """Compliances and offsets of contact i, compressed and sheared as it is."""
    soft, rows, dt, row = h.soft, h.rows, h.settings[DT], 3 * i
    pair, start, gap = h.contacts.pair[i], soft.start[i], h.contacts.gap[i]
    length = dt + h.geoms.soft.time[pair]
    part, beyond = dt / length, gap + start
    if h.geoms.soft.law[pair] == FOUNDATION:
        beyond = max(beyond, 0.0)
    rows.compliance[row] = 1.0 / (soft.stiffness[i, 0] * dt * length)
    rows.offset[row] = gap_velocity(beyond, dt, h.settings[PUSH_RATE], h.settings[PUSH_SPEED], h.settings[UNIT_LENGTH])
    rows.offset[row] += h.work.gap_shift[i] / dt + h.work.row_bias[i, 0] - part * start / dt
    across = soft.stiffness[i, 1]
    for a in range(2 if across > 0.0 else 0):
        rows.compliance[row + 1 + a] = 1.0 / (across * dt * length)
        rows.offset[row + 1 + a] += part * soft.shear[i, a] / dt


@kernel
def _energy(h, i, compressed, x, y):
    """Elastic energy of contact i [J]."""
    k = h.soft.stiffness[i, 0] * compressed
    if h.geoms.soft.law[h.contacts.pair[i]] == HERTZ:
        k = 0.8 * h.geoms.soft.stiffness[h.contacts.pair[i]] * compressed**1.5
    return 0.5 * k * compressed + 0.5 * h.soft.stiffness[i, 1] * (x * x + y * y)


@on_demand(NOTHING)
def keep_stretch(h):
    """How far soft contacts are compressed and sheared behind the step, their energy, and what of it is no work.

    Work of contacts is what they take out of the motion and do not keep.

    Reads: contacts, geoms, rows, settings, soft, sol, work.  Writes: soft, work.
    """
    soft, rows, sol, dt, work = h.soft, h.rows, h.sol, h.settings[DT], h.work
    soft.energy[0] = 0.0
    for i in range(h.contacts.count[0]):
        end, row = soft.end[i], 3 * i
        fill(5, end, 0.0)
        if not is_soft(h.geoms, h.contacts.pair[i]):
            continue
        part = dt / (dt + h.geoms.soft.time[h.contacts.pair[i]])
        for r in range(row, row + 3):  # velocities of the rows have what gives way
            own = 0.5 * rows.compliance[r] * sol.r[r] * sol.r[r]
            work.work_terms[CONTACTS] -= own
            work.contact_energy[GAINED] -= own
        end[ACROSS] = soft.stiffness[i, 1]
        if sol.r[row] > 0.0:
            end[COMPRESSED] = max(0.0, dt * rows.compliance[row] * sol.r[row] + (1.0 - part) * soft.start[i])
            for a in range(2 if end[ACROSS] > 0.0 else 0):
                moved = dt * rows.compliance[row + 1 + a] * sol.r[row + 1 + a]
                end[SHEARED + a] = (1.0 - part) * soft.shear[i, a] - moved
        else:
            apart = max(h.contacts.gap[i], 0.0) + dt * (sol.u[row] - rows.offset[row])
            end[COMPRESSED] = max(0.0, soft.start[i] - apart)
        before = _energy(h, i, soft.start[i], soft.shear[i, 0], soft.shear[i, 1])
        end[ENERGY] = _energy(h, i, end[COMPRESSED], end[SHEARED], end[SHEARED + 1])
        if h.geoms.soft.law[h.contacts.pair[i]] == FOUNDATION:
            end[ENERGY] += _restored(h, i, end[ENERGY] - before)
        soft.energy[0] += end[ENERGY]
        work.work_terms[CONTACTS] += end[ENERGY] - before


@kernel
def _restored(h, i, gained):
    """What contact i, whose springs have gained so much, keeps of its loss because it lies deeper than compressed [J].
    """
    rows, sol, row, lost = h.rows, h.sol, 3 * i, -gained
    for r in range(row, row + 3):
        lost -= sol.r[r] * (sol.u[r] - rows.compliance[r] * sol.r[r] - rows.offset[r] + rows.carried[r])
    moved = sol.u[row] - rows.compliance[row] * sol.r[row] - rows.offset[row]
    deep, end = max(0.0, -(h.contacts.gap[i] + h.settings[DT] * moved)), h.soft.end[i]
    missing = _energy(h, i, deep, end[SHEARED], end[SHEARED + 1]) - end[ENERGY]
    return max(0.0, min(lost, missing))


@on_demand(NOTHING)
def recall_energy(h):
    """The elastic energy behind the last step, where the present one is not taken.

    Reads: memory, soft.  Writes: soft.
    """
    h.soft.energy[0] = 0.0
    for j in range(h.memory.count[0]):
        h.soft.energy[0] += h.memory.stretch[j, ENERGY]
