# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One step of a free rigid body that keeps energy and momenta: implicit midpoint on Euler's equation.

In body axes, with W = R* omega, W' = (W0 + W1) / 2 and N the moment about the centre of mass, constant in world axes,

    I W1 = cay(-dt W') (I W0 + dt R0* N),     R1 = R0 cay(dt W'),

so R1 I W1 = R0 I W0 + dt N: the angular momentum is exact, and the kinetic energy changes by dt N . R0 W', which is
the work of N.  cay(a) is the rotation by 2 atan(|a| / 2) about a.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.jit import kernel
from mb_contact.core.step.flow import CONTACTS, WRENCHES
from mb_contact.core.tree.spatial import cross, rotate, rotate_back

NEWTON = 30  # iterations at most; a handful are the rule
SETTLED = 1e-15  # relative change at which an iteration ends at once
ROUNDING = 1e-9  # relative change below which one that no longer falls is rounding


@kernel
def free_body_step(tree, R, k, gravity, held, external, q_start, v_start, dt, q_end, v_end, work):
    """The step of free body k, whose pose at the start is R[k]; False where Newton's iteration does not converge."""
    d = tree.v_start[k]
    m = tree.mass[k]
    cx, cy, cz = rotate(R, k, tree.com[k, 0], tree.com[k, 1], tree.com[k, 2])
    fx = held[d + 3] + external[k, 3]
    fy = held[d + 4] + external[k, 4]
    fz = held[d + 5] + external[k, 5]
    x, y, z = cross(cx, cy, cz, fx, fy, fz)
    nx = held[d] + external[k, 0] - x  # moment about the centre of mass
    ny = held[d + 1] + external[k, 1] - y
    nz = held[d + 2] + external[k, 2] - z
    x, y, z = cross(v_start[d], v_start[d + 1], v_start[d + 2], cx, cy, cz)
    vx = v_start[d + 3] + x  # velocity of the centre of mass, then its mean
    vy = v_start[d + 4] + y
    vz = v_start[d + 5] + z
    ux = vx + dt * (fx / m + gravity[0])
    uy = vy + dt * (fy / m + gravity[1])
    uz = vz + dt * (fz / m + gravity[2])
    vx = 0.5 * (vx + ux)
    vy = 0.5 * (vy + uy)
    vz = 0.5 * (vz + uz)
    ax, ay, az = rotate_back(R, k, v_start[d], v_start[d + 1], v_start[d + 2])
    bx, by, bz = rotate_back(R, k, dt * nx, dt * ny, dt * nz)
    converged, ex, ey, ez = euler_spin(tree.inertia, k, ax, ay, az, bx, by, bz, dt)
    if not converged:
        return False
    sx, sy, sz = rotate(R, k, 0.5 * (ax + ex), 0.5 * (ay + ey), 0.5 * (az + ez))  # R0 W'
    _add_work(held[d], held[d + 1], held[d + 2], held[d + 3], held[d + 4], held[d + 5],
              sx, sy, sz, vx, vy, vz, cx, cy, cz, dt, work, CONTACTS)  # fmt: skip
    _add_work(external[k, 0], external[k, 1], external[k, 2], external[k, 3], external[k, 4], external[k, 5],
              sx, sy, sz, vx, vy, vz, cx, cy, cz, dt, work, WRENCHES)  # fmt: skip
    sx *= 0.5 * dt
    sy *= 0.5 * dt
    sz *= 0.5 * dt
    _move(tree, k, q_start, sx, sy, sz, dt * vx, dt * vy, dt * vz, cx, cy, cz, q_end)
    wx, wy, wz = rotate(R, k, ex, ey, ez)
    x, y, z = _cayley_change(sx, sy, sz, wx, wy, wz)
    wx += x
    wy += y
    wz += z
    x, y, z = _cayley_change(sx, sy, sz, cx, cy, cz)
    x, y, z = cross(wx, wy, wz, cx + x, cy + y, cz + z)
    v_end[d] = wx
    v_end[d + 1] = wy
    v_end[d + 2] = wz
    v_end[d + 3] = ux - x
    v_end[d + 4] = uy - y
    v_end[d + 5] = uz - z
    return True


@kernel
def _add_work(nx, ny, nz, fx, fy, fz, sx, sy, sz, vx, vy, vz, cx, cy, cz, dt, work, column):
    """Work of a moment and a force at the origin, at the mean velocities of the turn and of the centre of mass."""
    x, y, z = cross(cx, cy, cz, fx, fy, fz)
    work[column] += dt * (sx * (nx - x) + sy * (ny - y) + sz * (nz - z) + vx * fx + vy * fy + vz * fz)


@kernel
def _cayley_change(tx, ty, tz, x, y, z):
    """(cay(2 t) - 1) (x, y, z) = 2 (t x r + t x (t x r)) / (1 + |t|^2)."""
    s = 2.0 / (1.0 + tx * tx + ty * ty + tz * tz)
    ax, ay, az = cross(tx, ty, tz, x, y, z)
    bx, by, bz = cross(tx, ty, tz, ax, ay, az)
    return s * (ax + bx), s * (ay + by), s * (az + bz)


@kernel
def _move(tree, k, q_start, tx, ty, tz, dx, dy, dz, cx, cy, cz, q_end):
    """Pose of body k turned by cay(2 t), its centre of mass moved by (dx, dy, dz); quaternion (t, 1) from the left."""
    s = tree.q_start[k]
    rx, ry, rz = _cayley_change(tx, ty, tz, cx, cy, cz)
    rx, ry, rz = rotate_back(tree.R_joint, k, dx - rx, dy - ry, dz - rz)
    q_end[s] = q_start[s] + rx
    q_end[s + 1] = q_start[s + 1] + ry
    q_end[s + 2] = q_start[s + 2] + rz
    a, b, c = rotate_back(tree.R_joint, k, tx, ty, tz)
    x = q_start[s + 3]
    y = q_start[s + 4]
    z = q_start[s + 5]
    w = q_start[s + 6]
    nx = x + a * w + b * z - c * y
    ny = y - a * z + b * w + c * x
    nz = z + a * y - b * x + c * w
    nw = w - a * x - b * y - c * z
    norm = np.sqrt(nx * nx + ny * ny + nz * nz + nw * nw)
    q_end[s + 3] = nx / norm
    q_end[s + 4] = ny / norm
    q_end[s + 5] = nz / norm
    q_end[s + 6] = nw / norm


@kernel
def euler_spin(I, k, ax, ay, az, bx, by, bz, dt):
    """W1 of I W1 = cay(-dt W') (I W0 + b) by Newton's method: (converged, W1), W0 = (ax, ay, az), body axes.

    F(W1) = I W1 - A + dt/2 W' x (I W1 + A) with A = I W0 + b, dF = I + dt/2 (W'~ I - (I W1 + A)~ / 2).
    """
    kx, ky, kz = rotate(I, k, ax, ay, az)
    kx += bx
    ky += by
    kz += bz
    x = ax
    y = ay
    z = az
    before = np.inf
    for _ in range(NEWTON):
        hx, hy, hz = rotate(I, k, x, y, z)
        mx = 0.5 * dt * 0.5 * (ax + x)
        my = 0.5 * dt * 0.5 * (ay + y)
        mz = 0.5 * dt * 0.5 * (az + z)
        sx = hx + kx
        sy = hy + ky
        sz = hz + kz
        cx, cy, cz = cross(mx, my, mz, sx, sy, sz)
        fx = hx - kx + cx
        fy = hy - ky + cy
        fz = hz - kz + cz
        t = 0.25 * dt
        j00 = I[k, 0, 0] + my * I[k, 2, 0] - mz * I[k, 1, 0]
        j01 = I[k, 0, 1] + my * I[k, 2, 1] - mz * I[k, 1, 1] + t * sz
        j02 = I[k, 0, 2] + my * I[k, 2, 2] - mz * I[k, 1, 2] - t * sy
        j10 = I[k, 1, 0] + mz * I[k, 0, 0] - mx * I[k, 2, 0] - t * sz
        j11 = I[k, 1, 1] + mz * I[k, 0, 1] - mx * I[k, 2, 1]
        j12 = I[k, 1, 2] + mz * I[k, 0, 2] - mx * I[k, 2, 2] + t * sx
        j20 = I[k, 2, 0] + mx * I[k, 1, 0] - my * I[k, 0, 0] + t * sy
        j21 = I[k, 2, 1] + mx * I[k, 1, 1] - my * I[k, 0, 1] - t * sx
        j22 = I[k, 2, 2] + mx * I[k, 1, 2] - my * I[k, 0, 2]
        ux, uy, uz = cross(j01, j11, j21, j02, j12, j22)  # columns 1 and 2
        det = j00 * ux + j10 * uy + j20 * uz
        px, py, pz = cross(j02, j12, j22, j00, j10, j20)
        qx, qy, qz = cross(j00, j10, j20, j01, j11, j21)
        ex = (ux * fx + uy * fy + uz * fz) / det
        ey = (px * fx + py * fy + pz * fz) / det
        ez = (qx * fx + qy * fy + qz * fz) / det
        x -= ex
        y -= ey
        z -= ez
        change = max(abs(ex), max(abs(ey), abs(ez)))
        scale = max(abs(x), max(abs(y), abs(z)))
        if not np.isfinite(x + y + z):
            return False, x, y, z
        if change <= SETTLED * scale or (change >= before and change <= ROUNDING * scale):
            return True, x, y, z
        before = change
    return False, x, y, z
