# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""`mb-contact bench node` counts what happened; that it is quick is measured by hand, not here.

Covers programs/bench/responder.py.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from mb_contact.errors import InputError
from mb_contact.programs.bench import node as bench
from mb_contact.programs.bench.node import memory_growth
from mb_contact.programs.bench.responder import percentiles
from ros.fake_simulator import FakeSimulator
from ros.support import free_domain


@pytest.mark.parametrize("lockstep, factor", [(True, 1.0), (True, 0.0), (False, 1.0)])
def test_a_run_is_measured(lockstep, factor, monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(free_domain()))
    monkeypatch.setattr(bench, "_WARM_UP", 0.5)
    monkeypatch.setattr(bench, "_MEMORY_EVERY", 0.1)
    run = bench.measure(FakeSimulator(26), 1.0, lockstep, factor=factor)
    assert run.summary.steps == 1500
    assert run.child["states"] > 900 and run.cpu > 0.0 and 0.0 < run.factor
    assert factor == 0.0 or run.factor < 1.2
    assert 0.9 < run.seconds <= 1.0 and len(run.round_trips) > 100
    assert all(size > 10e6 for _, size in run.memory)
    if lockstep:
        assert run.child["missed"] == 0 and run.summary.lockstep_timeouts == 0
        assert (run.round_trips > 0.0).all()


def test_memory_growth_leaves_the_warm_up_out():
    grown = [(t, 100.0 + min(t, 2)) for t in range(11)]
    assert memory_growth(grown) == 0.0
    assert memory_growth([*grown, (11, 103.02)]) == pytest.approx(0.01)
    with pytest.raises(InputError, match="too short"):
        memory_growth(grown[:1])


def test_percentiles():
    assert percentiles(np.arange(101.0)) == {"p50": 50.0, "p99": 99.0, "max": 100.0}


def test_impossible_lengths():
    with pytest.raises(InputError, match="--soak must be greater than zero"):
        bench.run_bench(soak=-1.0)
    assert bench.resident_bytes(os.getpid()) > 10e6
