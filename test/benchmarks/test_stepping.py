# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""benchmarks/heaps.py, never_stuck.py and drops.py run their smallest cases, and stepping.py counts what it should."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import mb_contact as mb
from oracles.pinocchio_peer import example_robots
from paths import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import drops  # noqa: E402 (programs, not a package)
import heaps  # noqa: E402
import never_stuck  # noqa: E402
import stepping  # noqa: E402


def rows_of(program, tmp_path, *arguments):
    """Rows of a quick run that ends with every step solved."""
    path = tmp_path / "rows.json"
    assert program.main(["--quick", "--json", str(path), *arguments]) == 0
    return json.loads(path.read_text())["rows"]


def test_a_small_heap_is_timed_by_phase(tmp_path, capsys):
    *_, whole = rows_of(heaps, tmp_path)
    assert whole["phase"] == "all" and whole["steps"] > 0 and whole["contacts"] > 0
    assert sum(whole["solvers"].values()) == whole["steps"]
    assert "boxes 4" in capsys.readouterr().out


def test_mujoco_gets_the_same_bodies():
    mujoco = pytest.importorskip("mujoco")
    scene = heaps.bins.scene_of(6)
    world, model = mb.build_world(scene), mujoco.MjModel.from_xml_string(heaps.mjcf(scene))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    for k, name in enumerate(world.body_names):
        body = model.body(name)
        np.testing.assert_allclose(data.xpos[body.id], world.q0[7 * k : 7 * k + 3], atol=1e-12)
        x, y, z, w = world.q0[7 * k + 3 : 7 * k + 7]
        assert abs(data.xquat[body.id] @ [w, x, y, z]) == pytest.approx(1.0, abs=1e-12)
        moments = np.linalg.eigvalsh(world.tree.inertia[k][:3, :3])
        assert body.mass[0] == world.tree.mass[k]
        np.testing.assert_allclose(np.sort(body.inertia), moments, rtol=0.02 if "cone" in name else 1e-6)


def test_a_tower_is_stepped_and_judged(tmp_path):
    (row,) = rows_of(never_stuck, tmp_path, "--limit-ms", "1e6")
    assert row["scene"] == "tower_20" and row["contacts"] >= 80 and row["steps"] == 100


def test_the_limit_counts():
    row = {"failed": False, "unsolved": 0, "impacts_unsolved": 0, "worst_ms": 101.0}
    assert never_stuck.faults(row, 100.0) and not never_stuck.faults(row, 102.0)
    assert never_stuck.faults({**row, "unsolved": 1}, 102.0)


def test_every_scene_of_cards_and_boxes_starts_without_penetration():
    for make in (never_stuck.house_of_cards, never_stuck.dominoes, lambda: never_stuck.tower(20, 0.01)):
        assert not mb.simulation.initial_penetrations(mb.build_world(make()), depth=1e-9)
    assert len(never_stuck.house_of_cards().primitives) == 15


@pytest.mark.skipif(example_robots() is None, reason="example-robot-data is not installed")
def test_a_robot_is_dropped(tmp_path):
    (row,) = rows_of(drops, tmp_path)
    assert row["robot"] == "solo" and row["steps"] == 150 and row["contacts"] > 0
    assert row["mass"] <= 1e-12 and row["efforts"] <= 1e-12


def test_all_robots_have_names_of_their_own():
    names = [name for name, *_ in drops.cases()]
    assert len(names) == len(set(names)) == 66 + len(drops.robots.STANDING)


def test_phases_follow_the_kinetic_energy():
    kinetic = [0.0, 0.5, 1.0, 0.5, 1e-3, 0.02, 1e-4, 1e-6]
    record = stepping.Record(kinetic=kinetic, contacts=[0, 0, 1, 1, 1, 1, 1, 1])
    found = {name: np.flatnonzero(mask).tolist() for name, mask in heaps.phases(record).items()}
    assert found == {"moving": [2, 3, 5], "settling": [4, 6], "at rest": [7]}


def test_a_residual_that_is_no_number_is_unsolved():
    record = stepping.Record([1e-3] * 3, [4] * 3, [1e-11, np.nan, 1e-9], [1] * 3, [0.0] * 3, ["a", "b", "a"], [0.0] * 3)
    assert stepping.statistics(record)["unsolved"] == 2
    assert stepping.statistics(record)["unsolved_by"] == {"b": 1, "a": 1}
    assert stepping.statistics(record, slice(0, 0))["median_ms"] is None


def test_exponents_are_those_of_powers():
    rows = [{"bodies": n, "median_ms": 3.0 * n**1.5} for n in (10, 20, 50, 200)]
    assert heaps.exponent(rows, "median_ms") == pytest.approx(1.5)
    assert heaps.exponent(rows[:2], "median_ms") is None
