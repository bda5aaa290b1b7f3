# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The minimal coordinates (MC) formulation, J14 section 4, Eq. 36: hinges in the coordinates, loops as rows.

        | M_t   -G_b*  -G_u* D  0  |        | theta_dot+ |        | -M_t theta_dot- - (T - C) dt |
    M = | G_b     0       0     0  |,   z = | p_b        |,   q = | -G_b theta_dot- - U_bar dt   |
        | D* G_u  0       0     E^ |        | beta       |        | 0                            |
        | 0       0       E_    0  |        | sigma      |        | 0                            |

Size N + n_b + n_u (n_f + 2); set-up O(N^2) for the mass matrix M_t.  The loop rows carry the drift terms and the
contact rows the gap of step_problem.py.
"""

import numpy as np
import scipy.sparse

from mb_contact.studies.formulations.formulation import Formulation, sparse_blocks
from mb_contact.studies.formulations.joint_space import joint_mass_matrix, row_jacobian, smooth_forces


class McFormulation(Formulation):
    """Eq. 36; z = [theta_dot+; p_loop; beta; sigma]."""

    NAME = "mc"
    FREE = ("v", "p_loop")
    REGULAR = ("v",)

    def assemble(self):
        p = self.problem
        k = p.rows.constant
        M = joint_mass_matrix(p)
        G = row_jacobian(p)
        G_b, G_u = (scipy.sparse.csr_matrix(x) for x in (G[: p.n_b], p.times_D(G[p.n_b :].T).T))
        E_hat, E_bar = scipy.sparse.csr_matrix(p.E_hat), scipy.sparse.csr_matrix(p.E_bar)
        self.M = sparse_blocks(
            [
                [scipy.sparse.csr_matrix(M), -G_b.T, -G_u.T, None],
                [G_b, None, None, None],
                [G_u, None, None, E_hat],
                [None, None, E_bar, scipy.sparse.csr_matrix((p.n_u, p.n_u))],
            ]
        )
        impulse = M @ p.state.v + p.dt * smooth_forces(p)
        self.q = np.concatenate([-impulse, k[: p.n_b], p.D_ul.T @ k[p.n_b :], np.zeros(p.n_u)])
        return {"v": p.N, "p_loop": p.n_b, "beta": p.D_ul.shape[1], "sigma": p.n_u}

    def velocities(self, z):
        return self.part(z, "v").copy(), self.part(z, "p_loop").copy()

    def scales(self):
        return {**super().scales(), "v": np.sqrt(self.M.diagonal()[: self.problem.N])}
