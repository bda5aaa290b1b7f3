# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Articulated-body inertias against the Riccati gather of the SKO reference, and what follows from them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from mb_contact.core.tree.articulated import articulated_inertias, impulse_response
from mb_contact.core.tree.kinematics import body_inertias, body_poses
from mb_contact.core.tree_workspace import make_articulated, make_kinematics
from mb_contact.studies import sko
from mb_contact.types import OK, SINGULAR_HINGE
from oracles.dense_oracle import sizes
from scenes.trees import EXAMPLES, FORESTS, TOLERANCE, Case, error, forest, packed, weightless


@given(FORESTS)
@EXAMPLES
def test_articulated_inertias_equal_the_riccati_gather(parameters):
    """P(k) of every body, and det D(k) of its hinge."""
    case = Case(**parameters)
    tree, kin, art = case.tree, make_kinematics(case.n, case.N), make_articulated(case.n, case.N)
    body_poses(tree, case.q, kin)
    body_inertias(tree, kin)
    reference = sko.riccati(case.sko)
    assert articulated_inertias(tree, kin, 0.0, art) == (OK, -1)
    for k in range(case.n):
        assert error(art.P[k], packed(reference.P[k])) <= TOLERANCE
        s = slice(tree.v_start[k], tree.v_start[k] + tree.nv[k])
        assert -np.log(art.D_inv[s]).sum() == pytest.approx(np.linalg.slogdet(reference.D[k])[1], abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_determinant_of_the_mass_matrix_is_the_product_of_the_hinge_inertias(seed):
    """J11: det M = product of det D(k)."""
    _, model, q, _, dense = forest(seed, 6, 2, multi=0.4)
    tree, (n, N, _) = model.tree, sizes(model.tree)
    kin, art = make_kinematics(n, N), make_articulated(n, N)
    body_poses(tree, q, kin)
    body_inertias(tree, kin)
    assert articulated_inertias(tree, kin, 0.0, art) == (OK, -1)
    log = -np.log(art.D_inv).sum()
    assert log == pytest.approx(np.linalg.slogdet(dense.mass_matrix())[1], rel=1e-10, abs=1e-10)


def response(model, q, impulse, joint_impulse, dt):
    """Velocity jump by the impulse sweep."""
    n, N, _ = sizes(model.tree)
    kin, art = make_kinematics(n, N), make_articulated(n, N)
    body_poses(model.tree, q, kin)
    body_inertias(model.tree, kin)
    assert articulated_inertias(model.tree, kin, dt, art) == (OK, -1)
    dv = np.zeros(N)
    impulse_response(model.tree, kin, art, impulse, joint_impulse, dv)
    return dv, art.alpha


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(3))
def test_impulse_response_equals_dense_solve(seed):
    """(M + dt d) dv = J* p + p_joint: the implicit damping is in the step's compliance too."""
    rng, model, q, _, dense = forest(seed, 4, 2)
    impulse, joint = rng.normal(size=(4, 6)), rng.normal(size=dense.N)
    J = np.vstack([dense.point_jacobian(k, dense.p[k]) for k in range(4)])
    for dt in (0.0, 0.01):
        dv, jump = response(model, q, impulse, joint, dt)
        want = np.linalg.solve(
            dense.mass_matrix() + dt * np.diag(model.tree.damping), J.T @ impulse.ravel() + joint
        )
        assert error(dv, want) <= 1e-11
        assert error(jump.ravel(), J @ want) <= 1e-11


def test_singular_hinge_status_names_the_body():
    _, model, q, _, _ = forest(2, 6, 1)
    tree = weightless(model.tree, 5)
    n, N, _ = sizes(tree)
    kin, art = make_kinematics(n, N), make_articulated(n, N)
    body_poses(tree, q, kin)
    body_inertias(tree, kin)
    assert articulated_inertias(tree, kin, 0.0, art) == (SINGULAR_HINGE, 5)
