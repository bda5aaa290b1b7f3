# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The SKO model (J11 section 2.1) and its Newton-Euler equations of motion (Eq. 1-3, algorithm 3.1)."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_matrix, as_vector
from mb_contact.errors import InputError, ModelError
from mb_contact.studies.sko.operators import Spo, block_diag, slices_of

SYMMETRY_TOLERANCE = 1e-10  #: of M(k) and of its smallest eigenvalue, relative to its largest entry
RANK_TOLERANCE = 1e-12  #: of H(k), relative to its largest singular value


class Motion(NamedTuple):
    """Stacked vectors of one inverse dynamics evaluation (Eq. 1)."""

    V: np.ndarray  #: node velocities (m,)
    alpha: np.ndarray  #: node accelerations (m,)
    f: np.ndarray  #: inter-node forces (m,)
    T: np.ndarray  #: generalized forces (N,)


class SkoModel:
    """Tree, SPO operator phi, hinge maps H, inertias M and bias terms a, b at one state.

    Parameters
    ----------
    phi : Spo
    H : sequence of array_like (r(k), m(k))
        Joint maps of full row rank; ``V(k) = phi*(p, k) V(p) + H*(k) theta_dot(k)``.  r(k) = 0 is a weld.
    M : sequence of array_like (m(k), m(k))
        Symmetric node inertias; ``V* M V / 2`` is the node's kinetic energy.  J11 asks for positive
        definite ones; massless nodes are let through where every hinge still carries inertia, and
        :func:`~mb_contact.studies.sko.riccati.riccati` refuses the others by name.
    a, b : array_like (m,), optional
        Coriolis accelerations and gyroscopic forces, zero by default.
    names : sequence of str, optional
        Names of the nodes, for messages.

    Raises
    ------
    ModelError
        A block does not fit, H(k) loses rank, or M(k) is not symmetric and positive semidefinite.
    """

    def __init__(
        self,
        phi: Spo,
        H: Sequence[ArrayLike],
        M: Sequence[ArrayLike],
        a: ArrayLike | None = None,
        b: ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.phi = phi
        self.tree = phi.tree
        self.names = tuple(names) if names is not None else tuple(f"node {k}" for k in range(self.tree.n))
        if not len(H) == len(M) == len(self.names) == self.tree.n:
            raise ModelError(f"{self.tree.n} nodes need as many joint maps, inertias and names")
        try:
            self.H = [as_matrix(X, (None, phi.sizes[k]), f"H of {self.names[k]}") for k, X in enumerate(H)]
            self.M = [as_matrix(X, (phi.sizes[k],) * 2, f"M of {self.names[k]}") for k, X in enumerate(M)]
            self.a = np.zeros(phi.m) if a is None else as_vector(a, phi.m, "a")
            self.b = np.zeros(phi.m) if b is None else as_vector(b, phi.m, "b")
        except InputError as error:
            raise ModelError(str(error)) from None
        self.r = tuple(X.shape[0] for X in self.H)
        self.N = sum(self.r)  #: degrees of freedom
        self.hinges = slices_of(self.r)  #: slices of theta(k) in a vector of N
        for k in range(self.tree.n):
            self._check_node(k)

    def __repr__(self) -> str:
        return f"SkoModel(n={self.tree.n}, m={self.phi.m}, N={self.N})"

    def _check_node(self, k):
        H, M = self.H[k], self.M[k]
        values = np.linalg.svd(H, compute_uv=False) if len(H) else np.ones(1)
        if len(H) > H.shape[1] or values[-1] <= RANK_TOLERANCE * values[0]:
            raise ModelError(f"H of {self.names[k]} has dependent rows: its hinge velocities are not independent")
        if not M.size:
            return
        small = SYMMETRY_TOLERANCE * np.abs(M).max()
        if np.abs(M - M.T).max() > small:
            raise ModelError(f"M of {self.names[k]} is not symmetric")
        if np.linalg.eigvalsh(M)[0] < -small:
            raise ModelError(f"M of {self.names[k]} has a negative eigenvalue")

    @cached_property
    def H_full(self) -> Floats:
        """Block-diagonal H (N, m).

        Returns
        -------
        ndarray (N, m)
        """
        return block_diag(self.H)

    @cached_property
    def M_full(self) -> Floats:
        """Block-diagonal M (m, m).

        Returns
        -------
        ndarray (m, m)
        """
        return block_diag(self.M)

    def hinge_vector(self, x: ArrayLike, name: str) -> Floats:
        """Checked vector of N generalized velocities, accelerations or forces.

        Parameters
        ----------
        x : array_like (N,)
            Numbered as the hinges.
        name : str
            For messages.

        Returns
        -------
        ndarray (N,)
        """
        return as_vector(x, self.N, name)

    def partial_velocities(self) -> Floats:
        """``phi* H*`` (m, N): Kane's partial velocities (J11 section 2.2).

        Returns
        -------
        ndarray (m, N)
        """
        return self.phi.A.T @ self.H_full.T

    def velocities(self, theta_dot: ArrayLike) -> Floats:
        """``V = phi* H* theta_dot`` (Eq. 1) by one scatter sweep.

        Parameters
        ----------
        theta_dot : array_like (N,)

        Returns
        -------
        ndarray (m,)
        """
        return self.phi.scatter(self.H_full.T @ self.hinge_vector(theta_dot, "theta_dot"))

    def inverse_dynamics(self, theta_dot: ArrayLike, theta_ddot: ArrayLike) -> Motion:
        """Newton-Euler inverse dynamics (algorithm 3.1, Eq. 10).

        Parameters
        ----------
        theta_dot, theta_ddot : array_like (N,)
            ``theta_dot`` only gives V: a and b are the model's own.

        Returns
        -------
        Motion
        """
        theta_ddot = self.hinge_vector(theta_ddot, "theta_ddot")
        V = self.velocities(theta_dot)
        alpha = self.phi.scatter(self.H_full.T @ theta_ddot + self.a)  # phi* (H* theta_ddot + a)
        f = self.phi.gather(self.M_full @ alpha + self.b)  # phi (M alpha + b)
        return Motion(V, alpha, f, self.H_full @ f)

    def nonlinear(self) -> Floats:
        """``C = H phi (M phi* a + b)`` (Eq. 3), (N,).

        Returns
        -------
        ndarray (N,)
        """
        return self.inverse_dynamics(np.zeros(self.N), np.zeros(self.N)).T

    def newton_euler_mass_matrix(self) -> Floats:
        """``H phi M phi* H*`` as it stands (Eq. 3): the Newton-Euler factorisation, (N, N).

        Returns
        -------
        ndarray (N, N)
        """
        X = self.partial_velocities()
        return X.T @ self.M_full @ X
