# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What all formulations have in common: a mixed problem M z + q, its solution, and the way back to theta_dot+.

A formulation fills ``M``, ``q`` and ``layout`` in ``assemble``.  ``layout`` names the parts of z in their order;
those before ``beta`` that are free (equality rows) are listed in ``FREE``.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from mb_contact.checks import Floats, as_choice, as_vector
from mb_contact.core.lcp.lemke import lemke, make_lemke_work
from mb_contact.solvers import solve_lcp
from mb_contact.studies.formulations.certificate import FormulationCertificate, certify_formulation
from mb_contact.studies.formulations.mixed import (
    Condensed,
    natural_residual,
    newton_unknowns,
    polish,
    semidefinite_inverse,
    trusted_residual,
)
from mb_contact.studies.formulations.step_problem import FLOOR

TOLERANCE = 1e-9  #: certificate that counts as solved [sqrt(N s m/s)]
STAGE_TOLERANCE = 1e-11  #: residual of the condensed problem at which no further stage is tried
REGULARISATIONS = (1e-10, 1e-8, 1e-6, 1e-4)  #: added to the scaled diagonal, one attempt each
STAGES = ("lemke", "regularised lemke", "restarted lemke", "newton")
RESTARTS = 20  #: covering vectors of the third stage
RESTART_WEIGHT = 1e-10
METHODS = ("auto", "lemke", "newton")


class Forces(NamedTuple):
    """What all formulations share: impulses on contacts, limits and loops, and sigma."""

    beta: np.ndarray  #: (n_u (n_f + 1) + limits,), F_n, beta_1 ... of each contact; then the limits [N s, N m s]
    sigma: np.ndarray  #: (n_u,) [m/s]
    p_loop: np.ndarray  #: (n_b,) [N s, N m s]


class StepSolution(NamedTuple):
    """Outcome of one formulation; judge it by ``certificate``.

    Examples
    --------
    >>> ball = mb.model.Primitive("ball", "sphere", (0.1,), base="free", mass=2.0)
    >>> world = mb.build_world(mb.Scene(primitives=(ball,)))
    >>> problem = mb.studies.StepProblem(world, [0, 0, 0, 0, 0, 0, 1], np.zeros(6), time_step=0.01)
    >>> solution = mb.studies.formulate(problem, "nmc").solve()
    >>> solution.v_next[5], solution.solved, solution.formulation  # nothing touches
    (-0.0981, True, 'nmc')
    """

    v_next: np.ndarray  #: theta_dot+ (N,)
    forces: Forces
    impulses: np.ndarray  #: (n_u, 3), F_u on A of each contact, world axes [N s] (Eq. 16)
    z: np.ndarray  #: the formulation's own unknowns
    solver: str  #: stage that found z: "lemke", "regularised lemke", "newton", each perhaps "polished"
    pivots: int  #: of Lemke's algorithm
    certificate: FormulationCertificate  #: recomputed from M, q and z
    formulation: str
    size: int

    @property
    def solved(self) -> bool:
        """Whether the certificate is within TOLERANCE.

        Returns
        -------
        bool
        """
        return self.certificate.worst <= TOLERANCE


class Formulation:
    """Base of the formulations of J14.

    Attributes
    ----------
    problem : StepProblem
    M : (size, size), sparse where the formulation lives from it
    q : (size,)
    layout : dict of str to slice
        Parts of z, in order.
    free : int
        Leading rows that are equalities; the others are complementary.
    """

    NAME = ""
    M: Any
    q: Floats
    FREE: tuple[str, ...] = ()  #: parts that are free
    REGULAR: tuple[str, ...] = ()  #: leading parts of FREE whose block of M is regular

    def __init__(self, problem):
        self.problem = problem
        parts = self.assemble()
        end = np.cumsum([0, *parts.values()])
        self.layout = {name: slice(int(a), int(b)) for name, a, b in zip(parts, end, end[1:])}
        self.free = sum(parts[name] for name in self.FREE)
        self._regular = sum(parts[name] for name in self.REGULAR)
        self._condensed = self._scale = None

    @property
    def size(self):
        """Number of unknowns (J14 Table 1)."""
        return len(self.q)

    # --- what a formulation has to say ----------------------------------------------------------

    def assemble(self):
        """Set ``M`` and ``q``; returns the sizes of the parts of z by name."""
        raise NotImplementedError

    def velocities(self, z):
        """theta_dot+ (N,) and p_loop (n_b,) that belong to a solution."""
        raise NotImplementedError

    def complete(self, forces):
        """z for the Forces that another formulation has found: the regular unknowns from their own equations."""
        known = [getattr(forces, name) for name in self.layout if name not in self.REGULAR]
        z = np.concatenate([np.zeros(self._regular), *known])
        for _ in range(2):  # the second time refines
            z[: self._regular] -= self.condensed().solve_regular((self.M @ z + self.q)[: self._regular])
        return z

    def scales(self):
        """Parts of ``scale`` by name; here those of the loops and contacts, to which a formulation adds its own."""
        beta, sigma = self.contact_scale()
        return {"p_loop": self.loop_scale(), "beta": beta, "sigma": sigma}

    # --- shared ---------------------------------------------------------------------------------

    def part(self, z, name):
        """Part of z by name, empty where the formulation has none."""
        return z[self.layout[name]] if name in self.layout else np.zeros(0)

    def scale(self):
        """s (size,) such that z s and w / s are both in sqrt(N s m/s)."""
        if self._scale is None:
            parts = self.scales()
            self._scale = np.concatenate([parts[name] for name in self.layout])
        return self._scale

    def condensed(self):
        """The linear complementarity problem without the equality rows."""
        if self._condensed is None:
            self._condensed = Condensed(self.M, self.q, self.free, self._regular, *self.free_scales())
        return self._condensed

    def solve(self, method="auto"):
        """Solve and judge.

        Parameters
        ----------
        method : str
            ``"auto"``, the STAGES in turn until the residual is within STAGE_TOLERANCE, the best one is kept;
            ``"lemke"``, those with Lemke's algorithm; ``"newton"``, the simulator's solver.

        Returns
        -------
        StepSolution
            ``solved`` tells whether the certificate is within TOLERANCE.
        """
        z, solver, pivots = self.search(as_choice(method, METHODS, "method"))
        judged = self._judge(z)
        for stage in STAGES if method == "auto" else ():  # self-stress of another solution may be rounding here
            if judged.worst <= TOLERANCE:
                break
            other, name, count = self.search(stage)
            pivots, again = pivots + count, self._judge(other)
            if again.worst < judged.worst:
                z, solver, judged = other, name, again
        forces, name = self._forces(z), self.NAME
        v_next, _ = self.velocities(z)
        return StepSolution(v_next, forces, self.impulses(forces), z, solver, pivots, judged, name, self.size)

    def _forces(self, z):
        """The impulses and slip of z."""
        return Forces(self.part(z, "beta").copy(), self.part(z, "sigma").copy(), self.velocities(z)[1])

    def _judge(self, z):
        """Certificate of z or of its impulses alone, the worse: beside great self-stress these have fewer digits."""
        return max(certify_formulation(self, z), residuals(self, self._forces(z)), key=lambda c: c.worst)

    def search(self, method="auto"):
        """Solve the complementarity problem alone: (z, solver, pivots), as for ``solve`` but not judged.

        ``method`` may be one of STAGES beside what ``solve`` takes, but for "lemke", which stands for three of them.
        """
        c, s = self.condensed(), np.concatenate(self.contact_scale())
        stages = {"auto": STAGES, "lemke": STAGES[:-1]}.get(method, (method,))
        y, solver, pivots = solve_condensed(self.problem, c.M, c.q, s, stages)
        return self._refine(c, y, s), solver, pivots

    def _refine(self, c, y, s):
        """z of the original problem from y of the condensed one.

        Elimination costs digits: the original problem says what is left in its complementary rows, and the
        active ones are solved for that once more.
        """
        z, least = c.expand(y), np.inf
        for _ in range(3):
            left = (self.M @ z + self.q)[self.rows_of_condensed()]
            residual = natural_residual(c.M, left - c.M @ y, y, s)
            if not residual < least:
                break
            best, least = z, residual
            y = polish(c.M, left - c.M @ y, y, s)
            z = c.expand(y)
        return best if np.isfinite(least) else z

    def eliminate_loops(self, inverse, G_b, v_f, k_b):
        """Response of the loops, their impulses without contact (Eq. 37b), Y (Eq. 39) and X (Eq. 38)."""
        self.response = inverse @ G_b.T  # M_t^-1 G_b*
        loops = semidefinite_inverse(G_b @ self.response, self.free_scales()[0]) if len(G_b) else np.zeros((0, 0))
        self.loops, self.p_free = loops, -loops @ (G_b @ v_f + k_b)
        self.Y = inverse - self.response @ loops @ self.response.T
        self.X = v_f + self.response @ self.p_free

    def loop_impulses(self, p_u):
        """p_b that belongs to the contacts' p_u (Eq. 37b)."""
        return self.p_free - self.loops @ (self.response.T @ p_u)

    def rows_of_condensed(self):
        """Rows of the original problem that are those of the condensed one."""
        return slice(self.free, None)

    def impulses(self, forces):
        """F_u = D beta in world axes (n_u, 3)."""
        local = (self.problem.D_ul @ forces.beta)[: 3 * self.problem.n_u].reshape(-1, 3)
        return np.einsum("ia,iab->ib", local, self.problem.frames)

    def contact_scale(self):
        """Scales of beta (limits too) and of sigma: diag(D* Lambda D)^1/2, not below ``least_scale``."""
        p = self.problem
        W, least = p.compliance[p.n_b :, p.n_b :], p.least_scale[p.n_b :]
        m, contacts = p.n_u * (p.n_f + 1), least[: 3 * p.n_u].reshape(p.n_u, 3)
        beta = np.sqrt(np.maximum(np.einsum("ij,ij->j", p.D_ul, W @ p.D_ul), 0.0))
        floor = np.concatenate([np.repeat(contacts.max(axis=1, initial=0.0), p.n_f + 1), least[3 * p.n_u :]])
        squares = np.maximum(np.diag(W)[: 3 * p.n_u], 0.0).reshape(p.n_u, 3)
        tangents = np.maximum(np.sqrt(0.5 * squares[:, 1:].sum(axis=1)), floor[: m : p.n_f + 1])
        return np.maximum(beta, floor), 1.0 / tangents

    def free_scales(self):
        """Scales of the loop rows, and of beta, if their bodies were free: what ``IMMOBILE`` is measured by."""
        p = self.problem
        free = p.least_scale / FLOOR
        contacts = free[p.n_b : p.n_b + 3 * p.n_u].reshape(p.n_u, 3).max(axis=1, initial=0.0)
        beta = np.concatenate([np.repeat(contacts, p.n_f + 1), free[p.n_b + 3 * p.n_u :]])
        return free[: p.n_b], beta

    def loop_scale(self):
        """Scales of the loop rows."""
        p = self.problem
        return np.maximum(np.sqrt(np.maximum(np.diag(p.compliance), 0.0)), p.least_scale)[: p.n_b]


def solve_condensed(problem, M, q, s, stages):
    """z of a contact problem without equality rows, the best of several stages; returns (z, solver, pivots).

    Lemke's algorithm; the same with the diagonal raised, where redundant contacts leave M without the digits
    that Lemke's ratio tests need; the same from other covering vectors; the simulator's solver.  After each
    attempt the active rows are solved once more without regularisation, and the residual decides.
    """
    best, solver, pivots, least = np.full(len(q), np.nan), "none", 0, np.inf
    scaled, right = M / np.outer(s, s), q / s
    for stage in stages:
        for z, count in _attempts(stage, problem, scaled, right, s):
            pivots += count
            for label, candidate in ((stage, z), (f"polished {stage}", polish(M, q, z, s))):
                residual = trusted_residual(M, q, candidate, s)
                if residual < least:
                    best, solver, least = candidate, label, residual
            if least <= STAGE_TOLERANCE:
                return best, solver, pivots
    return best, solver, pivots


def _attempts(stage, problem, scaled, right, s):
    """Candidates (z, pivots) of a stage, for the scaled problem."""
    n = len(right)
    if stage == "newton":
        yield newton_unknowns(problem, scaled * np.outer(s, s), right * s), 0
    elif stage == "restarted lemke":
        random = np.random.default_rng(0)  # other covering vectors: other paths to other solutions
        for _ in range(RESTARTS):
            t = np.exp(random.normal(size=n))
            z = np.zeros(n)
            M = np.ascontiguousarray((scaled + RESTART_WEIGHT * np.eye(n)) * np.outer(t, t))
            _, count = lemke(M, right * t, np.ones(n), n, *make_lemke_work(n), z, 20 * n + 50)
            yield z * t / s, count
    else:
        for weight in REGULARISATIONS if stage == "regularised lemke" else (0.0,):
            result = solve_lcp(scaled + weight * np.eye(n), right)
            yield result.z / s, result.iterations


def floored(s):
    """Scales of hinge rows kept away from zero."""
    return np.maximum(s, 1e-6 * s.max(initial=1e-300))


def sparse_blocks(rows):
    """Sparse matrix from rows of blocks, None for zero."""
    return scipy.sparse.bmat(rows, format="csr")


def residuals(formulation, forces):
    """Certificate, in ``formulation``'s own problem, of forces that another formulation has found."""
    p = formulation.problem
    beta = as_vector(forces.beta, p.D_ul.shape[1], "beta")
    sigma, p_loop = as_vector(forces.sigma, p.n_u, "sigma"), as_vector(forces.p_loop, p.n_b, "p_loop")
    return certify_formulation(formulation, formulation.complete(Forces(beta, sigma, p_loop)))
