# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Where two surfaces are nearest to each other, from nothing: grids over all charts, then finer and finer ones.

What is found here is where Newton's method starts; it does not need derivatives and stays within the charts.
"""

from typing import NamedTuple

import numpy as np

SEARCH = 17  #: points along each side of a chart
STARTS = 2  #: pairs that are kept of each two charts: a chart's end hides what is nearer in the next one
MOST_PAIRS = 16  #: pairs that are looked at closely, of surfaces of many charts
SMALL = 1.0 / 16.0  #: charts of a smaller part of the largest one's share have no grid
LEVELS = 24  #: finer grids at most
FINEST = 1e-3  #: width of the last of them, in those of the first
FINE = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 5)] * 2, indexing="ij"), -1).reshape(-1, 2)
INNER = frozenset(np.flatnonzero(np.abs(FINE).max(axis=1) < 1.0).tolist())


class Pair(NamedTuple):
    """A point of each surface, near each other."""

    distance: float  #: [m]
    charts: tuple
    u1: np.ndarray  #: (2,)
    u2: np.ndarray  #: (2,)
    width1: np.ndarray  #: (2,), of the next finer grid
    width2: np.ndarray


class Grids:
    """Grids of two surfaces, the second at (R, p) in axes of the first.

    A chart without end is covered about the other surface, as far as that reaches.
    """

    def __init__(self, surfaces, R, p):
        self.surfaces, self.R = surfaces, R
        reach = [_reach(surface) for surface in surfaces]
        middle = [R @ surfaces[1].p + p, R.T @ (surfaces[0].p - p)]  # of the other surface, in axes of this one
        self.grids = [
            [_grid(surface, chart, middle[k], reach[1 - k]) for chart in _large(surface)]
            for k, surface in enumerate(surfaces)
        ]
        self.size = sum(reach)

    def nearest(self, p, keep=STARTS, levels=LEVELS):
        """The nearest Pairs with surface 2 at p, ``keep`` of each two charts that lie apart, the nearest first."""
        found, least = [], np.inf
        for bound, one, two in self._by_bound(p):
            if bound > least and len(found) >= MOST_PAIRS:
                break
            (first, u1, c1, w1, *_), (second, u2, c2, w2, *_) = one, two
            moved = c2 @ self.R.T + p
            square = (c1 * c1).sum(1)[:, None] + (moved * moved).sum(1) - 2.0 * c1 @ moved.T
            columns = np.arange(len(moved))
            best = square.argmin(axis=0)
            for j in _apart(np.maximum(square[best, columns], 0.0), u2, w2, keep):
                i = best[j]
                found.append(Pair(np.sqrt(max(square[i, j], 0.0)), (first, second), u1[i], u2[j], w1, w2))
                least = min(least, found[-1].distance)
        found = sorted(found, key=lambda pair: pair.distance)[:MOST_PAIRS]
        return sorted((self._finer(pair, p, levels) for pair in found), key=lambda pair: pair.distance)

    def _by_bound(self, p):
        """(least distance, grid 1, grid 2) of each two charts, by balls around their grids, the nearest first."""
        (centre1, radius1), (centre2, radius2) = (
            (np.array([grid[4] for grid in grids]), np.array([grid[5] for grid in grids])) for grids in self.grids
        )
        apart = np.linalg.norm(centre1[:, None] - (centre2 @ self.R.T + p), axis=-1) - radius1[:, None] - radius2
        for k in np.argsort(apart, axis=None, kind="stable"):
            i, j = divmod(int(k), len(centre2))
            yield apart[i, j], self.grids[0][i], self.grids[1][j]

    def _finer(self, pair, p, levels):
        least = FINEST * pair.width1[0]
        for _ in range(levels):
            u1, c1 = self._around(0, pair.charts[0], pair.u1, pair.width1)
            u2, c2 = self._around(1, pair.charts[1], pair.u2, pair.width2)
            apart = np.linalg.norm(c1[:, None] - (c2 @ self.R.T + p), axis=-1)
            i, j = np.unravel_index(apart.argmin(), apart.shape)
            narrow = [0.5 if m in INNER else 1.0 for m in (i, j)]  # at its edge a grid moves on before it shrinks
            pair = Pair(
                float(apart[i, j]), pair.charts, u1[i], u2[j], narrow[0] * pair.width1, narrow[1] * pair.width2
            )
            if pair.width1[0] <= least and narrow[1] < 1.0:
                break
        return pair

    def _around(self, k, chart, u, width):
        bounds = np.array(self.surfaces[k].charts[chart].bounds)
        u = np.clip(u + width * FINE, bounds[:, 0], bounds[:, 1])
        return u, self.surfaces[k].points(u, chart)


def _reach(surface):
    """How far a surface goes from its own origin [m]; one without end counts as long as it is wide."""
    return max(np.linalg.norm(surface.samples(chart)[1] - surface.p, axis=1).max() for chart in _large(surface))


def _large(surface):
    """Charts that are not far smaller than others: in these Newton's method ends that begins beside them."""
    least = SMALL * max(chart.share for chart in surface.charts)
    return [i for i, chart in enumerate(surface.charts) if chart.share >= least]


def _grid(surface, chart, middle, reach):
    """(chart, u, points, spacing, centre, radius) of a grid over a chart."""
    part = surface.charts[chart]
    inside = surface.R.T @ (middle - surface.p)
    u = part.samples(SEARCH, inside, 1.5 * reach)
    points = surface.points(u, chart)
    centre = points.mean(axis=0)
    radius = np.linalg.norm(points - centre, axis=1).max()
    return chart, u, points, np.ptp(u, axis=0) / (np.sqrt(len(u)) - 1.0), centre, radius


def _apart(values, u, spacing, keep):
    """Indices of the smallest values whose u lie two spacings apart."""
    chosen = []
    for j in np.argsort(values):
        if all((np.abs(u[j] - u[i]) > 2.0 * spacing).any() for i in chosen):
            chosen.append(j)
        if len(chosen) == keep:
            break
    return chosen
