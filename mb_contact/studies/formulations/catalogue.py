# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""All formulations of J14 by name, and one step with any of them."""

from __future__ import annotations

from mb_contact.errors import InputError
from mb_contact.studies.formulations.hybrid import HybridFormulation
from mb_contact.studies.formulations.mc import McFormulation
from mb_contact.studies.formulations.nmc import NmcFormulation
from mb_contact.studies.formulations.nmc_os import NmcOsFormulation
from mb_contact.studies.formulations.os import OsFormulation
from mb_contact.studies.formulations.rmc import RmcFormulation
from mb_contact.studies.formulations.step_problem import StepProblem

FORMULATIONS = {
    kind.NAME: kind
    for kind in (NmcFormulation, McFormulation, RmcFormulation, OsFormulation, NmcOsFormulation, HybridFormulation)
}


def formulate(problem, formulation="os"):
    """Set up a StepProblem in one of the formulations.

    Parameters
    ----------
    problem : StepProblem
    formulation : str
        ``"os"`` (Eq. 53), ``"nmc"`` (27), ``"mc"`` (36), ``"rmc"`` (41), ``"nmc_os"`` (section 8), ``"hybrid"``
        (end of section 5).

    Returns
    -------
    Formulation
        With ``M``, ``q``, ``layout``, ``size`` and ``solve()``.

    Raises
    ------
    InputError
        Unknown formulation.
    """
    if formulation not in FORMULATIONS:
        raise InputError(f"there is no formulation '{formulation}'; choose one of {', '.join(FORMULATIONS)}")
    return FORMULATIONS[formulation](problem)


def contact_step(model, q, v, effort=None, contacts=(), loops=(), formulation="os", method="auto", **options):
    """Velocity after one step with contacts and loop closures, in any formulation of J14.

    Parameters
    ----------
    model, q, v, effort, contacts, loops, **options
        As for StepProblem.
    formulation : str
        As for ``formulate``.
    method : str
        Solver, as for ``Formulation.solve``.

    Returns
    -------
    StepSolution
        Ask ``solved`` or ``certificate`` before using it.
    """
    problem = StepProblem(model, q, v, effort, contacts, loops, **options)
    return formulate(problem, formulation).solve(method)
