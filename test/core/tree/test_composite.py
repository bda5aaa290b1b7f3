# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Composite-body inertias against the SKO reference and the whole tree frozen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from mb_contact.core.tree.composite import composite_inertias
from mb_contact.core.tree.kinematics import body_inertias, body_poses
from mb_contact.core.tree_workspace import make_kinematics
from mb_contact.studies import sko
from oracles.dense_oracle import sizes
from scenes.trees import EXAMPLES, FORESTS, TOLERANCE, Case, error, forest


@given(FORESTS)
@EXAMPLES
def test_composite_inertias_equal_sko(parameters):
    """R(k) of every body."""
    case = Case(**parameters)
    kin, mass = make_kinematics(case.n, case.N), case.tree.mass.copy()
    body_poses(case.tree, case.q, kin)
    body_inertias(case.tree, kin)
    composite_inertias(case.tree, kin.l, kin.I, kin.mc, mass)
    for k, R in enumerate(sko.composite_inertias(case.sko)):
        assert error(kin.I[k], R[:3, :3]) <= TOLERANCE
        assert mass[k] == pytest.approx(R[3, 3], rel=1e-13)


def test_composite_inertia_of_the_root_is_that_of_the_whole_tree():
    """J11 lemma 4: R(root) is the spatial inertia of all bodies frozen together."""
    _, model, q, _, dense = forest(3, 7, 1)
    kin = make_kinematics(*sizes(model.tree)[:2])
    body_poses(model.tree, q, kin)
    body_inertias(model.tree, kin)
    mass = model.tree.mass.copy()
    composite_inertias(model.tree, kin.l, kin.I, kin.mc, mass)
    com = np.array([dense.p[k] + dense.R[k] @ model.tree.com[k] for k in range(7)]) - dense.p[0]
    assert mass[0] == pytest.approx(model.tree.mass.sum(), rel=1e-14)
    np.testing.assert_allclose(kin.mc[0], model.tree.mass @ com, atol=1e-11)
    inertia = sum(
        dense.R[k] @ model.tree.inertia[k] @ dense.R[k].T
        + model.tree.mass[k] * (com[k] @ com[k] * np.eye(3) - np.outer(com[k], com[k]))
        for k in range(7)
    )
    np.testing.assert_allclose(kin.I[0], inertia, atol=1e-10)
