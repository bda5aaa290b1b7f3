# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Joints that move links without mass: held, or given a rotor inertia where the mass matrix would be singular.

A chain of hinges whose last link alone has mass has a singular mass matrix where it is straight.  With mimic joints the
machine itself may be regular there, but the sweeps keep every joint of the tree and need an inertia at each.
"""

import numpy as np

from mb_contact.types import JOINT_PRISMATIC, JOINT_REVOLUTE, JOINT_SCREW, WORLD

SHARE = 0.01  #: of the inertia about a joint's axis that the links below have, as a guess of its rotor's
SINGULAR = 1e-10  #: least eigenvalue of a mass matrix with ones on its diagonal that is none of rounding


def hold_massless(reader, links, joints):
    """Make joints that move nothing but links without mass and inertia fixed, and what mimics them, with warnings."""
    above, weighs = {joint.child: joint.parent for joint in joints.values()}, set()
    for name, spec in links.items():
        link = None if spec.inertia.is_zero() else name
        while link is not None and link not in weighs:
            weighs.add(link)
            link = above.get(link)
    held = {joint.name for joint in joints.values() if joint.kind != "fixed" and joint.child in links.keys() - weighs}
    leaders = held.copy()
    while leaders:
        leaders = {joint.name for joint in joints.values() if joint.mimic is not None and joint.mimic.joint in leaders}
        leaders -= held
        held |= leaders
    for name in held:
        joints[name].kind, joints[name].mimic = "fixed", None
        reader.lenient["massless"] = "merge"
    if held:
        names = ", ".join(f"'{name}'" for name in joints if name in held)
        line = min(joints[name].line for name in held)
        reader.warnings.append(f"{reader.source}:{line}: joints that move no mass are held at zero: {names}")


def bare_joints(tree):
    """Bodies without mass and inertia of their own that a hinge or a slide moves."""
    scalar = np.isin(tree.joint_type, (JOINT_REVOLUTE, JOINT_PRISMATIC, JOINT_SCREW))
    return np.flatnonzero(scalar & (tree.mass == 0.0) & ~tree.inertia.any(axis=(1, 2))).tolist()


def mass_matrix_at_zero(tree, poses):
    """Mass matrix (N, N) of the hinges and slides with every joint at zero, sums of J* M J over the bodies.

    Parameters
    ----------
    tree : Tree
    poses : sequence of ((3, 3), (3,))
        Rotation and origin of each body in the inertial frame, every joint at zero.
    """
    M = np.zeros((len(tree.armature), len(tree.armature)))
    for k, (R, p) in enumerate(poses):
        com, inertia = p + R @ tree.com[k], R @ tree.inertia[k] @ R.T
        turning, moving = np.zeros((2, 3, len(M)))
        i = k
        while i != WORLD:
            axis, d = poses[i][0] @ tree.axis[i], tree.v_start[i]
            if tree.joint_type[i] in (JOINT_REVOLUTE, JOINT_SCREW):
                turning[:, d], moving[:, d] = axis, np.cross(axis, com - poses[i][1])
                if tree.joint_type[i] == JOINT_SCREW:
                    moving[:, d] += poses[i][0] @ tree.axis2[i]
            elif tree.joint_type[i] == JOINT_PRISMATIC:
                moving[:, d] = axis
            i = tree.parent[i]
        M += turning.T @ inertia @ turning + tree.mass[k] * moving.T @ moving
    return M


def is_singular(M):
    """Whether a mass matrix is, in units that put ones on its diagonal; rows of zeros are passed over."""
    scale = np.sqrt(np.diag(M))
    some = scale > 0.0
    M, scale = M[np.ix_(some, some)], scale[some]
    return len(M) > 0 and np.linalg.eigvalsh(M / np.outer(scale, scale))[0] < SINGULAR
