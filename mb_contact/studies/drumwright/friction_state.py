# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What FrictionSystem needs of a state, in few compiled calls (about 8 us of arguments each)."""

import numpy as np

from mb_contact.core.constraints.rows import row_velocities
from mb_contact.core.jit import kernel
from mb_contact.core.solve.equality_rows import EQUALITY_ROWS
from mb_contact.core.tree.articulated import articulated_inertias, free_acceleration
from mb_contact.core.tree.kinematics import bias_terms, body_inertias, body_poses, body_velocities
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


def row_residuals(eq, hard):
    """Complementarity gap, infeasibility, error of the equality rows, largest scaled free velocity.

    Normals ``hard`` are measured by sqrt(W_ii), like impulses and velocities of one unit; equality rows with their
    softness in it.  What is not finite counts as infinite.
    """
    rows = eq.equality[: eq.info[EQUALITY_ROWS]]
    soft = eq.softness[: len(rows)]
    s, s_rows = np.sqrt(eq.diagonal[hard]), np.sqrt(eq.diagonal[rows] + soft)
    least = np.minimum(eq.r[hard] * s, eq.u[hard] / s)
    error = np.abs(eq.u[rows] + soft * eq.r[rows]) / s_rows
    free = np.abs(np.concatenate([eq.q[hard] / s, eq.q[rows] / s_rows]))
    wrong = [part if np.isfinite(part).all() else np.array([np.inf]) for part in (least, -least, error)]
    return tuple(float(part.max(initial=0.0)) for part in (*wrong, free))
