# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Charts: one parametrised piece of a surface each, and the shapes that are made of them."""

from dataclasses import dataclass

import numpy as np

from mb_contact.checks import as_vector
from mb_contact.core.surfaces import layout as layout
from mb_contact.errors import InputError

POLE_DISTANCE = 1.1  #: latitude up to which a chart of an ellipsoid is used [rad]; the next one has its pole elsewhere
SLACK = 1e-8  #: how far a contact goes beyond the bounds of a chart before another one takes it
UNBOUNDED = ((-np.inf, np.inf), (-np.inf, np.inf))


@dataclass(frozen=True, eq=False)
class Chart:
    """A piece of a surface c(s, t), in axes of the surface.

    Attributes
    ----------
    kind : int
        One of ``core.surfaces.layout``'s.
    size : tuple
        Three lengths [m].
    axis : int
        The axis that an ellipsoid's first one stands for.
    degrees, counts : tuple of int
        Of a spline along s and t.
    knots : tuple of ndarray
    net : ndarray (n_s, n_t, 4), optional
        Control points in homogeneous coordinates (w x, w y, w z, w).
    bounds : ((float, float), (float, float))
        Where (s, t) may be.
    origin : array_like (3,)
        What the control points are relative to [m].
    share : float
        Length of its sides beside those of other charts; its grids have as many points less.
    """

    kind: int
    size: tuple = (1.0, 1.0, 1.0)
    axis: int = 0
    degrees: tuple = (0, 0)
    counts: tuple = (0, 0)
    knots: tuple = ()
    net: np.ndarray | None = None
    bounds: tuple = UNBOUNDED
    origin: tuple | np.ndarray = (0.0, 0.0, 0.0)
    share: float = 1.0

    def code(self, side):
        """Row of integers for the kernels, without the place of its data."""
        rational = self.net is not None and bool(np.ptp(self.net[..., 3]) > 0.0)
        row = np.zeros(layout.CODES, np.int64)
        row[layout.KIND], row[layout.SIDE], row[layout.CHART] = self.kind, side, self.axis
        row[layout.DEGREE_S], row[layout.DEGREE_T] = self.degrees
        row[layout.COUNT_S], row[layout.COUNT_T] = self.counts
        row[layout.RATIONAL] = rational
        return row

    def data(self, R, p):
        """Numbers for the kernels, the surface placed at (R, p)."""
        spline = () if self.net is None else (*self.knots, self.net.ravel())
        return np.concatenate((R.ravel(), p + R @ self.origin, self.size, *spline))

    def holds(self, u):
        """Whether (s, t) is where it may be, or beyond by half of SLACK: a contact that has left is held elsewhere."""
        return all(low - 0.5 * SLACK <= x <= high + 0.5 * SLACK for x, (low, high) in zip(u, self.bounds))

    def samples(self, count, about=(0.0, 0.0, 0.0), reach=1.0):
        """A grid of ``count`` squared points (s, t), less of a small chart; without an end, as far as ``reach`` [m].

        ``about`` (3,), from where, is in axes of the surface.
        """
        lines, count = [], max(2, round((count - 1) * self.share) + 1)
        for i, (low, high) in enumerate(self.bounds):
            if not np.isfinite([low, high]).all():
                turns = self.kind != layout.PLANE and (i == 0 or self.kind == layout.TORUS)
                middle = about[2 if self.kind == layout.CYLINDER else i]
                low, high = (-np.pi, np.pi) if turns else (middle - reach, middle + reach)
            lines.append(np.linspace(low, high, count))
        return np.stack(np.meshgrid(*lines, indexing="ij"), -1).reshape(-1, 2)


def ellipsoid_charts(axes):
    """Two charts whose poles lie on different axes; together they cover the ellipsoid."""
    bounds = ((-np.inf, np.inf), (-POLE_DISTANCE, POLE_DISTANCE))
    return tuple(Chart(layout.ELLIPSOID, tuple(axes), axis=i, bounds=bounds) for i in range(2))


def spline_chart(points, knots_s, knots_t, weights=None):
    """A NURBS chart.

    Parameters
    ----------
    points : (n_s, n_t, 3)
    knots_s, knots_t : array_like
        Not decreasing; n + degree + 1 of them.
    weights : (n_s, n_t), optional

    Raises
    ------
    InputError
        Shapes that do not fit, knots that decrease, a span of no length at the ends, weights that are not positive.
    """
    points = _net(points)
    weights = np.ones(points.shape[:2]) if weights is None else np.asarray(weights, float)
    if weights.shape != points.shape[:2] or not (weights > 0.0).all() or not np.isfinite(weights).all():
        raise InputError(f"weights must be {points.shape[0]} x {points.shape[1]} numbers greater than zero")
    knots, degrees, bounds = [], [], []
    for name, values, count in (("knots_s", knots_s, points.shape[0]), ("knots_t", knots_t, points.shape[1])):
        values = as_vector(values, None, name)
        degree = len(values) - count - 1
        if not 1 <= degree <= min(layout.MAX_DEGREE, count - 1):
            raise InputError(
                f"{name} has {len(values)} entries for {count} control points: degree {degree}, "
                f"allowed are 1 to {min(layout.MAX_DEGREE, count - 1)}"
            )
        inner = values[degree : count + 1]
        if (np.diff(values) < 0.0).any() or not (inner[0] < inner[1] and inner[-2] < inner[-1]):
            raise InputError(f"{name} must not decrease, and its first and last span must have a length")
        if (values[degree + 1 : -1] - values[1 : -degree - 1] <= 0.0).any():
            raise InputError(f"{name} repeats a knot {degree + 1} times: the surface would fall apart there")
        knots.append(values)
        degrees.append(degree)
        bounds.append((float(inner[0]), float(inner[-1])))
    net = np.concatenate((points * weights[..., None], weights[..., None]), -1)
    shape = {"degrees": tuple(degrees), "counts": points.shape[:2], "knots": tuple(knots), "bounds": tuple(bounds)}
    return Chart(layout.SPLINE, net=net, **shape)


def bezier_chart(points, weights=None):
    """A tensor-product Bezier chart on the unit square; its degrees are the numbers of control points less one."""
    points = _net(points)
    knots = [np.repeat((0.0, 1.0), count) for count in points.shape[:2]]
    return spline_chart(points, *knots, weights=weights)


def _net(points):
    try:
        points = np.array(points, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"the control net must hold numbers, every row as long as the others: {error}") from None
    if points.ndim != 3 or points.shape[2] != 3 or min(points.shape[:2]) < 2:
        raise InputError(f"the control net must be n x m x 3 with n and m 2 or more, got shape {points.shape}")
    if not np.isfinite(points).all():
        raise InputError("every coordinate of the control net must be finite")
    return points
