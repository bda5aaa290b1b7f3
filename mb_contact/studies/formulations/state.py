# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Everything that follows from q and v alone, and the body or link names that users give."""

import numpy as np

from mb_contact.checks import as_vector
from mb_contact.core.tree.frames import frame_bias
from mb_contact.core.tree.kinematics import bias_terms, body_inertias, body_poses, body_velocities
from mb_contact.core.tree_workspace import make_kinematics
from mb_contact.errors import InputError
from mb_contact.model.rotations import cross
from mb_contact.types import JOINT_NQ, WORLD


class BodyState:
    """Poses, velocities, inertias and bias terms of all bodies at (q, v), in world axes at the body origins.

    Attributes
    ----------
    kin : Kinematics
    drift : (n, 6)
        phi* a, the accelerations of the bodies when theta_dd = 0 and gravity is off.
    """

    def __init__(self, model, q, v):
        tree = model.tree
        self.tree = tree
        self.n = len(tree.parent)
        self.N = len(tree.armature)
        if self.n == 0:
            raise InputError("the model has no moving body, so there is no contact problem")
        nq = int(tree.q_start[-1]) + JOINT_NQ[tree.joint_type[-1]]
        self.q = as_vector(q, nq, "q")
        self.v = as_vector(v, self.N, "v")
        self.kin = make_kinematics(self.n, self.N)
        body_poses(tree, self.q, self.kin)
        if not np.isfinite(self.kin.R).all():
            raise InputError("q holds a quaternion that is zero; give a rotation")
        body_inertias(tree, self.kin)
        body_velocities(tree, self.kin, self.v, self.kin.V)
        bias_terms(tree, self.kin, self.v)
        self.drift = np.zeros((self.n, 6))
        none = np.zeros(0)
        nobody = np.zeros(0, np.int64)
        frame_bias(tree, self.kin, nobody, nobody, np.zeros((0, 3)), self.drift, none)

    def pose(self, body, R, p):
        """World pose of a frame (R, p) fixed on ``body``."""
        if body == WORLD:
            return R, p
        return self.kin.R[body] @ R, self.kin.p[body] + self.kin.R[body] @ p

    def spin(self, body):
        """Angular velocity (3,) of a body."""
        return self.kin.V[body, :3] if body != WORLD else np.zeros(3)

    def point_velocity(self, body, x):
        """Velocity (3,) of the point of ``body`` at world position x."""
        if body == WORLD:
            return np.zeros(3)
        return self.kin.V[body, 3:] + cross(self.kin.V[body, :3], x - self.kin.p[body])

    def centripetal(self, body, x):
        """omega x (omega x r) (3,) of the point of ``body`` at world position x."""
        if body == WORLD:
            return np.zeros(3)
        w = self.kin.V[body, :3]
        return cross(w, cross(w, x - self.kin.p[body]))

    def point_rows(self, body, x, directions):
        """Rows (m, 6) on V(body) whose values are the velocities of the point x along ``directions`` (m, 3)."""
        if body == WORLD:
            return np.zeros((len(directions), 6))
        r = x - self.kin.p[body]
        moments = np.column_stack([
            r[1] * directions[:, 2] - r[2] * directions[:, 1],
            r[2] * directions[:, 0] - r[0] * directions[:, 2],
            r[0] * directions[:, 1] - r[1] * directions[:, 0],
        ])  # fmt: skip
        return np.hstack([moments, directions])


def find_body(model, body, what):
    """Body index from an index, WORLD, or the name of a link.

    Raises
    ------
    InputError
        No such body or link; ``what`` says whose it is.
    """
    if isinstance(body, str):
        if body not in model.frames:
            raise InputError(f"{what}: there is no link '{body}'; the links are {', '.join(sorted(model.frames))}")
        return int(model.frames[body].body)
    if isinstance(body, (int, np.integer)) and WORLD <= body < len(model.tree.parent):
        return int(body)
    raise InputError(f"{what}: body must be a link name or -1 (world) ... {len(model.tree.parent) - 1}, got {body!r}")
