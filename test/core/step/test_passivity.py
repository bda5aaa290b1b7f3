# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""No step gains energy without a force that does the work; Euler tells what it gains."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Pose, Primitive, Scene, Velocity
from mb_contact.simulation.step import PASSIVE


def tumbler(**settings):
    """A plate that tumbles at 20 rad/s and flies at 3 m/s, far from anything."""
    spin, flight = (12.0, 2.0, -16.0), (3.0, 0.0, 1.0)
    motion = Velocity(spin, flight)
    plate = Primitive("plate", "box", (0.3, 0.2, 0.02), Pose((0.0, 0.0, 5.0)), "free", 2.0, velocity=motion)
    return mb.Simulator(Scene(primitives=(plate,), gravity=(0.0, 0.0, 0.0), time_step=5e-3, **settings))


def test_euler_tells_what_it_gains_and_is_left_alone():
    sim = tumbler()
    told = 0.0
    for _ in range(400):
        before, certificate = sim.energy(), sim.step().certificate
        told = max(told, certificate.energy_gained)
        assert certificate.energy_removed == 0.0
        rise = certificate.energy - before
        if rise > 1.01e-6 * certificate.kinetic_energy:
            assert certificate.energy_gained == pytest.approx(rise, rel=1e-6)
    assert told > 0.0


def test_a_flow_that_gains_is_slowed_down_and_keeps_its_momentum():
    """A plate that turns by 2 rad in a step: the fourth order is not enough, and its error is taken out."""
    spin, flight = (100.0, 20.0, -120.0), (3.0, 0.0, 1.0)
    motion = Velocity(spin, flight)
    plate = Primitive("plate", "box", (0.3, 0.2, 0.02), Pose((0.0, 0.0, 5.0)), "free", 2.0, velocity=motion)
    scene = Scene(primitives=(plate,), gravity=(0.0, 0.0, 0.0), time_step=5e-3, integrator="rk4")
    sim = mb.Simulator(scene)
    removed = 0.0
    for _ in range(200):
        before, certificate = sim.energy(), sim.step().certificate
        removed += certificate.energy_removed
        assert certificate.energy <= before * (1.0 + 1.01e-6)
    assert removed > 0.0
    np.testing.assert_allclose(sim.v[3:6], [3.0, 0.0, 1.0], rtol=1e-12)


def test_what_an_integrator_keeps_is_left_alone():
    sim = tumbler(integrator="midpoint")
    for _ in range(100):
        assert sim.step().certificate.energy_removed == 0.0


@pytest.mark.parametrize("integrator", ["rk4", "midpoint", "adaptive"])
def test_a_whip_gains_nothing(integrator):
    """20 links of the 12 m pendulum fall, hit the floor and whip: from step to step only push-out may add energy."""
    sim = mb.Simulator(mb.pendulum(20, "first_impact").scene(integrator=integrator, time_step=2e-3))
    start, touched = sim.energy(), 0
    for _ in range(1500):
        before, certificate = sim.energy(), sim.step().certificate
        touched += certificate.contacts
        assert certificate.energy - before <= certificate.push_out_energy + PASSIVE * start
    assert touched and sim.energy() <= start


def test_what_contacts_did_beyond_their_laws_is_told():
    """The sum of ``contact_error`` is what the energy balance lacks: the integrator's own error is rounding."""
    sim = mb.Simulator(mb.pendulum(5, "first_impact").scene(integrator="midpoint"))
    told = 0.0
    for _ in range(2500):
        certificate = sim.step().certificate
        told += certificate.contact_error - certificate.energy_removed
    assert abs(certificate.energy_balance - told) < 1e-9 * sim.energy() and abs(told) > 1e-6
