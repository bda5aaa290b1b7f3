# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The continuation along proximal problems, on a step of the bin of 200 bodies: 140 contacts, many redundant."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from mb_contact.core.cone.attempt import WARM_STEPS, prepare_newton
from mb_contact.core.cone.newton import PATIENCE, measure, newton
from mb_contact.core.cone.problem import worst_residual
from mb_contact.core.cone.proximal import BUDGET, STEPS, continuation
from mb_contact.solvers.friction import FrictionSolver
from mb_contact.solvers.layout import ConeLayout
from mb_contact.solvers.residuals import cone_residual

FRICTION = 0.25


class Pile:
    """The problem, and its arrays as the kernels take them."""

    def __init__(self):
        stored = np.load(Path(__file__).parent / "data" / "pile_of_140_contacts.npz")
        lower = scipy.sparse.csr_matrix((stored["data"], stored["indices"], stored["indptr"]))
        self.W = (lower + scipy.sparse.tril(lower, -1).T).tocsr()
        self.q, self.warm = stored["q"], stored["warm"]
        self.layout = ConeLayout.contacts(np.full(len(self.q) // 3, FRICTION))
        self.solver = FrictionSolver(self.W, self.q, self.layout)
        s = self.solver
        self.arguments = s.blocks, s.q, s.units, s.factors, s.interior, s.newton

    def start(self, warm):
        return self.warm / self.solver.row_scale if warm else np.zeros(len(self.q))

    def residual(self, r):
        """Of the natural map, from W and q as stored."""
        return cone_residual(self.W, self.q, self.layout, r * self.solver.row_scale)


@pytest.fixture(scope="module")
def pile():
    return Pile()


def run(pile, r, tolerance=1e-12, enough=0.0, budget=BUDGET):
    """(measure, systems); r becomes the best point."""
    work = np.zeros((6, len(pile.q)))
    best, interior, steps = continuation(*pile.arguments, r, work, tolerance, enough, 60, budget)
    return best, interior + steps


def test_newton_from_the_last_step_does_not_solve_it(pile):
    blocks, q, units, factors, _, N = pile.arguments
    prepare_newton(blocks, q, units, N)
    best, _ = newton(blocks, q, units, factors, N, pile.start(True), WARM_STEPS, 1e-11, PATIENCE)
    assert best > 1e-6


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
def test_it_is_solved_to_rounding_in_few_systems(pile, warm):
    r = pile.start(warm)
    _, systems = run(pile, r)
    assert pile.residual(r).relative < 1e-11
    assert systems < 60


def test_it_ends_where_every_contact_is_good_enough(pile):
    r = pile.start(True)
    s = pile.solver
    _, exact = run(pile, pile.start(True))
    _, systems = run(pile, r, enough=1e-5)
    assert systems < exact
    measure(s.blocks, s.q, s.units, s.newton, r)
    assert 0.0 < worst_residual(s.units, r, s.newton.u, s.newton.length, s.newton.slope) <= 1e-5


def test_a_small_budget_ends_it_with_the_best_point(pile):
    r = pile.start(True)
    before = pile.residual(r).relative
    _, systems = run(pile, r, budget=10)
    assert 10 <= systems < 10 + STEPS  # no problem is begun after the budget
    assert pile.residual(r).relative < before


def test_a_body_squeezed_between_two_walls_that_push_has_no_solution_and_that_is_noticed():
    """v >= 1 and -v >= 1: every solution of a proximal problem is as far off as the one before."""
    J = np.vstack([np.eye(3), np.diag([-1.0, 1.0, 1.0])])
    q = np.array([-1.0, 0.0, 0.0, -1.0, 0.0, 0.0])
    s = FrictionSolver(J @ J.T, q, ConeLayout.contacts(np.full(2, FRICTION)))
    r, work = np.zeros(6), np.zeros((6, 6))
    arguments = s.blocks, s.q, s.units, s.factors, s.interior, s.newton
    best, interior, steps = continuation(*arguments, r, work, 1e-12, 0.0, 60, BUDGET)
    assert best > 0.1 and np.isfinite(r).all()
    assert interior + steps < BUDGET / 2


def test_it_leaves_the_problem_as_it_was(pile):
    value, q = pile.solver.blocks.value.copy(), pile.solver.q.copy()
    run(pile, pile.start(True))
    np.testing.assert_array_equal(pile.solver.blocks.value, value)
    np.testing.assert_array_equal(pile.solver.q, q)
