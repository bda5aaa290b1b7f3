# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Jacobians, their rates and biases: Pinocchio on the dual arm, dense operators on random forests, differences.

Covers core/tree/frames.py, dynamics/nodes.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.rotations import rotation_about
from oracles.dense_oracle import Frame, advance
from scenes.trees import CASES, FRAMES, error, forest, mixed

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("seed", range(6))
def test_jacobian_rate_is_the_derivative_of_the_jacobian(seed):
    _, model, q, v, nodes = mixed(seed)
    rate = mb.dynamics.jacobian_rate(model, q, v, nodes)
    h = 1e-6
    after, before = (mb.jacobian(model, advance(model.tree, q, v, s * h), nodes) for s in (1, -1))
    assert error(rate, (after - before) / (2 * h)) <= 1e-8
    assert error(rate @ v, mb.dynamics.jacobian_bias(model, q, v, nodes)) <= 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_velocity_and_acceleration_of_nodes(seed):
    rng, model, q, v, nodes = mixed(seed)
    v_dot = rng.normal(size=len(v))
    J = mb.jacobian(model, q, nodes)
    assert error(mb.dynamics.velocity(model, q, v, nodes), J @ v) <= 1e-12
    h = 1e-5
    ahead = mb.dynamics.velocity(model, advance(model.tree, q, v + 0.5 * h * v_dot, h), v + h * v_dot, nodes)
    behind = mb.dynamics.velocity(model, advance(model.tree, q, v - 0.5 * h * v_dot, -h), v - h * v_dot, nodes)
    assert error(mb.dynamics.acceleration(model, q, v, v_dot, nodes), (ahead - behind) / (2 * h)) <= 1e-7


def test_a_point_is_the_lower_half_of_its_node():
    _, model, q, v, _ = mixed(0)
    node, point = mb.Node("b4", (0.3, -0.2, 0.5)), mb.Point("b4", (0.3, -0.2, 0.5))
    np.testing.assert_array_equal(mb.jacobian(model, q, point), mb.jacobian(model, q, node)[3:])
    bias = mb.dynamics.jacobian_bias
    np.testing.assert_array_equal(bias(model, q, v, point), bias(model, q, v, node)[3:])
    L = mb.operational_compliance(model, q, node)
    np.testing.assert_allclose(mb.operational_compliance(model, q, point), L[3:, 3:], rtol=1e-12)
    R, p = mb.frame_pose(model, q, "b4")
    np.testing.assert_allclose(mb.frame_pose(model, q, point)[1], p + R @ point.position, atol=1e-14)


def test_frames_may_be_rotated_without_changing_world_rows():
    """Rows are in world axes: turning a frame about its own origin changes nothing."""
    _, model, q, _, _ = mixed(3)
    frame = model.frames["a5"]
    turned = model._replace(
        frames={**model.frames, "a5": Frame(frame.body, frame.R @ rotation_about((0, 0, 1), 0.7), frame.p)}
    )
    np.testing.assert_array_equal(mb.jacobian(model, q, "a5"), mb.jacobian(turned, q, "a5"))


def test_dual_arm_jacobians_and_bias_equal_pinocchio(dual_arm, peer, states):
    for q, v, _, _ in states:
        peer.update(q, v)
        assert error(mb.jacobian(dual_arm, q, FRAMES), peer.jacobian(FRAMES)) <= 1e-10
        assert error(mb.dynamics.jacobian_bias(dual_arm, q, v, FRAMES), peer.bias(FRAMES)) <= 1e-10


@pytest.mark.parametrize("seed, n, roots", CASES)
def test_random_forest_frames_equal_dense_operators(seed, n, roots):
    """Any frames: two on a body, on ancestors and descendants, on disjoint trees, on the world."""
    rng, model, q, v, dense = forest(seed, n, roots, multi=0.4)
    names = [*rng.choice(list(model.frames), 5), "a0", "b0", "world"]
    frames = [model.frames[name] for name in names]
    assert error(mb.jacobian(model, q, names), dense.frame_jacobian(frames)) <= 1e-12
    assert error(mb.operational_compliance(model, q, names), dense.compliance(frames)) <= 1e-11
    R, p = mb.frame_pose(model, q, names[0])
    frame = frames[0]
    np.testing.assert_allclose(p, dense.frame_origin(frame), atol=1e-12)
    if frame.body >= 0:
        np.testing.assert_allclose(R, dense.R[frame.body] @ frame.R, atol=1e-13)


@pytest.mark.parametrize("seed, n, roots", CASES)
def test_jacobian_bias_is_the_derivative_of_the_jacobian(seed, n, roots):
    _, model, q, v, _ = forest(seed, n, roots, multi=0.4)
    names = list(model.frames)[-4:]
    h = 1e-6
    after = mb.jacobian(model, advance(model.tree, q, v, h), names)
    before = mb.jacobian(model, advance(model.tree, q, v, -h), names)
    assert error(mb.dynamics.jacobian_bias(model, q, v, names), (after - before) @ v / (2 * h)) <= 1e-7
