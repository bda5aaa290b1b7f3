# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The formulations of J14 against each other and against dense matrices from an independent oracle.

Covers studies/formulations/bodies.py, studies/formulations/catalogue.py, studies/formulations/hybrid.py,
studies/formulations/joint_space.py, studies/formulations/mixed.py, studies/formulations/state.py,
studies/formulations/step_problem.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.programs.bench.formulations import bench_problem
from mb_contact.studies.formulations.catalogue import FORMULATIONS
from mb_contact.studies.formulations.formulation import Forces, residuals
from mb_contact.types import JOINT_REVOLUTE, WORLD
from oracles.dense_oracle import Dense, advance, random_forest, random_state, read_only
from paths import ROOT
from scenes.formulation_cases import (
    DT,
    LOOP_ROWS,
    consistent_loops,
    dense_rows,
    only_velocity,
    random_contact,
    random_loop,
    random_step,
)

NAMES = tuple(FORMULATIONS)


def dense_step(problem):
    """(dense, G, M, v_free) of a StepProblem by the oracle."""
    dense = Dense(problem.tree, problem.state.q, problem.state.v)
    M = dense.mass_matrix() + np.diag(problem.damping)
    force = problem.effort - problem.tree.damping * problem.state.v - dense.nonlinear(problem.gravity)
    for body, f in enumerate(problem.external):
        force += dense.point_jacobian(body, dense.p[body]).T @ f
    return dense, dense_rows(dense, problem), M, problem.state.v + problem.dt * np.linalg.solve(M, force)


# --- the sharpest test: all against all ---------------------------------------------------------------


def test_all_formulations_have_the_same_solutions():
    """What one finds satisfies every other's original problem; the velocity is the same where it is unique."""
    frictionless = unique = 0
    for seed in range(32):
        problem = random_step([seed, 4])
        both = {name: (f := mb.studies.formulate(problem, name), f.solve()) for name in NAMES}
        reference = both["os"][1].v_next
        for name, (_, solution) in both.items():
            assert solution.certificate.worst <= 1e-9, (seed, name)
            for other, (judge, _) in both.items():
                assert residuals(judge, solution.forces).worst <= 1e-9, (seed, name, other)
        only = None
        if problem.mu.max() == 0.0:
            frictionless += 1
            only = reference
        elif problem.n_u == 1 or (problem.n_u == 2 and problem.n_f == 4):
            _, G, M, v_free = dense_step(problem)
            only = only_velocity(problem, G, M, v_free)
            unique += only is not None
        if only is not None:
            for name, (_, solution) in both.items():
                assert np.abs(solution.v_next - only).max() <= 1e-8 * max(1.0, np.abs(only).max()), (seed, name)
    assert frictionless >= 3 and unique >= 1


def test_a_solution_that_elimination_spoils_is_that_of_another_stage():
    """Self-stress twenty times that of others leaves 2e-9 in the problem of NMC/OS: seed 256 of the benchmark.

    The unknowns that were found hide it (7e-11); their impulses alone do not, so that another stage is asked.
    """
    formulation = mb.studies.formulate(random_step([256, 4]), "nmc_os")
    solution = formulation.solve()
    assert solution.certificate.worst <= 1e-9
    for judge in ("nmc_os", "os"):
        assert residuals(mb.studies.formulate(random_step([256, 4]), judge), solution.forces).worst <= 1e-10


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("implicit, product", [(True, False), (False, False), (True, True)])
def test_each_formulation_against_dense_matrices(name, implicit, product):
    """theta_dot+ = v_free + M^-1 G* p, loops closed, contacts open, with M, C, G of the oracle."""
    for seed in range(6):
        options = {"implicit_damping": implicit, "velocity_product": product}
        problem = random_step([seed, 9], **options)
        external = np.random.default_rng(seed).normal(size=(problem.n, 6))
        problem = mb.studies.StepProblem(
            problem.model, problem.state.q, problem.state.v, problem.effort, problem.contacts, problem.loops,
            time_step=DT, friction_directions=problem.n_f, external=external, **options,
        )  # fmt: skip
        solution = mb.studies.formulate(problem, name).solve()
        assert solution.solved
        _, G, M, v_free = dense_step(problem)
        p = np.concatenate([solution.forces.p_loop, problem.D_ul @ solution.forces.beta])
        v = v_free + np.linalg.solve(M, G.T @ p)
        np.testing.assert_allclose(solution.v_next, v, atol=1e-9 * max(1.0, np.abs(p).max()))
        w = G @ solution.v_next + problem.rows.constant
        scale = np.abs(G).max() * max(1.0, np.abs(v).max())
        assert np.abs(w[: problem.n_b]).max(initial=0.0) <= 1e-8 * scale
        assert w[problem.n_b :: 3].min() >= -1e-8 * scale


def test_damping_before_or_after_the_step_is_not_the_same():
    velocities = [
        mb.studies.formulate(random_step([1, 9], implicit_damping=x), "nmc").solve().v_next for x in (True, False)
    ]
    assert np.abs(velocities[0] - velocities[1]).max() > 1e-4


# --- rows ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(LOOP_ROWS))
def test_loop_are_the_rate_of_the_closure_error(kind):
    """c' = G v and the constant's dt dG/dt v, both by central differences."""
    h = 1e-6
    for seed in range(8):
        rng = np.random.default_rng([seed, 3])
        forest = random_forest(rng, 6)
        q, v = random_state(rng, forest.tree)
        loop = random_loop(rng, Dense(forest.tree, q, v), kind)
        if kind != "distance":  # angles are rates of the error to first order in it only: close the loop
            loop = closed(forest, q, v, loop)

        def rows(x, rate, loop=loop, forest=forest, v=v):
            step = mb.studies.StepProblem(forest, x, v, loops=[loop], time_step=1.0, loop_rate=rate)
            return step, dense_rows(Dense(forest.tree, x, v), step) @ v

        ahead, behind = (advance(forest.tree, q, v, s * h) for s in (1, -1))
        step, speed = rows(q, 0.0)
        error = [rows(x, 1.0)[0].rows.constant - rows(x, 0.0)[0].rows.constant for x in (ahead, behind)]
        assert len(speed) == LOOP_ROWS[kind] and step.n_b == len(speed)
        np.testing.assert_allclose((error[0] - error[1]) / (2 * h), speed, atol=1e-7 * max(1, np.abs(v).max() ** 2))
        product = (rows(ahead, 0.0)[1] - rows(behind, 0.0)[1]) / (2 * h)
        np.testing.assert_allclose(step.rows.constant, product, atol=1e-6 * max(1.0, np.abs(product).max()))


def closed(forest, q, v, loop):
    """The same closure with the frame on B moved onto that on A."""
    d = Dense(forest.tree, q, v)
    R, p = d.R[loop.body_a] @ loop.R_a, d.p[loop.body_a] + d.R[loop.body_a] @ loop.p_a
    if loop.body_b == WORLD:
        return loop._replace(R_b=R, p_b=p)
    return loop._replace(R_b=d.R[loop.body_b].T @ R, p_b=d.R[loop.body_b].T @ (p - d.p[loop.body_b]))


def test_velocity_product_is_that_of_a_material_point():
    """dG_u/dt v by differences of the velocities of two points that move with their bodies."""
    h = 1e-6
    for seed in range(6):
        rng = np.random.default_rng([seed, 5])
        forest = random_forest(rng, 5)
        q, v = random_state(rng, forest.tree)
        dense = Dense(forest.tree, q, v)
        contact = random_contact(rng, dense, 0.5)
        steps = [mb.studies.StepProblem(forest, q, v, contacts=[contact], velocity_product=x) for x in (False, True)]
        bodies = [k for k in (contact.body_a, contact.body_b) if k != WORLD]
        local = [dense.R[k].T @ (contact.point - dense.p[k]) for k in bodies]

        def speed(x, forest=forest, v=v, bodies=bodies, local=local, step=steps[0]):
            d = Dense(forest.tree, x, v)
            points = [d.point_jacobian(k, d.p[k] + d.R[k] @ y)[3:] @ v for k, y in zip(bodies, local)]
            return step.frames[0] @ (points[0] - (points[1] if len(points) > 1 else 0.0))

        product = (speed(advance(forest.tree, q, v, h)) - speed(advance(forest.tree, q, v, -h))) / (2 * h)
        got = (steps[1].rows.constant - steps[0].rows.constant) / steps[0].dt
        np.testing.assert_allclose(got, product, atol=1e-6 * max(1.0, np.abs(product).max()))


def test_a_rolling_ball_sinks_only_with_the_velocity_product():
    """r = 0.1 m, 5 m/s, 0.2 s: the centripetal term of the material point makes it believe that it separates."""
    deepest = [roll(product) for product in (False, True)]
    assert deepest[0] > -1e-6 and deepest[1] < -5e-3


def roll(product, r=0.1, speed=5.0, dt=1e-3, steps=200):
    """Deepest gap of a ball that rolls on the floor."""
    forest = random_forest(np.random.default_rng(0), 1, roots=1, floating=1.0)
    tree = forest.tree._replace(
        R_joint=np.eye(3)[None], p_joint=np.zeros((1, 3)), mass=np.ones(1), com=np.zeros((1, 3)),
        inertia=0.4 * r * r * np.eye(3)[None],
    )  # fmt: skip
    forest = forest._replace(tree=read_only(tree))
    q, v = np.array([0, 0, r, 0, 0, 0, 1.0]), np.array([0, speed / r, 0, speed, 0, 0])
    deepest = 0.0
    for _ in range(steps):
        gap = q[2] - r
        contact = mb.studies.ContactPoint(0, WORLD, (q[0], q[1], 0.5 * gap), (0, 0, 1.0), gap, 0.5)
        problem = mb.studies.StepProblem(forest, q, v, None, [contact], time_step=dt, velocity_product=product)
        v = mb.studies.formulate(problem, "mc").solve().v_next
        q = advance(forest.tree, q, v, dt)
        deepest = min(deepest, q[2] - r)
    return deepest


@pytest.mark.parametrize("name", NAMES)
def test_drift_of_a_loop_dies_out(name):
    """A loop that starts open and not at rest: G v - U goes at once, the closure error by gamma a step."""
    rng = np.random.default_rng(7)
    forest = random_forest(rng, 8, roots=1, floating=1.0)
    q, v = random_state(rng, forest.tree)
    (loop,) = consistent_loops(rng, forest, Dense(forest.tree, q, v), q, v, 1)
    errors = []
    for _ in range(12):
        step = mb.studies.StepProblem(forest, q, v, loops=[loop], time_step=1e-4)
        errors.append(np.abs(step.rows.constant - closed_constant(forest, q, v, loop)).max() * 1e-4 / 0.2)
        v = mb.studies.formulate(step, name).solve().v_next
        q = advance(forest.tree, q, v, 1e-4)
    assert errors[-1] < 0.15 * errors[0]  # 0.8^11 = 0.086


def closed_constant(forest, q, v, loop):
    return mb.studies.StepProblem(forest, q, v, loops=[loop], time_step=1e-4, loop_rate=0.0).rows.constant


@pytest.mark.parametrize("name", NAMES)
def test_redundant_loops_change_nothing(name):
    """The same closure twice: as the closure once, with the impulses shared."""
    for seed in range(4):
        problem = random_step([seed, 21], friction=0.0, redundant=False)
        if not problem.loops:
            continue
        twice = mb.studies.StepProblem(
            problem.model, problem.state.q, problem.state.v, problem.effort, problem.contacts,
            (*problem.loops, *problem.loops), time_step=DT, friction_directions=problem.n_f,
        )  # fmt: skip
        once, again = (mb.studies.formulate(p, name).solve() for p in (problem, twice))
        assert again.solved
        np.testing.assert_allclose(again.v_next, once.v_next, atol=1e-8)
        parts = again.forces.p_loop.reshape(2, -1)
        np.testing.assert_allclose(parts.sum(axis=0), once.forces.p_loop, atol=1e-6)
        np.testing.assert_allclose(parts[0], parts[1], atol=1e-6)


# --- never a false success ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_jammed_loop_is_reported(name):
    """Driven loops with friction may jam: no choice of states solves the problem, and no formulation says so."""
    for seed in (8, 201):
        problem = random_step([seed, 4], driven=True)
        _, G, M, v_free = dense_step(problem)
        assert only_velocity(problem, G, M, v_free) is None
        solution = mb.studies.formulate(problem, name).solve()
        assert not solution.solved and solution.certificate.worst > 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_the_certificate_sees_every_unknown(name):
    """A change of any unknown by a thousandth of its scale raises the residual."""
    problem = random_step([2, 4], friction=0.5)
    formulation = mb.studies.formulate(problem, name)
    solution, s = formulation.solve(), formulation.scale()
    for i in range(formulation.size):
        z = solution.z.copy()
        z[i] += 1e-3 / s[i]
        seen = mb.studies.certify_formulation(formulation, z).natural_map
        if i in range(*formulation.layout["beta"].indices(formulation.size)) or i < formulation.free:
            assert seen > 1e-7, (i, seen)
    z = solution.z.copy()
    z[-1] = np.nan
    assert mb.studies.certify_formulation(formulation, z).worst == np.inf


def test_the_certificate_names_what_is_wrong():
    """One contact of a point mass on the floor, by hand."""
    model = mb.load_urdf(ROOT / "urdf" / "dual_arm.urdf")
    q, v, points, options = bench_problem(model, 2, 4)
    problem = mb.studies.StepProblem(model, q, v, contacts=points, **options)
    formulation = mb.studies.formulate(problem, "os")
    forces = formulation.solve().forces
    pulled = forces.beta.copy()
    pulled[5] = -1.0  # F_n of contact 1
    bad = residuals(formulation, Forces(pulled, forces.sigma, forces.p_loop))
    assert bad.infeasibility_z > 1e-3 and bad.worst_contact == 1
    assert bad.cone_violation == pytest.approx(0.5 + pulled[6:10].sum(), abs=1e-9)
    slid = forces.beta.copy()
    slid[1] += 3.0  # friction of contact 0 beyond its cone
    bad = residuals(formulation, Forces(slid, forces.sigma, forces.p_loop))
    assert bad.cone_violation > 1.0 and bad.infeasibility_w > 0.0


# --- sizes and structure -----------------------------------------------------------------------------------


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
def test_nothing_touches(name):
    """Without contacts and loops every formulation gives the free velocity."""
    problem = random_step([5, 4])
    free = mb.studies.StepProblem(problem.model, problem.state.q, problem.state.v, problem.effort, time_step=DT)
    solution = mb.studies.formulate(free, name).solve()
    _, _, _, v_free = dense_step(free)
    assert solution.solved and solution.certificate.worst_contact == -1
    np.testing.assert_allclose(solution.v_next, v_free, atol=1e-9)


@pytest.mark.parametrize("method", ["lemke", "newton"])
@pytest.mark.parametrize("name", NAMES)
def test_each_solver_by_name(name, method):
    problem = random_step([1, 4])
    solution = mb.studies.formulate(problem, name).solve(method)
    assert solution.solved and method in solution.solver


# --- limits, names, errors ---------------------------------------------------------------------------------


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
