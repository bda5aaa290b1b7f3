# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Drumwright's no-slip model: the dense problem (29), warm starts, a steep slope, a rolling ball."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.types import WORLD
from scenes.drumwright_cases import (
    GRAVITY,
    DenseCase,
    assert_complementary,
    corners,
    free_body,
    impulse_of,
    pose,
    random_case,
    tilted,
)


@pytest.mark.parametrize("seed", range(60))
def test_no_slip_solves_the_dense_problem(seed):
    """(23)-(25), (45), (46), with loops in every other case, contacts redundant in many."""
    model, dense, q, v, effort, c, loops = random_case(seed, 1 + seed % 12, constraints=(seed % 2) * 2)
    dt = 0.01
    result = mb.studies.no_slip_step(model, q, v, effort, c, dt, bilateral=loops, gravity=GRAVITY, rank_tolerance=1e-11)
    case = DenseCase(dense, effort, c, loops, dt)
    assert result.status == "solved"
    moved = case.M @ (result.v - case.free)
    scale = np.abs(v).max() * np.sqrt(np.abs(case.M).max())
    np.testing.assert_allclose(moved, impulse_of(case, result), atol=1e-9 * max(1.0, np.abs(moved).max()))
    for rows in (case.J, case.S, case.T):
        assert np.abs(case.scaled(rows, w=rows @ result.v)[1]).max(initial=0.0) <= 1e-9 * scale
    assert_complementary(case, case.N, result.normal, case.N @ result.v, scale)
    X = np.vstack((case.J, case.S, case.T))
    G = X @ np.linalg.solve(case.M, X.T)
    s = np.sqrt(np.maximum(np.diag(G), 1e-20 * np.diag(G).max()))
    assert result.independent == np.linalg.matrix_rank(G / np.outer(s, s), tol=1e-10)
    assert len(result.active) <= dense.N - result.independent


@pytest.mark.nojit
def test_no_slip_warm_start_takes_no_pivots():
    model, dense, q, v, effort, c, loops = random_case(7, 8)
    first = mb.studies.no_slip_step(model, q, v, effort, c, 0.01, gravity=GRAVITY)
    again = mb.studies.no_slip_step(model, q, v, effort, c, 0.01, gravity=GRAVITY, warm=first.active)
    assert len(first.active) and first.pivots >= len(first.active) and again.pivots == 0
    np.testing.assert_allclose(again.v, first.v, atol=1e-9)


def test_200_random_trees_with_many_contacts_and_loops():
    """Up to 20 contacts and 6 constraints, most of them redundant: every one is solved, and says how well."""
    for seed in range(200):
        rng = np.random.default_rng(5500 + seed)
        case = random_case(5500 + seed, int(rng.integers(1, 21)), constraints=int(rng.integers(0, 7)))
        model, _, q, v, effort, c, loops = case
        result = mb.studies.no_slip_step(model, q, v, effort, c, 0.01, bilateral=loops, gravity=GRAVITY)
        assert result.status == "solved" and result.certificate.residual <= 1e-8 * result.certificate.scale, seed
        assert len(result.active) <= model.tree.armature.shape[0]


def test_no_slip_block_stays_on_a_steep_slope():
    """60 degrees: Coulomb would need mu = 1.73; the normals are those of statics."""
    world, half = free_body("box", (0.6, 0.6, 0.1), 2.0), np.array([0.3, 0.3, 0.05])
    c = mb.studies.point_contacts(0, WORLD, corners(np.array([0, 0, 0.05]), half), np.tile([0, 0, 1.0], (4, 1)))
    g, dt = tilted(np.radians(60)), 0.01
    result = mb.studies.no_slip_step(world, pose(z=0.05), np.zeros(6), None, c, dt, gravity=g)
    np.testing.assert_allclose(result.v, 0.0, atol=1e-14)
    assert result.normal.sum() == pytest.approx(2.0 * -g[2] * dt)
    assert result.tangent[:, 0].sum() == pytest.approx(-2.0 * g[0] * dt)
    moment = (c.point[:, 0] * result.normal).sum()  # about y, against the friction's lever to the centre
    assert moment == pytest.approx(2.0 * g[0] * dt * 0.05)
    assert result.independent == 3 and len(result.active) <= 3


@pytest.mark.nojit
def test_no_slip_ball_rolls():
    """A sliding ball rolls at once with 5/7 v_0; on a slope it gains 5/7 g sin(angle) dt and never slips."""
    world = free_body("sphere", (0.1,), 1.5)
    c = mb.studies.point_contacts(0, WORLD, [[0, 0, 0]], [[0, 0, 1.0]])
    result = mb.studies.no_slip_step(world, pose(z=0.1), [0, 0, 0, 0.7, 0, 0], None, c, 0.01)
    np.testing.assert_allclose(result.v, [0, 5.0, 0, 0.5, 0, 0], atol=1e-12)
    angle, v = np.radians(70), np.zeros(6)
    for step in range(1, 21):
        v = mb.studies.no_slip_step(world, pose(z=0.1), v, None, c, 0.01, gravity=tilted(angle)).v
        assert v[3] == pytest.approx(5 / 7 * 9.81 * np.sin(angle) * 0.01 * step, rel=1e-12)
        assert v[4] * v[1] <= 1e-15 and v[3] == pytest.approx(0.1 * v[1], rel=1e-12)
