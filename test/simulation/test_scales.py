# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes of other sizes behave alike: copies in millimetres and micrometres, masses of all magnitudes on each other."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import DynamicsError
from scenes.scaled_cases import bouncing, dropped, in_units, scaled, stack, tumbling

UNITS = ((1e-3, 1e-3, 1.0), (1e-6, 1e-9, 1.0), (1e-6, 1e-18, 1e-3), (1e3, 1e3, 1.0), (1e6, 1e9, 1.0))
SCENES = {
    "pile": lambda: stack([1.0, 2.0, 1.0]),
    "tumbling": tumbling,
    "dropped": dropped,
    "bouncing": bouncing,
    "bouncing, event": lambda: replace(bouncing(), collision_scheme="event"),
    "tumbling, rk4": lambda: replace(tumbling(), integrator="rk4"),
}
STEPS = 300


def run(scene, lengths=1.0, times=1.0):
    """The end of a run in the units of the original, and the worst residual over the unit of that."""
    sim = mb.Simulator(scene)
    worst = max(sim.step().certificate.residual for _ in range(STEPS))
    return in_units(sim, lengths, times), worst


@cache
def original(name):
    return run(SCENES[name]())


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("lengths, masses, times", UNITS)
def test_a_copy_in_other_units_behaves_alike(name, lengths, masses, times):
    scene = scaled(SCENES[name](), lengths, masses, times)
    end, worst = run(scene, lengths, times)
    expected, residual = original(name)
    np.testing.assert_allclose(end, expected, rtol=1e-6, atol=1e-6)
    assert worst <= max(10.0 * residual, 1e-9) * np.sqrt(masses) * lengths / times


@pytest.mark.parametrize("size", [2e-4, 2e-5, 2e-6])
def test_small_boxes_under_the_gravity_of_the_earth_come_to_rest(size):
    """20 um and less at 9.81 m/s^2, of water, in steps of 1 ms of a box of 20 cm."""
    sim = mb.Simulator(scaled(tumbling(), size / 0.2, (size / 0.2) ** 3, np.sqrt(size / 0.2)))
    for _ in range(1000):
        residual = sim.step().certificate.residual
    assert np.abs(sim.v[3:]).max() < 1e-6 * np.sqrt(size) and np.abs(sim.v[:3]).max() < 1e-6 / np.sqrt(size)
    assert abs(sim.q[2] / size - 0.25) < 1e-9 and residual < 1e-9 * (size / 0.2) ** 2


MASSES = ((1e-9, 1e3), (1.0, 1e9), (1.0, 1.0, 1e9), tuple(10.0 ** (k - 9) for k in range(13)), (1e3, 1e-9, 1e3))


@pytest.mark.parametrize("masses", MASSES)
def test_masses_of_all_magnitudes_carry_each_other(masses):
    sim = mb.Simulator(stack(masses))
    start = sim.q
    deepest = max(sim.step().certificate.penetration for _ in range(200))
    moved = np.abs(sim.q - start).reshape(-1, 7)
    assert deepest < 2e-6 and moved[:, 2].max() < 5e-6 and moved.max() < 5e-5


@pytest.mark.slow
def test_flows_carry_them_or_say_why_not():
    sim = mb.Simulator(replace(stack(MASSES[2]), collision_scheme="event"))
    try:
        deepest = max(sim.step().certificate.penetration for _ in range(20))
    except DynamicsError as error:  # a run that goes well is right too
        assert "masses differ by a factor of 1e+09" in str(error) or "runs away" in str(error)
    else:
        assert deepest < 2e-6


def test_a_state_that_is_no_number_is_not_called_a_hinge_without_inertia():
    sim = mb.Simulator(tumbling())
    sim.step()
    sim.context.kin.I[0] = np.nan
    with pytest.raises(DynamicsError, match="not finite"):
        sim.step()
