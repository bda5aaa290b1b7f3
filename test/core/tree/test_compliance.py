# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The compliance sweep: Upsilon of each body, Omega of each pair, and what nodes and points make of them.

Covers core/tree/path_compliance.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import mb_contact as mb
from mb_contact.core.tree.articulated import articulated_inertias
from mb_contact.core.tree.compliance import compliance_blocks, compliance_sweep, mark_essential
from mb_contact.core.tree.kinematics import body_inertias, body_poses
from mb_contact.core.tree_workspace import make_articulated, make_compliance, make_kinematics
from mb_contact.studies import sko
from mb_contact.types import OK, WORLD
from scenes.trees import EXAMPLES, FORESTS, TOLERANCE, Case, error, forest, packed

pytestmark = pytest.mark.quick


@given(FORESTS)
@EXAMPLES
def test_upsilon_and_omega_equal_sko(parameters):
    """Upsilon(k) of every body on the way to a touched one, and every block of Omega."""
    case = Case(**parameters)
    n, N, tree = case.n, case.N, case.tree
    kin, art, com = make_kinematics(n, N), make_articulated(n, N), make_compliance(n)
    body_poses(tree, case.q, kin)
    body_inertias(tree, kin)
    assert articulated_inertias(tree, kin, 0.0, art) == (OK, -1)
    touched = (case.rng.random(n) < 0.5).astype(np.int64)
    touched[-1] = 1
    count = mark_essential(tree, art, touched, com)
    compliance_sweep(tree, kin, art, com)
    compliance_blocks(tree, art, com, count)
    Upsilon, omega = sko.compliance_kernel(case.sko), sko.omega(case.sko)
    for k in np.flatnonzero(com.on_path[:n]):
        assert error(com.Upsilon[k], packed(Upsilon[k])) <= TOLERANCE
    starts = np.concatenate(([0], np.cumsum(case.sko.phi.sizes)))
    largest = max(np.abs(Upsilon[k][:6, :6]).max() for k in range(n))
    for i in range(count):
        for j in range(count):
            a, b = starts[com.body[i]], starts[com.body[j]]
            want = omega[a : a + 6, b : b + 6]
            if com.same_tree[i, j]:
                assert np.abs(com.Omega[i, j] - want).max() <= TOLERANCE * largest
            else:
                assert not want.any()


@pytest.mark.parametrize("seed", range(4))
def test_bodies_of_different_trees_do_not_share_compliance(seed):
    _, model, q, _, _ = forest(seed, 9, 2)
    root = model.tree.root
    other = int(np.flatnonzero(root == root[1])[-1])
    L = mb.operational_compliance(model, q, ("a0", f"b{other}"))
    assert not L[:6, 6:].any() and not L[6:, :6].any()
    assert L[:6, :6].any() and L[6:, 6:].any()


@given(FORESTS)
@EXAMPLES
def test_compliance_of_nodes_and_points_equals_sko(parameters):
    """Any set of nodes: several on a body, ancestors and descendants, different trees, the world; 6-D and 3-D mixed."""
    case = Case(**parameters)
    names = [str(name) for name in case.rng.choice(list(case.model.frames), 5)]
    names += ["a0", "b0", f"a{case.n - 1}", "world"]
    offsets = case.rng.normal(size=(len(names), 3))
    kinds = case.rng.integers(0, 3, len(names))
    nodes = [(name, mb.Node(name, x), mb.Point(name, x))[kind] for name, x, kind in zip(names, offsets, kinds)]
    L = mb.operational_compliance(case.model, case.q, nodes)
    J = mb.jacobian(case.model, case.q, nodes)
    want = J @ sko.mass_inverse(case.sko) @ J.T
    assert error(L, want) <= TOLERANCE
    np.testing.assert_array_equal(L, L.T)
    picks, rows, at = [], [], 0
    for name, x, kind in zip(names, offsets, kinds):
        frame = case.model.frames[name]
        size = 3 if kind == 2 else 6
        if frame.body != WORLD:
            R = mb.frame_pose(case.model, case.q, f"a{frame.body}")[0] @ case.model.frames[f"a{frame.body}"].R.T
            point = frame.p + frame.R @ (x if kind else np.zeros(3))
            B = sko.pickoff(case.sko, frame.body, R @ point)
            picks.append((frame.body, B[:, 6 - size :]))
            rows += range(at, at + size)
        at += size
    assert error(L[np.ix_(rows, rows)], sko.operational_compliance(case.sko, picks)) <= TOLERANCE
