# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Poses of the bodies of a tree at given coordinates, by the joints' motions; roots of its branches."""

import numpy as np

from mb_contact.model.rotations import quat_to_matrix, rotation_about
from mb_contact.types import (
    JOINT_FLOATING,
    JOINT_PLANAR,
    JOINT_PRISMATIC,
    JOINT_REVOLUTE,
    JOINT_SCREW,
    JOINT_SPHERICAL,
    JOINT_UNIVERSAL,
    WORLD,
)


def tree_roots(parent):
    """Body at the root of the tree of each body, int64 (n,)."""
    root = np.arange(len(parent), dtype=np.int64)
    for k, above in enumerate(parent):
        if above != WORLD:
            root[k] = root[above]
    return root


def tree_poses(tree, q, flexible=()):
    """Body rotations (n, 3, 3) and origins (n, 3) of ``tree`` at ``q``, in the inertial frame.

    ``flexible`` are the FlexibleBody of its flexible links.
    """
    n = len(tree.parent)
    R, p = np.empty((n, 3, 3)), np.empty((n, 3))
    deformed = {k: motion for link in flexible for k, motion in link.node_motions(tree, q)}
    for k in range(n):
        parent = tree.parent[k]
        R_move, p_move = deformed[k] if k in deformed else joint_motion(tree, k, q)
        R_local = tree.R_joint[k] @ R_move
        p_local = tree.p_joint[k] + tree.R_joint[k] @ p_move
        if parent == WORLD:
            R[k], p[k] = R_local, p_local
        else:
            R[k], p[k] = R[parent] @ R_local, p[parent] + R[parent] @ p_local
    return R, p


def joint_motion(tree, k, q):
    """Rotation (3, 3) and displacement (3,) [m] of joint k in its joint frame, out of all coordinates q."""
    kind, q = tree.joint_type[k], q[tree.q_start[k]:]
    axis, axis2, still = tree.axis[k], tree.axis2[k], np.zeros(3)
    if kind == JOINT_REVOLUTE:
        return rotation_about(axis, q[0]), still
    if kind == JOINT_PRISMATIC:
        return np.eye(3), q[0] * axis
    if kind == JOINT_SCREW:
        return rotation_about(axis, q[0]), q[0] * axis2
    if kind == JOINT_FLOATING:
        return quat_to_matrix(q[3:7]), q[:3].copy()
    if kind == JOINT_PLANAR:
        return rotation_about(axis, q[2]), q[0] * axis2 + q[1] * np.cross(axis, axis2)
    if kind == JOINT_SPHERICAL:
        return quat_to_matrix(q[:4]), still
    if kind == JOINT_UNIVERSAL:
        return rotation_about(axis, q[0]) @ rotation_about(axis2, q[1]), still
    return np.eye(3), still  # a weld, or a mode, which moves nothing by itself
