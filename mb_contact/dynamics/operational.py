# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Operational space: compliance of any nodes by the Upsilon recursion, its inverse, rank and conditioning."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats
from mb_contact.core.tree.articulated import articulated_inertias
from mb_contact.core.tree.evaluate import evaluate_compliance
from mb_contact.core.tree_workspace import flexible_aggregates, make_articulated
from mb_contact.dynamics.arguments import TreeModel, flexible_of, kinematics, sizes
from mb_contact.dynamics.constrained import ConstraintResponse, checked_constraints, constrain
from mb_contact.dynamics.evaluator import evaluator, refuse, vector
from mb_contact.dynamics.inverse import RANK_TOLERANCE, invert_compliance, unit_diagonal
from mb_contact.dynamics.jacobians import jacobian, jacobian_bias
from mb_contact.dynamics.joint_space import mass_solve
from mb_contact.dynamics.nodes import Nodes, node_arrays
from mb_contact.dynamics.reduced import eliminating
from mb_contact.types import OK


class OperationalSpace(NamedTuple):
    """Operational-space quantities of stacked nodes, angular first, world axes at the node origins (J14 section 8).

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(2, length=2.0).urdf())
    >>> space = mb.operational_space(robot, [0.3, 0.4], [0.0, 0.0], mb.Point("link_1", (0.0, 0.0, -1.0)))
    >>> space.compliance.shape, space.rank  # a chain in the x-z plane does not move its tip along y
    ((3, 3), 2)
    >>> space.condition < 100.0
    True
    """

    frames: tuple[str, ...]  #: names, in stacking order
    jacobian: Floats  #: J (rows, N)
    bias: Floats  #: dJ/dt v (rows,), velocity products of loops included, motions that drive them left out
    compliance: Floats  #: Lambda = J M^-1 J* (rows, rows), with the coupling between the nodes; less what loops hold
    inertia: Floats  #: its inverse; its pseudo-inverse where J loses rank
    rank: int  #: of the compliance, with RANK_TOLERANCE

    @property
    def condition(self) -> float:
        """Largest over smallest eigenvalue that counts, of the compliance scaled to a unit diagonal.

        Returns
        -------
        float
            Without a unit; inf where the compliance is zero.
        """
        return compliance_condition(self.compliance)


def _reduced_compliance(model, q, frames):
    """Lambda_r = J_r M_r^-1 J_r*."""
    J = jacobian(model, q, frames)
    return J @ mass_solve(model, q, J.T)


@eliminating(instead=_reduced_compliance)
def _tree_compliance(model, q, frames):
    """Lambda of the tree by the Upsilon recursion."""
    e = evaluator(model)
    q = vector(q, e.nq, "q")
    nodes, rows = e.nodes(model, frames)
    L = np.empty((rows, rows))
    status, body = evaluate_compliance(e.handle, nodes, q, L)
    if status != OK:
        refuse(model, status, body, q=q)
    return L


def _held(model, q, v, constraints):
    """Held of the model's loops and gears at (q, v), None where it has none or ``constraints`` leaves them out."""
    couplings = getattr(model, "couplings", None)
    if checked_constraints(constraints, ("loops", "none")) == "none" or couplings is None or couplings.rows == 0:
        return None
    n, N, _ = sizes(model)
    kin, art = kinematics(model, q, v), make_articulated(n, N, flexible_aggregates(model.tree, flexible_of(model)))
    articulated_inertias(model.tree, kin, 0.0, art)
    nobody = np.zeros(0, np.int64)
    return ConstraintResponse(couplings, nobody, model.tree, kin, art).at(np.asarray(q, float), ())


def operational_compliance(model: TreeModel, q: ArrayLike, frames: Nodes, constraints: str = "loops") -> Floats:
    """Operational-space compliance Lambda = J M^-1 J* by the Upsilon recursion (J11 (60), J14 section 8).

    O(N) + O(f^2) for f nodes of a tree; no Jacobian and no inverse of the mass matrix is formed.  m rows of loops and
    gears are eliminated in O(m N) + O(m^2 f).

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].
    frames : node or sequence of nodes
        Names of frames, :class:`~mb_contact.dynamics.nodes.Node` or :class:`~mb_contact.dynamics.nodes.Point`: several
        on one body, on ancestors and descendants, in different trees, or on the world.
    constraints : str
        "loops": a World's loop closures and gears hold, at coordinates that fulfil them; "none": the tree alone.

    Returns
    -------
    ndarray (rows, rows)
        World axes at the nodes, angular first: velocities for a unit impulse [1/(kg m^2), 1/(kg m), 1/kg].

    Raises
    ------
    InputError
        q does not fit or is not finite, or there is no such frame.
    DynamicsError
        A hinge carries no inertia.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> L = mb.operational_compliance(robot, [0.0], mb.Point("link_0", (0.0, 0.0, -1.0)))
    >>> 1.0 / L[0, 0]  # the moment about the hinge over the squared arm [kg]
    0.35
    """
    held = _held(model, q, None, constraints)
    L = _tree_compliance(model, q, frames)
    return L if held is None else constrain(held, jacobian(model, q, frames), L, np.zeros(len(L)))[0]


def operational_space(
    model: TreeModel, q: ArrayLike, v: ArrayLike, frames: Nodes, constraints: str = "loops"
) -> OperationalSpace:
    """Jacobian, bias, compliance and inertia of stacked nodes (J14 section 8).

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].
    v : array_like (N,)
        Velocities [rad/s, m/s].
    frames : node or sequence of nodes
        Names of frames, Node or Point.
    constraints : str
        "loops": a World's loop closures and gears hold, at coordinates that fulfil them; "none": the tree alone.

    Returns
    -------
    OperationalSpace
        World axes, rows as those of :func:`~mb_contact.dynamics.jacobian`.

    Raises
    ------
    InputError
        q or v do not fit or are not finite, or there is no such frame.
    DynamicsError
        A hinge carries no inertia.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> space = mb.operational_space(robot, [0.0], [2.0], mb.Point("link_0", (0.0, 0.0, -1.0)))
    >>> space.inertia[0, 0], space.bias, space.rank
    (0.35, array([0., 0., 4.]), 1)
    """
    held = _held(model, q, v, constraints)
    names, J = node_arrays(model, frames).names, jacobian(model, q, frames)
    L, bias = _tree_compliance(model, q, frames), jacobian_bias(model, q, v, frames)
    if held is not None:
        L, bias = constrain(held, J, L, bias)
    return OperationalSpace(names, J, bias, L, *invert_compliance(L))


def operational_inertia(model: TreeModel, q: ArrayLike, frames: Nodes, constraints: str = "loops") -> Floats:
    """Operational-space inertia Lambda^-1 (J14 section 8), the pseudo-inverse where J loses rank.

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].
    frames : node or sequence of nodes
        Names of frames, Node or Point.
    constraints : str
        "loops": a World's loop closures and gears hold, at coordinates that fulfil them; "none": the tree alone.

    Returns
    -------
    ndarray (rows, rows)
        World axes at the nodes, angular first [kg m^2, kg m, kg].

    Raises
    ------
    InputError
        q does not fit or is not finite, or there is no such frame.
    DynamicsError
        A hinge carries no inertia.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> mb.dynamics.operational_inertia(robot, [0.0], mb.Point("link_0", (0.0, 0.0, -1.0)))[0, 0]
    0.35
    """
    return invert_compliance(operational_compliance(model, q, frames, constraints))[0]


def consistent_inverse(model: TreeModel, q: ArrayLike, frames: Nodes, constraints: str = "loops") -> Floats:
    """Dynamically consistent inverse J_bar = M^-1 J* Lambda^-1 of the stacked Jacobian.

    The inverse with the least kinetic energy: v = J_bar u is the slowest motion with node velocities u, and the
    efforts (1 - J* J_bar*) T do not accelerate the nodes.  M^-1 J* is one O(N) impulse sweep a row; M is not formed.

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
        Coordinates [rad, m; quaternions x y z w].
    frames : node or sequence of nodes
        Names of frames, Node or Point; world axes.
    constraints : str
        "loops": a World's loop closures and gears hold, at coordinates that fulfil them; "none": the tree alone.

    Returns
    -------
    ndarray (N, rows)
        Joint rates [rad/s, m/s] for node velocities [rad/s, m/s].

    Raises
    ------
    InputError
        q does not fit or is not finite, or there is no such frame.
    DynamicsError
        A hinge carries no inertia.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(2, length=2.0).urdf())
    >>> q, tip = [0.3, 0.4], mb.Point("link_1", (0.0, 0.0, -1.0))
    >>> inverse = mb.dynamics.consistent_inverse(robot, q, tip)
    >>> np.allclose(inverse @ mb.jacobian(robot, q, tip), np.eye(2))
    True
    """
    J = jacobian(model, q, frames)
    response = mass_solve(model, q, J.T)
    held = _held(model, q, None, constraints)
    if held is not None:
        response -= held.response.T @ held.inverse @ held.response @ J.T
    return response @ operational_inertia(model, q, frames, constraints)


def compliance_condition(L):
    """Largest over smallest eigenvalue above RANK_TOLERANCE of L scaled to a unit diagonal; inf where L is zero."""
    values = np.linalg.eigvalsh(unit_diagonal(L)[0])
    keep = values > RANK_TOLERANCE * max(values[-1], 0.0)
    return float(values[-1] / values[keep][0]) if keep.any() else np.inf
