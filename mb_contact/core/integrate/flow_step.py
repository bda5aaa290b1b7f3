# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A whole step of an integrator with a flow: one call, and one more for each time that an engine is asked.

    find_near -> (engine) -> find_contacts -> flow without impulses -> find_impulses
      -> look_at_end -> (engine) -> solve_at_end -> flow with the impulses -> conclude -> energy, summary

Which flow it is, is a number in the flow's arrays: what a scene does not use is never compiled.
"""

from mb_contact.core.collision.closed_forms import ASKED
from mb_contact.core.handle import DT, HAPPEN
from mb_contact.core.impact.phases import step_collides
from mb_contact.core.integrate.flow import begin_free_flow, conclude_flow, free_velocity
from mb_contact.core.integrate.held_servos import saturate_flow
from mb_contact.core.integrate.kept_contacts import hold_impulses, look_at_end, solve_at_end
from mb_contact.core.integrate.midpoint import midpoint_flow
from mb_contact.core.integrate.runge_kutta import adaptive_flow, fixed_flow
from mb_contact.core.integrate.whole import accept, account, detect, find_impulses, keep_servos, restore_servos
from mb_contact.core.jit import kernel, unlocked
from mb_contact.core.workspace import KINETIC, LANDINGS, POTENTIAL
from mb_contact.types import ASK_AT_END, IN_PARTS, LIMIT_MISSED, OK

FIXED, ADAPTIVE, MIDPOINT = range(3)  #: entry of FlowArrays.rule: one step of a tableau, as many as needed, midpoint
BEGIN, ANSWERED, ANSWERED_AT_END = range(3)  #: where a step goes on: an engine is asked twice at most


@kernel
def flow_step(h, f, p, stage):
    """From a state to the next; a status, and with any but OK the state is the one before.

    Parameters
    ----------
    p : PosesArraysHandle
        Room for the poses and contacts where the flow ends.
    stage : int
        BEGIN to begin the step.  Behind ASK_ENGINE, with its witnesses in ``buffers.witness``, ANSWERED; behind
        ASK_AT_END, with those in ``p.buffers.witness``, ANSWERED_AT_END.  Behind statuses that ask for larger
        workspaces BEGIN or ANSWERED, as before.
    """
    status = OK
    kinetic, potential, falling = h.work.energy[KINETIC], h.work.energy[POTENTIAL], h.work.falling[0]
    if stage != ANSWERED_AT_END:
        status = detect(h, stage == ANSWERED)
        if status == OK:
            status = free_flow(h, f)
        if status == OK and h.impact[HAPPEN] != 0.0 and step_collides(h):
            return IN_PARTS
        if status == OK:
            status = find_flow_impulses(h, f)
        if status != OK:
            return status
        look_at_end(h, f, p)
        if p.buffers.found[ASKED] > 0:
            return ASK_AT_END
    status = solve_at_end(h, f, p)
    if status == LIMIT_MISSED:
        status = find_flow_impulses(h, f)
    if status == OK:
        status = flow_with_impulses(h, f)
    if status == OK:
        status = conclude_flow(h, f)
    if status == OK:
        status = accept(h, 0.0, kinetic, potential, falling, 0.0)
    if status == OK:
        account(h, 0.0)
    return status


@unlocked
def long_flow_step(h, f, p, stage):
    """``flow_step`` without Python's lock, for worlds whose steps take longer than its way there and back."""
    return flow_step(h, f, p, stage)


@unlocked
def flow_steps(h, f, p, count):
    """Up to ``count`` steps under the same efforts, as ``euler_steps`` takes them; how many."""
    for i in range(count):
        keep_servos(h)
        if flow_step(h, f, p, BEGIN) != OK:
            restore_servos(h)
            return i
        if h.work.record[LANDINGS] > 0.0:
            return i + 1
    return count


@kernel
def find_flow_impulses(h, f):
    """``find_impulses``, again from the flow without impulses while servos reach their limits or leave them; a status.
    """
    status = find_impulses(h)
    while status == OK and h.joints.servos.shape[0] > 0 and saturate_flow(h, f):
        status = free_flow(h, f)
        if status == OK:
            status = find_impulses(h)
    return status


@kernel
def advance(h, f, dt):
    """Flow for dt [s] from ``q_start``, ``v_start`` to ``q_end``, ``v_end``; a status.

    The handle's state and kinematics are left alone; where it takes several steps, the start moves on.
    """
    if f.rule[0] == FIXED:
        return fixed_flow(h, f, dt)
    if f.rule[0] == ADAPTIVE:
        return adaptive_flow(h, f, dt)
    return midpoint_flow(h, f, dt)


@kernel
def free_flow(h, f):
    """Velocity after the step without contacts, into ``work.v_free``; a status."""
    begin_free_flow(h, f)
    f.ends_free[0] = 1
    status = advance(h, f, h.settings[DT])
    return free_velocity(h, f) if status == OK else status


@kernel
def flow_with_impulses(h, f):
    """The flow of the step with the solved impulses, from its start; a status."""
    if not hold_impulses(h, f) and f.ends_free[0] != 0:
        return OK  # nothing acts
    f.ends_free[0] = 0
    for i in range(f.guess.shape[0]):
        f.guess[i] = 0.5 * (f.v_start[i] + h.work.v_next[i])
    return advance(h, f, h.settings[DT])
