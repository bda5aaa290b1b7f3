# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of steps with embedded loops beside central differences.

Covers gradients/embedded.py.
"""

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import InputError
from mb_contact.gradients.motion import displacement
from mb_contact.programs.bench.legged import legged_scene
from oracles.step_differences import Differences, push_out_fully
from paths import ROOT
from scenes.gradient_scenes import SCENES
from scenes.loop_cases import bar

M = mb.model
CONFIG = "package://mb_contact/config/"


def moving(scene, steps, seed=0, scale=1.0):
    """Differences of a scene with embedded loops that has moved on for some steps under efforts."""
    sim, rng = mb.Simulator(replace(scene, loops="embed")), np.random.default_rng(seed)
    assert sim.context.parts
    push_out_fully(sim)
    for _ in range(steps):
        sim.step(scale * rng.normal(size=len(sim.world.joint_names)))
    differences = Differences(sim, sim.q, sim.v, scale * rng.normal(size=len(sim.world.joint_names)))
    differences.step()
    assert not sim.step_derivatives((), near=1e-4).kinks
    return differences


def four_bar(**properties):
    """A crank-rocker whose crank has forces of its own."""
    scene = mb.load_scene(CONFIG + "four_bar.yaml")
    joint = {"crank_joint": M.JointProperties(**properties)}
    return replace(scene, models=(replace(scene.models[0], joint_properties=joint),))


@pytest.mark.parametrize("steps", [20, 90, 200])
def test_a_crank_and_a_rocker(steps):
    differences = moving(four_bar(damping=0.2, stiffness=3.0, friction=0.1), steps)
    for name in ("q", "v", "effort"):
        assert differences.worst((name,), size=1e-5) < 1e-6, name
    for name in ("mass", "damping"):
        for column, key in enumerate(differences.sim.values(name)):
            by, found = differences.by_value(name, key, differences.sim.values(name)[key])
            exact = np.concatenate((found.q[name], found.v[name]))[:, column]
            assert np.abs(by - exact).max() < 1e-6 * max(1.0, np.abs(exact).max()), (name, key)


def test_gears():
    """A gear that is embedded, whose joint has a coordinate that counts, is as one with a row."""
    sim, draw = SCENES["gears"]()
    state = draw(np.random.default_rng(5))
    sim = mb.Simulator(replace(sim.scene, loops="embed"))
    assert sim.context.parts
    sim.set_state(*state[:2])  # to velocities that the gear allows
    differences = Differences(sim, sim.q, sim.v, state[2])
    assert differences.worst() < 1e-6


def test_a_legged_machine_with_six_loops():
    """Its base is free; rods hang on cranks as long as their links.

    Of such a loop any coordinate may be the dependent one, so coordinates are moved along closed ones.
    """
    differences = moving(replace(legged_scene(), ground=None), 60, scale=0.3)
    sim, tree = differences.sim, differences.tree
    assert len(sim.context.parts) == 6
    for name in ("v", "effort"):
        assert differences.worst((name,)) < 1e-6, name
    end, _ = differences.step()
    found, rng = sim.step_derivatives(["q"]), np.random.default_rng(1)
    for _ in range(5):
        sim.set_state(differences.q, rng.normal(size=len(sim.v)))
        way, parts = sim.v, []
        for h in (1e-6, 2e-6):
            (a, v_a), (b, v_b) = differences.step("q", h * way), differences.step("q", -h * way)
            moved = displacement(tree, end, a) - displacement(tree, end, b)
            parts.append(np.concatenate((moved, v_a - v_b)) / (2.0 * h))
        exact = np.concatenate((found.q["q"], found.v["q"])) @ way
        np.testing.assert_allclose((4.0 * parts[0] - parts[1]) / 3.0, exact, atol=1e-6 * np.abs(exact).max())


def over_ground(restitution):
    """A four-bar linkage in the air, whose coupler has a ball that comes down on the ground."""
    scene = four_bar()
    ball = '<collision><origin xyz="0.5 0 0"/><geometry><sphere radius="0.05"/></geometry></collision></link>'
    head, tail = (ROOT / "urdf" / "four_bar.urdf").read_text().split('<link name="coupler">')
    head = head.replace('<link name="base">', bar("base", 1.0)[: -len("</link>")])
    arm = replace(scene.models[0], base="free", urdf=f'{head}<link name="coupler">{tail.replace("</link>", ball, 1)}',
                  materials=M.ModelMaterials("m"))  # fmt: skip
    sim = mb.Simulator(scene)
    R, p = mb.frame_pose(sim.world, sim.q, "coupler")
    return replace(scene, models=(arm,), materials={"m": M.Material(friction=0.3, restitution=restitution)},
                   ground=M.Ground((p + R @ [0.5, 0.0, 0.0])[2] - 0.07, material="m"), loops="embed")  # fmt: skip


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_contacts_and_bounces(restitution):
    """The step in which the ball lands and slides on, or bounces."""
    sim = mb.Simulator(over_ground(restitution))
    sim.differentiator()
    push_out_fully(sim)
    sim.set_state(sim.q, -sim.v)
    before, effort, context = (sim.q, sim.v), np.array([0.3, 0.1, -0.2]), sim.context
    while not (context.impacts.happened if restitution else context.contacts.count[0] and context.solution.r[0] > 0.0):
        before = sim.q, sim.v
        sim.step(effort)
        assert sim.time < 1.0
    differences = Differences(sim, *before, effort)
    differences.step()
    assert context.impacts.happened if restitution else context.solution.u[1:3].any()
    for name in ("q", "v", "effort"):
        assert differences.worst((name,), size=1e-7) < 1e-6, name
    by, found = differences.by_value("friction", ("ground", "coupler"), 0.3)
    exact = np.concatenate((found.q["friction"], found.v["friction"]))[:, 0]
    assert np.abs(by - exact).max() < 1e-6 < np.abs(exact).max()


def test_what_the_coupler_feels():
    """Where its ball slides on the ground: the wrench on the coupler, and on the ground."""
    pose = M.Pose((0.03, 0.02, -0.03), (0.3, 0.2, 0.1))
    sensors = (M.Sensor("touch", "contact", link="coupler", pose=pose), M.Sensor("floor", "contact", link="ground"),
               M.Sensor("imu", "imu", link="coupler"))  # fmt: skip
    sim = mb.Simulator(replace(over_ground(0.0), sensors=sensors))
    push_out_fully(sim)
    sim.set_state(sim.q, -sim.v)
    before, effort, context = (sim.q, sim.v), np.array([0.3, 0.1, -0.2]), sim.context
    while not (context.contacts.count[0] and context.solution.r[0] > 0.0):
        before = sim.q, sim.v
        sim.step(effort)
        assert sim.time < 1.0
    differences = Differences(sim, *before, effort)
    differences.step()
    assert np.abs(sim.sensors.read("touch")).min() > 0.0
    for name in ("touch", "floor"):
        for by in ("q", "v", "effort"):
            assert differences.worst_reading(name, by, size=1e-6) < 1e-6, (name, by)
    with pytest.raises(InputError, match="an IMU's and wrenches of joints are not known"):
        sim.step_derivatives(readings=["imu"])


def test_a_rollout():
    """Beside differences: where the crank is after 40 steps, by its effort."""
    sim = mb.Simulator(replace(four_bar(), loops="embed"))
    effort, crank = np.zeros((40, len(sim.world.joint_names))), sim.world.joint_v[0]

    def at_end(k, q, v):
        return (q[crank], np.eye(len(v))[crank], np.zeros(len(v))) if k == len(effort) else None

    start = sim.save()
    found = mb.rollout_gradient(sim, effort, at_end).effort.sum(axis=0)
    for i in range(effort.shape[1]):
        ends = []
        for way in (2e-3, 1e-3, -1e-3, -2e-3):
            sim.restore(start)
            for row in effort:
                sim.step(row + way * np.eye(effort.shape[1])[i])
            ends.append(sim.q[crank])
        np.testing.assert_allclose(found[i], (8.0 * (ends[1] - ends[2]) - (ends[0] - ends[3])) / 12e-3, rtol=1e-6)


def test_what_is_refused():
    motion = M.Motion(joint="crank_joint", times=(0.0, 1.0), positions=(0.0, 1.0))
    for change, told in (({"integrator": "midpoint"}, "embedded loops under flows"),
                         ({"motions": (motion,)}, "with motions")):  # fmt: skip
        sim = mb.Simulator(replace(four_bar(), loops="embed", **change))
        sim.step()
        with pytest.raises(InputError, match=told):
            sim.step_derivatives()
