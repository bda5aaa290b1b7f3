# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The certificate of a contact problem: what it sees, how it rises, which unit it names."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from oracles.coulomb import dense_residual
from scenes.contact_problems import Problem, good, random_problem, solve, written_out


def unsolvable():
    """A contact that closes at 1 m/s on a body that no impulse moves: W = 0 in the normal row."""
    W = np.diag([0.0, 1.0, 1.0])
    return Problem(W, np.array([-1.0, 0.0, 0.0]), np.array([0.5]), np.array([3]), 8)


def worst(problem, impulses):
    residuals = mb.studies.certify(problem, impulses)
    return max(residuals.complementarity_gap, residuals.infeasibility)


@pytest.mark.parametrize("seed", range(10))
def test_certificate_rises_with_any_perturbation(seed):
    """A right solution moved in one row by 1e-6, 1e-3, 1: the residual follows in proportion."""
    problem = random_problem([seed, 11], 3, 1, 12, tight=1.0)
    problem.q[::3] = -1.0 - np.abs(problem.q[::3])  # all closing, so that contacts are active
    outcome = solve(problem)
    good(problem, outcome)
    r = outcome.r
    active = np.flatnonzero(np.abs(r) > 1e-3)
    assert len(active)
    for row in active:
        if row < 9 and row % 3 and np.hypot(*outcome.u[row // 3 * 3 + 1 : row // 3 * 3 + 3]) > 1e-9:
            continue  # a sliding contact's friction is checked as a whole below
        sizes = []
        for delta in (1e-6, 1e-3, 1.0):
            moved = r.copy()
            moved[row] += delta
            sizes.append(worst(written_out(problem), moved))
            assert sizes[-1] == pytest.approx(dense_residual(*problem, moved), rel=1e-6, abs=1e-12)
        assert sizes[0] > 1e-8 and sizes[1] > 1e-5 and sizes[2] > 1e-2


def test_certificate_sees_wrong_friction():
    """Too much of it, too little of it, and across the slip."""
    problem = Problem(np.eye(3), np.array([-1.0, 3.0, 0.0]), np.array([0.5]), np.array([3]), 8)
    right = np.array([1.0, -0.5, 0.0])
    solved = written_out(problem)
    assert worst(solved, right) <= 1e-15
    assert mb.studies.certify(solved, [1.0, -0.6, 0.0]).cone_violation == pytest.approx(0.1)
    assert worst(solved, [1.0, -0.6, 0.0]) >= 0.09
    assert worst(solved, [1.0, -0.4, 0.0]) >= 0.09
    assert worst(solved, [1.0, 0.5, 0.0]) >= 0.4
    assert worst(solved, [1.0, 0.0, 0.4]) >= 0.09
    assert worst(solved, [-1.0, 0.0, 0.0]) >= 0.9


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", range(4))
def test_certificate_of_impulses_that_are_not_finite_is_huge(row, bad):
    problem = random_problem([1, 1], 1, 1, 6)
    r = solve(problem).r.copy()
    r[row] = bad
    assert worst(written_out(problem), r) >= 1e100


def test_certificate_names_the_worst_block():
    problem = random_problem([5, 5], 4, 0, 26, tight=1.0)
    outcome = solve(problem)
    for i in range(4):
        r = outcome.r.copy()
        r[3 * i] -= 100.0
        assert mb.studies.certify(written_out(problem), r).worst_block == i


def test_certificate_of_no_impulses_is_the_closing_velocity():
    problem = Problem(4 * np.eye(3), np.array([-0.6, 0.0, 0.0]), np.array([0.5]), np.array([3]), 8)
    assert mb.studies.certify(written_out(problem)).infeasibility == pytest.approx(0.3)  # 0.6 / sqrt(4)


def test_certify_refuses_impulses_of_the_wrong_length():
    with pytest.raises(mb.InputError, match="impulses must have 3"):
        mb.studies.certify(written_out(unsolvable()), np.zeros(4))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"W": np.eye(4)}, "W must be 3 x 3"),
        ({"mu": np.ones(2)}, "mu have 1 entries"),
        ({"dim": np.array([3, 3])}, "dim must hold 3 for each contact"),
        ({"dim": np.array([2, 1])}, "dim must hold 3 for each contact"),
        ({"directions": 5}, "directions must be an even number"),
        ({"kind": np.array([3, 3])}, "kind must have 1 entries and bounds 3"),
        ({"bounds": np.zeros(4)}, "kind must have 1 entries and bounds 3"),
    ],
)
def test_a_contact_problem_whose_arrays_do_not_fit_is_refused(change, message):
    """The kernels would read beyond the arrays in silence."""
    problem = written_out(random_problem(0, contacts=1))._replace(**change)
    for use in (problem.lcp, lambda: mb.studies.certify(problem), lambda: problem.size):
        with pytest.raises(mb.InputError, match=message):
            use()
    whole = written_out(random_problem(0, contacts=1))
    with pytest.raises(mb.InputError, match="z must have 10 entries"):
        whole.impulses_from(np.zeros(9))
