# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The part of a large island that is not solved, and the search by parts, written out once more in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.solve.laws import residual
from mb_contact.core.solve.newton import LEAST_EPS, OVER_BUDGET, RESUMED, SOLVED, TOO_LARGE, Goal, solve_island
from mb_contact.core.solve.newton_step import evaluate
from mb_contact.core.solve.parts import pose_part, take_part
from mb_contact.core.solve.pivoting import fits, start_elsewhere
from mb_contact.core.solve.search import _solve_parts, search
from mb_contact.core.solve.system import make_factors, make_system_handle
from scenes.coupled_trees import ROOM, coupled_trees
from scenes.heaps import heap, heap_velocities

BLOCKS, BODIES, ROWS = 65, 16, 195  #: of heap_of_16


def disturbed(seed, room=ROOM, bad=(5, 40)):
    """An island of trees that is solved but for a few blocks, whose impulses are missing."""
    P, handle, W = coupled_trees(seed, room=room)
    rows, c1 = int(P.count[1]), int(P.bodies.first_tile[1])
    assert search(handle, 0, Goal(1e-10, 1e-5, False, False, True, LEAST_EPS), 400)[0] == SOLVED
    for b in bad:
        P.r[P.blocks.start[b] : P.blocks.start[b + 1]] = 0.0
    evaluate(handle, 0, int(P.count[0]), 0, c1, P.r.copy())
    return P, handle, W, rows, c1


def expected_part(P, tolerance):
    """Numbers of the part's blocks; None where there is none."""
    count = int(P.count[0])
    errors = np.array([residual(P.blocks, P.r, P.u, b, b + 1) for b in range(count)])
    tiles = [set(P.bodies.tile[P.bodies.entry[b] : P.bodies.entry[b + 1]].tolist()) for b in range(count)]
    bad = set().union(*(tiles[b] for b in np.flatnonzero(errors > max(tolerance, 1e-3 * errors.max()))))
    part = [b for b in range(count) if tiles[b] & bad]
    return part if 0 < len(part) <= int(0.4 * count) else None


@pytest.mark.nojit
@pytest.mark.parametrize("bad", [(5,), (5, 40), (5, 20, 40, 60)])
@pytest.mark.parametrize("seed", range(5))
def test_the_part_has_all_contacts_of_the_bodies_whose_contacts_are_not_solved(seed, bad):
    P, handle, W, rows, c1 = disturbed(seed, bad=bad)
    part, before, blocks = expected_part(P, 1e-10), (P.r[:rows].copy(), P.u[:rows].copy()), int(P.count[0])
    P.work.before[:rows] = np.random.default_rng(seed).normal(size=rows)
    assert pose_part(handle, 0, 1e-10, False) == (part is not None)
    np.testing.assert_array_equal(P.r[:rows], before[0])
    np.testing.assert_array_equal(P.u[:rows], before[1])
    assert P.count.tolist() == [blocks, rows, 1]
    if part is None:
        return
    start, end = P.blocks.start, int(P.island[2])
    own = np.concatenate([np.arange(start[b], start[b + 1]) for b in part])
    copy = slice(rows, rows + len(own))
    assert end - blocks == len(part) and start[end] == copy.stop
    np.testing.assert_array_equal(P.origin[copy], own)
    np.testing.assert_array_equal(P.work.before[copy], P.work.before[own])
    for name in ("mu", "D", "S"):
        np.testing.assert_array_equal(getattr(P.blocks, name)[copy], getattr(P.blocks, name)[own])
    np.testing.assert_array_equal(P.immobile[copy], P.immobile[own])
    np.testing.assert_array_equal(P.r[copy], before[0][own])
    for name in ("kind", "n_f"):
        np.testing.assert_array_equal(getattr(P.blocks, name)[blocks:end], getattr(P.blocks, name)[part])
    trees = {int(P.bodies.tree_of[p]) for p in P.bodies.tile[P.bodies.entry[blocks] : P.bodies.entry[end]]}
    tiles = [p for p in range(c1) if int(P.bodies.tree_of[p]) in trees]
    assert P.bodies.tiles[c1 : P.bodies.first_tile[2]].tolist() == tiles
    impulses = before[0].copy()
    impulses[own] = P.r[copy] = np.random.default_rng(seed).normal(size=len(own))
    evaluate(handle, blocks, end, c1, int(P.bodies.first_tile[2]), P.r.copy())
    np.testing.assert_allclose(P.u[copy], (W @ impulses + P.q[:rows])[own], atol=1e-10)


@pytest.mark.nojit
def test_what_is_below_the_tolerance_is_solved():
    """One contact is off by 1e-8: its neighbours are by less, and their bodies belong to the part or do not."""
    sizes = []
    for tolerance in (1e-13, 3e-9, 1.0):
        P, handle, _, rows, c1 = disturbed(3, bad=())
        P.r[P.blocks.start[5]] += 1e-8
        evaluate(handle, 0, int(P.count[0]), 0, c1, P.r.copy())
        part = expected_part(P, tolerance)
        assert pose_part(handle, 0, tolerance, False) == (part is not None)
        sizes.append(len(part or ()))
        assert part is None or P.island[2] - P.island[1] == len(part)
    assert sizes[0] > sizes[1] > sizes[2] == 0


@pytest.mark.nojit
@pytest.mark.parametrize("less", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])  # of rows, blocks and entries
def test_a_part_needs_room_for_itself_alone(less):
    P, handle, _, rows, c1 = disturbed(0, bad=(5,))
    assert pose_part(handle, 0, 1e-10, False)
    end, blocks = int(P.island[2]), int(P.count[0])
    needed = P.blocks.start[end] - rows, end - blocks, P.bodies.entry[end] - P.bodies.entry[blocks]
    room = tuple(int(a) - b for a, b in zip(needed, less))
    P, handle, *_ = disturbed(0, room, bad=(5,))
    before = P.r[:rows].copy(), P.u[:rows].copy()
    assert pose_part(handle, 0, 1e-10, False) == (less == (0, 0, 0))
    np.testing.assert_array_equal(P.r[:rows], before[0])
    np.testing.assert_array_equal(P.u[:rows], before[1])


@pytest.mark.nojit
def test_a_solution_of_the_part_solves_its_contacts_in_the_island():
    P, handle, W, rows, c1 = disturbed(0, bad=(5,))
    others = P.r[:rows].copy()
    assert pose_part(handle, 0, 1e-10, False)
    assert search(handle, 1, Goal(1e-11, 1e-3, False, False, True, LEAST_EPS), 200)[0] == SOLVED
    take_part(handle)
    part = P.origin[rows : P.blocks.start[P.island[2]]]
    rest = np.setdiff1d(np.arange(rows), part)
    np.testing.assert_array_equal(P.r[rest], others[rest])
    u = W @ P.r[:rows] + P.q[:rows]
    solved = [b for b in range(P.count[0]) if P.blocks.start[b] in part]
    assert max(residual(P.blocks, P.r, u, b, b + 1) for b in solved) <= 1.1e-11


def by_hand(P, handle, c1, tolerance, budget):
    """``_solve_parts`` once more."""
    count, used, kept = int(P.count[0]), 0, P.r.copy()
    for _ in range(3):
        now = evaluate(handle, 0, count, 0, c1, kept.copy())
        if used >= budget or not pose_part(handle, 0, tolerance, False):
            break
        share = int(P.island[2] - P.island[1]), count
        d1 = int(P.bodies.first_tile[2])
        for turn in range(2):
            most = min(40, (budget - used) * share[1] // share[0])
            closer = Goal(0.1 * tolerance, 1e-3, False, False, True, LEAST_EPS)
            status, steps, left = solve_island(handle, 1, closer, most)
            used += steps * share[0] // share[1]
            if turn == 1 or status != OVER_BUDGET or left <= 0.1 * now or used >= budget:
                break
            if not fits(handle, *P.island[1:3]):
                break
            start_elsewhere(handle, *P.island[1:3], c1, d1, True)
        if status != SOLVED and left > 0.1 * now:
            break
        take_part(handle)
        status, steps, left = solve_island(handle, 0, goal(tolerance), min(6, budget - used))
        used += steps
        if status != OVER_BUDGET:
            return status, used, left
        if not left < now:
            break
        kept = P.r.copy()
    return OVER_BUDGET, used, evaluate(handle, 0, count, 0, c1, kept)


def goal(tolerance):
    """Of ``_solve_parts``."""
    return Goal(tolerance, 1e-3, False, False, False, LEAST_EPS)


def agree(start, budget):
    """Both ways from the same start; the status, which is that of a solution where it says so."""
    found = []
    for way in (by_hand, lambda _, handle, c1, tolerance, budget: _solve_parts(handle, 0, goal(tolerance), budget)):
        P, handle, velocities, c1 = start()
        now = residual(P.blocks, P.r, P.u, 0, int(P.count[0]))
        P.u[: P.count[1]] += 1e-9  # velocities of a Newton step are not exact
        status, used, left = way(P, handle, c1, 1e-10, budget)
        found.append((status, used, left, P.r[: P.count[1]].tolist()))
    assert found[0] == found[1]
    assert used <= budget and left <= 1.001 * now
    true = residual(P.blocks, P.r, velocities(P.r[: P.count[1]]), 0, int(P.count[0]))
    assert left == pytest.approx(true, rel=1e-3, abs=1e-13)
    return status


@pytest.mark.parametrize("budget", [400, pytest.param(20, marks=pytest.mark.nojit), 3, 1, 0])
def test_parts_and_the_island_are_solved_by_turns(budget):
    found = set()
    for seed, bad in ((0, (5,)), (1, (5, 40)), (2, (5, 40)), (3, (2, 3, 60)), (5, (5, 17, 40, 80))):

        def start(seed=seed, bad=bad):
            P, handle, W, rows, c1 = disturbed(seed, bad=bad)
            return P, handle, lambda r: W @ r + P.q[:rows], c1

        found.add(agree(start, budget))
    assert SOLVED in found or budget < 20
    assert OVER_BUDGET in found or budget > 1


@pytest.fixture(scope="module")
def impulses_of_fifty():
    P, warm = heap("heap_of_50")
    P.r[:] = warm
    search(make_system_handle(P), 0, Goal(1e-12, 1e-5, True, True, True, LEAST_EPS), 400)
    return P.r.copy()


@pytest.mark.parametrize("budget", [400, 90, 60, 45, 30, 12, 6])
def test_turns_of_a_heap(impulses_of_fifty, budget):
    """A part and then another one, parts that are not solved, and with few steps turns that end no better."""
    found = set()
    for seed in (3, 6, 16, 29, 57, 73):

        def start(seed=seed):
            rng = np.random.default_rng(seed)
            P, _ = heap("heap_of_50", 203)
            handle = make_system_handle(P)
            P.r[:609] = impulses_of_fifty
            for b in rng.integers(203, size=int(rng.integers(1, 5))):
                P.r[3 * b : 3 * b + 3] *= rng.choice([0.0, 2.0, 0.5])
            evaluate(handle, 0, 203, 0, 50, P.r.copy())
            return P, handle, lambda r: heap_velocities(P, r), 50

        found.add(agree(start, budget))
    assert budget < 90 or found == {SOLVED, OVER_BUDGET}


@pytest.mark.nojit
def test_a_part_whose_factors_do_not_fit_is_told():
    P, handle, _, _, c1 = disturbed(0, bad=(5,))
    handle = make_system_handle(P._replace(factors=make_factors(0, c1, 0, -16 * c1 - 16)))
    assert _solve_parts(handle, 0, goal(1e-10), 400)[0] == TOO_LARGE


@pytest.mark.nojit
def test_a_heap_most_of_which_is_solved_needs_no_path():
    """15 steps leave 2e-3; a part of 21 contacts and few steps of all are enough, on the path 27 are."""
    steps = []
    for room in (BLOCKS, 0):
        P, warm = heap("heap_of_16", room)
        handle = make_system_handle(P)
        P.r[:ROWS] = warm
        assert solve_island(handle, 0, Goal(1e-10, 1e-5, True, True, False, LEAST_EPS), 15)[0] != SOLVED
        P.r[:ROWS] = warm
        status, count, left = search(handle, 0, Goal(1e-10, 1e-5, True, True, False, LEAST_EPS), 400)
        assert status == SOLVED and left <= 1e-10
        assert residual(P.blocks, P.r, heap_velocities(P, P.r), 0, BLOCKS) <= 1.1e-10
        steps.append(count)
    assert 17 <= steps[0] <= 21 and steps[1] >= 40


@pytest.mark.nojit
def test_parts_stay_within_the_budget():
    P, warm = heap("heap_of_16", BLOCKS)
    handle, found = make_system_handle(P), []
    for budget in range(15, 24):  # residuals of steps that go on differ by what a part was solved to
        P.r[:ROWS] = warm
        status, steps, left = search(handle, 0, Goal(1e-10, 1e-5, True, True, False, LEAST_EPS), budget)
        assert steps <= budget and left == pytest.approx(residual(P.blocks, P.r, P.u, 0, BLOCKS))
        found.append(left)
    assert all(b <= 1.01 * a for a, b in zip(found, found[1:])) and found[0] > 1e-6 and found[-1] <= 1e-10


@pytest.mark.nojit
@pytest.mark.parametrize("seed", (0, 2, 3))  # whose contact 5 presses
def test_impulses_that_solved_other_contacts_begin_with_the_part_that_is_not_solved(seed):
    used = {}
    for taken in (RESUMED, 1e-5):
        P, handle, _, rows, c1 = disturbed(seed, bad=(5,))
        assert residual(P.blocks, P.r, P.u, 0, int(P.count[0])) > 0.05
        status, used[taken], now = search(handle, 0, Goal(1e-10, taken, False, False, True, LEAST_EPS), 400)
        assert status == SOLVED and now <= 1e-10
        assert search(handle, 0, Goal(1e-10, RESUMED, False, False, True, LEAST_EPS), 400)[:2] == (SOLVED, 0)
    assert used[RESUMED] < used[1e-5]  # steps on a part count by its share
