# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How a tree's twists change with its coordinates: all that derivatives of velocities and of J* p need.

All twists and wrenches are taken in world axes at the world's origin.  S_j is the twist of the degree of freedom j.
A degree of freedom i carries j along where j's axis is on the far side of i (``core/tree/derivatives.py``); then

    dS_j / dq_i = S_i x S_j,  otherwise 0,

with the products of twists, ``a x b``, and of a twist and a wrench, ``a x* f``, for which (a x b).f = -b.(a x* f).
"""

from typing import NamedTuple

import numpy as np

from mb_contact.checks import Floats
from mb_contact.core.tree.derivatives import (
    evaluate_inverse_derivatives,
    make_derivative_arrays,
    make_derivative_handle,
)
from mb_contact.types import JOINT_FLOATING, JOINT_PLANAR, JOINT_SPHERICAL, JOINT_UNIVERSAL

#: (i, j) of the degrees of freedom of one joint where number i carries the axis of number j along
WITHIN = {
    JOINT_FLOATING: [(i, j) for i in (3, 4, 5) for j in (0, 1, 2)],
    JOINT_PLANAR: [(0, 2), (1, 2)],
    JOINT_UNIVERSAL: [(0, 1)],
}


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


def twist_product(a, b):
    """``a x b`` of twists (..., 6)."""
    w = cross(a[..., :3], b[..., :3])
    return np.concatenate((w, cross(a[..., :3], b[..., 3:]) + cross(a[..., 3:], b[..., :3])), axis=-1)


def wrench_product(a, f):
    """``a x* f`` of twists and wrenches (..., 6), moment first."""
    n = cross(a[..., :3], f[..., :3]) + cross(a[..., 3:], f[..., 3:])
    return np.concatenate((n, cross(a[..., :3], f[..., 3:])), axis=-1)


def point_map(x):
    """The matrix (3, 6) from a twist to the velocity of the point at x [m]: v + w x x."""
    return np.concatenate((-skew(x), np.eye(3)), axis=1)


def wrench_at(x, force):
    """The wrench (6,) of a force [N] at x [m]."""
    return np.concatenate((cross(x, force), force))


class Layout:
    """What of a tree does not change: which degree of freedom moves which body, and which carries which.

    Parameters
    ----------
    tree : Tree
        Of n bodies and N degrees of freedom.

    Attributes
    ----------
    moves : ndarray (n + 1, N)
        1 where a degree of freedom moves a body; the last row, of the world, is zero.
    carries : ndarray (N, N)
        1 where i carries j.
    """

    def __init__(self, tree):
        self.tree, n, N = tree, len(tree.parent), len(tree.armature)
        self.moves, self.carries = np.zeros((n + 1, N)), np.zeros((N, N))
        self.body = np.repeat(np.arange(n), tree.nv)
        for k in range(n):
            own = slice(tree.v_start[k], tree.v_start[k] + tree.nv[k])
            self.moves[k] = self.moves[tree.parent[k]]
            self.carries[:, own] = self.moves[k][:, None]
            self.moves[k, own] = 1.0
            for i, j in WITHIN.get(int(tree.joint_type[k]), ()):
                self.carries[own.start + i, own.start + j] = 1.0
        self._arrays = make_derivative_arrays(tree)
        self._handle = make_derivative_handle(self._arrays)

    def at(self, q, v, v_next, acceleration, gravity):
        """Motion at q (nq,) with velocities v, and where velocities are v_next, for accelerations and gravity."""
        d = self._arrays
        status, _ = evaluate_inverse_derivatives(self._handle, q, v, acceleration, gravity)
        assert status == 0, "the step that was taken started from this state"
        H, p = d.kin.H, d.kin.p[self.body]
        S = np.concatenate((H[:, :3], H[:, 3:] + cross(p, H[:, :3])), axis=1)
        return Motion(self, S, v_next, d.kin.R.copy(), d.kin.p.copy(), d.M.copy(), d.d_q.copy(), d.d_v.copy())

    def inertial(self):
        """Wrench of each body's inertia per mass, (I A + V x* I V) / m, of the last ``at``, at the world's origin.

        A is the rate of the twist at the fixed point o: that of the mass centre has w x (v + w x c) beside it.
        """
        tree, d = self.tree, self._arrays
        R, o, w, rate = d.kin.R, d.kin.p[tree.root], d.V[:, :3], d.A[:, :3]
        c = np.einsum("kij,kj->ki", R, tree.com) + d.kin.p - o
        I = R @ (tree.inertia / np.maximum(tree.mass, 1e-300)[:, None, None]) @ np.swapaxes(R, 1, 2)
        f = d.A[:, 3:] + cross(rate, c) + cross(w, d.V[:, 3:] + cross(w, c))
        n = np.einsum("kij,kj->ki", I, rate) + cross(w, np.einsum("kij,kj->ki", I, w)) + cross(c, f)
        return (tree.mass > 0.0)[:, None] * np.concatenate((n + cross(o, f), f), axis=1)


class Motion(NamedTuple):
    """A tree at the start of a step, N degrees of freedom."""

    layout: Layout
    S: Floats  #: (N, 6)
    v_next: Floats  #: (N,), velocities of the rows
    R: Floats  #: (n, 3, 3), poses of the bodies
    p: Floats  #: (n, 3)
    M: Floats  #: (N, N)
    by_q: Floats  #: (N, N), derivatives of inverse dynamics
    by_v: Floats  #: (N, N)

    def jacobian(self, body):
        """Twist of a body (or WORLD) by velocities, (6, N)."""
        return (self.layout.moves[body][:, None] * self.S).T

    def twist_by_q(self, body):
        """dV/dq of a body at the velocities ``v_next``, (6, N): S_i x the sum of what i carries of S_j v_j."""
        weight = self.layout.carries * (self.layout.moves[body] * self.v_next)
        return twist_product(self.S, weight @ self.S).T

    def efforts_by_q(self, wrenches):
        """Derivative (N, N) by q of the efforts J* f of wrenches (n, 6) that stay what they are, on all bodies."""
        total = self.layout.moves[:-1].T @ wrenches
        return self.layout.carries.T * (wrench_product(self.S, total) @ self.S.T)

    def efforts_by_mass(self):
        """Derivative (N, n) of inverse dynamics by the bodies' masses, with the shape of their distribution kept."""
        return self.layout.moves[:-1].T * (self.S @ self.layout.inertial().T)


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
