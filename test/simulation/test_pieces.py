# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A step that would make energy is taken again in pieces; one that is right, however fast, is not."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Material, Pose, Primitive, Scene, SceneModel, Velocity


def assert_same_state(sim, before):
    np.testing.assert_array_equal(sim.state, before)


def rises(sim, steps):
    """Largest rise of the energy in a step beyond push-out, part of the start; the pieces of all steps."""
    start = last = sim.energy()
    rise, pieces = 0.0, []
    for _ in range(steps):
        c = sim.step().certificate
        rise, last = max(rise, c.energy - last - c.push_out_energy), c.energy
        pieces.append(c.pieces)
    return rise / start, pieces


@pytest.mark.parametrize(
    "links, kind, settings, steps",
    [
        (24, "j12", {"integrator": "rk4"}, 2400),  # to 1e20 times its energy in one step, before
        (16, "first_impact", {"integrator": "rk4"}, 2900),
        (26, "first_impact", {"integrator": "midpoint"}, 3200),
        (23, "first_impact", {"integrator": "adaptive"}, 3200),
        (30, "j12_12m", {"collision_scheme": "event"}, 1450),  # the velocity was not finite
    ],
)
def test_chains_that_fold_make_no_energy(links, kind, settings, steps):
    """A stuck contact between links k and k + 2 of a fold: held over a whole step it does work that no law allows."""
    rise, pieces = rises(mb.Simulator(mb.pendulum(links, kind).scene(**settings)), steps)
    assert rise < 1e-6
    assert sum(count > 1 for count in pieces) < 0.05 * steps


def test_a_pendulum_of_100_links_goes_on_where_the_step_is_too_long():
    """2 ms do not resolve the waves of the stretched chain (docs/pendulum.md): its energy left by powers of ten."""
    sim = mb.Simulator(mb.pendulum(100, "first_impact", time_step=2e-3).scene())
    rise, pieces = rises(sim, 1000)
    assert rise < 1e-3 and max(pieces) > 1


def whirl(rate, **settings):
    """Two links of a pendulum without gravity, the second turning at ``rate`` [rad/s] against the first."""
    sim = mb.Simulator(mb.pendulum(2, "first_impact", floor=-50.0, wall=90.0, gravity=1e-9).scene(**settings))
    sim.set_state(sim.q, [rate, -3.0 * rate])
    return sim


@pytest.mark.parametrize(
    "settings",
    [{}, {"integrator": "rk4"}, {"collision_scheme": "event", "contact_margin": 50.0}],  # a margin that cuts no step
)
def test_what_turns_too_fast_for_its_step_is_taken_in_pieces(settings):
    sim = whirl(2000.0, **settings)
    energy = sim.energy()
    certificates = [sim.step().certificate for _ in range(20)]
    assert max(c.pieces for c in certificates) > 1 and all(c.by_euler <= c.pieces for c in certificates)
    assert max(c.energy for c in certificates) < energy * (1.0 + 1e-6)


@pytest.mark.parametrize("settings", [{}, {"integrator": "rk4"}, {"collision_scheme": "event"}])
def test_a_step_that_no_piece_mends_leaves_the_state_as_it_was(settings):
    sim = whirl(1e170, **settings)
    before = sim.save()
    with pytest.raises(mb.DynamicsError, match="the state has run away"):
        sim.step()
    assert_same_state(sim, before)


def test_the_sums_of_pieces_are_those_of_the_step():
    """Efforts and wrenches act in every piece: their work is that along the way of the whole step."""
    sim = whirl(700.0, integrator="rk4")
    effort, force = np.array([3.0, -2.0]), np.array([5.0, 0.0, 0.0])
    sim.set_external_wrench("link_1", [0.0, 0.0, 0.0, *force])
    balance, checked = 0.0, 0
    for _ in range(30):
        energy, q, p = sim.energy(), sim.q.copy(), sim.link_pose("link_1")[0]
        certificate = sim.step(effort).certificate
        np.testing.assert_allclose(sim.joint_efforts(), effort, rtol=1e-12)
        done = certificate.energy - energy - (certificate.energy_balance - balance)
        if certificate.pieces > 1:
            checked += 1
            assert done == pytest.approx(effort @ (sim.q - q) + force @ (sim.link_pose("link_1")[0] - p), abs=0.05)
        balance = certificate.energy_balance
    assert checked > 3


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
        step = sim.step()
        events += len(step.events)
        assert (step.certificate.pieces, step.certificate.by_euler) == (1, 0)
    assert events == 1 and sim.energy() == pytest.approx(energy, rel=1e-9)
    assert abs(sim.link_pose("ball_0")[0][0]) > 10.0


def test_a_strike_before_the_step_was_taken_in_pieces():
    """Impacts are lent to such a scene where bodies strike, and are gone in the pieces."""
    r = np.random.default_rng(1)
    spin, speed, axis = 10.0 ** r.uniform(0.0, 2.5), 10.0 ** r.uniform(-1.0, 2.0), r.normal(size=2)
    axis, _ = axis / np.linalg.norm(axis), r.choice([1e-3, 4e-3])
    sheet = mb.model.Primitive(
        "sheet", "box", (1.0, 1.0, 0.001), base="free", mass=50.0, inertia=(4.0, 4.0, 8.0),
        velocity=mb.model.Velocity(angular=(*(spin * axis), 0.0)),
    )  # fmt: skip
    place = mb.model.Pose((*r.uniform(-0.4, 0.4, 2), 0.06), tuple(r.uniform(-3.0, 3.0, 3)))
    thrown = mb.model.Velocity(angular=tuple(spin * r.normal(size=3)), linear=(0.0, 0.0, -speed))
    body = mb.model.Primitive(
        "body", "ellipsoid", (0.04, 0.03, 0.02), place, "free", 0.5, velocity=thrown
    )
    sim = mb.Simulator(mb.Scene(primitives=(sheet, body), gravity=(0.0, 0.0, 0.0)))
    assert max(sim.step().certificate.pieces for _ in range(10)) > 1
