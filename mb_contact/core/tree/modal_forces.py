# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Inertial forces of flexible links themselves, without what is on their nodes, and their derivatives.

A flexible link is the points of ``modal``, whose accelerations are, in the axes of its frame,

    y = one a + w' x rho + J eta'' + w x (w x rho) + 2 w x J eta' + eta'* S eta' e,

so that it needs sum one y, sum rho x y about its origin and sum J_i.y on its modes, and what its sections' own inertias
add to these.  w, w' and a are the angular velocity of the frame, its rate, and the acceleration of the origin.
"""

from mb_contact.core.jit import kernel
from mb_contact.core.tree.modal import place_point
from mb_contact.core.tree.spatial import (
    ZERO,
    centripetal,
    matrix,
    turned,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)

BY_PLACE, BY_RATE, BY_ACCELERATION = range(3)  #: what a column is by


@kernel
def _by_rates(g, f, columns, rates):
    """Sum of the ``columns`` of the modes of link f at their ``rates`` (N,).

    Of ``g.turning_modes`` the angular momentum of the sections' own inertias, of ``g.columns_at`` ``J rates`` at the
    point that ``place_point`` has placed.
    """
    total, first = ZERO, g.first_mode[f]
    for i in range(g.first_mode[f + 1] - first):
        total = vector_sum(total, rates[g.v_start[f] + i], vector(columns, first + i))
    return total


@kernel
def _shortening(g, f, e, i, rates):
    """Row i of S of point e, times ``rates`` (N,) of the modes of link f."""
    r, total = g.first_mode[f + 1] - g.first_mode[f], 0.0
    at = g.first_point_short[f] + (e - g.first_point[f]) * r * r + i * r
    for j in range(r):
        total += rates[g.v_start[f] + j] * g.point_short[at + j]
    return total


@kernel
def _point_acceleration(g, f, e, rho, motion, v, v_dot):
    """y of point e."""
    w, turning, a = motion
    y = vector_sum(vector_product(turning, rho), g.one[e], a)
    y = vector_sum(vector_sum(y, 1.0, _by_rates(g, f, g.columns_at, v_dot)), 1.0, centripetal(w, rho))
    t = 0.0
    for i in range(g.first_mode[f + 1] - g.first_mode[f]):
        t += v[g.v_start[f] + i] * _shortening(g, f, e, i, v)
    return vector_sum(vector_sum(y, 2.0, vector_product(w, _by_rates(g, f, g.columns_at, v))), t, vector(g.axis, f))


@kernel
def link_force(g, f, motion, v, v_dot, effort):
    """Force of link f itself, about the origin of its frame and in the axes of it; on its modes into ``effort``."""
    w, turning, r = motion[0], motion[1], g.first_mode[f + 1] - g.first_mode[f]
    first, start = g.first_mode[f], g.v_start[f]
    I, force = matrix(g.turning, f), ZERO
    moment = vector_sum(turned(I, turning), 1.0, _by_rates(g, f, g.turning_modes, v_dot))
    spin = vector_sum(turned(I, w), 1.0, _by_rates(g, f, g.turning_modes, v))
    moment = vector_sum(moment, 1.0, vector_product(w, spin))
    for i in range(r):
        effort[start + i] = vector_dot(vector(g.turning_modes, first + i), turning)
        for j in range(r):
            effort[start + i] += g.turning_mass[g.first_pair[f] + i * r + j] * v_dot[start + j]
    for e in range(g.first_point[f], g.first_point[f + 1]):
        rho = place_point(g, f, e, r)
        y = _point_acceleration(g, f, e, rho, motion, v, v_dot)
        moment, force = vector_sum(moment, 1.0, vector_product(rho, y)), vector_sum(force, g.one[e], y)
        for i in range(r):
            effort[start + i] += vector_dot(vector(g.columns_at, first + i), y)
    return moment + force


@kernel
def link_force_change(g, f, motion, change, v, v_dot, j, by, out):
    """Change of ``link_force`` along column j by q, v or v_dot; of that on its modes into column j of ``out`` (N, N).

    ``motion`` and its ``change`` are w, w' and a of the frame, in its axes.
    """
    (w, turning, _), (dw, dturning, da) = motion, change
    first, start, r = g.first_mode[f], g.v_start[f], g.first_mode[f + 1] - g.first_mode[f]
    n = j - start if j >= start and j < start + r else -1
    I = matrix(g.turning, f)
    momentum_of, dmomentum = vector_sum(turned(I, w), 1.0, _by_rates(g, f, g.turning_modes, v)), turned(I, dw)
    moment, force = turned(I, dturning), ZERO
    if n >= 0 and by == BY_RATE:
        dmomentum = vector_sum(dmomentum, 1.0, vector(g.turning_modes, first + n))
    elif n >= 0 and by == BY_ACCELERATION:
        moment = vector_sum(moment, 1.0, vector(g.turning_modes, first + n))
    moment = vector_sum(moment, 1.0, vector_product(dw, momentum_of))
    moment = vector_sum(moment, 1.0, vector_product(w, dmomentum))
    for i in range(r):
        out[start + i, j] += vector_dot(vector(g.turning_modes, first + i), dturning)
        if n >= 0 and by == BY_ACCELERATION:
            out[start + i, j] += g.turning_mass[g.first_pair[f] + i * r + n]
    for e in range(g.first_point[f], g.first_point[f + 1]):
        rho, axis, t = place_point(g, f, e, r), vector(g.axis, f), 0.0
        y = _point_acceleration(g, f, e, rho, motion, v, v_dot)
        drho, flow, dflow, pushed = ZERO, _by_rates(g, f, g.columns_at, v), ZERO, ZERO
        if n >= 0:
            J = vector(g.columns_at, first + n)
            if by == BY_PLACE:
                drho, dflow = J, vector_sum(ZERO, _shortening(g, f, e, n, v), axis)
                pushed = vector_sum(ZERO, _shortening(g, f, e, n, v_dot), axis)
            elif by == BY_RATE:
                dflow, t = J, 2.0 * _shortening(g, f, e, n, v)
            else:
                pushed = J
        dy = vector_sum(vector_product(dturning, rho), g.one[e], da)
        dy = vector_sum(vector_sum(dy, 1.0, vector_product(turning, drho)), 1.0, pushed)
        dy = vector_sum(dy, 1.0, vector_product(dw, vector_product(w, rho)))
        bent = vector_sum(vector_product(dw, rho), 1.0, vector_product(w, drho))
        dy = vector_sum(dy, 1.0, vector_product(w, bent))
        dy = vector_sum(dy, 2.0, vector_sum(vector_product(dw, flow), 1.0, vector_product(w, dflow)))
        dy = vector_sum(dy, t, axis)
        moment = vector_sum(vector_sum(moment, 1.0, vector_product(rho, dy)), 1.0, vector_product(drho, y))
        force = vector_sum(force, g.one[e], dy)
        for i in range(r):
            out[start + i, j] += vector_dot(vector(g.columns_at, first + i), dy)
            if n >= 0 and by == BY_PLACE:
                at = g.first_point_short[f] + (e - g.first_point[f]) * r * r + i * r + n
                out[start + i, j] += g.point_short[at] * vector_dot(axis, y)
    return moment + force
