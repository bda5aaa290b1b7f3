# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Where the names are, for type checkers and editors."""

from mb_contact.studies import sko
from mb_contact.studies.drumwright.coulomb_viscous import coulomb_viscous_acceleration
from mb_contact.studies.drumwright.friction_system import FrictionModelResult, FrictionSystem
from mb_contact.studies.drumwright.no_slip import no_slip_step
from mb_contact.studies.drumwright.point_contacts import Bilateral, PointContacts, bilateral, point_contacts
from mb_contact.studies.drumwright.viscous import viscous_acceleration
from mb_contact.studies.formulations.catalogue import formulate
from mb_contact.studies.formulations.certificate import FormulationCertificate, certify, certify_formulation
from mb_contact.studies.formulations.formulation import StepSolution
from mb_contact.studies.formulations.loops import LoopClosure
from mb_contact.studies.formulations.os import ContactProblem
from mb_contact.studies.formulations.step_problem import ContactPoint, JointLimit, StepProblem
from mb_contact.studies.impact_laws import Collision, collide, two_phases
from mb_contact.studies.running_scene import next_step_problem

__all__ = [
    "Bilateral",
    "Collision",
    "ContactPoint",
    "ContactProblem",
    "FormulationCertificate",
    "FrictionModelResult",
    "FrictionSystem",
    "JointLimit",
    "LoopClosure",
    "PointContacts",
    "StepProblem",
    "StepSolution",
    "bilateral",
    "certify",
    "certify_formulation",
    "collide",
    "coulomb_viscous_acceleration",
    "formulate",
    "next_step_problem",
    "no_slip_step",
    "point_contacts",
    "sko",
    "two_phases",
    "viscous_acceleration",
]
