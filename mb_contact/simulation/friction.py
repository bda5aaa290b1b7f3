# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Steps with Drumwright's friction models: what the simulator calls instead of the Coulomb step."""

from __future__ import annotations

from mb_contact.core import friction_step as _friction
from mb_contact.core.equality_rows import make_equality_work
from mb_contact.core.principal_pivoting import make_ppm_work

MODELS = {"no_slip": _friction.NO_SLIP, "viscous": _friction.VISCOUS}  #: by the scene's ``friction_model``

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

    def finish(self, handle, candidates):
        """Advance the state in ``handle``; a status."""
        return _friction.finish_friction_step(
            handle, self._model, self._viscous, candidates, self._eq, self._ppm
        )
