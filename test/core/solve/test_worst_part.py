# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The part of a large island that is not solved, and its search, on a captured step of 27 boxes with 92 contacts."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.solve import search as searching
from mb_contact.core.solve.laws import residual
from mb_contact.core.solve.newton import SOLVED, solve_island
from mb_contact.core.solve.newton_step import evaluate
from mb_contact.core.solve.search import search
from mb_contact.core.solve.system import make_system_handle
from mb_contact.core.solve.worst_part import pose_worst_part, take_part
from scenes.heaps import heap, heap_velocities

BLOCKS, BODIES, ROWS = 92, 27, 276


def solved_heap(room=BLOCKS):
    """The System with its solution, and its handle."""
    P, warm = heap("heap_of_27", room)
    handle = make_system_handle(P)
    P.r[:ROWS] = warm
    status, _, left = search(handle, 0, 0, BODIES, 1e-12, 1e-5, True, 400, True, True)
    assert status == SOLVED and left <= 1e-12
    return P, handle


def pieces_of(P, b):
    return set(P.bodies.piece[P.bodies.entry[b] : P.bodies.entry[b + 1]])


def test_the_part_has_all_contacts_of_the_bodies_whose_contacts_are_not_solved():
    """One contact without its impulse: its neighbours have errors as large, all others a thousandth at most."""
    P, handle = solved_heap()
    b = int(np.argmin(np.abs(P.r[:ROWS:3] - np.median(P.r[:ROWS:3]))))
    P.r[3 * b : 3 * b + 3] = 0.0
    evaluate(handle, 0, BLOCKS, 0, BODIES, P.r.copy())
    errors = np.array([residual(P.blocks, P.r, P.u, k, k + 1) for k in range(BLOCKS)])
    bad = set.union(*(pieces_of(P, k) for k in np.flatnonzero(errors > 1e-3 * errors.max())))
    expected = [k for k in range(BLOCKS) if pieces_of(P, k) & bad]
    before = P.r.copy(), P.u.copy()
    assert pose_worst_part(handle, 0, 1e-10)
    end, rows, n = int(P.island[2]), np.ravel([[3 * k, 3 * k + 1, 3 * k + 2] for k in expected]), 3 * len(expected)
    assert end - BLOCKS == len(expected) < BLOCKS // 2 and P.count.tolist() == [BLOCKS, ROWS, 1]
    np.testing.assert_array_equal(P.source[ROWS : ROWS + n], rows)
    np.testing.assert_array_equal(P.r[ROWS : ROWS + n], before[0][rows])
    for name in ("mu", "D", "S"):
        part = getattr(P.blocks, name)
        np.testing.assert_array_equal(part[ROWS : ROWS + n], part[rows])
    touched = set.union(*(pieces_of(P, k) for k in expected))
    assert set(P.bodies.pieces[BODIES : P.bodies.first_piece[2]]) == touched
    np.testing.assert_array_equal(P.r[:ROWS], before[0][:ROWS])
    np.testing.assert_array_equal(P.u[:ROWS], before[1][:ROWS])
    evaluate(handle, BLOCKS, end, BODIES, int(P.bodies.first_piece[2]), P.r.copy())
    np.testing.assert_allclose(P.u[ROWS : ROWS + n], before[1][rows], atol=1e-13)


def test_a_solution_of_the_part_solves_its_contacts_in_the_island():
    P, handle = solved_heap()
    P.r[0:3] = 0.0
    evaluate(handle, 0, BLOCKS, 0, BODIES, P.r.copy())
    others = P.r.copy()
    assert pose_worst_part(handle, 0, 1e-10)
    first, last = BODIES, int(P.bodies.first_piece[2])
    assert search(handle, 1, first, last, 1e-11, 1e-3, False, 200, False, True)[0] == SOLVED
    take_part(handle)
    part = P.source[ROWS : P.blocks.start[P.island[2]]]
    rest = np.setdiff1d(np.arange(ROWS), part)
    np.testing.assert_array_equal(P.r[rest], others[rest])
    u = heap_velocities(P, P.r)
    for b in part[::3] // 3:
        assert residual(P.blocks, P.r, u, b, b + 1) <= 1.1e-11


@pytest.mark.parametrize("what", ["blocks", "too many"])
def test_without_room_and_where_most_is_not_solved_there_is_no_part(what):
    P, handle = solved_heap(2 if what == "blocks" else BLOCKS)
    P.r[: 3 if what == "blocks" else ROWS // 2] = 0.0
    evaluate(handle, 0, BLOCKS, 0, BODIES, P.r.copy())
    before = P.r[:ROWS].copy(), P.u[:ROWS].copy()
    assert not pose_worst_part(handle, 0, 1e-10)
    np.testing.assert_array_equal(P.r[:ROWS], before[0])
    np.testing.assert_array_equal(P.u[:ROWS], before[1])


def test_a_heap_most_of_which_is_solved_needs_no_path():
    """15 steps leave 4e-5; 5 of the part's, of 40 % of the contacts, and 5 of all are enough, on the path 31 are."""
    steps = []
    for room in (BLOCKS, 0):
        P, warm = heap("heap_of_27", room)
        handle = make_system_handle(P)
        P.r[:ROWS] = warm
        assert solve_island(handle, 0, 0, BODIES, 1e-10, 1e-5, True, 15, 15, True, False)[0] != SOLVED
        P.r[:ROWS] = warm
        status, count, left = search(handle, 0, 0, BODIES, 1e-10, 1e-5, True, 400, True, False)
        assert status == SOLVED and left <= 1e-10
        assert residual(P.blocks, P.r, heap_velocities(P, P.r), 0, BLOCKS) <= 1.1e-10
        steps.append(count)
    assert steps[0] <= 24 and steps[1] >= 40


def test_the_steps_of_parts_count_in_the_budget():
    P, warm = heap("heap_of_27", BLOCKS)
    handle, found = make_system_handle(P), []
    for budget in range(15, 24):
        P.r[:ROWS] = warm
        status, steps, left = search(handle, 0, 0, BODIES, 1e-10, 1e-5, True, budget, True, False)
        assert steps <= budget and left == pytest.approx(residual(P.blocks, P.r, P.u, 0, BLOCKS))
        found.append(left)
    assert found == sorted(found, reverse=True) and found[0] > 1e-6 and found[-1] <= 1e-10


def test_a_part_that_is_not_solved_changes_nothing():
    """No Newton step for the part: the impulses are those of the search before it."""
    P, warm = heap("heap_of_27", BLOCKS)
    handle = make_system_handle(P)
    P.r[:ROWS] = warm
    _, _, now = solve_island(handle, 0, 0, BODIES, 1e-10, 1e-5, True, 15, 15, True, False)
    before = P.r[:ROWS].copy()
    status, steps, left = searching._solve_parts(handle, 0, 0, BODIES, 1e-10, 0, now, False)
    assert steps == 0 and left == pytest.approx(now, rel=1e-4) and status != SOLVED
    np.testing.assert_array_equal(P.r[:ROWS], before)
