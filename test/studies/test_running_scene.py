# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The formulations on running scenes: the simulator's own step is one of them.  And their bench."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact import cli
from mb_contact.model.scene import Ground, Material, Pose, Primitive, Scene, Velocity
from mb_contact.solvers.blocks import BOX
from mb_contact.studies.formulations.catalogue import FORMULATIONS
from paths import ROOT

#: scenes with contacts under a Coulomb model, and steps until these bear
SCENES = {
    "box_on_table": 10, "box_stack": 40, "drawer": 150, "dual_arm_lift": 400, "falling_can": 30, "four_bar_gripper": 60,
    "peg_in_hole": 200, "push_box": 20, "ramp": 60, "table_top": 100, "watched_table": 100, "wedge": 60,
    "wheel_and_hub": 20, "wheel_change": 100, "wheel_nuts": 20,
}  # fmt: skip


def assert_whole(sim):
    """The velocities that the impulse sweep has found are those of W, q and the impulses."""
    p = sim.contact_problem()
    size = np.abs(p.W) @ np.abs(p.impulses) + np.abs(p.q)
    np.testing.assert_allclose(p.W @ p.impulses + p.q, p.velocities, rtol=0, atol=1e-12 * max(1.0, size.max(initial=0)))
    return p


def rolling_ball(**choices):
    ball = Primitive("b", "sphere", (0.035,), Pose((0, 0, 0.035)), "free", mass=0.06, material="x",
                     velocity=Velocity(linear=(0.25, 0, 0), angular=(0, 0.25 / 0.035, 3.0)))  # fmt: skip
    return Scene(primitives=(ball,), ground=Ground(0.0, "x"), materials={"x": Material(0.5, **choices)})


@pytest.mark.parametrize("choices, dim", [
    ({"rolling": 0.002}, 5), ({"torsional": 0.001}, 4), ({"rolling": 0.002, "torsional": 0.001}, 6),
])  # fmt: skip
def test_contact_problem_has_torsion_and_rolling(choices, dim):
    sim = mb.Simulator(rolling_ball(**choices))
    sim.step(steps=20)
    problem = assert_whole(sim)
    assert problem.dim.tolist() == [dim] and np.abs(problem.impulses[3:]).max() > 1e-7
    assert max(mb.studies.certify(problem)[:2]) <= 1e-9
    found = mb.solvers.solve_blocks(problem.W, problem.q, *(problem.kind, problem.dim, problem.bounds))
    np.testing.assert_allclose(found.u, problem.velocities, atol=1e-9)
    if dim == 4:  # no disc in it that (53) had to cut off
        r = problem.impulses_from(mb.solve_lcp(*problem.lcp()).z)
        np.testing.assert_allclose(problem.W @ r + problem.q, problem.velocities, atol=1e-9)


@pytest.mark.parametrize("choices", [{}, {"integrator": "rk4"}, {"friction_model": "coulomb_viscous"}], ids=str)
def test_contact_problem_has_the_friction_of_joints(choices):
    """The drawer slides in its rails: the friction there is at its bound, and (53) finds the velocities of the step."""
    sim = mb.Simulator(replace(mb.load_scene("package://mb_contact/config/drawer.yaml"), **choices))
    sim.step(steps=100)
    problem = assert_whole(sim)
    box = problem.kind == BOX
    assert box.any() and np.abs(problem.velocities[np.cumsum(problem.dim)[box] - 1]).max() > 1e-3
    result = mb.solve_lcp(*problem.lcp())
    assert result.status == "solved"
    r = problem.impulses_from(result.z)
    np.testing.assert_allclose(problem.W @ r + problem.q, problem.velocities, atol=1e-9)


@pytest.mark.parametrize("name", SCENES)
def test_contact_problem_of_a_shipped_scene_is_the_step_s(name):
    sim = mb.Simulator(f"package://mb_contact/config/{name}.yaml")
    sim.step(steps=SCENES[name])
    assert len(assert_whole(sim).q)


@pytest.fixture(scope="module")
def lift():
    """Two arms in the lift of the example, box in both hands: the simulator and its next efforts."""
    from mb_contact.programs.bench.step import Lift

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
