# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Several steps of one call: the bits, the events and the failures of so many steps one by one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.compile.decorated import DISABLE_JIT
from mb_contact.core.integrate.flow_step import many_steps
from mb_contact.errors import DynamicsError, InputError
from mb_contact.model.scene import Actuator, Ground, Material, Pose, Primitive, Scene, SceneModel

ARM = (
    '<robot name="arm"><link name="base"/><link name="beam"><inertial><mass value="1"/><inertia ixx="1" iyy="1" '
    'izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="revolute"><parent link="base"/>'
    '<child link="beam"/><axis xyz="0 0 1"/><limit lower="-9" upper="9" effort="1" velocity="99"/></joint></robot>'
)
ARM_ABOVE = SceneModel(ARM, pose=Pose((0.0, 0.0, 9.0)), actuators={"j": Actuator("position", stiffness=1e7)})


def scene(restitution=0.0, **choices):
    """Two boxes that fall and land, one on the other."""
    boxes = [
        Primitive(name, "box", (0.2, 0.2, 0.1), Pose((x, 0.0, z), (0.0, tilt, 0.0)), "free", 1.0, material="m")
        for name, x, z, tilt in (("lower", 0.0, 0.07, 0.05), ("upper", 0.04, 0.2, 0.0))
    ]
    materials = {"m": Material(0.5, restitution=restitution)}
    return Scene(primitives=tuple(boxes), ground=Ground(0.0, "m"), materials=materials, **choices)


def state(sim):
    """All that may tell two runs apart."""
    return np.append(sim.state, sim.time)


def one_by_one(sim, steps, effort=None, time_step=None):
    """The last of so many steps, and the events of all."""
    events = []
    for _ in range(steps):
        step = sim.step(effort, time_step)
        events += step.events
    return step, events


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
@pytest.mark.parametrize("restitution", [0.0, 0.4])
def test_several_steps_are_the_bits_and_events_of_single_ones(integrator, restitution):
    sims = [mb.Simulator(scene(restitution, integrator=integrator)) for _ in range(2)]
    for steps in (3, 150, 40, 300):
        many = sims[0].step(steps=steps)
        last, events = one_by_one(sims[1], steps)
        np.testing.assert_array_equal(state(sims[0]), state(sims[1]))
        assert many.time == last.time and repr(many.certificate) == repr(last.certificate)
        np.testing.assert_array_equal(many.contacts["impulse"], last.contacts["impulse"])
        assert [repr(event) for event in many.events] == [repr(event) for event in events]
        assert events or steps != 150  # both boxes have landed


def test_efforts_servos_and_wrenches_act_in_all_of_them():
    sims = [mb.Simulator(scene(models=(ARM_ABOVE,))) for _ in range(2)]
    for sim in sims:
        sim.set_external_wrench("upper", [0, 0, 0, 2.0, 0, 0], duration=0.02)  # which ends on the way
        sim.set_targets(["j"], [3.0])  # beyond what the servo's effort reaches
    sims[0].step([0.3], 0.0005, steps=90)
    one_by_one(sims[1], 90, [0.3], 0.0005)
    np.testing.assert_array_equal(state(sims[0]), state(sims[1]))
    assert sims[0].state.saturation.any() and abs(sims[0].v[6]) + abs(sims[0].v[12]) > 0.0


def test_what_sleeps_does_so_in_several_steps_too():
    sims = [mb.Simulator(scene(sleep=True)) for _ in range(2)]
    sims[0].step(steps=700)
    one_by_one(sims[1], 700)
    np.testing.assert_array_equal(state(sims[0]), state(sims[1]))
    assert sims[0].asleep.all()


def test_a_failure_leaves_the_state_before_the_step_that_failed():
    """A pendulum pushed by an effort until it runs away."""
    sims = [mb.Simulator(mb.pendulum(2, rate=0.0).scene()) for _ in range(2)]
    effort, taken = [1e300, -1e300], 0
    with pytest.raises(DynamicsError):
        sims[0].step(effort, steps=500)
    with pytest.raises(DynamicsError):
        for _ in range(500):
            sims[1].step(effort)
            taken += 1
    assert sims[0].step_count == sims[1].step_count == taken
    np.testing.assert_array_equal(state(sims[0]), state(sims[1]))
    for sim in sims:  # and goes on from there
        sim.set_state(np.zeros(2), np.zeros(2))
        sim.step(steps=5)
    np.testing.assert_array_equal(state(sims[0]), state(sims[1]))


@pytest.mark.parametrize("steps", [0, -1, 1.5, "3"])
def test_other_numbers_of_steps_are_refused(steps):
    sim = mb.Simulator(scene())
    before = state(sim)
    with pytest.raises(InputError, match="steps must be a whole number"):
        sim.step(steps=steps)
    np.testing.assert_array_equal(state(sim), before)


def test_two_threads_give_the_same_bits_as_one():
    sims = [mb.Simulator(scene()) for _ in range(3)]
    sims[0].step(steps=200)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda sim: sim.step(steps=200), sims[1:]))
    for sim in sims[1:]:
        np.testing.assert_array_equal(state(sim), state(sims[0]))


@pytest.mark.skipif(DISABLE_JIT, reason="nothing is compiled")
def test_several_compiled_steps_release_the_lock():
    assert many_steps.targetoptions["nogil"]


def test_projected_loops_are_stepped_one_by_one():
    loop = mb.load_scene("package://mb_contact/config/closed_chain.yaml")
    sims = [mb.Simulator(replace(loop, drift_control="projection", loops="multipliers")) for _ in range(2)]
    sims[0].step(steps=20)
    one_by_one(sims[1], 20)
    np.testing.assert_array_equal(state(sims[0]), state(sims[1]))


@pytest.mark.parametrize("length", [-1e-3, 0.0, np.nan, np.inf, "a", True])
def test_a_length_of_steps_is_above_zero(length):
    sim = mb.Simulator(scene())
    with pytest.raises(InputError, match="time_step must be"):
        sim.time_step = length
    assert sim.time_step == sim.scene.time_step


def test_another_length_of_steps_leaves_the_time_that_has_gone_by():
    sim = mb.Simulator(scene())
    dt = sim.time_step
    sim.step(steps=100)
    sim.time_step = 5.0 * dt
    assert sim.time == 100 * dt
    sim.step()
    assert sim.time == pytest.approx(105 * dt, rel=1e-14)
    other = mb.Simulator(scene())
    other.restore(sim.save())
    assert other.time == sim.time
