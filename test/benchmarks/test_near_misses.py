# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Random pairs of benchmarks/near_misses.py pass or hit as their geometry says."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from paths import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import near_misses as pairs  # noqa: E402 (a program, not a package)


def test_random_pairs_are_decided_as_their_geometry():
    told = [case for case in (pairs.judge((0, number)) for number in range(60)) if case["certain"]]
    hits = [case["distance"] < 0.0 for case in told]
    assert [case["hit"] for case in told] == hits
    assert len(told) > 35 and sum(hits) >= 8


@pytest.mark.parametrize("number", [54, 536])
def test_who_grazes_in_the_midst_of_a_step_is_hit(number):
    """0.7 and 0.2 um deep, which turning alone brings about: straight rows leave them open."""
    told = pairs.judge((0, number))
    assert told["certain"] and told["hit"] and -1e-6 < told["distance"] < 0.0


@pytest.mark.parametrize("kind", pairs.KINDS)
def test_support_points_are_the_farthest_ones_of_the_shape(kind):
    """The oracle's two descriptions of a shape agree: no point inside is farther along n, and what is behind is."""
    rng = np.random.default_rng(0)
    shape = pairs.drawn(rng, kind)
    n = Rotation.random(50, random_state=rng).apply([0.0, 0.0, 1.0])
    points = shape.support(n)
    inside = [p for p in rng.uniform(-0.15, 0.15, (4000, 3)) if shape.has(p)]
    assert len(inside) > 3
    assert ((points * n).sum(axis=1)[:, None] >= n @ np.array(inside).T).all()
    middle = np.mean(points, axis=0)
    assert all(shape.has(p + 1e-6 * (middle - p)) for p in points)
    assert not any(shape.has(p + 1e-6 * d) for p, d in zip(points, n))
