# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A nut on a thread, the joint ``screw``: closed forms of its fall, its friction, its drive, in every way to step."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Actuator, JointProperties, Pose, Scene, SceneModel

MASS, MOMENT, PITCH, G = 0.2, 3e-4, 0.05, 9.81
LEAD = PITCH / (2.0 * np.pi)
#: turns by m g lead / (I + m lead^2) as it falls along its thread
FALL = MASS * G * LEAD / (MOMENT + MASS * LEAD**2)


def nut(pitch=PITCH, axis="0 0 1", more=""):
    """URDF text of a nut on a stud that is welded to the world."""
    inertia = f'<inertia ixx="2e-4" iyy="2e-4" izz="{MOMENT}" ixy="0" ixz="0" iyz="0"/>'
    return (
        f'<robot name="stud"><link name="stud"/><link name="nut"><inertial><mass value="{MASS}"/>{inertia}</inertial>'
        '</link><joint name="thread" type="screw"><parent link="stud"/><child link="nut"/>'
        f'<axis xyz="{axis}"/><thread pitch="{pitch}"/>{more}</joint></robot>'
    )


def simulator(text, seconds=0.2, **options):
    properties = options.pop("properties", {})
    model = SceneModel(text, joint_properties=properties, actuators=options.pop("actuators", {}))
    sim = mb.Simulator(Scene(models=(model,), **options))
    return sim, round(seconds / sim.time_step)


@pytest.mark.parametrize("integrator", ["rk4", "midpoint", "adaptive", "semi_implicit_euler"])
@pytest.mark.parametrize("hand", [1.0, -1.0])
def test_a_nut_falls_along_its_thread(integrator, hand):
    sim, steps = simulator(nut(hand * PITCH), integrator=integrator)
    for _ in range(steps):
        step = sim.step()
    t = sim.time
    lag = 0.5 * sim.time_step * t if integrator == "semi_implicit_euler" else 0.0  # Euler's first order, exactly
    assert sim.joint_velocities()[0] == pytest.approx(-hand * FALL * t, rel=1e-12)
    assert sim.joint_positions()[0] == pytest.approx(-hand * FALL * (0.5 * t**2 + lag), rel=1e-9)
    assert sim.link_pose("nut")[0][2] == pytest.approx(hand * LEAD * sim.joint_positions()[0], rel=1e-12)
    assert abs(step.certificate.energy_balance) < (2e-3 if lag else 1e-11)


@pytest.mark.parametrize("share, moves", [(1.001, False), (0.999, True), (0.4, True)])
def test_friction_of_a_thread_holds_the_weight_or_slows_its_fall(share, moves):
    """The weight turns the nut by m g lead; friction of the turn holds as much, or leaves the rest."""
    torque = MASS * G * LEAD
    sim, steps = simulator(nut(), properties={"thread": JointProperties(friction=share * torque)})
    for _ in range(steps):
        residual = sim.step().certificate.residual
        assert residual < 1e-12
    want = -(1.0 - share) * FALL * sim.time if moves else 0.0
    assert sim.joint_velocities()[0] == pytest.approx(want, rel=1e-9, abs=1e-12)


def test_worlds_turn_nuts_as_the_simulator_does():
    scene = Scene(models=(SceneModel(nut(), joint_properties={"thread": JointProperties(friction=2e-3)}),))
    sim, worlds = mb.Simulator(scene), mb.Worlds(scene, 3)
    worlds.efforts[:, 0] = [0.0, 0.02, -0.03]
    for _ in range(50):
        worlds.step()
    for w, effort in enumerate(worlds.efforts[:, 0]):
        sim.reset()
        for _ in range(50):
            sim.step([effort])
        np.testing.assert_array_equal(worlds.q[w], sim.q)
        np.testing.assert_array_equal(worlds.v[w], sim.v)


def test_a_servo_turns_a_nut_to_its_place_and_a_limit_stops_it():
    servo = {"thread": Actuator("position", stiffness=20.0, damping=0.3)}
    sim, steps = simulator(nut(), seconds=1.0, actuators=servo)
    sim.set_targets(["thread"], [3.0])
    for _ in range(steps):
        sim.step()
    assert sim.joint_positions()[0] == pytest.approx(3.0 - MASS * G * LEAD / 20.0, abs=1e-9)
    stop = '<limit lower="-0.5" upper="9" effort="9" velocity="9"/>'
    sim, steps = simulator(nut(more=stop), seconds=1.0)
    for _ in range(steps):
        step = sim.step()
    assert sim.joint_positions()[0] == pytest.approx(-0.5, abs=1e-9)
    assert step.certificate.residual < 1e-12


def test_a_thread_carries_weight_and_moment_across_its_axis():
    """The wrench in the joint: the weight minus what the fall takes, and the moment of that force on the thread."""
    sim, _ = simulator(nut(axis="1 0 0"))
    sim.step()
    np.testing.assert_allclose(sim.joint_wrench("thread"), [0, 0, 0, 0, 0, MASS * G], atol=1e-12)
    upright, _ = simulator(nut())
    upright.step()
    along = MASS * (G - FALL * LEAD)
    np.testing.assert_allclose(upright.joint_wrench("thread"), [0, 0, -along * LEAD, 0, 0, along], atol=1e-12)


def test_mujoco_reads_an_exported_thread(tmp_path):
    """A hinge, a slide that follows it and an equality: as soft as MuJoCo's equalities are."""
    import mujoco

    scene = Scene(models=(SceneModel(nut(axis="0 0.6 0.8"), pose=Pose((0.1, 0.2, 0.3)), joints={"thread": 2.0}),))
    assert mb.model.export_mjcf(scene, tmp_path / "nut.xml") == ()
    m = mujoco.MjModel.from_xml_path(str(tmp_path / "nut.xml"))
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, 0)
    sim = mb.Simulator(scene)
    mujoco.mj_forward(m, d)
    np.testing.assert_allclose(d.body("nut").xpos, sim.link_pose("nut")[0], atol=1e-12)
    for _ in range(200):
        mujoco.mj_step(m, d)
        sim.step()
    np.testing.assert_allclose(d.body("nut").xpos, sim.link_pose("nut")[0], atol=2e-4)
    assert d.joint("thread").qpos[0] == pytest.approx(sim.joint_positions()[0], rel=5e-3)


def test_friction_by_the_load_is_refused_where_no_row_bears_it():
    with pytest.raises(mb.ModelError, match="joint 'thread': no row of a joint bears .* loop closure of kind screw"):
        mb.load_urdf(nut().replace("<thread pitch", '<thread flank_friction="0.1" pitch'))
