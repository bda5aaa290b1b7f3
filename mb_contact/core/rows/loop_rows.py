# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rows of loop closures, J14 Eq. 17 and 29: two frames on two bodies, held together in some directions.

    kind      rows  velocity of a row                        closure error c
    weld      6     e_i . (omega_a - omega_b); then point    rotation vector of R_a R_b*; then point
    axis      5     t_i . (omega_a - omega_b), t_i across    t_i . (z_b x z_a); then point
                    the axis z_b; then point
    point     3     e_i . (v_a(p_a) - v_b(p_b))              e_i . (p_a - p_b)
    distance  1     u . (v_a(p_a) - v_b(p_b)), u along s     |s| - length,  s = p_a - p_b
    planar    3     t_i as axis; z_b . (v_a(p_a) - v_b(p_a)) as axis; z_b . s

The first equation of J14's q, with the drift that (47) and (54) leave out (docs/constraints.md):

    G v+ + dt dG/dt v + gamma c / dt = 0,

so that ``rows.offset`` is the sum of the last two, the drift term within DRIFT_SPEED.  ``contact/loops.py`` has
the same rows in NumPy for the formulations, and a test holds the two together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.core.jit import kernel
from mb_contact.core.tree.compliance import node_row
from mb_contact.core.tree.spatial import cross, rotate
from mb_contact.types import CLOSURE_AXIS, CLOSURE_DISTANCE, CLOSURE_PLANAR, CLOSURE_WELD

DRIFT_SPEED = 1.0  # [m/s, rad/s] fastest correction of a closure error
LEAST_DISTANCE = 1e-12  # [m] below it a distance has no direction


class LoopWork(NamedTuple):
    """Scratch of the closures: their frames in the world, velocity products, errors."""

    point: np.ndarray  #: (2, 3), origins of the frames on A and B
    axes: np.ndarray  #: (2, 3, 3), their axes as columns
    alpha: np.ndarray  #: (n, 6), accelerations of the bodies when theta_dd = 0 and gravity is off
    error: np.ndarray  #: (m,), closure error c of each bilateral row [m, rad]
    turn: np.ndarray  #: (3,), scratch


def make_loop_work(n, m):
    """For n bodies and m bilateral rows."""
    return LoopWork(np.zeros((2, 3)), np.zeros((2, 3, 3)), np.zeros((n, 6)), np.zeros(m), np.zeros(3))


@kernel
def closure_rows(closures, kin, dt, rate, first, rows, loop):
    """Rows of all closures from row ``first`` on, their offsets and errors; returns the row after the last.

    ``loop.alpha`` comes in.
    """
    row = first
    for i in range(closures.kind.shape[0]):
        kind = closures.kind[i]
        a = closures.body_a[i]
        b = closures.body_b[i]
        _place(a, kin, closures.p_a, closures.R_a, i, loop, 0)
        _place(b, kin, closures.p_b, closures.R_b, i, loop, 1)
        start = row
        if kind == CLOSURE_WELD:
            row = _weld_angles(row, rows, loop, first)
        elif kind == CLOSURE_AXIS or kind == CLOSURE_PLANAR:
            row = _axis_angles(row, a, b, kin, rows, loop, first)
        if kind == CLOSURE_PLANAR:
            row = _plane(row, a, b, kin, rows, loop, first)
        elif kind == CLOSURE_DISTANCE:
            row = _distance(row, a, b, closures.length[i], kin, rows, loop, first)
        else:
            row = _point(row, a, b, kin, rows, loop, first)
        for r in range(start, row):
            _finish(r, a, b, dt, rate, loop.error[r - first], loop.alpha, rows)
    return row


@kernel
def _finish(r, a, b, dt, rate, error, alpha, rows):
    """Bodies of a row; its bias, which stands in ``rows.offset``, to the offset."""
    rows.body_a[r] = a
    rows.body_b[r] = b
    rows.dof[r] = -1
    product = rows.offset[r]
    if a >= 0:
        rows.touched[a] = 1
        for c in range(6):
            product += rows.on_a[r, c] * alpha[a, c]
    if b >= 0:
        rows.touched[b] = 1
        for c in range(6):
            product += rows.on_b[r, c] * alpha[b, c]
    rows.offset[r] = dt * product + min(max(rate * error / dt, -DRIFT_SPEED), DRIFT_SPEED)


@kernel
def _place(k, kin, p, R, i, loop, side):
    """World pose of closure i's frame on body k."""
    for c in range(3):
        if k >= 0:
            x, y, z = rotate(kin.R, k, R[i, 0, c], R[i, 1, c], R[i, 2, c])
        else:
            x, y, z = R[i, 0, c], R[i, 1, c], R[i, 2, c]
        loop.axes[side, 0, c] = x
        loop.axes[side, 1, c] = y
        loop.axes[side, 2, c] = z
    if k >= 0:
        x, y, z = rotate(kin.R, k, p[i, 0], p[i, 1], p[i, 2])
        loop.point[side, 0] = kin.p[k, 0] + x
        loop.point[side, 1] = kin.p[k, 1] + y
        loop.point[side, 2] = kin.p[k, 2] + z
    else:
        for c in range(3):
            loop.point[side, c] = p[i, c]


@kernel
def _spin(k, V):
    """Angular velocity of body k."""
    if k < 0:
        return 0.0, 0.0, 0.0
    return V[k, 0], V[k, 1], V[k, 2]


@kernel
def _velocity(k, kin, point, side):
    """Velocity of body k at ``point[side]``."""
    if k < 0:
        return 0.0, 0.0, 0.0
    V = kin.V
    x, y, z = cross(
        V[k, 0], V[k, 1], V[k, 2],
        point[side, 0] - kin.p[k, 0], point[side, 1] - kin.p[k, 1], point[side, 2] - kin.p[k, 2],
    )  # fmt: skip
    return x + V[k, 3], y + V[k, 4], z + V[k, 5]


@kernel
def _centripetal(k, kin, point, side):
    """omega x (omega x r) of body k at ``point[side]``."""
    if k < 0:
        return 0.0, 0.0, 0.0
    V = kin.V
    x, y, z = cross(
        V[k, 0], V[k, 1], V[k, 2],
        point[side, 0] - kin.p[k, 0], point[side, 1] - kin.p[k, 1], point[side, 2] - kin.p[k, 2],
    )  # fmt: skip
    return cross(V[k, 0], V[k, 1], V[k, 2], x, y, z)


@kernel
def _angular(row, x, y, z, rows):
    """The row (x, y, z) . (omega_a - omega_b); on the inertial frame it is not read."""
    for c in range(6):
        rows.on_a[row, c] = 0.0
        rows.on_b[row, c] = 0.0
    rows.on_a[row, 0] = x
    rows.on_a[row, 1] = y
    rows.on_a[row, 2] = z
    rows.on_b[row, 0] = -x
    rows.on_b[row, 1] = -y
    rows.on_b[row, 2] = -z


@kernel
def _along(row, a, b, kin, point, on_a_at, on_b_at, x, y, z, rows):
    """The row d . (v_a - v_b), each body at one of the two points."""
    i = on_a_at
    if a >= 0:
        node_row(kin.p, a, point[i, 0], point[i, 1], point[i, 2], x, y, z, rows.on_a, row)
    i = on_b_at
    if b >= 0:
        node_row(kin.p, b, point[i, 0], point[i, 1], point[i, 2], -x, -y, -z, rows.on_b, row)


@kernel
def _point(row, a, b, kin, rows, loop, first):
    """Three rows along the world's axes."""
    ax, ay, az = _centripetal(a, kin, loop.point, 0)
    bx, by, bz = _centripetal(b, kin, loop.point, 1)
    for c in range(3):
        x = 1.0 if c == 0 else 0.0
        y = 1.0 if c == 1 else 0.0
        z = 1.0 if c == 2 else 0.0
        _along(row + c, a, b, kin, loop.point, 0, 1, x, y, z, rows)
        loop.error[row + c - first] = loop.point[0, c] - loop.point[1, c]
    rows.offset[row] = ax - bx
    rows.offset[row + 1] = ay - by
    rows.offset[row + 2] = az - bz
    return row + 3


@kernel
def _distance(row, a, b, length, kin, rows, loop, first):
    """One row along the line between the origins; du/dt is the rate across it, over the distance."""
    p = loop.point
    x = p[0, 0] - p[1, 0]
    y = p[0, 1] - p[1, 1]
    z = p[0, 2] - p[1, 2]
    d = np.sqrt(x * x + y * y + z * z)
    if d < LEAST_DISTANCE:
        x, y, z, d = LEAST_DISTANCE, 0.0, 0.0, LEAST_DISTANCE
    x /= d
    y /= d
    z /= d
    _along(row, a, b, kin, p, 0, 1, x, y, z, rows)
    ux, uy, uz = _velocity(a, kin, p, 0)
    wx, wy, wz = _velocity(b, kin, p, 1)
    ux -= wx
    uy -= wy
    uz -= wz
    rate = x * ux + y * uy + z * uz
    across = ux * ux + uy * uy + uz * uz - rate * rate
    ax, ay, az = _centripetal(a, kin, p, 0)
    bx, by, bz = _centripetal(b, kin, p, 1)
    rows.offset[row] = x * (ax - bx) + y * (ay - by) + z * (az - bz) + across / d
    loop.error[row - first] = d - length
    return row + 1


@kernel
def _plane(row, a, b, kin, rows, loop, first):
    """The origin on A stays in the plane through that on B: n . s = 0, n = z_b, s = p_a - p_b."""
    p = loop.point
    x = loop.axes[1, 0, 2]
    y = loop.axes[1, 1, 2]
    z = loop.axes[1, 2, 2]
    _along(row, a, b, kin, p, 0, 0, x, y, z, rows)
    sx = p[0, 0] - p[1, 0]
    sy = p[0, 1] - p[1, 1]
    sz = p[0, 2] - p[1, 2]
    wx, wy, wz = _spin(b, kin.V)
    mx, my, mz = cross(wx, wy, wz, x, y, z)  # dn/dt
    tx, ty, tz = cross(wx, wy, wz, mx, my, mz)
    ux, uy, uz = _velocity(a, kin, p, 0)
    vx, vy, vz = _velocity(b, kin, p, 1)
    ax, ay, az = _centripetal(a, kin, p, 0)
    bx, by, bz = _centripetal(b, kin, p, 1)
    bias = tx * sx + ty * sy + tz * sz
    bias += 2.0 * (mx * (ux - vx) + my * (uy - vy) + mz * (uz - vz))
    rows.offset[row] = bias + x * (ax - bx) + y * (ay - by) + z * (az - bz)
    loop.error[row - first] = x * sx + y * sy + z * sz
    return row + 1


@kernel
def _axis_angles(row, a, b, kin, rows, loop, first):
    """Two rows across the axis of B; dt_i/dt = omega_b x t_i."""
    R = loop.axes
    ax, ay, az = _spin(a, kin.V)
    bx, by, bz = _spin(b, kin.V)
    ax -= bx
    ay -= by
    az -= bz
    ex, ey, ez = cross(R[1, 0, 2], R[1, 1, 2], R[1, 2, 2], R[0, 0, 2], R[0, 1, 2], R[0, 2, 2])
    for c in range(2):
        x = R[1, 0, c]
        y = R[1, 1, c]
        z = R[1, 2, c]
        _angular(row + c, x, y, z, rows)
        tx, ty, tz = cross(bx, by, bz, x, y, z)
        rows.offset[row + c] = tx * ax + ty * ay + tz * az
        loop.error[row + c - first] = x * ex + y * ey + z * ez
    return row + 2


@kernel
def _weld_angles(row, rows, loop, first):
    """Three rows along the world's axes; the error is the rotation vector of R_a R_b*."""
    _rotation_vector(loop.axes, loop.turn)
    for c in range(3):
        _angular(row + c, 1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0, rows)
        rows.offset[row + c] = 0.0
        loop.error[row + c - first] = loop.turn[c]
    return row + 3


@kernel
def _rotation_vector(R, turn):
    """Rotation vector of E = R[0] R[1]*; of half a turn one of the two."""
    xy = _entry(R, 0, 1)
    yx = _entry(R, 1, 0)
    xz = _entry(R, 0, 2)
    zx = _entry(R, 2, 0)
    yz = _entry(R, 1, 2)
    zy = _entry(R, 2, 1)
    x = 0.5 * (zy - yz)
    y = 0.5 * (xz - zx)
    z = 0.5 * (yx - xy)
    sine = np.sqrt(x * x + y * y + z * z)
    trace = _entry(R, 0, 0) + _entry(R, 1, 1) + _entry(R, 2, 2)
    angle = np.arctan2(sine, 0.5 * (trace - 1.0))
    factor = 1.0
    if sine > 1e-9:
        factor = angle / sine
    elif trace < 1.0:  # half a turn: the axis is a column of E + 1
        best = 0
        for c in range(1, 3):
            if _entry(R, c, c) > _entry(R, best, best):
                best = c
        x = _entry(R, 0, best) + (1.0 if best == 0 else 0.0)
        y = _entry(R, 1, best) + (1.0 if best == 1 else 0.0)
        z = _entry(R, 2, best) + (1.0 if best == 2 else 0.0)
        factor = angle / np.sqrt(x * x + y * y + z * z)
    turn[0] = factor * x
    turn[1] = factor * y
    turn[2] = factor * z


@kernel
def _entry(R, i, j):
    """(R[0] R[1]*)_ij."""
    return R[0, i, 0] * R[1, j, 0] + R[0, i, 1] * R[1, j, 1] + R[0, i, 2] * R[1, j, 2]
