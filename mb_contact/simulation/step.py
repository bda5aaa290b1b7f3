# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One step of a simulation: detect, assemble, solve, integrate; refuse what runs away; certify the result."""

import numpy as np

from mb_contact.core.handle import DT, IMPACT_SPEED, PROJECTION
from mb_contact.core.integrate.flow_step import ANSWERED, ANSWERED_AT_END, BEGIN
from mb_contact.core.integrate.whole import account
from mb_contact.core.workspace import (
    BAD_BODY,
    BALANCE,
    COLUMNS,
    CONTACTS,
    ENERGY,
    HEAD,
    LANDINGS,
    POINTS,
    TIME_STEPPED,
    WORK,
)
from mb_contact.dynamics.arguments import singular_hinge_message
from mb_contact.errors import DynamicsError
from mb_contact.simulation.closing import project
from mb_contact.simulation.contact_step import ContactStep
from mb_contact.simulation.hinges import command_hinges
from mb_contact.simulation.results import Impact, Step
from mb_contact.simulation.runaway import refuse_runaway, watch
from mb_contact.simulation.state import LastStep
from mb_contact.types import ASK_AT_END, ASK_ENGINE, IN_PARTS, LOOP_LOST, NOT_FINITE, OK, SINGULAR_HINGE, STEP_TOO_SMALL


class Stepper:
    """Takes steps from the state of a simulation.

    Parameters
    ----------
    state : SimulationState
    """

    def __init__(self, state):
        self._state, self._context = state, state.context
        context = self._context
        self._projects = context.drift[PROJECTION] > 0.0 and context.couplings.rows > 0
        self._in_one_call = context.events is None and not self._projects and type(context.contact_step) is ContactStep
        self._last = None  # LastStep of a step in one call: those of one length start from the same arrays

    def step(self, dt, command):
        """Advance by dt [s] under commanded efforts (joints,), None for none; the Step.

        Raises
        ------
        DynamicsError
            A hinge carries no inertia, or the state runs away; the state has not changed.
        """
        state, context = self._state, self._context
        start = self._advance(dt, command)
        record = context.work.record
        numbers = record[: HEAD + COLUMNS * int(record.item(POINTS))].copy()
        time = state.finish_step(start, numbers.item(WORK))
        numbers[BALANCE] = numbers.item(ENERGY) - state.energy_start - state.work_done
        events = () if context.impacts is None else tuple(context.impacts.events)
        result = Step(time, numbers, context.contact_step.solver_names, context.pair_links, events)
        if numbers.item(LANDINGS):
            result.events += (self._landing(dt, result.certificate),)
        return result

    def _advance(self, dt, command):
        """The state after dt [s] under the commanded efforts, its numbers in ``work.record``; what it started from.

        After any failure all is as it was.
        """
        context, wrenches = self._context, self._context.wrenches
        effort, length = context.effort.tobytes(), context.settings.item(DT)
        saturation = context.joints.saturation.copy() if len(context.joints.servos) else 0.0
        driven = None if context.motions is None else context.motions.save()
        acting = (wrenches.save(), wrenches.applied, context.work.external.copy()) if wrenches.act else None
        try:
            context.effort.fill(0.0)
            if len(context.hinges.body):
                command_hinges(context, 0.0 if command is None else command, context.effort)
            elif command is not None:
                context.effort[context.world.joint_v] = command
            context.settings[DT] = dt
            if driven is not None:
                context.motions.begin(self._state.time, dt)
            if acting:
                wrenches.apply(context.kin, self._state.time + 0.5 * dt, context.work.external)
            return self._step_whole(dt) or self._step_in_parts(dt)
        except BaseException:
            context.effort[:], context.settings[DT] = np.frombuffer(effort), length
            context.joints.saturation[:] = saturation
            if driven is not None:
                context.motions.restore(driven)
            if acting:
                saved, wrenches.applied, context.work.external[:] = acting
                wrenches.restore(saved)
            raise

    def in_one_call(self):
        """Whether the scene's steps are one compiled call, but for what happens in some of them."""
        return self._in_one_call

    def _step_whole(self, dt):
        """One compiled call, and one more each time that the engine is asked; None where the step needs more."""
        context = self._context
        if not self._in_one_call:
            return None
        if context.impacts is not None:
            context.impacts.begin(self._state.time)
        integrator, handle = context.integrator, context.handle
        stage, status = BEGIN, integrator.step(handle, BEGIN)
        while status != OK:
            if status == IN_PARTS:
                return None
            if status == ASK_ENGINE:
                context.ask_engine()
                stage = ANSWERED
            elif status == ASK_AT_END:
                integrator.ask_engine()
                stage = ANSWERED_AT_END
            elif context.make_room(status):
                stage, handle = min(stage, ANSWERED), context.handle
            else:
                raise self._error(status)
            status = integrator.step(handle, stage)
        work, last = context.work, self._last
        if last is None or last.q is not work.q_start or last.dt != dt:
            last = self._last = LastStep(work.q_start, work.v_start, work.gravity_start, dt)
        return last

    def _step_in_parts(self, dt):
        """As ``_step_whole``, with all that a step may need."""
        context, state = self._context, self._state
        last = LastStep(context.q.copy(), context.v.copy(), context.gravity.copy(), dt)
        start, before, falling = watch(state, dt), context.work.energy.tolist(), float(context.work.falling[0])
        status = self._move() if context.events is None else context.events.run(state.time, dt)
        if status != OK:
            raise self._error(status)
        impacts = 0.0 if context.impacts is None else context.impacts.work_done
        if start is not None:
            refuse_runaway(state, start, sum(context.work.work_terms.tolist()) + impacts)
        integrator = context.integrator
        account(context.handle, integrator.lag, integrator.removes_gains, *before, falling, impacts)
        if context.events is not None:
            context.work.record[TIME_STEPPED] = context.events.time_stepped
        return last

    def _move(self):
        """Detect, solve and move once; returns a status."""
        context = self._context
        context.time = self._state.time
        if context.impacts is not None:
            context.impacts.begin(context.time)
        count = context.find_candidates()
        status = context.contact_step.finish(context.handle, count)
        while context.make_room(status):
            status = context.contact_step.finish(context.handle, count)
        if status == OK and self._projects:
            project(context)
        return status

    def _landing(self, dt, certificate):
        """Impact of the contacts without restitution that the problem of a step of dt [s] has stopped.

        Impulses and the energy that contacts take are the step's: weight and friction are in them too.
        """
        context, contacts, solution = self._context, self._context.contacts, self._context.solution
        normal = slice(0, 3 * certificate.contacts, 3)
        fast = solution.before[normal] < -context.settings[IMPACT_SPEED]
        stopped = np.flatnonzero(fast & (solution.r[normal] > 0.0))
        return Impact(
            time=self._state.time - dt,
            links=tuple(context.pair_links[pair] for pair in contacts.pair[stopped]),
            points=contacts.point[stopped],
            normals=contacts.normal[stopped],
            speeds=solution.before[normal][stopped],
            restitution=np.zeros(len(stopped)),
            compression=context.work.contact_impulse[stopped],
            decompression=np.zeros((len(stopped), 3)),
            energy_before=certificate.energy - float(context.work.work_terms[CONTACTS]),
            energy_compressed=certificate.energy,
            energy_after=certificate.energy,
            law="inelastic",
            scale=1.0,
            residual=certificate.residual,
        )

    def _error(self, status):
        """DynamicsError of a status that is not OK."""
        context, time = self._context, f"t = {self._state.time:.6g} s"
        if status == SINGULAR_HINGE:
            return DynamicsError(singular_hinge_message(context.world, int(context.work.info[BAD_BODY])))
        messages = {
            NOT_FINITE: f"the velocity after {time} is not finite: the state has run away, lower the time step or the "
            "efforts",
            STEP_TOO_SMALL: f"the integrator {context.scene.integrator} does not meet its tolerance in the step after "
            f"{time}: lower the time step or the efforts, or raise the tolerance",
            LOOP_LOST: f"an embedded loop cannot be closed after the step from {time}: lower the time step, or set "
            "'loops: multipliers'",
        }
        return DynamicsError(messages.get(status, f"the step failed with status {status}"))
