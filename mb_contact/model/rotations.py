# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rotations between the forms that files use: roll-pitch-yaw, quaternion (x y z w), matrix."""

import numpy as np

from mb_contact.errors import InputError


def cross(a, b):
    """a x b of two vectors; NumPy's takes ten times as long."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def rpy_to_matrix(rpy):
    """Rotation matrix of URDF's roll, pitch, yaw [rad]: fixed axes x, then y, then z."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ])


def quat_to_matrix(quat):
    """Rotation matrix of a quaternion x y z w, which is normalised first and must not be zero."""
    quat = np.asarray(quat, dtype=np.float64)
    if not 1e-6 <= np.abs(quat).max() <= 1e6:
        raise InputError("a quaternion is zero or far from a unit one; give a rotation")
    x, y, z, w = quat / np.linalg.norm(quat)
    return np.array([
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ])


def matrix_to_quat(R):
    """Unit quaternion x y z w (w >= 0) of a rotation matrix, by its largest component: no cancellation."""
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    squares = np.array([1.0 + 2.0 * R[i, i] - trace for i in range(3)] + [1.0 + trace])
    largest = int(np.argmax(squares))
    if largest == 3:
        quat = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], squares[3]])
    else:
        i, j, k = largest, (largest + 1) % 3, (largest + 2) % 3
        quat = np.empty(4)
        quat[i] = squares[i]
        quat[j] = R[i, j] + R[j, i]
        quat[k] = R[i, k] + R[k, i]
        quat[3] = R[k, j] - R[j, k]
    quat /= np.linalg.norm(quat)
    return -quat if quat[3] < 0.0 else quat


def rotation_about(axis, angle):
    """Rotation matrix about a unit axis by ``angle`` [rad] (Rodrigues)."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)
