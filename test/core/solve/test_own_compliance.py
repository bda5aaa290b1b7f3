# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Blocks of W on its diagonal, without the rest of it."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.solve.own_compliance import own_compliance, own_terms
from scenes.body_systems import body_system


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(3))
def test_own_compliances_are_the_blocks_of_w(seed):
    P, _, _, W = body_system(seed)
    own = np.full_like(P.work.own, np.nan)
    own_compliance(P.blocks.start, P.bodies, 0, 5, own, P.work.f)
    for b in range(5):
        i, size = P.blocks.start[b], P.blocks.start[b + 1] - P.blocks.start[b]
        np.testing.assert_allclose(own[b, :size, :size], W[i : i + size, i : i + size], atol=1e-12)
        for a in range(size):
            assert own_terms(P.bodies, b, a) >= W[i + a, i + a] * (1.0 - 1e-12)
