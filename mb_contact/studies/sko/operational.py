# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Extended operational space compliance Omega and operational space inertia (J11 section 6.2, Eq. 59-60)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_matrix
from mb_contact.errors import InputError
from mb_contact.studies.sko.lyapunov import backward_block, backward_lyapunov, backward_product
from mb_contact.studies.sko.model import SkoModel
from mb_contact.studies.sko.riccati import Articulated, riccati


def _source(model, art):
    """Blocks H*(k) D^-1(k) H(k)."""
    return [H.T @ np.linalg.solve(D, H) for H, D in zip(model.H, art.D)]


def compliance_kernel(model: SkoModel, art: Articulated | None = None) -> list[Floats]:
    """Blocks Upsilon(k) = psi*(p, k) Upsilon(p) psi(p, k) + H* D^-1 H: the block diagonal of Omega (lemma 5).

    Parameters
    ----------
    model : SkoModel
    art : Articulated, optional
        Result of :func:`~mb_contact.studies.sko.riccati.riccati`, computed where it is not given.

    Returns
    -------
    list of ndarray (m(k), m(k))
    """
    art = riccati(model) if art is None else art
    return backward_lyapunov(art.psi, _source(model, art))


def omega(model: SkoModel, art: Articulated | None = None) -> Floats:
    """``Omega = psi* H* D^-1 H psi`` (Eq. 60), (m, m), every block from one nearer to the base (Eq. 25).

    Parameters
    ----------
    model : SkoModel
    art : Articulated, optional
        Result of :func:`~mb_contact.studies.sko.riccati.riccati`, computed where it is not given.

    Returns
    -------
    ndarray (m, m)
    """
    art = riccati(model) if art is None else art
    return backward_product(art.psi, _source(model, art))


def operational_compliance(
    model: SkoModel, picks: Sequence[tuple[int, ArrayLike]], art: Articulated | None = None
) -> Floats:
    """``J M^-1 J* = B* Omega B`` with J = B* phi* H* (Eq. 60); no Jacobian and no inverse mass matrix.

    Parameters
    ----------
    model : SkoModel
    picks : sequence of (int, array_like (m(k), s))
        Block column of the pick-off operator B: node k and ``B(k)``; ``B*(k) V(k)`` is the task velocity.
        Several may belong to one node.
    art : Articulated, optional
        Result of :func:`~mb_contact.studies.sko.riccati.riccati`, computed where it is not given.

    Returns
    -------
    ndarray (sum of s, sum of s)
    """
    art = riccati(model) if art is None else art
    checked = [(_node(model, k), as_matrix(X, (model.phi.sizes[k], None), "a pick-off block")) for k, X in picks]
    if not checked:
        raise InputError("picks must name at least one node")
    Upsilon = compliance_kernel(model, art)
    return np.block([[X.T @ backward_block(art.psi, Upsilon, i, j) @ Y for j, Y in checked] for i, X in checked])


def _node(model, k):
    if not 0 <= k < model.tree.n:
        raise InputError(f"there is no node {k}; nodes are 0 to {model.tree.n - 1}")
    return k


def operational_inertia(
    model: SkoModel, picks: Sequence[tuple[int, ArrayLike]], art: Articulated | None = None, rcond: float = 1e-10
) -> Floats:
    """Inverse of :func:`operational_compliance`; its pseudo-inverse where the Jacobian loses rank.

    Parameters
    ----------
    model : SkoModel
    picks : sequence of (int, array_like (m(k), s))
        As in :func:`operational_compliance`.
    art : Articulated, optional
        Result of :func:`~mb_contact.studies.sko.riccati.riccati`, computed where it is not given.
    rcond : float
        Relative size below which an eigenvalue of the compliance counts as zero.

    Returns
    -------
    ndarray (sum of s, sum of s)
    """
    inertia: Any = np.linalg.pinv(operational_compliance(model, picks, art), rcond=rcond, hermitian=True)
    return inertia
