# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Starts by the central path: the smoothed laws, their linearisation, where the path ends, and a heap that needs it.

test/data/creeping_grasp.npz has a step of two arms that hold a light box, by rows.
"""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.solve.body_factors import order_tiles
from mb_contact.core.solve.central_path import follow_central_path, linearise_smoothed
from mb_contact.core.solve.laws import RHO, residual
from mb_contact.core.solve.newton import LEAST_EPS, OVER_BUDGET, SOLVED, Goal, solve_island
from mb_contact.core.solve.newton_step import NEAR_EPS, evaluate, take_step
from mb_contact.core.solve.pivoting import fits
from mb_contact.core.solve.search import first_share, is_large, search
from mb_contact.core.solve.system import BY_BODIES, make_system_handle
from mb_contact.solvers.blocks import BOX, CONTACT, EQUALITY, UNILATERAL, solve_blocks
from paths import DATA
from scenes.body_systems import both_faces
from scenes.dense_blocks import dense_blocks
from scenes.heaps import heap, heap_velocities

KIND = [CONTACT, CONTACT, UNILATERAL, BOX, EQUALITY, CONTACT, CONTACT, CONTACT]
SIZE = [3, 3, 1, 1, 1, 6, 4, 5]
MU = np.r_[0.0, 0.5, 0.5, 0.1, 1.2, 0.6, 0.1, 0.3, 1e-3]
MU = np.r_[MU, 0.0, 0.4, 0.4, 0.05, 0.02, 0.03, 0.0, 0.0, 0.7, 0.1, 0.0, 0.3, 0.3, 0.1, 0.2]


def blocks_of_all_kinds(seed):
    """Least impulses, unequal and vanishing coefficients, torsion and rolling among them."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((len(MU), 12))
    return dense_blocks(A @ A.T, A @ rng.standard_normal(12), KIND, SIZE, MU)


def smoothed(P, r, u, tau, eps=1e-9):
    c, G = np.zeros(len(r)), np.zeros((len(r), 3))
    return linearise_smoothed(P.blocks, r, u, tau, eps, 0, len(P.blocks.kind), c, G), c, G


def steps_of(P, c, G):
    """dr = c - G du as a dense matrix G."""
    dense = np.zeros((len(c),) * 2)
    for b in range(len(P.blocks.kind)):
        n, end = P.blocks.start[b], P.blocks.start[b + 1]
        dense[n, n] = G[n, 0]
        for first, last in ((1, 3), (3, 4), (4, 6)) if end - n != 5 else ((1, 3), (3, 5)):
            for row in range(n + first, min(n + last, end)):
                dense[row, n] = G[row, 0]
                dense[row, n + first : min(n + last, end)] = G[row, 1 : 1 + min(n + last, end) - n - first]
    return dense


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(4))
def test_the_linearisation_is_newtons_step_of_the_smoothed_laws(seed):
    """For any change of velocities the step leaves an error of second order, but for the softness eps."""
    P = blocks_of_all_kinds(seed)
    r, u = np.zeros(len(MU)), P.q.copy()
    for _ in range(40):
        worst, c, G = smoothed(P, r, u, 0.3)
        dr = np.linalg.solve(np.eye(len(MU)) + steps_of(P, c, G) @ P.W, c)
        r, u = r + dr, u + P.W @ dr
    assert worst <= 1e-8
    assert (r[[0, 9, 15, 19]] > 0.0).all() and (r[[3, 6]] > 0.1).all() and abs(r[7]) < 0.3
    for i, j, k in ((3, 4, 5), (9, 10, 11), (9, 13, 14), (15, 17, 18), (19, 22, 23)):
        groups = r[[j, k]] / np.where(MU[[j, k]] > 0.0, MU[[j, k]], np.inf)
        assert np.hypot(*groups) < r[i]
    du, errors = np.random.default_rng(seed).standard_normal(len(MU)), []
    for size in (1e-2, 1e-3):
        dr = c - size * (steps_of(P, c, G) @ du)
        errors.append(smoothed(P, r + dr, u + size * du, 0.3)[0])
    assert errors[0] <= 0.03 and errors[1] <= 0.02 * errors[0] + 1e-7


@pytest.mark.parametrize("seed", range(4))
def test_laws_whose_width_is_nothing_are_the_exact_ones(seed):
    """The smoothed natural map of a point is that of RHO velocities, but for what the width adds.

    Friction is bounded by P(z) there and by r_n here: contacts press without a velocity or part without a force.
    """
    P = blocks_of_all_kinds(seed)
    rng = np.random.default_rng(seed)
    r, u = rng.standard_normal(len(MU)), rng.standard_normal(len(MU))
    for b in (0, 1, 5, 6, 7):
        n = P.blocks.start[b]
        r[n], u[n] = (MU[n] + 1.0, 0.0) if rng.random() < 0.7 else (MU[n], 0.5)
    for tau in (1e-3, 1e-6, 1e-9):
        for b in range(len(KIND)):
            c, G = np.zeros(len(r)), np.zeros((len(r), 3))
            scale = 1.0 if KIND[b] == EQUALITY else RHO
            exact = residual(P.blocks, r, scale * u, b, b + 1)
            assert linearise_smoothed(P.blocks, r, u, tau, 1e-9, b, b + 1, c, G) == pytest.approx(exact, abs=3.0 * tau)


@pytest.mark.parametrize("seed", range(3))
def test_both_faces_take_the_same_path_to_a_solution(seed):
    found = []
    for P in both_faces(seed):
        blocks, c1 = int(P.count[0]), int(P.bodies.first_tile[1])
        steps = follow_central_path(make_system_handle(P), 0, blocks, 0, c1, 1e-10, 400)
        assert steps <= 45 and residual(P.blocks, P.r, P.u, 0, blocks) <= 1e-10
        np.testing.assert_allclose(P.u, P.W @ P.r + P.q, atol=1e-12)
        found.append(P.r.copy())
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)


@pytest.mark.parametrize("grip", [0.0, 3.0])
def test_impulses_stay_bounded_where_solutions_are_not(grip):
    """A box that hangs between two walls by friction: they may press as much as they like."""
    J = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0, 1, 0], [0, 0, 1]])
    P = dense_blocks(J @ J.T, J @ [0.0, -0.02, 0.0], [CONTACT] * 2, [3] * 2, np.tile([0.0, 0.5, 0.5], 2))
    P.r[[0, 3]] = grip
    steps = follow_central_path(make_system_handle(P), 0, 2, 0, 0, 1e-10, 400)
    assert residual(P.blocks, P.r, P.u, 0, 2) <= 1e-10 and steps <= 45
    assert P.r[0] == pytest.approx(P.r[3], abs=1e-9) and grip / 10.0 <= P.r[0] <= 10.0 * max(grip, 0.02)


def test_velocities_that_are_no_numbers_leave_the_impulses():
    P = blocks_of_all_kinds(1)
    P.r[:], P.q[3] = 0.1, np.nan
    follow_central_path(make_system_handle(P), 0, len(KIND), 0, 0, 1e-10, 20)
    np.testing.assert_array_equal(P.r, 0.1)


def test_rows_without_friction_lose_their_impulses():
    P = blocks_of_all_kinds(1)
    P.r[16] = 1.0
    assert smoothed(P, P.r, P.u, 1e-3)[0] >= 0.99 * np.sqrt(P.blocks.D[16])
    follow_central_path(make_system_handle(P), 0, len(KIND), 0, 0, 1e-10, 45)
    assert abs(P.r[16]) <= 1e-12


def test_a_heap_is_solved_that_the_last_impulses_lead_to_slowly():
    P, warm = heap("heap_of_50")
    handle, blocks = make_system_handle(P), len(P.blocks.kind)
    assert is_large(handle, 0)
    P.r[:] = warm
    assert solve_island(handle, 0, Goal(1e-10, 1e-5, True, True, False, LEAST_EPS), 150)[0] == OVER_BUDGET
    P.r[:] = warm
    status, steps, left = search(handle, 0, Goal(1e-10, 1e-5, True, True, False, LEAST_EPS), 400)
    assert status == SOLVED and left <= 1e-10 and 15 + 30 < steps <= 100  # those on the path count
    assert residual(P.blocks, P.r, heap_velocities(P, P.r), 0, blocks) <= 1.1e-10


def test_a_grasp_whose_impulses_creep_takes_the_path_first():
    """Two arms that shake a box of 1.2 g: 12 contacts; from solutions of polygons 400 steps leave 9e-10."""
    with np.load(DATA / "creeping_grasp.npz") as data:
        part = {name: data[name] for name in ("W", "q", "kind", "size", "mu", "warm")}
    found = solve_blocks(**part)
    assert found.status == "solved" and found.residual <= 1e-10 and found.steps <= 300


def test_steps_on_the_path_count_in_the_budget_and_leave_half_of_it():
    P, warm = heap("heap_of_50")
    handle, found = make_system_handle(P), []
    for budget in (0, 1, 15, 16, 17, 45):
        P.r[:] = warm
        status, steps, left = search(handle, 0, Goal(1e-10, 1e-5, True, True, False, LEAST_EPS), budget)
        assert status == OVER_BUDGET and steps == budget
        assert left == pytest.approx(residual(P.blocks, P.r, P.u, 0, len(P.blocks.kind)))
        found.append(left)
    assert found == sorted(found, reverse=True) and found[-1] < 0.2 * found[2]


def test_what_is_left_is_the_last_point_on_the_path():
    """Steps that do not fulfil the smoothed laws to tau change nothing of it."""
    P, warm = heap("heap_of_50")
    handle, bodies, found = make_system_handle(P), int(P.bodies.first_tile[1]), []
    for budget in range(21):
        P.r[:] = warm
        assert follow_central_path(handle, 0, len(P.blocks.kind), 0, bodies, 1e-12, budget) == budget
        found.append(P.r.tolist())
    np.testing.assert_array_equal(found[0], warm)
    assert 2 <= sum(a == b for a, b in zip(found, found[1:])) <= 15


def test_far_from_a_solution_the_path_begins_wide():
    """The last impulses without those of 100 contacts: more than half a percent of the largest impulse is missing."""
    P, warm = heap("heap_of_50")
    handle, blocks, bodies = make_system_handle(P), len(P.blocks.kind), int(P.bodies.first_tile[1])
    P.r[:] = np.where(np.arange(len(warm)) < 300, 0.0, warm)
    before = evaluate(handle, 0, blocks, 0, bodies, P.r.copy())
    assert before > 0.005 * np.sqrt(P.blocks.D * P.r**2).max()
    follow_central_path(handle, 0, blocks, 0, bodies, 1e-10, 400)
    assert residual(P.blocks, P.r, P.u, 0, blocks) <= 1e-5 * before


def test_a_small_island_has_all_of_its_budget_in_two_searches():
    P, _ = heap("heap_of_50")
    handle = make_system_handle(P)
    assert first_share(handle, 0, 400) == 400
    P.island[1] = 63
    assert first_share(handle, 0, 400) == 200 and first_share(handle, 0, 90) == 80 and first_share(handle, 0, 30) == 30
    assert not is_large(handle, 0)


def test_an_island_that_pivoting_has_no_room_for_takes_the_path():
    """60 contacts that press on 60 bodies, each at a corner: 360 unknowns of polygons with 4 directions."""
    rng = np.random.default_rng(0)
    for count in (40, 60):
        A = rng.standard_normal((3 * count, 4 * count))
        P = dense_blocks(
            A @ A.T, -np.abs(rng.standard_normal(3 * count)), [CONTACT] * count, [3] * count,
            np.tile([0.0, 0.4, 0.4], count),
        )  # fmt: skip
        handle = make_system_handle(P)
        evaluate(handle, 0, count, 0, 0, P.r.copy())
        assert fits(handle, 0, count) == (count == 40)


def path_by_hand(P, handle, blocks, bodies, tolerance, budget):
    """``follow_central_path`` of the whole island once more: (steps, how many of them were not taken)."""
    tau, eps, steps, since, refused = 0.0, 1e-7, 0, 0, 0
    c, G, n = P.work.c, P.work.G, P.blocks.start[blocks]
    now, kept = evaluate(handle, 0, blocks, 0, bodies, P.r.copy()), P.r[:n].copy()
    size = (np.sqrt(P.blocks.D[:n]) * np.abs(P.r[:n])).max()
    tau = max(now, 0.005 * (size if size > 0.0 else (np.abs(P.u[:n]) / np.sqrt(P.blocks.D[:n])).max()))
    used = 0 if P.form[0] != BY_BODIES else order_tiles(P.bodies, P.factors, 0, blocks, 0, bodies)

    def worst_map():
        return linearise_smoothed(P.blocks, P.r, P.u, tau, eps, 0, blocks, c, G)

    least = worst_map()
    while steps < min(budget, 60) and since < 20 and now > tolerance:
        r, u = P.r[:n].copy(), P.u[:n].copy()
        take_step(handle, 0, blocks, 0, bodies, NEAR_EPS, used)
        steps, since, part = steps + 1, since + 1, 1.0
        while not (worst := worst_map()) <= max(tau, 50.0 * least) and part > 0.05:
            part *= 0.5
            P.r[:n], P.u[:n] = 0.5 * (P.r[:n] + r), 0.5 * (P.u[:n] + u)
        if not worst <= max(tau, 50.0 * least):
            P.r[:n], P.u[:n], part, refused = r, u, 0.0, refused + 1
        if part < 0.25 or (since > 4 and worst > 0.9 * least):
            eps *= 10.0
        elif part == 1.0:
            eps = max(1e-7, 0.1 * eps)
        if part > 0.0 and worst < tau:
            now, kept = residual(P.blocks, P.r, P.u, 0, blocks), P.r[:n].copy()
            tau, since, least = 0.6 * tau, 0, np.inf
        least = min(least, worst_map())
    evaluate(handle, 0, blocks, 0, bodies, np.append(kept, np.zeros(len(P.r) - n)))
    return steps, refused


def disturbed_grasp(seed):
    """The creeping grasp with other velocities, and from seed 30 on threefold friction."""
    with np.load(DATA / "creeping_grasp.npz") as data:
        W, q, kind, size, mu, warm = (data[name] for name in ("W", "q", "kind", "size", "mu", "warm"))
    q = q * (1.0 + 0.5 * np.random.default_rng(seed).standard_normal(len(q)))
    P = dense_blocks(W, q, list(kind), list(size), mu if seed < 30 else 3.0 * mu)
    P.r[:] = warm if seed % 2 else 0.0
    return P, 0


def disturbed_heap(seed):
    P, warm = heap("heap_of_50")
    P.r[:] = warm * np.random.default_rng(seed).choice([0.0, 1.0, 1.0, 30.0], size=len(warm))
    return P, int(P.bodies.first_tile[1])


@pytest.mark.parametrize("start, seeds", [(disturbed_grasp, (1, 17, 31, 32, 33, 43, 56)), (disturbed_heap, (0, 1))])
def test_the_path_is_that_which_is_written_out_here(start, seeds):
    """Steps are halved, some are refused, and one grasp's go round in circles."""
    refused = 0
    for seed in seeds:
        P, bodies = start(seed)
        expected, no = path_by_hand(P, make_system_handle(P), len(P.blocks.kind), bodies, 1e-10, 400)
        impulses, refused = P.r.tolist(), refused + no
        P, bodies = start(seed)
        steps = follow_central_path(make_system_handle(P), 0, len(P.blocks.kind), 0, bodies, 1e-10, 400)
        assert steps == expected
        np.testing.assert_allclose(P.r, impulses, rtol=1e-6, atol=1e-9)
    assert refused > 0 or start is disturbed_heap
