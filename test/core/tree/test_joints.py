# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Joint types: placement, hinge maps, and integration on the manifold (conventions: docs/notation.md).

Covers core/tree/kinematics.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mb_contact.core.tree.joints import integrate_joints
from mb_contact.core.tree.kinematics import bias_terms, body_inertias, body_poses, body_velocities
from mb_contact.core.tree.rotations import rotate_quaternion
from mb_contact.core.tree_workspace import make_kinematics
from mb_contact.types import JOINT_FLOATING, JOINT_PLANAR, JOINT_SPHERICAL, JOINT_UNIVERSAL, WORLD
from oracles.dense_oracle import QUATERNION, Dense, advance, random_forest, random_state, sizes


def one_floating_body(seed=0):
    """A floating body whose joint frame is turned and moved in the inertial frame."""
    rng = np.random.default_rng(seed)
    model = random_forest(rng, 1, 1, floating=1.0)
    q, v = random_state(rng, model.tree)
    return rng, model.tree, q, v


def kinematics(tree, q, v):
    """Poses and velocities by the kernels."""
    kin = make_kinematics(*sizes(tree)[:2])
    body_poses(tree, q, kin)
    body_velocities(tree, kin, v, kin.V)
    body_inertias(tree, kin)
    bias_terms(tree, kin, v)
    return kin


def rotation_vector(R0, R1):
    """Vector in world axes of the rotation that takes R0 to R1."""
    return Rotation.from_matrix(R1 @ R0.T).as_rotvec()


# --- placement ------------------------------------------------------------------------------------


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(3))
def test_poses_equal_scipy_rotations(seed):
    rng = np.random.default_rng(seed)
    tree = random_forest(rng, 5, 2, multi=0.5).tree
    q, v = random_state(rng, tree)
    kin, dense = kinematics(tree, q, v), Dense(tree, q, v)
    np.testing.assert_allclose(kin.R, dense.R, atol=1e-13)
    np.testing.assert_allclose(kin.p, dense.p, atol=1e-12)


@pytest.mark.nojit
def test_floating_joint_is_position_then_quaternion_x_y_z_w():
    """q = [p; x y z w] in the joint frame; v = [omega; velocity of the origin] in world axes."""
    _, tree, q, v = one_floating_body()
    kin = kinematics(tree, q, v)
    R0, p0 = tree.R_joint[0], tree.p_joint[0]
    np.testing.assert_allclose(kin.R[0], R0 @ Rotation.from_quat(q[3:]).as_matrix(), atol=1e-14)
    np.testing.assert_allclose(kin.p[0], p0 + R0 @ q[:3], atol=1e-14)
    np.testing.assert_array_equal(kin.V[0], v)
    np.testing.assert_array_equal(kin.H, np.eye(6))


@pytest.mark.nojit
def test_a_quaternion_need_not_be_normalised_to_place_a_body():
    _, tree, q, v = one_floating_body()
    longer = q.copy()
    longer[3:] *= 1.7
    np.testing.assert_allclose(kinematics(tree, longer, v).R, kinematics(tree, q, v).R, atol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_velocities_are_derivatives_of_poses(seed):
    """Every joint type: central differences of the poses along SciPy's exponential map."""
    rng = np.random.default_rng(seed)
    tree = random_forest(rng, 8, 3, multi=0.5).tree
    q, v = random_state(rng, tree)
    h = 1e-6
    kin = kinematics(tree, q, v)
    before, after = kinematics(tree, advance(tree, q, v, -h), v), kinematics(tree, advance(tree, q, v, h), v)
    np.testing.assert_allclose(kin.V[:, 3:], (after.p - before.p) / (2 * h), atol=1e-7)
    for k in range(8):
        np.testing.assert_allclose(
            kin.V[k, :3], rotation_vector(before.R[k], after.R[k]) / (2 * h), atol=1e-7
        )


@pytest.mark.parametrize("seed", range(5))
def test_bias_is_the_acceleration_at_constant_joint_rates(seed):
    """d V(k)/dt = phi* dV(p)/dt + a(k) with v held: the joint contract's a(q, v)."""
    rng = np.random.default_rng(seed)
    tree = random_forest(rng, 8, 3, multi=0.5).tree
    q, v = random_state(rng, tree)
    h = 1e-6
    kin = kinematics(tree, q, v)
    before, after = kinematics(tree, advance(tree, q, v, -h), v), kinematics(tree, advance(tree, q, v, h), v)
    rate = (after.V - before.V) / (2 * h)
    for k in range(8):
        want = rate[k].copy()
        if tree.parent[k] != WORLD:
            up = rate[tree.parent[k]]
            want[:3] -= up[:3]
            want[3:] -= up[3:] + np.cross(up[:3], kin.l[k])
        np.testing.assert_allclose(kin.a[k], want, atol=2e-6)


# --- integration ----------------------------------------------------------------------------------


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(3))
def test_integration_equals_scipy_exponential_map(seed):
    rng = np.random.default_rng(seed)
    tree = random_forest(rng, 24, 3, floating=0.9, multi=0.8).tree
    assert set(tree.joint_type) >= {JOINT_FLOATING, JOINT_PLANAR, JOINT_SPHERICAL, JOINT_UNIVERSAL}
    q, v = random_state(rng, tree)
    got = q.copy()
    integrate_joints(tree, v, 0.1, got)
    want = advance(tree, q, v, 0.1)
    for k in range(len(tree.parent)):
        if tree.joint_type[k] not in QUATERNION:
            continue
        first = tree.q_start[k] + QUATERNION[tree.joint_type[k]]
        s = slice(first, first + 4)  # the same rotation, either sign
        want[s] *= np.sign(want[s] @ got[s])
    np.testing.assert_allclose(got, want, atol=1e-14)


@pytest.mark.nojit
@pytest.mark.parametrize(
    "angle", [0.0, 1e-300, 1e-12, 0.99e-8, 1.01e-8, 1e-4, 1.0, np.pi - 1e-9, np.pi, 3.5, 20.0]
)
def test_quaternion_turns_by_any_angle(angle):
    """Small angles go through a series, with no jump where it is left; large ones are exact."""
    axis = np.array([2.0, -3.0, 6.0]) / 7.0
    q = np.array([0.1, -0.5, 0.7, 0.5])
    start = Rotation.from_quat(q).as_matrix()
    q /= np.linalg.norm(q)
    rotate_quaternion(q, 0, *(angle * axis))
    assert np.linalg.norm(q) == pytest.approx(1.0, abs=4e-16)
    got = Rotation.from_quat(q).as_matrix()
    np.testing.assert_allclose(got, Rotation.from_rotvec(angle * axis).as_matrix() @ start, atol=3e-15)


def test_quaternion_stays_unit_over_many_steps():
    rng, tree, q, _ = one_floating_body(1)
    velocities = 20.0 * rng.normal(size=(20_000, 6))
    for v in velocities:
        integrate_joints(tree, v, 0.001, q)
        assert abs(q[3:] @ q[3:] - 1.0) <= 1e-15


def test_steady_spin_returns_after_one_turn():
    """1000 steps of one thousandth of a turn: the exponential map composes without drift."""
    _, tree, q, _ = one_floating_body(2)
    axis = np.array([1.0, 2.0, -2.0]) / 3.0
    v = np.concatenate((2 * np.pi * axis, [0.3, -0.2, 0.1]))
    start = kinematics(tree, q, v)
    for _ in range(1000):
        integrate_joints(tree, v, 0.001, q)
    end = kinematics(tree, q, v)
    np.testing.assert_allclose(end.R, start.R, atol=1e-12)
    np.testing.assert_allclose(end.p[0], start.p[0] + v[3:], atol=1e-12)


@pytest.mark.nojit
def test_world_axes_of_a_floating_velocity_do_not_turn_with_the_body():
    """A spin about world z moves every body point around the world's z axis, whatever the attitude."""
    _, tree, q, _ = one_floating_body(3)
    v = np.array([0.0, 0.0, 0.7, 0.0, 0.0, 0.0])
    before = kinematics(tree, q, v)
    integrate_joints(tree, v, 1.0, q)
    after = kinematics(tree, q, v)
    np.testing.assert_allclose(rotation_vector(before.R[0], after.R[0]), [0.0, 0.0, 0.7], atol=1e-13)
    np.testing.assert_allclose(after.p, before.p, atol=1e-14)


@pytest.mark.nojit
def test_scalar_joints_integrate_linearly_and_do_not_wrap():
    rng = np.random.default_rng(5)
    tree = random_forest(rng, 4, 2, floating=0.0).tree
    q, v = random_state(rng, tree)
    got = q.copy()
    integrate_joints(tree, v, 10.0, got)
    np.testing.assert_array_equal(got, q + v * 10.0)
