# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Steps with Drumwright's friction models: what the simulator calls instead of the Coulomb step."""

from __future__ import annotations

from mb_contact.core.lcp.principal_pivoting import make_ppm_work
from mb_contact.core.rows.equality_rows import make_equality_work
from mb_contact.core.step import friction_step as _friction
from mb_contact.simulation.contact_step import ContactStep, kernel_in_cache

#: By the scene's ``friction_model``.
MODELS = {
    "no_slip": _friction.NO_SLIP,
    "viscous": _friction.VISCOUS,
    "coulomb_viscous": _friction.COULOMB_VISCOUS,
}

#: What the certificate calls the rungs; ``no_push_out``: solved after dropping the push-out velocities.
SOLVER_NAMES = ("none", "principal_pivoting", "no_push_out", "best_residual")


class FrictionStep(ContactStep):
    """Steps under one of MODELS, with workspaces of its own."""

    def __init__(self, world, model):
        self._model = MODELS[model]
        self._viscous = world.viscous
        self._n = world.tree.parent.shape[0]
        self._N = world.tree.armature.shape[0]
        self.has_polyhedral_problem = self._model == _friction.COULOMB_VISCOUS
        if not self.has_polyhedral_problem:
            self.solver_names = SOLVER_NAMES

    def allocate(self, contacts, rows, units):
        """Workspaces for so many scalar rows, and contacts and limits."""
        picked = self._N if self._model == _friction.NO_SLIP else rows
        self._eq = make_equality_work(self._n, self._N, rows, picked)
        self._ppm = make_ppm_work(max(units, 1), max(self._N, 1))

    def is_compiled(self):
        """Whether the kernel of these steps is in the cache of this Python (or needs no compiling)."""
        return kernel_in_cache(_friction.solve_friction_model, "friction_step.solve_friction_model")

    def solve(self, handle):
        """Pose and solve the problem of the step; a status."""
        return _friction.solve_friction_model(handle, self._model, self._viscous, self._eq, self._ppm)
