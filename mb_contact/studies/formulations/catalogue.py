# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""All formulations of J14 by name."""

from mb_contact.checks import as_choice
from mb_contact.studies.formulations.bodies import NmcFormulation, NmcOsFormulation
from mb_contact.studies.formulations.formulation import Formulation
from mb_contact.studies.formulations.hybrid import HybridFormulation
from mb_contact.studies.formulations.joint_space import McFormulation, RmcFormulation
from mb_contact.studies.formulations.os import OsFormulation
from mb_contact.studies.formulations.step_problem import StepProblem

FORMULATIONS = {
    kind.NAME: kind
    for kind in (NmcFormulation, McFormulation, RmcFormulation, OsFormulation, NmcOsFormulation, HybridFormulation)
}


def formulate(problem: StepProblem, formulation: str = "os") -> Formulation:
    """Set up a StepProblem in one of the formulations of J14.

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
    DynamicsError
        A hinge carries no inertia.

    Examples
    --------
    >>> ball = mb.model.Primitive("ball", "sphere", (0.1,), base="free", mass=2.0)
    >>> world = mb.build_world(mb.Scene(primitives=(ball,)))
    >>> touch = mb.studies.ContactPoint(0, -1, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    >>> problem = mb.studies.StepProblem(world, [0, 0, 0, 0, 0, 0, 1], np.zeros(6), contacts=[touch])
    >>> mb.studies.formulate(problem, "os").size, mb.studies.formulate(problem, "nmc").size  # J14 Table 1
    (10, 16)
    """
    return FORMULATIONS[as_choice(formulation, FORMULATIONS, "formulation")](problem)
