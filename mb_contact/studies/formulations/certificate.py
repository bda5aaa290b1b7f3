# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Judge impulses on a contact problem, from the problem's own data and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import as_matrix, as_vector
from mb_contact.core.lcp.certificate import GAP, INFEASIBLE, VIOLATION, WORST
from mb_contact.core.solve.certificate import certify as _certify
from mb_contact.core.solve.system import make_system_handle
from mb_contact.solvers.blocks import pose_blocks

if TYPE_CHECKING:
    from mb_contact.studies.formulations.formulation import Formulation
    from mb_contact.studies.formulations.os import ContactProblem


class Residuals(NamedTuple):
    """How far impulses are from solving a contact problem; pairs in sqrt(N s m/s)."""

    complementarity_gap: float
    infeasibility: float
    cone_violation: float  #: friction beyond the pyramid [N s]
    worst_block: int  #: contact or limit with the largest residual


def certify(problem: ContactProblem, impulses: ArrayLike | None = None) -> Residuals:
    """Recompute the residuals of impulses on a ContactProblem (J14 (53)); rolling is judged as the disc that it is.

    Parameters
    ----------
    problem : ContactProblem
    impulses : array_like (R,), optional
        [N s, N m s]; by default the step's own.

    Returns
    -------
    Residuals
        Pairs in sqrt(N s m/s).

    Raises
    ------
    InputError
        The sizes of the problem's arrays, or of the impulses, do not fit.

    Examples
    --------
    >>> sim = mb.Simulator(mb.load_scene("package://mb_contact/config/box_on_table.yaml"))
    >>> _ = sim.step()
    >>> mb.studies.certify(sim.contact_problem()).complementarity_gap < 1e-9
    True
    """
    rows = len(problem.q)
    r = problem.impulses if impulses is None else as_vector(impulses, rows, "impulses", finite=False)
    W, q = as_matrix(problem.W, name="W", finite=False), as_vector(problem.q, name="q", finite=False)
    kind, bounds = problem.laws()
    P, found = pose_blocks(W, q, kind, problem.dim, bounds, problem.directions), np.zeros(4)
    P.r[:rows] = r
    _certify(make_system_handle(P), W @ r + q, rows, found, np.zeros(2))
    return Residuals(float(found[GAP]), float(found[INFEASIBLE]), float(found[VIOLATION]), int(found[WORST]))


class FormulationCertificate(NamedTuple):
    """How far z is from solving a formulation's mixed problem; pairs in sqrt(N s m/s), see ``scale``.

    Examples
    --------
    >>> ball = mb.model.Primitive("ball", "sphere", (0.1,), base="free", mass=2.0)
    >>> world = mb.build_world(mb.Scene(primitives=(ball,)))
    >>> touch = mb.studies.ContactPoint(0, -1, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    >>> problem = mb.studies.StepProblem(world, [0, 0, 0, 0, 0, 0, 1], np.zeros(6), contacts=[touch])
    >>> mb.studies.formulate(problem).solve().certificate.worst < 1e-12
    True
    """

    complementarity_gap: float  #: largest min(z, w) over the complementary rows
    infeasibility_z: float  #: largest negative impulse or sigma
    infeasibility_w: float  #: largest negative velocity or friction slack
    equality: float  #: largest ``|w|`` of the equality rows: momentum, hinges, loops
    cone_violation: float  #: friction beyond the pyramid mu F_n [N s]
    natural_map: float  #: largest ``|min(z, w)|``, and ``|w|`` of equality rows
    worst_contact: int  #: contact, or n_u + limit, with the largest residual; -1 without contact

    @property
    def worst(self) -> float:
        """Largest of the scaled residuals.

        Returns
        -------
        float
            [sqrt(N s m/s)]; infinite where something is not finite.
        """
        return max(
            self.complementarity_gap, self.infeasibility_z, self.infeasibility_w, self.equality, self.natural_map
        )


def certify_formulation(formulation: Formulation, z: ArrayLike) -> FormulationCertificate:
    """Judge z on a formulation's original problem, from its M and q alone.

    Every row is scaled, z s and w / s with s of ``formulation.scale()``, so that newton seconds and metres per
    second compare.

    Parameters
    ----------
    formulation : Formulation
    z : array_like (size,)
        Its unknowns.

    Returns
    -------
    FormulationCertificate

    Raises
    ------
    InputError
        z has the wrong length.

    Examples
    --------
    >>> ball = mb.model.Primitive("ball", "sphere", (0.1,), base="free", mass=2.0)
    >>> world = mb.build_world(mb.Scene(primitives=(ball,)))
    >>> touch = mb.studies.ContactPoint(0, -1, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    >>> problem = mb.studies.StepProblem(world, [0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, -1], contacts=[touch])
    >>> formulation = mb.studies.formulate(problem)
    >>> mb.studies.certify_formulation(formulation, np.zeros(formulation.size)).infeasibility_w > 1.0  # falls through
    True
    """
    z = as_vector(z, formulation.size, "z", finite=False)
    if not np.isfinite(z).all():
        bad = float("inf")
        return FormulationCertificate(bad, bad, bad, bad, bad, bad, -1)
    s = formulation.scale()
    w = formulation.M @ z + formulation.q
    zs, ws, free = z * s, w / s, formulation.free
    equality = np.abs(ws[:free])
    smaller = np.minimum(zs[free:], ws[free:])
    per_row = np.concatenate([equality, np.abs(smaller)])
    layout, p = formulation.layout, formulation.problem
    beta, sigma = per_row[layout["beta"]], per_row[layout["sigma"]]
    m = p.n_u * (p.n_f + 1)
    blocks = np.concatenate([np.maximum(beta[:m].reshape(p.n_u, p.n_f + 1).max(axis=1, initial=0.0), sigma), beta[m:]])
    return FormulationCertificate(
        complementarity_gap=float(smaller.max(initial=0.0)),
        infeasibility_z=float(-zs[free:].min(initial=0.0)),
        infeasibility_w=float(-ws[free:].min(initial=0.0)),
        equality=float(equality.max(initial=0.0)),
        cone_violation=float(-w[layout["sigma"]].min(initial=0.0)),  # w of sigma is mu F_n - sum of beta
        natural_map=float(per_row.max(initial=0.0)),
        worst_contact=int(blocks.argmax()) if len(blocks) else -1,
    )
