# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The sparse factors of M + J* G J against dense solves, and the order and pattern of elimination."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.solve.body_factors import factor_bodies, order_tiles, substitute_bodies
from mb_contact.core.solve.system import make_factors, make_system
from mb_contact.core.workspace import CONTACT
from scenes.body_systems import BLOCK_LIST, TREES, body_system, random_gain

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("seed", range(5))
def test_velocities_of_a_newton_step(seed):
    """dv = (M + J* G J)^-1 J* c; G is not symmetric."""
    P, J, M, _ = body_system(seed)
    rng = np.random.default_rng(seed)
    G, dense = random_gain(P, rng)
    c, dv = rng.normal(size=len(J)), np.zeros(J.shape[1])
    used = order_tiles(P.bodies, P.factors, 0, 5, 0, 4)
    assert factor_bodies(P.blocks, P.bodies, G, P.factors, used, 0, 5, 0, 4)
    substitute_bodies(P.blocks.start, P.bodies, P.factors, 0, 5, 0, 4, c, dv)
    np.testing.assert_allclose((M + J.T @ dense @ J) @ dv, J.T @ c, atol=1e-9)


def test_coupled_tiles_have_a_slot_each_way():
    P, *_ = body_system()
    used = order_tiles(P.bodies, P.factors, 0, 5, 0, 4)
    slot = P.factors.slot
    coupled = np.eye(4, dtype=bool)
    for _, touched in BLOCK_LIST:
        coupled[np.ix_(touched, touched)] = True
    coupled[1:3, 1:3] = True  # one tree
    assert (slot[coupled] >= 0).all()
    filled = slot[slot >= 0]
    assert sorted(filled) == list(range(used))  # each once
    assert sorted(P.factors.order) == list(range(sum(TREES)))


def chain(tiles, links):
    """A System of free bodies of unit mass with a contact for each pair of ``links``; every row is random."""
    rng = np.random.default_rng(3)
    P = make_system(3 * len(links), len(links), 2 * len(links), 0, np.ones(tiles, np.int64), np.arange(6 * tiles))
    P.blocks.kind[:], P.blocks.start[:], P.blocks.mu[:] = CONTACT, 3 * np.arange(len(links) + 1), 0.5
    ends = 2 * len(links)
    P.bodies.entry[:], P.bodies.tile[:ends] = 2 * np.arange(len(links) + 1), np.ravel(links)
    P.bodies.at[:ends], P.bodies.J[:] = 3 * np.arange(ends), rng.normal(size=P.bodies.J.shape)
    P.bodies.M[:] = np.tile(np.eye(6).ravel(), tiles)
    P.bodies.tiles[:tiles], P.bodies.first_tile[1] = np.arange(tiles), tiles
    return P._replace(factors=make_factors(0, tiles, 1000, 4000))


def by_least_degree(coupled):
    """Order of elimination of a symmetric pattern, the first of one degree first."""
    coupled, left, order = coupled.copy(), list(range(len(coupled))), []
    while left:
        a = min(left, key=lambda k: (coupled[k, left].sum(), k))
        left.remove(a)
        near = [k for k in left if coupled[a, k]]
        coupled[np.ix_(near, near)] = True
        order.append(a)
    return order


@pytest.mark.parametrize("seed", range(5))
def test_least_degree_goes_first(seed):
    rng = np.random.default_rng(seed)
    links = [(a, b) for a in range(20) for b in range(a) if rng.random() < 0.2]
    P, coupled = chain(20, links), np.eye(20, dtype=bool)
    for a, b in links:
        coupled[a, b] = coupled[b, a] = True
    used = order_tiles(P.bodies, P.factors, 0, len(links), 0, 20)
    assert P.factors.order.tolist() == by_least_degree(coupled) and used > 20 + 2 * len(links)


def test_a_matrix_that_is_singular_is_told():
    P = chain(2, [(0, 1)])
    G = np.zeros((3, 3))
    assert order_tiles(P.bodies, P.factors, 0, 1, 0, 2) == 4
    P.bodies.M[36:] = 0.0
    assert not factor_bodies(P.blocks, P.bodies, G, P.factors, 4, 0, 1, 0, 2)
    P.bodies.M[36:] = np.eye(6).ravel()
    assert factor_bodies(P.blocks, P.bodies, G, P.factors, 4, 0, 1, 0, 2)


@pytest.mark.parametrize("seed", range(3))
def test_factors_of_a_heap_of_forty(seed):
    """Blocks that many products go into, against a dense solve."""
    rng = np.random.default_rng(seed)
    links = [(a, b) for a in range(40) for b in range(a) if rng.random() < 0.15]
    P = chain(40, links)
    rows = 3 * len(links)
    P.count[:] = len(links), rows, 1
    G, dense = random_gain(P, rng)
    G[:], dense[:] = 0.3 * G, 0.3 * dense
    J = np.zeros((rows, 240))
    for b, pair in enumerate(links):
        for e, tile in enumerate(pair):
            J[3 * b : 3 * b + 3, 6 * tile : 6 * tile + 6] = P.bodies.J[6 * b + 3 * e : 6 * b + 3 * e + 3]
    c, dv = rng.normal(size=rows), np.zeros(240)
    used = order_tiles(P.bodies, P.factors, 0, len(links), 0, 40)
    until = P.factors.until[:used]
    assert until[-1] > 3 * used and (np.diff(until) >= 0).all()
    assert factor_bodies(P.blocks, P.bodies, G, P.factors, used, 0, len(links), 0, 40)
    substitute_bodies(P.blocks.start, P.bodies, P.factors, 0, len(links), 0, 40, c, dv)
    np.testing.assert_allclose(dv, np.linalg.solve(np.eye(240) + J.T @ dense @ J, J.T @ c), atol=1e-7)


@pytest.mark.parametrize(("blocks", "products"), [(9, 100), (5, 100), (100, 2)])
def test_factors_that_do_not_fit_are_named(blocks, products):
    P, *_ = body_system()
    least = 16 * 4 + 16
    tight = make_factors(1, 4, blocks - least, products - least)
    assert order_tiles(P.bodies, tight, 0, 5, 0, 4) == -1
    assert order_tiles(P.bodies, make_factors(1, 4, 10 - least, 3 - least), 0, 5, 0, 4) == 10
