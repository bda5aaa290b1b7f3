# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The frictional contact problem on exact cones: its blocks and the projection.

    u = W r + q,      K* > u + s(u) n  _|_  r < K,      s = sum over the groups of |mu_g o u_g|      (De Saxce)

A block is one row (bilateral: u = 0; unilateral: 0 <= u _|_ r >= 0) or a contact: its normal row and *groups* of
friction
rows, each bound by its own ellipse, ``|r_g / mu_g| <= r_n``.  Sliding is one group of two rows; torsion and rolling are
groups of their own.
"""

from typing import NamedTuple

import numpy as np

from mb_contact.core.jit import kernel

FREE = 0  #: bilateral rows: u = 0
CONE = 1  #: a normal row and its friction groups; without friction one group of no rows


class ConeBlocks(NamedTuple):
    """Layout of the rows; friction rows of a block follow its normal row."""

    start: np.ndarray  #: int64 (m + 1,), first row
    kind: np.ndarray  #: int64 (m,), FREE or CONE
    group: np.ndarray  #: int64 (m + 1,), first group; a FREE block has none, a CONE at least one
    row: np.ndarray  #: int64 (groups,), first friction row
    size: np.ndarray  #: int64 (groups,), friction rows, 0 or more
    mu: np.ndarray  #: (rows,), coefficient of each friction row, 1 elsewhere
    mean: np.ndarray  #: (groups,), geometric mean of a group's coefficients


@kernel
def project_normal(x, length, slope, groups):
    """Normal part of the projection of (x, x_g) on ``|x_g| <= slope_g n``; ``length`` holds |x_g|.

    n minimises (n - x)^2 + sum of (|x_g| - slope_g n)_+^2.  Its derivative is concave and piecewise linear, so
    Newton's method from n = 0 climbs to the root in at most one step a group.
    """
    n = 0.0
    for _ in range(groups + 2):
        top = x
        bottom = 1.0
        for g in range(groups):
            if length[g] > slope[g] * n:
                top += slope[g] * length[g]
                bottom += slope[g] * slope[g]
        previous = n
        n = max(top / bottom, 0.0)
        if n <= previous:
            break
    return n
