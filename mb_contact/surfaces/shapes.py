# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Surfaces by shape: plane, sphere, ellipsoid, cylinder, torus, Bezier and NURBS patches, and several joined."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import as_vector
from mb_contact.core.surfaces import layout as layout
from mb_contact.errors import InputError
from mb_contact.surfaces.charts import Chart, bezier_chart, ellipsoid_charts, spline_chart
from mb_contact.surfaces.surface import Surface


def plane(name: str = "plane") -> Surface:
    """The plane z = 0, normal along z; coordinates are x and y [m].

    Parameters
    ----------
    name : str
        For messages.

    Returns
    -------
    Surface

    Examples
    --------
    >>> mb.surfaces.plane().frame((0.0, 0.0))[:, 2]
    array([0., 0., 1.])
    """
    return Surface((Chart(layout.PLANE),), name)


def sphere(radius: float, name: str = "sphere") -> Surface:
    """A ball's surface; coordinates are azimuth and latitude [rad], in two charts.

    Parameters
    ----------
    radius : float
        [m]
    name : str
        For messages.

    Returns
    -------
    Surface

    Raises
    ------
    InputError
        The radius is not above zero.

    Examples
    --------
    >>> mb.surfaces.sphere(0.1)
    Surface('sphere', 2 charts)
    """
    return ellipsoid((radius, radius, radius), name)


def ellipsoid(axes: ArrayLike, name: str = "ellipsoid") -> Surface:
    """An ellipsoid; coordinates are angles [rad], in two charts.

    Parameters
    ----------
    axes : array_like (3,)
        Half axes along x, y and z [m].
    name : str
        For messages.

    Returns
    -------
    Surface

    Raises
    ------
    InputError
        A half axis is not above zero.

    Examples
    --------
    >>> mb.surfaces.ellipsoid((0.3, 0.2, 0.1)).point((0.0, 0.0))
    array([0.3, 0. , 0. ])
    """
    return Surface(ellipsoid_charts(_lengths(axes, 3, "axes")), name)


def cylinder(radius: float, name: str = "cylinder") -> Surface:
    """An endless cylinder about z; coordinates are azimuth [rad] and height [m].

    Parameters
    ----------
    radius : float
        [m]
    name : str
        For messages.

    Returns
    -------
    Surface

    Raises
    ------
    InputError
        The radius is not above zero.

    Examples
    --------
    >>> mb.surfaces.cylinder(0.2).point((np.pi / 2, 3.0))
    array([0. , 0.2, 3. ])
    """
    (radius,) = _lengths((radius,), 1, "radius")
    return Surface((Chart(layout.CYLINDER, (radius, 0.0, 0.0)),), name)


def torus(radius: float, tube: float, name: str = "torus") -> Surface:
    """A torus about z; coordinates are angles [rad].

    Parameters
    ----------
    radius : float
        Of the circle in its middle [m].
    tube : float
        Of the tube [m].
    name : str
        For messages.

    Returns
    -------
    Surface

    Raises
    ------
    InputError
        A length is not above zero.

    Examples
    --------
    >>> mb.surfaces.torus(0.3, 0.1).point((0.0, 0.0))
    array([0.4, 0. , 0. ])
    """
    radius, tube = _lengths((radius, tube), 2, "radius and tube")
    return Surface((Chart(layout.TORUS, (radius, tube, 0.0)),), name)


def bezier(points: ArrayLike, weights: ArrayLike | None = None, name: str = "bezier") -> Surface:
    """A tensor-product Bezier patch, maybe rational; coordinates from 0 to 1.

    Parameters
    ----------
    points : array_like (n, m, 3)
        Control points [m]; degrees are n - 1 and m - 1.
    weights : array_like (n, m), optional
    name : str
        For messages.

    Returns
    -------
    Surface

    Raises
    ------
    InputError
        The numbers are no control net.

    Examples
    --------
    >>> patch = mb.surfaces.bezier([[[0, 0, 0], [0, 1, 0]], [[1, 0, 0], [1, 1, 1]]])
    >>> patch.point((0.5, 0.5))
    array([0.5 , 0.5 , 0.25])
    """
    return Surface((bezier_chart(points, weights),), name)


def nurbs(
    points: ArrayLike,
    knots_s: ArrayLike,
    knots_t: ArrayLike,
    weights: ArrayLike | None = None,
    name: str = "nurbs",
) -> Surface:
    """A NURBS surface; contact dynamics needs it twice continuous, so knots single at most degree - 2 times.

    Parameters
    ----------
    points : array_like (n, m, 3)
        Control points [m].
    knots_s, knots_t : array_like
        Knots along s and t; with n control points and degree d there are n + d + 1.
    weights : array_like (n, m), optional
    name : str
        For messages.

    Returns
    -------
    Surface

    Raises
    ------
    InputError
        The numbers are no control net, or knots do not rise.

    Examples
    --------
    >>> corners = [[[0, 0, 0], [0, 1, 0]], [[1, 0, 0], [1, 1, 1]]]
    >>> mb.surfaces.nurbs(corners, [0, 0, 1, 1], [0, 0, 1, 1]).point((0.5, 0.5))
    array([0.5 , 0.5 , 0.25])
    """
    return Surface((spline_chart(points, knots_s, knots_t, weights),), name)


def atlas(surfaces: Iterable[Surface], name: str = "atlas") -> Surface:
    """One surface of several that meet smoothly; all on the same side and at the same place.

    Parameters
    ----------
    surfaces : sequence of Surface
    name : str
        For messages.

    Returns
    -------
    Surface
        With the charts of all.

    Raises
    ------
    InputError
        None is given, or they differ in side or placement.

    Examples
    --------
    >>> left = mb.surfaces.bezier([[[-1, 0, 0], [-1, 1, 0]], [[0, 0, 0], [0, 1, 0]]])
    >>> right = mb.surfaces.bezier([[[0, 0, 0], [0, 1, 0]], [[1, 0, 0], [1, 1, 0]]])
    >>> mb.surfaces.atlas([left, right]).locate((0.5, 0.5, 0.0))[:2]
    (1, array([0.5, 0.5]))
    """
    surfaces = tuple(surfaces)
    first: Any = surfaces[0] if surfaces else None
    for other in surfaces[1:]:
        if other.side != first.side or not (np.array_equal(other.R, first.R) and np.array_equal(other.p, first.p)):
            raise InputError(f"{other.name} must have the side and the placement of {first.name}")
    charts = [chart for surface in surfaces for chart in surface.charts]
    return Surface(charts, name, first.side if first else 1, first and first.R, first and first.p)


def _lengths(values, size, name):
    values = as_vector(values, size, name)
    if not (values > 0.0).all():
        raise InputError(f"{name} must be greater than zero, got {', '.join(f'{x:g}' for x in values)}")
    return tuple(float(x) for x in values)
