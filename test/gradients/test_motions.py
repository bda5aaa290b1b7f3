# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of steps with driven joints beside differences: they are where their paths lead."""

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import InputError
from oracles.step_differences import Differences, push_out_fully
from scenes.gradient_scenes import SCENES

M, DT = mb.model, 1e-3
PADDLE = (
    '<robot name="p"><link name="foot"/><link name="paddle"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" '
    'izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><box size="0.6 0.6 0.02"/></geometry>'
    '</collision></link><joint name="lift" type="prismatic"><parent link="foot"/><child link="paddle"/><axis '
    'xyz="0 0.6 0.8"/><limit lower="-1" upper="1" effort="100" velocity="100"/></joint></robot>'
)
SENSORS = (M.Sensor("imu", "imu", link="link_2"), M.Sensor("wrench", "force_torque", joint="hinge_0"),
           M.Sensor("joints", "encoder"))  # fmt: skip


def chain(**more):
    """A pendulum of three links in its first 0.2 s, whose middle joint is driven."""
    robot = M.SceneModel(mb.pendulum(3, length=1.0).urdf())
    motion = M.Motion(joint="hinge_1", times=(0.0, 1.0, 2.0), positions=(0.2, 1.2, 0.2))
    sim = mb.Simulator(mb.Scene(models=(robot,), motions=(replace(motion, **more),), sensors=SENSORS))
    sim.step(steps=200)
    return sim


def paddle(restitution=0.0, shape="box"):
    """(Differences, body) of a body that falls onto a plate that is lifted."""
    size = (0.2, 0.16, 0.12) if shape == "box" else (0.1,)
    material = M.Material(friction=0.4, restitution=restitution)
    body = M.Primitive("body", shape, size, M.Pose((0.0, 0.0, 1.0)), "free", 1.0, material="m")
    robot = M.SceneModel(PADDLE, materials=M.ModelMaterials("m"))
    motion = M.Motion(joint="lift", times=(0.0, 1.0, 2.0), positions=(0.0, 0.3, 0.0))
    sim = mb.Simulator(mb.Scene(models=(robot,), primitives=(body,), motions=(motion,), materials={"m": material},
                                sensors=(M.Sensor("touch", "contact", link="paddle"),)))  # fmt: skip
    push_out_fully(sim)
    sim.step(steps=100)
    start, rng = sim.save(), np.random.default_rng(4)
    q, v = sim.q, rng.normal(size=7)
    q[4:] = rng.normal(size=4)
    q[4:] /= np.linalg.norm(q[4:])
    low, high = 0.0, 0.5
    for _ in range(20):
        sim.restore(start)
        q[3] = 0.5 * (low + high)
        sim.set_state(q, np.zeros(7))
        overlap = sim.step().contacts["gap"].min(initial=1.0) < 0.0
        low, high = (q[3], high) if overlap else (low, q[3])
    q[3], v[6] = low - 1e-5, -1.0
    sim.restore(start)
    return Differences(sim, q, v)


def test_a_driven_joint_of_a_chain():
    sim = chain()
    state = np.array([0.3, sim.q[1], 1.1]), np.array([0.5, 1.5, -0.7]), np.array([1.0, -0.5, 0.3])
    differences = Differences(sim, *state)
    assert differences.worst(size=1e-5) < 1e-8
    by = sim.step_derivatives()
    for entries in (by.q, by.v):
        assert not any(entries[name][1].any() for name in entries)  # it goes where its path goes
        assert not entries["q"][:, 1].any() and not entries["v"][:, 1].any()
    assert abs(by.v["effort"][:, 1]).max() < 1e-12  # its drive takes that up
    for sensor in ("imu", "wrench", "joints"):
        for name in ("q", "v", "effort"):
            assert differences.worst_reading(sensor, name) < 1e-6, (sensor, name)


def test_the_adjoint_knows_driven_joints():
    sim = chain()
    sim.step([1.0, -0.5, 0.3])
    names, y = mb.gradients.step.NAMES, np.random.default_rng(2).normal(size=6)
    expected = y @ sim.differentiator().solve(names)[0].reshape(6, -1)
    record, _ = sim.differentiator().record(names, [])
    np.testing.assert_allclose(sim.differentiator().pull(record, y), expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("shape", ["box", "sphere"])
def test_a_body_that_falls_onto_a_driven_plate(shape):
    differences = paddle(shape=shape)
    assert differences.worst() < 1e-6
    assert differences.sim.context.contacts.count[0] > 0
    assert max(differences.worst_reading("touch", name, size=1e-6) for name in ("q", "v")) < 1e-6


def test_a_driven_crank():
    sim, _ = SCENES["crank and rocker"]()
    here = float(sim.q[0])
    motion = M.Motion(joint=sim.world.joint_names[0], times=(0.0, 1.0), positions=(here, here + 1.0))
    sim = mb.Simulator(replace(sim.scene, motions=(motion,)))
    sim.step(steps=300)
    differences = Differences(sim, sim.q, sim.v)
    assert differences.worst() < 1e-7


@pytest.mark.parametrize("target, rate", [(0.5, 2.0), (0.2001, 4.0), (None, 0.0), (0.201, None)])
def test_a_driven_joint_off_its_path(target, rate):
    """On its way to a target, where it arrives within the step, and where it is held; at a velocity."""
    sim = chain(times=(), positions=())
    if target is not None or rate:
        sim.set_targets(["hinge_1"], None if target is None else [target], None if rate is None else [rate])
    sim.set_state([0.3, 0.2, 1.1], np.zeros(3))
    differences = Differences(sim, np.array([0.3, 0.2, 1.1]), np.array([0.5, 0.0, -0.7]), np.array([1.0, -0.5, 0.3]))
    assert differences.worst(size=1e-6) < 1e-6
    by = sim.step_derivatives()
    arrives = target == 0.2001 or rate is None
    np.testing.assert_allclose(by.q["q"][1], [0.0, 0.0 if arrives else 1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(by.v["q"][1], [0.0, -1.0 / DT if arrives else 0.0, 0.0], atol=1e-9)
    names, y = mb.gradients.step.NAMES, np.random.default_rng(2).normal(size=6)
    expected = y @ sim.differentiator().solve(names)[0].reshape(6, -1)
    record, _ = sim.differentiator().record(names, [])
    np.testing.assert_allclose(sim.differentiator().pull(record, y), expected, atol=1e-11 * np.abs(expected).max())
    for sensor in ("imu", "wrench", "joints"):
        for name in ("q", "v", "effort"):
            assert differences.worst_reading(sensor, name, size=1e-6) < 1e-6, (sensor, name)


def test_what_is_not_known_of_motions_is_refused():
    differences = paddle(restitution=0.5)
    differences.step()
    with pytest.raises(InputError, match="impacts in a scene with motions"):
        differences.sim.step_derivatives()
