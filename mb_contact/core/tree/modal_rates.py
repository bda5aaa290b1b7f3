# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How the columns of a flexible link's nodes follow its modes, and twists of bodies beyond them.

A mode moves each node by a twist of its own, c_i(eta) in the axes of the frame; with C_i the same in world axes at a
fixed point, V_f the twist of the frame, U = sum C_i eta_i' and C_ij = dc_i/d eta_j,

    V(node) = V_f + U,    A(node) = A_f + sum C_i eta_i'' + V_f x U + Q,    Q = sum C_ij eta_i' eta_j',
    dU/d eta_n = sum C_in eta_i',    dQ/d eta_n = sum d C_ij/d eta_n eta_i' eta_j',
    dQ/d eta_n' = sum (C_in + C_ni) eta_i'.

C_ij is not C_ji but C_ji + C_j x C_i, as of all twists.  All here are taken at a fixed point from which ``x`` leads to
the node.
"""

from mb_contact.core.jit import NOTHING, REAL, kernel, on_demand
from mb_contact.core.tree.modal import node_motion, node_rotation_vector
from mb_contact.core.tree.rotations import left_jacobian_bend, left_jacobian_rate
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    linear,
    matrix,
    motion_cross,
    put_spatial,
    spatial,
    spatial_sum,
    turned,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)


@kernel
def mode_of(g, e, j):
    """Number of the degree of freedom j among the modes of the link that node e stands on, or -1."""
    f = g.link_of[e]
    i = j - g.v_start[f]
    return i if i >= 0 and i < g.first_mode[f + 1] - g.first_mode[f] else -1


@kernel
def column_at(g, e, i, x):
    """C_i of node e."""
    c = spatial(g.columns, g.first_shape[e] + i)
    return c[:3] + vector_sum(c[3:], 1.0, vector_product(x, c[:3]))


@kernel
def column_change(kin, e, i, j, x):
    """C_ij of node e."""
    g = kin.modal
    f, at = g.link_of[e], g.first_shape[e]
    r = g.first_mode[f + 1] - g.first_mode[f]
    psi = node_rotation_vector(g, e, g.eta)
    turning = left_jacobian_rate(vector_dot(psi, psi), psi, vector(g.slope, at + j), vector(g.slope, at + i))
    turns = vector_product(linear(g.columns, at + j), vector(g.columns, at + i))
    return _changed(kin, e, turning, vector_sum(turns, g.short[g.first_short[e] + i * r + j], _axis(kin, f)), x)


@kernel
def column_product(kin, e, v, x):
    """Q of node e at velocities v (N,)."""
    psi, rate = _turning(kin.modal, e, v)
    turning = left_jacobian_rate(vector_dot(psi, psi), psi, rate, rate)
    U = node_motion(kin.modal, kin.modal.node[e], v)
    t, f = 0.0, kin.modal.link_of[e]
    for i in range(kin.modal.first_mode[f + 1] - kin.modal.first_mode[f]):
        t += v[kin.modal.v_start[f] + i] * _shortens(kin.modal, e, i, v)
    return _changed(kin, e, turning, vector_sum(vector_product(U[3:], U[:3]), t, _axis(kin, f)), x)


@kernel
def product_by_mode(kin, e, n, v, x):
    """dQ/d eta_n of node e."""
    g = kin.modal
    f, at = g.link_of[e], g.first_shape[e]
    frame, (psi, rate) = matrix(kin.R, g.link[f]), _turning(g, e, v)
    way = vector(g.slope, at + n)
    bend = left_jacobian_bend(psi, way, rate, rate)
    U, square = node_motion(g, g.node[e], v), vector_dot(psi, psi)
    dw = turned(frame, left_jacobian_rate(square, psi, way, rate))
    du = vector_sum(ZERO, _shortens(g, e, n, v), _axis(kin, f))
    straight = vector_sum(vector_product(du, U[:3]), 1.0, vector_product(U[3:], dw))
    turning = turned(frame, left_jacobian_rate(square, psi, rate, rate))
    straight = vector_sum(straight, 1.0, vector_product(linear(g.columns, at + n), turning))
    return _changed(kin, e, bend, straight, x)


@kernel
def product_by_rate(kin, e, n, v, x):
    """dQ/d eta_n' of node e."""
    return spatial_sum(flow_by_mode(kin, e, n, v, x), 1.0, _flow_along(kin, e, n, v, x))


@kernel
def flow_by_mode(kin, e, n, v, x):
    """dU/d eta_n of node e."""
    total, g = STILL, kin.modal
    f = g.link_of[e]
    for i in range(g.first_mode[f + 1] - g.first_mode[f]):
        total = spatial_sum(total, v[g.v_start[f] + i], column_change(kin, e, i, n, x))
    return total


@kernel
def _flow_along(kin, e, n, v, x):
    """Rate of c_n of node e, in world axes."""
    total, g = STILL, kin.modal
    f = g.link_of[e]
    for i in range(g.first_mode[f + 1] - g.first_mode[f]):
        total = spatial_sum(total, v[g.v_start[f] + i], column_change(kin, e, n, i, x))
    return total


@kernel
def _turning(g, e, v):
    """psi of node e and its rate."""
    rate, f = ZERO, g.link_of[e]
    for i in range(g.first_mode[f + 1] - g.first_mode[f]):
        rate = vector_sum(rate, v[g.v_start[f] + i], vector(g.slope, g.first_shape[e] + i))
    return node_rotation_vector(g, e, g.eta), rate


@kernel
def _shortens(g, e, i, v):
    """Row i of the second derivatives of the displacement of node e along the axis, times the modes' rates."""
    total, f = 0.0, g.link_of[e]
    r = g.first_mode[f + 1] - g.first_mode[f]
    for j in range(r):
        total += v[g.v_start[f] + j] * g.short[g.first_short[e] + i * r + j]
    return total


@kernel
def _axis(kin, f):
    """The axis of link f in the world."""
    return turned(matrix(kin.R, kin.modal.link[f]), vector(kin.modal.axis, f))


@kernel
def _changed(kin, e, turning, straight, x):
    """A change of a twist of node e: ``turning`` in the axes of the frame, and ``straight`` at its origin."""
    w = turned(matrix(kin.R, kin.modal.link[kin.modal.link_of[e]]), turning)
    return w + vector_sum(straight, 1.0, vector_product(x, w))


@on_demand(NOTHING)
def put_columns(kin, e, x, out):
    """C_i of node e into the rows of ``out`` (N, 6) of its modes."""
    g = kin.modal
    f = g.link_of[e]
    for i in range(g.first_mode[f + 1] - g.first_mode[f]):
        put_spatial(out, g.v_start[f] + i, column_at(g, e, i, x))


@on_demand((REAL,) * 6)
def turn_columns(kin, e, v, beyond, out):
    """Derivatives by the modes of node e, at the world's origin, of the twist of what it carries; then with U.

    ``beyond`` is that twist less the one of the node; into the rows of ``out`` (N, 6).
    """
    g, x = kin.modal, vector(kin.p, kin.modal.node[e])
    f, U = g.link_of[e], STILL
    for i in range(g.first_mode[f + 1] - g.first_mode[f]):
        C = column_at(g, e, i, x)
        turning = motion_cross(C, beyond)
        put_spatial(out, g.v_start[f] + i, spatial_sum(turning, 1.0, flow_by_mode(kin, e, i, v, x)))
        U = spatial_sum(U, v[g.v_start[f] + i], C)
    return spatial_sum(beyond, 1.0, U)
