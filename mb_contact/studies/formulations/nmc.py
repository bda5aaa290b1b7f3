# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The non-minimal coordinates (NMC) formulation, J14 section 3, Eq. 27: every link a free body.

        | M    -G_b*  -G_u* D   0  |        | V+   |        | -M V- - C dt              |
    M = | G_b    0       0      0  |,   z = | p_b  |,   q = | -G_b V- - U_bar dt        |
        | D* G_u 0       0      E^ |        | beta |        | 0                         |
        | 0      0       E_     0  |        | sigma|        | 0                         |

Size 6 n + n_b + n_u (n_f + 2), n_b all hinges and loops; set-up O(n); M is sparse.

Beside the print:
* hinge rows: V- of a tree obeys its hinges, so G_b V- = 0 and the second row of q is -K a dt;
* loop rows have the drift terms of step_problem.py instead of G_b V-; contact rows the gap, and
  D* G_u (V+ - phi* a dt) in place of the D* G_u V+ of Eq. 27 unless ``velocity_product``;
* rotor inertia and implicit damping A act on joint rates: M + S* A S, still sparse.
"""

import numpy as np
import scipy.sparse

from mb_contact.studies.formulations.bodies import Bodies
from mb_contact.studies.formulations.formulation import Formulation, floored, sparse_blocks


class NmcFormulation(Formulation):
    """Eq. 27; z = [V+; p_hinge; p_loop; beta; sigma]."""

    NAME = "nmc"
    FREE = ("V", "p_hinge", "p_loop")
    REGULAR = ("V", "p_hinge")

    def assemble(self):
        p = self.problem
        self.bodies = b = Bodies(p)
        dt = p.dt
        G_loop, G_u = b.G[: p.n_b], b.G[p.n_b :]
        k = b.row_constant()
        D_ul, E_hat, E_bar = (scipy.sparse.csr_matrix(x) for x in (p.D_ul, p.E_hat, p.E_bar))
        DG = D_ul.T @ G_u  # D* G_u
        M = b.M + b.S.T @ scipy.sparse.diags(b.rotors) @ b.S if b.rotors.any() else b.M
        self.M = sparse_blocks(
            [
                [M, -b.K.T, -G_loop.T, -DG.T, None],
                [b.K, None, None, None, None],
                [G_loop, None, None, None, None],
                [DG, None, None, None, E_hat],
                [None, None, None, E_bar, scipy.sparse.csr_matrix((p.n_u, p.n_u))],
            ]
        )
        self.q = np.concatenate(
            [
                -(M @ b.V) - dt * (b.S.T @ (b.rotors * b.rate_bias)) - dt * b.C,
                -dt * b.hinge_bias,  # -G_b V- - U_bar dt
                k[: p.n_b],
                D_ul.T @ k[p.n_b :],
                np.zeros(p.n_u),
            ]
        )
        return {"V": 6 * b.n, "p_hinge": 6 * b.n - b.N, "p_loop": p.n_b, "beta": p.D_ul.shape[1], "sigma": p.n_u}

    def velocities(self, z):
        return self.bodies.rates(self.part(z, "V")), self.part(z, "p_loop").copy()

    def scales(self):
        b = self.bodies
        hinge = np.sqrt(np.maximum((b.K.multiply(b.K @ b.M_inverse)).sum(axis=1).A1, 0.0))
        return {**super().scales(), "V": np.sqrt(b.M.diagonal()), "p_hinge": floored(hinge)}
