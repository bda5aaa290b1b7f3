# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the functions of dynamics/ refuse, in one sentence, and the layouts of arrays that they take."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.types import JOINT_NAMES
from oracles.dense_oracle import random_forest, random_state
from scenes.trees import DUAL_ARM, mixed


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda m, q, v: mb.dynamics.mass_times(m, q, np.zeros(3)), "x must have"),
        (lambda m, q, v: mb.dynamics.mass_solve(m, q, np.full(len(v), np.nan)), r"x\[0\] is nan"),
        (lambda m, q, v: mb.jacobian(m, q, [mb.Point("a0", (0, 1))]), "position in 'a0' must have 3"),
        (lambda m, q, v: mb.jacobian(m, q, [("a0", (0, 1, 2))]), "is no frame's name, Node or Point"),
        (lambda m, q, v: mb.operational_compliance(m, q, mb.Point("nose")), "there is no frame 'nose'"),
        (lambda m, q, v: mb.forward_dynamics(m, q, v, np.full(len(v), np.inf)), r"effort\[0\] is inf"),
        (lambda m, q, v: mb.inverse_dynamics(m, q, v * np.nan, v), r"v\[0\] is nan"),
        (lambda m, q, v: mb.inverse_dynamics(m, q, v, v * np.nan), r"v_dot\[0\] is nan"),
        (lambda m, q, v: mb.inverse_dynamics(m, q, v, v, (0, np.nan, 0)), r"gravity\[1\] is nan"),
        (lambda m, q, v: mb.forward_dynamics(m, q, v, v * np.nan), r"effort\[0\] is nan"),
        (lambda m, q, v: mb.forward_dynamics(m, q, v, v, (0, np.inf, 0)), r"gravity\[1\] is inf"),
        (lambda m, q, v: mb.mass_matrix(m, q + 1j), "q must hold real numbers, got complex"),
        (lambda m, q, v: mb.mass_matrix(None, q), "model must be a Model or a World, got NoneType"),
        (lambda m, q, v: mb.energy("robot.urdf", q, v), "model must be a Model or a World, got str"),
        (lambda m, q, v: mb.jacobian(m, q, 3), "3 is no frame's name, Node or Point, nor several"),
        (lambda m, q, v: mb.jacobian(m, q, mb.Node(["a0"])), "there is no frame"),
        (lambda m, q, v: mb.dynamics.jacobian_rate(m, q, v[:-1], "a0"), "v must have"),
        (lambda m, q, v: mb.dynamics.momentum(m, q, v, about=(1, 2)), "about must have 3"),
    ],
)
def test_wrong_arguments_of_nodes_and_products_are_refused_in_one_sentence(call, message):
    _, model, q, v, _ = mixed(0)
    with pytest.raises(mb.InputError, match=message):
        call(model, q, v)


def test_a_zero_quaternion_of_a_ball_joint_is_refused_by_name():
    rng = np.random.default_rng(8)
    model = random_forest(rng, 10, 1, floating=0.0, multi=1.0)
    q, v = random_state(rng, model.tree)
    k = int(np.flatnonzero(model.tree.joint_type == JOINT_NAMES.index("spherical"))[0])
    q[model.tree.q_start[k] : model.tree.q_start[k] + 4] = 0.0
    for call in (mb.mass_matrix, lambda m, x: mb.dynamics.mass_times(m, x, v)):
        with pytest.raises(mb.InputError, match=f"the quaternion of 'link_{k}' in q is zero"):
            call(model, q)


@pytest.mark.parametrize("call", [
    lambda m, q, v: mb.forward_dynamics(m, q, v, v), lambda m, q, v: mb.inverse_dynamics(m, q, v, v),
    lambda m, q, v: mb.energy(m, q, v),
])  # fmt: skip
def test_a_result_that_overflows_is_an_error(call):
    _, model, q, v, _ = mixed(0)
    with pytest.raises(mb.DynamicsError, match="the result is not finite although all arguments are"):
        call(model, q, np.full_like(v, 1e200))
    with pytest.raises(mb.DynamicsError, match="the result is not finite"):
        mb.operational_compliance(model, q, mb.Point("a7", (1e300, 0, 0)))


@pytest.mark.parametrize("scale", [0.0, 1e-160, 1e-7, 1e7, 1e160])
def test_quaternions_far_from_unit_ones_are_refused_everywhere(scale):
    model = mb.load_urdf(DUAL_ARM, floating=True)
    q = model.neutral_q()
    q[3:7] *= scale
    calls = (
        mb.mass_matrix,
        lambda m, x: mb.dynamics.mass_times(m, x, np.zeros(m.N)),
        lambda m, x: m.link_pose("left_tcp", x),
    )
    for call in calls:
        with pytest.raises(mb.InputError, match="quaternion .*is zero or far from a unit one"):
            call(model, q)
    q[3:7] = 0.0, 0.0, 0.0, 1e-3  # not normalised, but a rotation
    np.testing.assert_allclose(mb.mass_matrix(model, q), mb.mass_matrix(model, model.neutral_q()), rtol=1e-12)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda m: mb.mass_matrix(m, np.zeros(25)), "q must have 26"),
        (lambda m: mb.mass_matrix(m, np.full(26, np.nan)), "q\\[0\\] is nan"),
        (lambda m: mb.dynamics.nonlinear_effects(m, np.zeros(26), np.zeros(3)), "v must have 26"),
        (
            lambda m: mb.forward_dynamics(m, np.zeros(26), np.zeros(26), np.full(26, np.inf)),
            "effort\\[0\\] is inf",
        ),
        (
            lambda m: mb.forward_dynamics(m, np.zeros(26), np.zeros(26), np.zeros(26), (0, 0)),
            "gravity must have 3",
        ),
        (lambda m: mb.jacobian(m, np.zeros(26), "nose"), "no frame 'nose'"),
        (lambda m: mb.jacobian(m, np.zeros(26), ()), "at least one frame"),
        (lambda m: mb.energy(m, np.zeros(26), np.full(26, np.nan)), "v\\[0\\] is nan"),
        (lambda m: mb.mass_matrix(m, "zero"), "q must hold numbers"),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(dual_arm, call, message):
    with pytest.raises(mb.InputError, match=message):
        call(dual_arm)


def test_arguments_may_have_any_layout(dual_arm, states):
    """Lists, strided and integer input give the same bits as C-contiguous float64."""
    q = states[0][0]
    strided = np.empty((26, 2))
    strided[:, 0] = q
    want = mb.mass_matrix(dual_arm, q)
    np.testing.assert_array_equal(mb.mass_matrix(dual_arm, strided[:, 0]), want)
    np.testing.assert_array_equal(mb.mass_matrix(dual_arm, list(q)), want)


def test_a_zero_quaternion_is_refused_by_name():
    """It is no rotation, and would make everything NaN in silence."""
    model = mb.load_urdf(DUAL_ARM, floating=True)
    q = model.neutral_q()
    mb.mass_matrix(model, q)
    q[3:7] = 0.0
    with pytest.raises(mb.InputError, match="the quaternion of 'base_link' in q is zero"):
        mb.mass_matrix(model, q)
