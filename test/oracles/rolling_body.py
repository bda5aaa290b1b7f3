# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A smooth convex body that rolls on the ground without slipping, as an ordinary differential equation (DOP853).

Contact at r = R s(R* e_z) from the centre of mass, s the support point of the body against a direction of its own axes:

    v = -omega x r,    (I + m (r.r 1 - r r*)) omega' = -omega x I omega + m r x (g e_z - omega x r')
"""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

G = 9.81


def rim(radius, half):
    """Support point of a disc about z and its derivative along a change of the direction."""

    def point(n, n_dot):
        flat = np.array([n[0], n[1], 0.0])
        size = np.linalg.norm(flat)
        u = flat / size
        u_dot = (np.array([n_dot[0], n_dot[1], 0.0]) - u * (u @ n_dot)) / size
        return -radius * u - np.array([0.0, 0.0, half * np.sign(n[2])]), -radius * u_dot

    return point


def ellipsoid(axes):
    """The same of an ellipsoid with these semi-axes."""
    square = np.square(axes)

    def point(n, n_dot):
        size = np.sqrt(square @ (n * n))
        rate = square @ (n * n_dot) / size
        return -square * n / size, -square * n_dot / size + square * n * rate / size**2

    return point


def roll(support, inertia, mass, quaternion, omega, times):
    """Quaternions x y z w (k, 4) and angular velocities (k, 3) at ``times``; inertia (3,) principal, about z."""
    inertia = np.asarray(inertia)

    def rate(_, y):
        q = y[:4] / np.linalg.norm(y[:4])
        R, w = Rotation.from_quat(q).as_matrix(), y[4:]
        n = R[2]
        local, local_dot = support(n, -np.cross(R.T @ w, n))
        r, r_dot = R @ local, R @ local_dot + np.cross(w, R @ local)
        I = R @ np.diag(inertia) @ R.T
        A = I + mass * (r @ r * np.eye(3) - np.outer(r, r))
        b = -np.cross(w, I @ w) + mass * np.cross(r, np.array([0.0, 0.0, G]) - np.cross(w, r_dot))
        q_dot = 0.5 * np.r_[q[3] * w + np.cross(w, q[:3]), -w @ q[:3]]
        return np.r_[q_dot, np.linalg.solve(A, b)]

    y0 = np.r_[quaternion, omega]
    run = solve_ivp(rate, (0.0, times[-1]), y0, method="DOP853", t_eval=times, rtol=1e-12, atol=1e-13)
    return run.y[:4].T / np.linalg.norm(run.y[:4].T, axis=1)[:, None], run.y[4:].T
