# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The part of a large island that presses or is not solved: of one by rows, and of a long chain by bodies."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.solve.assemble import scale_normals, spread_scales
from mb_contact.core.solve.by_bodies import factor_masses
from mb_contact.core.solve.laws import residual
from mb_contact.core.solve.newton import LEAST_EPS, NO_MOTION, SOLVED, Goal
from mb_contact.core.solve.newton_step import evaluate
from mb_contact.core.solve.own_compliance import own_compliance
from mb_contact.core.solve.parts import pose_part
from mb_contact.core.solve.search import search
from mb_contact.core.solve.system import BY_BODIES, BY_ROWS, make_factors, make_system, make_system_handle
from mb_contact.core.workspace import CONTACT
from mb_contact.solvers.blocks import solve_blocks

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
    own_compliance(P.blocks.start, P.bodies, 0, count, P.work.own, P.work.Y)
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
    own_compliance(P.blocks.start, P.bodies, 0, count, P.work.own, P.work.Y)
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
