# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The part of a large island that is not solved, and the search by parts, written out once more in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.solve.assemble import scale_normals, spread_scales
from mb_contact.core.solve.by_bodies import factor_masses
from mb_contact.core.solve.laws import residual
from mb_contact.core.solve.newton import LEAST_EPS, NO_MOTION, OVER_BUDGET, SOLVED, TOO_LARGE, Goal, solve_island
from mb_contact.core.solve.newton_step import evaluate
from mb_contact.core.solve.own_compliance import own_compliance
from mb_contact.core.solve.parts import pose_part, take_part
from mb_contact.core.solve.pivoting import fits, start_elsewhere
from mb_contact.core.solve.search import _solve_parts, search
from mb_contact.core.solve.system import BY_BODIES, BY_ROWS, make_factors, make_system, make_system_handle
from mb_contact.core.workspace import CONTACT
from mb_contact.solvers.blocks import solve_blocks
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


# --- by rows: the contacts that press or are not solved -------------------------------------------


def few_act(count, acting, velocity=5.0):
    """W, q and mu of so many coupled contacts; all but the ``acting`` ones part at about ``velocity`` [m/s]."""
    rng = np.random.default_rng([count, len(acting)])
    A = rng.normal(size=(3 * count, 60)) / np.sqrt(60.0)
    q = rng.normal(size=3 * count)
    q[::3] = velocity + rng.random(count)
    q[3 * np.array(acting, np.int64)] = -rng.uniform(0.5, 1.5, len(acting))
    return A @ A.T, q, np.tile([0.0, 0.4, 0.4], count)


def by_rows(W, q, mu, room=1):
    """A System of contacts by rows, with room for a part of so many times its size."""
    rows, count = len(q), len(q) // 3
    none = np.zeros(0, np.int64)
    P = make_system((1 + room) * rows, (1 + room) * count, 0, rows, none, none)
    P.count[:], P.form[0], P.island[1] = (count, rows, 1), BY_ROWS, count
    P.blocks.kind[:count], P.blocks.start[: count + 1] = CONTACT, 3 * np.arange(count + 1)
    P.blocks.mu[:rows], P.q[:rows], P.source[:rows], P.W[:] = mu, q, np.arange(rows), W
    P.blocks.D[:rows] = np.diag(W)
    spread_scales(P.blocks, count)
    return P, make_system_handle(P)


@pytest.mark.nojit
def test_contacts_that_neither_press_nor_approach_are_left_out():
    W, q, mu = few_act(70, (3, 20, 41))
    P, handle = by_rows(W, q, mu)
    r = np.zeros(210)
    r[150:153], r[31] = (0.1, 0.02, 0.0), 0.3  # those of other contacts: what friction alone is left with counts too
    evaluate(handle, 0, 70, 0, 0, r)
    assert pose_part(handle, 0, 1e-10, True)
    part = [b for b in range(70) if r[3 * b : 3 * b + 3].any() or residual(P.blocks, r, W @ r + q, b, b + 1) > 1e-10]
    assert set(part) >= {3, 10, 20, 41, 50} and len(part) < 28
    own = np.concatenate([np.arange(3 * b, 3 * b + 3) for b in part])
    copy = slice(210, 210 + len(own))
    np.testing.assert_array_equal(P.origin[copy], own)
    np.testing.assert_allclose(P.q[copy], (W @ r + q)[own] - W[np.ix_(own, own)] @ r[own], atol=1e-13)
    evaluate(handle, 70, int(P.island[2]), 0, 0, np.concatenate((r, r[own], np.zeros(210 - len(own)))))
    np.testing.assert_allclose(P.u[copy], (W @ r + q)[own], atol=1e-13)


@pytest.mark.parametrize("velocity", [5.0, 0.3, 0.05])  # at 0.05 m/s contacts come to approach, or most of them act
@pytest.mark.parametrize("count", [64, 90])
def test_few_acting_contacts_have_the_solution_of_all(count, velocity):
    W, q, mu = few_act(count, (3, 20, 41, 50), velocity)
    found = []
    for room in (1, 0):
        P, handle = by_rows(W, q, mu, room)
        status, steps, left = search(handle, 0, Goal(1e-10, 1e-3, False, True, True, LEAST_EPS), 400)
        u = W @ P.r[: 3 * count] + q
        assert status == SOLVED and residual(P.blocks, P.r, u, 0, count) <= 1.1e-10 and left <= 1e-10
        np.testing.assert_allclose(P.u[: 3 * count], u, atol=1e-12)
        found.append((steps, u))
    assert velocity < 1.0 or 1 <= found[0][0] <= 2
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-8)


SELF_LOCKING = (  # contacts of folded chains of 300 links: W of normal and tangent, their velocities
    ([[1.9439053217353665e-03, -8.5577161527149559e-02], [-8.5577161527149559e-02, 4.3787611693222104]],
     [-1.441135575319663e-07, -6.194043460665196e-05]),
    ([[0.00809395014872301, -0.1742205559553718], [-0.1742205559553718, 4.360837738629462]],
     [-2.1238078762308987e-07, -1.4432758941647773e-04]),
)  # fmt: skip


@pytest.mark.parametrize("own, asked", SELF_LOCKING)
def test_open_contacts_do_not_hide_one_that_locks_itself(own, asked):
    """Friction that pulls it inwards grows with the impulse: 400 Newton steps on all contacts ended at 1e-6 once."""
    W, q, mu = few_act(90, ())
    W[:3, :3] = 0.0
    W[:2, :2], W[2, 2], q[:3] = own, 1.0, (*asked, 0.0)
    W[2, 3] = W[3, 2] = 1e-2
    W[:2, 2:] = W[2:, :2] = 0.0
    W[2, 4:] = W[4:, 2] = 0.0
    found = solve_blocks(W, q, [CONTACT] * 90, [3] * 90, mu)
    assert found.status == "solved" and 1 <= found.steps <= 10
    expected = -np.linalg.solve(own, asked)  # it sticks, with 1e4 times the impulses that would stop it alone
    np.testing.assert_allclose(found.r[:2], expected, rtol=1e-6)
    assert expected[0] > 1e-3 and abs(expected[1]) < 0.4 * expected[0]
    assert not found.r[3:].any()


def test_contacts_come_to_approach_one_after_the_other():
    """Each impulse lets one more contact approach, which is in the next part: five parts behind the first."""
    count, chain = 80, 5
    W, q, mu = few_act(count, (0,))
    W = np.eye(3 * count) + 1e-3 * W
    for k in range(chain):
        W[3 * k, 3 * k + 3] = W[3 * k + 3, 3 * k] = -0.45
    q[3 : 3 * chain + 3 : 3] = 0.02 * 0.4 ** np.arange(chain)
    taken = []
    for room in (1, 0):
        P, handle = by_rows(W, q, mu, room)
        status, steps, _ = search(handle, 0, Goal(1e-10, 1e-3, False, True, True, LEAST_EPS), 400)
        assert status == SOLVED and np.flatnonzero(P.r[: 3 * count : 3]).tolist() == list(range(chain + 1))
        taken.append(steps)
    assert taken[0] <= chain + 1 < taken[1]  # each part counts as one step of all


def test_a_part_that_jams_leaves_the_ray_to_the_island():
    """Ten bodies between two contacts each: the part shows the ray first, for its share of the steps."""
    W, q, mu = few_act(90, ())
    W[:60] = W[:, :60] = 0.0
    for k in range(0, 60, 6):
        W[k : k + 6, k : k + 6] = np.kron([[1.0, -1.0], [-1.0, 1.0]], np.eye(3))
        q[[k, k + 3]] = -1.0
    taken = []
    for room in (1, 0):
        _, handle = by_rows(W, q, mu, room)
        status, steps, _ = search(handle, 0, Goal(1e-10, 1e-3, False, True, True, LEAST_EPS), 400)
        assert status == NO_MOTION
        taken.append(steps)
    assert taken[1] < taken[0] <= 1.3 * taken[1]


@pytest.mark.nojit
@pytest.mark.parametrize("own, asked", SELF_LOCKING)
def test_by_bodies_a_contact_that_locks_itself_is_a_part(own, asked):
    """Newton steps on all contacts and on this one alone spend the budget: it happens in a pendulum of 300 links."""
    count = 66
    P = make_system(6 * count, 2 * count, 2 * count, 0, np.ones(count, np.int64), np.arange(6 * count))
    P = P._replace(factors=make_factors(0, count, 36 * count, 36 * count))
    rows, b = 3 * count, np.arange(count)
    P.count[:], P.form[0], P.island[1] = (count, rows, 1), BY_BODIES, count
    P.blocks.kind[:count], P.blocks.start[: count + 1] = CONTACT, 3 * np.arange(count + 1)
    P.source[:rows] = np.arange(rows)
    P.blocks.mu[:rows] = np.tile([0.0, 0.4, 0.4], count)
    P.bodies.tile[:count], P.bodies.at[:count], P.bodies.entry[: count + 1] = b, 3 * b, np.arange(count + 1)
    P.bodies.tiles[:count], P.bodies.first_tile[1] = b, count
    P.bodies.J[:rows] = np.tile(np.eye(3, 6), (count, 1))
    W = np.eye(3)
    W[:2, :2] = own
    P.bodies.M[: 36 * count] = np.tile(np.eye(6).ravel(), count)
    M = np.eye(6)
    M[:3, :3] = np.linalg.inv(W)
    P.bodies.M[:36] = M.ravel()
    factor_masses(P.bodies, 0, count)
    P.q[:rows:3], P.q[:2] = 5.0, asked
    P.blocks.D[:rows] = 1.0
    P.blocks.D[:3] = np.diag(W)
    own_compliance(P.blocks.start, P.bodies, 0, count, P.work.own, P.work.f)
    spread_scales(P.blocks, count)
    handle = make_system_handle(P)
    scale_normals(handle)
    status, steps, left = search(handle, 0, Goal(1e-10, 1e-3, True, True, True, LEAST_EPS), 400)
    assert status == SOLVED and left <= 1e-10 and steps <= 30
    np.testing.assert_allclose(P.r[:2], -np.linalg.solve(own, asked), rtol=1e-6)
    assert not P.r[3:rows].any()


# --- by bodies: the same on a long chain, posed by rows --------------------------------------------


def long_chain(count, acting, trees=(20,), dense=60, room=1):
    """(System, handle, W, q) of a tree with ``few_act`` velocities of so many contacts, by bodies.

    Of several trees the last one has the acting contacts.
    """
    rng, rows, tiles = np.random.default_rng(count), 3 * count, sum(trees)
    n = 6 * tiles
    P = make_system((1 + room) * rows, (1 + room) * count, 3 * count, dense, np.array(trees), np.arange(n))
    P = P._replace(factors=make_factors(dense, tiles, tiles**2, tiles**3))
    _, q, mu = few_act(count, acting)
    P.count[:], P.form[0], P.island[1], P.source[:rows] = (count, rows, 1), BY_BODIES, count, np.arange(rows)
    P.blocks.kind[:count], P.blocks.start[: count + 1] = CONTACT, 3 * np.arange(count + 1)
    P.blocks.mu[:rows], P.q[:rows] = mu, q
    J = np.zeros((rows, n))
    for b in range(count):
        first, last = (tiles - trees[-1], tiles) if b in acting else (0, trees[0])
        for e, tile in enumerate(rng.choice(np.arange(first, last), 3, replace=False)):
            at = 3 * (3 * b + e)
            P.bodies.tile[3 * b + e], P.bodies.at[3 * b + e] = tile, at
            P.bodies.J[at : at + 3] = J[3 * b : 3 * b + 3, 6 * tile : 6 * tile + 6] = rng.normal(size=(3, 6))
        P.bodies.entry[b + 1] = 3 * b + 3
    M, end = np.zeros((n, n)), 0
    for t, size in enumerate(6 * np.array(trees)):
        A = rng.normal(size=(size, size)) / np.sqrt(size)
        begin, end, at = end, end + size, P.bodies.mass_at[t]
        M[begin:end, begin:end] = own = A @ A.T + np.eye(size)
        P.bodies.M[at : at + size**2] = own.ravel()
    P.bodies.tiles[:tiles], P.bodies.first_tile[1] = np.arange(tiles), tiles
    factor_masses(P.bodies, 0, tiles)
    own_compliance(P.blocks.start, P.bodies, 0, count, P.work.own, P.work.f)
    W = J @ np.linalg.solve(M, J.T)
    P.blocks.D[:rows] = np.diag(W)
    spread_scales(P.blocks, count)
    handle = make_system_handle(P)
    scale_normals(handle)
    return P, handle, W, q


@pytest.mark.nojit
def test_few_acting_contacts_of_a_long_chain_are_posed_by_rows():
    P, handle, W, q = long_chain(70, (3, 20, 41))
    r = np.zeros(210)
    r[150:153] = 0.1, 0.02, 0.0
    evaluate(handle, 0, 70, 0, 20, r.copy())
    assert pose_part(handle, 0, 1e-10, True) and P.form[0] == BY_BODIES
    own, copy = P.origin[210 : P.blocks.start[P.island[2]]], slice(210, P.blocks.start[P.island[2]])
    assert 12 <= len(own) <= 36 and set(own[::3] // 3) >= {3, 20, 41, 50}
    np.testing.assert_allclose(P.q[copy], (W @ r + q)[own] - W[np.ix_(own, own)] @ r[own], atol=1e-12)
    P.form[0] = BY_ROWS
    evaluate(handle, 70, int(P.island[2]), 0, 0, np.concatenate((r, r[own], np.zeros(210 - len(own)))))
    np.testing.assert_allclose(P.u[copy], (W @ r + q)[own], atol=1e-12)


@pytest.mark.nojit
@pytest.mark.parametrize("trees, dense, acting", [((20,), 8, 3), ((4,), 60, 3), ((20,), 60, 20), ((20, 4), 60, 3)])
def test_many_acting_contacts_are_not(trees, dense, acting):
    """No room for W, a short chain, more than 0.3 of its velocities, and a long chain that has none of them.

    What an earlier order of elimination has left in ``degree`` does not matter.
    """
    for left in (0, 2):
        P, handle, *_ = long_chain(70, tuple(range(acting)), trees, dense)
        P.factors.degree[:] = left
        evaluate(handle, 0, 70, 0, sum(trees), P.r.copy())
        assert not pose_part(handle, 0, 1e-10, True)


@pytest.mark.parametrize("acting", [(3,), (3, 20, 41, 50), tuple(range(0, 70, 5))])
def test_a_long_chain_has_the_same_solution_either_way(acting):
    found = []
    for room in (1, 0):
        P, handle, W, q = long_chain(70, acting, room=room)
        status, steps, left = search(handle, 0, Goal(1e-10, 1e-3, False, True, True, LEAST_EPS), 400)
        u = W @ P.r[:210] + q
        assert status == SOLVED and left <= 1e-10 and P.form[0] == BY_BODIES
        assert residual(P.blocks, P.r, u, 0, 70) <= 1.1e-10
        found.append((steps, u))
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-8)
    assert found[0][0] < found[1][0] or len(acting) > 4
