# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Trinkle's hybrid, J14 end of section 5: RMC on free bodies, each hinge row as a pair of inequalities.

Body velocities and loop impulses are eliminated as in Eq. 41, with Y and X of the bodies; each hinge row K V+ = K a dt
becomes K V+ - K a dt >= 0 and -(K V+ - K a dt) >= 0 with impulses p+ and p-, p_hinge = p+ - p-:

    z = [beta; p+; p-; sigma],   M = [[B Y B*, E^-part], [E_, 0]],   B = [D* G_u; K; -K]

Size n_u (n_f + 2) + 2 (6 n - N); set-up O(n^3).  The pairs make M singular: p+ and p- may grow together.
"""

import numpy as np
import scipy.linalg

from mb_contact.studies.formulations.bodies import Bodies
from mb_contact.studies.formulations.formulation import STAGES, Formulation, floored, solve_condensed
from mb_contact.studies.formulations.mixed import Condensed, natural_residual

PAIR_TOLERANCE = 1e-10  #: residual at which the pairs count as solved


class HybridFormulation(Formulation):
    """RMC of free bodies with paired hinge rows; z = [beta; p_plus; p_minus; sigma]."""

    NAME = "hybrid"

    def assemble(self):
        p = self.problem
        self.bodies = b = Bodies(p)
        G, K = b.G.toarray(), b.K.toarray()
        k, dt = b.row_constant(), p.dt
        A = b.S.multiply(b.rotors[:, None])
        inertia = (b.M + b.S.T @ A).toarray()
        inverse = scipy.linalg.cho_solve(scipy.linalg.cho_factor(inertia), np.eye(6 * b.n))
        # rotors turn with theta_dot+ = S (V+ - a dt): the same term as in the first row of q of Eq. 27
        V_f = b.V + dt * (inverse @ (b.C + b.S.T @ (b.rotors * b.rate_bias)))
        self.eliminate_loops(inverse, G[: p.n_b], V_f, k[: p.n_b])
        self.K, self.DG = K, p.times_D(G[p.n_b :].T).T
        B = np.vstack([self.DG, K, -K])
        m, hinges = p.D_ul.shape[1], len(K)
        still = np.zeros((p.n_u, 2 * hinges))
        E_hat, E_bar = np.vstack([p.E_hat, still.T]), np.hstack([p.E_bar, still])
        self.M = np.block([[B @ self.Y @ B.T, E_hat], [E_bar, np.zeros((p.n_u, p.n_u))]])
        bias = dt * b.hinge_bias
        constant = np.concatenate([p.D_ul.T @ k[p.n_b :], -bias, bias])
        self.q = np.concatenate([B @ self.X + constant, np.zeros(p.n_u)])
        return {"beta": m, "p_plus": hinges, "p_minus": hinges, "sigma": p.n_u}

    def condensed(self):
        """The pairs merged into equality rows again and eliminated: for the stages after the first two."""
        if self._condensed is None:
            m, hinges = self.problem.D_ul.shape[1], len(self.K)
            order = np.r_[m : m + hinges, :m, m + 2 * hinges : len(self.q)]
            self._condensed = _Paired(self.M[np.ix_(order, order)], self.q[order], hinges, self.free_scales()[1])
        return self._condensed

    def search(self, method="auto"):
        """Lemke's algorithm on the pairs as they are, then as the other formulations."""
        pivots = 0
        if method != "newton":
            s = self.scale()
            z, solver, pivots = solve_condensed(self.problem, self.M, self.q, s, STAGES[:2])
            if natural_residual(self.M, self.q, z, s) <= PAIR_TOLERANCE:
                return z, solver, pivots
        z, solver, more = super().search(method)
        return z, f"merged pairs, {solver}", pivots + more

    def rows_of_condensed(self):
        m, hinges = self.problem.D_ul.shape[1], len(self.K)
        return np.r_[:m, m + 2 * hinges : len(self.q)]

    def velocities(self, z):
        p_u = self.DG.T @ self.part(z, "beta") + self.K.T @ (self.part(z, "p_plus") - self.part(z, "p_minus"))
        return self.bodies.rates(self.Y @ p_u + self.X), self.loop_impulses(p_u)

    def complete(self, forces):
        """p+ - p- from the hinge rows."""
        return self.condensed().expand(np.concatenate([forces.beta, forces.sigma]))

    def scales(self):
        m = self.problem.D_ul.shape[1]
        hinge = floored(np.sqrt(np.maximum(np.diag(self.M)[m : m + len(self.K)], 0.0)))
        return {**super().scales(), "p_plus": hinge, "p_minus": hinge}


class _Paired(Condensed):
    """Free unknowns p_hinge come back as pairs (p+, p-) after the first ``m`` others, beta."""

    def __init__(self, M, q, hinges, scale):
        super().__init__(M, q, hinges, hinges, np.zeros(0), scale)
        self._m = len(scale)

    def expand(self, z):
        p = super().expand(z)[: self._free]
        return np.concatenate([z[: self._m], np.maximum(p, 0.0), np.maximum(-p, 0.0), z[self._m :]])
