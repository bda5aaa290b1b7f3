# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The formulations on running scenes: the simulator's own step is one of them.  And their bench."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact import cli
from mb_contact.studies.formulations.catalogue import FORMULATIONS
from paths import ROOT


@pytest.fixture(scope="module")
def lift():
    """Two arms in the lift of the example, box in both hands: the simulator and its next efforts."""
    from mb_contact.bench.step import Lift

    lift = Lift()
    lift.run(2.0)
    return lift.simulator, lift.effort()


@pytest.mark.parametrize("name", list(FORMULATIONS))
def test_every_formulation_repeats_the_step_of_the_lift(lift, name):
    sim, effort = lift
    before = sim.save()
    problem = mb.studies.next_step_problem(sim, effort)
    assert (sim.q == before.q).all() and (sim.v == before.v).all()
    solution = mb.studies.formulate(problem, name).solve()
    assert solution.solved and problem.n_u > 8
    sim.step(effort)
    step, v = sim.contact_problem(), sim.v
    sim.restore(before)
    np.testing.assert_allclose(problem.compliance, step.W, atol=1e-12)
    np.testing.assert_allclose(solution.v_next, v, atol=1e-9)


def test_joint_limits_of_a_running_scene(lift):
    """Joints put next to their limits and pushed there: limits are part of the problem."""
    sim, _ = lift
    before = sim.save()
    q = sim.q
    upper = sim.world.tree.upper[sim.world.joint_v]
    q[sim.world.joint_q[:4]] = upper[:4] - 1e-4
    v = sim.v
    v[sim.world.joint_v[:4]] = 1.0
    sim.set_state(q, v)
    problem = mb.studies.next_step_problem(sim)
    solutions = [mb.studies.formulate(problem, name).solve() for name in FORMULATIONS]
    sim.step()
    v = sim.v
    sim.restore(before)
    assert problem.n_limits >= 4 and all(s.solved for s in solutions)
    for solution in solutions:
        np.testing.assert_allclose(solution.v_next, v, atol=1e-6)  # the scene's cone against the pyramid


def test_other_options_than_the_scene(lift):
    sim, effort = lift
    problem = mb.studies.next_step_problem(sim, effort, friction_directions=16, velocity_product=True)
    assert problem.n_f == 16 and mb.studies.formulate(problem, "os").solve().solved


def test_bench_with_another_count(capsys):
    urdf = str(ROOT / "urdf" / "dual_arm.urdf")
    arguments = ["bench", "formulations", urdf, "--contacts", "2", "--n-f", "6", "--repeats", "1", "--floating"]
    arguments += ["--links", "2,3,4,5"]
    assert cli.main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    floating = 16  # 2 contacts of 8 unknowns
    n, N = 27, 32
    sizes = [int(line[26:32]) for line in lines[2:8]]
    assert sizes == [12 * n - N + floating, N + floating, floating, floating, 6 * n - N + floating, floating + 260]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["formulations", "nowhere.urdf"], "nowhere.urdf"),
        (["formulations", "--contacts", "0"], "--contacts must be 1 or more"),
        (["formulations", "--n-f", "5"], "even number from 4 on"),
        (["formulations", "--repeats", "0"], "--repeats must be 1 or more"),
    ],
)
def test_bench_refuses(capsys, arguments, message):
    assert cli.main(["bench", *arguments]) == 2
    assert message in capsys.readouterr().err
