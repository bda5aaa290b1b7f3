# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Diagonalised equations of motion and prescribed accelerations, both on the factors of lemma 11.

J11 section 9 names them as further uses of the operators, without equations.  With ``M = m m*``, ``m = [I + H phi K]
D^(1/2)``, the velocities ``nu = m* theta_dot`` have the kinetic energy ``nu* nu / 2`` and no mass matrix,

    nu_dot + C(theta, nu) = m^-1 T,     C = m^-1 (M theta_ddot + ... at theta_ddot = 0) - m_dot* theta_dot,

and without gravity C does no work, ``nu* C = 0``.  m is triangular: its rate follows from that of M,

    m^-1 M_dot m^-* = X + X*,    m_dot = m X,    X on and towards the descendants alone.
"""

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_vector
from mb_contact.dynamics.arguments import TreeModel
from mb_contact.dynamics.derivatives import inverse_dynamics_derivatives
from mb_contact.errors import InputError
from mb_contact.studies.sko.factors import forward_dynamics, mass_factors
from mb_contact.studies.sko.model import SkoModel
from mb_contact.studies.sko.operators import block_diag
from mb_contact.studies.sko.riccati import Articulated, riccati
from mb_contact.types import WORLD


def mass_root(model: SkoModel, art: Articulated | None = None) -> Floats:
    """The factor m of ``M = m m*`` (Eq. 49 with D(k) = U U*, U upper triangular), (N, N).

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
    flipped = [np.linalg.cholesky(D[::-1, ::-1])[::-1, ::-1] if len(D) else D for D in art.D]
    return mass_factors(model, art).L @ block_diag(flipped)


def mass_rate(model: TreeModel, q: ArrayLike, v: ArrayLike) -> Floats:
    """dM/dt along the velocity v, (N, N), from the derivatives of inverse dynamics by the coordinates.

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        [rad, m; quaternions x y z w]
    v : array_like (N,)
        [rad/s, m/s]

    Returns
    -------
    ndarray (N, N)
    """
    v = np.asarray(v, dtype=np.float64)
    still, g = np.zeros(len(v)), np.zeros(3)
    columns = [inverse_dynamics_derivatives(model, q, still, unit, g).q @ v for unit in np.eye(len(v))]
    return np.array(columns).T


def diagonal_velocity(model: SkoModel, v: ArrayLike, art: Articulated | None = None) -> Floats:
    """``nu = m* theta_dot``, (N,), whose square is twice the kinetic energy.

    Parameters
    ----------
    model : SkoModel
    v : array_like (N,)
        theta_dot.
    art : Articulated, optional
        As of :func:`mass_root`.

    Returns
    -------
    ndarray (N,)
        [sqrt(J)]
    """
    return mass_root(model, art).T @ model.hinge_vector(v, "v")


def diagonal_coriolis(model: SkoModel, v: ArrayLike, M_rate: ArrayLike, art: Articulated | None = None) -> Floats:
    """C(theta, nu) of the diagonalised equations, gravity included where the model's bias terms have it, (N,).

    Parameters
    ----------
    model : SkoModel
        With the bias terms of the velocity v.
    v : array_like (N,)
        theta_dot.
    M_rate : array_like (N, N)
        dM/dt along v, by :func:`mass_rate`.
    art : Articulated, optional
        As of :func:`mass_root`.

    Returns
    -------
    ndarray (N,)
        [sqrt(J)/s]
    """
    v, m = model.hinge_vector(v, "v"), mass_root(model, art)
    both = np.linalg.solve(m, np.linalg.solve(m, np.asarray(M_rate, dtype=np.float64)).T)
    rate = m @ (both * _towards_descendants(model))
    return np.linalg.solve(m, model.nonlinear()) - rate.T @ v


def diagonal_acceleration(
    model: SkoModel, v: ArrayLike, T: ArrayLike, M_rate: ArrayLike, art: Articulated | None = None
) -> Floats:
    """``nu_dot = m^-1 T - C(theta, nu)``, (N,).

    Parameters
    ----------
    model, v, M_rate, art
        As of :func:`diagonal_coriolis`.
    T : array_like (N,)
        Generalized forces.

    Returns
    -------
    ndarray (N,)
        [sqrt(J)/s]
    """
    m = mass_root(model, art)
    return np.linalg.solve(m, model.hinge_vector(T, "T")) - diagonal_coriolis(model, v, M_rate, art)


def _towards_descendants(model):
    """Part of each entry of X + X* that is X's, (N, N)."""
    part = np.zeros((model.N, model.N))
    for k, own in enumerate(model.hinges):
        part[own, own] = np.triu(np.ones((model.r[k],) * 2)) - 0.5 * np.eye(model.r[k])
        p = model.tree.parent[k]
        while p != WORLD:
            part[model.hinges[p], own] = 1.0
            p = model.tree.parent[p]
    return part


def prescribed_dynamics(
    model: SkoModel, T: ArrayLike, theta_ddot: ArrayLike, prescribed: ArrayLike
) -> tuple[Floats, Floats]:
    """Under-actuated systems: forces where accelerations are prescribed, accelerations where forces are, in O(N).

    Hinges that move as prescribed are welds with a bias acceleration, so one articulated-body sweep over the others
    has their accelerations, and one Newton-Euler sweep all forces.

    Parameters
    ----------
    model : SkoModel
        With the bias terms of its velocity.
    T : array_like (N,)
        Generalized forces; not read where accelerations are prescribed.
    theta_ddot : array_like (N,)
        Accelerations; read only where they are prescribed.
    prescribed : array_like (N,) of bool

    Returns
    -------
    theta_ddot, T : ndarray (N,)
        All of them.

    Raises
    ------
    InputError
        Sizes do not fit.
    """
    forces, whole = model.hinge_vector(T, "T"), model.hinge_vector(theta_ddot, "theta_ddot").copy()
    given = as_vector(np.asarray(prescribed, dtype=np.float64), model.N, "prescribed") != 0.0
    if not np.isin(prescribed, (0, 1)).all():
        raise InputError("prescribed must be true or false for each degree of freedom")
    a = model.a + model.H_full[given].T @ whole[given]
    rows = [H[~given[own]] for H, own in zip(model.H, model.hinges)]
    free = SkoModel(model.phi, rows, model.M, a, model.b, model.names)
    whole[~given] = forward_dynamics(free, forces[~given])
    return whole, model.inverse_dynamics(np.zeros(model.N), whole).T
