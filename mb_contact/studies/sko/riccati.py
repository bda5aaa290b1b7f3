# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The Riccati equation of SKO models: articulated-body inertias, psi and K (J11 lemmas 7 and 8, Eq. 31-37)."""

from typing import NamedTuple

import numpy as np

from mb_contact.errors import DynamicsError
from mb_contact.studies.sko.model import SkoModel
from mb_contact.studies.sko.operators import Spo

SINGULAR_TOLERANCE = 1e-13  #: smallest eigenvalue of D(k) relative to the largest |h_i|^2 |P| of its hinge


class Articulated(NamedTuple):
    """Blocks of the solution P of the Riccati equation, and the operators made from it."""

    P: list  #: articulated-body inertias (m(k), m(k))
    D: list  #: H P H* (r(k), r(k))
    G: list  #: P H* D^-1 (m(k), r(k))
    tau: list  #: G H (m(k), m(k))
    tau_bar: list  #: I - tau
    P_plus: list  #: tau_bar P
    psi: Spo  #: weights phi(p, k) tau_bar(k) (Eq. 35)
    K: np.ndarray  #: E_phi G (m, N) (Eq. 37)


def riccati(model: SkoModel) -> Articulated:
    """Solve ``M = P - E_phi [P - P H* (H P H*)^-1 H P] E_phi*`` (Eq. 31) by one gather sweep (Eq. 33).

    Parameters
    ----------
    model : SkoModel

    Returns
    -------
    Articulated

    Raises
    ------
    DynamicsError
        H(k) P(k) H*(k) is singular: the hinge of that node carries no inertia.
    """
    n, weights = model.tree.n, model.phi.weights
    P = [X.copy() for X in model.M]
    D, G, tau, tau_bar, P_plus = ([None] * n for _ in range(5))
    for k in reversed(model.tree.order):
        for j in model.tree.children[k]:
            P[k] += weights[j] @ P_plus[j] @ weights[j].T
        H = model.H[k]
        D[k] = H @ P[k] @ H.T
        _require_inertia(model, k, D[k], P[k])
        G[k] = np.linalg.solve(D[k], H @ P[k]).T
        tau[k] = G[k] @ H
        tau_bar[k] = np.eye(len(P[k])) - tau[k]
        P_plus[k] = tau_bar[k] @ P[k]
        P_plus[k] = 0.5 * (P_plus[k] + P_plus[k].T)  # tau_bar P = P tau_bar* = tau_bar P tau_bar* (Eq. 32)
    psi = model.phi.with_weights([W if W is None else W @ tau_bar[k] for k, W in enumerate(weights)])
    K = np.zeros((model.phi.m, model.N))
    for k, W in enumerate(weights):
        if W is not None:
            K[model.phi.slices[model.tree.parent[k]], model.hinges[k]] = W @ G[k]  # Eq. 37
    return Articulated(P, D, G, tau, tau_bar, P_plus, psi, K)


def _require_inertia(model, k, D, P):
    if not D.size:
        return
    scale = np.abs(P).max() * (model.H[k] ** 2).sum(axis=1).max()
    if not np.linalg.eigvalsh(D)[0] > SINGULAR_TOLERANCE * scale:
        raise DynamicsError(
            f"the hinge of {model.names[k]} carries no inertia (H P H* is singular): "
            "give that node or one behind it an inertia along the hinge"
        )
