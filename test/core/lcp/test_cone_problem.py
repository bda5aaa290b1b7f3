# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The projection on a cone with several friction groups: the formula for one, optimality for more."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.lcp.cone_problem import project_normal

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("x, length", [(1.0, 0.2), (1.0, 3.0), (-0.1, 1.0), (-5.0, 1.0), (0.0, 0.0)])
@pytest.mark.parametrize("slope", [0.0, 0.5, 2.0])
def test_one_group_is_the_second_order_cone(x, length, slope):
    """Inside it stays, in the polar cone it is the apex, else the foot of the perpendicular."""
    if length <= slope * x:
        want = x
    elif slope * length <= -x:
        want = 0.0
    else:
        want = (x + slope * length) / (1.0 + slope * slope)
    assert project_normal(x, np.array([length]), np.array([slope]), 1) == pytest.approx(want, abs=1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_several_groups_at_the_least_distance(seed):
    rng = np.random.default_rng(seed)
    groups = 1 + seed % 3
    x, length, slope = rng.normal(), rng.uniform(0.0, 2.0, groups), rng.uniform(0.1, 1.5, groups)

    def distance(n):
        return (n - x) ** 2 + (np.maximum(length - slope * n, 0.0) ** 2).sum()

    n = project_normal(x, length, slope, groups)
    assert n >= 0.0
    assert all(distance(n) <= distance(other) + 1e-14 for other in np.append(np.linspace(0.0, 4.0, 401), n + 1e-5))


def test_only_the_leading_groups_count():
    assert project_normal(1.0, np.array([9.0]), np.array([1.0]), 0) == 1.0
