# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Coordinates and their changes along the velocity coordinates: the exponential map and its inverse."""

import numpy as np

from mb_contact.core.tree.joints import integrate_joints
from mb_contact.types import JOINT_FLOATING, JOINT_SPHERICAL


def cross(a, b):
    """``a x b`` along the last axis; several times quicker than NumPy's for few vectors."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    u, v, w = b[..., 0], b[..., 1], b[..., 2]
    return np.stack((y * w - z * v, z * u - x * w, x * v - y * u), axis=-1)


def skew(a):
    """The matrix of ``a x``, (..., 3, 3)."""
    out = np.zeros((*a.shape, 3))
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -z, y, -x
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = z, -y, x
    return out


def unit(context, columns, width, name):
    """Derivative (N, columns) of coordinates or velocities by themselves, in the columns of ``name``."""
    out = np.zeros((context.N, width))
    if name in columns:
        out[:, columns[name]] = np.eye(context.N)
    return out


def step_map(tree, step):
    """d(q o exp(step)) by q and by ``step``, both (N, N), in tangent coordinates; ``step`` (N,) [rad, m].

    A turn R+ = exp(w~) R has d(theta+) = exp(w~) d(theta) + J_l(w) dw, J_l = 1 + (1 - cos a)/a^2 w~ + (a - sin a)/a^3
    w~^2 with a = |w|.
    """
    by_q, by_step = np.eye(len(step)), np.eye(len(step))
    for k in np.flatnonzero((tree.joint_type == JOINT_FLOATING) | (tree.joint_type == JOINT_SPHERICAL)):
        own = slice(tree.v_start[k], tree.v_start[k] + 3)
        w = step[own]
        a, W = np.linalg.norm(w), skew(w)
        small = a < 1e-4
        c = 0.5 - a * a / 24.0 if small else (1.0 - np.cos(a)) / (a * a)
        s = 1.0 / 6.0 - a * a / 120.0 if small else (a - np.sin(a)) / a**3
        by_step[own, own] += c * W + s * W @ W
        by_q[own, own] += (1.0 - s * a * a) * W + c * W @ W  # sin a / a = 1 - s a^2
    return by_q, by_step


def displaced(tree, q, d):
    """q o exp(d)."""
    q = q.copy()
    integrate_joints(tree, d, 1.0, q)
    return q


def displacement(tree, a, b):
    """d (N,) of q_b = q_a o exp(d): along the velocity coordinates, turns about world or parent axes [rad, m]."""
    d = np.zeros(len(tree.armature))
    for k, kind in enumerate(tree.joint_type):
        s, i, n = tree.q_start[k], tree.v_start[k], tree.nv[k]
        if kind == JOINT_FLOATING:
            base = tree.R_joint[k]
            d[i : i + 3] = base @ turn_between(a[s + 3 : s + 7], b[s + 3 : s + 7])
            d[i + 3 : i + 6] = base @ (b[s : s + 3] - a[s : s + 3])
        elif kind == JOINT_SPHERICAL:
            d[i : i + 3] = turn_between(a[s : s + 4], b[s : s + 4])
        else:
            d[i : i + n] = b[s : s + n] - a[s : s + n]
    return d


def turn_between(a, b):
    """The rotation vector w of exp(w~) a = b, at most half a turn; quaternions x y z w."""
    v = a[3] * b[:3] - b[3] * a[:3] - cross(b[:3], a[:3])
    w = b[3] * a[3] + b[:3] @ a[:3]
    size = np.linalg.norm(v)
    if w < 0.0:
        v, w = -v, -w
    return v * (2.0 * np.arctan2(size, w) / size if size > 0.0 else 2.0)
