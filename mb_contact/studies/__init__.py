# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Studies of the papers beside the product; a simulation loads none unless it is asked to.

formulations   J14's six ways to write one contact problem, and steps with each
closure_step   the papers' pendulums as free bodies, NMC/OS: hinges as rows of a dense problem
impact_laws    both phases of a collision under three laws of restitution, in NumPy
drumwright     D15's models of given contacts: accelerations, and no slip by its PPM; steps by its solvers
sko            J11's spatial kernel operators in dense matrices: the reference of the compiled recursions
running_scene  the contact problem of a running simulator
"""

from mb_contact.lazy import lazy_names

_DEFINED = {
    "drumwright.coulomb_viscous": ("coulomb_viscous_acceleration",),
    "drumwright.friction_system": ("FrictionModelResult", "FrictionSystem"),
    "drumwright.no_slip": ("no_slip_step",),
    "drumwright.point_contacts": ("Bilateral", "PointContacts", "bilateral", "point_contacts"),
    "drumwright.viscous": ("viscous_acceleration",),
    "formulations.catalogue": ("formulate",),
    "formulations.certificate": ("FormulationCertificate", "certify", "certify_formulation"),
    "formulations.formulation": ("StepSolution",),
    "formulations.loops": ("LoopClosure",),
    "formulations.os": ("ContactProblem",),
    "formulations.step_problem": ("ContactPoint", "JointLimit", "StepProblem"),
    "impact_laws": ("Collision", "collide", "two_phases"),
    "running_scene": ("next_step_problem",),
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _DEFINED, ("sko",))
