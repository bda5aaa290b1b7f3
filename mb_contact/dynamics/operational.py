# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Operational space: compliance of any nodes by the Upsilon recursion, its inverse, rank and conditioning."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.core.tree import frames as _frames
from mb_contact.core.tree.articulated import impulse_response
from mb_contact.core.tree.compliance import compliance_of_nodes
from mb_contact.core.tree.evaluate import evaluate_compliance
from mb_contact.core.workspace import make_compliance
from mb_contact.dynamics.arguments import articulated, kinematics, sizes
from mb_contact.dynamics.evaluator import evaluator, refuse, vector
from mb_contact.dynamics.nodes import node_arrays
from mb_contact.dynamics.reduced import eliminating
from mb_contact.types import OK

RANK_TOLERANCE = 1e-9  #: eigenvalues of the compliance below this part of the largest count as zero


class OperationalSpace(NamedTuple):
    """Operational-space quantities of stacked nodes, angular first, world axes at the node origins."""

    frames: tuple  #: names, in stacking order
    jacobian: np.ndarray  #: J (rows, N)
    bias: np.ndarray  #: dJ/dt v (rows,)
    compliance: np.ndarray  #: Lambda = J M^-1 J* (rows, rows), with the coupling between the nodes
    inertia: np.ndarray  #: its inverse; its pseudo-inverse where J loses rank
    rank: int  #: of the compliance, with RANK_TOLERANCE

    @property
    def condition(self):
        """Largest over smallest eigenvalue that counts, of the compliance scaled to a unit diagonal."""
        return compliance_condition(self.compliance)


@eliminating("reduced_compliance")
def operational_compliance(model, q, frames):
    """Operational-space compliance Lambda = J M^-1 J* (rows, rows) by the Upsilon recursion, O(N) + O(f^2).

    No Jacobian and no inverse of the mass matrix is formed (J14 section 8).

    Parameters
    ----------
    frames : node or sequence of nodes
        Names of frames, :class:`~mb_contact.dynamics.nodes.Node` or :class:`~mb_contact.dynamics.nodes.Point`: several
        on one body, on ancestors and descendants, in different trees, or on the world.
    """
    e = evaluator(model)
    q = vector(q, e.nq, "q")
    nodes, rows = e.nodes(model, frames)
    L = np.empty((rows, rows))
    status, body = evaluate_compliance(e.handle, nodes, q, L)
    if status != OK:
        refuse(model, status, body, q=q)
    return L


def _compliance_matrix(model, kin, art, nodes, p):
    n = sizes(model)[0]
    touched = np.zeros(n, np.int64)
    touched[nodes.body[nodes.body >= 0]] = 1
    com = make_compliance(n, 2 * int(touched.sum()))  # fewer paths meet than there are
    L = np.zeros((nodes.rows, nodes.rows))
    compliance_of_nodes(model.tree, kin, art, com, touched, nodes.body, nodes.first, p, L)
    return L


@eliminating("reduced_operational_space")
def operational_space(model, q, v, frames):
    """Jacobian, bias, compliance and inertia of stacked nodes in one pass.

    Returns
    -------
    OperationalSpace
    """
    nodes = node_arrays(model, frames)
    n, N, _ = sizes(model)
    kin = kinematics(model, q, v)
    p = nodes.world(kin)[1]
    J = np.zeros((nodes.rows, N))
    bias = np.zeros(nodes.rows)
    _frames.frame_jacobians(model.tree, kin, nodes.body, nodes.first, p, J)
    _frames.frame_bias(model.tree, kin, nodes.body, nodes.first, p, np.zeros((n, 6)), bias)
    L = _compliance_matrix(model, kin, articulated(model, kin), nodes, p)
    inertia, rank = invert_compliance(L)
    return OperationalSpace(nodes.names, J, bias, L, inertia, rank)


def operational_inertia(model, q, frames):
    """Operational-space inertia Lambda^-1 (rows, rows), the pseudo-inverse where J loses rank."""
    return invert_compliance(operational_compliance(model, q, frames))[0]


@eliminating("reduced_consistent_inverse")
def consistent_inverse(model, q, frames):
    """Dynamically consistent inverse J_bar = M^-1 J* Lambda^-1 (N, rows) of the stacked Jacobian.

    The inverse with the least kinetic energy: v = J_bar u is the slowest motion with node velocities u, and the
    efforts (1 - J* J_bar*) T do not accelerate the nodes.  M^-1 J* is one O(N) impulse sweep a row; M is not formed.
    """
    nodes = node_arrays(model, frames)
    n, N, _ = sizes(model)
    kin = kinematics(model, q)
    art = articulated(model, kin)
    p = nodes.world(kin)[1]
    L = _compliance_matrix(model, kin, art, nodes, p)
    response = np.zeros((nodes.rows, N))
    row = 0
    for body, first, point in zip(nodes.body, nodes.first, p):
        for axis in range(first, 6):
            impulse = np.zeros((n, 6))
            if body >= 0:
                impulse[body] = _about_origin(axis, point - kin.p[body])
                impulse_response(model.tree, kin, art, impulse, np.zeros(N), response[row])
            row += 1
    return response.T @ invert_compliance(L)[0]


def _about_origin(axis, r):
    """A unit force (angular first) at r from the origin, about the origin."""
    force = np.zeros(6)
    force[axis] = 1.0
    force[:3] += np.cross(r, force[3:])
    return force


def invert_compliance(L):
    """Inverse of a compliance (pseudo-inverse below RANK_TOLERANCE) and its rank.

    Rows are scaled to a unit diagonal first, since rad/s and m/s mix.
    """
    scaled, scale = _unit_diagonal(L)
    inverse = _regular_inverse(scaled)
    if inverse is not None:
        return inverse / scale, len(L)
    values, vectors = np.linalg.eigh(scaled)
    keep = values > RANK_TOLERANCE * max(values[-1], 0.0)
    inverse = (vectors[:, keep] / values[keep]) @ vectors[:, keep].T
    return inverse / scale, int(keep.sum())


def compliance_condition(L):
    """Largest over smallest eigenvalue above RANK_TOLERANCE of L scaled to a unit diagonal; inf where L is zero."""
    values = np.linalg.eigvalsh(_unit_diagonal(L)[0])
    keep = values > RANK_TOLERANCE * max(values[-1], 0.0)
    return float(values[-1] / values[keep][0]) if keep.any() else np.inf


def _unit_diagonal(L):
    """L scaled to a unit diagonal, and the scale."""
    s = np.sqrt(np.maximum(np.diag(L), np.finfo(float).tiny))
    scale = np.outer(s, s)
    return L / scale, scale


def _regular_inverse(scaled):
    """Inverse of a matrix with unit diagonal, None unless its rank is certainly full.

    The eigenvalues lie between 1 / trace(inverse) and n, so no eigenvalue need be computed.
    """
    n = len(scaled)
    try:
        inverse = np.linalg.inv(scaled)
    except np.linalg.LinAlgError:
        return None
    inverse = 0.5 * (inverse + inverse.T)
    trace = inverse.trace()
    positive = trace > 0.0 and inverse.diagonal().min() > 0.0
    return inverse if positive and 1.0 / trace > RANK_TOLERANCE * n else None
