# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Where a body is in the world, and how far a free one is from the base."""

from __future__ import annotations

from mb_contact.core.arrays import fill
from mb_contact.core.jit import kernel
from mb_contact.core.surfaces.closest import closest_points
from mb_contact.core.surfaces.layout import BASE_P, BASE_V, BASE_W, FREE, GAP, GAP_RATE
from mb_contact.core.surfaces.motion import accelerations, base_rotation
from mb_contact.core.tree.spatial import (
    cross,
    matrix,
    multiply,
    product,
    put_matrix,
    rotate,
    rotate_back,
    set_quaternion,
    transposed,
)
from mb_contact.types import OK

GAP_LIMIT = 1e-12  #: residual of closest points, in lengths of the scene


@kernel
def gap_of_free_body(constants, code, data, t, y, work, watch, near, A, order):
    """Gap and its rate of a body in free flight into ``watch``; ``near`` = (u_1, u_2, gap) is updated."""
    turn = work.turn
    p = work.point
    base_rotation(constants, t, turn)
    set_quaternion(turn, 5, y[3], y[4], y[5], y[6])
    put_matrix(turn, 0, product(transposed(matrix(turn, 2)), matrix(turn, 5)))  # body in axes of the base
    w = constants
    x = y[0] - (w[BASE_P] + w[BASE_V] * t)
    b = y[1] - (w[BASE_P + 1] + w[BASE_V + 1] * t)
    z = y[2] - (w[BASE_P + 2] + w[BASE_V + 2] * t)
    p[0, 0], p[0, 1], p[0, 2] = rotate_back(turn, 2, x, b, z)
    fill(3, work.a, 0.0)
    size = 1.0 + abs(p[0, 0]) + abs(p[0, 1]) + abs(p[0, 2])
    status = closest_points(code, data, turn, p, near, work.a, work, A, order, GAP_LIMIT * size)
    if status != OK:
        return status
    D = work.D
    # velocity of the body's near point minus that of the base's, along the normal of the base
    vx, vy, vz = rotate_back(turn, 2, y[10] - w[BASE_V], y[11] - w[BASE_V + 1], y[12] - w[BASE_V + 2])
    wx, wy, wz = rotate_back(turn, 2, y[7], y[8], y[9])
    x, b, z = cross(wx, wy, wz, D[1, 0, 0], D[1, 0, 1], D[1, 0, 2])
    vx, vy, vz = vx + x, vy + b, vz + z
    wx, wy, wz = rotate_back(turn, 2, w[BASE_W], w[BASE_W + 1], w[BASE_W + 2])
    x, b, z = cross(wx, wy, wz, D[0, 0, 0], D[0, 0, 1], D[0, 0, 2])
    R = work.R
    watch[GAP] = near[4]
    watch[GAP_RATE] = (vx - x) * R[0, 0, 2] + (vy - b) * R[0, 1, 2] + (vz - z) * R[0, 2, 2]
    return OK


@kernel
def body_in_world(mode, constants, code, data, t, y, work):
    """Pose and velocity of the body's centre of mass in world axes: R into ``turn[5]``, p, w, v into ``stages[7]``."""
    out = work.stages
    turn = work.turn
    if mode == FREE:
        set_quaternion(turn, 5, y[3], y[4], y[5], y[6])
        for i in range(3):
            out[7, i] = y[i]
        for i in range(6):
            out[7, 3 + i] = y[7 + i]
        return OK
    status = accelerations(mode, constants, code, data, t, y, work, 6, work.stages[5])
    multiply(turn, 2, turn, 0, turn, 5)
    w = constants
    V = work.V
    p = work.point
    lx, ly, lz = rotate(turn, 2, p[0, 0], p[0, 1], p[0, 2])
    wx, wy, wz = w[BASE_W], w[BASE_W + 1], w[BASE_W + 2]
    out[7, 0], out[7, 1], out[7, 2] = (
        w[BASE_P] + w[BASE_V] * t + lx,
        w[BASE_P + 1] + w[BASE_V + 1] * t + ly,
        w[BASE_P + 2] + w[BASE_V + 2] * t + lz,
    )
    x, y_, z = rotate(turn, 2, V[0], V[1], V[2])
    out[7, 3], out[7, 4], out[7, 5] = wx + x, wy + y_, wz + z
    x, y_, z = rotate(turn, 2, V[3], V[4], V[5])
    lx, ly, lz = cross(wx, wy, wz, lx, ly, lz)
    out[7, 6] = w[BASE_V] + lx + x
    out[7, 7] = w[BASE_V + 1] + ly + y_
    out[7, 8] = w[BASE_V + 2] + lz + z
    return status
