# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A whole step by any rule: one call, and one more for each time that an engine is asked.

    find_near -> (engine) -> find_contacts -> motion without impulses -> find_impulses
      -> of a flow: look_at_end -> (engine) -> solve_at_end -> flow with the impulses
      -> conclude -> accept -> account

Euler's rule, v+ = v + dt v_dot(q, v) and q+ = q o exp(dt v+), is the one that needs no flow.  Which rule it is, is a
number in the flow's arrays: what a scene does not use is never compiled.  Steps of studies, impacts, events and the
projection of loops take the same kernels one by one (``simulation/stepping/contact_step.py``).
"""

import numpy as np

from mb_contact.core.arrays import copy, fill
from mb_contact.core.collision.closed_forms import ASKED
from mb_contact.core.handle import ADAPTIVE, DT, EULER, FIXED, HAPPEN
from mb_contact.core.impact.phases import step_collides
from mb_contact.core.integrate.flow import begin_free_flow, conclude_flow, free_velocity
from mb_contact.core.integrate.held_servos import saturate_flow
from mb_contact.core.integrate.kept_contacts import hold_impulses, look_at_end, solve_at_end
from mb_contact.core.integrate.midpoint import midpoint_flow
from mb_contact.core.integrate.runge_kutta import adaptive_flow, fixed_flow
from mb_contact.core.integrate.whole import accept, account, detect, find_impulses, keep_servos, restore_servos
from mb_contact.core.jit import INTEGER, TRUTH, kernel, on_demand, unlocked
from mb_contact.core.step.closing import keep_state
from mb_contact.core.step.need import SPENT
from mb_contact.core.step.sleep import stays, wake_all, watch_rest
from mb_contact.core.step.step import conclude, saturate, smooth_dynamics
from mb_contact.core.workspace import ITERATIONS, KINETIC, LANDINGS, MAY_SLEEP, POINTS, POTENTIAL
from mb_contact.types import ASK_AT_END, GAINED_ENERGY, IN_PARTS, LIMIT_MISSED, OK

BEGIN, ANSWERED, ANSWERED_AT_END = range(3)  #: where a step goes on: an engine is asked twice at most
NOT_TAKEN, LANDED = -1, -2  #: what ``quick_step`` returns in the place of a number of contact points
EULER_LAG = 0.5  #: of velocities behind positions [steps]: a free fall keeps E + dt/2 times the power of gravity


@kernel
def whole_step(h, stage):
    """From a state to the next; a status, and with any but OK the state is the one before.

    Parameters
    ----------
    stage : int
        BEGIN to begin the step.  Behind ASK_ENGINE, with its witnesses in ``buffers.witness``, ANSWERED; behind
        ASK_AT_END, with those in ``ends.buffers.witness``, ANSWERED_AT_END.  Behind statuses that ask for larger
        workspaces BEGIN or ANSWERED, as before.
    """
    euler = h.flow.rule[0] == EULER
    may_sleep = h.sleep.rule[MAY_SLEEP] != 0.0
    if may_sleep and stage == BEGIN and stays(h):
        keep_state(h)
        return OK
    kinetic, potential, falling = h.work.energy[KINETIC], h.work.energy[POTENTIAL], h.work.falling[0]
    status = OK
    if stage != ANSWERED_AT_END:
        status = detect(h, stage == ANSWERED)
        if status == OK:
            status = free_motion(h)
        if status == OK and h.impact[HAPPEN] != 0.0 and step_collides(h):
            status = IN_PARTS
        if status == OK:
            status = find_settled_impulses(h)
    if status == OK and not euler:
        status = hold_flow(h, stage)
    if status == OK:
        status = conclude(h) if euler else conclude_by_flow(h)
    if status == OK:
        status = accept(h, EULER_LAG if euler else 0.0, kinetic, potential, falling, 0.0)
    if may_sleep and (status == IN_PARTS or status == GAINED_ENERGY):
        wake_all(h)
    if status == OK:
        account(h, 0.0)
        if may_sleep:
            watch_rest(h)
    return status


@kernel
def put_command(h):
    """``h.command`` as efforts; what is no joint has none."""
    fill(h.effort.shape[0], h.effort, 0.0)
    for j in range(h.command.shape[0]):
        h.effort[h.joint_v[j]] = h.command[j]


@kernel
def quick_step(h, dt, commanded):
    """``whole_step`` of dt [s] under the efforts ``h.command``, or under none: what a step of Python's mostly is.

    Returns
    -------
    int
        How many contact points the step has.  LANDED where it has stopped something without an impact of its own, and
        NOT_TAKEN where it needs more, with all as before.
    """
    for j in range(h.command.shape[0] if commanded else 0):
        if not np.isfinite(h.command[j]):
            return NOT_TAKEN
    length = h.settings[DT]
    copy(h.state.shape[0], h.state, h.kept_state)
    h.settings[DT] = dt
    if commanded:
        put_command(h)
    else:
        fill(h.effort.shape[0], h.effort, 0.0)
    if whole_step(h, BEGIN) != OK:
        h.settings[DT] = length
        copy(h.state.shape[0], h.kept_state, h.state)
        return NOT_TAKEN
    return LANDED if h.work.record[LANDINGS] > 0.0 else np.int64(h.work.record[POINTS])


@unlocked
def long_step(h, stage):
    """``whole_step`` without Python's lock."""
    return whole_step(h, stage)


@unlocked
def long_quick_step(h, dt, commanded):
    """``quick_step`` without Python's lock, for worlds whose steps take longer than its way there and back.

    Two threads with a box on a table each took twice the time of one thread with both.
    """
    return quick_step(h, dt, commanded)


@unlocked
def many_steps(h, count):
    """Up to ``count`` steps under the same efforts, without Python's lock; how many.

    The last of them has a landing, or is followed by one for which ``whole_step`` needs Python.
    """
    for i in range(count):
        keep_servos(h)
        if whole_step(h, BEGIN) != OK:
            restore_servos(h)
            return i
        if h.work.record[LANDINGS] > 0.0:
            return i + 1
    return count


@kernel
def free_motion(h):
    """Velocity after the step without contacts, into ``work.v_free``; a status."""
    return smooth_dynamics(h) if h.flow.rule[0] == EULER else free_flow(h)


@kernel
def find_settled_impulses(h):
    """``find_impulses``, again from the free motion while servos reach their limits or leave them; a status."""
    status = find_impulses(h)
    while status == OK and h.joints.servos.shape[0] > 0 and saturated(h):
        h.need.info[SPENT] += h.work.info[ITERATIONS]
        status = free_motion(h)
        if status == OK:
            status = find_impulses(h)
    return status


@kernel
def saturated(h):
    """Whether servos were taken at their limits, or not, that are otherwise."""
    return saturate(h) if h.flow.rule[0] == EULER else saturated_by_flow(h)


@on_demand(TRUTH)
def saturated_by_flow(h):
    """``saturated`` of a flow."""
    return saturate_flow(h, h.flow)


@on_demand(INTEGER)
def hold_flow(h, stage):
    """The flow again with the solved impulses as forces, behind a look at its end; a status, also ASK_AT_END."""
    if stage != ANSWERED_AT_END:
        look_at_end(h, h.flow, h.ends)
        if h.ends.buffers.found[ASKED] > 0:
            return ASK_AT_END
    status = solve_at_end(h, h.flow, h.ends)
    if status == LIMIT_MISSED:
        status = find_settled_impulses(h)
    return flow_with_impulses(h) if status == OK else status


@on_demand(INTEGER)
def conclude_by_flow(h):
    """``conclude`` of a flow; a status."""
    return conclude_flow(h, h.flow)


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


@on_demand(INTEGER)
def free_flow(h):
    """``free_motion`` of a flow; a status."""
    begin_free_flow(h, h.flow)
    h.flow.ends_free[0] = 1
    status = advance(h, h.flow, h.settings[DT])
    return free_velocity(h, h.flow) if status == OK else status


@kernel
def flow_with_impulses(h):
    """The flow of the step with the solved impulses, from its start; a status."""
    f = h.flow
    if not hold_impulses(h, f) and f.ends_free[0] != 0:
        return OK  # nothing acts
    f.ends_free[0] = 0
    for i in range(f.guess.shape[0]):
        f.guess[i] = 0.5 * (f.v_start[i] + h.work.v_next[i])
    return advance(h, f, h.settings[DT])
