# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rotations: matrices in arrays, from axes, angles, quaternions and each other; rotation vectors and their rates."""

import numpy as np

from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.spatial import ZERO, vector_dot, vector_product, vector_sum

SMALL = 0.25  #: square of an angle [rad^2] below which series are more exact than sines and cosines


@sweep
def rotation_vector(r):
    """theta of the rotation exp(theta) given by rows r, up to half a turn, of which it is one of the two [rad]."""
    x, y, z = 0.5 * (r[7] - r[5]), 0.5 * (r[2] - r[6]), 0.5 * (r[3] - r[1])
    sine = np.sqrt(x * x + y * y + z * z)
    trace = r[0] + r[4] + r[8]
    angle = np.arctan2(sine, 0.5 * (trace - 1.0))
    factor = 1.0
    if sine > 1e-8:
        factor = angle / sine
    elif trace < 1.0:  # half a turn: the axis is a column of R + 1
        if r[0] >= r[4] and r[0] >= r[8]:
            x, y, z = r[0] + 1.0, r[3], r[6]
        elif r[4] >= r[8]:
            x, y, z = r[1], r[4] + 1.0, r[7]
        else:
            x, y, z = r[2], r[5], r[8] + 1.0
        factor = angle / np.sqrt(x * x + y * y + z * z)
    return factor * x, factor * y, factor * z


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
    ex, ey, ez, ew = f * wx, f * wy, f * wz, np.cos(0.5 * angle)
    x, y, z, w = q[s], q[s + 1], q[s + 2], q[s + 3]
    nx = ew * x + ex * w + ey * z - ez * y
    ny = ew * y - ex * z + ey * w + ez * x
    nz = ew * z + ex * y - ey * x + ez * w
    nw = ew * w - ex * x - ey * y - ez * z
    norm = np.sqrt(nx * nx + ny * ny + nz * nz + nw * nw)
    q[s] = nx / norm
    q[s + 1] = ny / norm
    q[s + 2] = nz / norm
    q[s + 3] = nw / norm


@kernel
def _series(x, first):
    """Sum over k of (-x)^k / (2 k + first)!, and twice its derivative, to rounding for x < 1/4."""
    term = 1.0
    for i in range(2, first + 1):
        term /= i
    value = term
    rate = 0.0
    for k in range(1, 8):
        term /= -float((2 * k + first - 1) * (2 * k + first))
        rate += 2.0 * k * term
        term *= x
        value += term
    return value, rate


@kernel
def turn_factors(x):
    """b = (1 - cos t) / t^2, c = (t - sin t) / t^3, b' / t and c' / t of an angle with the square x."""
    if x < SMALL:
        b, b_rate = _series(x, 2)
        c, c_rate = _series(x, 3)
        return b, c, b_rate, c_rate
    t = np.sqrt(x)
    s, k = np.sin(t), 1.0 - np.cos(t)
    return k / x, (t - s) / (t * x), (t * s - 2.0 * k) / (x * x), (t * k - 3.0 * (t - s)) / (t * x * x)


@kernel
def left_jacobian(b, c, psi, u):
    """J_l(psi) u = u + b psi x u + c psi x (psi x u)."""
    w = vector_product(psi, u)
    return vector_sum(vector_sum(u, b, w), c, vector_product(psi, w))


@kernel
def left_jacobian_rate(x, psi, rate, u):
    """d/dt J_l(psi) u at the rate of psi, x = psi . psi."""
    b, c, b_rate, c_rate = turn_factors(x)
    d = vector_dot(psi, rate)
    w = vector_product(psi, u)
    turning = vector_sum(vector_product(rate, w), 1.0, vector_product(psi, vector_product(rate, u)))
    out = vector_sum(vector_sum(ZERO, b_rate * d, w), b, vector_product(rate, u))
    return vector_sum(vector_sum(out, c_rate * d, vector_product(psi, w)), c, turning)


@kernel
def turn_bends(x):
    """(b' / t)' / t and (c' / t)' / t of ``turn_factors``."""
    b, c, b_rate, c_rate = turn_factors(x)
    if x < SMALL:
        return _bend_series(x, 2), _bend_series(x, 3)
    return -(c_rate * x + 2.0 * c + 4.0 * b_rate) / x, (b_rate - 5.0 * c_rate) / x


@kernel
def _bend_series(x, first):
    """Four times the second derivative by x of the sum of ``_series``."""
    term = 1.0
    for i in range(2, first + 1):
        term /= i
    total = 0.0
    for k in range(1, 10):
        term /= -float((2 * k + first - 1) * (2 * k + first))
        if k > 1:
            total += 4.0 * k * (k - 1) * term * x ** (k - 2)
    return total


@kernel
def left_jacobian_bend(psi, way, rate, u):
    """Derivative of ``left_jacobian_rate`` by psi along ``way``, at a constant rate."""
    x = vector_dot(psi, psi)
    _, c, b_rate, c_rate = turn_factors(x)
    b_bend, c_bend = turn_bends(x)
    d, e, across = vector_dot(psi, rate), vector_dot(psi, way), vector_dot(rate, way)
    w, w_way, w_rate = vector_product(psi, u), vector_product(way, u), vector_product(rate, u)
    turning = vector_sum(vector_product(rate, w), 1.0, vector_product(psi, w_rate))
    out = vector_sum(ZERO, b_bend * d * e + b_rate * across, w)
    out = vector_sum(vector_sum(out, b_rate * d, w_way), b_rate * e, w_rate)
    out = vector_sum(out, c_bend * d * e + c_rate * across, vector_product(psi, w))
    out = vector_sum(out, c_rate * d, vector_sum(vector_product(way, w), 1.0, vector_product(psi, w_way)))
    out = vector_sum(out, c_rate * e, turning)
    return vector_sum(out, c, vector_sum(vector_product(rate, w_way), 1.0, vector_product(way, w_rate)))
