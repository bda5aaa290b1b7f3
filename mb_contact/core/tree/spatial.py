# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Small rigid-body building blocks: rotations, quaternions, cross products, on whole arrays by index."""

from __future__ import annotations

import numpy as np

from mb_contact.core.jit import sweep


@sweep
def rotate(R, k, x, y, z):
    """Components of ``R[k] @ (x, y, z)``."""
    return (
        R[k, 0, 0] * x + R[k, 0, 1] * y + R[k, 0, 2] * z,
        R[k, 1, 0] * x + R[k, 1, 1] * y + R[k, 1, 2] * z,
        R[k, 2, 0] * x + R[k, 2, 1] * y + R[k, 2, 2] * z,
    )


@sweep
def rotate_back(R, k, x, y, z):
    """Components of ``R[k]* @ (x, y, z)``."""
    return (
        R[k, 0, 0] * x + R[k, 1, 0] * y + R[k, 2, 0] * z,
        R[k, 0, 1] * x + R[k, 1, 1] * y + R[k, 2, 1] * z,
        R[k, 0, 2] * x + R[k, 1, 2] * y + R[k, 2, 2] * z,
    )


@sweep
def cross(ax, ay, az, bx, by, bz):
    """Components of ``a x b``."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@sweep
def set_axis_angle(R, k, x, y, z, angle):
    """``R[k]`` := rotation by ``angle`` [rad] about the unit axis (x, y, z) (Rodrigues)."""
    c = np.cos(angle)
    s = np.sin(angle)
    d = 1.0 - c
    R[k, 0, 0] = c + d * x * x
    R[k, 0, 1] = d * x * y - s * z
    R[k, 0, 2] = d * x * z + s * y
    R[k, 1, 0] = d * y * x + s * z
    R[k, 1, 1] = c + d * y * y
    R[k, 1, 2] = d * y * z - s * x
    R[k, 2, 0] = d * z * x - s * y
    R[k, 2, 1] = d * z * y + s * x
    R[k, 2, 2] = c + d * z * z


@sweep
def turn_about(A, i, x, y, z, angle, C, k):
    """``C[k]`` := ``A[i]`` times the rotation by ``angle`` about the unit axis (x, y, z); C[k] must not be A[i]."""
    c = np.cos(angle)
    s = np.sin(angle)
    for r in range(3):
        a = A[i, r, 0]
        b = A[i, r, 1]
        e = A[i, r, 2]
        d = (1.0 - c) * (a * x + b * y + e * z)
        C[k, r, 0] = c * a + s * (b * z - e * y) + d * x
        C[k, r, 1] = c * b + s * (e * x - a * z) + d * y
        C[k, r, 2] = c * e + s * (a * y - b * x) + d * z


@sweep
def set_quaternion(R, k, x, y, z, w):
    """``R[k]`` := rotation of the quaternion x y z w, normalised here."""
    s = 2.0 / (x * x + y * y + z * z + w * w)
    R[k, 0, 0] = 1.0 - s * (y * y + z * z)
    R[k, 0, 1] = s * (x * y - z * w)
    R[k, 0, 2] = s * (x * z + y * w)
    R[k, 1, 0] = s * (x * y + z * w)
    R[k, 1, 1] = 1.0 - s * (x * x + z * z)
    R[k, 1, 2] = s * (y * z - x * w)
    R[k, 2, 0] = s * (x * z - y * w)
    R[k, 2, 1] = s * (y * z + x * w)
    R[k, 2, 2] = 1.0 - s * (x * x + y * y)


@sweep
def multiply(A, i, B, j, C, k):
    """``C[k]`` := ``A[i] @ B[j]`` for 3 x 3 blocks; C must not alias A or B."""
    for r in range(3):
        for c in range(3):
            C[k, r, c] = A[i, r, 0] * B[j, 0, c] + A[i, r, 1] * B[j, 1, c] + A[i, r, 2] * B[j, 2, c]


@sweep
def rotate_quaternion(q, s, wx, wy, wz):
    """Quaternion ``q[s:s+4]`` (x y z w) := exp([w]) * q, w a rotation vector in world axes [rad]."""
    angle = np.sqrt(wx * wx + wy * wy + wz * wz)
    if angle < 1e-8:
        f = 0.5 - angle * angle / 48.0
    else:
        f = np.sin(0.5 * angle) / angle
    ex = f * wx
    ey = f * wy
    ez = f * wz
    ew = np.cos(0.5 * angle)
    x = q[s]
    y = q[s + 1]
    z = q[s + 2]
    w = q[s + 3]
    nx = ew * x + ex * w + ey * z - ez * y
    ny = ew * y - ex * z + ey * w + ez * x
    nz = ew * z + ex * y - ey * x + ez * w
    nw = ew * w - ex * x - ey * y - ez * z
    norm = np.sqrt(nx * nx + ny * ny + nz * nz + nw * nw)
    q[s] = nx / norm
    q[s + 1] = ny / norm
    q[s + 2] = nz / norm
    q[s + 3] = nw / norm
