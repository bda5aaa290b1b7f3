# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rows of points that stay in a plane of B, n.s = 0 with s = p_a - p_b (planar and screw closures), by q and v.

    u = n.(V_a(p_a) - V_b(p_a)),    du/dt = n''.s + 2 n'.s' + n.s'',    n' = w x n,  n'' = w' x n + w x (w x n),

w that of B, s'' by accelerations with constant joint rates (``bias.py``).  A screw has lead times the turn beside it.
"""

from mb_contact.core.gradients.bias import (
    RATE,
    RATE_BY_Q,
    RATE_BY_V,
    TWIST,
    TWIST_BY_Q,
    rate_along,
    twist_of,
)
from mb_contact.core.gradients.motion import twists_along, velocity_at
from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.spatial import STILL, ZERO, add_spatial, spatial, vector_dot, vector_product, vector_sum
from mb_contact.types import CLOSURE_PLANAR, CLOSURE_SCREW


@sweep
def is_plane(kind):
    """Whether rows of points of a kind of closure are planes of B."""
    return kind == CLOSURE_PLANAR or kind == CLOSURE_SCREW


@sweep
def turn_along(T_a, T_b, x_a, x_b, y_b):
    """Derivative of the turn of A's x axis about B's z, atan2(y_b.x_a, x_b.x_a), by turns of both."""
    x, y = vector_dot(x_b, x_a), vector_dot(y_b, x_a)
    T = vector_sum(T_a, -1.0, T_b)
    moved = vector_product(T, x_a)  # against B
    return (x * vector_dot(y_b, moved) - y * vector_dot(x_b, moved)) / (x * x + y * y)


@kernel
def plane_entry(g, a, e, r, n, p_a, p_b, numbers):
    """Entry e of the path of the row of a plane with the normal n, fixed in B; it acts on both bodies at p_a."""
    j, (dt, rate) = g.path[e], numbers
    S_a, S_b = twists_along(g, e)
    by_a = spatial(g.turned_a, j) if g.side[e] != 2 else STILL
    by_b = spatial(g.turned_b, j) if g.side[e] != 1 else STILL
    end_a, end_b = spatial(g.end_pair, 0), spatial(g.end_pair, 1)
    X_a, X_b, T_b = velocity_at(S_a, p_a), velocity_at(S_b, p_b), S_b[:3]
    X, dn, s = vector_sum(X_a, -1.0, X_b), vector_product(T_b, n), vector_sum(p_a, -1.0, p_b)
    end = vector_sum(velocity_at(end_a, p_a), -1.0, velocity_at(end_b, p_a))
    dend = vector_sum(velocity_at(by_a, p_a), -1.0, velocity_at(by_b, p_a))
    dend = vector_sum(dend, 1.0, vector_product(vector_sum(end_a[:3], -1.0, end_b[:3]), X_a))
    g.J[r, j] += vector_dot(n, vector_sum(X_a, -1.0, velocity_at(S_b, p_a)))
    u_q = vector_dot(dn, end) + vector_dot(n, dend) + rate * (vector_dot(dn, s) + vector_dot(n, X))
    V_a, V_b = twist_of(g, 0, TWIST), twist_of(g, 1, TWIST)
    w, turns = V_b[:3], twist_of(g, 1, RATE)[:3]
    dV_a, dV_b, rate_n = rate_along(g, e, 0, TWIST_BY_Q), rate_along(g, e, 1, TWIST_BY_Q), vector_product(w, n)
    dw = dV_b[:3]
    bent = vector_sum(vector_product(turns, n), 1.0, vector_product(w, rate_n))
    moves = vector_sum(velocity_at(V_a, p_a), -1.0, velocity_at(V_b, p_b))
    dmoves = vector_sum(velocity_at(dV_a, p_a), 1.0, vector_product(V_a[:3], X_a))
    dmoves = vector_sum(dmoves, -1.0, vector_sum(velocity_at(dV_b, p_b), 1.0, vector_product(w, X_b)))
    drate = vector_sum(vector_product(dw, n), 1.0, vector_product(w, dn))
    dbent = vector_sum(vector_product(rate_along(g, e, 1, RATE_BY_Q)[:3], n), 1.0, vector_product(turns, dn))
    dbent = vector_sum(dbent, 1.0, vector_sum(vector_product(dw, rate_n), 1.0, vector_product(w, drate)))
    pulls = vector_sum(point_acceleration(g, 0, p_a), -1.0, point_acceleration(g, 1, p_b))
    dpulls = vector_sum(point_bias(g, e, 0, p_a, X_a), -1.0, point_bias(g, e, 1, p_b, X_b))
    u_q += dt * (vector_dot(dbent, s) + vector_dot(bent, X) + 2.0 * vector_dot(drate, moves))
    u_q += dt * (2.0 * vector_dot(rate_n, dmoves) + vector_dot(dn, pulls) + vector_dot(n, dpulls))
    v_n = vector_product(T_b, n)
    v_bent = vector_sum(vector_product(rate_along(g, e, 1, RATE_BY_V)[:3], n), 1.0, vector_product(T_b, rate_n))
    v_bent = vector_sum(v_bent, 1.0, vector_product(w, v_n))
    v_pulls = vector_sum(point_bias_v(g, e, 0, p_a, S_a), -1.0, point_bias_v(g, e, 1, p_b, S_b))
    u_v = vector_dot(v_bent, s) + 2.0 * (vector_dot(v_n, moves) + vector_dot(rate_n, X)) + vector_dot(n, v_pulls)
    g.u_q[r, j] += u_q
    g.u_v[r, j] += dt * u_v
    f, df = vector_sum(ZERO, a.sol.r[g.at[r]], n), vector_sum(ZERO, a.sol.r[g.at[r]], dn)
    by = vector_sum(vector_product(X_a, f), 1.0, vector_product(p_a, df)) + df
    add_spatial(g.push, j, by)
    add_spatial(g.pull, j, by)


@kernel
def point_acceleration(g, side, x):
    """Bias acceleration of the point of a body that is at x."""
    V = twist_of(g, side, TWIST)
    return vector_sum(velocity_at(twist_of(g, side, RATE), x), 1.0, vector_product(V[:3], velocity_at(V, x)))


@kernel
def point_bias(g, e, side, x, X):
    """Its derivative by q."""
    V, A = twist_of(g, side, TWIST), twist_of(g, side, RATE)
    dA, dV = rate_along(g, e, side, RATE_BY_Q), rate_along(g, e, side, TWIST_BY_Q)
    total = vector_sum(velocity_at(dA, x), 1.0, vector_product(A[:3], X))
    total = vector_sum(total, 1.0, vector_product(dV[:3], velocity_at(V, x)))
    return vector_sum(total, 1.0, vector_product(V[:3], vector_sum(velocity_at(dV, x), 1.0, vector_product(V[:3], X))))


@kernel
def point_bias_v(g, e, side, x, S):
    """And by v."""
    V, dA = twist_of(g, side, TWIST), rate_along(g, e, side, RATE_BY_V)
    total = vector_sum(velocity_at(dA, x), 1.0, vector_product(S[:3], velocity_at(V, x)))
    return vector_sum(total, 1.0, vector_product(V[:3], velocity_at(S, x)))
