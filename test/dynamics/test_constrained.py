# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Operational space of closed chains, against independent coordinates and against pushes of the simulator.

Covers core/constraints/response.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Gear, JointProperties, Material, Pose, Primitive, Velocity
from scenes.loop_cases import cut_four_bar, four_bar, four_bar_joints

NODE = mb.Point("coupler", (0.4, 0.2, 0.0))
THETA, SPEED = 0.7, 2.0


def along(theta, h=1e-4):
    """dq/dtheta and its derivative, of the four-bar linkage."""
    steps = [four_bar_joints(theta + k * h) for k in (-2, -1, 0, 1, 2)]
    first = (steps[0] - 8 * steps[1] + 8 * steps[3] - steps[4]) / (12 * h)
    second = (-steps[0] + 16 * steps[1] - 30 * steps[2] + 16 * steps[3] - steps[4]) / (12 * h * h)
    return first, second


@pytest.mark.parametrize("kind", ["axis", "point", "weld"])
def test_a_four_bar_linkage_in_its_crank_angle(kind):
    """One degree of freedom: Lambda = J t (t* M t)^-1 t* J*, with q' = t theta'."""
    scene = four_bar("axis" if kind == "weld" else kind, THETA, SPEED)
    node = NODE
    if kind == "weld":  # six rows for three, and the coupler cut in two
        scene, node = cut_four_bar(THETA, SPEED), mb.Point("near", (0.4, 0.2, 0.0))
    world = mb.build_world(scene)
    q, (t, t_dot) = world.q0, along(THETA)
    if kind == "weld":  # crank, near half, rocker, far half
        t, t_dot = (np.array([x[0], x[1], x[2], x[0] + x[1] - x[2]]) for x in (t, t_dot))
    v = t * SPEED
    space = mb.operational_space(world, q, v, node)
    M, J = mb.mass_matrix(world, q), mb.jacobian(world, q, node)
    reflected = t @ M @ t
    np.testing.assert_allclose(space.compliance, np.outer(J @ t, J @ t) / reflected, atol=1e-9)
    pull = -(t @ M @ t_dot) * SPEED**2 / reflected  # acceleration of the crank when nothing pushes
    bias = J @ (t * pull + t_dot * SPEED**2) + mb.dynamics.jacobian_bias(world, q, v, node)
    np.testing.assert_allclose(space.bias, bias, rtol=1e-6, atol=1e-6)
    assert space.rank == 1
    push = (J @ t) / np.linalg.norm(J @ t)
    assert push @ space.inertia @ push == pytest.approx(reflected / np.dot(J @ t, J @ t), rel=1e-8)
    inverse = mb.dynamics.consistent_inverse(world, q, node)
    np.testing.assert_allclose(inverse @ (J @ t), t, atol=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_it_does_not_matter_how_a_linkage_is_mounted(seed):
    """Turned, the rows that no motion feels are rounding instead of zero; so are the rows of a planar arm."""
    rpy = tuple(np.random.default_rng(seed).uniform(-3.0, 3.0, 3))
    scene = four_bar("axis", THETA, SPEED)
    for loops in ((), scene.loop_closures, 2 * scene.loop_closures):
        usual = replace(scene, loop_closures=loops)
        turned = replace(usual, models=(replace(scene.models[0], pose=Pose(rpy=rpy)),))
        worlds = [mb.build_world(usual), mb.build_world(turned)]
        q, v = worlds[0].q0, worlds[0].v0
        here, there = (mb.operational_space(world, q, v, NODE) for world in worlds)
        R = mb.frame_pose(worlds[1], q, "base")[0]
        assert here.rank == there.rank == (1 if loops else 2)
        np.testing.assert_allclose(there.compliance, R @ here.compliance @ R.T, atol=1e-10)
        np.testing.assert_allclose(there.bias, R @ here.bias, atol=1e-9)
        L, A = there.compliance, there.inertia  # a pseudo-inverse: which one depends on the axes
        np.testing.assert_allclose(L @ A @ L, L, atol=1e-9)
        assert np.abs(A).max() <= 100.0 * np.abs(here.inertia).max()


def test_the_tree_alone_is_there_when_asked_for():
    world = mb.build_world(four_bar("axis", THETA, SPEED))
    q, v = world.q0, world.v0
    M, J = mb.mass_matrix(world, q), mb.jacobian(world, q, NODE)
    tree = J @ np.linalg.solve(M, J.T)
    np.testing.assert_allclose(mb.operational_compliance(world, q, NODE, "none"), tree, atol=1e-12)
    space = mb.operational_space(world, q, v, NODE, constraints="none")
    np.testing.assert_allclose(space.compliance, tree, atol=1e-12)
    np.testing.assert_array_equal(space.bias, mb.dynamics.jacobian_bias(world, q, v, NODE))
    assert np.abs(mb.operational_compliance(world, q, NODE) - tree).max() > 0.1
    with pytest.raises(mb.InputError, match="constraints is 'tree'; it is one of loops, none"):
        mb.operational_compliance(world, q, NODE, "tree")
    with pytest.raises(mb.InputError, match="one of loops, held, none"):
        mb.Simulator(four_bar("axis", THETA, SPEED)).operational_space("coupler", "tree")


def test_what_a_loop_holds_has_no_compliance():
    """The joined ends of two fixed bodies' chains: no motion, no noise that an inverse would blow up."""
    scene = four_bar("axis", THETA, SPEED)
    rigid = replace(scene, gears=(Gear("crank_joint", "rocker_joint", 1.7),))
    space = mb.operational_space(mb.build_world(rigid), mb.build_world(scene).q0, np.zeros(3), "coupler")
    assert space.rank == 0 and not space.compliance.any() and not space.inertia.any()


def test_gears_tie_two_joints():
    open_chain = replace(four_bar("axis", THETA), loop_closures=())
    world = mb.build_world(replace(open_chain, gears=(Gear("rocker_joint", "crank_joint", -2.0),)))
    q = world.q0
    S = np.array([[1.0, 0.0], [0.0, 1.0], [-2.0, 0.0]])
    M, J = mb.mass_matrix(world, q), mb.jacobian(world, q, ["coupler", "rocker"])
    want = J @ S @ np.linalg.solve(S.T @ M @ S, S.T @ J.T)
    np.testing.assert_allclose(mb.operational_compliance(world, q, ["coupler", "rocker"]), want, atol=1e-10)


def pushed(sim, link, wrench, dt):
    """Change of the link's velocity (6,) by a wrench through one step, over dt and per unit of it."""
    sim.time_step = dt
    start = sim.save()
    ends = []
    for w in (np.zeros(6), wrench):
        sim.restore(start)
        sim.set_external_wrench(link, w)
        sim.step()
        ends.append(mb.dynamics.velocity(sim.world, start.q, sim.v, link))
    sim.restore(start)
    return (ends[1] - ends[0]) / dt


@pytest.mark.parametrize("link", ["left_tcp", "right_arm_link_5", "bar"])
def test_the_closed_chain_moves_as_its_operational_space_says(link):
    """The robot holds a bar with both hands: steps with and without a push differ by the compliance."""
    sim = mb.Simulator(mb.load_scene("package://mb_contact/config/closed_chain.yaml"))
    for _ in range(40):
        sim.step()
    space, tree = sim.operational_space(link), sim.operational_space(link, "none")
    for axis in range(6):
        wrench = np.eye(6)[axis]
        np.testing.assert_allclose(pushed(sim, link, wrench, 1e-7), space.compliance[axis], rtol=1e-3, atol=1e-4)
    assert tree.compliance[3, 3] > 1.1 * space.compliance[3, 3]
    world = mb.operational_space(sim.world, sim.q, sim.v, link)
    np.testing.assert_allclose(world.compliance, space.compliance, atol=1e-9)
    np.testing.assert_allclose(world.bias, space.bias, atol=1e-9)


def test_joints_that_friction_holds():
    """A push that friction resists moves nothing: "held" says so; one that overcomes it moves the chain as "loops"."""
    scene = four_bar("axis", THETA, 0.0, gravity=(0.0, 0.0, 0.0))
    model = replace(scene.models[0], joint_properties={"crank_joint": JointProperties(friction=5.0)})
    sim = mb.Simulator(replace(scene, models=(model,)))
    assert sim.operational_space("coupler", "held").rank == 1  # no step yet
    sim.step()
    assert sim.operational_space("coupler").rank == 1
    held = sim.operational_space("coupler", "held")
    assert held.rank == 0 and not held.compliance.any()
    weak, strong = np.array([0, 0, 0, 0, 1.0, 0]), np.array([0, 0, 0, 0, 1e3, 0])
    assert np.abs(pushed(sim, "coupler", weak, 1e-6)).max() <= 1e-5  # of 0.4 without friction
    sim.set_external_wrench("coupler", strong)
    sim.step()
    slipping = sim.operational_space("coupler", "held")
    np.testing.assert_array_equal(slipping.compliance, sim.operational_space("coupler").compliance)


def test_contacts_and_controllers_have_one_operator():
    """A ball that hits a closed linkage without friction gives it w / (n . Lambda_c n + 1 / m)."""
    ball = '<collision><origin xyz="0.4 0.2 0"/><geometry><sphere radius="0.05"/></geometry></collision>'
    scene, mass, speed, n = four_bar("axis", THETA, 0.0, gravity=(0.0, 0.0, 0.0)), 0.3, 2.0, np.array([0.6, 0.8, 0.0])
    model = replace(scene.models[0], urdf=scene.models[0].urdf.replace('name="coupler">', f'name="coupler">{ball}'))
    at = mb.frame_pose(mb.build_world(scene), mb.build_world(scene).q0, NODE)[1] + 0.1 * n
    flying = Velocity(linear=tuple(-speed * n))
    thrown = Primitive("ball", "sphere", (0.05,), Pose(tuple(at)), "free", mass, material="ice", velocity=flying)
    ice = {"ice": Material(friction=0.0)}
    sim = mb.Simulator(replace(scene, models=(model,), primitives=(thrown,), materials=ice, time_step=1e-6))
    compliance = sim.operational_space("coupler").compliance
    point = sim.link_pose("coupler")[0] - at + 0.05 * n  # of the contact, from the frame; then its normal's row
    row = np.concatenate((np.cross(-point, n), n))
    step = sim.step()
    impulse = np.linalg.norm(sim.contact_impulse("ball")[3:])
    assert impulse == pytest.approx(speed / (row @ compliance @ row + 1.0 / mass), rel=1e-6)
    assert step.certificate.residual <= 1e-9
