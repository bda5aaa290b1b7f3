# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The fully augmented model: every link a body of its own, hinges as bilateral rows (J14 section 3).

Used by NMC, NMC/OS and the hybrid.  Stacked body velocities are in world axes at the body origins.  Between
body k and its parent p, with H the hinge map and a the Coriolis acceleration of joint k,

    K (V(k) - phi* V(p)) = 0          K an orthonormal basis across H: the hinge rows G_b of Eq. 17
    K (alpha(k) - phi* alpha(p)) = K a,    so U_bar = K a in Eq. 19
    theta_dot = S (V(k) - phi* V(p)),      S = (H H*)^-1 H

An Euler step of accelerations gives V+ = phi* (H* theta_dot+ + a dt): bodies that obey their hinges after the
step up to the Coriolis term a dt.  So ``drift`` = phi* a is taken off where theta_dot+ is read from V+.
"""

from functools import cached_property

import numpy as np
import scipy.sparse

from mb_contact.errors import DynamicsError
from mb_contact.studies.formulations.formulation import Formulation, floored, sparse_blocks
from mb_contact.studies.formulations.step_problem import spatial_inertias
from mb_contact.types import WORLD


class NmcFormulation(Formulation):
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

    Eq. 27; z = [V+; p_hinge; p_loop; beta; sigma].
    """

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


class NmcOsFormulation(Formulation):
    """The NMC/OS formulation, J14 section 8: the form of Eq. 53 with links as free bodies and hinges as rows.

        M = [[W L W*, E^-part], [E_, 0]],   L = J M^-1 J* with the block-diagonal M of the bodies,
        W = [K; S; G_b; D* G_u],   z = [p_hinge; p_rotor; p_loop; beta; sigma]

    Size (6 n - N) + n_b + n_u (n_f + 2), and one more for each joint with rotor inertia or implicit damping A
    (``p_rotor``): as part of M they would couple neighbours and fill L; as compliant rows
    S V+ + A^-1 p - (theta_dot- + S a dt) = 0 they leave it block diagonal.  So W L W* is sparse: two rows meet only
    where they act on a common body.

    Eq. 53 in body coordinates.
    """

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


class Bodies:
    """Matrices of the fully augmented model of a StepProblem.

    Attributes
    ----------
    V, drift : (6 n,)
    G : sparse (R, 6 n)
        The problem's rows on body velocities.
    K : sparse (6 n - N, 6 n)
        Hinge rows; ``hinge_bias`` is K a.
    S : sparse (N, 6 n)
        Joint rates; ``rate_bias`` is S a.
    """

    def __init__(self, problem):
        self.problem = problem
        self.tree, self.kin = problem.tree, problem.state.kin
        self.n, self.N = problem.n, problem.N
        self.V, self.drift = self.kin.V.ravel(), problem.state.drift.ravel()
        rows = problem.rows
        self.G = _on_bodies(rows.body_a, rows.body_b, rows.on_a, rows.on_b, self.n)
        H, K, body = self._across()
        self.S, self.rate_bias = self._hinge(np.repeat(np.arange(self.n), self.tree.nv), H)
        self.K, self.hinge_bias = self._hinge(body, K)

    def _across(self):
        """S row by row, K row by row, and the body of each row of K."""
        nv, H = self.tree.nv, self.kin.H
        S, K = np.zeros((self.N, 6)), np.zeros((6 * self.n - self.N, 6))
        body = np.repeat(np.arange(self.n), 6 - nv)
        start = np.cumsum(6 - nv) - (6 - nv)
        for r in np.unique(nv):
            which = np.flatnonzero(nv == r)
            blocks = H[self.tree.v_start[which, None] + np.arange(r)]
            S[self.tree.v_start[which, None] + np.arange(r)] = np.linalg.solve(
                blocks @ blocks.transpose(0, 2, 1), blocks
            )
            if r < 6:
                K[start[which, None] + np.arange(6 - r)] = np.linalg.svd(blocks)[2][:, r:]
        return S, K, body

    def _hinge(self, body, rows):
        """Rows x (V(k) - phi*(p, k) V(p)) on all bodies, and x a(k)."""
        l = self.kin.l[body]
        up = -rows
        up[:, :3] -= np.cross(l, rows[:, 3:])  # x phi* = [x_w + l x x_v, x_v]
        bias = np.einsum("ij,ij->i", rows, self.kin.a[body])
        return _on_bodies(body, self.tree.parent[body], rows, up, self.n), bias

    @cached_property
    def blocks(self):
        """Spatial inertias (n, 6, 6)."""
        M = spatial_inertias(self.tree, self.kin)
        for k in np.flatnonzero(~(np.linalg.eigvalsh(M)[:, 0] > 0.0)):
            names = getattr(self.problem.model, "body_names", None)
            name = names[k] if names else k
            raise DynamicsError(
                f"link '{name}' has no inertia of its own, which free bodies need: use os, mc or rmc, or give it some"
            )
        return M

    @cached_property
    def M(self):
        """Block-diagonal inertia M, sparse (6 n, 6 n)."""
        return block_diagonal(self.blocks)

    @cached_property
    def M_inverse(self):
        """Its inverse, just as block diagonal."""
        return block_diagonal(np.linalg.inv(self.blocks))

    @cached_property
    def rotors(self):
        """Inertia of the joint rates themselves (N,): rotors, and dt d of implicit damping."""
        return self.tree.armature + self.problem.damping

    @cached_property
    def C(self):
        """Velocity dependent and external forces (6 n,): gyroscopic, weight, joint efforts and damping."""
        weight = self.blocks[:, :, 3:] @ self.problem.gravity
        smooth = self.problem.effort - self.tree.damping * self.problem.state.v
        return (weight - self.kin.b + self.problem.external).ravel() + self.S.T @ smooth

    def rates(self, V_next):
        """theta_dot+ (N,) from V+."""
        return self.S @ (V_next - self.problem.dt * self.drift)

    def row_constant(self):
        """k (R,) of the rows in G V+ + k: theirs in joint rates, less dt G phi* a."""
        return self.problem.rows.constant - self.problem.dt * (self.G @ self.drift)


def block_diagonal(blocks):
    """Sparse matrix (6 n, 6 n) with the blocks (n, 6, 6) on its diagonal."""
    n = len(blocks)
    start, column = np.arange(n + 1), np.arange(n)
    return scipy.sparse.bsr_matrix((blocks, column, start), shape=(6 * n, 6 * n)).tocsr()


def _on_bodies(body_a, body_b, on_a, on_b, n):
    """Sparse (rows, 6 n) from two-sided rows."""
    row = np.arange(len(body_a))
    parts = []
    for body, on in ((body_a, on_a), (body_b, on_b)):
        there = body != WORLD
        columns = 6 * body[there, None] + np.arange(6)
        parts.append((on[there].ravel(), np.repeat(row[there], 6), columns.ravel()))
    data, i, j = (np.concatenate(x) for x in zip(*parts))
    return scipy.sparse.csr_matrix((data, (i, j)), shape=(len(body_a), 6 * n))
