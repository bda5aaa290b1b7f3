# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""SKO models of rigid trees by the recipe of J11 section 8.1, in world axes, each body about its own origin."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_vector
from mb_contact.dynamics.arguments import GRAVITY, TreeModel
from mb_contact.errors import InputError, ModelError
from mb_contact.model.model import Model
from mb_contact.model.poses import tree_poses
from mb_contact.model.rotations import cross
from mb_contact.model.world import World
from mb_contact.studies.sko.digraph import TreeDigraph
from mb_contact.studies.sko.model import SkoModel
from mb_contact.studies.sko.operators import Spo
from mb_contact.types import (
    JOINT_FLOATING,
    JOINT_NQ,
    JOINT_PLANAR,
    JOINT_PRISMATIC,
    JOINT_REVOLUTE,
    JOINT_SCREW,
    JOINT_SPHERICAL,
    JOINT_UNIVERSAL,
    JOINT_WELD,
    WORLD,
)


def rigid_tree(
    model: TreeModel, q: ArrayLike, v: ArrayLike | None = None, gravity: ArrayLike = GRAVITY, armature: bool = True
) -> SkoModel:
    """The SKO model of a tree of rigid bodies at coordinates q and velocities v.

    The steps of section 8.1: the standard digraph, one node a body; node velocities V = [omega; v] in world axes at
    the body's origin, with the spatial inertia as M(k); ``V(k) = phi*(p, k) V(p) + H*(k) theta_dot(k)``;
    the bias terms.  Gravity enters as an acceleration -g of the inertial frame, so alpha contains it.

    A rotor inertia (``armature``) makes its node larger: V(k) = [omega; v; rates of the rotors], with the rotor
    inertias behind M(k) and ones behind H(k).  The parent does not move those rates, so weights of
    such nodes are singular and, beside nodes without rotors, not square.

    Parameters
    ----------
    model : Model, World or Tree
    q : array_like (nq,)
    v : array_like (N,), optional
        Zero by default.
    gravity : array_like (3,)
        [m/s^2]
    armature : bool
        Whether rotor inertias count.

    Returns
    -------
    SkoModel
        Node k is body k, and its N degrees of freedom are those of v.
    """
    tree: Any = getattr(model, "tree", model)
    n, N = len(tree.parent), int(np.sum(tree.nv))
    for link in getattr(model, "flexible", ()):
        raise ModelError(f"'{link.link}' is a flexible link, which sko.flexible_tree knows")
    names = getattr(model, "body_names", None) or [f"body {k}" for k in range(n)]
    for i in np.flatnonzero(np.asarray(tree.joint_type) >= len(JOINT_NQ)):
        raise ModelError(f"the joint of {names[i]} has type {tree.joint_type[i]}, which sko.rigid_tree does not know")
    nq = int(np.array(JOINT_NQ)[tree.joint_type].sum())
    q = as_vector(q, nq, "q")
    v = np.zeros(N) if v is None else as_vector(v, N, "v")
    gravity = as_vector(gravity, 3, "gravity")
    R, p = tree_poses(tree, q)
    hinge = [hinge_map(tree, k, R) for k in range(n)]
    rotors = [_rotors(tree, k, armature) for k in range(n)]
    V, a = _velocities(tree, p, hinge, v, gravity)
    sizes = [6 + len(rotors[k]) for k in range(n)]
    weights, H, M, a_full, b_full = [], [], [], [], []
    for k in range(n):
        parent = int(tree.parent[k])
        inertia, c = spatial_inertia(tree, k, R[k])
        w, spare = V[k][:3], len(rotors[k])
        b = np.concatenate((cross(w, inertia[:3, :3] @ w), tree.mass[k] * cross(w, cross(w, c))))
        weights.append(None if parent == WORLD else _padded(shift(p[k] - p[parent]), sizes[parent], sizes[k]))
        H.append(np.hstack((hinge[k], np.eye(len(hinge[k]))[:, rotors[k]])))
        M.append(_padded(inertia, sizes[k], sizes[k]))
        M[k][range(6, sizes[k]), range(6, sizes[k])] = tree.armature[tree.v_start[k] + rotors[k]]
        a_full.append(np.concatenate((a[k], np.zeros(spare))))
        b_full.append(np.concatenate((b, np.zeros(spare))))
    phi = Spo(TreeDigraph(tree.parent), weights, sizes)
    return SkoModel(phi, H, M, phi.stack(a_full), phi.stack(b_full), names)


def frame_picks(
    sko_model: SkoModel, robot: Model | World, q: ArrayLike, frames: Sequence[str]
) -> list[tuple[int, Floats]]:
    """Pick-off blocks of named frames, for :func:`~mb_contact.studies.sko.operational.operational_compliance`.

    Parameters
    ----------
    sko_model : SkoModel
        ``rigid_tree(robot, q, ...)``.
    robot : Model or World
    q : array_like (nq,)
    frames : sequence of str
        Task velocities are those of the frames' origins, in world axes.

    Returns
    -------
    list of (int, ndarray (m(k), 6))
    """
    R, p = tree_poses(robot.tree, as_vector(q, name="q"))
    picks = []
    for name in frames:
        if name not in robot.frames or robot.frames[name].body == WORLD:
            raise InputError(f"there is no frame '{name}' on a moving body")
        frame = robot.frames[name]
        picks.append((frame.body, pickoff(sko_model, frame.body, R[frame.body] @ frame.p)))
    return picks


def pickoff(sko_model: SkoModel, node: int, offset: ArrayLike) -> Floats:
    """Pick-off block (m(k), 6) of the point of a rigid body at ``offset`` (3,) [m] from its origin, world axes.

    Parameters
    ----------
    sko_model : SkoModel
        ``rigid_tree(...)``.
    node : int
        The body.
    offset : array_like (3,)
        [m], world axes.

    Returns
    -------
    ndarray (m(k), 6)
    """
    return _padded(shift(as_vector(offset, 3, "offset")), sko_model.phi.sizes[node], 6)


def skew(x: Floats) -> Floats:
    """Cross-product matrix (3, 3).

    Parameters
    ----------
    x : ndarray (3,)
        A vector.

    Returns
    -------
    ndarray (3, 3)
    """
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def shift(l):
    """phi = [[I, skew(l)], [0, I]]: rigid body transformation over l."""
    phi = np.eye(6)
    phi[:3, 3:] = skew(l)
    return phi


def _padded(X, rows, columns):
    """X in the corner of a matrix of zeros."""
    full = np.zeros((rows, columns))
    full[: X.shape[0], : X.shape[1]] = X
    return full


def hinge_map(tree, k, R):
    """H(k) (r, 6) in world axes."""
    kind, parent, zero = tree.joint_type[k], tree.parent[k], np.zeros((3, 3))
    base = tree.R_joint[k] if parent == WORLD else R[parent] @ tree.R_joint[k]  # the joint frame, fixed in the parent
    axis, in_plane = base @ tree.axis[k], base @ tree.axis2[k]
    if kind == JOINT_FLOATING:
        return np.eye(6)
    if kind == JOINT_WELD:
        return np.zeros((0, 6))
    if kind == JOINT_PRISMATIC:
        return np.concatenate((zero[0], axis))[None]
    if kind == JOINT_REVOLUTE:
        return np.concatenate((axis, zero[0]))[None]
    if kind == JOINT_SCREW:  # in_plane is the displacement per radian
        return np.concatenate((axis, in_plane))[None]
    if kind == JOINT_PLANAR:
        return np.array([[*zero[0], *in_plane], [*zero[0], *cross(axis, in_plane)], [*axis, *zero[0]]])
    if kind == JOINT_SPHERICAL:
        return np.hstack((base.T, zero))
    # universal: the second axis is fixed in the body
    return np.array([[*axis, *zero[0]], [*(R[k] @ tree.axis2[k]), *zero[0]]])


def _rotors(tree, k, armature):
    """Degrees of freedom of joint k that turn a rotor."""
    start = tree.v_start[k]
    return np.flatnonzero(tree.armature[start : start + tree.nv[k]] > 0.0) if armature else np.zeros(0, np.int64)


def spatial_inertia(tree, k, R):
    """M(k) at the body's origin and the centre of mass from there, world axes."""
    c, m = R @ tree.com[k], tree.mass[k]
    C = skew(c)
    J = R @ tree.inertia[k] @ R.T - m * C @ C
    return np.block([[J, m * C], [-m * C, m * np.eye(3)]]), c


def _velocities(tree, p, hinge, v, gravity):
    """Body velocities V(k), and the Coriolis accelerations a(k) with -g at the bodies on the inertial frame.

    With l the vector between the origins: d/dt (omega_p x l) leaves omega_p x (v - v_p) beside the terms of phi* alpha,
    and d/dt of an axis fixed in the parent omega_p x axis; the first axis of a universal joint turns the second too.
    The axes of a floating body are the inertial frame's.
    """
    V, a = [], []
    for k in range(len(tree.parent)):
        rates = v[tree.v_start[k] : tree.v_start[k] + tree.nv[k]]
        joint = hinge[k].T @ rates
        own = np.zeros(3)
        if tree.joint_type[k] == JOINT_UNIVERSAL:
            own = cross(hinge[k][0, :3], hinge[k][1, :3]) * rates[0] * rates[1]
        parent = tree.parent[k]
        if parent == WORLD:
            V.append(joint)
            a.append(np.concatenate((own, -gravity)))
            continue
        w = V[parent][:3]
        V.append(shift(p[k] - p[parent]).T @ V[parent] + joint)
        linear = cross(w, V[k][3:] - V[parent][3:])
        a.append(np.concatenate((own + cross(w, joint[:3]), linear + cross(w, joint[3:]))))
    return V, a
