# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Sensors against closed forms and Newton's law.

Covers model/scene/sensors.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.scene import Closure, Gear, Ground, JointProperties, Pose, Primitive, Scene, SceneModel
from mb_contact.model.scene.sensors import Sensor
from mb_contact.simulation import Sensors
from scenes.loop_cases import bar, four_bar, hinge

G, LENGTH = 9.81, 0.8


def scene(*sensors, damping=0.0, **options):
    """A rod on a hinge about y with an IMU's link at its tip; the rod hangs along x, its angle turns x down."""
    text = (
        f'<robot name="arm"><link name="base"/>{bar("rod", LENGTH)}{hinge("turn", "base", "rod", 0, "0 1 0")}'
        '<link name="tip"/><joint name="mount" type="fixed"><parent link="rod"/><child link="tip"/>'
        f'<origin xyz="{LENGTH} 0 0" rpy="0 0 1.5707963267948966"/></joint></robot>'
    )
    properties = {"turn": JointProperties(damping=damping)}
    model = SceneModel(text, joints={"turn": 0.4}, velocities={"turn": 2.0}, joint_properties=properties)
    return Scene(models=(model,), sensors=sensors, **options)


IMU = Sensor("imu", "imu", link="tip")


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_an_imu_on_a_pendulum(damping, integrator):
    """(I + m l^2 / 4) q'' = m g l / 2 cos q - d q' + T; at the tip -l q'^2 along the rod and l q'' across it."""
    sim = mb.Simulator(scene(IMU, damping=damping, integrator=integrator))
    sensors, inertia = Sensors(sim), LENGTH**2 / 12 + LENGTH**2 / 4
    for _ in range(300):
        sim.step([0.7])
        q, v = sim.q[0], sim.v[0]
        reading = sensors.read("imu")
        v_dot = (0.5 * G * LENGTH * np.cos(q) - damping * v + 0.7) / inertia
        along, across = np.array([np.cos(q), 0.0, -np.sin(q)]), np.array([-np.sin(q), 0.0, -np.cos(q)])
        felt = LENGTH * (v_dot * across - v**2 * along) + [0.0, 0.0, G]
        axes = np.array([[0.0, 1.0, 0.0], -along, np.cross([0.0, 1.0, 0.0], -along)])  # turned by 90 degrees
        np.testing.assert_allclose(reading.linear_acceleration, axes @ felt, atol=1e-9)
        np.testing.assert_allclose(reading.angular_velocity, axes @ [0.0, v, 0.0], atol=1e-12)
        R, _ = mb.frame_pose(sim.world, sim.q, "tip")
        np.testing.assert_allclose(R, axes.T, atol=1e-12)


def test_an_imu_beside_the_hinge_measures_where_it_is_mounted():
    """At p in the rod's axes, turned by R: R^T (q'' y x p + q'^2 y x (y x p) - g)."""
    pose = Pose((0.3, 0.1, -0.2), rpy=(0.4, -0.7, 1.1))
    sim = mb.Simulator(scene(Sensor("imu", "imu", link="rod", pose=pose)))
    for _ in range(50):
        sim.step([0.7])
    q, v, y = sim.q[0], sim.v[0], np.array([0.0, 1.0, 0.0])
    v_dot = (0.5 * G * LENGTH * np.cos(q) + 0.7) / (LENGTH**2 / 3)
    rod = np.array([[np.cos(q), 0.0, np.sin(q)], y, [-np.sin(q), 0.0, np.cos(q)]])
    p, R = rod @ pose.origin(), rod @ pose.rotation()
    felt = v_dot * np.cross(y, p) + v**2 * np.cross(y, np.cross(y, p)) + [0.0, 0.0, G]
    reading = Sensors(sim).read("imu")
    np.testing.assert_allclose(reading.linear_acceleration, felt @ R, atol=1e-9)
    np.testing.assert_allclose(reading.angular_velocity, (v * y) @ R, atol=1e-12)
    np.testing.assert_allclose(quat_to_matrix(reading.orientation), R, atol=1e-12)


def test_wrenches_are_told_about_and_in_the_axes_of_the_mounting():
    """The same forces, whose moment and components are those of another frame; so in the world as without a pose."""
    pose = Pose((0.1, -0.2, 0.05), rpy=(0.3, 0.9, -0.4))
    box = Primitive("box", "box", (0.2, 0.2, 0.2), Pose((0.0, 0.0, 0.1)), "free", 1.5)
    rope = Closure("weld", "box", "world", name="rope")
    places = (("contact", {"link": "box"}), ("force_torque", {"joint": "rope"}))
    poses = enumerate((None, pose))
    sensors = [Sensor(f"{name}{i}", name, pose=at, **place) for i, at in poses for name, place in places]
    sim = mb.Simulator(Scene(primitives=(box,), ground=Ground(), sensors=tuple(sensors), loop_closures=(rope,)))
    sim.set_external_wrench("box", [0.1, 0.2, 0.3, 1.0, 2.0, -30.0])
    sim.step()
    R, p = pose.rotation(), pose.origin()
    for name in ("contact", "force_torque"):
        plain, seen = (Sensors(sim).read(f"{name}{i}") for i in (0, 1))
        np.testing.assert_allclose(R @ seen[3:], plain[3:], atol=1e-12)
        np.testing.assert_allclose(R @ seen[:3] + np.cross(p, R @ seen[3:]), plain[:3], atol=1e-12)
        frames = Sensors(sim).frames(f"{name}1")
        np.testing.assert_array_equal(frames[f"{name}1"][1], p)
        assert Sensors(sim).frames(f"{name}0") == {}
    assert np.abs(plain).max() > 0.1


def test_an_imu_at_rest_feels_the_ground():
    box = Primitive("box", "box", (0.2, 0.2, 0.2), Pose((0.0, 0.0, 0.1)), "free", 1.5)
    sim = mb.Simulator(Scene(primitives=(box,), ground=Ground(), sensors=(Sensor("imu", "imu", link="box"),)))
    for _ in range(5):
        sim.step()
    np.testing.assert_allclose(Sensors(sim).read("imu").linear_acceleration, [0.0, 0.0, G], atol=1e-9)
    sim.set_external_wrench("box", [0, 0, 0, 1.0, 0, 30.0])  # lifted: 30 N and 1 N to the side
    sim.step()
    np.testing.assert_allclose(Sensors(sim).read("imu").linear_acceleration, [1.0 / 1.5, 0.0, 20.0], atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"gears": (Gear("rocker_joint", "crank_joint", 0.8),), "loop_closures": ()}])
def test_accelerations_of_linkages_obey_loops_and_gears(options):
    """With forces of the last step they are those of the next one, to the first order in the step."""
    base = four_bar("axis", 0.6, 1.5, time_step=1e-5)
    sim = mb.Simulator(base if not options else mb.Scene(**{**base.__dict__, **options}))
    for _ in range(20):
        sim.step()
    told, v = Sensors(sim).accelerations(), sim.v.copy()
    sim.step()
    np.testing.assert_allclose(told, (sim.v - v) / 1e-5, atol=2e-3 * np.abs(told).max())


def test_accelerations_know_springs():
    sprung = scene(IMU)
    spring = {"turn": JointProperties(stiffness=3.0, rest_position=0.1)}
    model = SceneModel(sprung.models[0].urdf, joints={"turn": 0.4}, joint_properties=spring)
    sim = mb.Simulator(mb.Scene(models=(model,), gravity=(0.0, 0.0, 0.0)))
    assert Sensors(sim).accelerations()[0] == pytest.approx(-3.0 * 0.3 / (LENGTH**2 / 3), rel=1e-12)


def test_force_and_torque_beyond_fixed_joints_are_newtons():
    """A winch holds a load: the wrench of its closure is the tension; that of a joint is what joint_wrench tells."""
    box = Primitive("box", "box", (0.1, 0.2, 0.3), Pose((0.0, 0.0, 1.0)), "free", 2.0)
    rope = Closure("weld", "box", "world", name="rope")
    wrist = Sensor("wrist", "force_torque", joint="rope")
    sim = mb.Simulator(Scene(primitives=(box,), loop_closures=(rope,), sensors=(wrist,)))
    sim.step()
    np.testing.assert_allclose(Sensors(sim).read("wrist"), [0, 0, 0, 0, 0, 2.0 * G], atol=1e-9)
    fixed = mb.Simulator(scene(Sensor("wrist", "force_torque", joint="mount")))
    fixed.step()
    np.testing.assert_array_equal(Sensors(fixed).read("wrist"), fixed.joint_wrench("mount"))


def test_noise_has_its_deviation_and_comes_again():
    noisy = Sensor("imu", "imu", link="tip", noise=(0.02, 0.5), seed=9)
    other = Sensor("other", "imu", link="tip", noise=(0.02, 0.5), seed=10)
    sim = mb.Simulator(scene(noisy, other))
    sensors, runs = Sensors(sim), []
    for steps in (1000, 20):
        sim.reset()
        errors = []
        for _ in range(steps):
            sim.step()
            exact, sample = sensors.read("imu"), sensors.sample("imu")
            errors.append(np.concatenate([b - a for a, b in zip(exact[1:], sample[1:])]))
        runs.append(np.array(errors))
    np.testing.assert_array_equal(runs[0][:20], runs[1])
    deviation = runs[0].std(axis=0)
    np.testing.assert_allclose(deviation, [0.02] * 3 + [0.5] * 3, rtol=0.1)
    assert np.abs(runs[0].mean(axis=0) / deviation).max() < 0.15
    assert not np.array_equal(sensors.sample("imu").angular_velocity, sensors.sample("other").angular_velocity)


def test_an_encoder_counts_in_steps_of_its_resolution():
    sim = mb.Simulator(scene(Sensor("joints", "encoder", resolution=0.01)))
    for _ in range(50):
        sim.step()
        reading = Sensors(sim).sample("joints")
        assert reading.position[0] == pytest.approx(round(sim.q[0] / 0.01) * 0.01, abs=1e-15)
        assert reading.velocity[0] == sim.v[0]


@pytest.mark.parametrize("first, second, message", [
    (IMU, Sensor("imu", "encoder"), r"sensors\[1\].name: 'imu' is used twice"),
    (Sensor("a b", "encoder"), Sensor("a_b", "encoder"), "'a_b' has topics of a_b, as another one"),
    (IMU, Sensor("rod", "imu", link="tip", pose=Pose()), r"sensors\[1\].name: its frame 'rod' is that of a link"),
    (Sensor("eye_optical", "imu", link="tip", pose=Pose()), Sensor("eye", "camera", link="tip"), "'eye_optical' is"),
])  # fmt: skip
def test_two_sensors_share_neither_topic_nor_frame(first, second, message):
    with pytest.raises(mb.SceneError, match=message):
        Sensors(mb.Simulator(scene(first, second)))


@pytest.mark.parametrize("sensor, message", [
    (Sensor("a", "radar"), "'radar' is not known; available: imu, force_torque, encoder"),
    (Sensor("a", "imu"), "a sensor of kind imu needs a link; add link: tool"),
    (Sensor("", "imu", link="tip"), "is empty; give each its own name"),
    (Sensor("a", "imu", link="tip", joint="turn"), "a sensor of kind imu has no joint; .* kind: force_torque"),
    (Sensor("a", "encoder", pose=Pose()), "a sensor of kind encoder has no pose"),
    (Sensor("a", "imu", link="tip", noise=(-1.0, 0.0)), "noise"),
    (Sensor("a", "imu", link="tip", resolution=0.1), "has no resolution; leave it out, or set kind: encoder"),
    (Sensor("a", "imu", link="tip", seed=-1), "whole number"),
    (Sensor("a", "imu", link="nose"), "there is no link 'nose'"),
    (Sensor("a", "force_torque", joint="knee"), "there is no joint 'knee'; known are mount, turn"),
    (Sensor("a", "encoder", joints=("knee",)), "there is no joint 'knee'; known are turn"),
])  # fmt: skip
def test_sensors_that_make_no_sense_are_refused(sensor, message):
    with pytest.raises(mb.SceneError, match=message):
        Sensors(mb.Simulator(scene(sensor)))
    with pytest.raises(mb.InputError, match="there is no sensor 'b'"):
        Sensors(mb.Simulator(scene(IMU))).read("b")
