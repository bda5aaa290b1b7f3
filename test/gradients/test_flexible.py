# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of steps with flexible links beside central differences of the step itself.

Covers core/tree/modal_rates.py, core/gradients/bias.py.
"""

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.handle import TOLERANCE
from mb_contact.errors import InputError
from oracles.step_differences import Differences, push_out_fully
from scenes.flexible_robots import LOOSE, strip
from scenes.gradient_scenes import BALL, SCENES

M = mb.model
DOWN, SCAN = M.Pose((0.0, 0.0, 0.3), (0.0, 1.3, 0.0)), M.scene.sensors.Scan(5, (-0.3, 0.3), 2, (0.0, 0.2))
POSE = M.Pose((0.03, 0.02, -0.03), (0.3, 0.2, 0.1))


def differences_of(sim, q, v, effort=None):
    """Differences of a simulator that solves to rounding, with one slope of its rows' offsets, behind a step."""
    push_out_fully(sim)
    sim.context.solver[TOLERANCE] = 1e-13
    differences = Differences(sim, q, v, effort)
    differences.step()
    return differences


def state(name, seed, **more):
    """Differences of a scene of ``gradient_scenes`` in one of its states."""
    sim, draw = SCENES[name]()
    q, v, effort = draw(np.random.default_rng(seed))
    return differences_of(mb.Simulator(replace(sim.scene, **more)), q, v, effort)


@pytest.mark.parametrize("seed", [0, 1, 5])
@pytest.mark.parametrize("name", ["flexible arm", "flexible arm and a box"])
def test_an_arm_that_touches(name, seed):
    differences = state(name, seed)
    touching = differences.sim.context.contacts.count[0]
    assert touching and not differences.sim.step_derivatives((), near=1e-4).kinks
    assert differences.worst(size=1e-7) < 1e-6


def test_a_loose_rod_that_stands_on_two_points():
    """Its modes are pushed by contacts of two of its own nodes."""
    urdf = LOOSE.replace('<link name="rod"/>', f'<link name="rod">{BALL.format(0.1)}{BALL.format(0.5)}</link>')
    rod = M.SceneModel(urdf, flexible_links={"rod": M.FlexibleLink(beam=strip())}, base="free", pose=M.Pose((0, 0, 1)))
    sim = mb.Simulator(mb.Scene(models=(rod,), ground=M.Ground()))
    sim.reset()
    rng = np.random.default_rng(1)
    q, v = sim.q, 0.5 * rng.normal(size=len(sim.v))
    q[2], q[7:], v[5] = 0.03 - 1e-5, 1e-6 * rng.normal(size=len(q) - 7), -0.5
    differences = differences_of(sim, q, v)
    assert sim.context.contacts.count[0] == 2
    assert differences.worst(size=1e-8) < 1e-6


@pytest.mark.parametrize("kind", ["point", "distance"])
def test_a_loop_between_two_nodes(kind):
    """A closure from the hand to the weight: both hang on the link, at nodes of their own."""
    closure = M.Closure(kind, "hand", "weight", pose_a=M.Pose((0.1, 0.05, 0.2), (0.1, 0.2, 0.3)))
    scene = replace(SCENES["flexible arm"]()[0].scene, loop_closures=(closure,), loops="multipliers", ground=None)
    sim = mb.Simulator(scene)
    sim.set_state(sim.q, sim.v + 0.3 * np.random.default_rng(1).normal(size=len(sim.v)))
    sim.step(steps=5)
    differences = differences_of(sim, sim.q, sim.v)
    assert sim.differentiator().count_rows() == (3 if kind == "point" else 1)
    assert differences.worst() < 1e-6


def test_parameters():
    """Masses of what hangs on the link, damping of its modes and friction."""
    differences = state("flexible arm", 0)
    sim = differences.sim
    assert "fore" not in sim.values("mass")
    for name, key in (("mass", "upper"), ("mass", "hand"), ("damping", "fore/mode_1"),
                      ("friction", ("ground", "hand"))):  # fmt: skip
        expected, found = differences.by_value(name, key, sim.values(name)[key])
        by = np.concatenate((found.q[name], found.v[name]))
        assert np.abs(expected).max() > 1e-4, (name, key)
        assert np.abs(by - expected[:, None]).max(axis=0).min() < 1e-7 * max(1.0, np.abs(expected).max()), (name, key)


def test_the_mass_of_the_link_is_that_of_its_density():
    sim, draw = SCENES["flexible arm"]()
    q, v, effort = draw(np.random.default_rng(0))
    robot, ends = sim.scene.models[0], []
    for part in (-2e-2, -1e-2, 0.0, 1e-2, 2e-2):
        link = M.FlexibleLink(beam=strip(density=2700.0 * (1.0 + part)), damping_ratio=0.0)
        sim = mb.Simulator(replace(sim.scene, models=(replace(robot, flexible_links={"fore": link}),)))
        sim.set_state(q, v)
        sim.step(effort)
        ends.append(sim.v)
        if part == 0.0:
            k = sim.world.body_names.index("fore")
            mass, found = sim.world.tree.mass[k], sim.step_derivatives(["mass"]).v["mass"][:, k]
    expected = (8.0 * (ends[3] - ends[1]) - (ends[4] - ends[0])) / (0.12 * mass)
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())  # of differences so far apart


@pytest.mark.parametrize("by", ["q", "v", "effort"])
def test_readings_of_what_hangs_on_the_link(by):
    sensors = (M.Sensor("imu", "imu", link="hand", pose=POSE), M.Sensor("node", "imu", link="fore/node_1", pose=POSE),
               M.Sensor("wrist", "force_torque", joint="wrist", pose=POSE),
               M.Sensor("elbow", "force_torque", joint="elbow", pose=POSE), M.Sensor("touch", "contact", link="hand"),
               M.Sensor("joints", "encoder"), M.Sensor("scan", "lidar", link="hand", pose=DOWN, scan=SCAN))  # fmt: skip
    differences = state("flexible arm", 0, sensors=sensors)
    assert np.isfinite(differences.sim.sensors.read("scan").ranges).sum() > 5
    for sensor in differences.sim.sensors.names:
        size = 1e-6 if by == "effort" else 1e-7  # of less effort rounding is left
        assert differences.worst_reading(sensor, by, size=size) < 1e-6, sensor


def test_the_adjoint():
    sim, names = state("flexible arm", 1).sim, ("q", "v", "effort", "mass", "friction", "damping")
    matrix = sim.differentiator().solve(names)[0].copy()
    y = np.random.default_rng(0).normal(size=2 * len(sim.v))
    expected = y @ matrix.reshape(len(y), -1)
    record, _ = sim.differentiator().record(names, [])
    found = sim.differentiator().pull(record, y)
    np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())


def test_a_hand_that_bounces():
    scene = SCENES["flexible arm"]()[0].scene
    robot = replace(scene.models[0], materials=M.ModelMaterials("m"))
    materials = {"m": M.Material(friction=0.3, restitution=0.5)}
    sim = mb.Simulator(replace(scene, models=(robot,), materials=materials, ground=M.Ground(material="m")))
    sim.differentiator()
    push_out_fully(sim)
    sim.set_state(sim.q, sim.v + 0.3 * np.random.default_rng(0).normal(size=len(sim.v)))
    while not (sim.context.impacts.happened and sim.context.impacts.events):
        q, v = sim.q, sim.v
        sim.step()
        assert sim.time < 0.5
    differences = differences_of(sim, q, v)
    assert sim.context.impacts.events and not sim.step_derivatives(()).kinks
    assert differences.worst(size=1e-7) < 1e-6


def test_flows_are_refused():
    sim, _ = SCENES["flexible arm"]()
    sim = mb.Simulator(replace(sim.scene, integrator="adaptive"))
    sim.step()
    with pytest.raises(InputError, match="flexible links under flows"):
        sim.step_derivatives()
