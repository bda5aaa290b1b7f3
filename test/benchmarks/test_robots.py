# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Real robots with their meshes hang and stand: a part of ``benchmarks/robots.py``, for one second each."""

import sys
from argparse import Namespace

import pytest

import mb_contact as mb
from oracles.pinocchio_peer import example_robots
from paths import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import robots  # noqa: E402
from drops import OPTIONS, scene_of  # noqa: E402

pytestmark = pytest.mark.skipif(example_robots() is None, reason="example-robot-data is not installed")


@pytest.mark.parametrize("name", ["panda", "so100"])
def test_an_arm_hangs_where_it_is(name):
    found = robots.run(name, 1.0, 0.002)
    assert found["pairs"] > 0 and found["residual"] < 1e-12
    assert found["moved"] < 1e-12 and found["speed"] < 1e-12


@pytest.mark.parametrize("name", ["solo12", "a1", "hyq", "anymal"])
def test_a_legged_robot_stands_on_its_feet(name):
    found = robots.run(name, 1.0, 0.002)
    assert found["contacts"] >= 4 and found["residual"] < 1e-10
    assert found["moved"] < 0.01  # [m, rad]; dropped by 1 mm; its springs give way a little
    assert found["speed"] < 0.01


@pytest.mark.slow
def test_impulses_that_only_rounding_allows_are_not_kept():
    """A jammed robot once carried 3e12 N s from step to step: 84 of 1000 unsolved where it falls without damping."""
    file = robots.folder() / "talos_data/robots/talos_full_v2.urdf"
    model = mb.load_urdf(file, floating=True, **OPTIONS)
    options = Namespace(step=0.002, damping=1.0, overlaps="filter", friction_model=None)
    sim = mb.Simulator(scene_of(file, model, None, "free", options)[0])
    residuals = [sim.step().certificate.residual for _ in range(1000)]
    assert sum(residual > 1e-10 for residual in residuals) <= 2
