# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Steps whose loop closures hold where the step begins: the papers' NMC/OS without its velocity product (J14 8).

J14 (19) and (47) have the rows ``G v+ + dt dG/dt v = 0``, to which the usual step adds a part of the closure error,
gamma c / dt.  Where every joint is a closure (``Pendulum.free_scene``) fast short links gain energy with the product
``dt dG/dt v``; without it the rows, like the contacts' own, project the free velocity, and the energy stays bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mb_contact.core.constraints.bilateral import COUNT, FIRST, GEARS, HINGES, TENDONS
from mb_contact.core.handle import DRIFT_RATE
from mb_contact.core.step import problem as _problem
from mb_contact.core.step.assemble import assemble
from mb_contact.simulation.stepping.contact_step import ContactStep, refuse_embedded

if TYPE_CHECKING:
    from mb_contact.simulation.context import StepContext


class ClosureStep(ContactStep):
    """Steps with all closures as rows ``G v+ + gamma c / dt = 0``, gamma the scene's ``drift_rate``.

    The solver gets them and the contacts as one dense problem, as the papers' own does.

    Parameters
    ----------
    context : StepContext
    velocity_product : bool
        Keep ``dt dG/dt v`` in the rows.
    """

    any_integrator = False
    only_rows = True

    def __init__(self, context: StepContext, velocity_product: bool = False) -> None:
        super().__init__(context)
        refuse_embedded(context)
        self.ties_rows, self._product = False, velocity_product

    def solve(self, handle):
        """Pose and solve the problem of the step; returns a status."""
        assemble(handle)
        if not self._product:
            self._drop_product()
        return _problem.assemble_problem(handle) or _problem.solve(handle, _problem.STEP)

    def _drop_product(self):
        """Of the closures' rows leave ``gamma c / dt``."""
        context, info = self.context, self.context.bilateral.info
        count = int(info[COUNT] - info[GEARS] - info[HINGES] - info[TENDONS]) - len(context.joints.rubbing)
        rows = slice(int(info[FIRST]), int(info[FIRST]) + count)
        offset = context.drift[DRIFT_RATE] * context.loop.error[:count] / context.dt
        context.solution.q[rows] += offset - context.rows.offset[rows]
        context.rows.offset[rows] = offset
