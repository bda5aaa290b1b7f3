# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One step of a simulation: detect, assemble, solve, integrate; again in pieces where it gains; certify the result."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from mb_contact.checks import as_positive, as_vector, as_whole
from mb_contact.core.handle import DT, IMPACT_SPEED, PROJECTION
from mb_contact.core.integrate.flow_step import ANSWERED, ANSWERED_AT_END, BEGIN, LANDED, NOT_TAKEN
from mb_contact.core.integrate.whole import account
from mb_contact.core.workspace import (
    BAD_BODY,
    BY_EULER,
    COLUMNS,
    CONTACTS,
    HEAD,
    LANDINGS,
    PIECES,
    POINTS,
    TIME_STEPPED,
)
from mb_contact.dynamics.arguments import singular_hinge_message
from mb_contact.errors import DynamicsError
from mb_contact.simulation.handling import Held
from mb_contact.simulation.joints.hinges import command_hinges
from mb_contact.simulation.results import Impact, Step
from mb_contact.simulation.state import LastStep
from mb_contact.simulation.stepping.closing import project
from mb_contact.simulation.stepping.contact_step import ContactStep
from mb_contact.simulation.stepping.pieces import REFUSED, Pieces
from mb_contact.types import (
    ASK_AT_END,
    ASK_ENGINE,
    GAINED_ENERGY,
    IN_PARTS,
    JOINT_FLOATING,
    LOOP_LOST,
    NOT_FINITE,
    OK,
    SINGULAR_HINGE,
    STEP_TOO_SMALL,
)

UNEVEN = 1e4  #: ratio of masses from which a flow that has run away is told of it
MOST = 256  #: steps of one compiled call: between two, Python can be interrupted


class Bound(NamedTuple):
    """What a step looks at on which nothing but efforts acts, until workspaces are allocated anew.

    A compiled step fills the caches, behind which every attribute that Python looks up costs some ten nanoseconds.
    """

    handle: object
    call: Callable | None  #: ``Integrator.bind``
    command: memoryview  #: of the context; takes vectors of its length without a copy of theirs
    start: LastStep  #: of a step of its length
    record: np.ndarray
    views: dict  #: by a number of contact points, the part of ``record`` that is filled
    solver_names: Sequence
    pair_links: Sequence


UNBOUND = Bound(*[None] * len(Bound._fields))


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
        self._pieces = Pieces(context, self._begin_more, self._move)
        self._in_pieces = context.events is None and context.contact_step.in_pieces
        self._hinged = len(context.hinges.body) > 0
        #: what a step needs or changes beside efforts
        self._more = self._hinged or context.motions is not None or len(context.joints.servos) > 0
        self._holds = bool(context.scene.adhesion_pads) or context.attachments is not None
        self._bound = UNBOUND
        self._size = len(context.world.joint_names) + len(context.world.hinge_names)

    def step(self, dt, command, steps=1):
        """Advance by ``steps`` steps of dt [s] under commanded efforts (joints,), None for none; the last Step.

        Its ``events`` are those of all of them.

        Raises
        ------
        DynamicsError
            A hinge carries no inertia, or the velocity is not finite; the state is that before the step that failed.
        """
        context = self._context
        dt = self._state.time_step if dt is None else as_positive(dt, "time_step")
        handle, call, place, start, *_ = self._bound
        if steps != 1 or handle is not context.handle or context.wrenches.act or context.impacts is not None:
            command = self._vector(command)
            return self._take_one(dt, command) if steps == 1 else self._take(dt, command, as_whole(steps, "steps"))
        commanded = command is not None
        if commanded:
            try:
                place[:] = command
            except (TypeError, ValueError):  # anything but float64, or of another length
                place[:] = command = self._vector(command)
        points = call(dt, commanded)
        if points == NOT_TAKEN:
            return self._take_one(dt, self._vector(command))
        return self._tell(self._bound, start if start.dt == dt else self._start(dt), 1, points)

    def _vector(self, command):
        """Commanded efforts as a vector, or None."""
        return None if command is None else as_vector(command, self._size, "effort")

    def _take(self, dt, command, steps):
        """Several steps: as many in one call as it takes."""
        events = ()
        while steps > 0:
            taken = self._take_many(dt, command, steps)
            result = self._tell(self._arrays(), self._start(dt), taken) if taken else self.step(dt, command)
            steps -= taken or 1
            result.events = events = events + result.events
        return result

    def _take_one(self, dt, command):
        """A step on which anything may act, and that may need anything."""
        start = self._under(dt, command, self._step_whole)
        arrays = self._arrays()
        if self._in_one_call and not self._more:
            self._bound = arrays
        return self._tell(arrays, start, 1)

    def _arrays(self):
        """Bound of the present arrays."""
        context, bound = self._context, self._bound
        if bound.handle is context.handle:
            return bound
        names, links = context.contact_step.solver_names, context.pair_links
        call = context.integrator.bind(context.handle) if self._in_one_call else None
        place, start = memoryview(context.command), self._start(self._state.time_step)
        return Bound(context.handle, call, place, start, context.work.record, {}, names, links)

    def _tell(self, bound, start, count, points=LANDED):
        """The Step behind ``count``, the last of them from the LastStep ``start`` with so many points, if known."""
        _, _, _, _, record, views, names, links = bound
        looks = points == LANDED
        if looks:
            points = int(record[POINTS])
        view = views.get(points)
        if view is None:
            view = views[points] = record[: HEAD + COLUMNS * points]
        impacts = self._context.impacts
        events = () if impacts is None else tuple(impacts.events)
        time = self._state.finish_steps(start, count)
        held = Held(self._context) if self._holds else None
        result = Step(time, view.tobytes(), names, links, events, held)
        if looks and record[LANDINGS]:
            result.events += (self._landing(start.dt, result.certificate),)
        return result

    def _take_many(self, dt, command, steps):
        """Up to so many steps in one compiled call; how many, 0 where the next one needs Python."""
        context = self._context
        if not self._in_one_call or self._hinged or context.motions is not None or context.wrenches.act:
            return 0
        if context.impacts is not None:
            context.impacts.begin(self._state.time)
        return self._under(dt, command, lambda _dt: context.integrator.steps(context.handle, min(steps, MOST)))

    def _under(self, dt, command, take):
        """What ``take(dt)`` returns under the commanded efforts, and at first under what else acts on a step of dt [s].

        Where it fails, or returns nothing, all is as it was.
        """
        context = self._context
        effort, settings = context.effort, context.settings
        before, length, wrenches = context.state.copy(), settings.item(DT), context.wrenches
        applied, external = wrenches.applied, context.applied.copy() if wrenches.act else None
        done = None
        try:
            effort.fill(0.0)
            settings[DT] = dt
            if self._hinged:
                command_hinges(context, 0.0 if command is None else command, effort)
            elif command is not None:
                effort[context.world.joint_v] = command
            if self._more or wrenches.act:
                self._begin_more(self._state.time, dt)
            done = take(dt)
            return done
        finally:
            if not done:
                context.state[:], settings[DT] = before, length
                if external is not None:
                    wrenches.act, wrenches.applied, context.applied[:] = True, applied, external

    def _begin_more(self, time, dt):
        """Motions and wrenches of the step of dt [s] from a time on."""
        context = self._context
        if context.motions is not None:
            context.motions.begin(time, dt)
        context.wrenches.apply(context.kin, time, dt, context.applied)

    def in_one_call(self):
        """Whether the scene's steps are one compiled call, but for what happens in some of them."""
        return self._in_one_call

    def _step_whole(self, dt):
        """One compiled call, and one more each time that the engine is asked; in parts where the step needs more."""
        context = self._context
        if not self._in_one_call:
            return self._step_in_parts(dt)
        if context.impacts is not None:
            context.impacts.begin(self._state.time)
        integrator, handle = context.integrator, context.handle
        stage, status = BEGIN, integrator.step(handle, BEGIN)
        while status != OK:
            if status == IN_PARTS:
                return self._step_in_parts(dt)
            if status in REFUSED and self._in_pieces:
                return self._step_in_pieces(dt)
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
        return self._start(dt)

    def _start(self, dt):
        """LastStep of the compiled step of dt [s] that was taken last."""
        work = self._context.work
        return LastStep(work.q_start, work.v_start, work.gravity_start, dt)

    def _step_in_parts(self, dt):
        """As ``_step_whole``, with all that a step may need."""
        context, state = self._context, self._state
        last = LastStep(context.q.copy(), context.v.copy(), context.gravity.copy(), dt)
        if context.impacts is not None and context.events is None:
            context.impacts.begin(state.time)
        status = self._move(state.time) if context.events is None else context.events.run(state.time, dt)
        if status in REFUSED and self._in_pieces:
            return self._step_in_pieces(dt)
        if status != OK:
            raise self._error(status)
        account(context.handle, 0.0 if context.impacts is None else context.impacts.work_done)
        if context.events is not None:
            context.work.record[[TIME_STEPPED, PIECES, BY_EULER]] = context.events.told
        return last

    def _step_in_pieces(self, dt):
        """As ``_step_whole``, in pieces of dt [s]."""
        context, time = self._context, self._state.time
        last = LastStep(context.q.copy(), context.v.copy(), context.gravity.copy(), dt)
        status = self._pieces.take(time, dt)
        if status != OK:
            raise self._error(status)
        return last

    def _move(self, time):
        """Detect, solve and move once from a time on; returns a status."""
        context = self._context
        context.time = time
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

    def _resists(self, k):
        """Whether body k floats and has an inertia in every direction, so that no state makes its hinge singular."""
        tree = self._context.tree
        return tree.joint_type[k] == JOINT_FLOATING and tree.mass[k] * np.linalg.eigvalsh(tree.inertia[k])[0] > 0.0

    def _uneven(self):
        """What masses have to do with it where a flow holds the forces between them."""
        context = self._context
        masses = context.tree.mass[context.tree.joint_type == JOINT_FLOATING]
        flows = context.events is not None or context.scene.integrator != "semi_implicit_euler"
        if not flows or not len(masses) or masses.max() <= UNEVEN * masses.min():
            return ""
        return (
            f"; masses differ by a factor of {masses.max() / masses.min():.0e}, and forces that are held over a step "
            "tip light bodies under heavy ones: use semi_implicit_euler and time_stepping, which holds none"
        )

    def _error(self, status):
        """DynamicsError of a status that is not OK."""
        context, time = self._context, f"t = {self._state.time:.6g} s"
        bad = int(context.work.info[BAD_BODY])
        if status == SINGULAR_HINGE and not self._resists(bad):
            return DynamicsError(singular_hinge_message(context.world, bad))
        if status == SINGULAR_HINGE:
            status = NOT_FINITE  # no pivot is above what is no number
        gone = f"the velocity after {time} is not finite: the state has run away, lower the time step or the efforts"
        gone += self._uneven()
        rows = ", or set 'loops: multipliers'" if context.scene.integrator == "semi_implicit_euler" else ""
        messages = {
            NOT_FINITE: gone,
            GAINED_ENERGY: gone,
            STEP_TOO_SMALL: f"the integrator {context.scene.integrator} does not meet its tolerance in the step after "
            f"{time}: lower the time step or the efforts, or raise the tolerance",
            LOOP_LOST: f"an embedded loop cannot be closed after the step from {time}: lower the time step{rows}",
        }
        return DynamicsError(messages.get(status, f"the step failed with status {status}"))
