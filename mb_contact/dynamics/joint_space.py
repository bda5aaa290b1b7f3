# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Joint space: mass matrix, its products and determinant, forward and inverse dynamics, energy."""

from __future__ import annotations

import numpy as np

from mb_contact.checks import as_matrix, as_vector
from mb_contact.core.articulated import free_acceleration, impulse_response
from mb_contact.core.composite import composite_inertias, mirror
from mb_contact.core.composite import mass_matrix as _mass_matrix
from mb_contact.core.inverse_dynamics import inverse_dynamics as _inverse_dynamics
from mb_contact.core.inverse_dynamics import mechanical_energy
from mb_contact.dynamics.arguments import GRAVITY, articulated, kinematics, sizes


def mass_matrix(model, q):
    """Mass matrix M(q), (N, N), by composite bodies (J11 algorithm 4.2); armature included."""
    _, N, _ = sizes(model)
    kin = kinematics(model, q)
    mass = model.tree.mass.copy()
    composite_inertias(model.tree, kin.l, kin.I, kin.mc, mass)
    M = np.zeros((N, N))
    _mass_matrix(model.tree, kin, kin.I, kin.mc, mass, M)
    mirror(M)
    return M


def mass_times(model, q, x):
    """M(q) x in O(N), without M: the efforts for accelerations x at rest and without gravity.

    Parameters
    ----------
    x : array_like (N,) or (N, m)

    Returns
    -------
    ndarray, shaped as x
    """
    n, N, _ = sizes(model)
    kin = kinematics(model, q)  # a and b are zero
    alpha, force, gravity = np.zeros((n, 6)), np.zeros((n, 6)), np.zeros(3)

    def column(u):
        effort = np.zeros(N)
        _inverse_dynamics(model.tree, kin, gravity, u, alpha, force, effort)
        return effort

    return _by_columns(column, x, N)


def mass_solve(model, q, x):
    """M(q)^-1 x in O(N) by the articulated-body sweeps ([1 - H psi K]* D^-1 [1 - H psi K], J11 lemma 11), without M.

    Parameters
    ----------
    x : array_like (N,) or (N, m)

    Returns
    -------
    ndarray, shaped as x

    Raises
    ------
    DynamicsError
        A hinge carries no inertia.
    """
    n, N, _ = sizes(model)
    kin = kinematics(model, q)
    art = articulated(model, kin)
    nothing = np.zeros((n, 6))

    def column(u):
        out = np.zeros(N)
        impulse_response(model.tree, kin, art, nothing, u, out)
        return out

    return _by_columns(column, x, N)


def _by_columns(function, x, N):
    """Apply ``function`` to x (N,), or to each column of x (N, m)."""
    if np.ndim(x) == 2:
        x = as_matrix(x, (N, None), "x")
        out = np.empty_like(x)
        for j in range(x.shape[1]):
            out[:, j] = function(np.ascontiguousarray(x[:, j]))
        return out
    return function(as_vector(x, N, "x"))


def mass_log_determinant(model, q):
    """log det M(q) = sum of log D(k), in O(N) (J11 lemma 11).

    Raises
    ------
    DynamicsError
        A hinge carries no inertia.
    """
    return float(-np.log(articulated(model, kinematics(model, q)).D_inv).sum())


def inverse_dynamics(model, q, v, v_dot, gravity=GRAVITY):
    """Efforts T (N,) with ``M v_dot + C(q, v) + g(q) = T``; joint damping left out."""
    n, N, _ = sizes(model)
    v_dot = as_vector(v_dot, N, "v_dot")
    gravity = as_vector(gravity, 3, "gravity")
    kin = kinematics(model, q, v)
    effort = np.zeros(N)
    _inverse_dynamics(model.tree, kin, gravity, v_dot, np.zeros((n, 6)), np.zeros((n, 6)), effort)
    return effort


def nonlinear_effects(model, q, v, gravity=GRAVITY):
    """Coriolis, centrifugal and gravity efforts C(q, v) + g(q), (N,)."""
    return inverse_dynamics(model, q, v, np.zeros(sizes(model)[1]), gravity)


def forward_dynamics(model, q, v, effort, gravity=GRAVITY):
    """Accelerations v_dot (N,) by the articulated-body sweeps (J11 lemma 12); joint damping included.

    Raises
    ------
    DynamicsError
        A hinge carries no inertia.
    """
    n, N, _ = sizes(model)
    effort = as_vector(effort, N, "effort")
    gravity = as_vector(gravity, 3, "gravity")
    v = as_vector(v, N, "v")
    kin = kinematics(model, q, v)
    art = articulated(model, kin)
    v_dot = np.zeros(N)
    free_acceleration(model.tree, kin, art, gravity, effort, v, np.zeros((n, 6)), v_dot)
    return v_dot


def energy(model, q, v, gravity=GRAVITY):
    """Kinetic and potential energy [J]; rotors included, the potential is zero at the world's origin."""
    kin = kinematics(model, q, v)
    kinetic, potential = mechanical_energy(model.tree, kin, as_vector(gravity, 3, "gravity"))
    rotors = 0.5 * float(model.tree.armature @ np.asarray(v, float) ** 2)
    return kinetic + rotors, potential
