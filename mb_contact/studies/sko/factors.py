# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Innovations factors of the mass matrix, its inverse and determinant (J11 lemma 11), AB forward dynamics (12)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats
from mb_contact.studies.sko.model import SkoModel
from mb_contact.studies.sko.operators import block_diag
from mb_contact.studies.sko.riccati import Articulated, riccati
from mb_contact.types import WORLD


class MassFactors(NamedTuple):
    """``M = L D L*`` and ``M^-1 = L_inv* D^-1 L_inv`` (Eq. 49-51), full matrices (N, N)."""

    L: np.ndarray  #: I + H phi K
    D: np.ndarray  #: block diagonal
    L_inv: np.ndarray  #: I - H psi K


def mass_factors(model: SkoModel, art: Articulated | None = None) -> MassFactors:
    """The Innovations Operator factors of the mass matrix (Eq. 49, 50).

    ``art`` is the result of :func:`~mb_contact.studies.sko.riccati.riccati`, computed where it is not given.

    Parameters
    ----------
    model : SkoModel
    art : Articulated, optional
        Result of :func:`~mb_contact.studies.sko.riccati.riccati`, computed where it is not given.

    Returns
    -------
    MassFactors
    """
    art = riccati(model) if art is None else art
    H, one = model.H_full, np.eye(model.N)
    return MassFactors(one + H @ model.phi.A @ art.K, block_diag(art.D), one - H @ art.psi.A @ art.K)


def mass_inverse(model: SkoModel, art: Articulated | None = None) -> Floats:
    """``[I - H psi K]* D^-1 [I - H psi K]`` (Eq. 51), (N, N).

    Parameters
    ----------
    model : SkoModel
    art : Articulated, optional
        Result of :func:`~mb_contact.studies.sko.riccati.riccati`, computed where it is not given.

    Returns
    -------
    ndarray (N, N)
    """
    art = riccati(model) if art is None else art
    L_inv = mass_factors(model, art).L_inv
    return L_inv.T @ block_diag([np.linalg.inv(D) for D in art.D]) @ L_inv


def log_det_mass(model: SkoModel, art: Articulated | None = None) -> float:
    """Logarithm of ``det M = prod det D(k)`` (Eq. 53).

    Parameters
    ----------
    model : SkoModel
    art : Articulated, optional
        Result of :func:`~mb_contact.studies.sko.riccati.riccati`, computed where it is not given.

    Returns
    -------
    float
    """
    art = riccati(model) if art is None else art
    return float(sum(np.linalg.slogdet(D)[1] for D in art.D))


def forward_dynamics_operators(model: SkoModel, T: ArrayLike, art: Articulated | None = None) -> Floats:
    """Lemma 12 as it stands (Eq. 54), full matrices, (N,).

    ``theta_ddot = [I - H psi K]* D^-1 [T - H psi (K T + P a + b)] - K* psi* a``

    Parameters
    ----------
    model : SkoModel
    T : array_like (N,)
        Generalized forces.
    art : Articulated, optional
        Result of :func:`~mb_contact.studies.sko.riccati.riccati`, computed where it is not given.

    Returns
    -------
    ndarray (N,)
        theta_ddot.
    """
    T = model.hinge_vector(T, "T")
    art = riccati(model) if art is None else art
    H, psi, K = model.H_full, art.psi.A, art.K
    residual = T - H @ psi @ (K @ T + block_diag(art.P) @ model.a + model.b)
    nu = np.linalg.solve(block_diag(art.D), residual)
    return nu - K.T @ psi.T @ (H.T @ nu + model.a)


def forward_dynamics(model: SkoModel, T: ArrayLike, art: Articulated | None = None) -> Floats:
    """Generalized accelerations (N,) by the AB algorithm (algorithm 6.1, Eq. 58): one gather, one scatter.

    Parameters
    ----------
    model : SkoModel
    T : array_like (N,)
        Generalized forces.
    art : Articulated, optional
        Result of :func:`~mb_contact.studies.sko.riccati.riccati`, computed where it is not given.

    Returns
    -------
    ndarray (N,)
        theta_ddot.
    """
    T = model.hinge_vector(T, "T")
    art = riccati(model) if art is None else art
    tree, weights, hinges = model.tree, model.phi.weights, model.hinges
    a, b = model.phi.split(model.a), model.phi.split(model.b)
    z_plus, nu, alpha = ([None] * tree.n for _ in range(3))
    theta_ddot = np.zeros(model.N)
    for k in reversed(tree.order):
        z = art.P[k] @ a[k] + b[k]
        for j in tree.children[k]:
            z = z + weights[j] @ z_plus[j]  # 58a
        eps = T[hinges[k]] - model.H[k] @ z  # 58c
        nu[k] = np.linalg.solve(art.D[k], eps)  # 58d
        z_plus[k] = z + art.G[k] @ eps  # 58b
    for k in tree.order:
        p = tree.parent[k]
        alpha_plus = np.zeros(model.phi.sizes[k]) if p == WORLD else weights[k].T @ alpha[p]  # 58e
        theta_ddot[hinges[k]] = nu[k] - art.G[k].T @ alpha_plus  # 58f
        alpha[k] = alpha_plus + model.H[k].T @ theta_ddot[hinges[k]] + a[k]  # 58g
    return theta_ddot
