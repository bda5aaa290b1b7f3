# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The operator identities of J11 as pairs of full matrices: what the paper says is equal, computed on either side."""

import numpy as np

from mb_contact.checks import Floats
from mb_contact.studies.sko.composite import composite_inertias
from mb_contact.studies.sko.model import SkoModel
from mb_contact.studies.sko.operators import block_diag
from mb_contact.studies.sko.riccati import riccati


def identities(model: SkoModel) -> dict[str, tuple[Floats, Floats]]:
    """Both sides of the identities Eq. 18 to 60 at this model.

    Parameters
    ----------
    model : SkoModel

    Returns
    -------
    dict of str to (ndarray, ndarray)
        Keyed by the number of the equation, with a letter where an equation states several.
    """
    art = riccati(model)
    E, phi, tilde, M, H = model.phi.E, model.phi.A, model.phi.tilde, model.M_full, model.H_full
    R = block_diag(composite_inertias(model))
    P, D, G, tau, tau_bar, P_plus = map(block_diag, (art.P, art.D, art.G, art.tau, art.tau_bar, art.P_plus))
    K, psi, psi_tilde, E_psi, D_inv = art.K, art.psi.A, art.psi.tilde, art.psi.E, np.linalg.inv(D)
    one, I = np.eye(len(E)), np.eye(model.N)
    inner = P - P @ H.T @ D_inv @ H @ P
    psi_inverse, phi_inverse = one - E_psi, one - E
    L, L_inv = I + H @ phi @ K, I - H @ psi @ K
    mass = H @ phi @ M @ phi.T @ H.T
    J = H @ phi  # of all nodes, transposed
    return {
        # Lyapunov equation
        "2": (phi, np.linalg.inv(one - E)),
        "2 tilde": (tilde, phi @ E),
        "17": (H @ phi @ M @ phi.T @ H.T, H @ R @ H.T + H @ tilde @ R @ H.T + H @ R @ tilde.T @ H.T),
        "18": (M, R - E @ R @ E.T),
        "19": (phi @ M @ phi.T, R + tilde @ R + R @ tilde.T),
        # Riccati equation
        "31": (M, P - E @ inner @ E.T),
        "32 a": (P_plus, P @ tau_bar.T),
        "32 b": (P_plus, tau_bar @ P @ tau_bar.T),
        "32 c": (P_plus, inner),
        "34": (E_psi, E @ tau_bar),
        "35": (psi, np.linalg.inv(one - E_psi)),
        "36 a": (M, P - E_psi @ P @ E_psi.T),
        "36 b": (M, P - E @ P @ E_psi.T),
        "37": (K, E @ G),
        # lemma 9
        "38 a": (H @ G, I),
        "38 b": (H @ tau, H),
        "38 c": (H @ tau_bar, np.zeros_like(H)),
        "38 d": (I + H @ phi @ K, H @ phi @ G),
        "39": (H @ phi @ tau_bar, H @ phi @ E_psi),
        "40": (H @ phi @ tau, H @ phi @ np.linalg.inv(psi)),
        "41": (phi @ M @ psi.T, P + tilde @ P + P @ psi_tilde.T),
        # lemma 10
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
        # lemma 11
        "49": (mass, L @ D @ L.T),
        "50": (np.linalg.inv(L), L_inv),
        "51": (np.linalg.inv(mass), L_inv.T @ D_inv @ L_inv),
        "52": (np.array(np.linalg.slogdet(L)), np.array([1.0, 0.0])),
        "53": (np.array(np.linalg.slogdet(mass)[1]), np.array(np.linalg.slogdet(D)[1])),
        "59": (J.T @ np.linalg.solve(mass, J), J.T @ L_inv.T @ D_inv @ L_inv @ J),
        "60": (J.T @ np.linalg.solve(mass, J), psi.T @ H.T @ D_inv @ H @ psi),
    }
