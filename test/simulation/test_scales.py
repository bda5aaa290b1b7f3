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

UNITS = (
    (1e-3, 1e-3, 1.0),
    (1e-6, 1e-9, 1.0),
    (1e-6, 1e-18, 1e-3),
    (1e3, 1e3, 1.0),
    (1e6, 1e9, 1.0),
    (1e-4, 1e-12, 1e-2),
)
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
    if (lengths, times) == (1e-4, 1e-2):  # no power of a thousand: what counts as near is told
        scene = replace(
            scene, contact_margin=2e-7, push_out_velocity=1e-3, impact_threshold=1e-8 if "event" in name else 1e-4
        )
    end, worst = run(scene, lengths, times)
    expected, residual = original(name)
    np.testing.assert_allclose(end, expected, rtol=1e-6, atol=1e-6)
    assert worst <= max(10.0 * residual, 1e-9) * np.sqrt(masses) * lengths / times


@pytest.mark.parametrize("scheme", ["time_stepping", "event"])
@pytest.mark.parametrize(
    "masses", [(1e-9, 1e3), (1.0, 1e9), (1.0, 1.0, 1e9), tuple(10.0 ** (k - 9) for k in range(13)), (1e3, 1e-9, 1e3)]
)
def test_masses_of_all_magnitudes_carry_each_other(masses, scheme):
    sim = mb.Simulator(replace(stack(masses), collision_scheme=scheme))
    start = sim.q
    deepest = max(sim.step().certificate.penetration for _ in range(200))
    assert deepest < 1e-6 and np.abs(sim.q - start).max() < 1e-5


def test_a_state_that_is_no_number_is_not_called_a_hinge_without_inertia():
    sim = mb.Simulator(tumbling())
    sim.step()
    sim.context.kin.I[0] = np.nan
    with pytest.raises(DynamicsError, match="not finite"):
        sim.step()
