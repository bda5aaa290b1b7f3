# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Steps with Drumwright's friction models: what the simulator calls instead of the Coulomb step."""

from __future__ import annotations

from mb_contact.core import friction_step as _friction
from mb_contact.core.equality_rows import make_equality_work
from mb_contact.core.jit import DISABLE_JIT
from mb_contact.core.principal_pivoting import make_ppm_work
from mb_contact.simulation.warm_up import in_cache
from mb_contact.types import SOLVER_NAMES as COULOMB_SOLVER_NAMES

#: By the scene's ``friction_model``.
MODELS = {
    "no_slip": _friction.NO_SLIP,
    "viscous": _friction.VISCOUS,
    "coulomb_viscous": _friction.COULOMB_VISCOUS,
}

#: What the certificate calls the rungs; ``no_push_out``: solved after dropping the push-out velocities.
SOLVER_NAMES = ("none", "principal_pivoting", "no_push_out", "best_residual")


class FrictionStep:
    """The finish of a step under one of MODELS, with workspaces of its own."""

    def __init__(self, world, model):
        self._model = MODELS[model]
        self._viscous = world.viscous
        self._n = world.tree.parent.shape[0]
        self._N = world.tree.armature.shape[0]

    def allocate(self, rows, units):
        """Workspaces for so many scalar rows, and contacts and limits."""
        picked = self._N if self._model == _friction.NO_SLIP else rows
        self._eq = make_equality_work(self._n, self._N, rows, picked)
        self._ppm = make_ppm_work(max(units, 1), max(self._N, 1))

    def attach(self, *arrays):
        """Nothing to remember: all arrays are behind the handle."""

    @property
    def has_polyhedral_problem(self):
        """Whether a step leaves the problem of J14 (53) behind."""
        return self._model == _friction.COULOMB_VISCOUS

    def solver_name(self, rung):
        """What the certificate calls a rung."""
        return (COULOMB_SOLVER_NAMES if self.has_polyhedral_problem else SOLVER_NAMES)[rung]

    @staticmethod
    def is_compiled():
        """Whether the kernel of these steps is in the cache of this Python (or needs no compiling)."""
        return DISABLE_JIT or in_cache(_friction.finish_friction_step, "friction_step.finish_friction_step")

    def finish(self, handle, candidates):
        """Advance the state in ``handle``; a status."""
        return _friction.finish_friction_step(
            handle, self._model, self._viscous, candidates, self._eq, self._ppm
        )
