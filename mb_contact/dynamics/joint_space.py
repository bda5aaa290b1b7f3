# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Joint space: mass matrix, its products and determinant, forward and inverse dynamics, energy."""

from __future__ import annotations

import numpy as np

from mb_contact.checks import as_matrix, as_vector
from mb_contact.core.tree.articulated import free_acceleration, impulse_response
from mb_contact.core.tree.evaluate import (
    evaluate_forward_dynamics,
    evaluate_inverse_dynamics,
    evaluate_mass_matrix,
)
from mb_contact.core.tree.inverse_dynamics import inverse_dynamics as _inverse_dynamics
from mb_contact.core.tree.inverse_dynamics import mechanical_energy
from mb_contact.dynamics.arguments import GRAVITY, articulated, kinematics, modified_articulated, sizes
from mb_contact.dynamics.evaluator import NOT_FINITE_RESULT, evaluator, gravity_vector, refuse, vector
from mb_contact.dynamics.reduced import both, eliminating, rows, same
from mb_contact.errors import DynamicsError, InputError
from mb_contact.types import OK

METHODS = ("abm", "modified_abm", "crbm")  #: of :func:`forward_dynamics`


@eliminating(both)
def mass_matrix(model, q):
    """Mass matrix M(q), (N, N), by composite bodies (J11 algorithm 4.2); armature included."""
    e = evaluator(model)
    q = vector(q, e.nq, "q")
    M = np.zeros((e.N, e.N))
    status, body = evaluate_mass_matrix(e.handle, q, M)
    if status != OK:
        refuse(model, status, body, q=q)
    return M


@eliminating(rows)
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


@eliminating("reduced_solve")
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


@eliminating("reduced_log_determinant")
def mass_log_determinant(model, q):
    """log det M(q) = sum of log D(k), in O(N) (J11 lemma 11).

    Raises
    ------
    DynamicsError
        A hinge carries no inertia.
    """
    return float(-np.log(articulated(model, kinematics(model, q)).D_inv).sum())


@eliminating(rows)
def inverse_dynamics(model, q, v, v_dot, gravity=GRAVITY):
    """Efforts T (N,) with ``M v_dot + C(q, v) + g(q) = T``; joint damping left out."""
    e = evaluator(model)
    q, v, v_dot = vector(q, e.nq, "q"), vector(v, e.N, "v"), vector(v_dot, e.N, "v_dot")
    gravity = gravity_vector(gravity)
    effort = np.empty(e.N)
    status, body = evaluate_inverse_dynamics(e.handle, q, v, v_dot, gravity, effort)
    if status != OK:
        refuse(model, status, body, q=q, v=v, v_dot=v_dot, gravity=gravity)
    return effort


@eliminating(rows)
def nonlinear_effects(model, q, v, gravity=GRAVITY):
    """Coriolis, centrifugal and gravity efforts C(q, v) + g(q), (N,)."""
    return inverse_dynamics(model, q, v, np.zeros(sizes(model)[1]), gravity)


@eliminating("reduced_forward_dynamics")
def forward_dynamics(model, q, v, effort, gravity=GRAVITY, method="abm"):
    """Accelerations v_dot (N,) with ``M v_dot + C(q, v) + g(q) = effort - damping v``.

    Parameters
    ----------
    model : Model or World
    q, v, effort : array_like (nq,), (N,), (N,)
    gravity : array_like (3,)
        [m/s^2]
    method : {"abm", "modified_abm", "crbm"}
        ``abm``: articulated-body sweeps (J11 lemma 12), O(N).
        ``modified_abm``: the same with factored inertias (P00 section 7), O(N): small inertias keep their digits beside
        large ones.  ``crbm``: the mass matrix and its Cholesky factor, O(N^3).

    Raises
    ------
    DynamicsError
        A hinge carries no inertia.
    InputError
        An argument does not fit.
    """
    e = evaluator(model)
    q, v, effort = vector(q, e.nq, "q"), vector(v, e.N, "v"), vector(effort, e.N, "effort")
    gravity = gravity_vector(gravity)
    if method != "abm":
        return _forward_dynamics_otherwise(model, q, v, effort, gravity, method)
    v_dot = np.empty(e.N)
    status, body = evaluate_forward_dynamics(e.handle, q, v, effort, gravity, v_dot)
    if status != OK:
        refuse(model, status, body, q=q, v=v, effort=effort, gravity=gravity)
    return v_dot


def _forward_dynamics_otherwise(model, q, v, effort, gravity, method):
    if method not in METHODS:
        raise InputError(f"method '{method}' is not known; available: {', '.join(METHODS)}")
    effort = as_vector(effort, None, "effort")
    kin = kinematics(model, q, v)
    if method == "crbm":
        articulated(model, kin)  # names a hinge without inertia; in M it could hide in rounding
        return _solve_mass_matrix(
            mass_matrix(model, q), effort - model.tree.damping * v - nonlinear_effects(model, q, v, gravity)
        )
    v_dot = np.zeros(len(v))
    art = modified_articulated(model, kin)
    free_acceleration(model.tree, kin, art, gravity, effort, v, np.zeros_like(kin.V), v_dot)
    return v_dot


def _solve_mass_matrix(M, effort):
    """``M^-1 effort`` by Cholesky's factor of the mass matrix."""
    from scipy.linalg import solve_triangular  # 0.1 s to import, and only this method needs it

    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        message = "the mass matrix is not positive definite in double precision: use method 'abm' or 'modified_abm'"
        raise DynamicsError(message) from None
    return solve_triangular(L, solve_triangular(L, effort, lower=True), lower=True, trans=1)


@eliminating(same)
def energy(model, q, v, gravity=GRAVITY):
    """Kinetic and potential energy [J]; rotors included, the potential is zero at the world's origin."""
    kin = kinematics(model, q, v)
    kinetic, potential = mechanical_energy(model.tree, kin, as_vector(gravity, 3, "gravity"))
    with np.errstate(all="ignore"):
        kinetic += 0.5 * float(model.tree.armature @ np.asarray(v, float) ** 2)
    if not np.isfinite(kinetic + potential):
        raise DynamicsError(NOT_FINITE_RESULT)
    return kinetic, potential
