# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Runs whose answer is unique give what they gave when they were stored, whatever solves the contacts."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.stored_runs import MOST, RESIDUAL, bounds, deviation, load, record
from scenes.unique_runs import RUNS

pytestmark = pytest.mark.quick

#: Fingers on linkages squeeze a box: their velocities are known as well as the solver's 1e-10 sqrt(N s m/s) tells.
LOOSER = {"gripper-polyhedral": 5e-8, "gripper-cone": 5e-8}


@pytest.fixture(scope="module")
def stored():
    return load()


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_run_gives_what_is_stored(run, stored):
    """q and v to 1e-9; wrenches of pairs of bodies to 1e-9 of the largest, or to ten times their sensitivity."""
    found = record(run)
    assert found["residual"] <= RESIDUAL
    apart, limits = deviation(found, stored[run.name]), bounds(run, stored[run.name])
    for what, distance, limit in zip(("q", "v", "wrenches"), apart, limits):
        limit = max(limit, LOOSER.get(run.name, 0.0))
        assert distance <= limit, f"{what} are off by {distance:.2e}, more than {limit:.2e}"


def test_all_runs_are_stored_and_tell_something(stored):
    assert set(stored) == {run.name for run in RUNS} and len({run.name for run in RUNS}) == len(RUNS)
    for run in RUNS:
        kept = stored[run.name]
        assert np.ptp(kept["v"], axis=0).max() > 0.0 or len(kept["pairs"]), run.name  # it moves, or something bears it
        assert not run.wrenches or bounds(run, kept)[2] <= MOST


def test_a_deviation_is_seen(stored):
    """Each part on its own, and a pair of bodies that is missing."""
    one = stored["ball_on_tripod-cone"]
    assert deviation(one, one) == (0.0, 0.0, 0.0)
    for i, key in enumerate(("q", "v", "wrenches")):
        other = {**one, key: one[key] + 1e-8}
        assert deviation(other, one)[i] > 9e-9 and sum(deviation(other, one)) == deviation(other, one)[i]
    fewer = {**one, "pairs": one["pairs"][1:], "wrenches": one["wrenches"][1:]}
    assert deviation(fewer, one)[2] > 1e-3 and deviation(one, fewer)[2] > 1e-3
