# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Coulomb's law on the cone and on the pyramid, torsion and rolling, and the other kinds of block, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.solve.laws import linearise, residual
from mb_contact.core.solve.system import make_system
from mb_contact.solvers.blocks import BOX, CONTACT, EQUALITY, UNILATERAL, solve_blocks
from oracles.coulomb import CONE
from scenes.contact_problems import Problem, good, solve


@pytest.mark.nojit
@pytest.mark.parametrize("n_f", [CONE, 8])
def test_one_contact_by_hand(n_f):
    """A point mass of 2 kg that falls at 1 m/s and slides at 0.3 m/s: it stops in the normal direction,

    and friction takes mu p_n / m = 0.2 m/s of the slip away, against d_1.
    """
    problem = Problem(np.eye(3) / 2.0, np.array([-1.0, 0.3, 0.0]), np.array([0.2]), np.array([3]), n_f)
    outcome = solve(problem)
    np.testing.assert_allclose(outcome.r, [2.0, -0.4, 0.0], atol=1e-12)
    np.testing.assert_allclose(outcome.u, [0.0, 0.1, 0.0], atol=1e-12)
    # with more friction it stops altogether, with none it keeps its slip
    outcome = solve(problem._replace(mu=np.array([0.5])))
    np.testing.assert_allclose(outcome.r, [2.0, -0.6, 0.0], atol=1e-12)
    outcome = solve(problem._replace(mu=np.array([0.0])))
    np.testing.assert_allclose(outcome.r, [2.0, 0.0, 0.0], atol=1e-12)
    # parting bodies are left alone
    outcome = solve(problem._replace(q=np.array([0.1, 0.3, 0.0])))
    assert not outcome.r.any() and outcome.steps == 0


@pytest.mark.parametrize("angle", np.linspace(0.0, 2 * np.pi, 33))
def test_slip_along_any_direction_lies_within_the_pyramid(angle):
    """A sliding point: friction opposes the slip within half a sector, on the pyramid's surface."""
    q = np.array([-1.0, 3 * np.cos(angle), 3 * np.sin(angle)])
    problem = Problem(np.eye(3), q, np.array([0.5]), np.array([3]), 8)
    outcome = solve(problem)
    good(problem, outcome)
    r = outcome.r
    assert r[0] == pytest.approx(1.0, abs=1e-11)
    assert 0.5 * np.cos(np.pi / 8) - 1e-11 <= np.hypot(r[1], r[2]) <= 0.5 + 1e-11
    cosine = -(r[1:] @ q[1:]) / np.linalg.norm(r[1:]) / 3
    assert cosine >= np.cos(np.pi / 8) - 1e-9


@pytest.mark.parametrize("angle", np.linspace(0.0, 2 * np.pi, 33))
def test_slip_along_any_direction_is_opposed_on_the_cone(angle):
    q = np.array([-1.0, 3 * np.cos(angle), 3 * np.sin(angle)])
    outcome = solve(Problem(np.eye(3), q, np.array([0.5]), np.array([3]), CONE))
    np.testing.assert_allclose(outcome.r, [1.0, -0.5 * np.cos(angle), -0.5 * np.sin(angle)], atol=1e-11)


@pytest.mark.nojit
def test_blocks_of_each_kind_by_hand():
    """Unit masses, one row each, all with q = -1."""
    cases = [
        (EQUALITY, 0.0, 1.0),
        (EQUALITY, 0.25, 0.8),  # u + 0.25 r = 0
        (UNILATERAL, 0.0, 1.0),
        (UNILATERAL, 0.5, 1.0),
        (UNILATERAL, 1.5, 1.5),  # at least that much, whatever the velocity
        (BOX, 2.0, 1.0),
        (BOX, 0.4, 0.4),
    ]
    kind, mu, want = zip(*cases)
    n = len(cases)
    found = solve_blocks(np.eye(n), -np.ones(n), kind, [1] * n, mu)
    np.testing.assert_allclose(found.r, want, atol=1e-12)
    np.testing.assert_allclose(found.u, found.r - 1.0, atol=1e-12)
    found = solve_blocks(np.eye(n), np.ones(n), kind, [1] * n, mu)  # the other way round: one-sided rows let go
    np.testing.assert_allclose(found.r, [-1.0, -0.8, 0.0, 0.5, 1.5, -1.0, -0.4], atol=1e-12)


@pytest.mark.nojit
def test_torsion_and_rolling_by_hand():
    """Each group slips against its own bound: 0.2, 0.05, 0.03 of a normal impulse of 2."""
    q = [-2.0, 3.0, -4.0, 1.0, 0.0, -7.0]
    found = solve_blocks(np.eye(6), q, [CONTACT], [6], [0.0, 0.2, 0.2, 0.05, 0.03, 0.03])
    np.testing.assert_allclose(found.r, [2.0, -0.24, 0.32, -0.1, 0.0, 0.06], atol=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_one_disc_has_the_residual_and_the_slope_of_the_general_law(seed):
    """Coefficients that differ in their last digit take the way of unequal ones: both are the same to rounding."""
    rng = np.random.default_rng(seed)
    r, w = rng.normal(size=(2, 3)) * [[1.0], [0.1]]
    r[0], mu, D = abs(r[0]), rng.uniform(0.1, 1.0), rng.uniform(0.5, 2.0, 2)
    w *= 0.0 if seed < 4 else 1.0  # sticking: inside the disc or on its rim
    outcomes = []
    for other in (mu, np.nextafter(mu, 1.0)):
        P = make_system(3, 1, 0, 3, np.zeros(0, np.int64), np.zeros(0, np.int64))
        P.blocks.kind[0], P.blocks.start[:] = CONTACT, (0, 3)
        P.blocks.mu[:], P.blocks.D[:], P.blocks.S[:] = (0.0, mu, other), D[[0, 1, 1]], D[[0, 1, 1]]
        linearise(P.blocks, r, w, 1e-3, 3.0, 0, 1, P.work.c, P.work.G)
        outcomes.append([residual(P.blocks, r, w, 0, 1), *P.work.c, *P.work.G.ravel()])
    np.testing.assert_allclose(*outcomes, rtol=1e-11, atol=1e-11 * np.abs(outcomes[1]).max())
