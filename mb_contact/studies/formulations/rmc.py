# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The reduced minimal coordinates (RMC) formulation, J14 section 5, Eq. 41: velocities and loops eliminated.

    M = | D* G_u Y G_u* D   E^ |,   z = | beta  |,   q = | D* G_u X |
        | E_                0  |        | sigma |        | 0        |

    Y = M_t^-1 - M_t^-1 G_b* (G_b M_t^-1 G_b*)^-1 G_b M_t^-1                               (Eq. 39)
    X = theta_dot- + Y (T - C) dt + M_t^-1 G_b* (G_b M_t^-1 G_b*)^-1 U_bar dt               (Eq. 39)

Size n_u (n_f + 2); set-up O(N^3).  (39) assumes G_b theta_dot- = U; with the drift terms of step_problem.py,
X is the projection of the free velocity v_f = theta_dot- + M_t^-1 (T - C) dt onto G_b X + k = 0:

    X = v_f - M_t^-1 G_b* (G_b M_t^-1 G_b*)^-1 (G_b v_f + k).
"""

import numpy as np
import scipy.linalg

from mb_contact.studies.formulations.formulation import Formulation
from mb_contact.studies.formulations.joint_space import joint_mass_matrix, row_jacobian, smooth_forces
from mb_contact.studies.formulations.mixed import without_immobile


class RmcFormulation(Formulation):
    """Eq. 41; z = [beta; sigma]."""

    NAME = "rmc"

    def assemble(self):
        p = self.problem
        G = row_jacobian(p)
        self.G_b, self.G_u = G[: p.n_b], G[p.n_b :]
        k_b, k_u = p.rows.constant[: p.n_b], p.rows.constant[p.n_b :]
        inverse = scipy.linalg.cho_solve(scipy.linalg.cho_factor(joint_mass_matrix(p)), np.eye(p.N))
        v_f = p.state.v + p.dt * (inverse @ smooth_forces(p))
        self.eliminate_loops(inverse, self.G_b, v_f, k_b)
        DG = p.times_D(self.G_u.T).T
        self.M = np.block([[DG @ self.Y @ DG.T, p.E_hat], [p.E_bar, np.zeros((p.n_u, p.n_u))]])  # Eq. 41
        self.q = np.concatenate([DG @ self.X + p.D_ul.T @ k_u, np.zeros(p.n_u)])
        self.M, self.q = without_immobile(self.M, self.q, self.free_scales()[1])
        return {"beta": p.D_ul.shape[1], "sigma": p.n_u}

    def velocities(self, z):
        """p_u by Eq. 35, theta_dot+ = Y p_u + X by Eq. 38, p_b by Eq. 37b."""
        p_u = self.G_u.T @ (self.problem.D_ul @ self.part(z, "beta"))
        return self.Y @ p_u + self.X, self.loop_impulses(p_u)
