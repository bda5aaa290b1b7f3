# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Mimic joints eliminated, q = S q_r, against Pinocchio and dense matrices; gears; both in the simulator.

Covers core/constraints/gear.py, dynamics/reduced.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Gear, JointProperties, Scene, SceneModel
from scenes.loop_cases import bar, hinge

pytestmark = pytest.mark.quick

LIMIT = '<limit effort="100" velocity="5" lower="-3" upper="3"/>'
FRICTION_MODELS = ("coulomb_polyhedral", "coulomb_cone", "no_slip", "viscous", "coulomb_viscous")


def urdf(*mimics):
    """A tree of six hinges about mixed axes with damping; ``mimics`` by joint name: (leader, multiplier, offset)."""
    followers = dict((name, rest) for name, *rest in mimics)
    tree = (("a", "base", "0 1 0"), ("b", "l_a", "0 0 1"), ("c", "l_b", "1 0 0"), ("d", "l_a", "0 0.6 0.8"),
            ("e", "l_d", "0 1 0"), ("f", "l_e", "0 0 1"))  # fmt: skip
    text = '<robot name="m"><link name="base"/>'
    for i, (name, parent, axis) in enumerate(tree):
        extra = LIMIT + '<dynamics damping="0.3"/>'
        if name in followers:
            leader, ratio, offset = followers[name]
            extra += f'<mimic joint="{leader}" multiplier="{ratio}" offset="{offset}"/>'
        text += bar(f"l_{name}", 0.2 + 0.05 * i, 1.0 + i)
        text += hinge(name, parent, f"l_{name}", 0.2, axis, extra, "revolute")
    return text + "</robot>"


CHAIN = (("c", "f", -0.5, 0.1), ("f", "a", 2.0, -0.3), ("e", "b", 0.7, 0.0))


# --- the model ----------------------------------------------------------------------------------------


def test_chains_are_resolved():
    """c follows f, which follows a: -0.5 (2 a - 0.3) + 0.1."""
    model = mb.load_urdf(urdf(*CHAIN))
    assert model.joint_names == ("a", "b", "d") and (model.N, model.nq) == (3, 3)
    assert {m.joint: (m.leader, m.ratio, m.offset) for m in model.mimics} == {
        "c": ("a", -1.0, 0.25), "f": ("a", 2.0, -0.3), "e": ("b", 0.7, 0.0),
    }  # fmt: skip
    q = np.array([0.3, -0.2, 0.5])
    np.testing.assert_allclose(model.expand_q(q), [0.3, -0.2, -0.05, 0.5, -0.14, 0.3], atol=1e-15)
    np.testing.assert_allclose(model.q_from({"b": 1.0}), [0, 1, 0])
    np.testing.assert_allclose(model.lower, [-3, -3, -3])


@pytest.mark.parametrize(
    "mimics, message",
    [
        ((("a", "b", 1, 0), ("b", "a", 1, 0)), "the mimic joints form a circle: 'a' -> 'b' -> 'a'"),
        ((("a", "a", 1, 0),), "form a circle: 'a' -> 'a'"),
        ((("a", "z", 1, 0),), "joint 'a' mimics 'z', which is not declared; correct the name"),
    ],
)
def test_what_cannot_be_resolved_is_an_error(mimics, message):
    with pytest.raises(mb.ModelError, match=message):
        mb.load_urdf(urdf(*mimics))


def test_a_joint_cannot_follow_several_coordinates():
    text = urdf(("b", "a", 1, 0)).replace('name="a" type="revolute"', 'name="a" type="planar"')
    with pytest.raises(mb.ModelError, match="joint 'b' mimics 'a', a planar joint; a joint can follow a revolute"):
        mb.load_urdf(text)


def states(model, count=10):
    rng = np.random.default_rng(1)
    for _ in range(count):
        yield rng.normal(size=model.nq), rng.normal(size=model.N), rng.normal(size=model.N)


def dense(model, q, v):
    """S* M S, S* (C + g), J S, all of the tree with every joint on its own."""
    whole = mb.load_urdf(urdf(*CHAIN), mimic="independent")
    full, rate = model.expand_q(q), model.S @ v
    S = model.S
    return (
        S.T @ mb.mass_matrix(whole, full) @ S, S.T @ mb.dynamics.nonlinear_effects(whole, full, rate),
        mb.jacobian(whole, full, ["l_c", "l_f"]) @ S, S.T @ np.diag(whole.tree.damping) @ S,
    )  # fmt: skip


def test_dynamics_in_reduced_coordinates():
    """Every public function of the dynamics against S* M S and its like."""
    model = mb.load_urdf(urdf(*CHAIN))
    for q, v, x in states(model):
        M, h, J, D = dense(model, q, v)
        near = {"rtol": 1e-10, "atol": 1e-10}
        np.testing.assert_allclose(mb.mass_matrix(model, q), M, **near)
        np.testing.assert_allclose(mb.dynamics.nonlinear_effects(model, q, v), h, **near)
        np.testing.assert_allclose(mb.inverse_dynamics(model, q, v, x), M @ x + h, **near)
        np.testing.assert_allclose(mb.forward_dynamics(model, q, v, x), np.linalg.solve(M, x - D @ v - h), **near)
        np.testing.assert_allclose(mb.jacobian(model, q, ["l_c", "l_f"]), J, **near)
        L = J @ np.linalg.solve(M, J.T)
        np.testing.assert_allclose(mb.operational_compliance(model, q, ["l_c", "l_f"]), L, **near)
        space = mb.operational_space(model, q, v, ["l_c", "l_f"])
        np.testing.assert_allclose(space.compliance, L, **near)
        assert space.rank == 3 and space.jacobian.shape == (12, 3)
        kinetic, _ = mb.energy(model, q, v)
        assert kinetic == pytest.approx(0.5 * v @ M @ v, rel=1e-10)


def test_derivatives_in_reduced_coordinates():
    model, h = mb.load_urdf(urdf(*CHAIN)), 1e-5
    for q, v, x in states(model):
        for k, got in enumerate(mb.forward_dynamics_derivatives(model, q, v, x)):
            for i, step in enumerate(h * np.eye(model.N)):
                ends = [
                    mb.forward_dynamics(model, *(a + sign * step * (k == j) for j, a in enumerate((q, v, x))))
                    for sign in (1, -1)
                ]
                np.testing.assert_allclose(got[:, i], (ends[0] - ends[1]) / (2 * h), rtol=1e-5, atol=1e-4)


def test_jacobian_and_poses_by_differences():
    model = mb.load_urdf(urdf(*CHAIN))
    h = 1e-6
    for q, v, x in states(model, 3):
        ahead, behind = (mb.frame_pose(model, q + s * h * v, "l_f")[1] for s in (1, -1))
        rate = mb.jacobian(model, q, "l_f")[3:] @ v
        np.testing.assert_allclose((ahead - behind) / (2 * h), rate, atol=1e-7)
        np.testing.assert_allclose(model.link_pose("l_f", q)[1], mb.frame_pose(model, q, "l_f")[1], atol=1e-13)
        J_dot = mb.dynamics.jacobian_rate(model, q, v, "l_f")
        np.testing.assert_allclose(J_dot @ v, mb.dynamics.jacobian_bias(model, q, v, "l_f"), atol=1e-10)
        np.testing.assert_allclose(
            mb.dynamics.acceleration(model, q, v, x, "l_f"), mb.jacobian(model, q, "l_f") @ x + J_dot @ v, atol=1e-10
        )


def test_against_pinocchio_mimic_models(tmp_path):
    """Pinocchio's own mimic joints: the same mass matrix and the same efforts."""
    pin = pytest.importorskip("pinocchio")
    mimics = (("e", "b", 0.7, 0.2), ("f", "a", 2.0, -0.3))  # it resolves no chains
    file = tmp_path / "m.urdf"
    file.write_text(urdf(*mimics))
    try:
        peer = pin.buildModelFromUrdf(str(file), mimic=True)
    except TypeError:
        pytest.skip("this Pinocchio knows no mimic joints")
    model, data = mb.load_urdf(file), peer.createData()
    order = [peer.joints[peer.getJointId(name)].idx_v for name in model.joint_names]
    assert peer.nv == model.N
    for q, v, x in states(model, 20):
        q_peer, v_peer, a_peer = (np.zeros(peer.nv) for _ in range(3))
        q_peer[order], v_peer[order], a_peer[order] = q, v, x
        M = np.triu(pin.crba(peer, data, q_peer))
        M = M + np.triu(M, 1).T
        np.testing.assert_allclose(mb.mass_matrix(model, q), M[np.ix_(order, order)], rtol=1e-9, atol=1e-9)
        tau = pin.rnea(peer, data, q_peer, v_peer, a_peer)
        np.testing.assert_allclose(mb.inverse_dynamics(model, q, v, x), tau[order], rtol=1e-9, atol=1e-9)


# --- the simulator ------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", FRICTION_MODELS)
def test_a_step_is_forward_dynamics_in_reduced_coordinates(model):
    """(S* (M + dt d) S) (v+ - v) = dt (T - S* (d S v + C)), followers exactly where they belong."""
    robot = SceneModel(urdf(*CHAIN), joints={"a": 0.2, "b": -0.1}, velocities={"a": 1.0})
    scene = Scene((robot,), friction_model=model)
    sim = mb.Simulator(scene)
    robot = sim.world.robot_models[0]
    assert sim.world.joint_names == ("a", "b", "d") and sim.world.follower_names == ("c", "e", "f")
    effort = np.array([3.0, -2.0, 1.0])
    for _ in range(5):
        q, v = sim.joint_positions(), sim.joint_velocities()
        M, h, _, D = dense(robot, q, v)
        dt = sim.time_step
        expected = v + np.linalg.solve(M + dt * D, dt * (effort - D @ v - h))
        step = sim.step(effort)
        np.testing.assert_allclose(sim.joint_velocities(), expected, rtol=1e-11, atol=1e-11)
        np.testing.assert_array_equal(sim.q, robot.expand_q(sim.joint_positions()))
        assert step.certificate.residual <= 1e-12 and step.certificate.closure_error <= 1e-15
    np.testing.assert_array_equal(sim.follower_state()[0], sim.q[[2, 4, 5]])
    np.testing.assert_allclose(sim.mass_matrix(), dense(robot, sim.joint_positions(), sim.joint_velocities())[0])
    space = sim.operational_space(["l_f"])
    reference = mb.operational_space(robot, sim.joint_positions(), sim.joint_velocities(), ["l_f"])
    for x, y in zip(space[1:5], reference[1:5]):
        np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-7)


def test_long_runs_keep_followers_exactly():
    sim = mb.Simulator(Scene((SceneModel(urdf(*CHAIN), velocities={"a": 1.0}),)))
    worst = max(sim.step().certificate.residual for _ in range(5000))
    robot = sim.world.robot_models[0]
    np.testing.assert_array_equal(sim.q, robot.expand_q(sim.joint_positions()))
    assert worst <= 1e-9


def test_a_limit_of_a_follower_stops_its_leader():
    """f = 2 a - 0.3 may reach 3: a stops at 1.65."""
    scene = Scene((SceneModel(urdf(("f", "a", 2.0, -0.3)), velocities={"a": 2.0}),), gravity=(0, 0, 0))
    sim = mb.Simulator(scene)
    for _ in range(3000):
        assert sim.step([20.0, 0, 0, 0, 0]).certificate.residual <= 1e-9
    assert sim.q[0] == pytest.approx(1.65, abs=1e-6)


def two_wheels(ratio, **options):
    """Two flywheels of 0.1 and 0.4 kg m^2 (about z) coupled by a gear."""
    wheel = '<link name="{0}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="{1}" ixy="0" ixz="0" iyz="0"/>'
    wheel += "</inertial></link>"
    text = f'<robot name="w"><link name="base"/>{wheel.format("one", 0.1)}{wheel.format("two", 0.4)}'
    text += hinge("x", "base", "one", 0) + hinge("y", "base", "two", 1) + "</robot>"
    return Scene((SceneModel(text, **options),), gears=(Gear("x", "y", ratio, 0.25),))


@pytest.mark.parametrize("ratio", [3.0, -0.5])
def test_a_gear_reflects_inertia_by_the_ratio_squared(ratio):
    """An effort T on y accelerates it by T / (0.4 + ratio^2 0.1); x turns with it and starts at the offset."""
    sim = mb.Simulator(two_wheels(ratio))
    assert sim.q[0] == 0.25
    for _ in range(100):
        step = sim.step([0.0, 2.0])
    assert sim.v[1] == pytest.approx(0.1 * 2.0 / (0.4 + ratio**2 * 0.1), rel=1e-12)
    assert sim.v[0] == ratio * sim.v[1] and sim.q[0] == ratio * sim.q[1] + 0.25
    assert step.certificate.residual <= 1e-12 and abs(step.certificate.energy_balance) <= 1e-4


def test_friction_behind_a_gear_holds_as_much_as_the_ratio_gives():
    """Friction of 1 N m at x holds 3 N m at y."""
    scene = two_wheels(3.0, joint_properties={"x": JointProperties(friction=1.0)})
    for push, moves in ((2.999, False), (3.001, True)):
        sim = mb.Simulator(scene)
        for _ in range(100):
            step = sim.step([0.0, push])
        assert (sim.v[1] > 1e-9) == moves and step.certificate.residual <= 1e-12


@pytest.mark.parametrize(
    "gears, message",
    [
        ((Gear("x", "y", 1.0), Gear("y", "x", 1.0)), r"gears\[1\].joint_b: the gears of 'y' close a circle"),
        ((Gear("x", "y", 1.0), Gear("x", "y", 2.0)), r"gears\[1\].joint_a: 'x' follows 'y' already"),
        ((Gear("x", "z", 1.0),), r"gears\[0\].joint_b: no joint is called 'z'; joints: x, y"),
        ((Gear("x", "x", 1.0),), r"gears\[0\].joint_b: 'x' cannot follow itself"),
    ],
)
def test_gears_that_make_no_sense(gears, message):
    scene = two_wheels(1.0)
    with pytest.raises(mb.SceneError, match=message):
        mb.Simulator(Scene(scene.models, gears=gears))


def test_gears_of_a_scene_file(tmp_path):
    (tmp_path / "w.urdf").write_text(two_wheels(1.0).models[0].urdf)
    file = tmp_path / "scene.yaml"
    file.write_text("models: [{urdf: w.urdf}]\ngears:\n  - {joint_a: x, joint_b: y, ratio: -2, offset: 0.1}\n")
    assert mb.load_scene(file).gears == (Gear("x", "y", -2.0, 0.1),)
