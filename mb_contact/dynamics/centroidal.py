# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Centre of mass and momentum of all moving bodies together; what is welded to the world does not count."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_vector
from mb_contact.core.declare import allocate
from mb_contact.core.tree.evaluate import (
    CentroidalArrays,
    evaluate_centre_of_mass,
    evaluate_centroidal,
    evaluate_momentum,
)
from mb_contact.dynamics.arguments import TreeModel
from mb_contact.dynamics.evaluator import evaluator, refuse, vector
from mb_contact.dynamics.reduced import centroidal_parts, eliminating, same
from mb_contact.errors import DynamicsError
from mb_contact.types import OK


class Centroidal(NamedTuple):
    """Centroidal quantities, angular first, moments about the centre of mass, world axes.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> parts = mb.dynamics.centroidal(robot, [0.0], [2.0])
    >>> parts.mass, parts.com, parts.com_velocity
    (1.0, array([ 0. ,  0. , -0.5]), array([-1.,  0.,  0.]))
    """

    mass: float  #: [kg]
    com: Floats  #: (3,) [m]
    com_velocity: Floats  #: (3,) [m/s]
    momentum: Floats  #: h (6,) = [angular [N m s]; linear [N s]]
    matrix: Floats  #: centroidal momentum matrix A (6, N), h = A v
    bias: Floats  #: dA/dt v (6,): dh/dt = A v_dot + bias, the wrench of all outer forces about the centre of mass
    inertia: Floats  #: (6, 6), of all bodies frozen together
    com_jacobian: Floats  #: (3, N)


@eliminating(same)
def centre_of_mass(model: TreeModel, q: ArrayLike) -> tuple[float, Floats]:
    """Mass and centre of mass of all moving bodies.

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].

    Returns
    -------
    mass : float
        [kg]; what is welded to the world does not count.
    centre : ndarray (3,)
        World axes [m].

    Raises
    ------
    InputError
        q does not fit or is not finite.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(2, length=2.0).urdf())
    >>> mb.dynamics.centre_of_mass(robot, [0.0, 0.0])
    (2.0, array([ 0.,  0., -1.]))
    """
    e, c = evaluator(model), np.zeros(3)
    q = vector(q, e.nq, "q")
    mass, status, body = evaluate_centre_of_mass(e.handle, q, c)
    if status != OK:
        refuse(model, status, body, q=q)
    return mass, c


@eliminating(same)
def momentum(model: TreeModel, q: ArrayLike, v: ArrayLike, about: ArrayLike = (0.0, 0.0, 0.0)) -> Floats:
    """Momentum of all moving bodies; without rotors.

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].
    v : array_like (N,)
        Velocities [rad/s, m/s].
    about : array_like (3,)
        Point of the world that the angular part is about [m].

    Returns
    -------
    ndarray (6,)
        Angular [N m s], then linear [N s], world axes.

    Raises
    ------
    InputError
        An argument does not fit or is not finite.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> mb.dynamics.momentum(robot, [0.0], [2.0])
    array([ 0. ,  0.7,  0. , -1. ,  0. ,  0. ])
    """
    e, h = evaluator(model), np.zeros(6)
    q, v = vector(q, e.nq, "q"), vector(v, e.N, "v")
    status, body = evaluate_momentum(e.handle, q, v, as_vector(about, 3, "about"), h)
    if status != OK:
        refuse(model, status, body, q=q, v=v)
    return h


@eliminating(centroidal_parts)
def centroidal(model: TreeModel, q: ArrayLike, v: ArrayLike) -> Centroidal:
    """Centre of mass, momentum, momentum matrix and its rate times v, and locked inertia, in O(N).

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].
    v : array_like (N,)
        Velocities [rad/s, m/s].

    Returns
    -------
    Centroidal
        World axes, moments about the centre of mass, SI units.

    Raises
    ------
    InputError
        q or v do not fit or are not finite.
    DynamicsError
        Nothing that moves has a mass.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> parts = mb.dynamics.centroidal(robot, [0.0], [2.0])
    >>> np.allclose(parts.matrix @ [2.0], parts.momentum)
    True
    """
    e = evaluator(model)
    q, v = vector(q, e.nq, "q"), vector(v, e.N, "v")
    parts = allocate(CentroidalArrays, N=e.N)
    mass, status, body = evaluate_centroidal(e.handle, q, v, parts)
    if status != OK:
        refuse(model, status, body, q=q, v=v)
    if not mass > 0.0:
        raise DynamicsError("there is no centre of mass: no moving body has a mass")
    h, A = parts.momentum, parts.matrix
    return Centroidal(mass, parts.com, h[3:] / mass, h, A, parts.bias, parts.inertia, A[3:] / mass)
