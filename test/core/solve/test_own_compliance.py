# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Blocks of W on its diagonal, without the rest of it."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.declare import allocate
from mb_contact.core.solve.laws import RHO, linearise
from mb_contact.core.solve.own_compliance import own_compliance, own_terms, soften_step
from mb_contact.core.solve.system import Blocks
from mb_contact.core.workspace import BOX, CONTACT, EQUALITY, UNILATERAL
from scenes.body_systems import body_system


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(3))
def test_own_compliances_are_the_blocks_of_w(seed):
    P, _, _, W = body_system(seed)
    own = np.full_like(P.work.own, np.nan)
    own_compliance(P.blocks.start, P.bodies, 0, 5, own, P.work.Y)
    for b in range(5):
        i, size = P.blocks.start[b], P.blocks.start[b + 1] - P.blocks.start[b]
        np.testing.assert_allclose(own[b, :size, :size], W[i : i + size, i : i + size], atol=1e-12)
        for a in range(size):
            assert own_terms(P.bodies, b, a) >= W[i + a, i + a] * (1.0 - 1e-12)


def full(blocks, G, count):
    """G of the blocks' rows as a matrix."""
    out = np.zeros((len(G), len(G)))
    for b in range(count):
        n, end = blocks.start[b], blocks.start[b + 1]
        out[n, n] = G[n, 0]
        i = n + 1
        while i < end:
            size = 1 if i - n == 3 and end - n != 5 else 2
            for row in range(i, i + size):
                out[row, n] = G[row, 0]
                out[row, i : i + size] = G[row, 1 : 1 + size]
            i += size
    return out


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(4))
def test_a_newton_step_with_compliances_beside_w_is_one_with_w_alone(seed):
    rng = np.random.default_rng(seed)
    kinds, sizes = (CONTACT, UNILATERAL, CONTACT, BOX, CONTACT, EQUALITY, CONTACT), (3, 1, 5, 1, 6, 1, 4)
    R, B = sum(sizes), len(sizes)
    J = rng.normal(size=(R, R))
    W, C = J @ J.T, rng.uniform(0.0, 3.0, R) * (rng.random(R) < 0.7)
    D = np.diag(W) + C
    blocks = allocate(
        Blocks, R=R, B=B, kind=np.array(kinds), start=np.concatenate(([0], np.cumsum(sizes))),
        n_f=np.where(np.arange(B) == 2, 8, 0), mu=np.where(np.isin(np.arange(R), np.cumsum([0, *sizes])), 0.0, 0.6),
        D=D, S=D.copy(), own=C,
    )  # fmt: skip
    blocks.mu[blocks.start[3]] = 0.5  # of the box
    r, w = rng.normal(size=R), rng.normal(size=R)
    r[blocks.start[:-1]] = abs(r[blocks.start[:-1]]) + 1.0
    c, G = np.zeros(R), np.zeros((R, 3))
    linearise(blocks, r, w, 1e-3, RHO, 0, B, c, G)
    wanted = np.linalg.solve(np.eye(R) + full(blocks, G, B) @ (W + np.diag(C)), c)
    soften_step(blocks, 0, B, c, G)
    np.testing.assert_allclose(np.linalg.solve(np.eye(R) + full(blocks, G, B) @ W, c), wanted, rtol=1e-9, atol=1e-12)
