# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Steps with another formulation than OS, or a solver of choice: for study, in Python, milliseconds each.

Contacts, frames and rows are those of the usual step; unknowns, matrix, solver and the new joint velocities are the
formulation's own.  Formulations in body coordinates start every step from joint coordinates: that projection is the
stabilisation that keeps hinges closed.
"""

import numpy as np

from mb_contact.checks import as_choice
from mb_contact.core.solve.system import ROWS
from mb_contact.core.step import problem as _problem
from mb_contact.core.step.assemble import assemble
from mb_contact.core.workspace import ITERATIONS, STAGE
from mb_contact.errors import DynamicsError
from mb_contact.simulation.stepping.contact_step import ContactStep, refuse_embedded
from mb_contact.studies.formulations.catalogue import FORMULATIONS, formulate
from mb_contact.studies.formulations.formulation import STAGES
from mb_contact.studies.running_scene import posed_problem
from mb_contact.types import NOT_FINITE, OK


class FormulationStep(ContactStep):
    """The finish of a step by a formulation; ``Simulator(scene, step=partial(FormulationStep, formulation="nmc"))``.

    Parameters
    ----------
    context : StepContext
    formulation : str
        os, nmc, mc, rmc, nmc_os or hybrid.
    solver : str
        lemke, newton, or auto: Lemke's algorithm first, then Newton's steps.

    Raises
    ------
    InputError
        No such formulation or solver.
    SceneError
        The scene has what the formulation does not know, or another friction model than coulomb_polyhedral.
    """

    solver_names: tuple[str, ...] = ("none", *(stage.replace(" ", "_") for stage in STAGES), "best_residual")
    any_integrator = False

    def __init__(self, context, formulation, solver="auto"):
        super().__init__(context)
        self._name, self._solver = as_choice(formulation, FORMULATIONS, "formulation"), solver
        as_choice(solver, ("auto", "lemke", "newton"), "solver", " of a formulation")
        self.ties_rows = False
        refuse_embedded(context)
        _refuse_unknown(context.scene, context.world, formulation)
        self.last = None  #: StepSolution of the last step, with the formulation's own certificate

    def solve(self, handle):
        """Pose the step's problem, formulate and solve it; returns a status."""
        context = self.context
        assemble(handle)
        status = _problem.assemble_problem(handle)
        if status != OK:
            return status
        problem = posed_problem(context, context.q, context.v)
        self.last = solution = formulate(problem, self._name).solve(self._solver)
        r = problem.D_ul @ solution.forces.beta
        if not (np.isfinite(r).all() and np.isfinite(solution.v_next).all()):
            return NOT_FINITE
        sol = context.solution
        if len(r) != context.rows.end[0]:
            raise DynamicsError(
                f"a joint has reached its velocity limit, which formulation {self._name} does not know: use os"
            )
        system = context.system
        count = int(system.count[ROWS])
        sol.r[: len(r)] = r
        sol.r[len(r) : len(r) + len(solution.forces.p_loop)] = solution.forces.p_loop
        sol.r[system.source[:count][system.immobile[:count] != 0]] = 0.0  # where hinges hold, impulses are theirs
        system.r[:count] = sol.r[system.source[:count]]
        context.work.info[STAGE] = self._stage(solution) if len(r) else 0
        context.work.info[ITERATIONS] = solution.pivots
        return OK

    def _stage(self, solution):
        if not solution.solved:
            return len(STAGES) + 1
        return 1 + STAGES.index(solution.solver.removeprefix("polished "))

    def impulses(self, handle):
        """As usual, but with the joint velocities that the formulation itself comes to."""
        status = super().impulses(handle)
        if status == OK:
            self.context.work.v_next[:] = self.last.v_next
        return status


def _refuse_unknown(scene, world, name):
    """SceneError for what only the usual step has."""
    hinges = world.hinges
    limited = np.isfinite(hinges.lower) | np.isfinite(hinges.upper)
    unknown = {
        "mimic joints": world.follower_names,
        "gears": scene.gears,
        "joint springs": world.joints.stiffness.any(),
        "servos": len(world.joints.servos),
        "friction of joints and threads": len(world.joints.rubbing),
        "threads that end": np.isfinite(world.couplings.closures.end).any(),
        "flexible links": len(world.flexible),
        "limits, damping, rotors and friction in body coordinates":
            (limited | (hinges.damping + hinges.armature + hinges.friction > 0.0)).any(),
    }  # fmt: skip
    for what, there in unknown.items():
        scene.refuse_if(bool(there), "models", f"formulation {name} does not know {what}; leave them out")
    message = f"formulation {name} has friction_model coulomb_polyhedral only; set that"
    scene.refuse_if(scene.friction_model != "coulomb_polyhedral", "friction_model", message)
