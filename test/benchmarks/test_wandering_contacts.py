# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies and random scenes of benchmarks/wandering_contacts.py never gain energy beyond push-out."""

from __future__ import annotations

import sys

import pytest

from paths import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import wandering_contacts as wandering  # noqa: E402 (a program, not a package)

SEEDS = [pytest.param(seed, marks=pytest.mark.slow if seed >= 6 else ()) for seed in range(12)]


@pytest.mark.parametrize("name", wandering.BODIES)
@pytest.mark.parametrize("scheme, integrator", [("time_stepping", "semi_implicit_euler"), ("event", "rk4")])
@pytest.mark.parametrize("dt, seconds", [(1e-4, 0.05), (1e-3, 0.2), (4e-3, 0.2)])
def test_euler_and_events_never_gain_where_contacts_wander(name, scheme, integrator, dt, seconds):
    _, gain, *_ = wandering.study(wandering.BODIES[name], dt, scheme, integrator, seconds)
    assert gain < 2e-7


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("integrator", ["rk4", "midpoint", "adaptive"])
def test_random_scenes_never_gain(integrator, seed, tmp_path):
    sim = wandering.falling(seed, tmp_path, integrator=integrator)
    rise, pushed, _ = wandering.worst_rise(sim, 0.6)
    assert rise < 1e-6 and pushed < 0.1


@pytest.mark.parametrize("seed", SEEDS)
def test_euler_tells_what_it_gains_in_random_scenes(seed, tmp_path):
    sim = wandering.falling(seed, tmp_path, integrator="semi_implicit_euler")
    last = start = sim.energy()
    for _ in range(600):
        c = sim.step().certificate
        assert c.energy - last - c.push_out_energy <= 1e-6 * start + 1.001 * c.energy_gained
        last = c.energy
