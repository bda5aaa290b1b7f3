# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Steps with the exact friction cone: no directions, no pyramid; with torsion, rolling and unequal coefficients."""

from __future__ import annotations

from mb_contact.core.cone.workspace import make_cone_work
from mb_contact.core.step import cone_step as _cone
from mb_contact.simulation.contact_step import ContactStep, kernel_in_cache

#: What the certificate calls the rungs.
SOLVER_NAMES = (
    "none", "cone_newton", "cone_from_pyramid", "cone_continuation", "cone_interior_point", "cone_proximal",
    "cone_from_ladder", "best_residual", "no_push_out",
)  # fmt: skip


class ConeStep(ContactStep):
    """Steps under ``friction_model: coulomb_cone``."""

    has_polyhedral_problem = False
    solver_names = SOLVER_NAMES

    def __init__(self, world):
        self._surfaces = world.surfaces
        torsion, rolling = (bool((x > 0.0).any()) for x in world.surfaces[:2])
        self.rows_a_contact = 3 + torsion + 2 * rolling

    def allocate(self, contacts, rows, units):
        """The solver's workspaces, which no step outgrows."""
        self._cone = make_cone_work(self._surfaces, contacts, rows, units)

    def is_compiled(self):
        """Whether the kernel of these steps is in the cache of this Python (or needs no compiling)."""
        return kernel_in_cache(_cone.solve_cone_contacts, "cone_step.solve_cone_contacts")

    def solve(self, handle):
        """Pose and solve the problem of the step; a status."""
        return _cone.solve_cone_contacts(handle, self._cone)

    def after(self, handle):
        """Slip speeds, and moments of torsion and rolling."""
        _cone.report_cones(handle, self._cone)
