# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Eq. 53 of J14 as the kernels write it out, against dense matrices, and impulses back from its unknowns."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.lcp.lcp import impulses_of, lcp_assemble, lcp_size, make_pyramids
from oracles.coulomb import dense_lcp

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("n_f", [4, 8])
@pytest.mark.parametrize("dim", [[3], [1], [3, 1, 3], [1, 3, 3, 1]])
def test_the_problem_and_its_impulses(dim, n_f):
    rng = np.random.default_rng(len(dim))
    R = sum(dim)
    W, q, mu = rng.normal(size=(R, R)), rng.normal(size=R), rng.uniform(0.1, 1.0, len(dim))
    W = W + W.T
    blocks = make_pyramids(len(dim), n_f)
    blocks.count[0] = len(dim)
    blocks.dim[:], blocks.mu[:], blocks.start[:] = dim, mu, np.cumsum(dim) - dim
    size = lcp_size(blocks)
    assert size == sum(n_f + 2 if d == 3 else 1 for d in dim)
    M, h, r = np.full((size, size), np.nan), np.full(size, np.nan), np.zeros(R)
    assert lcp_assemble(W, q, blocks, M, h) == size
    want, constant, Z = dense_lcp(W, q, mu, dim, n_f)
    np.testing.assert_allclose(M, want, atol=1e-13)
    np.testing.assert_allclose(h, constant, atol=1e-13)
    z = rng.normal(size=size)
    impulses_of(blocks, z, r)
    np.testing.assert_allclose(r, Z @ z, atol=1e-13)
