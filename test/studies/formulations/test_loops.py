# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Loops in a step of the formulations: their rows by differences, their drift, redundant ones."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.studies.formulations.catalogue import FORMULATIONS
from mb_contact.types import WORLD
from oracles.dense_oracle import Dense, advance, random_forest, random_state, read_only
from scenes.formulation_cases import (
    DT,
    LOOP_ROWS,
    consistent_loops,
    dense_rows,
    random_contact,
    random_loop,
    random_step,
)

NAMES = tuple(FORMULATIONS)


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
