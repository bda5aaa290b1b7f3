# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rows of loop closures (``tree/closures.py``), u = G v+ + dt dG/dt v + rate c / dt, and how they follow q and v.

dG/dt v is made of accelerations a(x) with constant joint rates (``bias.py``) and of products of velocities.
"""

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.constraints.bilateral import COUNT, FIRST, GEARS
from mb_contact.core.gradients.bias import (
    RATE,
    RATE_BY_Q,
    RATE_BY_V,
    TWIST,
    TWIST_BY_Q,
    bias_of,
    rate_along,
    twist_of,
)
from mb_contact.core.gradients.motion import begin_bodies, begin_twists, body_twists, twists_along, velocity_at
from mb_contact.core.gradients.planes import (
    is_plane,
    plane_entry,
    point_acceleration,
    point_bias,
    point_bias_v,
    turn_along,
)
from mb_contact.core.gradients.workspace import BY_Q, PATH
from mb_contact.core.handle import DRIFT_RATE, DRIFT_STEP
from mb_contact.core.jit import kernel, sweep, unlocked
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    add_spatial,
    body_point,
    force_cross,
    matrix,
    product,
    put_spatial,
    spatial,
    spatial_sum,
    transposed,
    turned,
    unit_vector,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
    wrench_at,
)
from mb_contact.types import CLOSURE_AXIS, CLOSURE_DISTANCE, CLOSURE_PLANAR, CLOSURE_SCREW, CLOSURE_WELD


@sweep
def _minus(a, b):
    return vector_sum(a, -1.0, b)


@kernel
def closure_rows(g, a, v, dt, row):
    """Rows of all closures from ``row`` on; the row behind them."""
    kinds = a.closures
    for i in range(kinds.kind.shape[0]):
        if kinds.released[i] == 2:  # before this step
            continue
        row = _closure(g, a, v, dt, i, row)
    return row


@sweep
def _frame(R, k, R_own):
    """Axes of a closure's frame in the world."""
    return product(matrix(R, k), R_own) if k >= 0 else R_own


@sweep
def _column(R, c):
    return R[c], R[3 + c], R[6 + c]


@sweep
def _angles(kind):
    """Rows about axes, which stand before those of points."""
    return 3 if kind == CLOSURE_WELD else 2 if kind == CLOSURE_AXIS or is_plane(kind) else 0


@sweep
def _points(kind):
    """And rows of points."""
    return 1 if kind == CLOSURE_DISTANCE or kind == CLOSURE_PLANAR else 3


@sweep
def _direction(kind, c, angles, R_b, along):
    """Direction of number c of the rows of a closure."""
    if c < angles:
        return unit_vector(c) if kind == CLOSURE_WELD else _column(R_b, c)
    if is_plane(kind):
        return _column(R_b, 2 if kind == CLOSURE_PLANAR else c - angles)
    return along if kind == CLOSURE_DISTANCE else unit_vector(c - angles)


@sweep
def _lead(c, i, r, last):
    """Way along the axis per radian that the last row of a screw has beside that along it."""
    return c.lead[i] if r == last and c.kind[i] == CLOSURE_SCREW else 0.0


@kernel
def _closure(g, a, v, dt, i, row):
    """Rows of closure i; the row behind them."""
    kin, c = g.d.kin, a.closures
    k, m, kind = c.body_a[i], c.body_b[i], c.kind[i]
    begin_bodies(g, a, k, m)
    for side in range(2):
        body = k if side == 0 else m
        bias_of(g, body, v, side)
        put_spatial(g.end_pair, side, spatial(g.end_twist, body) if body >= 0 else STILL)
    p_a, p_b = body_point(kin.R, kin.p, k, vector(c.p_a, i)), body_point(kin.R, kin.p, m, vector(c.p_b, i))
    R_a, R_b = _frame(kin.R, k, matrix(c.R_a, i)), _frame(kin.R, m, matrix(c.R_b, i))
    angles = _angles(kind)
    points, acts_b = _points(kind), p_a if is_plane(kind) else p_b
    smooth = g.smooth[0]
    rate = smooth * a.drift[DRIFT_RATE] * min(1.0, dt / a.drift[DRIFT_STEP]) / dt
    apart = _minus(p_a, p_b)
    length = np.sqrt(vector_dot(apart, apart))
    for r in range(row, row + angles + points):
        g.tip_a[r], g.tip_b[r] = g.tip[k] if k >= 0 else -1, g.tip[m] if m >= 0 else -1
        d = _direction(kind, r - row, angles, R_b, vector_sum(ZERO, 1.0 / max(length, 1e-300), apart))
        for e in range(g.count[PATH]):
            if r < row + angles:
                _angular(g, a, e, r, d, kind, R_a, R_b, (dt * smooth, rate, 1.0), r - row)
            elif is_plane(kind):
                plane_entry(g, a, e, r, d, p_a, p_b, (dt * smooth, rate))
                lead = _lead(c, i, r, row + 4)
                if lead != 0.0:
                    _angular(g, a, e, r, d, kind, R_a, R_b, (dt * smooth, rate, -lead), r - row)
            else:
                _point(g, a, e, r, d, kind == CLOSURE_DISTANCE, p_a, p_b, (dt * smooth, rate, length))
        f = vector_sum(ZERO, a.sol.r[g.at[r]], d)
        turn = vector_sum(ZERO, -_lead(c, i, r, row + 4), f)
        if k >= 0:
            add_spatial(g.total, k, f + ZERO if r < row + angles else spatial_sum(wrench_at(p_a, f), 1.0, turn + ZERO))
        if m >= 0:
            on_b = f + ZERO if r < row + angles else spatial_sum(wrench_at(acts_b, f), 1.0, turn + ZERO)
            add_spatial(g.total, m, spatial_sum(STILL, -1.0, on_b))
    return row + angles + points


@sweep
def _sides(g, e):
    """(twists of entry e of the path where it moves A and B, dV+/dq of A and B)."""
    j, side, (S_a, S_b) = g.path[e], g.side[e], twists_along(g, e)
    on_a, on_b = side != 2, side != 1
    return (
        S_a, S_b,
        spatial(g.turned_a, j) if on_a else STILL, spatial(g.turned_b, j) if on_b else STILL,
    )  # fmt: skip


@kernel
def _angular(g, a, e, r, d, kind, R_a, R_b, numbers, c):
    """Entry e of the path of the row d.(w_a - w_b), d fixed in the world or (but of a weld) in B, times a factor."""
    j, (dt, rate, factor) = g.path[e], numbers
    S_a, S_b, by_a, by_b = _sides(g, e)
    T_a, T_b = S_a[:3], S_b[:3]
    ends = spatial(g.end_pair, 0), spatial(g.end_pair, 1)
    V_a, V_b = twist_of(g, 0, TWIST), twist_of(g, 1, TWIST)
    A_a, A_b = twist_of(g, 0, RATE), twist_of(g, 1, RATE)
    dA = _minus(rate_along(g, e, 0, RATE_BY_Q)[:3], rate_along(g, e, 1, RATE_BY_Q)[:3])
    dA_v = _minus(rate_along(g, e, 0, RATE_BY_V)[:3], rate_along(g, e, 1, RATE_BY_V)[:3])
    g.J[r, j] += factor * vector_dot(d, _minus(T_a, T_b))
    u_q = vector_dot(d, _minus(by_a[:3], by_b[:3])) + dt * vector_dot(d, dA)
    u_v = dt * vector_dot(d, dA_v)
    if kind != CLOSURE_WELD:
        dd, w = vector_product(T_b, d), _minus(V_a[:3], V_b[:3])
        dw = _minus(rate_along(g, e, 0, TWIST_BY_Q)[:3], rate_along(g, e, 1, TWIST_BY_Q)[:3])
        dw_b, w_b = rate_along(g, e, 1, TWIST_BY_Q)[:3], V_b[:3]
        u_q += vector_dot(dd, _minus(ends[0][:3], ends[1][:3])) + dt * vector_dot(dd, _minus(A_a[:3], A_b[:3]))
        turning = vector_sum(vector_product(dw_b, d), 1.0, vector_product(w_b, dd))
        u_q += dt * (vector_dot(turning, w) + vector_dot(vector_product(w_b, d), dw))
        u_v += dt * (vector_dot(vector_product(T_b, d), w) + vector_dot(vector_product(w_b, d), _minus(T_a, T_b)))
        if c >= 2:  # of a screw
            u_q += rate * turn_along(T_a, T_b, _column(R_a, 0), _column(R_b, 0), _column(R_b, 1))
        else:
            z_a, z_b = _column(R_a, 2), _column(R_b, 2)
            dz_a, dz_b = vector_product(T_a, z_a), vector_product(T_b, z_b)
            error = vector_sum(vector_product(dz_b, z_a), 1.0, vector_product(z_b, dz_a))
            u_q += rate * (vector_dot(dd, vector_product(z_b, z_a)) + vector_dot(d, error))
        moment = vector_sum(ZERO, factor * a.sol.r[g.at[r]], dd)
        add_spatial(g.push, j, moment + ZERO)
        add_spatial(g.pull, j, moment + ZERO)
    else:
        E = product(R_a, transposed(R_b))
        theta, phi = _minus(T_a, turned(E, T_b)), (0.5 * (E[7] - E[5]), 0.5 * (E[2] - E[6]), 0.5 * (E[3] - E[1]))
        once = vector_product(phi, theta)  # of the small angle that is left
        u_q += rate * (vector_sum(vector_sum(theta, -0.5, once), 1.0 / 12.0, vector_product(phi, once))[c])
    g.u_q[r, j] += factor * u_q
    g.u_v[r, j] += factor * u_v


@kernel
def _point(g, a, e, r, d, along, p_a, p_b, numbers):
    """Entry e of the path of the row d.(v_a(p_a) - v_b(p_b)), d fixed in the world or ``along`` p_a - p_b."""
    j, (dt, rate, length) = g.path[e], numbers
    S_a, S_b, by_a, by_b = _sides(g, e)
    X_a, X_b = velocity_at(S_a, p_a), velocity_at(S_b, p_b)
    X = _minus(X_a, X_b)
    end_a, end_b = spatial(g.end_pair, 0), spatial(g.end_pair, 1)
    dv = vector_sum(velocity_at(by_a, p_a), 1.0, vector_product(end_a[:3], X_a))
    dv = _minus(dv, vector_sum(velocity_at(by_b, p_b), 1.0, vector_product(end_b[:3], X_b)))
    a_q = _minus(point_bias(g, e, 0, p_a, X_a), point_bias(g, e, 1, p_b, X_b))
    a_v = _minus(point_bias_v(g, e, 0, p_a, S_a), point_bias_v(g, e, 1, p_b, S_b))
    g.J[r, j] = vector_dot(d, X)
    u_q = vector_dot(d, dv) + dt * vector_dot(d, a_q) + rate * vector_dot(d, X)
    u_v = dt * vector_dot(d, a_v)
    df = ZERO
    if along:
        dd = vector_sum(ZERO, 1.0 / length, vector_sum(X, -vector_dot(d, X), d))
        V_a, V_b = twist_of(g, 0, TWIST), twist_of(g, 1, TWIST)
        u = _minus(velocity_at(V_a, p_a), velocity_at(V_b, p_b))
        acceleration = _minus(point_acceleration(g, 0, p_a), point_acceleration(g, 1, p_b))
        du = vector_sum(velocity_at(rate_along(g, e, 0, TWIST_BY_Q), p_a), 1.0, vector_product(V_a[:3], X_a))
        dV = rate_along(g, e, 1, TWIST_BY_Q)
        du = _minus(du, vector_sum(velocity_at(dV, p_b), 1.0, vector_product(V_b[:3], X_b)))
        n_u = vector_dot(d, u)
        across = vector_dot(u, u) - n_u * n_u
        u_q += vector_dot(dd, _minus(velocity_at(end_a, p_a), velocity_at(end_b, p_b)))
        by = 2.0 * (vector_dot(u, du) - n_u * (vector_dot(dd, u) + vector_dot(d, du))) / length
        u_q += dt * (vector_dot(dd, acceleration) + by - across / length**2 * vector_dot(d, X))
        u_v += dt * 2.0 * (vector_dot(u, X) - n_u * vector_dot(d, X)) / length
        df = vector_sum(ZERO, a.sol.r[g.at[r]], dd)
    g.u_q[r, j], g.u_v[r, j] = u_q, u_v
    f = vector_sum(ZERO, a.sol.r[g.at[r]], d)
    add_spatial(g.push, j, vector_sum(vector_product(X_a, f), 1.0, vector_product(p_a, df)) + df)
    add_spatial(g.pull, j, vector_sum(vector_product(X_b, f), 1.0, vector_product(p_b, df)) + df)


@unlocked
def closure_wrenches(g, a, dr, out):
    """Derivatives of the wrenches of closures on both of their bodies, about the world's origin.

    Parameters
    ----------
    dr : ndarray (rows, columns)
        Of the impulses of all rows (``contact_wrenches`` of ``readings.py``).
    out : ndarray (closures, 2, 6, columns)
        Of A, then of B; moment first, world axes [N m s, N s].
    """
    row = a.rows.end[0]
    for i in range(out.shape[0]):
        for side in range(2):
            for j in range(6):
                fill(out.shape[3], out[i, side, j], 0.0)
        if a.closures.released[i] != 2:
            row = _closure_wrench(g, a, i, row, dr, out[i])


@kernel
def _closure_wrench(g, a, i, row, dr, out):
    """Those of closure i, whose rows begin at ``row``; the row behind them."""
    kin, c, q = g.d.kin, a.closures, g.first[BY_Q]
    k, m, kind = c.body_a[i], c.body_b[i], c.kind[i]
    p = body_point(kin.R, kin.p, k, vector(c.p_a, i)), body_point(kin.R, kin.p, m, vector(c.p_b, i))
    R_b, apart = _frame(kin.R, m, matrix(c.R_b, i)), _minus(p[0], p[1])
    length = np.sqrt(vector_dot(apart, apart))
    angles = _angles(kind)
    behind = row + angles + _points(kind)
    begin_twists(g, k, m)
    for r in range(row, behind):
        turns = r < row + angles
        d = _direction(kind, r - row, angles, R_b, vector_sum(ZERO, 1.0 / max(length, 1e-300), apart))
        f = vector_sum(ZERO, a.sol.r[g.at[r]], d)
        lead = _lead(c, i, r, row + 4)
        for side in range(2):
            sign, x = 1.0 - 2.0 * side, p[0] if side == 0 or is_plane(kind) else p[1]
            unit = d + ZERO if turns else spatial_sum(wrench_at(x, d), -lead, d + ZERO)
            for j in range(6):
                for e in range(out.shape[2]):
                    out[side, j, e] += sign * unit[j] * dr[r, e]
        for e in range(g.count[PATH] if g.first[BY_Q + 1] > q else 0):
            j, (S_a, S_b) = g.path[e], twists_along(g, e)
            X_a, X_b = velocity_at(S_a, p[0]), velocity_at(S_b, p[1])
            dd = ZERO
            if is_plane(kind) or (kind == CLOSURE_AXIS and turns):
                dd = vector_product(S_b[:3], d)
            elif kind == CLOSURE_DISTANCE:
                X = _minus(X_a, X_b)
                dd = vector_sum(ZERO, 1.0 / max(length, 1e-300), vector_sum(X, -vector_dot(d, X), d))
            df = vector_sum(ZERO, a.sol.r[g.at[r]], dd)
            for side in range(2):
                at_a = side == 0 or is_plane(kind)
                sign, x, X = 1.0 - 2.0 * side, p[0] if at_a else p[1], X_a if at_a else X_b
                by = df + ZERO if turns else vector_sum(vector_product(X, f), 1.0, vector_product(x, df)) + df
                by = spatial_sum(by, -lead, df + ZERO)
                for b in range(6):
                    out[side, b, q + j] += sign * by[b]
    g.count[PATH] = 0
    return behind


@unlocked
def gear_wrenches(g, a, dr, out):
    """As ``closure_wrenches``, of gears on the bodies of their two joints, whose parents feel the opposite.

    Those of driven joints are 0: drives are efforts.
    """
    info, q = a.bil.info, g.first[BY_Q]
    for e in range(out.shape[0]):
        at = info[FIRST] + info[COUNT] - info[GEARS] + e
        row, ratio = a.rows.end[0] + at - info[FIRST], a.bil.ratio[at - info[FIRST]]
        for side in range(2):
            k = a.gears.body_a[e] if side == 0 else a.gears.body_b[e]
            part, share = (at, 1.0) if side == 0 else (at + info[GEARS], -ratio)
            unit = spatial(a.rows.on_a, part)
            unit = vector_sum(unit[:3], 1.0, vector_product(vector(g.d.kin.p, k), unit[3:])) + unit[3:]
            W = spatial_sum(STILL, a.sol.r[part], unit)
            for j in range(6):
                for c in range(out.shape[3]):
                    out[e, side, j, c] = share * unit[j] * dr[row, c] if ratio != 0.0 else 0.0
            i = g.tip[k] if ratio != 0.0 and g.first[BY_Q + 1] > q else -1
            body_twists(g, k, g.twist_a)
            while i >= 0:
                by = force_cross(spatial(g.twist_a, i), W)
                for j in range(6):
                    out[e, side, j, q + i] += by[j]
                i = g.d.before[i]
