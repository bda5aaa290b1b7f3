# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Steps with the exact friction cone: no directions, no pyramid.

Rows, W and q are those of the polyhedral step; only the problem posed on them differs.  The solver is called from
Python, warm-started with the impulses of the last step.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core import step as _step
from mb_contact.core.cone_judge import INFEASIBLE, MEASURES, NATURAL, VIOLATION, judge_units
from mb_contact.simulation.contact_step import ContactStep, kernel_in_cache
from mb_contact.solvers.friction import FrictionSolver
from mb_contact.solvers.layout import ConeLayout
from mb_contact.types import NOT_FINITE, OK

NOTHING, SOLVED, BEST = range(3)

TOLERANCE = 1e-10  #: natural residual asked of the solver, relative to the scaled q
GOOD = 1e-9  #: natural residual of a unit, in sqrt(N s m/s), up to which a step counts as solved
STILL = 1e-9  #: slip up to which a contact sticks [m/s]


class ConeStep(ContactStep):
    """Steps under ``friction_model: coulomb_cone``."""

    has_polyhedral_problem = False
    solver_names = ("none", "exact_cone", "best_residual")

    def attach(self, contacts, frames, memory, cones, solution, work):
        """The arrays behind the handle that the next steps use."""
        self._contacts, self._frames, self._memory = contacts, frames, memory
        self._cones, self._solution, self._work = cones, solution, work

    def is_compiled(self):
        """Whether the solver's kernel is in the cache of this Python (or needs no compiling)."""
        from mb_contact.core.cone_solver import solve_cone

        return kernel_in_cache(solve_cone, "cone_solver.solve_cone")

    def solve(self, handle):
        """Pose and solve the problem of the step; a status."""
        _step.assemble(handle)
        self._solve()
        return OK if np.isfinite(self._solution.r[: self._cones.rows[0]]).all() else NOT_FINITE

    def _solve(self):
        """Impulses of the step into ``solution``, judged on the step's own W and q."""
        units, rows = int(self._cones.count[0]), int(self._cones.rows[0])
        solution = self._solution
        solution.judge[:] = 0.0, 0.0, 0.0, -1.0
        self._work.info[_step.RUNG], self._work.info[_step.ITERATIONS] = NOTHING, 0
        if units == 0:
            return
        W, q = solution.W[:rows, :rows], solution.q[:rows]
        contacts = int(np.count_nonzero(self._cones.dim[:units] == 3))
        layout = ConeLayout.contacts(self._cones.mu[:contacts]) + ConeLayout.unilateral(units - contacts)
        solver = FrictionSolver(np.ascontiguousarray(W), q, layout)
        r, _, counts = solver.solve(self._warm(contacts, rows), TOLERANCE)
        u = W @ r + q
        solution.r[:rows], solution.u[:rows] = r, u
        self._judge(layout.arrays(), W, r, u)
        self._work.info[_step.RUNG] = SOLVED if solution.judge[:2].max() <= GOOD else BEST
        self._work.info[_step.ITERATIONS] = counts[0] + counts[1]
        self._states(contacts, units, r, u)

    def _warm(self, contacts, rows):
        """Impulses of the last step at contacts that were there; None where none was."""
        known = self._frames.known[:contacts]
        if not (known >= 0).any():
            return None
        warm = np.zeros(rows)
        stayed = np.flatnonzero(known >= 0)
        warm[: 3 * contacts].reshape(-1, 3)[stayed] = self._memory.impulse[known[stayed]]
        return warm

    def _judge(self, units, W, r, u):
        """The certificate, each unit in the scale that gives its rows a unit diagonal: sqrt(N s m/s)."""
        out = np.zeros((len(units.kind), MEASURES))
        judge_units(units, r, u, np.ones(len(units.kind)), out)
        violation = out[:, VIOLATION].max()
        mean = np.add.reduceat(np.diag(W), units.start[:-1]) / np.diff(units.start)
        judge_units(units, r, u, 1.0 / np.sqrt(np.where(mean > 0.0, mean, 1.0)), out)
        self._solution.judge[:] = (
            out[:, NATURAL].max(), max(out[:, INFEASIBLE].max(), 0.0), max(violation, 0.0), out[:, NATURAL].argmax()
        )  # fmt: skip

    def _states(self, contacts, units, r, u):
        state = self._solution.state
        for i in range(units):
            row = self._cones.start[i]
            slides = i < contacts and np.hypot(u[row + 1], u[row + 2]) > STILL
            state[i] = -1 if r[row] <= 0.0 else int(slides)

    def after(self, handle):
        """Sigma of Coulomb's law on a cone is the slip speed itself."""
        for i in range(int(self._contacts.count[0])):
            row = self._cones.start[i]
            self._work.report[i, _step.SIGMA] = np.hypot(self._solution.u[row + 1], self._solution.u[row + 2])
