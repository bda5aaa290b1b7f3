# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Sensitivities (J11 section 9): analytic derivatives of inverse and forward dynamics, and of the compliance Lambda."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats
from mb_contact.core.tree.derivatives import evaluate_forward_derivatives, evaluate_inverse_derivatives
from mb_contact.dynamics.arguments import GRAVITY, TreeModel, refuse_own_gravity
from mb_contact.dynamics.evaluator import evaluator, gravity_vector, refuse, vector
from mb_contact.dynamics.jacobians import jacobian, jacobian_rate
from mb_contact.dynamics.joint_space import forward_dynamics, mass_solve
from mb_contact.dynamics.nodes import Nodes
from mb_contact.dynamics.reduced import both, eliminating
from mb_contact.types import OK

WEIGHTLESS = (0.0, 0.0, 0.0)  # [m/s^2]


class InverseDynamicsDerivatives(NamedTuple):
    """Derivatives of the efforts of inverse dynamics, columns by degree of freedom.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> by = mb.dynamics.inverse_dynamics_derivatives(robot, [0.0], [0.0], [0.0])
    >>> by.v_dot  # the moment of inertia
    array([[0.35]])
    """

    q: Floats  #: (N, N), by a displacement along each velocity coordinate [N m/rad ...]
    v: Floats  #: (N, N) [N m s/rad ...]
    v_dot: Floats  #: (N, N), the mass matrix


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of the accelerations of forward dynamics, columns by degree of freedom.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> mb.forward_dynamics_derivatives(robot, [0.0], [0.0], [0.0]).v  # nothing damps it
    array([[0.]])
    """

    q: Floats  #: (N, N), by a displacement along each velocity coordinate [1/s^2 ...]
    v: Floats  #: (N, N) [1/s ...]
    effort: Floats  #: (N, N), the inverse of the mass matrix


def _reduced_inverse(result, model):
    """S* D S of each."""
    return InverseDynamicsDerivatives(*(both(x, model) for x in result))


@eliminating(_reduced_inverse)
def inverse_dynamics_derivatives(
    model: TreeModel, q: ArrayLike, v: ArrayLike, v_dot: ArrayLike, gravity: ArrayLike = GRAVITY
) -> InverseDynamicsDerivatives:
    """Derivatives of ``inverse_dynamics``, in O(N d) for a tree of depth d.

    A displacement along velocity coordinate i is what ``integrate`` makes of it: for joints with quaternions, a turn
    about world or parent axes.

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].
    v, v_dot : array_like (N,)
        Velocities [rad/s, m/s] and accelerations [rad/s^2, m/s^2].
    gravity : array_like (3,)
        World axes [m/s^2].

    Returns
    -------
    InverseDynamicsDerivatives

    Raises
    ------
    InputError
        An argument does not fit or is not finite.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> mb.dynamics.inverse_dynamics_derivatives(robot, [0.0], [0.0], [0.0]).q  # m g l / 2
    array([[4.905]])
    """
    e = evaluator(model)
    q, v, v_dot = vector(q, e.nq, "q"), vector(v, e.N, "v"), vector(v_dot, e.N, "v_dot")
    gravity = gravity_vector(gravity)
    refuse_own_gravity(model.tree, "derivatives")
    with e.lock:
        handle, d = e.derivatives
        status, body = evaluate_inverse_derivatives(handle, q, v, v_dot, gravity)
        found = InverseDynamicsDerivatives(d.d_q.copy(), d.d_v.copy(), d.M.copy())
    if status != OK:
        refuse(model, status, body, q=q, v=v, v_dot=v_dot, gravity=gravity)
    return found


def _reduced_forward(model, q, v, effort, gravity):
    """The same with mimic joints eliminated, from the derivatives of inverse dynamics."""
    by = inverse_dynamics_derivatives(model, q, v, forward_dynamics(model, q, v, effort, gravity), gravity)
    inverse = np.linalg.inv(by.v_dot)
    damping = both(np.diag(model.whole.tree.damping), model)
    return ForwardDynamicsDerivatives(-inverse @ by.q, -inverse @ (by.v + damping), inverse)


@eliminating(instead=_reduced_forward)
def forward_dynamics_derivatives(
    model: TreeModel, q: ArrayLike, v: ArrayLike, effort: ArrayLike, gravity: ArrayLike = GRAVITY
) -> ForwardDynamicsDerivatives:
    """Derivatives of ``forward_dynamics``: of linearised models, optimal control, estimation (J11 section 9).

    Those of inverse dynamics at the accelerations found, and sparse factors of the mass matrix.  Joint damping counts.

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

    Returns
    -------
    ForwardDynamicsDerivatives

    Raises
    ------
    DynamicsError
        A hinge carries no inertia.
    InputError
        An argument does not fit or is not finite.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> by = mb.forward_dynamics_derivatives(robot, [0.0], [0.0], [0.0])
    >>> by.q, by.effort  # the square of its circular frequency, the inverse of its moment of inertia
    (array([[-14.01428571]]), array([[2.85714286]]))
    """
    e = evaluator(model)
    q, v, effort = vector(q, e.nq, "q"), vector(v, e.N, "v"), vector(effort, e.N, "effort")
    gravity = gravity_vector(gravity)
    refuse_own_gravity(model.tree, "derivatives")
    with e.lock:
        handle, d = e.derivatives
        status, body = evaluate_forward_derivatives(handle, q, v, effort, gravity)
        found = ForwardDynamicsDerivatives(*(d.out[:, k : k + e.N].copy() for k in (0, e.N, 2 * e.N)))
    if status != OK:
        refuse(model, status, body, q=q, v=v, effort=effort, gravity=gravity)
    return found


def compliance_derivatives(model: TreeModel, q: ArrayLike, frames: Nodes) -> Floats:
    """Derivatives of the compliance of the tree alone by every degree of freedom (J11 section 9).

    Loops and gears of a World are left out, as in ``operational_compliance(..., constraints="none")``.

    ``d(J M^-1 J*) = dJ X + X* dJ* - X* dM X`` with ``X = M^-1 J*``; dM X is what inverse dynamics at rest and without
    gravity tells of accelerations X.

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].
    frames : node or sequence of nodes
        Names of frames, Node or Point.

    Returns
    -------
    ndarray (rows, rows, N)
        World axes at the nodes, angular first; the last index is the degree of freedom.

    Raises
    ------
    InputError
        q does not fit or is not finite, or there is no such frame.
    DynamicsError
        A hinge carries no inertia.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> tip = mb.Point("link_0", (0.0, 0.0, -1.0))
    >>> mb.dynamics.compliance_derivatives(robot, [0.0], tip)[0, 2]  # the tip begins to move along z
    array([-2.85714286])
    """
    J = jacobian(model, q, frames)
    rows, N = J.shape
    X = mass_solve(model, q, J.T)
    rest = np.zeros(N)
    turned = np.array([inverse_dynamics_derivatives(model, q, rest, x, WEIGHTLESS).q for x in X.T])
    out = np.empty((rows, rows, N))
    for i in range(N):
        rest[i] = 1.0
        moved = jacobian_rate(model, q, rest, frames) @ X
        rest[i] = 0.0
        out[:, :, i] = moved + moved.T - turned[:, :, i] @ X
    return out
