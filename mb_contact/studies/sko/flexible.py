# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""SKO models of trees with flexible links: a flexible link is one node of 6 + r velocities (J11 sections 2.3 and 8.1).

    V(k) = [omega; v; eta'],    V(child) = phi*(node, child) [phi*(k, node), columns] V(k) + H* theta',

so weights are not square and H(k) is diag(H of its joint, 1).  Derivatives are complex steps of the polynomials and of
matrix exponentials, not the formulas of the kernels.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm

from mb_contact.checks import Floats, as_vector
from mb_contact.dynamics.arguments import GRAVITY
from mb_contact.errors import ModelError
from mb_contact.model.flexible.links import FlexibleBody
from mb_contact.model.model import Model
from mb_contact.model.poses import tree_poses
from mb_contact.model.world import World
from mb_contact.studies.sko.digraph import TreeDigraph
from mb_contact.studies.sko.model import SkoModel
from mb_contact.studies.sko.operators import Spo
from mb_contact.studies.sko.rigid import hinge_map, shift, spatial_inertia
from mb_contact.types import JOINT_MODE, JOINT_NODE, JOINT_UNIVERSAL, WORLD

STEP = 1e-30  #: of complex steps: derivatives to rounding


def flexible_tree(model: Model | World, q: ArrayLike, v: ArrayLike, gravity: ArrayLike = GRAVITY) -> SkoModel:
    """The SKO model of a tree with flexible links, without rotors, and without the springs of the modes.

    Parameters
    ----------
    model : Model or World
    q : array_like (nq,)
    v : array_like (N,)
    gravity : array_like (3,)
        [m/s^2]

    Returns
    -------
    SkoModel
        Its N degrees of freedom are those of v; a node is a body that is neither mode nor node of a flexible link.

    Raises
    ------
    ModelError
        A joint has a rotor.
    """
    tree: Any = model.tree
    if np.any(tree.armature):
        raise ModelError("sko.flexible_tree has no rotors: leave armatures out")
    q, v, gravity = as_vector(q, name="q"), as_vector(v, len(tree.armature), "v"), as_vector(gravity, 3, "gravity")
    R, p = tree_poses(tree, q, model.flexible)
    links = {link.body: _Link(link, tree, q, v, R, p) for link in model.flexible}
    node_of = {k: (link.body, i) for link in model.flexible for i, k in enumerate(link.nodes)}
    kept = [k for k in range(len(tree.parent)) if tree.joint_type[k] not in (JOINT_MODE, JOINT_NODE)]
    number = {k: i for i, k in enumerate(kept)}
    V, sizes, parents, weights, H, M, a, b = {}, [], [], [], [], [], [], []
    for k in kept:
        hinge = hinge_map(tree, k, R)
        joint = hinge.T @ v[tree.v_start[k] : tree.v_start[k] + tree.nv[k]]
        parent, bias, map_up = int(tree.parent[k]), np.zeros(6), np.zeros((6, 0))
        if tree.joint_type[k] == JOINT_UNIVERSAL:
            first, second = v[tree.v_start[k] :][:2]
            bias[:3] = first * second * np.cross(hinge[0, :3], hinge[1, :3])
        base, own = parent, np.zeros(6)
        if parent == WORLD:
            V[k] = joint
            bias[3:] -= gravity
        else:
            carried, V_parent = np.eye(6), V.get(parent, np.zeros(6))
            if parent in node_of:
                base, i = node_of[parent]
                link = links[base]
                carried, own = link.map(i), link.bias(i, V[base])
                V_parent = carried @ np.concatenate([V[base], link.rate])
            arm = p[k] - p[parent]
            map_up = shift(arm).T @ carried
            V[k] = shift(arm).T @ V_parent + joint
            w = V_parent[:3]
            bias += shift(arm).T @ own
            moving = np.cross(w, V[k][3:] - V_parent[3:]) + np.cross(w, joint[3:])
            bias += np.concatenate([np.cross(w, joint[:3]), moving])
        r = len(links[k].rate) if k in links else 0
        sizes.append(6 + r)
        parents.append(WORLD if parent == WORLD else number[base])
        weights.append(None if parent == WORLD else np.hstack([map_up.T, np.zeros((map_up.shape[1], r))]))
        H.append(np.block([[hinge, np.zeros((len(hinge), r))], [np.zeros((r, 6)), np.eye(r)]]))
        inertia, gyroscopic = links[k].dynamics(V[k], tree, R) if r else _rigid(tree, k, R, V[k])
        M.append(inertia)
        a.append(np.concatenate([bias, np.zeros(r)]))
        b.append(gyroscopic)
    phi = Spo(TreeDigraph(parents), weights, sizes)
    return SkoModel(phi, H, M, phi.stack(a), phi.stack(b), [model.body_names[k] for k in kept])


def _rigid(tree, k, R, V):
    """M(k) and b(k) of a rigid body, world axes at its origin."""
    M, c = spatial_inertia(tree, k, R[k])
    w = V[:3]
    return M, np.concatenate([np.cross(w, M[:3, :3] @ w), tree.mass[k] * np.cross(w, np.cross(w, c))])


class _Link:
    """A flexible link at one state: maps to its nodes, inertia, bias terms, world axes."""

    def __init__(self, link: FlexibleBody, tree, q, v, R, p):
        self.link, self.R, modes = link, R[link.body], len(link.modes)
        self.eta = q[tree.q_start[link.modes[0]] :][:modes]
        self.rate = v[tree.v_start[link.modes[0]] :][:modes]
        self.arms = [p[k] - p[link.body] for k in link.nodes]

    def map(self, i: int) -> Floats:
        """V(node i) over [V; eta'], (6, 6 + r)."""
        link = self.link
        turning = _left_jacobian(self.eta @ link.slope[i]) @ link.slope[i].T
        moving = (link.shape[i] + np.outer(link.short[i] @ self.eta, link.mass.axis)).T
        return np.hstack([shift(self.arms[i]).T, np.vstack([self.R @ turning, self.R @ moving])])

    def bias(self, i: int, V: Floats) -> Floats:
        """alpha(node i) - map [alpha; eta'']."""
        link, w, motion = self.link, V[:3], (self.map(i)[:, 6:] @ self.rate)
        psi, rate = self.eta @ link.slope[i], self.rate @ link.slope[i]
        turning = _left_jacobian(psi + 1j * STEP * rate).imag / STEP @ rate
        moving = (self.rate @ link.short[i] @ self.rate) * link.mass.axis
        centripetal = np.cross(w, np.cross(w, self.arms[i])) + 2.0 * np.cross(w, motion[3:])
        return np.concatenate([self.R @ turning + np.cross(w, motion[:3]), self.R @ moving + centripetal])

    def dynamics(self, V: Floats, tree, R) -> tuple[Floats, Floats]:
        """M(k) and b(k), (6 + r) square and long, with the bodies that are welded to nodes."""
        turn = np.eye(6 + len(self.rate))
        turn[:3, :3] = turn[3:6, 3:6] = self.R
        local = turn.T @ np.concatenate([V, self.rate])
        M = _inertia(self.link, self.eta)
        w, v, momentum = local[:3], local[3:6], M @ local
        b = _inertia(self.link, self.eta + 1j * STEP * self.rate).imag / STEP @ local
        b[:3] += np.cross(w, momentum[:3]) + np.cross(v, momentum[3:6])
        b[3:6] += np.cross(w, momentum[3:6])
        for i, step in enumerate(1j * STEP * np.eye(len(self.rate))):
            b[6 + i] -= 0.5 * local @ (_inertia(self.link, self.eta + step).imag / STEP) @ local
        b -= M[:, 3:6] @ np.cross(w, v)  # the acceleration of the origin, not the rate of v in turning axes
        M, b = turn @ M @ turn.T, turn @ b
        for i, k in enumerate(self.link.nodes):
            T = self.map(i)
            inertia, gyroscopic = _rigid(tree, k, R, T @ np.concatenate([V, self.rate]))
            M, b = M + T.T @ inertia @ T, b + T.T @ (inertia @ self.bias(i, V) + gyroscopic)
        return M, b


def _inertia(link, eta):
    """M of [omega; v; eta'] in the axes of the link, of a deformation that may be complex."""
    g, r = link.mass, len(eta)
    M = np.zeros((6 + r, 6 + r), dtype=np.result_type(eta, float))
    for one, x, shape, short in zip(g.one, g.point, g.shape, g.short):
        rho = x + eta @ shape + 0.5 * (eta @ short @ eta) * g.axis
        turning = np.array([[0.0, rho[2], -rho[1]], [-rho[2], 0.0, rho[0]], [rho[1], -rho[0], 0.0]])
        J = np.hstack([turning, one * np.eye(3), (shape + np.outer(short @ eta, g.axis)).T])
        M += J.T @ J
    M[:3, :3] += g.turning
    M[:3, 6:] += g.turning_modes.T
    M[6:, :3] += g.turning_modes
    M[6:, 6:] += g.turning_mass
    return M


def _left_jacobian(psi):
    """Int_0^1 exp(s psi~) ds, of a vector that may be complex."""
    block = np.zeros((6, 6), dtype=np.result_type(psi, float))
    block[:3, :3] = np.array([[0.0, -psi[2], psi[1]], [psi[2], 0.0, -psi[0]], [-psi[1], psi[0], 0.0]])
    block[:3, 3:] = np.eye(3)
    return expm(block)[:3, 3:]
