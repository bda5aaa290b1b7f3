# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Joint space: mass matrix, its products and determinant, forward and inverse dynamics, energy."""

from __future__ import annotations

import numpy as np

from mb_contact.checks import as_matrix, as_vector
from mb_contact.core.articulated import impulse_response
from mb_contact.core.evaluate import (
    evaluate_forward_dynamics,
    evaluate_inverse_dynamics,
    evaluate_mass_matrix,
)
from mb_contact.core.inverse_dynamics import inverse_dynamics as _inverse_dynamics
from mb_contact.core.inverse_dynamics import mechanical_energy
from mb_contact.dynamics.arguments import GRAVITY, articulated, kinematics, sizes
from mb_contact.dynamics.evaluator import evaluator, gravity_vector, refuse, vector
from mb_contact.types import OK


def mass_matrix(model, q):
    """Mass matrix M(q), (N, N), by composite bodies (J11 algorithm 4.2); armature included."""
    e = evaluator(model)
    q = vector(q, e.nq, "q")
    M = np.zeros((e.N, e.N))
    status, body = evaluate_mass_matrix(e.handle, q, M)
    if status != OK:
        refuse(model, status, body, q=q)
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
    e = evaluator(model)
    q, v, v_dot = vector(q, e.nq, "q"), vector(v, e.N, "v"), vector(v_dot, e.N, "v_dot")
    gravity = gravity_vector(gravity)
    effort = np.empty(e.N)
    status, body = evaluate_inverse_dynamics(e.handle, q, v, v_dot, gravity, effort)
    if status != OK:
        refuse(model, status, body, q=q, v=v, v_dot=v_dot)
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
    e = evaluator(model)
    q, v, effort = vector(q, e.nq, "q"), vector(v, e.N, "v"), vector(effort, e.N, "effort")
    gravity = gravity_vector(gravity)
    v_dot = np.empty(e.N)
    status, body = evaluate_forward_dynamics(e.handle, q, v, effort, gravity, v_dot)
    if status != OK:
        refuse(model, status, body, q=q, v=v, effort=effort)
    return v_dot


def energy(model, q, v, gravity=GRAVITY):
    """Kinetic and potential energy [J]; rotors included, the potential is zero at the world's origin."""
    kin = kinematics(model, q, v)
    kinetic, potential = mechanical_energy(model.tree, kin, as_vector(gravity, 3, "gravity"))
    rotors = 0.5 * float(model.tree.armature @ np.asarray(v, float) ** 2)
    return kinetic + rotors, potential
