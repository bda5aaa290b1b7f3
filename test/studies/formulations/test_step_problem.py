# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The problem that all formulations solve: its sizes, its structure, limits, and what is refused.

Covers studies/formulations/state.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.programs.bench.formulations import bench_problem
from mb_contact.studies.formulations.catalogue import FORMULATIONS
from mb_contact.types import JOINT_REVOLUTE, WORLD
from oracles.dense_oracle import Dense, random_forest, random_state, read_only
from paths import ROOT
from scenes.formulation_cases import (
    DT,
    random_step,
)

NAMES = tuple(FORMULATIONS)


def test_jain_2014_table_1():
    """n = N = 26, n_f = 4, 4 contacts: 310, 50, 24, 24; NMC/OS 154 and the hybrid 24 + 2 130."""
    model = mb.load_urdf(ROOT / "urdf" / "dual_arm.urdf")
    q, v, points, options = bench_problem(model, 4, 4)
    problem = mb.studies.StepProblem(model, q, v, contacts=points, **options)
    sizes = {name: mb.studies.formulate(problem, name).size for name in NAMES}
    assert sizes == {"nmc": 310, "mc": 50, "rmc": 24, "os": 24, "nmc_os": 154, "hybrid": 284}


@pytest.mark.parametrize("n, sizes", [(3, (24, 39, 57)), (6, (24, 54, 90)), (12, (24, 84, 156)), (30, (24, 174, 354))])
def test_jain_2014_table_2_sizes(n, sizes):
    problem = pendulum_step(n)
    assert tuple(mb.studies.formulate(problem, name).size for name in ("os", "nmc_os", "nmc")) == sizes


def pendulum_step(n, contacts=4):
    """A chain of n revolute bodies without rotors and damping, its last body touching the world."""
    rng = np.random.default_rng(n)
    forest = random_forest(rng, n, roots=1, floating=0.0, prismatic=0.0, armature=False)
    tree = forest.tree._replace(parent=np.arange(-1, n - 1), damping=np.zeros(n), root=np.zeros(n, np.int64))
    assert (tree.joint_type == JOINT_REVOLUTE).all()
    q, v = random_state(rng, tree)
    d = Dense(tree, q, v)
    places = [d.p[-1] + rng.normal(size=3) * 0.1 for _ in range(contacts)]
    points = [mb.studies.ContactPoint(n - 1, WORLD, place, (0, 0, 1.0)) for place in places]
    forest = forest._replace(tree=read_only(tree))
    return mb.studies.StepProblem(forest, q, v, contacts=points, friction_directions=4)


def test_sizes_with_loops_and_limits():
    problem = random_step([11, 4], n_f=6, friction=0.3)
    n, N, b, u = problem.n, problem.N, problem.n_b, problem.n_u
    limits = [mb.studies.JointLimit(N - 1, 0, 0.01)]
    problem = mb.studies.StepProblem(
        problem.model, problem.state.q, problem.state.v, None, problem.contacts, problem.loops, limits,
        friction_directions=6,
    )  # fmt: skip
    rotors = int((problem.tree.armature + problem.damping > 0).sum())
    unilateral = 8 * u + 1
    expected = {
        "nmc": 6 * n + 6 * n - N + b + unilateral,
        "mc": N + b + unilateral,
        "rmc": unilateral,
        "os": b + unilateral,
        "nmc_os": 6 * n - N + rotors + b + unilateral,
        "hybrid": unilateral + 2 * (6 * n - N),
    }
    assert {name: mb.studies.formulate(problem, name).size for name in NAMES} == expected


def test_sparsity_grows_with_the_number_of_links_not_its_square():
    """NMC and NMC/OS: nonzeros a link are the same for 10 and for 40 links; rows without a common body do not meet."""
    for name in ("nmc", "nmc_os"):
        filled = [mb.studies.formulate(pendulum_step(n), name).M.nnz for n in (10, 20, 40)]
        assert filled[2] - filled[1] == pytest.approx(2 * (filled[1] - filled[0]), rel=0.02)
    M = mb.studies.formulate(pendulum_step(20), "nmc_os").M.toarray()
    hinge = np.arange(5 * 20) // 5
    assert not M[:100, :100][np.abs(hinge[:, None] - hinge) > 1].any()


@pytest.mark.parametrize("name", NAMES)
def test_joint_limits(name):
    """A limit stops its joint as the gap allows, the same in all formulations."""
    rng = np.random.default_rng(4)
    forest = random_forest(rng, 5)
    q, v = random_state(rng, forest.tree)
    scalar = [int(forest.tree.v_start[k]) for k in range(5) if forest.tree.nv[k] == 1]
    limits = [mb.studies.JointLimit(d, int(v[d] > 0), 1e-4) for d in scalar]
    problem = mb.studies.StepProblem(forest, q, v, limits=limits, time_step=DT)
    solution = mb.studies.formulate(problem, name).solve()
    assert solution.solved
    for limit in limits:
        assert (1 - 2 * limit.side) * solution.v_next[limit.dof] >= -1e-4 / DT - 1e-9
    np.testing.assert_allclose(solution.v_next, mb.studies.formulate(problem, "mc").solve().v_next, atol=1e-9)


def test_contact_step_with_link_names():
    model = mb.load_urdf(ROOT / "urdf" / "dual_arm.urdf")
    q = model.neutral_q()
    R, p = model.link_pose("left_tcp", q)
    contact = mb.studies.ContactPoint("left_tcp", WORLD, p, R[:, 2])
    v = np.linspace(-1, 1, model.N)
    solution = mb.studies.formulate(mb.studies.StepProblem(model, q, v, contacts=[contact]), "mc").solve()
    J = mb.jacobian(model, q, "left_tcp")[3:]
    assert solution.solved and R[:, 2] @ J @ solution.v_next >= -1e-10
    assert solution.impulses.shape == (1, 3)


def test_massless_links_are_for_minimal_coordinates():
    """A link without inertia, with a heavy one below: os, mc and rmc agree, the others say why they cannot."""
    step = pendulum_step(4)
    tree = step.tree
    mass, inertia = tree.mass.copy(), tree.inertia.copy()
    mass[1], inertia[1] = 0.0, 0.0
    model = step.model._replace(tree=read_only(tree._replace(mass=mass, inertia=inertia)))
    step = mb.studies.StepProblem(model, step.state.q, step.state.v, contacts=step.contacts)
    solutions = [mb.studies.formulate(step, name).solve() for name in ("os", "mc", "rmc")]
    assert all(s.solved for s in solutions)
    np.testing.assert_allclose(solutions[0].v_next, solutions[1].v_next, atol=1e-8)
    for name in ("nmc", "nmc_os", "hybrid"):
        with pytest.raises(mb.DynamicsError, match="link 'link_1' has no inertia"):
            mb.studies.formulate(step, name)


GOOD = {"body_a": 0, "body_b": WORLD, "point": (0, 0, 0), "normal": (0, 0, 1.0)}


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"contacts": [mb.studies.ContactPoint(**{**GOOD, "body_a": "hand"})]}, "no link 'hand'"),
        ({"contacts": [mb.studies.ContactPoint(**{**GOOD, "body_a": 99})]}, "got 99"),
        ({"contacts": [mb.studies.ContactPoint(**{**GOOD, "body_b": 0})]}, "cannot touch itself"),
        ({"contacts": [mb.studies.ContactPoint(**{**GOOD, "normal": (0, 0, 2.0)})]}, "unit vector"),
        ({"contacts": [mb.studies.ContactPoint(**GOOD, mu=-1.0)]}, "mu must be"),
        ({"contacts": [mb.studies.ContactPoint(**GOOD, gap=np.nan)]}, "gap must be finite"),
        ({"friction_directions": 5}, "even number from 4 on"),
        ({"friction_directions": 2}, "even number from 4 on"),
        ({"time_step": 0.0}, "time_step must be above zero"),
        ({"loops": [mb.studies.LoopClosure("glue", 0, 1)]}, "no kind 'glue'"),
        ({"loops": [mb.studies.LoopClosure("weld", 1, 1)]}, "same body"),
        ({"loops": [mb.studies.LoopClosure("distance", 0, 1)]}, "must be above zero"),
        ({"loops": [mb.studies.LoopClosure("weld", 0, 1, velocity=(1.0, 2.0))]}, "must have 6 entries"),
        ({"limits": [mb.studies.JointLimit(99, 0, 0.0)]}, "dof must be"),
        ({"effort": np.zeros(2)}, "effort must have"),
    ],
)
def test_wrong_input_is_refused(wrong, message):
    rng = np.random.default_rng(0)
    forest = random_forest(rng, 4)
    q, v = random_state(rng, forest.tree)
    with pytest.raises(mb.InputError, match=message):
        mb.studies.StepProblem(forest, q, v, **wrong)


def test_unknown_names_are_refused():
    problem = random_step([0, 4])
    with pytest.raises(mb.InputError, match="no formulation 'lcp'"):
        mb.studies.formulate(problem, "lcp")
    with pytest.raises(mb.InputError, match="no method 'magic'"):
        mb.studies.formulate(problem, "os").solve("magic")
