# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The operational-space (OS) formulation of the contact problem, J14 Eq. 53.

    M z + q _|_ z,   z = [beta_ul; sigma],   M = [[D_ul* Lambda D_ul, E_hat], [E_bar, 0]]

with the normal row's gap term added to q (docs/contact.md).  The step solves the same problem
condensed to three rows a contact; ``ContactProblem`` writes it out, for study, for other solvers and for
judging: n_u (n_f + 2) unknowns and one for each joint limit, whatever the number of bodies.

``OsFormulation`` is the formulation beside the others, with rows for loop closures:

    M = [[W Lambda W*, E^-part], [E_, 0]],   W = [Q_b; D* Q_u],   z = [p_b; beta; sigma],
    q = [delta_b dt; D* (v_u- + delta_u dt); 0]  =  [W V_f + k; 0]

with V_f the node velocities after a free step and k the constants of step_problem.py: delta_u = G_u theta_dd_f
(+ dG_u/dt theta_dot with ``velocity_product``) and, for the loops, (G_b theta_dot- - U) + delta_b dt + gamma c / dt.
Size n_b + n_u (n_f + 2); set-up O(N) + O(n_c^2) by the Upsilon recursion; no mass matrix, no Jacobian.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mb_contact.checks import Floats, as_matrix, as_vector
from mb_contact.core.constraints.rows import row_impulses, row_velocities
from mb_contact.core.lcp.lcp import Pyramids
from mb_contact.core.tree.articulated import free_acceleration, impulse_response
from mb_contact.core.tree.kinematics import body_velocities
from mb_contact.errors import InputError
from mb_contact.solvers.blocks import BOX, CONTACT, UNILATERAL, row_layout
from mb_contact.studies.formulations.formulation import Formulation


class ContactProblem(NamedTuple):
    """The contact problem of a step, condensed (W, q) and written out (M, h) (J14 (53)).

    Examples
    --------
    >>> problem = mb.studies.ContactProblem(
    ...     W=0.5 * np.eye(3), q=np.array([-1.0, 0.2, 0.0]), mu=np.array([0.5]), dim=np.array([3]), directions=4,
    ...     impulses=np.array([2.0, -0.4, 0.0]), velocities=np.zeros(3),
    ... )
    >>> problem.size, problem.blocks().count[0]
    (6, 1)
    >>> problem.laws()
    (array([3]), array([0. , 0.5, 0.5]))
    >>> M, h = problem.lcp()
    >>> problem.impulses_from(mb.solve_lcp(M, h).z)
    array([ 2. , -0.4,  0. ])
    """

    W: np.ndarray  #: (R, R), Delassus matrix of the rows (normal, tangents, torsion, rolling; limits; joint friction)
    q: np.ndarray  #: (R,), free velocity plus gap term [m/s, rad/s]
    mu: np.ndarray  #: (blocks,), of a contact, along its first tangent
    dim: np.ndarray  #: int64 (blocks,), 3 for a contact (4 with torsion, 5 with rolling, 6 with both), 1 for other rows
    directions: int  #: n_f
    impulses: np.ndarray  #: (R,), what the step found [N s, N m s]
    velocities: np.ndarray  #: (R,), W r + q
    kind: np.ndarray | None = None  #: (blocks,), of ``solve_blocks``; None: contacts, and limits where dim is 1
    bounds: np.ndarray | None = None  #: (R,), ``solve_blocks``' mu: a coefficient, or of joint friction [N s, N m s]

    @property
    def size(self) -> int:
        """Unknowns of the linear complementarity problem, n_u (n_f + 2) + limits (J14 Table 1).

        Rolling adds n_f + 1 to a contact, torsion 3; friction of a joint is 3.

        Returns
        -------
        int
        """
        return sum(len(part) for part in self._pyramid()[::2])

    def blocks(self) -> Pyramids:
        """Layout of the rows for the kernels.

        Returns
        -------
        Pyramids

        Raises
        ------
        InputError
            The sizes of W, q, mu and dim do not fit together.
        """
        rows = len(self.q)
        if not set(np.unique(self.dim)) <= {1, 3, 4, 5, 6} or np.sum(self.dim) != rows:
            raise InputError(f"dim must hold 3 for each contact and 1 for each limit, {rows} in all, like q")
        if np.shape(self.W) != (rows, rows) or len(self.mu) != len(self.dim):
            raise InputError(f"W must be {rows} x {rows} and mu have {len(self.dim)} entries, like q and dim")
        if any(given is not None and len(given) != n for given, n in ((self.kind, len(self.dim)), (self.bounds, rows))):
            raise InputError(f"kind must have {len(self.dim)} entries and bounds {rows}, like dim and q")
        if self.directions < 4 or self.directions % 2:
            raise InputError(f"directions must be an even number from 4 on, got {self.directions}")
        return row_layout(self.dim, self.mu, self.directions)

    def laws(self) -> tuple[NDArray[np.int64], Floats]:
        """Kind of each block and bounds of the rows, as ``solve_blocks`` takes them.

        Returns
        -------
        kind : int64 ndarray (blocks,)
        bounds : ndarray (R,)
        """
        self.blocks()
        dim, contact = np.asarray(self.dim), np.asarray(self.dim) > 1
        kind = np.where(contact, CONTACT, UNILATERAL) if self.kind is None else np.asarray(self.kind)
        bounds = np.repeat(np.where(contact, self.mu, 0.0), dim) if self.bounds is None else self.bounds.copy()
        bounds[(np.cumsum(dim) - dim)[contact]] = 0.0
        return kind, bounds

    def lcp(self) -> tuple[Floats, Floats]:
        """Matrix M and constant h of Eq. 53, ready for any LCP solver.

        Each group of friction rows is (10b), (10c) with directions of its own: n_f of a contact's tangents and of its
        rolling, two of torsion and of joint friction, whose bound is a constant.

        Returns
        -------
        M : ndarray (size, size)
        h : ndarray (size,)
        """
        W, q = as_matrix(self.W, name="W", finite=False), as_vector(self.q, name="q", finite=False)
        Z, slack, bound = self._pyramid()
        joined = np.where(slack < 0.0, 1.0, 0.0).T
        M = np.block([[Z @ W @ Z.T, joined], [slack, np.zeros((len(slack), len(slack)))]])
        return M, np.concatenate([Z @ q, bound])

    def impulses_from(self, z: ArrayLike) -> Floats:
        """Impulses of the rows from a solution of the linear complementarity problem.

        Parameters
        ----------
        z : array_like (size,)

        Returns
        -------
        ndarray (R,)
            [N s, N m s]
        """
        Z = self._pyramid()[0]
        return as_vector(z, self.size, "z", finite=False)[: len(Z)] @ Z

    def _pyramid(self):
        """What makes the rows an LCP: r = beta Z, slack beta + bound for each friction group.

        Returns
        -------
        Z : ndarray (forces, R)
        slack : ndarray (groups, forces)
        bound : ndarray (groups,)
        """
        kind, bounds = self.laws()
        rows, angle = np.eye(len(bounds)), 2.0 * np.pi * np.arange(self.directions) / self.directions
        polygon, both = np.column_stack((np.cos(angle), np.sin(angle))), np.array([[1.0], [-1.0]])
        Z, groups = [], []  # of a group: its normal (None: its bound is a constant), bound, first and last direction
        for what, dim, end in zip(kind, self.dim, np.cumsum(self.dim)):
            row, normal = end - dim, None if what == BOX else len(Z)
            if normal is not None:
                Z.append(rows[row])
                row += 1
            while row < end:
                one = normal is None or (dim != 5 and row == end - dim + 3)
                mu = bounds[row : row + 2 - one]
                directions = (both if one else polygon) * (mu / mu.max() if mu.any() else 1.0)
                groups.append((normal, mu.max(), len(Z), len(Z) + len(directions)))
                Z.extend(directions @ rows[row : row + len(mu)])
                row += len(mu)
        slack, bound = np.zeros((len(groups), len(Z))), np.zeros(len(groups))
        for g, (normal, most, first, last) in enumerate(groups):
            slack[g, first:last] = -1.0
            if normal is None:
                bound[g] = most
            else:
                slack[g, normal] = most
        return np.reshape(Z, (-1, len(bounds))), slack, bound


class OsFormulation(Formulation):
    """Eq. 53; z = [p_loop; beta; sigma]."""

    NAME = "os"
    FREE = ("p_loop",)

    def assemble(self):
        p = self.problem
        state, R = p.state, len(p.rows.constant)
        v_dot, V_f, u = np.zeros(p.N), np.zeros((p.n, 6)), np.zeros(R)
        free_acceleration(  # theta_dd_f of Eq. 42 by the articulated-body sweeps
            p.tree, state.kin, p.articulated, p.gravity, p.effort, state.v, p.external, v_dot
        )
        self.v_f = state.v + p.dt * v_dot
        body_velocities(p.tree, state.kin, self.v_f, V_f)
        row_velocities(p.row_work(), R, V_f, u)
        u += p.rows.constant
        b, m = p.n_b, p.D_ul.shape[1]
        L = p.compliance  # rows of Q_b, and three rows of Q_u for each contact
        self.M = np.zeros((b + m + p.n_u, b + m + p.n_u))
        self.M[:b, :b] = L[:b, :b]
        self.M[:b, b : b + m] = p.times_D(L[:b, b:])
        self.M[b : b + m, :b] = self.M[:b, b : b + m].T
        self.M[b : b + m, b : b + m] = p.times_D(p.times_D(L[b:, b:]).T)
        self.M[b : b + m, b + m :] = p.E_hat
        self.M[b + m :, b : b + m] = p.E_bar
        self.q = np.concatenate([u[:b], p.D_ul.T @ u[b:], np.zeros(p.n_u)])
        return {"p_loop": b, "beta": m, "sigma": p.n_u}

    def velocities(self, z):
        """theta_dot+ = theta_dot_f + M^-1 (G_b* p_b + p_u) by one more O(N) sweep, after Eq. 53."""
        p = self.problem
        p_loop, beta = self.part(z, "p_loop"), self.part(z, "beta")
        work, impulse, dv = p.row_work(), np.zeros((p.n, 6)), np.zeros(p.N)
        row_impulses(work, len(p.rows.constant), np.concatenate([p_loop, p.D_ul @ beta]), impulse)
        impulse_response(p.tree, p.state.kin, p.articulated, impulse, np.zeros(p.N), dv)
        return self.v_f + dv, p_loop.copy()
