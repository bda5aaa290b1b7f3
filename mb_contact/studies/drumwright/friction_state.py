# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the friction models of ``contact/`` need of a state, in few compiled calls (about 8 us of arguments each)."""

from __future__ import annotations

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.constraints.rows import row_velocities
from mb_contact.core.jit import kernel
from mb_contact.core.tree.articulated import articulated_inertias, free_acceleration
from mb_contact.core.tree.kinematics import bias_terms, body_inertias, body_poses, body_velocities
from mb_contact.studies.drumwright.equality_rows import EQUALITY_ROWS
from mb_contact.studies.drumwright.point_rows import bilateral_rows, point_rows


@kernel
def prepare_state(tree, q, v, dt, kin, art):
    """Kinematics, bias terms and articulated inertias; returns (status, body of a singular hinge)."""
    body_poses(tree, q, kin)
    body_velocities(tree, kin, v, kin.V)
    body_inertias(tree, kin)
    bias_terms(tree, kin, v)
    return articulated_inertias(tree, kin, dt, art)


@kernel
def prepare_rows(origin, constraints, contacts, rows):
    """Rows of the constraints, then of the contacts."""
    c = contacts
    b = constraints
    bilateral_rows(origin, b.body_a, b.body_b, b.point, b.direction, b.angular, rows)
    point_rows(origin, c.body_a, c.body_b, c.point, c.normal, c.t1, c.t2, b.body_a.shape[0], rows)


@kernel
def free_rows(tree, kin, art, gravity, effort, v, dt, external, rows, n_rows, v_dot, v_free, V, u):
    """Free accelerations, the velocity they lead to in dt, and the rows' velocities u then."""
    free_acceleration(tree, kin, art, gravity, effort, v, external, v_dot)
    for i in range(v.shape[0]):
        v_free[i] = v[i] + dt * v_dot[i]
    body_velocities(tree, kin, v_free, V)
    row_velocities(rows, n_rows, V, u)


@kernel
def judge_rows(eq, hard, count, judge):
    """Complementarity gap, infeasibility, error of the equality rows, largest scaled free velocity.

    From the impulses ``eq.r`` and the velocities ``eq.u`` that the sweep gave for them; no matrix is used.
    """
    fill(4, judge, 0.0)
    for i in range(count):
        row = hard[i]
        s = np.sqrt(eq.diagonal[row])
        z = eq.r[row] * s
        w = eq.u[row] / s
        if not np.isfinite(z + w):
            judge[0] = np.inf
            judge[1] = np.inf
        judge[0] = max(judge[0], min(z, w))
        judge[1] = max(judge[1], -min(z, w))
        judge[3] = max(judge[3], abs(eq.q[row]) / s)
    for i in range(eq.info[EQUALITY_ROWS]):
        row = eq.equality[i]
        c = eq.softness[i]
        s = np.sqrt(eq.diagonal[row] + c)
        error = abs(eq.u[row] + c * eq.r[row]) / s
        judge[2] = max(judge[2], error if np.isfinite(error) else np.inf)
        judge[3] = max(judge[3], abs(eq.q[row]) / s)
