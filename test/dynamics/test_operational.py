# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Operational space: compliance, inertia, rank and the consistent inverse.

Covers core/tree/operational.py, simulation/operational.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.dynamics.inverse import COMPILED
from scenes.trees import FRAMES, RELATED, error, mixed

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("seed", range(4))
def test_dynamically_consistent_inverse(seed):
    """J_bar = M^-1 J* Lambda^-1: J J_bar J = J, and null-space efforts do not accelerate the nodes."""
    rng, model, q, _, nodes = mixed(seed, 9, 1)
    nodes = nodes[1:3]
    J, M = mb.jacobian(model, q, nodes), mb.mass_matrix(model, q)
    J_bar = mb.dynamics.consistent_inverse(model, q, nodes)
    L = J @ np.linalg.solve(M, J.T)
    if np.linalg.matrix_rank(J) == len(J):
        assert error(J_bar, np.linalg.solve(M, J.T) @ np.linalg.inv(L)) <= 1e-8
    assert error(J @ J_bar @ J, J) <= 1e-7
    T = rng.normal(size=len(M))
    assert np.abs(J @ np.linalg.solve(M, T - J.T @ J_bar.T @ T)).max() <= 1e-7 * np.abs(J @ np.linalg.solve(M, T)).max()


def test_condition_of_the_compliance_and_rank():
    """Two points of one body: five ways to move them, the sixth row depends on the others."""
    _, model, q, v, _ = mixed(1, 9, 1)
    space = mb.operational_space(model, q, v, [mb.Point("b8", (0.1, 0, 0)), mb.Point("b8", (0.1, 0.3, 0))])
    values = np.linalg.eigvalsh(space.compliance / np.sqrt(np.outer(*2 * [np.diag(space.compliance)])))
    assert space.rank == 5
    assert space.condition == pytest.approx(values[-1] / values[1], rel=1e-6)


@pytest.mark.parametrize("n", (1, 2, 12, COMPILED, COMPILED + 1))
def test_inverses_of_compliances(n):
    """J M^-1 J* in mixed units, by the product with it, and its rank."""
    rng = np.random.default_rng(n)
    units = 10.0 ** rng.integers(-4, 5, n)
    J = rng.normal(size=(n, n + 3)) * units[:, None]
    L = J @ J.T
    inverse, rank = mb.dynamics.invert_compliance(L)
    assert rank == n
    np.testing.assert_array_equal(inverse, inverse.T)
    scaled = (inverse @ L) * units[:, None] / units
    np.testing.assert_allclose(scaled, np.eye(n), atol=1e-9 * np.linalg.cond(L / np.outer(units, units)))
    np.testing.assert_allclose(mb.dynamics.invert_compliance(np.asfortranarray(L))[0], inverse, rtol=1e-12)
    if n > 2:
        K = L.copy()
        K[-1], K[:, -1] = K[0], K[:, 0]
        K[-1, -1] = K[0, 0]
        inverse, rank = mb.dynamics.invert_compliance(K)  # two equal rows: the pseudo-inverse
        assert rank == n - 1
        np.testing.assert_allclose(K @ inverse @ K / np.outer(units, units), K / np.outer(units, units), atol=1e-6 * n)


def test_dual_arm_operational_compliance_equals_pinocchio(dual_arm, peer, states):
    for q, v, _, _ in states:
        peer.update(q, v)
        J = peer.jacobian(FRAMES)
        want = J @ np.linalg.solve(peer.mass_matrix(), J.T)
        got = mb.operational_compliance(dual_arm, q, FRAMES)
        assert error(got, want) <= 1e-10
        # a finger's entries are 1e4 times the head's: also each block of two frames by its own size
        for i, j in np.argwhere(RELATED):
            block = np.s_[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]
            assert error(got[block], want[block]) <= 1e-10
        assert not got[np.kron(~RELATED, np.ones((6, 6), bool))].any()  # the arms and the head share nothing


def test_dual_arm_operational_space_is_consistent(dual_arm, states):
    q, v, _, _ = states[0]
    space = mb.operational_space(dual_arm, q, v, ("left_tcp", "right_tcp"))
    assert space.rank == 12
    np.testing.assert_allclose(space.inertia @ space.compliance, np.eye(12), atol=1e-8)
    np.testing.assert_array_equal(space.jacobian, mb.jacobian(dual_arm, q, ("left_tcp", "right_tcp")))
    np.testing.assert_array_equal(space.bias, mb.dynamics.jacobian_bias(dual_arm, q, v, ("left_tcp", "right_tcp")))
    np.testing.assert_array_equal(
        space.inertia, mb.dynamics.operational_inertia(dual_arm, q, ("left_tcp", "right_tcp"))
    )


def test_operational_inertia_where_the_jacobian_loses_rank(dual_arm, states):
    """The head has 4 joints: rank 4, and the pseudo-inverse obeys Penrose's conditions in scaled rows."""
    q = states[0][0]
    space = mb.operational_space(dual_arm, q, np.zeros(26), "head_link_4")
    assert space.rank == 4
    L, A = space.compliance, space.inertia
    np.testing.assert_allclose(L @ A @ L, L, atol=1e-9 * np.abs(L).max())
    np.testing.assert_allclose(A @ L @ A, A, atol=1e-9 * np.abs(A).max())
