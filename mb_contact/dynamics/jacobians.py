# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Kinematics of nodes: poses, Jacobians and their rates, velocities, accelerations; world axes, rows stacked."""

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_vector
from mb_contact.core.tree.evaluate import (
    evaluate_bias,
    evaluate_jacobian,
    evaluate_jacobian_rate,
    evaluate_poses,
    evaluate_velocity,
)
from mb_contact.dynamics.arguments import TreeModel
from mb_contact.dynamics.evaluator import evaluator, refuse, vector
from mb_contact.dynamics.nodes import Node, NodeLike, Nodes, Point
from mb_contact.dynamics.reduced import columns, eliminating, same
from mb_contact.types import OK


@eliminating(same)
def frame_pose(model: TreeModel, q: ArrayLike, frame: NodeLike) -> tuple[Floats, Floats]:
    """World pose of a node.

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].
    frame : str, Node or Point

    Returns
    -------
    R : ndarray (3, 3)
        Axes of the frame in world axes.
    p : ndarray (3,)
        Place of the node in the world [m].

    Raises
    ------
    InputError
        q does not fit or is not finite, or there is no such frame.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> R, p = mb.frame_pose(robot, [np.pi / 2], mb.Point("link_0", (0.0, 0.0, -1.0)))
    >>> p
    array([-1.,  0., -0.])
    """
    e = evaluator(model)
    q = vector(q, e.nq, "q")
    nodes, _ = e.nodes(model, frame if isinstance(frame, (str, Node, Point)) else (frame,))
    R, p = np.zeros((1, 3, 3)), np.zeros((1, 3))
    status, body = evaluate_poses(e.handle, nodes, q, R, p)
    if status != OK:
        refuse(model, status, body, q=q)
    return R[0], p[0]


@eliminating(columns)
def jacobian(model: TreeModel, q: ArrayLike, frames: Nodes) -> Floats:
    """Jacobian J of stacked nodes: ``[omega; velocity of the node] = J v`` (J14 (6)).

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].
    frames : node or sequence of nodes
        Names of frames, Node or Point.

    Returns
    -------
    ndarray (rows, N)
        World axes; six rows a node, angular first, three of a Point.

    Raises
    ------
    InputError
        q does not fit or is not finite, or there is no such frame.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(2, length=2.0).urdf())
    >>> mb.jacobian(robot, [0.0, 0.0], mb.Point("link_1", (0.0, 0.0, -1.0)))
    array([[-2., -1.],
           [ 0.,  0.],
           [ 0.,  0.]])
    """
    e = evaluator(model)
    q = vector(q, e.nq, "q")
    nodes, rows = e.nodes(model, frames)
    J = np.zeros((rows, e.N))
    status, body = evaluate_jacobian(e.handle, nodes, q, J)
    if status != OK:
        refuse(model, status, body, q=q)
    return J


@eliminating(columns)
def jacobian_rate(model: TreeModel, q: ArrayLike, v: ArrayLike, frames: Nodes) -> Floats:
    """Time derivative dJ/dt of the Jacobian of stacked nodes at velocity v.

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].
    v : array_like (N,)
        Velocities [rad/s, m/s].
    frames : node or sequence of nodes
        Names of frames, Node or Point.

    Returns
    -------
    ndarray (rows, N)
        World axes, rows as those of :func:`jacobian`.

    Raises
    ------
    InputError
        q or v do not fit or are not finite, or there is no such frame.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> mb.dynamics.jacobian_rate(robot, [0.0], [2.0], mb.Point("link_0", (0.0, 0.0, -1.0))).ravel()
    array([0., 0., 2.])
    """
    e = evaluator(model)
    q, v = vector(q, e.nq, "q"), vector(v, e.N, "v")
    nodes, rows = e.nodes(model, frames)
    J_dot = np.zeros((rows, e.N))
    status, body = evaluate_jacobian_rate(e.handle, nodes, q, v, np.zeros((e.N, 6)), J_dot)
    if status != OK:
        refuse(model, status, body, q=q, v=v)
    return J_dot


def _stacked(evaluate, model, q, v, frames):
    """Rows (rows,) that ``evaluate`` has of nodes of a model in motion."""
    e = evaluator(model)
    q, v = vector(q, e.nq, "q"), vector(v, e.N, "v")
    nodes, rows = e.nodes(model, frames)
    out = np.zeros(rows)
    status, body = evaluate(e.handle, nodes, q, v, out)
    if status != OK:
        refuse(model, status, body, q=q, v=v)
    return out


@eliminating(same)
def jacobian_bias(model: TreeModel, q: ArrayLike, v: ArrayLike, frames: Nodes) -> Floats:
    """Bias accelerations dJ/dt v of stacked nodes (J14 (22)), without forming dJ/dt.

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].
    v : array_like (N,)
        Velocities [rad/s, m/s].
    frames : node or sequence of nodes
        Names of frames, Node or Point.

    Returns
    -------
    ndarray (rows,)
        World axes [rad/s^2, m/s^2].

    Raises
    ------
    InputError
        q or v do not fit or are not finite, or there is no such frame.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> mb.dynamics.jacobian_bias(robot, [0.0], [2.0], mb.Point("link_0", (0.0, 0.0, -1.0)))  # r omega^2, upwards
    array([0., 0., 4.])
    """
    return _stacked(evaluate_bias, model, q, v, frames)


@eliminating(same)
def velocity(model: TreeModel, q: ArrayLike, v: ArrayLike, frames: Nodes) -> Floats:
    """Velocities J v of stacked nodes, without forming J.

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].
    v : array_like (N,)
        Velocities [rad/s, m/s].
    frames : node or sequence of nodes
        Names of frames, Node or Point.

    Returns
    -------
    ndarray (rows,)
        World axes [rad/s, m/s].

    Raises
    ------
    InputError
        q or v do not fit or are not finite, or there is no such frame.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> mb.dynamics.velocity(robot, [0.0], [2.0], mb.Point("link_0", (0.0, 0.0, -1.0)))
    array([-2.,  0.,  0.])
    """
    return _stacked(evaluate_velocity, model, q, v, frames)


@eliminating(same)
def acceleration(model: TreeModel, q: ArrayLike, v: ArrayLike, v_dot: ArrayLike, frames: Nodes) -> Floats:
    """Accelerations J v_dot + dJ/dt v of stacked nodes, of the material point (J14 (22)).

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].
    v : array_like (N,)
        Velocities [rad/s, m/s].
    v_dot : array_like (N,)
        Accelerations [rad/s^2, m/s^2].
    frames : node or sequence of nodes
        Names of frames, Node or Point.

    Returns
    -------
    ndarray (rows,)
        World axes [rad/s^2, m/s^2].

    Raises
    ------
    InputError
        An argument does not fit or is not finite, or there is no such frame.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> mb.dynamics.acceleration(robot, [0.0], [2.0], [3.0], mb.Point("link_0", (0.0, 0.0, -1.0)))
    array([-3.,  0.,  4.])
    """
    v_dot = as_vector(v_dot, evaluator(model).N, "v_dot")
    return jacobian(model, q, frames) @ v_dot + jacobian_bias(model, q, v, frames)
