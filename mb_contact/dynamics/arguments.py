# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the wrappers share: sizes, checked coordinates, the first sweeps, and the sentence about a singular hinge."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from mb_contact.checks import as_vector
from mb_contact.core.tree.articulated import articulated_inertias
from mb_contact.core.tree.kinematics import bias_terms, body_inertias, body_poses, body_velocities
from mb_contact.core.tree.modified_articulated import factored_inertias, make_factors
from mb_contact.core.tree_workspace import flexible_aggregates, make_articulated, make_kinematics, make_modal
from mb_contact.errors import DynamicsError, InputError
from mb_contact.model.model import Frame
from mb_contact.model.scene import GRAVITY as GRAVITY
from mb_contact.types import JOINT_FLOATING, JOINT_NQ, JOINT_SPHERICAL, LEAST_SQUARE, OK, WORLD, Tree

UNIT = 4.0 * np.finfo(float).eps  #: by which the length of a unit quaternion may miss one


class TreeModel(Protocol):
    """What the functions of this room ask of a model: a Model, a World, or any tree with named frames."""

    @property
    def tree(self) -> Tree:
        """Its bodies."""

    @property
    def frames(self) -> Mapping[str, Frame]:
        """Named places on them."""


def sizes(model):
    """Bodies n, degrees of freedom N, and the length of q."""
    if not hasattr(model, "tree"):
        raise InputError(f"model must be a Model or a World, got {type(model).__name__}; load_urdf makes one")
    tree = model.tree
    n = tree.parent.shape[0]
    N = tree.armature.shape[0]
    nq = int(tree.q_start[n - 1]) + JOINT_NQ[tree.joint_type[n - 1]] if n else 0
    return n, N, nq


def kinematics(model, q, v=None):
    """Poses, inertias and, with v, velocities and bias terms."""
    n, N, nq = sizes(model)
    q = as_vector(q, nq, "q")
    refuse_zero_quaternions(model, q)
    kin = make_kinematics(n, N, make_modal(model.tree, flexible_of(model)))
    body_poses(model.tree, q, kin)
    body_inertias(model.tree, kin)
    if v is not None:
        v = as_vector(v, N, "v")
        body_velocities(model.tree, kin, v, kin.V)
        bias_terms(model.tree, kin, v)
    return kin


def flexible_of(model):
    """FlexibleBody of each flexible link of a model or a world; none of a bare tree."""
    return getattr(model, "flexible", ())


def quaternions(tree):
    """Slices of q that are quaternions, by body."""
    kind = tree.joint_type
    bodies = np.flatnonzero((kind == JOINT_FLOATING) | (kind == JOINT_SPHERICAL)).tolist()
    starts = {k: int(tree.q_start[k]) + (3 if kind[k] == JOINT_FLOATING else 0) for k in bodies}
    return {k: slice(start, start + 4) for k, start in starts.items()}


def refuse_zero_quaternions(model, q):
    """Raise InputError where a quaternion in q names no rotation."""
    for k, part in quaternions(model.tree).items():
        if not _rotates(q[part]):
            raise InputError(zero_quaternion_message(model, k))


def make_unit_quaternions(model, q):
    """Coordinates (k, nq) with unit quaternions, in place: those that have one but for rounding stay as they are."""
    for row in q:
        refuse_zero_quaternions(model, row)
    for part in quaternions(model.tree).values():
        length = np.linalg.norm(q[:, part], axis=1)[:, None]
        q[:, part] /= np.where(np.abs(length - 1.0) <= UNIT, 1.0, length)


def _rotates(quaternion):
    """Whether four numbers, not all too small or too large to be squared, name a rotation."""
    return LEAST_SQUARE**0.5 <= np.abs(quaternion).max() <= LEAST_SQUARE**-0.5


def zero_quaternion_message(model, body):
    """One sentence about a quaternion that is no rotation."""
    return f"the quaternion of '{model.body_names[body]}' in q is zero or far from a unit one; give a rotation"


def articulated(model, kin, modified=False):
    """The Riccati gather, without joint damping; ``modified``: that of factored inertias (P00's modified ABM).

    Raises
    ------
    DynamicsError
        A hinge carries no inertia.
    """
    n, N, _ = sizes(model)
    art = make_articulated(n, N, flexible_aggregates(model.tree, flexible_of(model)))
    if modified and flexible_of(model):
        link = flexible_of(model)[0].link
        raise DynamicsError(f"method 'modified_abm' knows rigid bodies, and '{link}' is a flexible link; use 'abm'")
    gather, factors = (factored_inertias, (make_factors(n),)) if modified else (articulated_inertias, ())
    status, body = gather(model.tree, kin, 0.0, *factors, art)
    if status != OK:
        raise DynamicsError(singular_hinge_message(model, body))
    return art


def singular_hinge_message(model, body):
    """One sentence about a hinge without inertia: its joint and its link by name, as far as the model has names."""
    link = getattr(model, "body_names", None)
    joint = hinge_name(model, body)
    moves = f" that moves '{link[body]}'" if link else ("" if joint else f" of body {body}")
    name = f"joint '{joint}'" if joint else "the joint"
    return (
        f"{name}{moves} carries no inertia along its axis: give that link or one below it a mass and an inertia, "
        "or the joint an armature"
    )


def hinge_name(model, body):
    """Name of the joint that moves a body, None where it has none (a free object, a bare tree)."""
    names = getattr(model, "body_joint_names", None)
    if names is not None:
        return names[body]
    for robot in getattr(model, "robot_models", ()):  # a World: its robots come first, in order
        if body < robot.n:
            return robot.body_joint_names[body]
        body -= robot.n
    return None


def gravity_of(tree, gravity, body):
    """Gravity (3,) of a body [m/s^2]: its own, or the scene's ``gravity``; likewise of the inertial frame."""
    if body == WORLD or not len(tree.body_gravity) or np.isnan(tree.body_gravity[body, 0]):
        return gravity
    return tree.body_gravity[body]


def refuse_own_gravity(tree, what):
    """InputError where a body has a gravity of its own, which ``what`` does not know."""
    if tree.body_gravity.size and not np.isnan(tree.body_gravity).all():
        raise InputError(f"{what} know one gravity for all bodies; take that of single bodies back to the scene's")
