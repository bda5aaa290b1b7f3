# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A step after the narrow phase, stage by stage; as OK is 0, ``or`` goes on while all is well."""

from typing import Any

from mb_contact.compile.decorated import is_kept
from mb_contact.core.impact.phases import came_fast
from mb_contact.core.integrate import kept_contacts as _kept
from mb_contact.core.step import problem as _problem, step as _step
from mb_contact.core.step.assemble import assemble
from mb_contact.core.step.need import ON, SPENT
from mb_contact.core.step.passing import leave_out_passers
from mb_contact.core.workspace import ITERATIONS
from mb_contact.errors import InputError
from mb_contact.lazy import imported
from mb_contact.simulation.stepping.impacts import Impacts
from mb_contact.types import CONTACTS_CHANGED, GAINED_ENERGY, IN_PARTS, LIMIT_MISSED, OK, SOLVER_NAMES


class ContactStep:
    """Steps of the operational-space formulation, under every friction model; studies override ``solve``.

    Parameters
    ----------
    context : StepContext
        Whose integrator moves the state, and whose impacts, where it has any, happen in the step.
    """

    kernel = _step.conclude  #: compiled last of what these steps need
    solver_names: tuple[str, ...] = SOLVER_NAMES  #: what the certificate calls the ways to a solution
    has_impacts = True  #: whether impacts can be resolved with the rows that the tree has
    any_integrator = True  #: False where the new velocity does not come from the rows' impulses alone
    integrator: Any = None  #: class of the integrator that the steps need, where it is not the scene's
    every_collision = False  #: whether every collision has phases of its own, without restitution too
    only_rows = False  #: whether W has to be posed by rows
    in_pieces = True  #: whether a step may be taken in shorter pieces

    def __init__(self, context):
        self.context = context
        scene = context.scene
        rigid = scene.friction_model == "no_slip"
        if scene.coordinates == "joints":
            rigid = rigid or len(context.couplings.closures.kind) > 0
        self.ties_rows = rigid and scene.solver == "auto"  #: equality rows that nearly follow others are tied to them
        if type(self) is not ContactStep:  # studies and contact coordinates pose other rows
            if context.is_soft:
                raise InputError("other steps than those of solver: auto know rigid contacts alone; leave softness out")
            context.need_rule[ON], self.in_pieces = 0.0, False
        self._lent = None  #: Impacts for steps of a scene that has none, in which a pair strikes

    def allocate(self):
        """Workspaces of its own, for the contacts, rows and blocks of the context's."""

    def warm_up(self, handle):
        """Compile or load the kernels of an impact; those of a scene that has none of its own only where compiled."""
        context = self.context
        if context.impacts is not None:
            context.impacts.warm_up(handle)
        elif self.has_impacts and is_kept(Impacts.kernel):  # it would take 30 ms of the first step with one
            self._lend().warm_up(handle)
            self._lent = None  # with what that has left in it

    def _lend(self):
        """Impacts for a step of a scene that has none."""
        self._lent = self._lent or Impacts(self.context)
        self._lent.allocate()
        self._lent.begin(self.context.time)
        return self._lent

    def solve(self, handle):
        """Pose and solve the problem of the step; returns a status."""
        assemble(handle)
        leave_out_passers(handle)
        return _problem.assemble_problem(handle) or _problem.solve(handle, _problem.STEP)

    def finish(self, handle, candidates):
        """All that follows the narrow phase; advances the state behind ``handle`` and returns a status.

        Where it fails, with a status or with an exception of ``solve``, the state is the one before.
        """
        context, integrator, start = self.context, self.context.integrator, self.context.motion()
        if context.impacts is self._lent:  # to an earlier step; or None
            context.impacts = None
        status, impacts = None, context.impacts
        try:
            status = (
                self.find_contacts(handle, candidates)
                or integrator.free(handle)
                or (OK if impacts is None else impacts.resolve(handle))
                or self.impulses(handle)
            )
            while status == IN_PARTS:  # a pair strikes
                impacts = context.impacts = context.impacts or self._lend()
                status = impacts.resolve(handle) or self.impulses(handle)
            work = 0.0 if impacts is None else impacts.work_done
            status = (
                status or integrator.hold(handle) or integrator.conclude(handle) or context.accept(start, work)
            )
        finally:
            if status != OK and impacts is not None:
                impacts.undo(handle)
        if status == OK and impacts is not None:
            impacts.publish()
        return status

    def find_contacts(self, handle, candidates):
        """Contacts of the candidate pairs; returns a status."""
        return _step.find_contacts(handle, candidates)

    def impulses(self, handle):
        """Solve until every limit that the step reaches is in the problem, and settle the velocities; a status."""
        status, servos = LIMIT_MISSED, len(self.context.joints.servos)
        while status in (LIMIT_MISSED, CONTACTS_CHANGED):  # a limit more, a servo at its limit, or other contacts
            status = self.solve(handle) or _step.settle(handle)
            if status == OK and servos and self.context.integrator.saturate(handle):
                status = self.context.integrator.free(handle) or LIMIT_MISSED
            if status == LIMIT_MISSED:
                self.context.need.info[SPENT] += self.context.work.info[ITERATIONS]
            if status == OK:
                status = came_fast(handle, self.context.review())
        return status

    def impulses_again(self, handle):
        """Solve the problem once more, with other velocities ``sol.q``, from its impulses; a status."""
        return self.complete(handle, _kept.solve_again(handle))

    def solve_at_end(self, handle, flow, end):
        """The problem solved again with the rows of the kept contacts where a flow has ended; a status."""
        status = _kept.solve_at_end(handle, flow, end)
        return OK if status == GAINED_ENERGY and not self.in_pieces else self.complete(handle, status)

    def complete(self, handle, status):
        """A status of ``solve_again``, after all is solved with one limit more where it has missed one."""
        status = self.impulses(handle) if status == LIMIT_MISSED else status
        return OK if status == IN_PARTS else status  # at the end of a flow nothing strikes any more


def refuse_beyond_studies(scene):
    """SceneError for what the steps of a study do not know."""
    for key in ("sleep", "motions", "solver"):
        beyond = getattr(scene, key) not in (False, (), "auto")
        scene.refuse_if(beyond, key, "is for the usual steps; leave it out where a step is handed in")


def refuse_embedded(context):
    """SceneError where loops are embedded in the tree, for steps that know them as rows alone."""
    context.scene.refuse_if(bool(context.parts), "loops", "these steps have loops as rows; set loops: multipliers")


def usual_step(context):
    """ContactStep of a scene: by the solvers that D15 compares a PivotingStep."""
    if not context.scene.pivots:
        return ContactStep(context)
    return imported("mb_contact.simulation.stepping.pivoting_step.PivotingStep")(context)
