# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The papers' pendulum with a free body for every link, its hinges as constraints: NMC/OS, compiled (J14 section 8)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mb_contact.checks import as_choice
from mb_contact.core.solve.system import make_system_handle
from mb_contact.core.step import problem as _problem
from mb_contact.core.step.assemble import assemble
from mb_contact.errors import InputError
from mb_contact.model.pendulum import Pendulum
from mb_contact.model.scene import CLOSURE_DRIFT_RATE
from mb_contact.simulation.contact_step import ContactStep
from mb_contact.simulation.impacts import Impacts
from mb_contact.simulation.simulator import Simulator
from mb_contact.studies.hinged_bodies import step as _hinged
from mb_contact.studies.hinged_bodies.rows import ROWS, make_hinge_work
from mb_contact.types import OK

SOLVERS = ("eliminated", "mixed")


class HingedStep(ContactStep):
    """Steps of free bodies with the hinges of a Pendulum."""

    any_integrator = False
    only_rows = True

    def __init__(self, context, pendulum, solver, gamma, velocity_product):
        super().__init__(context)
        self._links = pendulum.links
        self._mixed = solver == "mixed"
        self.kernel = _hinged.solve_mixed if self._mixed else _hinged.eliminate_hinges
        half = 0.5 * pendulum.spacing * np.array([0.0, 0.0, 1.0])
        up = np.tile(-half, (self._links, 1))
        up[0] = 0.0, 0.0, pendulum.base_height
        axis = np.tile([0.0, 1.0, 0.0], (self._links, 1))
        across = np.tile([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], (self._links, 1, 1))  # their cross product is the axis
        self._hinges = np.tile(half, (self._links, 1)), up, axis, across, (gamma, float(velocity_product))

    def allocate(self):
        """Workspaces for the rows of the context's."""
        rows, blocks = len(self.context.solution.r), len(self.context.blocks.start)
        self.work = make_hinge_work(*self._hinges, rows)
        if self._mixed:
            self._whole = make_system_handle(_hinged.make_mixed_system(ROWS * self._links, rows, blocks))

    def solve(self, handle):
        """Pose and solve the problem of the step; returns a status."""
        assemble(handle)
        status = _problem.assemble_problem(handle)
        if status != OK:
            return status
        if self._mixed:
            return _hinged.solve_mixed(handle, self.work, self._whole)
        status = _hinged.eliminate_hinges(handle, self.work)
        if status == OK:
            status = _problem.solve(handle, _problem.STEP)
            _hinged.recover_hinges(handle, self.work)
        return status

    def impulses(self, handle):
        """Solve the step's problem once and settle the velocities; returns a status."""
        status = self.solve(handle)
        return _hinged.settle_hinged(handle, self.work) if status == OK else status


class HingedImpacts(Impacts):
    """Impacts of free bodies with hinges; the hinges by elimination, whatever the steps' solver is."""

    together = True

    def _compress(self, handle):
        status = _hinged.eliminate_in_impact(handle, self.work, self.context.contact_step.work)
        return super()._compress(handle) if status == OK else status

    def _apply(self, handle):
        status = super()._apply(handle)
        if status == OK:
            _hinged.apply_hinges_in_impact(handle, self.work, self.context.contact_step.work)
        return status


class HingedBodies(Simulator):
    """A pendulum in the coordinates of its bodies; the state is ``n`` free spheres.

    Parameters
    ----------
    pendulum : Pendulum
    solver : str
        ``"eliminated"``: hinge impulses by a band factor, contacts by the step's solver on what is left.  ``"mixed"``:
        hinge impulses are unknowns of the solver that OS uses, in dense systems.
    gamma : float
        Part of an open hinge that is taken back in a step (equations of NMC drift without it).
    velocity_product : bool
        Put dt K' V into the hinge rows, as J14 Eq. 19 has it; fast short links then gain energy.
    **settings
        Further fields of Scene.

    Raises
    ------
    InputError
        Unknown solver, or gamma outside 0 ... 1.
    """

    def __init__(
        self,
        pendulum: Pendulum,
        solver: str = "eliminated",
        gamma: float = CLOSURE_DRIFT_RATE,
        velocity_product: bool = False,
        progress: Callable[[str], Any] | None = None,
        **settings: Any,
    ) -> None:
        as_choice(solver, SOLVERS, "solver", " of hinged bodies")
        if not 0.0 <= gamma <= 1.0:
            raise InputError(f"gamma must be from 0 to 1, got {gamma}")
        self._hinges = pendulum, solver, gamma, velocity_product
        super().__init__(pendulum.free_scene(**settings), progress)

    def _make_contact_step(self):
        return HingedStep(self.context, *self._hinges)

    _make_impacts = HingedImpacts

    def hinge_opening(self) -> float:
        """Farthest that a hinge is open [m]."""
        return float(_hinged.hinge_opening(self.context.handle, self.context.contact_step.work))
