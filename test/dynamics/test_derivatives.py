# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of the dynamics against differences of fourth order and against Pinocchio's.

Covers core/tree/derivatives.py, core/tree/modal_derivatives.py, core/tree/modal_forces.py.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import mb_contact as mb
from mb_contact.types import JOINT_PRISMATIC, JOINT_REVOLUTE
from oracles.dense_oracle import advance
from oracles.pinocchio_peer import Peer, example_robots
from scenes.flexible_robots import ARM, inertial, strip
from scenes.trees import GRAVITY, Case

pytestmark = pytest.mark.quick

SHARES = ({"multi": 1.0, "floating": 1.0}, {"multi": 0.6, "floating": 0.5}, {"prismatic": 1.0}, {"floating": 0.0})
H = 1e-3


def error(got, want):
    """Largest deviation relative to the largest entry, or to 1: translations alone have derivatives of zero."""
    return np.abs(got - want).max() / max(np.abs(want).max(), 1.0)


def difference(function, N):
    """Derivative of a function of displacements (N,), an index more."""

    def along(i):
        values = [function(step * H * np.eye(N)[i]) for step in (-2, -1, 1, 2)]
        return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * H)

    return np.stack([along(i) for i in range(N)], axis=-1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shares", SHARES)
def test_all_joint_types_against_differences(shares, seed):
    case = Case(seed + 40, 7, 2, **shares)
    model, tree, q, v, x = case.model, case.tree, case.q, case.v, case.vector()
    moved = lambda dx: advance(tree, q, dx, 1.0)  # noqa: E731
    by = mb.dynamics.inverse_dynamics_derivatives(model, q, v, x, GRAVITY)
    want = difference(lambda dx: mb.inverse_dynamics(model, moved(dx), v, x, GRAVITY), case.N)
    assert error(by.q, want) <= 1e-8
    want = difference(lambda dx: mb.inverse_dynamics(model, q, v + dx, x, GRAVITY), case.N)
    assert error(by.v, want) <= 1e-8
    assert error(by.v_dot, mb.mass_matrix(model, q)) <= 1e-12

    by = mb.forward_dynamics_derivatives(model, q, v, x, GRAVITY)
    M = mb.mass_matrix(model, q)
    want = difference(lambda dx: mb.forward_dynamics(model, moved(dx), v, x, GRAVITY), case.N)
    assert error(M @ by.q, M @ want) <= 1e-6  # fourth differences of a stiff chain
    want = difference(lambda dx: mb.forward_dynamics(model, q, v + dx, x, GRAVITY), case.N)
    assert error(M @ by.v, M @ want) <= 1e-8
    assert error(by.effort @ M, np.eye(case.N)) <= 1e-10


@pytest.mark.parametrize("floating", [False, True])
def test_flexible_links_against_differences(floating):
    """Large deflections, so that nodes turn, with shortening."""
    links = {"fore": mb.model.FlexibleLink(beam=strip(static_modes=True), nodes={"mid": (0.25, 0.0, 0.1)})}
    urdf = ARM.replace('<link name="base"/>', f'<link name="base">{inertial(0.5, 0.1, 0.01)}</link>')
    model = mb.load_urdf(urdf, flexible_links=links, floating=floating)
    rng = np.random.default_rng(5)
    q, (v, x) = model.neutral_q(), rng.normal(size=(2, model.N))
    q = advance(model.tree, q, 0.06 * rng.normal(size=model.N), 1.0)
    moved = lambda dx: advance(model.tree, q, 0.1 * dx, 1.0)  # noqa: E731
    by = mb.dynamics.inverse_dynamics_derivatives(model, q, v, x, GRAVITY)
    want = 10.0 * difference(lambda dx: mb.inverse_dynamics(model, moved(dx), v, x, GRAVITY), model.N)
    assert error(by.q, want) <= 1e-9
    assert error(by.v, difference(lambda dx: mb.inverse_dynamics(model, q, v + dx, x, GRAVITY), model.N)) <= 1e-9
    assert error(by.v_dot, mb.mass_matrix(model, q)) <= 1e-12
    M = mb.mass_matrix(model, q)
    by = mb.forward_dynamics_derivatives(model, q, v, x, GRAVITY)
    want = difference(lambda dx: mb.forward_dynamics(model, q, v + dx, x, GRAVITY), model.N)
    assert error(M @ by.v, M @ want) <= 1e-8
    assert error(by.effort @ M, np.eye(model.N)) <= 1e-8
    nodes = ["hand", "fore/mid"]
    found = mb.dynamics.compliance_derivatives(model, q, nodes)
    want = 10.0 * difference(lambda dx: mb.operational_compliance(model, moved(dx), nodes), model.N)
    assert error(found, want) <= 1e-8


@pytest.mark.parametrize("file", ["panda_description/urdf/panda.urdf", "talos_data/robots/talos_reduced.urdf"])
def test_real_robots_equal_pinocchio(file):
    folder = example_robots()
    options = {"collision_meshes": "skip", "mimic": "independent", "inertia_errors": "warn"}
    model = mb.load_urdf(folder / file, **options)
    assert set(model.tree.joint_type) <= {JOINT_REVOLUTE, JOINT_PRISMATIC}
    peer = Peer(pin, model, folder / file, GRAVITY)
    rng = np.random.default_rng(3)
    for _ in range(5):
        q, v, x = rng.uniform(-1.5, 1.5, model.N), *rng.normal(size=(2, model.N))
        got, want = mb.dynamics.inverse_dynamics_derivatives(model, q, v, x, GRAVITY), peer.inverse_derivatives(q, v, x)
        for a, b in zip(got[:2], want):
            assert error(a, b) <= 1e-10
        by = mb.forward_dynamics_derivatives(model, q, v, x, GRAVITY)
        M, D = mb.mass_matrix(model, q), np.diag(model.tree.damping)
        acceleration = mb.forward_dynamics(model, q, v, x, GRAVITY)
        by_q, by_v = peer.inverse_derivatives(q, v, acceleration)
        assert error(M @ by.q, -by_q) <= 1e-9 and error(M @ by.v, -by_v - D) <= 1e-9


def test_a_model_far_from_the_origin():
    """The reference point is at the tree's root: a kilometre away the digits are those of home."""
    near = mb.load_urdf(mb.pendulum(5).urdf())
    far = near.tree._replace(p_joint=near.tree.p_joint + np.where(near.tree.parent < 0, 1e6, 0.0)[:, None])
    rng = np.random.default_rng(2)
    q, v, x = rng.normal(size=(3, 5))
    away = type("Far", (), {"tree": far, "frames": near.frames})()
    for a, b in zip(
        mb.dynamics.inverse_dynamics_derivatives(near, q, v, x), mb.dynamics.inverse_dynamics_derivatives(away, q, v, x)
    ):
        assert error(b, a) <= 1e-9  # positions of the links at 1e6 m are rounded to 1e-10


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_of_the_compliance(seed):
    case = Case(seed + 60, 6, 1, multi=0.5)
    model, q = case.model, case.q
    nodes = ["b2", mb.Point("b5", (0.1, -0.2, 0.3))]
    got = mb.dynamics.compliance_derivatives(model, q, nodes)
    moved = lambda dx: mb.operational_compliance(model, advance(case.tree, q, dx, 1.0), nodes)  # noqa: E731
    assert error(got, difference(moved, case.N)) <= 1e-6


def test_what_does_not_fit_is_told():
    robot = mb.load_urdf(mb.pendulum(2).urdf())
    with pytest.raises(mb.InputError, match="v_dot"):
        mb.dynamics.inverse_dynamics_derivatives(robot, [0, 0], [0, 0], [0])
    with pytest.raises(mb.InputError, match="effort"):
        mb.forward_dynamics_derivatives(robot, [0, 0], [0, 0], [0, np.nan])
