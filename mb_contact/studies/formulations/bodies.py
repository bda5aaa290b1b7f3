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
from mb_contact.studies.formulations.step_problem import spatial_inertias
from mb_contact.types import WORLD


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
