# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The operator identities of J11 as pairs of full matrices: what the paper says is equal, computed on either side."""

from __future__ import annotations

import numpy as np

from mb_contact.studies.sko.composite import composite_inertias
from mb_contact.studies.sko.operators import block_diag
from mb_contact.studies.sko.riccati import riccati


def identities(model):
    """Both sides of the identities Eq. 18 to 60 at this model.

    Returns
    -------
    dict of str to (ndarray, ndarray)
        Keyed by the number of the equation, with a letter where an equation states several.
    """
    art = riccati(model)
    return {**_lyapunov(model), **_riccati(model, art), **_lemma_9(model, art), **_lemma_10(model, art),
            **_lemma_11(model, art)}  # fmt: skip


def _lyapunov(model):
    E, phi, M, H = model.phi.E, model.phi.A, model.M_full, model.H_full
    R, tilde = block_diag(composite_inertias(model)), model.phi.tilde
    one = np.eye(len(E))
    return {
        "2": (phi, np.linalg.inv(one - E)),
        "2 tilde": (tilde, phi @ E),
        "17": (H @ phi @ M @ phi.T @ H.T, H @ R @ H.T + H @ tilde @ R @ H.T + H @ R @ tilde.T @ H.T),
        "18": (M, R - E @ R @ E.T),
        "19": (phi @ M @ phi.T, R + tilde @ R + R @ tilde.T),
    }


def _full(art):
    return tuple(map(block_diag, (art.P, art.D, art.G, art.tau, art.tau_bar, art.P_plus)))


def _riccati(model, art):
    E, M, H = model.phi.E, model.M_full, model.H_full
    P, D, G, tau, tau_bar, P_plus = _full(art)
    E_psi = art.psi.E
    inner = P - P @ H.T @ np.linalg.inv(D) @ H @ P
    return {
        "31": (M, P - E @ inner @ E.T),
        "32 a": (P_plus, P @ tau_bar.T),
        "32 b": (P_plus, tau_bar @ P @ tau_bar.T),
        "32 c": (P_plus, inner),
        "34": (E_psi, E @ tau_bar),
        "35": (art.psi.A, np.linalg.inv(np.eye(len(E)) - E_psi)),
        "36 a": (M, P - E_psi @ P @ E_psi.T),
        "36 b": (M, P - E @ P @ E_psi.T),
        "37": (art.K, E @ G),
    }


def _lemma_9(model, art):
    phi, M, H, tilde = model.phi.A, model.M_full, model.H_full, model.phi.tilde
    P, D, G, tau, tau_bar, P_plus = _full(art)
    psi, psi_tilde, E_psi = art.psi.A, art.psi.tilde, art.psi.E
    return {
        "38 a": (H @ G, np.eye(model.N)),
        "38 b": (H @ tau, H),
        "38 c": (H @ tau_bar, np.zeros_like(H)),
        "38 d": (np.eye(model.N) + H @ phi @ art.K, H @ phi @ G),
        "39": (H @ phi @ tau_bar, H @ phi @ E_psi),
        "40": (H @ phi @ tau, H @ phi @ np.linalg.inv(psi)),
        "41": (phi @ M @ psi.T, P + tilde @ P + P @ psi_tilde.T),
    }


def _lemma_10(model, art):
    phi, M, H, tilde = model.phi.A, model.M_full, model.H_full, model.phi.tilde
    P, D = block_diag(art.P), block_diag(art.D)
    K, psi, psi_tilde = art.K, art.psi.A, art.psi.tilde
    psi_inverse, phi_inverse = np.eye(len(psi)) - art.psi.E, np.eye(len(psi)) - model.phi.E
    one, I = np.eye(len(psi)), np.eye(model.N)
    L, L_inv = I + H @ phi @ K, I - H @ psi @ K
    return {
        "42": (psi @ M @ psi.T, P + psi_tilde @ P + P @ psi_tilde.T),
        "43": (psi_inverse - phi_inverse, K @ H),
        "44 a": (psi_inverse @ phi, one + K @ H @ phi),
        "44 b": (phi @ psi_inverse, one + phi @ K @ H),
        "44 c": (phi_inverse @ psi, one - K @ H @ psi),
        "44 d": (psi @ phi_inverse, one - psi @ K @ H),
        "45 a": (L_inv @ H @ phi, H @ psi),
        "45 b": (phi @ K @ L_inv, psi @ K),
        "45 c": (L @ H @ psi, H @ phi),
        "45 d": (psi @ K @ L, phi @ K),
        "46": (H @ psi @ M @ psi.T @ H.T, D),
        "47": (phi @ M @ phi.T, P + tilde @ P + P @ tilde.T + phi @ K @ D @ K.T @ phi.T),
        "48": (phi @ M @ phi.T @ H.T, (one + phi @ K @ H) @ P @ phi.T @ H.T),
    }


def _lemma_11(model, art):
    phi, M, H = model.phi.A, model.M_full, model.H_full
    D, K, psi = block_diag(art.D), art.K, art.psi.A
    D_inv = np.linalg.inv(D)
    mass = H @ phi @ M @ phi.T @ H.T
    I = np.eye(model.N)
    L, L_inv = I + H @ phi @ K, I - H @ psi @ K
    J = H @ phi  # of all nodes, transposed
    return {
        "49": (mass, L @ D @ L.T),
        "50": (np.linalg.inv(L), L_inv),
        "51": (np.linalg.inv(mass), L_inv.T @ D_inv @ L_inv),
        "52": (np.array(np.linalg.slogdet(L)), np.array([1.0, 0.0])),
        "53": (np.array(np.linalg.slogdet(mass)[1]), np.array(np.linalg.slogdet(D)[1])),
        "59": (J.T @ np.linalg.solve(mass, J), J.T @ L_inv.T @ D_inv @ L_inv @ J),
        "60": (J.T @ np.linalg.solve(mass, J), psi.T @ H.T @ D_inv @ H @ psi),
    }
