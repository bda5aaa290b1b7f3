# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Both faces of the operator of a step against J M^-1 J*, scales of friction groups, rows that nothing moves."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.solve.assemble import assemble_by_bodies, choose_form, scale_normals, set_velocities, spread_scales
from mb_contact.core.solve.by_bodies import apply_bodies
from mb_contact.core.solve.system import BY_BODIES, BY_ROWS, ISLANDS, make_system, make_system_handle
from mb_contact.core.workspace import CONTACT, EQUALITY, UNILATERAL
from scenes.posed_steps import bar_and_ball, pose, two_balls

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("make", [bar_and_ball, lambda: two_balls(-1e-4)])
def test_both_faces_are_the_compliance_of_the_rows(make):
    sim = make()
    posed, P = pose(sim), sim.context.system
    n, source = posed.n_rows, P.source[: posed.n_rows]
    W = (posed.J @ np.linalg.solve(posed.M, posed.J.T))[np.ix_(source, source)]
    if P.form[0] == BY_ROWS:
        np.testing.assert_allclose(P.W[np.ix_(source, source)], W, atol=1e-12)
    c = sim.context
    assert assemble_by_bodies(make_system_handle(P), c.forest, c.tree, c.kin, c.rows, c.bilateral, False)
    x, y, blocks, tiles = np.zeros(len(P.q)), np.zeros(len(P.q)), P.count[0], P.bodies.first_tile[P.count[2]]
    for j in range(n):
        x[:] = 0.0
        x[j] = 1.0
        apply_bodies(P.blocks.start, P.bodies, P.work, 0, blocks, 0, tiles, x, y)
        np.testing.assert_allclose(y[:n], W[:, j], atol=1e-12)
    np.testing.assert_allclose(P.blocks.D[:n], np.diag(W), atol=1e-12)  # before groups share a scale


def test_rows_that_differ_a_little_keep_their_scales():
    """The second problem of a step: its operator is that of its own rows."""
    sim = two_balls(-1e-4)
    posed, c = pose(sim), sim.context
    P, n = c.system, posed.n_rows
    W = (posed.J @ np.linalg.solve(posed.M, posed.J.T))[np.ix_(P.source[:n], P.source[:n])]
    handle = make_system_handle(P)
    assert assemble_by_bodies(handle, c.forest, c.tree, c.kin, c.rows, c.bilateral, False)
    D = P.blocks.D.copy()
    first, end = P.blocks.start[1:3]
    P.immobile[first] = 1
    c.rows.on_a[:n] *= 1.1
    c.rows.on_b[:n] *= 1.1
    assert assemble_by_bodies(handle, c.forest, c.tree, c.kin, c.rows, c.bilateral, True)
    x, y, blocks, tiles = np.zeros(len(P.q)), np.zeros(len(P.q)), P.count[0], P.bodies.first_tile[P.count[2]]
    for j in range(n):
        x[:] = 0.0
        x[j] = 1.0
        apply_bodies(P.blocks.start, P.bodies, P.work, 0, blocks, 0, tiles, x, y)
        np.testing.assert_allclose(y[:n], 1.21 * W[:, j], atol=1e-12)
    D[first:end] *= 1.21
    np.testing.assert_allclose(P.blocks.D, D, rtol=1e-14)  # those of a block with immobile rows are its own


def test_the_cheaper_face_is_taken():
    sim = two_balls(-1e-4)
    pose(sim)
    P, handle = sim.context.system, make_system_handle(sim.context.system)
    choose_form(handle, False, 0)
    assert P.form[0] == BY_ROWS  # nine rows
    choose_form(handle, False, len(P.W) + 1)
    assert P.form[0] == BY_BODIES  # of more rows, most of them in no block, W has no room for all
    P.blocks.start[P.island[1]] = 100  # as if there were a hundred
    choose_form(handle, False, 0)
    assert P.form[0] == BY_BODIES
    choose_form(handle, True, 0)
    assert P.form[0] == BY_ROWS


def test_a_long_chain_is_posed_by_rows_up_to_five_times_its_own_cost():
    sim = mb.Simulator(mb.pendulum(60, "j14").scene())
    P, handle = sim.context.system, make_system_handle(sim.context.system)
    P.count[ISLANDS], P.bodies.first_tile[1], P.bodies.tiles[:10] = 1, 10, np.arange(10)
    P.island[1] = 1
    for rows, face in ((103, BY_ROWS), (105, BY_BODIES)):  # 5 60^3 = 102.6^3, and 40,000 for the tiles
        P.blocks.start[1] = rows
        choose_form(handle, False, 0)
        assert P.form[0] == face


def test_a_friction_group_shares_one_scale():
    """mu_1^2 D_1 = mu_2^2 D_2 = the mean of mu^2 W; a row without friction keeps its own."""
    P = make_system(7, 2, 0, 7, np.zeros(0, np.int64), np.zeros(0, np.int64))
    P.blocks.kind[:], P.blocks.start[1:] = CONTACT, (3, 6)
    P.blocks.mu[:6], P.blocks.D[:6] = [0.0, 0.5, 0.25, 0.0, 0.3, 0.0], [9.0, 2.0, 4.0, 8.0, 3.0, 5.0]
    spread_scales(P.blocks, 2)
    mean = (0.25 * 2.0 + 0.0625 * 4.0) / 2
    np.testing.assert_allclose(P.blocks.D[:6], [9.0, mean / 0.25, mean / 0.0625, 8.0, 3.0, 5.0], rtol=1e-15)


@pytest.mark.parametrize("face", [BY_ROWS, BY_BODIES])
def test_a_normal_that_friction_moves_more_is_scaled_by_that(face):
    """S_n = max(W_nn, |(mu_1 W_n1, mu_2 W_n2)| / 10): the first contact is one of a folded chain."""
    P = make_system(6, 2, 0, 6, np.zeros(0, np.int64), np.zeros(0, np.int64))
    P.count[:], P.source[:], P.form[0] = (2, 6, 1), (3, 4, 5, 0, 1, 2), face
    P.blocks.kind[:], P.blocks.start[:] = CONTACT, (0, 3, 6)
    P.blocks.mu[:], P.blocks.D[:] = (0.0, 0.5, 0.5, 0.0, 0.5, 0.5), (1e-8, 4.0, 4.0, 1.0, 2.0, 2.0)
    coupling = [[3e-4, -4e-4], [0.9, 0.9]]
    for first, own, both in zip((3, 0), P.work.own, coupling):
        if face == BY_ROWS:
            P.W[first, first + 1 : first + 3] = both
        else:
            own[0, 1:3] = both
    spread_scales(P.blocks, 2)
    scale_normals(make_system_handle(P))
    np.testing.assert_allclose(P.blocks.S, [2.5e-5, 4.0, 4.0, 1.0, 2.0, 2.0], rtol=1e-15)
    np.testing.assert_array_equal(P.blocks.D, [1e-8, 4.0, 4.0, 1.0, 2.0, 2.0])  # the certificate's


def test_nothing_is_asked_of_rows_that_nothing_moves():
    P = make_system(5, 3, 0, 5, np.zeros(0, np.int64), np.zeros(0, np.int64))
    P.count[:] = 3, 5, 1
    P.blocks.kind[:], P.blocks.start[:] = (CONTACT, EQUALITY, UNILATERAL), (0, 3, 4, 5)
    P.source[:], P.blocks.D[:], P.immobile[:] = (4, 3, 2, 1, 0), 0.25, (1, 1, 0, 1, 0)
    set_velocities(make_system_handle(P), np.array([-5.0, -4.0, -3.0, -2.0, -1.0]))
    np.testing.assert_array_equal(P.q, [0.5, 0.0, -3.0, 0.0, -5.0])  # a normal parts at root D
