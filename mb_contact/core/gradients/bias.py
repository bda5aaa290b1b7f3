# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rates of bodies' twists with constant joint rates, and how they follow q and v: what is of second order in a step.

Of a body k and the degrees of freedom j on its path to the root, with twists S_j at the world's origin,

    A = sum_j (C_j x S_j) v_j,    C_j the twist of what carries j,    a(x) = A at x + w x V(x),
    dA/dv_j = C_j x S_j + S_j x W_j,    W_j the twist of what j carries,
    dA/dq_j = S_j x A_j - (S_j x X_j) x B + sum_m (C_m x (S_j x S_m)) v_m,

A_j and B what joints behind that of j add to A and to the twist, X_j the twist up to j with those of its joint that it
does not carry, and the sum over those that it does.  The first two terms are those of joints behind it,
(S x (C - X)) x S' + C x (S x S') each, by Jacobi's identity.  Of a mode i of a flexible link, that moves a node by C_i,
with V_f the twist of its frame, V that of the node, U and Q as in ``core/tree/modal_rates.py``,

    A(node) = A_f + V_f x U + Q,    dA/dq_i = C_i x A_i + (dU_i - C_i x V) x B + V_f x dU_i + dQ_i,
    dA/dv_i = V_f x C_i + C_i x B + dQ/d eta_i'.
"""

from mb_contact.core.gradients.motion import at_origin
from mb_contact.core.jit import REAL, kernel, on_demand, sweep
from mb_contact.core.tree.joints import comes_before
from mb_contact.core.tree.modal import has_modes, node_motion
from mb_contact.core.tree.modal_rates import (
    column_at,
    column_product,
    flow_by_mode,
    product_by_mode,
    product_by_rate,
)
from mb_contact.core.tree.spatial import STILL, motion_cross, put_spatial, spatial, spatial_sum, vector

RATE_BY_Q, RATE_BY_V, TWIST_BY_Q = range(3)  #: parts of ``bias``: dA/dq, dA/dv and dV/dq, the first behind
TWIST, RATE, FIRST = range(3)  #: the twist V and A


@kernel
def bias_of(g, k, v, side):
    """Twist of body k at velocities v, its rate with these kept, and their derivatives, into ``bias[side]``."""
    out, tree = g.bias[side], g.d.tree
    V, A, beyond = _body_twist(g, k, v), STILL, STILL
    put_spatial(out[RATE_BY_Q], TWIST, V)
    while k >= 0:
        first, last, kind = tree.v_start[k], tree.v_start[k] + tree.nv[k] - 1, tree.joint_type[k]
        own = added = STILL
        for j in range(first, last + 1):
            own = spatial_sum(own, v[j], spatial(g.S, j))
        if has_modes(g.d.kin) and g.d.kin.modal.node_of[k] >= 0:
            modes = _bias_of_modes(g, k, v, side, A, beyond)
            own, added = modes[:6], modes[6:]
        below = spatial_sum(spatial_sum(V, -1.0, beyond), -1.0, own)
        for j in range(first, last + 1):
            S, C, W, X = spatial(g.S, j), _carrier(g, v, kind, first, last, j, below), beyond, below
            turned = motion_cross(S, A)
            for m in range(first, last + 1):
                other = spatial(g.S, m)
                if comes_before(kind, j - first, m - first):
                    W = spatial_sum(W, v[m], other)
                    carrier = _carrier(g, v, kind, first, last, m, below)
                    turned = spatial_sum(turned, v[m], motion_cross(carrier, motion_cross(S, other)))
                else:
                    X = spatial_sum(X, v[m], other)
            rate, by_q = motion_cross(C, S), motion_cross(S, W)
            added = spatial_sum(added, v[j], rate)
            put_spatial(out[RATE_BY_Q], FIRST + j, spatial_sum(turned, -1.0, motion_cross(motion_cross(S, X), beyond)))
            put_spatial(out[RATE_BY_V], j, spatial_sum(rate, 1.0, by_q))
            put_spatial(out[TWIST_BY_Q], j, by_q)
        A, beyond = spatial_sum(A, 1.0, added), spatial_sum(beyond, 1.0, own)
        k = tree.parent[k]
    put_spatial(out[RATE_BY_Q], RATE, A)


@kernel
def _body_twist(g, k, v):
    """Twist of body k at velocities v."""
    V = STILL
    while k >= 0:
        for j in range(g.d.tree.v_start[k], g.d.tree.v_start[k] + g.d.tree.nv[k]):
            V = spatial_sum(V, v[j], spatial(g.S, j))
        if has_modes(g.d.kin):
            V = spatial_sum(V, 1.0, at_origin(node_motion(g.d.kin.modal, k, v), vector(g.d.kin.p, k)))
        k = g.d.tree.parent[k]
    return V


@on_demand((REAL,) * 12)
def _bias_of_modes(g, k, v, side, A, beyond):
    """As ``bias_of``, of the modes of the node that is body k; what they add to the twist and to its rate."""
    kin, out, x = g.d.kin, g.bias[side], vector(g.d.kin.p, k)
    e, f = kin.modal.node_of[k], kin.modal.flexible[k]
    U = at_origin(node_motion(kin.modal, k, v), x)
    V = spatial_sum(spatial(out[RATE_BY_Q], TWIST), -1.0, beyond)  # of the node
    V_f = spatial_sum(V, -1.0, U)
    for i in range(kin.modal.first_mode[f + 1] - kin.modal.first_mode[f]):
        j, C, dU = kin.modal.v_start[f] + i, column_at(kin.modal, e, i, x), flow_by_mode(kin, e, i, v, x)
        turned = spatial_sum(motion_cross(C, A), 1.0, motion_cross(V_f, dU))
        bent = motion_cross(spatial_sum(dU, -1.0, motion_cross(C, V)), beyond)
        turned = spatial_sum(spatial_sum(turned, 1.0, bent), 1.0, product_by_mode(kin, e, i, v, x))
        put_spatial(out[RATE_BY_Q], FIRST + j, turned)
        rate, carried = motion_cross(V_f, C), motion_cross(C, beyond)
        rate = spatial_sum(rate, 1.0, product_by_rate(kin, e, i, v, x))
        put_spatial(out[RATE_BY_V], j, spatial_sum(rate, 1.0, carried))
        put_spatial(out[TWIST_BY_Q], j, spatial_sum(carried, 1.0, dU))
    return U + spatial_sum(motion_cross(V_f, U), 1.0, column_product(kin, e, v, x))


@kernel
def _carrier(g, v, kind, first, last, j, below):
    """Twist of what carries j: ``below`` it, and what of its own joint does."""
    for m in range(first, last + 1):
        if comes_before(kind, m - first, j - first):
            below = spatial_sum(below, v[m], spatial(g.S, m))
    return below


@sweep
def twist_of(g, side, which):
    """TWIST or RATE of the body of a side."""
    return _entry(g.bias, side, RATE_BY_Q, which)


@sweep
def rate_along(g, e, side, part):
    """Of the body of a side and entry e of the path a part of ``bias``; zero where that does not move it."""
    j = g.path[e]
    moves = g.side[e] != (2 if side == 0 else 1)
    return _entry(g.bias, side, part, FIRST + j if part == RATE_BY_Q else j) if moves else STILL


@sweep
def _entry(bias, side, part, j):
    x = bias[side, part, j]
    return x[0], x[1], x[2], x[3], x[4], x[5]
