# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The largest factor on all restitutions of an impact with which no energy appears."""

GRID = 64  #: factors that are tried on the way down from 1 before the largest is bisected


def largest_factor(gain, tolerance):
    """Largest factor from 0 to 1 with ``gain(factor) <= tolerance``: down a grid, then bisection to 1e-12.

    ``gain(0)`` is taken to be at most the tolerance: an inelastic collision creates no energy.
    """
    if gain(1.0) <= tolerance:
        return 1.0
    low, high = 0.0, 1.0
    for k in range(GRID - 1, 0, -1):
        if gain(k / GRID) <= tolerance:
            low = k / GRID
            break
        high = k / GRID
    while high - low > 1e-12:
        middle = 0.5 * (low + high)
        if gain(middle) <= tolerance:
            low = middle
        else:
            high = middle
    return low
