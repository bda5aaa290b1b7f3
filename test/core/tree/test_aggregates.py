# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The sweeps with embedded loops and gears against the dense tree with multipliers, over random graphs.

Covers core/tree/aggregate_compliance.py, core/tree/closures.py, core/tree/hinges.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space

from mb_contact.core.tree.articulated import articulated_inertias, free_acceleration, impulse_response
from mb_contact.core.tree.compliance import compliance_blocks, compliance_sweep, mark_essential
from mb_contact.core.tree.kinematics import bias_terms, body_inertias, body_poses, body_velocities
from mb_contact.core.tree_workspace import make_articulated, make_compliance, make_kinematics
from mb_contact.types import OK
from oracles.closed_loops import multipliers, rows
from scenes.loops import ClosedForest
from scenes.trees import GRAVITY, error

pytestmark = pytest.mark.quick

SEEDS = range(40)


def swept(case, dt=0.0):
    """Kinematics and articulated inertias of a closed forest."""
    kin = make_kinematics(case.n, case.N)
    art = make_articulated(case.n, case.N, case.aggregates())
    body_poses(case.tree, case.q, kin)
    body_velocities(case.tree, kin, case.v, kin.V)
    body_inertias(case.tree, kin)
    bias_terms(case.tree, kin, case.v)
    assert articulated_inertias(case.tree, kin, dt, art) == (OK, -1)
    return kin, art


@pytest.mark.parametrize("seed", SEEDS)
def test_accelerations_equal_those_of_multipliers(seed):
    """Over random graphs, at states that fulfil the closures, to 1e-9; and the bodies' accelerations follow."""
    case = ClosedForest(seed, n=6 + seed % 9, multi=0.3 * (seed % 2))
    kin, art = swept(case)
    effort, v_dot = case.rng.normal(size=case.N), np.zeros(case.N)
    free_acceleration(case.tree, kin, art, GRAVITY, effort, case.v, np.zeros((case.n, 6)), v_dot)
    want, _, _ = multipliers(case.tree, case.closures, case.gears, case.q, case.v, effort, GRAVITY)
    assert error(v_dot, want) < 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_impulses_move_a_closed_chain_as_its_null_space_says(seed):
    """dv = Z (Z* (M + dt d) Z)^-1 Z* (J* p + p_joint), Z any basis of the velocities that the closures leave."""
    case = ClosedForest(seed, n=6 + seed % 9, multi=0.3 * (seed % 2))
    dt = 0.02
    kin, art = swept(case, dt)
    impulse, joint, dv = case.rng.normal(size=(case.n, 6)), case.rng.normal(size=case.N), np.zeros(case.N)
    impulse_response(case.tree, kin, art, impulse, joint, dv)
    M = case.dense.mass_matrix() + dt * np.diag(case.tree.damping)
    force = joint + sum(
        case.dense.point_jacobian(k, case.dense.p[k]).T @ impulse[k] for k in range(case.n)
    )
    Z = null_space(rows(case.tree, case.closures, case.gears, case.q), rcond=1e-9)
    want = Z @ np.linalg.solve(Z.T @ M @ Z, Z.T @ force)
    assert error(dv, want) < 1e-9
    for k in range(case.n):
        V = case.dense.point_jacobian(k, case.dense.p[k]) @ want
        assert np.allclose(art.alpha[k], V, atol=1e-8 * (1.0 + np.abs(V).max()))


@pytest.mark.parametrize("seed", SEEDS)
def test_compliances_between_bodies_of_closed_chains(seed):
    """Omega(i, j) = J_i Z (Z* M Z)^-1 Z* J_j* of every pair of touched bodies, in one aggregate, below, or apart."""
    case = ClosedForest(seed, n=6 + seed % 9, multi=0.3 * (seed % 2))
    kin, art = swept(case)
    Z = null_space(rows(case.tree, case.closures, case.gears, case.q), rcond=1e-9)
    inverse = Z @ np.linalg.solve(Z.T @ case.dense.mass_matrix() @ Z, Z.T)
    J = [case.dense.point_jacobian(k, case.dense.p[k]) for k in range(case.n)]
    for share in (1.0, 0.4):
        touched = (case.rng.random(case.n) < share).astype(np.int64)
        com = make_compliance(case.n)
        count = mark_essential(case.tree, art, touched, com)
        compliance_sweep(case.tree, kin, art, com)
        compliance_blocks(case.tree, art, com, count)
        scale = np.abs(inverse).max()
        for i in np.flatnonzero(touched):
            for j in np.flatnonzero(touched):
                a, b = com.essential[i], com.essential[j]
                want = J[i] @ inverse @ J[j].T
                if com.same_tree[a, b] == 0:
                    assert np.abs(want).max() < 1e-9 * scale
                else:
                    assert np.abs(com.Omega[a, b] - want).max() < 1e-9 * max(scale, np.abs(want).max())
