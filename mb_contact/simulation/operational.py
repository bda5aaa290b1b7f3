# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Operational-space quantities of the running simulation, on buffers made once: what controllers subscribe to."""

from __future__ import annotations

import numpy as np

from mb_contact.core.articulated import articulated_inertias
from mb_contact.core.compliance import compliance_blocks, compliance_sweep, mark_essential, row_compliance
from mb_contact.core.composite import composite_inertias, mass_matrix
from mb_contact.core.contact_rows import row_sides
from mb_contact.core.frames import frame_bias, frame_jacobians, frame_poses, frame_rows
from mb_contact.core.inverse_dynamics import inverse_dynamics
from mb_contact.core.workspace import make_articulated, make_compliance, make_rows
from mb_contact.dynamics import OperationalSpace, invert_compliance, singular_hinge_message
from mb_contact.errors import DynamicsError, InputError
from mb_contact.types import OK


class OperationalMonitor:
    """Jacobian, bias, compliance, inertia, mass matrix and nonlinear effects from the step's own kinematics."""

    def __init__(self, world, names):
        for name in names:
            if name not in world.frames:
                known = ", ".join(sorted(world.frames))
                raise InputError(f"there is no frame '{name}'; the frames are {known}")
        self._world = world
        self._names = tuple(names)
        n = world.tree.parent.shape[0]
        N = world.tree.armature.shape[0]
        f = len(names)
        picked = [world.frames[name] for name in names]
        self._body = np.array([frame.body for frame in picked], np.int64)
        self._R_frame = np.array([frame.R for frame in picked], float).reshape(f, 3, 3)
        self._p_frame = np.array([frame.p for frame in picked], float).reshape(f, 3)
        self._R = np.zeros((f, 3, 3))
        self._p = np.zeros((f, 3))
        self._J = np.zeros((6 * f, N))
        self._bias = np.zeros(6 * f)
        self._compliance = np.zeros((6 * f, 6 * f))
        self._rows = make_rows(n, 6 * f)
        self._art = make_articulated(n, N)
        self._com = make_compliance(n)
        self._vectors = np.zeros((2, n, 6))
        self._mass = np.zeros(n)
        self._inertia = np.zeros((n, 3, 3))
        self._moment = np.zeros((n, 3))
        self._M = np.zeros((N, N))
        self._effort = np.zeros(N)
        self._zero = np.zeros(N)
        self._force = np.zeros((6, 6))

    def operational_space(self, kin):
        """OperationalSpace of the frames at the state that ``kin`` describes; joint damping left out."""
        tree = self._world.tree
        f = len(self._names)
        frame_poses(kin, self._body, self._R_frame, self._p_frame, self._R, self._p)
        frame_jacobians(tree, kin, self._body, self._p, self._J)
        frame_bias(tree, kin, self._body, self._p, self._vectors[0], self._bias)
        status, body = articulated_inertias(tree, kin, 0.0, self._art)
        if status != OK:
            raise DynamicsError(singular_hinge_message(self._world, body))
        frame_rows(kin, self._body, self._p, self._rows)
        count = mark_essential(tree, self._rows.touched, self._com)
        compliance_sweep(tree, kin, self._art, self._com)
        compliance_blocks(tree, self._com, count)
        row_sides(self._com, self._rows, 6 * f)
        row_compliance(self._com, self._rows, 6 * f, count, self._compliance)
        inertia, rank = invert_compliance(self._compliance)
        return OperationalSpace(
            frames=self._names,
            jacobian=self._J[:, self._world.joint_v],
            bias=self._bias.copy(),
            compliance=self._compliance.copy(),
            inertia=inertia,
            rank=rank,
        )

    def mass_matrix(self, kin):
        """Mass matrix of the robots' joints by composite bodies."""
        tree = self._world.tree
        self._mass[:] = tree.mass
        self._inertia[:] = kin.I
        self._moment[:] = kin.mc
        composite = kin._replace(I=self._inertia, mc=self._moment)
        composite_inertias(tree, composite, self._mass)
        mass_matrix(tree, composite, self._mass, self._force, self._M)
        joints = self._world.joint_v
        return self._M[np.ix_(joints, joints)]

    def nonlinear_effects(self, kin, gravity):
        """Coriolis, centrifugal and gravity efforts of the robots' joints."""
        inverse_dynamics(
            self._world.tree, kin, gravity, self._zero, self._vectors[0], self._vectors[1], self._effort
        )
        return self._effort[self._world.joint_v]
