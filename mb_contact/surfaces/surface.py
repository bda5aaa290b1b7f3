# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Smooth parametric surfaces: an atlas of charts, exact derivatives, contact frames and Montana's forms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.checks import as_matrix, as_vector
from mb_contact.core.surfaces import layout as layout
from mb_contact.core.surfaces.frames import surface_frame
from mb_contact.core.surfaces.shapes import surface_derivatives
from mb_contact.errors import InputError
from mb_contact.surfaces.charts import Chart, bezier_chart, ellipsoid_charts, spline_chart

GRID = 13  #: points along each side of a chart from which Newton's method starts
ON_SURFACE = 1e-9  #: a point this near, in lengths of the surface, lies on it


class SurfaceDerivatives(NamedTuple):
    """Point and partial derivatives (3,) at (s, t)."""

    c: np.ndarray
    s: np.ndarray
    t: np.ndarray
    ss: np.ndarray
    st: np.ndarray
    tt: np.ndarray
    sss: np.ndarray
    sst: np.ndarray
    stt: np.ndarray
    ttt: np.ndarray


class SurfaceForms(NamedTuple):
    """Montana's forms in the normalised frame; lengths along its axes are ``metric @ du``."""

    frame: np.ndarray  #: (3, 3), columns x, y, z (the normal)
    metric: np.ndarray  #: (2, 2), upper triangular, [[x.c_s, x.c_t], [0, y.c_t]]
    curvature: np.ndarray  #: (2, 2), symmetric: change of the normal per length [1/m]; positive for a ball
    torsion: np.ndarray  #: (2,), turn of the frame about its normal per length [1/m]

    @property
    def gaussian(self):
        """Gaussian curvature [1/m^2]."""
        return float(np.linalg.det(self.curvature))

    @property
    def mean(self):
        """Mean curvature [1/m]."""
        return 0.5 * float(np.trace(self.curvature))


class Surface:
    """A smooth surface fixed in a body.

    Parameters
    ----------
    charts : sequence of Chart
        Where they overlap or meet they must describe one surface, twice continuously.
    name : str
        For messages.
    side : {1, -1}
        Whether the normal, which points out of the body, is along c_s x c_t or against it.
    R, p : (3, 3), (3,)
        Placement in the body; p in metres.
    """

    def __init__(self, charts, name="surface", side=1, R=None, p=None):
        self.charts = tuple(charts)
        if not self.charts or not all(isinstance(chart, Chart) for chart in self.charts):
            raise InputError("a surface needs at least one chart")
        if side not in (1, -1):
            raise InputError(f"side must be 1 or -1, got {side}")
        self.name = name
        self.side = side
        self.R = np.eye(3) if R is None else as_matrix(R, (3, 3), "R")
        self.p = np.zeros(3) if p is None else as_vector(p, 3, "p")
        if np.abs(self.R.T @ self.R - np.eye(3)).max() > 1e-9 or np.linalg.det(self.R) < 0.0:
            raise InputError(f"R of {name} must be a rotation")
        self._work = layout.make_surface_work()
        self._packed = {}

    def __repr__(self):
        return f"Surface('{self.name}', {len(self.charts)} chart{'s' if len(self.charts) > 1 else ''})"

    def flipped(self):
        """The same surface seen from its other side: the inside of a bowl."""
        return Surface(self.charts, self.name, -self.side, self.R, self.p)

    def placed(self, R=None, p=None):
        """The same surface placed elsewhere in its body: first as it was, then turned by R and shifted by p."""
        R = np.eye(3) if R is None else as_matrix(R, (3, 3), "R")
        p = np.zeros(3) if p is None else as_vector(p, 3, "p")
        return Surface(self.charts, self.name, self.side, R @ self.R, R @ self.p + p)

    def pack(self, chart, offset=(0.0, 0.0, 0.0)):
        """(code, data) of a chart for the kernels, the origin of the body moved to ``offset``."""
        part = self.charts[chart]
        return part.code(self.side), part.data(self.R, self.p - offset)

    def derivatives(self, u, chart=0):
        """Point and partial derivatives up to the third at u = (s, t), in axes of the body.

        Raises
        ------
        InputError
            u is no pair of finite numbers, or there is no such chart.
        """
        self._evaluate(u, chart)
        return SurfaceDerivatives(*self._work.D[0].copy())

    def point(self, u, chart=0):
        """Point (3,) [m] at u."""
        self._evaluate(u, chart)
        return self._work.D[0, 0].copy()

    def frame(self, u, chart=0):
        """Normalised contact frame at u: columns x along c_s, y, and the normal z (P00 section 6)."""
        return self.forms(u, chart).frame

    def forms(self, u, chart=0):
        """Metric, curvature and torsion forms at u.

        Raises
        ------
        InputError
            c_s and c_t are not independent there (a pole of the chart).
        """
        code = self._evaluate(u, chart)
        work = self._work
        surface_frame(code, 0, work.D, work.R, work.A, work.W)
        A, W = work.A[0].copy(), work.W[0]
        lengths = abs(A[0, 0]), abs(A[1, 1])
        if not (np.isfinite(W).all() and min(lengths) > 1e-14 * max(lengths)):
            place = ", ".join(f"{x:g}" for x in u)
            raise InputError(f"chart {chart} of {self.name} is singular at ({place}): it has no frame there")
        back = np.linalg.inv(A)
        return SurfaceForms(work.R[0].copy(), A, np.array([W[1], -W[0]]) @ back, W[2] @ back)

    def locate(self, point, chart=None, guess=None):
        """Chart and coordinates of a point of the surface, or of the point near it that Newton's method finds.

        Parameters
        ----------
        point : (3,)
        chart : int, optional
            Only this one; otherwise the first chart that holds the point.
        guess : (2,), optional

        Returns
        -------
        (chart, u (2,), distance [m])
            distance of the point from c(u).
        """
        point = as_vector(point, 3, "point")
        best = None
        for index in range(len(self.charts)) if chart is None else (chart,):
            u = self._foot(point, index, guess)
            distance = float(np.linalg.norm(self.point(u, index) - point))
            rank = (not self.charts[index].holds(u), distance)
            if best is None or rank < best[0]:
                best = rank, (index, u, distance)
        return best[1]

    def samples(self, chart, count=GRID):
        """Coordinates (count^2, 2) and points (count^2, 3) on a grid of a chart."""
        grid = self.charts[chart].samples(count)
        return grid, self.points(grid, chart)

    def points(self, u, chart=0):
        """Points (k, 3) [m] at u (k, 2), which must be finite."""
        self._evaluate(u[0], chart)
        (code, data), work, out = self._packed[chart], self._work, np.empty((len(u), 3))
        for i in range(len(u)):
            surface_derivatives(code, data, 0, u[i, 0], u[i, 1], work.basis, work.partial, work.homogeneous, work.D)
            out[i] = work.D[0, 0]
        return out

    def _foot(self, point, chart, guess):
        """Gauss-Newton from the guess or the nearest point of a grid: du = (C*C)^-1 C* (point - c)."""
        if guess is None:
            grid, points = self.samples(chart)
            guess = grid[np.argmin(np.linalg.norm(points - point, axis=1))]
        u = np.array(guess, float)
        for _ in range(60):
            D = self.derivatives(u, chart)
            C = np.stack((D.s, D.t), 1)
            du = np.linalg.lstsq(C, point - D.c, rcond=1e-12)[0]
            u += du * min(1.0, 0.5 / max(np.abs(du).max(), 1e-300))
            if np.abs(du).max() < 1e-15 * (1.0 + np.abs(u).max()):
                break
        return u

    def _evaluate(self, u, chart):
        u = as_vector(u, 2, "u")
        if not 0 <= chart < len(self.charts):
            raise InputError(f"{self.name} has charts 0 to {len(self.charts) - 1}, not {chart}")
        if chart not in self._packed:
            code, data = self.pack(chart)
            self._packed[chart] = code[None], data
        code, data = self._packed[chart]
        work = self._work
        surface_derivatives(code, data, 0, u[0], u[1], work.basis, work.partial, work.homogeneous, work.D)
        return code


def plane(name="plane"):
    """The plane z = 0, normal along z; coordinates are x and y."""
    return Surface((Chart(layout.PLANE),), name)


def sphere(radius, name="sphere"):
    """A ball's surface; coordinates are azimuth and latitude, in two charts."""
    return ellipsoid((radius, radius, radius), name)


def ellipsoid(axes, name="ellipsoid"):
    """An ellipsoid of half axes ``axes`` (3,) along x, y and z."""
    return Surface(ellipsoid_charts(_lengths(axes, 3, "axes")), name)


def cylinder(radius, name="cylinder"):
    """An endless cylinder about z; coordinates are azimuth and height."""
    (radius,) = _lengths((radius,), 1, "radius")
    return Surface((Chart(layout.CYLINDER, (radius, 0.0, 0.0)),), name)


def torus(radius, tube, name="torus"):
    """A torus about z: ``radius`` of the circle in its middle, ``tube`` that of the tube."""
    radius, tube = _lengths((radius, tube), 2, "radius and tube")
    return Surface((Chart(layout.TORUS, (radius, tube, 0.0)),), name)


def bezier(points, weights=None, name="bezier"):
    """A tensor-product Bezier patch of control points (n, m, 3), degrees n - 1 and m - 1, maybe rational."""
    return Surface((bezier_chart(points, weights),), name)


def nurbs(points, knots_s, knots_t, weights=None, name="nurbs"):
    """A NURBS surface of control points (n, m, 3); contact dynamics needs it twice continuous, so knots single at most
    degree - 2 times."""
    return Surface((spline_chart(points, knots_s, knots_t, weights),), name)


def atlas(surfaces, name="atlas"):
    """One surface of several that meet smoothly; all on the same side and at the same place."""
    surfaces = tuple(surfaces)
    first = surfaces[0] if surfaces else None
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
