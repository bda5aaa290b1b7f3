# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Mass properties of bodies that are given by a surface."""

import numpy as np

from mb_contact.errors import InputError
from mb_contact.surfaces.bodies import SurfaceBody
from mb_contact.surfaces.surface import Surface

POINTS = 24  #: of Gauss and Legendre's rule along each side of a span


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
        for s, weight_s in _rule(chart.knots[0], chart.bounds[0]):
            for t, weight_t in _rule(chart.knots[1], chart.bounds[1]):
                D = surface.derivatives((s, t), index)
                piece = weight_s * weight_t * np.linalg.norm(np.cross(D.s, D.t))
                area += piece
                first += piece * D.c
                second += piece * np.outer(D.c, D.c)
    com = first / area
    second = mass * (second / area - np.outer(com, com))
    return SurfaceBody(surface, float(mass), np.trace(second) * np.eye(3) - second, com)


def _rule(knots, bounds):
    """(node, weight) over all spans."""
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    ends = np.unique(np.clip(knots, *bounds))
    for low, high in zip(ends, ends[1:]):
        half = 0.5 * (high - low)
        yield from zip(low + half * (nodes + 1.0), half * weights)
