# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes fixed on bodies: poses, Jacobians and their rates, velocities, bias accelerations (world axes, node origin).

A node has six rows, angular first, or only the three of a point: ``first`` is 0 or 3, the first of the six that counts.
The rows of all nodes are stacked.  Body -1 is the inertial frame.
"""

from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.joints import map_rate
from mb_contact.core.tree.modal import has_modes, node_column_rates
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    between,
    body_point,
    centripetal,
    gathered,
    matrix,
    moved,
    product,
    put_matrix,
    put_spatial,
    put_vector,
    spatial,
    spatial_sum,
    vector,
    vector_product,
    vector_sum,
)


@sweep
def frame_poses(kin, body, R_frame, p_frame, R, p):
    """World poses R (f, 3, 3), p (f, 3) of frames given in their bodies."""
    for i in range(body.shape[0]):
        k = body[i]
        r = matrix(R_frame, i)
        put_matrix(R, i, product(matrix(kin.R, k), r) if k >= 0 else r)
        put_vector(p, i, body_point(kin.R, kin.p, k, vector(p_frame, i)))


@sweep
def frame_jacobians(tree, kin, body, first, p, J):
    """Stacked Jacobians of nodes at world positions p (f, 3), into J, which must hold zeros off the paths."""
    row = 0
    for i in range(body.shape[0]):
        k = body[i]
        while k >= 0:
            r = between(p, i, kin.p, k)
            for d in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
                _put_column(J, row, d, first[i], moved(spatial(kin.H, d), r))
            if has_modes(kin) and kin.modal.node_of[k] >= 0:
                _put_modes(kin.modal, k, r, J, row, first[i])
            k = tree.parent[k]
        row += 6 - first[i]


@sweep
def _put_column(J, row, d, skip, h):
    """Column d of a node's rows := h, from row ``skip`` of the six on."""
    if skip == 0:
        J[row, d], J[row + 1, d], J[row + 2, d] = h[:3]
    J[row + 3 - skip, d], J[row + 4 - skip, d], J[row + 5 - skip, d] = h[3:]


@kernel
def _put_modes(g, k, r, J, row, skip):
    """Columns of the modes in the rows of a node that is r away from the node of a flexible link that is body k."""
    e = g.node_of[k]
    f = g.link_of[e]
    for j in range(g.first_mode[f + 1] - g.first_mode[f]):
        _put_column(J, row, g.v_start[f] + j, skip, moved(spatial(g.columns, g.first_shape[e] + j), r))


@kernel
def _put_mode_rates(g, k, r, apart, J_dot, row, skip):
    """Their rates; ``apart`` is the difference of the two velocities."""
    e = g.node_of[k]
    f = g.link_of[e]
    for j in range(g.first_mode[f + 1] - g.first_mode[f]):
        at = g.first_shape[e] + j
        turning = ZERO + vector_product(vector(g.columns, at), apart)
        rate = spatial_sum(moved(spatial(g.column_rates, at), r), 1.0, turning)
        _put_column(J_dot, row, g.v_start[f] + j, skip, rate)


@kernel
def frame_jacobian_rates(tree, kin, body, first, p, v, H_dot, J_dot):
    """Time derivatives of the Jacobians at the velocity held in ``kin``; J_dot as J above, H_dot (N, 6) is a workspace.

    A column is [h_w; h_v + h_w x r] with r from the joint's body to the node, so its rate is
    [h_w'; h_v' + h_w' x r + h_w x r'], r' the difference of the two points' velocities.
    """
    for k in range(tree.parent.shape[0]):
        map_rate(tree.joint_type[k], tree.parent[k], tree.v_start[k], tree.nv[k], kin.H, kin.V, v, H_dot)
    if has_modes(kin):
        node_column_rates(kin)
    row = 0
    for i in range(body.shape[0]):
        k = body[i]
        node = _node_velocity(kin, k, p, i)
        while k >= 0:
            r = between(p, i, kin.p, k)
            apart = spatial_sum(node, -1.0, spatial(kin.V, k))
            for d in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
                turning = ZERO + vector_product(vector(kin.H, d), apart[3:])
                _put_column(J_dot, row, d, first[i], spatial_sum(moved(spatial(H_dot, d), r), 1.0, turning))
            if has_modes(kin) and kin.modal.node_of[k] >= 0:
                _put_mode_rates(kin.modal, k, r, apart[3:], J_dot, row, first[i])
            k = tree.parent[k]
        row += 6 - first[i]


@sweep
def _node_velocity(kin, k, p, i):
    """Velocity of node i of body k, from ``kin.V``."""
    if k < 0:
        return STILL
    return moved(spatial(kin.V, k), between(p, i, kin.p, k))


@sweep
def _put_rows(out, row, skip, a):
    """A node's rows := a, from row ``skip`` of the six on; returns the next node's first row."""
    if skip == 0:
        out[row], out[row + 1], out[row + 2] = a[:3]
    out[row + 3 - skip], out[row + 4 - skip], out[row + 5 - skip] = a[3:]
    return row + 6 - skip


@kernel
def frame_velocities(kin, body, first, p, velocity):
    """Stacked velocities of nodes, from ``kin.V``."""
    row = 0
    for i in range(body.shape[0]):
        row = _put_rows(velocity, row, first[i], _node_velocity(kin, body[i], p, i))


@kernel
def velocity_products(tree, kin, alpha):
    """alpha(k) = phi* alpha(p) + a(k): what is left of the bodies' accelerations when theta_dd = 0."""
    for k in range(tree.parent.shape[0]):
        x = STILL
        if tree.parent[k] >= 0:
            x = moved(spatial(alpha, tree.parent[k]), vector(kin.l, k))
        put_spatial(alpha, k, spatial_sum(x, 1.0, spatial(kin.a, k)))


@kernel
def frame_bias(tree, kin, body, first, p, alpha, bias):
    """Bias accelerations dJ/dt v: the nodes' accelerations when v_dot = 0 and gravity is off, stacked.

    ``alpha`` (n, 6) is a workspace: alpha(k) = phi* alpha(p) + a(k).
    """
    velocity_products(tree, kin, alpha)
    row = 0
    for i in range(body.shape[0]):
        k = body[i]
        x = STILL
        if k >= 0:
            r = between(p, i, kin.p, k)
            x = spatial_sum(moved(spatial(alpha, k), r), 1.0, ZERO + centripetal(vector(kin.V, k), r))
        row = _put_rows(bias, row, first[i], x)


@kernel
def node_row(origin, k, point, direction, row, i):
    """``row[i] := phi(k, node) [0; d]``: its velocity along the direction d is row . V(k)."""
    r = vector_sum(point, -1.0, vector(origin, k))
    put_spatial(row, i, gathered(ZERO + direction, r))


@sweep
def node_rows(origin, a, x, b, y, d, rows, row):
    """The row d . (v_a - v_b) of the points of bodies a and b that are at x and at y; -1 is the inertial frame."""
    if a >= 0:
        node_row(origin, a, x, d, rows.on_a, row)
    if b >= 0:
        node_row(origin, b, y, vector_sum(ZERO, -1.0, d), rows.on_b, row)


@sweep
def angular_row(rows, row, d):
    """The row d . (omega_a - omega_b); on the inertial frame it is not read."""
    put_spatial(rows.on_a, row, d + ZERO)
    put_spatial(rows.on_b, row, spatial_sum(STILL, -1.0, d + ZERO))
