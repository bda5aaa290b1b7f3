# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Sums over the substeps of a step: impulses, work, the worst certificate, Newton steps."""

import numpy as np

from mb_contact.core.lcp.certificate import GAP, INFEASIBLE
from mb_contact.core.workspace import ITERATIONS, STAGE

WORST_TWO = [GAP, INFEASIBLE]  #: entries of a certificate that say how well a step was solved


class StepSums:
    """What the substeps of a step leave in the workspaces, added up there when the step is over.

    Parameters
    ----------
    context : StepContext
    """

    def __init__(self, context):
        self._context = context
        self._totals = None
        #: of loops and gears, in the last step's substeps
        self.loop_impulse = np.zeros(context.couplings.rows + len(context.joints.rubbing))

    def clear(self):
        """A new step begins."""
        self._totals = None

    def add(self, length):
        """What a substep of this length [s] has left."""
        context, work = self._context, self._context.work
        loops = context.loop_impulses()
        self.loop_impulse = loops + (0.0 if self._totals is None else self.loop_impulse)
        now = [array.copy() for array in self._left()]
        now[1] *= length  # efforts are means
        if self._totals is None:
            self._totals = now
            return
        *totals, residuals, info = self._totals
        for total, part in zip(totals, now):
            total += part
        if now[-2][WORST_TWO].max() > residuals[WORST_TWO].max():
            residuals[:] = now[-2]
        info[STAGE] = max(info[STAGE], work.info[STAGE])
        info[ITERATIONS] += work.info[ITERATIONS]

    def publish(self, dt):
        """Put the sums of a step of dt [s] where a single step leaves them."""
        self._totals[1] /= dt
        for array, total in zip(self._left(), self._totals):
            array[:] = total

    def _left(self):
        """What a substep leaves in the workspaces: sums, then the certificate and how it was solved."""
        work, residuals = self._context.work, self._context.solution.residuals
        return work.geom_impulse, work.joint_effort, work.work_terms, work.contact_energy, residuals, work.info
