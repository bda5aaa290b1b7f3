# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes whose loops and gears are embedded in the tree, against closed forms and against multipliers.

Covers core/tree/embedding.py, simulation/joints/embedded_forces.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Closure, Gear, Ground, JointProperties, Pose, Scene, SceneModel
from mb_contact.programs.bench.legged import legged_scene
from mb_contact.studies.robust_pivot import RobustPivotStep
from paths import ROOT
from scenes.loop_cases import bar, four_bar, four_bar_joints, four_bar_motion, hinge

THETA, SPEED = 0.7, 2.0
HOPELESS = np.array([2.9, -1.2, -1.4])  #: from which Newton steps of the dependent angles close nothing


def embedded(scene, **options):
    return mb.Simulator(replace(scene, loops="embed", **options))


def pair(scene, **options):
    """The scene with embedded loops, and with multipliers without drift terms from the same state."""
    sim = embedded(scene, **options)
    other = mb.Simulator(replace(scene, loops="multipliers", drift_rate=0.0, drift_control="baumgarte", **options))
    other.set_state(sim.context.q, sim.context.v)
    return sim, other


def parallelogram(angle, speed):
    """Crank and rocker of equal length on a base as long as the coupler; without gravity it turns at one rate."""
    urdf = (
        f'<robot name="p"><link name="base"/>{bar("crank", 0.3)}{bar("coupler", 0.8)}{bar("rocker", 0.3)}'
        f'{hinge("crank_joint", "base", "crank", 0)}{hinge("coupler_joint", "crank", "coupler", 0.3)}'
        f'{hinge("rocker_joint", "base", "rocker", 0.8)}</robot>'
    )
    joints = {"crank_joint": angle, "coupler_joint": -angle, "rocker_joint": angle}
    rates = {"crank_joint": speed, "coupler_joint": -speed, "rocker_joint": speed}
    closure = Closure("axis", "coupler", "rocker", Pose((0.8, 0, 0)), Pose((0.3, 0, 0)))
    model = SceneModel(urdf=urdf, joints=joints, velocities=rates)
    return Scene(models=(model,), loop_closures=(closure,), gravity=(0.0, 0.0, 0.0), loops="embed")


@pytest.mark.nojit
def test_a_four_bar_linkage_follows_its_closed_form():
    """First order in position under Euler; coupler and rocker are where the crank has them, to rounding."""
    errors = []
    for dt in (0.004, 0.002):
        sim = embedded(four_bar("axis", THETA, SPEED), time_step=dt)
        h = 1e-5
        rates = (four_bar_joints(THETA + h) - four_bar_joints(THETA - h)) / (2.0 * h)
        sim.set_state(four_bar_joints(THETA), SPEED * rates)
        for _ in range(round(0.2 / dt)):
            step = sim.step()
        assert step.certificate.closure_error < 1e-13 and step.certificate.loop_rows == 0
        apart = sim.context.q - four_bar_joints(sim.context.q[0])
        np.testing.assert_allclose(np.exp(1j * apart), 1.0, atol=1e-12)
        errors.append(abs(sim.context.q[0] - four_bar_motion(THETA, SPEED, 0.2)[0]))
    assert errors[0] < 0.03 and errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("integrator, order", [("rk4", 4), ("semi_implicit_euler", 1)])
def test_energy_is_kept_to_the_order_of_the_integrator(integrator, order):
    gains = []
    for dt in (0.02, 0.01):
        sim = embedded(four_bar("axis", THETA, SPEED), integrator=integrator, time_step=dt)
        start = sim.energy()
        for _ in range(round(0.4 / dt)):
            sim.step()
        gains.append(abs(sim.energy() - start))
    assert np.log2(gains[0] / gains[1]) == pytest.approx(order, abs=0.35)


def test_nothing_drifts():
    sim = embedded(four_bar("axis", THETA, SPEED))
    worst = max(sim.step().certificate.closure_error for _ in range(2000))
    assert worst < 1e-13


@pytest.mark.parametrize("name", ["four_bar", "four_bar_gripper"])
def test_a_step_is_that_of_multipliers(name):
    """Velocities of the independent coordinates and impulses of contacts."""
    scene = mb.load_scene(ROOT / "config" / f"{name}.yaml")
    sim, other = pair(scene)
    one, two = sim.step(), other.step()
    assert one.certificate.residual < 1e-10
    settled = sim.context.work.v_next  # before dependent velocities are placed where the step has led to
    np.testing.assert_allclose(settled, other.context.v, atol=2e-9)
    impulses = [step.contacts["impulse"].sum(axis=0) for step in (one, two)]
    np.testing.assert_allclose(*impulses, atol=1e-8 * np.abs(impulses).max(initial=1.0))


@pytest.mark.nojit
@pytest.mark.parametrize("speed", [3.0, 3.7])
def test_a_parallelogram_goes_through_its_stretched_out_position(speed):
    """There two rows become one and the linkage could leave its branch; it turns on, at its one rate."""
    sim = mb.Simulator(replace(parallelogram(-0.05, speed), time_step=0.002))
    for _ in range(40):
        step = sim.step()
    np.testing.assert_allclose(sim.context.q, (0.08 * speed - 0.05) * np.array([1.0, -1.0, 1.0]), atol=1e-9)
    assert step.certificate.closure_error < 1e-12
    sim = mb.Simulator(replace(parallelogram(0.0, speed), time_step=0.002))  # from it
    for _ in range(10):
        sim.step()
    np.testing.assert_allclose(sim.context.q, 0.02 * speed * np.array([1.0, -1.0, 1.0]), atol=1e-9)


def test_a_crank_through_its_dead_points_keeps_its_energy():
    """Slider and crank: at the dead points the slider cannot be the independent coordinate; the crank is."""
    urdf = (
        f'<robot name="s"><link name="base"/>{bar("crank", 0.3)}{bar("rod", 0.8)}{bar("slider", 0.1)}'
        f'{hinge("crank_joint", "base", "crank", 0)}{hinge("rod_joint", "crank", "rod", 0.3)}'
        f'{hinge("slider_joint", "base", "slider", 0, "1 0 0", kind="prismatic", extra=RANGE)}</robot>'
    )
    joints = {"crank_joint": 0.4, "rod_joint": -0.4 - np.arcsin(0.3 / 0.8 * np.sin(0.4)), "slider_joint": 1.0}
    model = SceneModel(urdf=urdf, joints=joints, velocities={"crank_joint": 9.0})
    closure = Closure("axis", "rod", "slider", Pose((0.8, 0, 0)), Pose())
    scene = Scene(models=(model,), loop_closures=(closure,), gravity=(0.0, -9.81, 0.0), integrator="rk4")
    sim = embedded(scene, time_step=0.002)
    start, crank = sim.energy(), sim.context.q[0]
    for _ in range(600):
        step = sim.step()
    assert sim.context.q[0] - crank > 6.3
    assert step.certificate.closure_error < 1e-12
    assert sim.energy() == pytest.approx(start, rel=1e-6)
    crank, x = sim.context.q[0], sim.context.q[2]
    assert x == pytest.approx(0.3 * np.cos(crank) + np.sqrt(0.64 - (0.3 * np.sin(crank)) ** 2), abs=1e-12)


RANGE = '<limit lower="-5" upper="5" effort="100" velocity="100"/>'


def test_a_machine_with_six_loops_keeps_its_momentum():
    """Floating, without gravity, under efforts inside it."""
    scene = replace(legged_scene(), gravity=(0.0, 0.0, 0.0), ground=None)
    sim = embedded(scene, integrator="rk4")
    assert len(sim.context.parts) == 6 and sim.context.couplings.rows == 0
    effort = np.random.default_rng(3).normal(scale=2.0, size=len(sim.world.joint_names))
    masses = sim.world.tree.mass
    for _ in range(5):
        sim.step(effort)
    assert np.abs(sim.context.v).max() > 0.1
    momentum = sum(
        m * (V[3:] + np.cross(V[:3], R @ c))
        for m, V, R, c in zip(masses, sim.context.kin.V, sim.context.kin.R, sim.world.tree.com)
    )
    assert np.abs(momentum).max() < 1e-9 * masses.sum()


@pytest.mark.parametrize("name", ["four_bar", "four_bar_gripper"])
def test_operational_space_is_that_of_constraints(name):
    """Inertia, compliance and bias of what moves with embedded loops: those that multipliers leave (constraints)."""
    scene = mb.load_scene(ROOT / "config" / f"{name}.yaml")
    sim, other = pair(scene)
    links = [link for link, frame in sim.world.frames.items() if frame.body >= 0][:3]
    one, two = sim.operational_space(links), other.operational_space(links)
    scale = np.abs(two.compliance).max()
    np.testing.assert_allclose(one.compliance, two.compliance, atol=1e-9 * scale)
    np.testing.assert_allclose(one.bias, two.bias, atol=1e-9 * (1.0 + np.abs(two.bias).max()))
    one, two = (case.operational_space(links, constraints="none") for case in (sim, other))
    np.testing.assert_allclose(one.compliance, two.compliance, atol=1e-9 * np.abs(two.compliance).max())
    np.testing.assert_allclose(one.jacobian, two.jacobian, atol=1e-12)


def test_operational_space_with_rows_beside_embedded_loops():
    """A joint that a drive holds is a row; embedded loops and it together are the rows of multipliers."""
    scene = replace(legged_scene(), ground=None)
    scene = replace(scene, models=(replace(scene.models[0], actuators={}),))
    motion = mb.model.Motion(joint=mb.build_world(scene).joint_names[0])
    sim, other = pair(replace(scene, motions=(motion,)))
    for _ in range(3):
        sim.step(np.arange(len(sim.world.joint_names)) % 5 - 2.0)
    other.set_state(sim.context.q, sim.context.v)
    links = [link for link, frame in sim.world.frames.items() if frame.body >= 0][:4]
    one, two = sim.operational_space(links), other.operational_space(links)
    np.testing.assert_allclose(one.compliance, two.compliance, atol=1e-8 * np.abs(two.compliance).max())
    np.testing.assert_allclose(one.bias, two.bias, atol=1e-8 * (1.0 + np.abs(two.bias).max()))


FINGER = (
    '<robot name="finger"><link name="base"/>'
    + bar("a", 0.3) + bar("b", 0.2) + bar("c", 0.1)
    + hinge("ja", "base", "a", 0, "0 0 1", extra='<dynamics damping="0.1"/>')
    + hinge("jb", "a", "b", 0.3, "0 1 0", extra='<mimic joint="ja" multiplier="0.7" offset="0.2"/>')
    + hinge("jc", "b", "c", 0.2, "1 0 0", extra='<mimic joint="jb" multiplier="-1.5" offset="0.1"/>')
    + "</robot>"
)  # fmt: skip


def test_mimic_joints_of_neighbours_accelerate_as_the_reduced_model():
    """v_dot of the step is S times that of the model in its own coordinates, whose M is S* M S."""
    model = mb.load_urdf(FINGER)
    scene = Scene(models=(SceneModel(urdf=FINGER, joints={"ja": 0.4}, velocities={"ja": 3.0}),))
    sim = embedded(scene)
    q, v = model.q_from({"ja": 0.4}), np.array([3.0])
    start = sim.context.v.copy()
    want = model.S @ mb.forward_dynamics(model, q, v, [0.5])
    sim.step([0.5])
    got = (sim.context.v - start) / sim.context.dt
    M = (model.S.T @ np.diag([0.1, 0.0, 0.0]) @ model.S)[0, 0] * 1e-3 / mb.mass_matrix(model, q)[0, 0]
    np.testing.assert_allclose(got * (1.0 + M), want, rtol=1e-9)  # damping is implicit


def test_a_geared_motor_adds_its_rotor_and_does_not_couple_distant_branches():
    """A gear of neighbours is embedded, one across the machine stays a row."""
    arm = "".join(
        [bar(f"l{i}", 0.2) for i in range(16)]
        + [hinge(f"j{i}", f"l{i - 1}" if i else "base", f"l{i}", 0.2, "0 1 0" if i % 2 else "0 0 1") for i in range(16)]
    )
    urdf = f'<robot name="arm"><link name="base"/>{arm}</robot>'
    gears = (Gear("j1", "j0", 0.5), Gear("j15", "j2", -1.0))
    scene = Scene(models=(SceneModel(urdf=urdf, joints={f"j{i}": 0.1 * i for i in range(3)}),), gears=gears)
    sim, other = pair(scene)
    assert [part.bodies for part in sim.context.parts] == [[0, 1]]
    assert sim.context.couplings.gear_names == ("j15",)
    sim.step()
    other.step()
    np.testing.assert_allclose(sim.context.work.v_next, other.context.v, atol=1e-9)


def test_a_driven_crank_stays_independent():
    motion = mb.model.Motion(joint="crank_joint", times=(0.0, 1.0), positions=(THETA, THETA + 1.0))
    sim = embedded(replace(four_bar("axis", THETA, 0.0), motions=(motion,)))
    for _ in range(500):
        step = sim.step()
    assert step.certificate.loop_rows == 1 and step.certificate.closure_error < 1e-12
    np.testing.assert_allclose(sim.context.q, four_bar_joints(THETA + 0.5), atol=1e-9)


def test_accelerations_of_sensors():
    sim = embedded(four_bar("axis", THETA, SPEED))
    sim.step()
    state = sim.context.v.copy()
    a = mb.simulation.Sensors(sim).accelerations()
    sim.step()
    np.testing.assert_allclose((sim.context.v - state)[0] / sim.context.dt, a[0], rtol=1e-2)


@pytest.mark.parametrize("name", ["crank_joint", "coupler_joint", "rocker_joint", "coupler_rocker"])
def test_wrenches_of_joints_and_of_embedded_loops_are_those_of_multipliers(name):
    """In the plane: what a closure and the hinges share across it is left open."""
    sim, other = pair(four_bar("point", THETA, SPEED))
    for case in (sim, other):
        case.step([0.3, 0.0, -0.2])
    np.testing.assert_allclose(sim.joint_wrench(name)[3:5], other.joint_wrench(name)[3:5], rtol=1e-7)


def test_what_does_not_know_embedded_loops_is_refused():
    scene = four_bar("axis", THETA, SPEED)
    with pytest.raises(mb.SceneError, match="'coupler_rocker' cannot be embedded: .*; set loops: auto"):
        embedded(scene, collision_scheme="event")
    sim = mb.Simulator(replace(scene, loops="auto", collision_scheme="event"))
    assert not sim.context.parts and sim.loops["coupler_rocker"] == "collision_scheme: event"
    with pytest.raises(mb.SceneError, match="these steps have loops as rows; set loops: multipliers"):
        mb.Simulator(replace(scene, loops="embed"), step=RobustPivotStep)
    with pytest.raises(mb.SceneError, match="loops"):
        mb.Simulator(replace(scene, loops="cut"))


def test_a_loop_that_cannot_be_closed_leaves_the_state_as_it_was():
    """A rocker that is driven past what crank and coupler reach."""
    motion = mb.model.Motion(joint="rocker_joint", times=(0.0, 1.0), positions=(four_bar_joints(THETA)[2], 3.0))
    sim = embedded(replace(four_bar("axis", THETA, 0.0), motions=(motion,), time_step=0.01))
    with pytest.raises(mb.DynamicsError, match="loops: multipliers"):
        for _ in range(100):
            before = sim.context.q.copy(), sim.context.v.copy(), sim.energy()
            sim.step()
    np.testing.assert_array_equal(sim.context.q, before[0])
    np.testing.assert_array_equal(sim.context.v, before[1])
    assert sim.energy() == before[2]


def test_open_coordinates_are_closed_and_hopeless_ones_refused():
    sim = embedded(four_bar("axis", THETA, SPEED))
    before = sim.context.q.copy()
    sim.set_state(before + [0.01, 0.02, -0.01], sim.context.v)
    np.testing.assert_allclose(np.exp(1j * (sim.context.q - four_bar_joints(sim.context.q[0]))), 1.0, atol=1e-12)
    before = sim.context.q.copy()
    with pytest.raises(mb.InputError, match="cannot be closed from these coordinates"):
        sim.set_state(HOPELESS, np.zeros(3))
    np.testing.assert_array_equal(sim.context.q, before)


def pinned(gap, theta=THETA):
    """A four bar whose pin is held at two points, written with an error of ``gap`` [m] along the pin."""
    scene = four_bar("point", theta, SPEED)
    (first,) = scene.loop_closures
    second = replace(
        first, pose_a=Pose((*first.pose_a.position[:2], 0.1)), pose_b=Pose((*first.pose_b.position[:2], 0.1 + gap))
    )
    return replace(scene, loop_closures=(first, second), time_step=1e-4)


def test_poses_of_few_digits_close_embedded_and_are_refused_with_the_remedy_otherwise():
    """Whatever the joints do such a pin stays open along itself; it must not hold the linkage."""
    sim = embedded(pinned(2e-8))
    rates = SPEED * (four_bar_joints(THETA + 1e-6) - four_bar_joints(THETA - 1e-6)) / 2e-6
    sim.set_state(four_bar_joints(THETA), rates)
    worst = max(sim.step().certificate.residual for _ in range(1000))
    theta, _ = four_bar_motion(THETA, SPEED, 0.1)
    assert worst <= 1e-9 and abs(sim.q[0] - theta) <= 5e-4  # of first order in the step
    with pytest.raises(mb.SceneError, match=r"loop_closures\[.\].* 2e-08 m or rad stay open; .*set loops: auto"):
        mb.Simulator(pinned(2e-8))
    with pytest.raises(mb.SceneError, match="1e-05 m or rad stay open; correct its poses"):
        embedded(pinned(1e-5))


def test_worlds_take_the_same_steps():
    scene = replace(four_bar("axis", THETA, SPEED), loops="embed")
    sim, worlds = mb.Simulator(scene), mb.Worlds(scene, 3)
    for _ in range(5):
        sim.step()
        worlds.step()
    np.testing.assert_array_equal(worlds.q[1], sim.context.q)


def test_springs_of_loops_are_as_of_joints():
    """A spring on a dependent joint: the step of multipliers."""
    scene = four_bar("axis", THETA, SPEED)
    spring = JointProperties(stiffness=20.0, rest_position=0.5, damping=0.3)
    model = replace(scene.models[0], joint_properties={"rocker_joint": spring})
    sim, other = pair(replace(scene, models=(model,)))
    sim.step()
    other.step()
    np.testing.assert_allclose(sim.context.work.v_next, other.context.v, atol=1e-10)


@pytest.mark.parametrize("feet", [3, 4, 8])
def test_a_body_that_its_loop_holds_still_takes_no_impulses_of_contacts(feet):
    """Crank and body turn about one axis, a pin holds the body, whose feet touch the floor: the crank swings freely."""
    axis = '<axis xyz="0.1 0.98 0.17"/>'
    inertial = '<inertial><origin xyz="0.05 0 0.1"/><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" '
    inertial += 'ixy="0" ixz="0" iyz="0"/></inertial>'
    places = [(0.03 * (i - feet / 2), 0.05 * (i % 3) - 0.05) for i in range(feet)]
    sphere = '<collision><origin xyz="{} {} -0.02"/><geometry><sphere radius="0.02"/></geometry></collision>'
    soles = "".join(sphere.format(*place) for place in places)
    urdf = (
        f'<robot name="r"><link name="base"/><link name="crank">{inertial}</link>'
        f'<link name="body">{inertial}{soles}</link><joint name="a" type="continuous"><parent link="base"/>'
        f'<child link="crank"/><origin xyz="0.1 0.2 0"/>{axis}</joint><joint name="b" type="continuous">'
        f'<parent link="crank"/><child link="body"/>{axis}</joint></robot>'
    )
    pin = Closure("point", "body", "base", Pose((0.217, 0.0, 0.113)), Pose((0.317, 0.2, 0.113)))
    model = SceneModel(urdf=urdf, joints={"a": 0.3, "b": -0.3})
    scene = Scene(models=(model,), loop_closures=(pin,), ground=Ground(-0.04))
    speeds = []
    for case in (scene, replace(scene, ground=None)):
        sim = embedded(case)
        for _ in range(60):
            certificate = sim.step().certificate
            assert np.abs(sim.context.solution.r).max() < 1e-6 and certificate.residual < 1e-10
        speeds.append(sim.v)
        assert certificate.contacts == (feet if case.ground else 0)
    np.testing.assert_allclose(speeds[0], speeds[1], atol=1e-9)
    assert speeds[0][0] > 0.3
