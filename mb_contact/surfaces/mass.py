# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Mass properties of bodies that are given by a surface."""

from functools import cache
from itertools import product

import numpy as np

from mb_contact.errors import InputError
from mb_contact.surfaces.bodies import SurfaceBody
from mb_contact.surfaces.surface import Surface

POINTS = 24  #: of Gauss and Legendre's rule along each side of a span
LEAST_POINTS = 3  #: of a small chart


def shell(surface: Surface, mass: float) -> SurfaceBody:
    """A thin shell of uniform density in the shape of a bounded surface.

    Parameters
    ----------
    surface : Surface
    mass : float
        [kg]

    Returns
    -------
    SurfaceBody
        In the frame of the surface.

    Raises
    ------
    InputError
        The surface has no end, or the mass is not greater than zero.

    Examples
    --------
    >>> square = mb.surfaces.bezier([[[-0.5, -0.5, 0], [-0.5, 0.5, 0]], [[0.5, -0.5, 0], [0.5, 0.5, 0]]])
    >>> np.diag(mb.surfaces.shell(square, 12.0).inertia)
    array([1., 1., 2.])
    """
    if not mass > 0.0:
        raise InputError(f"mass must be greater than zero, got {mass}")
    area, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for index, chart in enumerate(surface.charts):
        if not np.isfinite(chart.bounds).all():
            raise InputError(f"{surface.name} has no end: a shell needs a bounded surface, such as a Bezier patch")
        (s, weight_s), (t, weight_t) = (_rule(chart, side) for side in range(2))
        D = [surface.derivatives(u, index) for u in product(s, t)]
        c, c_s, c_t = (np.array([getattr(at, part) for at in D]) for part in ("c", "s", "t"))
        piece = np.outer(weight_s, weight_t).ravel() * np.linalg.norm(np.cross(c_s, c_t), axis=1)
        area += piece.sum()
        first += piece @ c
        second += (piece * c.T) @ c
    com = first / area
    second = mass * (second / area - np.outer(com, com))
    return SurfaceBody(surface, float(mass), np.trace(second) * np.eye(3) - second, com)


_gauss = cache(np.polynomial.legendre.leggauss)


def _rule(chart, side):
    """Nodes and weights over all spans of a side; fewer in a small chart, which weighs little."""
    nodes, weights = _gauss(max(LEAST_POINTS, round(POINTS * chart.share**0.5)))
    ends = np.unique(np.clip(chart.knots[side], *chart.bounds[side]))
    half = 0.5 * np.diff(ends)[:, None]
    return (ends[:-1, None] + half * (nodes + 1.0)).ravel(), (half * weights).ravel()
