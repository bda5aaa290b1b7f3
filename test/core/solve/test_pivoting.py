# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Starts by pivoting: exact on polygons, for all kinds of blocks and both faces, and the way out of jammed states.

test/data/jammed_friction.npz has two steps of PR2 on its side, W = J J*: friction moves 16 contacts of either along
their normals more than ten times as much as their normal impulses do.  From zero 40 Newton steps solve neither.
"""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.solve.assemble import scale_normals
from mb_contact.core.solve.laws import residual
from mb_contact.core.solve.newton import LEAST_EPS, OVER_BUDGET, Goal, solve_island
from mb_contact.core.solve.newton_step import evaluate
from mb_contact.core.solve.pivoting import start_elsewhere
from mb_contact.core.solve.system import make_system_handle
from mb_contact.solvers.blocks import BOX, CONTACT, EQUALITY, UNILATERAL, solve_blocks
from paths import DATA
from scenes.body_systems import both_faces
from scenes.dense_blocks import dense_blocks

FILE = DATA / "jammed_friction.npz"


def jammed(number):
    with np.load(FILE) as data:
        part = {key: data[f"{number}/{key}"] for key in ("kind", "size", "mu", "q", "J", "warm")}
    return part["J"] @ part["J"].T, part


@pytest.mark.nojit
@pytest.mark.parametrize("theta", [0.0, 0.2])
@pytest.mark.parametrize("n_f", [4, 6, 8])
@pytest.mark.parametrize("seed", range(4))
def test_of_polygons_the_start_is_the_solution(seed, n_f, theta):
    """Contacts, one of them with torsion and rolling, limits, friction of joints and equalities, some redundant.

    ``theta`` is a least impulse, as impacts have it.
    """
    rng = np.random.default_rng(seed)
    kind = [CONTACT, CONTACT, UNILATERAL, BOX, EQUALITY, CONTACT, EQUALITY]
    size = [3, 3, 1, 1, 1, 6, 1]
    mu = np.r_[theta, 0.5, 0.5, 0, 1.2, 1.2, theta, 0.3, 0.0, 0, 0.4, 0.4, 0.05, 0.02, 0.03, 1e-3]
    A = rng.standard_normal((len(mu), 12))
    P = dense_blocks(A @ A.T, A @ rng.standard_normal(12), kind, size, mu, n_f)
    handle = make_system_handle(P)
    evaluate(handle, 0, 7, 0, 0, P.r.copy())
    start_elsewhere(handle, 0, 7, 0, 0, True)
    # rolling is bounded by a disc even where sliding is by a polygon: there the start is near
    assert residual(P.blocks, P.r, P.u, 0, 5) <= 1e-7
    np.testing.assert_allclose(P.u, P.W @ P.r + P.q, atol=1e-10)
    assert solve_blocks(P.W, P.q, kind, size, mu, n_f).status == "solved"


@pytest.mark.parametrize("seed", range(3))
def test_both_faces_have_the_same_start(seed):
    found = []
    for P in both_faces(seed):
        handle = make_system_handle(P)
        blocks, c1 = int(P.count[0]), int(P.bodies.first_tile[1])
        evaluate(handle, 0, blocks, 0, c1, P.r.copy())
        start_elsewhere(handle, 0, blocks, 0, c1, True)
        found.append(P.r.copy())
    np.testing.assert_allclose(found[0], found[1], atol=1e-8)


def test_without_a_solution_and_in_large_islands_no_impulses_are_the_start():
    """Two limits that push against each other."""
    W, q = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([-1.0, -2.0])
    P = dense_blocks(W, q, [UNILATERAL, UNILATERAL], [1, 1], np.zeros(2))
    P.r[:] = 3.0
    start_elsewhere(make_system_handle(P), 0, 2, 0, 0, True)
    np.testing.assert_array_equal(P.r, 0.0)
    P.r[:] = 3.0
    start_elsewhere(make_system_handle(P), 0, 2, 0, 0, False)
    np.testing.assert_array_equal(P.r, 0.0)


@pytest.mark.parametrize("budget", [41, 60, 80])
def test_a_small_budget_has_a_second_start_too(budget):
    W, part = jammed(0)
    found = solve_blocks(W, part["q"], part["kind"], part["size"], part["mu"], warm=part["warm"], budget=budget)
    assert found.status == ("solved" if budget > 45 else "limit")
    assert found.residual <= 1e-3 and found.steps <= budget + 1


def test_of_many_contacts_fewer_directions_are_taken_or_none():
    """40 contacts are 400 unknowns of 8 directions, 240 of 4; 60 are too many for either."""
    rng = np.random.default_rng(0)
    for count in (40, 60):
        A = rng.standard_normal((3 * count, 4 * count))
        mu, q = np.tile([0.0, 0.4, 0.4], count), -np.abs(rng.standard_normal(3 * count))
        P = dense_blocks(A @ A.T, q, [CONTACT] * count, [3] * count, mu)
        handle = make_system_handle(P)
        zero = evaluate(handle, 0, count, 0, 0, P.r.copy())
        start_elsewhere(handle, 0, count, 0, 0, True)
        assert (P.r == 0.0).all() == (count == 60)
        assert (residual(P.blocks, P.r, P.u, 0, count) < 0.1 * zero) == (count == 40)


@pytest.mark.parametrize("number", range(2))
def test_jammed_states_are_left(number):
    W, part = jammed(number)
    P = dense_blocks(W, part["q"], part["kind"], part["size"], part["mu"])
    n = P.blocks.start[:-1][part["kind"] == CONTACT]
    assert (part["mu"][n + 1] * np.hypot(W[n, n + 1], W[n, n + 2]) > 10.0 * W[n, n]).sum() == 16
    handle, blocks = make_system_handle(P), len(part["kind"])
    scale_normals(handle)
    assert solve_island(handle, 0, Goal(1e-10, 1e-3, False, False, True, LEAST_EPS), 40)[0] == OVER_BUDGET
    for start in (None, part["warm"]):
        found = solve_blocks(W, part["q"], part["kind"], part["size"], part["mu"], warm=start)
        assert found.status == "solved" and found.steps <= 150
    start_elsewhere(handle, 0, blocks, 0, 0, True)
    assert residual(P.blocks, P.r, P.u, 0, blocks) <= 1e-2
