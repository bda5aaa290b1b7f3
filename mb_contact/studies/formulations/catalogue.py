# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""All formulations of J14 by name, and one step with any of them."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from mb_contact.checks import as_choice
from mb_contact.dynamics.arguments import TreeModel
from mb_contact.studies.formulations.formulation import Formulation, StepSolution
from mb_contact.studies.formulations.hybrid import HybridFormulation
from mb_contact.studies.formulations.loops import LoopClosure
from mb_contact.studies.formulations.mc import McFormulation
from mb_contact.studies.formulations.nmc import NmcFormulation
from mb_contact.studies.formulations.nmc_os import NmcOsFormulation
from mb_contact.studies.formulations.os import OsFormulation
from mb_contact.studies.formulations.rmc import RmcFormulation
from mb_contact.studies.formulations.step_problem import ContactPoint, StepProblem

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


def solve_step(
    model: TreeModel,
    q: ArrayLike,
    v: ArrayLike,
    effort: ArrayLike | None = None,
    contacts: Sequence[ContactPoint] = (),
    loops: Sequence[LoopClosure] = (),
    formulation: str = "os",
    method: str = "auto",
    **options: Any,
) -> StepSolution:
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

    Raises
    ------
    InputError
        Sizes, names or values do not fit.
    DynamicsError
        A hinge carries no inertia.

    Examples
    --------
    >>> ball = mb.model.Primitive("ball", "sphere", (0.1,), base="free", mass=2.0)
    >>> world = mb.build_world(mb.Scene(primitives=(ball,)))
    >>> touch = mb.studies.ContactPoint(0, -1, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    >>> solution = mb.studies.solve_step(world, [0, 0, 0, 0, 0, 0, 1], np.zeros(6), contacts=[touch], time_step=0.01)
    >>> solution.solved, solution.impulses
    (True, array([[0., 0., 0.1962]]))
    """
    problem = StepProblem(model, q, v, effort, contacts, loops, **options)
    return formulate(problem, formulation).solve(method)
