# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Equations of motion of a body on a moving base: H* M H dv = r (P00 Eq. 14), sliding, rolling or free.

Body 2 moves, its origin is its centre of mass, the base's motion is given; so H and not -H stands in P00's Eq. 13.
All in axes of the base:

    alpha = H dv + a,   a = [w_b x w_12 + H_w' v;  w_b x (w_b x l + 2 v_12) + H_v' v]
    r = H* (f_ext - [w x I w; 0] - M a),   f_contact = M alpha + [w x I w; 0] - f_ext.

``v`` is the rate of q when sliding, and the relative angular velocity in axes of 1c when rolling without slip.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.jit import kernel
from mb_contact.core.surfaces.contact import (
    SINGULAR_CONTACT,
    contact_matrix,
    contact_matrix_rate,
    contact_pose,
    contact_rates,
    rolling_matrix,
    rolling_matrix_rate,
)
from mb_contact.core.surfaces.friction import slip_velocity, unit_friction
from mb_contact.core.surfaces.layout import (
    BASE_R,
    BASE_W,
    DECELERATION,
    FREE,
    FRICTION,
    FRICTION_ROOM,
    GRAVITY,
    INERTIA,
    LEAST_PIVOT,
    MASS,
    NORMAL_FORCE,
    ROLLING,
    SLIP,
    SLIP_1,
    SLIP_2,
)
from mb_contact.core.tree.spatial import (
    cross,
    matrix,
    product,
    put_matrix,
    rotate,
    rotate_back,
    set_axis_angle,
    set_quaternion,
    transposed,
)
from mb_contact.types import OK

JAMMED = 21  #: a status: friction and sliding have no common solution (Painleve)
LEAST_RATIO = 1e-13  #: a pivot of H* M H below this part of its diagonal is rounding: a line contact


@kernel
def base_rotation(constants, t, turn):
    """Rotation of the base at time t into ``turn[2]``."""
    wx = constants[BASE_W]
    wy = constants[BASE_W + 1]
    wz = constants[BASE_W + 2]
    rate = np.sqrt(wx * wx + wy * wy + wz * wz)
    for i in range(3):
        for j in range(3):
            turn[2, i, j] = constants[BASE_R + 3 * i + j]
    if rate > 0.0:
        set_axis_angle(turn, 4, wx / rate, wy / rate, wz / rate, rate * t)
        put_matrix(turn, 2, product(matrix(turn, 4), matrix(turn, 2)))


@kernel
def body_inertia(constants, turn, k):
    """Inertia about the centre of mass in the axes that ``turn[k]`` maps the body to, into ``turn[3]``."""
    for i in range(3):
        for j in range(3):
            turn[4, i, j] = constants[INERTIA + 3 * i + j]
    r = matrix(turn, k)
    put_matrix(turn, 3, product(product(r, matrix(turn, 4)), transposed(r)))


@kernel
def accelerations(mode, constants, code, data, t, y, work, stage, watch):
    """Derivative of the state y at time t into ``work.stages[stage]``, contact forces into ``watch``; a status."""
    if mode == FREE:
        _free_motion(constants, y, work, stage)
        return OK
    contact_pose(code, data, y, work)
    turn = work.turn
    base_rotation(constants, t, turn)
    body_inertia(constants, turn, 0)
    w = constants
    x, y_, z = rotate_back(turn, 2, w[GRAVITY], w[GRAVITY + 1], w[GRAVITY + 2])
    work.point[1, 0], work.point[1, 1], work.point[1, 2] = x, y_, z
    x, y_, z = rotate_back(turn, 2, w[BASE_W], w[BASE_W + 1], w[BASE_W + 2])
    work.point[2, 0], work.point[2, 1], work.point[2, 2] = x, y_, z
    out = work.stages
    rate = work.rate
    watch[SLIP] = 0.0
    watch[SLIP_1] = 0.0
    watch[SLIP_2] = 0.0
    watch[DECELERATION] = 0.0
    if mode == ROLLING:
        if contact_rates(work) != OK:
            return SINGULAR_CONTACT
        for i in range(5):
            out[stage, i] = work.N[i, 0] * y[5] + work.N[i, 1] * y[6] + work.N[i, 2] * y[7]
        for i in range(3):
            rate[i] = y[5 + i]
        rolling_matrix(work)
        rolling_matrix_rate(rate, out[stage, 0], out[stage, 1], work)
        return _contact_motion(3, constants, False, work, stage, watch)
    for i in range(5):
        rate[i] = y[5 + i]
        out[stage, i] = y[5 + i]
    contact_matrix(work)
    contact_matrix_rate(rate, work)
    slip_velocity(work, watch)
    return _contact_motion(5, constants, constants[FRICTION] > 0.0, work, stage, watch)


@kernel
def _contact_motion(count, constants, friction, work, stage, watch):
    """Solve H* M H dv = r for ``count`` rows, with sliding friction if wanted; contact wrench and watched values."""
    H = work.H
    S = work.solve
    m = constants[MASS]
    fx, fy, fz, gx, gy, gz = _load(count, constants, work)
    tx, ty, tz, mx, my, mz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if friction and watch[SLIP] > 0.0:
        tx, ty, tz, mx, my, mz = unit_friction(work, watch)
    for i in range(count):
        ax, ay, az = rotate(work.turn, 3, H[i, 0], H[i, 1], H[i, 2])
        for j in range(i + 1):
            S[i, j] = ax * H[j, 0] + ay * H[j, 1] + az * H[j, 2]
            S[i, j] += m * (H[i, 3] * H[j, 3] + H[i, 4] * H[j, 4] + H[i, 5] * H[j, 5])
        S[i, 5] = H[i, 0] * gx + H[i, 1] * gy + H[i, 2] * gz + H[i, 3] * fx + H[i, 4] * fy + H[i, 5] * fz
        S[i, 6] = H[i, 0] * mx + H[i, 1] * my + H[i, 2] * mz + H[i, 3] * tx + H[i, 4] * ty + H[i, 5] * tz
    watch[LEAST_PIVOT] = _solve(count, S)
    if not watch[LEAST_PIVOT] > LEAST_RATIO:
        return SINGULAR_CONTACT
    _contact_wrench(count, 5, constants, work)
    normal = work.wrench[5]
    if friction and watch[SLIP] > 0.0:
        # normal = normal_0 + mu normal k: what a unit of sliding friction adds to the normal force; and to the slip,
        # whose product with it is the power
        R = work.R
        k = 0.0
        grip = 0.0
        for i in range(count):
            grip += S[i, 6] * (H[i, 0] * mx + H[i, 1] * my + H[i, 2] * mz + H[i, 3] * tx + H[i, 4] * ty + H[i, 5] * tz)
            k += S[i, 6] * (H[i, 3] * R[0, 0, 2] + H[i, 4] * R[0, 1, 2] + H[i, 5] * R[0, 2, 2])
        k = 1.0 - constants[FRICTION] * m * k
        if not k > 0.0:
            return JAMMED
        push = constants[FRICTION] * normal / k
        watch[DECELERATION] = push * grip
        for i in range(count):
            S[i, 5] += push * S[i, 6]
        _contact_wrench(count, 5, constants, work)
    for i in range(count):
        work.stages[stage, 5 + i] = S[i, 5]
    wrench = work.wrench
    watch[NORMAL_FORCE] = wrench[5]
    watch[FRICTION_ROOM] = constants[FRICTION] * wrench[5] - np.sqrt(wrench[3] * wrench[3] + wrench[4] * wrench[4])
    return OK


@kernel
def _load(count, constants, work):
    """Bias a into ``work.a`` and f_ext - b - M a as (force, moment)."""
    a = work.a
    V = work.V
    rate = work.rate
    p = work.point
    wx, wy, wz = p[2, 0], p[2, 1], p[2, 2]
    x, y, z = cross(wx, wy, wz, V[0], V[1], V[2])
    lx, ly, lz = cross(wx, wy, wz, p[0, 0], p[0, 1], p[0, 2])
    lx, ly, lz = cross(wx, wy, wz, lx + 2.0 * V[3], ly + 2.0 * V[4], lz + 2.0 * V[5])
    a[0], a[1], a[2], a[3], a[4], a[5] = x, y, z, lx, ly, lz
    for i in range(count):
        for c in range(6):
            a[c] += work.H_dot[i, c] * rate[i]
    gx, gy, gz = _gyroscopic(work)
    ax, ay, az = rotate(work.turn, 3, a[0], a[1], a[2])
    m = constants[MASS]
    return m * (p[1, 0] - a[3]), m * (p[1, 1] - a[4]), m * (p[1, 2] - a[5]), -gx - ax, -gy - ay, -gz - az


@kernel
def _gyroscopic(work):
    """w x I w of the body's absolute angular velocity."""
    V = work.V
    p = work.point
    wx, wy, wz = p[2, 0] + V[0], p[2, 1] + V[1], p[2, 2] + V[2]
    x, y, z = rotate(work.turn, 3, wx, wy, wz)
    return cross(wx, wy, wz, x, y, z)


@kernel
def _solve(n, S):
    """L D L* of the lower triangle of S, both right-hand sides in columns 5 and 6; least pivot over its diagonal."""
    least = 1.0
    for j in range(n):
        diagonal = S[j, j]
        for k in range(j):
            S[j, j] -= S[j, k] * S[j, k] * S[k, k]
        ratio = S[j, j] / diagonal
        if not ratio > LEAST_RATIO:
            return ratio
        least = min(least, ratio)
        for i in range(j + 1, n):
            for k in range(j):
                S[i, j] -= S[i, k] * S[j, k] * S[k, k]
            S[i, j] /= S[j, j]
    for c in range(5, 7):
        for i in range(n):
            for k in range(i):
                S[i, c] -= S[i, k] * S[k, c]
        for i in range(n - 1, -1, -1):
            S[i, c] /= S[i, i]
            for k in range(i + 1, n):
                S[i, c] -= S[k, i] * S[k, c]
    return least


@kernel
def _contact_wrench(count, column, constants, work):
    """f = M alpha + b - f_ext about the contact point, axes of 1c, into ``work.wrench``; P00's back-substitution."""
    S = work.solve
    H = work.H
    wx, wy, wz, x, y, z = work.a[0], work.a[1], work.a[2], work.a[3], work.a[4], work.a[5]
    for i in range(count):
        v = S[i, column]
        wx += H[i, 0] * v
        wy += H[i, 1] * v
        wz += H[i, 2] * v
        x += H[i, 3] * v
        y += H[i, 4] * v
        z += H[i, 5] * v
    m = constants[MASS]
    p = work.point
    gx, gy, gz = _gyroscopic(work)
    mx, my, mz = rotate(work.turn, 3, wx, wy, wz)
    x, y, z = m * (x - p[1, 0]), m * (y - p[1, 1]), m * (z - p[1, 2])
    D = work.D
    ax, ay, az = cross(p[0, 0] - D[0, 0, 0], p[0, 1] - D[0, 0, 1], p[0, 2] - D[0, 0, 2], x, y, z)
    wrench = work.wrench
    wrench[0], wrench[1], wrench[2] = rotate_back(work.R, 0, mx + gx + ax, my + gy + ay, mz + gz + az)
    wrench[3], wrench[4], wrench[5] = rotate_back(work.R, 0, x, y, z)


@kernel
def _free_motion(constants, y, work, stage):
    """Free flight: state p, quaternion x y z w, w, v of the centre of mass, world axes."""
    out = work.stages
    turn = work.turn
    wx, wy, wz = y[7], y[8], y[9]
    for c in range(3):
        out[stage, c] = y[10 + c]
        out[stage, 10 + c] = constants[GRAVITY + c]
    out[stage, 3] = 0.5 * (wx * y[6] + wy * y[5] - wz * y[4])
    out[stage, 4] = 0.5 * (wy * y[6] + wz * y[3] - wx * y[5])
    out[stage, 5] = 0.5 * (wz * y[6] + wx * y[4] - wy * y[3])
    out[stage, 6] = -0.5 * (wx * y[3] + wy * y[4] + wz * y[5])
    set_quaternion(turn, 0, y[3], y[4], y[5], y[6])
    body_inertia(constants, turn, 0)
    x, y_, z = rotate(turn, 3, wx, wy, wz)
    x, y_, z = cross(wx, wy, wz, x, y_, z)
    S = work.solve
    for i in range(3):
        for j in range(i + 1):
            S[i, j] = turn[3, i, j]
        S[i, 6] = 0.0
    S[0, 5], S[1, 5], S[2, 5] = -x, -y_, -z
    _solve(3, S)
    for c in range(3):
        out[stage, 7 + c] = S[c, 5]
