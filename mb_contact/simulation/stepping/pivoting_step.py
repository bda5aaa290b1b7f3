# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Steps of a scene by the solvers that D15 compares: ``solver: lemke | ppm | active_set``.

Rows, free velocities, impacts and the motion are those of the usual step.  Rows that hold with equality (loops, gears,
without slip and with viscous friction the tangents too) are eliminated by D15's algorithm 2; what is left goes to

    ppm         the modified PPM, from the normals that pressed in the last step       no slip, viscous
    active_set  the same problem as a quadratic programme, by primal active sets       no slip, viscous
    lemke       the same problem, or with Coulomb's pyramid n_f + 2 unknowns a contact, by a robust Lemke's algorithm

One kernel each, behind handles, so that their times in a run compare; the active sets alone are NumPy's.
"""

import numpy as np

from mb_contact.core.declare import allocate
from mb_contact.core.integrate import kept_contacts as _kept
from mb_contact.core.lcp.active_factor import make_ppm_work
from mb_contact.core.lcp.lcp import make_pyramids
from mb_contact.core.lcp.robust_lemke import make_lemke_work
from mb_contact.core.solve import equality_rows as _eq
from mb_contact.core.step import problem as _problem, step as _step
from mb_contact.core.step.assemble import assemble
from mb_contact.core.step.by_pivots import (
    NO_PUSH_OUT,
    UNSOLVED,
    LcpArrays,
    PivotingArrays,
    by_lemke,
    by_ppm,
    condense,
    make_pivoting_handle,
    pose,
    take,
)
from mb_contact.core.step.push_out import drop_all_push_out
from mb_contact.core.workspace import STAGE
from mb_contact.simulation.stepping.contact_step import ContactStep
from mb_contact.solvers.active_set import active_set_qp
from mb_contact.types import OK


class PivotingStep(ContactStep):
    """The steps of a scene whose ``solver`` is lemke, ppm or active_set; D15 section VII."""

    starts_warm = True  #: the modified PPM from the normals of the last step; False for measurements

    def __init__(self, context):
        super().__init__(context)
        scene, world = context.scene, context.world
        self._solver = solver = scene.solver
        self.solver_names, self.ties_rows = ("none", solver, "no_push_out", "over_budget"), False
        message = f"{solver} does not know joint friction; use solver: auto"
        scene.refuse_if(len(world.joints.rubbing) > 0, "solver", message)
        self._solve = {"ppm": by_ppm, "lemke": by_lemke, "active_set": self._by_active_set}[solver]

    def allocate(self):
        context = self.context
        rows, blocks = len(context.solution.r), len(context.system.blocks.kind) // 2
        n_f, pyramid = context.scene.friction_directions, context.scene.friction_model == "coulomb_polyhedral"
        size = (n_f + 2) * context.capacity + rows if pyramid else blocks
        if self._solver == "ppm":
            size = 1
        work = PivotingArrays(
            _eq.make_equality_work(context.n, context.N, rows, rows), make_ppm_work(blocks, context.N),
            make_lemke_work(size), make_pyramids(blocks, n_f), allocate(LcpArrays, R=rows, n=size),
        )  # fmt: skip
        self._work, self._pivoting = work, make_pivoting_handle(work)

    def solve(self, handle):
        """Pose the step's problem and solve it; a status."""
        assemble(handle)
        return _problem.assemble_problem(handle) or self._solve_posed(handle, self.starts_warm)

    def _solve_posed(self, handle, warm):
        """Solve, and where nothing is a solution once more without push-out; a status."""
        info = self.context.work.info
        pose(handle, self._pivoting, warm)
        status = self._solve(handle, self._pivoting)
        if status == OK and info[STAGE] == UNSOLVED and drop_all_push_out(handle):
            pose(handle, self._pivoting, False)
            status = self._solve(handle, self._pivoting)
            info[STAGE] = max(info[STAGE], NO_PUSH_OUT)
        return status

    def impulses_again(self, handle):
        """Solve the problem once more, with other velocities ``sol.q``; a status."""
        _problem.start(handle)
        return self.complete(handle, self._solve_posed(handle, True) or _step.settle(handle))

    def solve_at_end(self, handle, flow, end):
        """The problem solved again with the rows of the kept contacts where a flow has ended; a status."""
        status = _kept.pose_at_end(handle, flow, end) or self.impulses_again(handle)
        least = np.inf
        for _ in range(_kept.ROUNDS):
            if status != OK or (change := _kept.asked_change(handle, flow)) == 0.0:
                break
            if _kept.has_diverged(handle, change, least):
                break  # and these steps know no pieces
            least, status = min(least, change), self.impulses_again(handle)
        return status

    def _by_active_set(self, handle, pivoting):
        eq, problem = self._work.eq, self._work.problem
        condense(handle, pivoting)
        n = int(eq.info[_eq.FREE_ROWS])
        s = eq.scale[:n]
        z, iterations = active_set_qp(problem.W[:n, :n] * np.outer(s, s), problem.e[:n] * s)
        problem.r[:n] = z * s
        return take(handle, pivoting, iterations, True)
