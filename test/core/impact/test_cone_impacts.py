# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Impacts with torsional, rolling and anisotropic friction, against the impulses of a single ball.

At the lowest point of a ball the rows are decoupled: 1/m along the normal, 1/m + r^2/I = 7/2m along each tangent,
1/I of each turn.  So p_n is m v in compression and eps m v after it, and every other impulse has its own bound.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import mb_contact as mb
from mb_contact.model.scene import AnisotropicFriction, Ground, Material, MaterialPair, Pose, Primitive, Scene, Velocity

R, M, V, EPS = 0.1, 2.0, 3.0, 0.5
INERTIA = 0.4 * M * R * R


def hit(material, angular=(0, 0, 0), linear=(0, 0), **options):
    """A ball without gravity that meets the ground in the middle of a step: the simulator after it, and the event."""
    body = Primitive("ball", "sphere", (R,), Pose((0, 0, R + 0.5e-3 * V)), "free", M, material="it",
                     velocity=Velocity(angular, (*linear, -V)))  # fmt: skip
    sim = mb.Simulator(
        Scene(primitives=(body,), ground=Ground(material="floor"), materials={"it": material, "floor": material},
              gravity=(0.0, 0.0, 0.0), friction_model="coulomb_cone", **options)
    )  # fmt: skip
    events = [event for _ in range(2) for event in sim.step().events]
    assert len(events) == 1 and events[0].residual <= 1e-9
    change = sim.energy() - (0.5 * M * (V**2 + np.dot(linear, linear)) + 0.5 * INERTIA * np.dot(angular, angular))
    assert events[0].energy_after - events[0].energy_before == pytest.approx(change, abs=1e-10)
    return sim, events[0]


@pytest.mark.parametrize("scheme, integrator", [("time_stepping", "semi_implicit_euler"), ("event", "rk4")])
@pytest.mark.parametrize("spin", [20.0, -400.0])
def test_the_torsional_impulse_is_bounded_by_the_normal_one(spin, scheme, integrator):
    """It takes c (1 + eps) m v of the spin, or all of it."""
    c = 0.004
    sim, _ = hit(Material(0.3, restitution=EPS, torsional=c), (0, 0, spin), collision_scheme=scheme,
                 integrator=integrator)  # fmt: skip
    left = max(abs(spin) - c * (1 + EPS) * M * V / INERTIA, 0.0)
    assert sim.v[2] == pytest.approx(np.sign(spin) * left, abs=1e-9)
    assert sim.v[5] == pytest.approx(EPS * V, rel=1e-9)


@pytest.mark.parametrize("spin", [5.0, 90.0])
def test_the_rolling_impulse_is_bounded_by_the_normal_one(spin):
    """Without sliding friction a rolling moment brakes the turn about any axis along the surface."""
    c, axis = 0.003, np.array([0.6, 0.8, 0.0])
    sim, event = hit(Material(0.0, restitution=EPS, rolling=c), tuple(spin * axis))
    left = max(spin - c * (1 + EPS) * M * V / INERTIA, 0.0)
    assert sim.v[:3] == pytest.approx(left * axis, abs=1e-9)
    assert np.abs(event.impulses[0][:2]).max() <= 1e-12


def test_moments_of_an_impact_are_in_the_contact_impulse():
    c = 0.004
    body = Primitive("ball", "sphere", (R,), Pose((0, 0, R)), "free", M, material="it",
                     velocity=Velocity((0, 0, 400.0), (0, 0, -V)))  # fmt: skip
    sim = mb.Simulator(
        Scene(primitives=(body,), ground=Ground(material="it"), gravity=(0.0, 0.0, 0.0), friction_model="coulomb_cone",
              materials={"it": Material(0.3, restitution=EPS, torsional=c)})
    )  # fmt: skip
    sim.step()
    assert sim.contact_impulse("ball")[2] == pytest.approx(-c * (1 + EPS) * M * V, rel=1e-9)


def braked(slip, bound, mu):
    """Slip (2,) after an impulse of the ellipse (p_i / mu_i)^2 <= bound^2 that takes most energy; compliance 7/2m."""
    w = 3.5 / M
    if np.hypot(*(slip / w / mu)) <= bound:
        return np.zeros(2)

    def impulse(x):  # w p + slip + x p / mu^2 = 0
        return -slip / (w + x / mu**2)

    root = brentq(lambda x: np.hypot(*(impulse(x) / mu)) - bound, 0.0, 1e6, xtol=1e-15)
    return slip + w * impulse(root)


@pytest.mark.parametrize("heading", [0.0, 30.0, 77.0, 90.0])
@pytest.mark.parametrize("turned", [0.0, 25.0])
def test_an_anisotropic_surface_hit_obliquely(heading, turned):
    """Compression brakes the slip by the ellipse of m v, decompression what is left of it by that of eps m v."""
    along, across = 0.05, 0.3
    heading, turned = np.radians(heading), np.radians(turned)
    groove = (np.cos(turned), np.sin(turned), 0.0)
    friction = AnisotropicFriction(along, across, groove, of="floor")
    pair = MaterialPair(("it", "floor"), restitution=EPS, anisotropic_friction=friction)
    velocity = 4.0 * np.array([np.cos(heading), np.sin(heading)])
    sim, event = hit(Material(0.3), linear=tuple(velocity), pairs=(pair,))
    to_groove = np.array([[np.cos(turned), np.sin(turned)], [-np.sin(turned), np.cos(turned)]])
    slip = to_groove @ velocity
    mu = np.array([along, across])
    for bound in (M * V, EPS * M * V):
        slip = braked(slip, bound, mu)
    impulse = (to_groove.T @ slip - velocity) / (3.5 / M)
    assert event.impulses[0][:2] == pytest.approx(impulse, abs=1e-8)
    assert sim.v[3:5] == pytest.approx(velocity + impulse / M, abs=1e-8)
    assert sim.v[5] == pytest.approx(EPS * V, rel=1e-9)
