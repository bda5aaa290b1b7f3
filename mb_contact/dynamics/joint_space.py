# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Joint space: mass matrix, its products and determinant, forward and inverse dynamics, energy."""

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_choice, as_matrix, as_vector
from mb_contact.core.tree.articulated import free_acceleration
from mb_contact.core.tree.evaluate import (
    evaluate_energy,
    evaluate_forward_dynamics,
    evaluate_inverse_dynamics,
    evaluate_mass_matrix,
    evaluate_mass_solve,
    evaluate_mass_times,
)
from mb_contact.dynamics.arguments import GRAVITY, TreeModel, articulated, flexible_of, kinematics, sizes
from mb_contact.dynamics.evaluator import NOT_FINITE_RESULT, evaluator, gravity_vector, refuse, vector
from mb_contact.dynamics.reduced import both, eliminating, rows, same
from mb_contact.errors import DynamicsError
from mb_contact.types import OK

METHODS = ("abm", "modified_abm", "crbm")  #: of :func:`forward_dynamics`


@eliminating(both)
def mass_matrix(model: TreeModel, q: ArrayLike) -> Floats:
    """Mass matrix M(q) by composite bodies (J11 lemma 4, algorithm 4.2), O(N^2); rotors (armature) included.

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].

    Returns
    -------
    ndarray (N, N)
        Symmetric [kg m^2, kg m, kg].

    Raises
    ------
    InputError
        q does not fit, is not finite or has a quaternion that is no rotation.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(2, length=2.0).urdf())
    >>> mb.mass_matrix(robot, [0.0, 0.0])
    array([[2.7 , 0.85],
           [0.85, 0.35]])
    """
    e = evaluator(model)
    q = vector(q, e.nq, "q")
    M = np.zeros((e.N, e.N))
    status, body = evaluate_mass_matrix(e.handle, q, M)
    if status != OK:
        refuse(model, status, body, q=q)
    return M


@eliminating(rows)
def mass_times(model: TreeModel, q: ArrayLike, x: ArrayLike) -> Floats:
    """M(q) x in O(N), without M: the efforts for accelerations x at rest and without gravity (J11 (1)).

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].
    x : array_like (N,) or (N, m)
        Accelerations, one set or one a column [rad/s^2, m/s^2].

    Returns
    -------
    ndarray, shaped as x
        Efforts [N m, N].

    Raises
    ------
    InputError
        q or x do not fit or are not finite.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(2, length=2.0).urdf())
    >>> mb.dynamics.mass_times(robot, [0.0, 0.0], [1.0, 0.0])
    array([2.7 , 0.85])
    """
    e = evaluator(model)
    return _by_columns(model, evaluate_mass_times, q, x, np.zeros(e.N), np.zeros(3))


def _by_columns(model, evaluate, q, x, *more):
    """What ``evaluate`` makes of x (N,), or of each column of x (N, m)."""
    e, flat = evaluator(model), np.ndim(x) != 2
    q = vector(q, e.nq, "q")
    given = np.ascontiguousarray(as_vector(x, e.N, "x")[None] if flat else as_matrix(x, (e.N, None), "x").T)
    out = np.empty_like(given)
    *_, status, body = evaluate(e.handle, q, *more, given, out)
    if status != OK:
        refuse(model, status, body, q=q)
    return out[0] if flat else np.ascontiguousarray(out.T)


def _reduced_solve(model, q, x):
    """M_r^-1 x."""
    return np.linalg.solve(mass_matrix(model, q), np.asarray(x, float))


@eliminating(instead=_reduced_solve)
def mass_solve(model: TreeModel, q: ArrayLike, x: ArrayLike) -> Floats:
    """M(q)^-1 x in O(N) by the articulated-body sweeps ([1 - H psi K]* D^-1 [1 - H psi K], J11 lemma 11), without M.

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].
    x : array_like (N,) or (N, m)
        Efforts or impulses, one set or one a column [N m, N].

    Returns
    -------
    ndarray, shaped as x
        Accelerations or changes of velocity [rad/s^2, m/s^2].

    Raises
    ------
    InputError
        q or x do not fit or are not finite.
    DynamicsError
        A hinge carries no inertia.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(2, length=2.0).urdf())
    >>> mb.dynamics.mass_solve(robot, [0.0, 0.0], [2.7, 0.85])
    array([1., 0.])
    """
    return _by_columns(model, evaluate_mass_solve, q, x)


@eliminating(instead=lambda model, q: float(np.linalg.slogdet(mass_matrix(model, q))[1]))
def mass_log_determinant(model: TreeModel, q: ArrayLike) -> float:
    """log det M(q) = sum of log D(k), in O(N) (J11 lemma 11).

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].

    Returns
    -------
    float
        Of M in SI units.

    Raises
    ------
    InputError
        q does not fit or is not finite.
    DynamicsError
        A hinge carries no inertia.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(2, length=2.0).urdf())
    >>> np.exp(mb.dynamics.mass_log_determinant(robot, [0.0, 0.0]))  # 2.7 * 0.35 - 0.85**2
    0.2225
    """
    if flexible_of(model):
        return float(np.linalg.slogdet(mass_matrix(model, q))[1])
    e = evaluator(model)
    q, none = vector(q, e.nq, "q"), np.empty((0, e.N))
    log_determinant, status, body = evaluate_mass_solve(e.handle, q, none, none)
    if status != OK:
        refuse(model, status, body, q=q)
    return log_determinant


@eliminating(rows)
def inverse_dynamics(
    model: TreeModel, q: ArrayLike, v: ArrayLike, v_dot: ArrayLike, gravity: ArrayLike = GRAVITY
) -> Floats:
    """Efforts T with ``M v_dot + C(q, v) + g(q) = T`` (J11 (1), (10)), O(N); joint damping left out.

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].
    v : array_like (N,)
        Velocities [rad/s, m/s].
    v_dot : array_like (N,)
        Accelerations [rad/s^2, m/s^2].
    gravity : array_like (3,)
        World axes [m/s^2].

    Returns
    -------
    ndarray (N,)
        [N m, N]

    Raises
    ------
    InputError
        An argument does not fit or is not finite.
    DynamicsError
        The result is not finite although all arguments are.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(2, length=2.0).urdf())
    >>> mb.inverse_dynamics(robot, [0.0, 0.0], [0.0, 0.0], [1.0, 0.0])  # hanging straight down: M v_dot alone
    array([2.7 , 0.85])
    """
    e = evaluator(model)
    q, v, v_dot = vector(q, e.nq, "q"), vector(v, e.N, "v"), vector(v_dot, e.N, "v_dot")
    gravity = gravity_vector(gravity)
    effort = np.empty(e.N)
    status, body = evaluate_inverse_dynamics(e.handle, q, v, v_dot, gravity, effort)
    if status != OK:
        refuse(model, status, body, q=q, v=v, v_dot=v_dot, gravity=gravity)
    return effort


@eliminating(rows)
def nonlinear_effects(model: TreeModel, q: ArrayLike, v: ArrayLike, gravity: ArrayLike = GRAVITY) -> Floats:
    """Coriolis, centrifugal and gravity efforts C(q, v) + g(q) (J11 (10)), O(N).

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].
    v : array_like (N,)
        Velocities [rad/s, m/s].
    gravity : array_like (3,)
        World axes [m/s^2].

    Returns
    -------
    ndarray (N,)
        [N m, N]

    Raises
    ------
    InputError
        An argument does not fit or is not finite.
    DynamicsError
        The result is not finite although all arguments are.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> mb.dynamics.nonlinear_effects(robot, [np.pi / 2], [0.0])  # 1 kg, its centre half a metre from the hinge
    array([4.905])
    """
    return inverse_dynamics(model, q, v, np.zeros(sizes(model)[1]), gravity)


def _reduced_forward_dynamics(model, q, v, effort, gravity, method):
    """v_dot of ``M_r v_dot + S* (C + g + d S v) = effort``; ``method`` is not asked: there is one."""
    as_choice(method, METHODS, "method")
    effort, v = as_vector(effort, model.N, "effort"), as_vector(v, model.N, "v")
    damping = model.S.T @ (model.tree.damping * (model.S @ v))
    return np.linalg.solve(mass_matrix(model, q), effort - damping - nonlinear_effects(model, q, v, gravity))


@eliminating(instead=_reduced_forward_dynamics)
def forward_dynamics(
    model: TreeModel,
    q: ArrayLike,
    v: ArrayLike,
    effort: ArrayLike,
    gravity: ArrayLike = GRAVITY,
    method: str = "abm",
) -> Floats:
    """Accelerations v_dot with ``M v_dot + C(q, v) + g(q) = effort - damping v``.

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].
    v : array_like (N,)
        Velocities [rad/s, m/s].
    effort : array_like (N,)
        Of the joints' motors [N m, N].
    gravity : array_like (3,)
        World axes [m/s^2].
    method : {"abm", "modified_abm", "crbm"}
        ``abm``: articulated-body sweeps (J11 lemma 12), O(N).
        ``modified_abm``: the same with factored inertias (P00 section 7), O(N): small inertias keep their digits beside
        large ones.  ``crbm``: the mass matrix and its Cholesky factor (P00 (9)), O(N^3).

    Returns
    -------
    ndarray (N,)
        [rad/s^2, m/s^2]

    Raises
    ------
    DynamicsError
        A hinge carries no inertia, or the result is not finite although all arguments are.
    InputError
        An argument does not fit or is not finite, or the method is unknown.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> mb.forward_dynamics(robot, [np.pi / 2], [0.0], [4.905])  # this effort holds it
    array([0.])
    >>> mb.forward_dynamics(robot, [0.0], [0.0], [0.35])
    array([1.])
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
    as_choice(method, METHODS, "method")
    effort = as_vector(effort, None, "effort")
    kin = kinematics(model, q, v)
    if method == "crbm":
        articulated(model, kin)  # names a hinge without inertia; in M it could hide in rounding
        return _solve_mass_matrix(
            mass_matrix(model, q), effort - model.tree.damping * v - nonlinear_effects(model, q, v, gravity)
        )
    v_dot = np.zeros(len(v))
    art = articulated(model, kin, modified=True)
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
def energy(model: TreeModel, q: ArrayLike, v: ArrayLike, gravity: ArrayLike = GRAVITY) -> tuple[float, float]:
    """Kinetic and potential energy, 1/2 v* M v and - sum of m g . c; rotors included.

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].
    v : array_like (N,)
        Velocities [rad/s, m/s].
    gravity : array_like (3,)
        World axes [m/s^2].

    Returns
    -------
    kinetic, potential : float
        [J]; the potential of a mass at the world's origin is zero.

    Raises
    ------
    InputError
        An argument does not fit or is not finite.
    DynamicsError
        The energy is not finite although all arguments are.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> kinetic, potential = mb.energy(robot, [0.0], [2.0])
    >>> kinetic, potential
    (0.7, -4.905)
    """
    e = evaluator(model)
    q, v, gravity = vector(q, e.nq, "q"), vector(v, e.N, "v"), as_vector(gravity, 3, "gravity")
    kinetic, potential, status, body = evaluate_energy(e.handle, q, v, gravity)
    if status != OK:
        refuse(model, status, body, q=q, v=v)
    with np.errstate(all="ignore"):
        kinetic += 0.5 * float(model.tree.armature @ np.square(v))
    if not np.isfinite(kinetic + potential):
        raise DynamicsError(NOT_FINITE_RESULT)
    return kinetic, potential
