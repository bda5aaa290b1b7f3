# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Formulations in minimal coordinates (J14 sections 4 and 5), MC and RMC: the tree's mass matrix, forces and rows."""

import numpy as np
import scipy.linalg
import scipy.sparse

from mb_contact.core.tree.composite import body_composites, mass_matrix, mirror
from mb_contact.core.tree.frames import frame_jacobians
from mb_contact.core.tree.inverse_dynamics import inverse_dynamics
from mb_contact.studies.formulations.formulation import Formulation, sparse_blocks
from mb_contact.studies.formulations.mixed import without_immobile
from mb_contact.types import WORLD


class McFormulation(Formulation):
    """The minimal coordinates (MC) formulation, J14 section 4, Eq. 36: hinges in the coordinates, loops as rows.

            | M_t   -G_b*  -G_u* D  0  |        | theta_dot+ |        | -M_t theta_dot- - (T - C) dt |
        M = | G_b     0       0     0  |,   z = | p_b        |,   q = | -G_b theta_dot- - U_bar dt   |
            | D* G_u  0       0     E^ |        | beta       |        | 0                            |
            | 0       0       E_    0  |        | sigma      |        | 0                            |

    Size N + n_b + n_u (n_f + 2); set-up O(N^2) for the mass matrix M_t.  The loop rows carry the drift terms and the
    contact rows the gap of step_problem.py.

    Eq. 36; z = [theta_dot+; p_loop; beta; sigma].
    """

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


class RmcFormulation(Formulation):
    """The reduced minimal coordinates (RMC) formulation, J14 section 5, Eq. 41: velocities and loops eliminated.

        M = | D* G_u Y G_u* D   E^ |,   z = | beta  |,   q = | D* G_u X |
            | E_                0  |        | sigma |        | 0        |

        Y = M_t^-1 - M_t^-1 G_b* (G_b M_t^-1 G_b*)^-1 G_b M_t^-1                               (Eq. 39)
        X = theta_dot- + Y (T - C) dt + M_t^-1 G_b* (G_b M_t^-1 G_b*)^-1 U_bar dt               (Eq. 39)

    Size n_u (n_f + 2); set-up O(N^3).  (39) assumes G_b theta_dot- = U; with the drift terms of step_problem.py,
    X is the projection of the free velocity v_f = theta_dot- + M_t^-1 (T - C) dt onto G_b X + k = 0:

        X = v_f - M_t^-1 G_b* (G_b M_t^-1 G_b*)^-1 (G_b v_f + k).

    Eq. 41; z = [beta; sigma].
    """

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


def joint_mass_matrix(problem):
    """Mass matrix (N, N) by composite bodies, O(N^2) (Eq. 28); rotors and implicit damping included."""
    kin = problem.state.kin
    I, mc, mass = np.empty_like(kin.I), np.empty_like(kin.mc), np.empty(problem.n)
    body_composites(problem.tree, kin, I, mc, mass)
    M = np.zeros((problem.N, problem.N))
    mass_matrix(problem.tree, kin, I, mc, mass, np.zeros(problem.n, np.int64), np.zeros((9, problem.N)), M)
    mirror(M)
    M[np.diag_indices(problem.N)] += problem.damping
    return M


def smooth_forces(problem):
    """T - C (N,) of Eq. 28, the damping -d v with it."""
    n, N = problem.n, problem.N
    C = np.zeros(N)
    inverse_dynamics(
        problem.tree, problem.state.kin, problem.gravity, np.zeros(N), np.zeros((n, 6)), np.zeros((n, 6)), C
    )
    smooth = problem.effort - problem.tree.damping * problem.state.v - C
    pushed = np.flatnonzero(problem.external.any(axis=1))
    if len(pushed):
        smooth += body_jacobians(problem, pushed).reshape(-1, N).T @ problem.external[pushed].ravel()
    return smooth


def row_jacobian(problem):
    """G (R, N): velocities of the rows from joint rates (Eq. 29, 34), loops first."""
    rows = problem.rows
    G = np.zeros((len(rows.constant), problem.N))
    for side, on in ((rows.body_a, rows.on_a), (rows.body_b, rows.on_b)):
        there = side != WORLD
        bodies, which = np.unique(side[there], return_inverse=True)
        G[there] += np.einsum("ri,rij->rj", on[there], body_jacobians(problem, bodies)[which])
    return G


def body_jacobians(problem, bodies):
    """Jacobians (len(bodies), 6, N) of body origins."""
    kin = problem.state.kin
    J = np.zeros((6 * len(bodies), problem.N))
    frame_jacobians(problem.tree, kin, bodies, np.zeros(len(bodies), np.int64), np.ascontiguousarray(kin.p[bodies]), J)
    return J.reshape(-1, 6, problem.N)
