# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Whole algorithms from coordinates to results.

``..._at`` works on named tuples, for compiled callers; ``evaluate_...`` is one call from Python, on the workspaces of a
TreeHandle ``h`` and a NodesHandle ``nodes`` (``handle.py``).  Inputs are checked here, where it costs nothing: every
function returns (status, body), and nothing of its output may be used unless the status is OK.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.core.arrays import copy
from mb_contact.core.declare import Reals
from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.articulated import articulated_inertias, free_acceleration, impulse_response
from mb_contact.core.tree.compliance import compliance_of_nodes
from mb_contact.core.tree.composite import composite_inertias, mass_matrix, mirror
from mb_contact.core.tree.embedding import velocity_rows
from mb_contact.core.tree.frames import (
    frame_bias,
    frame_jacobian_rates,
    frame_jacobians,
    frame_poses,
    frame_velocities,
)
from mb_contact.core.tree.inverse_dynamics import inverse_dynamics, mechanical_energy
from mb_contact.core.tree.kinematics import bias_terms, body_inertias, body_poses, body_velocities
from mb_contact.core.tree.momentum import (
    centre_of_mass,
    forces_about,
    locked_inertia,
    momentum_matrix,
    total_momentum,
)
from mb_contact.types import JOINT_FLOATING, JOINT_SPHERICAL, LEAST_SQUARE, NOT_FINITE, OK, ZERO_QUATERNION


class CentroidalArrays(NamedTuple):
    """What ``evaluate_centroidal`` finds, and zeros that it needs."""

    com: Annotated[Reals, 3]
    momentum: Annotated[Reals, 6]
    bias: Annotated[Reals, 6]
    matrix: Annotated[Reals, 6, "N"]
    inertia: Annotated[Reals, 6, 6]
    gravity: Annotated[Reals, 3]
    v_dot: Annotated[Reals, "N"]
    effort: Annotated[Reals, "N"]


@sweep
def finite(x):
    """Whether all numbers of x are finite: x - x is 0 then, NaN otherwise."""
    t = 0.0
    for i in range(x.shape[0]):
        t += x[i] - x[i]
    return t == 0.0


@sweep
def _finite_diagonal(X):
    """Whether the diagonal of a symmetric positive semidefinite matrix, and so all of it, is finite."""
    t = 0.0
    for i in range(X.shape[0]):
        t += X[i, i] - X[i, i]
    return t == 0.0


@sweep
def _bad_quaternion(kind, q_start, q):
    """First body whose quaternion in q is zero, or so far from a unit one that its square is lost; or -1."""
    for k in range(kind.shape[0]):
        if kind[k] == JOINT_FLOATING or kind[k] == JOINT_SPHERICAL:
            s = q_start[k] + (3 if kind[k] == JOINT_FLOATING else 0)
            square = q[s] * q[s] + q[s + 1] * q[s + 1] + q[s + 2] * q[s + 2] + q[s + 3] * q[s + 3]
            if not (LEAST_SQUARE <= square <= 1.0 / LEAST_SQUARE):
                return k
    return -1


@sweep
def place(tree, kin, q):
    """Poses and inertias at q; (status, body)."""
    if not finite(q):
        return NOT_FINITE, -1
    k = _bad_quaternion(tree.joint_type, tree.q_start, q)
    if k >= 0:
        return ZERO_QUATERNION, k
    body_poses(tree, q, kin)
    body_inertias(tree, kin)
    return OK, -1


@sweep
def move(tree, kin, q, v):
    """Poses, inertias, velocities and bias terms at (q, v); (status, body)."""
    if not finite(v):
        return NOT_FINITE, -1
    status, k = place(tree, kin, q)
    if status == OK:
        body_velocities(tree, kin, v, kin.V)
        bias_terms(tree, kin, v)
    return status, k


@sweep
def mass_matrix_at(tree, kin, mass, top, screws, q, M):
    """Lower triangle of the mass matrix into M (N, N), which holds zeros; (status, body)."""
    status, k = place(tree, kin, q)
    if status != OK:
        return status, k
    copy(mass.shape[0], tree.mass, mass)
    composite_inertias(tree, kin.l, kin.I, kin.mc, mass)
    mass_matrix(tree, kin, kin.I, kin.mc, mass, top, screws, M)
    return (OK if _finite_diagonal(M) else NOT_FINITE), -1


@sweep
def inverse_dynamics_at(tree, kin, alpha, force, q, v, v_dot, gravity, effort):
    """Efforts for accelerations v_dot, without joint damping; (status, body)."""
    if not finite(v_dot) or not finite(gravity):
        return NOT_FINITE, -1
    status, k = move(tree, kin, q, v)
    if status == OK:
        inverse_dynamics(tree, kin, gravity, v_dot, alpha, force, effort)
        if not finite(effort):
            return NOT_FINITE, -1
    return status, k


@sweep
def forward_dynamics_at(tree, kin, art, still, q, v, effort, gravity, v_dot):
    """Accelerations from efforts, joint damping included; ``still`` (n, 6) holds zeros; (status, body)."""
    if not finite(effort) or not finite(gravity):
        return NOT_FINITE, -1
    status, k = move(tree, kin, q, v)
    if status != OK:
        return status, k
    status, k = articulated_inertias(tree, kin, 0.0, art)
    if status == OK:
        free_acceleration(tree, kin, art, gravity, effort, v, still, v_dot)
        if not finite(v_dot):
            return NOT_FINITE, -1
    return status, k


@sweep
def compliance_at(tree, kin, art, compliance, touched, body, first, R_frame, p_frame, R, p, q, L):
    """Operational-space compliance of nodes (J14 section 8) into L; (status, body)."""
    status, k = place(tree, kin, q)
    if status != OK:
        return status, k
    frame_poses(kin, body, R_frame, p_frame, R, p)
    status, k = articulated_inertias(tree, kin, 0.0, art)
    if status != OK:
        return status, k
    compliance_of_nodes(tree, kin, art, compliance, touched, body, first, p, L)
    return (OK if _finite_diagonal(L) else NOT_FINITE), -1


@kernel
def evaluate_mass_matrix(h, q, M):
    """Mass matrix, both triangles, into M (N, N), which holds zeros; (status, body)."""
    status, k = mass_matrix_at(h.tree, h.kin, h.mass, h.top, h.screws, q, M)
    if status == OK:
        mirror(M)
    return status, k


@kernel
def evaluate_mass_times(h, q, still, gravity, x, out):
    """M x of each row of x (m, N) into out; ``still`` (N,) and ``gravity`` (3,) hold zeros; (status, body)."""
    status, k = move(h.tree, h.kin, q, still)
    for j in range(x.shape[0] if status == OK else 0):
        inverse_dynamics(h.tree, h.kin, gravity, x[j], h.alpha, h.force, out[j])
    return status, k


@kernel
def evaluate_mass_solve(h, q, x, out):
    """M^-1 x of each row of x (m, N) into out; log det M of rigid bodies, and (status, body)."""
    status, k = place(h.tree, h.kin, q)
    if status == OK:
        status, k = articulated_inertias(h.tree, h.kin, 0.0, h.art)
    log_determinant = 0.0
    if status == OK:
        for i in range(h.art.D_inv.shape[0]):
            log_determinant -= np.log(h.art.D_inv[i])
        for j in range(x.shape[0]):
            impulse_response(h.tree, h.kin, h.art, h.still, x[j], out[j])
    return log_determinant, status, k


@kernel
def evaluate_inverse_dynamics(h, q, v, v_dot, gravity, effort):
    """``inverse_dynamics_at`` of a handle."""
    return inverse_dynamics_at(h.tree, h.kin, h.alpha, h.force, q, v, v_dot, gravity, effort)


@kernel
def evaluate_forward_dynamics(h, q, v, effort, gravity, v_dot):
    """``forward_dynamics_at`` of a handle."""
    return forward_dynamics_at(h.tree, h.kin, h.art, h.still, q, v, effort, gravity, v_dot)


@kernel
def evaluate_jacobian(h, nodes, q, J):
    """Stacked Jacobians of the nodes into J, which holds zeros; (status, body)."""
    tree = h.tree
    kin = h.kin
    status, k = place(tree, kin, q)
    if status == OK:
        frame_poses(kin, nodes.body, nodes.R_frame, nodes.p_frame, nodes.R, nodes.p)
        frame_jacobians(tree, kin, nodes.body, nodes.first, nodes.p, J)
    return status, k


@kernel
def evaluate_poses(h, nodes, q, R, p):
    """Rotations (f, 3, 3) and positions (f, 3) of the nodes in the world; (status, body)."""
    status, k = place(h.tree, h.kin, q)
    if status == OK:
        frame_poses(h.kin, nodes.body, nodes.R_frame, nodes.p_frame, R, p)
    return status, k


@kernel
def _move_nodes(h, nodes, q, v):
    """``move``, and the poses of the nodes; (status, body)."""
    status, k = move(h.tree, h.kin, q, v)
    if status == OK:
        frame_poses(h.kin, nodes.body, nodes.R_frame, nodes.p_frame, nodes.R, nodes.p)
    return status, k


@kernel
def evaluate_jacobian_rate(h, nodes, q, v, H_dot, J_dot):
    """Rates of the stacked Jacobians into J_dot, which holds zeros; H_dot (N, 6) is a workspace; (status, body)."""
    status, k = _move_nodes(h, nodes, q, v)
    if status == OK:
        frame_jacobian_rates(h.tree, h.kin, nodes.body, nodes.first, nodes.p, v, H_dot, J_dot)
    return status, k


@kernel
def evaluate_bias(h, nodes, q, v, bias):
    """Stacked bias accelerations dJ/dt v of the nodes; (status, body)."""
    status, k = _move_nodes(h, nodes, q, v)
    if status == OK:
        frame_bias(h.tree, h.kin, nodes.body, nodes.first, nodes.p, h.alpha, bias)
    return status, k


@kernel
def evaluate_velocity(h, nodes, q, v, velocity):
    """Stacked velocities J v of the nodes; (status, body)."""
    status, k = _move_nodes(h, nodes, q, v)
    if status == OK:
        frame_velocities(h.kin, nodes.body, nodes.first, nodes.p, velocity)
    return status, k


@kernel
def evaluate_centre_of_mass(h, q, com):
    """Centre of mass into com (3,); the mass, and (status, body)."""
    status, k = place(h.tree, h.kin, q)
    return centre_of_mass(h.tree, h.kin, com) if status == OK else 0.0, status, k


@kernel
def evaluate_momentum(h, q, v, about, momentum):
    """Momentum (6,) of all bodies about a point; (status, body)."""
    status, k = move(h.tree, h.kin, q, v)
    if status == OK:
        total_momentum(h.tree, h.kin, about, momentum)
    return status, k


@kernel
def evaluate_centroidal(h, q, v, parts):
    """All of CentroidalArrays, which hold zeros; the mass, and (status, body)."""
    tree, kin = h.tree, h.kin
    status, k = move(tree, kin, q, v)
    mass = centre_of_mass(tree, kin, parts.com) if status == OK else 0.0
    if mass > 0.0:
        total_momentum(tree, kin, parts.com, parts.momentum)
        inverse_dynamics(tree, kin, parts.gravity, parts.v_dot, h.alpha, h.force, parts.effort)
        forces_about(tree, kin, h.force, parts.com, parts.bias)
        locked_inertia(tree, kin, parts.com, parts.inertia)
        copy(h.mass.shape[0], tree.mass, h.mass)
        composite_inertias(tree, kin.l, kin.I, kin.mc, h.mass)
        momentum_matrix(tree, kin, kin.I, kin.mc, h.mass, parts.com, parts.matrix)
    return mass, status, k


@kernel
def evaluate_energy(h, q, v, gravity):
    """Kinetic energy without rotors, potential energy, and (status, body)."""
    status, k = move(h.tree, h.kin, q, v)
    kinetic, potential = mechanical_energy(h.tree, h.kin, gravity) if status == OK else (0.0, 0.0)
    return kinetic, potential, status, k


@kernel
def evaluate_compliance(h, nodes, q, L):
    """``compliance_at`` of a handle and its nodes."""
    return compliance_at(
        h.tree, h.kin, h.art, nodes.compliance, nodes.touched, nodes.body, nodes.first,
        nodes.R_frame, nodes.p_frame, nodes.R, nodes.p, q, L,
    )  # fmt: skip


@kernel
def evaluate_loop_rows(h, i):
    """Rows of aggregate i at the poses and velocities of a handle, into its ``G`` and ``rows``; how many."""
    return velocity_rows(h.tree, h.kin, h.art.aggregates, i)
