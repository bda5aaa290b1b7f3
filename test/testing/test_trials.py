# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Trials: the same numbers however they are run, intervals, draws on every kind of value, and worlds by the dozen.

Covers testing/conditions.py, testing/draws.py.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from mb_contact.errors import InputError
from mb_contact.model.scene import load_scene
from mb_contact.simulation.simulator import Simulator
from mb_contact.testing import (
    Expectation,
    Outcome,
    Plan,
    Trials,
    distance,
    force,
    height,
    run_trials,
    run_worlds_trials,
)
from mb_contact.testing.checks import BROKEN, Tally
from mb_contact.testing.conditions import Channel, Conditions
from mb_contact.testing.draws import Draw, drawn, varied
from mb_contact.testing.report import trial_page
from mb_contact.testing.trials import law_from, trial_plan
from paths import ROOT

GRASP = "package://mb_contact/config/drumwright_grasp.yaml"
LIFT = "package://mb_contact/config/dual_arm_lift.yaml"
#: boxes so heavy that some of them fall
DRAWS = (Draw("mass", "box_left", 0.5, 40.0), Draw("position", "box_left", (0, -0.01, 0), (0, 0.01, 0), "offset"))
SLIPPERY = replace(load_scene(GRASP), friction_model="coulomb_cone")
PLAN = Plan(SLIPPERY, duration=0.5, expectations=(Expectation(distance("box_left") <= 0.01),), draws=DRAWS, trials=24)


def squeeze(time, q, v):
    return np.tile([100.0, -100.0], (len(q), 1))


def test_what_is_drawn_depends_on_seed_and_number_alone():
    values = [drawn(DRAWS, 3, number) for number in range(5)]
    assert [v[0] for v in values] == [drawn(DRAWS, 3, n)[0] for n in (0, 1, 2, 3, 4)]
    assert len({float(v[0]) for v in values}) == 5 and drawn(DRAWS, 4, 0)[0] != values[0][0]
    assert all(0.5 <= v[0] <= 40.0 and abs(v[1][1]) <= 0.01 and v[1][0] == 0.0 for v in values)


@pytest.mark.parametrize(
    "draw, read",
    [
        (Draw("mass", "box", 2.0, 2.0, "factor"), lambda s: s.primitives[1].mass == 4.0),
        (Draw("size", "box", 1.5, 1.5, "factor"), lambda s: np.allclose(s.primitives[1].size, (0.36, 0.36, 0.3))),
        (Draw("position", "box", (0.1, 0, 0), (0.1, 0, 0), "offset"), lambda s: s.primitives[1].pose.position[0] > 0.6),
        (Draw("yaw", "box", 0.5, 0.5), lambda s: np.isclose(s.primitives[1].pose.rotation()[1, 0], np.sin(0.5))),
        (Draw("friction", "wood", 0.3, 0.3), lambda s: s.materials["wood"].friction == 0.3),
        (Draw("friction", ("wood", "rubber"), 0.5, 0.5, "factor"), lambda s: s.pairs[0].friction == 0.4),
        (Draw("joint", "head_joint_2", 0.1, 0.1), lambda s: s.models[0].joints["head_joint_2"] == 0.1),
    ],
)
def test_a_draw_changes_the_scene(draw, read):
    scene, _ = varied(load_scene(LIFT), Conditions(), (draw,), 0, 0)
    assert read(scene)


def test_draws_of_commands_and_of_what_is_not_there():
    _, conditions = varied(load_scene(LIFT), Conditions(), (Draw("delay", "commands", 0.01, 0.01),), 5, 6)
    assert conditions.delay == 0.01 and conditions.seed == (5, 6)
    wrong = (Draw("mass", "bax", 1, 2), "the scene has table, box"), (Draw("friction", "ice", 1, 2), "ice")
    for draw, words in wrong:
        with pytest.raises(InputError, match=words):
            varied(load_scene(LIFT), Conditions(), (draw,), 0, 0)


def test_commands_are_delayed_and_lost():
    channel = Channel([Conditions(), Conditions(delay=0.02), Conditions(loss=0.5, seed=1)], 0.01)
    acted = np.array([channel.pass_on(np.full((3, 1), float(i)))[:, 0] for i in range(200)])
    assert (acted[:, 0] == np.arange(200)).all() and (acted[2:, 1] == np.arange(198)).all() and acted[1, 1] == 0.0
    late, lossy = Channel([Conditions(delay=0.02)], 0.01), Channel([Conditions(loss=0.5, seed=1)], 0.01)
    targets = []
    for channel in (late, lossy):
        targets.append([(channel.pass_on(np.zeros((1, 1))), channel.pass_targets({"i": i}))[1] for i in range(200)])
    assert targets[0] == [{}, {}, *({"i": i} for i in range(198))]
    assert [entry.get("i") is not None for entry in targets[1]] == list(np.diff(acted[:, 2], prepend=-1.0) != 0.0)
    late = Channel([Conditions(delay=0.02)], 0.01)
    for joints, asked in ((1, 3), (1, 4), (2, 5), (2, 6), (2, 7)):  # a robot of one joint more comes in
        arrived = late.pass_on(np.zeros((1, joints))), late.pass_targets({"i": asked})
        assert arrived[1] == ({"i": 5} if asked == 7 else {})
    lost = np.mean(np.diff(acted[:, 2]) == 0.0)
    assert 0.4 < lost < 0.6 and (acted[:, 2] <= np.arange(200)).all()


def test_the_interval_is_that_of_clopper_and_pearson():
    trials = Trials([Outcome(i, () if i < 9 else ("it fell",)) for i in range(10)], rate=0.9)
    low, high = trials.interval
    assert (low, high) == pytest.approx((0.5550, 0.9975), abs=1e-4)  # their table, 9 of 10
    assert trials.passed and trials.failing == [9] and "9 of 10 trials passed, 90.0%" in trials.text
    assert not replace(trials, rate=0.95).passed and "it fell" in trial_page(trials, ["trial 9: again"])


def test_worlds_judge_as_single_simulators_do():
    trials = run_worlds_trials(PLAN, squeeze)
    assert 0 < len(trials.failing) < 24
    for number in (*trials.failing[:2], next(o.number for o in trials.outcomes if o.passed)):
        plan = trial_plan(PLAN, number)
        simulator, tally = Simulator(plan.scene), Tally(PLAN.expectations[0])
        start = simulator.link_pose("box_left")[0]
        for _ in range(50):
            simulator.step([100.0, -100.0])
        away = np.linalg.norm(simulator.link_pose("box_left")[0] - start)
        assert (away > 0.01) == (number in trials.failing), (number, away, tally)
    again = run_worlds_trials(PLAN, squeeze, 8)
    assert again.outcomes == trials.outcomes[:8]


def test_forces_of_worlds_are_those_of_a_simulator():
    expectation = Expectation(force("box_left", "left_jaw") >= 1e6, at=0.5)
    other = Expectation(height("box_left") <= 0.0, at=0.5)
    trials = run_worlds_trials(replace(PLAN, expectations=(expectation, other), draws=()), squeeze, 2)
    simulator = Simulator(SLIPPERY)
    for _ in range(50):
        step = simulator.step([100.0, -100.0])
    rows = [r["impulse"] for r in step.contacts if {r["link_a"], r["link_b"]} == {"left_jaw", "box_left"}]
    there = np.linalg.norm(np.sum(rows, axis=0)) / simulator.time_step
    assert all(f"measured: {there:.4g} N at 0.500 s" in outcome.failures[0] for outcome in trials.outcomes), trials
    assert Tally(expectation).state[0] != BROKEN


def test_what_worlds_cannot_do_is_said(tmp_path):
    with pytest.raises(InputError, match="need a 'duration'"):
        run_worlds_trials(replace(PLAN, duration=None, controllers=("x",)), squeeze)
    law = tmp_path / "law.py"
    law.write_text("def squeeze(time, q, v):\n    return 0.0 * q\n", encoding="utf-8")
    assert law_from(f"{law}:squeeze")(0.0, np.ones((2, 2)), None).shape == (2, 2)
    for address, words in ((f"{law}:push", "no function 'push'"), ("none.py:law", "no file"), ("law", "no file")):
        with pytest.raises(InputError, match=words):
            law_from(address)


@pytest.mark.slow
def test_processes_share_trials_and_change_nothing():
    jaws = f"{sys.executable} {ROOT / 'test' / 'testing' / 'jaws.py'}"
    plan, told = replace(PLAN, controllers=(jaws,), trials=4, backend="embedded"), []
    alone, shared = run_trials(plan, progress=told.append), run_trials(plan, processes=2)
    assert all(outcome.seconds > 0.1 for outcome in (*alone.outcomes, *shared.outcomes))
    assert alone.outcomes == shared.outcomes and len(told) == 4 and "[4 of 4" in told[-1]
    in_worlds = run_worlds_trials(replace(plan, controllers=()), squeeze)
    assert in_worlds.failing == alone.failing
