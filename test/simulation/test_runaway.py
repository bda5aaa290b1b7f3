# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A state that runs away ends with an error that names the joint and the remedy; fast motion that is right does not."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Material, Pose, Primitive, Scene, SceneModel, Velocity
from mb_contact.simulation import runaway


def assert_same_state(sim, before):
    after = sim.save()
    for name in ("q", "v", "effort", "joint_effort", "geom_impulse", "gravity"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    assert all((a == b).all() for a, b in zip(after.memory, before.memory))
    assert (after.step_count, after.work_done, after.wrenches) == (before.step_count, before.work_done, before.wrenches)


def run_away(sim, steps):
    """The error that ends the steps, and the state before the step that raised it."""
    for _ in range(steps):
        before = sim.save()
        try:
            sim.step()
        except mb.DynamicsError as error:
            return str(error), before
    raise AssertionError(f"no error in {steps} steps, energy {sim.energy():.3g} J")


def test_a_pendulum_of_100_links_is_stopped_before_its_energy_is_nonsense():
    """2 ms do not resolve the waves of the stretched chain (docs/pendulum.md): its energy left by powers of ten."""
    sim = mb.Simulator(mb.pendulum(100, "first_impact", time_step=2e-3).scene())
    energy = sim.energy()
    message, before = run_away(sim, 2500)
    assert "the state runs away: joint 'hinge_" in message and "integrator: rk4 or midpoint" in message
    assert sim.energy() < 100.0 * energy
    assert_same_state(sim, before)


def whirl(rate, **settings):
    """Two links of a pendulum without gravity, the second turning at ``rate`` [rad/s] against the first."""
    sim = mb.Simulator(mb.pendulum(2, "first_impact", floor=-50.0, wall=90.0, gravity=1e-9).scene(**settings))
    sim.set_state(sim.q, [rate, -3.0 * rate])
    return sim


@pytest.mark.parametrize(
    "settings",
    [{}, {"integrator": "rk4"}, {"collision_scheme": "event", "contact_margin": 50.0}],  # a margin that cuts no step
)
def test_every_scheme_and_integrator_is_watched(settings):
    sim = whirl(2000.0, **settings)
    before = sim.save()
    with pytest.raises(mb.DynamicsError, match="joint 'hinge_1' turns by .* rad in the step of 0.001 s after t = 0"):
        for _ in range(20):
            before = sim.save()
            sim.step()
    assert_same_state(sim, before)


def test_midpoint_takes_the_same_steps():
    sim = whirl(1000.0, integrator="midpoint")
    energy = sim.energy()
    for _ in range(20):
        sim.step()
    assert sim.energy() == pytest.approx(energy, rel=1e-6)


FLYWHEEL = (
    '<robot name="wheel"><link name="base"/><link name="disc"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01"'
    ' izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="axle" type="continuous"><parent link="base"/>'
    '<child link="disc"/><axis xyz="0 0 1"/></joint></robot>'
)


@pytest.mark.parametrize("scheme", ["time_stepping", "event"])
def test_fast_motion_that_is_right_goes_on(scheme):
    """A flywheel and a ball at 1e4 rad/s, 10 rad a step, and two balls that meet at 2 km/s each."""
    wheel = SceneModel(FLYWHEEL, name="wheel", velocities={"axle": 1e4})
    balls = tuple(
        Primitive(f"ball_{i}", "sphere", (0.1,), Pose((side * 5.3, 0.0, 3.0)), "free", 1.0, material="steel",
                  velocity=Velocity((0.0, 0.0, 1e4 * i), (-side * 2000.0, 0.0, 0.0)))
        for i, side in enumerate((-1.0, 1.0))
    )  # fmt: skip
    scene = Scene(models=(wheel,), primitives=balls, materials={"steel": Material(0.0, restitution=1.0)},
                  gravity=(0.0, 0.0, 0.0), collision_scheme=scheme)  # fmt: skip
    sim = mb.Simulator(scene)
    energy, events = sim.energy(), 0
    for _ in range(20):
        events += len(sim.step().events)
    assert events == 1 and sim.energy() == pytest.approx(energy, rel=1e-9)
    assert abs(sim.link_pose("ball_0")[0][0]) > 10.0


def test_slow_motion_is_not_watched():
    """What costs more than a product of velocities is left to states that turn by a radian in a step."""
    sim = mb.Simulator(mb.pendulum(3, "first_impact").scene())
    assert runaway.watch(sim, 1e-3) is None
    sim.set_state(sim.q, [1001.0, 0.0, 0.0])
    assert runaway.watch(sim, 1e-3) is not None
