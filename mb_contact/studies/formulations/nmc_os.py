# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The NMC/OS formulation, J14 section 8: the form of Eq. 53 with links as free bodies and hinges as rows.

    M = [[W L W*, E^-part], [E_, 0]],   L = J M^-1 J* with the block-diagonal M of the bodies,
    W = [K; S; G_b; D* G_u],   z = [p_hinge; p_rotor; p_loop; beta; sigma]

Size (6 n - N) + n_b + n_u (n_f + 2), and one more for each joint with rotor inertia or implicit damping A
(``p_rotor``): as part of M they would couple neighbours and fill L; as compliant rows
S V+ + A^-1 p - (theta_dot- + S a dt) = 0 they leave it block diagonal.  So W L W* is sparse: two rows meet only
where they act on a common body.
"""

import numpy as np
import scipy.sparse

from mb_contact.studies.formulations.bodies import Bodies
from mb_contact.studies.formulations.formulation import Formulation, floored, sparse_blocks


class NmcOsFormulation(Formulation):
    """Eq. 53 in body coordinates."""

    NAME = "nmc_os"
    FREE = ("p_hinge", "p_rotor", "p_loop")
    REGULAR = ("p_hinge", "p_rotor")

    def assemble(self):
        p = self.problem
        self.bodies = b = Bodies(p)
        dt, k = p.dt, b.row_constant()
        rotor = np.flatnonzero(b.rotors)
        self.V_f = b.V + dt * (b.M_inverse @ b.C)  # free velocity of the bodies
        S = b.S[rotor]
        D_ul = scipy.sparse.csr_matrix(p.D_ul)
        self.W = scipy.sparse.vstack([b.K, S, b.G[: p.n_b], D_ul.T @ b.G[p.n_b :]], format="csr")
        Lambda = self.W @ b.M_inverse @ self.W.T
        hinges, m = b.K.shape[0], self.W.shape[0]
        soft = np.zeros(m)
        soft[hinges : hinges + len(rotor)] = 1.0 / b.rotors[rotor]
        E_hat = scipy.sparse.vstack([scipy.sparse.csr_matrix((m - len(p.E_hat), p.n_u)), p.E_hat])
        E_bar = scipy.sparse.hstack([scipy.sparse.csr_matrix((p.n_u, m - len(p.E_hat))), p.E_bar])
        still = scipy.sparse.csr_matrix((p.n_u, p.n_u))
        self.M = sparse_blocks([[Lambda + scipy.sparse.diags(soft), E_hat], [E_bar, still]])
        before = p.state.v + dt * b.rate_bias
        constant = [-dt * b.hinge_bias, -before[rotor], k[: p.n_b], D_ul.T @ k[p.n_b :]]
        self.q = np.concatenate([self.W @ self.V_f + np.concatenate(constant), np.zeros(p.n_u)])
        return {
            "p_hinge": hinges, "p_rotor": len(rotor), "p_loop": p.n_b, "beta": p.D_ul.shape[1], "sigma": p.n_u,
        }  # fmt: skip

    def velocities(self, z):
        b = self.bodies
        V = self.V_f + b.M_inverse @ (self.W.T @ z[: self.W.shape[0]])
        return b.rates(V), self.part(z, "p_loop").copy()

    def scales(self):
        diagonal = floored(np.sqrt(self.M.diagonal()[: self._regular]))
        hinge, rotor = np.split(diagonal, [self.bodies.K.shape[0]])
        return {**super().scales(), "p_hinge": hinge, "p_rotor": rotor}
