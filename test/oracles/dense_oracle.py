# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The dynamics once more, densely and by another road, as the truth for the compiled sweeps.

Stacked operators of J11: V = phi* H* v, M = H phi M phi* H*, C = H phi (M phi* a + b), all as full
matrices, and in *body* axes (the kernels work in world axes), with rotations from SciPy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from mb_contact.types import (
    JOINT_FLOATING,
    JOINT_NQ,
    JOINT_NV,
    JOINT_PLANAR,
    JOINT_PRISMATIC,
    JOINT_REVOLUTE,
    JOINT_SCREW,
    JOINT_SPHERICAL,
    JOINT_UNIVERSAL,
    WORLD,
    Tree,
)

QUATERNION = {JOINT_FLOATING: 3, JOINT_SPHERICAL: 0}  # joint type: where its quaternion starts in its part of q


class Forest(NamedTuple):
    """What the public functions ask of a model: a tree and named frames (and names for messages)."""

    tree: Tree
    frames: dict
    body_names: tuple


class Frame(NamedTuple):
    """A frame fixed to a body."""

    body: int
    R: np.ndarray
    p: np.ndarray


def skew(x):
    """Cross-product matrix."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def cross(a, b):
    """Cross product of two vectors; np.cross spends its time on axes."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def random_forest(rng, n, roots=2, floating=0.5, prismatic=0.3, armature=True, multi=0.0):
    """A random forest of n bodies with named frames on every body (two each) and one on the world.

    ``floating`` is the share of floating roots, ``prismatic`` of prismatic among the scalar joints, ``multi`` of
    planar, spherical, universal and screw joints among the others.
    """
    parent = np.array([WORLD if k < roots else rng.integers(0, k) for k in range(n)], dtype=np.int64)
    kind = np.where(rng.random(n) < prismatic, JOINT_PRISMATIC, JOINT_REVOLUTE).astype(np.int64)
    if multi > 0.0:
        several = rng.choice([JOINT_PLANAR, JOINT_SPHERICAL, JOINT_UNIVERSAL, JOINT_SCREW], n)
        kind = np.where(rng.random(n) < multi, several, kind)
    kind[(parent == WORLD) & (rng.random(n) < floating)] = JOINT_FLOATING
    nv, nq = np.array(JOINT_NV)[kind], np.array(JOINT_NQ)[kind]
    root = np.arange(n)
    for k in range(n):
        if parent[k] != WORLD:
            root[k] = root[parent[k]]
    axis = rng.normal(size=(n, 3))
    axis /= np.linalg.norm(axis, axis=1)[:, None]
    axis2 = np.zeros((n, 3))
    if multi > 0.0:
        axis2 = rng.normal(size=(n, 3))
        flat = kind == JOINT_PLANAR
        axis2[flat] -= np.sum(axis2 * axis, axis=1)[flat, None] * axis[flat]
        axis2 /= np.linalg.norm(axis2, axis=1)[:, None]
        axis2[~flat & (kind != JOINT_UNIVERSAL)] = 0.0
        screws = kind == JOINT_SCREW
        axis2[screws] = rng.normal(scale=0.3, size=(n, 1))[screws] * axis[screws]
    axis[(kind == JOINT_FLOATING) | (kind == JOINT_SPHERICAL)] = 0.0
    inertia = np.empty((n, 3, 3))
    mass = rng.uniform(0.2, 5.0, n)
    for k in range(n):  # of four point masses, so the triangle inequality holds
        x = rng.normal(scale=0.2, size=(4, 3))
        inertia[k] = sum(0.25 * mass[k] * (y @ y * np.eye(3) - np.outer(y, y)) for y in x)
    N = int(nv.sum())
    scalar = np.repeat(kind != JOINT_FLOATING, nv)
    tree = Tree(
        parent=parent, joint_type=kind, q_start=np.cumsum(nq) - nq, v_start=np.cumsum(nv) - nv,
        nv=nv, root=root, R_joint=Rotation.random(n, random_state=rng.integers(1 << 30)).as_matrix(),
        p_joint=rng.normal(size=(n, 3)),
        axis=axis, axis2=axis2, mass=mass, com=rng.normal(scale=0.2, size=(n, 3)), inertia=inertia,
        armature=np.where(scalar, rng.uniform(0, 0.1, N), 0.0) if armature else np.zeros(N),
        damping=np.where(scalar, rng.uniform(0, 1.0, N), 0.0),
        effort_limit=np.full(N, np.inf), lower=np.full(N, -np.inf), upper=np.full(N, np.inf),
    )  # fmt: skip
    frames = {"world": Frame(WORLD, Rotation.random(random_state=3).as_matrix(), rng.normal(size=3))}
    for k in range(n):
        for letter in "ab":
            R = Rotation.random(random_state=rng.integers(1 << 30)).as_matrix()
            frames[f"{letter}{k}"] = Frame(k, R, rng.normal(scale=0.5, size=3))
    return Forest(read_only(tree), frames, tuple(f"link_{k}" for k in range(n)))


def read_only(tree):
    """The tree with read-only arrays, as a Model's are: writable ones would compile the kernels again."""
    for array in tree:
        array.setflags(write=False)
    return tree


def sizes(tree):
    """(bodies, degrees of freedom, length of q)."""
    N = int(tree.nv.sum())
    return len(tree.parent), N, int(np.array(JOINT_NQ)[tree.joint_type].sum())


def random_state(rng, tree):
    """Random coordinates and velocities."""
    n, N, nq = sizes(tree)
    q = rng.uniform(-2.0, 2.0, nq)
    for k in range(n):
        if tree.joint_type[k] in QUATERNION:
            s = tree.q_start[k] + QUATERNION[tree.joint_type[k]]
            q[s : s + 4] /= np.linalg.norm(q[s : s + 4])
    return q, rng.normal(size=N)


def advance(tree, q, v, dt):
    """Coordinates after velocity v held for dt; SciPy's exponential map for the quaternions."""
    q = q.copy()
    for k in range(len(tree.parent)):
        s, d = tree.q_start[k], tree.v_start[k]
        if tree.joint_type[k] == JOINT_SPHERICAL:
            turn = Rotation.from_rotvec(dt * v[d : d + 3])
            q[s : s + 4] = (turn * Rotation.from_quat(q[s : s + 4])).as_quat()
            continue
        if tree.joint_type[k] != JOINT_FLOATING:
            r = tree.nv[k]
            q[s : s + r] += dt * v[d : d + r]
            continue
        R0 = tree.R_joint[k]
        q[s : s + 3] += dt * R0.T @ v[d + 3 : d + 6]
        turn = Rotation.from_rotvec(dt * R0.T @ v[d : d + 3])
        q[s + 3 : s + 7] = (turn * Rotation.from_quat(q[s + 3 : s + 7])).as_quat()
    return q


class Dense:
    """Poses and stacked operators of a tree at (q, v), body axes."""

    def __init__(self, tree, q, v=None):
        n, N, _ = sizes(tree)
        self.tree, self.n, self.N = tree, n, N
        self.q = q
        self.v = np.zeros(N) if v is None else v
        self.R, self.p = np.empty((n, 3, 3)), np.empty((n, 3))
        self.phi = np.eye(6 * n)  # (1 - E_phi)^-1, a block column from the parent's: E_phi is nilpotent
        self.H = np.zeros((N, 6 * n))
        self.inertia = np.zeros((6 * n, 6 * n))
        for k in range(n):
            R_move, p_move = self._motion(k)
            local_R = tree.R_joint[k] @ R_move
            local_p = tree.p_joint[k] + tree.R_joint[k] @ p_move
            m = tree.parent[k]
            block = slice(6 * k, 6 * k + 6)
            if m == WORLD:
                self.R[k], self.p[k] = local_R, local_p
            else:
                self.R[k] = self.R[m] @ local_R
                self.p[k] = self.p[m] + self.R[m] @ local_p
                self.phi[: 6 * k, block] = self.phi[: 6 * k, 6 * m : 6 * m + 6] @ _phi(local_R, local_p)
            self.H[tree.v_start[k] : tree.v_start[k] + tree.nv[k], block] = self._hinge(k)
            c = skew(tree.com[k])
            self.inertia[block, block] = np.block(
                [[tree.inertia[k] - tree.mass[k] * c @ c, tree.mass[k] * c],
                 [-tree.mass[k] * c, tree.mass[k] * np.eye(3)]]
            )  # fmt: skip
        self.velocity_map = self.phi.T @ self.H.T  # all body velocities = velocity_map v
        self.V = (self.velocity_map @ self.v).reshape(n, 6)

    def _motion(self, k):
        tree, kind, q = self.tree, self.tree.joint_type[k], self.q[self.tree.q_start[k] :]
        axis, axis2, still = tree.axis[k], tree.axis2[k], np.zeros(3)
        if kind == JOINT_FLOATING:
            return Rotation.from_quat(q[3:7]).as_matrix(), q[:3]
        if kind == JOINT_PRISMATIC:
            return np.eye(3), q[0] * axis
        if kind == JOINT_SCREW:
            return Rotation.from_rotvec(q[0] * axis).as_matrix(), q[0] * axis2
        if kind == JOINT_PLANAR:
            return Rotation.from_rotvec(q[2] * axis).as_matrix(), q[0] * axis2 + q[1] * cross(axis, axis2)
        if kind == JOINT_SPHERICAL:
            return Rotation.from_quat(q[:4]).as_matrix(), still
        if kind == JOINT_UNIVERSAL:
            return (Rotation.from_rotvec(q[0] * axis) * Rotation.from_rotvec(q[1] * axis2)).as_matrix(), still
        return Rotation.from_rotvec(q[0] * axis).as_matrix(), still

    def _hinge(self, k):
        """Hinge map in body axes (r, 6)."""
        kind, axis, axis2 = self.tree.joint_type[k], self.tree.axis[k], self.tree.axis2[k]
        back, still = self._motion(k)[0].T, np.zeros(3)
        if kind == JOINT_FLOATING:
            return np.kron(np.eye(2), self.R[k])  # (R* x)* : world components to body ones
        if kind == JOINT_PRISMATIC:
            return np.concatenate((still, axis))[None]
        if kind == JOINT_SCREW:  # the turn leaves its own axis where it is
            return np.concatenate((axis, axis2))[None]
        if kind == JOINT_PLANAR:
            return np.array([
                [*still, *(back @ axis2)], [*still, *(back @ cross(axis, axis2))], [*axis, *still],
            ])  # fmt: skip
        if kind == JOINT_SPHERICAL:
            return np.hstack((back.T, np.zeros((3, 3))))
        if kind == JOINT_UNIVERSAL:
            return np.array([[*(back @ axis), *still], [*axis2, *still]])
        return np.concatenate((axis, still))[None]

    def _apparent_rate(self, k, joint, rates):
        """Rate of H*(k) v(k) in the body's own axes, v held."""
        kind = self.tree.joint_type[k]
        if kind == JOINT_FLOATING:  # R* v with v constant in world axes
            return np.zeros(3), -cross(self.V[k, :3], self.V[k, 3:])
        if kind == JOINT_PLANAR:  # the directions in the plane turn backwards
            return np.zeros(3), -cross(joint[:3], joint[3:])
        if kind == JOINT_UNIVERSAL:  # so does the first axis, about the second
            second = self.tree.axis2[k] * rates[1]
            return -cross(second, joint[:3] - second), np.zeros(3)
        return np.zeros(3), np.zeros(3)

    def mass_matrix(self):
        """H phi M phi* H*, rotors included."""
        X = self.H @ self.phi
        return X @ self.inertia @ X.T + np.diag(self.tree.armature)

    def _bias(self):
        """Coriolis accelerations a and gyroscopic forces b, stacked."""
        a, b = np.zeros((self.n, 6)), np.zeros((self.n, 6))
        for k in range(self.n):
            rows = slice(self.tree.v_start[k], self.tree.v_start[k] + self.tree.nv[k])
            w, u = self.V[k, :3], self.V[k, 3:]
            joint = self.H[rows, 6 * k : 6 * k + 6].T @ self.v[rows]
            # the apparent derivative plus V x joint velocity
            a[k, :3], a[k, 3:] = self._apparent_rate(k, joint, self.v[rows])
            a[k, :3] += cross(w, joint[:3])
            a[k, 3:] += cross(w, joint[3:]) + cross(u, joint[:3])
            h = self.inertia[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] @ self.V[k]
            b[k, :3] = cross(w, h[:3]) + cross(u, h[3:])
            b[k, 3:] = cross(w, h[3:])
        return a.ravel(), b.ravel()

    def nonlinear(self, gravity):
        """H phi (M phi* a + b) with the inertial frame accelerated by -g."""
        a, b = self._bias()
        for k in np.flatnonzero(self.tree.parent == WORLD):
            a[6 * k + 3 : 6 * k + 6] -= self.R[k].T @ gravity
        return self.H @ self.phi @ (self.inertia @ self.phi.T @ a + b)

    def forward(self, effort, gravity):
        """Accelerations from efforts, joint damping included."""
        return np.linalg.solve(
            self.mass_matrix(), effort - self.tree.damping * self.v - self.nonlinear(gravity)
        )

    def point_jacobian(self, body, x):
        """Angular and linear rows (6, N) of the point of ``body`` that is at world position x."""
        if body == WORLD:
            return np.zeros((6, self.N))
        J = self.velocity_map[6 * body : 6 * body + 6]
        angular = self.R[body] @ J[:3]
        return np.vstack((angular, self.R[body] @ J[3:] - skew(x - self.p[body]) @ angular))

    def frame_jacobian(self, frames):
        """Stacked Jacobians of frames."""
        return np.vstack([self.point_jacobian(f.body, self.frame_origin(f)) for f in frames])

    def frame_origin(self, frame):
        """World position of a frame's origin."""
        return frame.p if frame.body == WORLD else self.p[frame.body] + self.R[frame.body] @ frame.p

    def compliance(self, frames):
        """J M^-1 J*."""
        J = self.frame_jacobian(frames)
        return J @ np.linalg.solve(self.mass_matrix(), J.T)

    def kinetic(self):
        """Kinetic energy, rotors included."""
        V = self.V.ravel()
        return 0.5 * V @ self.inertia @ V + 0.5 * self.tree.armature @ self.v**2

    def potential(self, gravity):
        """Potential energy."""
        return -sum(
            self.tree.mass[k] * gravity @ (self.p[k] + self.R[k] @ self.tree.com[k]) for k in range(self.n)
        )


def _phi(R, p):
    """phi(p, k) in body axes: forces from a child's frame (pose R, p in the parent) to the parent's."""
    return np.block([[R, skew(p) @ R], [np.zeros((3, 3)), R]])
