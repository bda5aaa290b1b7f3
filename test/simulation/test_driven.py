# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Prescribed motions of joints and closures: on their paths, with the forces that mechanics asks for them.

Covers core/constraints/driven.py, model/motions.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

import mb_contact as mb
from mb_contact.model.scene import (
    Actuator,
    Closure,
    Gear,
    JointProperties,
    Material,
    Motion,
    Pose,
    Primitive,
    Scene,
    SceneModel,
)
from scenes.loop_cases import bar, four_bar, four_bar_joints, hinge

DT, G, MASS = 1e-3, 9.81, 2.0
TIMES = (0.0, 0.3, 0.7, 1.0)


def arm(**motion):
    """A rod of 1 kg and 0.5 m on a hinge about y, driven."""
    text = f'<robot name="arm"><link name="base"/>{bar("rod", 0.5)}{hinge("turn", "base", "rod", 0, "0 1 0")}</robot>'
    return Scene(models=(SceneModel(text),), motions=(Motion(joint="turn", **motion),), time_step=DT)


def held(kind="weld", body=None, **motion):
    """A box in the air, held to the world by a closure that moves."""
    box = body or Primitive("box", "box", (0.1, 0.2, 0.3), Pose((0.0, 0.0, 1.0)), "free", MASS)
    ends = {"pose_a": Pose(), "pose_b": Pose((0.0, 0.0, 2.0))} if kind == "distance" else {}
    closure = Closure(kind, "box", "world", name="grip", **ends)
    return Scene(primitives=(box,), loop_closures=(closure,), motions=(Motion(closure="grip", **motion),), time_step=DT)


def test_a_driven_hinge_is_on_its_path_and_its_effort_is_that_of_inverse_dynamics():
    knots = (0.0, 0.8, -0.5, 0.2)
    sim, path = mb.Simulator(arm(times=TIMES, positions=knots)), CubicSpline(TIMES, knots, bc_type="clamped")
    model = sim.world.robot_models[0]
    for n in range(1, 1100):
        q, v = sim.q.copy(), sim.v.copy()
        step = sim.step([3.0])  # whatever the joint's motor adds, the drive takes away
        assert sim.q[0] == pytest.approx(path(min(n * DT, 1.0)), abs=1e-15)
        np.testing.assert_allclose(sim.v, (sim.q - q) / DT, atol=1e-12)
        effort = mb.inverse_dynamics(model, q, v, (sim.v - v) / DT)
        np.testing.assert_allclose(sim.joint_efforts(), effort, atol=1e-8)
        assert step.certificate.residual <= 1e-10 and abs(step.certificate.energy_balance) <= 1e-2
    assert not sim.v.any()  # it stays where the path ends


def test_a_closed_linkage_follows_its_driven_crank():
    motion = Motion(joint="crank_joint", times=(0.0, 2.0, 4.0), positions=(0.5, 0.5 + np.pi, 0.5 + 2 * np.pi))
    sim = mb.Simulator(four_bar("axis", 0.5, 0.0, motions=(motion,), drift_control="projection"))
    for _ in range(3000):
        step = sim.step()
        assert step.certificate.closure_error <= 1e-11 and step.certificate.residual <= 1e-9
    q = four_bar_joints(sim.q[0])
    np.testing.assert_allclose(np.exp(1j * sim.q), np.exp(1j * q), atol=1e-10)


def test_a_frame_that_moves_carries_a_body_with_newtons_force():
    knots = ((0.0, 0.0, 0.0), (0.1, 0.0, 0.2), (0.0, -0.3, 0.1), (0.0, 0.0, 0.0))
    sim = mb.Simulator(held(times=TIMES, displacements=knots, periodic=True))
    path = CubicSpline(TIMES, knots, bc_type="periodic")
    for n in range(1, 1500):
        v = sim.v.copy()
        sim.step()
        np.testing.assert_allclose(sim.q[:3], np.add((0.0, 0.0, 1.0), path(n * DT)), atol=1e-12)
        force = MASS * ((sim.v - v)[3:] / DT + (0.0, 0.0, G))
        np.testing.assert_allclose(sim.joint_wrench("grip")[3:], force, atol=1e-7)
        np.testing.assert_allclose(sim.joint_wrench("grip")[:3], 0.0, atol=1e-7)
    assert sim.joint_wrenches.names == ("grip",)  # which the node may publish
    assert sim.joint_wrenches.child_link("grip") == "box"


def test_a_frame_that_turns_carries_a_body_with_eulers_moment():
    knots = ((0.0, 0.0, 0.0), (0.5, 0.3, 0.0), (1.0, -0.2, 0.4), (0.2, 0.0, 0.0))
    sim = mb.Simulator(held(times=TIMES, rotations=knots))
    path, inertia = CubicSpline(TIMES, knots, bc_type="clamped"), sim.world.tree.inertia[0]
    for n in range(1, 1100):
        R, v = Rotation.from_quat(sim.q[3:]).as_matrix(), sim.v.copy()
        sim.step()
        want = Rotation.from_rotvec(path(min(n * DT, 1.0)))
        assert (Rotation.from_quat(sim.q[3:]) * want.inv()).magnitude() <= 1e-8
        I = R @ inertia @ R.T
        moment = R.T @ (I @ (sim.v - v)[:3] / DT + np.cross(v[:3], I @ v[:3]))
        np.testing.assert_allclose(sim.joint_wrench("grip")[:3], moment, atol=1e-6)


def test_a_plane_that_tilts_carries_what_is_far_from_its_axis():
    """The body is 2 m from the frame about whose x axis the plane turns."""
    box = Primitive("box", "box", (0.1, 0.2, 0.3), Pose((0.0, 2.0, 1.0)), "free", MASS)
    closure = Closure("planar", "box", "world", Pose(), Pose((0.0, 0.0, 1.0)), name="tray")
    motion = Motion(closure="tray", times=(0.0, 1.0), rotations=((0.0, 0.0, 0.0), (0.6, 0.0, 0.0)))
    sim = mb.Simulator(
        Scene(primitives=(box,), loop_closures=(closure,), motions=(motion,), gravity=(0.0, 0.0, 0.0), time_step=DT)
    )
    worst = max(sim.step().certificate.closure_error for _ in range(1000))
    assert worst <= 2e-6  # of second order in the step; at the axis' own velocity it would lag by 9 mm


def test_a_winch_hauls_a_load_up():
    sim = mb.Simulator(held("distance", times=TIMES, lengths=(1.0, 0.9, 0.4, 0.3), interpolation="linear"))
    for n in range(1, 1100):
        v = sim.v[5]
        sim.step()
        assert 2.0 - sim.q[2] == pytest.approx(np.interp(n * DT, TIMES, (1.0, 0.9, 0.4, 0.3)), abs=1e-9)
        assert sim.joint_wrench("grip")[5] == pytest.approx(MASS * (G + (sim.v[5] - v) / DT), abs=1e-6)


def test_a_driven_hand_strikes_a_ball_with_its_own_velocity():
    """Newton's law of restitution relative to a paddle that no ball slows down."""
    text = (
        f'<robot name="lift"><link name="base"/><link name="paddle"><inertial><mass value="1"/>'
        '<inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial><collision><geometry><box size="0.4 0.4 0.02"/></geometry>'
        f'</collision></link>{hinge("rise", "base", "paddle", 0, "0 0 1", LIMITS, "prismatic")}</robot>'
    )
    ball = Primitive("ball", "sphere", (0.05,), Pose((0.0, 0.0, 0.1)), "free", 0.2)
    motion = Motion(joint="rise", times=(0.0, 1.0), positions=(0.0, 1.0), interpolation="linear")
    scene = Scene(
        models=(SceneModel(text),), primitives=(ball,), motions=(motion,), time_step=DT, gravity=(0.0, 0.0, 0.0),
        materials={"rubber": Material(restitution=0.5)},
    )  # fmt: skip
    ball = replace(ball, material="rubber")
    model = replace(scene.models[0], materials=mb.model.ModelMaterials(default="rubber"))
    sim = mb.Simulator(replace(scene, primitives=(ball,), models=(model,)))
    for n in range(1, 200):
        sim.step()
        assert sim.q[0] == pytest.approx(n * DT, abs=1e-12)
    assert sim.v[-1] == pytest.approx(1.5, abs=1e-9)


LIMITS = '<limit lower="-2" upper="2" effort="10" velocity="5"/>'


def test_targets_lead_a_driven_joint_off_its_path():
    sim = mb.Simulator(arm())
    assert sim.servos()[0].all() and sim.servos()[1].all()
    sim.step()
    assert sim.q[0] == 0.0  # without values it stays
    sim.set_targets(["turn"], positions=[0.25], velocities=[0.5])
    for _ in range(500):
        sim.step()
    assert sim.q[0] == pytest.approx(0.25, abs=1e-12)
    start = sim.save()
    for _ in range(10):
        sim.step()
    assert sim.q[0] == pytest.approx(0.25, abs=1e-12) and abs(sim.v[0]) <= 1e-12
    sim.set_targets(["turn"], velocities=[-2.0])
    sim.step()
    assert sim.v[0] == pytest.approx(-2.0)
    sim.set_targets(["turn"], positions=[0.3])  # within a control period
    sim.step()
    assert sim.q[0] == pytest.approx(0.3)
    sim.restore(start)
    sim.step()
    assert sim.q[0] == pytest.approx(0.25, abs=1e-12)


DRIVES = (arm(times=TIMES, positions=(0.0, 0.8, -0.5, 0.2)), held(times=TIMES, rotations=np.eye(4, 3)))


@pytest.mark.parametrize("scene", DRIVES)
def test_a_restored_run_goes_on_bit_for_bit(scene):
    sim = mb.Simulator(scene)
    for _ in range(100):
        sim.step()
    start, runs = sim.save(), []
    for _ in range(2):  # without a break, and from where it was
        certificates = [sim.step().certificate for _ in range(100)]
        runs.append((np.concatenate((sim.q, sim.v)), certificates))
        sim.restore(start)
        np.testing.assert_array_equal(np.concatenate((sim.q, sim.v)), np.concatenate((start.q, start.v)))
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    assert runs[0][1][0].residual == runs[1][1][0].residual
    sim.reset()
    np.testing.assert_array_equal(sim.q, mb.Simulator(sim.scene).q)


def test_a_rebuilt_world_goes_on():
    """Another object comes; the drive goes on at its velocity."""
    scene = arm()
    sim, twin = mb.Simulator(scene), mb.Simulator(scene)
    for one in (sim, twin):
        one.set_targets(["turn"], velocities=[2.0])
        for _ in range(10):
            one.step()
    ball = Primitive("ball", "sphere", (0.05,), Pose((0.0, 5.0, 0.1)), "free", 0.2)
    sim = sim.rebuilt(replace(scene, primitives=(ball,)))
    for _ in range(10):
        sim.step()
        twin.step()
        assert sim.q[0] == twin.q[0] and sim.v[0] == twin.v[0]
        assert sim.joint_efforts()[0] == pytest.approx(twin.joint_efforts()[0], abs=1e-9)
    path = Motion(joint="turn", times=TIMES, positions=(0.0, 0.8, -0.5, 0.2))
    servo = replace(scene.models[0], actuators={"turn": Actuator("position", stiffness=10.0, damping=1.0)})
    for other in (replace(scene, motions=()), replace(scene, motions=(), models=(servo,))):
        undriven = mb.Simulator(other)
        undriven.step()
        driven = undriven.rebuilt(replace(scene, motions=(path,)))
        driven.step()
        assert driven.q[0] == pytest.approx(CubicSpline(TIMES, path.positions, bc_type="clamped")(2 * DT), abs=1e-15)
        assert np.isfinite(driven.rebuilt(other).step().certificate.energy)


def test_a_step_that_fails_leaves_the_targets():
    sim = mb.Simulator(arm(times=TIMES, positions=(0.0, 0.1, 0.2, 0.3)))
    for _ in range(10):
        sim.step()
    q = sim.q.copy()
    with pytest.raises(mb.InputError):
        sim.step([np.nan])
    with pytest.raises(mb.DynamicsError):
        sim.context.v[0] = np.nan
        sim.step()
    sim.context.v[0] = 0.0
    np.testing.assert_array_equal(sim.q, q)
    sim.set_gravity((0.0, 0.0, -1.0))
    np.testing.assert_array_equal(sim.q, q)


def second_difference(at, time, h=1e-3):
    """Of a function of time, of fourth order."""
    values = [np.asarray(at(time + k * h)) for k in (-2, -1, 0, 1, 2)]
    return (-values[0] + 16 * values[1] - 30 * values[2] + 16 * values[3] - values[4]) / (12 * h * h)


def test_the_bias_of_nodes_of_a_driven_linkage_is_their_motion():
    """With its crank driven a linkage has no freedom left: geometry alone says how its coupler accelerates."""
    knots = (0.5, 0.9, 0.2, 0.5)
    scene = four_bar("axis", 0.5, 0.0, motions=(Motion(joint="crank_joint", times=TIMES, positions=knots),))
    sim, path = mb.Simulator(replace(scene, drift_control="projection")), CubicSpline(TIMES, knots, bc_type="clamped")
    model = sim.world.robot_models[0]
    for _ in range(round(0.44 / DT)):
        sim.step()

    def pose(time):
        return mb.frame_pose(model, four_bar_joints(path(time)), "coupler")[1]

    rates = [(pose(sim.time + h) - pose(sim.time - h)) / (2 * h) for h in (1e-4, 5e-5)]
    exact = (4.0 * rates[1] - rates[0]) / 3.0  # the step's own velocities are the means of a step
    q = four_bar_joints(path(sim.time))
    speeds = (four_bar_joints(path(sim.time + 1e-5)) - four_bar_joints(path(sim.time - 1e-5))) / 2e-5
    sim.set_state(q, speeds)
    np.testing.assert_allclose(mb.jacobian(model, q, "coupler")[3:] @ sim.v, exact, atol=1e-6)
    space = sim.operational_space("coupler")
    np.testing.assert_allclose(space.bias[3:], second_difference(pose, sim.time), atol=1e-4)
    np.testing.assert_allclose(space.compliance, 0.0, atol=1e-9)
    np.testing.assert_allclose(sim.operational_space("coupler").bias, space.bias, atol=1e-12)  # asking changes nothing


@pytest.mark.parametrize("values", [
    {"displacements": ((0.0, 0.0, 0.0), (0.1, 0.0, 0.2), (0.0, -0.3, 0.1), (0.0, 0.0, 0.0))},
    {"rotations": ((0.0, 0.0, 0.0), (0.5, 0.3, 0.0), (1.0, -0.2, 0.4), (0.2, 0.0, 0.0))},
])  # fmt: skip
def test_the_bias_of_a_carried_body_is_its_frames_acceleration(values):
    (name, knots), = values.items()
    sim, path = mb.Simulator(held(times=TIMES, **values)), CubicSpline(TIMES, knots, bc_type="clamped")
    for _ in range(round(0.4 / DT)):
        sim.step()
    t, v = sim.time, np.zeros(6)

    def spin(time):
        turn = Rotation.from_rotvec(path(time + 1e-4)) * Rotation.from_rotvec(path(time - 1e-4)).inv()
        return turn.as_rotvec() / 2e-4

    q, expected = sim.q, np.zeros(6)
    if name == "displacements":
        v[3:], expected[3:] = path(t, 1), path(t, 2)
    else:
        v[:3], expected[:3] = spin(t), (spin(t + 1e-3) - spin(t - 1e-3)) / 2e-3
        q[3:] = Rotation.from_rotvec(path(t)).as_quat()
    sim.set_state(q, v)
    np.testing.assert_allclose(sim.operational_space("box").bias, expected, atol=2e-4)


FOUR = four_bar("axis", 0.5, 0.0)


@pytest.mark.parametrize("motion, message", [
    ({"joint": "crank_joint", "closure": "c"}, "has joint and closure; keep one of them"),
    ({"joint": "knee"}, "no joint is called 'knee'"),
    ({"closure": "grip", "displacements": ((0, 0, 0), (0, 0, 1)), "times": (0, 1)}, "no loop closure, or more"),
    ({"joint": "crank_joint", "times": (0.0, 1.0)}, "no values to go with them"),
    ({"joint": "crank_joint", "times": (0.0, 0.0), "positions": (0.0, 1.0)}, "must grow from each to the next"),
    ({"joint": "crank_joint", "times": (0.0, 1.0), "positions": (0.0,)}, "has 1 values for 2 times"),
    ({"joint": "crank_joint", "times": (0.0,), "positions": (0.0,)}, "needs two times"),
    ({"joint": "crank_joint", "times": (0, 1), "positions": (0, np.nan)}, "finite"),
    ({"joint": "crank_joint", "times": (0, 1), "positions": (0, 1), "periodic": True}, "ends where it starts"),
    ({"joint": "crank_joint", "times": (0, 1), "lengths": (1, 2)}, "a joint has none"),
    ({"closure": "coupler_rocker", "times": (0, 1), "lengths": (1, 2)}, "only the kind distance has a length"),
    ({"joint": "crank_joint", "times": (0, 1), "positions": (0, 1), "interpolation": "quintic"}, "is not known"),
    ({"closure": "coupler_rocker", "times": (0, 1), "lengths": (1, 2)}, "only the kind distance has a length"),
])  # fmt: skip
def test_motions_that_make_no_sense_are_refused(motion, message):
    with pytest.raises(mb.SceneError, match=message):
        mb.build_world(replace(FOUR, motions=(Motion(**motion),)))


@pytest.mark.parametrize("key, value", [("integrator", "rk4"), ("collision_scheme", "event")])
def test_motions_need_time_stepping_by_euler(key, value):
    motion = Motion(joint="crank_joint")
    with pytest.raises(mb.SceneError, match=f"motions: needs {key}"):
        mb.Simulator(replace(FOUR, motions=(motion,), **{key: value}))


def test_what_a_kind_does_not_feel_and_what_leaves_a_range_is_refused():
    turn = {"times": (0.0, 1.0), "rotations": ((0, 0, 0), (0, 0, 1))}
    with pytest.raises(mb.SceneError, match="kind distance does not feel how its frames are turned"):
        mb.build_world(held("distance", **turn))
    twice = held(**turn)
    with pytest.raises(mb.SceneError, match="'grip' is driven twice"):
        mb.build_world(replace(twice, motions=2 * twice.motions))
    text = four_bar("axis", 0.5, 0.0).models[0].urdf.replace('name="crank_joint" type="continuous">', (
        'name="crank_joint" type="revolute"><limit lower="-1" upper="1" effort="1" velocity="1"/>'))  # fmt: skip
    model = replace(FOUR.models[0], urdf=text)
    for positions, fits in (((0.5, 0.99, 0.98, 0.5), False), ((0.5, 0.9, 0.5, 0.5), True)):  # the spline overshoots
        motion = Motion(joint="crank_joint", times=TIMES, positions=positions)
        scene = replace(FOUR, models=(model,), motions=(motion,))
        if fits:
            sim = mb.Simulator(scene)
            sim.set_targets(["crank_joint"], velocities=[1.0])
            for _ in range(800):
                step = sim.step()
            assert sim.q[0] == pytest.approx(1.0) and step.certificate.residual <= 1e-9  # to the end of its range
        else:
            with pytest.raises(mb.SceneError, match="'crank_joint' goes from -1 to 1, its path from"):
                mb.build_world(scene)


def test_a_joint_on_its_path_is_not_set():
    sim = mb.Simulator(arm(times=TIMES, positions=(0.0, 0.8, -0.5, 0.2)))
    sim.set_targets(["turn"])  # asks for nothing
    sim.step()
    with pytest.raises(mb.InputError, match="'turn' is on the path of its motion; set_targets leads it elsewhere"):
        sim.set_joints(["turn"], [0.3])
    sim.set_targets(["turn"], [0.3], [0.0])
    sim.set_joints(["turn"], [0.2])
    assert sim.q[0] == 0.2


def test_followers_of_driven_joints_are_where_these_have_them():
    gears = (Gear("rocker_joint", "crank_joint", 2.0),)
    motion = Motion(joint="crank_joint", times=(0.0, 1.0), positions=(0.5, 1.5), interpolation="linear")
    sim = mb.Simulator(replace(FOUR, loop_closures=(), gears=gears, motions=(motion,)))
    np.testing.assert_allclose(sim.v[[0, 2]], [1.0, 2.0])
    for _ in range(100):
        sim.step()
    sim.set_state(np.zeros(3), np.zeros(3))
    assert sim.q[0] == pytest.approx(0.6) and sim.q[2] == pytest.approx(1.2)


def test_joints_that_cannot_be_driven_are_named():
    motion = Motion(joint="crank_joint")
    twice = replace(FOUR, motions=(motion, motion))
    with pytest.raises(mb.SceneError, match="'crank_joint' is driven twice"):
        mb.build_world(twice)
    geared = replace(FOUR, motions=(motion,), gears=(Gear("crank_joint", "rocker_joint", 1.0),))
    with pytest.raises(mb.SceneError, match="'crank_joint' follows 'rocker_joint'; drive that one"):
        mb.build_world(geared)
    servo = replace(FOUR.models[0], actuators={"crank_joint": Actuator("position", stiffness=1.0)})
    with pytest.raises(mb.SceneError, match="'crank_joint' has an actuator"):
        mb.build_world(replace(FOUR, models=(servo,), motions=(motion,)))
    with pytest.raises(mb.InputError, match="no actuator that a position can be asked of, and no motion"):
        mb.Simulator(FOUR).set_targets(["crank_joint"], [0.0])
    rubbing = replace(FOUR.models[0], joint_properties={"crank_joint": JointProperties(friction=1.0)})
    sim = mb.Simulator(replace(FOUR, models=(rubbing,), motions=(motion,)))
    assert sim.step().certificate.residual <= 1e-9 and sim.q[0] == 0.5  # friction of a driven joint is its drive's work


def test_worlds_have_no_motions():
    with pytest.raises(mb.SceneError, match="motions"):
        mb.Worlds(replace(FOUR, motions=(Motion(joint="crank_joint"),)), 2)


def test_a_scene_file_with_motions(tmp_path):
    text = """
models: [{name: arm, urdf: arm.urdf}]
motions:
  - {joint: turn, times: [0.0, 0.5], positions: [0.0, 1.0], interpolation: linear}
"""
    (tmp_path / "arm.urdf").write_text(arm().models[0].urdf)
    (tmp_path / "scene.yaml").write_text(text)
    sim = mb.Simulator(tmp_path / "scene.yaml")
    for _ in range(250):
        sim.step()
    assert sim.q[0] == pytest.approx(0.5)
