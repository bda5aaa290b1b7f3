# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""This package's side of the comparison: one function for each algorithm.

Each returns an ``Entry``: ``loop(R)`` repeats the complete work, from (q, v, effort) to the result, R times in
compiled code and cycles through the states; ``value(s)`` is the result at state s; ``call(s)`` is the friendly
function of :mod:`mb_contact.dynamics`, for the column "called from Python" (None where there is none).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from cases import GRAVITY, mb
from numba import njit

from mb_contact.core.articulated import articulated_inertias, free_acceleration
from mb_contact.core.compliance import compliance_blocks, compliance_sweep, mark_essential, node_row, row_compliance
from mb_contact.core.composite import composite_inertias, mass_matrix
from mb_contact.core.contact_rows import row_sides
from mb_contact.core.inverse_dynamics import inverse_dynamics
from mb_contact.core.kinematics import bias_terms, body_inertias, body_poses, body_velocities
from mb_contact.core.spatial import rotate
from mb_contact.core.workspace import make_articulated, make_compliance, make_kinematics, make_rows


class Entry(NamedTuple):
    loop: object
    value: object
    call: object


class Work:
    """States as arrays and the kernels' workspaces."""

    def __init__(self, case):
        self.case, self.tree = case, case.model.tree
        n, N = case.model.n, case.model.N
        self.n, self.N = n, N
        self.Q, self.V, self.E, self.A = (np.array(rows) for rows in zip(*case.states))
        self.kin, self.art = make_kinematics(n, N), make_articulated(n, N)
        self.alpha, self.force = np.zeros((n, 6)), np.zeros((n, 6))
        self.out = np.zeros(N)


# --- forward dynamics -----------------------------------------------------------------------------


@njit(error_model="numpy")
def _aba(tree, kin, art, gravity, external, Q, V, E, out, first, R):
    for r in range(first, first + R):
        s = r % Q.shape[0]
        body_poses(tree, Q[s], kin)
        body_inertias(tree, kin)
        body_velocities(tree, kin, V[s], kin.V)
        bias_terms(tree, kin, V[s])
        articulated_inertias(tree, kin, 0.0, art)
        free_acceleration(tree, kin, art, gravity, E[s], V[s], external, out)


def ours_aba(case):
    w = Work(case)
    external = np.zeros((w.n, 6))

    def loop(R, first=0):
        _aba(w.tree, w.kin, w.art, GRAVITY, external, w.Q, w.V, w.E, w.out, first, R)

    return Entry(loop, lambda s: (loop(1, s), w.out.copy())[1],
                 lambda s: mb.forward_dynamics(case.model, w.Q[s], w.V[s], w.E[s], GRAVITY))


# --- mass matrix ----------------------------------------------------------------------------------


@njit(error_model="numpy")
def _crba(tree, kin, mass, column, M, Q, first, R):
    for r in range(first, first + R):
        s = r % Q.shape[0]
        body_poses(tree, Q[s], kin)
        body_inertias(tree, kin)
        for k in range(mass.shape[0]):
            mass[k] = tree.mass[k]
        composite_inertias(tree, kin.l, kin.I, kin.mc, mass)
        mass_matrix(tree, kin, kin.I, kin.mc, mass, column, M)


def ours_crba(case):
    w = Work(case)
    mass, column, M = np.zeros(w.n), np.zeros((6, 6)), np.zeros((w.N, w.N))

    def loop(R, first=0):
        _crba(w.tree, w.kin, mass, column, M, w.Q, first, R)

    return Entry(loop, lambda s: (loop(1, s), M.copy())[1], lambda s: mb.mass_matrix(case.model, w.Q[s]))


# --- inverse dynamics -----------------------------------------------------------------------------


@njit(error_model="numpy")
def _rnea(tree, kin, gravity, alpha, force, Q, V, A, out, first, R):
    for r in range(first, first + R):
        s = r % Q.shape[0]
        body_poses(tree, Q[s], kin)
        body_inertias(tree, kin)
        body_velocities(tree, kin, V[s], kin.V)
        bias_terms(tree, kin, V[s])
        inverse_dynamics(tree, kin, gravity, A[s], alpha, force, out)


def ours_rnea(case):
    w = Work(case)

    def loop(R, first=0):
        _rnea(w.tree, w.kin, GRAVITY, w.alpha, w.force, w.Q, w.V, w.A, w.out, first, R)

    return Entry(loop, lambda s: (loop(1, s), w.out.copy())[1],
                 lambda s: mb.inverse_dynamics(case.model, w.Q[s], w.V[s], w.A[s], GRAVITY))


# --- operational-space compliance -----------------------------------------------------------------


@njit(error_model="numpy")
def _node_rows(kin, body, p_node, size, rows):
    """``size`` rows a node: 3 for a point, 6 (angular first) for a frame; world axes at the node."""
    rows.touched[:] = 0
    for i in range(body.shape[0]):
        k = body[i]
        x, y, z = rotate(kin.R, k, p_node[i, 0], p_node[i, 1], p_node[i, 2])
        x, y, z = x + kin.p[k, 0], y + kin.p[k, 1], z + kin.p[k, 2]
        rows.touched[k] = 1
        for a in range(size):
            row = size * i + a
            rows.body_a[row] = k
            rows.body_b[row] = -1
            if size == 6 and a < 3:
                rows.on_a[row, :] = 0.0
                rows.on_a[row, a] = 1.0
            else:
                b = a % 3
                node_row(kin.p, k, x, y, z, 1.0 * (b == 0), 1.0 * (b == 1), 1.0 * (b == 2), rows.on_a, row)


@njit(error_model="numpy")
def _oscm(tree, kin, art, com, rows, body, p_node, size, L, Q, first, R):
    for r in range(first, first + R):
        s = r % Q.shape[0]
        body_poses(tree, Q[s], kin)
        body_inertias(tree, kin)
        articulated_inertias(tree, kin, 0.0, art)
        _node_rows(kin, body, p_node, size, rows)
        count = mark_essential(tree, rows.touched, com)
        compliance_sweep(tree, kin, art, com)
        compliance_blocks(tree, com, count)
        row_sides(com, rows, L.shape[0])
        row_compliance(com, rows, L.shape[0], count, L)


def ours_oscm(case):
    w = Work(case)
    com, rows = make_compliance(w.n), make_rows(w.n, case.rows)
    L = np.zeros((case.rows, case.rows))

    def loop(R, first=0):
        _oscm(w.tree, w.kin, w.art, com, rows, case.body, case.p, case.size, L, w.Q, first, R)

    # the friendly function knows frames only: no Python column for points
    call = None if case.size == 3 else lambda s: mb.operational_compliance(case.model, w.Q[s], case.links)
    return Entry(loop, lambda s: (loop(1, s), L.copy())[1], call)
