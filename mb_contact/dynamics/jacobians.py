# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Kinematics of nodes: poses, Jacobians and their rates, velocities, accelerations; world axes, rows stacked."""

from __future__ import annotations

import numpy as np

from mb_contact.checks import as_vector
from mb_contact.core.tree import frames as _frames
from mb_contact.core.tree.evaluate import evaluate_jacobian
from mb_contact.dynamics.arguments import kinematics, sizes
from mb_contact.dynamics.evaluator import evaluator, refuse, vector
from mb_contact.dynamics.nodes import Node, Point, node_arrays
from mb_contact.dynamics.reduced import columns, eliminating, same
from mb_contact.types import OK


@eliminating(same)
def frame_pose(model, q, frame):
    """World pose (R (3, 3), p (3,)) of a node."""
    nodes = node_arrays(model, frame if isinstance(frame, (str, Node, Point)) else (frame,))
    R, p = nodes.world(kinematics(model, q))
    return R[0], p[0]


@eliminating(columns)
def jacobian(model, q, frames):
    """Jacobian J (rows, N) of stacked nodes: ``[omega; velocity of the origin] = J v``, world axes."""
    e = evaluator(model)
    q = vector(q, e.nq, "q")
    nodes, rows = e.nodes(model, frames)
    J = np.zeros((rows, e.N))
    status, body = evaluate_jacobian(e.handle, nodes, q, J)
    if status != OK:
        refuse(model, status, body, q=q)
    return J


@eliminating(columns)
def jacobian_rate(model, q, v, frames):
    """Time derivative dJ/dt (rows, N) of the Jacobian of stacked nodes at velocity v."""
    nodes = node_arrays(model, frames)
    N = sizes(model)[1]
    v = as_vector(v, N, "v")
    kin = kinematics(model, q, v)
    J_dot = np.zeros((nodes.rows, N))
    p = nodes.world(kin)[1]
    _frames.frame_jacobian_rates(model.tree, kin, nodes.body, nodes.first, p, v, np.zeros((N, 6)), J_dot)
    return J_dot


@eliminating(same)
def jacobian_bias(model, q, v, frames):
    """Bias accelerations dJ/dt v (rows,) of stacked nodes, without forming dJ/dt."""
    nodes = node_arrays(model, frames)
    kin = kinematics(model, q, v)
    bias = np.zeros(nodes.rows)
    p = nodes.world(kin)[1]
    _frames.frame_bias(model.tree, kin, nodes.body, nodes.first, p, np.zeros((sizes(model)[0], 6)), bias)
    return bias


@eliminating(same)
def velocity(model, q, v, frames):
    """Velocities J v (rows,) of stacked nodes [rad/s, m/s], without forming J."""
    nodes = node_arrays(model, frames)
    kin = kinematics(model, q, v)
    out = np.zeros(nodes.rows)
    _frames.frame_velocities(kin, nodes.body, nodes.first, nodes.world(kin)[1], out)
    return out


@eliminating(same)
def acceleration(model, q, v, v_dot, frames):
    """Accelerations J v_dot + dJ/dt v (rows,) of stacked nodes, of the material point [rad/s^2, m/s^2]."""
    v_dot = as_vector(v_dot, sizes(model)[1], "v_dot")
    return jacobian(model, q, frames) @ v_dot + jacobian_bias(model, q, v, frames)
