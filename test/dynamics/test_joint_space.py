# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Mass matrix, inverse and forward dynamics: Pinocchio on the dual arm, dense and SKO operators on random forests.

Covers core/tree/evaluate.py, core/tree/inverse_dynamics.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import mb_contact as mb
from mb_contact.studies import sko
from mb_contact.types import JOINT_FLOATING, JOINT_NAMES
from oracles.dense_oracle import random_forest
from scenes.trees import CASES, EXAMPLES, FORESTS, GRAVITY, TOLERANCE, TWO_LINKS, Case, error, forest, mixed, weightless


@given(FORESTS)
@EXAMPLES
def test_joint_space_kernels_equal_sko(parameters):
    case = Case(**parameters)
    model, q, v = case.model, case.q, case.v
    x = case.vector()
    M = sko.mass_matrix(case.sko)
    assert error(mb.mass_matrix(model, q), M) <= TOLERANCE
    assert error(mb.dynamics.mass_times(model, q, x), M @ x) <= TOLERANCE
    assert error(mb.dynamics.mass_solve(model, q, M @ x), x) <= 100 * TOLERANCE * max(1.0, np.linalg.cond(M) / 1e6)
    assert error(mb.dynamics.mass_solve(model, q, x), sko.mass_inverse(case.sko) @ x) <= TOLERANCE
    assert mb.dynamics.mass_log_determinant(model, q) == pytest.approx(sko.log_det_mass(case.sko), rel=1e-11, abs=1e-10)
    want = case.sko.inverse_dynamics(v, x).T
    assert error(mb.inverse_dynamics(model, q, v, x, GRAVITY), want) <= TOLERANCE
    effort = case.vector()
    want = sko.forward_dynamics(case.sko, effort - model.tree.damping * v)
    assert error(mb.forward_dynamics(model, q, v, effort, GRAVITY), want) <= TOLERANCE


OTHERS = ("sliding", "rolling", "weld", "mode", "node")  #: of surfaces, of parts of an aggregate, of flexible links


def test_the_random_forests_have_every_joint_type():
    kinds = set()
    for seed in range(20):
        kinds |= set(random_forest(np.random.default_rng(seed), 12, 2, multi=0.5).tree.joint_type)
    assert kinds == {kind for kind, name in enumerate(JOINT_NAMES) if name not in OTHERS}


def test_columns_of_a_matrix_go_through_the_products_one_by_one():
    rng, model, q, _, _ = mixed(2)
    X = rng.normal(size=(len(mb.mass_matrix(model, q)), 3))
    assert error(mb.dynamics.mass_times(model, q, X), mb.mass_matrix(model, q) @ X) <= 1e-12
    assert error(mb.dynamics.mass_times(model, q, mb.dynamics.mass_solve(model, q, X)), X) <= 1e-9


def test_dual_arm_mass_matrix_equals_pinocchio(dual_arm, peer, states):
    for q, v, _, _ in states:
        peer.update(q, v)
        assert error(mb.mass_matrix(dual_arm, q), peer.mass_matrix()) <= 1e-10


def test_dual_arm_inverse_dynamics_equals_pinocchio(dual_arm, peer, states):
    for q, v, _, v_dot in states:
        peer.update(q, v)
        zero = np.zeros(26)
        assert error(mb.dynamics.nonlinear_effects(dual_arm, q, v, GRAVITY), peer.inverse_dynamics(zero)) <= 1e-10
        assert (
            error(mb.inverse_dynamics(dual_arm, q, v, v_dot, GRAVITY), peer.inverse_dynamics(v_dot)) <= 1e-10
        )


def test_dual_arm_forward_dynamics_equals_pinocchio(dual_arm, peer, states):
    damping = dual_arm.tree.damping
    assert damping.min() > 0.0  # or the term below would test nothing
    for q, v, effort, _ in states:
        peer.update(q, v)
        # ours adds the joint damping, Pinocchio's aba does not
        want = peer.forward_dynamics(effort - damping * v)
        assert error(mb.forward_dynamics(dual_arm, q, v, effort, GRAVITY), want) <= 1e-10


@pytest.mark.parametrize("seed, n, roots", CASES)
def test_random_forest_equals_dense_operators(seed, n, roots):
    rng, model, q, v, dense = forest(seed, n, roots, multi=0.4)
    effort, v_dot = rng.normal(size=dense.N), rng.normal(size=dense.N)
    assert error(mb.mass_matrix(model, q), dense.mass_matrix()) <= 1e-12
    assert error(mb.dynamics.nonlinear_effects(model, q, v, GRAVITY), dense.nonlinear(GRAVITY)) <= 1e-12
    want = dense.mass_matrix() @ v_dot + dense.nonlinear(GRAVITY)
    assert error(mb.inverse_dynamics(model, q, v, v_dot, GRAVITY), want) <= 1e-12
    assert error(mb.forward_dynamics(model, q, v, effort, GRAVITY), dense.forward(effort, GRAVITY)) <= 1e-11
    kinetic, potential = mb.energy(model, q, v, GRAVITY)
    assert kinetic == pytest.approx(dense.kinetic(), rel=1e-12)
    assert kinetic == pytest.approx(0.5 * v @ dense.mass_matrix() @ v, rel=1e-12)
    assert potential == pytest.approx(dense.potential(GRAVITY), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_mass_matrix_is_the_sum_of_the_bodies(seed):
    """J11: M = sum of J_k* M_k J_k over the bodies, with the Jacobians that the package itself gives."""
    _, model, q, _, dense = forest(seed, 8, 2)
    tree = model.tree
    M = np.diag(tree.armature)
    for k in range(8):
        J = mb.jacobian(model, q, f"a{k}")
        # from the frame's origin to the centre of mass, world axes
        x = dense.p[k] + dense.R[k] @ tree.com[k] - dense.frame_origin(model.frames[f"a{k}"])
        linear = J[3:] + np.cross(J[:3].T, x).T
        M = (
            M
            + tree.mass[k] * linear.T @ linear
            + J[:3].T @ dense.R[k] @ tree.inertia[k] @ dense.R[k].T @ J[:3]
        )
    assert error(mb.mass_matrix(model, q), M) <= 1e-12


@pytest.mark.nojit
def test_small_forest_equals_dense_operators_without_jit():
    rng, model, q, v, dense = forest(1, 3, 1, floating=1.0)
    assert JOINT_FLOATING in model.tree.joint_type
    effort = rng.normal(size=dense.N)
    names = ("a0", "b2", "a2")
    frames = [model.frames[name] for name in names]
    assert error(mb.mass_matrix(model, q), dense.mass_matrix()) <= 1e-12
    assert error(mb.forward_dynamics(model, q, v, effort, GRAVITY), dense.forward(effort, GRAVITY)) <= 1e-11
    assert error(mb.operational_compliance(model, q, names), dense.compliance(frames)) <= 1e-11


@pytest.mark.nojit
@pytest.mark.parametrize("floating", [0.0, 1.0])
def test_singular_hinge_is_refused_by_name(floating):
    _, model, q, v, dense = forest(2, 1, 1, floating=floating)
    model = model._replace(tree=weightless(model.tree, 0))
    zero = np.zeros(dense.N)
    with pytest.raises(mb.DynamicsError, match="link_0"):
        mb.forward_dynamics(model, q, v, zero)
    with pytest.raises(mb.DynamicsError, match="link_0"):
        mb.operational_compliance(model, q, "a0")


def test_singular_tip_is_refused_by_name_and_not_its_parent():
    _, model, q, v, dense = forest(2, 6, 1)
    model = model._replace(tree=weightless(model.tree, 5))
    with pytest.raises(mb.DynamicsError, match="link_5"):
        mb.forward_dynamics(model, q, v, np.zeros(dense.N))


def test_urdf_link_without_mass_behind_a_joint_is_refused_by_name():
    """Either the reader or the sweep must say which link: never an infinite acceleration."""
    with pytest.raises((mb.ModelError, mb.DynamicsError), match="tip|wrist"):
        model = mb.load_urdf(TWO_LINKS.format(inertial=""))
        mb.forward_dynamics(model, np.zeros(2), np.zeros(2), np.zeros(2))
