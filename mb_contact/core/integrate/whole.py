# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What every whole step has in common: contacts, impulses, and the judgement of what it has gained.

``core/integrate/flow_step.py`` puts them together.
"""

from mb_contact.core.arrays import copy
from mb_contact.core.collision.closed_forms import NEAR
from mb_contact.core.constraints.loop import release_closures
from mb_contact.core.handle import DT, GAIN_LEFT, GAIN_MOST
from mb_contact.core.impact.phases import came_fast
from mb_contact.core.jit import kernel
from mb_contact.core.step.assemble import assemble
from mb_contact.core.step.by_need import review
from mb_contact.core.step.closing import derive
from mb_contact.core.step.end_gap import measure_end
from mb_contact.core.step.need import SPENT
from mb_contact.core.step.passing import leave_out_passers
from mb_contact.core.step.passivity import remove_gain
from mb_contact.core.step.problem import STEP, assemble_problem, solve
from mb_contact.core.step.push_out import drop_small_gaps
from mb_contact.core.step.report import remember, summarise
from mb_contact.core.step.sleep import fall_asleep, has_sleepers, merge_kept, wake_touched
from mb_contact.core.step.softness import recall_energy
from mb_contact.core.step.step import find_contacts, find_near, settle
from mb_contact.core.tree.gravity import gravity_of
from mb_contact.core.tree.spatial import vector_dot
from mb_contact.core.workspace import (
    BALANCE,
    BY_EULER,
    CONTACTS,
    ENERGY,
    ENERGY_GAINED,
    ENERGY_REMOVED,
    ENERGY_START,
    ITERATIONS,
    KINETIC,
    LIFTED,
    LIMITS,
    MAY_SLEEP,
    PIECES,
    POTENTIAL,
    PUSHED_OUT,
    RELEASED,
    REMOVED,
    TIME_STEPPED,
    TOLD,
    UNLAWFUL,
    WORK,
    WORK_DONE,
)
from mb_contact.types import (
    ASK_ENGINE,
    ASK_ON_WAY,
    CONTACTS_CHANGED,
    GAINED_ENERGY,
    IN_PARTS,
    LIMIT_MISSED,
    OK,
    TOO_MANY_CONTACTS,
)

PASSIVE = 1e-6  #: part of its kinetic energy that a step may gain without a force that did the work
ROUNDING = 1e-13  #: part of the energies that is rounding
NO_ENERGY = 1e-100  #: below it products of velocities have lost their digits [J]


@kernel
def keep_servos(h):
    """Which servos are at their limits before a step."""
    if h.joints.servos.shape[0] > 0:
        copy(h.v.shape[0], h.joints.saturation, h.work.saturation)


@kernel
def restore_servos(h):
    """As they were: the step has not been taken."""
    if h.joints.servos.shape[0] > 0:
        copy(h.v.shape[0], h.work.saturation, h.joints.saturation)


@kernel
def detect(h, answered):
    """Contacts of the state, behind the engine if it was asked; a status."""
    again = not answered
    while True:
        if again and find_near(h) > 0:
            return ASK_ENGINE
        status = find_contacts(h, h.buffers.found[NEAR])
        again = status == OK and has_sleepers(h) and wake_touched(h)
        if not again:
            break
    if status == OK and has_sleepers(h) and not merge_kept(h):
        status = TOO_MANY_CONTACTS
    return status


@kernel
def find_impulses(h):
    """Solve until every limit that the step reaches is in the problem, and settle; a status."""
    status = LIMIT_MISSED
    while status == LIMIT_MISSED or status == CONTACTS_CHANGED:  # one limit more, or other contacts
        assemble(h)
        leave_out_passers(h)
        status = assemble_problem(h)
        if status == OK and h.sleep.rule[MAY_SLEEP] != 0.0:
            drop_small_gaps(h)
            fall_asleep(h)
        if status == OK:
            status = solve(h, STEP)
        if status == OK:
            status = settle(h)
        if status == LIMIT_MISSED:
            h.need.info[SPENT] += h.work.info[ITERATIONS]
        if status == OK:
            status = came_fast(h, review(h))
    return IN_PARTS if status == ASK_ON_WAY else status


@kernel
def accept(h, lag, kinetic, potential, falling, impacts):
    """Judge what the concluded step has gained without work; a status.

    What is more than a rounding of the energy is taken out of the motion again (``passivity.py``), and the next step's
    warm start is kept.  Where it is too much for that the state is that before the step again: GAINED_ENERGY.

    Parameters
    ----------
    lag : float
        Of velocities behind positions [steps].
    kinetic, potential, falling : float
        Energies [J] and power of gravity [W] at its start.
    impacts : float
        Work done by impacts in it [J].
    """
    told, left, bound = energy_gain(h, lag, kinetic, potential, falling, work_done(h) + impacts)
    energy = h.work.contact_energy
    if not told <= bound:
        motion = _in_motion(h, kinetic, told)
        if not (told if lag == 0.0 else left) <= max(bound, h.settings[GAIN_MOST] * motion):
            copy(h.q.shape[0], h.work.q_start, h.q)
            copy(h.v.shape[0], h.work.v_start, h.v)
            if h.soft.energy.shape[0] > 0:
                recall_energy(h)
            derive(h)
            return GAINED_ENERGY
        if left > max(bound, h.settings[GAIN_LEFT] * motion):
            energy[REMOVED] += remove_gain(h, left)
    energy[TOLD] = told if told > bound else 0.0
    remember(h)
    return OK


@kernel
def work_done(h):
    """Work of all forces in the finished step [J]."""
    done = 0.0
    for i in range(h.work.work_terms.shape[0]):
        done += h.work.work_terms[i]
    return done


@kernel
def _in_motion(h, kinetic, gained):
    """Kinetic energy of a step that has gained so much: the larger one of both ends, and what a fall of a step has [J].
    """
    fall = 0.0
    for k in range(h.tree.mass.shape[0]):
        g = gravity_of(h.tree, h.gravity, k)
        fall += 0.5 * h.tree.mass[k] * vector_dot(g, g) * h.settings[DT] ** 2
    ended = h.work.energy[KINETIC] + h.work.contact_energy[REMOVED] - gained
    return max(max(kinetic, ended) + fall, NO_ENERGY)


@kernel
def account(h, impacts):
    """The numbers of the accepted step, in which impacts did so much work [J]."""
    done = work_done(h) + impacts
    summarise(h)
    measure_end(h)
    out, energy = h.work.record, h.work.contact_energy
    out[ENERGY_GAINED] = energy[TOLD]
    out[ENERGY_REMOVED] = energy[REMOVED]
    out[PIECES] = 1.0
    out[BY_EULER] = 0.0
    out[WORK] = done
    h.work.sums[WORK_DONE] += done
    out[BALANCE] = out[ENERGY] - h.work.sums[ENERGY_START] - h.work.sums[WORK_DONE]
    out[TIME_STEPPED] = 0.0
    out[RELEASED] = release_closures(h.closures, h.kin, h.memory, h.loop, h.settings[DT])


@kernel
def energy_gain(h, lag, kinetic, potential, falling, done):
    """(What the finished step has gained without the work ``done``, what is left of it, what is rounding) [J].

    The energies [J] and the power of gravity [W] are those at its start.  Contacts and limits can add no more than
    their push-out does; what those of a flow did add was removed group by group, and what an integrator adds is left.
    Euler's contacts add no more to the free motion (``energy_balance.py``), whatever moved along with them before.
    """
    work = h.work
    removed = work.contact_energy[REMOVED]
    unlawfully = removed - work.contact_energy[LIFTED]
    unlawful = work.contact_energy[UNLAWFUL]
    touch = work.work_terms[CONTACTS] + work.work_terms[LIMITS] + unlawful
    added = max(0.0, touch - work.contact_energy[PUSHED_OUT])
    own = work.energy[KINETIC] + work.energy[POTENTIAL] + removed - kinetic - potential - done - unlawful
    own += lag * h.settings[DT] * (work.falling[0] - falling)
    bound = PASSIVE * kinetic + ROUNDING * (kinetic + abs(potential)) + NO_ENERGY
    beyond = max(added - unlawfully, 0.0) if lag == 0.0 else 0.0
    return own + max(added, unlawfully), own + beyond, bound
