# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The tree in minimal coordinates (J14 section 4): mass matrix, smooth forces and the Jacobian of the rows."""

import numpy as np

from mb_contact.core.tree.composite import composite_inertias, mass_matrix, mirror
from mb_contact.core.tree.frames import frame_jacobians
from mb_contact.core.tree.inverse_dynamics import inverse_dynamics
from mb_contact.types import WORLD


def joint_mass_matrix(problem):
    """Mass matrix (N, N) by composite bodies, O(N^2) (Eq. 28); rotors and implicit damping included."""
    kin = problem.state.kin
    I, mc, mass = kin.I.copy(), kin.mc.copy(), problem.tree.mass.copy()
    composite_inertias(problem.tree, kin.l, I, mc, mass)
    M = np.zeros((problem.N, problem.N))
    mass_matrix(problem.tree, kin, I, mc, mass, np.zeros(problem.n, np.int64), np.zeros((9, problem.N)), M)
    mirror(M)
    M[np.diag_indices(problem.N)] += problem.damping
    return M


def smooth_forces(problem):
    """T - C (N,) of Eq. 28, the damping -d v with it."""
    n, N = problem.n, problem.N
    C = np.zeros(N)
    inverse_dynamics(
        problem.tree, problem.state.kin, problem.gravity, np.zeros(N), np.zeros((n, 6)), np.zeros((n, 6)), C
    )
    smooth = problem.effort - problem.tree.damping * problem.state.v - C
    pushed = np.flatnonzero(problem.external.any(axis=1))
    if len(pushed):
        smooth += body_jacobians(problem, pushed).reshape(-1, N).T @ problem.external[pushed].ravel()
    return smooth


def row_jacobian(problem):
    """G (R, N): velocities of the rows from joint rates (Eq. 29, 34), loops first."""
    rows = problem.rows
    G = np.zeros((len(rows.constant), problem.N))
    for side, on in ((rows.body_a, rows.on_a), (rows.body_b, rows.on_b)):
        there = side != WORLD
        bodies, which = np.unique(side[there], return_inverse=True)
        G[there] += np.einsum("ri,rij->rj", on[there], body_jacobians(problem, bodies)[which])
    return G


def body_jacobians(problem, bodies):
    """Jacobians (len(bodies), 6, N) of body origins."""
    kin = problem.state.kin
    J = np.zeros((6 * len(bodies), problem.N))
    frame_jacobians(problem.tree, kin, bodies, np.zeros(len(bodies), np.int64), np.ascontiguousarray(kin.p[bodies]), J)
    return J.reshape(-1, 6, problem.N)
