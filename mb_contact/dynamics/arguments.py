# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the wrappers share: sizes, checked coordinates, the first sweeps, and the sentence about a singular hinge."""

from __future__ import annotations

import numpy as np

from mb_contact.checks import as_vector
from mb_contact.core.articulated import articulated_inertias
from mb_contact.core.kinematics import bias_terms, body_inertias, body_poses, body_velocities
from mb_contact.core.workspace import make_articulated, make_kinematics
from mb_contact.errors import DynamicsError, InputError
from mb_contact.types import JOINT_FLOATING, JOINT_NQ, JOINT_SPHERICAL, OK

GRAVITY = (0.0, 0.0, -9.81)  #: default gravity [m/s^2]


def sizes(model):
    """Bodies n, degrees of freedom N, and the length of q."""
    tree = model.tree
    n = tree.parent.shape[0]
    N = tree.armature.shape[0]
    nq = int(tree.q_start[n - 1]) + JOINT_NQ[tree.joint_type[n - 1]] if n else 0
    return n, N, nq


def kinematics(model, q, v=None):
    """Poses, inertias and, with v, velocities and bias terms."""
    n, N, nq = sizes(model)
    q = as_vector(q, nq, "q")
    _refuse_zero_quaternions(model, q)
    kin = make_kinematics(n, N)
    body_poses(model.tree, q, kin)
    body_inertias(model.tree, kin)
    if v is not None:
        v = as_vector(v, N, "v")
        body_velocities(model.tree, kin, v, kin.V)
        bias_terms(model.tree, kin, v)
    return kin


def _refuse_zero_quaternions(model, q):
    kind = model.tree.joint_type
    for k in np.flatnonzero((kind == JOINT_FLOATING) | (kind == JOINT_SPHERICAL)):
        start = model.tree.q_start[k] + (3 if kind[k] == JOINT_FLOATING else 0)
        if not q[start : start + 4].any():
            raise InputError(zero_quaternion_message(model, k))


def zero_quaternion_message(model, body):
    """One sentence about a quaternion that is no rotation."""
    return f"the quaternion of '{model.body_names[body]}' in q is zero; give a rotation"


def articulated(model, kin):
    """The Riccati gather, without joint damping.

    Raises
    ------
    DynamicsError
        A hinge carries no inertia.
    """
    n, N, _ = sizes(model)
    art = make_articulated(n, N)
    status, body = articulated_inertias(model.tree, kin, 0.0, art)
    if status != OK:
        raise DynamicsError(singular_hinge_message(model, body))
    return art


def singular_hinge_message(model, body):
    """One sentence about a hinge without inertia."""
    names = getattr(model, "body_names", None)
    joints = getattr(model, "body_joint_names", None)
    joint = f"joint '{joints[body]}'" if joints else "the joint"
    link = f"link '{names[body]}'" if names else f"body {body}"
    return (
        f"{joint} moves {link}, which has no inertia along that motion: give that link or one below it a mass, "
        "or make the joint fixed"
    )
