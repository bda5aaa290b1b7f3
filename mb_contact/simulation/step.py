# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One step of a simulation: detect, assemble, solve, integrate; refuse what runs away; certify the result."""

import numpy as np

from mb_contact.core.constraints.bilateral import COUNT
from mb_contact.core.handle import DT, IMPACT_SPEED, PROJECTION
from mb_contact.core.step.passivity import remove_gain
from mb_contact.core.workspace import BAD_BODY, CONTACTS, GAP, KINETIC, LANDED, LIMITS, POTENTIAL
from mb_contact.dynamics.arguments import singular_hinge_message
from mb_contact.errors import DynamicsError
from mb_contact.simulation.closing import project
from mb_contact.simulation.results import Certificate, Impact, Step
from mb_contact.simulation.runaway import refuse_runaway, watch
from mb_contact.simulation.state import LastStep
from mb_contact.types import NOT_FINITE, OK, SINGULAR_HINGE, STEP_TOO_SMALL, SYSTEM_TOO_SMALL, TOO_MANY_CONTACTS

PASSIVE = 1e-6  #: part of its kinetic energy that a step may gain without a force that did the work
ROUNDING = 1e-13  #: part of the energies that is rounding


class Stepper:
    """Takes steps from the state of a simulation.

    Parameters
    ----------
    state : SimulationState
    """

    def __init__(self, state):
        self._state, self._context = state, state.context
        self._gained = self._removed = 0.0  # by the last step [J]

    def step(self, dt, command):
        """Advance by dt [s] under commanded efforts (joints,); the Step.

        Raises
        ------
        DynamicsError
            A hinge carries no inertia, or the state runs away; the state has not changed.
        """
        state, context, impacts = self._state, self._context, self._context.impacts
        start = LastStep(context.q.copy(), context.v.copy(), context.gravity.copy(), dt)
        state.finish_step(start, self._advance(dt, command))
        certificate = self._certificate()
        events = () if impacts is None else tuple(impacts.events)
        if context.work.info[LANDED]:
            events += (self._landing(dt, certificate),)
        table = context.work.report[: certificate.contacts].copy()
        return Step(state.time, certificate, table, context.pair_links, events)

    def _advance(self, dt, command):
        """The state after dt [s] under the commanded efforts; after any failure all is as it was.

        Returns the work of efforts, damping, contacts, limits, wrenches, loops and impacts [J].
        """
        context, time = self._context, self._state.time
        wrenches, effort, length = context.wrenches, context.effort.copy(), context.settings[DT]
        acting, applied, external = wrenches.save(), wrenches.applied, context.work.external.copy()
        start, before, falling = watch(self._state, dt), context.work.energy.tolist(), float(context.work.falling[0])
        try:
            context.effort[:] = 0.0
            context.effort[context.world.joint_v] = command
            context.dt = dt
            wrenches.apply(context.kin, time + 0.5 * dt, context.work.external)
            status = self._move() if context.events is None else context.events.run(time, dt)
            if status != OK:
                raise self._error(status)
            impacts = 0.0 if context.impacts is None else context.impacts.work_done
            work = sum(context.work.work_terms.tolist()) + impacts
            if start is not None:
                refuse_runaway(self._state, start, work)
            self._check_energy(dt, work, before, falling)
            return work
        except BaseException:
            context.effort[:], context.dt, context.work.external[:] = effort, length, external
            wrenches.restore(acting)
            wrenches.applied = applied
            raise

    def _check_energy(self, dt, work, before, falling):
        """What the finished step of dt [s] has gained without ``work`` [J]; a flow is slowed down by it (passivity.py).

        Energies ``before`` [J] and the power of gravity then, ``falling`` [W], are those at the start of the step.
        Contacts and limits can add no more than their push-out does; what they did add was removed group by group.
        """
        arrays, integrator = self._context.work, self._context.integrator
        touch = float(arrays.work_terms[CONTACTS] + arrays.work_terms[LIMITS])
        _, pushed, unlawful, removed = arrays.contact_energy.tolist()
        gain = self._state.energy() + removed - sum(before) - work - unlawful + max(0.0, touch + unlawful - pushed)
        gain += integrator.lag * dt * (float(arrays.falling[0]) - falling)
        bound = PASSIVE * before[KINETIC] + ROUNDING * (before[KINETIC] + abs(before[POTENTIAL]))
        self._gained, self._removed = (gain if gain > bound else 0.0), removed
        if integrator.removes_gains and gain - removed > bound:
            self._removed += remove_gain(self._context.handle, gain - removed)

    def _move(self):
        """Detect, solve and move once; returns a status."""
        context = self._context
        context.time = self._state.time
        if context.impacts is not None:
            context.impacts.begin(context.time)
        count = context.find_candidates()
        status = context.contact_step.finish(context.handle, count)
        while status in (TOO_MANY_CONTACTS, SYSTEM_TOO_SMALL):
            context.grow(contacts=1 + (status == TOO_MANY_CONTACTS), fill=1 + (status == SYSTEM_TOO_SMALL))
            status = context.contact_step.finish(context.handle, count)
        if status == OK and context.drift[PROJECTION] > 0.0 and context.world.couplings.rows:
            project(context)
        return status

    def _certificate(self):
        context, state = self._context, self._state
        work, solution, bilateral = context.work, context.solution, context.bilateral
        contacts = int(context.contacts.count[0])
        gap, infeasible, cone, *_ = solution.residuals.tolist()
        stage, iterations, *_ = work.info.tolist()
        kinetic, potential = work.energy.tolist()
        gained, pushed, unlawful, _ = work.contact_energy.tolist()
        ray, gain = solution.proof.tolist()
        rows = int(bilateral.info[COUNT])
        residual, closure, speed = bilateral.residuals.tolist() if rows else (0.0, 0.0, 0.0)
        energy = kinetic + potential
        return Certificate(
            complementarity_gap=gap,
            infeasibility=infeasible,
            cone_violation=cone,
            penetration=max(0.0, -min(work.report[:contacts, GAP].tolist())) if contacts else 0.0,
            solver=context.contact_step.solver_names[stage],
            iterations=iterations,
            contacts=contacts,
            energy=energy,
            energy_balance=energy - state.energy_start - state.work_done,
            kinetic_energy=kinetic,
            contact_energy=gained,
            push_out_energy=pushed,
            contact_error=unlawful,
            energy_gained=self._gained,
            energy_removed=self._removed,
            loop_residual=residual,
            loop_velocity=speed,
            closure_error=closure,
            loop_rows=rows,
            ray=ray,
            ray_gain=gain,
            time_stepped=0.0 if context.events is None else context.events.time_stepped,
        )

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
        }
        return DynamicsError(messages.get(status, f"the step failed with status {status}"))
