# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Composite-body inertias and the mass matrix (J11 lemma 4, algorithms 4.1 and 4.2)."""

import numpy as np

from mb_contact.checks import Floats
from mb_contact.studies.sko.lyapunov import forward_lyapunov
from mb_contact.studies.sko.model import SkoModel
from mb_contact.studies.sko.operators import block_diag
from mb_contact.types import WORLD


def composite_inertias(model: SkoModel) -> list[Floats]:
    """Blocks R(k) of ``M = R - E R E*`` (Eq. 18): R(k) = sum over children phi R phi* + M(k) (Eq. 20).

    Parameters
    ----------
    model : SkoModel

    Returns
    -------
    list of ndarray (m(k), m(k))
    """
    return forward_lyapunov(model.phi, model.M)


def mass_matrix(model: SkoModel) -> Floats:
    """Mass matrix (N, N) by algorithm 4.2: composite bodies, and for each a walk through its ancestors.

    Parameters
    ----------
    model : SkoModel

    Returns
    -------
    ndarray (N, N)
    """
    R = composite_inertias(model)
    mass = np.zeros((model.N, model.N))
    parent, weights = model.tree.parent, model.phi.weights
    for k in reversed(model.tree.order):
        X = R[k] @ model.H[k].T
        mass[model.hinges[k], model.hinges[k]] = model.H[k] @ X
        j = k
        while parent[j] != WORLD:
            X = weights[j] @ X
            j = parent[j]
            mass[model.hinges[j], model.hinges[k]] = model.H[j] @ X
            mass[model.hinges[k], model.hinges[j]] = X.T @ model.H[j].T
    return mass


def mass_matrix_terms(model: SkoModel) -> tuple[Floats, Floats, Floats]:
    """The disjoint terms ``H R H*``, ``H (phi - I) R H*`` and ``H R (phi - I)* H*`` (lemma 4, Eq. 17).

    Parameters
    ----------
    model : SkoModel

    Returns
    -------
    three ndarray (N, N)
    """
    H, R = model.H_full, block_diag(composite_inertias(model))
    below = H @ model.phi.tilde @ R @ H.T
    return H @ R @ H.T, below, below.T
