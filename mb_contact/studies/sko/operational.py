# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Extended operational space compliance Omega and operational space inertia (J11 section 6.2, Eq. 59-60)."""

import numpy as np

from mb_contact.checks import as_matrix
from mb_contact.errors import InputError
from mb_contact.studies.sko.lyapunov import backward_block, backward_lyapunov, backward_product
from mb_contact.studies.sko.riccati import riccati


def _source(model, art):
    """Blocks H*(k) D^-1(k) H(k)."""
    return [H.T @ np.linalg.solve(D, H) for H, D in zip(model.H, art.D)]


def compliance_kernel(model, art=None):
    """Blocks Upsilon(k) = psi*(p, k) Upsilon(p) psi(p, k) + H* D^-1 H: the block diagonal of Omega (lemma 5)."""
    art = riccati(model) if art is None else art
    return backward_lyapunov(art.psi, _source(model, art))


def omega(model, art=None):
    """``Omega = psi* H* D^-1 H psi`` (Eq. 60), (m, m), every block from one nearer to the base (Eq. 25)."""
    art = riccati(model) if art is None else art
    return backward_product(art.psi, _source(model, art))


def operational_compliance(model, picks, art=None):
    """``J M^-1 J* = B* Omega B`` with J = B* phi* H* (Eq. 60); no Jacobian and no inverse mass matrix.

    Parameters
    ----------
    model : SkoModel
    picks : sequence of (int, array_like (m(k), s))
        Block column of the pick-off operator B: node k and ``B(k)``; ``B*(k) V(k)`` is the task velocity.
        Several may belong to one node.

    Returns
    -------
    ndarray (sum of s, sum of s)
    """
    art = riccati(model) if art is None else art
    picks = [(_node(model, k), as_matrix(X, (model.phi.sizes[k], None), "a pick-off block")) for k, X in picks]
    if not picks:
        raise InputError("picks must name at least one node")
    Upsilon = compliance_kernel(model, art)
    return np.block([[X.T @ backward_block(art.psi, Upsilon, i, j) @ Y for j, Y in picks] for i, X in picks])


def _node(model, k):
    if not 0 <= k < model.tree.n:
        raise InputError(f"there is no node {k}; nodes are 0 to {model.tree.n - 1}")
    return k


def operational_inertia(model, picks, art=None, rcond=1e-10):
    """Inverse of :func:`operational_compliance`; its pseudo-inverse where the Jacobian loses rank."""
    return np.linalg.pinv(operational_compliance(model, picks, art), rcond=rcond, hermitian=True)
