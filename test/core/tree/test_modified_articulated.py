# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The articulated-body sweep that keeps factors of inertias, against the one that subtracts."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.tree.articulated import articulated_inertias
from mb_contact.core.tree.kinematics import body_inertias, body_poses
from mb_contact.core.tree.modified_articulated import _compress, factored_inertias, make_factors
from mb_contact.core.tree_workspace import make_articulated, make_kinematics
from mb_contact.types import OK
from oracles.dense_oracle import random_forest, random_state, sizes
from scenes.trees import error


def sweeps(model, q, dt):
    """Articulated quantities by both sweeps."""
    n, N, _ = sizes(model.tree)
    kin = make_kinematics(n, N)
    body_poses(model.tree, q, kin)
    body_inertias(model.tree, kin)
    plain, factored = make_articulated(n, N), make_articulated(n, N)
    assert articulated_inertias(model.tree, kin, dt, plain) == (OK, -1)
    assert factored_inertias(model.tree, kin, dt, make_factors(n), factored) == (OK, -1)
    return plain, factored


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(3))
def test_factored_sweep_fills_the_same_workspace(seed):
    """P, U and D^-1 with armature and implicit damping, blocks of one and of six."""
    rng = np.random.default_rng(seed)
    model = random_forest(rng, 4, 2, floating=1.0, multi=0.7)
    q, _ = random_state(rng, model.tree)
    for dt in (0.0, 0.01):
        plain, factored = sweeps(model, q, dt)
        for name in ("P", "U", "D_inv"):
            assert error(getattr(factored, name), getattr(plain, name)) <= 1e-12


@pytest.mark.nojit
@pytest.mark.parametrize("first", [1e-7, 1.0])
def test_small_rows_keep_their_digits_beside_a_large_row(first):
    """Along h the large row vanishes exactly; what is left there is the small rows', to 1e-13 of themselves.

    With ``first`` = 1e-7 a reflection of the first column first would mix the large row into all small ones.
    """
    rng = np.random.default_rng(0)
    S = np.zeros((12, 6))
    S[:6] = 1e-8 * rng.normal(size=(6, 6))
    S[6] = [first, 0.7, 0.7, 0.3, 0.1, 0.9]
    h = np.array([0.0, 1.0, -1.0, 0.0, 0.0, 0.0])
    want, gram = np.sum((S @ h) ** 2), S.T @ S
    _compress(S, np.zeros(6, np.int64))
    assert np.sum((S[:6] @ h) ** 2) == pytest.approx(want, rel=1e-13, abs=0.0)
    assert error(S[:6].T @ S[:6], gram) <= 1e-14
    assert not S[6:].any()
