# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of smooth steps of midpoint beside differences of them, and what they keep."""

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import InputError
from mb_contact.gradients.motion import displaced
from oracles.step_differences import Differences

M = mb.model
LINK = (
    '<link name="{0}"><inertial><origin xyz="0.02 0.01 {1}"/><mass value="{2}"/><inertia ixx="0.03" iyy="0.02" '
    'izz="0.01" ixy="0.001" ixz="0" iyz="-0.0005"/></inertial></link>'
)
JOINT = (
    '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><origin xyz="{4}"/><axis xyz="0.6 0.8 0"/>'
    '<limit lower="-9" upper="9" effort="100" velocity="100"/></joint>'
)
FLYER = "".join([
    '<robot name="flyer">', LINK.format("trunk", 0.0, 1.0), LINK.format("upper", 0.2, 2.0),
    LINK.format("hand", 0.1, 0.5),
    JOINT.format("shoulder", "revolute", "trunk", "upper", "0 0 0.5"),
    JOINT.format("slide", "prismatic", "upper", "hand", "0.05 0 0.4"), "</robot>",
])  # fmt: skip
BOXES = tuple(M.Primitive(name, "box", (0.2, 0.16, 0.1 + 0.1 * i), M.Pose((0.0, 2.0 * i, 3.0)), "free", 1.3 + i)
              for i, name in enumerate("ab"))  # fmt: skip
SERVO = M.Actuator("position", stiffness=50.0, damping=2.0)


def chain(**properties):
    """A pendulum of three links whose first joint has properties."""
    joints = {"hinge_0": M.JointProperties(**properties)} if properties else {}
    return M.SceneModel(mb.pendulum(3, length=1.0).urdf(), joint_properties=joints, actuators={"hinge_1": SERVO})


SCENES = {
    "a chain": mb.Scene(models=(chain(),)),
    "a chain with springs, damping and a servo": mb.Scene(models=(chain(damping=0.4, stiffness=3.0),)),
    "a flying robot": mb.Scene(models=(M.SceneModel(FLYER, base="free"),)),
    "bodies in flight": mb.Scene(primitives=BOXES),
    "an unbalanced body": mb.Scene(models=(M.SceneModel(
        f'<robot name="stone">{LINK.format("stone", 0.2, 1.5)}</robot>', base="free"),)),
    "a flying robot and a body": mb.Scene(models=(M.SceneModel(FLYER, base="free"),), primitives=BOXES[1:]),
}  # fmt: skip


def drawn(name, pushed=None, step=0.01):
    """Differences of a scene in a seeded state."""
    sim, rng = mb.Simulator(replace(SCENES[name], integrator="midpoint", time_step=step)), np.random.default_rng(3)
    if pushed:
        sim.set_external_wrench(pushed, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    N = len(sim.v)
    q = displaced(sim.context.tree, sim.q, 0.4 * rng.normal(size=N))
    return Differences(sim, q, rng.normal(size=N), rng.normal(size=len(sim.world.joint_names)))


@pytest.mark.parametrize(
    ("name", "pushed"),
    [("a chain", None), ("a chain with springs, damping and a servo", "link_1"), ("a flying robot", "upper"),
     ("bodies in flight", "a"), ("an unbalanced body", "stone"), ("a flying robot and a body", None)],
)  # fmt: skip
def test_by_state_and_efforts(name, pushed):
    differences = drawn(name, pushed)
    assert differences.worst(size=1e-4) < 1e-9
    assert not differences.sim.step_derivatives().kinks


@pytest.mark.parametrize("value", ["mass", "damping"])
@pytest.mark.parametrize(
    ("name", "pushed"),
    [("a chain with springs, damping and a servo", "link_1"), ("a flying robot", "upper"), ("bodies in flight", "a"),
     ("an unbalanced body", "stone")],
)
def test_by_parameters(name, pushed, value):
    """Beside differences of the values that a simulator has."""
    differences = drawn(name, pushed)
    sim, world = differences.sim, differences.sim.world
    columns = dict(zip(world.joint_names, world.joint_v, strict=True))
    if value == "mass":
        columns = {name: k for k, name in enumerate(world.body_names)}
    for key, number in sim.values(value).items():
        found, by = differences.by_value(value, key, number)
        exact = np.concatenate((by.q[value], by.v[value]))[:, columns[key]]
        assert np.abs(found - exact).max() < 1e-8 * max(1.0, np.abs(exact).max()), key


def test_the_energy_does_not_change_by_the_derivative_either():
    """E(q+, v+) = E(q, v) without forces, so dE is that of the start through the derivative of the step."""
    differences = drawn("a flying robot")
    sim = differences.sim
    differences.effort[:] = 0.0

    def slopes(q, v):
        out = np.zeros(16)
        for i in range(16):
            parts = []
            for h in (1e-4, -1e-4):
                d = np.zeros(16)
                d[i] = h
                sim.set_state(displaced(sim.context.tree, q, d[:8]), v + d[8:])
                parts.append(sim.energy())
            out[i] = (parts[0] - parts[1]) / 2e-4
        return out

    end = differences.step()
    by = sim.step_derivatives(["q", "v"])
    matrix = np.block([[by.q["q"], by.q["v"]], [by.v["q"], by.v["v"]]])
    np.testing.assert_allclose(slopes(*end) @ matrix, slopes(differences.q, differences.v), atol=1e-6)


def test_a_rollout():
    """The gradient of a rollout beside differences."""
    differences = drawn("a chain with springs, damping and a servo")
    sim = differences.sim

    def cost(k, q, v):
        return (v @ v, np.zeros(3), 2.0 * v) if k == 20 else None

    costs, efforts = [], np.tile(differences.effort, (20, 1))
    for way in (1e-5, 0.0, -1e-5):
        sim.restore(differences.start)
        sim.set_state(differences.q, differences.v + [0.0, way, 0.0])
        found = mb.rollout_gradient(sim, efforts, cost, ["damping"])
        costs.append(found.cost)
        if way == 0.0:
            slope = found.v[1]
    np.testing.assert_allclose(slope, (costs[0] - costs[2]) / 2e-5, rtol=1e-7)


def test_an_encoder_and_what_is_refused():
    sensors = M.Sensor("imu", "imu", link="link_1"), M.Sensor("joints", "encoder")
    sim = mb.Simulator(mb.Scene(models=(chain(),), sensors=sensors, integrator="midpoint"))
    sim.step()
    by = sim.step_derivatives(readings=["joints"])
    np.testing.assert_array_equal(by.readings["joints"]["v"], np.concatenate((by.q["v"], by.v["v"])))
    with pytest.raises(InputError, match="under integrator: midpoint"):
        sim.step_derivatives(readings=["imu"])
