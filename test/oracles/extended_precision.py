# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rigid-tree dynamics in numbers of any length (80-bit, mpmath), by another road than the kernels.

The kernels work in world axes; this works in *body* axes with full 6 x 6 transforms, and gets compliances from unit
wrenches through forward dynamics instead of from Upsilon.  Slow, and as accurate as its numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import mpmath
import numpy as np

from mb_contact.types import JOINT_FLOATING, JOINT_PRISMATIC, JOINT_REVOLUTE, WORLD


class Numbers(NamedTuple):
    """A number type: conversion from float64 arrays, sine and cosine."""

    convert: object
    sin: object
    cos: object


def _mpf(X):
    X = np.asarray(X, dtype=np.float64)
    full = np.empty(X.shape, dtype=object)
    full.ravel()[:] = [mpmath.mpf(float(x)) for x in X.ravel()]
    return full


EXTENDED = Numbers(lambda X: np.array(X, dtype=np.longdouble), np.sin, np.cos)  #: 64-bit mantissa on x86-64
MPMATH = Numbers(_mpf, mpmath.sin, mpmath.cos)  #: as many digits as ``mpmath.workdps`` says

#: whether longdouble has the 80-bit format (it is plain double on some platforms)
HAS_EXTENDED = np.finfo(np.longdouble).nmant >= 63


class Reference:
    """Poses, forces and accelerations of a tree at (q, v) in the numbers given."""

    def __init__(self, tree, q, v=None, numbers=MPMATH):
        self.tree, self.numbers, self.n = tree, numbers, len(tree.parent)
        self.N = int(tree.nv.sum())
        self.zero = numbers.convert(np.zeros(1))[0]
        q = numbers.convert(q)
        v = numbers.convert(np.zeros(self.N) if v is None else v)
        self.v, self.armature = v, numbers.convert(tree.armature)
        self.R, self.phi, self.H, self.M, self.V, self.a, self.b = ([None] * self.n for _ in range(7))
        self.rows = [slice(int(s), int(s + r)) for s, r in zip(tree.v_start, tree.nv)]
        for k in range(self.n):
            self._place(k, q)
            self._move(k, v[self.rows[k]])
        self._articulate()

    # --- kinematics ---------------------------------------------------------------------

    def _place(self, k, q):
        tree, convert, m = self.tree, self.numbers.convert, self.tree.parent[k]
        axis, s, kind = convert(tree.axis[k]), tree.q_start[k], tree.joint_type[k]
        R, p = convert(tree.R_joint[k]), convert(tree.p_joint[k])
        if kind == JOINT_REVOLUTE:
            A = self._skew(axis)
            turn = self._one(3) + self.numbers.sin(q[s]) * A + (1 - self.numbers.cos(q[s])) * (A @ A)
            R, H = R @ turn, np.concatenate((axis, 0 * axis))[None]
        elif kind == JOINT_PRISMATIC:
            p, H = p + R @ axis * q[s], np.concatenate((0 * axis, axis))[None]
        elif kind == JOINT_FLOATING:
            p, R = p + R @ q[s : s + 3], R @ self._rotation(q[s + 3 : s + 7])
            H = self._blocks(R, 0 * R, 0 * R, R)  # velocities in world axes
        else:
            raise NotImplementedError(f"joint type {kind}")
        self.R[k] = R if m == WORLD else self.R[m] @ R
        self.phi[k] = self._blocks(R, self._skew(p) @ R, 0 * R, R)  # forces of body k to the parent's frame
        self.H[k] = H
        c, mass = self._skew(convert(tree.com[k])), convert(tree.mass[k : k + 1])[0]
        self.M[k] = self._blocks(convert(tree.inertia[k]) - mass * (c @ c), mass * c, -mass * c, mass * self._one(3))

    def _move(self, k, rates):
        m = self.tree.parent[k]
        joint = self.H[k].T @ rates
        self.V[k] = V = joint if m == WORLD else self.phi[k].T @ self.V[m] + joint
        w, u = self._skew(V[:3]), self._skew(V[3:])
        a = np.concatenate((w @ joint[:3], w @ joint[3:] + u @ joint[:3]))
        if self.tree.joint_type[k] == JOINT_FLOATING:
            a[3:] = a[3:] - w @ V[3:]  # the components of R* v change with R too
        h = self.M[k] @ V
        self.a[k], self.b[k] = a, np.concatenate((w @ h[:3] + u @ h[3:], w @ h[3:]))

    def _skew(self, x):
        o = self.zero
        return np.array([[o, -x[2], x[1]], [x[2], o, -x[0]], [-x[1], x[0], o]])

    def _one(self, m):
        return self.numbers.convert(np.eye(m))

    def _blocks(self, A, B, C, D):
        return np.concatenate((np.concatenate((A, B), axis=1), np.concatenate((C, D), axis=1)))

    def _rotation(self, quaternion):
        X, w = self._skew(quaternion[:3]), quaternion[3]
        return self._one(3) + 2 / (quaternion @ quaternion) * (w * X + X @ X)

    # --- forward dynamics ---------------------------------------------------------------

    def _articulate(self):
        self.P = [M.copy() for M in self.M]
        self.U, self.D_inv = [None] * self.n, [None] * self.n
        for k in range(self.n - 1, -1, -1):
            H, m = self.H[k], self.tree.parent[k]
            self.U[k] = self.P[k] @ H.T
            D = H @ self.U[k]
            D[range(len(D)), range(len(D))] += self.armature[self.rows[k]]
            self.D_inv[k] = _inverse(D, self._one(len(D)))
            if m != WORLD:
                X = self.P[k] - self.U[k] @ self.D_inv[k] @ self.U[k].T
                self.P[m] = self.P[m] + self.phi[k] @ X @ self.phi[k].T

    def accelerations(self, T, z, a, base):
        """Solve for columns of generalized forces T (N, c), bias forces z and accelerations a (n x (6, c)).

        ``base[k]`` (6, c) is what a body on the inertial frame sees as its parent's acceleration.
        """
        z = [z[k] + self.P[k] @ a[k] for k in range(self.n)]
        nu = [None] * self.n
        for k in range(self.n - 1, -1, -1):
            eps = T[self.rows[k]] - self.H[k] @ z[k]
            nu[k] = self.D_inv[k] @ eps
            if self.tree.parent[k] != WORLD:
                z[self.tree.parent[k]] = z[self.tree.parent[k]] + self.phi[k] @ (z[k] + self.U[k] @ nu[k])
        x, alpha = T * self.zero, [None] * self.n
        for k in range(self.n):
            m = self.tree.parent[k]
            above = base[k] if m == WORLD else self.phi[k].T @ alpha[m]
            x[self.rows[k]] = nu[k] - self.D_inv[k] @ (self.U[k].T @ above)
            alpha[k] = above + self.H[k].T @ x[self.rows[k]] + a[k]
        return x

    def _fall(self, k, gravity):
        return np.concatenate((0 * gravity, -self.R[k].T @ gravity))

    def forward(self, effort, gravity):
        """Accelerations (N,), joint damping included."""
        convert = self.numbers.convert
        gravity = convert(gravity)
        T = convert(effort) - convert(self.tree.damping) * self.v
        base = [self._fall(k, gravity)[:, None] for k in range(self.n)]
        return self.accelerations(T[:, None], [b[:, None] for b in self.b], [a[:, None] for a in self.a], base)[:, 0]

    # --- the other quantities -------------------------------------------------------------

    def inverse(self, v_dot, gravity):
        """Generalized forces (N,) of accelerations, without joint damping."""
        v_dot, gravity = self.numbers.convert(v_dot), self.numbers.convert(gravity)
        f, alpha, T = [None] * self.n, [None] * self.n, self.armature * v_dot
        for k in range(self.n):
            m = self.tree.parent[k]
            above = self._fall(k, gravity) if m == WORLD else self.phi[k].T @ alpha[m]
            alpha[k] = above + self.H[k].T @ v_dot[self.rows[k]] + self.a[k]
            f[k] = self.M[k] @ alpha[k] + self.b[k]
        for k in range(self.n - 1, -1, -1):
            T[self.rows[k]] = T[self.rows[k]] + self.H[k] @ f[k]
            if self.tree.parent[k] != WORLD:
                f[self.tree.parent[k]] = f[self.tree.parent[k]] + self.phi[k] @ f[k]
        return T

    def mass_matrix(self):
        """Composite inertias and a walk up for every column (N, N)."""
        full = self.numbers.convert(np.diag(np.asarray(self.tree.armature)))
        R = [M.copy() for M in self.M]
        for k in range(self.n - 1, -1, -1):
            m, f = self.tree.parent[k], R[k] @ self.H[k].T
            full[self.rows[k], self.rows[k]] = full[self.rows[k], self.rows[k]] + self.H[k] @ f
            if m != WORLD:
                R[m] = R[m] + self.phi[k] @ R[k] @ self.phi[k].T
            j = k
            while m != WORLD:
                f = self.phi[j] @ f
                j, m = m, self.tree.parent[m]
                full[self.rows[j], self.rows[k]] = self.H[j] @ f
                full[self.rows[k], self.rows[j]] = full[self.rows[j], self.rows[k]].T
        return full

    def compliance(self, frames):
        """``J M^-1 J*`` of frames on bodies, world axes at their origins, angular first."""
        J = np.concatenate([self.jacobian(frame) for frame in frames])
        still = [self.numbers.convert(np.zeros((6, len(J))))] * self.n
        return J @ self.accelerations(J.T.copy(), still, still, still)

    def jacobian(self, frame):
        """Jacobian (6, N) of a frame, world axes at its origin."""
        k, J = frame.body, self.numbers.convert(np.zeros((6, self.N)))
        R, p = self.R[k], self.numbers.convert(frame.p)
        X = self._blocks(R, 0 * R, -R @ self._skew(p), R)  # velocity of the frame from V(k)
        while k != WORLD:
            J[:, self.rows[k]] = X @ self.H[k].T
            X = X @ self.phi[k].T
            k = self.tree.parent[k]
        return J


def _inverse(D, X):
    """Inverse of a small symmetric positive definite matrix by Gauss-Jordan; X is the identity."""
    D = D.copy()
    for i in range(len(D)):
        X[i], D[i] = X[i] / D[i, i], D[i] / D[i, i]
        for j in range(len(D)):
            if j != i:
                X[j], D[j] = X[j] - D[j, i] * X[i], D[j] - D[j, i] * D[i]
    return X


def error(got, want):
    """Largest deviation of doubles from a reference, relative to its largest entry."""
    got = np.asarray(got, dtype=np.float64)
    want = np.asarray(want)
    assert got.shape == want.shape
    # the subtraction in the reference's numbers: rounding it first would hide the last digits
    wide = _mpf(got) if want.dtype == object else got.astype(want.dtype)
    return float(np.abs(wide - want).max() / np.abs(want).max())


def component_error(got, want):
    """Largest relative deviation of any one entry; entries that should be zero are left out."""
    want = np.asarray(want)
    wide = _mpf(got) if want.dtype == object else np.asarray(got).astype(want.dtype)
    rest = want != 0
    return float((np.abs(wide[rest] - want[rest]) / np.abs(want[rest])).max())
